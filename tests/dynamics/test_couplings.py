"""Couplings in every formulation: gears, racks and differentials by hand, random mechanisms by their single bodies."""

from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import kempe as kp
from kempe.analyze.mobility import gruebler
from kempe.dynamics.multipliers import Slm, Sslm
from kempe.dynamics.partition import Partition
from kempe.errors import MechanismError, NotClosed, StateError
from kempe.loops.constraints import constraints, middles
from kempe.mechanics.state import State
from kempe.mechanism.couplings import freedom_name
from kempe.mechanism.joints import Free, Spherical
from tests.closed import Closed, mechanisms
from tests.direct import beside, prepare
from tests.dynamics.test_random_closed import check_dense_solve, check_single_bodies, efforts, loaded, on_numbers
from tests.long import some
from tests.mechanisms import random_tree

CLOSED = ("partition", "augmented", "slm", "sslm")


def rack() -> kp.Mechanism:
    """A pinion that lifts a bar."""
    m = kp.Mechanism("rack and pinion", gravity=(0, -9.81, 0))
    wheel, bar = m.cylinder("wheel", 0.02, 0.05, 0.8), m.box("bar", (0.02, 0.4, 0.02), 1.3)
    m.revolute("pinion", m.ground.at(0, 0), wheel.at(0, 0), actuated=True)
    m.prismatic("rack", m.ground.at(0.05, 0), bar.at(0, 0), axis=(0, 1, 0))
    m.couple("mesh", {"pinion": 0.05, "rack": -1.0}, offset=-0.02)
    return m


def geared(**gear) -> kp.Mechanism:
    """A five-bar linkage whose two cranks are geared together: one loop, one coupling, one freedom."""
    m = kp.Mechanism("geared five-bar", gravity=(0, -9.81, 0))
    sizes = {"a": (0.3, 1.0), "b": (0.7, 2.0), "c": (0.65, 1.5), "d": (0.35, 1.1)}
    a, b, c, d = (m.rod(name, *size) for name, size in sizes.items())
    m.revolute("A", m.ground.at(0, 0), a.start, actuated=True)
    m.revolute("B", a.end, b.start)
    m.revolute("C", b.end, c.end, **gear)
    m.revolute("D", d.end, c.start, damping=0.02)
    m.revolute("E", m.ground.at(0.6, 0), d.start)
    m.couple("gears", {"A": 2.0, "E": 1.0}, offset=3.0)
    return m


@cache
def compiled(formulation: str = "auto"):
    return geared().compile(formulation)


def start(model):
    return model.assemble({"A": 1.2}, rates={"A": 1.7})


# ---- by hand -----------------------------------------------------------------------------------------------


def test_a_rack_falls_against_the_inertia_of_its_pinion():
    model = rack().compile()
    state = model.assemble({"pinion": 0.3})
    assert state["rack"] == pytest.approx(0.05 * 0.3 + 0.02, abs=1e-14)
    inertia = 0.5 * 0.8 * 0.05**2 + 1.3 * 0.05**2
    found = model.forward_dynamics(state.q, state.v, {"pinion": 0.2})
    fast = (0.2 - 1.3 * 9.81 * 0.05) / inertia
    np.testing.assert_allclose(found, [fast, 0.05 * fast], rtol=1e-13)
    # The mesh exerts what the bar's fall lacks: its multiplier is a force, since the rack has the largest coefficient.
    force = 1.3 * (0.05 * fast + 9.81)
    assert -model.multipliers(state.q, state.v, {"pinion": 0.2})["mesh"] == pytest.approx(force, rel=1e-12)
    assert model.inverse_dynamics(state.q, state.v, {"pinion": fast}) == pytest.approx(0.2, rel=1e-12)


def test_angles_that_are_coupled_count_turns():
    m = kp.Mechanism("reducer", gravity=(0, -9.81, 0))
    for name in ("motor", "arm"):
        m.revolute(name, m.ground.at(0, 0), m.rod(f"{name} rod", 0.5, 1.0).start)
    m.couple("gears", {"arm": 50.0, "motor": -1.0}, offset=4.0)
    for formulation in ("auto", "springs"):
        model = m.compile(formulation)
        assert model.assemble({"arm": 1.0})["motor"] == pytest.approx(46.0)
        assert model.assemble({"motor": 100.0})["arm"] == pytest.approx(104 / 50)
        assert model.assemblies({"arm": -1.0})[0].state["motor"] == pytest.approx(-54.0)
    model = compiled()
    state = model.assemble({"A": 10.0})  # with a loop, whose other angles stay within half a turn
    assert (2 * state["A"] + state["E"], np.abs(state["B"]) < np.pi) == (pytest.approx(3.0), True)
    model.forward_dynamics(state.q, state.v)


