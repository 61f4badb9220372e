"""Elementary functions against mpmath, in units of the last place."""

import math

import casadi as ca
import mpmath
import numpy as np
import pytest
from mpmath import libmp

from kempe.compiler.kernel import Kernel
from kempe.compiler.trace import trace

PRECISION = 120  # bits of the reference

sincos = Kernel(trace(lambda x: {"sin": ca.sin(x), "cos": ca.cos(x)}, {"x": ()}, {"sin": (), "cos": ()}))


def ulps(mine, exact) -> np.ndarray:
    """The distance of doubles from exact mpmath numbers, in spacings of doubles there."""
    nearest = np.array([libmp.to_float(e) for e in exact])
    rest = [libmp.to_float(libmp.mpf_sub(e, libmp.from_float(n))) for e, n in zip(exact, nearest.tolist(), strict=True)]
    return np.abs(((mine - nearest) - np.array(rest)) / np.spacing(np.abs(nearest)))


def angles(part: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(part)
    kind = part % 4
    if kind == 0:
        return rng.uniform(-1e6, 1e6, count)
    if kind == 1:
        return rng.uniform(-7, 7, count)
    if kind == 2:  # the doubles around multiples of pi/2, where sine or cosine nearly vanishes
        multiples = rng.integers(-636619, 636620, count) * (math.pi / 2)
        return multiples + np.spacing(multiples) * rng.integers(-3, 4, count)
    return 10.0 ** rng.uniform(-320, 6, count) * rng.choice([-1, 1], count)


@pytest.mark.parametrize("part", range(8))
def test_sine_and_cosine_within_one_ulp_up_to_a_million(part):
    """A million points in all."""
    x = angles(part, 125_000)
    exact = [libmp.mpf_cos_sin(libmp.from_float(v), PRECISION) for v in x.tolist()]
    sin, cos = sincos(x)
    assert ulps(sin, [s for _, s in exact]).max() <= 1
    assert ulps(cos, [c for c, _ in exact]).max() <= 1


def test_sine_and_cosine_of_awkward_numbers():
    sin, cos = sincos(np.array([0.0, -0.0, 5e-324, -5e-324]))
    assert sin.tolist() == [0.0, -0.0, 5e-324, -5e-324]
    assert np.signbit(sin).tolist() == [False, True, False, True]
    assert cos.tolist() == [1.0] * 4
    assert np.isnan(sincos(np.array([np.nan, np.inf, -np.inf]))).all()


def test_beyond_a_million_the_absolute_error_stays_small():
    x = 10.0 ** np.random.default_rng(2).uniform(6, 13, 20_000)
    exact = [libmp.mpf_cos_sin(libmp.from_float(v), 200) for v in x.tolist()]
    for mine, k in zip(sincos(x), (1, 0), strict=True):
        assert np.abs(mine - [libmp.to_float(e[k]) for e in exact]).max() <= 2e-16


def test_sine_and_cosine_never_leave_the_unit_interval():
    x = 10.0 ** np.random.default_rng(4).uniform(6, 308, 100_000)
    for values in sincos(np.concatenate([x, -x, [np.finfo(float).max]])):
        assert np.isfinite(values).all()
        assert np.abs(values).max() <= 1


def mp_values(function, *columns):
    with mpmath.workprec(PRECISION):
        return [function(*(mpmath.mpf(v) for v in row))._mpf_ for row in np.column_stack(columns).tolist()]


def test_exponential_within_one_ulp():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-708, 709.7, 10_000), rng.uniform(-1, 1, 10_000)])
    assert ulps(Kernel(trace(ca.exp, {"x": ()}, {"y": ()}))(x), mp_values(mpmath.exp, x)).max() <= 1


def test_logarithm_within_one_ulp():
    rng = np.random.default_rng(6)
    x = np.concatenate([10.0 ** rng.uniform(-323, 308, 10_000), rng.uniform(0.5, 2, 10_000)])
    assert ulps(Kernel(trace(ca.log, {"x": ()}, {"y": ()}))(x), mp_values(mpmath.log, x)).max() <= 1


def test_arctangent_within_two_ulps():
    rng = np.random.default_rng(7)
    y, x = rng.normal(size=(2, 20_000)) * 10.0 ** rng.uniform(-3, 3, (2, 20_000))
    mine = Kernel(trace(ca.atan2, {"y": (), "x": ()}, {"angle": ()}))(y, x)
    assert ulps(mine, mp_values(mpmath.atan2, y, x)).max() <= 2


@pytest.mark.parametrize(
    ("function", "reference"),
    [(ca.exp, np.exp), (ca.log, np.log), (ca.tanh, np.tanh), (ca.sinh, np.sinh), (ca.expm1, np.expm1)],
    ids=["exp", "log", "tanh", "sinh", "expm1"],
)
def test_limits_are_those_of_the_c_library(function, reference):
    x = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 800, -800])
    mine = Kernel(trace(function, {"x": ()}, {"y": ()}))(x)
    with np.errstate(all="ignore"):
        theirs = reference(x)
    np.testing.assert_allclose(mine, theirs, rtol=4e-16)
    assert np.array_equal(np.signbit(mine)[~np.isnan(mine)], np.signbit(theirs)[~np.isnan(theirs)])


def test_arctangent_in_all_directions():
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -1e308, 1.7e308])
    y, x = (g.ravel() for g in np.meshgrid(special, special))
    mine, theirs = Kernel(trace(ca.atan2, {"y": (), "x": ()}, {"angle": ()}))(y, x), np.arctan2(y, x)
    np.testing.assert_allclose(mine, theirs, rtol=4e-16)
    assert np.array_equal(np.signbit(mine)[~np.isnan(mine)], np.signbit(theirs)[~np.isnan(theirs)])
