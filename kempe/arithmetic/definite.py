"""Positive definite matrices: elimination without pivoting, and damped least squares by it."""

import numpy as np

from kempe.arithmetic.sums import times

LEAST = 3e-7  # of the root of the largest diagonal entry: less damping would be lost in rounding squares


def solve_definite(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with a x = b, of a symmetric positive definite matrix and a vector."""
    n = len(a)
    work = np.concatenate([a, b[:, None]], axis=1)
    for k in range(n - 1):
        work[k + 1 :, k + 1 :] -= (work[k + 1 :, k] / work[k, k])[:, None] * work[k, k + 1 :]
    x = work[:, n].copy()
    for k in range(n - 1, -1, -1):
        x[k] /= work[k, k]
        x[:k] -= work[:k, k] * x[k]
    return x


def damped_by_squares(a: np.ndarray, b: np.ndarray, damping: float) -> np.ndarray:
    """x that makes |a x - b|^2 + |damping x|^2 least, for steps that further ones correct: a quarter of the work of
    orthogonal factors, and half of their digits. Damping is never less than what squares can hold."""
    wide = a.shape[0] <= a.shape[1]
    square = times(a, a.T) if wide else times(a.T, a)
    along = np.arange(len(square))
    most = square[along, along].max(initial=0.0)
    square[along, along] += max(damping * damping, LEAST * LEAST * most, 1e-300)
    return times(a.T, solve_definite(square, b)) if wide else solve_definite(square, times(a.T, b))
