"""URDF+ written: what is read back is the same, and what cannot be said is said."""

import numpy as np
import pinocchio as pin
import pytest

import kempe as kp
from kempe.errors import FileError, MechanismError
from kempe.formats.loading import read
from kempe.formats.poses import Pose, angles_of, rotation_of, turning
from kempe.formats.urdf_writing import text
from kempe.formats.writing import mass_properties
from kempe.formats.xml import read_xml
from kempe.gallery.entries import ENTRIES
from tests.formats.mechanics import near, same_mechanics, same_words
from tests.formats.robots import EMPTY, ROBOTS
from tests.mechanisms import random_tree

ROUND = [name for name in ROBOTS if name != EMPTY]


@pytest.mark.parametrize("name", ROUND)
def test_a_robot_comes_back_the_same(name, tmp_path):
    """To 1e-12: mass properties, joints, frames, limits; in a tree or not, floating or not."""
    for floating in (False, True):
        m = kp.load(ROBOTS[name], floating=floating)
        assert m.save(tmp_path / "again.urdf") == []
        same_words(m, kp.load(tmp_path / "again.urdf", outside=True))


@pytest.mark.parametrize("name", ["solo_description/robots/solo12.urdf", "ur_description/urdf/ur5_robot.urdf"])
def test_a_robot_comes_back_from_yaml(name, tmp_path):
    m = kp.load(ROBOTS[name])
    assert m.save(tmp_path / "again.yaml") == []
    same_words(m, kp.load(tmp_path / "again.yaml", outside=True))


