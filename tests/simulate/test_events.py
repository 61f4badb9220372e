"""Events, limits and outcomes: located to rounding, acted on, told in sentences."""

import os
import signal
import threading
import time

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import kempe as kp
from kempe.errors import StateError
from kempe.mechanism.mechanism import Mechanism
from kempe.results import outcome as kinds
from tests.simulate.mechanisms import GRAVITY, double_pendulum, floating_body, pendulum, slider


def ball() -> Mechanism:
    """A mass that falls along y."""
    m = Mechanism("ball", gravity=(0, -GRAVITY, 0))
    mass = m.sphere("mass", 0.1, 1.0)
    m.prismatic("height", m.ground.at(0, 0), mass.at(0, 0), axis=(0, 1, 0))
    return m


class TestLocating:
    @pytest.mark.parametrize("method", ["dop853", "dopri5"])
    def test_the_zero_crossing_of_a_pendulum_to_1e_10_seconds(self, method):
        model = pendulum().compile()
        amplitude = 1.0
        event = kp.Event("down", lambda t, q, v: q[0], action="record")
        run = model.simulate(model.state({"pivot": amplitude}), 20.0, events=event, tolerance=1e-13, method=method)
        quarter = ellipk(np.sin(amplitude / 2) ** 2) / np.sqrt(GRAVITY)
        times = np.array([o.t for o in run.occurrences])
        np.testing.assert_allclose(times, quarter * (2 * np.arange(len(times)) + 1), rtol=0, atol=1e-10)
        assert len(times) == int((20 / quarter + 1) / 2)
        assert max(abs(o.q[0]) for o in run.occurrences) < 5e-14  # a few ulps of t, times the speed

    def test_at_the_default_tolerance_it_is_as_exact_as_the_run(self):
        model = pendulum().compile()
        run = model.simulate(model.state({"pivot": 1.0}), 0.6, events=kp.Event("down", lambda t, q, v: q[0]))
        quarter = ellipk(np.sin(0.5) ** 2) / np.sqrt(GRAVITY)
        assert run.outcome.t == pytest.approx(quarter, abs=1e-8)
        assert abs(run["pivot"][-1]) < 1e-15

    def test_fixed_steps_land_on_events_too(self):
        model = pendulum().compile()
        quarter = ellipk(np.sin(0.5) ** 2) / np.sqrt(GRAVITY)
        for method, step, close in (("rk4", 1e-3, 1e-12), ("euler", 1e-4, 1e-4)):
            event = kp.Event("down", lambda t, q, v: q[0])
            run = model.simulate(model.state({"pivot": 1.0}), 1.0, events=event, method=method, step=step)
            assert run.outcome.t == pytest.approx(quarter, abs=close)
            assert abs(run["pivot"][-1]) < 1e-14

    @pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "rk4"])
    @pytest.mark.parametrize("brief", [7e-3, 1e-3])
    def test_levels_exceeded_for_much_less_than_a_step(self, method, brief):
        """Of a pendulum that swings from 1 rad, an angle that it exceeds for 14 ms, or 2, in each period of 2.1 s."""
        model, m = pendulum().compile(), np.sin(0.5) ** 2
        rate = np.sqrt(GRAVITY)
        period = 4 * ellipk(m) / rate
        _, cn, dn, _ = ellipj(rate * brief, m)
        level = 2 * np.arcsin(np.sqrt(m) * cn / dn)
        for direction, first in ((1, period - brief), (-1, brief)):
            event = kp.Event("high", lambda t, q, v: q[0] - level, direction=direction, action="record")
            step = {"step": 0.01} if method == "rk4" else {"tolerance": 1e-12}
            run = model.simulate(model.state({"pivot": 1.0}), 12.2 * period, events=event, method=method, **step)
            times = np.array([o.t for o in run.occurrences])
            assert len(times) == 13 - (direction == 1)
            np.testing.assert_allclose(times, first + period * np.arange(len(times)), rtol=0, atol=2e-5)

    def test_two_crossings_within_a_step_and_the_one_that_is_asked_for(self):
        """A wave of time, 1.7 of them in each step: up at whole seconds, down half way."""
        model = slider().compile()
        state = model.state(rates={"rail": 1.0})
        for direction, first in ((1, 1.0), (-1, 0.5)):
            wave = kp.Event("wave", lambda t, q, v: ca.sin(2 * np.pi * t), direction=direction, action="record")
            run = model.simulate(state, 20.6, events=wave, method="rk4", step=1.7)
            times = [o.t for o in run.occurrences]
            np.testing.assert_allclose(times, first + np.arange(20 if direction == 1 else 21), rtol=0, atol=1e-9)

    def test_directions(self):
        model = pendulum().compile()
        counts = {}
        for direction in (-1, 0, 1):
            event = kp.Event("level", lambda t, q, v: q[0], direction, "record")
            run = model.simulate(model.state({"pivot": 0.5}), 6.0, events=event)
            counts[direction] = [np.sign(o.v[0]) for o in run.occurrences]
        assert set(counts[-1]) == {-1.0}
        assert set(counts[1]) == {1.0}
        assert len(counts[0]) == len(counts[1]) + len(counts[-1])

    def test_two_crossings_within_one_step_are_seen(self):
        """A short dip below zero, far shorter than the steps a slow motion takes."""
        model = slider().compile()
        event = kp.Event("dip", lambda t, q, v: (q[0] - 1.0) ** 2 - 0.01, action="record")
        run = model.simulate(model.state(rates={"rail": 1.0}), 2.0, events=event)
        np.testing.assert_allclose([o.t for o in run.occurrences], [0.9, 1.1], atol=1e-12)

    def test_several_events_come_in_order(self):
        model = ball().compile()
        marks = [0.9, 0.5, 0.1]
        events = [kp.Event(f"at {h}", lambda t, q, v, h=h: q[0] - h, action="record") for h in marks[::-1]]
        run = model.simulate(model.state({"height": 1.0}), 0.45, events=events, output=0.45)
        assert [o.name for o in run.occurrences] == [f"at {h}" for h in marks]
        np.testing.assert_allclose(
            [o.t for o in run.occurrences], np.sqrt(2 * (1 - np.array(marks)) / GRAVITY), atol=1e-12
        )

    def test_events_in_time_and_at_the_start(self):
        model = slider().compile()
        event = kp.Event("noon", lambda t, q, v: t - 0.123456789, action="record")
        edge = kp.Event("leaving", lambda t, q, v: q[0], action="record")  # zero at the start: not a crossing
        run = model.simulate(model.state(rates={"rail": 1.0}), 1.0, events=[event, edge])
        assert [o.name for o in run.occurrences] == ["noon"]
        assert run.occurrences[0].t == pytest.approx(0.123456789, abs=1e-14)

    def test_recording_changes_nothing(self):
        model = double_pendulum().compile()
        state = model.state({"shoulder": 1.0})
        event = kp.Event("elbow", lambda t, q, v: v[1], action="record")
        plain, noted = model.simulate(state, 1.0), model.simulate(state, 1.0, events=event)
        assert len(noted.occurrences) > 1
        np.testing.assert_allclose(noted.q, plain.q, atol=1e-6)
        np.testing.assert_array_equal(noted.t, plain.t)

    def test_mistakes(self):
        model = slider().compile()
        with pytest.raises(StateError, match="direction is 2"):
            kp.Event("x", lambda t, q, v: q[0], 2)
        with pytest.raises(StateError, match="action is 'halt'"):
            kp.Event("x", lambda t, q, v: q[0], action="halt")
        with pytest.raises(StateError, match="has 2 entries"):
            model.simulate(model.state(), 1.0, events=kp.Event("x", lambda t, q, v: ca.vertcat(q, v)))


