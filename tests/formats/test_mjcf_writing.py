"""MJCF written: what is read back moves the same, MuJoCo sees the same, and what cannot be said is said."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import kempe as kp
from kempe.errors import MechanismError
from kempe.formats.loading import read
from kempe.formats.mjcf.writing import text
from kempe.formats.poses import rotation_of
from kempe.formats.writing import marker_pose
from kempe.formats.xml import parse_xml
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.loads import Spring
from tests.closed import allowed, random_closed
from tests.direct import Direct
from tests.formats.mechanics import near
from tests.formats.motion import carried_over, same_motion
from tests.formats.mujoco_side import Beside
from tests.formats.robots import ROBOTS
from tests.formats.test_mjcf_models import SHIPPED
from tests.mechanisms import random_tree


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a file where it stands."""
    monkeypatch.chdir(tmp_path)


def again(m: kp.Mechanism) -> kp.Mechanism:
    return read(parse_xml(text(m)[0].encode(), Path("again.xml")))


def sayable(m: kp.Mechanism) -> None:
    """Balls get one number for all freedoms, and floating bodies none: MJCF has them in other axes."""
    for k, joint in enumerate(m.joints):
        factor = {"spherical": 1.0, "free": 0.0}.get(joint.type.name)
        if factor is not None:
            even = {n: (factor * getattr(joint, n)[0],) * len(joint.damping) for n in ("damping", "armature")}
            m.joints[k] = replace(joint, **even)


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_move_as_before(seed):
    """All kinds of joints, some from child to parent, with springs, dampers and rotors, and springs between bodies."""
    m = random_tree(seed, bodies=6, passive=seed % 2 == 1, loads=seed % 3 == 2)
    sayable(m)
    m.loads = [load for load in m.loads if isinstance(load, Spring)]
    rng = np.random.default_rng(seed)
    values = {joint.name: joint.kind(m.parameters.__getitem__).random(rng) for joint in m.joints}
    found = again(m)
    same_motion(m, values, found)
    assert [any(joint.actuated) for joint in found.joints if joint.type.name == "revolute"]


def drawn_anywhere(m: kp.Mechanism, rng) -> None:
    """Joints, but balls and bodies that float, stand anywhere as the mechanism is drawn."""
    for k, joint in enumerate(m.joints):
        if len(joint.type.q_names) == len(joint.type.v_names) > 0:
            m.joints[k] = replace(joint, drawn=tuple(rng.normal(size=len(joint.type.v_names)).tolist()))


@pytest.mark.parametrize("seed", range(12))
def test_joints_that_are_drawn_elsewhere_than_at_zero_keep_their_coordinates(seed, tmp_path):
    """Read again they move as before and begin where they did, as in MuJoCo."""
    m, rng = random_tree(seed, bodies=6, passive=seed % 2 == 1), np.random.default_rng(seed)
    sayable(m)
    drawn_anywhere(m, rng)
    values = {joint.name: joint.kind(m.parameters.__getitem__).random(rng) for joint in m.joints}
    flat = [joint for joint in m.joints if len(joint.type.v_names) == 1]
    if len(flat) > 1:
        factors = {joint.name: float(rng.uniform(1, 2)) for joint in flat[:3]}
        m.couple("gear", factors, float(sum(x * values[name][0] for name, x in factors.items())))
    found = again(m)
    same_motion(m, values, found)
    own = {joint.name: joint for joint in found.joints}
    for joint in flat:
        assert own[joint.name].drawn == pytest.approx(joint.drawn, abs=1e-15)
    m.save(tmp_path / "m.xml")
    side = Beside(tmp_path / "m.xml")
    side.check(1e-9, states=1)
    side.check_drawn()
    m.save(tmp_path / "m.yaml")
    assert [joint.drawn for joint in kp.load(tmp_path / "m.yaml").joints] == [joint.drawn for joint in m.joints]


def test_the_hopper_of_gymnasium_begins_where_it_is_drawn():
    m = kp.load(next(path for path in SHIPPED if path.stem == "hopper"))
    model = m.compile()
    assert model.state()["rootz"] == model.drawn["rootz"] == 1.25
    assert model.simulate(None, 0.01)["rootz"][0] == 1.25
    assert model.stepper(None, 0.01).state["rootz"] == 1.25
    assert model.state({"rootz": 0.0})["rootz"] == 0.0
    assert model.neutral()[list(model.q_names).index("rootz")] == 0.0


