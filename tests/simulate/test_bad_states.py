"""States and arrays that spoil things: no numbers, singular poses, open loops, outputs that cannot be written to."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed, Singular, StateError
from kempe.model.model import Model


@pytest.fixture(scope="module")
def parallelogram() -> Model:
    """At A = 0 all of its rods lie on a line, and its loop lets it move in two ways."""
    m = kp.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (m.rod(name, length=x, mass=1.0) for name, x in (("a", 0.5), ("b", 1.0), ("c", 0.5)))
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start)
    return m.compile()


def swinging(model: Model, count: int) -> list[kp.State]:
    return [model.assemble({"A": 1.2 + 0.02 * k}, near={"D": 1.2, "B": -1.2}) for k in range(count)]


@pytest.mark.parametrize("bad", ["singular pose", "no numbers", "efforts beyond all numbers"])
def test_one_mechanism_that_cannot_go_on_harms_no_other(parallelogram, bad):
    model, number = parallelogram, 3
    starts, tau = swinging(model, 7), np.zeros((7, 1))
    if bad == "singular pose":
        starts[number] = kp.State(model, np.zeros(3), np.zeros(3))
    elif bad == "no numbers":
        starts[number] = kp.State(model, np.full(3, np.nan), np.zeros(3))
    else:
        tau[number] = 1e300
    run = model.batch(2).rollout(starts, 1e-3, 200, tau, output=50)  # several looks, so that they go on from there
    assert run.healthy.tolist() == [k != number for k in range(7)]
    assert "1 are no longer finite" in repr(run)
    for k in set(range(7)) - {number}:
        alone = model.simulate(starts[k], 0.2, method="rk4", step=1e-3, output=run.t)
        np.testing.assert_allclose(run.q[k], alone.q, atol=1e-11)


def test_states_that_are_no_numbers_or_fast_do_not_hide_open_loops(parallelogram):
    model = parallelogram
    q, v = (np.array([getattr(state, part) for state in swinging(model, 7)]) for part in "qv")
    for spoilt in (np.nan, 0.0):
        poses, rates = q.copy(), v.copy()
        poses[2] += spoilt
        if np.isnan(spoilt):
            with pytest.raises(StateError, match="forward_dynamics: q of A is nan in state 2"):
                model.forward_dynamics(poses, v)
        rates[2] = 1e4 * model.assemble({"A": 1.24}, near={"D": 1.2, "B": -1.2}, rates={"A": 1.0}).v
        rates[5, 0] += 1e-4
        with pytest.raises(NotClosed, match="opens at"):
            model.forward_dynamics(poses, rates)
        poses[5, 0] += 0.1
        with pytest.raises(NotClosed, match="is open by"):
            model.forward_dynamics(poses, v)


def test_accelerations_are_never_worked_out_from_what_they_were_written_over(parallelogram):
    """Where coordinates are poor, what was given is worked on once more."""
    model, tau = parallelogram, np.array([0.3])
    for angle, fit in ((1.2, True), (0.003, False)):
        state = model.assemble({"A": angle}, near={"D": angle, "B": -angle}, rates={"A": 1.0})
        assert (model.kernel("driven_dynamics")(state.q, state.v, tau)[1][0] > 0.01) == fit
        wanted = model.forward_dynamics(state.q, state.v, tau)
        v = state.v.copy()
        if fit:
            np.testing.assert_allclose(model.forward_dynamics(state.q, v, tau, out=v), wanted, rtol=1e-11)
            continue
        for check in (True, False):
            both = np.concatenate([state.q, state.v])
            with pytest.raises(StateError, match="out is also v; give it an array of its own"):
                model.forward_dynamics(both[:3], both[3:], tau, check=check, out=both[3:])


def test_accelerations_fit_where_they_are_put(parallelogram):
    model = parallelogram
    state, tau, fixed = swinging(model, 1)[0], np.zeros(1), np.empty(3)
    fixed.flags.writeable = False
    for out, what in (
        (np.empty(3, dtype=int), r"out is int64 of shape \(3,\); it takes an array of floats of shape \(3,\)"),
        (np.empty(4), r"out is float64 of shape \(4,\)"),
        (np.empty((2, 3)), r"out is float64 of shape \(2, 3\)"),
        ([0.0, 0.0, 0.0], r"out is \[0.0, 0.0, 0.0\]"),
        (fixed, "out is read-only"),
    ):
        with pytest.raises(StateError, match=what):
            model.forward_dynamics(state.q, state.v, tau, out=out)
    wanted = model.forward_dynamics(state.q, state.v, tau)
    for out in (np.empty(6)[::2], np.empty(3, dtype=np.float32)):
        np.testing.assert_allclose(model.forward_dynamics(state.q, state.v, tau, out=out), wanted, rtol=1e-6)


@pytest.mark.parametrize("closed", [False, True])
def test_quaternions_of_any_length_are_the_same_start(closed):
    m = kp.Mechanism("floating", gravity=(0, 0, -9.81))
    base = m.box("base", size=(0.3, 0.2, 0.1), mass=2.0)
    m.free("float", m.ground.origin, base.origin)
    rods = [m.rod(f"rod{k}", length=x, mass=0.5, radius=0.01) for k, x in enumerate((0.3, 0.5, 0.4))]
    m.revolute("A", base.at(0, 0), rods[0].start)
    m.revolute("B", rods[0].end, rods[1].start)
    if closed:
        m.revolute("C", rods[1].end, rods[2].end)
    m.revolute("D", base.at(0.5, 0), rods[2].start)
    model = m.compile()
    state = model.random_state(3)
    if closed:
        state = model.assemble({"A": 1.2}, near={"D": 1.2, "B": -1.0}, rates={"A": 1.0})
    longer = kp.State(model, state.q.copy(), state.v)
    longer.q[:4] *= 2.0
    run = model.simulate(longer, 0.05, method="rk4", step=1e-3, output=0.05)  # brings its start onto the manifold
    found, sim = model.batch().rollout([state, longer], 1e-3, 50), model.stepper(longer, 1e-3)
    for _ in range(50):
        sim.step()
    for q in (found.q[1, -1], sim.q):
        np.testing.assert_allclose(q, run.q[-1], atol=1e-11)
    np.testing.assert_allclose(found.q[1], found.q[0], atol=1e-14)


def test_what_is_given_for_each_state_is_as_long_as_there_are_states(parallelogram):
    """On several threads, rows too many would be left out without a word."""
    model = parallelogram
    q, v = (np.array([getattr(state, part) for state in swinging(model, 7)]) for part in "qv")
    for count in (1, 6, 14):
        with pytest.raises(StateError, match=rf"tau has shape \({count}, 1\) for 7 states"):
            model.batch(2).forward_dynamics(q, v, np.zeros((count, 1)))
        with pytest.raises(StateError, match=rf"a has shape \({count}, 3\) for 7 states"):
            model.batch(2).generalized_forces(q, v, np.zeros((count, 3)))


def test_starts_that_are_none(parallelogram):
    model, state = parallelogram, swinging(parallelogram, 1)[0]
    rod = kp.Mechanism("rod", gravity=(0, -9.81, 0))
    rod.revolute("A", rod.ground.origin, rod.rod("r", length=1.0, mass=1.0).start)
    other = rod.compile().state()
    for start, options, what in (
        ([], {}, r"give a state, .* or a list of one or more, not \[\]"),
        ({"A": 1.0}, {}, r"state is \{'A': 1.0\}; give a state"),
        ([state.q], {}, "give a state"),
        ([state, other], {}, "not all of one model"),
        (other, {}, "the model has 3 and 3"),
        (state, {"batch": 0}, "batch is 0; give a number from 1 on"),
        (state, {"batch": 2.5}, "batch is 2.5"),
    ):
        for where, begin in (
            ("rollout", lambda *a, **k: model.batch().rollout(*a, 1e-3, 10, **k)),
            ("stepper", lambda *a, **k: model.stepper(*a, 1e-3, **k)),
        ):
            with pytest.raises(StateError, match=f"(?i:{where}): .*{what}"):
                begin(start, **options)
    with pytest.raises(StateError, match="dt is inf s"):
        model.batch().rollout(state, np.inf, 10)


def test_rollouts_tell_of_singular_poses_they_went_through(parallelogram):
    """A run with error control ends there."""
    model = parallelogram
    starts = [*swinging(model, 2), model.assemble({"A": -1.5}, near={"D": -1.5, "B": 1.5})]  # the last hangs down
    run = model.batch().rollout(starts, 1e-3, 500)
    ended = [model.simulate(state, 0.5).outcome.kind == "singular" for state in starts]
    assert ended == (run.fit <= 0).tolist() == [True, True, False]
    assert "2 went through a singular pose" in repr(run)


def test_of_many_states_it_is_said_which_is_at_fault(parallelogram):
    """On whatever thread it is."""
    model, states = parallelogram, swinging(parallelogram, 4)
    q = np.tile([s.q for s in states], (10000, 1))
    v = np.zeros_like(q)
    torn = q.copy()
    torn[30001] += 0.01
    slipping = v.copy()
    slipping[7] += 0.1
    flat = q.copy()
    flat[25000] = 0.0
    for threads in (1, 2, 3):
        many = model.batch(threads)
        with pytest.raises(NotClosed, match="of state 30001 is open by"):
            many.forward_dynamics(torn, v)
        with pytest.raises(NotClosed, match="of state 7 opens at"):
            many.forward_dynamics(q, slipping)
        with pytest.raises(Singular, match=r"^state 25000: at this pose"):
            many.forward_dynamics(flat, v)
