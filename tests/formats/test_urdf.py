"""URDF: what is read and how, loops in every dialect, and complaints with file, line and element."""

import random
import re
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

import kempe as kp
from kempe.errors import FileError
from kempe.formats.loading import read
from kempe.formats.urdf import MOST
from kempe.formats.xml import parse_xml, read_xml
from kempe.topology.spanning import topology
from tests.formats.mechanics import same_mechanics

BARS = {"crank": (0.3, 1.5), "coupler": (1.0, 5.0), "rocker": (0.6, 3.0)}


def link(name: str, length: float, mass: float) -> str:
    across = mass * length**2 / 12
    return f"""<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>
    <inertia ixx="0" iyy="{across}" izz="{across}"/></inertial></link>"""


def joint(name: str, parent: str, child: str, x: float, more: str = "") -> str:
    return f"""<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{x} 0 0"/><axis xyz="0 1 0"/>{more}</joint>"""


DRIVE = '<limit effort="3" velocity="1"/>'
TREE = "\n".join(
    [
        '<link name="world"/>',
        *(link(name, *numbers) for name, numbers in BARS.items()),
        joint("A", "world", "crank", 0.0, DRIVE),
        joint("B", "crank", "coupler", 0.3),
        joint("D", "world", "rocker", 1.0),
    ]
)
ENDS = """<predecessor link="coupler"><origin xyz="1 0 0"/></predecessor>
<successor link="rocker"><origin xyz="0.6 0 0"/></successor>"""
PROPOSED = """<parent link="coupler"/><parent_origin xyz="1 0 0"/><parent_axis xyz="0 1 0"/>
<child link="rocker"/><child_origin xyz="0.6 0 0" rpy="{turn} 0 0"/><child_axis xyz="{axis}"/>"""
DIALECTS = {
    "loop": ("revolute", f'<loop name="C" type="revolute">{ENDS}<axis xyz="0 1 0"/></loop>'),
    "constraint": (
        "revolute",
        f'<constraint name="C" type="revolute">{PROPOSED.format(turn=0, axis="0 1 0")}</constraint>',
    ),
    "old plus": ("spherical", f'<constraint name="C" type="position">{ENDS}</constraint>'),
    "drake": (
        "spherical",
        """<drake:ball_constraint name="C"><drake:ball_constraint_body_A name="coupler"/>
        <drake:ball_constraint_body_B name="rocker"/><drake:ball_constraint_p_AP value="1 0 0"/>
        <drake:ball_constraint_p_BQ value="0.6 0 0"/></drake:ball_constraint>""",
    ),
}
SIDECAR = """closures:
  - {name: C, link_a: coupler, link_b: rocker, origin_a: [1, 0, 0], origin_b: {xyz: [0.6, 0, 0]}, axis: [0, 1, 0]}
"""


def native(kind: str) -> kp.Mechanism:
    m = kp.Mechanism("four-bar")
    crank, coupler, rocker = (m.rod(name, *numbers) for name, numbers in BARS.items())
    up = (0, 1, 0)
    m.revolute("A", m.ground.at(), crank.start, up, actuated=True)
    m.revolute("B", crank.end, coupler.start, up)
    m.revolute("D", m.ground.at(1.0), rocker.start, up)
    m.joint(kind, "C", coupler.end, rocker.end, (up,) if kind == "revolute" else ())
    return m


def written(folder: Path, inside: str, name: str = "robot.urdf") -> Path:
    path = folder / name
    path.write_text(f'<robot name="four-bar">\n{inside}\n</robot>\n')
    return path


def noted(path: Path, **options) -> tuple[kp.Mechanism, list[str]]:
    """The mechanism, and its notes without the path of the file."""
    m = kp.load(path, **options)
    return m, [note.replace(f"{path}, ", "").replace(f"{path}: ", "") for note in m.notes]


# ---- loops -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_four_bar_in_every_dialect_is_the_native_one(dialect, tmp_path):
    kind, text = DIALECTS[dialect]
    m = kp.load(written(tmp_path, TREE + text))
    same_mechanics(native(kind), m)
    assert [joint.name for joint in m.joints if any(joint.actuated)] == ["A"]


@pytest.mark.parametrize("name", ["loop_closures.yaml", "robot.loop_closures.yaml"])
def test_a_loop_beside_the_file(name, tmp_path):
    (tmp_path / name).write_text(SIDECAR)
    same_mechanics(native("revolute"), kp.load(written(tmp_path, TREE)))


