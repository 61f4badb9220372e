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
SLIGHT = 1e-14  # the same beside the largest of its group, where they vanish but for numbers that somebody has rounded


class Sparse:
    """A matrix given by the entries of its lower half that are not zero, taken apart as L D L^T.

    entries: as they were given. pivots: D, by rows as they were given. fit: how far from singular it is, as
    `solving.fitness` has it.

    Where the matrix is singular but positive, rows that follow from others, or are zero, can be skipped: solutions have
    zeros there, and are right wherever there is one. Which rows of a group those are can change along a motion, so the
    largest entry left on the diagonal of a group is eliminated first: rows are exchanged by numbers, at run time.
    """

    def __init__(
        self, entries: dict[tuple[int, int], Scalar], groups: Sequence[Sequence[int]], run: Run, skips: float = 0.0,
        usual: Scalar = 0.0,
    ):  # fmt: skip
        """`entries` by row and column; `groups`: the rows, each once; `skips`: what is left of an entry of the
        diagonal, beside itself, at which its row is skipped, none if zero; `usual`: about what an entry of the
        diagonal is where all of them may be rounding."""
        self.entries, self._run = dict(entries), run
        step = eliminate
        if skips:
            largest = reduce(larger, (entries.get((row, row), 0.0) for group in groups for row in group), usual)
            step = partial(eliminate, skips=skips, least=NOTHING * largest)
        left = {(max(at), min(at)): x for at, x in entries.items()}
        beside: dict[int, set[int]] = {row: set() for group in groups for row in group}
        for i, j in left:
            beside[i].add(j)
            beside[j].add(i)
        waiting = {number: tuple(group) for number, group in enumerate(groups)}
        self._order: list[tuple[tuple[int, ...], tuple[int, ...]]] = []  # rows of a group, and those beside it
        self._factors: list[tuple[np.ndarray, ...]] = []  # of each: inverses of pivots, factors, exchanges of rows
        self.pivots, self._kept = (np.empty(len(beside), dtype=object) for _ in range(2))
        shrunk: np.ndarray = np.ones(1)
        while waiting:
            around = {n: set().union(*(beside[row] for row in group)) - set(group) for n, group in waiting.items()}
            number = min(waiting, key=lambda n: (len(around[n]), n))
            group, others = waiting.pop(number), tuple(sorted(around[number]))
            group = tuple(sorted(group, key=lambda row: is_zero(entries.get((row, row), 0.0))))
            taken = [*group, *others]
            given = [left.pop((max(i, j), min(i, j)), 0.0) for at, i in enumerate(taken) for j in taken[: at + 1]]
            diagonal = _objects([entries.get((row, row), 0.0) for row in group])
            pivots, inverse, factors, rest, exchanged, shrunk = run(step, None, diagonal, _objects(given), shrunk)
            self._order.append((group, others))
            self._factors.append((inverse, factors, exchanged))
            for by_row, values in ((self.pivots, pivots), (self._kept, inverse)):
                by_row[list(group)] = run(put_back, None, values, exchanged)[0]
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
        for (group, others), (_, *factors) in zip(self._order, self._factors, strict=True):
            rows = [*group, *others]
            x[rows] = self._run(forward, None, x[list(group)], x[list(others)], *factors)[0]
        for (group, others), factors in zip(self._order[::-1], self._factors[::-1], strict=True):
            x[list(group)] = self._run(backward, None, x[list(group)], x[list(others)], *factors)[0]
        return x

    def dependent(self) -> list[np.ndarray]:
        """For every row a combination of rows that vanishes, of which it is part, where it was skipped; else zeros."""
        found = []
        for row in range(len(self.pivots)):
            column = [self.entries.get((max(row, k), min(row, k)), 0.0) for k in range(len(self.pivots))]
            skipped = where_less(0.0, self._kept[row], 0.0, 1.0)
            unit = [1.0 if k == row else 0.0 for k in range(len(self.pivots))]
            found.append(_objects([skipped * (x - y) for x, y in zip(unit, self.solve(_objects(column)), strict=True)]))
        return found


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
    Returns the pivots and their inverses, the factors below them, column by column, the lower half that is left, which
    rows were exchanged (`_exchanges`; none where no rows are skipped), and the most again.
    """
    size = round((np.sqrt(8 * len(lower) + 1) - 1) / 2)
    work = np.zeros((size, size), dtype=object)
    work[np.tril_indices(size)] = lower
    pivots, inverses, factors, exchanged, most = [], [], [], [], shrunk[0]
    begun, first = [*diagonal], len(diagonal)
    if skips:
        least = reduce(larger, (SLIGHT * x for x in diagonal), least)
    for k in range(first):
        for other in range(k + 1, first) if skips else ():
            # Rows that are always zero come last anyway.
            smaller = 0.0 if is_zero(diagonal[other]) else where_less(work[k, k], work[other, other], 1.0, 0.0)
            _exchange_rows(work, k, other, smaller)
            _exchange(begun, k, other, smaller)
            exchanged.append(smaller)
        pivots.append(work[k, k])
        if skips:
            kept = where_less(larger(skips * begun[k], least), work[k, k], work[k, k], np.inf)
            inverses.append(1.0 / kept)
        else:
            inverses.append(1.0 / work[k, k])
        most = larger(most, abs(begun[k] * inverses[k]))  # rounding may make the last pivots negative
        column = [work[i, k] * inverses[k] for i in range(k + 1, size)]
        factors += column
        for i in range(k + 1, size):
            for j in range(k + 1, i + 1):
                work[i, j] = work[i, j] - column[j - k - 1] * work[i, k]
    rest = [work[i, j] for i in range(first, size) for j in range(first, i + 1)]
    return tuple(array(x) for x in (pivots, inverses, factors, rest, exchanged, [most]))


def _exchanges(size: int, exchanged: Vector) -> list[tuple[int, int, int, Scalar]]:
    """In the order they were made: before which pivot, the two rows, and 1 where they were exchanged, else 0."""
    pairs = [(k, other) for k in range(size) for other in range(k + 1, size)]
    return [(k, k, other, x) for (k, other), x in zip(pairs, exchanged, strict=False)]


def _exchange(x: list | Vector, i: int, j: int, where: Scalar) -> None:
    x[i], x[j] = where_less(0.5, where, x[j], x[i]), where_less(0.5, where, x[i], x[j])


def _exchange_rows(work: np.ndarray, k: int, other: int, where: Scalar) -> None:
    """Of the lower half of a symmetric matrix from row k on, with the columns."""
    for i in range(k + 1, len(work)):
        if i != other:
            at = (other, i) if i < other else (i, other)
            one, two = work[i, k], work[at]
            work[i, k], work[at] = where_less(0.5, where, two, one), where_less(0.5, where, one, two)
    diagonal = [work[k, k], work[other, other]]
    _exchange(diagonal, 0, 1, where)
    work[k, k], work[other, other] = diagonal


def put_back(_, values: Vector, exchanged: Vector) -> tuple[Vector]:
    """Values of a group's pivots, by its rows as they were before they were exchanged."""
    x = [*values]
    for _, i, j, where in reversed(_exchanges(len(x), exchanged)):
        _exchange(x, i, j, where)
    return (array(x),)


