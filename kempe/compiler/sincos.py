"""Sine and cosine from additions and multiplications, the same on every target.

Problem. A library's sine cannot be vectorised or moved to another target, and two libraries differ in the last
digit. Must: at most 1 ulp for |x| <= 1e6, also next to multiples of pi/2 where x - k pi/2 cancels; NaN for NaN
and infinity; sin(-0) = -0.

Discussion. |x| = k pi/2 + r with |r| <= pi/4. pi/2 is kept as P1 + P2 + P3 + P4, the first three of 33 bits: for
k < 2^20 the products k P1, k P2, k P3 are exact, the first difference is too, and the other two are taken with
their rounding error carried into a tail. So r + tail has about 30 bits more than a double.

Beyond |x| = 2^20 pi/2 (about 1.6e6) the products round: the absolute error then grows as |x| 2^-52, half the
spacing of the doubles around x, and r is held inside the interval of the polynomials, so the result stays within
[-1, 1] however large x is.
"""

import math

from kempe.compiler.term import Term, copysign, floor, fma, fms, fnma, polynomial, where

PI_2 = (
    float.fromhex("0x1.921fb544p+0"),
    float.fromhex("0x1.0b4611a6p-34"),
    float.fromhex("0x1.3198a2ep-69"),
    float.fromhex("0x1.b839a252049c1p-104"),
)

# Minimax on |r| <= pi/4: sin r = r + r^3 SIN(r^2) to 2^-57 of sin r, cos r = 1 - r^2/2 + r^4 COS(r^2) to 2^-59.
SIN = (
    -0.16666666666666632,
    0.008333333333322425,
    -0.00019841269829816966,
    2.7557313695231406e-06,
    -2.505075865398963e-08,
    1.5896827967938434e-10,
)
COS = (
    0.0416666666666666,
    -0.0013888888888874138,
    2.4801587289491844e-05,
    -2.755731435524767e-07,
    2.087572368531228e-09,
    -1.1359669916495849e-11,
)
REACH = 0.7853981635  # the polynomials hold a little beyond pi/4, where rounding of k may put r


def _two_difference(a: Term, b: Term) -> tuple[Term, Term]:
    """a - b and its rounding error, exactly, whichever is the larger."""
    difference = a - b
    shared = a - difference
    return difference, (a - (difference + shared)) - (b - shared)


def _reduce(x: Term) -> tuple[Term, Term, Term]:
    """k, r and the tail of r, with |x| = k pi/2 + r + tail."""
    size = abs(x)
    k = floor(fma(size, 2 / math.pi, 0.5))
    r = size - k * PI_2[0]
    r, error2 = _two_difference(r, k * PI_2[1])
    r, error3 = _two_difference(r, k * PI_2[2])
    tail = (error2 + error3) - k * PI_2[3]
    total = r + tail
    tail = (r - total) + tail
    too_far = abs(total) > REACH
    return k, where(too_far, copysign(total.like(REACH), total), total), where(too_far, 0.0, tail)


def _kernels(r: Term, tail: Term) -> tuple[Term, Term]:
    """sin and cos of r + tail for |r| <= pi/4."""
    z = r * r
    sine = r + fma(r * z, polynomial(z, SIN), fnma(0.5 * z, tail, tail))
    # cos: 1 - z/2 with the errors of z and of the difference put back.
    z_error = fms(r, r, z)
    half = 0.5 * z
    head = 1.0 - half
    head_error = (1.0 - head) - half
    small = fms(z * z, polynomial(z, COS), fma(r, tail, 0.5 * z_error))
    return sine, head + (head_error + small)


def _is_odd(n: Term) -> Term:
    half = 0.5 * n
    return ~floor(half).equals(half)


def sine(x: Term) -> Term:
    """sin x."""
    k, r, tail = _reduce(x)
    sin_r, cos_r = _kernels(r, tail)
    size = where(_is_odd(k), cos_r, sin_r)
    return where(_is_odd(floor(0.5 * k)), -size, size) * copysign(x.like(1.0), x)


def cosine(x: Term) -> Term:
    """cos x."""
    k, r, tail = _reduce(x)
    sin_r, cos_r = _kernels(r, tail)
    size = where(_is_odd(k), sin_r, cos_r)
    return where(_is_odd(floor(0.5 * (k + 1.0))), -size, size)
