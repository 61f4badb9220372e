"""Mechanisms with loops that float: nothing depends on their attitude, momentum is kept, what cannot be is refused."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import kempe as kp
from kempe.dynamics.generalized import Choice
from kempe.dynamics.multipliers import Augmented, Slm, Sslm
from kempe.errors import StateError
from kempe.kinetics.closed import numeric
from kempe.loops.choosing import fitness
from kempe.spatial.quaternions import exponential
from tests.direct import Direct, beside, prepare
from tests.newton import Bodies, by_joint


def satellite() -> kp.Mechanism:
    """A hull with a four-bar on it, in a plane of the hull."""
    m = kp.Mechanism("satellite", gravity=(0, 0, 0))
    hull = m.box("hull", (0.8, 0.5, 0.4), 20.0)
    lengths, masses = (0.3, 1.0, 0.6), (1.5, 5.0, 3.0)
    names = "crank", "coupler", "rocker"
    crank, coupler, rocker = (m.rod(n, x, y, 0.02) for n, x, y in zip(names, lengths, masses, strict=True))
    m.free("float", m.ground.at(0, 0), hull.at(0.1, 0, 0.05))
    m.revolute("A", hull.at(0.4, 0.1, 0.2), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", hull.at(1.4, 0.1, 0.2), rocker.start)
    return m


@cache
def model_of() -> kp.Model:
    return satellite().compile()


def tumbling(spin=(0.3, 0.2, -0.5)) -> kp.State:
    rates = {"A": 2.0, "float": (*spin, 0.1, 0.2, 0.3)}
    return model_of().assemble({"A": 1.2}, near={"D": 1.2}, rates=rates)


def attitudes() -> list[np.ndarray]:
    """The identity, half turns and quarters, and any."""
    turns = [np.zeros(3), *(np.pi / 2 * np.eye(3)), np.array([np.pi, 0, 0]), np.array([0.4, -1.1, 2.0])]
    return [exponential(turn) for turn in turns]


def test_generalized_coordinates_are_as_fit_in_every_attitude():
    """Rows of the loop in world axes would be other rows of it after every quarter of a turn."""
    model, q = model_of(), tumbling().q.copy()
    assert model.topology.loops[0].carried
    found = []
    for q[:4] in attitudes():
        found.append(fitness(model, model.choice, q))
    assert np.ptp(found) < 1e-12
    assert found[0] > 0.1


@pytest.mark.parametrize("closing", ["revolute", "spherical"])
def test_a_linkage_in_a_plane_that_slews_needs_no_other_rows(closing):
    """A four-bar on a table that turns about z, in a plane through z, closed by a hinge or by a ball."""
    m = kp.Mechanism("palletizer")
    table = m.box("table", (0.5, 0.5, 0.1), 20.0)
    crank, coupler, rocker = (m.rod(n, x, 1.0, 0.02) for n, x in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6)))
    m.revolute("slew", m.ground.at(0, 0), table.at(0, 0), actuated=True)
    upright = (0, 1, 0)
    m.revolute("A", table.at(0, 0), crank.start, axis=upright, actuated=True)
    m.revolute("B", crank.end, coupler.start, axis=upright)
    m.joint(closing, "C", coupler.end, rocker.end, (upright,) if closing == "revolute" else ())
    m.revolute("D", table.at(1, 0), rocker.start, axis=upright)
    model = Direct(m.compile(cut=["C"]).equations, m)
    assert model.topology.loops[0].carried
    q = model.assemble({"A": -1.2}, near={"D": -1.2}).q.copy()
    found = []
    for q[0] in (0.0, 0.3, np.pi / 2, np.pi):
        found.append(fitness(model, model.choice, q))
    assert np.ptp(found) < 1e-12
    assert found[0] > 0.05


def test_accelerations_are_those_of_single_bodies_in_every_attitude():
    """By generalized coordinates, and by multipliers, the system's and those of subsystems."""
    model, state = model_of(), tumbling()
    others = [beside(model, f) for f in (Augmented(), Slm(), Sslm())]
    for attitude in attitudes():
        q = state.q.copy()
        q[:4] = attitude
        now = kp.State(model, q, state.v)
        bodies = Bodies(model, now)
        tau = {"A": [3.0]}
        found = bodies.solve(tau)
        a = model.forward_dynamics(q, state.v, [3.0])
        for joint, own in by_joint(model, now, a).items():
            assert np.allclose(own, found.accelerations[joint], atol=1e-9), joint
        assert np.allclose(a, numeric(model, q, state.v, model.spread([3.0])), atol=1e-10)
        for other in others:
            assert np.allclose(other.forward_dynamics(q, state.v, [3.0]), a, atol=1e-10), other.formulation