def test_a_follower_without_mass_is_for_partition():
    """Nothing but the coupling says how it moves, and other formulations begin with what the tree does by itself."""
    m = kp.Mechanism("finger", gravity=(0, -9.81, 0))
    m.revolute("A", m.ground.at(0, 0), m.rod("a", 1.0, 1.0).start)
    m.revolute("B", m.bodies[0].end, m.body("b", 0.0).origin)
    m.couple("tendon", {"A": 1.0, "B": -2.0})
    model = m.compile()
    state = model.assemble({"A": 0.3})
    fast = -9.81 * 0.5 * np.cos(0.3) * 3
    np.testing.assert_allclose(model.forward_dynamics(state.q, state.v), [fast, fast / 2], rtol=1e-12)
    for formulation in ("augmented", "slm", "sslm", "springs"):
        with pytest.raises(MechanismError, match="of the tree alone, in which B can move against none; give auto"):
            m.compile(formulation)


def test_a_differential_shares_a_torque_between_two_wheels():
    """carrier = (left + right) / 2: an effort of the carrier acts on both wheels alike, by half."""
    m = kp.Mechanism("differential", gravity=(0, 0, 0))
    for name, inertia in (("carrier", 0.3), ("left", 0.2), ("right", 0.5)):
        m.revolute(
            name, m.ground.at(0, 0), m.body(f"{name} wheel", 1.0, inertia=(1, 1, inertia)).at(0, 0), actuated=True
        )
    m.couple("bevels", {"carrier": 2.0, "left": -1.0, "right": -1.0})
    # T = 0.3 ((l + r) / 2)^2 / 2 + 0.2 l^2 / 2 + 0.5 r^2 / 2, and the carrier's effort works on (l + r) / 2.
    inertia = np.array([[0.2 + 0.075, 0.075], [0.075, 0.5 + 0.075]])
    left, right = np.linalg.solve(inertia, [0.5 * 4.0, 0.5 * 4.0 - 1.0])
    for formulation in CLOSED:
        model = m.compile(formulation)
        found = model.forward_dynamics(model.neutral(), np.zeros(3), {"carrier": 4.0, "right": -1.0})
        np.testing.assert_allclose(found, [(left + right) / 2, left, right], rtol=1e-12)
    assert m.mobility().freedom == gruebler(m.topology()) == 2


def test_gears_on_an_arm_turn_by_their_teeth_over_a_whole_run():
    """A planet of 18 teeth that rolls on a sun of 30, which is fixed: angles relative to the arm keep 30 : 18."""
    m = kp.Mechanism("planetary", gravity=(0, -9.81, 0))
    arm = m.rod("arm", 0.048, 0.2)
    planet = m.cylinder("planet", 0.01, 0.018, 0.1)
    planet.add("weight", kp.PointMass(0.05), (0.01, 0, 0))
    m.revolute("carrier", m.ground.at(0, 0), arm.start)
    m.revolute("planet pin", arm.end, planet.at(0, 0))
    m.couple("mesh", {"carrier": 30.0, "planet pin": -18.0})
    model = m.compile("sslm")
    run = model.simulate(model.assemble({"carrier": 0.4}, rates={"carrier": 2.0}), 2.0, tolerance=1e-10)
    np.testing.assert_allclose(run["planet pin"], run["carrier"] * 30 / 18, rtol=0, atol=1e-13 * 100)
    assert run.closure.max() < 1e-13
    assert np.ptp(run.energy.total) < 1e-9
    # The same by one coordinate: M(theta) and V(theta) by hand, its acceleration by differences of the energy's parts.
    spin = 1 + 30 / 18
    theta, rate = run["carrier"], run.rate("carrier")
    at = 0.048 * np.array([np.cos(theta), np.sin(theta)]) + 0.01 * np.array(
        [np.cos(spin * theta), np.sin(spin * theta)]
    )
    across = 0.048 * np.array([-np.sin(theta), np.cos(theta)]) + 0.01 * spin * np.array(
        [-np.sin(spin * theta), np.cos(spin * theta)]
    )
    kinetic = (
        0.5
        * rate**2
        * (0.2 * 0.048**2 / 3 + 0.1 * 0.048**2 + 0.5 * 0.1 * 0.018**2 * spin**2 + 0.05 * (across**2).sum(axis=0))
    )
    potential = 9.81 * (0.2 * 0.024 * np.sin(theta) + 0.1 * 0.048 * np.sin(theta) + 0.05 * at[1])
    assert np.ptp(kinetic + potential) < 1e-9