def test_others_read_what_is_written(tmp_path):
    """Pinocchio on what it read from the file of its makers, and on what Kempe made of that."""
    path = ROBOTS["talos_data/robots/talos_reduced.urdf"]
    kp.load(path).save(tmp_path / "again.urdf")
    models = [pin.buildModelFromUrdf(str(x)) for x in (path, tmp_path / "again.urdf")]
    rng = np.random.default_rng(0)
    q, v = (dict(zip(models[0].names[1:], rng.normal(size=(len(models[0].names), 1)), strict=False)) for _ in range(2))
    found = []
    for model in models:
        order = [model.joints[model.getJointId(name)].idx_v for name in q]
        here, there = np.zeros(model.nq), np.zeros(model.nv)
        here[order], there[order] = np.concatenate(list(q.values())), np.concatenate(list(v.values()))
        found.append(pin.nonLinearEffects(model, model.createData(), here, there)[order])
        assert model.nq == model.nv
    near(found[0], found[1], 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_move_as_before(seed, tmp_path):
    """Markers anywhere, joints from child to parent as well: bodies get other frames, and move the same."""
    m = random_tree(seed, bodies=6, kinds=("revolute", "prismatic", "fixed"), reverse=True)
    m.save(tmp_path / "tree.urdf")
    again = kp.load(tmp_path / "tree.urdf")
    again.gravity = m.gravity
    _bare(m)
    same_mechanics(m, again)


def _bare(m: kp.Mechanism) -> None:
    """Without what URDF cannot say."""
    m.loads.clear()
    for k, joint in enumerate(m.joints):
        m.joints[k] = type(joint)(**{**joint.__dict__, "stiffness": (0.0,) * len(joint.stiffness),
                                     "armature": (0.0,) * len(joint.armature)})  # fmt: skip


@pytest.mark.parametrize("name", ["four-bar", "watt", "slider-crank", "bricard", "excavator", "jansen"])
def test_closed_mechanisms_of_the_gallery_move_as_before(name, tmp_path):
    m = ENTRIES[name].build()
    m.save(tmp_path / "m.urdf")
    again = kp.load(tmp_path / "m.urdf")
    again.gravity = m.gravity
    _bare(m)
    same_mechanics(m, again)


def test_universal_and_ball_loops_come_back(tmp_path):
    m = kp.Mechanism("bridge")
    left, right = (m.box(name, (1, 0.2, 0.3), 2.0) for name in ("left", "right"))
    m.revolute("A", m.ground.at(0.1, 0.2), left.at(-0.5), (0, 1, 0), limits=(-1, None), damping=0.3, actuated=True)
    m.prismatic("B", m.ground.at(2), right.at(0.5, 0.1), (1, 2, 0))
    turned = rotation_of(0.3, -0.7, 1.1)
    m.universal("C", left.at(0.5), right.at(-0.5, rotation=turned), axes=((1, 0, 0), (0, 0, 1)))
    m.spherical("D", left.at(0.5, 0.1), right.at(-0.5, 0.1))
    assert m.save(tmp_path / "m.urdf") == []
    again = kp.load(tmp_path / "m.urdf")
    same_mechanics(m, again)
    assert {joint.name: joint.limits for joint in again.joints}["A"] == ((-1.0, np.inf),)


def test_couplings_come_back(tmp_path):
    """One that follows another; the one with the motor leads. More than two, or one that follows twice, are told."""
    m = kp.Mechanism("m")
    for k in range(3):
        m.revolute(f"J{k}", m.ground.at(k), m.sphere(f"ball{k}", 0.1, 1.0).at(0, 0.1), actuated=k == 0)
    m.couple("line", {"J0": 2.0, "J1": -3.0}, 0.6)
    m.couple("sum", {"J0": 1.0, "J1": 1.0, "J2": 1.0})
    m.couple("twice", {"J1": 1.0, "J0": 1.0})
    written, notes = text(m)
    assert [note.split()[1] for note in notes] == ["'sum'", "'twice'"]
    (tmp_path / "m.urdf").write_text(written)
    found = read(read_xml(tmp_path / "m.urdf"))
    (again,) = found.couplings
    assert {n: -3.0 * x for n, x in again.coefficients.items()} == pytest.approx({"J1": -3.0, "J0": 2.0}, rel=1e-12)
    assert -3.0 * again.offset == pytest.approx(0.6, rel=1e-12)
    assert [any(joint.actuated) for joint in found.joints] == [True, False, False]


def test_what_urdf_cannot_say_is_told(tmp_path):
    m = kp.Mechanism("m", gravity=(0, -9.81, 0))
    arm, tip = m.rod("arm", 1.0, 1.0, radius=0.1), m.sphere("tip", 0.1, 1.0)
    arm.at(0.5, name="middle")
    m.revolute("A", m.ground.at(), arm.start, stiffness=2.0, armature=0.1)
    m.planar("B", arm.end, tip.at(), actuated=["x"], damping=(1, 2, 3))
    m.wrench("push", tip.at(), force=(1, 0, 0))
    m.spherical("C", m.ground.at(1, 1), tip.at(0.1))
    notes = m.save(tmp_path / "m.urdf")
    for word in (
        "gravity",
        "load 'push'",
        "stiffness of joint 'A'",
        "armature of joint 'A'",
        "arm.middle",
        "joint 'B'",
    ):
        assert any(word in note for note in notes), word
    arm, _ = kp.load(tmp_path / "m.urdf").bodies
    assert [part.solid.kind for part in arm.parts] == ["body", "cylinder"]
    with pytest.raises(FileError, match=r"the ending selects the format; use \.yaml, \.yml, \.urdf"):
        m.save(tmp_path / "m.txt")


def _hanging(kind: str, **options) -> kp.Mechanism:
    m = kp.Mechanism("m")
    m.joint(kind, "J", m.ground.at(), m.sphere("ball", 0.1, 1.0).at(0, 0, 1), **options)
    return m


def _beam() -> kp.Mechanism:
    m = kp.Mechanism("m")
    m.revolute("J", m.ground.at(), m.beam("bar", 1.0, E=2e11, I=1e-8, rho=7800, A=1e-4).start)
    return m


def _backward() -> kp.Mechanism:
    m = kp.Mechanism("m")
    m.free("J", m.sphere("ball", 0.1, 1.0).at(), m.ground.at())
    return m


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: _hanging("spherical"), r"body 'ball' is carried by J \(spherical\), but URDF trees only have"),
        (lambda: _hanging("helical", axes=((0, 0, 1),), pitch=0.1), "joint 'J' is helical, which URDF cannot express"),
        (lambda: _hanging("fixed", switchable=True), "joint 'J' is switchable, which URDF cannot express"),
        (_beam, "body 'bar' is a beam, and URDF has only rigid links"),
        (_backward, "joint 'J' is free and would be written from 'ball'; swap its markers"),
    ],
    ids=range(5),
)
def test_what_would_be_another_mechanism_is_refused(build, said):
    with pytest.raises(MechanismError, match=said):
        text(build())


