"""Laws of closed mechanisms, at states that the first choice of generalized coordinates does not suit as well."""

from functools import cache

import casadi as ca
import numpy as np
import pytest

import kempe as kp
from kempe.control.laws import CompiledLaw, Symbols
from kempe.gallery.linkages import leg
from kempe.gallery.loops import five_bar
from kempe.loops.choosing import fitness, pivots_at
from kempe.mechanics.state import State
from kempe.model.model import Model


@cache
def unfit(name: str) -> tuple[Model, State]:
    """A mechanism in motion at a pose where a pivot of its first choice vanishes: a dead point of the leg's rocker, or
    an elbow of the five-bar that turns as its motors rest; by bisection."""
    if name == "leg":
        model = leg().compile()
        near = model.assemble({"crank": 0.0}, near={"rocker": 1.5})
        ends, lead = (0.0, 2 * np.pi), {"crank": 1.3}
        at = lambda x, q: model.assemble({"crank": x}, near=State(model, q, q))  # noqa: E731
    else:
        model = five_bar().compile()
        near = model.assemble({"left": 0.6, "right": 0.5}, near={"left elbow": -1.2, "right elbow": -3.0})
        ends, lead = (0.5, 2.5), {"left": 0.7, "right": -0.4}
        at = lambda x, q: model.assemble({"left": 0.6, "right": x}, near=State(model, q, q))  # noqa: E731
    q, before = near.q, None
    for x in np.linspace(*ends, 60):
        q = at(x, q).q
        pivots = pivots_at(model, model.choice, q)
        if before is not None and (pivots * before[1] < 0).any():
            k = int(np.flatnonzero(pivots * before[1] < 0)[0])
            low, high = before[0], x
            for _ in range(45):
                middle = 0.5 * (low + high)
                q = at(middle, q).q
                low, high = (middle, high) if pivots_at(model, model.choice, q)[k] * before[1][k] > 0 else (low, middle)
            assert fitness(model, model.choice, q) < 1e-10
            values = {n: State(model, q, q)[n] for n in lead}
            return model, model.assemble(values, near=State(model, q, q), rates=lead)
        before = x, pivots
    raise AssertionError("no pivot changes its sign")


def efforts(law: CompiledLaw, model: Model, state: State, t: float = 0.0) -> np.ndarray:
    """What a law gives at a state."""
    q, v = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv)
    u, _ = law.efforts(model, Symbols(ca.SX(t), q, v, ca.SX(0, 1), ca.SX(0, 1), ca.SX(0, 1)))
    return ca.Function("u", [q, v], [u])(state.q, state.v).full().ravel()


@pytest.mark.parametrize("name", ["leg", "five-bar"])
def test_laws_need_no_choice_that_suits(name):
    model, state = unfit(name)
    motion = kp.motions.cycloidal({n: (state[n] - 0.1, state[n] + 0.5) for n in model.u_names}, 1.0)
    law = kp.computed_torque(motion, rate=5.0)
    wanted = {n: -10 * state.rate(n) - 25 * 0.1 for n in model.u_names}  # (37), where the motion begins at rest
    exact = model.inverse_dynamics(state.q, state.v, wanted)
    np.testing.assert_allclose(efforts(law, model, state), exact, rtol=0, atol=1e-10 * max(1.0, np.abs(exact).max()))
    holding = efforts(kp.pd(motion, 0.0, 0.0, gravity=True), model, state)
    exact = model.inverse_dynamics(state.q, np.zeros(model.nv), np.zeros(model.nv))
    np.testing.assert_allclose(holding, exact, rtol=0, atol=1e-10 * max(1.0, np.abs(exact).max()))


def test_a_run_that_begins_where_the_first_choice_fails_follows_its_motion():
    """Errors obey e'' + 2 lambda e' + lambda^2 e = 0 (paper 1, eq. 37)."""
    model, state = unfit("leg")
    start, rate = State(model, state.q, np.zeros(model.nv)), 6.0
    motion = kp.motions.cycloidal({"crank": (state["crank"] - 0.1, state["crank"] + 2 * np.pi)}, 2.0)
    run = model.simulate(start, 2.0, torque=kp.computed_torque(motion, rate=rate), tolerance=1e-10)
    assert run.outcome.finished
    error = run["crank"] - motion.at(run.t)[0][:, 0]
    np.testing.assert_allclose(error, 0.1 * (1 + rate * run.t) * np.exp(-rate * run.t), atol=1e-8)


def test_actuators_to_spare_share_as_inverse_dynamics_has_it():
    m = kp.Mechanism("four-bar with two motors", gravity=(0, -9.81, 0))
    crank, coupler, rocker = m.rod("crank", 0.3, 1.5), m.rod("coupler", 1.0, 5.0), m.rod("rocker", 0.6, 3.0)
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start, actuated=True)
    model = m.compile()
    for angle in (0.5, 2.0, 4.0):
        state = model.assemble({"A": angle}, near={"D": 1.2}, rates={"A": 3.0})
        motion = kp.motions.cycloidal({"A": (angle, angle + 1.0)}, 1.0)
        exact = model.inverse_dynamics(state.q, state.v, {"A": -60.0})
        found = efforts(kp.computed_torque(motion, rate=10.0), model, state)
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10 * np.abs(exact).max())
