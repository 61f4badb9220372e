"""Benchmarks of others: the squeezer by its published formulas and numbers, a row of four-bars where it lies flat."""

import numpy as np
import pytest

from kempe.gallery.benchmarks import (
    SQUEEZER_START,
    andrews_squeezer,
    n_four_bar,
    parallel_bars,
    squeezer_angles,
    squeezer_state,
)

# The published state at t = 0.03.
LATER = (15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
         0.5347301163226948, 1.048080741042263)  # fmt: skip
LATER_RATES = (1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808,
               -19.29337464421385, 0.3231791658026955)  # fmt: skip

D, DA, E, EA, RR, RA = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092
SS, SA, SB, SC, SD, TA, TB = 0.035, 0.01874, 0.01043, 0.018, 0.02, 0.02308, 0.00916
U, UA, UB, ZF, ZT, FA = 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
MASSES = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
INERTIAS = 2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5


def published_mass_matrix(angles):
    _, theta, _, phi, _, omega, _ = angles
    m1, m2, m3, m4, m5, m6, m7 = MASSES
    i1, i2, i3, i4, i5, i6, i7 = INERTIAS
    m = np.zeros((7, 7))
    m[0, 0] = m1 * RA**2 + m2 * (RR**2 - 2 * DA * RR * np.cos(theta) + DA**2) + i1 + i2
    m[1, 0] = m[0, 1] = m2 * (DA**2 - DA * RR * np.cos(theta)) + i2
    m[1, 1] = m2 * DA**2 + i2
    m[2, 2] = m3 * (SA**2 + SB**2) + i3
    m[3, 3] = m4 * (E - EA) ** 2 + i4
    m[3, 4] = m[4, 3] = m4 * ((E - EA) ** 2 + ZT * (E - EA) * np.sin(phi)) + i4
    m[4, 4] = m4 * (ZT**2 + 2 * ZT * (E - EA) * np.sin(phi) + (E - EA) ** 2) + m5 * (TA**2 + TB**2) + i4 + i5
    m[5, 5] = m6 * (ZF - FA) ** 2 + i6
    m[5, 6] = m[6, 5] = m6 * ((ZF - FA) ** 2 - U * (ZF - FA) * np.sin(omega)) + i6
    m[6, 6] = m6 * ((ZF - FA) ** 2 - 2 * U * (ZF - FA) * np.sin(omega) + U**2) + m7 * (UA**2 + UB**2) + i6 + i7
    return m


def published_closure(angles):
    beta, theta, gamma, phi, delta, omega, epsilon = angles
    x = RR * np.cos(beta) - D * np.cos(beta + theta)
    y = RR * np.sin(beta) - D * np.sin(beta + theta)
    return np.array([
        x - SS * np.sin(gamma) + 0.03635,
        y + SS * np.cos(gamma) - 0.03273,
        x - E * np.sin(phi + delta) - ZT * np.cos(delta) + 0.06934,
        y + E * np.cos(phi + delta) - ZT * np.sin(delta) + 0.00227,
        x - ZF * np.cos(omega + epsilon) - U * np.sin(epsilon) + 0.06934,
        y - ZF * np.sin(omega + epsilon) + U * np.cos(epsilon) + 0.00227,
    ])  # fmt: skip


def published_spring(gamma):
    """Energy: half of c0 times the square of what it is longer than l0."""
    x = SD * np.cos(gamma) + SC * np.sin(gamma) - 0.03635
    y = SD * np.sin(gamma) - SC * np.cos(gamma) + 0.03273
    return 4530 / 2 * (np.hypot(x - 0.014, y - 0.072) - 0.07785) ** 2


@pytest.fixture(scope="module")
def model():
    return andrews_squeezer().compile()


