"""Sums and products of matrices, added up one after the other, whatever the memory layout.

NumPy hands `@`, `dot`, `norm` and `einsum` over to a BLAS, or to loops of its own, which differ from processor to
processor in the order of their sums and in fused operations. Elementwise + - * / and square roots are exact to the last
bit everywhere, and `accumulate` adds from left to right.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def total(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """The sum along an axis; 0 where it is empty."""
    if x.shape[axis] == 0:
        return np.zeros(np.delete(x.shape, axis))
    if x.shape[axis] == 1:
        return x.take(0, axis)
    return np.add.accumulate(x, axis=axis).take(-1, axis)


def dot(a: ArrayLike, b: ArrayLike, axis: int = -1) -> Any:
    """The sum of products along an axis."""
    return total(np.asarray(a) * np.asarray(b), axis)


def norm(x: ArrayLike, axis: int = -1) -> Any:
    """Lengths of the vectors along an axis."""
    x = np.asarray(x, dtype=float)
    return np.sqrt(total(x * x, axis))


def times(a: np.ndarray, b: np.ndarray) -> Any:
    """a @ b, of vectors and matrices with any leading axes, of floats or of symbols."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == object or b.dtype == object:  # NumPy adds these up one after the other itself
        return a @ b
    if a.ndim == 1:
        return total(a[:, None] * b, -2) if b.ndim > 1 else total(a * b)
    if b.ndim == 1:
        return total(a * b)
    out = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    for k in range(a.shape[-1]):
        out += a[..., :, k, None] * b[..., None, k, :]
    return out
