"""Linearization against closed forms, against differences, and however coordinates and cuts are chosen."""

import numpy as np
import pytest

from kempe.errors import StateError
from kempe.gallery.loops import four_bar, stewart, three_rrr
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.closed import random_closed

DOWN, G = (0.0, -9.81, 0.0), 9.81
H = 1e-5


def pendulum(damping=0.0) -> Model:
    m = Mechanism("pendulum", gravity=DOWN)
    m.revolute("hinge", m.ground.at(0, 0), m.rod("rod", 0.8, 2.0).start, actuated=True, damping=damping)
    return m.compile()


def sprung_four_bar(cut=()) -> Model:
    """A four-bar with a spring from the ground's first pivot to the joint across."""
    m = Mechanism("sprung", gravity=DOWN)
    crank, coupler, rocker = (m.rod(n, x, 5 * x) for n, x in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6)))
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start)
    m.spring("diagonal", m.ground.at(0, 0), coupler.end, stiffness=400.0, length=0.7, damping=3.0)
    return m.compile(cut=cut)


def nearby(model: Model, state: State, w, k, y, yd) -> tuple[np.ndarray, np.ndarray]:
    """The closed state whose independent coordinates are changed by y, and velocities by yd."""
    q = settle_at(model, model.integrate(state.q, w @ y), k)
    jacobian = model.closure(q)[1]
    free = np.setdiff1d(np.arange(model.nv), k)
    v = np.zeros(model.nv)
    v[k] = state.v[k] + yd
    v[free] = np.linalg.lstsq(jacobian[:, free], -jacobian[:, k] @ v[k], rcond=1e-10)[0]
    return q, v


def settle_at(model: Model, q, k) -> np.ndarray:
    """Closed by the dependent coordinates alone."""
    free = np.setdiff1d(np.arange(model.nv), k)
    for _ in range(6):
        phi, jacobian, _ = model.closure(q)
        step = np.zeros(model.nv)
        step[free] = np.linalg.lstsq(jacobian[:, free], -phi, rcond=1e-10)[0]
        q = model.integrate(q, step)
    return q


class TestClosedForms:
    def test_pendulum(self):
        model, inertia = pendulum(damping=0.5), 2.0 * 0.8**2 / 3
        small = model.linearize(model.state({"hinge": -np.pi / 2}))
        np.testing.assert_allclose(small.A, [[0, 1], [-2.0 * G * 0.4 / inertia, -0.5 / inertia]], atol=1e-12)
        np.testing.assert_allclose(small.B, [[0], [1 / inertia]], atol=1e-12)
        np.testing.assert_allclose(small.C, [[1, 0]])
        (mode,) = small.modes
        assert mode.frequency == pytest.approx(np.sqrt(1.5 * G / 0.8) / (2 * np.pi), rel=1e-12)
        assert mode.damping == pytest.approx(0.5 / inertia / (2 * np.sqrt(1.5 * G / 0.8)), rel=1e-12)
        assert mode.controllable
        assert mode.observable

    def test_inverted_pendulum_grows(self):
        model = pendulum()
        small = model.linearize(model.state({"hinge": np.pi / 2}))
        assert small.growth == pytest.approx(np.sqrt(1.5 * G / 0.8), rel=1e-12)

    def test_double_pendulum_of_point_masses(self):
        """omega^2 = (g / l) (2 -+ sqrt 2) for equal masses and lengths."""
        m = Mechanism("double", gravity=DOWN)
        upper, lower = (m.body(n, 1.0, (0.5, 0, 0), np.zeros((3, 3))) for n in ("upper", "lower"))
        m.revolute("A", m.ground.at(0, 0), upper.at(0, 0), actuated=True)
        m.revolute("B", upper.at(0.5, 0), lower.at(0, 0))
        model = m.compile()
        small = model.linearize(model.state({"A": -np.pi / 2}))
        wanted = np.sqrt(G / 0.5 * np.array([2 - np.sqrt(2), 2 + np.sqrt(2)])) / (2 * np.pi)
        np.testing.assert_allclose([mode.frequency for mode in small.modes], wanted, rtol=1e-10)
        shape = small.modes[0].shape  # the lower rod hangs at 1.414 of the upper one's angle
        assert (shape["A"] + shape["B"]) / shape["A"] == pytest.approx(np.sqrt(2), rel=1e-10)

    def test_a_parallelogram_swings_like_a_pendulum(self):
        """Two massless-armed bars of length l carry a coupler that does not turn: omega^2 = g l M / I."""
        m = Mechanism("swing", gravity=DOWN)
        left, right, seat = m.rod("left", 0.5, 1.0), m.rod("right", 0.5, 1.0), m.rod("seat", 0.8, 3.0)
        m.revolute("A", m.ground.at(0, 0), left.start, actuated=True)
        m.revolute("B", left.end, seat.start)
        m.revolute("C", seat.end, right.end)
        m.revolute("D", m.ground.at(0.8, 0), right.start)
        model = m.compile()
        state = model.assemble({"A": -np.pi / 2}, near={"A": -np.pi / 2, "D": -np.pi / 2, "B": np.pi / 2})
        (mode,) = model.linearize(state).modes
        stiffness, inertia = G * (3.0 * 0.5 + 2 * 0.25), 3.0 * 0.25 + 2 * 0.25 / 3
        assert mode.frequency == pytest.approx(np.sqrt(stiffness / inertia) / (2 * np.pi), rel=1e-10)
        assert {name: mode.shape[name] / mode.shape["A"] for name in "BCD"} == pytest.approx(
            {"B": -1.0, "C": 1.0, "D": 1.0}, abs=1e-9
        )

    @pytest.mark.parametrize("loops", [False, True])
    def test_a_spinning_top_precesses_in_its_own_axes(self, loops):
        """A free symmetric body, spinning at w about its axis: in its own axes a wobble turns at (1 - a/t) w and the
        step of its axis, seen from them, at w."""
        m = Mechanism("top", gravity=(0, 0, 0))
        body = m.body("body", 2.0, (0, 0, 0), np.diag([0.3, 0.3, 0.5]))
        m.spherical("ball", m.ground.at(0, 0, 0), body.at(0, 0, 0))
        if loops:  # one more ball at the same point changes nothing
            m.spherical("again", m.ground.at(0, 0, 0), body.at(0, 0, 0))
        model = m.compile()
        small = model.linearize(model.state(rates={"ball": [0, 0, 4.0]}))
        sizes = np.sort(np.abs(small.eigenvalues.imag))
        np.testing.assert_allclose(sizes, [0, 0, 8 / 3, 8 / 3, 4, 4], atol=1e-7)
        assert np.abs(small.eigenvalues.real).max() < 1e-7