class TestChanging:
    def test_a_bouncing_ball(self):
        """Speed times 0.8 at every impact: times and heights of a geometric series."""
        model = ball().compile()

        def bounce(moment):
            moment.v[0] *= -0.8

        event = kp.Event("impact", lambda t, q, v: q[0], -1, bounce)
        run = model.simulate(model.state({"height": 1.0}), 2.0, events=event, tolerance=1e-12)
        first = np.sqrt(2 / GRAVITY)
        speed = np.sqrt(2 * GRAVITY)
        times = first + np.concatenate([[0], np.cumsum(2 * speed * 0.8 ** np.arange(1, 20) / GRAVITY)])
        found = [o.t for o in run.occurrences]
        np.testing.assert_allclose(found, times[: len(found)], atol=1e-10)
        assert len(found) == (times < 2).sum()
        assert run["height"].min() > -1e-12
        jumps = np.flatnonzero(np.diff(run.t) == 0)
        np.testing.assert_allclose(run.v[jumps + 1], -0.8 * run.v[jumps])

    def test_parameters_may_change(self):
        """A load is dropped half way: the force then moves less."""
        m = slider()
        m.bodies[0].point_mass("load", 3.0, at=(0, 0, 0))
        model = m.compile(parameters=["block.load.mass"])

        def drop(moment):
            moment.p[0] = 0.0

        event = kp.Event("drop", lambda t, q, v: t - 1.0, action=drop)
        run = model.simulate(model.state(), 2.0, torque=5.0, events=event)
        np.testing.assert_allclose(run.rate("rail"), np.where(run.t <= 1, run.t, 1 + 2.5 * (run.t - 1)), atol=1e-12)
        assert run.p.shape == (len(run), 1)
        np.testing.assert_allclose(
            run.energy.kinetic, 0.5 * np.where(run.p[:, 0] > 0, 5, 2) * run.v[:, 0] ** 2, atol=1e-12
        )
        again = run[0.5:1.5]
        assert again.p.shape == (len(again), 1)

    def test_held_efforts_may_change(self):
        model = slider().compile()

        def reverse(moment):
            moment.efforts[0] *= -1

        run = model.simulate(
            model.state(), 2.0, torque=2.0, events=kp.Event("x", lambda t, q, v: t - 0.5, action=reverse)
        )
        np.testing.assert_allclose(run.rate("rail"), 0.5 - np.abs(run.t - 0.5), atol=1e-12)
        assert run.torque("rail")[-1] == -2.0

    def test_an_action_may_stop_the_run(self):
        model = ball().compile()
        hits = []

        def third(moment):
            hits.append(moment.t)
            moment.v[0] *= -1
            moment.stop = len(hits) == 3

        run = model.simulate(
            model.state({"height": 0.2}), 10.0, events=kp.Event("impact", lambda t, q, v: q[0], -1, third)
        )
        assert len(hits) == 3
        assert run.outcome.kind == kinds.EVENT
        assert run.t[-1] == hits[-1]


