"""Kinematics of closed mechanisms: all joints and bodies along a motion of some of them, on one branch.

The motion may be of joints, of cut joints, and of places of bodies, such as a platform's: inverse kinematics of a
parallel robot is the same question.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.least import factors, least_squares
from kempe.arithmetic.sums import times
from kempe.errors import NotClosed, StateError
from kempe.loops.assembly import CLOSED, assemble
from kempe.loops.rank import directions
from kempe.loops.targets import Given, given
from kempe.mechanics.state import State

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

NEWTON = 12  # iterations from a nearby start
LONGEST = 0.3  # rad, or sizes of the mechanism: largest change by Newton's method
WIDEST = 1.0  # the same, of a step along a motion
BENT = 0.1  # of a step: largest distance from what the slopes at its ends predict
TURNED = 0.5  # of the larger one: largest difference between these slopes
NOISE = 1e-9  # rad, or sizes: smaller steps are not checked
PART = 0.47  # where a step is divided: not in half, where symmetric mechanisms are singular
DIVISIONS = 40


def place(mechanics: "Mechanics", known: Given, q: np.ndarray, x: np.ndarray, p=None) -> np.ndarray | None:
    """The closed q with the given values, by Newton's method from a nearby q; None if it does not converge."""
    free, steps = _free(mechanics, known), mechanics.equations.steps
    q = q.copy()
    q[known.at_q] = x[: known.tree]

    def left() -> np.ndarray:
        return np.concatenate([mechanics.closure(q, p=p)[0], known.off(q, x[known.tree :], p) / known.sizes(mechanics)])

    for _ in range(NEWTON):
        error = left()
        if np.abs(error).max(initial=0.0) <= 0.1 * CLOSED:
            break
        step = np.zeros(mechanics.nv)  # in radians and sizes of the mechanism
        step[free] = least_squares((_rows(mechanics, known, q, p) * steps)[:, free], -error, 1e-10)
        if np.abs(step).max() > LONGEST:
            return None
        q = mechanics.integrate(q, step * steps)
    error, upright = left(), mechanics.closure(q, p=p)[2]
    return q if np.abs(error).max(initial=0.0) <= CLOSED and (upright > 0).all() else None


def settle(mechanics: "Mechanics", q: np.ndarray, v: np.ndarray, p=None) -> tuple[np.ndarray, np.ndarray]:
    """The closed state nearest to a nearly closed one, and the nearest velocities that keep it closed; lengths are
    scaled by the mechanism's size."""
    columns = mechanics.equations.steps
    for _ in range(NEWTON):
        phi, jacobian, _ = mechanics.closure(q, p=p)
        gap = float(np.abs(phi).max(initial=0.0))
        if gap <= 0.1 * CLOSED:
            break
        asked = directions(jacobian * columns, gap)
        q = mechanics.integrate(q, -columns * asked.motion(phi))
    phi, jacobian, _ = mechanics.closure(q, p=p)
    asked = directions(jacobian * columns, float(np.abs(phi).max(initial=0.0)))
    return q, v - columns * asked.motion(times(jacobian, v))


def velocities(mechanics: "Mechanics", known: Given, q: np.ndarray, xdot: np.ndarray, p=None) -> np.ndarray:
    """v of all joints from the given ones."""
    return _completed(
        mechanics, known, q, xdot, np.zeros(len(mechanics.residual(q, p=p))), np.zeros(len(known.measured)), p
    )


def slope(mechanics: "Mechanics", known: Given, q: np.ndarray, step: np.ndarray, p=None) -> np.ndarray:
    """The first-order motion of all joints for a step of the given ones; in radians and sizes."""
    return velocities(mechanics, known, q, step, p) / mechanics.equations.steps


