"""Descent: from a start downhill to a closed state, by least squares within limits and a trust criterion.

Problem. Find q with residual r(q) = 0: gaps of loops, couplings, and errors of measured values, with some velocities
held, and joints within their limits.

Must. Never step uphill. Stay within limits at every step, where limits apply. Never accept a false solution (a reversed
axis, a weld half a turn off). The same start has the same end.

Discussion. The method of K. Levenberg and D. W. Marquardt, damped according to how well the last step was predicted (J.
J. More, 1978). The step is

    s least of |J s + r|^2 + d^2 |s|^2,    low <= q + s <= high,

where entries that would leave limits stop there and the rest is solved again; a coordinate at a limit that would leave
it stays. Constrained turns are measured by half angles (`turns`), so that false solutions attract nothing. Velocities
are scaled to radians and sizes of the mechanism: nothing depends on the unit of length. A joint moves by at most a
radian, or a size, per step, since J says nothing beyond that, unless couplings tie it: gears multiply turns. Redundant
rows do no harm: steps are of least length.
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
NEARLY = 1e-7  # the same for a state closed as well as rounded numbers allow
ITERATIONS = 100
LONGEST = 1.0  # rad, or sizes: the longest step of a joint
BEGIN, LEAST, MOST = 1e-2, 1e-12, 1e6  # damping
FORETOLD = 0.25, 0.75  # of the decrease that J predicts: damp more below, less above
SLOW, WAIT = 0.9, 8  # give up on a start if this many steps leave more than this part of the residual
DENSE = 20_000  # entries including zeros: up to this many, dense elimination is faster
SMALL = 1e-3  # residuals above which SLOW applies


@dataclass(frozen=True, eq=False)
class Task:
    """What is given: q with the values put in, which velocities stay zero, the measured quantities with their targets,
    and parameters if they are not the mechanism's own.

    groups: velocities that shall be equal share a number; none if all are independent. bounded: whether free joints
    keep their limits.
    """

    q: np.ndarray
    free: np.ndarray
    measured: tuple[tuple["Measure", np.ndarray], ...]
    given: tuple[str, ...]
    p: np.ndarray | None = None
    groups: np.ndarray | None = None
    bounded: bool = False


def solve(mechanics: "Mechanics", task: Task, start: np.ndarray, left: float = 0.0) -> tuple[np.ndarray, float]:
    """The closed q downhill from a start, and its largest residual; infinite for a false solution. Beams bend only if
    loops do not close otherwise. left: the part of the start's residual that may remain."""
    if mechanics.bending.any():
        q, gap = _descended(mechanics, replace(task, free=task.free & ~mechanics.bending), start, left)
        if gap <= CLOSED:
            return q, gap
    return _descended(mechanics, task, start, left)


@dataclass(frozen=True, eq=False)
class _Here:
    """A state, its residual with turns by half angles, the scaled J, the largest gap, and whether loops are closed the
    right way."""

    q: np.ndarray
    error: np.ndarray
    jacobian: Matrix
    gap: float
    upright: bool

    @property
    def cost(self) -> float:
        return float(dot(self.error, self.error))

    def short_of(self, wanted: np.ndarray) -> "_Here":
        """The same state with the residual `wanted` taken as zero."""
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
    """Whether the descent converges to a state that is not closed."""
    return gap > SMALL and len(costs) > WAIT and costs[-1] > SLOW**2 * costs[-1 - WAIT]


def _at(mechanics: "Mechanics", task: Task, q: np.ndarray, units: np.ndarray, turns: tuple[Turn, ...]) -> _Here:
    error, jacobian, upright = equations(mechanics, task, q)
    gap = float(np.abs(error).max(initial=0.0))
    error, jacobian = by_half_angles(turns, error, jacobian, upright)
    return _Here(q, error, scaled(jacobian, units), gap, bool((upright > 0).all()))


def _step(task: Task, room: tuple[np.ndarray, np.ndarray], at: _Here, damping: float) -> np.ndarray:
    """The least damped step of the free velocities within limits."""
    if task.groups is not None:
        return by_steps(tied(at.jacobian, task.groups), -at.error, damping)[task.groups]
    return bounded(at.jacobian, -at.error, damping, task.free, *room)


def bounded(
    matrix: Matrix, right: np.ndarray, damping: float, free: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """x that (nearly) minimizes |matrix x - right|^2 + damping^2 |x|^2, with low <= 0 <= high around its entries;
    entries that are not free are zero. An entry that would leave its bounds is fixed there for good."""
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
    """The largest residual at a state; infinite if loops are closed the wrong way."""
    phi, _, upright = closure_at(mechanics, q)
    return float(np.abs(phi).max(initial=0.0)) if (upright > 0).all() else np.inf


def coupled(mechanics: "Mechanics") -> np.ndarray:
    """Which velocities are in couplings."""
    found = np.zeros(mechanics.nv, dtype=bool)
    for each in (*mechanics.topology.couplings, *mechanics.topology.sprung):
        found[list(each.v)] = True
    return found


# ---- products, sums in order -----------------------------------------------------------------------------


def by_steps(matrix: Matrix, right: np.ndarray, damping: float) -> np.ndarray:
    """x that minimizes |matrix x - right|^2 + damping^2 |x|^2; further steps correct it."""
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