class TestDifferences:
    def check(self, model: Model, state: State, tau):
        small = model.linearize(state, tau)
        n = len(small.A) // 2
        k = [model.v_names.index(name) for name in small.states[:n]]

        def rate(y, yd, u):
            q, v = nearby(model, state, small.basis, k, y, yd)
            return model.forward_dynamics(q, v, tau + u, check=False)[k]

        zero, unit = np.zeros(n), np.eye(n) * H
        by_y = np.array([(rate(e, zero, 0) - rate(-e, zero, 0)) / (2 * H) for e in unit]).T
        by_yd = np.array([(rate(zero, e, 0) - rate(zero, -e, 0)) / (2 * H) for e in unit]).T
        by_u = np.array([(rate(zero, zero, e) - rate(zero, zero, -e)) / 2 for e in np.eye(model.nu)]).reshape(-1, n).T
        size = max(1.0, np.abs(small.A).max())
        np.testing.assert_allclose(small.A[n:, :n], by_y, atol=2e-7 * size)
        np.testing.assert_allclose(small.A[n:, n:], by_yd, atol=2e-7 * size)
        np.testing.assert_allclose(small.B[n:], by_u, atol=1e-8 * max(1.0, np.abs(by_u).max(initial=0.0)))

    def test_four_bar_that_moves(self):
        model = sprung_four_bar()
        self.check(model, model.assemble({"A": 1.0}, rates={"A": 3.0}), np.array([2.0]))

    def test_three_rrr_that_moves(self):
        model = three_rrr().compile()
        near = {"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5}
        state = model.assemble({}, near=near, rates={"A1": 1.0, "A2": -0.5, "A3": 0.3})
        self.check(model, state, np.array([2.0, -1.0, 0.5]))

    @pytest.mark.parametrize("seed", [4, 11])
    def test_random_ones(self, seed):
        closed = random_closed(seed, 1 + seed % 3, planar=True, passive=True)
        model = closed.mechanism.compile()
        self.check(model, closed.moving(model, seed), np.zeros(model.nu))

    def test_a_run_beside_another_differs_as_the_transition_matrix_says(self):
        """About an equilibrium: x(t) = exp(A t) x(0), with a spring, a damper and a closed loop."""
        model = sprung_four_bar()
        rest = model.equilibrium({"A": 1.0, "D": 1.5})
        small = rest.linearization
        values, vectors = np.linalg.eig(small.A)
        e, duration = 1e-5, 0.8
        ends = []
        for sign in (1, -1):
            state = model.assemble({"A": rest.state["A"] + sign * e}, near=rest.state)
            run = model.simulate(state, duration, tolerance=1e-12, output=duration)
            ends.append([run["A"][-1], run.rate("A")[-1]])
        wanted = (vectors @ np.diag(np.exp(values * duration)) @ np.linalg.inv(vectors) @ [1.0, 0.0]).real
        np.testing.assert_allclose((np.array(ends[0]) - ends[1]) / (2 * e), wanted, atol=2e-6 * np.abs(small.A).max())


class TestInvariance:
    def test_eigenvalues_are_the_same_whatever_the_coordinates(self):
        model = sprung_four_bar()
        state = model.equilibrium({"A": 1.0, "D": 1.5}).state
        found = [model.linearize(state, coordinates=[name]).eigenvalues for name in ("A", "D")]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-9)

    def test_of_a_platform(self):
        model = three_rrr().compile()
        tau = [3.0, -5.0, 8.0]
        state = model.equilibrium(tau=tau).state
        sets = (None, ["A1", "B1", "C1"], ["A2", "B2", "C1"])
        found = [np.sort(model.linearize(state, tau, coordinates=x).eigenvalues.imag) for x in sets]
        for other in found[1:]:
            np.testing.assert_allclose(found[0], other, rtol=1e-7)

    def test_and_whatever_is_cut(self):
        found = []
        for cut in ((), ("B",), ("D",)):
            model = sprung_four_bar(cut)
            state = model.assemble({"A": 1.0}, branch={"C": -1}, rates={"A": 2.0})
            found.append(model.linearize(state, [1.0], coordinates=["A"]).A)
        for other in found[1:]:
            np.testing.assert_allclose(found[0], other, rtol=1e-8, atol=1e-8)


