"""Positive definite matrices of few blocks, eliminated block by block in steps that can be recorded and repeated.

Rows come in groups, as those of one loop, and a group is eliminated at once. The group with the fewest rows beside it
is next, which fills in little. Every step is a function of arrays, called through `run` with nothing for its subject.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from kempe.spatial.vectors import Scalar, Vector, array, is_zero, larger, sqrt, where_less

Run = Callable[..., Any]
NOTHING = 1e-22  # entry of the diagonal beside the largest, where rows vanish but for rounding


class Sparse:
    """A matrix given by the entries of its lower half that are not zero, taken apart as L D L^T.

    entries: as they were given. pivots: D, by rows as they were given. fit: how far from singular it is, as
    `solving.fitness` has it.

    Where the matrix is singular but positive, rows that follow from others, or are zero, can be skipped: solutions have
    zeros there, and are right wherever there is one.
    """

    def __init__(
        self, entries: dict[tuple[int, int], Scalar], groups: Sequence[Sequence[int]], run: Run, skips: float = 0.0
    ):
        """`entries` by row and column; `groups`: the rows, each once; `skips`: what is left of an entry of the
        diagonal, beside itself, at which its row is skipped, none if zero."""
        self.entries, self._run = dict(entries), run
        step = eliminate
        if skips:
            largest = reduce(larger, (entries.get((row, row), 0.0) for group in groups for row in group), 0.0)
            step = partial(eliminate, skips=skips, least=NOTHING * largest)
        left = {(max(at), min(at)): x for at, x in entries.items()}
        beside: dict[int, set[int]] = {row: set() for group in groups for row in group}
        for i, j in left:
            beside[i].add(j)
            beside[j].add(i)
        waiting = {number: tuple(group) for number, group in enumerate(groups)}
        self._order: list[tuple[tuple[int, ...], tuple[int, ...]]] = []  # rows of a group, and those beside it
        self._factors: list[tuple[np.ndarray, ...]] = []
        self.pivots = np.empty(len(beside), dtype=object)
        shrunk: np.ndarray = np.ones(1)
        while waiting:
            around = {n: set().union(*(beside[row] for row in group)) - set(group) for n, group in waiting.items()}
            number = min(waiting, key=lambda n: (len(around[n]), n))
            group, others = waiting.pop(number), tuple(sorted(around[number]))
            taken = [*group, *others]
            given = [left.pop((max(i, j), min(i, j)), 0.0) for at, i in enumerate(taken) for j in taken[: at + 1]]
            diagonal = _objects([entries.get((row, row), 0.0) for row in group])
            pivots, inverse, factors, rest, shrunk = run(step, None, diagonal, _objects(given), shrunk)
            self._order.append((group, others))
            self._factors.append((inverse, factors))
            self.pivots[list(group)] = pivots
            pairs = [(i, j) for at, i in enumerate(others) for j in others[: at + 1]]
            for (i, j), x in zip(pairs, rest, strict=True):
                if not is_zero(x):
                    left[max(i, j), min(i, j)] = x
                    beside[i].add(j)
                    beside[j].add(i)
            for row in others:
                beside[row] -= set(group)
        self.fit = run(fitness, None, shrunk)[0]

    def solve(self, b: Vector) -> Vector:
        """a^-1 b."""
        x = _objects(b)
        for (group, others), (_, factors) in zip(self._order, self._factors, strict=True):
            rows = [*group, *others]
            x[rows] = self._run(forward, None, x[list(group)], x[list(others)], factors)[0]
        for (group, others), (inverse, factors) in zip(self._order[::-1], self._factors[::-1], strict=True):
            x[list(group)] = self._run(backward, None, x[list(group)], x[list(others)], inverse, factors)[0]
        return x


def _objects(values) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = list(values)
    return out


# ---- steps -----------------------------------------------------------------------------------------------


def eliminate(
    _, diagonal: Vector, lower: Vector, shrunk: Vector, skips: float = 0.0, least: Scalar = 0.0
) -> tuple[Vector, ...]:
    """Eliminates a group of rows from the lower half of a matrix that begins with them, row by row.

    diagonal: entries of the group's rows as they were given; shrunk: the most that one of them has shrunk so far.
    skips: what is left of an entry beside itself where its row is skipped; least: what is nothing beside others.
    Returns the pivots and their inverses, the factors below them, column by column, the lower half that is left, and
    the most again.
    """
    size = round((np.sqrt(8 * len(lower) + 1) - 1) / 2)
    work = np.zeros((size, size), dtype=object)
    work[np.tril_indices(size)] = lower
    pivots, inverses, factors, most = [], [], [], shrunk[0]
    for k, begun in enumerate(diagonal):
        pivots.append(work[k, k])
        if skips:
            kept = where_less(larger(skips * begun, least), work[k, k], work[k, k], np.inf)
            inverses.append(1.0 / kept)
        else:
            inverses.append(1.0 / work[k, k])
        most = larger(most, abs(begun * inverses[k]))  # rounding may make the last pivots negative
        column = [work[i, k] * inverses[k] for i in range(k + 1, size)]
        factors += column
        for i in range(k + 1, size):
            for j in range(k + 1, i + 1):
                work[i, j] = work[i, j] - column[j - k - 1] * work[i, k]
    first = len(diagonal)
    rest = [work[i, j] for i in range(first, size) for j in range(first, i + 1)]
    return tuple(array(x) for x in (pivots, inverses, factors, rest, [most]))


def forward(_, group: Vector, others: Vector, factors: Vector) -> tuple[Vector]:
    """L^-1 of a right-hand side, as far as a group and those beside it."""
    x, rest = [*group, *others], iter(factors)
    for k in range(len(group)):
        for i in range(k + 1, len(x)):
            x[i] = x[i] - next(rest) * x[k]
    return (array(x),)


def backward(_, group: Vector, others: Vector, inverses: Vector, factors: Vector) -> tuple[Vector]:
    """L^-T D^-1 of a group, from what is known of those beside it."""
    x, at = [*group, *others], len(factors)
    for k in range(len(group) - 1, -1, -1):
        x[k] = x[k] * inverses[k]
        at -= len(x) - 1 - k
        for i in range(k + 1, len(x)):
            x[k] = x[k] - factors[at + i - k - 1] * x[i]
    return (array(x[: len(group)]),)


def fitness(_, shrunk: Vector) -> tuple[Vector]:
    """From the most that an entry of the diagonal has shrunk."""
    return (array([1.0 / sqrt(shrunk[0])]),)
