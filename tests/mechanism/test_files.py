"""YAML: what is written reads back the same; what is wrong is said with file, line and field."""

import numpy as np
import pytest

from kempe.errors import FileError, MechanismError
from kempe.formats.saving import save
from kempe.mechanism.bodies import Hub, Rod
from kempe.mechanism.files import load
from kempe.mechanism.joints import KINDS
from kempe.mechanism.mechanism import Mechanism
from kempe.mechanism.solids import Ellipsoid, MeshFile
from tests.dynamics.test_counts import puma
from tests.mechanisms import random_tree

FOUR_BAR = """\
name: four-bar
gravity: [0, -9.81, 0]
bodies:
  crank: {rod: {length: 0.3, mass: 1.5}}
  coupler: {rod: {length: 1.0, mass: 5.0}}
  rocker: {rod: {length: 0.6, mass: 3e0}}
joints:
  A: {revolute: [ground, crank.start], actuated: true}
  B: {revolute: [crank.end, coupler.start]}
  C: {revolute: [coupler.end, rocker.end]}
  D: {revolute: [{ground: [1, 0]}, rocker.start]}
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "m.yaml"
        path.write_text(text)
        return path

    return write


def same(a: Mechanism, b: Mechanism) -> None:
    assert a.name == b.name
    assert a.parameters == b.parameters
    assert [x.name for x in a.bodies] == [x.name for x in b.bodies]
    value = a.parameters.__getitem__
    for x, y in zip(a.bodies, b.bodies, strict=True):
        one, other = x.inertia(value), y.inertia(value)
        assert np.array_equal(one.tensor, other.tensor)
        assert np.array_equal(one.moment, other.moment)
        assert set(x.markers) == set(y.markers)
    for x, y in zip(a.joints, b.joints, strict=True):
        assert (x.name, x.type, x.actuated, x.limits, x.pitch) == (y.name, y.type, y.actuated, y.limits, y.pitch)
        assert np.array_equal(x.axes, y.axes)
        for one, other in ((x.a, y.a), (x.b, y.b)):
            assert (one.body.name, one.position) == (other.body.name, other.position)
            assert np.array_equal(one.rotation, other.rotation)
    assert len(a.loads) == len(b.loads)


def test_a_four_bar_in_twelve_lines(written):
    m = load(written(FOUR_BAR))
    assert len(FOUR_BAR.splitlines()) <= 12
    assert [j.name for j in m.joints] == ["A", "B", "C", "D"]
    assert m.parameters["rocker.mass"] == 3.0
    assert m.joints[3].a.position == (1, 0, 0.0)
    assert m.joints[0].actuated == (True,)
    assert m.check()


@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms_read_back_the_same(seed, tmp_path):
    m = random_tree(seed, 8, kinds=tuple(KINDS), passive=True, loads=True)
    save(m, tmp_path / "m.yaml")
    same(m, load(tmp_path / "m.yaml"))


def test_every_solid_marker_and_option_reads_back_the_same(tmp_path):
    m = Mechanism("all", gravity=(0.1, 0.2, -9.7))
    rod = m.rod("rod", 0.3, 1.5, radius=0.01)
    box = m.box("box", (1, 2, 3), 4.0).add("rotor", Hub(0.5, (0, 1, 0)), at=(1, 0, 0)).point_mass("tip", 0.1, (0, 1, 2))
    box.add("arm", Rod(0.2, 0.3), rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    m.cylinder("cylinder", 1.0, 0.2, 3.0)
    m.sphere("sphere", 0.2, 3.0)
    m.sphere("sphere with more", 0.1, 1.0).add("egg", Ellipsoid((0.1, 0.2, 0.3), 2.0))
    m.bodies[-1].add("look", MeshFile(str(tmp_path / "look.stl"), (1, 2, 3)), at=(1, 0, 0))
    m.plate("plate", [(0, 0), (1, 0), (0, 1)], 2.0, thickness=0.01)
    m.body("body", 2.0, (0.1, 0, 0), [[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1]])
    m.ground.at(1, 0, 2, name="pivot")
    m.ground.at(0, 0, 0, rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]], name="turned")
    m.planar("P", m.ground.turned, m.bodies[3].origin, normal=(1, 0, 0))
    m.fixed("F", m.ground.pivot, m.body("weird", 1.0).at(1, 2, 3))
    m.revolute("W", m.ground.pivot, m.bodies[-1].at(0, 1))
    box.at(1, 2, 3, rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]], name="hook")
    m.revolute("A", m.ground.at(0, 1), rod.start, axis=(0, 1, 0), limits=(-1, 1), damping=0.1, armature=0.2)
    m.cylindrical("B", rod.end, box.hook, actuated=["slide"], limits=[None, (-1, 2)], stiffness=(1, 2), rest=(0.1, 0.2))
    m.helical("C", box.at(0, 0, 1), m.bodies[2].origin, pitch=0.01)
    m.spring("spring", rod.at("rod.length", 0.1), box.hook, stiffness=10, damping=1, length=0.2)
    m.wrench("push", box.hook, force=(1, 2, 3), follows=True)
    save(m, tmp_path / "m.yaml")
    same(m, load(tmp_path / "m.yaml"))


def test_meshes_are_seen_from_the_file_that_names_them(tmp_path):
    text = "bodies:\n  arm: {mesh: {file: meshes/arm.stl}}\njoints:\n  A: {revolute: [ground, arm]}\n"
    (tmp_path / "m.yaml").write_text(text)
    (solid,) = (part.solid for part in load(tmp_path / "m.yaml").bodies[0].parts)
    assert solid == MeshFile(str(tmp_path / "meshes" / "arm.stl"))
    (tmp_path / "m.yaml").write_text(text.replace("meshes/arm.stl", "3"))
    with pytest.raises(FileError, match="line 2"):
        load(tmp_path / "m.yaml")


def test_the_puma_reads_back_the_same(tmp_path):
    save(puma(), tmp_path / "puma.yaml")
    again = load(tmp_path / "puma.yaml")
    q, v, a = np.random.default_rng(0).normal(size=(3, 6))
    one, other = (m.compile().generalized_forces(q, v, a) for m in (puma(), again))
    np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass: 1.5", "mass: heavy", r"line 4, bodies\.crank\.rod\.mass: .*valid number.*'heavy'"),
        (
            "length: 1.0",
            "lenght: 1.0",
            r"line 5, bodies\.coupler\.rod\.lenght: not known here; known are length, mass, radius",
        ),
        ("length: 1.0, ", "", r"line 5, bodies\.coupler\.rod\.length: field required"),
        ("coupler.start", "coupler.strat", r"line 9, joints\.B\.revolute\.1: body 'coupler' has no marker 'strat'"),
        ("rocker.end", "roker.end", r"line 10, .*there is no body 'roker'; there are ground, crank"),
        ("revolute: [crank.end", "hinge: [crank.end", r"line 9, joints\.B: name one joint kind .* none is named"),
        ("[crank.end, coupler.start]", "[crank.end]", r"line 9, joints\.B\.revolute: give two markers"),
        ("bodies:", "bodys:", r"line 3, bodys: not known here"),
        ("  C:", "  B:", r"line 10, joints\.B: this key is already used above"),
        ("[0, -9.81, 0]", "[0, -9.81]", "line 2, gravity: .*give 3 numbers, not 2"),
        (
            "actuated: true",
            "actuated: maybe",
            "line 8, joints.*no freedom 'maybe' to actuate; it has one unnamed freedom",
        ),
        ("actuated: true", "powered: true", r"line 8, joints\.A.*: .*not permitted"),
        ("[1, 0]", "[1, 0, 0, 0]", "line 11, .*up to three coordinates"),
        ("[1, 0]", "[null, 0]", "line 11, .*up to three coordinates"),
        ("mass: 1.5", "mass: true", r"line 4, bodies\.crank\.rod\.mass: give a number, not true"),
        (
            "[crank.end, coupler.start]}",
            "[crank.end, coupler.start], axes: [[1, 0, 0]]}",
            "a revolute joint has no axes; it takes axis",
        ),
        (
            "[crank.end, coupler.start]}",
            "[crank.end, coupler.start], pitch: 1}",
            "helical joints need a pitch",
        ),
        (
            "rod: {length: 0.3, mass: 1.5}",
            "body: {mass: 1, inertia: [a, b, c]}",
            r"line 4, bodies\.crank\.body\.inertia: .*takes numbers",
        ),
        (
            "rod: {length: 0.3, mass: 1.5}",
            "body: {mass: 1, inertia: [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}",
            "not symmetric",
        ),
        ("name: four-bar", "name: &loop [*loop]", "nested too deeply"),
        ("{ground: [1, 0]}", "{ground: 1, crank: 2}", "line 11, .*a marker is"),
        ("{rod: {length: 0.3, mass: 1.5}}", "[1, 2]", r"line 4, bodies\.crank: should hold named entries"),
        ("name: four-bar", "name: [", "line .*: not YAML"),
    ],
)
def test_mistakes_are_told_with_line_and_field(written, old, new, message):
    path = written(FOUR_BAR.replace(old, new, 1))
    with pytest.raises(FileError, match=message) as error:
        load(path)
    assert str(error.value).startswith(str(path))


def test_names_are_taken_as_they_are_written(written):
    assert load(written(FOUR_BAR.replace("four-bar", "yes"))).name == "yes"
    m = load(written(FOUR_BAR.replace("crank", "body")))
    assert m.bodies[0].name == "body"


def test_two_parts_of_one_name_are_not_saved(tmp_path):
    m = Mechanism("m")
    m.rod("rod", 1.0, 1.0)
    m.rod("rod", 2.0, 1.0)
    with pytest.raises(MechanismError, match="two of its parts are named 'rod'"):
        save(m, tmp_path / "m.yaml")


def test_standard_markers_cannot_be_moved():
    m = Mechanism("m")
    rod = m.rod("rod", 1.0, 1.0)
    for name in ("end", "name", "parts", "at"):
        with pytest.raises(MechanismError, match="is already used"):
            rod.at(0.5, 0, 0, name=name)


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(FileError, match="No such file"):
        load(tmp_path / "nothing.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(FileError, match="not YAML"):
        load(tmp_path / "bytes.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bodies: " + "[" * 3000, "nested too deeply"),
        ("name: 2024-13-45\nbodies: {a: {rod: {length: " + "1" * 5000 + ", mass: 1}}}", "a number of 5000 digits"),
        (
            "bodies: {a: {rod: {length: !foo 1, mass: 1}}}",
            r"line 1, bodies\.a\.rod\.length: the tag '!foo' is not allowed here",
        ),
        ("#" * (8 * 2**20 + 1), "larger than 8 MiB"),
    ],
    ids=range(4),
)
def test_hostile_files_get_a_sentence(written, text, message):
    path = written(text)
    if message is None:
        found = load(path)
        assert found.name == "2024-13-45"
        assert "a.length: is inf; give a finite number" in str(found.check())
        with pytest.raises(MechanismError, match=r"cannot be saved: a\.length is inf"):
            found.save(path.with_suffix(".xml"))
        return
    with pytest.raises(FileError, match=message):
        load(path)


def test_saving_leaves_nothing_behind_when_it_fails(tmp_path):
    (tmp_path / "m.yaml").mkdir()
    with pytest.raises(FileError, match="Is a directory"):
        save(puma(), tmp_path / "m.yaml")
    assert [p.name for p in tmp_path.iterdir()] == ["m.yaml"]
