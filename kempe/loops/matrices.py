"""Matrices: J, dense or, for a long tree, by its entries: damped steps, motions and rank.

Dense algebra costs the cube of a tree's length, though a loop of a long tree depends on few of its joints. With the
entries alone, a damped step solves

    [d 1   J ] [s]   [r]
    [J^T -d 1] [x] = [0],    x the least of |J x - r|^2 + d^2 |x|^2,

which squares no number, by a sparse QR factorization. The number of singular values larger than t is the number of
positive eigenvalues of J^T J - t^2 1, read from the signs of its pivots (J. J. Sylvester's law of inertia, 1852).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kempe.arithmetic.least import damped as least_squares_damped
from kempe.arithmetic.least import factors, least_squares, null_space
from kempe.arithmetic.sums import norm

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

LEAST = 1e-4  # least value of the largest singular value: entries are of order one, and rounding errors have rank 0
DAMPED = 1e-7  # of the largest entry: less damping would be lost in rounding
FINEST = 1e-7  # of the largest singular value: smaller ones are lost in the rounding of their squares
REFINED = 4  # refinements of least-norm motions


@dataclass(frozen=True, eq=False)
class Entries:
    """A matrix by its structural entries, each position once."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return np.bincount(self.rows, self.values * x[self.columns], self.shape[0])

    def dense(self) -> np.ndarray:
        """The matrix with its zeros."""
        full = np.zeros(self.shape)
        full[self.rows, self.columns] = self.values
        return full

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
        """A block, with its zeros."""
        row, column = (np.full(size, -1) for size in self.shape)
        row[list(rows)], column[list(columns)] = np.arange(len(rows)), np.arange(len(columns))
        to = row[self.rows], column[self.columns]
        inside = (to[0] >= 0) & (to[1] >= 0)
        found = np.zeros((len(rows), len(columns)))
        found[to[0][inside], to[1][inside]] = self.values[inside]
        return found

    def sparse(self) -> ca.DM:
        """As a sparse matrix."""
        real = self.values != 0.0
        order = np.lexsort((self.rows[real], self.columns[real]))  # column by column
        rows, columns, values = (x[real][order] for x in (self.rows, self.columns, self.values))
        return ca.DM(ca.Sparsity.triplet(*self.shape, rows.tolist(), columns.tolist()), values.tolist())


Matrix = np.ndarray | Entries


def closure_at(mechanics: "Mechanics", q: np.ndarray, p=None) -> tuple[np.ndarray, Matrix, np.ndarray]:
    """phi, J and upright at a state, as in `Model.closure`."""
    if not mechanics.loops_repeat:
        phi, jacobian, upright = mechanics.closure(q, p=p)
        return phi, jacobian, upright
    phi, values, upright = mechanics.closure_entries(q, p=p)
    return phi, Entries(*mechanics.loop_places, values, (len(phi), mechanics.nv)), upright


def rows_at(mechanics: "Mechanics", q: np.ndarray, p=None) -> Matrix:
    """J at a state, as in `Model.loop_rows`."""
    if not mechanics.loops_repeat:
        return mechanics.loop_rows(q, p=p)
    return Entries(
        *mechanics.loop_places, mechanics.row_entries(q, p=p), (mechanics.equations.sizes["lam"], mechanics.nv)
    )


