"""Freedom: how freely the tree of a closed mechanism moves, at assembled states that are sampled once and remembered.

The rank of J counts motions to first order. Sampled states may be special poses, so the rank is taken at states nearby
and compared with the rank at open states; if the two differ, steps along each direction decide.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.random import normal
from kempe.arithmetic.singular import svd
from kempe.arithmetic.sums import times
from kempe.errors import NotClosed
from kempe.loops.assembly import CLOSED, NEARLY, Task, assemble, solve
from kempe.loops.matrices import allowed, closure_at, rank_of, scaled
from kempe.topology.alike import alike, groups

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

SAMPLES = 6
FEW = 3  # samples for a long tree
NUDGE = 1e-2  # rad, and parts of the size: a nudge away from a possibly special pose
SHAKY = 1e-6  # of the largest singular value: infinitesimally mobile loops open only by its square
LED = 0.5  # of a step: how much of it must remain after closing the loops


@dataclass(frozen=True, eq=False)
class Samples:
    """Assembled states spread over the mechanism's reach; or why there are none."""

    found: tuple[np.ndarray, ...]
    refusal: NotClosed | None = None

    @property
    def states(self) -> tuple[np.ndarray, ...]:
        """Raises if no state could be closed."""
        if self.refusal is not None:
            raise self.refusal.with_traceback(None)
        return self.found


def tree_freedom(mechanics: "Mechanics", samples: Samples) -> int:
    """The freedom of the mechanism, on the least free of the branches it meets.

    J has its largest rank at nearly all open states: no branch has less freedom than that rank leaves.
    """
    least = mechanics.nv
    for q in samples.states if mechanics.topology.constrained else ():
        least = min(least, freedom_beside(mechanics, q))
        if least <= _open_nullity(mechanics, q):
            break
    return least


def freedom_beside(mechanics: "Mechanics", q: np.ndarray, p=None) -> int:
    """The freedom on the branch of q, which may be a special pose or close to one.

    Velocities of the tree less the rank of J, if J has the same rank at open states. If its rank drops as loops close,
    the directions it allows count only if they lead somewhere: a ring of six hinges can move, and bars folded on each
    other can turn together; a stretched-out linkage is infinitesimally mobile only.
    """
    found, general = nullity_beside(mechanics, q, p), beside(mechanics, q, p=p)
    sure = _open_nullity(mechanics, general, p)
    return found if found <= sure else min(found, max(sure, _led(mechanics, general, p)))


def nullity_beside(mechanics: "Mechanics", q: np.ndarray, p=None) -> int:
    """Velocities of the tree less the rank of J, at general closed states nearby."""
    return min(nullity(mechanics, beside(mechanics, q, p, seed), p) for seed in (3, 5))


def _open_nullity(mechanics: "Mechanics", q: np.ndarray, p=None) -> int:
    """The same at a nearby state with open loops."""
    return nullity(mechanics, nudged(mechanics, q, 4), p)


def nullity(mechanics: "Mechanics", q: np.ndarray, p=None) -> int:
    """Velocities of the tree less the rank of J at a state, special or not."""
    return mechanics.nv - rank_of(scaled(closure_at(mechanics, q, p)[1], mechanics.equations.steps), SHAKY)


def _led(mechanics: "Mechanics", q: np.ndarray, p) -> int:
    """How many directions that J allows at q lead to closed states, one way or the other."""
    jacobian, scale = mechanics.closure(q, p=p)[1], mechanics.equations.steps
    ways = allowed(jacobian * scale, mechanics.nv - nullity(mechanics, q, p))
    moved = np.zeros((ways.shape[1],) * 2)
    for row, way in zip(moved, ways.T, strict=True):
        for step in (NUDGE, -NUDGE):
            found, gap = _closed(mechanics, mechanics.integrate(q, step * scale * way), p)
            kept = times(ways.T, mechanics.difference(q, found) / scale) / step
            if gap <= CLOSED and np.abs(kept).max() > np.abs(row).max():
                row[:] = kept
    return int((svd(moved)[1] > LED).sum())