class TestLimits:
    def crane(self, **options):
        return slider(limits=(-1.0, 0.5), **options)

    def test_a_stop_pushes_back_and_keeps_nearly_within(self):
        model = self.crane().compile()
        run = model.simulate(model.state(rates={"rail": 2.0}), 3.0)
        assert 0.5 < run["rail"].max() < 0.53
        assert -1.03 < run["rail"].min() < -1.0
        assert np.abs(run.power.imbalance).max() < 1e-9
        assert (np.diff(run.energy.total) < 1e-9).sum() > 0
        assert (run.stop("rail")[(run["rail"] < 0.5) & (run["rail"] > -1.0)] == 0).all()

    def test_without_damping_it_gives_back_all_it_took(self):
        model = self.crane().compile()
        run = model.simulate(model.state(rates={"rail": 2.0}), 1.0, limits=kp.Stops(damping=0.0), tolerance=1e-10)
        assert run.rate("rail")[-1] == pytest.approx(-2.0, abs=1e-6)

    def test_a_given_stiffness_holds_a_load_at_its_depth(self):
        """Beyond the width the stop is a spring of its stiffness, shifted by half the width."""
        model = self.crane(damping=20.0).compile()
        stops = kp.Stops(stiffness=1000.0, width=0.001, damping=1.0)
        run = model.simulate(model.state({"rail": 0.49}), 10.0, torque=10.0, limits=stops)
        assert run["rail"][-1] == pytest.approx(0.5 + 10 / 1000 + 0.0005, abs=1e-6)

    def test_as_events_they_end_the_run(self):
        model = self.crane().compile()
        run = model.simulate(model.state(rates={"rail": -2.0}), 3.0, limits="events")
        assert run.outcome.kind == kinds.EVENT
        assert run.outcome.t == pytest.approx(0.5, abs=1e-12)
        assert "rail at its lower limit -1" in str(run.outcome)

    def test_ignored(self):
        model = self.crane().compile()
        run = model.simulate(model.state(rates={"rail": 2.0}), 3.0, limits="ignore")
        assert run["rail"][-1] == pytest.approx(6.0)

    def test_what_begins_far_beyond_a_limit_is_not_shot_back(self):
        model = self.crane().compile()
        with pytest.warns(UserWarning, match="begins far beyond the limits of rail, so that these are left out"):
            run = model.simulate(model.state({"rail": 0.8}), 1.0)
        assert run["rail"][-1] == pytest.approx(0.8)
        run = model.simulate(model.state({"rail": 0.52}), 1.0)  # a little beyond
        assert run["rail"][-1] < 0.5

    def test_one_sided_limits(self):
        model = slider(limits=(-np.inf, 0.5)).compile()
        run = model.simulate(model.state(rates={"rail": 2.0}), 3.0)
        assert run["rail"].max() < 0.55
        assert run["rail"].min() < -0.5

    def test_mistakes(self):
        model = self.crane().compile()
        with pytest.raises(StateError, match="limits is 'hard'"):
            model.simulate(model.state(), 1.0, limits="hard")
        with pytest.raises(StateError, match="stiffness is -1"):
            kp.Stops(stiffness=-1)