def test_momentum_of_a_free_closed_mechanism_is_kept():
    """Over ten turns, with its crank driven: forces inside change no momentum."""
    model, state = model_of(), tumbling((3.0, 2.0, -5.0))
    run = model.simulate(state, 10.0, torque=[0.5], tolerance=1e-11, output=0.05)
    angular, linear = run.momentum
    assert run.outcome.finished
    assert run.statistics.changes == 0
    assert np.abs(angular - angular[0]).max() < 1e-10 * np.linalg.norm(angular[0])
    assert np.abs(linear - linear[0]).max() < 1e-10 * np.linalg.norm(linear[0])


def test_settled_velocities_keep_loops_closed_where_coordinates_are_not_fit():
    """A free ring of four bodies on balls, with rows in world axes, and velocities that depend on each other there."""
    m = kp.Mechanism("ring", gravity=(0, 0, 0))
    bodies = [m.body(f"b{k}", 1.0 + 0.3 * k, (0.5, 0.1, 0.05 * k), (0.02, 0.09, 0.1)) for k in range(4)]
    m.free("float", m.ground.at(0, 0), bodies[0].at(0, 0))
    for k, body in enumerate(bodies):
        m.spherical(f"ball{k}", body.at(1, 0), bodies[(k + 1) % 4].at(0, 0))
    equations = m.compile().equations
    worldly = tuple(replace(loop, carried=False) for loop in equations.topology.loops)
    ring = Direct(replace(equations, topology=replace(equations.topology, loops=worldly)), m)
    quarter = ring.state({f"ball{k}": (0.707, 0, 0.1, 0.7) for k in (0, 1, 3)})
    q = ring.assemble(near=quarter).q
    other = ring.assemble(near=ring.random_state(1)).q
    triples = [list(x) for x in itertools.combinations(range(6, ring.nv), 3)]
    rest = [np.setdiff1d(np.arange(ring.nv), x).tolist() for x in triples]
    choices = [Choice((2, 1, 0), tuple(x), tuple(y), (1.0,) * 3) for x, y in zip(triples, rest, strict=True)]
    wild, slips = np.random.default_rng(0).normal(size=ring.nv), []
    for choice in (x for x in choices if fitness(ring, x, q) < 1e-12 and fitness(ring, x, other) > 1e-2):
        ring = Direct(ring.equations, m)
        prepare(ring, choice=choice)
        with np.errstate(all="ignore"):
            slips.append(np.abs(ring.call("loop_slip", *ring.call("project", q, wild)[:2])).max())
        if 1e-3 < slips[-1] < np.inf:  # what is caught
            break
    assert 1e-3 < slips[-1] < np.inf
    for found in (ring.settle(q, wild), [x[0] for x in ring.settle(q[None], wild[None])]):
        assert np.abs(ring.loop_slip(*found)).max() < 1e-9
        assert np.abs(ring.residual(found[0])).max() < 1e-12


def test_what_floating_mechanisms_cannot_do_is_said_in_a_sentence():
    model, state = model_of(), tumbling()
    turn = kp.motions.cycloidal({"A": (1.2, 1.5)}, 1)
    with pytest.raises(StateError, match=r"velocities of joint 'float' are not the rates .* such as 'body.x'"):
        model.close({"A": 1.2, "float": state["float"]}, near=state)
    with pytest.raises(StateError, match="close: with these joints given, 6 freedoms are left"):
        model.close({"A": 1.2}, near=state)
    with pytest.raises(StateError, match="with A given, 6 freedoms are left"):
        model.motion(turn, start=state)
    with pytest.raises(
        StateError, match="closed by equations, which its subsystems share; compile it with formulation"
    ):
        model.parallel_speedup()
    with pytest.raises(StateError, match=r"7 freedoms and 1 actuators .* synthesize"):
        model.inverse_dynamics(state.q, state.v, np.zeros(model.nv), check=False)
    with pytest.raises(StateError, match="computed_torque: the motion is of A; 'satellite' has 7 freedoms"):
        model.simulate(state, 0.1, torque=kp.computed_torque(turn, 10.0, 1.0))


def test_the_workspace_of_a_five_bar_on_a_body_that_is_held_in_place_is_that_of_one_on_the_ground():
    areas = []
    for floats in (False, True):
        m = kp.Mechanism("five-bar")
        base = m.box("base", (1, 0.2, 0.2), 5.0)
        m.joint("free" if floats else "fixed", "base joint", m.ground.at(0, 0), base.at(0, 0), ())
        ends = []
        for joint, x in (("A", -0.25), ("E", 0.25)):
            first, second = m.rod(f"{joint} first", 0.5, 1.0, 0.02), m.rod(f"{joint} second", 0.6, 1.0, 0.02)
            m.revolute(joint, base.at(x, 0), first.start, actuated=True)
            m.revolute(f"{joint} knee", first.end, second.start)
            ends.append(second.end)
        m.revolute("tip", *ends)
        model = m.compile()
        start = model.assemble({"A": 2.0, "E": 1.0}, near={"A knee": -1.0, "E knee": 1.0})
        hold = dict.fromkeys(("base", "base.x", "base.y", "base.z")) if floats else None
        areas.append(model.workspace("A second.end", start, hold=hold, step=0.3).area)
    assert np.isclose(*areas, rtol=2e-3)
