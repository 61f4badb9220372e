"""Joining: when joints are switched on, loops are closed, and a plastic impulse makes velocities consistent.

Of all small motions s with J s = -phi, the one of least s^T M s closes the loops, step by step; if they are far apart,
they are assembled from there. Of all velocities with J v = 0, those after the impulse are the nearest in the same
metric (Gauss):

    v+ = v + dv,    J dv = -J v,    dv^T M dv least,    M dv = J^T Lam,    T(v) - T(v+) = T(dv),

so that the lost energy is that of the velocity which the impulses Lam remove. Finite forces do nothing in no time.
Redundant equations leave Lam undetermined; the least is taken. `rank` decides which directions J spans, on
dimensionless rows and velocities: a gap in any other direction is rounding, or cannot be closed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from kempe.arithmetic.sums import norm, times
from kempe.dynamics.rows import ROWS
from kempe.errors import KempeError, NotClosed
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.assembly import CLOSED, NEARLY
from kempe.loops.rank import Directions, Nearest, directions
from kempe.mechanics.state import State
from kempe.simulate.locks import Lock

STEPS, LONGEST = 60, 0.3  # Newton steps, and the longest motion in one: rad, or sizes of the mechanism
STALLED = 0.5  # a step that leaves more than this of a slight gap closes nothing
SMALL = 1e-5  # of the mechanism's size: shorter levers are not used as scales
NO_IMPACT = 1e-9  # of the largest velocity: changes by rounding, and by gaps that limits leave


@dataclass(frozen=True, eq=False)
class Joined:
    """A state with loops closed, and velocities that keep them closed.

    gap [m]: how far they were open; lost [J]: kinetic energy, by the impulse; moved [J]: energy that closing the gap
    absorbed or released. impulses: [N m s; N s] of every joint on its second body, at marker b in its axes. held:
    impulses of locks along their freedoms, zero where they are rounding. struck: whether velocities changed.
    """

    q: np.ndarray
    v: np.ndarray
    gap: float
    lost: float
    moved: float
    impulses: Mapping[str, np.ndarray]
    held: np.ndarray
    struck: bool


@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints of a structure, from the functions of the model with all switchable joints on: the rows of those
    that are on, and the locked freedoms."""

    whole: Kinetics
    on: frozenset[str]
    locks: Sequence[Lock] = ()
    p: np.ndarray | None = None
    stay: bool = True  # whether it includes loops that cannot be switched

    @cached_property
    def active(self) -> np.ndarray:
        """Which of all loops are on."""
        joints = (loop.joint for loop in self.whole.topology.loops)
        return np.array([x.name in self.on or (self.stay and not x.switchable) for x in joints], dtype=bool)

    @cached_property
    def rows(self) -> np.ndarray:
        """Which rows of loops and couplings are on."""
        found = np.repeat(self.active, [loop.joint.rows for loop in self.whole.topology.loops])
        return np.concatenate([found, np.full(len(self.whole.topology.couplings), self.stay)])

    @cached_property
    def columns(self) -> np.ndarray:
        """The unit of each velocity, to make it dimensionless."""
        return self.whole.equations.steps

    @cached_property
    def units(self) -> np.ndarray:
        """The same for all rows: lengths in closures are already scaled, those in couplings are not."""
        size, topology = self.whole.equations.closure_size, self.whole.topology
        closures = sum(loop.joint.rows for loop in topology.loops)
        tied = [size if each.coupling.unit == "m" else 1.0 for each in topology.couplings]
        locked = [lock.size for lock in self.locks]
        return np.concatenate([np.concatenate([np.ones(closures), tied])[self.rows], locked])

    @cached_property
    def places(self) -> list[np.ndarray]:
        """For every closure that is on, its rows that constrain positions."""
        first, found = 0, []
        for loop, on in zip(self.whole.topology.loops, self.active, strict=True):
            count = len(ROWS[loop.joint.type].places)
            if on and count:
                found.append(np.arange(first, first + count))
            first += loop.joint.rows if on else 0
        return found

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """The residual, its Jacobian on v, and whether everything is closed the right way."""
        phi, jacobian, upright = self.whole.closure(q, p=self.p)
        held = np.zeros((len(self.locks), self.whole.nv))
        for row, lock in zip(held, self.locks, strict=True):
            row[lock.limit.v] = 1.0
        off = np.array([q[lock.limit.q] - lock.value for lock in self.locks])
        upright = bool((upright[self.active] > 0).all())
        return np.concatenate([phi[self.rows], off]), np.vstack([jacobian[self.rows], held]), upright

    def opened(self, phi: np.ndarray) -> float:
        """The largest entry of the residual, dimensionless."""
        return float(np.abs(phi / self.units).max(initial=0.0))

    def measured(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dimensionless rows, over their natural sizes, and their divisors: levers of a small loop in a large mechanism
        are short."""
        by = self.units.copy()
        rows = rows * self.columns / by[:, None]
        for own in self.places:
            longest = np.abs(rows[own]).max()
            if longest > SMALL:
                rows[own] /= longest
                by[own] *= longest
        return rows, by

    def gap(self, q: np.ndarray) -> float:
        """How far loops are open [m]; turns count by the mechanism's size."""
        phi = np.abs(self.whole.residual(q, p=self.p)[self.rows])
        away = [abs(q[lock.limit.q] - lock.value) for lock in self.locks]
        return max(float(phi.max(initial=0.0)) * self.whole.equations.closure_size, *away, 0.0)


@dataclass(frozen=True, eq=False)
class Moves:
    """Motions that constraints require at a state, in the metric of the inertia; by: natural sizes of their rows."""

    holds: Constraints
    asked: Directions
    by: np.ndarray
    inertia: np.ndarray

    @cached_property
    def nearest(self) -> Nearest:
        """The least motions with the required components."""
        return Nearest(self.asked, self.inertia)

    def step(self, wanted: np.ndarray, largest: float = inf) -> np.ndarray:
        """The least x with J x = wanted, in directions that count; shortened if a dimensionless entry would exceed
        `largest`."""
        found = self.nearest(wanted / self.by)
        return self.holds.columns * found * min(1.0, largest / np.abs(found).max(initial=1e-300))

    def efforts(self, change: np.ndarray) -> np.ndarray:
        """The least efforts along the rows of J for this change of velocities; forces times the mechanism's size beside
        moments."""
        units = self.holds.units  # efforts along scaled rows are `by` times those along rows of J
        forces = times(self.inertia, change / self.holds.columns)
        return self.asked.efforts(forces, self.by / units) / self.by


def moves(holds: Constraints, q: np.ndarray, phi: np.ndarray, rows: np.ndarray) -> Moves:
    """At q, with phi and J there."""
    measured, by = holds.measured(rows)
    inertia = holds.whole.mass_matrix(q, p=holds.p) * np.outer(holds.columns, holds.columns)
    return Moves(holds, directions(measured, float(np.abs(phi / by).max(initial=0.0))), by, inertia)


def joined(holds: Constraints, structure: Callable[[], Kinetics], q: np.ndarray, v: np.ndarray) -> Joined:
    """The state after closing open loops; raises `NotClosed` if no pose closes them. structure: returns the model with
    these loops, for assembling."""
    whole, p, gap = holds.whole, holds.p, holds.gap(q)
    before = sum(whole.energy(q, v, p=p))
    phi, rows, _ = holds.at(q)
    if holds.opened(phi) > CLOSED:
        q = closed(holds, structure, q)
        phi, rows, _ = holds.at(q)
    found = moves(holds, q, phi, rows)
    change = found.step(-times(rows, v))
    change = change + found.step(-times(rows, v + change))  # what rounding has left
    effort, inertia = found.efforts(change), whole.mass_matrix(q, p=p)
    lam, count = np.zeros(len(holds.rows)), len(effort) - len(holds.locks)
    lam[holds.rows] = effort[:count]
    still = np.zeros(whole.nv)
    wrenches = whole.call("joint_wrenches", q, still, change, lam, p=p)
    wrenches = wrenches - whole.call("joint_wrenches", q, still, still, 0 * lam, p=p)
    named = dict(zip(whole.joint_names, wrenches, strict=True))
    moved = float(sum(whole.energy(q, v, p=p)) - before)
    lost = 0.5 * float(times(change, times(inertia, change)))
    at = [lock.limit.v for lock in holds.locks]
    carried = times(np.abs(inertia), np.abs(v))[at]  # momentum, the scale for impulses of locks
    held = np.where(np.abs(effort[count:]) > NO_IMPACT * carried, effort[count:], 0.0)
    struck = bool(np.abs(change / holds.columns).max() > NO_IMPACT * np.abs(v / holds.columns).max())
    return Joined(q, v + change, gap, lost, moved, {n: w for n, w in named.items() if w.any()}, held, struck)


def closed(holds: Constraints, structure: Callable[[], Kinetics], q: np.ndarray) -> np.ndarray:
    """The nearest closed q, by small motions, or else by assembling from there. A gap that no small motion closes, but
    as slight as rounded numbers cause, is left."""
    whole, p, start, best = holds.whole, holds.p, q, inf
    for _ in range(STEPS):
        phi, rows, upright = holds.at(q)
        gap = holds.opened(phi)
        if gap <= 0.1 * CLOSED or (gap <= NEARLY and gap > STALLED * best):
            if upright:
                return q
            break
        best = min(best, gap)
        q = _moved(whole, q, moves(holds, q, phi, rows).step(-phi, LONGEST), p)
    if p is None and not holds.locks:
        try:
            return structure().assemble(near=State(whole, start, np.zeros(whole.nv))).q
        except KempeError:
            pass
    raise NotClosed(
        f"{', '.join(sorted(holds.on))} cannot be closed from here: the ends are {holds.gap(start):.3g} m apart, and "
        "no pose that was found brings them together"
    )


def _moved(model: Kinetics, q: np.ndarray, step: np.ndarray, p) -> np.ndarray:
    """q after a small motion, to first order, on its manifold."""
    q = q + model.rates(q, step, p=p)
    for t in model.topology.tree:
        if len(t.joint.type.q_names) != len(t.joint.type.v_names):
            turn = q[t.q.start : t.q.start + 4]
            turn /= norm(turn)
    return q
