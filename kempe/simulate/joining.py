"""Joining: where joints are switched on, loops are closed, and a plastic impulse makes velocities consistent.

Of all small moves s with J s = -phi the one of least s^T M s closes the loops, step by step; where they are far apart,
they are assembled from there. Of all velocities with J v = 0, those after the impulse are the nearest in the same
measure (Gauss):

    v+ = v + M^-1 J^T Lam,    J M^-1 J^T Lam = -J v,    T(v) - T(v+) = T(v - v+),

so that the energy lost is that of the velocity the impulses Lam take away. Nothing else acts in no time. Redundant
equations leave Lam open; the least is taken.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kempe.analyze.assembly import CLOSED
from kempe.errors import KempeError, NotClosed
from kempe.model.model import Model
from kempe.model.state import State
from kempe.simulate.locks import Lock

RANK = 1e-12  # of J M^-1 J^T: singular value beside the largest, below which an equation follows from others
NOTHING = 1e-22  # entry of its diagonal beside the largest, where rows vanish but for rounding
STEPS, LONGEST = 60, 0.3  # of Newton's method, and how far anything moves in one: rad, or sizes of the mechanism


@dataclass(frozen=True, eq=False)
class Joined:
    """A state whose loops are closed and stay so.

    gap [m]: how far they were from closed; lost [J]: kinetic energy, by the impulse; moved [J]: energy that closing
    the gap took or gave. impulses: [N m s; N s] of every joint on its second body, at marker b in its axes. held: what
    locks take, along their freedoms.
    """

    q: np.ndarray
    v: np.ndarray
    gap: float
    lost: float
    moved: float
    impulses: Mapping[str, np.ndarray]
    held: np.ndarray


@dataclass(frozen=True, eq=False)
class Constraints:
    """What holds in a structure, by the functions of the model in which all switchable joints are on: the rows of those
    that are, and the freedoms that are locked."""

    whole: Model
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

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """What is left of closing, how it changes with v, and whether everything is closed as it should be."""
        phi, jacobian, upright = self.whole.closure(q, p=self.p)
        held = np.zeros((len(self.locks), self.whole.nv))
        for row, lock in zip(held, self.locks, strict=True):
            row[lock.limit.v] = 1.0
        off = np.array([q[lock.limit.q] - lock.value for lock in self.locks])
        upright = bool((upright[self.active] > 0).all())
        return np.concatenate([phi[self.rows], off]), np.vstack([jacobian[self.rows], held]), upright

    def gap(self, q: np.ndarray) -> float:
        """How far loops are from closed [m]; turns count by the mechanism's size."""
        phi = np.abs(self.whole.residual(q, p=self.p)[self.rows])
        away = [abs(q[lock.limit.q] - lock.value) for lock in self.locks]
        return max(float(phi.max(initial=0.0)) * self.whole.equations.closure_size, *away, 0.0)


def joined(holds: Constraints, structure: Callable[[], Model], q: np.ndarray, v: np.ndarray) -> Joined:
    """The state after loops were closed, from one in which they were not; raises `NotClosed` where no pose closes
    them. structure: gives the model with these loops, for assembling."""
    whole, p, gap = holds.whole, holds.p, holds.gap(q)
    before = sum(whole.energy(q, v, p=p))
    if gap > CLOSED * whole.equations.closure_size:
        q = closed(holds, structure, q)
    rows, inertia = holds.at(q)[1], whole.mass_matrix(q, p=p)
    effort, change = _least(rows, inertia, -rows @ v)
    more, rest = _least(rows, inertia, -rows @ (v + change))  # what rounding has left
    effort, change = effort + more, change + rest
    lam, count = np.zeros(len(holds.rows)), len(effort) - len(holds.locks)
    lam[holds.rows] = effort[:count]
    still = np.zeros(whole.nv)
    wrenches = whole.call("joint_wrenches", q, still, change, lam, p=p)
    wrenches = wrenches - whole.call("joint_wrenches", q, still, still, 0 * lam, p=p)
    named = dict(zip(whole.joint_names, wrenches, strict=True))
    moved = float(sum(whole.energy(q, v, p=p)) - before)
    lost = 0.5 * float(change @ inertia @ change)
    return Joined(q, v + change, gap, lost, moved, {n: w for n, w in named.items() if w.any()}, effort[count:])


def closed(holds: Constraints, structure: Callable[[], Model], q: np.ndarray) -> np.ndarray:
    """The nearest closed q, by small moves, or else by assembling from there."""
    whole, p, start = holds.whole, holds.p, q
    far = LONGEST * max(1.0, whole.equations.closure_size)
    for _ in range(STEPS):
        phi, rows, upright = holds.at(q)
        if np.abs(phi).max(initial=0.0) <= 0.1 * CLOSED:
            if upright:
                return q
            break
        step = _least(rows, whole.mass_matrix(q, p=p), -phi)[1]
        q = _moved(whole, q, step * min(1.0, far / np.abs(step).max(initial=1e-300)), p)
    if p is None and not holds.locks:
        try:
            return structure().assemble(near=State(whole, start, np.zeros(whole.nv))).q
        except KempeError:
            pass
    raise NotClosed(
        f"{', '.join(sorted(holds.on))} cannot be closed from here: the ends are {holds.gap(start):.3g} m apart, and "
        "no pose that was found brings them together"
    )


def _moved(model: Model, q: np.ndarray, step: np.ndarray, p) -> np.ndarray:
    """q after a small move, to first order, on its manifold."""
    q = q + model.rates(q, step, p=p)
    for t in model.topology.tree:
        if len(t.joint.type.q_names) != len(t.joint.type.v_names):
            turn = q[t.q.start : t.q.start + 4]
            turn /= np.sqrt(turn @ turn)
    return q


def _least(rows: np.ndarray, inertia: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Efforts along rows, and the velocities x they give a mechanism at rest, with J x as wanted, or as near as can
    be."""
    try:
        carried = np.linalg.solve(inertia, rows.T)
    except np.linalg.LinAlgError:  # bodies without inertia, that other joints carry along
        carried = np.linalg.lstsq(inertia, rows.T, rcond=None)[0]
    gicm = rows @ carried
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(gicm), NOTHING * gicm.max(initial=1e-300)))
    efforts = scale * np.linalg.lstsq(gicm * np.outer(scale, scale), scale * wanted, rcond=RANK)[0]
    return efforts, carried @ efforts
