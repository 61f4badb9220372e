"""Batches: against single states and runs with error control, on any number of threads, through poor coordinates."""

from functools import cache

import numpy as np
import pytest

import kempe as kp
from kempe.compiler.kernel import Kernel
from kempe.errors import NotClosed, RowError, StateError
from kempe.gallery.benchmarks import n_four_bar, parallel_bars
from kempe.gallery.entries import ENTRIES
from kempe.loops.freedom import closed_states, freedom_beside
from kempe.loops.kinematics import settle
from kempe.model.model import Model
from tests.analyze.mechanisms import four_bar
from tests.closed import random_closed
from tests.direct import prepare
from tests.simulate.mechanisms import mixed_tree, slider

DEG = np.pi / 180


@pytest.fixture(autouse=True)
def _threads_are_worth_it(monkeypatch):
    """However little there is to do: several threads are what these tests are about."""
    monkeypatch.setattr("kempe.compiler.threads.WORTH", 1)


@cache
def model_of(name: str, formulation: str = "auto") -> Model:
    return ENTRIES[name].build().compile(formulation)


@cache
def triple_rocker() -> Model:
    """A four-bar in which no link turns all the way: every angle has poses at which the others do not follow from
    it; here A comes first."""
    m = kp.Mechanism("triple rocker", gravity=(0, -9.81, 0))
    first, coupler, second = (m.rod(name, length=x, mass=x) for name, x in (("a", 0.5), ("b", 0.3), ("c", 0.55)))
    m.revolute("A", m.ground.at(0, 0), first.start)
    m.revolute("B", first.end, coupler.start)
    m.revolute("C", coupler.end, second.end)
    m.revolute("D", m.ground.at(0.65, 0), second.start)
    model = m.compile()
    found = (model.prepared.atlas.chooser.at(q) for q in closed_states(model, 0, 40))
    prepare(model, choice=next(choice for choice in found if choice.independent == (model.v_names.index("A"),)))
    return model


