"""Kinematics of closed mechanisms: all joints and bodies along a motion of some of them, on one branch.

The motion may be of joints, of joints that were cut, and of places of bodies, such as those of a platform: what is
called inverse kinematics of a parallel robot is the same question.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kempe.analyze.assembly import CLOSED
from kempe.analyze.given import Given, given
from kempe.analyze.rank import directions
from kempe.arithmetic.least import factors, least_squares
from kempe.arithmetic.sums import times
from kempe.errors import NotClosed, StateError
from kempe.model.model import Model
from kempe.model.state import State

NEWTON = 12  # iterations from a start nearby
LONGEST = 0.3  # rad, or sizes of the mechanism, that Newton's method may move anything by
WIDEST = 1.0  # the same, of a step along a motion
BENT = 0.1  # of a step: how far it may be from what the slopes at its ends lead to
TURNED = 0.5  # of the larger one: how much these slopes may differ
NOISE = 1e-9  # rad, or sizes: steps this small are not looked at
PART = 0.47  # of a step, where it is divided: not half, where mechanisms that are alike on both sides are singular
DIVISIONS = 40


def place(model: Model, known: Given, q: np.ndarray, x: np.ndarray, p=None) -> np.ndarray | None:
    """The closed q with the given values, by Newton's method from q nearby; None where it does not get there."""
    free, steps = _free(model, known), model.equations.steps
    q = q.copy()
    q[known.at_q] = x[: known.tree]

    def left() -> np.ndarray:
        return np.concatenate([model.closure(q, p=p)[0], known.off(q, x[known.tree :], p) / known.sizes(model)])

    for _ in range(NEWTON):
        error = left()
        if np.abs(error).max(initial=0.0) <= 0.1 * CLOSED:
            break
        step = np.zeros(model.nv)  # in radians, and sizes of the mechanism
        step[free] = least_squares((_rows(model, known, q, p) * steps)[:, free], -error, 1e-10)
        if np.abs(step).max() > LONGEST:
            return None
        q = model.integrate(q, step * steps)
    error, upright = left(), model.closure(q, p=p)[2]
    return q if np.abs(error).max(initial=0.0) <= CLOSED and (upright > 0).all() else None


def settle(model: Model, q: np.ndarray, v: np.ndarray, p=None) -> tuple[np.ndarray, np.ndarray]:
    """The nearest closed state to one that is nearly closed, and the nearest velocities that keep it so; lengths are
    measured by the mechanism's size."""
    columns = model.equations.steps
    for _ in range(NEWTON):
        phi, jacobian, _ = model.closure(q, p=p)
        gap = float(np.abs(phi).max(initial=0.0))
        if gap <= 0.1 * CLOSED:
            break
        asked = directions(jacobian * columns, gap)
        q = model.integrate(q, -columns * asked.motion(phi))
    phi, jacobian, _ = model.closure(q, p=p)
    asked = directions(jacobian * columns, float(np.abs(phi).max(initial=0.0)))
    return q, v - columns * asked.motion(times(jacobian, v))


def velocities(model: Model, known: Given, q: np.ndarray, xdot: np.ndarray, p=None) -> np.ndarray:
    """v of all joints from those that are given."""
    return _completed(model, known, q, xdot, np.zeros(len(model.residual(q, p=p))), np.zeros(len(known.measured)), p)


def slope(model: Model, known: Given, q: np.ndarray, step: np.ndarray, p=None) -> np.ndarray:
    """What all joints move by, to first order, as the given ones move by a step; in radians, and sizes."""
    return velocities(model, known, q, step, p) / model.equations.steps


