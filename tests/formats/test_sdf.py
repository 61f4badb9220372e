"""SDFormat: what is read and how, in each version, and complaints with file, line and element."""

import random
import re
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

import kempe as kp
from kempe.errors import FileError
from kempe.formats import xml
from kempe.formats.loading import read
from kempe.formats.sdf.frames import MOST
from kempe.formats.xml import parse_xml
from kempe.topology.spanning import topology

INERTIAL = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def link(name: str, more: str = "") -> str:
    return f'<link name="{name}">{INERTIAL}{more}</link>'


def joint(name: str, parent: str, child: str, more: str = "", kind: str = "revolute") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}</joint>'


def axis(more: str = "", xyz: str = "0 0 1", tag: str = "axis") -> str:
    return f"<{tag}><xyz>{xyz}</xyz>{more}</{tag}>"


def loaded(folder: Path, inside: str, version: str = "1.10", world: bool = False, **options) -> kp.Mechanism:
    """The mechanism of a model with these parts, or of a world; notes lose the path of the file."""
    path = folder / "robot.sdf"
    body = f'<world name="w">\n{inside}\n</world>' if world else f'<model name="m">\n{inside}\n</model>'
    path.write_text(f'<sdf version="{version}">{body}</sdf>')
    m = kp.load(path, **options)
    m.notes[:] = [note.replace(f"{path}, ", "").replace(f"{path}: ", "") for note in m.notes]
    return m


def only(m: kp.Mechanism, name: str):
    return next(joint for joint in m.joints if joint.name == name)


# ---- what is read ----------------------------------------------------------------------------------------

PARTS = """<link name="base"><gravity>false</gravity>
<visual name="v"><pose>1 0 0 0 0 1.5707963267948966</pose><geometry><box><size>1 2 3</size></box></geometry>
<material><ambient>1 0 0 1</ambient></material></visual></link>
<link name="arm"><pose>0 0 2 0 0 0</pose><inertial><pose>0 0 1 0 1.5707963267948966 0</pose><mass>2</mass>
<inertia><ixx>1</ixx><iyy>2</iyy><izz>2.5</izz><ixy>0.1</ixy><ixz>0.2</ixz><iyz>0.3</iyz></inertia></inertial>
<visual name="v"><geometry><mesh><uri>model://arm.stl</uri></mesh></geometry></visual>
<collision name="c"><geometry><capsule><radius>0.1</radius><length>2</length></capsule></geometry></collision></link>
<joint name="base" type="prismatic"><parent>base</parent><child>arm</child><axis>
<limit><lower>-1</lower><upper>2</upper><effort>5</effort><velocity>3</velocity></limit>
<dynamics><damping>0.5</damping><friction>0.1</friction><spring_stiffness>7</spring_stiffness>
<spring_reference>0.2</spring_reference></dynamics></axis></joint><plugin name="p" filename="f"/>"""


def test_parts_of_a_file(tmp_path):
    m = loaded(tmp_path, PARTS, version="1.6")
    base, arm = m.bodies
    assert (base.name, arm.name, m.gravity) == ("base link", "arm", (0.0, 0.0, -9.81))
    lump, box = base.parts
    assert (lump.solid.mass, lump.solid.tensor) == (1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    assert box.solid == kp.Box((1.0, 2.0, 3.0), 0.0)
    assert box.position == (1.0, 0.0, 0.0)
    assert np.allclose(box.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    lump, cylinder = (part.solid for part in arm.parts)
    assert cylinder == kp.Cylinder(2.0, 0.1, 0.0)
    assert lump.com == (0.0, 0.0, 1.0)
    turn = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    tensor = turn @ [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]] @ turn.T
    assert np.allclose(lump.tensor, tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], atol=1e-15)
    slide, root = m.joints
    assert (root.type.name, root.name, slide.type.name) == ("free", "root", "prismatic")
    assert (slide.limits, slide.damping, slide.stiffness, slide.rest) == (((-1.0, 2.0),), (0.5,), (7.0,), (0.2,))
    assert slide.actuated == (True,)
    assert np.array_equal(slide.axes[0], (0, 0, 1))
    assert np.allclose(slide.a.position, (0, 0, 2))
    assert m.notes == [
        "line 2, model \"m\"/link \"base\": link 'base' is renamed to 'base link'",
        'line 2, model "m"/link "base": it has no <inertial>: 1 kg and moments of 1 kg m^2, the defaults of SDFormat',
        'line 2, model "m"/link "base"/gravity: gravity acts on this link as on all others',
        "line 1, sdf: the effort of limits marks the actuated joints; it does not limit their efforts",
        'line 4, model "m"/link "base"/visual "v"/material: read, not used',
        'line 7, model "m"/link "arm"/visual "v"/geometry/mesh: read, not used',
        'line 10, model "m"/joint "base"/axis/limit/velocity: read, not used',
        'line 11, model "m"/joint "base"/axis/dynamics/friction: read, not used',
        'line 12, model "m"/plugin "p": read, not used',
    ]


