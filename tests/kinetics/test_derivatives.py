"""Derivatives of closed dynamics against central differences, along changes that keep loops closed."""

from functools import cache

import numpy as np
import pytest

from kempe.errors import NotClosed, StateError
from kempe.gallery.excavator import excavator
from kempe.gallery.loops import bricard, five_bar, four_bar, scissor_lift, stewart, three_rrr
from kempe.kinetics.closed import numeric as accelerations
from kempe.kinetics.derivatives import numeric
from kempe.loops.kinematics import settle
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.closed import allowed, random_closed
from tests.control.test_closed_laws import unfit

H = 1e-5
GALLERY = {
    "four-bar": four_bar, "five-bar": five_bar, "3-rrr": three_rrr, "bricard": bricard, "excavator": excavator,
    "scissor lift": scissor_lift, "stewart": stewart,
}  # fmt: skip
FULL = ("four-bar", "five-bar", "3-rrr", "bricard", "excavator", "stewart")
SPATIAL = 6
SEEDS = (1, 4, 11, SPATIAL)


def on_the_way(model: Model, seed: int) -> State:
    """A closed state that moves."""
    rng, q = np.random.default_rng(seed), np.array(model.prepared.samples.states)[seed % 3]
    if model.mechanism.name == "stewart":  # samples of it are near singular poses
        q = model.assemble({f"P{k}": -0.2 + 0.02 * k for k in range(1, 7)}).q
    return State(model, q, allowed(model.closure(q)[1]) @ rng.normal(size=model.nv))


@cache
def case(name: str | int) -> tuple[Model, State]:
    """A mechanism of the gallery, or one in a plane made at random, with springs and dampers."""
    if isinstance(name, str):
        model = GALLERY[name]().compile()
        return model, on_the_way(model, 1)
    chains = (("revolute", "spherical", "cylindrical", "revolute"),) if name == SPATIAL else ()
    closed = random_closed(name, 1 + name % 3, planar=not chains, passive=True, chains=chains)
    model = closed.mechanism.compile()
    return model, closed.moving(model, name)


def nearby(model: Model, state: State, dq, dv, h: float, p=None):
    """The closed state a step away along W dy, velocities changed by dv and made to keep loops closed."""
    return settle(model, model.integrate(state.q, h * dq), state.v + h * dv)


def along(model: Model, f, state: State, dq, dv):
    """The change of f along a closed curve through a state, and the step and change of velocity it really makes."""
    (q1, v1), (q0, v0) = (nearby(model, state, dq, dv, h) for h in (H, -H))
    rate = (f(q1, v1) - f(q0, v0)) / (2 * H)
    return rate, (model.difference(state.q, q1) - model.difference(state.q, q0)) / (2 * H), (v1 - v0) / (2 * H)


def close(exact, approximate, state, scale=1.0):
    size = max(1.0, np.abs(approximate).max(), scale)
    np.testing.assert_allclose(exact, approximate, atol=2e-7 * size)


@pytest.mark.parametrize("name", [*GALLERY, *SEEDS])
def test_forward_against_differences_along_closed_curves(name):
    model, state = case(name)
    rng = np.random.default_rng(0)
    tau, space = rng.normal(size=model.nu), allowed(model.closure(state.q)[1])
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(state.q, state.v, tau)
    for _ in range(3):
        dq, dv = space @ rng.normal(size=model.nv), rng.normal(size=model.nv)
        rate, dq, dv = along(model, lambda q, v: model.forward_dynamics(q, v, tau, check=False), state, dq, dv)
        close(by_q @ dq + by_v @ dv, rate, state, np.abs(by_q).max())
    for k in range(model.nu):
        step = np.eye(model.nu)[k]
        more, less = (model.forward_dynamics(state.q, state.v, tau + s * step) for s in (1, -1))
        np.testing.assert_allclose(
            by_tau[:, k], (more - less) / 2, atol=1e-9 * max(1.0, np.abs(by_tau).max(initial=0.0))
        )


