"""Tables over time: against SciPy, against themselves cut finer, and where they jump."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, make_smoothing_spline

from kempe.control.piecewise import Piecewise
from kempe.errors import MotionError

TIMES = np.array([0.0, 0.3, 1.0, 1.1, 2.5])
VALUES = np.array([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0], [0.5, 2.0], [-1.0, 2.0]])
WITHIN = np.linspace(0.0, 2.5, 301)


@st.composite
def tables(draw, degree=3, columns=2):
    pieces = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    breaks = rng.uniform(-1, 1) + np.cumsum(rng.uniform(0.1, 1.0, pieces + 1))
    return Piecewise(breaks, rng.normal(size=(pieces, degree + 1, columns)))


def test_hold_keeps_each_value_until_the_next():
    table = Piecewise.hold([0.0, 1.0, 3.0], [5.0, 6.0, 7.0])
    assert np.array_equal(table([-1, 0, 0.99, 1, 2.9, 3, 99])[:, 0], [5, 5, 5, 6, 6, 7, 7])
    assert np.array_equal(table.jumps, [1.0, 3.0])
    assert np.isnan(table(np.nan)).all()
    assert table(0.5).shape == (1,)


def test_linear_is_interpolation_held_at_the_ends():
    table = Piecewise.linear(TIMES, VALUES)
    t = np.linspace(-1, 4, 200)
    want = np.column_stack([np.interp(t, TIMES, column) for column in VALUES.T])
    assert np.allclose(table(t), want, atol=1e-14)
    assert np.array_equal(table.jumps, TIMES)
    straight = Piecewise.linear([0, 1, 2], [0, 2, 4])
    assert np.array_equal(straight.jumps, [0, 2])


@pytest.mark.parametrize(
    ("ends", "scipy"), [("free", "not-a-knot"), ("rest", "clamped"), ("natural", "natural"), ("periodic", "periodic")]
)
def test_cubic_is_scipys_spline(ends, scipy):
    values = np.vstack([VALUES[:-1], VALUES[:1]])
    table, want = Piecewise.cubic(TIMES, values, ends), CubicSpline(TIMES, values, bc_type=scipy)
    assert np.allclose(table(WITHIN), want(WITHIN), atol=1e-13)
    rates = table.derivative()
    assert np.allclose(rates(WITHIN), want(WITHIN, 1), atol=1e-12)
    assert np.allclose(rates.derivative()(WITHIN), want(WITHIN, 2), atol=1e-11)
    assert set(table.jumps) <= {0.0, 2.5}
    assert set(table.corners(2)) <= {0.0, 2.5}
    assert not table.jumps.size or ends != "rest"


def test_smooth_is_scipys_smoothing_spline():
    t = np.linspace(0, 3, 60)
    y = np.column_stack([np.sin(t), t**2]) + np.random.default_rng(1).normal(scale=0.01, size=(60, 2))
    table = Piecewise.smooth(t, y, 1e-2)
    for k in range(2):
        want = make_smoothing_spline(t, y[:, k], lam=1e-2)
        assert np.allclose(table(WITHIN)[:, k], want(WITHIN), atol=1e-12)
    assert set(table.corners(2)) <= {0.0, 3.0}


@given(tables(degree=3), tables(degree=5, columns=1))
def test_side_by_side_is_each_alone(a, b):
    both = Piecewise.beside(a, b)
    t = np.linspace(-3, 8, 400)
    t = t[~np.isin(t, [a.breaks[-1], b.breaks[-1]])]
    scale = 1 + np.abs(np.column_stack([a(t), b(t)])).max()
    assert np.allclose(both(t), np.column_stack([a(t), b(t)]), atol=1e-12 * scale)
    assert both.degree == 5


@given(tables(), tables(), st.floats(0, 2))
def test_one_then_the_other_with_a_gap(a, b, gap):
    late = b.shifted(a.breaks[-1] - b.breaks[0] + gap)
    both = a.then(late)
    before, after = np.linspace(a.breaks[0] - 1, a.breaks[-1], 50)[:-1], np.linspace(*late.breaks[[0, -1]], 50)
    assert np.allclose(both(before), a(before))
    assert np.allclose(both(after), late(after), atol=1e-9)
    if gap > 1e-3:
        assert np.allclose(both(a.breaks[-1] + gap / 2), a(a.breaks[-1]))


@given(tables())
def test_random_pieces_jump_at_every_break(table):
    assert np.array_equal(table.jumps, table.breaks)
    assert np.array_equal(table.chosen([1]).coefficients, table.coefficients[:, :, 1:])


def test_a_short_piece_hides_no_jump():
    corner = Piecewise.linear([0.0, 1.0, 1.0 + 1e-12, 2.0], [0.0, 1.0, 1.0, 0.0])
    assert np.array_equal(corner.jumps, corner.breaks)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Piecewise.linear([0, 1, 1], [1, 2, 3]), "times must increase, but number 2, 1, follows 1"),
        (lambda: Piecewise.linear([0, np.nan], [1, 2]), r"times\[1\] is not finite"),
        (lambda: Piecewise.hold([0, 1], [1, np.inf]), r"values\[1\] is not finite"),
        (lambda: Piecewise.linear([0, 1], [1, 2, 3]), r"not \(2,\), \(3,\)"),
        (lambda: Piecewise.linear([0], [1]), "at least 2 samples"),
        (lambda: Piecewise.cubic([0, 1], [1, 2], "loose"), "ends='loose' is not one of free, rest"),
        (lambda: Piecewise.cubic([0, 1, 2], [1, 2, 3], "periodic"), "differ by 2; make them equal"),
        (lambda: Piecewise(np.arange(3.0), np.zeros((3, 1, 1))), "m\\+1 breaks"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(MotionError, match=message):
        make()


def test_a_table_does_not_change():
    table = Piecewise.linear([0, 1], [0, 1])
    with pytest.raises(ValueError, match="read-only"):
        table.breaks[0] = 3
    assert "1 pieces of degree 1, 1 columns, 0 to 1" in repr(table)
