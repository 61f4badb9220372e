"""Descent: from a start downhill to a closed state, by least squares within limits, in steps that can be trusted.

Problem. Find q that makes the residual r(q) zero: gaps of loops, couplings, and what measured values are off by, with
some velocities held, and joints within their limits.

Must. Never a step uphill. Within limits at every step, where limits are asked for. A false solution (an axis turned
around, half a turn of a weld) is none. The same start has the same end.

Discussion. K. Levenberg's and D. W. Marquardt's method, damped by how well the last step was foretold (J. J. More,
1978). Of a step

    s least of |J s + r|^2 + d^2 |s|^2,    low <= q + s <= high,

what would leave limits stops there, and the rest is found again; what is at a limit and would leave it stays. Turns
that joints hold count by half angles (`turns`), so that false solutions attract nothing. Velocities are measured in
radians and sizes of the mechanism: nothing depends on the unit of length. A joint moves by a radian, or a size, in a
step at most, since J says nothing beyond that, unless couplings tie it: gears multiply turns. Redundant rows do no
harm: steps are those of least length.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.definite import damped_by_squares
from kempe.arithmetic.sums import dot, times
from kempe.loops.limits import bounds_of
from kempe.loops.matrices import Entries, Matrix, closure_at, damped, of_columns, scaled, stacked, tied
from kempe.loops.turns import Turn, by_half_angles, turns_of

if TYPE_CHECKING:
    from kempe.loops.targets import Measure
    from kempe.mechanics.mechanics import Mechanics

CLOSED = 1e-13  # largest residual of a closed state, lengths over the mechanism's size
NEARLY = 1e-7  # the same of one that is as closed as rounded numbers let it be
ITERATIONS = 100
LONGEST = 1.0  # rad, or sizes: how far a joint moves in a step
BEGIN, LEAST, MOST = 1e-2, 1e-12, 1e6  # damping
FORETOLD = 0.25, 0.75  # of the decrease that J foretells: damp more below, less above
SLOW, WAIT = 0.9, 8  # a start is given up where so many steps leave more than this part of the residual
DENSE = 20_000  # entries with zeros: up to so many, elimination takes less time where all are there
SMALL = 1e-3  # residuals above which it is


@dataclass(frozen=True, eq=False)
class Task:
    """What is given: q with the values put in, which velocities stay zero, and what is measured, with its targets; and
    parameters, where they are not the mechanism's own.

    groups: of velocities that shall be equal, a number for each velocity; none where each is by itself. bounded:
    whether free joints keep their limits.
    """

    q: np.ndarray
    free: np.ndarray
    measured: tuple[tuple["Measure", np.ndarray], ...]
    given: tuple[str, ...]
    p: np.ndarray | None = None
    groups: np.ndarray | None = None
    bounded: bool = False


def solve(mechanics: "Mechanics", task: Task, start: np.ndarray, left: float = 0.0) -> tuple[np.ndarray, float]:
    """The closed q that lies downhill from a start, and the largest entry that is left; infinite for a false solution.
    Beams are bent where loops do not close otherwise. left: the part of the residual at the start that may stay."""
    if mechanics.bending.any():
        q, gap = _descended(mechanics, replace(task, free=task.free & ~mechanics.bending), start, left)
        if gap <= CLOSED:
            return q, gap
    return _descended(mechanics, task, start, left)


@dataclass(frozen=True, eq=False)
class _Here:
    """A state, its residual with turns by half angles, their J by steps that are usual, the largest gap, and whether
    loops are closed as they should be."""

    q: np.ndarray
    error: np.ndarray
    jacobian: Matrix
    gap: float
    upright: bool

    @property
    def cost(self) -> float:
        return float(dot(self.error, self.error))

    def short_of(self, wanted: np.ndarray) -> "_Here":
        """With a residual that is wanted taken for none."""
        error = self.error - wanted
        return replace(self, error=error, gap=float(np.abs(error).max(initial=0.0))) if wanted.any() else self


def _descended(mechanics: "Mechanics", task: Task, start: np.ndarray, left: float) -> tuple[np.ndarray, float]:
    units, bounds = mechanics.equations.steps, bounds_of(mechanics, task.free if task.bounded else None)
    uncoupled, turns = ~coupled(mechanics), turns_of(mechanics)
    at, damping, costs = _at(mechanics, task, bounds.kept(start), units, turns), BEGIN, []
    wanted = left * at.error
    at = at.short_of(wanted)
    for _ in range(ITERATIONS):
        cost = at.cost
        costs.append(cost)
        if at.gap <= 0.1 * CLOSED or _hopeless(costs, at.gap):
            break
        step = _step(task, bounds.around(at.q, units), at, damping)
        longest = float(np.abs(step[uncoupled]).max(initial=0.0))
        if longest > LONGEST:
            step = step * (LONGEST / longest)
        ahead = at.error + across(at.jacobian, step)
        foretold = cost - float(dot(ahead, ahead))
        trial = _at(mechanics, task, bounds.kept(mechanics.integrate(at.q, step * units)), units, turns).short_of(
            wanted
        )
        gained = cost - trial.cost
        if gained > 0.0:
            at = trial
        if gained < FORETOLD[0] * foretold:
            if gained <= 0.0 and (at.gap <= CLOSED or damping > MOST or np.abs(step).max(initial=0.0) < 1e-16):
                break
            damping *= 10 if gained <= 0.0 else 4
        elif gained > FORETOLD[1] * foretold:
            damping = max(0.1 * damping, LEAST)
    return at.q, at.gap if at.upright else np.inf


def _hopeless(costs: list[float], gap: float) -> bool:
    """Whether it goes on to somewhere that is not closed."""
    return gap > SMALL and len(costs) > WAIT and costs[-1] > SLOW**2 * costs[-1 - WAIT]


def _at(mechanics: "Mechanics", task: Task, q: np.ndarray, units: np.ndarray, turns: tuple[Turn, ...]) -> _Here:
    error, jacobian, upright = equations(mechanics, task, q)
    gap = float(np.abs(error).max(initial=0.0))
    error, jacobian = by_half_angles(turns, error, jacobian, upright)
    return _Here(q, error, scaled(jacobian, units), gap, bool((upright > 0).all()))


def _step(task: Task, room: tuple[np.ndarray, np.ndarray], at: _Here, damping: float) -> np.ndarray:
    """Downhill by free velocities, within limits; of those that do it, the least."""
    if task.groups is not None:
        return by_steps(tied(at.jacobian, task.groups), -at.error, damping)[task.groups]
    return bounded(at.jacobian, -at.error, damping, task.free, *room)


def bounded(
    matrix: Matrix, right: np.ndarray, damping: float, free: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """x that makes |matrix x - right|^2 + damping^2 |x|^2 least, or nearly, with low <= 0 <= high around its entries;
    those that are not free are zero. An entry that would be outside stays where it would leave, and is not looked at
    again."""
    x, slope = np.zeros(len(free)), against(matrix, right)
    moving = free & ~((low >= 0.0) & (slope < 0.0)) & ~((high <= 0.0) & (slope > 0.0))
    while moving.any():
        found = x.copy()
        found[moving] = by_steps(of_columns(matrix, moving), right - across(matrix, x), damping)
        stopped = np.clip(found, low, high)
        beyond = moving & (found != stopped)
        if not beyond.any():
            return found
        x[beyond], moving = stopped[beyond], moving & ~beyond
    return x


# ---- residual and J --------------------------------------------------------------------------------------


def equations(mechanics: "Mechanics", task: Task, q: np.ndarray) -> tuple[np.ndarray, Matrix, np.ndarray]:
    """r, its J, and for each loop a number that is positive unless it is closed the wrong way."""
    phi, jacobian, upright = closure_at(mechanics, q, task.p)
    off = [measure.off(q, target, task.p) for measure, target in task.measured]
    rows = [measure.matrix(q, task.p) for measure, _ in task.measured]
    return np.concatenate([phi, *off]), stacked(jacobian, rows), upright


def gap_at(mechanics: "Mechanics", q: np.ndarray) -> float:
    """The largest residual at a state; infinite where loops are closed the wrong way."""
    phi, _, upright = closure_at(mechanics, q)
    return float(np.abs(phi).max(initial=0.0)) if (upright > 0).all() else np.inf


def coupled(mechanics: "Mechanics") -> np.ndarray:
    """Which velocities couplings tie."""
    found = np.zeros(mechanics.nv, dtype=bool)
    for each in (*mechanics.topology.couplings, *mechanics.topology.sprung):
        found[list(each.v)] = True
    return found


# ---- products, sums in order -----------------------------------------------------------------------------


def by_steps(matrix: Matrix, right: np.ndarray, damping: float) -> np.ndarray:
    """x that makes |matrix x - right|^2 + damping^2 |x|^2 least; further steps correct it."""
    if isinstance(matrix, Entries):
        if matrix.shape[0] * matrix.shape[1] > DENSE:
            return damped(matrix, right, damping)
        matrix = matrix.dense()
    return damped_by_squares(matrix, right, damping)


def across(matrix: Matrix, x: np.ndarray) -> np.ndarray:
    """Matrix times vector."""
    return matrix @ x if isinstance(matrix, Entries) else times(matrix, x)


def against(matrix: Matrix, x: np.ndarray) -> np.ndarray:
    """Transposed matrix times vector."""
    if isinstance(matrix, Entries):
        return np.bincount(matrix.columns, matrix.values * x[matrix.rows], matrix.shape[1])
    return times(x, matrix)
