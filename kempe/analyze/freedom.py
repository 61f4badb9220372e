"""Freedom: how freely the tree of a closed mechanism moves, at assembled states that are sampled once and remembered.

The rank of J counts motions to first order. It is looked at beside the states that were found, since those may be
special poses, and held against that at open states; where the two differ, steps along each direction tell.
"""

import numpy as np

from kempe.analyze.assembly import CLOSED, NEARLY, Task, solve
from kempe.analyze.matrices import allowed, closure_at, rank_of, scaled
from kempe.arithmetic.random import normal
from kempe.arithmetic.singular import svd
from kempe.arithmetic.sums import times
from kempe.errors import NotClosed
from kempe.model.model import Model
from kempe.topology.alike import alike, groups

SAMPLES = 6
FEW = 3  # samples of a long tree
NUDGE = 1e-2  # rad, and parts of the mechanism's size, away from a pose that might be special
SHAKY = 1e-6  # of the largest singular value: loops that may only shake close to the square of it
LED = 0.5  # of a step: how much of it must be left when loops have been closed


def tree_freedom(model: Model) -> int:
    """How freely the mechanism moves, on the least free of the branches it meets.

    J has its largest rank at nearly all open states: where one branch has no more freedom than that leaves, none has
    less.
    """
    least = model.nv
    for q in assembled_samples(model):
        least = min(least, freedom_beside(model, q))
        if least <= _open_nullity(model, q):
            break
    return least


def freedom_beside(model: Model, q: np.ndarray, p=None) -> int:
    """How freely it moves on the branch of q, which may be a special pose, or very near one.

    Velocities of the tree less the rank of J, where J has that rank at open states too. Where it has less rank the
    closer loops are, directions that it allows count as far as they lead somewhere: a ring of six hinges can move, and
    bars that lie one on the other can turn together; a linkage that is stretched out can merely shake.
    """
    found, general = nullity_beside(model, q, p), beside(model, q, p=p)
    sure = _open_nullity(model, general, p)
    return found if found <= sure else min(found, max(sure, _led(model, general, p)))


def nullity_beside(model: Model, q: np.ndarray, p=None) -> int:
    """Velocities of the tree less the rank of J, at general closed states close by."""
    return min(nullity(model, beside(model, q, p, seed), p) for seed in (3, 5))


def _open_nullity(model: Model, q: np.ndarray, p=None) -> int:
    """The same at a state close by whose loops are open."""
    return nullity(model, nudged(model, q, 4), p)


def nullity(model: Model, q: np.ndarray, p=None) -> int:
    """Velocities of the tree less the rank of J at a state, be it special or not."""
    return model.nv - rank_of(scaled(closure_at(model, q, p)[1], model.equations.steps), SHAKY)


def _led(model: Model, q: np.ndarray, p) -> int:
    """Of the directions that J allows at q, how many lead to closed states, one way or the other."""
    jacobian, scale = model.closure(q, p=p)[1], model.equations.steps
    ways = allowed(jacobian * scale, model.nv - nullity(model, q, p))
    moved = np.zeros((ways.shape[1],) * 2)
    for row, way in zip(moved, ways.T, strict=True):
        for step in (NUDGE, -NUDGE):
            found, gap = _closed(model, model.integrate(q, step * scale * way), p)
            kept = times(ways.T, model.difference(q, found) / scale) / step
            if gap <= CLOSED and np.abs(kept).max() > np.abs(row).max():
                row[:] = kept
    return int((svd(moved)[1] > LED).sum())


def anywhere(model: Model, seed: int) -> np.ndarray:
    """Coordinates of the tree within a turn and the mechanism's size."""
    q, size = model.random_state(seed).q, model.equations.closure_size
    for t in model.topology.tree:
        kind = t.joint.type
        lengths = [unit == "m" for unit in kind.units]
        at = np.arange(t.q.start, t.q.stop)[len(kind.q_names) - len(kind.units) :]
        q[at[lengths]] *= size
    return q