class TestOutputs:
    def test_against_differences(self):
        model = sprung_four_bar()
        state = model.assemble({"A": 1.0}, rates={"A": 3.0})
        names = ("A", "B", "C", "D", "coupler.x", "coupler.yaw")
        small = model.linearize(state, outputs=[*names, "D'"])
        assert small.outputs == (*names, "D'")
        k = [model.v_names.index(small.states[0])]
        for column, (y, yd) in enumerate((([H], [0.0]), ([0.0], [H]))):
            ends = [
                State(model, *nearby(model, state, small.basis, k, s * np.array(y), s * np.array(yd))) for s in (1, -1)
            ]
            for row, name in enumerate(names):
                rate = (ends[0][name] - ends[1][name]) / (2 * H)
                assert small.C[row, column] == pytest.approx(rate, abs=1e-7)
            assert small.C[-1, column] == pytest.approx((ends[0].rate("D") - ends[1].rate("D")) / (2 * H), abs=1e-6)

    def test_modes_that_no_input_reaches_are_told(self):
        m = Mechanism("two pendulums", gravity=DOWN)
        m.revolute("left", m.ground.at(0, 0), m.rod("a", 1.0, 1.0).start, actuated=True)
        m.revolute("right", m.ground.at(1, 0), m.rod("b", 0.5, 1.0).start)
        model = m.compile()
        small = model.linearize(model.state({"left": -np.pi / 2, "right": -np.pi / 2}))
        assert [(mode.joints, mode.controllable, mode.observable) for mode in small.modes] == [
            (("left",), True, True),
            (("right",), False, False),
        ]
        assert "(no input, no output)" in str(small)

    def test_along_a_run(self):
        model = sprung_four_bar()
        run = model.simulate(model.assemble({"A": 1.0}), 0.5, torque=[2.0])
        small = run.linearize(0.3, outputs="C")
        np.testing.assert_array_equal(small.A, model.linearize(run.at(0.3), [2.0]).A)
        assert "moves, at that moment" in str(small)
        assert small.outputs == ("C",)

    def test_held_joints_are_locked(self):
        model = three_rrr().compile()
        rest = model.equilibrium(hold=["A1", "A2"], near={"A1": 1.0, "A2": 2.5, "B1": -1.5, "B2": -1.5, "B3": -1.5})
        assert len(rest.linearization.A) == 2
        assert rest.linearization.basis[model.v_names.index("A1")] == pytest.approx(0.0, abs=1e-12)

    def test_many_legs(self):
        """Springs of one stiffness k in all legs of a platform: six frequencies, all legs' joints as coordinates."""
        m = stewart()
        for joint in m.joints:
            if joint.name.startswith("P"):
                object.__setattr__(joint, "stiffness", (5e4,))
                object.__setattr__(joint, "rest", (-0.2,))
        model = m.compile()
        rest = model.equilibrium({f"P{k}": -0.2 for k in range(1, 7)} | {"platform.z": 1.0})
        assert rest.stable
        assert len(rest.linearization.modes) == 6
        assert rest.linearization.states[:6] == tuple(f"P{k}" for k in range(1, 7))


class TestWords:
    def test_mistakes_are_named(self):
        model = four_bar().compile()
        state = model.assemble({"A": 1.0}, rates={"A": 1.0})
        for options, words in (
            ({"coordinates": ["A", "D"]}, "do not tell the motion here, which has 1 freedom"),
            ({"coordinates": ["C"]}, "closes a loop"),
            ({"outputs": ["X"]}, "is no joint or freedom"),
            ({"outputs": ["coupler.x'"]}, "where nothing moves"),
            ({"hold": ["A"]}, "is held, and moves"),
        ):
            with pytest.raises(StateError, match=words):
                model.linearize(state, **options)