def is_steady(moved: np.ndarray, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a step stays on its branch: where two of them pass each other, Newton's method may lead to the other one,
    whose slope is another. before, after: slopes at the ends, for the same step."""
    long, steep = np.abs(moved).max(initial=0.0), max(np.abs(before).max(initial=0.0), np.abs(after).max(initial=0.0))
    off = np.abs(moved - 0.5 * (before + after)).max(initial=0.0)
    turned = np.abs(after - before).max(initial=0.0)
    return bool(steep < WIDEST and off <= BENT * long + NOISE and turned <= TURNED * steep + NOISE)


def accelerations(model: Model, known: Given, q: np.ndarray, v: np.ndarray, xddot: np.ndarray, p=None) -> np.ndarray:
    """Accelerations of all joints from those that are given."""
    return _completed(model, known, q, xddot, model.loop_bias(q, v, p=p), known.bias(q, v, p), p)


def _completed(model: Model, known: Given, q, wanted, gamma, bias, p) -> np.ndarray:
    """x with J x = gamma, the given entries, and L x + bias = wanted for measured ones."""
    free, out, steps = _free(model, known), np.zeros(model.nv), model.equations.steps
    out[known.at_v] = wanted[: known.tree]
    matrix = _rows(model, known, q, p)
    right = np.concatenate([gamma, (wanted[known.tree :] - bias) / known.sizes(model)])
    out[free] = least_squares((matrix * steps)[:, free], right - times(matrix, out), 1e-10) * steps[free]
    return out


def _rows(model: Model, known: Given, q: np.ndarray, p=None) -> np.ndarray:
    """Of the loops, then of what is measured, lengths in sizes of the mechanism both."""
    measured = known.matrix(q, model.nv, p) / known.sizes(model)[:, None]
    return np.vstack([model.closure(q, p=p)[1], measured])


def _free(model: Model, known: Given) -> np.ndarray:
    free = np.ones(model.nv, dtype=bool)
    free[known.at_v] = False
    return free


# ---- along a motion --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Way:
    """A motion of named coordinates through closed states; `at(t)` gives their values, rates and accelerations."""

    model: Model
    names: tuple[str, ...]
    at: Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]
    p: np.ndarray | None = None

    @cached_property
    def known(self) -> Given:
        """The coordinates that are named."""
        return given(self.model, self.names)

    def ordered(self, t) -> tuple[np.ndarray, ...]:
        """Values, rates and accelerations at one time or at many, those of the tree first."""
        return tuple(x[..., self.known.order] for x in self.at(t))

    def begin(self, t: float, start: State | None) -> np.ndarray:
        """The closed q at the first time, on the branch of `start`; checks that the motion determines all others."""
        model, x = self.model, self.at(t)[0]
        values = dict(zip(self.names, x.tolist(), strict=True))
        near = (start or model.assemble(values)).q
        q = place(model, self.known, near, x[self.known.order], self.p)
        if q is None and self.p is not None:
            wanted = ", ".join(f"{name} = {value:g}" for name, value in values.items())
            raise NotClosed(f"the motion begins with {wanted}: with these parameters no closed state is near the start")
        if q is None:
            q = model.assemble(values, near=State(model, near, near)).q
        _check_determined(model, self.known, q, self.names, self.p)
        return q

    def moving(self, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and a of all joints at a time."""
        _, xdot, xddot = self.ordered(t)
        v = velocities(self.model, self.known, q, xdot, self.p)
        return v, accelerations(self.model, self.known, q, v, xddot, self.p)

    def carried(self, q: np.ndarray, before: float, now: float, divisions: int = DIVISIONS) -> np.ndarray:
        """q at a later time. The branch is kept: where a step is not steady, the way is gone in smaller ones."""
        if now == before:
            return q
        model, known, p, steps = self.model, self.known, self.p, self.model.equations.steps
        wanted = self.ordered(now)[0]
        way = wanted - self.ordered(before)[0]
        ahead = slope(model, known, q, way, p)
        found = place(model, known, model.integrate(q, ahead * steps), wanted, p)
        if found is not None and not _left(model, known, found, p):
            moved = model.difference(q, found) / steps
            if is_steady(moved, ahead, slope(model, known, found, way, p)):
                return found
        if divisions == 0:
            raise NotClosed(
                f"the motion cannot be followed past t = {before:.6g} s: the loops do not close beyond it, or a "
                "singular pose is met"
            )
        between = before + PART * (now - before)
        return self.carried(self.carried(q, before, between, divisions - 1), between, now, divisions - 1)


def _left(model: Model, known: Given, q: np.ndarray, p=None) -> int:
    """How many freedoms are left at a state, with the values given."""
    free = _free(model, known)
    return int(free.sum()) - factors((_rows(model, known, q, p) * model.equations.steps)[:, free]).rank(1e-9)


def _check_determined(model: Model, known: Given, q: np.ndarray, names: tuple[str, ...], p) -> None:
    left = _left(model, known, q, p)
    if left:
        raise StateError(f"motion: with {', '.join(names)} given, {left} freedoms are left; give as many more")
    matrix, free = _rows(model, known, q, p) * model.equations.steps, _free(model, known)
    rank = int(free.sum())
    over = len(known.measured) - (rank - factors(matrix[: len(matrix) - len(known.measured), free]).rank(1e-9))
    if over:
        raise StateError(
            f"motion: {', '.join(names)} cannot all be given: {over} of them follow from the others and the loops"
        )