class TestOutcomes:
    def test_finished(self):
        model = slider().compile()
        run = model.simulate(model.state(), 1.0)
        assert run.outcome == kp.Outcome(kinds.FINISHED, 1.0, (), "finished at t = 1 s")

    def test_singular(self):
        """Two massless bars with a point mass at the end: stretched, nothing resists the mass along them."""
        m = Mechanism("two bars", gravity=(0, 0, 0))
        first, second = m.solid("first"), m.solid("second")
        second.point_mass("mass", 1.0, at=(1, 0, 0))
        m.revolute("shoulder", m.ground.at(0, 0), first.at(0, 0))
        m.revolute("elbow", first.at(1, 0), second.at(0, 0))
        model = m.compile()
        run = model.simulate(model.state({"elbow": 0.0}), 5.0)
        assert run.outcome.kind == kinds.SINGULAR
        assert run.outcome.names[0] in ("shoulder", "elbow")
        assert "armature" in run.outcome.remedy
        assert len(run) >= 1

    def test_step_too_small(self):
        """A force that grows beyond all bounds at t = 1."""
        model = slider().compile()
        run = model.simulate(model.state(), 2.0, torque=kp.Law(lambda t, q, v: 1 / (1 - t) ** 2))
        assert run.outcome.kind in (kinds.STEP_TOO_SMALL, kinds.NON_FINITE)
        assert run.outcome.t == pytest.approx(1.0, abs=1e-3)
        assert run.outcome.names == ("rail",)
        assert run.t[-1] == run.outcome.t
        assert len(run) > 90

    def test_non_finite(self):
        model = slider().compile()
        run = model.simulate(model.state(), 2.0, torque=kp.Law(lambda t, q, v: ca.sqrt(1 - t)))
        assert run.outcome.kind == kinds.NON_FINITE
        assert run.outcome.t == pytest.approx(1.0, abs=1e-6)
        assert "rail" in str(run.outcome)

    def test_non_finite_from_the_start(self):
        model = slider().compile()
        run = model.simulate(model.state(), 2.0, torque=kp.Law(lambda t, q, v: ca.log(q[0] - 1)))
        assert run.outcome.kind == kinds.NON_FINITE
        assert run.outcome.t == 0.0

    @pytest.mark.parametrize("torque", [None, kp.Sampled(lambda t, q, v: 0.0, 1e-3)], ids=["compiled", "sampled"])
    def test_control_c_is_raised_with_what_was_computed(self, torque):
        model = slider().compile()
        model.simulate(model.state(), 0.1)  # so that nothing is compiled while we wait
        # Where tests run in the background, interrupts may be switched off.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        # Python loses an interrupt that comes while it collects garbage; a person presses again.
        timers = [threading.Timer(s, lambda: os.kill(os.getpid(), signal.SIGINT)) for s in (0.4, 1.4, 2.4)]
        for timer in timers:
            timer.start()
        begun = time.perf_counter()
        try:
            with pytest.raises(KeyboardInterrupt) as stopped:
                model.simulate(model.state(rates={"rail": 1.0}), 1e9, torque=torque, output=1e7, longest=0.01)
        finally:
            for timer in timers:
                timer.cancel()
            signal.signal(signal.SIGINT, before)
        assert time.perf_counter() - begun < 5
        run = stopped.value.run  # type: ignore[attr-defined]
        assert run.outcome.kind == kinds.INTERRUPTED
        assert 0 < run.t[-1] == run.outcome.t
        assert run["rail"][-1] == pytest.approx(run.t[-1], rel=1e-9)

    def test_every_sentence_has_a_time(self):
        model = floating_body((0, 0, -9.81)).compile()
        run = model.simulate(model.state(), 1.0, events=kp.Event("low", lambda t, q, v: q[6] + 1))
        assert str(run.outcome) == f"low: stopped at t = {np.sqrt(2 / 9.81):.9g} s of 1 s"


