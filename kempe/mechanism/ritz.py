"""Rayleigh-Ritz shapes: the ways a beam can bend, as polynomials along its length, and their integrals.

A deflection is a sum of coordinates times shapes, v(x) = sum of eta_i f_i(x / length). Every shape is stored as a
Chebyshev polynomial on 0..1 that matches the given function to rounding. So derivatives and integrals are exact, any
smooth function can be a shape, and shapes can be saved in files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import pi

import numpy as np
from numpy.polynomial import Chebyshev

from kempe.arithmetic.angles import cos, exp, sin
from kempe.errors import MechanismError

Coefficients = tuple[float, ...]  # of Chebyshev polynomials on 0..1, the constant first
DEGREES = (8, 16, 24, 32, 48, 64)
ROUNDING = 3e-14  # relative to the largest coefficient: a polynomial has converged when its last ones are this small
TINY = 1e-11  # relative to the diagonal: smaller integrals are set to zero, so orthogonality is exact
MOST = 10  # modes: degree 64 cannot represent many more
ALONG = ("y", "z")  # the directions a beam bends in, across its own x


def polynomial(function: Callable, where: str) -> Coefficients:
    """The polynomial that interpolates a function on 0..1."""
    for degree in DEGREES:
        try:
            found = _interpolated(function, degree)
        except (TypeError, ValueError) as error:
            raise MechanismError(f"{where}: a shape maps a number from 0 to 1 to a number: {error}") from error
        size = np.abs(found).max()
        if not np.isfinite(size) or size == 0:
            raise MechanismError(f"{where}: a shape must be finite from 0 to 1, and not zero everywhere")
        if np.abs(found[-3:]).max() <= ROUNDING * size:
            kept = np.flatnonzero(np.abs(found) > 0.3 * ROUNDING * size)[-1] + 1
            return tuple(found[:kept].tolist())
    raise MechanismError(f"{where}: a shape is not smooth enough; give a function with derivatives of all orders")


def _interpolated(function: Callable, degree: int) -> np.ndarray:
    """Coefficients of the polynomial that interpolates a function at the Chebyshev nodes."""
    count = degree + 1
    turns = [pi * (k + 0.5) / count for k in range(count)]
    values = [float(function(0.5 + 0.5 * cos(turn))) for turn in turns]
    found = [sum(x * cos(n * turn) for x, turn in zip(values, turns, strict=True)) for n in range(count)]
    return np.array([found[0], *(2.0 * x for x in found[1:])]) / count


# ---- shapes by name -----------------------------------------------------------------------------------------


def _pinned(number: int) -> Callable[[float], float]:
    """Half waves (paper 5, eq. 45, with l2 in both sines), scaled to 1 in the middle of the first."""
    return lambda s: sin(number * pi * s)


def cosh(x: float) -> float:
    """The hyperbolic cosine, for arguments that are not small."""
    return 0.5 * (exp(x) + exp(-x))


def sinh(x: float) -> float:
    """The hyperbolic sine, for arguments that are not small."""
    return 0.5 * (exp(x) - exp(-x))


def _cantilever(number: int) -> Callable[[float], float]:
    """Modes of a beam clamped at 0 and free at 1, scaled to 1 there; cos(b) cosh(b) = -1."""
    b = _root(lambda b: cos(b) + 1 / cosh(b), (number - 1) * pi, number * pi)
    growing = (sin(b) - cos(b) - exp(-b)) / (sinh(b) + sin(b))  # 1 - sigma, without cancellation
    return _clamped(b, growing, -1.0)


def _free(number: int) -> Callable[[float], float]:
    """Modes of a free-free beam, scaled to 1 at the end; cos(b) cosh(b) = 1."""
    b = _root(lambda b: cos(b) - 1 / cosh(b), number * pi, (number + 1) * pi)
    growing = (cos(b) - sin(b) - exp(-b)) / (sinh(b) - sin(b))
    return _clamped(b, growing, 1.0)


def _clamped(b: float, growing: float, sign: float) -> Callable[[float], float]:
    """cosh + sign cos - sigma (sinh + sign sin) of b s, divided by its value at 1."""

    def mode(s: float) -> float:
        hyperbolic = 0.5 * (growing * exp(b * s) + (2 - growing) * exp(-b * s))
        return hyperbolic + sign * (cos(b * s) - (1 - growing) * sin(b * s))

    end = mode(1.0)
    return lambda s: mode(s) / end


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Bisection; the function changes sign once between the two, and may vanish at `low`."""
    low = low + 0.1
    below = function(low) > 0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if (function(middle) > 0) == below:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