# ---- with a loop -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", CLOSED)
def test_a_loop_and_a_coupling_together(formulation):
    """Accelerations, reactions and multipliers of single bodies, in every formulation; runs that agree."""
    model = compiled(formulation)
    state = start(model)
    assert model.dof == 1
    check_single_bodies(1, model, state, 3)
    check_dense_solve(model, state, 3)
    run = model.simulate(state, 1.0, tolerance=1e-9)
    first = compiled().simulate(state, 1.0, tolerance=1e-9)
    assert run.closure.max() < 1e-12
    np.testing.assert_allclose(run.q[-1], first.q[-1], atol=1e-7)
    np.testing.assert_allclose(2 * run["A"] + run["E"], 3.0, atol=1e-12)


def test_clusters_take_coupled_joints_together():
    model = compiled()
    state = start(model)
    found = beside(model, Partition(way="clusters")).forward_dynamics(state.q, state.v, {"A": 0.7})
    np.testing.assert_allclose(found, model.forward_dynamics(state.q, state.v, {"A": 0.7}), rtol=1e-11)


def test_springs_hold_couplings_too():
    """Stiffer springs come nearer, by as much as they are stiffer; energy is what dampers leave."""
    state, exact = start(compiled()), compiled().simulate(start(compiled()), 0.3, tolerance=1e-10)
    gaps = []
    for stiffness in (1e6, 1e8):
        model = geared().compile("springs", stiffness=stiffness)
        assert "gears couples joints by a spring" in model.topology.explain()
        run = model.simulate(State(model, state.q, state.v), 0.3, tolerance=1e-8)
        gaps.append(np.abs(run.q[-1] - exact.q[-1]).max())
        assert run.closure[-1] > 0
        lost = run.energy.total[0] - run.energy.total[-1]
        assert lost == pytest.approx(-np.trapezoid(run.power.dampers, run.t), rel=0.1)
    assert gaps[1] < gaps[0] / 50
    assert gaps[1] < 1e-5
    # What springs exert is what equations would: by inverse dynamics, the same effort.
    a = compiled().forward_dynamics(state.q, state.v, {"A": 0.7})
    assert model.inverse_dynamics(state.q, state.v, a) == pytest.approx(0.7, rel=1e-9)


def test_a_run_with_a_switch_keeps_its_coupling():
    """The pin C lets go: the coupling holds on, in programs for one structure and in the one for all."""
    model = geared(switchable=True).compile()
    runs = [
        model.simulate(start(model), 0.6, tolerance=1e-10, switches=[kp.Switch("C", off=0.2)], masked=masked)
        for masked in (False, True)
    ]
    for run in runs:
        np.testing.assert_allclose(2 * run["A"] + run["E"], 3.0, atol=1e-11)
        assert run.closure.max() < 1e-11
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-8)


def test_derivatives_along_the_one_freedom():
    model = compiled()
    state, tau, step = start(model), {"A": 0.7}, 1e-5
    way = state.v / state.v[0]
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(state.q, state.v, tau)

    def moved(h: float) -> np.ndarray:
        q, _ = model.settle(state.q + h * way, state.v)
        v = model.assemble({"A": q[0]}, near=State(model, q, state.v), rates={"A": state.v[0]}).v
        return np.concatenate([model.forward_dynamics(q, v, tau), v])

    rates = (moved(step) - moved(-step)) / (2 * step)
    np.testing.assert_allclose(by_q @ way + by_v @ rates[model.nv :], rates[: model.nv], rtol=1e-6, atol=1e-5)
    more = model.forward_dynamics(state.q, state.v, {"A": 1.7}) - model.forward_dynamics(state.q, state.v, tau)
    np.testing.assert_allclose(by_tau[:, 0], more, rtol=1e-9)


def test_a_ratio_kept_as_an_input():
    model = geared().compile(parameters=("gears.E", "gears.offset"))
    other = geared()
    other.couplings.clear()
    other.couple("gears", {"A": 2.0, "E": 1.5}, offset=2.5)
    other = other.compile()
    state = start(other)
    given = model.forward_dynamics(
        state.q, state.v, {"A": 0.7}, p=model.parameters({"gears.E": 1.5, "gears.offset": 2.5})
    )
    np.testing.assert_allclose(given, other.forward_dynamics(state.q, state.v, {"A": 0.7}), rtol=1e-11)


def test_states_that_break_a_coupling_are_refused():
    model = compiled()
    state = start(model)
    apart = rack().compile()
    with pytest.raises(NotClosed, match=r"coupling mesh is open by 0\.03 m; assemble"):
        apart.forward_dynamics([1.0, 0.1], [0.0, 0.0])
    with pytest.raises(NotClosed, match=r"with these velocities coupling mesh opens at 0\.95 per second"):
        apart.forward_dynamics([1.0, 0.07], [1.0, 1.0])
    with pytest.raises(NotClosed, match="these accelerations open"):
        model.inverse_dynamics(state.q, state.v, state.v * 100)
    with pytest.raises(StateError, match=r"coupling mesh \(.*\) is off by"):
        apart.assemble({"pinion": 0.3, "rack": 0.5})