def test_a_loop_beside_the_file_by_a_point_of_the_root(tmp_path):
    """A square stands closed where all joints are zero: its corner and axis in the root's frame say it all."""
    inside = "\n".join(
        [
            '<link name="base"/>',
            *(link(name, 1.0, 1.0) for name in ("left", "top", "right")),
            joint("A", "base", "left", 0.0).replace('<origin xyz="0.0 0 0"/>', '<origin xyz="0 0 0" rpy="0 -0.5 0"/>'),
            joint("B", "left", "top", 1.0).replace('<origin xyz="1.0 0 0"/>', '<origin xyz="1 0 0" rpy="0 0.5 0"/>'),
            joint("D", "base", "right", 1.0).replace('<origin xyz="1.0 0 0"/>', '<origin xyz="1 0 0" rpy="0 -0.5 0"/>'),
        ]
    )
    corner = [1 + np.cos(0.5), 0.0, np.sin(0.5)]
    closure = f"{{link_a: top, link_b: right, point: {[float(x) for x in corner]}, axis: [0, 1, 0]}}"
    (tmp_path / "loop_closures.yaml").write_text(f"closures: [{closure}]\nindependent: [B]\ndependent: [A, D]\n")
    m = kp.load(written(tmp_path, inside))
    loop = next(joint for joint in m.joints if joint.name == "closure 1")
    assert np.allclose(loop.a.position, (1, 0, 0), atol=1e-15)
    assert np.allclose(loop.b.position, (1, 0, 0), atol=1e-15)
    assert [joint.name for joint in m.joints if any(joint.actuated)] == ["B"]


def test_axes_of_their_own_frames_agree(tmp_path):
    """The proposed <constraint> has an axis on each side: turning the child's frame back is the same hinge."""
    turned = PROPOSED.format(turn=np.pi / 2, axis="0 0 -1")
    m = kp.load(written(tmp_path, f'{TREE}<constraint name="C" type="revolute">{turned}</constraint>'))
    joint = m.joints[-1]
    assert np.allclose(joint.b.rotation @ joint.axes[0], (0, 1, 0), atol=1e-15)
    loop = f'{TREE}<constraint name="C" type="universal">{PROPOSED.format(turn=0, axis="1 1 0")}</constraint>'
    joint = kp.load(written(tmp_path, loop)).joints[-1]
    first, second = joint.axes
    assert abs(first @ second) < 1e-15
    carried = joint.b.rotation @ second
    assert np.allclose(carried / np.linalg.norm(carried), (0.5**0.5, 0.5**0.5, 0), atol=1e-15)


def test_a_second_joint_to_a_link_closes_a_loop(tmp_path):
    m, notes = noted(written(tmp_path, TREE + joint("C", "coupler", "rocker", 1.0)))
    assert [loop.joint.name for loop in topology(m).loops]
    assert any("already the child of another joint, so this one closes a loop" in note for note in notes)


def test_couplings_are_read(tmp_path):
    mimic = '<mimic joint="B" multiplier="-3" offset="0.2"/>'
    more = f"""<coupling name="gear"><predecessor link="coupler"/><successor link="rocker"/><ratio value="2"/>
    </coupling>
    <constraint name="roll" type="rolling"><predecessor link="crank"/><successor link="rocker"/><ratio value="0.5"/>
    </constraint>{link("tail", 1, 1)}{joint("E", "crank", "tail", 0, mimic)}"""
    found = read(read_xml(written(tmp_path, TREE + more)))
    gear, roll = (next(c for c in found.couplings if c.name == name) for name in ("gear", "roll"))
    assert roll.coefficients == {"D": 1.0, "A": -0.5}
    assert gear.coefficients == {"A": -2.0, "B": -2.0, "D": 1.0}
    assert gear.offset == 0.0
    mimic = next(c for c in found.couplings if c.name == "E mimic")
    assert mimic.coefficients == {"E": 1.0, "B": 3.0}
    assert mimic.offset == 0.2


# ---- what is read ----------------------------------------------------------------------------------------

PARTS = """<link name="base"><visual><origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>
<geometry><box size="1 2 3"/></geometry><material name="red"/></visual></link>
<link name="arm"><inertial><origin xyz="0 0 1" rpy="0 1.5707963267948966 0"/><mass value="2"/>
<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>
<visual><geometry><mesh filename="package://arm.stl"/></geometry></visual>
<collision><geometry><cylinder radius="0.1" length="2"/></geometry></collision></link>
<joint name="base" type="prismatic"><parent link="base"/><child link="arm"/>
<limit lower="-1" upper="2" effort="5" velocity="3"/><dynamics damping="0.5" friction="0.1"/></joint>"""


