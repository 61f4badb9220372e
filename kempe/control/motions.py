"""Desired motions: one function for each kind, such as `kp.motions.cycloidal({"A": (0, 1)}, duration=2)`.

Values are by joint, or by single coordinate ("slide.angle"). Where a joint with one coordinate takes a number, a joint
with several takes a sequence. `a.then(b)`, `a & b` and `a.shifted(t)` combine motions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from kempe.control.motion import Closed, Motion, Polynomial, then
from kempe.control.piecewise import Piecewise, check_times
from kempe.errors import MotionError
from kempe.kinds import checked, doubles
from kempe.mechanics.state import entry

__all__ = ["Motion", "cycloidal", "quintic", "recorded", "sinusoidal", "spline", "then", "trapezoidal"]

UNIT = 1e-3  # tolerance on the length of a recorded quaternion
Pairs = Mapping[str, Any]  # by name: (first, last), each a number or, for joints of several coordinates, a sequence
LARGEST = 1e50  # of a duration or frequency, so that its powers are finite


@dataclass(frozen=True, eq=False, repr=False)
class Cycloidal(Closed):
    """S. K. Saha and W. O. Schiehlen, Recursive kinematics and dynamics for parallel structured closed-loop multibody
    systems, Mechanics of Structures and Machines 29 (2001), eq. 35."""

    first: np.ndarray
    last: np.ndarray

    def formula(self, t, sin, cos):
        """First + rise s, s = tau - sin(2 pi tau) / (2 pi)."""
        length, rise, turn = self.duration - self.begin, self.last - self.first, 2 * math.pi
        tau = t / length
        s, ds, dds = tau - sin(turn * tau) / turn, 1 - cos(turn * tau), turn * sin(turn * tau)  # eq. 35
        return s * rise + self.first, ds * (rise / length), dds * (rise / length**2)

    @property
    def breaks(self):
        """None: rates and accelerations start and end at zero."""
        return np.zeros(0)


@dataclass(frozen=True, eq=False, repr=False)
class Sinusoidal(Closed):
    """A harmonic oscillation about a mean."""

    mean: np.ndarray
    amplitude: np.ndarray
    frequency: float
    phase: float

    def formula(self, t, sin, cos):
        """Mean + amplitude sin(omega t + phase)."""
        omega = 2 * math.pi * self.frequency
        s, c = sin(omega * t + self.phase), cos(omega * t + self.phase)
        swing = self.amplitude
        return s * swing + self.mean, c * (omega * swing), s * (-(omega**2) * swing)

    @property
    def breaks(self):
        """Both ends, where the rate jumps."""
        ends = np.array(self.span)
        return ends[np.isfinite(ends) & self.amplitude.any()]


@checked(MotionError)
def cycloidal(values: Pairs, duration: float) -> Motion:
    """Moves from first to last value, with zero rate and acceleration at both ends."""
    names, (first, last) = _entries(values, 2, "cycloidal", "a pair (first, last)")
    return Cycloidal(names, 0.0, _positive(duration, "cycloidal: duration"), first, last)


@checked(MotionError)
def quintic(values: Pairs, duration: float, rates: Pairs | None = None, accelerations: Pairs | None = None) -> Motion:
    """Moves from first to last value by a quintic polynomial; rates and accelerations at the ends default to zero."""
    names, (x0, x1) = _entries(values, 2, "quintic", "a pair (first, last)")
    length = _positive(duration, "quintic: duration")
    v0, v1 = _filled(rates, names, "quintic: rates") * length
    a0, a1 = _filled(accelerations, names, "quintic: accelerations") * length**2
    # In tau = t / length: the three highest powers provide what x0, v0, a0 lack at the end.
    x, v, a = x1 - x0 - v0 - a0 / 2, v1 - v0 - a0, a1 - a0
    powers = x0, v0, a0 / 2, 10 * x - 4 * v + a / 2, -15 * x + 7 * v - a, 6 * x - 3 * v + a / 2
    return Polynomial(
        names, Piecewise(np.array([0.0, length]), np.array([[c / length**k for k, c in enumerate(powers)]]))
    )


@checked(MotionError)
def trapezoidal(
    values: Pairs,
    duration: float | None = None,
    ramp: float | None = None,
    *,
    speed: float | Mapping[str, Any] | None = None,
    acceleration: float | Mapping[str, Any] | None = None,
) -> Motion:
    """Moves from first to last value with constant acceleration, constant speed, constant deceleration.

    Give either `duration` and `ramp`, the fraction of it that each ramp takes (default 0.25; at 0.5 there is no phase
    of constant speed). Or give limits of `speed` and `acceleration`, for all joints or by name: every joint keeps
    within its limits, the slowest one determines the duration, and the others are stretched to end with it.
    """
    names, (first, last) = _entries(values, 2, "trapezoidal", "a pair (first, last)")
    if duration is not None:
        if speed is not None or acceleration is not None:
            raise MotionError("trapezoidal: give duration and ramp, or speed and acceleration, not both")
        ramp = 0.25 if ramp is None else ramp
        if not 0 < ramp <= 0.5:
            raise MotionError(f"trapezoidal: ramp={ramp:g} must be above 0 and at most 0.5, a fraction of the duration")
        length, ramps = _positive(duration, "trapezoidal: duration"), np.full(len(names), float(ramp))
    elif speed is None or acceleration is None or ramp is not None:
        raise MotionError("trapezoidal: give duration (and ramp), or both speed and acceleration")
    else:
        limits = _limits(speed, names, "speed"), _limits(acceleration, names, "acceleration")
        fastest, ramps = _fastest(np.abs(last - first), *limits)
        length = fastest.max()
        if length == 0:
            raise MotionError("trapezoidal: every joint ends where it starts, so limits give no duration; give one")
    columns = [_trapezoid(*column, length) for column in zip(first, last, ramps, strict=True)]
    return Polynomial(names, Piecewise.beside(*columns))


def _fastest(distance: np.ndarray, speed: np.ndarray, acceleration: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shortest durations within limits, and the fraction each ramp takes: a half where top speed is not reached."""
    reached = distance > speed**2 / acceleration
    time = np.where(reached, distance / speed + speed / acceleration, 2 * np.sqrt(distance / acceleration))
    return time, np.where(reached, speed / acceleration / np.where(reached, time, 1.0), 0.5)


