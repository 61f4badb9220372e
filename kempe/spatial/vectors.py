"""Vectors: arrays of floats or symbols, and the few functions that NumPy lacks for symbols."""

import math
from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np

from kempe.arithmetic import angles
from kempe.arithmetic.sums import times

Scalar = Any  # a float or a CasADi SX scalar
Vector = np.ndarray
Matrix = np.ndarray


def array(entries: Iterable[Scalar]) -> Vector:
    """A vector of floats, or of objects if any entry is a symbol."""
    entries = list(entries)
    if any(isinstance(x, ca.SX) for x in entries):
        out = np.empty(len(entries), dtype=object)
        out[:] = [x if isinstance(x, ca.SX) else float(x) for x in entries]
        return out
    return np.array(entries, dtype=float)


def matrix(rows: Iterable[Iterable[Scalar]]) -> Matrix:
    """A matrix of floats or symbols from its rows."""
    rows = [list(row) for row in rows]
    return array(x for row in rows for x in row).reshape(len(rows), -1)


def symbols(name: str, count: int) -> Vector:
    """A vector of new symbols."""
    return from_sx(ca.SX.sym(name, count))


def from_sx(x: ca.SX) -> np.ndarray:
    """A CasADi matrix as an array of scalars: a column becomes a vector; constants become floats."""
    entries = [x[i, j] for i in range(x.size1()) for j in range(x.size2())]
    out = array(float(e) if e.is_constant() else e for e in entries)
    return out if x.size2() == 1 else out.reshape(x.size1(), x.size2())


def to_sx(x: np.ndarray) -> ca.SX:
    """An array of floats or symbols as a CasADi matrix; exact zeros become structural zeros."""
    x = np.asarray(x, dtype=object)
    grid = x.reshape(-1, 1) if x.ndim < 2 else x
    out = ca.SX(*grid.shape)
    for (i, j), entry in np.ndenumerate(grid):
        if not is_zero(entry):
            out[i, j] = entry
    return out


def is_zero(x: Scalar) -> bool:
    """Whether an entry is an exact, known zero."""
    return x.is_zero() if isinstance(x, ca.SX) else x == 0


def is_one(x: Scalar) -> bool:
    """Whether an entry is an exact, known one."""
    return x.is_one() if isinstance(x, ca.SX) else x == 1


def is_symbolic(x: Scalar) -> bool:
    """Whether an entry depends on symbols."""
    return isinstance(x, ca.SX) and not x.is_constant()


def sin(x: Scalar) -> Scalar:
    """Sine of a float or a symbol."""
    return ca.sin(x) if isinstance(x, ca.SX) else angles.sin(x)


def cos(x: Scalar) -> Scalar:
    """Cosine of a float or a symbol."""
    return ca.cos(x) if isinstance(x, ca.SX) else angles.cos(x)


def sqrt(x: Scalar) -> Scalar:
    """Square root of a float or a symbol."""
    return ca.sqrt(x) if isinstance(x, ca.SX) else math.sqrt(x)


def where_less(x: Scalar, y: Scalar, then: Scalar, other: Scalar) -> Scalar:
    """`then` if x < y, else `other`."""
    if any(isinstance(each, ca.SX) for each in (x, y)):
        return ca.if_else(x < y, then, other)
    return then if x < y else other


def larger(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two."""
    return ca.fmax(x, y) if isinstance(x, ca.SX) or isinstance(y, ca.SX) else max(x, y)


def largest(entries) -> Scalar:
    """The largest absolute value of some entries; 0 if there are none."""
    found = 0.0
    for entry in entries:
        found = larger(found, abs(entry))
    return found


def divided(x: Scalar, y: Scalar) -> Scalar:
    """x / y, and 0 where y is 0."""
    if isinstance(y, ca.SX):
        return ca.if_else(y == 0, 0, x / ca.if_else(y == 0, 1, y))
    return x / y if y else 0.0 * x


def length(x: Vector) -> Scalar:
    """The length of a vector; its derivative at zero is zero, where a plain square root has none."""
    square = dot(x, x)
    if isinstance(square, ca.SX):
        none = square == 0
        return ca.if_else(none, 0, sqrt(ca.if_else(none, 1, square)))
    return sqrt(square)


def zeros(*shape: int) -> np.ndarray:
    """Exact zeros."""
    return np.zeros(shape)


def scaled(factor: Scalar, x: np.ndarray) -> np.ndarray:
    """factor * x; NumPy's own product would pass an array times a symbol to CasADi."""
    if not isinstance(factor, ca.SX):
        return factor * x
    return array(factor * entry for entry in x.flat).reshape(x.shape)


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return array((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))


def swing_matrix(omega: Vector, alpha: Vector) -> Matrix:
    """B = [alpha] + [omega][omega]: the acceleration of a point at r of a body relative to its origin is B r."""
    (x, y, z), (u, v, w) = omega, alpha
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return matrix(((-(yy + zz), xy - w, xz + v), (xy + w, -(xx + zz), yz - u), (xz - v, yz + u, -(xx + yy))))


def swing(omega: Vector, alpha: Vector, r: Vector) -> Vector:
    """alpha x r + omega x (omega x r), by the matrix shared by all points of the body."""
    return times(swing_matrix(omega, alpha), r)


def gyroscopic(tensor: Matrix, omega: Vector) -> Vector:
    """omega x (I omega) for a symmetric I, sharing products with `swing_matrix`."""
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    i = tensor
    return array(
        (
            (i[2, 2] - i[1, 1]) * yz + i[1, 2] * (yy - zz) + i[0, 2] * xy - i[0, 1] * xz,
            (i[0, 0] - i[2, 2]) * xz + i[0, 2] * (zz - xx) + i[0, 1] * yz - i[1, 2] * xy,
            (i[1, 1] - i[0, 0]) * xy + i[0, 1] * (xx - yy) + i[1, 2] * xz - i[0, 2] * yz,
        )
    )


def skew(r: Vector) -> Matrix:
    """The cross product matrix of r: its product with x is r x x."""
    return matrix(((0.0, -r[2], r[1]), (r[2], 0.0, -r[0]), (-r[1], r[0], 0.0)))


def dot(a: Vector, b: Vector) -> Scalar:
    """a . b for vectors of any length."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