class TestSqueezer:
    def test_its_hinges_have_the_published_angles(self, model):
        """The tree is made of those seven, and the published start closes its loops as it stands."""
        assert sorted(model.q_names) == sorted(SQUEEZER_START)
        assert np.abs(model.residual(model.state(SQUEEZER_START).q)).max() < 1e-14

    def test_states_come_from_angles_and_give_them_back(self, model):
        """The published rates keep loops closed to 2e-8 of themselves."""
        start = squeezer_state(model, SQUEEZER_START.values())
        np.testing.assert_allclose(squeezer_angles(start)[0], list(SQUEEZER_START.values()), atol=1e-14)
        later = squeezer_state(model, LATER, LATER_RATES)
        angles, rates = squeezer_angles(later)
        np.testing.assert_allclose(angles, LATER, atol=1e-10)
        np.testing.assert_allclose(rates, LATER_RATES, rtol=3e-8)

    @pytest.mark.parametrize("seed", range(5))
    def test_closure_and_energies_are_the_published_ones(self, model, seed):
        rng = np.random.default_rng(seed)
        beta, rate = rng.uniform(-np.pi, np.pi), rng.normal() * 100
        state = model.assemble({"beta": beta}, near=SQUEEZER_START, rates={"beta": rate})
        angles, rates = squeezer_angles(state)
        assert np.abs(published_closure(angles)).max() < 1e-14
        kinetic, potential = model.energy(state.q, state.v)
        assert kinetic == pytest.approx(0.5 * rates @ published_mass_matrix(angles) @ rates, rel=1e-12)
        assert potential == pytest.approx(published_spring(angles[2]), rel=1e-10)

    def test_the_mass_matrix_of_the_tree_is_the_published_one(self, model):
        """For any angles, closed or not."""
        rng = np.random.default_rng(0)
        angles, rates = rng.uniform(-np.pi, np.pi, 7), rng.normal(size=7)
        state = model.state(
            dict(zip(SQUEEZER_START, angles, strict=True)), dict(zip(SQUEEZER_START, rates, strict=True))
        )
        expected = 0.5 * rates @ published_mass_matrix(angles) @ rates
        assert model.energy(state.q, state.v)[0] == pytest.approx(expected, rel=1e-12)

    def test_the_run_is_the_published_one(self, runs):
        run = runs["andrews-squeezer"]
        angles, rates = squeezer_angles(run.at(0.03))
        np.testing.assert_allclose(angles, LATER, atol=1e-7)
        np.testing.assert_allclose(rates, LATER_RATES, rtol=1e-6)
        angles = np.stack([run[name] for name in SQUEEZER_START])
        assert np.abs(published_closure(angles)).max() < 1e-14
        np.testing.assert_allclose(run["Phi"], -run["Omega"], atol=1e-12)


class TestRowOfFourBars:
    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_it_gains_a_freedom_for_each_four_bar_where_it_lies_flat(self, count):
        model = n_four_bar(count).compile()
        assert model.dof == 1
        for angle, freedom in ((0.0, count + 1), (1.0, 1), (np.pi / 2, 1), (np.pi, count + 1)):
            state = parallel_bars(model, angle)
            rank = np.linalg.matrix_rank(model.closure(state.q)[1], tol=1e-8)
            assert model.nv - rank == freedom

    def test_uprights_stay_parallel_and_couplers_level(self, runs):
        run = runs["n-four-bar"]
        for name in ("foot1", "foot2"):
            np.testing.assert_allclose(run[name], run["foot0"], atol=1e-9)
        for name in ("left0", "left1"):
            np.testing.assert_allclose(run[name], -run["foot0"], atol=1e-9)

    def test_it_goes_through_the_singular_pose_and_keeps_its_energy(self, runs):
        run = runs["n-four-bar"]
        assert run["foot0"][-1] - run["foot0"][0] > 10 * np.pi  # ten times through, at least
        assert np.ptp(run.energy.total) < 1e-7 * run.energy.kinetic.max()

    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_its_energy_is_that_of_one_upright_and_what_it_carries(self, count):
        """count + 1 rods about their ends, and count couplers that do not turn."""
        model = n_four_bar(count).compile()
        state = parallel_bars(model, 1.0, rate=2.0)
        kinetic, potential = model.energy(state.q, state.v)
        assert kinetic == pytest.approx(0.5 * ((count + 1) / 3 + count) * 4.0, rel=1e-12)
        assert potential == pytest.approx(9.81 * ((count + 1) / 2 + count) * np.sin(1.0), rel=1e-12)