class TestMistakes:
    def test_each_is_a_sentence(self):
        model = slider().compile()
        state = model.state()
        for options, what in (
            ({"duration": -1.0}, "duration is -1.0 s; it must be positive"),
            ({"tolerance": 0.0}, "tolerance is 0.0"),
            ({"method": "ode45"}, "there is no method 'ode45'"),
            ({"method": "rk4"}, "rk4 takes fixed steps: give step"),
            ({"step": 0.1}, "chooses its steps by tolerance"),
            ({"output": -0.1}, "it takes a spacing"),
            ({"output": [0.0, 5.0]}, "lie within 0 and 1 s"),
            ({"singular": "ignore"}, "singular is 'ignore'"),
            ({"longest": 0.0}, "longest is 0.0"),
            ({"p": [1.0]}, "p has shape"),
        ):
            with pytest.raises(StateError, match=what):
                model.simulate(state, **{"duration": 1.0, **options})
        other = double_pendulum().compile()
        with pytest.raises(StateError, match=r"make one with model.state"):
            model.simulate(other.state(), 1.0)


def test_a_bar_shows_for_long_runs_only(capsys):
    from kempe.simulate.progress import Progress

    with Progress("quick", 0.0, 1.0, True) as bar:
        bar.show(0.5)
    assert capsys.readouterr().err == ""
    with Progress("slow", 0.0, 10.0, True) as bar:
        bar._begun -= 2
        bar.show(2.5)
        bar.show(5.0)
    shown = capsys.readouterr().err
    assert "slow" in shown
    assert "of 10 s" in shown


def two_sliders() -> Mechanism:
    m = Mechanism("sliders", gravity=(0, -GRAVITY, 0))
    for name, height in (("a", 0.0), ("b", 1.0)):
        block = m.box(f"block {name}", (0.1, 0.1, 0.1), 1.0)
        m.prismatic(name, m.ground.at(0, height), block.at(0, 0), axis=(1, 0, 0), actuated=True)
    return m


