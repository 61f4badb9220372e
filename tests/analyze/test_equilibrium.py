"""Equilibria against closed forms and energies at their least; stability; words where there is none."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kempe.errors import StateError
from kempe.gallery.excavator import excavator
from kempe.gallery.loops import five_bar, four_bar, slider_crank, three_rrr
from kempe.loops.kinematics import settle
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

DOWN, G = (0.0, -9.81, 0.0), 9.81


def at_rest(model: Model, found, tau=None) -> None:
    """Closed, and without accelerations."""
    q, v = found.state.q, found.state.v
    assert np.abs(v).max() == 0
    assert np.abs(model.residual(q)).max(initial=0.0) < 1e-12
    assert np.abs(model.forward_dynamics(q, v, tau)).max() < 1e-8


def least_energy(model: Model, names, start, near) -> np.ndarray:
    """The values of joints at which the potential energy of closed states is least, by SciPy without derivatives."""

    def potential(x):
        q, _, _ = model.close(dict(zip(names, x, strict=True)), near=near)
        return model.energy(q, np.zeros(model.nv))[1]

    return minimize(potential, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).x


class TestTrees:
    def model(self) -> Model:
        m = Mechanism("double pendulum", gravity=DOWN)
        upper, lower = m.rod("upper", 1.0, 2.0), m.rod("lower", 0.7, 1.0)
        m.revolute("A", m.ground.at(0, 0), upper.start, actuated=True)
        m.revolute("B", upper.end, lower.start)
        return m.compile()

    def test_hangs_down(self):
        model = self.model()
        found = model.equilibrium()
        assert found.stable
        assert found.state["A"] == pytest.approx(-np.pi / 2, abs=1e-12)
        assert found.state["B"] == pytest.approx(0.0, abs=1e-12)

    def test_falls_from_where_it_stands_upside_down(self):
        model = self.model()
        found = model.equilibrium({"A": np.pi / 2})
        assert found.stable
        assert np.sin(found.state["A"]) == pytest.approx(-1)

    def test_stands_where_any_kind_will_do(self):
        found = self.model().equilibrium({"A": np.pi / 2 - 0.1, "B": 0.15}, stable=False)
        assert found.kind == "unstable"
        assert found.state["A"] == pytest.approx(np.pi / 2, abs=1e-10)
        assert "small motions grow" in str(found)

    def test_efforts_hold_it_up(self):
        model, torque = self.model(), 8.0
        found = model.equilibrium(tau={"A": torque})
        at_rest(model, found, [torque])
        # Lever of all weight about A, the lower rod hanging down.
        assert np.cos(found.state["A"]) * G * (2.0 * 0.5 + 1.0) == pytest.approx(torque, rel=1e-10)

    def test_held_joints_say_what_it_takes(self):
        model = self.model()
        for found in (model.equilibrium(hold={"A": 0.3}), model.equilibrium({"A": 0.3}, hold=["A"])):
            assert found.state["A"] == 0.3
            assert found.efforts == pytest.approx({"A": np.cos(0.3) * G * 2.0}, rel=1e-10)
            tau = model.inverse_dynamics(found.state.q, found.state.v, np.zeros(2))
            assert tau == pytest.approx([found.efforts["A"]], rel=1e-10)
            assert "held by 18.7437 at A" in str(found)

    def test_a_ball_and_a_free_body_on_springs(self):
        m = Mechanism("hung", gravity=(0, 0, -9.81))
        arm, load = m.rod("arm", 0.5, 1.0, radius=0.02), m.box("load", (0.1, 0.1, 0.1), 2.0)
        m.spherical("ball", m.ground.at(0, 0, 0), arm.start)
        m.free("float", m.ground.at(0, 0, 0), load.at(0, 0, 0))
        m.spring("hook", m.ground.at(1, 0, 0), load.at(0, 0, 0.05), stiffness=100.0, length=0.3, damping=1.0)
        model = m.compile()
        found = model.equilibrium({"float": [1, 0, 0, 0, 1, 0.1, -0.5]})
        end = model.pose(arm.end, found.state.q)[1]
        np.testing.assert_allclose(end, [0, 0, -0.5], atol=1e-9)
        np.testing.assert_allclose(model.pose(load, found.state.q)[1], [1, 0, -0.35 - 2 * G / 100], atol=1e-9)
        assert found.kind == "indifferent"  # the arm and the load turn about the vertical

    def test_indifferent_without_any_force(self):
        m = Mechanism("arm", gravity=(0, 0, 0))
        m.revolute("A", m.ground.at(0, 0), m.rod("a", 1.0, 1.0).start)
        assert m.compile().equilibrium({"A": 0.4}).kind == "indifferent"

    def test_a_force_that_follows_has_no_energy(self):
        """A push across the tip of a hinged bar on a spring: k angle = F l."""
        m = Mechanism("pushed", gravity=(0, 0, 0))
        bar = m.rod("bar", 0.5, 1.0)
        m.revolute("A", m.ground.at(0, 0), bar.start, stiffness=3.0)
        m.wrench("thrust", bar.at(0.5, 0), force=(0, 4.0, 0), follows=True)
        found = m.compile().equilibrium()
        assert found.state["A"] == pytest.approx(4 * 0.5 / 3, rel=1e-12)
        assert found.stable


class TestLoops:
    def test_slider_crank_hangs_with_its_crank_down(self):
        model = slider_crank().compile()
        found = model.equilibrium()
        at_rest(model, found)
        assert found.stable
        assert np.sin(found.state["A"]) == pytest.approx(-1)

    @pytest.mark.parametrize("make", [four_bar, five_bar, three_rrr])
    def test_of_gravity_alone_the_energy_is_least(self, make):
        model = make().compile()
        found = model.equilibrium()
        at_rest(model, found)
        assert found.stable
        lowest = model.energy(found.state.q, found.state.v)[1]
        rng, basis = np.random.default_rng(0), found.linearization.basis
        for _ in range(20):
            step = basis @ rng.normal(size=basis.shape[1])
            q, _ = settle(model, model.integrate(found.state.q, 0.02 * step), found.state.v)
            assert model.energy(q, found.state.v)[1] > lowest

    def test_four_bar_on_a_spring_is_where_scipy_finds_least_energy(self):
        m = four_bar()
        crank, rocker = m.bodies[0], m.bodies[2]
        m.spring("diagonal", crank.end, rocker.at(0.2, 0), stiffness=300.0, length=0.4)
        model = m.compile()
        found = model.equilibrium({"A": 1.0, "D": 1.5})
        at_rest(model, found)
        np.testing.assert_allclose(
            least_energy(model, ["A"], [found.state["A"] + 0.1], found.state), found.state["A"], atol=1e-6
        )

    def test_five_bar_on_springs(self):
        m = five_bar()
        m.spring("lift", m.ground.at(0.3, 1.2), m.bodies[0].end, stiffness=150.0, length=0.2)
        m.spring("brace", m.ground.at(0.8, 1.5), m.bodies[2].end, stiffness=80.0, length=0.1)
        model = m.compile()
        found = model.equilibrium({"left": 1.0, "right": 1.0})
        at_rest(model, found)
        start = [found.state["left"] + 0.05, found.state["right"] - 0.05]
        wanted = [found.state["left"], found.state["right"]]
        np.testing.assert_allclose(least_energy(model, ["left", "right"], start, found.state), wanted, atol=2e-6)

    def test_an_excavator_on_springy_cylinders(self):
        m = excavator()
        for joint in m.joints:
            if joint.name.endswith("cylinder"):
                low, high = joint.limits[0]
                object.__setattr__(joint, "stiffness", (3e6,))
                object.__setattr__(joint, "rest", (0.5 * (low + high),))
        model = m.compile()
        found = model.equilibrium()
        at_rest(model, found)
        assert found.stable
        names = list(model.u_names)
        values = np.array([found.state[n] for n in names])
        np.testing.assert_allclose(least_energy(model, names, values + 0.002, found.state), values, atol=1e-6)
        # What springs push with is what inverse dynamics asks of cylinders without them.
        bare = excavator().compile()
        tau = bare.inverse_dynamics(found.state.q, found.state.v, np.zeros(bare.nv))
        rests = np.array([j.rest[0] for n in names for j in m.joints if j.name == n])
        np.testing.assert_allclose(tau, -3e6 * (values - rests), rtol=1e-8)

    def test_held_motors_take_what_inverse_dynamics_says(self):
        model = three_rrr().compile()
        state = model.assemble({}, near={"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5})
        found = model.equilibrium(state, hold=["A1", "A2", "A3"])
        np.testing.assert_array_equal(found.state.q, state.q)
        tau = model.inverse_dynamics(state.q, state.v, np.zeros(model.nv))
        np.testing.assert_allclose(list(found.efforts.values()), tau, rtol=1e-9)
        assert model.equilibrium(state, tau=tau, stable=False).state["A1"] == pytest.approx(state["A1"], abs=1e-9)

    def test_frequency_is_that_of_a_small_swing(self):
        model = four_bar().compile()
        found = model.equilibrium({"A": -2.0, "D": 2.3})
        (mode,) = found.linearization.modes
        period = 1 / mode.frequency
        start = model.assemble({"A": found.state["A"] + 1e-4}, near=found.state)
        run = model.simulate(start, period, tolerance=1e-11, output=period)
        assert run["A"][-1] - found.state["A"] == pytest.approx(1e-4, rel=1e-4)

    def test_with_parameters(self):
        model = four_bar().compile(parameters=["coupler.mass"])
        light, heavy = (model.equilibrium({"A": -2.0, "D": 2.3}, p=[x]) for x in (1.0, 20.0))
        assert abs(light.state["A"] - heavy.state["A"]) > 0.01
        rates = model.forward_dynamics(heavy.state.q, heavy.state.v, p=[20.0])
        assert np.abs(rates).max() < 1e-8


class TestWords:
    def test_what_keeps_moving_is_named(self):
        m = Mechanism("rail", gravity=(1.0, 0, 0))
        m.prismatic("rail", m.ground.at(0, 0), m.box("cart", (0.1,) * 3, 1.0).at(0, 0), axis=(1, 0, 0), actuated=True)
        model = m.compile()
        with pytest.raises(StateError, match="none was found: rail keeps moving"):
            model.equilibrium()
        assert model.equilibrium(tau=-1.0).kind == "indifferent"

    def test_limits(self):
        m = Mechanism("stopped", gravity=DOWN)
        m.revolute("A", m.ground.at(0, 0), m.rod("a", 1.0, 1.0).start, limits=(-1.0, 1.0))
        with pytest.raises(StateError, match=r"beyond limits of joints, as at A = -1.571 \(limits -1 to 1\)"):
            m.compile().equilibrium()

    def test_only_saddles(self):
        """A bar held upright by nothing, its fall stopped by limits."""
        m = Mechanism("upright", gravity=DOWN)
        m.revolute("A", m.ground.at(0, 0), m.rod("a", 1.0, 1.0).start, limits=(0.5, 2.5))
        model = m.compile()
        with pytest.raises(StateError, match="only unstable ones were found"):
            model.equilibrium({"A": np.pi / 2})
        assert model.equilibrium({"A": np.pi / 2}, stable=False).kind == "unstable"

    def test_hold(self):
        model = four_bar().compile()
        with pytest.raises(StateError, match="hold: some of these joints follow from the others"):
            model.equilibrium(model.assemble({"A": 1.0}), hold=["A", "D"])
        with pytest.raises(StateError, match="closes a loop"):
            model.equilibrium(hold=["C"])