@pytest.mark.parametrize("name", ["leg", "five-bar"])
def test_where_the_first_choice_does_not_suit_they_are_as_exact(name):
    """Forward and inverse, against differences along closed curves."""
    model, state = unfit(name)
    rng = np.random.default_rng(0)
    q, v, tau, space = state.q, state.v, rng.normal(size=model.nu), allowed(model.closure(state.q)[1])
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(q, v, tau)
    a = model.forward_dynamics(q, v, tau)
    inverse_by_q, inverse_by_v, inverse_by_a = model.inverse_dynamics_derivatives(q, v, a)
    for _ in range(3):
        dq, dv = space @ rng.normal(size=model.nv), rng.normal(size=model.nv)
        rate, dq, dv = along(model, lambda q, v: model.forward_dynamics(q, v, tau, check=False), state, dq, dv)
        close(by_q @ dq + by_v @ dv, rate, state, np.abs(by_q).max())
        # What comes back is tau, so that all changes of the motion together do not change it.
        close(
            inverse_by_q @ dq + inverse_by_v @ dv + inverse_by_a @ rate, np.zeros(model.nu), state, np.abs(by_q).max()
        )
    np.testing.assert_allclose(inverse_by_a @ by_tau, np.eye(model.nu), atol=1e-8)
    many = model.forward_dynamics_derivatives(*(np.stack([x, x]) for x in (q, v, tau)))
    for one, both in zip((by_q, by_v, by_tau), many, strict=True):
        np.testing.assert_array_equal(both, np.stack([one, one]))


@pytest.mark.parametrize("name", [*GALLERY, *SEEDS])
def test_the_dense_way_agrees_along_closed_changes(name):
    model, state = case(name)
    rng = np.random.default_rng(0)
    tau, space = rng.normal(size=model.nu), allowed(model.closure(state.q)[1])
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(state.q, state.v, tau)
    vdot = accelerations(model, state.q, state.v, model.spread(tau))
    np.testing.assert_allclose(model.forward_dynamics(state.q, state.v, tau), vdot, atol=1e-9 * np.abs(vdot).max())
    dense = numeric(model, state.q, state.v, model.spread(tau))
    _, dq, dv = along(model, lambda q, v: 0.0, state, space @ rng.normal(size=model.nv), rng.normal(size=model.nv))
    ours, theirs = by_q @ dq + by_v @ dv, dense[0] @ dq + dense[1] @ dv
    np.testing.assert_allclose(ours, theirs, atol=1e-8 * max(1.0, np.abs(by_q).max()))
    np.testing.assert_allclose(by_tau, dense[2][:, model.driven], atol=1e-9 * max(1.0, np.abs(by_tau).max(initial=0.0)))


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "bricard", *SEEDS])
def test_they_are_those_of_the_compiled_function_in_any_direction(name):
    """Off closed states too: what is differentiated is what is computed, with the same rows of the loops."""
    model, state = case(name)
    q, v, tau = state.q, state.v, np.zeros(model.nv)
    f = lambda q, v: model.call("forward_dynamics", q, v, tau)[0]  # noqa: E731
    by_q, by_v = model.forward_dynamics_derivatives(q, v)[:2]
    for k, step in enumerate(H * np.eye(model.nv)):
        rate = (f(model.integrate(q, step), v) - f(model.integrate(q, -step), v)) / (2 * H)
        close(by_q[:, k], rate, state, np.abs(by_q).max())
        close(by_v[:, k], (f(q, v + step) - f(q, v - step)) / (2 * H), state, np.abs(by_v).max())