def test_parts_of_a_file(tmp_path):
    m, notes = noted(written(tmp_path, PARTS))
    base, arm = m.bodies
    assert (base.name, arm.name) == ("base link", "arm")
    (box,) = base.parts
    assert box.solid == kp.Box((1.0, 2.0, 3.0), 0.0)
    assert box.position == (1.0, 0.0, 0.0)
    assert np.allclose(box.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    lump, cylinder = (part.solid for part in arm.parts)
    assert cylinder == kp.Cylinder(2.0, 0.1, 0.0)
    assert lump.com == (0.0, 0.0, 1.0)
    turn = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    tensor = turn @ [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]] @ turn.T
    assert np.allclose(lump.tensor, tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], atol=1e-15)
    root, slide = m.joints
    assert (root.type.name, slide.type.name, slide.name) == ("fixed", "prismatic", "base")
    assert slide.limits == ((-1.0, 2.0),)
    assert slide.damping == (0.5,)
    assert slide.actuated == (True,)
    assert np.array_equal(slide.axes[0], (1, 0, 0))
    assert notes == [
        "line 2, link \"base\": link 'base' is renamed to 'base link'",
        "line 6, link \"arm\"/visual/geometry/mesh: there is no mesh 'package://arm.stl', and not drawn",
        'line 1, robot "four-bar": the effort of limits marks the actuated joints; it does not limit their efforts',
        'line 3, link "base"/visual/material "red": read, not used',
        'line 9, joint "base"/limit: velocity read, not used',
        'line 9, joint "base"/dynamics: friction read, not used',
    ]


def test_meshes_are_found_and_drawn(tmp_path, monkeypatch):
    """By a path from the file, or in a package above it; without the package that reads them, what they collide as."""
    (tmp_path / "arms" / "urdf").mkdir(parents=True)
    for name in ("arms/hand.stl", "arms/urdf/arm.stl"):
        (tmp_path / name).write_bytes(b"")
    link = """<link name="{}"><visual><geometry><mesh filename="{}" scale="1 -2 1"/></geometry></visual>
        <collision><geometry><sphere radius="1"/></geometry></collision></link>"""
    path = tmp_path / "arms" / "urdf" / "robot.urdf"
    named = [("a", "package://arms/hand.stl"), ("b", "arm.stl"), ("c", f"file://{tmp_path}/arms/hand.stl")]
    joints = "".join(f'<joint name="{x}j" type="fixed"><parent link="a"/><child link="{x}"/></joint>' for x in "bc")
    path.write_text(f'<robot name="r">{"".join(link.format(*x) for x in named)}{joints}</robot>')
    m = kp.load(path)
    found = [body.parts[0].solid for body in m.bodies]
    assert [solid.file for solid in found] == [str(tmp_path / f"arms/{x}.stl") for x in ("hand", "urdf/arm", "hand")]
    assert found[0].scale == (1.0, -2.0, 1.0)
    m.save(tmp_path / "again.urdf")
    assert [body.parts[0].solid for body in kp.load(tmp_path / "again.urdf").bodies] == found
    monkeypatch.setitem(sys.modules, "trimesh", None)
    bare = kp.load(path)
    assert bare.bodies[0].parts[0].solid == kp.Sphere(1.0, 0.0)
    assert sum("pip install 'kempe[meshes]'" in note for note in bare.notes) == 3


def test_the_root_floats_where_asked(tmp_path):
    assert kp.load(written(tmp_path, PARTS), floating=True).joints[0].type.name == "free"
    assert kp.load(written(tmp_path, TREE)).joints[0].name == "A"  # a world that holds nothing is the ground
    with pytest.raises(FileError, match="floating is for URDF and SDFormat files"):
        kp.load(tmp_path / "robot.yaml", floating=True)


@pytest.mark.parametrize(
    ("kind", "more", "driven"),
    [
        ("continuous", "", False),
        ("continuous", '<limit effort="1" velocity="1"/>', True),
        ("continuous", '<limit effort="0" velocity="1"/>', False),
        ("continuous", '<limit effort="1" velocity="1"/><mimic joint="A"/>', False),
        ('continuous" independent="true', "", True),
        ('continuous" independent="false', '<limit effort="1" velocity="1"/>', False),
    ],
)
def test_which_joints_are_actuated(kind, more, driven, tmp_path):
    extra = joint("E", "crank", "tail", 0, more).replace("continuous", kind)
    drive = {
        joint.name: any(joint.actuated)
        for joint in kp.load(written(tmp_path, TREE + link("tail", 1, 1) + extra)).joints
    }
    assert drive["E"] is driven
    named = '<transmission name="t"><joint name="B"/></transmission>'
    assert any(kp.load(written(tmp_path, TREE + named)).joints[1].actuated)


