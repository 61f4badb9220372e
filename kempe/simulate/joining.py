"""Joining: where joints are switched on, loops are closed, and a plastic impulse makes velocities consistent.

Of all small moves s with J s = -phi the one of least s^T M s closes the loops, step by step; where they are far apart,
they are assembled from there. Of all velocities with J v = 0, those after the impulse are the nearest in the same
measure (Gauss):

    v+ = v + dv,    J dv = -J v,    dv^T M dv least,    M dv = J^T Lam,    T(v) - T(v+) = T(dv),

so that the energy lost is that of the velocity the impulses Lam take away. Nothing else acts in no time. Redundant
equations leave Lam open; the least is taken. Which directions J asks for is decided by `rank`, on rows and velocities
without units: what is left of a gap in all other directions is rounding, or cannot be closed.
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

STEPS, LONGEST = 60, 0.3  # of Newton's method, and how far anything moves in one: rad, or sizes of the mechanism
STALLED = 0.5  # a step that leaves more than this of a slight gap closes nothing
SMALL = 1e-5  # of the mechanism's size: loops whose levers are shorter are not measured by these
NO_IMPACT = 1e-9  # of the largest velocity: what rounding, and gaps that limits leave, change


@dataclass(frozen=True, eq=False)
class Joined:
    """A state whose loops are closed and stay so.

    gap [m]: how far they were from closed; lost [J]: kinetic energy, by the impulse; moved [J]: energy that closing
    the gap took or gave. impulses: [N m s; N s] of every joint on its second body, at marker b in its axes. held: what
    locks take, along their freedoms, zero where that is rounding. struck: whether velocities changed.
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
    """What holds in a structure, by the functions of the model in which all switchable joints are on: the rows of those
    that are, and the freedoms that are locked."""

    whole: Kinetics
    on: frozenset[str]
    locks: Sequence[Lock] = ()
    p: np.ndarray | None = None
    stay: bool = True  # whether loops that cannot be switched are among them

    @cached_property
    def active(self) -> np.ndarray:
        """Of all loops, those that are on."""
        joints = (loop.joint for loop in self.whole.topology.loops)
        return np.array([x.name in self.on or (self.stay and not x.switchable) for x in joints], dtype=bool)

    @cached_property
    def rows(self) -> np.ndarray:
        """Of all rows of loops and couplings, theirs."""
        found = np.repeat(self.active, [loop.joint.rows for loop in self.whole.topology.loops])
        return np.concatenate([found, np.full(len(self.whole.topology.couplings), self.stay)])

    @cached_property
    def columns(self) -> np.ndarray:
        """What makes each velocity a number without unit."""
        return self.whole.equations.steps

    @cached_property
    def units(self) -> np.ndarray:
        """The same for all rows: lengths of closures are measured by the size already, those of ties are not."""
        size, topology = self.whole.equations.closure_size, self.whole.topology
        closures = sum(loop.joint.rows for loop in topology.loops)
        tied = [size if each.coupling.unit == "m" else 1.0 for each in topology.couplings]
        locked = [lock.size for lock in self.locks]
        return np.concatenate([np.concatenate([np.ones(closures), tied])[self.rows], locked])

    @cached_property
    def places(self) -> list[np.ndarray]:
        """Of every closure that is on, its rows that hold places."""
        first, found = 0, []
        for loop, on in zip(self.whole.topology.loops, self.active, strict=True):
            count = len(ROWS[loop.joint.type].places)
            if on and count:
                found.append(np.arange(first, first + count))
            first += loop.joint.rows if on else 0
        return found

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """What is left of closing, how it changes with v, and whether everything is closed as it should be."""
        phi, jacobian, upright = self.whole.closure(q, p=self.p)
        held = np.zeros((len(self.locks), self.whole.nv))
        for row, lock in zip(held, self.locks, strict=True):
            row[lock.limit.v] = 1.0
        off = np.array([q[lock.limit.q] - lock.value for lock in self.locks])
        upright = bool((upright[self.active] > 0).all())
        return np.concatenate([phi[self.rows], off]), np.vstack([jacobian[self.rows], held]), upright

    def opened(self, phi: np.ndarray) -> float:
        """The largest entry of what is left of closing, without unit."""
        return float(np.abs(phi / self.units).max(initial=0.0))

    def measured(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows without units, over their natural sizes, and what they were divided by: levers of a small loop in a
        large mechanism are short."""
        by = self.units.copy()
        rows = rows * self.columns / by[:, None]
        for own in self.places:
            longest = np.abs(rows[own]).max()
            if longest > SMALL:
                rows[own] /= longest
                by[own] *= longest
        return rows, by

    def gap(self, q: np.ndarray) -> float:
        """How far loops are from closed [m]; turns count by the mechanism's size."""
        phi = np.abs(self.whole.residual(q, p=self.p)[self.rows])
        away = [abs(q[lock.limit.q] - lock.value) for lock in self.locks]
        return max(float(phi.max(initial=0.0)) * self.whole.equations.closure_size, *away, 0.0)


@dataclass(frozen=True, eq=False)
class Moves:
    """Motions that constraints ask for at a state, measured by the inertia; by: natural sizes of their rows."""

    holds: Constraints
    asked: Directions
    by: np.ndarray
    inertia: np.ndarray

    @cached_property
    def nearest(self) -> Nearest:
        """The least of all that do as directions ask."""
        return Nearest(self.asked, self.inertia)

    def step(self, wanted: np.ndarray, largest: float = inf) -> np.ndarray:
        """The least x with J x = wanted, in directions that count; the same way, but shorter, where an entry would be
        larger, without its unit, than that."""
        found = self.nearest(wanted / self.by)
        return self.holds.columns * found * min(1.0, largest / np.abs(found).max(initial=1e-300))

    def efforts(self, change: np.ndarray) -> np.ndarray:
        """The least along the rows of J that change velocities so; forces times the mechanism's size beside moments."""
        units = self.holds.units  # efforts along measured rows are `by` times those along rows of J
        forces = times(self.inertia, change / self.holds.columns)
        return self.asked.efforts(forces, self.by / units) / self.by


def moves(holds: Constraints, q: np.ndarray, phi: np.ndarray, rows: np.ndarray) -> Moves:
    """At q, with phi and J there."""
    measured, by = holds.measured(rows)
    inertia = holds.whole.mass_matrix(q, p=holds.p) * np.outer(holds.columns, holds.columns)
    return Moves(holds, directions(measured, float(np.abs(phi / by).max(initial=0.0))), by, inertia)


def joined(holds: Constraints, structure: Callable[[], Kinetics], q: np.ndarray, v: np.ndarray) -> Joined:
    """The state after loops were closed, from one in which they were not; raises `NotClosed` where no pose closes
    them. structure: gives the model with these loops, for assembling."""
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
    carried = times(np.abs(inertia), np.abs(v))[at]  # momentum that impulses of locks are beside
    held = np.where(np.abs(effort[count:]) > NO_IMPACT * carried, effort[count:], 0.0)
    struck = bool(np.abs(change / holds.columns).max() > NO_IMPACT * np.abs(v / holds.columns).max())
    return Joined(q, v + change, gap, lost, moved, {n: w for n, w in named.items() if w.any()}, held, struck)


def closed(holds: Constraints, structure: Callable[[], Kinetics], q: np.ndarray) -> np.ndarray:
    """The nearest closed q, by small moves, or else by assembling from there. What no small move closes, and is as
    slight as rounded numbers make it, stays as it is."""
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
    """q after a small move, to first order, on its manifold."""
    q = q + model.rates(q, step, p=p)
    for t in model.topology.tree:
        if len(t.joint.type.q_names) != len(t.joint.type.v_names):
            turn = q[t.q.start : t.q.start + 4]
            turn /= norm(turn)
    return q
