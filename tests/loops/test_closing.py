"""Closing in compiled code: against assembly and motions, for many states, and where it must give up."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed, StateError
from kempe.gallery.entries import ENTRIES
from kempe.gallery.excavator import LENGTHS, excavator
from kempe.gallery.loops import stewart
from kempe.spatial.solving import Elimination
from tests.analyze.mechanisms import four_bar
from tests.direct import prepare


def test_elimination_in_a_good_order_is_numpys_solution():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 6)) + 4 * np.eye(6), rng.normal(size=6)
    np.testing.assert_allclose(Elimination(a).solve(b), np.linalg.solve(a, b), rtol=1e-12)


class TestFourBar:
    def setup_method(self):
        self.model = four_bar().compile()
        self.state = self.model.assemble({"A": 1.0}, near={"D": 1.4})

    def test_it_is_the_motion(self):
        motion = kp.motions.cycloidal({"A": (1.0, 2.5)}, duration=1.0)
        run = self.model.motion(motion, start=self.state, output=0.01)
        closer = self.model.closer(["A"], self.state)
        q = self.state.q
        for k, t in enumerate(run.t):
            q, v, a, left = closer(q, *(x for x in motion.at(t)))
            assert left < 1e-13
            np.testing.assert_allclose(q, run.q[k], atol=1e-12)
            np.testing.assert_allclose(v, run.v[k], atol=1e-11)
            np.testing.assert_allclose(a, run.a[k], atol=1e-9)

    def test_by_name_through_a_whole_turn_pivots_are_chosen_anew_where_they_must(self):
        state = self.state
        for angle in np.linspace(1.0, 1.0 + 2 * np.pi, 200):
            q, v, a = self.model.close({"A": angle}, near=state, rates={"A": 1.0}, accelerations={"A": 0.3})
            state = kp.State(self.model, q, v)
            assert np.abs(self.model.residual(q)).max() < 1e-10
            assert np.abs(self.model.closure(q)[1] @ a - self.model.loop_bias(q, v)).max() < 1e-8
        assert state["D"] == pytest.approx(self.state["D"], abs=1e-9)

    def test_many_states_at_once(self):
        closer = self.model.closer(["A"], self.state)
        angles = np.linspace(0.9, 1.1, 37)[:, None]
        q, _, a, left = closer(self.state.q, angles, np.ones((37, 1)), np.zeros((37, 1)))
        assert left.max() < 1e-12
        for k in (0, 17, 36):
            alone = closer(self.state.q, angles[k], np.ones(1), np.zeros(1))
            np.testing.assert_array_equal(q[k], alone[0])
            np.testing.assert_array_equal(a[k], alone[2])

    def test_what_it_cannot_do_is_said(self):
        with pytest.raises(NotClosed, match="too far from the state nearby, or out of reach"):
            self.model.close({"D": 0.0}, near=self.state)
        with pytest.raises(StateError, match="names one coordinate twice"):
            self.model.closer(["A", "A"], self.state)
        with pytest.raises(StateError, match="no joint 'X', and no place of a body"):
            self.model.closer(["X"], self.state)
        with pytest.raises(StateError, match="1 freedoms are left"):
            self.model.closer([], self.state)


def test_the_stewart_platform_from_its_leg_lengths():
    model = stewart().compile()
    names = [f"P{k}" for k in range(1, 7)]
    state = model.assemble(dict.fromkeys(names, -0.2))
    lengths = {name: state[name] + 0.01 * (-1) ** k for k, name in enumerate(names)}
    rates = {name: 0.1 * k for k, name in enumerate(names)}
    q, v, a = model.close(lengths, near=state, rates=rates)
    same = model.assemble(lengths, near=state, rates=rates)
    np.testing.assert_allclose(q, same.q, atol=1e-12)
    np.testing.assert_allclose(v, same.v, atol=1e-10)
    step = 1e-5
    later = model.close({n: x + rates[n] * step for n, x in lengths.items()}, near=state, rates=rates)[1]
    np.testing.assert_allclose((later - v) / step, a, atol=1e-3 * (1 + np.abs(a).max()))


def test_the_excavator_from_its_cylinders():
    model = excavator().compile()
    hinges = {"boom hinge": 0.3, "stick hinge": -1.2, "bucket hinge": -0.8}
    state = model.assemble(hinges, branch={"link pin": -1})
    lengths = {name: state[name] + 0.02 for name in LENGTHS}
    q, _, _ = model.close(lengths, near=state)
    np.testing.assert_allclose(q, model.assemble(lengths, near=state).q, atol=1e-10)


def test_where_every_coordinate_is_given_nothing_is_left_to_solve():
    """Two hinges in line: the second holds what the first holds already."""
    m = kp.Mechanism("door", gravity=(0, -1, -9.81))
    door = m.box("door", (0.8, 0.04, 2.0), 20.0)
    m.revolute("low", m.ground.at(0, 0, 0), door.at(-0.4, 0, -0.7), axis=(0, 0, 1))
    m.revolute("high", m.ground.at(0, 0, 1.4), door.at(-0.4, 0, 0.7), axis=(0, 0, 1))
    model = m.compile()
    q, v, a, left = model.closer(["low"], model.assemble({"low": 0.3}))([0.3], [0.5], [2.0], [3.0])
    assert (q, v, a) == (0.5, 2.0, 3.0)
    assert left < 1e-16


def test_loops_that_do_not_move_beside_one_that_does():
    """A four-bar and a truss on one ground: velocities of the truss are zero by structure."""
    m = four_bar()
    bars = [m.rod(f"bar{k}", 0.5, 1.0) for k in range(2)]
    for k, bar in enumerate(bars):
        m.revolute(f"foot{k}", m.ground.at(2 + 0.6 * k, 0), bar.start)
    m.revolute("top", bars[0].end, bars[1].end)
    model = m.compile()
    state = model.assemble({"A": 1.0}, near={"D": 1.4, "foot0": 0.9, "foot1": 2.2})
    q, v, a = model.close({"A": 1.1}, near=state, rates={"A": 2.0})
    assert np.abs(model.residual(q)).max() < 1e-13
    rest = [model.joint(f"foot{k}").v.start for k in range(2)]
    np.testing.assert_allclose(q[rest], [np.arccos(0.6), np.pi - np.arccos(0.6)], atol=1e-13)
    assert not v[rest].any()
    assert not a[rest].any()
    alone = four_bar().compile()
    own = alone.close({"A": 1.1}, near=alone.assemble({"A": 1.0}, near={"D": 1.4}), rates={"A": 2.0})
    for all_of_it, part in zip((q, v, a), own, strict=True):
        np.testing.assert_allclose(np.delete(all_of_it, rest), part, atol=1e-12)


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "stewart"])
def test_a_closed_state_that_is_given_needs_no_samples(name):
    """As where the equations are hard to close from anywhere but there."""
    entry = ENTRIES[name]
    usual, other = entry.build().compile(), entry.build().compile()
    prepare(other, samples=NotClosed("none was found"))
    run = entry.run(usual, 0.2)
    for q, v in zip(run.q, run.v, strict=True):
        tau = np.linspace(-1.0, 1.0, usual.nu)
        wanted = usual.forward_dynamics(q, v, tau)
        np.testing.assert_allclose(other.forward_dynamics(q, v, tau), wanted, atol=1e-10 * np.abs(wanted).max())
