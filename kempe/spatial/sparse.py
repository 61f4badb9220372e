"""Sparse: positive definite block matrices, eliminated block by block in steps that can be recorded and repeated.

Rows come in groups, such as those of one loop, and a group is eliminated at once. The group coupled to the fewest other
rows is next, to limit fill-in. Every step is a function of arrays, called through `run` with None as its subject.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from kempe.spatial.vectors import Scalar, Vector, array, is_zero, larger, sqrt, where_less

Run = Callable[..., Any]
NOTHING = 1e-22  # relative to the largest diagonal entry: rows below this are zero up to rounding
SLIGHT = 1e-14  # relative to the largest of its group: rows below this are zero up to rounded input


class Sparse:
    """The factorization L D L^T of a matrix given by the nonzero entries of its lower half.

    entries: as given. pivots: D, in the given row order. fit: the distance from singularity, as in `solving.fitness`.

    If the matrix is singular but positive, redundant or zero rows can be skipped: the solution is zero there, and
    correct if there is one. Which rows of a group are redundant can change along a motion, so the largest remaining
    diagonal entry of a group is eliminated first, by exchanging rows at run time.
    """

    def __init__(
        self, entries: dict[tuple[int, int], Scalar], groups: Sequence[Sequence[int]], run: Run, skips: float = 0.0,
        usual: Scalar = 0.0,
    ):  # fmt: skip
        """`entries` by row and column; `groups`: the rows, each once; `skips`: the fraction of a diagonal entry below
        which a pivot's row is skipped (0: never); `usual`: the typical size of a diagonal entry, in case all of them
        are rounding."""
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
        self._order: list[tuple[tuple[int, ...], tuple[int, ...]]] = []  # rows of a group, and rows coupled to it
        self._factors: list[tuple[np.ndarray, ...]] = []  # for each: inverse pivots, factors, row exchanges
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
        """For every skipped row, a vanishing combination of rows that contains it; zeros for other rows."""
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
    """Eliminates a group of rows, row by row, from the lower half of a matrix that begins with them.

    diagonal: the given diagonal entries of the group; shrunk: the largest ratio of such an entry to its pivot so far.
    skips: the ratio of a pivot to its entry below which a row is skipped; least: the size that counts as zero.
    Returns the pivots and their inverses, the factors below them (column by column), the remaining lower half, the row
    exchanges (see `_exchanges`; none without `skips`), and `shrunk` updated.
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
            # Rows that are always zero come last.
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
    """In order: the pivot before which it happens, the two rows, and 1 if they were exchanged, else 0."""
    pairs = [(k, other) for k in range(size) for other in range(k + 1, size)]
    return [(k, k, other, x) for (k, other), x in zip(pairs, exchanged, strict=False)]


def _exchange(x: list | Vector, i: int, j: int, where: Scalar) -> None:
    x[i], x[j] = where_less(0.5, where, x[j], x[i]), where_less(0.5, where, x[i], x[j])


def _exchange_rows(work: np.ndarray, k: int, other: int, where: Scalar) -> None:
    """Exchanges rows and columns of the lower half of a symmetric matrix, from row k on."""
    for i in range(k + 1, len(work)):
        if i != other:
            at = (other, i) if i < other else (i, other)
            one, two = work[i, k], work[at]
            work[i, k], work[at] = where_less(0.5, where, two, one), where_less(0.5, where, one, two)
    diagonal = [work[k, k], work[other, other]]
    _exchange(diagonal, 0, 1, where)
    work[k, k], work[other, other] = diagonal


def put_back(_, values: Vector, exchanged: Vector) -> tuple[Vector]:
    """Values by pivot of a group, in the row order before the exchanges."""
    x = [*values]
    for _, i, j, where in reversed(_exchanges(len(x), exchanged)):
        _exchange(x, i, j, where)
    return (array(x),)


def forward(_, group: Vector, others: Vector, factors: Vector, exchanged: Vector) -> tuple[Vector]:
    """Applies L^-1 of a group to the right-hand side of the group and rows coupled to it; its part by pivots."""
    x, rest = [*group, *others], iter(factors)
    exchanges = _exchanges(len(group), exchanged)
    for k in range(len(group)):
        for _, i, j, where in (each for each in exchanges if each[0] == k):
            _exchange(x, i, j, where)
        for i in range(k + 1, len(x)):
            x[i] = x[i] - next(rest) * x[k]
    return (array(x),)


def backward(_, group: Vector, others: Vector, inverses: Vector, factors: Vector, exchanged: Vector) -> tuple[Vector]:
    """Applies L^-T D^-1 of a group, given the solution of the rows coupled to it; by rows again."""
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
    """The fit, from the largest ratio of a diagonal entry to its pivot."""
    return (array([1.0 / sqrt(shrunk[0])]),)
