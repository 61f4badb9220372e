"""Freedom: how freely the tree of a closed mechanism moves, at assembled states that are sampled once and remembered.

The rank of J counts motions to first order. It is looked at beside the states that were found, since those may be
special poses, and held against that at open states; where the two differ, steps along each direction tell.
"""

import numpy as np

from kempe.analyze.assembly import CLOSED, NEARLY, Task, solve
from kempe.analyze.matrices import allowed, closure_at, rank_of
from kempe.model.model import Model
from kempe.topology.alike import alike, groups

SAMPLES = 6
FEW = 3  # samples of a long tree
NUDGE = 1e-2  # rad and m, away from a pose that might be special
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
    return min(_nullity(model, beside(model, q, factor, p), p) for factor in (1.0, 10.0))


def _open_nullity(model: Model, q: np.ndarray, p=None) -> int:
    """The same at a state close by whose loops are open."""
    return _nullity(model, model.integrate(q, NUDGE * np.random.default_rng(4).normal(size=model.nv)), p)


def _nullity(model: Model, q: np.ndarray, p=None) -> int:
    return model.nv - rank_of(closure_at(model, q, p)[1], SHAKY)


def _led(model: Model, q: np.ndarray, p) -> int:
    """Of the directions that J allows at q, how many lead to closed states, one way or the other."""
    jacobian, scale = model.closure(q, p=p)[1], column_scales(model)
    ways = allowed(jacobian * scale, model.nv - _nullity(model, q, p))
    moved = np.zeros((ways.shape[1],) * 2)
    for row, way in zip(moved, ways.T, strict=True):
        for step in (NUDGE, -NUDGE):
            found, gap = _closed(model, model.integrate(q, step * scale * way), p)
            kept = ways.T @ (model.difference(q, found) / scale) / step
            if gap <= CLOSED and np.abs(kept).max() > np.abs(row).max():
                row[:] = kept
    return int((np.linalg.svd(moved, compute_uv=False) > LED).sum())


def column_scales(model: Model) -> np.ndarray:
    """What makes each velocity a number without unit: the mechanism's size, for lengths."""
    units = [unit for t in model.topology.tree for unit in t.joint.type.units]
    return np.array([1.0 if unit == "rad" else model.equations.closure_size for unit in units])


def assembled_samples(model: Model) -> list[np.ndarray]:
    """Assembled states spread over what the mechanism can reach; the same every time, remembered with the model."""
    if not model.topology.constrained:
        return [model.random_state(seed).q for seed in range(SAMPLES)]
    if "assembled samples" not in model.compiled:
        found: list[np.ndarray] = []
        nearly: list[np.ndarray] = []  # as closed as rounded numbers let them be
        for seed in range(20 * SAMPLES):
            q, gap = _sampled(model, seed)
            if gap <= NEARLY:
                (found if gap <= CLOSED else nearly).append(q)
            if len(found or nearly) == (FEW if model.loops_repeat else SAMPLES):
                break
        model.compiled["assembled samples"] = found or nearly or [model.assemble().q]  # or it says why there is none
    return model.compiled["assembled samples"]


def _sampled(model: Model, seed: int) -> tuple[np.ndarray, float]:
    """A state that loops were closed at, and the largest residual left there.

    Of many loops that begin anywhere, some end folded up, nearly always, and states where one does are special. So in
    a long tree, joints that are alike begin alike, and move alike too if loops close that way.
    """
    if not model.loops_repeat:
        return _closed(model, model.random_state(seed).q if seed else model.neutral())
    anywhere, tree = model.random_state(seed).q, model.topology.tree
    start = anywhere.copy()
    for t, first in zip(tree, alike(model.topology), strict=True):
        start[t.q] = start[tree[first].q]
    q, gap = _closed(model, start, together=groups(model.topology))
    for begin in (start, anywhere):
        if gap > CLOSED:
            q, gap = _closed(model, begin)
    return q, gap


def _closed(model: Model, start: np.ndarray, p=None, together=None) -> tuple[np.ndarray, float]:
    return solve(model, Task(start, np.ones(model.nv, dtype=bool), (), (), p, together), start)


def beside(model: Model, q: np.ndarray, factor: float = 1.0, p=None) -> np.ndarray:
    """An assembled state close by: where q is a special pose, this is none; where q cannot move, it is q again."""
    if not model.topology.constrained:
        return q
    found, gap = _closed(model, model.integrate(q, factor * NUDGE * np.random.default_rng(3).normal(size=model.nv)), p)
    return found if gap <= CLOSED else q