def forward(_, group: Vector, others: Vector, factors: Vector, exchanged: Vector) -> tuple[Vector]:
    """L^-1 of a right-hand side, as far as a group and those beside it; the group's part by pivots."""
    x, rest = [*group, *others], iter(factors)
    exchanges = _exchanges(len(group), exchanged)
    for k in range(len(group)):
        for _, i, j, where in (each for each in exchanges if each[0] == k):
            _exchange(x, i, j, where)
        for i in range(k + 1, len(x)):
            x[i] = x[i] - next(rest) * x[k]
    return (array(x),)


def backward(_, group: Vector, others: Vector, inverses: Vector, factors: Vector, exchanged: Vector) -> tuple[Vector]:
    """L^-T D^-1 of a group, from what is known of those beside it; by rows again."""
    x, at = [*group, *others], len(factors)
    exchanges = _exchanges(len(group), exchanged)
    for k in range(len(group) - 1, -1, -1):
        x[k] = x[k] * inverses[k]
        at -= len(x) - 1 - k
        for i in range(k + 1, len(x)):
            x[k] = x[k] - factors[at + i - k - 1] * x[i]
        for _, i, j, where in reversed([each for each in exchanges if each[0] == k]):
            _exchange(x, i, j, where)
    return (array(x[: len(group)]),)


def fitness(_, shrunk: Vector) -> tuple[Vector]:
    """From the most that an entry of the diagonal has shrunk."""
    return (array([1.0 / sqrt(shrunk[0])]),)
