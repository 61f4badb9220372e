"""Solving small linear systems: over floats or symbols, with pivots in the given order; exact zeros cost nothing."""

import numpy as np

from kempe.spatial.vectors import Matrix, Scalar, Vector, array, is_zero, larger, sqrt


def factored(a: Matrix) -> tuple[Matrix, list]:
    """L and the pivots of a positive definite a = L D L^T, without pivoting; over floats or symbols."""
    size = len(a)
    lower = np.eye(size, dtype=object)
    work = np.array(a, dtype=object)
    for i in range(size):
        for j in range(i + 1, size):
            lower[j, i] = work[j, i] / work[i, i]
            for k in range(i + 1, j + 1):
                work[j, k] = work[j, k] - lower[j, i] * work[k, i]
    return lower, [work[i, i] for i in range(size)]


def pivots(a: Matrix) -> Vector:
    """The pivots of the factorization of a positive definite matrix."""
    return array(factored(a)[1])


def solve_symmetric(a: Matrix, b: Matrix) -> Matrix:
    """a^-1 b for a positive definite a; over floats or symbols."""
    lower, diagonal = factored(a)
    size = len(a)
    columns = [list(column) for column in np.asarray(b, dtype=object).T]
    for x in columns:
        for i in range(size):
            for j in range(i):
                x[i] = x[i] - lower[i, j] * x[j]
        for i in range(size):
            x[i] = x[i] / diagonal[i]
        for i in range(size - 1, -1, -1):
            for j in range(i + 1, size):
                x[i] = x[i] - lower[j, i] * x[j]
    return array(columns[j][i] for i in range(size) for j in range(len(columns))).reshape(np.shape(b))


class Elimination:
    """The factorization a = L U of a square matrix, with ones on the diagonal of L, rows and columns in the order of
    elimination.

    pivots: the diagonal of U, each entry times the measure of its row. begun: the diagonal after some eliminations.
    """

    def __init__(self, a: Matrix, begun: int = 0, measures: Vector | None = None):
        """`a` over floats or symbols; `begun`: the number of eliminations after which the diagonal is recorded;
        `measures`: factors of the rows, applied to the pivots only."""
        work = np.array(a, dtype=object)
        size = len(work)
        self.begun = np.diagonal(work).copy()
        self._inverse: list[Scalar] = [1.0] * size
        for k in range(size):
            if k == begun:
                self.begun = np.diagonal(work).copy()
            self._inverse[k] = 1.0 / work[k, k]
            row = [j for j in range(k + 1, size) if not is_zero(work[k, j])]
            for i in range(k + 1, size):
                if is_zero(work[i, k]):
                    continue
                work[i, k] = factor = work[i, k] * self._inverse[k]
                for j in row:
                    work[i, j] = work[i, j] - factor * work[k, j]
        self._work = work
        rows = np.ones(size) if measures is None else measures
        self.pivots = array(work[k, k] * rows[k] for k in range(size))
        self._lower = [[j for j in range(i) if not is_zero(work[i, j])] for i in range(size)]
        self._upper = [[j for j in range(i + 1, size) if not is_zero(work[i, j])] for i in range(size)]

    def solve(self, b: np.ndarray) -> np.ndarray:
        """a^-1 b, for a vector or the columns of a matrix."""
        if np.ndim(b) == 2:
            columns = [self.solve(column) for column in np.asarray(b, dtype=object).T]
            return np.stack(columns, axis=1) if columns else np.zeros((len(self._work), 0))
        x, work, size = list(b), self._work, len(self._work)
        for i in range(size):
            for j in self._lower[i]:
                x[i] = x[i] - work[i, j] * x[j]
        for i in range(size - 1, -1, -1):
            for j in self._upper[i]:
                x[i] = x[i] - work[i, j] * x[j]
            x[i] = x[i] * self._inverse[i]
        return array(x)

    def solve_transposed(self, b: Vector) -> Vector:
        """a^-T b."""
        x, work, size = list(b), self._work, len(self._work)
        for i in range(size):
            x[i] = x[i] * self._inverse[i]
            for j in self._upper[i]:
                x[j] = x[j] - work[i, j] * x[i]
        for i in range(size - 1, -1, -1):
            for j in self._lower[i]:
                x[j] = x[j] - work[i, j] * x[i]
        return array(x)


def fitness(pivots: Vector, diagonal: Vector) -> Vector:
    """The distance of a positive definite matrix from singularity, 0 to 1: the root of the smallest ratio of a pivot to
    its original diagonal entry."""
    most = 1.0
    for pivot, entry in zip(pivots, diagonal, strict=True):
        most = larger(most, abs(entry / pivot))
    return array([1.0 / sqrt(most)])