def nudged(model: Model, q: np.ndarray, seed: int) -> np.ndarray:
    """A state close by, always the same one."""
    step = NUDGE * normal(np.random.default_rng(seed), model.nv)
    return model.integrate(q, step * model.equations.steps)


def assembled_samples(model: Model) -> list[np.ndarray]:
    """Assembled states spread over what the mechanism can reach; the same every time, remembered with the model."""
    if not model.topology.constrained:
        return [anywhere(model, seed) for seed in range(SAMPLES)]
    if "assembled samples" not in model.compiled:
        found: list[np.ndarray] = []
        nearly: list[np.ndarray] = []  # as closed as rounded numbers let them be
        for seed in range(20 * SAMPLES):
            q, gap = _sampled(model, seed)
            if gap <= NEARLY:
                (found if gap <= CLOSED else nearly).append(q)
            if len(found or nearly) == (FEW if model.loops_repeat else SAMPLES):
                break
        try:
            model.compiled["assembled samples"] = _ordinary(model, found) or nearly or [model.assemble().q]
        except NotClosed as error:  # which says why there is none
            model.compiled["assembled samples"] = error
    samples = model.compiled["assembled samples"]
    if isinstance(samples, NotClosed):
        raise samples.with_traceback(None)
    return samples


def _ordinary(model: Model, samples: list[np.ndarray]) -> list[np.ndarray]:
    """Of states that are special poses, as bodies are often drawn in, others on their branch instead."""
    if model.loops_repeat:
        return samples
    others = [beside(model, q) for q in samples]
    return [y if nullity(model, y) < nullity(model, x) else x for x, y in zip(samples, others, strict=True)]


def has_samples(model: Model) -> bool:
    """Whether closed states were found; without them, only states that are given can tell anything."""
    try:
        return len(assembled_samples(model)) > 0
    except NotClosed:
        return False


def closed_states(model: Model, first: int, count: int) -> list[np.ndarray]:
    """Assembled states from so many starts; fewer, where loops do not close from some."""
    found = (_sampled(model, seed) for seed in range(first, first + count))
    return [q for q, gap in found if gap <= CLOSED]


def _sampled(model: Model, seed: int) -> tuple[np.ndarray, float]:
    """A state that loops were closed at, and the largest residual left there.

    Of many loops that begin anywhere, some end folded up, nearly always, and states where one does are special. So in
    a long tree, joints that are alike begin alike, and move alike too if loops close that way.
    """
    if not model.loops_repeat:
        return _closed(model, anywhere(model, seed) if seed else model.neutral())
    spread, tree = anywhere(model, seed), model.topology.tree
    start = spread.copy()
    for t, first in zip(tree, alike(model.topology), strict=True):
        start[t.q] = start[tree[first].q]
    q, gap = _closed(model, start, together=groups(model.topology))
    for begin in (start, spread):
        if gap > CLOSED:
            q, gap = _closed(model, begin)
    return q, gap


def _closed(model: Model, start: np.ndarray, p=None, together=None) -> tuple[np.ndarray, float]:
    return solve(model, Task(start, np.ones(model.nv, dtype=bool), (), (), p, together), start)


def beside(model: Model, q: np.ndarray, p=None, seed: int = 3) -> np.ndarray:
    """An assembled state close by, in a direction that J allows, so that it is on the same branch: where q is a special
    pose, this is none; where q cannot move, it is q again."""
    if not model.topology.constrained:
        return q
    start = nudged(model, q, seed)
    if not model.loops_repeat:
        scale, jacobian = model.equations.steps, model.closure(q, p=p)[1]
        ways = allowed(jacobian * scale, model.nv - nullity(model, q, p))
        step = NUDGE * times(ways, normal(np.random.default_rng(seed), ways.shape[1]))
        start = model.integrate(q, step * scale)
    found, gap = _closed(model, start, p)
    return found if gap <= CLOSED else q