def anywhere(mechanics: "Mechanics", seed: int) -> np.ndarray:
    """Coordinates of the tree within a turn and the mechanism's size."""
    q, size = mechanics.random_state(seed).q, mechanics.equations.closure_size
    for t in mechanics.topology.tree:
        kind = t.joint.type
        lengths = [unit == "m" for unit in kind.units]
        at = np.arange(t.q.start, t.q.stop)[len(kind.q_names) - len(kind.units) :]
        q[at[lengths]] *= size
    return q


def nudged(mechanics: "Mechanics", q: np.ndarray, seed: int) -> np.ndarray:
    """A nearby state, always the same one."""
    step = NUDGE * normal(np.random.default_rng(seed), mechanics.nv)
    return mechanics.integrate(q, step * mechanics.equations.steps)


def samples_of(mechanics: "Mechanics") -> Samples:
    """A function of the description alone."""
    if not mechanics.topology.constrained:
        return Samples(tuple(anywhere(mechanics, seed) for seed in range(SAMPLES)))
    found: list[np.ndarray] = []
    nearly: list[np.ndarray] = []  # closed as well as rounded numbers allow
    for seed in range(20 * SAMPLES):
        q, gap = _sampled(mechanics, seed)
        if gap <= NEARLY:
            (found if gap <= CLOSED else nearly).append(q)
        if len(found or nearly) == (FEW if mechanics.loops_repeat else SAMPLES):
            break
    try:
        return Samples(tuple(_ordinary(mechanics, found) or nearly or [assemble(mechanics, {}, None, {}, None).q]))
    except NotClosed as error:  # it says why there is none
        return Samples((), error)


def _ordinary(mechanics: "Mechanics", samples: list[np.ndarray]) -> list[np.ndarray]:
    """Replaces states that are special poses, as drawn poses often are, by others on their branch."""
    if mechanics.loops_repeat:
        return samples
    others = [beside(mechanics, q) for q in samples]
    return [y if nullity(mechanics, y) < nullity(mechanics, x) else x for x, y in zip(samples, others, strict=True)]


def closed_states(mechanics: "Mechanics", first: int, count: int) -> list[np.ndarray]:
    """Assembled states from so many starts; fewer if loops do not close from some."""
    found = (_sampled(mechanics, seed) for seed in range(first, first + count))
    return [q for q, gap in found if gap <= CLOSED]


def _sampled(mechanics: "Mechanics", seed: int) -> tuple[np.ndarray, float]:
    """A state after closing the loops, and its largest residual.

    With many loops and random starts, nearly always some loop ends folded up, which is a special pose. So in a long
    tree, identical joints start from identical values, and stay equal if the loops close that way.
    """
    if not mechanics.loops_repeat:
        return _closed(mechanics, anywhere(mechanics, seed) if seed else mechanics.neutral())
    spread, tree = anywhere(mechanics, seed), mechanics.topology.tree
    start = spread.copy()
    for t, first in zip(tree, alike(mechanics.topology), strict=True):
        start[t.q] = start[tree[first].q]
    q, gap = _closed(mechanics, start, together=groups(mechanics.topology))
    for begin in (start, spread):
        if gap > CLOSED:
            q, gap = _closed(mechanics, begin)
    return q, gap


def _closed(mechanics: "Mechanics", start: np.ndarray, p=None, together=None) -> tuple[np.ndarray, float]:
    return solve(mechanics, Task(start, np.ones(mechanics.nv, dtype=bool), (), (), p, together), start)


def beside(mechanics: "Mechanics", q: np.ndarray, p=None, seed: int = 3) -> np.ndarray:
    """A nearby assembled state in a direction that J allows, hence on the same branch: not a special pose even if q is
    one; q itself if q cannot move."""
    if not mechanics.topology.constrained:
        return q
    start = nudged(mechanics, q, seed)
    if not mechanics.loops_repeat:
        scale, jacobian = mechanics.equations.steps, mechanics.closure(q, p=p)[1]
        ways = allowed(jacobian * scale, mechanics.nv - nullity(mechanics, q, p))
        step = NUDGE * times(ways, normal(np.random.default_rng(seed), ways.shape[1]))
        start = mechanics.integrate(q, step * scale)
    found, gap = _closed(mechanics, start, p)
    return found if gap <= CLOSED else q