NAMED = {"pinned-pinned": _pinned, "cantilever": _cantilever, "free": _free}


@cache
def named(shape: str, number: int) -> Coefficients:
    """The named shape with this number, counted from 1."""
    return polynomial(NAMED[shape](number), f"shape {shape!r}")


# ---- integrals ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Integrals:
    """Integrals of shapes f_i over a beam of unit length; plane: 0 for a shape that bends along y, 1 along z.

    whole: of f_i; lever: of s f_i; overlap: of f_i f_j, whatever their planes; curvature: of f_i'' f_j''. shortening:
    the integrals of f_i' f_j' from 0 to s, as polynomials of s; shortened: the integrals of these; sunk: of s times
    these. Apart from overlap, integrals of two shapes in different planes are zero.
    """

    plane: tuple[int, ...]
    shapes: tuple[Chebyshev, ...]
    whole: np.ndarray
    lever: np.ndarray
    overlap: np.ndarray
    curvature: np.ndarray
    shortening: dict[tuple[int, int], Chebyshev]
    shortened: np.ndarray
    sunk: np.ndarray


@cache
def integrals(shapes: tuple[tuple[Coefficients, ...], ...]) -> Integrals:
    """Integrals of the shapes along y and along z."""
    plane = tuple(k for k, own in enumerate(shapes) for _ in own)
    f = tuple(Chebyshev(c, domain=[0.0, 1.0]) for own in shapes for c in own)
    s = Chebyshev([0.5, 0.5], domain=[0.0, 1.0])
    size = len(f)
    overlap, curvature, shortened, sunk = (np.zeros((size, size)) for _ in range(4))
    shortening = {}
    for i in range(size):
        for j in range(i + 1):
            overlap[i, j] = overlap[j, i] = _over(_product(f[i], f[j]))
            if plane[i] == plane[j]:
                bent = _product(f[i].deriv(2), f[j].deriv(2))
                curvature[i, j] = curvature[j, i] = _over(bent)
                short = _product(f[i].deriv(), f[j].deriv()).integ(lbnd=0.0)
                shortening[i, j] = shortening[j, i] = short
                shortened[i, j] = shortened[j, i] = _over(short)
                sunk[i, j] = sunk[j, i] = _over(_product(s, short))
    whole, lever = np.array([_over(x) for x in f]), np.array([_over(_product(s, x)) for x in f])
    for vector in (whole, lever):
        vector[np.abs(vector) < TINY] = 0.0
    clean = _clean(overlap), _clean(curvature)
    return Integrals(plane, f, whole, lever, *clean, shortening, _clean(shortened), _clean(sunk))


def _product(f: Chebyshev, g: Chebyshev) -> Chebyshev:
    """The product, by T_i T_j = (T_(i+j) + T_|i-j|) / 2; NumPy's own product calls a BLAS."""
    found = np.zeros(len(f.coef) + len(g.coef) - 1)
    places = np.arange(len(g.coef))
    for i, c in enumerate(f.coef):
        found[i + places] += 0.5 * c * g.coef
        np.add.at(found, np.abs(i - places), 0.5 * c * g.coef)
    return Chebyshev(found, domain=[0.0, 1.0])


def _over(polynomial: Chebyshev) -> float:
    return float(polynomial.integ(lbnd=0.0)(1.0))


def _clean(matrix: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.abs(np.diag(matrix)))
    return np.where(np.abs(matrix) < TINY * np.outer(size, size), 0.0, matrix)


def chebyshev(coefficients: Sequence[float], s):
    """The value at s (a number or a symbol) by Clenshaw's recursion."""
    x, first, second = 2 * s - 1, 0.0, 0.0
    for c in reversed(coefficients[1:]):
        first, second = 2 * x * first - second + c, first
    return x * first - second + coefficients[0]
