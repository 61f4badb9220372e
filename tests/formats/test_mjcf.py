"""MJCF feature by feature: dynamics, closures and couplings against MuJoCo, shapes, names, and what is refused."""

import sys

import mujoco
import numpy as np
import pytest

import kempe as kp
from kempe.errors import FileError
from kempe.formats.loading import read
from kempe.formats.mjcf.geoms import shape_contents
from kempe.formats.xml import read_xml
from tests.direct import Direct
from tests.formats.mujoco_side import Beside

BALL = '<geom size=".1" mass="1"/>'
ARM = f'<body name="a" pos="0 0 1"><joint name="A" axis="0 1 0"/>{BALL}'
POINTS = "0 0 0 1 0 0 0 2 0 0 0 .5 1 1 1 .125 .125 .125"
FACES = "0 2 1 0 1 3 0 3 2 1 2 4 2 3 4 3 1 4"
DENTED = "0 2 1 0 1 3 0 3 2 1 2 5 2 3 5 3 1 5"


def body(inside: str, head: str = "") -> str:
    return f'<mujoco>{head}<worldbody><body pos=".1 .2 .3" euler="10 20 30">{inside}</body></worldbody></mujoco>'


def geom(said: str, head: str = "") -> str:
    return body(f'<freejoint/><geom {said} pos=".1 .2 .3" euler="40 50 60"/>', head)


def turned(said: str, head: str = "") -> str:
    inner = f'<body name="b" pos="0 .1 .2" {said}><joint axis="1 2 3"/>{BALL}</body>'
    return body(f'<joint axis="0 0 1" pos=".3 0 0"/><geom type="box" size=".1 .2 .3"/>{inner}', head)


def mesh(said: str, place: str = "") -> str:
    return geom(f'type="mesh" mesh="m" {place}', f'<asset><mesh name="m" {said}/></asset>')