def falling(name: str, count: int = 5) -> tuple[Model, list[kp.State]]:
    """Closed states, each a little different, and moving."""
    model = model_of(name)
    if name == "four-bar":
        return model, [
            model.assemble({"A": 1.0 + 0.1 * k}, near={"D": 1.2}, rates={"A": 0.3 * k}) for k in range(count)
        ]
    if name == "3-rrr":
        near = {"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5}
        return model, [model.assemble(near=near | {"A1": 1.0 + 0.02 * k}) for k in range(count)]
    legs = [{f"P{j}": -0.2 + 0.01 * k * (-1) ** j for j in range(1, 7)} for k in range(count)]
    return model, [model.assemble(values) for values in legs]


# ---- dynamics --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four-bar", "stewart"])
def test_dynamics_are_those_of_single_states(name):
    model, some = falling(name)
    rng = np.random.default_rng(0)
    pick = rng.integers(0, len(some), 70)
    q, v = (np.array([getattr(some[k], part) for k in pick]) for part in "qv")
    tau = rng.normal(size=(70, model.nu))
    wanted = np.array([model.forward_dynamics(*row) for row in zip(q, v, tau, strict=True)])
    for threads in (1, 2, 3):
        many = model.batch(threads)
        np.testing.assert_array_equal(many.forward_dynamics(q, v, tau), wanted)
    if model.nu == model.dof:
        back = model.batch(2).inverse_dynamics(q, v, wanted)
        np.testing.assert_allclose(back, tau, atol=1e-8 * np.abs(wanted).max())


def test_open_loops_are_refused_in_batches_too():
    model, some = falling("four-bar")
    q, v = (np.array([getattr(x, part) for x in some * 20]) for part in "qv")
    q[77, 0] += 0.1
    with pytest.raises(NotClosed, match="is open by"):
        model.batch(2).forward_dynamics(q, v)
    assert np.isfinite(model.batch(2).forward_dynamics(q, v, check=False)).all()


@pytest.mark.parametrize("formulation", ["partition", "denoc", "sslm", "slm"])
def test_accelerations_put_into_an_array_are_the_same(formulation):
    """Another program, whose rounding differs; where it cannot be trusted, the careful way is taken."""
    model = model_of("five-bar", formulation)
    state = model.assemble({"left": 80 * DEG, "right": 70 * DEG}, near={"left elbow": -1.2, "right elbow": -2.6},
                           rates={"left": 1.0, "right": -2.0})  # fmt: skip
    tau, out = np.array([0.3, -0.4]), np.empty(model.nv)
    assert model.forward_dynamics(state.q, state.v, tau, out=out) is out
    np.testing.assert_allclose(out, model.forward_dynamics(state.q, state.v, tau), rtol=1e-11)
    model.forward_dynamics(state.q, state.v, {"left": 0.3, "right": -0.4}, out=out)
    np.testing.assert_allclose(out, model.forward_dynamics(state.q, state.v, tau), rtol=1e-11)
    torn = state.q + 0.01
    with pytest.raises(NotClosed, match="is open by"):
        model.forward_dynamics(torn, state.v, tau, out=out)
    with pytest.raises(NotClosed, match="with these velocities"):
        model.forward_dynamics(state.q, state.v + 0.1, tau, out=out)
    model.forward_dynamics(torn, state.v, tau, check=False, out=out)
    np.testing.assert_allclose(out, model.forward_dynamics(torn, state.v, tau, check=False), rtol=1e-11)
    many = np.empty((3, model.nv))
    model.forward_dynamics(np.tile(state.q, (3, 1)), np.tile(state.v, (3, 1)), tau, out=many)
    np.testing.assert_allclose(many, np.tile(model.forward_dynamics(state.q, state.v, tau), (3, 1)), rtol=1e-11)


def test_accelerations_of_trees_put_into_an_array():
    model = slider().compile()
    out = np.empty(1)
    assert model.forward_dynamics(np.array([0.1]), np.array([0.2]), np.array([3.0]), out=out) is out
    assert out[0] == pytest.approx(1.5)
    model, state = mixed_tree().compile(), mixed_tree().compile().random_state(1)  # not all of it is actuated
    out = np.empty(model.nv)
    model.forward_dynamics(state.q, state.v, np.array([1.0, 2.0]), out=out)
    np.testing.assert_array_equal(out, model.forward_dynamics(state.q, state.v, np.array([1.0, 2.0])))


def test_where_coordinates_fail_accelerations_put_into_an_array_are_right():
    model = triple_rocker()
    start = model.assemble({"A": 1.0}, near={"D": 1.5})
    run = model.simulate(start, 2.0, output=0.002)
    kernel = model.kernel("driven_dynamics")
    told = [kernel(q, v, np.zeros(0))[1][0] for q, v in zip(run.q, run.v, strict=True)]
    worst = int(np.argmin(told))
    assert told[worst] < 0.01  # it meets a pose at which coordinates are not fit
    out = np.empty(model.nv)
    model.forward_dynamics(run.q[worst], run.v[worst], np.zeros(0), out=out)
    np.testing.assert_allclose(out, run.a[worst], rtol=1e-5, atol=1e-6 * np.abs(run.a).max())


# ---- rollouts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "stewart"])
def test_rollouts_are_runs(name):
    model, states = falling(name)
    tau = np.linspace(-1, 1, len(states) * model.nu).reshape(len(states), model.nu)
    found = model.batch(2).rollout(states, 1e-3, 100, tau, output=20, limits="ignore")
    assert len(found) == len(states)
    np.testing.assert_allclose(found.t, np.arange(6) * 0.02, atol=1e-15)
    for k, state in enumerate(states):
        run = model.simulate(state, 0.1, torque=tau[k], tolerance=1e-12, output=0.02, limits="ignore")
        np.testing.assert_allclose(found.q[k], run.q, atol=2e-9)
        np.testing.assert_allclose(found.v[k], run.v, atol=2e-7)
    assert found.closure.max() < 1e-13
    assert found.gap.max() < 1e-8
    assert np.abs(model.loop_slip(found.q.reshape(-1, model.nq), found.v.reshape(-1, model.nv))).max() < 1e-12


def test_rollouts_are_of_order_four():
    model, states = falling("four-bar")
    exact = model.simulate(states[0], 0.4, tolerance=1e-13, output=0.4)
    errors = []
    for steps in (50, 100, 200):
        found = model.batch().rollout(states[:1], 0.4 / steps, steps)
        errors.append(np.abs(found.q[0, -1] - exact.q[-1]).max())
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (orders > 3.7).all(), orders


def test_energy_is_kept():
    model, states = falling("stewart")
    found = model.batch().rollout(states, 5e-4, 200, output=100)
    gained = found.energy - found.energy[:, :1]
    moved = np.abs(found.v).max()
    assert moved > 0.5
    assert np.abs(gained).max() < 1e-8 * np.abs(found.energy).max()


@pytest.mark.parametrize("name", ["four-bar", "stewart"])
def test_the_number_of_threads_changes_nothing(name):
    model, states = falling(name)
    states = [states[k % len(states)] for k in range(101)]
    found = [model.batch(threads).rollout(states, 1e-3, 30, output=10) for threads in (1, 2, 5)]
    alone = model.batch(1).rollout(states[:1], 1e-3, 30, output=10)
    for other in found[1:]:
        for part in ("q", "v", "gap", "fit"):
            np.testing.assert_array_equal(getattr(other, part), getattr(found[0], part))
    np.testing.assert_array_equal(found[0].q[0], alone.q[0])


@pytest.mark.parametrize("made", ["five-bar", "triple rocker", 0, 5], ids=str)
def test_bits_of_a_mechanism_depend_on_nothing_but_its_own(made):
    """Neither on neighbours, nor on order, number, rows of output, threads or what was compiled before."""
    if isinstance(made, int):
        mechanism = random_closed(made, loops=2, planar=True).mechanism
        mechanism.gravity = (0.3, -9.81, 0)
        model = mechanism.compile()
    else:
        model = triple_rocker() if made == "triple rocker" else model_of(made)
    rng, n = np.random.default_rng(3), 23
    q = closed_states(model, 50, n)
    v = [settle(model, x, 2 * rng.normal(size=model.nv))[1] for x in q]
    starts = [kp.State(model, *each) for each in zip(q, v, strict=True)]
    n, tau = len(starts), 3 * rng.normal(size=(len(starts), model.nu))
    found = model.batch(2).rollout(starts, 2e-3, 240, tau, output=60)
    same = ("q", "v", "fit", "gap")
    order = rng.permutation(n)
    permuted = model.batch(2).rollout([starts[k] for k in order], 2e-3, 240, tau[order], output=60)
    whole = model.batch(1).rollout(starts, 2e-3, 240, tau, output=240)
    other = Model(model.equations, model.mechanism)
    prepare(other, choice=model.choice)
    fresh = other.batch(1).rollout(starts[5:9], 2e-3, 240, tau[5:9], output=80)
    for part in same:
        np.testing.assert_array_equal(getattr(permuted, part), getattr(found, part)[order])
    np.testing.assert_array_equal(fresh.q[:, -1], found.q[5:9, -1])
    np.testing.assert_array_equal(whole.q[:, -1], found.q[:, -1])
    np.testing.assert_array_equal(whole.fit, found.fit)
    np.testing.assert_array_equal(whole.gap, found.gap)
    for k in (0, n // 2, n - 1):
        alone = model.batch(1).rollout(starts[k : k + 1], 2e-3, 240, tau[k : k + 1], output=60)
        for part in same:
            np.testing.assert_array_equal(getattr(alone, part)[0], getattr(found, part)[k])


def test_coarse_steps_are_closed_one_by_one():
    """Where the error of a step opens loops too far, each is brought back as a whole."""
    model = model_of("four-bar")
    state = model.assemble({"A": 1.0}, near={"D": 1.2}, rates={"A": 30.0})
    loose = model.batch().rollout([state], 4e-3, 50, closed=1.0)
    assert loose.gap[0] > 1e-6
    assert model.batch().rollout([state], 4e-3, 1, closed=1.0).gap[0] > 1e-8  # of the last step too
    found = model.batch().rollout([state], 4e-3, 50)
    assert found.gap[0] < 1e-12
    run = model.simulate(state, 0.2, tolerance=1e-12, output=0.2)
    off, looser = (np.abs(x.q[0, -1] - run.q[-1]).max() for x in (found, loose))
    assert off < 1e-2
    assert looser < 1e-2


def test_coordinates_change_on_the_way():
    """No choice suits all of a triple rocker's way: runs change theirs by other code, and arrive at the same states."""
    model = triple_rocker()
    starts = [model.assemble({"A": a}, near={"D": 1.5}) for a in np.linspace(0.9, 1.3, 12)]
    found = model.batch(2).rollout(starts, 2.5e-4, 6000, output=2000)
    assert found.statistics.changes > 0
    assert found.closure.max() < 1e-12
    for k in (0, 5, 11):
        run = model.simulate(starts[k], 1.5, tolerance=1e-12, output=0.5)
        np.testing.assert_allclose(found.q[k], run.q, atol=1e-7)


def test_long_rows_of_loops_and_trees_roll_out_too():
    row = n_four_bar(30).compile("sslm")
    state = parallel_bars(row, 1.0, -1.0)
    found = row.batch().rollout([state, state], 1e-3, 10)
    run = row.simulate(state, 0.01, tolerance=1e-11, output=0.01)
    np.testing.assert_allclose(found.q[1, -1], run.q[-1], atol=1e-9)
    assert found.closure.max() < 1e-12
    model = mixed_tree().compile()
    states = [model.random_state(seed) for seed in range(9)]
    tau = np.random.default_rng(1).normal(size=(9, 20, 2))
    found, sim = model.batch(2).rollout(states, 5e-3, 20, tau, output=1), model.stepper(states, 5e-3)
    for k in range(20):
        sim.step(tau[:, k])
        np.testing.assert_allclose(found.q[:, k + 1], sim.q, atol=1e-14)
    np.testing.assert_array_equal(found.u[:, :-1], tau)


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_closed_rollouts_are_steps_of_a_stepper(method):
    model, states = falling("four-bar")
    found = model.batch().rollout(states, 1e-3, 20, output=20, method=method)
    sim = model.stepper(states, 1e-3, method=method)
    for _ in range(20):
        sim.step()
    np.testing.assert_allclose(found.q[:, -1], sim.q, atol=1e-11)
    np.testing.assert_allclose(found.v[:, -1], sim.v, atol=1e-10)


def test_steppers_and_rollouts_are_as_exact_as_runs_of_the_same_step():
    """Where coordinates change often: a stepper stays in those it has changed to, as runs do."""
    rng, off = np.random.default_rng(5), []
    for _ in range(4):
        lengths, base = rng.uniform(0.4, 1.2, 3), float(rng.uniform(0.3, 1.0))
        model = four_bar((*lengths, base)).compile()
        for _ in range(4):
            try:
                start = model.assemble(near={"A": rng.uniform(-3, 3), "D": rng.uniform(-3, 3)})
            except NotClosed:
                continue
            q, v = model.settle(start.q, 4 * rng.normal(size=model.nv))
            state, h, steps = kp.State(model, q, v), 1e-3, 600
            exact = model.simulate(state, h * steps, tolerance=1e-12, output=h * steps)
            if not exact.outcome.finished:
                continue
            run = model.simulate(state, h * steps, method="rk4", step=h, output=h * steps)
            sim = model.stepper(state, h)
            for _ in range(steps):
                sim.step()
            rolled = model.batch(1).rollout([state], h, steps)
            off.append([np.abs(x - exact.q[-1]).max() for x in (run.q[-1], sim.q, rolled.q[0, -1])])
    of_runs, of_steppers, of_rollouts = np.array(off).T
    assert len(off) > 8
    for each in (of_steppers, of_rollouts):
        assert (each < 10 * of_runs + 1e-9).all()


def test_rollouts_stay_on_a_branch_with_more_freedoms():
    """Bars of the scissor lift that lie one on the other turn together, and the deck by itself: two freedoms, where an
    open lift has one."""
    model = ENTRIES["scissor-lift"].build().compile()
    begun = [model.assemble(near=model.random_state(seed)) for seed in range(20)]
    start = next(x for x in begun if freedom_beside(model, x.q) > model.dof)
    usual = next(x for x in begun if freedom_beside(model, x.q) == model.dof)
    run = model.simulate(start, 0.2, method="rk4", step=1e-3, limits="ignore", output=[0.0, 0.2])
    rollout = model.batch().rollout([usual, start, usual], dt=1e-3, steps=200, limits="ignore", output=50)
    assert rollout.healthy.all()
    assert rollout.gap.max() < 1e-8
    np.testing.assert_allclose(rollout.q[1, -1], run.q[-1], atol=1e-10)
    np.testing.assert_allclose(rollout.v[1, -1], run.v[-1], atol=1e-9)
    sim = model.stepper(start, 1e-3, limits="ignore")
    for _ in range(200):
        sim.step()
    assert sim.healthy
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-10)


def test_a_mechanism_whose_loops_open_is_lost_and_says_so():
    """Steps far too long near singular poses leave loops open, though all numbers are finite."""
    model = ENTRIES["n-four-bar"].build().compile()
    rng = np.random.default_rng(0)
    begun = [model.assemble(near=model.random_state(seed)).q for seed in range(40)]
    fast = [kp.State(model, *settle(model, q, 300 * rng.normal(size=model.nv))) for q in begun]
    rollout = model.batch().rollout(fast, dt=0.02, steps=50, output=10)
    good = rollout.healthy
    assert 0 < good.sum() < len(fast)
    assert rollout.gap[good].max() <= 1e-6
    assert rollout.closure[good].max() < 1e-6


@pytest.mark.parametrize("name", ["five-bar", "3-rrr"])
def test_denoc_rolls_out_where_its_coordinates_fail_too(name):
    model, other = (ENTRIES[name].build().compile(formulation) for formulation in ("denoc", "partition"))
    state = model.assemble({})
    tau = np.random.default_rng(0).normal(size=(3, model.nu)) * 20
    found = model.batch(1).rollout(state, 5e-4, 1200, tau, batch=3, output=1200)
    wanted = other.batch(1).rollout(kp.State(other, state.q, state.v), 5e-4, 1200, tau, batch=3, output=1200)
    assert found.healthy.all()
    assert found.closure.max() < 1e-12
    np.testing.assert_allclose(found.q[:, -1], wanted.q[:, -1], atol=1e-4)


def test_stops_are_those_of_the_parameters_that_are_given():
    """In runs and rollouts of a closed mechanism, as in a model that is compiled with these numbers."""

    def limited(mass: float) -> kp.Mechanism:
        m = kp.Mechanism("limited", gravity=(0, -9.81, 0))
        crank, coupler = m.rod("crank", 0.3, 1.5), m.rod("coupler", 1.0, 5.0)
        rocker = m.rod("rocker", 0.6, mass)
        m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
        m.revolute("B", crank.end, coupler.start)
        m.revolute("C", coupler.end, rocker.end)
        m.revolute("D", m.ground.at(1, 0), rocker.start, limits=(0.9, 1.6))
        return m

    model = limited(3.0).compile(parameters=["rocker.mass"])
    masses = np.array([[60.0], [3.0], [0.5]])
    state = model.assemble({"A": 1.0}, near={"D": 1.2}, rates={"A": 4.0})
    found = model.batch(1).rollout(state, 1e-4, 6000, batch=3, p=masses, output=6000)
    for k, (mass,) in enumerate(masses):
        own = limited(mass).compile()
        wanted = own.simulate(kp.State(own, state.q, state.v), 0.6, tolerance=1e-11, output=0.02)
        run = model.simulate(state, 0.6, tolerance=1e-11, output=0.6, p=[mass])
        assert np.abs(wanted.stops).max() > 1
        np.testing.assert_allclose(run.q[-1], wanted.q[-1], atol=1e-8)
        np.testing.assert_allclose(found.q[k, -1], wanted.q[-1], atol=1e-5)


def test_laws_stops_and_parameters_of_each():
    m = slider(limits=(-0.2, 0.2))
    model = m.compile(parameters=["block.mass"])

    def pull(t, q, v, z):
        return 4.0 + 0.0 * t - 0.5 * z[0], [q[0]]

    law = kp.Law(pull, states={"sum": 0.0})
    masses = np.array([[1.0], [2.0], [4.0]])
    found = model.batch(2).rollout(model.state(), 1e-4, 6000, torque=law, output=1000, batch=3, p=masses)
    for k in range(3):
        run = model.simulate(model.state(), 0.6, torque=law, tolerance=1e-11, output=0.1, p=masses[k])
        np.testing.assert_allclose(found.q[k], run.q, atol=1e-6)
        np.testing.assert_allclose(found["sum"][k], run.z[:, 0], atol=1e-6)
        np.testing.assert_allclose(found.u[k], run.u, atol=1e-6)
        one = found.trajectory(k)
        np.testing.assert_allclose(one.stops, run.stops, atol=1e-2)
        np.testing.assert_allclose(one.a, run.a, atol=1e-2)
    assert (np.diff(found.q[0, :, 0]) < 0).any()  # the lightest has bounced
    with pytest.raises(StateError, match="leave tau out"):
        model.batch().rollout(model.state(), 1e-3, 10, [1.0], torque=law)


def test_what_is_asked_of_a_rollout(tmp_path):
    model, states = falling("four-bar", 30)
    found = model.batch().rollout(states, 1e-3, 100, output=10)
    assert found["A"].shape == found.rate("A").shape == (30, 11)
    np.testing.assert_array_equal(found["A"][:, 0], [state["A"] for state in states])
    np.testing.assert_array_equal(found.state(3).q, found.q[:, 3])
    on = model.batch().rollout(found.state(), 1e-3, 100)
    whole = model.batch().rollout(states, 1e-3, 200)
    np.testing.assert_allclose(on.q[:, -1], whole.q[:, -1], atol=1e-12)
    assert found.healthy.all()
    run = found.trajectory(7)
    np.testing.assert_array_equal(run.q, found.q[7])
    np.testing.assert_allclose(run.a, model.forward_dynamics(run.q, run.v), rtol=1e-12)
    assert "30 over 0.1 s" in repr(found)
    figure = found.plot("A", tmp_path / "fan.png", degrees=True)
    assert figure.axes[0].get_ylabel() == "A [deg]"
    assert (tmp_path / "fan.png").stat().st_size > 5000
    with pytest.raises(StateError, match="there is no joint or coordinate 'X'"):
        found.plot("X")
    with pytest.raises(StateError, match=r"trajectory\(number\) is one mechanism"):
        found[3]  # type: ignore[index]
    with pytest.raises(RowError, match="there is no row 11"):
        found.state(11)
    with pytest.raises(RowError, match="there is no mechanism 30"):
        found.trajectory(30)


def test_joints_that_close_loops_and_places_have_columns_too():
    model, states = falling("four-bar", 3)
    found = model.batch().rollout(states, 1e-3, 2000, output=20)
    for k in range(3):
        # By hand: C turns the rocker against the coupler, which A and B have turned.
        angle = found["D"][k] - found["A"][k] - found["B"][k]
        np.testing.assert_allclose(np.exp(1j * found["C"][k]), np.exp(1j * angle), atol=1e-12)
        assert np.abs(np.diff(found["C"][k])).max() < 1.0  # it goes on beyond half a turn
        speed = found.rate("D")[k] - found.rate("A")[k] - found.rate("B")[k]
        np.testing.assert_allclose(found.rate("C")[k], speed, atol=1e-11)
        run = model.simulate(states[k], 2.0, tolerance=1e-11, output=0.02)
        np.testing.assert_allclose(found["coupler.yaw"][k], run["coupler.yaw"], atol=1e-6)
        np.testing.assert_allclose(found.rate("coupler.x")[k], run.rate("coupler.x"), atol=1e-5)
    assert found.plot("C", degrees=True).axes[0].get_ylabel() == "C [deg]"
    assert found.plot("coupler.x").axes[0].get_ylabel() == "coupler.x [m]"


def test_steps_far_too_long_spoil_a_mechanism_and_no_other():
    model, states = falling("four-bar")
    wild = model.assemble({"A": 1.0}, near=states[0], rates={"A": 1e160})  # squares of its speeds are no numbers
    found = model.batch().rollout([states[1], wild, states[2]], 1e-3, 200, output=100)
    assert found.healthy.tolist() == [True, False, True]
    assert "1 are no longer finite" in repr(found)
    assert np.isnan(found.closure[1, -1])
    assert found.closure[[0, 2]].max() < 1e-12
    alone = model.batch().rollout([states[1], states[2]], 1e-3, 200, output=100)
    np.testing.assert_array_equal(found.q[[0, 2]], alone.q)
    coarse = model.batch().rollout(states, 0.5, 10)  # whatever becomes of them, it comes back
    assert len(coarse) == len(states)


def test_mistakes():
    model, states = falling("four-bar")
    many = model.batch()
    for options, what in (
        ({"dt": 0.0}, "dt is 0.0"),
        ({"steps": 0}, "steps is 0"),
        ({"output": 3}, "10 steps are no whole number of rows of 3 steps"),
        ({"method": "dop853"}, "rollout: it takes fixed steps, by rk4 or euler"),
        ({"tau": np.zeros((2, 1))}, r"tau has shape \(2, 1\)"),
        ({"torque": lambda t, q, v: 0.0}, "give a law over symbols"),
        ({"p": np.zeros((2, 1))}, r"p has shape \(2, 1\)"),
    ):
        with pytest.raises(StateError, match=what):
            many.rollout(states, **{"dt": 0.1, "steps": 10, **options})
    with pytest.raises(StateError, match=r"rollout: give a state.*, not \[\]"):
        many.rollout([], 0.1, 10)
    with pytest.raises(StateError, match="rollout: give a state"):
        many.rollout(states[0].q, 0.1, 10)  # type: ignore[arg-type]
    with pytest.raises(StateError, match="threads is 0"):
        model.batch(0)
    with pytest.raises(StateError, match="q has shape"):
        many.forward_dynamics(states[0].q, states[0].v)
    with pytest.raises(NotClosed, match=r"closes it$"):  # a rollout has no check=False
        many.rollout([kp.State(model, states[0].q + 0.01, states[0].v)], 0.1, 10)


def test_what_cannot_be_one_state_is_no_argument():
    assert Kernel(model_of("four-bar").program("opening")).enter(np.zeros(2), np.zeros(3), np.empty(())) == 1