def _trapezoid(first: float, last: float, ramp: float, length: float) -> Piecewise:
    up = ramp * length
    top = (last - first) / (length - up)
    climb = top * up / 2
    pieces = [
        (0.0, (first, 0.0, top / up / 2)),
        (up, (first + climb, top, 0.0)),
        (length - up, (last - climb, top, -top / up / 2)),
    ]
    kept = pieces if up < length - up else [pieces[0], pieces[2]]
    return Piecewise(np.array([*(start for start, _ in kept), length]), np.array([c for _, c in kept])[:, :, None])


@checked(MotionError)
def spline(values: Mapping[str, Any], times, ends: str = "rest") -> Motion:
    """A cubic spline through given values at given times, with continuous accelerations.

    ends: "rest" (zero rate at both ends), "natural" (zero acceleration), "periodic" (equal value, rate and acceleration
    at both), "free" (not-a-knot). The sign of each quaternion is chosen closest to the one before.
    """
    times = _times(times, "spline")
    names, points = _entries(_nearer(values), len(times), "spline", f"{len(times)} values, one for each time")
    return Polynomial(names, Piecewise.cubic(times, points, ends))


@checked(MotionError)
def recorded(
    times,
    values: Mapping[str, Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    smoothing: float | None = None,
) -> Motion:
    """Measured values at measured times, or the motion of `names` in a run: `recorded(run, names=["A"])`.

    Without `smoothing`, a cubic spline through every sample: its accelerations amplify noise by one over the square of
    the sampling time. With it, the curve that minimizes the sum of squared distances + smoothing * integral of the
    squared acceleration. It damps frequencies above f hertz, (2 pi f)^4 = 1 / (smoothing * sampling time).

    Values of ball and free joints are rows of a quaternion w, x, y, z, followed by the position for free joints. The
    sign of each quaternion is chosen closest to the one before.
    """
    if hasattr(times, "t"):
        if names is None or values is not None:
            raise MotionError("recorded: with a run, give only names=['A', ...]")
        times, values = times.t, {name: times[name] for name in names}
    elif values is None or names is not None:
        raise MotionError("recorded: give times and values by name, recorded(times, {'A': values})")
    times = _times(times, "recorded")
    takes = f"{len(times)} values, one for each time"
    entries, points = _entries(_nearer(values), len(times), "recorded", takes)
    if smoothing is None:
        return Polynomial(entries, Piecewise.cubic(times, points))
    if len(times) < 5:
        raise MotionError(f"recorded: smoothing takes at least 5 samples, not {len(times)}; leave smoothing out")
    return Polynomial(entries, Piecewise.smooth(times, points, _positive(smoothing, "recorded: smoothing")))


@checked(MotionError)
def sinusoidal(values: Mapping[str, Any], frequency: float, phase: float = 0.0, duration: float = math.inf) -> Motion:
    """(mean, amplitude) by joint: mean + amplitude sin(2 pi frequency t + phase); frequency in hertz, phase in radians.

    Starts at time 0 with its rate there, and never ends unless given a duration. For joints with different frequencies
    or phases, combine one motion each by &.
    """
    names, (mean, amplitude) = _entries(values, 2, "sinusoidal", "a pair (mean, amplitude)")
    if not math.isfinite(phase):
        raise MotionError(f"sinusoidal: phase={phase:g} must be finite, in radians")
    if not duration > 0:
        raise MotionError(
            f"sinusoidal: duration={duration:g} must be above 0; leave it out for a motion that never ends"
        )
    frequency = _positive(frequency, "sinusoidal: frequency")
    return Sinusoidal(names, 0.0, float(duration), mean, amplitude, frequency, float(phase))


# ---- reading arguments ---------------------------------------------------------------------------------


def _positive(x: float, what: str) -> float:
    if not 0 < x < math.inf:
        raise MotionError(f"{what}={x:g} must be a finite number above 0")
    if x > LARGEST:
        raise MotionError(f"{what}={x:g} is too large; give at most {LARGEST:g}")
    return float(x)


def _times(times, what: str) -> np.ndarray:
    times = doubles(times, f"{what}: times", MotionError)
    if times.ndim != 1 or len(times) < 2:
        raise MotionError(f"{what}: times has shape {times.shape}; it takes a row of at least two")
    check_times(times, f"{what}: times")
    if times[0] < 0:
        raise MotionError(f"{what}: times[0] = {times[0]:g}, but motions start at 0 or later; give times - times[0]")
    return times


def _entries(values: Mapping[str, Any], count: int, what: str, takes: str) -> tuple[tuple[str, ...], np.ndarray]:
    """A name for each coordinate, and the values as columns (count, k)."""
    if not isinstance(values, Mapping) or not values:
        raise MotionError(f'{what}: give values by joint, such as {{"A": ...}}; each takes {takes}')
    names, columns = [], []
    for name, value in values.items():
        try:
            given = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise MotionError(f"{what}: {name!r} takes {takes}, numbers or sequences of one length") from None
        if given.ndim not in (1, 2) or len(given) != count or not given.size:
            raise MotionError(f"{what}: {name!r} takes {takes}, but has shape {given.shape}")
        if not np.isfinite(given).all():
            where = np.argwhere(~np.isfinite(given))[0][0]
            raise MotionError(f"{what}: {name!r} has a value that is not finite, number {where}; drop or fill it")
        names += [name] if given.ndim == 1 else [f"{name}[{k}]" for k in range(given.shape[1])]
        columns.append(given.reshape(count, -1))
    return tuple(names), np.concatenate(columns, axis=1)


def _nearer(values: Any) -> Any:
    """Chooses the signs of unit quaternions, in rows of four or seven numbers, so that each is closest to the one
    before: a rotation has two quaternions, and a recording may switch between them."""
    if not isinstance(values, Mapping):
        return values
    out = dict(values)
    for name, value in values.items():
        try:
            rows = np.array(value, dtype=float)
        except (TypeError, ValueError):
            continue  # _entries reports it
        if rows.ndim == 2 and rows.shape[1] in (4, 7):
            turns = rows[:, :4]
            if np.allclose(np.linalg.norm(turns, axis=1), 1.0, rtol=0.0, atol=UNIT):
                flips = np.where((turns[1:] * turns[:-1]).sum(axis=1) < 0, -1.0, 1.0)
                turns[1:] *= np.cumprod(flips)[:, None]
                out[name] = rows
    return out


def _filled(given: Pairs | None, names: tuple[str, ...], what: str) -> np.ndarray:
    """Pairs for all names (2, k), zero where not given."""
    out = np.zeros((2, len(names)))
    if given:
        found, pairs = _entries(given, 2, what, "a pair (first, last)")
        for name, pair in zip(found, pairs.T, strict=True):
            _check_known(name, names, what)
            out[:, names.index(name)] = pair
    return out


def _limits(given: float | Mapping[str, Any], names: tuple[str, ...], what: str) -> np.ndarray:
    """A limit for each name, from one for all or from a dict by joint."""
    by_joint = given if isinstance(given, Mapping) else {entry(name)[0]: given for name in names}
    joints = [entry(name) for name in names]
    for joint in by_joint:
        _check_known(joint, tuple(joint for joint, _ in joints), f"trapezoidal: {what}")
    out = []
    for joint, k in joints:
        if joint not in by_joint:
            raise MotionError(f"trapezoidal: {what} has no limit for {joint!r}; give it one")
        limits = np.atleast_1d(np.asarray(by_joint[joint], dtype=float))
        size = 1 if k is None else sum(other == joint for other, _ in joints)
        if limits.shape not in ((1,), (size,)):
            raise MotionError(f"trapezoidal: {what} of {joint!r} takes one number or {size}, not {limits.size}")
        out.append(_positive(float(limits[(k or 0) % len(limits)]), f"trapezoidal: {what} of {joint!r}"))
    return np.array(out)


def _check_known(name: str, names: tuple[str, ...], what: str) -> None:
    if name not in names:
        close = get_close_matches(name, names)
        listed = ", ".join([*close, *(other for other in dict.fromkeys(names) if other not in close)])
        raise MotionError(f"{what}: {name!r} is not part of this motion; it has {listed}")