@pytest.mark.parametrize("seed", range(12))
def test_random_loops_move_as_before(seed):
    """All kinds of joints close loops; where no equality can, a body is in pieces."""
    closed = random_closed(seed, loops=1 + seed % 3, passive=seed % 2 == 1)
    sayable(closed.mechanism)
    found = again(closed.mechanism)
    same_motion(closed.mechanism, closed.values, found)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_gallery_comes_back(name):
    """To 1e-12: mass properties, joints and their frames, loops and their types, limits, all that acts, springs."""
    m = ENTRIES[name].build()
    found = again(m)
    same_parts(m, found)
    assert found.gravity == m.gravity
    # Written again, it is as it was, but for sites of closures, which are markers now, and what rows of joints became.
    if not any(joint.type.name == "universal" or joint.switchable for joint in m.joints):
        same_parts(found, again(found), renamed=False)


def same_parts(m: kp.Mechanism, found: kp.Mechanism, renamed: bool = True) -> None:
    values, own = m.parameters.__getitem__, found.parameters.__getitem__
    bodies = {body.name: body for body in found.bodies}
    for body in m.bodies:
        pieces = [x for n, x in bodies.items() if n == body.name or n.startswith(f"{body.name} piece")]
        whole, parts = body.inertia(values), [piece.inertia(own) for piece in pieces]
        for n in ("mass", "moment", "tensor"):
            near(sum(getattr(part, n) for part in parts), getattr(whole, n), 1e-12)
        assert set(body.markers) - {"start", "end"} <= set(bodies[body.name].markers)
    joints = {joint.name: joint for joint in found.joints}
    for joint in m.joints:
        if joint.type.name == "fixed" and not joint.switchable and renamed:
            continue  # has no name in the file
        if not joint.on:
            assert joint.name not in joints
            continue
        rows = [joints[n] for n in (joint.name, *(f"{joint.name} {x}" for x in joint.type.v_names)) if n in joints]
        assert len(rows) == (2 if joint.type.name == "universal" else 1)
        for quantity in ("actuated", "limits", "damping", "stiffness", "rest", "armature"):
            assert tuple(x for row in rows for x in getattr(row, quantity)) == getattr(joint, quantity)
        if len(rows) == 1:
            assert rows[0].type is joint.type
            same_places(joint, values, rows[0], own)
    springs = [x for x in m.loads if isinstance(x, Spring)]
    for a, b in zip(springs, found.loads, strict=True):
        assert (a.name, a.stiffness, a.damping, a.length) == (b.name, b.stiffness, b.damping, b.length)
        for x, y in ((a.a, b.a), (a.b, b.b)):
            assert x.body.name == y.body.name
            near(x.origin(values), y.origin(own), 1e-15)


def same_places(joint, values, other, own) -> None:
    """How bodies stand where coordinates are zero, where the joint is on both, and along what; whichever is first."""
    ends = [
        (marker_pose(joint.a, values), marker_pose(joint.b, values)),
        (marker_pose(other.a, own), marker_pose(other.b, own)),
    ]
    turned = other.a.body.name != joint.a.body.name
    if turned:
        ends[1] = ends[1][::-1]
    zero = [a.then(b.inverse()) for a, b in ends]
    near(zero[0].rotation, zero[1].rotation, 1e-12)
    near(zero[0].position, zero[1].position, 1e-12)
    if joint.type.name == "free":  # seen from where the file puts the body
        return
    for x, y in zip(*ends, strict=True):
        near(x.position, y.position, 1e-12)
        for one, two in zip(joint.axes, other.axes, strict=True):
            length = np.linalg.norm(one) * (-1 if turned else 1)
            near(x.rotation @ one / length, y.rotation @ two / np.linalg.norm(two), 1e-12)


REFUSED = ("puma", "andrews-squeezer")  # bodies that have one moment of inertia, and no other


@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in REFUSED])
def test_mujoco_has_the_dynamics_of_the_gallery(name, tmp_path):
    ENTRIES[name].build().save(tmp_path / "m.xml")
    Beside(tmp_path / "m.xml").check(1e-9, states=1)


@pytest.mark.parametrize("name", REFUSED)
def test_mujoco_refuses_bodies_that_none_can_be(name):
    written, notes = text(ENTRIES[name].build())
    assert any("larger than the sum of the other two: MuJoCo refuses" in note for note in notes)
    with pytest.raises(ValueError, match="balanceinertia"):
        mujoco.MjModel.from_xml_string(written)


