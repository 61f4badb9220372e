"""Starts: where closing loops begins, near a pose or anywhere within limits; always the same ones.

Numbers come from `rng.random` alone and pass through sums, products and roots only, so that every machine starts alike.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kempe.loops.descent import CLOSED, Task, solve
from kempe.loops.limits import bounds_of

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

NEAR = 12  # starts near the pose, at growing distances
NEAREST, FARTHEST = 0.2, 3.0  # rad, or sizes: their distances
SPREAD = 84  # starts anywhere
STAGES = 10  # stages in which a gap is closed, or values are brought to their targets
ROUND = 6.283185307179586


def attempts(mechanics: "Mechanics", task: Task) -> Iterator[tuple[np.ndarray, float]]:
    """The results of descents with their largest residuals: from the pose of the task, then from near it, then by
    closing gaps in stages, then from anywhere, and from near the best that did not close."""
    best = solve(mechanics, task, task.q)
    yield best
    rng = np.random.default_rng(1876)
    for k in range(NEAR):
        radius = NEAREST * (FARTHEST / NEAREST) ** (k / (NEAR - 1))
        found = solve(mechanics, task, beside(mechanics, task, task.q, radius, rng))
        best = min(best, found, key=_gap)
        yield found
    yield in_stages(mechanics, task, task.q)
    yield by_values(mechanics, task)
    for k in range(SPREAD):
        if k % 3 == 2 and np.isfinite(best[1]):
            start = beside(mechanics, task, best[0], FARTHEST * (k % 4 + 1) / 8, rng)
        else:
            start = anywhere(mechanics, task, rng)
        found = in_stages(mechanics, task, start) if k % 12 == 11 else solve(mechanics, task, start)
        best = min(best, found, key=_gap)
        yield found


def _gap(found: tuple[np.ndarray, float]) -> float:
    return found[1]


def beside(mechanics: "Mechanics", task: Task, q: np.ndarray, radius: float, rng: np.random.Generator) -> np.ndarray:
    """A state whose free coordinates are up to a radius [rad, or sizes] from those of another, within limits."""
    step = radius * (2.0 * rng.random(mechanics.nv) - 1.0) * mechanics.equations.steps
    step[~task.free | mechanics.bending] = 0.0
    return bounds_of(mechanics, task.free if task.bounded else None).kept(mechanics.integrate(q, step))


def anywhere(mechanics: "Mechanics", task: Task, rng: np.random.Generator) -> np.ndarray:
    """Free coordinates anywhere: between limits, within a turn, or within a size of the task's."""
    q, free = task.q.copy(), task.free & ~mechanics.bending
    units = mechanics.equations.steps
    for t in mechanics.topology.tree:
        kind = t.joint.type
        turning = len(kind.q_names) != len(kind.units)  # a quaternion comes first
        random = rng.random(len(kind.units))
        ball = uniform_turn(rng) if turning else None
        if not free[t.v].all():
            continue
        if ball is not None:
            q[t.q.start : t.q.start + 4] = ball
        for k in range(3 if turning else 0, len(kind.units)):
            at = t.q.stop - len(kind.units) + k
            reach = 0.5 * ROUND if kind.units[k] == "rad" else units[t.v.start + k]
            q[at] += reach * (2.0 * random[k] - 1.0)
    for limit in mechanics.limits if task.bounded else ():
        if free[limit.v]:
            low, high, reach = limit.low, limit.high, 0.5 * ROUND * units[limit.v]
            low = low if np.isfinite(low) else min(task.q[limit.q], high) - reach
            high = high if np.isfinite(high) else max(task.q[limit.q], low) + reach
            q[limit.q] = low + (high - low) * rng.random()
    return q


def uniform_turn(rng: np.random.Generator) -> np.ndarray:
    """The quaternion of a uniformly random rotation: points of a ball in four dimensions, with those
    outside rejected."""
    while True:
        x = 2.0 * rng.random(4) - 1.0
        size = float((x * x).sum())
        if 0.01 < size <= 1.0:
            return x / np.sqrt(size)


def in_stages(mechanics: "Mechanics", task: Task, start: np.ndarray) -> tuple[np.ndarray, float]:
    """The result of a start whose gap is closed in stages."""
    q = start
    for k in range(STAGES, 0, -1):
        q, gap = solve(mechanics, task, q, (k - 1) / k)
    return q, gap


def by_values(mechanics: "Mechanics", task: Task) -> tuple[np.ndarray, float]:
    """A closed state without the given values, which then move to their targets in stages."""
    held = ~task.free
    loose = Task(task.q, np.ones(mechanics.nv, dtype=bool), (), (), task.p, bounded=task.bounded)
    q, gap = solve(mechanics, loose, task.q)
    if gap > CLOSED or not (held.any() or task.measured):
        return q, np.inf
    way = mechanics.difference(q, task.q)
    way[~held] = 0.0
    begin = q
    for k in range(1, STAGES + 1):
        ahead, part = q.copy(), mechanics.integrate(begin, (k / STAGES) * way)
        for t in mechanics.topology.tree:
            if held[t.v].any():
                ahead[t.q] = np.where(_held(t, held), (task.q if k == STAGES else part)[t.q], q[t.q])
        q, gap = solve(mechanics, task, ahead, (STAGES - k) / (STAGES - k + 1) if task.measured else 0.0)
    return q, gap


def _held(t, held: np.ndarray) -> np.ndarray:
    """Which coordinates of a joint are held."""
    own = held[t.v]
    return own if t.q.stop - t.q.start == len(own) else np.full(t.q.stop - t.q.start, own.all())