# ---- random mechanisms ---------------------------------------------------------------------------------------


def coupled(closed: Closed, seed: int) -> tuple[Closed, int]:
    """With couplings of joints at random, met at the state that is known; how many freedoms it leaves."""
    m, rng = closed.mechanism, np.random.default_rng(seed)
    fit = [joint for joint in m.joints if joint.name not in closed.closing and joint.type not in (Spherical, Free)]
    choices = [(joint, k) for joint in fit for k in range(len(joint.type.v_names))]
    count = min(1 + int(rng.integers(2)), closed.freedom - 1)
    for number in range(count if len(choices) > 2 * count else 0):
        picked = rng.permutation(len(choices))[: 2 + int(rng.integers(2))]
        terms = {freedom_name(*choices[k]): float(rng.uniform(0.3, 2) * rng.choice([-1, 1])) for k in picked}
        at = (np.atleast_1d(closed.values[choices[k][0].name])[choices[k][1]] for k in picked)
        offset = sum(c * x for c, x in zip(terms.values(), at, strict=True))
        m.couple(f"tie {number}", terms, offset)
    return closed, closed.freedom


@settings(max_examples=some(10, 25), phases=[Phase.explicit, Phase.generate])
@given(mechanisms(loops=3, passive=True), st.integers(0, 99))
def test_many_mechanisms_with_couplings_on_numbers(closed, seed):
    closed, before = coupled(loaded(closed, seed), seed)
    model = on_numbers(closed)
    rank = int(np.linalg.matrix_rank(model.closure(closed.state(model).q)[1], tol=1e-9))
    prepare(model, dof=model.nv - rank)
    assert before - len(model.topology.couplings) <= model.dof <= before
    state = closed.moving(model, seed)
    for each in model.mechanism.couplings:
        rates = dict(zip(model.v_names, state.v, strict=True))
        assert sum(c * rates[name] for name, c in each.coefficients.items()) == pytest.approx(0, abs=1e-9)
    check_single_bodies(model.dof, model, state, seed)
    check_dense_solve(model, state, seed)
    wanted, scale = model.forward_dynamics(state.q, state.v, efforts(model, seed)), 1.0
    for formulation in (Sslm(), Slm()):
        other = beside(model, formulation)
        found = other.forward_dynamics(state.q, state.v, efforts(model, seed))
        scale = max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7 * scale)


@pytest.mark.parametrize("seed", range(4))
def test_rows_on_bodies_are_rates_of_joints(seed):
    """The row of a coupling on the twists of all bodies gives what its coefficients give of the joints' rates."""
    kinds = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar")
    m, rng = random_tree(seed, 6, kinds=kinds), np.random.default_rng(seed)
    names = [freedom_name(joint, k) for joint in m.joints for k in range(len(joint.type.v_names))]
    m.couple("tie", {name: float(rng.normal()) for name in names}, 0.3)
    model = m.compile()
    state = model.random_state(seed)
    matrix, rows = constraints(model, state.q)
    assert rows[-1] == "tie by coupling"
    places = middles(model, state.q)
    markers = []
    for body in m.bodies:
        rotation, origin = model.pose(body, state.q)
        markers.append(body.at(*(rotation.T @ (places[body.name] - origin)).tolist()))
    twists = np.array([model.twist(marker, state.q, state.v) for marker in markers])
    size = model.equations.closure_size
    scaled = np.hstack([twists[:, :3], twists[:, 3:] / size]).ravel()
    (each,) = m.couplings
    rate = sum(c * x for c, x in zip(each.coefficients.values(), state.v, strict=True)) / each.size
    assert matrix[-1] @ scaled == pytest.approx(rate / (size if each.unit == "m" else 1.0), abs=1e-9)
    np.testing.assert_allclose(matrix[:-1] @ scaled, 0, atol=1e-9)


def test_a_coupling_that_repeats_a_loop_is_named():
    """A parallelogram turns alike at both cranks: a belt that says so again shares their load."""
    m = kp.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    a, b, c = m.rod("a", 0.3, 1.0), m.rod("b", 1.0, 2.0), m.rod("c", 0.3, 1.0)
    m.revolute("A", m.ground.at(0, 0), a.start)
    m.revolute("B", a.end, b.start)
    m.revolute("C", b.end, c.end)
    m.revolute("D", m.ground.at(1, 0), c.start)
    m.couple("belt", {"A": 1.0, "D": -1.0})
    found = m.mobility(near={"A": 1.0, "B": -1.0, "D": 1.0})
    assert found.freedom == 1
    assert "belt by coupling" in (*found.redundant, *found.undetermined)
    model = m.compile()
    state = model.assemble({"A": 1.0}, near={"A": 1.0, "B": -1.0, "D": 1.0}, rates={"A": 2.0})
    check_single_bodies(1, model, state, 0)