def part(matrix: Matrix, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
    """Some rows and columns, in their order."""
    return matrix.part(rows, columns) if isinstance(matrix, Entries) else matrix[list(rows)][:, list(columns)]


def row_norms(matrix: Matrix, scales: np.ndarray) -> np.ndarray:
    """Norms of all rows, with scaled columns."""
    if not isinstance(matrix, Entries):
        return norm(matrix * scales)
    values = matrix.values * scales[matrix.columns]
    return np.sqrt(np.bincount(matrix.rows, values * values, matrix.shape[0]))


def scaled(matrix: Matrix, scales: np.ndarray) -> Matrix:
    """The matrix with scaled columns."""
    if not isinstance(matrix, Entries):
        return matrix * scales
    return replace(matrix, values=matrix.values * scales[matrix.columns])


def stacked(matrix: Matrix, others: list[np.ndarray]) -> Matrix:
    """The matrix with further rows below."""
    if not isinstance(matrix, Entries):
        return np.vstack([matrix, *others])
    if not others:
        return matrix
    more = np.vstack(others)
    rows, columns = np.nonzero(more)
    return Entries(
        np.concatenate([matrix.rows, rows + matrix.shape[0]]),
        np.concatenate([matrix.columns, columns]),
        np.concatenate([matrix.values, more[rows, columns]]),
        (matrix.shape[0] + len(more), matrix.shape[1]),
    )


def of_columns(matrix: Matrix, free: np.ndarray) -> Matrix:
    """The columns that `free` marks."""
    if not isinstance(matrix, Entries):
        return matrix[:, free]
    kept, number = free[matrix.columns], np.cumsum(free) - 1
    return Entries(
        matrix.rows[kept],
        number[matrix.columns[kept]],
        matrix.values[kept],
        (matrix.shape[0], int(free.sum())),
    )


def tied(matrix: Matrix, groups: np.ndarray) -> np.ndarray:
    """Sums over the columns of each group, whose members move alike; groups are numbered from 0."""
    if not isinstance(matrix, Entries):
        matrix = Entries(*np.nonzero(matrix), matrix[np.nonzero(matrix)], matrix.shape)  # type: ignore[arg-type]
    found = np.zeros((matrix.shape[0], int(groups.max(initial=-1)) + 1))
    np.add.at(found, (matrix.rows, groups[matrix.columns]), matrix.values)
    return found


def damped(matrix: Matrix, right: np.ndarray, damping: float) -> np.ndarray:
    """x that minimizes |matrix x - right|^2 + damping^2 |x|^2."""
    if not isinstance(matrix, Entries):
        return least_squares_damped(matrix, right, damping)
    return _Damped(matrix, damping)(right)


def least(matrix: Matrix, right: np.ndarray) -> np.ndarray:
    """The least x with matrix x = right; if there is none, an x that comes close."""
    if not isinstance(matrix, Entries):
        return least_squares(matrix, right)
    solve = _Damped(matrix, 0.0)
    x = solve(right)
    for _ in range(REFINED):  # each pass makes up for the damping
        x = x + solve(right - matrix @ x)
    return x


class _Damped:
    """Damped least squares for several right-hand sides."""

    def __init__(self, matrix: Entries, damping: float):
        (m, n), j = matrix.shape, matrix.sparse()
        d = max(damping, DAMPED * np.abs(matrix.values).max(initial=0.0), 1e-300)
        self._matrix = ca.blockcat([[d * ca.DM.eye(m), j], [j.T, -d * ca.DM.eye(n)]])
        self._solver = ca.Linsol("damped", "qr", self._matrix.sparsity(), {"eps": 0.0})
        self._solver.nfact(self._matrix)
        self._height = m

    def __call__(self, right: np.ndarray) -> np.ndarray:
        full = np.concatenate([right, np.zeros(self._matrix.shape[0] - self._height)])
        return self._solver.solve(self._matrix, ca.DM(full)).full().ravel()[self._height :]


def rank_of(matrix: Matrix, small: float) -> int:
    """The number of pivots of the orthogonal factors larger than `small` of the largest. For entries: the number of
    singular values larger than that part of their bound, resolved down to `FINEST`."""
    if not isinstance(matrix, Entries):
        sizes = factors(matrix).sizes
        return int((sizes > small * max(sizes.max(initial=0.0), LEAST)).sum())
    sizes = np.abs(matrix.values)
    sums = (np.bincount(x, sizes).max(initial=0.0) for x in (matrix.rows, matrix.columns))
    bound = max(small, FINEST) * max(float(np.sqrt(np.prod(list(sums)))), LEAST)
    j = matrix.sparse()
    shifted = ca.mtimes(j.T, j) - bound * bound * ca.DM.eye(matrix.shape[1])
    solver = ca.Linsol("inertia", "ldl", shifted.sparsity())
    solver.sfact(shifted)
    solver.nfact(shifted)
    return matrix.shape[1] - solver.neig(shifted)


def allowed(matrix: np.ndarray, rank: int) -> np.ndarray:
    """Motions that all rows allow, as orthonormal columns."""
    return null_space(matrix, rank)
