"""Power in is the rate of energy, for every tree; each share by a second route."""

import numpy as np
import pytest

from kempe.mechanism.mechanism import Mechanism
from tests.mechanisms import random_tree
from tests.results.runs import cart_run, rows_of, simulated


@pytest.mark.parametrize("seed", range(6))
def test_power_in_is_the_rate_of_energy(seed):
    run = rows_of(random_tree(seed, 5, passive=True, loads=True).compile(), 8, seed)
    power = run.power
    scale = np.abs([power.actuators, power.dampers, power.loads, power.energy_rate]).max()
    assert np.abs(power.imbalance).max() < 1e-11 * scale
    assert (power.dampers <= 0).all()


def test_wrong_accelerations_show():
    run = rows_of(random_tree(1, 4, passive=True, loads=True).compile(), 8)
    wrong = type(run)(run.model, run.t, run.q, run.v, run.a + 0.1, run.u)
    assert np.abs(wrong.power.imbalance).max() > 1e-2


def test_the_rate_of_energy_is_its_difference_over_time():
    run = cart_run(rows=2001, end=1.0)
    e, h = run.energy.total, run.t[1] - run.t[0]
    slope = (e[:-4] - 8 * e[1:-3] + 8 * e[3:-1] - e[4:]) / (12 * h)  # of fourth order
    np.testing.assert_allclose(run.power.energy_rate[2:-2], slope, atol=1e-6 * np.abs(slope).max())


def test_the_work_of_all_power_is_the_change_of_energy():
    run = cart_run(rows=801, end=2.0)
    h = run.t[1] - run.t[0]
    supplied = run.power.supplied
    simpson = h / 3 * (supplied[0] + 4 * supplied[1:-1:2].sum() + 2 * supplied[2:-1:2].sum() + supplied[-1])
    assert simpson == pytest.approx(run.energy.total[-1] - run.energy.total[0], abs=1e-10)


def test_dampers_and_loads_of_a_slider_by_hand():
    m = Mechanism("slider", gravity=(0, 0, 0))
    puck = m.box("puck", (0.1, 0.1, 0.1), 2.0)
    m.prismatic("rail", m.ground.at(0, 0), puck.at(0, 0), axis=(1, 0, 0), damping=0.5)
    m.spring("damper", m.ground.at(-1, 0), puck.at(0, 0), stiffness=4.0, damping=3.0, length=1.0)
    m.wrench("wind", puck.at(0, 0), force=(7.0, 1.0, 0.0))
    model = m.compile()
    run = simulated(model, model.state({"rail": 0.2}, {"rail": -0.4}), np.linspace(0, 1, 11))
    x, v = run["rail"], run.rate("rail")
    np.testing.assert_allclose(run.power.dampers, -3.5 * v**2, rtol=1e-12)
    np.testing.assert_allclose(run.power.loads, 7 * v, rtol=1e-12)
    np.testing.assert_allclose(run.power.actuators, 0.0)
    np.testing.assert_allclose(run.energy.potential, 2.0 * x**2, rtol=1e-10, atol=1e-14)


def test_a_spring_whose_ends_meet_has_finite_power():
    m = Mechanism("pinched", gravity=(0, 0, 0))
    puck = m.box("puck", (0.1, 0.1, 0.1), 2.0)
    m.prismatic("rail", m.ground.at(0, 0), puck.at(0, 0), axis=(1, 0, 0))
    m.spring("spring", m.ground.at(0, 0), puck.at(0, 0), stiffness=4.0, damping=3.0, length=0.3)
    model = m.compile()
    assert model.energy_rate([0.0], [1.0], [0.5]) == pytest.approx(2.0 * 0.5)
    assert model.passive_power([0.0], [1.0]) == (0.0, 0.0)
    by_q, by_v, _ = model.forward_dynamics_derivatives([0.0], [1.0])
    assert np.isfinite(by_q).all()
    assert np.isfinite(by_v).all()


@pytest.mark.parametrize("seed", range(4))
def test_second_derivatives_of_coordinates_by_differences(seed):
    model = random_tree(seed, 5).compile()
    state, a, h = model.random_state(seed), np.random.default_rng(seed).normal(size=model.nv), 1e-5

    def rates(s):
        """dq/dt a moment s later, along a motion with these velocities and accelerations."""
        return model.rates(model.integrate(state.q, s * state.v), state.v + s * a)

    qdot, qddot = model.motion_rates(state.q, state.v, a)
    assert np.array_equal(qdot, model.rates(state.q, state.v))
    np.testing.assert_allclose(qddot, (rates(h) - rates(-h)) / (2 * h), atol=2e-7)


def test_a_closed_run_with_a_motor_a_spring_a_damper_a_load_and_a_stop():
    m = Mechanism("stopped four-bar", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (m.rod(n, x, 5 * x) for n, x in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6)))
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True, limits=(-0.5, 2.0))
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start, damping=0.2)
    m.spring("spring", crank.end, rocker.at(0.2, 0), stiffness=50.0, damping=1.0, length=0.4)
    m.wrench("wind", coupler.at(0.5, 0), force=(1.0, 2.0, 0.0))
    model = m.compile()
    run = model.simulate(model.assemble({"A": 1.0}), 1.5, torque=[15.0], output=0.002)
    power = run.power
    parts = power.actuators, power.dampers, power.loads, power.stops
    assert min(np.abs(part).max() for part in parts) > 0.1
    assert np.abs(power.imbalance).max() < 1e-12 * np.abs(parts).max()
