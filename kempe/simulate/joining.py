"""Joining: where joints are switched on, loops are closed, and a plastic impulse makes velocities consistent.

Of all small moves s with J s = -phi the one of least s^T M s closes the loops, step by step; where they are far apart,
they are assembled from there. Of all velocities with J v = 0, those after the impulse are the nearest in the same
measure (Gauss): with the columns of W for what J allows,

    v+ = W (W^T M W)^-1 W^T M v,    M (v+ - v) = J^T Lam,    T(v) - T(v+) = T(v - v+),

so that the energy lost is that of the velocity the impulses Lam take away. Nothing else acts in no time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kempe.analyze.assembly import CLOSED
from kempe.analyze.freedom import column_scales
from kempe.dynamics.rows import count_of
from kempe.errors import KempeError, NotClosed
from kempe.model.model import Model
from kempe.model.state import State
from kempe.simulate.locks import Lock

RANK = 1e-9  # singular value beside the largest, below which an equation follows from others
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
        """Of all rows of loops, theirs."""
        return np.repeat(self.active, [count_of(loop.joint.type) for loop in self.whole.topology.loops])

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
        return float(phi.max(initial=0.0)) * self.whole.equations.closure_size


def joined(holds: Constraints, structure: Callable[[], Model], q: np.ndarray, v: np.ndarray) -> Joined:
    """The state after loops were closed, from one in which they were not; raises `NotClosed` where no pose closes
    them. structure: gives the model with these loops, for assembling."""
    whole, p, gap = holds.whole, holds.p, holds.gap(q)
    before = sum(whole.energy(q, v, p=p))
    if gap > CLOSED * whole.equations.closure_size:
        q = closed(holds, structure, q)
    rows, inertia = holds.at(q)[1], whole.mass_matrix(q, p=p)
    allowed, _ = _spaces(whole, rows)
    after = allowed @ _least(allowed.T @ inertia @ allowed, allowed.T @ inertia @ v)
    change = after - v
    effort = np.linalg.lstsq(rows.T, inertia @ change, rcond=RANK)[0]
    lam, count = np.zeros(len(holds.rows)), len(effort) - len(holds.locks)
    lam[holds.rows] = effort[:count]
    rest = np.zeros(whole.nv)
    wrenches = whole.call("joint_wrenches", q, rest, change, lam, p=p)
    wrenches = wrenches - whole.call("joint_wrenches", q, rest, rest, 0 * lam, p=p)
    named = dict(zip(whole.joint_names, wrenches, strict=True))
    moved = float(sum(whole.energy(q, v, p=p)) - before)
    lost = 0.5 * float(change @ inertia @ change)
    return Joined(q, after, gap, lost, moved, {n: w for n, w in named.items() if w.any()}, effort[count:])


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
        inertia = whole.mass_matrix(q, p=p)
        allowed, back = _spaces(whole, rows)
        step = -back @ phi
        step -= allowed @ _least(allowed.T @ inertia @ allowed, allowed.T @ inertia @ step)
        q = whole.integrate(q, step * min(1.0, far / np.abs(step).max(initial=1e-300)))
    if p is None and not holds.locks:
        try:
            return structure().assemble(near=State(whole, start, np.zeros(whole.nv))).q
        except KempeError:
            pass
    raise NotClosed(
        f"{', '.join(sorted(holds.on))} cannot be closed from here: the ends are {holds.gap(start):.3g} m apart, and "
        "no pose that was found brings them together"
    )


def _least(inertia: np.ndarray, momenta: np.ndarray) -> np.ndarray:
    """Velocities with these momenta; the least, along freedoms without inertia."""
    return np.linalg.lstsq(inertia, momenta, rcond=1e-13)[0]


def _spaces(model: Model, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What rows allow, as columns, and their inverse of least length."""
    scale = column_scales(model)
    left, sizes, right = np.linalg.svd(rows * scale)
    rank = int((sizes > RANK * sizes.max(initial=0.0)).sum())
    back = scale[:, None] * (right[:rank].T / sizes[:rank]) @ left[:, :rank].T
    return scale[:, None] * right[rank:].T, back
