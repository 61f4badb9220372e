"""What rounding does to a program, against exact arithmetic."""

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from kempe.compiler.rounding import rounding
from kempe.compiler.trace import trace

X = np.array([[1 / 3], [0.1], [1e-3]])


def test_digits_that_cancel_are_those_that_exact_arithmetic_misses():
    """Over many numbers, in the median, within a factor of two: which of them are off by how much is chance."""
    x = np.random.default_rng(0).uniform(0.1, 0.5, size=(301, 1))
    for near in (1e-9, 1e-6, 1e-3):
        a, b, c = 1.0 + x, 1.0 - x, (1.0 - x * x) * (1 + near)
        program = trace(lambda a, b, c: (a * b) / 3.0 - c / 3.0, {"a": 1, "b": 1, "c": 1})
        exact = [
            (Fraction(i) * Fraction(j) - Fraction(k)) / 3 for i, j, k in zip(a[:, 0], b[:, 0], c[:, 0], strict=True)
        ]
        off = [abs(Fraction(i) - j) / abs(j) for i, j in zip((a * b / 3 - c / 3)[:, 0], exact, strict=True)]
        assert 0.5 < np.median(rounding(program, a, b, c)) / np.median(np.array(off, dtype=float)) < 2


def test_a_sum_of_products_loses_no_more_than_a_few_units():
    program = trace(lambda x: ca.sin(x) * x + ca.cos(x) / (1 + x * x), {"x": 1})
    assert (rounding(program, X) < 4 * np.finfo(float).eps).all()


def test_the_same_polynomial_written_badly_loses_more():
    """(x - 1)^6 near its zero: as a power, and multiplied out."""
    near = np.array([[1.001], [0.999]])
    power = trace(lambda x: (x - 1) ** 6, {"x": 1})
    out = trace(lambda x: 1 - 6 * x + 15 * x**2 - 20 * x**3 + 15 * x**4 - 6 * x**5 + x**6, {"x": 1})
    assert (rounding(power, near) < 1e-14).all()
    assert (rounding(out, near) > 0.1).all()


@pytest.mark.parametrize("x", [0.0, np.inf])
def test_numbers_that_are_not_finite_are_all_lost(x):
    assert rounding(trace(lambda x: x / (x * x), {"x": 1}), np.array([[x]])) == np.inf
