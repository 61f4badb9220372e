"""Closures of every kind of joint: residual, Jacobian and bias against finite differences, false solutions rejected,
coordinates of cut joints against those the joint would have in the tree."""

import numpy as np
import pytest

from kempe.mechanism.joints import KINDS
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial import quaternions
from tests.mechanisms import random_joint, random_rotation, random_tensor

CUT = [kind for kind in KINDS if kind not in ("helical", "free")]


def held_by(kind: str, seed: int):
    """A body that floats freely, held by a joint of a kind to a second body that turns; and the same with the joint in
    the tree, whose coordinates are then known."""
    models = []
    for floating in (True, False):
        rng = np.random.default_rng(seed)
        m = Mechanism(f"{kind} closure", gravity=rng.normal(size=3) * 5)
        bodies = []
        for name in ("base", "tip"):
            mass = rng.uniform(0.5, 2)
            bodies.append(m.body(name, mass, rng.normal(size=3) * 0.3, random_tensor(rng, mass)))
        base, tip = bodies
        m.revolute("turn", m.ground.at(*rng.normal(size=3)), base.at(*rng.normal(size=3)), axis=rng.normal(size=3))
        a = base.at(*rng.normal(size=3) * 0.5, rotation=random_rotation(rng))
        b = tip.at(*rng.normal(size=3) * 0.5, rotation=random_rotation(rng))
        joint = random_joint(m, rng, "held", kind, a, b, False)
        object.__setattr__(joint, "actuated", (False,) * len(joint.actuated))
        if floating:
            m.free("float", m.ground.at(), tip.at())
        models.append(m.compile(cut=["held"]) if floating else m.compile())
    return models


def closed_state(closed, tree, seed: int):
    """A state of the tree, and the same of the model whose joint is cut."""
    state = tree.random_state(seed)
    rotation, position = tree.pose("tip", state.q)
    twist = tree.twist("tip", state.q, state.v)
    q = np.concatenate([[state["turn"]], _quaternion(rotation), position])
    v = np.concatenate([[state.rate("turn")], rotation.T @ twist[:3], rotation.T @ twist[3:]])
    return state, q, v


def _quaternion(r):
    w = np.sqrt(max(1 + np.trace(r), 0)) / 2
    if w > 0.1:
        return np.array([w, *(r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]) / (4 * w)])
    values, vectors = np.linalg.eigh((r + r.T) / 2)
    axis = vectors[:, values.argmax()]
    angle = np.arctan2(
        np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) @ axis / 2, (np.trace(r) - 1) / 2
    )
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", CUT)
class TestEveryKind:
    def test_states_of_the_joint_are_closed_and_move_within_the_closure(self, kind, seed):
        closed, tree = held_by(kind, seed)
        for k in range(5):
            _, q, v = closed_state(closed, tree, k)
            phi, jacobian, upright = closed.closure(q)
            assert phi.shape == (6 - len(KINDS[kind].v_names),)
            assert np.abs(phi).max(initial=0.0) < 1e-12
            assert (upright > 0).all()
            assert np.abs(jacobian @ v).max(initial=0.0) < 1e-11 * (1 + np.abs(v).max())

    def test_the_jacobian_is_the_derivative_of_the_residual_anywhere(self, kind, seed):
        closed, _ = held_by(kind, seed)
        rng = np.random.default_rng(seed)
        q, step = closed.random_state(seed).q, 1e-6
        jacobian = closed.closure(q)[1]
        for _ in range(3):
            v = rng.normal(size=closed.nv)
            ahead, behind = (closed.residual(closed.integrate(q, sign * step * v)) for sign in (1, -1))
            np.testing.assert_allclose(jacobian @ v, (ahead - behind) / (2 * step), atol=1e-7)

    def test_the_bias_is_that_of_the_jacobian(self, kind, seed):
        closed, _ = held_by(kind, seed)
        state, step = closed.random_state(seed), 1e-6
        q, v = state.q, state.v
        rates = [closed.closure(closed.integrate(q, sign * step * v))[1] @ v for sign in (1, -1)]
        np.testing.assert_allclose(-closed.loop_bias(q, v), (rates[0] - rates[1]) / (2 * step), atol=1e-6)

    def test_coordinates_and_velocities_are_those_of_the_joint(self, kind, seed):
        closed, tree = held_by(kind, seed)
        state, q, v = closed_state(closed, tree, seed)
        own, seen = np.atleast_1d(state["held"]), np.atleast_1d(closed.loop_coordinates(q))
        if kind == "spherical":
            seen = seen * np.sign(seen @ own)
        np.testing.assert_allclose(np.exp(1j * seen), np.exp(1j * own), atol=1e-14)
        np.testing.assert_allclose(closed.loop_velocities(q, v), np.atleast_1d(state.rate("held")), atol=1e-10)
        np.testing.assert_allclose(closed.loop_matrix(q) @ v, closed.loop_velocities(q, v), atol=1e-12)