@pytest.mark.parametrize("name", FULL)
def test_inverse_against_differences(name):
    model, state = case(name)
    rng = np.random.default_rng(0)
    q, v, space = state.q, state.v, allowed(model.closure(state.q)[1])
    a = model.forward_dynamics(q, v, rng.normal(size=model.nu))
    by_q, by_v, by_a = model.inverse_dynamics_derivatives(q, v, a)
    f = lambda q, v, a: model.inverse_dynamics(q, v, a, check=False)  # noqa: E731
    rate, dq, _ = along(model, lambda q, _: f(q, v, a), state, space @ rng.normal(size=model.nv), np.zeros(model.nv))
    close(by_q @ dq, rate, state, np.abs(by_q).max())
    for k, step in enumerate(H * np.eye(model.nv)):
        close(by_v[:, k], (f(q, v + step, a) - f(q, v - step, a)) / (2 * H), state, np.abs(by_v).max())
        close(by_a[:, k], (f(q, v, a + step) - f(q, v, a - step)) / (2 * H), state, np.abs(by_a).max())


def test_inverse_undoes_forward():
    model, state = case("3-rrr")
    tau = np.random.default_rng(0).normal(size=model.nu)
    a = model.forward_dynamics(state.q, state.v, tau)
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(state.q, state.v, tau)
    back_q, back_v, back_a = model.inverse_dynamics_derivatives(state.q, state.v, a)
    space = allowed(model.closure(state.q)[1])
    np.testing.assert_allclose(back_a @ by_tau, np.eye(model.nu), atol=1e-11)
    _, dq, dv = along(model, lambda q, v: 0.0, state, space @ np.ones(model.nv), np.ones(model.nv))
    np.testing.assert_allclose(back_a @ (by_q @ dq + by_v @ dv), -(back_q @ dq + back_v @ dv), rtol=1e-8)


def redundant_five_bar() -> Mechanism:
    """Two freedoms and three actuators."""
    m = Mechanism("driven five-bar", gravity=(0, -9.81, 0))
    rods = [m.rod(n, 0.5 + 0.05 * k, 1.0) for k, n in enumerate("abcd")]
    m.revolute("A", m.ground.at(0, 0), rods[0].start, actuated=True)
    m.revolute("B", rods[0].end, rods[1].start, actuated=True)
    m.revolute("C", rods[1].end, rods[2].end)
    m.revolute("D", rods[2].start, rods[3].end)
    m.revolute("E", m.ground.at(0.6, 0), rods[3].start, actuated=True)
    return m


@pytest.mark.parametrize("weights", [None, {"A": 2.0, "B": 0.5, "E": 1.0}])
def test_inverse_with_more_actuators_than_freedoms(weights):
    model = redundant_five_bar().compile()
    state = on_the_way(model, 0)
    q, v = state.q, state.v
    a = model.forward_dynamics(q, v, [1.0, -2.0, 0.5])
    by_q, by_v, by_a = model.inverse_dynamics_derivatives(q, v, a, weights=weights)
    f = lambda q, v, a: model.inverse_dynamics(q, v, a, weights=weights, check=False)  # noqa: E731
    space = allowed(model.closure(q)[1])
    rate, dq, _ = along(model, lambda q, _: f(q, v, a), state, space @ np.ones(model.nv), np.zeros(model.nv))
    close(by_q @ dq, rate, state)
    step = H * np.arange(1, model.nv + 1)
    close(by_v @ step / H, (f(q, v + step, a) - f(q, v - step, a)) / (2 * H), state)
    close(by_a @ step / H, (f(q, v, a + step) - f(q, v, a - step)) / (2 * H), state)


