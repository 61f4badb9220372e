"""Elimination, numerically: independent columns, pivot orders with little fill-in, and pivots.

Matrices are plain arrays, and each step looks only at the rows and columns involved: loops of a long tree depend on few
of its joints, so a step costs about as much in a long tree as in a short one.
"""

import numpy as np

from kempe.arithmetic.sums import norm, times

THRESHOLD = 0.3  # of the largest entry in its column: pivots this large may be taken for sparsity
NOTHING = 1e-9  # entries smaller than this, relative to the largest, are zero


def independent_columns(matrix: np.ndarray, rank: int) -> np.ndarray:
    """`rank` columns that are as independent as possible, weighted by their sizes: QR with pivoting."""
    work, taken = matrix.copy(), []
    real = work != 0.0
    sizes = norm(work, 0)
    least = NOTHING * norm(sizes)
    for _ in range(rank):
        best = int(sizes.argmax())
        if sizes[best] <= least:
            break
        taken.append(best)
        rows = np.flatnonzero(real[:, best])
        felt = np.flatnonzero(real[rows].any(axis=0))
        shared = rows[:, None], felt
        unit = work[rows, best] / sizes[best]
        work[shared] -= np.outer(unit, times(unit, work[shared]))
        work[rows, best] = 0.0
        left = work[:, felt]
        sizes[felt] = norm(left, 0)
        real[shared], real[rows, best] = True, False
    return np.array(sorted(taken), dtype=int)


def order(matrix: np.ndarray) -> tuple[list[int], list[int]]:
    """Rows and columns in the order of elimination: large pivots with little fill-in (after Markowitz). Fewer than
    there are columns if no pivot is left, as at a singular pose."""
    if not matrix.shape[1]:  # loops that nothing can open have no relevant rows
        return [], []
    left, taken = _Left(matrix), []
    while len(taken) < matrix.shape[1] and np.isfinite(left.fill).any():
        taken.append(left.take(*left.best()))
    return [row for row, _ in taken], [column for _, column in taken]


class _Left:
    """What remains of a matrix during elimination.

    For every column its largest entry, and the best entry that is large enough for a pivot: least fill-in, then
    largest, then first; stored as fill-in, size, row.
    """

    def __init__(self, matrix: np.ndarray):
        self.work = matrix.copy()
        self.zero = NOTHING * np.abs(matrix).max(initial=0.0)
        self.rows, self.columns = (np.ones(n, dtype=bool) for n in matrix.shape)
        self.in_row = (np.abs(matrix) > self.zero).sum(axis=1)
        self.largest, self.fill, self.size = (np.zeros(matrix.shape[1]) for _ in range(3))
        self.row = np.zeros(matrix.shape[1], dtype=int)
        self._look_at(np.arange(matrix.shape[1]))

    def best(self) -> tuple[int, int]:
        """Row and column of the next pivot; among ties, the first row, then column."""
        cost = self.fill - self.size / self.largest.max()
        good = np.flatnonzero(cost == cost.min())
        column = int(good[self.row[good].argmin()])
        return int(self.row[column]), column

    def take(self, row: int, column: int) -> tuple[int, int]:
        """Eliminates by this pivot."""
        self.rows[row] = self.columns[column] = False
        self.fill[column], self.largest[column] = np.inf, 0.0
        below = np.flatnonzero(self.work[:, column] * self.rows)
        self.work[below] -= np.outer(self.work[below, column] / self.work[row, column], self.work[row])
        changed = (np.abs(self.work[below]) > self.zero) & self.columns
        self.in_row[below] = changed.sum(axis=1)
        self._look_at(np.flatnonzero(changed.any(axis=0) | (self.work[row] != 0.0) & self.columns))
        return row, column

    def _look_at(self, columns: np.ndarray) -> None:
        """Finds the best entries of changed columns."""
        sizes = np.abs(self.work[:, columns]) * self.rows[:, None]
        real, largest = sizes > self.zero, sizes.max(axis=0, initial=0.0)
        fill = (self.in_row[:, None] - 1.0) * (real.sum(axis=0) - 1.0)
        fill[~real | (sizes < THRESHOLD * largest)] = np.inf
        least = fill.min(axis=0, initial=np.inf)
        sizes[fill > least] = 0.0
        row = sizes.argmax(axis=0)
        self.largest[columns], self.fill[columns], self.row[columns] = largest, least, row
        self.size[columns] = sizes[row, np.arange(len(columns))]


def pivots(matrix: np.ndarray) -> np.ndarray:
    """The pivots, row after row and column after column; zeros from the first zero pivot on."""
    work = matrix.copy()
    for k in range(len(work)):
        if work[k, k] == 0.0:
            return np.zeros(len(work))
        below = work[k + 1 :, k].nonzero()[0] + k + 1
        if len(below):
            work[below] -= (work[below, k, None] / work[k, k]) * work[k]
    return np.diagonal(work).copy()


def fill(square: np.ndarray, wide: np.ndarray) -> int:
    """The number of entries an elimination works on: those of a square pattern with fill-in, and of the columns beside
    it, `wide`, that are solved for."""
    square, wide, total = square.copy(), wide.copy(), 0
    for k in range(len(square)):
        below = np.flatnonzero(square[k + 1 :, k]) + k + 1
        total += len(below) * int(square[k, k + 1 :].sum() + wide[k].sum() + 1)
        square[below] |= square[k]
        wide[below] |= wide[k]
    for k in range(len(square) - 1, -1, -1):
        later = wide[k + 1 :][square[k, k + 1 :]]
        total += int(later.sum())
        wide[k] |= later.any(axis=0)
    return total
