"""Runs to look at, integrated by SciPy: a double pendulum on a cart, a spinning top, random trees."""

import numpy as np
from scipy.integrate import solve_ivp

from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.outcome import Occurrence, Statistics
from kempe.results.trajectory import Trajectory


def simulated(model: Model, state: State, times, effort=None, p=None, **more) -> Trajectory:
    """SciPy's run from a state; effort(t) gives u."""
    times = np.asarray(times, dtype=float)
    effort = effort or (lambda t: np.zeros(model.nu))

    def rates(t, y):
        q, v = y[: model.nq], y[model.nq :]
        return np.concatenate([model.rates(q, v, p=p), model.forward_dynamics(q, v, effort(t), p=p)])

    start = np.concatenate([state.q, state.v])
    found = solve_ivp(rates, times[[0, -1]], start, "DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    q, v = found.y[: model.nq].T, found.y[model.nq :].T
    u = np.array([effort(t) for t in times]).reshape(len(times), model.nu)
    return Trajectory(model, times, q, v, model.forward_dynamics(q, v, u, p=p), u, p=p, **more)


def cart() -> Mechanism:
    m = Mechanism("double pendulum on a cart", gravity=(0, -9.81, 0))
    body = m.box("cart", (0.2, 0.1, 0.1), 2.0)
    upper, lower = m.rod("upper", length=0.5, mass=1.0), m.rod("lower", length=0.4, mass=0.8)
    m.prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0, 0), actuated=True, damping=0.5)
    m.revolute("shoulder", body.at(0, 0), upper.start, actuated=True)
    m.revolute("elbow", upper.end, lower.start, damping=0.01)
    return m


def cart_run(rows=201, end=2.0, **more) -> Trajectory:
    model = cart().compile()
    start = model.state({"shoulder": 0.5, "elbow": 1.0})
    return simulated(model, start, np.linspace(0, end, rows), lambda t: np.array([3 * np.sin(3 * t), 0.5]), **more)


def top() -> Mechanism:
    m = Mechanism("top", gravity=(0, 0, -9.81))
    disc = m.cylinder("disc", 0.02, 0.1, 1.0)
    m.spherical("pivot", m.ground.at(0, 0), disc.at(0, 0, -0.1))
    return m


def top_run(times) -> Trajectory:
    model = top().compile()
    return simulated(model, model.state({"pivot": [1, 0.2, 0, 0]}, {"pivot": [0.5, 0, 30.0]}), times)


def rows_of(model: Model, count: int, seed: int = 0, **more) -> Trajectory:
    """States that have nothing to do with each other, but accelerations that are right."""
    rng = np.random.default_rng(seed)
    states = [model.random_state(seed + k) for k in range(count)]
    q, v = np.array([s.q for s in states]), np.array([s.v for s in states])
    u, p = rng.normal(size=(count, model.nu)), more.pop("p", model.p * 1.1 if model.p_names else None)
    happened = Occurrence('a stop, "hit"\n#', 0.1, tuple(q[0].tolist()), tuple(v[0].tolist()))
    more = {"occurrences": (happened,), "statistics": Statistics("dop853", 1000, 90, 3, 0.25), "p": p} | more
    return Trajectory(
        model, np.cumsum(rng.uniform(0, 0.1, count)), q, v, model.forward_dynamics(q, v, u, p=p), u, **more
    )