class TestAtTheSameTime:
    def test_two_walls_met_at_once_both_turn_their_slider_back(self):
        model = two_sliders().compile()

        def turn(number):
            def action(moment):
                moment.v[number] *= -1

            return action

        events = [kp.Event(n, lambda t, q, v, k=k: q[k], 1, turn(k)) for k, n in enumerate("ab")]
        for far in np.random.default_rng(0).uniform(0.1, 0.9, 40):
            start = model.state({"a": -far, "b": -far}, rates={"a": 1.0, "b": 1.0})
            run = model.simulate(start, 1.5, events=events)
            assert sorted(o.name for o in run.occurrences) == ["a", "b"]
            assert run.q.max() < 1e-12

    def test_an_action_does_not_hide_a_stop_at_the_same_place(self):
        model = slider().compile()
        for far in np.random.default_rng(1).uniform(0.1, 0.9, 30):
            events = [
                kp.Event("act", lambda t, q, v, x=far: q[0] - x, action=lambda moment: None),
                kp.Event("stop", lambda t, q, v, x=far: q[0] - x),
            ]
            run = model.simulate(model.state(rates={"rail": 1.0}), 2.0, events=events)
            assert run.outcome.kind == kinds.EVENT
            assert run.t[-1] == pytest.approx(far, abs=1e-12)

    def test_each_of_two_expressions_with_one_zero_happens_once(self):
        model = slider().compile()
        starts = [*np.random.default_rng(2).uniform(0.1, 0.9, 60), 0.13858275854029573]
        for far in starts:
            events = [
                kp.Event("one", lambda t, q, v: q[0], action=lambda moment: None),
                kp.Event("three", lambda t, q, v: 3 * q[0], action=lambda moment: None),
            ]
            run = model.simulate(model.state({"rail": -far}, rates={"rail": 1.0}), 1.0, events=events)
            assert sorted(o.name for o in run.occurrences) == ["one", "three"]

    @pytest.mark.parametrize("method", ["dop853", "rk4"])
    def test_an_event_at_a_jump(self, method):
        """A force that begins just when the slider passes zero."""
        model = slider().compile()
        how = {"step": 0.01} if method == "rk4" else {}
        for when in np.random.default_rng(3).uniform(0.1, 0.9, 40):
            table = kp.Table([0.0, when], [0.0, 2.0], between="hold")
            event = kp.Event("zero", lambda t, q, v: q[0], action="record")
            start = model.state({"rail": -when}, rates={"rail": 1.0})
            run = model.simulate(start, 1.0, torque=table, events=event, method=method, **how)
            assert len(run.occurrences) == 1
            assert run.rate("rail")[-1] == pytest.approx(1 + (1 - when), abs=1e-10)

    def test_an_event_that_leads_back_to_itself_ends_the_run(self):
        """A ball that loses half its speed at every impact comes to rest: impacts without end."""
        model = ball().compile()

        def bounce(moment):
            moment.v[0] *= -0.5

        run = model.simulate(
            model.state({"height": 1.0}), 5.0, events=kp.Event("floor", lambda t, q, v: q[0], -1, bounce)
        )
        assert run.outcome.kind == kinds.EVENT
        assert "floor happens again and again" in str(run.outcome)
        rest = np.sqrt(2 / GRAVITY) * 3  # the fall, and the sum of the bounces
        assert run.t[-1] == pytest.approx(rest, abs=1e-6)
        assert run["height"].min() > -1e-9

    def test_impacts_ever_faster_end_the_run_too(self):
        """A rod that falls against a wall: impacts settle at what the location of events can tell apart."""
        m = kp.Mechanism("rod", gravity=(0, -9.81, 0))
        m.revolute("A", m.ground.at(0, 0), m.rod("rod", 1.0, 1.0).start)
        model = m.compile()

        def bounce(moment):
            moment.v[0] *= -0.5

        wall = kp.Event("wall", lambda t, q, v: -0.5 - q[0], 1, bounce)
        run = model.simulate(model.state(), 1.0, events=wall)
        assert "wall happens again and again" in str(run.outcome)
        assert run["A"][-1] == pytest.approx(-0.5, abs=1e-6)
        assert len(run.occurrences) < 200

    def test_an_expression_that_jumps_is_located_by_halving(self):
        model = slider().compile()
        event = kp.Event("half", lambda t, q, v: ca.if_else(q[0] > 0.5, 1, -1), action="record")
        run = model.simulate(model.state(rates={"rail": 1.0}), 1.0, events=event)
        (found,) = run.occurrences
        assert found.t == pytest.approx(0.5, abs=1e-12)
        assert found.q[0] == pytest.approx(found.t, abs=1e-14)

    def test_a_hundred_events(self):
        model = slider().compile()
        marks = np.linspace(0.01, 0.99, 100)
        events = [kp.Event(f"{x}", lambda t, q, v, x=x: q[0] - x, action="record") for x in marks]
        run = model.simulate(model.state(rates={"rail": 1.0}), 1.0, events=events)
        np.testing.assert_allclose([o.t for o in run.occurrences], marks, atol=1e-12)


class TestActions:
    def test_arrays_may_be_replaced_as_well_as_written_to(self):
        model = slider().compile()
        kept = []

        def turn(moment):
            moment.v = -moment.v
            kept.append(moment.q)

        event = kp.Event("turn", lambda t, q, v: q[0] - 0.25, action=turn)
        run = model.simulate(model.state(rates={"rail": 1.0}), 1.0, events=event)
        assert run["rail"][-1] == pytest.approx(-0.5)
        assert kept[0][0] == pytest.approx(0.25)

    def test_what_does_not_fit_is_refused(self):
        model = slider().compile()

        def break_it(moment):
            moment.q = np.zeros(3)

        with pytest.raises(StateError, match=r"left q with shape \(3,\)"):
            model.simulate(
                model.state(rates={"rail": 1.0}), 1.0, events=kp.Event("x", lambda t, q, v: t - 0.5, action=break_it)
            )

    def test_a_quaternion_an_action_writes_is_brought_to_length_1(self):
        model = floating_body().compile()
        ends = []
        for size in (1.0, 2.0):

            def put(moment, size=size):
                moment.q[:4] = size * np.array([0.5, 0.5, -0.5, 0.5])

            state = model.state(rates={"float": [0.3, 2.0, 0.1, 0, 0, 0]})
            run = model.simulate(state, 1.0, events=kp.Event("x", lambda t, q, v: t - 0.5, action=put), tolerance=1e-11)
            ends.append(run.q[-1])
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


