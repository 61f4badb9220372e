"""Elimination of many matrices at once with complete pivoting, each by pivots of its own."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Eliminated:
    """Matrices [1 X; 0 ..] of n eliminations: X (n, rank, width - rank) with the columns that were not eliminated in
    their order, then those beside them. order: of the columns; least, signs: of the pivots, the least and those of all
    (n, rank); pivots: where they were."""

    x: np.ndarray
    order: np.ndarray
    least: np.ndarray
    signs: np.ndarray
    pivots: np.ndarray


def eliminated(a: np.ndarray, columns: int, rank: int, pivots: np.ndarray | None = None) -> Eliminated:
    """Of a (n, rows, width), whose first columns are eliminated; by pivots that are sought, or that are given."""
    work, n = a.copy(), len(a)
    lane, order = np.arange(n), np.tile(np.arange(columns), (n, 1))
    found = np.zeros((n, rank, 2), dtype=int) if pivots is None else pivots
    least, signs = np.full(n, np.inf), np.ones((n, rank))
    with np.errstate(all="ignore"):
        for k in range(rank):
            if pivots is None:
                sizes = np.abs(work[:, k:, k:columns])
                best = sizes.reshape(n, -1).argmax(axis=1)
                found[:, k] = np.stack(np.divmod(best, columns - k), axis=1) + k
            row, column = found[:, k].T
            work[lane, k], work[lane, row] = work[lane, row], work[lane, k]
            work[lane, :, k], work[lane, :, column] = work[lane, :, column], work[lane, :, k]
            order[lane, k], order[lane, column] = order[lane, column], order[lane, k]
            pivot = work[:, k, k].copy()
            least, signs[:, k] = np.minimum(least, np.abs(pivot)), np.where(pivot < 0, -1.0, 1.0)
            factor = work[:, :, k] / pivot[:, None]
            factor[:, k] = 0.0
            work -= factor[:, :, None] * work[:, k, None, :]
        x = work[:, :rank, rank:] / np.diagonal(work[:, :rank, :rank], axis1=1, axis2=2)[:, :, None]
    return Eliminated(x, order, least, signs, found)


def solved_positive(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n, size) with a x = b, of positive matrices (n, size, size)."""
    work, x = a.copy(), b.copy()
    size = x.shape[1]
    with np.errstate(all="ignore"):
        for k in range(size):
            factor = work[:, k + 1 :, k] / work[:, k, k, None]
            work[:, k + 1 :] -= factor[:, :, None] * work[:, k, None]
            x[:, k + 1 :] -= factor * x[:, k, None]
        for k in range(size - 1, -1, -1):
            x[:, k] /= work[:, k, k]
            x[:, :k] -= work[:, :k, k] * x[:, k, None]
    return x