def test_what_is_missing_of_an_inertial_is_one(tmp_path):
    text = '<link name="l"><inertial><inertia><ixx>3</ixx></inertia></inertial></link>'
    m = loaded(tmp_path, text)
    assert (m.bodies[0].parts[0].solid.mass, m.bodies[0].parts[0].solid.tensor) == (1.0, (3.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    assert any("inertial: mass, iyy, izz not given: 1, the default of SDFormat" in note for note in m.notes)


def test_links_that_nothing_holds_float(tmp_path):
    pair = link("a", "<pose>1 2 3 0 0 0.5</pose>") + link("b") + joint("j", "b", "a", axis())
    m = loaded(tmp_path, pair)
    assert [(x.name, x.type.name, x.b.body.name) for x in m.joints[1:]] == [("root", "free", "b")]
    m = loaded(tmp_path, pair + link("c", "<pose>1 2 3 0 0 0.5</pose>"))
    roots = m.joints[1:]
    assert [(x.name, x.type.name, x.b.body.name) for x in roots] == [("b root", "free", "b"), ("c root", "free", "c")]
    assert np.allclose(roots[1].a.position, (1, 2, 3))  # at zero where it is drawn
    assert [x.type.name for x in loaded(tmp_path, pair, floating=False).joints] == ["revolute", "fixed"]
    held = loaded(tmp_path, pair + joint("w", "world", "b", kind="fixed"))
    assert [x.name for x in held.joints] == ["j", "w"]


def test_a_world_has_gravity_static_models_and_names_of_its_own(tmp_path):
    robot = f'<model name="r"><pose>0 0 1 0 0 0</pose>{link("a")}{link("b")}{joint("j", "a", "b", axis())}</model>'
    floor = f"""<model name="floor"><static>true</static>{link("slab")}{link("post")}
    {joint("screwed", "slab", "post", kind="fixed")}</model>"""
    across = joint("held", "floor::post", "r::a", axis())
    m = loaded(tmp_path, f"<gravity>0 0 -3</gravity>{floor}{robot}{across}<light name='sun'/>", world=True)
    assert (m.name, m.gravity) == ("w", (0.0, 0.0, -3.0))
    assert [body.name for body in m.bodies] == ["floor::slab", "floor::post", "r::a", "r::b"]
    assert [(x.name, x.type.name) for x in m.joints] == [
        ("floor::slab fixed", "fixed"), ("floor::post fixed", "fixed"), ("r::j", "revolute"), ("held", "revolute"),
    ]  # fmt: skip
    assert np.allclose(only(m, "held").a.position, (0, 0, 1))
    assert any("both its links are static" in note for note in m.notes)
    assert any('light "sun": read, not used' in note for note in m.notes)
    assert loaded(tmp_path, robot, world=True).gravity == (0.0, 0.0, -9.8)
    old = loaded(tmp_path, f'<physics type="ode"><gravity>0 0 -2</gravity></physics>{robot}', "1.5", world=True)
    assert old.gravity == (0.0, 0.0, -2.0)


@pytest.mark.parametrize(
    ("version", "flag", "in_model"),
    [("1.4", "", True), ("1.4", "0", False), ("1.5", "", False), ("1.6", "1", True), ("1.6", "false", False)],
)
def test_axes_of_old_versions(version, flag, in_model, tmp_path):
    """Up to 1.4 in the model's frame, then in the joint's, unless a flag says otherwise."""
    said = f"<use_parent_model_frame>{flag}</use_parent_model_frame>" if flag else ""
    tilted = link("a", "<pose>0 0 0 1.5707963267948966 0 0</pose>")
    m = loaded(tmp_path, tilted + joint("j", "world", "a", axis(said)), version)
    assert np.allclose(m.joints[0].axes[0], (0, 1, 0) if in_model else (0, 0, 1), atol=1e-15)


@pytest.mark.parametrize(
    ("pitch", "metres_per_radian"),
    [
        ("<screw_thread_pitch>0.5</screw_thread_pitch>", 0.25 / np.pi),
        ("<thread_pitch>-4</thread_pitch>", 0.25),
        ("<thread_pitch>4</thread_pitch><screw_thread_pitch>1</screw_thread_pitch>", 0.5 / np.pi),
        ("", 0.5 / np.pi),
    ],
)
def test_screws(pitch, metres_per_radian, tmp_path):
    m = loaded(tmp_path, link("a") + joint("j", "world", "a", axis() + pitch, "screw"))
    assert np.isclose(m.joints[0].pitch, metres_per_radian, rtol=1e-15)
    assert any("1 m per turn" in note for note in m.notes) is not bool(pitch)


def test_limits_and_actuation(tmp_path):
    for limit, limits, driven in (
        ("<lower>-1</lower><effort>0</effort>", (-1.0, np.inf), False),
        ("<lower>-1e16</lower><upper>1e308</upper><effort>-1</effort>", None, True),
        ("<lower>-inf</lower><upper>2</upper><effort>inf</effort>", (-np.inf, 2.0), True),
    ):
        found = loaded(tmp_path, link("a") + joint("j", "world", "a", axis(f"<limit>{limit}</limit>"))).joints[0]
        assert found.limits == (limits,)
        assert found.actuated == (driven,)
    m = loaded(tmp_path, link("a") + joint("j", "world", "a", axis("<limit><lower>1</lower></limit>")))
    assert any("in the drawn pose the joint is at 0" in note for note in m.notes)
    assert any("no joint is actuated, since no limit has an <effort>" in note for note in m.notes)
    m = loaded(tmp_path, link("a") + joint("j", "world", "a", axis("<limit><lower>1</lower></limit>"), "continuous"))
    assert m.joints[0].limits == (None,)


@pytest.mark.parametrize("kind", ["universal", "revolute2"])
def test_two_axes(kind, tmp_path):
    """A universal joint where they are across each other, else two hinges."""
    two = axis("<limit><effort>1</effort></limit>", "0 2 0", "axis2")
    m = loaded(
        tmp_path, link("a") + joint("j", "world", "a", axis("<dynamics><damping>3</damping></dynamics>") + two, kind)
    )
    (made,) = m.joints
    assert (made.type.name, made.damping, made.actuated) == ("universal", (3.0, 0.0), (False, True))
    skew = axis("<limit><lower>-1</lower></limit>", "0 1 1", "axis2")
    m = loaded(tmp_path, link("a") + joint("j", "world", "a", axis() + skew, kind))
    first, second = m.joints
    assert [x.name for x in m.joints] == ["j", "j axis2"]
    assert (first.b.body, second.a.body.name, second.limits) == (second.a.body, "j cross", ((-1.0, np.inf),))
    assert np.allclose(second.axes[0], (0, 0.5**0.5, 0.5**0.5))
    assert topology(m).nv == 2


def test_frames_carry_joints(tmp_path):
    """A joint between frames is between the links they are attached to; a model stands for its canonical link."""
    text = f"""{link("a")}{link("b")}<frame name="f" attached_to="a"/><frame name="g" attached_to="f"><pose>1 0 0 0 0 0
    </pose></frame><model name="sub" canonical_link="d">{link("c")}{link("d")}</model>
    {joint("j", "world", "g", axis())}{joint("k", "b", "sub", axis())}{joint("l", "sub::c", "k", axis())}"""
    m = loaded(tmp_path, text)
    ends = {x.name: (x.a.body.name, x.b.body.name) for x in m.joints}
    assert (ends["j"], ends["k"], ends["l"]) == (("ground", "a"), ("b", "sub::d"), ("sub::c", "sub::d"))
    assert np.array_equal(only(m, "j").b.position, (1, 0, 0))
    assert np.array_equal(m.bodies[0].markers["g"].position, (1, 0, 0))


def test_names_of_links_and_joints_may_be_the_same_up_to_1_6(tmp_path):
    text = joint("a", "world", "a", axis()) + link("a")
    assert [x.b.body.name for x in loaded(tmp_path, text, "1.6").joints] == ["a link"]
    with pytest.raises(FileError, match=r"link \"a\": a joint in line 2 has the same name; give each its own"):
        loaded(tmp_path, text, "1.7")


def test_drakes_balls_close_loops(tmp_path):
    ball = """<drake:ball_constraint><drake:ball_constraint_body_A>a</drake:ball_constraint_body_A>
    <drake:ball_constraint_body_B>b</drake:ball_constraint_body_B>
    <drake:ball_constraint_p_AP>1 0 0</drake:ball_constraint_p_AP>
    <drake:ball_constraint_p_BQ>0 1 0</drake:ball_constraint_p_BQ></drake:ball_constraint>"""
    m = loaded(tmp_path, link("a") + link("b") + joint("j", "world", "a", axis()) + ball)
    found = only(m, "ball constraint")
    assert (found.type.name, found.a.position, found.b.position) == ("spherical", (1, 0, 0), (0, 1, 0))
    assert len(m.joints) == 2


# ---- couplings -------------------------------------------------------------------------------------------


def couplings(folder: Path, inside: str):
    text = f'<sdf version="1.11"><model name="m">{inside}</model></sdf>'
    return read(parse_xml(text.encode(), folder / "a.sdf"))


def test_gearboxes_are_couplings_between_hinges(tmp_path):
    """theta_2 = -ratio theta_1, seen from the third link: signs follow which way hinges and axes are drawn."""
    links = "".join(link(name) for name in "abc")
    gear = f"""<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>
    {axis()}{axis(tag="axis2", xyz="1 0 0")}"""
    gear = joint("gear", "b", "c", gear, "gearbox")
    cases = {
        (joint("p", "a", "b", axis()), joint("r", "a", "c", axis(xyz="1 0 0"))): {"r": 1.0, "p": 3.0},
        (joint("p", "b", "a", axis()), joint("r", "a", "c", axis(xyz="1 0 0"))): {"r": 1.0, "p": -3.0},
        (joint("p", "b", "a", axis(xyz="0 0 -2")), joint("r", "a", "c", axis(xyz="-1 0 0"))): {"r": -1.0, "p": 3.0},
    }
    for hinges, factors in cases.items():
        (found,) = couplings(tmp_path, links + gear + "".join(hinges)).couplings
        assert (found.name, found.coefficients, found.offset) == ("gear", factors, 0.0)
    lost = couplings(tmp_path, links + gear + joint("p", "a", "b", axis()) + joint("r", "a", "c", axis()))
    assert lost.couplings == []
    assert any("no hinge about its axis between link 'a' and link 'c', so it is not used" in x for x in lost.notes)
    assert len(lost.joints) == 3  # a gearbox holds nothing itself


def test_mimics_are_couplings(tmp_path):
    links = link("a") + link("b")
    mimic = """<mimic joint="p"><multiplier>-3</multiplier><offset>0.2</offset><reference>0.5</reference></mimic>"""
    follower = joint("r", "a", "b", axis(mimic), "prismatic")
    found = couplings(tmp_path, links + joint("p", "world", "a", axis()) + follower)
    (line,) = found.couplings
    assert (line.name, line.coefficients) == ("r mimic", {"r": 1.0, "p": 3.0})
    assert np.isclose(line.offset, 0.2 + 1.5, rtol=1e-15)
    driven = axis(f"<limit><effort>1</effort></limit>{mimic}")
    found = couplings(tmp_path, links + joint("p", "world", "a", axis()) + joint("r", "a", "b", driven))
    assert not any(any(x.actuated) for x in found.joints)
    two = joint("p", "world", "a", axis() + axis(tag="axis2", xyz="1 0 0"), "universal")
    found = couplings(tmp_path, links + two + follower)
    assert found.couplings == []
    assert any("couplings take joints of one coordinate, so it is not used" in x for x in found.notes)


# ---- files that include others ---------------------------------------------------------------------------


def model_folder(folder: Path, name: str, inside: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "new.sdf").write_text(f'<sdf version="1.9"><model name="{name}">{inside}</model></sdf>')
    (folder / name / "old.sdf").write_text('<sdf version="1.4"/>')
    config = '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf></model>'
    (folder / name / "model.config").write_text(config)


def test_a_model_is_included_many_times_from_where_models_are(tmp_path, monkeypatch):
    model_folder(tmp_path / "shelf", "wheel", link("rim"))
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", f"{tmp_path / 'nowhere'}:{tmp_path / 'shelf'}")
    wheels = "".join(
        f"<include><uri>model://wheel</uri><name>{n}</name><pose>{x} 0 0 0 0 0</pose></include>"
        + joint(f"hub {n}", "car", f"{n}::rim", axis())
        for n, x in (("front", 1), ("back", -1))
    )
    m = loaded(tmp_path, link("car") + wheels)
    assert [body.name for body in m.bodies] == ["car", "front::rim", "back::rim"]
    assert np.allclose([only(m, f"hub {n}").a.position for n in ("front", "back")], [(1, 0, 0), (-1, 0, 0)])
    gone = "<include><uri>model://sun</uri></include>"
    left_out = loaded(tmp_path, f'{gone}<model name="r">{link("a")}</model>', world=True)
    assert "line 2, world \"w\"/include: there is no 'model://sun'; the world is read without it" in left_out.notes
    with pytest.raises(FileError, match=r"line 2, model \"m\"/include: there is no 'model://sun'; put it next to"):
        loaded(tmp_path, gone)


def test_files_that_include_without_end(tmp_path, monkeypatch):
    (tmp_path / "a.sdf").write_text(
        '<sdf version="1.9"><model name="a"><include><uri>robot.sdf</uri></include></model></sdf>'
    )
    with pytest.raises(FileError, match=r"a\.sdf, line 1, .*robot\.sdf includes itself"):
        loaded(tmp_path, "<include><uri>a.sdf</uri></include>")
    for k in range(30):  # each twice in the one before it: 2^30 of the last
        twice = f"<include><uri>bomb{k + 1}.sdf</uri></include>" * 2
        (tmp_path / f"bomb{k}.sdf").write_text(f'<sdf version="1.9"><model name="b{k}">{twice}</model></sdf>')
    (tmp_path / "bomb30.sdf").write_text('<sdf version="1.9"><model name="last"/></sdf>')
    with pytest.raises(FileError, match="more than 1000 files are included"):
        loaded(tmp_path, "<include><uri>bomb0.sdf</uri></include>")
    (tmp_path / "many.sdf").write_text(f'<sdf version="1.9"><model name="m"/>{"<a/>" * 600}</sdf>')
    monkeypatch.setattr(xml, "MOST", 1000)
    with pytest.raises(FileError, match=r"many\.sdf, line 1: more than 1000 elements"):
        loaded(tmp_path, "<include><uri>many.sdf</uri></include>" * 2)
    for k in range(70):
        inner = f"<include><uri>deep{k + 1}.sdf</uri></include>"
        (tmp_path / f"deep{k}.sdf").write_text(f'<sdf version="1.9"><model name="d">{inner}</model></sdf>')
    with pytest.raises(FileError, match="elements nested deeper than 200"):
        loaded(tmp_path, "<include><uri>deep0.sdf</uri></include>")
    for address, said in (("https://x/y", "is not a local file"), ("x" * 5000, "there is no 'x")):
        with pytest.raises(FileError, match=said):
            loaded(tmp_path, f"<include><uri>{address}</uri></include>")


# ---- complaints ------------------------------------------------------------------------------------------

A = link("a") + joint("j", "world", "a", axis())
MISTAKES = {
    "no link": (joint("k", "a", "nobody", axis()), r"joint \"k\"/child: there is no 'nobody' in model 'm'; there"),
    "scope": (joint("k", "a", "sub::b", axis()), "there is no 'sub::b' in model 'm'"),
    "child": (joint("k", "a", "world", axis()), "the world cannot be a child; make it the parent"),
    "no child": ('<joint name="k" type="fixed"><parent>a</parent></joint>', r"joint \"k\": has no <child>"),
    "itself": (joint("k", "a", "a", axis()), r"joint \"k\": it joins link 'a' to itself"),
    "twice": (link("a"), r"link \"a\": a link in line 2 has the same name"),
    "reserved": (link("world"), "a link cannot be named 'world'"),
    "type": (link("b") + joint("k", "a", "b", axis(), "hinge"), "there is no joint type 'hinge'; there are revolute"),
    "axis": (link("b") + joint("k", "a", "b", axis(xyz="0 0 0")), r"axis/xyz: the axis is zero"),
    "parallel": (
        link("b") + joint("k", "a", "b", axis() + axis(tag="axis2"), "universal"),
        r"joint \"k\": its two axes are parallel",
    ),
    "limits": (
        link("b") + joint("k", "a", "b", axis("<limit><lower>2</lower><upper>1</upper></limit>")),
        r"axis/limit: the lower limit 2 is above the upper limit 1",
    ),
    "nan": (link("b", "<pose>0 0 nan 0 0 0</pose>"), r"link \"b\"/pose: its text: 'nan' is not a finite number"),
    "huge": (link("b", "<pose>0 0 1e200 0 0 0</pose>"), "1e200 is too large"),
    "short": (link("b", "<pose>0 0 0</pose>"), "its text takes 6 numbers, not '0 0 0'"),
    "format": (link("b", '<pose rotation_format="dcm">1</pose>'), "the rotation format must be euler_rpy or quat_xyzw"),
    "quaternion": (link("b", '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>'), "its quaternion is zero"),
    "mass": (link("b").replace("<mass>2", "<mass>-2"), "it cannot be negative"),
    "auto": (link("b").replace("<inertial>", '<inertial auto="true">'), "automatic inertia from shapes"),
    "pitch": (link("b") + joint("k", "a", "b", "<thread_pitch>0</thread_pitch>", "screw"), "and cannot be zero"),
    "frame": (link("b", '<pose relative_to="x">0 0 0 0 0 0</pose>'), r"link \"b\"/pose: there is no 'x'"),
    "circle": (
        '<frame name="p"><pose relative_to="q"/></frame><frame name="q"><pose relative_to="p"/></frame>'
        + link("b", '<pose relative_to="p"/>'),
        r"frame \"p\": its pose is given by frames that form a cycle: frame 'p', frame 'q', frame 'p'",
    ),
    "attached": (
        '<frame name="p" attached_to="q"/><frame name="q" attached_to="p"/>' + joint("k", "a", "p", axis()),
        "it is attached to frames that form a cycle, and to no link",
    ),
    "placement": (
        f'<model name="s" placement_frame="f"><frame name="f"><pose relative_to="world"/></frame>{link("b")}</model>',
        "its placement frame 'f' is given relative to the world, not the model",
    ),
    "empty": ('<model name="s"/>' + joint("k", "a", "s", axis()), r"model \"s\": it has no link to join"),
    "gear": (link("b") + joint("k", "a", "b", kind="gearbox"), "has no <gearbox_reference_body>"),
    "mimic": (link("b") + joint("k", "a", "b", axis('<mimic joint="k"/>')), "the axis mimics itself"),
    "flag": ("<static>perhaps</static>", "static: its text takes true or false, not 'perhaps'"),
    "uri": ("<include/>", "include: has no <uri>"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_with_line_and_element(mistake, tmp_path):
    text, said = MISTAKES[mistake]
    with pytest.raises(FileError, match=said) as caught:
        loaded(tmp_path, A + "\n" + text)
    assert str(caught.value).startswith(f"{tmp_path / 'robot.sdf'}, line ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<sdf version="1.9"/>', "there are no links; give a <model> with at least one"),
        ('<sdf version="1.3"/>', "version 1.3 is too old"),
        ('<sdf version="new"/>', "give the version as two numbers, such as 1.9, not 'new'"),
        ("<sdf/>", "attribute version is missing"),
        ('<sdf version="1.9"><world name="a"/><world name="b"/></sdf>', "there is already a world"),
    ],
)
def test_files_that_hold_no_mechanism(text, said, tmp_path):
    with pytest.raises(FileError, match=said):
        read(parse_xml(text.encode(), tmp_path / "a.sdf"))


def test_several_models_without_a_world(tmp_path):
    both = "".join(f'<model name="{name}">{link("a")}</model>' for name in "pq")
    m = read(parse_xml(f'<sdf version="1.7">{both}</sdf>'.encode(), tmp_path / "a.sdf"))
    assert [body.name for body in m.bodies] == ["p::a", "q::a"]
    assert [x.name for x in m.joints] == ["p::a root", "q::a root"]


def test_a_version_to_come_is_noted(tmp_path):
    assert "line 1, sdf: version 1.99 is newer than 1.12, the latest supported" in loaded(tmp_path, A, "1.99").notes


def test_many_parts_take_little_time(tmp_path):
    """The longest chain of frames that is taken, models as deep as files go, and one part too many."""
    chain = "".join(f'<frame name="f{k}"><pose relative_to="f{k + 1}">1 0 0 0 0 0</pose></frame>' for k in range(2400))
    ends = "".join(link(f"l{k}", f'<pose relative_to="f{k}"/>') for k in range(1200))
    hinges = "".join(joint(f"j{k}", f"l{k}", f"l{k + 1}", axis()) for k in range(1199))
    start = perf_counter()
    m = loaded(tmp_path, f'<frame name="f2400"/>{chain}{ends}{hinges}')
    assert np.allclose(m.joints[-1].a.position, (2400, 0, 0))
    assert perf_counter() - start < 10
    deep = f'<model name="s" placement_frame="a">{link("a")}' * 190 + "</model>" * 190
    assert len(loaded(tmp_path, deep).bodies) == 190
    with pytest.raises(FileError, match=f"there are more than {MOST} links, joints, frames and models"):
        loaded(tmp_path, "".join(f'<frame name="{k}"/>' for k in range(MOST)))


def test_broken_files_are_read_or_refused_in_a_sentence(tmp_path):
    """Values swapped for odd ones, elements doubled, dropped or renamed, text cut out: nothing but a FileError."""
    rng = random.Random(5)
    odd = ["", "nan", "1e999", "-1", "0", "world", "x.y", "12", "1 2", "-inf", "0 0 0", "a::b", "__model__", "9" * 400]
    tags = ["link", "joint", "frame", "model", "include", "pose", "axis", "axis2", "limit", "gearbox", "world"]
    gear = "<gearbox_reference_body>a</gearbox_reference_body>"
    whole = f"""{A}{PARTS.replace("base", "c").replace('joint name="c"', 'joint name="cc"')}
    <model name="s" placement_frame="b">{link("b")}<frame name="f"/></model>
    {joint("u", "a", "s::b", axis() + axis(tag="axis2", xyz="0 1 0"), "universal")}
    {joint("g", "a", "arm", gear, "gearbox")}{joint("x", "a", "arm", axis('<mimic joint="j"/>'), "screw")}"""
    source = f'<sdf version="1.10"><world name="w"><model name="m">{whole}</model></world></sdf>'
    assert len(read(parse_xml(source.encode(), tmp_path / "whole.sdf")).joints) == 4
    refused = 0
    for _ in range(400):
        text = source
        for _ in range(rng.randint(1, 3)):
            pattern = rng.choice([r'"[^"]*"', r"<[^>]*/>", r"(?<=<)\w+", r"[^<>]{1,30}", r"(?<=>)[^<>\s]+(?=<)"])
            first, last = rng.choice([match.span() for match in re.finditer(pattern, text)])
            kept = text[first:last]
            new = {'"': f'"{rng.choice(odd)}"', "<": kept * rng.choice([0, 2])}.get(kept[0], rng.choice([*tags, *odd]))
            text = text[:first] + new + text[last:]
        try:
            read(parse_xml(text.encode(), tmp_path / "broken.sdf"), floating=rng.random() < 0.3)
        except FileError as error:
            refused += str(error).startswith(str(tmp_path))
    assert 150 < refused < 400
