"""Piecewise: piecewise polynomials of time in several columns, the form of tables in a simulation."""

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from kempe.errors import MotionError

CONTINUOUS = 1e-9  # jumps up to this, relative to the largest value, are ignored
ROUNDING = 100 * np.finfo(float).eps  # error of a spline's values; that of a derivative is this over the step
ENDS = {"free": "not-a-knot", "rest": "clamped", "natural": "natural", "periodic": "periodic"}


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Piece i is coefficients[i, 0] + coefficients[i, 1] u + .., u = t - breaks[i], from breaks[i] up to breaks[i+1].

    breaks: (m+1,), increasing; coefficients: (m, degree+1, columns). A break belongs to the piece it begins, the last
    one to the last piece. Outside the breaks, the first and last values are held.
    """

    breaks: np.ndarray
    coefficients: np.ndarray

    def __post_init__(self):
        breaks, coefficients = (np.array(x, dtype=float) for x in (self.breaks, self.coefficients))
        if breaks.ndim != 1 or coefficients.ndim != 3 or len(breaks) != len(coefficients) + 1 or len(breaks) < 2:
            raise MotionError(
                f"a table takes m+1 breaks and coefficients (m, degree+1, columns), "
                f"not {breaks.shape} and {coefficients.shape}"
            )
        check_times(breaks, "breaks")
        for name, value in (("breaks", breaks), ("coefficients", coefficients)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    # ---- construction ----------------------------------------------------------------------------------

    @classmethod
    def hold(cls, times, values) -> "Piecewise":
        """Holds each value from its time until the next."""
        times, values = _samples(times, values, least=1)
        return cls(np.append(times, times[-1] + 1.0), values[:, None])

    @classmethod
    def linear(cls, times, values) -> "Piecewise":
        """Linear interpolation."""
        times, values = _samples(times, values, least=2)
        slopes = np.diff(values, axis=0) / np.diff(times)[:, None]
        return cls(times, np.stack([values[:-1], slopes], axis=1))

    @classmethod
    def cubic(cls, times, values, ends: str = "free") -> "Piecewise":
        """The cubic spline through the values, with continuous second derivatives.

        ends: "free" (not-a-knot), "rest" (slope zero), "natural" (second derivative zero), "periodic" (equal values,
        slopes and second derivatives at both ends).
        """
        from scipy.interpolate import CubicSpline  # slow to load

        if ends not in ENDS:
            raise MotionError(f"ends={ends!r} is not one of {', '.join(ENDS)}")
        times, values = _samples(times, values, least=2)
        if ends == "periodic":
            gaps = np.abs(values[-1] - values[0])
            if (gaps > CONTINUOUS * np.abs(values).max(axis=0)).any():
                raise MotionError(f"ends='periodic': first and last value differ by {gaps.max():.3g}; make them equal")
            values[-1] = values[0]
        return cls(times, _ascending(CubicSpline(times, values, bc_type=ENDS[ends]).c))

    @classmethod
    def smooth(cls, times, values, smoothing: float) -> "Piecewise":
        """The smoothing spline: minimizes the sum of squared distances + smoothing * integral of squared curvature."""
        from scipy.interpolate import PPoly, make_smoothing_spline  # slow to load

        times, values = _samples(times, values, least=5)
        splines = [PPoly.from_spline(make_smoothing_spline(times, y, lam=smoothing)) for y in values.T]
        kept = np.diff(splines[0].x) > 0  # its end knots are repeated
        return cls(times, _ascending(np.stack([s.c[:, kept] for s in splines], axis=2)))

    @classmethod
    def beside(cls, *tables: "Piecewise") -> "Piecewise":
        """Several tables side by side in one, with the breaks of all."""
        if len(tables) == 1:
            return tables[0]
        breaks = np.unique(np.concatenate([table.breaks for table in tables]))
        degree = max(table.degree for table in tables)
        return cls(breaks, np.concatenate([table._cut(breaks, degree) for table in tables], axis=2))

    # ---- properties and values -------------------------------------------------------------------------

    @property
    def degree(self) -> int:
        """The highest power."""
        return self.coefficients.shape[1] - 1

    @property
    def columns(self) -> int:
        """The number of functions."""
        return self.coefficients.shape[2]

    def __call__(self, t) -> np.ndarray:
        """Values at one time (columns,) or at many (n, columns)."""
        t = np.asarray(t, dtype=float)
        piece, u = self._place(t)
        out = self.coefficients[piece, self.degree]
        for power in range(self.degree - 1, -1, -1):
            out = out * u[..., None] + self.coefficients[piece, power]
        return out if self.degree else out + 0.0 * u[..., None]  # so that NaN times give NaN here too

    @cached_property
    def jumps(self) -> np.ndarray:
        """The breaks at which a value or a slope jumps, the held ends included: an integrator should stop there."""
        return self.corners(1)

    def corners(self, order: int) -> np.ndarray:
        """The breaks at which a derivative up to this order jumps, the held ends included."""
        steps = np.diff(self.breaks)
        around = np.maximum(np.append(steps, 0.0), np.append(0.0, steps))[:, None]
        largest = self._size()
        found = np.zeros(len(self.breaks), dtype=bool)
        table = self
        for k in range(order + 1):
            starts, ends = table.coefficients[:, 0], table._ends()
            outside = starts[:1], ends[-1:]  # held: same values, zero derivatives
            before, after = (x if k == 0 else np.zeros_like(x) for x in outside)
            jump = np.abs(np.concatenate([starts, after]) - np.concatenate([before, ends]))
            found |= (jump > CONTINUOUS * table._size() + ROUNDING * largest / around**k).any(axis=1)
            table = table.derivative()
        return self.breaks[found]

    # ---- derived tables --------------------------------------------------------------------------------

    def derivative(self) -> "Piecewise":
        """d/dt of every column, of the same degree."""
        powers = np.arange(1, self.degree + 1)[:, None]
        zero = np.zeros_like(self.coefficients[:, :1])
        return Piecewise(self.breaks, np.concatenate([self.coefficients[:, 1:] * powers, zero], axis=1))

    def shifted(self, by: float) -> "Piecewise":
        """The same table, later by this time."""
        return Piecewise(self.breaks + by, self.coefficients)

    def chosen(self, columns) -> "Piecewise":
        """These columns, in this order."""
        return Piecewise(self.breaks, self.coefficients[:, :, columns])

    def then(self, other: "Piecewise") -> "Piecewise":
        """This table up to its last break, then the other; in a gap between them the last value is held."""
        degree = max(self.degree, other.degree)
        first, second = self._cut(self.breaks, degree), other._cut(other.breaks, degree)
        if other.breaks[0] > self.breaks[-1]:
            gap = np.zeros_like(first[:1])
            gap[0, 0] = self._ends()[-1]
            return Piecewise(np.concatenate([self.breaks, other.breaks]), np.concatenate([first, gap, second]))
        return Piecewise(np.concatenate([self.breaks[:-1], other.breaks]), np.concatenate([first, second]))

    def _place(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The piece, and the time since its break."""
        piece = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.coefficients) - 1)
        return piece, np.clip(t, self.breaks[0], self.breaks[-1]) - self.breaks[piece]

    def _ends(self) -> np.ndarray:
        """Values at the right end of every piece, (m, columns)."""
        u = np.diff(self.breaks)[:, None]
        out = self.coefficients[:, self.degree]
        for power in range(self.degree - 1, -1, -1):
            out = out * u + self.coefficients[:, power]
        return out

    def _size(self) -> np.ndarray:
        """A bound on the values of every column, (columns,)."""
        reach = np.diff(self.breaks)[:, None] ** np.arange(self.degree + 1)
        return (np.abs(self.coefficients) * reach[:, :, None]).sum(axis=1).max(axis=0)

    def _cut(self, breaks: np.ndarray, degree: int) -> np.ndarray:
        """Coefficients of this degree over these breaks, which must include all of its own."""
        piece, u = self._place(breaks[:-1])
        old = self.coefficients[piece]
        new = np.zeros((len(piece), degree + 1, self.columns))
        for low in range(self.degree + 1):  # c (u + s)^high = sum of c binomial(high, low) u^(high - low) s^low
            for high in range(low, self.degree + 1):
                new[:, low] += comb(high, low) * old[:, high] * (u ** (high - low))[:, None]
        new[(breaks[:-1] < self.breaks[0]) | (breaks[:-1] >= self.breaks[-1]), 1:] = 0.0
        return new

    def __repr__(self) -> str:
        return (
            f"Piecewise({len(self.coefficients)} pieces of degree {self.degree}, {self.columns} columns, "
            f"{self.breaks[0]:g} to {self.breaks[-1]:g})"
        )


