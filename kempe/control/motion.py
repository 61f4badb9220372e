"""Motion: the desired motion of named coordinates over time, with rates and accelerations, as numbers and symbols.

A motion can be evaluated in two equivalent ways: `at(t)` in numbers, and `symbolic(t, w)` in CasADi symbols, for
compilation into a simulation. There w are the current values of the table `signals()`, looked up at every time.

It moves from `begin` to `duration`, both included. Before and after, it holds its first and last values at rest. Where
it does not start or end at rest it jumps, and `breaks` lists the time; the floats next to a break lie on either side of
the jump.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kempe.control.piecewise import CONTINUOUS, Piecewise
from kempe.control.places import check_turning, places
from kempe.errors import MotionError, StateError
from kempe.kinds import checked, doubles
from kempe.spatial.quaternions import posed

if TYPE_CHECKING:
    from kempe.kinetics.kinetics import Kinetics
    from kempe.mechanics.state import State

Three = tuple[ca.SX, ca.SX, ca.SX]  # values, rates, accelerations


@checked(MotionError)
class Motion(ABC):
    """A desired motion.

    names: one for each moving coordinate: "A" for a joint with one coordinate, "J[0]", "J[1]" for a joint with several,
    or a coordinate's own name, "slide.angle".
    begin, duration: the times at which it starts and ends.
    """

    names: tuple[str, ...]
    begin: float
    duration: float

    @abstractmethod
    def _sample(self, t: np.ndarray) -> np.ndarray:
        """Values, rates and accelerations at times (n,), as one array (3, n, k)."""

    @abstractmethod
    def signals(self) -> Piecewise | None:
        """The table whose current values `symbolic` takes, or None."""

    @abstractmethod
    def symbolic(self, t: ca.SX, w: ca.SX | None = None) -> Three:
        """Values, rates and accelerations at time t as columns (k); w is the column of `signals()` at t."""

    @property
    @abstractmethod
    def breaks(self) -> np.ndarray:
        """The times at which a value, rate or acceleration jumps, where an integrator should stop."""

    @abstractmethod
    def _later(self, by: float) -> "Motion":
        """The same motion, started later."""

    def at(self, t) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, rates and accelerations in the order of `names`: (k,) at one time, (n, k) at many."""
        t = doubles(t, "at: t", MotionError)
        if t.ndim > 1:
            raise MotionError(f"t has shape {t.shape}; a motion takes one time or a row of them")
        x, xdot, xddot = self._sample(np.atleast_1d(t))
        return (x, xdot, xddot) if t.ndim else (x[0], xdot[0], xddot[0])

    @property
    def start(self) -> np.ndarray:
        """The first values (k,)."""
        return self.at(self.begin)[0]

    @property
    def end(self) -> np.ndarray:
        """The last values (k,)."""
        self._finite("has no last values")
        return self.at(self.duration)[0]

    def _finite(self, otherwise: str) -> None:
        if not math.isfinite(self.duration):
            raise MotionError(
                f"the motion of {', '.join(self.names)} never ends, so it {otherwise}; give it a duration="
            )

    def shifted(self, by: float) -> "Motion":
        """The same motion, started later by this time; its first values are held until then."""
        if not 0 <= by < math.inf:
            raise MotionError(f"shifted({by:g}): a motion can only start later, by a finite time")
        return self._later(float(by))

    def then(self, *others: "Motion") -> "Motion":
        """This motion, followed by the others."""
        return then(self, *others)

    def __and__(self, other: "Motion") -> "Motion":
        """Both motions at the same time, of different joints."""
        if not isinstance(other, Motion):
            return NotImplemented
        twice = [name for name in self.names if name in other.names]
        if twice:
            raise MotionError(f"both motions move {', '.join(twice)}; put them one after the other with then()")
        if isinstance(self, Polynomial) and isinstance(other, Polynomial) and self.span == other.span:
            return Polynomial(self.names + other.names, Piecewise.beside(self.pieces, other.pieces))
        return Together((self, other))

    @property
    def span(self) -> tuple[float, float]:
        """Begin and end."""
        return self.begin, self.duration

    # ---- on a model ------------------------------------------------------------------------------------

    def places(self, model: "Kinetics") -> tuple[np.ndarray, np.ndarray]:
        """The indices of this motion's entries in a model's q and v, (k,) each; raises if it does not fit."""
        return places(model, self.names)

    def on(self, model: "Kinetics", start: "State | None" = None, *, t) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and a of a whole model at one time or many, (n, nq), (n, nv), (n, nv).

        Joints that are not named stay at rest as in `start`, or as drawn. Ball and free joints move by their
        quaternions, of any length, and positions.
        """
        poses = model.poses(self.names)
        turning = {k for columns in poses.values() for k in columns}
        rated = [k for k in range(len(self.names)) if k not in turning]
        at_q, at_v = places(model, tuple(self.names[k] for k in rated))
        rest = model.drawn.q if start is None else start.q
        if rest.shape != (model.nq,):
            raise StateError(
                f"motion: start has {rest.size} coordinates, the model {model.nq}; make it with model.state()"
            )
        x, xdot, xddot = moving = tuple(np.atleast_2d(y) for y in self.at(t))
        q = np.broadcast_to(rest, (len(x), model.nq)).copy()
        v, a = np.zeros((2, len(x), model.nv))
        q[:, at_q], v[:, at_v], a[:, at_v] = x[:, rated], xdot[:, rated], xddot[:, rated]
        for name, columns in poses.items():
            check_turning(name, x[:, columns])
            joint = model.joint(name)
            q[:, joint.q], v[:, joint.v], a[:, joint.v] = posed(*(y[:, columns] for y in moving))
        return (q, v, a) if np.ndim(t) else (q[0], v[0], a[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.names)}; {self.begin:g} to {self.duration:g} s)"


@dataclass(frozen=True, eq=False, repr=False)
class Closed(Motion):
    """A motion given by a formula."""

    names: tuple[str, ...]
    begin: float
    duration: float

    @abstractmethod
    def formula(self, t, sin, cos) -> tuple:
        """Values, rates and accelerations, t seconds after the start; t is a column of floats, or a symbol."""

    def _sample(self, t):
        since = np.clip(t, self.begin, self.duration) - self.begin
        x, xdot, xddot = self.formula(since[:, None], np.sin, np.cos)
        moving = ((t >= self.begin) & (t <= self.duration))[:, None]
        return np.stack([x, np.where(moving, xdot, 0.0), np.where(moving, xddot, 0.0)])

    def signals(self):
        """None: the formula needs no table."""
        return

    def symbolic(self, t, w=None):
        """The formula, held at both ends."""
        since, moving = ca.fmax(t, self.begin), t >= self.begin
        if math.isfinite(self.duration):
            since, moving = ca.fmin(since, self.duration), ca.logic_and(moving, t <= self.duration)
        x, xdot, xddot = self.formula(since - self.begin, ca.sin, ca.cos)
        return x, ca.if_else(moving, xdot, 0), ca.if_else(moving, xddot, 0)

    def _later(self, by):
        return replace(self, begin=self.begin + by, duration=self.duration + by)


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(Motion):
    """A motion by piecewise polynomials: a table of the values, from start to end."""

    names: tuple[str, ...]
    pieces: Piecewise

    @property
    def begin(self) -> float:
        """The first break."""
        return float(self.pieces.breaks[0])

    @property
    def duration(self) -> float:
        """The last break."""
        return float(self.pieces.breaks[-1])

    def _sample(self, t):
        return self._table(t).reshape(len(t), 3, len(self.names)).swapaxes(0, 1)

    def signals(self):
        """Values, rates and accelerations side by side, with a piece at rest before and after."""
        return self._table

    @cached_property
    def _table(self) -> Piecewise:
        rates = self.pieces.derivative()
        parts = [p.coefficients for p in (self.pieces, rates, rates.derivative())]
        outer = np.zeros((2, self.pieces.degree + 1, 3 * len(self.names)))
        outer[:, 0, : len(self.names)] = self.pieces(np.array(self.span))
        after = np.nextafter(self.duration, math.inf)  # the end itself belongs to the motion
        breaks = np.concatenate([[self.begin - 1.0], self.pieces.breaks[:-1], [after, after + 1.0]])
        return Piecewise(breaks, np.concatenate([outer[:1], np.concatenate(parts, axis=2), outer[1:]]))

    def symbolic(self, t, w=None):
        """The three parts of w."""
        if w is None:
            raise MotionError(f"{self!r} is a table: give symbolic() a column w with the values of signals()")
        k = len(self.names)
        return w[:k], w[k : 2 * k], w[2 * k :]

    @cached_property
    def breaks(self):
        """Breaks at which a value or one of the first two derivatives jumps."""
        return self.pieces.corners(2)

    def _later(self, by):
        return replace(self, pieces=self.pieces.shifted(by))


@dataclass(frozen=True, eq=False, repr=False)
class _Several(Motion):
    """A motion made of others."""

    parts: tuple[Motion, ...]

    def signals(self):
        """The tables of the parts, side by side; each holds its end values while others continue."""
        return self._table

    @cached_property
    def _table(self) -> Piecewise | None:
        return _tables(self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class Together(_Several):
    """Motions of different joints at the same time."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts."""
        return tuple(name for part in self.parts for name in part.names)

    @property
    def begin(self) -> float:
        """When the first begins."""
        return min(part.begin for part in self.parts)

    @property
    def duration(self) -> float:
        """When the last ends."""
        return max(part.duration for part in self.parts)

    def _sample(self, t):
        return np.concatenate([part._sample(t) for part in self.parts], axis=2)

    def symbolic(self, t, w=None):
        """The parts, stacked."""
        each = zip(*_symbolic(self.parts, t, w), strict=True)
        x, xdot, xddot = (ca.vertcat(*columns) for columns in each)
        return x, xdot, xddot

    @property
    def breaks(self):
        """The breaks of all parts."""
        return np.unique(np.concatenate([part.breaks for part in self.parts]))

    def _later(self, by):
        return Together(tuple(part._later(by) for part in self.parts))


