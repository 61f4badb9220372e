"""Runs of denoc, in the coordinates of actuated joints: as partition runs, until these fail as coordinates."""

from functools import cache

import numpy as np
import pytest

import kempe as kp
from kempe.errors import StateError
from kempe.gallery.entries import ENTRIES
from kempe.model.model import Model


@cache
def model_of(name: str, formulation: str = "denoc") -> Model:
    return ENTRIES[name].build().compile(formulation)


def raised(model: Model):
    """The free fall of paper 1, section VI.B: 80 and 70 degrees, the knee down."""
    near = {"left elbow": -1.2, "right elbow": -2.6}
    return model.assemble({"left": 80 * kp.deg, "right": 70 * kp.deg}, near=near)


def test_the_five_bars_fall_ends_where_its_lower_bars_are_in_line():
    """The paper's program stopped at about 1.4 s, in an extreme position of the manipulator."""
    model, other = model_of("five-bar"), model_of("five-bar", "partition")
    run = model.simulate(raised(model), 2.0, tolerance=1e-10)
    assert run.outcome.kind == "singular"
    assert run.outcome.names == ("left", "right")
    assert "actuated joints left, right stopped being coordinates at t = 1.33" in run.outcome.message
    assert "formulation='partition'" in run.outcome.remedy
    assert run.end == run.outcome.t == run.occurrences[-1].t
    last = run.at(run.end)
    bars = [model.pose(body, last.q)[0][:, 0] for body in ("left lower", "right lower")]
    assert abs(np.cross(*bars)[2]) < 2e-3
    assert run.closure.max() < 1e-13
    assert np.ptp(run.energy.total) < 1e-8 * run.energy.kinetic.max()
    on = other.simulate(raised(other), 2.0, tolerance=1e-10)
    assert on.outcome.finished  # the mechanism itself passes that pose
    rows = len(run.t) - 1
    np.testing.assert_allclose(run.q[:rows], on.q[:rows], atol=1e-8)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_the_end_does_not_depend_on_the_steps(tolerance):
    """Deltas and Phi are squares, so that long steps could lead past their zero."""
    model = model_of("five-bar")
    assert model.simulate(raised(model), 2.0, tolerance=tolerance).end == pytest.approx(1.3328, abs=1e-3)


def test_a_four_bar_falls_for_long():
    model, other = model_of("four-bar"), model_of("four-bar", "partition")
    start = {"A": 90 * kp.deg}, {"D": 70 * kp.deg}
    run, on = (x.simulate(x.assemble(start[0], near=start[1]), 5.0) for x in (model, other))
    assert run.outcome.finished
    np.testing.assert_allclose(run.q, on.q, atol=1e-6)
    np.testing.assert_allclose(run.a, on.a, atol=1e-4)
    assert run.closure.max() < 1e-13
    assert np.ptp(run.energy.total) < 1e-7 * run.energy.kinetic.max()


def test_a_platform_with_balls_and_universal_joints_runs_under_computed_torque():
    """Quaternions of balls stay on their sphere, loops closed; the law is compiled with the legs' own W and g."""
    model = model_of("3-ruu")
    wanted = ENTRIES["3-ruu"].run(model, 4.0)
    start = wanted.at(0.0)
    motion = kp.motions.cycloidal({f"motor{k}": (start[f"motor{k}"], start[f"motor{k}"] + 0.2) for k in (1, 2, 3)}, 0.5)
    run = model.simulate(start, 0.5, torque=kp.computed_torque(motion, rate=20.0))
    assert run.outcome.finished
    for k in (1, 2, 3):
        assert run[f"motor{k}"][-1] == pytest.approx(start[f"motor{k}"] + 0.2, abs=1e-6)
    assert run.closure.max() < 1e-13


def test_states_beside_the_loops_are_closed_by_moving_passive_joints_alone():
    for name in ("four-bar", "3-rrr", "stewart"):
        model = model_of(name)
        state = ENTRIES[name].run(model, 1.0).at(0.5)
        rng = np.random.default_rng(0)
        beside, rates = model.integrate(state.q, 1e-5 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
        q, v, left = model.call("project", beside, rates)
        assert np.abs(model.residual(q)).max() < 1e-13
        assert left < 1e-13
        assert np.abs(model.loop_slip(q, v)).max() < 1e-12
        moved = model.difference(beside, q)
        np.testing.assert_array_equal(moved[model.driven], 0.0)
        np.testing.assert_array_equal(v[model.driven], rates[model.driven])
        assert 1e-6 < np.abs(moved).max() < 1e-3


def test_a_stepper_steps_as_that_of_partition():
    found = []
    for formulation in ("denoc", "partition"):
        model = model_of("five-bar", formulation)
        sim = model.stepper(raised(model), 1e-3)
        for _ in range(100):
            state = sim.step([0.5, -0.5])
        found.append(state.q)
    np.testing.assert_allclose(*found, atol=1e-9)


def test_what_denoc_does_not_do_is_said():
    model = model_of("five-bar")
    with pytest.raises(StateError, match=r'singular="cross" is not for denoc; .*partition'):
        model.simulate(raised(model), 1.0, singular="cross")
    with pytest.raises(StateError, match=r'stabilize="baumgarte" is not for denoc; .*partition'):
        model.simulate(raised(model), 1.0, stabilize="baumgarte")