def test_mass_properties_of_many_solids():
    """About the centre of mass, against what the body has about its origin, carried there."""
    m = kp.Mechanism("m")
    body = m.box("b", (1, 2, 3), 2.0)
    body.add("rod", kp.Rod(2.0, 1.5, 0.1), (3, 4, 5), rotation_of(0.1, 0.2, 0.3))
    body.add("lump", kp.Lump(0.5, (1.0, 0.0, 0.0), (0.1, 0.2, 0.25, 0.01, 0.02, 0.03)), (0, 1, 0), rotation_of(1, 2, 3))
    body.add("hub", kp.Hub(0.3, (0, 1, 0)))
    mass, com, tensor = mass_properties(body, m.parameters.__getitem__)
    whole = body.inertia(m.parameters.__getitem__)
    near(mass, whole.mass, 1e-14)
    near(mass * com, whole.moment, 1e-14)
    near(tensor + mass * (com @ com * np.eye(3) - np.outer(com, com)), whole.tensor, 1e-14)


def test_angles_give_the_rotation_back():
    rng = np.random.default_rng(1)
    for pitch in (*rng.uniform(-3, 3, 50), np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9):
        matrix = rotation_of(rng.uniform(-3, 3), pitch, rng.uniform(-3, 3))
        near(matrix, rotation_of(*angles_of(matrix)), 1e-13)
        near(matrix @ matrix.T, np.eye(3), 1e-15)
    for away in (3.7e-6, 1e-8, 1e-11):  # by products, which have rounding that small numbers feel
        first, whole = (rotation_of(rng.uniform(-3, 3), pitch, rng.uniform(-3, 3)) for pitch in (1.0, np.pi / 2 - away))
        matrix = first.T @ (first @ whole)
        near(matrix, rotation_of(*angles_of(matrix)), 2e-15)
    near(rotation_of(0.3, 0, 0) @ (0, 1, 0), (0, np.cos(0.3), np.sin(0.3)), 1e-15)
    near(rotation_of(0, 0.3, 0) @ (0, 0, 1), (np.sin(0.3), 0, np.cos(0.3)), 1e-15)
    near(rotation_of(0, 0, 0.3) @ (1, 0, 0), (np.cos(0.3), np.sin(0.3), 0), 1e-15)


def test_the_shortest_turn():
    rng = np.random.default_rng(2)
    for a, b in (*rng.normal(size=(50, 2, 3)), (np.eye(3)[0], -np.eye(3)[0]), (np.ones(3), 2 * np.ones(3))):
        turn = turning(a, b)
        near(turn @ turn.T, np.eye(3), 1e-14)
        near(np.linalg.det(turn), 1.0, 1e-14)
        near(turn @ a / np.linalg.norm(a), b / np.linalg.norm(b), 1e-14)
        cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        near((np.trace(turn) - 1) / 2, cosine, 1e-13)


def test_poses_undo():
    pose = Pose(rotation_of(0.1, 0.2, 0.3), np.array([1.0, 2.0, 3.0]))
    there = pose.then(pose.inverse())
    near(there.rotation, np.eye(3), 1e-15)
    near(there.position, np.zeros(3), 1e-15)