@dataclass(frozen=True, eq=False, repr=False)
class Sequence(_Several):
    """Motions of the same joints in sequence, each starting at the end of the one before."""

    names: tuple[str, ...]

    @property
    def begin(self) -> float:
        """When the first begins."""
        return self.parts[0].begin

    @property
    def duration(self) -> float:
        """When the last ends."""
        return self.parts[-1].duration

    def _order(self, part: Motion) -> list[int]:
        return [part.names.index(name) for name in self.names]

    def _sample(self, t):
        turn = np.searchsorted([part.duration for part in self.parts[:-1]], t, side="right")
        out = np.empty((3, len(t), len(self.names)))
        for k, part in enumerate(self.parts):
            out[:, turn == k] = part._sample(t[turn == k])[:, :, self._order(part)]
        return out

    def symbolic(self, t, w=None):
        """The part that is active at t."""
        parts = zip(self.parts, _symbolic(self.parts, t, w), strict=True)
        each = [[column[self._order(part)] for column in columns] for part, columns in parts]
        chosen = each[-1]
        for part, columns in reversed(list(zip(self.parts[:-1], each[:-1], strict=True))):
            chosen = [ca.if_else(t < part.duration, x, y) for x, y in zip(columns, chosen, strict=True)]
        x, xdot, xddot = chosen
        return x, xdot, xddot

    @property
    def breaks(self):
        """Breaks of the parts while they are active, and transitions between parts that are not smooth."""
        ends = [-math.inf, *(part.duration for part in self.parts[:-1]), math.inf]
        turns = zip(self.parts, pairwise(ends), strict=True)
        inside = [part.breaks[(part.breaks > since) & (part.breaks < until)] for part, (since, until) in turns]
        jumps = [a.duration for a, b in pairwise(self.parts) if not self._smooth(a, b)]
        return np.unique(np.concatenate([*inside, jumps]))

    def _smooth(self, a: Motion, b: Motion) -> bool:
        left, right = (np.array(part.at(a.duration))[:, self._order(part)] for part in (a, b))
        return bool(np.allclose(left, right, rtol=CONTINUOUS, atol=CONTINUOUS))

    def _later(self, by):
        return replace(self, parts=tuple(part._later(by) for part in self.parts))