INERTIAL = '<inertial pos="0 .1 .2" mass="2" diaginertia=".1 .2 .25" euler="1 2 3"/>'
LIGHT = '<geom size=".01 .2 .01" type="ellipsoid"/>'
FEATURES = {
    "quat": turned('quat="1 2 3 4"'),
    "axisangle": turned('axisangle="1 2 3 40"'),
    "euler": turned('euler="10 20 30"'),
    "euler, axes fixed": turned('euler="10 20 30"', '<compiler eulerseq="ZXZ"/>'),
    "euler, axes mixed": turned('euler=".1 .2 .3"', '<compiler eulerseq="zXy" angle="radian"/>'),
    "xyaxes": turned('xyaxes="1 1 0 0 1 1"'),
    "zaxis": turned('zaxis="1 2 -3"'),
    "zaxis, straight down": turned('zaxis="0 0 -1"'),
    "frames": body(
        f'<freejoint/>{BALL}<frame pos="1 2 3" euler="10 20 30"><frame axisangle="1 0 0 30"><body pos="0 0 1">'
        f'<frame euler="5 6 7" pos="1 0 0"><joint axis="0 1 0" pos="0 .1 0"/>{LIGHT}</frame></body></frame></frame>'
    ),
    "three joints in a row": body(
        '<joint type="slide" axis="1 1 0"/><joint axis="0 0 1" pos=".1 .2 .3"/><joint type="ball" pos="0 0 .5"/>'
        '<geom type="box" size=".1 .2 .3"/>'
    ),
    "ref and springs": body(
        '<joint axis="1 2 0" ref="30" springref="-20" stiffness="7" damping="2" armature=".3" pos="0 .1 .2"/>'
        '<joint type="slide" axis="1 0 2" ref=".4" springref=".1" stiffness="5"/><geom type="box" size=".1 .2 .3"/>'
    ),
    "classes": (
        '<mujoco><default><joint damping="1"/><default class="x"><joint damping="2" axis="1 0 0"/>'
        '<geom type="box" size=".1 .2 .3"/><default class="y"><geom density="10"/></default></default></default>'
        '<worldbody><body childclass="x"><joint/><geom/><body pos="1 0 0"><joint class="main"/><geom class="y"/>'
        '<body childclass="y" pos="0 1 0"><joint/><geom type="sphere"/></body></body></body></worldbody></mujoco>'
    ),
    "sizes and axes of classes": body(
        '<freejoint/><geom size=".3"/><geom axisangle="1 0 0 30" size=".1 .1"/><geom quat="5 2 1 4" pos="1 0 0"/>',
        '<default><geom type="box" size=".1 .2 .4" euler="10 20 30"/></default>',
    ),
    "gravity": body(f'<joint axis="1 2 3" pos="1 0 0"/>{BALL}', '<option gravity="1 2 3"/>'),
    "gravity off": body(
        f'<joint axis="1 2 3" pos="1 0 0"/><joint axis="1 0 0"/>{BALL}{LIGHT}',
        '<option><flag gravity="disable"/></option>',
    ),
    "a body without a joint": body(f'<joint/>{BALL}<body pos="1 2 3" zaxis="1 1 1">{LIGHT}</body>'),
    "inertial": body(f"<freejoint/>{INERTIAL}{BALL}"),
    "full inertia": body('<freejoint/><inertial pos="1 2 3" mass="2" fullinertia="1 1.2 1.3 .1 -.2 .15"/>' + BALL),
    "inertia from geoms": body(f"<freejoint/>{INERTIAL}{BALL}{LIGHT}", '<compiler inertiafromgeom="true"/>'),
    "inertia as given": body(f"<freejoint/>{INERTIAL}{BALL}", '<compiler inertiafromgeom="false"/>'),
    "groups": body(f'<freejoint/>{BALL}<geom group="2" size=".1" pos="1 0 0"/>', '<compiler inertiagrouprange="0 1"/>'),
    "bounds": body(f"<freejoint/>{LIGHT}", '<compiler boundmass=".5" boundinertia=".01"/>'),
    "balanced": body(
        '<freejoint/><inertial pos="0 0 1" mass="1" diaginertia=".1 .2 .9"/>', '<compiler balanceinertia="true"/>'
    ),
    "sphere": geom('size=".2" density="700"'),
    "capsule": geom('type="capsule" size=".2 .3"'),
    "ellipsoid": geom('type="ellipsoid" size=".1 .2 .3"'),
    "cylinder": geom('type="cylinder" size=".2 .3" mass="3"'),
    "box": geom('type="box" size=".1 .2 .3"'),
    "between two points": body('<freejoint/><geom type="box" size=".1" fromto="0 0 1 1 2 3"/>' + BALL),
    "no mass": body(f'<freejoint/>{BALL}<geom type="box" size="1 1 1" mass="0"/>'),
    "springs between bodies": (
        '<mujoco><default><tendon stiffness="3"/></default><worldbody><site name="w" pos="0 1 2"/>'
        f'<body pos="1 0 0"><joint axis="0 1 0" ref="20" springref="20"/>{BALL}<site name="s" pos=".3 0 .1"/>'
        f'<body pos="0 1 0"><joint type="ball"/>{LIGHT}<site name="t" pos="0 .2 .1"/></body></body></worldbody>'
        '<tendon><spatial><site site="w"/><site site="t"/></spatial><spatial name="x" stiffness="40" damping="2" '
        'springlength=".7"><site site="s"/><site site="w"/></spatial></tendon></mujoco>'
    ),
    "mesh of corners": mesh(f'vertex="{POINTS}" scale=".5 .25 1"'),
    "mesh of faces": mesh(f'vertex="{POINTS}" face="{FACES}" refpos="1 0 .5"', 'mass="3"'),
    "mesh, exact": mesh(f'vertex="{POINTS}" face="{DENTED}" inertia="exact"'),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a file where it stands."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def side(tmp_path):
    def make(text: str) -> Beside:
        (tmp_path / "model.xml").write_text(text)
        return Beside(tmp_path / "model.xml")

    return make


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_has_the_dynamics_of_mujoco(feature, side):
    side(FEATURES[feature]).check(1e-9)


def test_a_dented_mesh_counts_twice_what_mujoco_counts_twice(side):
    # Tetrahedra are taken from the centre of mass, which MuJoCo puts at corners in single precision.
    found = side(mesh(f'vertex="{POINTS}" face="{DENTED}"'))
    found.check(1e-6)
    exact = side(FEATURES["mesh, exact"])
    assert found.model.body_mass.sum() > 1.01 * exact.model.body_mass.sum()


def test_mass_can_be_scaled_to_a_total(side, capfd):
    text = FEATURES["classes"].replace("<mujoco>", '<mujoco><compiler settotalmass="7"/>')
    found = side(text)
    found.check(1e-9)
    assert found.model.body_mass.sum() == pytest.approx(7, rel=1e-12)
    assert "deprecated" in capfd.readouterr().err  # MuJoCo says so; files have it all the same


@pytest.mark.parametrize(("kind", "size"), [("sphere", (0.3,)), ("capsule", (0.2, 0.4)), ("ellipsoid", (0.2, 0.3, 0.5)),
                                            ("cylinder", (0.2, 0.4)), ("box", (0.2, 0.3, 0.5))])  # fmt: skip
def test_shapes_weigh_what_many_points_in_them_do(kind, size):
    volume, moments = shape_contents(kind, np.array(size))
    half = 0.7
    steps = (np.arange(140) + 0.5) / 140 * 2 * half - half
    x, y, z = (axis.ravel() for axis in np.meshgrid(steps, steps, steps, indexing="ij"))
    a, b, c = (*size, *size, *size)[:3]
    inside = {
        "sphere": x**2 + y**2 + z**2 < a**2,
        "capsule": x**2 + y**2 + np.maximum(abs(z) - b, 0) ** 2 < a**2,
        "ellipsoid": (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 < 1,
        "cylinder": (x**2 + y**2 < a**2) & (abs(z) < b),
        "box": (abs(x) < a) & (abs(y) < b) & (abs(z) < c),
    }[kind]
    x, y, z = x[inside], y[inside], z[inside]
    assert len(x) * (2 * half / 140) ** 3 == pytest.approx(volume, rel=0.02)
    assert [(y**2 + z**2).mean(), (x**2 + z**2).mean(), (x**2 + y**2).mean()] == pytest.approx(moments, rel=0.02)


# ---- loops -------------------------------------------------------------------------------------------------------

BAR = '<geom type="box" size=".3 .05 .02"/>'
LOOP = f"""<mujoco><worldbody>
  <body name="a" pos="0 0 1" euler="5 0 0"><joint type="ball"/>{BAR}
    <body name="b" pos=".5 .1 0" euler="0 30 0"><joint type="ball"/>{BAR}<site name="s" pos=".1 .2 .3" euler="10 0 0"/>
    </body></body>
  <body name="c" pos="1 0 1"><freejoint/>{BAR}<site name="t" pos=".2 0 0"/></body></worldbody>
  <equality>%s</equality></mujoco>"""
CLOSURES = {
    "connect": ('<connect body1="b" body2="c" anchor=".4 0 .1"/>', "spherical"),
    "connect to the world": ('<connect body1="b" anchor=".4 0 .1"/>', "spherical"),
    "weld": ('<weld body1="b" body2="c"/>', "fixed"),
    "weld to the world": ('<weld body1="b"/>', "fixed"),
    "weld at a point": ('<weld body1="b" body2="c" anchor=".1 .2 .3"/>', "fixed"),
    "weld of no torque": ('<weld body1="b" body2="c" anchor=".1 .2 .3" torquescale="0"/>', "spherical"),
    "hinge": (
        '<connect name="h" body1="b" body2="c" anchor=".4 0 .1"/><connect body1="b" body2="c" anchor=".4 0 .6"/>',
        "revolute",
    ),
    "hinge, bodies in either order": (
        '<connect body1="b" body2="c" anchor=".4 0 .1"/><connect body1="c" body2="b" anchor=".2 0 .6"/>',
        "revolute",
    ),
    "three points": (
        '<connect body1="b" body2="c" anchor=".4 0 .1"/><connect body1="b" body2="c" anchor=".4 0 .6"/>'
        '<connect body1="b" body2="c" anchor="0 1 0"/>',
        "fixed",
    ),
}


def constraint_rows(found: Beside) -> tuple[np.ndarray, np.ndarray]:
    """Rows of what closes the loops as drawn, by MuJoCo in the coordinates of the mechanism, and by the mechanism."""
    q = np.concatenate([t.joint.type().neutral() for t in found.topology.tree])
    change = found.to_mujoco(q, np.zeros(found.topology.nv))[2]
    found.at(q, np.zeros(found.topology.nv))
    model, data = found.model, found.data
    rows = data.efc_J.reshape(-1, model.nv)[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    assert np.abs(data.efc_pos[: len(rows)]).max() < 1e-12
    gaps, own, _ = Direct(found.equations, found.mechanism).kernel("closure")(q)
    assert np.abs(gaps).max() < 1e-12
    return rows @ change, own


def span(rows: np.ndarray) -> np.ndarray:
    """The projection onto what rows span."""
    _, sizes, vt = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    return vt[:rank].T @ vt[:rank]


@pytest.mark.parametrize("name", CLOSURES)
def test_equalities_close_loops_as_in_mujoco(name, side):
    said, kind = CLOSURES[name]
    found = side(LOOP % said)
    assert [joint.type.name for joint in found.mechanism.joints if joint.name in found.loops] == [kind]
    theirs, own = constraint_rows(found)
    if "torque" in name:
        theirs = theirs[:3]  # MuJoCo keeps rows of no weight
    np.testing.assert_allclose(span(own), span(theirs), atol=1e-9)


@pytest.mark.parametrize("said", ['<weld body1="b" body2="c" relpose=".1 .2 .3 1 2 3 4" anchor=".3 .1 .2"/>',
                                  '<weld site1="s" site2="t"/>', '<connect site1="s" site2="t"/>'])  # fmt: skip
def test_what_is_apart_as_drawn_is_as_far_apart_as_in_mujoco(said, side):
    """Gaps of position are compared by their length, in whatever axes they are told."""
    found = side(LOOP % said)
    q = np.concatenate([t.joint.type().neutral() for t in found.topology.tree])
    found.at(q, np.zeros(found.topology.nv))
    (joint,) = (joint for joint in found.mechanism.joints if joint.name in found.loops)
    places, axes = [], []
    for marker in (joint.a, joint.b):
        number = found.model.body(marker.body.name).id
        turn = found.data.xmat[number].reshape(3, 3)
        places.append(found.data.xpos[number] + turn @ np.array(marker.position))
        axes.append(turn @ marker.rotation)
    np.testing.assert_allclose(places[0] - places[1], found.data.efc_pos[:3], atol=1e-12)
    if joint.type.name == "fixed":
        angle = np.arccos((np.trace(axes[0].T @ axes[1]) - 1) / 2)
        theirs = np.linalg.norm(found.data.efc_pos[3:6])  # the vector of a quaternion
        assert theirs == pytest.approx(np.sin(angle / 2), rel=1e-9)


def test_points_that_do_not_fit_each_other_stay_balls(side):
    said = '<connect body1="b" body2="c" anchor=".4 0 .1"/><connect site1="s" site2="t"/>'
    found = side(LOOP % said)
    kinds = [joint.type.name for joint in found.mechanism.joints if joint.name in found.loops]
    assert kinds == ["spherical", "spherical"]


def test_joints_are_coupled_as_in_mujoco(side):
    inner = f'<body name="b" pos=".5 0 0"><joint name="B" axis="0 1 0" ref="20"/>{BALL}</body></body>'
    said = '<joint joint1="B" joint2="A" polycoef=".3 -2 0 0 0"/>'
    found = side(f"<mujoco><worldbody>{ARM}{inner}</worldbody><equality>{said}</equality></mujoco>")
    (coupling,) = found.mechanism.couplings
    q = np.array([0.3, -0.8])
    found.at(q, np.zeros(2))
    row = found.data.efc_J.reshape(-1, 2)[0]
    assert [coupling.coefficients[name] for name in ("A", "B")] == pytest.approx(row, abs=1e-12)
    gap = sum(coupling.coefficients[name] * x for name, x in zip("AB", q, strict=True)) - coupling.offset
    assert gap == pytest.approx(found.data.efc_pos[0], abs=1e-12)


def test_sums_of_joints_are_coupled_as_in_mujoco(side):
    """Two tendons of joints, some with `ref`, held to a line."""
    inner = f'<body name="b" pos=".5 0 0"><joint name="B" axis="0 1 0" ref="20"/><joint name="C" type="slide"/>{BALL}'
    found = side(f"""<mujoco><worldbody>{ARM}{inner}</body></body></worldbody><tendon>
        <fixed name="one"><joint joint="A" coef="2"/><joint joint="B" coef="-1"/></fixed>
        <fixed name="two"><joint joint="C" coef="3"/><joint joint="B" coef=".5"/></fixed></tendon>
        <equality><tendon tendon1="one" tendon2="two" polycoef=".3 -2 0 0 0"/></equality></mujoco>""")
    (coupling,) = found.mechanism.couplings
    q = np.array([0.3, -0.8, 0.4])
    found.at(q, np.zeros(3))
    row = found.data.efc_J.reshape(-1, 3)[0]
    assert [coupling.coefficients.get(name, 0.0) for name in "ABC"] == pytest.approx(row, abs=1e-12)
    gap = sum(coupling.coefficients.get(name, 0.0) * x for name, x in zip("ABC", q, strict=True)) - coupling.offset
    assert gap == pytest.approx(found.data.efc_pos[0], abs=1e-12)


def test_tendons_that_are_no_springs_are_noted(tmp_path):
    sites = '<site name="s"/><site name="t" pos="1 0 0"/><site name="u" pos="0 1 0"/>'
    ends = '<site site="s"/><site site="t"/>'
    said = f"""<spatial name="slack" stiffness="1" springlength=".1 .2">{ends}</spatial>
        <spatial name="bent" stiffness="1">{ends}<site site="u"/></spatial>
        <spatial name="auto" damping="1">{ends}</spatial>
        <spatial name="string" range="0 1">{ends}</spatial>"""
    (tmp_path / "model.xml").write_text(
        f'<mujoco><worldbody>{sites}{ARM}<joint ref="7" axis="1 0 0"/></body></worldbody><tendon>{said}</tendon>'
        '<equality><tendon tendon1="string"/></equality></mujoco>'
    )
    m = kp.load(tmp_path / "model.xml")
    assert m.loads == []
    for words in (
        '"slack": it goes slack between two lengths',
        "not a sum of joints",
        'spatial "slack": read, not used',
    ):
        assert any(words in note for note in m.notes), words


def test_a_four_bar_closed_by_two_connects_moves_as_in_mujoco(side):
    """A hinge written as two connects; from rest it moves as a dense solve with MuJoCo's matrices says."""
    bar = '<joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/>'
    found = side(f"""<mujoco><worldbody><body name="crank" euler="0 -60 0">{bar}
        <body name="coupler" pos="1 0 0" euler="0 50 0">{bar}
        <body name="rocker" pos="1 0 0" euler="0 40 0">{bar}</body></body></body></worldbody><equality>
        <connect body1="rocker" anchor="1 0 0"/><connect body1="rocker" anchor="1 .2 0"/></equality></mujoco>""")
    theirs, own = constraint_rows(found)
    assert np.linalg.matrix_rank(theirs, tol=1e-9) == np.linalg.matrix_rank(own, tol=1e-9) == 2
    assert [joint.type.name for joint in found.mechanism.joints] == ["revolute"] * 4
    inertia, forces = found.at(np.zeros(3), np.zeros(3))
    whole = np.block([[inertia, theirs.T], [theirs, np.zeros((len(theirs),) * 2)]])
    wanted = np.linalg.lstsq(whole, np.concatenate([-forces, np.zeros(len(theirs))]), rcond=1e-12)[0][:3]
    model = found.mechanism.compile(cut=found.loops)
    np.testing.assert_allclose(model.forward_dynamics(np.zeros(3), np.zeros(3), {}), wanted, rtol=1e-9)


def test_defaults_say_that_equalities_are_not_active(side):
    found = side(f"""<mujoco><default><equality active="false"/></default><worldbody>{ARM}</body>
        <body name="b"><joint name="B" axis="0 1 0"/>{BALL}</body></worldbody>
        <equality><joint joint1="A" joint2="B"/><joint joint1="B" polycoef=".3" active="true"/></equality></mujoco>""")
    assert found.model.eq_active0.tolist() == [0, 1]
    assert [str(each) for each in found.mechanism.couplings] == ["1 B = 0.3"]


# ---- names, markers, actuators, limits -------------------------------------------------------------------------

NAMED = """<mujoco model="names">
  <default><joint range="-10 20"/></default>
  <worldbody><site name="home" pos="1 2 3"/>
    <body name="arm.1"><joint name="arm.1" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 1 0 0" size=".1" rgba="1 0 0 1"/>
      <site name="tip" pos="1 0 0"/><site name="name" pos="0 1 0"/>
      <body name="7" pos="1 0 0"><joint name="slide" type="slide" limited="false"/><joint type="ball" name="ball"/>
        <geom name="box" type="box" size=".1 .2 .3"/><geom name="lens" type="ellipsoid" size=".1 .2 .3"/></body></body>
  </worldbody>
  <actuator><motor joint="slide" gear="3"/><position jointinparent="ball" kp="5"/><motor site="tip"/></actuator>
  <contact><exclude body1="arm.1" body2="7"/></contact></mujoco>"""


def test_names_markers_shapes_limits_and_actuators(tmp_path):
    (tmp_path / "names.xml").write_text(NAMED)
    m = kp.load(tmp_path / "names.xml")
    assert m.name == "names"
    assert m.check(), m.check()
    assert [b.name for b in m.bodies] == ["arm_1", "body 7 before joint 2", "body 7"]
    assert [j.name for j in m.joints] == ["arm_1 joint", "slide", "ball"]
    hinge, slide, _ = m.joints
    assert hinge.limits == (pytest.approx((np.radians(-10), np.radians(20))),)
    assert slide.limits == (None,)
    assert [any(j.actuated) for j in m.joints] == [False, True, True]
    assert m.ground.home.position == (1, 2, 3)
    assert m.bodies[0].tip.position == (1, 0, 0)
    assert "site name" in m.bodies[0].markers
    drawn = {part.name: part.solid.kind for part in m.bodies[2].parts}
    assert drawn == {"": "body", "box": "box", "lens": "ellipsoid"}
    for said in ("'arm_1 joint'", "rgba read, not used", "gear read, not used", "contact", "kp read, not used"):
        assert any(said in note for note in m.notes), said
    assert all("names.xml, line" in note for note in m.notes)


def test_a_mechanism_from_mjcf_is_kept_in_yaml(tmp_path):
    (tmp_path / "names.xml").write_text(NAMED)
    first = kp.load(tmp_path / "names.xml")
    first.save(tmp_path / "names.yaml")
    second = kp.load(tmp_path / "names.yaml")
    assert second.parameters == pytest.approx(first.parameters, rel=1e-12, abs=1e-12)


# ---- files: included, meshes, missing, hostile -----------------------------------------------------------------


def test_files_are_included_where_they_are_named(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "head.xml").write_text('<mujocoinclude><compiler angle="radian"/></mujocoinclude>')
    (tmp_path / "arm.xml").write_text(
        f'<mujocoinclude><joint axis="0 1 0" ref=".5" pos="1 0 0"/>{BALL}</mujocoinclude>'
    )
    text = '<include file="parts/head.xml"/><worldbody><body><include file="arm.xml"/></body></worldbody>'
    (tmp_path / "model.xml").write_text(f"<mujoco>{text}</mujoco>")
    Beside(tmp_path / "model.xml").check(1e-9)


@pytest.mark.parametrize("ending", ["stl", "obj", "msh"])
def test_meshes_are_read_from_files(ending, tmp_path):
    corners, faces = np.array(POINTS.split(), dtype="<f4").reshape(-1, 3), np.array(FACES.split(), "<i4").reshape(-1, 3)
    path = tmp_path / "meshes" / f"m.{ending}"
    path.parent.mkdir()
    if ending == "msh":
        path.write_bytes(np.array([6, 0, 0, 6], "<i4").tobytes() + corners.tobytes() + faces.tobytes())
    elif ending == "obj":
        lines = [f"v {x} {y} {z}" for x, y, z in corners.tolist()] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
        path.write_text("\n".join(lines))
    else:
        head = bytes(80) + np.array(len(faces), "<u4").tobytes()
        path.write_bytes(head + b"".join(bytes(12) + corners[face].tobytes() + bytes(2) for face in faces))
    assets = f'<compiler meshdir="meshes"/><asset><mesh file="m.{ending}"/></asset>'
    (tmp_path / "model.xml").write_text(geom('type="mesh" mesh="m"', assets))
    Beside(tmp_path / "model.xml").check(1e-9)


def test_meshes_of_files_are_drawn_where_mujoco_has_them(tmp_path):
    """Shifted, turned back and scaled; corners as MuJoCo places them in the world."""
    (tmp_path / "meshes").mkdir()
    corners, faces = np.array(POINTS.split(), float).reshape(-1, 3), np.array(FACES.split(), int).reshape(-1, 3)
    lines = [f"v {x} {y} {z}" for x, y, z in corners.tolist()] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    (tmp_path / "meshes" / "m.obj").write_text("\n".join(lines))
    said = 'file="m.obj" refpos=".5 .25 0" refquat=".6 .8 0 0" scale="2 2 2"'
    text = geom('type="mesh" mesh="m"', f'<compiler meshdir="meshes"/><asset><mesh name="m" {said}/></asset>')
    (tmp_path / "model.xml").write_text(text)
    side = Beside(tmp_path / "model.xml")
    _, part = side.mechanism.bodies[0].parts
    assert part.solid == kp.MeshFile(str(tmp_path / "meshes" / "m.obj"), (2.0, 2.0, 2.0))
    mujoco.mj_forward(side.model, side.data)
    turn, vertices = side.data.geom_xmat[0].reshape(3, 3), side.model.mesh_vert
    theirs = vertices @ turn.T + side.data.geom_xpos[0]
    here, place = side.data.xmat[1].reshape(3, 3), side.data.xpos[1]
    own = ((2 * corners) @ part.rotation.T + part.position) @ here.T + place
    gaps = np.linalg.norm(own[:, None] - theirs[None], axis=2).min(axis=1)
    assert gaps[:5].max() < 1e-6  # MuJoCo has corners in single precision; the last is no corner of a face


def test_a_missing_mesh_is_a_note(tmp_path):
    (tmp_path / "model.xml").write_text(
        body(f'{BALL}<geom type="mesh" mesh="m"/>', '<asset><mesh file="m.stl"/></asset>')
    )
    notes = read(read_xml(tmp_path / "model.xml")).notes
    assert any("m.stl: no such file; geoms of this mesh have no mass" in note for note in notes)
    assert any("there is no mesh 'm.stl'; geoms of this mesh are not drawn" in note for note in notes)


def test_meshes_of_files_take_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    (tmp_path / "m.stl").write_bytes(b"")
    (tmp_path / "model.xml").write_text(
        body(f'{BALL}<geom type="mesh" mesh="m"/>', '<asset><mesh file="m.stl"/></asset>')
    )
    notes = kp.load(tmp_path / "model.xml").notes
    assert any("pip install 'kempe[meshes]'; geoms of this mesh have no mass" in note for note in notes)


STRAY = bytes(80) + np.array(1, "<u4").tobytes() + np.full(12, np.nan, "<f4").tobytes() + bytes(2)


@pytest.mark.parametrize("content", [b"", b"abcdefgh" * 4, np.array([6, 0, 0, 2**30], "<i4").tobytes(), STRAY])
def test_broken_meshes_are_notes(content, tmp_path):
    for ending in ("msh", "stl", "obj"):
        (tmp_path / f"m.{ending}").write_bytes(content)
        text = body(f'{BALL}<geom type="mesh" mesh="m"/>', f'<asset><mesh file="m.{ending}"/></asset>')
        (tmp_path / "model.xml").write_text(text)
        assert any(f"m.{ending}: not a mesh" in note for note in kp.load(tmp_path / "model.xml").notes), ending


WRONG = {
    "cycle": ('<mujoco><include file="model.xml"/></mujoco>', "included already"),
    "missing include": ('<mujoco><include file="nowhere.xml"/></mujoco>', "No such file"),
    "entities": ('<!DOCTYPE m [<!ENTITY a "aaaa">]><mujoco/>', "DOCTYPE"),
    "nan": (body('<joint axis="nan 0 0"/>'), "'nan' is not a finite number"),
    "huge": (body('<joint damping="1e300"/>'), "too large"),
    "limited": (body('<joint limited="maybe"/>'), "true, false or auto"),
    "zero axis": (body('<joint axis="0 0 0"/>'), "has length zero"),
    "class": (body('<joint class="x"/>'), "there is no class 'x'; there are main"),
    "joint type": (body('<joint type="screw"/>'), "there is no joint type 'screw'"),
    "geom type": (body('<geom type="cone"/>'), "there is no geom type 'cone'"),
    "size": (body('<geom type="box" size="1 2"/>'), "takes 3 numbers"),
    "negative size": (body('<geom size="-1"/>'), "positive"),
    "axes twice": (body('<geom size="1" euler="1 2 3" zaxis="1 0 0"/>'), "given twice, by euler and zaxis"),
    "free inside": (body("<body><freejoint/></body>"), "free joints are only for bodies of the world"),
    "two names": (body('<body name="x"/><body name="x"/>'), "there is a body 'x' already"),
    "no mesh": (body('<geom type="mesh" mesh="m"/>'), "there is no mesh 'm'"),
    "flat mesh": (mesh('vertex="0 0 0 1 0 0 0 1 0 1 1 0"'), "lie in a plane"),
    "face": (mesh('vertex="0 0 0 1 0 0 0 1 0 1 1 1" face="0 1 9"'), "a missing vertex"),
    "body of a connect": ('<mujoco><equality><connect body1="x" anchor="0 0 0"/></equality></mujoco>', "no body 'x'"),
    "site of a weld": ('<mujoco><equality><weld site1="x" site2="y"/></equality></mujoco>', "no site 'x'"),
    "site of a spring": (
        '<mujoco><tendon><spatial stiffness="1"><site site="x"/><site site="y"/></spatial></tendon></mujoco>',
        "there is no site 'x'",
    ),
    "joint of a tendon": ('<mujoco><tendon><fixed><joint joint="x"/></fixed></tendon></mujoco>', "no joint 'x'"),
    "joint of a coupling": ('<mujoco><equality><joint joint1="x"/></equality></mujoco>', "no joint 'x'"),
    "joint of an actuator": (
        '<mujoco><actuator><motor joint="x"/></actuator></mujoco>',
        "joint 'x', but there is no such joint",
    ),
    "global": ('<mujoco><compiler coordinate="global"/></mujoco>', "global"),
    "angle": ('<mujoco><compiler angle="gon"/></mujoco>', "degree or radian"),
    "eulerseq": ('<mujoco><compiler eulerseq="abc"/></mujoco>', "three of x, y, z"),
    "replicate": (body('<replicate count="9"/>'), "<replicate> is not supported"),
    "far away": (body('<geom size=".1" mass="1e100" pos="1e140 0 0"/>'), "its inertia is not finite"),
    "large": (body('<geom size="1e140"/>'), "none too large"),
    "mass": (body('<inertial mass="-1" pos="0 0 0"/>'), "cannot be negative"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_with_file_and_line(wrong, tmp_path):
    text, said = WRONG[wrong]
    (tmp_path / "model.xml").write_text(text)
    with pytest.raises(FileError) as raised:
        kp.load(tmp_path / "model.xml")
    assert said in str(raised.value), raised.value
    assert "model.xml, line 1" in str(raised.value) or wrong == "missing include"


def test_floating_is_not_for_mjcf(tmp_path):
    (tmp_path / "model.xml").write_text(body(BALL))
    with pytest.raises(FileError, match="freejoint"):
        kp.load(tmp_path / "model.xml", floating=True)