def check_times(times: np.ndarray, what: str) -> None:
    """Raises unless the times are finite and increase."""
    if not np.isfinite(times).all():
        raise MotionError(f"{what}[{np.flatnonzero(~np.isfinite(times))[0]}] is not finite; drop or fill it")
    late = np.flatnonzero(np.diff(times) <= 0)
    if late.size:
        k = int(late[0])
        raise MotionError(
            f"{what} must increase, but number {k + 1}, {times[k + 1]:g}, follows {times[k]:g}; sort, drop repeats"
        )


def _samples(times, values, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) and values (n, columns), checked."""
    times, values = np.asarray(times, dtype=float), np.array(values, dtype=float)
    if times.ndim != 1 or values.ndim not in (1, 2) or len(values) != len(times):
        raise MotionError(
            f"a table takes times (n,) and values (n,) or (n, columns), not {times.shape}, {values.shape}"
        )
    if len(times) < least:
        raise MotionError(f"a table of this kind takes at least {least} samples, not {len(times)}")
    check_times(times, "times")
    if not np.isfinite(values).all():
        raise MotionError(f"values[{np.argwhere(~np.isfinite(values))[0][0]}] is not finite; drop or fill it")
    return times, values.reshape(len(times), -1)


def _ascending(c: np.ndarray) -> np.ndarray:
    """SciPy's coefficients (degree+1, m, columns), highest power first, in the order used here."""
    return c[::-1].transpose(1, 0, 2)