@pytest.mark.parametrize("kind", ["revolute", "spherical", "fixed"])
def test_mujoco_closes_loops_where_they_are_closed(kind, tmp_path):
    """Sites meet in a closed state, though not where coordinates are zero; and hold what the joint holds."""
    chain = ("revolute", "universal", "prismatic", "cylindrical", "revolute", kind)
    closed = random_closed(4, closing=kind, chains=(chain,))
    closed.mechanism.save(tmp_path / "m.xml")
    side = Beside(tmp_path / "m.xml")
    own = {joint.name: joint for joint in side.mechanism.joints}
    there: dict[str, np.ndarray] = {}
    for joint in closed.mechanism.joints:
        there |= carried_over(joint, own, np.atleast_1d(closed.values[joint.name]), None, None)[0]
    q = np.concatenate([there[t.joint.name] for t in side.topology.tree if t.joint.type.q_names])
    side.at(q, np.zeros(side.topology.nv))
    rows = side.data.efc_J.reshape(-1, side.model.nv)
    assert np.abs(side.data.efc_pos).max() < 1e-12
    gaps, held, _ = Direct(side.equations, side.mechanism).kernel("closure")(q)
    assert np.abs(gaps).max() < 1e-12
    near(allowed(rows), allowed(held), 1e-9)


@pytest.mark.parametrize("name", ["solo_description/robots/solo12.urdf", "talos_data/robots/talos_reduced.urdf"])
def test_robots_go_from_urdf_to_mjcf(name, tmp_path):
    m = kp.load(ROBOTS[name], floating=True)
    m.save(tmp_path / "robot.xml")
    same_parts(m, kp.load(tmp_path / "robot.xml"))
    Beside(tmp_path / "robot.xml").check(1e-9, states=1)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_mujoco_sees_its_own_files_the_same_when_they_are_written_again(path, tmp_path):
    """Joints in a row, which are apart in a mechanism, stand on one body again."""
    kp.load(path).save(tmp_path / "again.xml")
    rng, found = np.random.default_rng(0), []
    models = [mujoco.MjModel.from_xml_path(str(x)) for x in (path, tmp_path / "again.xml")]
    qpos, qvel = rng.normal(size=models[0].nq), rng.normal(size=models[0].nv)
    for model in models:
        assert (model.nq, model.nv, model.nbody, model.njnt) == (qpos.size, qvel.size, models[0].nbody, models[0].njnt)
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        inertia = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, inertia)
        found.append((inertia, data.qfrc_bias - data.qfrc_spring - data.qfrc_damper))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * np.abs(one).max())


def test_a_body_without_mass_between_joints_is_no_body_of_the_file():
    m = kp.Mechanism("m")
    cross, arm = m.solid("cross"), m.box("arm", (0.1, 0.2, 0.3), 1.0)
    m.revolute("A", m.ground.at(1, 2), cross.at(0.1, 0.2, 0.3), (1, 0, 0))
    m.prismatic("B", arm.at(0.4, 0.1, 0, rotation=rotation_of(0.1, 0.2, 0.3)), cross.at(0, 0.5, 0), (1, 2, 3))
    written, notes = text(m)
    assert mujoco.MjModel.from_xml_string(written).nbody == 2
    assert notes == ["cross: no mass and only joints, which are written on the next body: its name is lost"]
    found = again(m)
    same_motion(m, {"A": 0.7, "B": -0.4}, found)
    assert again(found).bodies[0].name == found.bodies[0].name == "arm before joint 2"


# ---- couplings ---------------------------------------------------------------------------------------------------


def train(joints: int) -> kp.Mechanism:
    m = kp.Mechanism("train")
    for k in range(joints):
        m.revolute(f"J{k}", m.ground.at(k), m.sphere(f"ball{k}", 0.1, 1.0).at(0, 0.1))
    return m


@pytest.mark.parametrize("factors", [(2.0,), (-2.0, 3.0), (1.0, -2.0, 0.5, 4.0)])
def test_couplings_come_back_and_hold_in_mujoco(factors, tmp_path):
    m = train(4)
    given = m.couple("line", {f"J{k}": x for k, x in enumerate(factors)}, 0.7)
    written, notes = text(m)
    assert notes == []
    (tmp_path / "m.xml").write_text(written)
    side = Beside(tmp_path / "m.xml")
    (found,) = side.mechanism.couplings
    scale = given.coefficients["J0"] / found.coefficients["J0"]
    assert found.name == "line"
    assert {n: scale * x for n, x in found.coefficients.items()} == pytest.approx(given.coefficients, rel=1e-12)
    assert scale * found.offset == pytest.approx(0.7, rel=1e-12)
    q = np.array([0.3, -0.8, 1.1, 0.2])
    side.at(q, np.zeros(4))
    gap = sum(x * q[k] for k, x in enumerate(factors)) - 0.7
    assert side.data.efc_pos[0] * scale == pytest.approx(gap, rel=1e-12)


