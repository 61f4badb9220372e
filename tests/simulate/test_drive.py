"""Torques of every kind: against SciPy with the same torque, and against exact motions of a mass on a rail."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kempe as kp
from kempe.errors import StateError
from tests.mechanisms import arm
from tests.simulate.mechanisms import double_pendulum, mixed_tree, slider

MASS = 2.0


class TestConstants:
    def test_a_constant_force(self):
        model = slider().compile()
        for given in (3.0, [3.0], {"rail": 3.0}):
            run = model.simulate(model.state(), 2.0, torque=given)
            np.testing.assert_allclose(run["rail"], 0.5 * 3 / MASS * run.t**2, atol=1e-12)
            np.testing.assert_allclose(run.torque("rail"), 3.0)

    def test_wrong_sizes_and_names(self):
        model = slider().compile()
        with pytest.raises(StateError, match=r"1 efforts \(rail\), not 2"):
            model.simulate(model.state(), 1.0, torque=[1.0, 2.0])
        with pytest.raises(StateError, match="there is no joint 'rial'"):
            model.simulate(model.state(), 1.0, torque={"rial": 1.0})
        model = double_pendulum().compile()
        with pytest.raises(StateError, match="elbow is not actuated"):
            model.simulate(model.state(), 1.0, torque={"elbow": 1.0})


class TestTables:
    def test_straight_lines(self):
        """A force that rises to 4 N and falls again: the speed is its integral."""
        model = slider().compile()
        times, forces = [0.0, 0.7, 1.3, 2.0], [0.0, 4.0, 4.0, 0.0]
        run = model.simulate(model.state(), 2.5, torque=kp.Table(times, forces))
        fine = np.linspace(0, 2.5, 250001)
        speed = np.concatenate([[0], np.cumsum(np.interp((fine[1:] + fine[:-1]) / 2, times, forces)) * 1e-5 / MASS])
        np.testing.assert_allclose(run.rate("rail"), np.interp(run.t, fine, speed), atol=1e-9)
        np.testing.assert_allclose(run.torque("rail"), np.interp(run.t, times, forces), atol=1e-12)

    def test_held_values_jump_at_their_times(self):
        model = slider().compile()
        table = kp.Table([0.0, 0.5, 1.25], {"rail": [2.0, -6.0, 0.0]}, between="hold")
        run = model.simulate(model.state(), 2.0, torque=table, tolerance=1e-9)
        exact = np.interp(run.t, [0, 0.5, 1.25, 2.0], [0, 0.5, 0.5 - 2.25, -1.75])
        np.testing.assert_allclose(run.rate("rail"), exact, atol=1e-13)
        assert run.statistics.rejected == 0  # no step tries to go over a jump

    def test_a_smooth_table(self):
        model = slider().compile()
        times = np.linspace(0, 2, 201)
        run = model.simulate(model.state(), 2.0, torque=kp.Table(times, np.sin(3 * times), between="cubic"))
        np.testing.assert_allclose(run.rate("rail"), (1 - np.cos(3 * run.t)) / 3 / MASS, atol=1e-7)

    def test_many_times_cost_little(self):
        model = slider().compile()
        times = np.linspace(0, 5, 5001)
        run = model.simulate(model.state(), 5.0, torque=kp.Table(times, np.cos(times)))
        np.testing.assert_allclose(run.rate("rail"), np.sin(run.t) / MASS, atol=1e-6)
        assert run.statistics.steps <= 5020

    def test_mistakes(self):
        model = slider().compile()
        with pytest.raises(StateError, match="between is 'smooth'"):
            model.simulate(model.state(), 1.0, torque=kp.Table([0, 1], [0, 1], between="smooth"))
        with pytest.raises(StateError, match=r"shape \(2, 3\)"):
            model.simulate(model.state(), 1.0, torque=kp.Table([0, 1], np.zeros((2, 3))))


def same_motion(model, run, torque, tolerance=1e-6):
    """SciPy's run under a torque given as a function of numbers."""

    def f(t, y):
        q, v = y[: model.nq], y[model.nq :]
        return np.concatenate([model.rates(q, v), model.forward_dynamics(q, v, torque(t, q, v))])

    start = np.concatenate([run.q[0], run.v[0]])
    found = solve_ivp(f, (run.t[0], run.t[-1]), start, "DOP853", run.t, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(np.hstack([run.q, run.v]), found.y.T, atol=tolerance)
    efforts = np.array([torque(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)])
    np.testing.assert_allclose(run.u, efforts.reshape(run.u.shape), atol=tolerance)


class TestLaws:
    def test_an_expression_is_compiled_into_the_step(self):
        model = mixed_tree().compile()
        law = kp.Law(lambda t, q, v: {"hinge": -3 * q[5] - 0.2 * v[4] + ca.sin(5 * t), "slide": -4 * v[3]})
        run = model.simulate(model.random_state(4), 1.0, torque=law, tolerance=1e-10)
        same_motion(model, run, lambda t, q, v: [-4 * v[3], -3 * q[5] - 0.2 * v[4] + np.sin(5 * t)])

    def test_a_casadi_function_is_a_law(self):
        model = slider().compile()
        t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
        function = ca.Function("law", [t, q, v], [-8 * q - 2 * v + ca.cos(t)])
        run = model.simulate(model.state({"rail": 1.0}), 3.0, torque=function, tolerance=1e-11)
        same_motion(model, run, lambda t, q, v: -8 * q - 2 * v + np.cos(t))

    def test_states_of_its_own(self):
        """A PID controller against a constant load: the integral takes the load, and the offset vanishes."""
        m = slider()
        m.wrench("load", m.bodies[0].origin, force=(-5, 0, 0))
        model = m.compile()

        def pid(t, q, v, z):
            error = 1.0 - q[0]
            return 40 * error - 12 * v[0] + 30 * z[0], {"integral": error}

        run = model.simulate(model.state(), 15.0, torque=kp.Law(pid, states={"integral": 0.0}))
        assert run["rail"][-1] == pytest.approx(1.0, abs=1e-4)
        assert run.torque("rail")[-1] == pytest.approx(5.0, abs=1e-3)
        assert run["integral"][-1] == pytest.approx(5 / 30, abs=1e-4)

        def f(t, y):  # the same, written out
            error = 1.0 - y[0]
            return [y[1], (40 * error - 12 * y[1] + 30 * y[2] - 5) / MASS, error]

        exact = solve_ivp(f, (0, 15), [0, 0, 0], "Radau", run.t, rtol=1e-10, atol=1e-10).y
        np.testing.assert_allclose(run["rail"], exact[0], atol=1e-6)
        np.testing.assert_allclose(run["integral"], exact[2], atol=1e-6)

    def test_a_law_that_jumps_says_when(self):
        model = slider().compile()
        law = kp.Law(lambda t, q, v: ca.if_else(t < 0.3, 2.0, -2.0), breaks=[0.3])
        run = model.simulate(model.state(), 1.0, torque=law)
        np.testing.assert_allclose(run.rate("rail"), np.where(run.t < 0.3, run.t, 0.6 - run.t), atol=1e-12)

    def test_mistakes(self):
        model = slider().compile()
        for law, what in (
            (kp.Law(lambda t, q, v: [q[0], v[0]]), r"efforts takes 1 entries \(rail\)"),
            (kp.Law(lambda t, q, v: {"nail": q[0]}), "there is no joint 'nail'"),
            (kp.Law(lambda t, q, v, z: q[0], states={"z": 0}), "must return two things"),
            (kp.Law(lambda t, q, v, z: (q[0], {"y": 1}), states={"z": 0}), "there is no state 'y'"),
        ):
            with pytest.raises(StateError, match=what):
                model.simulate(model.state(), 1.0, torque=law)


class TestFollowing:
    motion = kp.motions.cycloidal({f"joint{k + 1}": (0.1 * k, 0.8 - 0.3 * k) for k in range(4)}, duration=2)

    def desired(self, model, t):
        return self.motion.on(model, t=t)

    def test_feedforward_follows_for_a_while(self):
        model = arm(4).compile()
        start = model.state({f"joint{k + 1}": 0.1 * k for k in range(4)})
        run = model.simulate(start, 1.0, torque=kp.feedforward(self.motion), tolerance=1e-11)
        q, v, a = self.desired(model, run.t)
        np.testing.assert_allclose(run.q, q, atol=1e-6)
        np.testing.assert_allclose(run.a, a, atol=1e-4)
        np.testing.assert_allclose(run.u, model.generalized_forces(q, v, a), atol=1e-9)

    def test_computed_torque_brings_an_error_down_as_designed(self):
        """With lambda = 3 the error obeys e'' + 6 e' + 9 e = 0: e = e0 (1 + 3 t) exp(-3 t)."""
        model = arm(4).compile()
        start = model.state({f"joint{k + 1}": 0.1 * k + 0.2 for k in range(4)})
        run = model.simulate(start, 3.0, torque=kp.computed_torque(self.motion, rate=3.0), tolerance=1e-11)
        q, _, _ = self.desired(model, run.t)
        decay = 0.2 * (1 + 3 * run.t) * np.exp(-3 * run.t)
        np.testing.assert_allclose(run.q - q, np.tile(decay[:, None], 4), atol=1e-7)

    @pytest.mark.parametrize(
        "motion",
        [
            kp.motions.spline(
                {f"joint{k + 1}": [0.1 * k, 0.5, -0.2 * k] for k in range(4)}, [0, 0.8, 2.0], ends="rest"
            ),
            kp.motions.trapezoidal({f"joint{k + 1}": (0.1 * k, 0.6) for k in range(4)}, duration=2.0),
            kp.motions.quintic({f"joint{k + 1}": (0.1 * k, 0.6) for k in range(4)}, duration=2.0),
        ],
        ids=["spline", "trapezoidal", "quintic"],
    )
    def test_motions_that_are_tables(self, motion):
        model = arm(4).compile()
        q0, _, _ = motion.on(model, t=0.0)
        start = model.state(dict(zip(model.q_names, q0, strict=True)))
        run = model.simulate(
            start, 2.0, torque=kp.computed_torque(motion, stiffness=25.0, damping=10.0), tolerance=1e-10
        )
        q, v, _ = motion.on(model, t=run.t)
        np.testing.assert_allclose(run.q, q, atol=1e-7)
        np.testing.assert_allclose(run.v, v, atol=1e-6)

    def test_pd_is_a_spring_and_a_damper(self):
        model = slider().compile()
        motion = kp.motions.sinusoidal({"rail": (0.0, 0.2)}, frequency=1.0)
        law = kp.pd(motion, stiffness=50.0, damping=4.0)
        run = model.simulate(model.state(), 2.0, torque=law, tolerance=1e-10)
        x = lambda t: 0.2 * np.sin(2 * np.pi * t)  # noqa: E731
        rate = lambda t: 0.2 * 2 * np.pi * np.cos(2 * np.pi * t)  # noqa: E731
        same_motion(model, run, lambda t, q, v: 50 * (x(t) - q) + 4 * (rate(t) - v), 1e-7)

    def test_pd_with_gravity_holds_still(self):
        model = arm(4).compile()
        place = {f"joint{k + 1}": 0.3 * k for k in range(4)}
        motion = kp.motions.quintic({n: (x, x) for n, x in place.items()}, duration=1.0)
        run = model.simulate(model.state(place), 1.0, torque=kp.pd(motion, 100.0, 10.0, gravity=True), tolerance=1e-13)
        assert np.abs(run.v).max() < 1e-9

    def test_what_laws_cannot_do_is_said(self):
        model = double_pendulum().compile()
        motion = kp.motions.quintic({"shoulder": (0, 1)}, duration=1.0)
        with pytest.raises(StateError, match="elbow is not actuated"):
            model.simulate(model.state(), 1.0, torque=kp.computed_torque(motion, rate=1.0))
        two = arm(2).compile()
        with pytest.raises(StateError, match="does not name joint2"):
            two.simulate(two.state(), 1.0, torque=kp.feedforward(kp.motions.quintic({"joint1": (0, 1)}, duration=1.0)))
        with pytest.raises(StateError, match="either rate, or both"):
            kp.computed_torque(motion, rate=1.0, stiffness=2.0, damping=1.0)


class TestPython:
    def test_any_function_of_t_q_v(self):
        model = mixed_tree().compile()
        torque = lambda t, q, v: {"hinge": -2 * v[4] + np.sin(3 * t)}  # noqa: E731
        run = model.simulate(model.random_state(5), 0.5, torque=torque, tolerance=1e-9)
        same_motion(model, run, lambda t, q, v: [0.0, torque(t, q, v)["hinge"]])

    def test_what_it_raises_is_raised_with_the_run_so_far(self):
        model = slider().compile()

        def torque(t, q, v):
            if t > 0.5:
                raise ZeroDivisionError("my own mistake")
            return 1.0

        with pytest.raises(ZeroDivisionError, match="my own mistake") as caught:
            model.simulate(model.state(), 1.0, torque=torque)
        assert "while simulating 'slider'" in caught.value.__notes__[0]
        assert 0 < caught.value.run.t[-1] <= 0.5

    def test_a_function_that_takes_something_else(self):
        model = slider().compile()
        with pytest.raises(StateError, match=r"called as function\(t, q, v\)"):
            model.simulate(model.state(), 1.0, torque=lambda state: 1.0)


class TestSampled:
    def test_it_is_called_at_its_own_rate_and_held(self):
        model = slider().compile()
        calls = []

        def controller(t, q, v):
            calls.append(t)
            return 10 * (1 - q[0]) - 4 * v[0]

        run = model.simulate(model.state(), 1.0, torque=kp.Sampled(controller, 0.04), output=0.01, tolerance=1e-11)
        np.testing.assert_allclose(calls, 0.04 * np.arange(25), atol=1e-12)
        # Exact motion of a mass under a held force.
        x, rate, force = 0.0, 0.0, 0.0
        for k in range(101):
            assert run["rail"][k] == pytest.approx(x, abs=1e-10)
            if k % 4 == 0 and k < 100:
                force = 10 * (1 - x) - 4 * rate
            assert run.torque("rail")[k] == pytest.approx(force, abs=1e-9)
            x += rate * 0.01 + 0.5 * force / MASS * 1e-4
            rate += force / MASS * 0.01

    def test_an_impossible_period(self):
        with pytest.raises(StateError, match="period is 0 s"):
            kp.Sampled(lambda t, q, v: 0.0, 0)


def test_inverse_dynamics_of_a_motion_is_the_torque_of_the_run():
    model = arm(3).compile()
    motion = kp.motions.cycloidal({f"joint{k + 1}": (0.0, 0.5) for k in range(3)}, duration=1.0)
    need = model.inverse_dynamics(motion, output=0.05)
    assert len(need) == 21
    q, v, a = motion.on(model, t=need.t)
    np.testing.assert_allclose(need.u, model.generalized_forces(q, v, a))
    np.testing.assert_allclose(need.torque("joint2"), need.u[:, 1])
    again = model.simulate(model.state(), 1.0, torque=kp.Table(need.t, need.u, between="cubic"), output=need.t)
    np.testing.assert_allclose(again.q, q, atol=2e-3)


class TestFunctionsThatMisbehave:
    def test_writing_to_its_arguments_changes_nothing(self):
        model = slider().compile()

        def torque(t, q, v):
            q -= 0.4
            return -5 * q - v

        run = model.simulate(model.state(), 1.0, torque=torque, tolerance=1e-10)
        same_motion(model, run, lambda t, q, v: -5 * (q - 0.4) - v, 1e-7)

    def test_after_it_raised_the_rows_before_are_right(self):
        model = slider().compile()
        calls = []

        def torque(t, q, v):
            if t > 0.5:
                calls.append(t)
                raise RuntimeError("no more")
            return np.sin(10 * t)

        with pytest.raises(RuntimeError, match="no more") as caught:
            model.simulate(model.state(), 1.0, torque=torque)
        assert len(calls) == 1
        run = caught.value.run
        np.testing.assert_allclose(run.torque("rail"), np.sin(10 * run.t), atol=1e-12)

    def test_nothing_is_no_torque(self):
        model = slider().compile()
        with pytest.raises(StateError, match="gave None"):
            model.simulate(model.state(), 1.0, torque=lambda t, q, v: None)
        with pytest.raises(StateError, match="give numbers"):
            model.simulate(model.state(), 1.0, torque="much")

    def test_functions_of_math_on_symbols_are_found_out(self):
        import math

        model = slider().compile()
        with pytest.raises(StateError, match=r"hold NaN; on symbols use casadi's functions"):
            model.simulate(model.state(), 1.0, torque=kp.Law(lambda t, q, v: math.nan * q[0]))

    def test_a_rate_that_would_make_errors_grow(self):
        with pytest.raises(StateError, match="rate is -1"):
            kp.computed_torque(TestFollowing.motion, rate=-1)


def test_the_last_row_of_inverse_dynamics_is_still_in_motion():
    model = slider().compile()
    motion = kp.motions.sinusoidal({"rail": (0.0, 1.0)}, 1.0, duration=0.3)
    need = model.inverse_dynamics(motion, output=0.1)
    assert need.rate("rail")[-1] == pytest.approx(2 * np.pi * np.cos(0.6 * np.pi))