class TestParameters:
    PATHS = ("coupler.mass", "D.damping", "gravity.y", "crank.length", "rocker.length")

    def settled(self, model: Model, q, v, p):
        """The nearest closed state with other lengths."""
        for _ in range(8):
            phi, jacobian, _ = model.closure(q, p=p)
            q = model.integrate(q, -np.linalg.pinv(jacobian, rcond=1e-9) @ phi)
        return q, allowed(model.closure(q, p=p)[1]) @ v

    def test_both_ways_with_lengths_that_q_follows(self):
        model = four_bar().compile(parameters=self.PATHS)
        state = model.assemble({"A": 1.0}, rates={"A": 2.0})
        q, v, p = state.q, state.v, model.p
        a = model.forward_dynamics(q, v, [1.0])
        forward = model.forward_dynamics_derivatives(q, v, [1.0])
        dense = numeric(model, q, v, model.spread([1.0]))
        inverse = model.inverse_dynamics_derivatives(q, v, a)
        assert forward[3].shape == (model.nv, 5)
        assert inverse[3].shape == (1, 5)
        for k in range(5):
            step = 1e-5 * np.eye(5)[k]
            (q1, v1), (q0, v0) = (self.settled(model, q, v, p + s * step) for s in (1, -1))
            dq, dv = model.difference(q0, q1) / 2e-5, (v1 - v0) / 2e-5
            vdot = [model.forward_dynamics(*x, [1.0], p=p + s * step) for x, s in (((q1, v1), 1), ((q0, v0), -1))]
            rate = (vdot[0] - vdot[1]) / 2e-5
            for by_q, by_v, _, by_p in (forward, dense):
                np.testing.assert_allclose(by_q @ dq + by_v @ dv + by_p[:, k], rate, atol=1e-6 * np.abs(rate).max())
            tau = [model.inverse_dynamics(x, v, a, p=p + s * step, check=False) for x, s in ((q1, 1), (q0, -1))]
            exact = inverse[0] @ dq + inverse[3][:, k]
            np.testing.assert_allclose(exact, (tau[0] - tau[1]) / 2e-5, atol=1e-6 * np.abs(tau[0]).max())


def test_many_states_are_each_alone():
    model, _ = case("four-bar")
    states = [model.assemble({"A": x}, rates={"A": 1.0}, near={"A": x, "D": 1.2}) for x in (0.3, 1.0, 2.0)]
    q, v = np.array([s.q for s in states]), np.array([s.v for s in states])
    a = model.forward_dynamics(q, v)
    for many, one in (
        (model.forward_dynamics_derivatives(q, v), lambda k: model.forward_dynamics_derivatives(q[k], v[k])),
        (model.inverse_dynamics_derivatives(q, v, a), lambda k: model.inverse_dynamics_derivatives(q[k], v[k], a[k])),
    ):
        for k in range(3):
            for x, y in zip(many, one(k), strict=True):
                np.testing.assert_allclose(x[k], y, rtol=1e-12, atol=1e-12)


def test_trees_give_the_rows_of_their_actuators():
    m = Mechanism("cart", gravity=(0, -9.81, 0))
    cart, pole = m.box("cart", (0.2, 0.1, 0.1), 1.0), m.rod("pole", 0.6, 0.5)
    m.prismatic("rail", m.ground.at(0, 0), cart.at(0, 0), axis=(1, 0, 0), actuated=True)
    m.revolute("hinge", cart.at(0, 0), pole.start)
    model = m.compile()
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    for ours, whole in zip(model.inverse_dynamics_derivatives(q, v, a), model.generalized_forces_derivatives(q, v, a),
                           strict=True):  # fmt: skip
        assert np.array_equal(ours, whole[:1])


def test_words():
    model, state = case("four-bar")
    with pytest.raises(NotClosed, match="is open by"):
        model.forward_dynamics_derivatives(state.q + 0.1, state.v)
    idle = five_bar()
    for joint in idle.joints:
        object.__setattr__(joint, "actuated", (joint.name == "left",))
    model = idle.compile()
    state = on_the_way(model, 1)
    with pytest.raises(StateError, match="has 2 freedoms and 1 actuators"):
        model.inverse_dynamics_derivatives(state.q, state.v, {"left": 0.0, "right": 3.0})
    a = model.forward_dynamics(state.q, state.v, [1.0])
    with pytest.raises(StateError, match="with too few of them, the actuators"):
        model.inverse_dynamics_derivatives(state.q, state.v, a)