class TestStarts:
    def test_beyond_or_at_a_limit_the_run_ends_where_limits_are_events(self):
        model = slider(limits=(-1.0, 0.5)).compile()
        for x, rate, ends in ((0.6, 0.0, True), (0.5, 1.0, True), (0.5, -1.0, False), (-1.0, -1.0, True)):
            run = model.simulate(model.state({"rail": x}, rates={"rail": rate}), 0.5, limits="events")
            assert (run.outcome.kind == kinds.EVENT) == ends
            assert (run.t[-1] == 0.0) == ends

    def test_numbers_that_fail_at_once_do_not_stall(self):
        model = slider().compile()
        law = kp.Law(lambda t, q, v: ca.sqrt(-q[0]))
        run = model.simulate(model.state(rates={"rail": 1.0}), 1.0, torque=law)
        assert run.outcome.kind in (kinds.NON_FINITE, kinds.STEP_TOO_SMALL)

    def test_a_state_of_another_mechanism_is_refused(self):
        model, other = slider().compile(), pendulum().compile()
        with pytest.raises(StateError, match="the state is one of 'pendulum'"):
            model.simulate(other.state(), 1.0)

    def test_a_dict_by_joint_name_is_a_state(self):
        model = slider().compile()
        assert model.simulate({"rail": 0.3}, 0.1)["rail"][0] == 0.3


class TestStopsAndParameters:
    def arm(self, formulation):
        m = Mechanism("arm", gravity=(0, -GRAVITY, 0))
        upper, lower = m.rod("upper", length=1.0, mass=1.0), m.rod("lower", length=1.0, mass=1.0)
        m.revolute("A", m.ground.at(0, 0), upper.start, limits=(-0.3, 0.3))
        m.revolute("B", upper.end, lower.start, limits=(-0.5, 0.5))
        return m.compile(formulation)

    def test_stops_do_not_depend_on_the_formulation(self):
        runs = [self.arm(f).simulate(duration=0.5, tolerance=1e-10) for f in ("udu", "cholesky")]
        assert np.abs(runs[0].stops).max() > 1
        np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)

    def test_stops_and_health_follow_the_parameters(self):
        m = Mechanism("rod", gravity=(0, -GRAVITY, 0))
        rod = m.rod("rod", length=1.0, mass=2.0)
        m.revolute("A", m.ground.at(0, 0), rod.start, limits=(-0.5, 0.5))
        model = m.compile(parameters=["rod.mass", "rod.length"])
        lows = [model.simulate(duration=2.0, p=p)["A"].min() for p in ([2.0, 1.0], {"rod.mass": 2000.0})]
        np.testing.assert_allclose(lows[0], lows[1], atol=1e-9)  # stiffness goes with the mass
        tiny = model.simulate({"A": 0.1}, 1e-3, p={"rod.length": 5e-6}, limits="ignore")
        assert tiny.outcome.finished


def test_many_small_steps_end_on_time():
    model = slider().compile()
    run = model.simulate(model.state(rates={"rail": 1.0}), 200.0, method="rk4", step=1e-3, output=50.0)
    assert run.statistics.steps == 200_000
    assert run["rail"][-1] == pytest.approx(200.0, abs=1e-8)


def test_output_times_that_make_no_sense():
    model = slider().compile()
    for output in ([np.nan, 0.5], np.inf, "often", [[0.0], [1.0]], 1e-12):
        with pytest.raises(StateError, match="output"):
            model.simulate(model.state(), 1.0, output=output)
    run = model.simulate(model.state(), 1.0, start=-5.0, output=(x for x in (-5.0, -4.5, -4.0)))
    np.testing.assert_allclose(run.t, [-5, -4.5, -4])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda t, q, v: q[0], r"give an event, kp.Event\(name, expression\) or a list"),
        ([3], "not int"),
        (kp.Event("by name", lambda t, q, v: q["A"]), "event 'by name': q and v are vectors .* go by number"),
    ],
)
def test_what_is_no_event_is_refused_in_words(given, said):
    m = kp.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.revolute("A", m.ground.at(0, 0), m.rod("rod", length=0.5, mass=2.0).start)
    with pytest.raises(StateError, match=said):
        m.compile().simulate({}, 0.1, events=given)


def test_a_duration_is_a_number():
    m = kp.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.revolute("A", m.ground.at(0, 0), m.rod("rod", length=0.5, mass=2.0).start)
    with pytest.raises(StateError, match="duration is '5s'; give a number"):
        m.compile().simulate({}, "5s")
