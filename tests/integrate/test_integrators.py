"""Integrators against claimed orders, SciPy, exact solutions and conserved quantities."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import kempe as kp
from tests.mechanisms import arm, random_tree
from tests.simulate.mechanisms import GRAVITY, double_pendulum, floating_body, mixed_tree, pendulum

METHOD_ORDERS = {"rk4": 4, "euler": 1}


def right_hand_side(model, tau=None):
    def f(t, y):
        q, v = y[: model.nq], y[model.nq :]
        return np.concatenate([model.rates(q, v), model.forward_dynamics(q, v, tau)])

    return f


def reference(model, state, t, tau=None):
    """States at times t by SciPy's implicit method of order 5 at 1e-12, which shares nothing with ours."""
    start = np.concatenate([state.q, state.v])
    found = solve_ivp(right_hand_side(model, tau), (0, t[-1]), start, "DOP853", t, rtol=1e-13, atol=1e-13)
    return found.y.T


class TestOrder:
    """Halving the step divides the error by 2^order, on a tree with a quaternion, a slider and a hinge."""

    @pytest.mark.parametrize("method", METHOD_ORDERS)
    def test_of_fixed_steps(self, method):
        model = mixed_tree().compile()
        state = model.random_state(3)
        end = reference(model, state, [0.0, 0.5])[-1]
        steps = np.array([400, 600, 800, 1200]) if method == "rk4" else np.array([2000, 4000, 8000, 16000])
        errors = []
        for count in steps:
            run = model.simulate(state, 0.5, method=method, step=0.5 / count, output=0.5)
            errors.append(np.abs(np.concatenate([run.q[-1], run.v[-1]]) - end).max())
        measured = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert measured == pytest.approx(METHOD_ORDERS[method], abs=0.15)

    @pytest.mark.parametrize(("method", "order"), [("dop853", 8), ("dopri5", 5)])
    def test_of_adaptive_methods(self, method, order):
        """At a tolerance that never bites, `longest` is the step."""
        model = mixed_tree().compile()
        state = model.random_state(3)
        end = reference(model, state, [0.0, 0.5])[-1]
        steps = np.array([8, 12, 16, 24]) if method == "dop853" else np.array([32, 64, 128, 256])
        errors = []
        for count in steps:
            run = model.simulate(state, 0.5, method=method, tolerance=0.9, longest=0.5 / count, output=0.5)
            errors.append(np.abs(np.concatenate([run.q[-1], run.v[-1]]) - end).max())
        measured = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert measured == pytest.approx(order, abs=0.6)

    @pytest.mark.parametrize(("method", "order"), [("dop853", 7), ("dopri5", 4), ("rk4", 4), ("euler", 1)])
    def test_of_dense_output(self, method, order):
        """Output between the steps."""
        model = pendulum().compile()
        state = model.state({"pivot": 1.0})
        counts = {"dop853": [4, 6, 8, 12], "dopri5": [16, 32, 64], "rk4": [32, 64, 128], "euler": [500, 1000, 2000]}[
            method
        ]
        times = np.linspace(0, 1, 41)
        exact = reference(model, state, times)
        errors = []
        for count in counts:
            how = {"tolerance": 0.9, "longest": 1 / count} if order > 1 and method != "rk4" else {"step": 1 / count}
            run = model.simulate(state, 1.0, method=method, output=times, **how)
            errors.append(np.abs(np.hstack([run.q, run.v]) - exact).max())
        measured = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
        assert measured > order - 0.4


class TestAgainstSciPy:
    @pytest.mark.parametrize("tolerance", [1e-5, 1e-8, 1e-11])
    @pytest.mark.parametrize("build", [double_pendulum, lambda: arm(6), mixed_tree], ids=["double", "arm", "mixed"])
    def test_same_result_at_the_same_tolerance_for_no_more_work(self, build, tolerance):
        model = build().compile()
        state = model.random_state(1)
        times = np.linspace(0, 1, 101)
        run = model.simulate(state, 1.0, tolerance=tolerance, output=times)
        start = np.concatenate([state.q, state.v])
        theirs = solve_ivp(right_hand_side(model), (0, 1), start, "DOP853", times, rtol=tolerance, atol=tolerance)
        exact = reference(model, state, times)
        ours = np.hstack([run.q, run.v])
        worst = np.abs(theirs.y.T - exact).max()
        assert np.abs(ours - exact).max() <= 3 * worst + 1e-12
        assert run.statistics.evaluations <= 1.1 * theirs.nfev

    @pytest.mark.parametrize("seed", range(6))
    def test_random_trees(self, seed):
        model = random_tree(seed, 5, passive=True, loads=seed % 2 == 0).compile()
        state = model.random_state(seed)
        tau = np.random.default_rng(seed).normal(size=model.nu)
        times = np.linspace(0, 0.4, 21)
        run = model.simulate(state, 0.4, torque=tau, tolerance=1e-11, output=times)
        assert run.outcome.finished
        exact = reference(model, state, times, tau)
        scale = 1 + np.abs(exact).max()
        np.testing.assert_allclose(np.hstack([run.q, run.v]), exact, atol=1e-8 * scale)

    def test_long_chains_as_repeated_blocks(self):
        model = arm(24).compile()
        assert not model.program("forward_dynamics").is_single_block
        state = model.state({"joint1": 0.3})
        times = np.array([0.0, 0.05, 0.1])
        run = model.simulate(state, 0.1, output=times, tolerance=1e-10)
        np.testing.assert_allclose(np.hstack([run.q, run.v]), reference(model, state, times), atol=1e-6)


