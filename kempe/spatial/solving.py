"""Small linear systems over floats or symbols: pivots are taken in the order given, and exact zeros cost nothing."""

import numpy as np

from kempe.spatial.vectors import Matrix, Scalar, Vector, array, is_zero


def factored(a: Matrix) -> tuple[Matrix, list]:
    """L and the pivots of a positive definite a = L D L^T, without exchanges; over floats or symbols."""
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
    """What a positive definite matrix is divided by in turn when it is factored."""
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
    """A square matrix taken apart, a = L U with ones on the diagonal of L; its rows and columns are in the order to be
    eliminated in.

    pivots: the diagonal of U, what the elimination divides by.
    """

    def __init__(self, a: Matrix):
        """`a` over floats or symbols."""
        work = np.array(a, dtype=object)
        size = len(work)
        self._inverse: list[Scalar] = [1.0] * size
        for k in range(size):
            self._inverse[k] = 1.0 / work[k, k]
            row = [j for j in range(k + 1, size) if not is_zero(work[k, j])]
            for i in range(k + 1, size):
                if is_zero(work[i, k]):
                    continue
                work[i, k] = factor = work[i, k] * self._inverse[k]
                for j in row:
                    work[i, j] = work[i, j] - factor * work[k, j]
        self._work = work
        self.pivots = array(work[k, k] for k in range(size))
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


class Sparse:
    """A positive definite matrix given by the entries of its lower half that are not zero, taken apart as L D L^T in an
    order that fills in little (the row with the fewest others left is next).

    entries: as they were given. pivots: D, by rows as they were given.
    """

    def __init__(self, entries: dict[tuple[int, int], Scalar], size: int):
        """`entries` over floats or symbols, by row and column."""
        self.entries = entries
        work: list[dict[int, Scalar]] = [{} for _ in range(size)]
        for (i, j), x in entries.items():
            work[i][j] = work[j][i] = x
        self._order: list[int] = []
        self._inverse: dict[int, Scalar] = {}
        self._below: list[dict[int, Scalar]] = [{} for _ in range(size)]
        found, left = {}, set(range(size))
        while left:
            k = min(left, key=lambda row: (len(work[row]), row))
            left.remove(k)
            self._order.append(k)
            pivot = work[k].pop(k)
            found[k] = pivot
            self._inverse[k] = 1.0 / pivot
            for i, x in work[k].items():
                self._below[k][i] = x * self._inverse[k]
                del work[i][k]
            others = list(work[k].items())
            for at, (i, x) in enumerate(others):
                for j, _ in others[: at + 1]:
                    less = self._below[k][j] * x
                    work[i][j] = work[j][i] = work[i][j] - less if j in work[i] else -less
        self.pivots = array(found[k] for k in range(size))

    def solve(self, b: Vector) -> Vector:
        """a^-1 b."""
        x = list(b)
        for k in self._order:
            for i, factor in self._below[k].items():
                x[i] = x[i] - factor * x[k]
        for k in reversed(self._order):
            x[k] = x[k] * self._inverse[k]
            for i, factor in self._below[k].items():
                x[k] = x[k] - factor * x[i]
        return array(x)
