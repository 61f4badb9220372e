"""Orthogonal factors by Householder's reflections with pivoted columns; rank, least squares and bases from them."""

from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.sums import times, total


@dataclass(frozen=True, eq=False)
class Factors:
    """a[:, order] = Q [R; 0], Q the product of reflections I - beta v v^T, the sizes on R's diagonal falling.

    reflections: the vectors v in columns, with their beta.
    """

    r: np.ndarray
    order: np.ndarray
    reflections: np.ndarray
    beta: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Of the diagonal of R, which tell about as much as singular values."""
        return np.abs(np.diagonal(self.r))

    def rank(self, least: float) -> int:
        """How many sizes are above a bound."""
        return int((self.sizes > least).sum())

    def turned(self, b: np.ndarray) -> np.ndarray:
        """Q^T b."""
        return self._reflected(b, range(len(self.beta)))

    def turned_back(self, b: np.ndarray) -> np.ndarray:
        """Q b."""
        return self._reflected(b, reversed(range(len(self.beta))))

    def _reflected(self, b: np.ndarray, which) -> np.ndarray:
        out = np.array(b, dtype=float)
        columns = out[:, None] if out.ndim == 1 else out
        for k in which:
            v = self.reflections[k:, k]
            columns[k:] -= (self.beta[k] * v)[:, None] * times(v, columns[k:])
        return out


def factors(a: np.ndarray, rank: int | None = None) -> Factors:
    """Of a matrix; stops after so many columns where its rank is known, or nothing is left."""
    work = np.array(a, dtype=float)
    rows, columns = work.shape
    most = min(rows, columns) if rank is None else min(rank, rows, columns)
    order, reflections, beta = np.arange(columns), np.zeros((rows, most)), np.zeros(most)
    for k in range(most):
        part = work[k:, k:]
        squares = total(part * part, 0)
        best = int(squares.argmax())
        if squares[best] == 0.0:
            break
        if best:
            work[:, [k, k + best]] = work[:, [k + best, k]]
            order[[k, k + best]] = order[[k + best, k]]
        first, size = part[0, 0], np.sqrt(squares[best])
        head = -np.copysign(size, first)
        v = part[:, 0].copy()
        v[0] -= head
        beta[k] = 1.0 / (size * (size + abs(first)))
        part[:, 1:] -= (beta[k] * v)[:, None] * times(v, part[:, 1:])
        part[0, 0], part[1:, 0] = head, 0.0
        reflections[k:, k] = v
    return Factors(work[:most], order, reflections, beta)


def least_squares(a: np.ndarray, b: np.ndarray, small: float = 1e-12, rank: int | None = None) -> np.ndarray:
    """The least x of those that bring a x nearest to b; columns of b each. What is smaller than `small` of the largest
    size of `a` counts as nothing, where its rank is not given."""
    if not all(a.shape):
        return np.zeros((a.shape[1], *b.shape[1:]))
    found = factors(a, rank)
    if rank is None:
        rank = found.rank(small * found.sizes[0]) if found.sizes[0] > 0 else 0
    right = found.turned(b)[:rank]
    x = np.zeros((a.shape[1], *b.shape[1:]))
    if rank < a.shape[1]:  # of all solutions the least: along the rows that are left
        across = factors(found.r[:rank].T)
        part = np.zeros_like(x)
        part[:rank] = solve_lower(across.r[:rank].T, right[across.order])
        x[found.order] = across.turned_back(part)
    else:
        x[found.order] = solve_upper(found.r[:rank, :rank], right)
    return x


def damped(a: np.ndarray, b: np.ndarray, damping: np.ndarray | float) -> np.ndarray:
    """x that makes |a x - b|^2 + |damping x|^2 least; a damping for each entry of x, or one for all."""
    below = np.asarray(damping, dtype=float) * np.eye(a.shape[1])
    return least_squares(np.vstack([a, below]), np.concatenate([b, np.zeros((len(below), *b.shape[1:]))]), 0.0)


def null_space(a: np.ndarray, rank: int) -> np.ndarray:
    """An orthonormal basis, in columns, of what a matrix of a known rank takes to zero."""
    found = factors(a.T, rank)
    unit = np.eye(a.shape[1])[:, rank:]
    return found.turned_back(unit)


def solve_upper(r: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with r x = b, of an upper triangle."""
    x = np.array(b, dtype=float)
    for k in range(len(r) - 1, -1, -1):
        x[k] = x[k] / r[k, k]
        x[:k] -= r[:k, k].reshape(-1, *(1,) * (x.ndim - 1)) * x[k]
    return x


def solve_lower(r: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with r x = b, of a lower triangle."""
    return solve_upper(r[::-1, ::-1], b[::-1])[::-1]


def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with a x = b, of a square matrix that is not singular."""
    found = factors(a)
    x = np.zeros((len(a), *b.shape[1:]))
    x[found.order] = solve_upper(found.r, found.turned(b))
    return x