def then(*motions: Motion) -> Motion:
    """The motions in sequence. Values must be continuous; joints that a motion does not name wait during it."""
    if not motions:
        raise MotionError("then() takes at least one motion")
    names = tuple(dict.fromkeys(name for motion in motions for name in motion.names))
    known = {n: x for motion in reversed(motions) for n, x in zip(motion.names, motion.start, strict=True)}
    parts: list[Motion] = []
    for motion in motions:
        part = motion
        if parts:
            parts[-1]._finite("cannot be followed by another")
            part = motion.shifted(parts[-1].duration)
        for name, x in zip(part.names, part.start, strict=True):
            if abs(x - known[name]) > CONTINUOUS * (1 + abs(x)):
                raise MotionError(
                    f"{name!r} is at {known[name]:g} when the next motion starts it from {x:g}, a gap of "
                    f"{x - known[name]:.3g}; start the next motion where the one before ends"
                )
        waiting = {name: known[name] for name in names if name not in part.names}
        parts.append(part & _waiting(waiting, part) if waiting else part)
        if math.isfinite(part.duration):
            known |= dict(zip(part.names, part.end, strict=True))
    merged = parts[:1]
    for part in parts[1:]:
        last = merged[-1]
        if isinstance(last, Polynomial) and isinstance(part, Polynomial):
            order = [part.names.index(name) for name in last.names]
            merged[-1] = Polynomial(last.names, last.pieces.then(part.pieces.chosen(order)))
        else:
            merged.append(part)
    return merged[0] if len(merged) == 1 else Sequence(tuple(merged), names)


def _waiting(values: dict[str, float], beside: Motion) -> Polynomial:
    """A motion that holds values while another motion lasts."""
    until = beside.duration if math.isfinite(beside.duration) else beside.begin + 1.0
    return Polynomial(tuple(values), Piecewise(np.array([beside.begin, until]), np.array([[list(values.values())]])))


def _tables(parts: tuple[Motion, ...]) -> Piecewise | None:
    tables = [table for part in parts if (table := part.signals()) is not None]
    return Piecewise.beside(*tables) if tables else None


def _symbolic(parts: tuple[Motion, ...], t: ca.SX, w: ca.SX | None) -> list[Three]:
    """The expressions of every part, each over its own slice of w."""
    out, used = [], 0
    for part in parts:
        table = part.signals()
        width = table.columns if table is not None else 0
        out.append(part.symbolic(t, w[used : used + width] if w is not None and width else None))
        used += width
    return out