def test_a_coupling_names_freedoms_of_joints():
    m = kp.Mechanism("m")
    m.cylindrical("J", m.ground.at(), m.sphere("ball", 0.1, 1.0).at())
    m.couple("screw", {"J.slide": 1.0, "J.angle": -0.2})
    written, _ = text(m)
    (found,) = read(parse_xml(written.encode(), Path("m.xml"))).couplings
    assert found.coefficients == {"J slide": 1.0, "J angle": -0.2}


# ---- what cannot be said -----------------------------------------------------------------------------------------


def test_what_mjcf_cannot_say_is_told():
    m = kp.Mechanism("m")
    world, plate = m.sphere("world", 0.1, 1.0), m.plate("plate", ((0, 0), (1, 0), (0, 1)), 1.0)
    arm, bare = m.rod("arm", 1.0, 1.0), m.solid("bare")
    m.spherical("A", m.ground.at(), world.at(), damping=(1, 2, 3), actuated=["wx"], limits=[(-1, 1), None, None])
    m.fixed("B", world.at(1), plate.at())
    m.free("C", plate.at(), arm.start, actuated=True)
    m.revolute("D", arm.end, bare.at())
    m.free("E", arm.end, plate.at())
    m.wrench("push", arm.end, force=(1, 0, 0))
    _, notes = text(m)
    for said in (
        "body 'world' is named 'world body'",
        "one damping for all its freedoms",
        "limits of joint 'A' are not written",
        "only some freedoms of joint 'A' are actuated",
        "joints B are fixed and have no names",
        "'C' (free) is written as 'C px', 'C py', 'C pz', 'C turn'",
        "'C': in MJCF, its motors and damping act along axes of its carrier",
        "bare: no mass",
        "arm: no moment of inertia about some axis",
        "plate: a plate, a mesh or a shape without size",
        "joint 'E' closes a loop but is free",
        "load 'push' is not written",
    ):
        assert any(said in note for note in notes), said
    mujoco.MjModel.from_xml_string(text(m)[0])


def test_switched_joints_are_equalities_that_are_active_or_not():
    m = train(1)
    m.revolute("on", m.ground.at(1, 1), m.bodies[0].at(1), switchable=True)
    m.fixed("off", m.ground.at(2, 1), m.bodies[0].at(1), switchable="open")
    written, notes = text(m)
    assert mujoco.MjModel.from_xml_string(written).eq_active0.tolist() == [1, 1, 0]
    assert [note.split(" is written")[0] for note in notes] == ["switchable joint 'on'", "switchable joint 'off'"]


def _beam() -> kp.Mechanism:
    m = kp.Mechanism("m")
    m.revolute("J", m.ground.at(), m.beam("bar", 1.0, E=2e11, I=1e-8, rho=7800, A=1e-4).start)
    return m


def _slider() -> kp.Mechanism:
    m = train(1)
    m.prismatic("S", m.ground.at(), m.bodies[0].at(), switchable=True)
    return m


def _long() -> kp.Mechanism:
    m = kp.Mechanism("m")
    below = m.ground
    for k in range(200):
        below, above = m.rod(f"r{k}", 1.0, 1.0), below
        m.revolute(f"J{k}", above.at(), below.start)
    return m


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (_beam, "body 'bar' is a beam, which MJCF cannot express"),
        (_slider, r"switchable joint 'S' \(prismatic"),
        (_long, "body 'r197' is nested in 197 others"),
    ],
    ids=range(3),
)
def test_what_would_be_another_mechanism_is_refused(build, said):
    with pytest.raises(MechanismError, match=said):
        text(build())


def test_moments_that_no_body_has_come_back_as_they_were():
    """Files have them; a body that moves keeps them as one that is welded does."""
    m = kp.Mechanism("odd")
    tensor = np.array([[0.1, 0.2, 0.0], [0.2, 0.1, 0.05], [0.0, 0.05, 0.3]])
    m.revolute("A", m.ground.at(), m.body("first", 1.0, (0.1, 0.2, 0.3), tensor).origin, axis=(1, 2, 0))
    m.fixed("W", m.bodies[0].at(1), m.body("second", 2.0, inertia=(-0.1, 0.2, 0.3)).origin)
    assert [note for note in text(m)[1] if note.startswith("first, second: a moment of inertia larger")]
    found = again(m)
    for one, other in zip(m.bodies, found.bodies, strict=True):
        near(one.inertia(m.parameters.__getitem__).tensor, other.inertia(found.parameters.__getitem__).tensor, 1e-15)
