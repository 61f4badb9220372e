"""Tables of Runge-Kutta methods: their order conditions, and the conditions of their dense output."""

import numpy as np
import pytest

from kempe.integrate.tables import METHODS

ORDERS = {"dop853": (8, 7), "dopri5": (5, 4), "rk4": (4, 3), "radau": (5, 3)}  # of the step, and of the dense output


@pytest.mark.parametrize("name", ORDERS)
def test_rows_sum_to_their_times(name):
    method = METHODS[name]
    np.testing.assert_allclose(method.a.sum(axis=1), method.c, atol=2e-15)


@pytest.mark.parametrize("name", ORDERS)
def test_quadrature_conditions_up_to_the_order(name):
    method = METHODS[name]
    b, c = method.a[method.slopes - 1, :-1], method.c[:-1]
    for power in range(ORDERS[name][0]):
        assert b @ c**power == pytest.approx(1 / (power + 1), abs=1e-14)
    assert b @ c ** ORDERS[name][0] != pytest.approx(1 / (ORDERS[name][0] + 1), abs=1e-9)


@pytest.mark.parametrize("name", ORDERS)
def test_conditions_with_two_factors_up_to_order_four(name):
    method = METHODS[name]
    stages = method.slopes - 1
    a, b, c = method.a[:stages, :stages], method.a[stages, :stages], method.c[:stages]
    assert b @ (a @ c) == pytest.approx(1 / 6, abs=1e-14)
    assert b @ (c * (a @ c)) == pytest.approx(1 / 8, abs=1e-14)
    assert b @ (a @ c**2) == pytest.approx(1 / 12, abs=1e-14)
    assert b @ (a @ (a @ c)) == pytest.approx(1 / 24, abs=1e-14)


@pytest.mark.parametrize("name", ORDERS)
def test_dense_output_meets_both_ends_and_its_order(name):
    method = METHODS[name]
    stages = method.slopes - 1
    np.testing.assert_allclose(method.dense.sum(axis=1)[:stages], method.a[stages, :stages], atol=1e-12)
    for theta in (0.2, 0.5, 0.9):
        weights = method.dense @ theta ** np.arange(1, method.dense.shape[1] + 1)
        for power in range(ORDERS[name][1]):
            assert weights @ method.c**power == pytest.approx(theta ** (power + 1) / (power + 1), abs=1e-12)


@pytest.mark.parametrize("name", ["dop853", "dopri5"])
def test_error_estimates_vanish_for_constant_slopes(name):
    np.testing.assert_allclose(METHODS[name].errors.sum(axis=1), 0, atol=1e-15)
