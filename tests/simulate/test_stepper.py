"""The stepper: against runs at fixed steps, alone and in batches, with masked resets."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed, StateError
from kempe.gallery.entries import ENTRIES
from tests.mechanisms import arm
from tests.simulate.mechanisms import double_pendulum, mixed_tree, slider


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_it_is_a_run_at_fixed_steps(method):
    model = mixed_tree().compile()
    state = model.random_state(1)
    tau = np.array([0.3, -0.2])
    sim = model.stepper(state, 0.01, method=method)
    for _ in range(30):
        sim.step(tau)
    run = model.simulate(state, 0.3, torque=tau, method=method, step=0.01)
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-12)
    np.testing.assert_allclose(sim.v, run.v[-1], atol=1e-11)
    assert sim.t == pytest.approx(0.3)
    assert sim.state["slide"] == pytest.approx(run["slide"][-1], abs=1e-12)


def test_substeps_are_shorter_steps():
    model = double_pendulum().compile()
    state = model.state({"shoulder": 1.0})
    coarse, fine = model.stepper(state, 0.01, substeps=4), model.stepper(state, 0.0025)
    coarse.step({"shoulder": 0.5})
    for _ in range(4):
        fine.step({"shoulder": 0.5})
    np.testing.assert_allclose(coarse.q, fine.q, atol=1e-15)


def test_many_at_once_are_each_as_one_alone():
    model = mixed_tree().compile()
    states = [model.random_state(seed) for seed in range(13)]
    rng = np.random.default_rng(0)
    many = model.stepper(states, 0.005)
    alone = [model.stepper(state, 0.005) for state in states]
    for _ in range(5):
        tau = rng.normal(size=(13, model.nu))
        many.step(tau)
        for sim, row in zip(alone, tau, strict=True):
            sim.step(row)
    np.testing.assert_array_equal(many.q, [sim.q for sim in alone])
    np.testing.assert_array_equal(many.v, [sim.v for sim in alone])
    assert many.state["slide"].shape == (13,)
    assert many.healthy.all()


def test_masked_reset():
    model = double_pendulum().compile()
    start = model.state({"shoulder": 0.7})
    sim = model.stepper(start, 0.01, batch=4)
    for _ in range(3):
        sim.step(np.arange(4.0)[:, None])
    before = sim.q.copy()
    mask = np.array([True, False, True, False])
    sim.reset(mask)
    np.testing.assert_array_equal(sim.q[mask], np.tile(start.q, (2, 1)))
    np.testing.assert_array_equal(sim.q[~mask], before[~mask])
    np.testing.assert_allclose(sim.t, [0, 0.03, 0, 0.03])
    sim.reset(mask, model.state({"elbow": 0.1}))
    np.testing.assert_array_equal(sim.q[mask], [[0, 0.1]] * 2)
    sim.reset()
    np.testing.assert_array_equal(sim.q, np.tile(start.q, (4, 1)))
    assert (sim.t == 0).all()


def test_a_law_with_states_may_be_part_of_it():
    model = slider().compile()

    def pid(t, q, v, z):
        return 40 * (1 - q[0]) - 12 * v[0] + 30 * z[0], [1 - q[0]]

    law = kp.Law(pid, states={"integral": 0.0})
    sim = model.stepper(model.state(), 0.01, torque=law)
    for _ in range(50):
        sim.step()
    run = model.simulate(model.state(), 0.5, torque=law, tolerance=1e-11)
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-6)
    np.testing.assert_allclose(sim.z, run.z[-1], atol=1e-6)
    with pytest.raises(StateError, match="the law gives the efforts"):
        sim.step(1.0)


def test_long_chains_are_composed_of_their_blocks():
    model = arm(22).compile()
    state = model.state({"joint1": 0.4})
    sim = model.stepper(state, 0.001)
    sim.step()
    run = model.simulate(state, 0.001, method="rk4", step=0.001)
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-12)


def test_what_a_step_computed_before_is_not_overwritten():
    model = slider().compile()
    sim = model.stepper(model.state(rates={"rail": 1.0}), 0.1)
    first = sim.step().q
    sim.step()
    assert first[0] == pytest.approx(0.1)


def test_parameters_are_set_on_the_way_each_its_own():
    """As if there had been other steppers from there on; a length that opens the loop has it closed again."""
    parameters = ["rocker.mass", "rocker.length"]
    model = ENTRIES["four-bar"].build().compile(parameters=parameters)
    start = model.assemble({"A": 1.0}, near={"D": 1.2}, rates={"A": 2.0})
    p = np.tile(model.p, (3, 1))
    p[:, 0] *= [1.0, 2.0, 5.0]
    p[:, 1] *= [1.0, 1.02, 0.97]
    sim = model.stepper(start, 1e-3, batch=3)
    sim.step()
    before = sim.q.copy(), sim.v.copy()
    sim.p = p
    for k in range(3):
        gap = model.residual(sim.q[k], p=p[k])
        assert np.abs(gap).max() < 1e-12
        assert np.abs(sim.q[k] - before[0][k]).max() < 0.2
    assert np.abs(sim.q[0] - before[0][0]).max() < 1e-14
    moved = sim.q.copy(), sim.v.copy()
    for _ in range(40):
        sim.step()
    for k in range(3):
        other = model.stepper(kp.State(model, moved[0][k], moved[1][k]), 1e-3, p=p[k])
        run = model.simulate(kp.State(model, moved[0][k], moved[1][k]), 0.04, p=p[k], tolerance=1e-11)
        for _ in range(40):
            other.step()
        np.testing.assert_array_equal(sim.q[k], other.q)
        np.testing.assert_allclose(sim.q[k], run.q[-1], atol=1e-6)
    with pytest.raises(NotClosed):
        sim.p = model.p * [1.0, 20.0]
    np.testing.assert_array_equal(sim.p, p)
    for mask in (None, [True, False, True]):
        sim.reset(mask)
        for k in range(3):
            assert np.abs(model.residual(sim.q[k], p=p[k])).max() < 1e-12
    for wrong, what in (
        ("heavy", "give numbers"),
        ([1.0], "shape"),
        (p[:2], r"takes \(3, 2\)"),
        ([np.nan, 1.0], "rocker.mass"),
        ({"rocker.mas": 1.0}, "rocker.mas"),
    ):
        with pytest.raises(StateError, match=what):
            sim.p = wrong


def test_mistakes():
    model = slider().compile()
    state = model.state()
    for options, what in (
        ({"dt": 0.0}, "dt is 0.0"),
        ({"method": "dop853"}, "it takes fixed steps, by rk4 or euler"),
        ({"torque": lambda t, q, v: 0.0}, "give a law over symbols"),
        ({"limits": "events"}, "limits is 'events'"),
    ):
        with pytest.raises(StateError, match=what):
            model.stepper(state, **{"dt": 0.1, **options})
    sim = model.stepper(state, 0.1, batch=3)
    with pytest.raises(StateError, match=r"tau has shape \(2, 1\)"):
        sim.step(np.zeros((2, 1)))
    with pytest.raises(StateError, match="mask has shape"):
        sim.reset(np.zeros(2, dtype=bool))


def test_reset_of_one_alone_and_states_handed_out_stay_as_they_were():
    model = slider().compile()
    sim = model.stepper(model.state(rates={"rail": 1.0}), 0.1)
    before = sim.step()
    sim.reset()
    assert sim.t == 0
    assert sim.q[0] == 0
    assert before["rail"] == pytest.approx(0.1)
    many = model.stepper(model.state(rates={"rail": 1.0}), 0.1, batch=3)
    before = many.step()
    many.reset([True, False, False])
    np.testing.assert_allclose(before["rail"], 0.1)


def test_models_and_runs_can_be_sent_to_other_processes():
    import pickle

    model = mixed_tree().compile(parameters=["tip.mass"])
    state = model.random_state(1)
    run = model.simulate(state, 0.1, p=[0.5])
    again, kept = pickle.loads(pickle.dumps((model, run)))
    np.testing.assert_array_equal(kept.q, run.q)
    np.testing.assert_array_equal(again.simulate(state, 0.1, p={"tip.mass": 0.5}).q, run.q)
    assert kept.energy.kinetic.shape == run.t.shape