@pytest.mark.parametrize(
    ("limit", "limits"),
    [
        ('lower="-1" upper="inf"', (-1.0, np.inf)),
        ('lower="-1e16" upper="1e308"', None),
        ("", None),
        ('upper="2"', (0.0, 2.0)),
    ],
)
def test_limits(limit, limits, tmp_path):
    text = TREE.replace(DRIVE, f'<limit effort="1" velocity="1" {limit}/>').replace("continuous", "revolute")
    assert kp.load(written(tmp_path, text)).joints[0].limits == (limits,)


def test_kinds_without_a_line_to_move_along(tmp_path):
    text = TREE.replace('name="B" type="continuous"', 'name="B" type="floating"')
    text = text.replace('name="D" type="continuous"', 'name="D" type="planar"')
    assert [joint.type.name for joint in kp.load(written(tmp_path, text)).joints] == ["revolute", "free", "planar"]


def test_names_that_kempe_cannot_take(tmp_path):
    text = TREE.replace('"crank"', '"12"').replace('"coupler"', '"a.b"').replace('"rocker"', '"ground"')
    m, notes = noted(written(tmp_path, text))
    assert [body.name for body in m.bodies] == ["link 12", "a_b", "ground link"]
    assert sum("is renamed" in note for note in notes) == 3
    assert m.check().errors == ()


# ---- complaints ------------------------------------------------------------------------------------------

MISTAKES = {
    "no link": (
        joint("E", "crank", "nobody", 0),
        r"line \d+, joint \"E\"/child: there is no link 'nobody'; there are world",
    ),
    "two roots": ('<link name="alone"/>', r"link \"alone\": neither it nor 'world' is the child of a joint"),
    "circle": (
        '<link name="p"/><link name="r"/>' + joint("E", "p", "r", 0) + joint("F", "r", "p", 0),
        r"link \"p\": it is not connected to the root link 'world'",
    ),
    "twice": ('<link name="crank"/>', r"link \"crank\": a link in line 3 has the same name; give each its own"),
    "kind": (joint("E", "crank", "world", 0).replace("continuous", "hinge"), "every link is the child of a joint"),
    "type": (
        '<link name="p"/>' + joint("E", "crank", "p", 0).replace("continuous", "hinge"),
        r"joint \"E\": there is no joint type 'hinge'; there are revolute",
    ),
    "axis": (
        '<link name="p"/>' + joint("E", "crank", "p", 0).replace("0 1 0", "0 0 0"),
        r"joint \"E\"/axis: the axis is zero",
    ),
    "limits": (
        '<link name="p"/>'
        + joint("E", "crank", "p", 0, '<limit lower="2" upper="1"/>').replace("continuous", "revolute"),
        r"joint \"E\"/limit: the lower limit 2 is above the upper limit 1",
    ),
    "number": (
        link("p", 1, 1).replace('value="1"', 'value="nan"') + joint("E", "crank", "p", 0),
        "attribute value: 'nan' is not a finite number",
    ),
    "mass": (link("p", 1, 1).replace('value="1"', 'value="-1"') + joint("E", "crank", "p", 0), "it cannot be negative"),
    "loop": (f'<loop name="C" type="gimbal">{ENDS}</loop>', r"loop \"C\": there is no loop type 'gimbal'"),
    "loop axis": (f'<loop name="C" type="revolute">{ENDS}<axis xyz="0 0 0"/></loop>', "its axis is zero"),
    "loop ends": ('<loop name="C" type="revolute"><predecessor link="crank"/></loop>', "has no <successor>"),
    "same": (f'<loop name="C" type="fixed">{ENDS}</loop>'.replace("rocker", "coupler"), "to itself"),
    "mimic": ('<link name="p"/>' + joint("E", "crank", "p", 0, '<mimic joint="E"/>'), "the joint mimics itself"),
    "ratio": (
        '<coupling name="g"><predecessor link="crank"/><successor link="crank"/><ratio value="1"/></coupling>',
        "there are not two joints to couple",
    ),
    "flag": (
        '<link name="p"/>' + joint("E", "crank", "p", 0).replace(' type="c', ' independent="fasle" type="c'),
        "true or",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_with_line_and_element(mistake, tmp_path):
    text, said = MISTAKES[mistake]
    path = written(tmp_path, TREE + "\n" + text)
    with pytest.raises(FileError, match=said) as caught:
        kp.load(path)
    assert str(caught.value).startswith(f"{path}, line ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("closures: 3", "line 1, closures: should be a list"),
        ("closures: [{link_a: crank}]", "link_b is missing"),
        ("closures: [{link_a: crank, link_b: x, point: [0, 0, 0]}]", "there is no link 'x'"),
        ("closures: [{link_a: crank, link_b: rocker}]", "give a point"),
        ("closures: [{link_a: crank, link_b: rocker, point: [0, 0, .nan]}]", "takes finite numbers"),
        ("closures: [{link_a: crank, link_b: rocker, point: [0, 0]}]", "takes three numbers"),
        ("closures: [{link_a: crank, link_b: rocker, point: [0, 0, 0], type: x}]", "there is no type 'x'"),
        ("closures: [{link_a: crank, link_b: crank, point: [0, 0, 0]}]", "to itself"),
        ("loops: []", "not known here; known are closures"),
        ("independent: [X]", "there is no joint 'X'"),
        ("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"{y}: &{y} [{', '.join([f'*{x}'] * 10)}]\n" for x, y in zip("abcdefgh", "bcdefghi", strict=True)
        ), "more than 100000 entries"),
    ],
    ids=range(11),
)  # fmt: skip
def test_mistakes_beside_the_file(text, said, tmp_path):
    (tmp_path / "loop_closures.yaml").write_text(text)
    with pytest.raises(FileError, match=said):
        kp.load(written(tmp_path, TREE))