def is_steady(moved: np.ndarray, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a step stays on its branch: where two branches cross, Newton's method may jump to the other, whose slope
    differs. before, after: slopes at the ends, for the same step."""
    long, steep = np.abs(moved).max(initial=0.0), max(np.abs(before).max(initial=0.0), np.abs(after).max(initial=0.0))
    off = np.abs(moved - 0.5 * (before + after)).max(initial=0.0)
    turned = np.abs(after - before).max(initial=0.0)
    return bool(steep < WIDEST and off <= BENT * long + NOISE and turned <= TURNED * steep + NOISE)


def accelerations(
    mechanics: "Mechanics", known: Given, q: np.ndarray, v: np.ndarray, xddot: np.ndarray, p=None
) -> np.ndarray:
    """Accelerations of all joints from the given ones."""
    return _completed(mechanics, known, q, xddot, mechanics.loop_bias(q, v, p=p), known.bias(q, v, p), p)


def _completed(mechanics: "Mechanics", known: Given, q, wanted, gamma, bias, p) -> np.ndarray:
    """x with J x = gamma, the given entries, and L x + bias = wanted for measured ones."""
    free, out, steps = _free(mechanics, known), np.zeros(mechanics.nv), mechanics.equations.steps
    out[known.at_v] = wanted[: known.tree]
    matrix = _rows(mechanics, known, q, p)
    right = np.concatenate([gamma, (wanted[known.tree :] - bias) / known.sizes(mechanics)])
    out[free] = least_squares((matrix * steps)[:, free], right - times(matrix, out), 1e-10) * steps[free]
    return out


def _rows(mechanics: "Mechanics", known: Given, q: np.ndarray, p=None) -> np.ndarray:
    """Closure rows, then rows of the measured quantities, both with lengths in sizes of the mechanism."""
    measured = known.matrix(q, mechanics.nv, p) / known.sizes(mechanics)[:, None]
    return np.vstack([mechanics.closure(q, p=p)[1], measured])


def _free(mechanics: "Mechanics", known: Given) -> np.ndarray:
    free = np.ones(mechanics.nv, dtype=bool)
    free[known.at_v] = False
    return free


# ---- along a motion --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Way:
    """A motion of named coordinates through closed states; `at(t)` gives their values, rates and accelerations."""

    mechanics: "Mechanics"
    names: tuple[str, ...]
    at: Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]
    p: np.ndarray | None = None

    @cached_property
    def known(self) -> Given:
        """The named coordinates."""
        return given(self.mechanics, self.names)

    def ordered(self, t) -> tuple[np.ndarray, ...]:
        """Values, rates and accelerations at one time or many, those of the tree first."""
        return tuple(x[..., self.known.order] for x in self.at(t))

    def begin(self, t: float, start: State | None) -> np.ndarray:
        """The closed q at the first time, on the branch of `start`; checks that the motion determines all other
        coordinates."""
        mechanics, x = self.mechanics, self.at(t)[0]
        values = dict(zip(self.names, x.tolist(), strict=True))
        near = (start or assemble(mechanics.exact, values, None, {}, None)).q
        q = place(mechanics, self.known, near, x[self.known.order], self.p)
        if q is None and self.p is not None:
            wanted = ", ".join(f"{name} = {value:g}" for name, value in values.items())
            raise NotClosed(f"the motion begins with {wanted}: with these parameters no closed state is near the start")
        if q is None:
            q = assemble(mechanics.exact, values, State(mechanics.exact, near, near), {}, None).q
        _check_determined(mechanics, self.known, q, self.names, self.p)
        return q

    def moving(self, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and a of all joints at a time."""
        _, xdot, xddot = self.ordered(t)
        v = velocities(self.mechanics, self.known, q, xdot, self.p)
        return v, accelerations(self.mechanics, self.known, q, v, xddot, self.p)

    def carried(self, q: np.ndarray, before: float, now: float, divisions: int = DIVISIONS) -> np.ndarray:
        """q at a later time, on the same branch: a step that is not steady is divided."""
        if now == before:
            return q
        mechanics, known, p, steps = self.mechanics, self.known, self.p, self.mechanics.equations.steps
        wanted = self.ordered(now)[0]
        way = wanted - self.ordered(before)[0]
        ahead = slope(mechanics, known, q, way, p)
        found = place(mechanics, known, mechanics.integrate(q, ahead * steps), wanted, p)
        if found is not None and not _left(mechanics, known, found, p):
            moved = mechanics.difference(q, found) / steps
            if is_steady(moved, ahead, slope(mechanics, known, found, way, p)):
                return found
        if divisions == 0:
            raise NotClosed(
                f"the motion cannot be followed past t = {before:.6g} s: the loops do not close beyond it, or a "
                "singular pose is met"
            )
        between = before + PART * (now - before)
        return self.carried(self.carried(q, before, between, divisions - 1), between, now, divisions - 1)


def _left(mechanics: "Mechanics", known: Given, q: np.ndarray, p=None) -> int:
    """The freedoms left at a state with the values given."""
    free = _free(mechanics, known)
    return int(free.sum()) - factors((_rows(mechanics, known, q, p) * mechanics.equations.steps)[:, free]).rank(1e-9)


def _check_determined(mechanics: "Mechanics", known: Given, q: np.ndarray, names: tuple[str, ...], p) -> None:
    left = _left(mechanics, known, q, p)
    if left:
        raise StateError(f"motion: with {', '.join(names)} given, {left} freedoms are left; give as many more")
    matrix, free = _rows(mechanics, known, q, p) * mechanics.equations.steps, _free(mechanics, known)
    rank = int(free.sum())
    over = len(known.measured) - (rank - factors(matrix[: len(matrix) - len(known.measured), free]).rank(1e-9))
    if over:
        raise StateError(
            f"motion: {', '.join(names)} cannot all be given: {over} of them follow from the others and the loops"
        )
