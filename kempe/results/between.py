"""Between: interpolation between the rows of a run by Hermite polynomials."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Instants:
    """Times located among rows: each is in the interval starting at row `at`, at the fraction `s` of its length `h`.

    s is 0 at the time of a row; of rows with the same time, the last is used, the state after a jump.
    """

    at: np.ndarray
    s: np.ndarray
    h: np.ndarray

    @property
    def after(self) -> np.ndarray:
        """The row at the end of each interval."""
        return np.where(self.s > 0, self.at + 1, self.at)


def find(t: np.ndarray, times: np.ndarray) -> Instants:
    """Locates times, all within those of the rows."""
    at = np.searchsorted(t, times, side="right") - 1
    after = np.minimum(at + 1, len(t) - 1)
    h = np.where(after > at, t[after] - t[at], 1.0)
    return Instants(at, (times - t[at]) / h, h)


def linear(x: np.ndarray, where: Instants) -> np.ndarray:
    """Linear interpolation."""
    return _exact(x, where, lambda s, h, a, b: x[a] + s * (x[b] - x[a]))


def cubic(x: np.ndarray, xdot: np.ndarray, where: Instants) -> np.ndarray:
    """Cubic interpolation of values and first derivatives."""

    def between(s, h, a, b):
        rise = x[b] - x[a]
        slope_a, slope_b = h * xdot[a], h * xdot[b]
        return x[a] + s * (slope_a + s * (3 * rise - 2 * slope_a - slope_b + s * (slope_a + slope_b - 2 * rise)))

    return _exact(x, where, between)


def cubic_rate(x: np.ndarray, xdot: np.ndarray, where: Instants) -> np.ndarray:
    """The derivative of `cubic`."""

    def between(s, h, a, b):
        slope, left, right = (x[b] - x[a]) / h, xdot[a], xdot[b]
        return left + s * (6 * slope - 4 * left - 2 * right + s * (3 * (left + right) - 6 * slope))

    return _exact(xdot, where, between)


def quintic(x: np.ndarray, xdot: np.ndarray, xddot: np.ndarray, where: Instants) -> np.ndarray:
    """Quintic interpolation of values, first and second derivatives."""

    def between(s, h, a, b):
        first, second = h * xdot[a], 0.5 * h * h * xddot[a]
        # Value, slope and curvature at the end of the interval, minus the first three terms.
        value = x[b] - x[a] - first - second
        slope = h * xdot[b] - first - 2 * second
        bend = 0.5 * h * h * xddot[b] - second
        third = 10 * value - 4 * slope + bend
        fourth = 7 * slope - 15 * value - 2 * bend
        fifth = 6 * value - 3 * slope + bend
        return x[a] + s * (first + s * (second + s * (third + s * (fourth + s * fifth))))

    return _exact(x, where, between)


def _exact(x: np.ndarray, where: Instants, between) -> np.ndarray:
    """Exact rows at the times of rows, even next to non-finite rows; polynomials elsewhere."""
    out = x[where.at]
    inside = where.s > 0
    if inside.any():
        column = (slice(None), None) if x.ndim > 1 else slice(None)
        out[inside] = between(where.s[inside][column], where.h[inside][column], where.at[inside], where.after[inside])
    return out