class TestExactSolutions:
    def test_the_pendulum(self):
        """theta(t) by Jacobi's elliptic functions."""
        model = pendulum().compile()
        amplitude = 2.0
        run = model.simulate(model.state({"pivot": amplitude}), 10.0, tolerance=1e-12)
        k, omega = np.sin(amplitude / 2), np.sqrt(GRAVITY)
        quarter = ellipk(k**2)
        sn = ellipj(quarter - omega * run.t, k**2)[0]
        np.testing.assert_allclose(run["pivot"], 2 * np.arcsin(k * sn), atol=1e-9)

    @pytest.mark.parametrize("method", ["dop853", "dopri5"])
    def test_a_torque_free_body_keeps_energy_and_momentum_over_100_revolutions(self, method):
        model = floating_body().compile()
        spin = 2 * np.pi
        state = model.state(rates={"float": [0.3, spin, 0.2, 0.5, -0.3, 0.1]})
        run = model.simulate(state, 100.0, tolerance=1e-13, method=method)
        kinetic = run.energy.kinetic
        assert np.ptp(kinetic) / kinetic[0] < 1e-10
        angular, linear = model.momentum(run.q, run.v)
        middle = model.center_of_mass(run.q)
        about_middle = angular - np.cross(middle, linear)
        for momentum in (about_middle, linear):
            size = np.linalg.norm(momentum[0])
            assert np.abs(momentum - momentum[0]).max() / size < 1e-10
        turns = np.abs(np.diff(np.unwrap(np.arctan2(run.q[:, 2], run.q[:, 0])))).sum() / np.pi
        assert turns > 99

    def test_quaternions_keep_their_length(self):
        model = mixed_tree().compile()
        run = model.simulate(model.random_state(2), 2.0, tolerance=1e-5)
        np.testing.assert_allclose(np.linalg.norm(run["ball"], axis=1), 1, atol=4e-16)

    def test_semi_implicit_euler_does_not_drift(self):
        """Its energy swings, but does not grow: explicit Euler's would, by a factor of e here."""
        model = pendulum().compile()
        run = model.simulate(model.state({"pivot": 0.5}), 200.0, method="euler", step=0.01, output=0.1)
        total = run.energy.total
        swing = np.ptp(total[:200])
        assert np.ptp(total[-200:]) < 1.1 * swing
        assert abs(total[-200:].mean() - total[:200].mean()) < 0.05 * swing


class TestSteps:
    def test_output_for_every_step(self):
        model = pendulum().compile()
        run = model.simulate(model.state({"pivot": 1.0}), 2.0, output=None)
        assert len(run) == run.statistics.steps + 1
        assert run.t[-1] == 2.0
        np.testing.assert_allclose(run.q, reference(model, model.state({"pivot": 1.0}), run.t)[:, :1], atol=1e-6)

    def test_more_steps_than_there_is_room_for_at_once(self):
        """Rows where steps end are those of a run that is asked for just these times, jumps and events among them."""
        model = double_pendulum().compile()
        state, events = model.state({"shoulder": 1.0}), [kp.Event("below", lambda t, q, v: q[0], action="record")]
        options = {"torque": kp.Table([0, 0.33, 1.0], {"shoulder": [0.5, -1.0, 0.0]}, between="hold"), "longest": 4e-4}
        run = model.simulate(state, 2.0, output=None, events=events, **options)
        assert len(run) == run.statistics.steps + 1 > 5000
        assert {"below"} == {x.name for x in run.occurrences}
        assert {x.t for x in run.occurrences} <= set(run.t)
        again = model.simulate(state, 2.0, output=run.t, events=events, **options)
        np.testing.assert_array_equal(run.t, again.t)
        np.testing.assert_array_equal(run.q, again.q)
        np.testing.assert_array_equal(run.v, again.v)
        np.testing.assert_array_equal(run.u, again.u)

    def test_the_last_row_is_the_end_whatever_the_spacing(self):
        model = pendulum().compile()
        run = model.simulate(model.state({"pivot": 1.0}), 1.0, output=0.3)
        np.testing.assert_allclose(run.t, [0, 0.3, 0.6, 0.9, 1.0])

    def test_a_run_may_begin_at_another_time(self):
        model = pendulum().compile()
        run = model.simulate(model.state({"pivot": 1.0}), 1.0, start=5.0, output=0.5)
        np.testing.assert_allclose(run.t, [5, 5.5, 6])

    def test_no_step_is_longer_than_asked(self):
        model = pendulum().compile()
        run = model.simulate(model.state({"pivot": 1e-9}), 1.0, output=None, longest=0.05)
        assert np.diff(run.t).max() <= 0.05 * (1 + 1e-9)

    def test_a_mechanism_that_cannot_move(self):
        model = pendulum().compile()
        run = model.simulate(model.state(), 1.0)
        assert np.abs(run.q).max() == 0