def test_many_parts_take_little_time(tmp_path):
    """The longest chain that is taken, with as many couplings to its end, and one part too many."""
    count = MOST // 3
    links = "".join(f'<link name="l{k}"/>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(count - 1)
    )
    gear = f'<coupling name="g"><predecessor link="l0"/><successor link="l{count - 1}"/><ratio value="1"/></coupling>'
    start = perf_counter()
    found = read(parse_xml(f"<robot>{links}{joints}{gear * 300}</robot>".encode(), tmp_path / "long.urdf"))
    assert len(found.couplings[0].coefficients) == count - 1
    assert perf_counter() - start < 10
    with pytest.raises(FileError, match=f"it has {MOST + 1} parts; at most {MOST} are allowed"):
        read(parse_xml(f"<robot>{'<link/>' * (MOST + 1)}</robot>".encode(), tmp_path / "long.urdf"))


def test_broken_files_are_read_or_refused_in_a_sentence(tmp_path):
    """Values swapped for odd ones, elements doubled, dropped or renamed, text cut out: nothing but a FileError."""
    rng = random.Random(3)
    odd = ["", "nan", "1e999", "-1", "0", "ground", "x.y", "12", "1 2", "-inf", "0 0 0", "A", "fixed", "9" * 400]
    tags = ["link", "joint", "loop", "mimic", "limit", "origin", "coupling", "transmission"]
    sources = [f'<robot name="r">{TREE}{text}</robot>' for _, text in DIALECTS.values()] + [f"<robot>{PARTS}</robot>"]
    refused = 0
    for _ in range(400):
        text = rng.choice(sources)
        for _ in range(rng.randint(1, 3)):
            pattern = rng.choice([r'"[^"]*"', r"<[^>]*/>", r"(?<=<)\w+", r"[^<>]{1,30}"])
            first, last = rng.choice([match.span() for match in re.finditer(pattern, text)])
            kept = text[first:last]
            new = {'"': f'"{rng.choice(odd)}"', "<": kept * rng.choice([0, 2])}.get(kept[0], rng.choice([*tags, ""]))
            text = text[:first] + new + text[last:]
        try:
            read(parse_xml(text.encode(), tmp_path / "broken.urdf"), floating=rng.random() < 0.3)
        except FileError as error:
            refused += str(error).startswith(str(tmp_path))
    assert 200 < refused < 400


def test_files_that_are_no_robots(tmp_path):
    (tmp_path / "a.xml").write_text("<html/>")
    with pytest.raises(FileError, match="a <html> file cannot be read; give a <robot>"):
        kp.load(tmp_path / "a.xml")
    (tmp_path / "b.xacro").write_text("<robot/>")
    with pytest.raises(FileError, match=r"expand it first: xacro b\.xacro > b\.urdf"):
        kp.load(tmp_path / "b.xacro")
    written(tmp_path, TREE, "no-ending")
    assert len(kp.load(tmp_path / "no-ending").bodies) == 3