UNITS = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, -1, 0), (0, 0, 0, 1), (0.5, 0.5, -0.5, 0.5)]
SMALL = [(0, 0.6, -0.8, 0), (1e-9, 0, 0.6, 0.8), (0.8, 0, 0, -0.6), (0.6, -0.8, 1e-9, 0)]


@pytest.mark.parametrize("q", UNITS + SMALL)
def test_balls_that_were_cut_have_exact_quaternions_at_every_turn(q):
    """Entries near zero are not what is left of squares."""
    m = Mechanism("ball")
    body = m.box("body", (0.2, 0.3, 0.4), 1.0)
    m.spherical("ball", m.ground.at(), body.at())
    m.free("float", m.ground.at(), body.at())
    model = m.compile(cut=["ball"])
    seen = model.state({"float": [*q, 0, 0, 0]})["ball"]
    np.testing.assert_allclose(seen * np.sign(seen @ q), q, atol=1e-15)
    assert seen[0] >= 0


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "planar", "prismatic", "fixed"])
def test_half_a_turn_wrong_is_told_apart(kind):
    """Turned by pi about an axis across the joint's own, or about any for a joint that does not turn."""
    closed, tree = held_by(kind, 1)
    _, q, _ = closed_state(closed, tree, 2)
    joint = closed.topology.loops[0].joint
    frame = joint.frame(joint.b, closed.mechanism.parameters.__getitem__)
    from kempe.spatial.moves import relative_pose

    turn, place = (np.array(x, dtype=float) for x in relative_pose(frame))
    flip = turn @ np.diag([1.0, -1.0, -1.0]) @ turn.T  # about the joint's x, in the body's axes
    rotation, position = closed.pose("tip", q)
    wrong = np.concatenate([q[:1], _quaternion(rotation @ flip), position + rotation @ (place - flip @ place)])
    phi, _, upright = closed.closure(wrong)
    assert np.abs(phi).max() < 1e-10
    assert upright[0] < 0
    assert quaternions.normalized(wrong[1:5]) == pytest.approx(wrong[1:5])


def test_a_body_that_was_cut_weighs_as_much_as_before():
    m = Mechanism("four-bar", gravity=(0, -9.81, 0))
    rods = [m.rod(name, length=length, mass=mass, radius=0.05) for name, length, mass in
            (("crank", 0.3, 1.5), ("coupler", 1.0, 5.0), ("rocker", 0.6, 3.0))]  # fmt: skip
    crank, coupler, rocker = rods
    for name, a, b in (("A", m.ground.at(0, 0), crank.start), ("B", crank.end, coupler.start),
                       ("C", coupler.end, rocker.end), ("D", m.ground.at(1, 0), rocker.start)):  # fmt: skip
        m.revolute(name, a, b, damping=0.1)
    model = m.compile()
    assert model.topology.loops[0].joint.name == "coupler weld"
    state = model.assemble({"A": 1.0}, rates={"A": 2.0})
    assert np.abs(model.residual(state.q)).max() < 1e-13
    free = Mechanism("four-bar", gravity=(0, -9.81, 0))
    bars = [free.rod(r.name, *(r.parts[0].solid.length, r.parts[0].solid.mass, 0.05)) for r in rods]
    for name, a, b in (("A", free.ground.at(0, 0), bars[0].start), ("B", bars[0].end, bars[1].start),
                       ("C", bars[1].end, bars[2].end), ("D", free.ground.at(1, 0), bars[2].start)):  # fmt: skip
        free.revolute(name, a, b)
    other = free.compile()
    same = other.assemble({"A": 1.0}, near={"D": state["D"]}, rates={"A": 2.0})
    np.testing.assert_allclose(model.energy(state.q, state.v), other.energy(same.q, same.v), rtol=1e-12)
