"""Sine and cosine from additions and multiplications, the same on every target.

Problem. A library's sine cannot be vectorised or moved to another target, and two libraries differ in the last
digit. Must: at most 1 ulp for |x| <= 1e6, also next to multiples of pi/2 where x - k pi/2 cancels; NaN for NaN
and infinity; sin(-0) = -0.

Discussion. x = k pi/2 + r with |r| <= pi/4. pi/2 is kept as P1 + P2 + P3, of 33, 53 and 53 bits: for |k| < 2^20 the
product k P1 and the first difference are exact, k P2 is taken with its rounding error, the second difference too, and
what is left goes into a tail. So r + tail has about 60 bits more than a double has at its place.

Beyond |x| = 2^20 pi/2 (about 1.6e6) the first difference rounds, though only once: the absolute error stays below
2e-16 up to 1e13, but small results lose relative accuracy. From about 1e14 on, r may come out larger than the
polynomials hold for; it is then taken as zero. So the result stays within [-1, 1] however large x is.
"""

import math

from kempe.compiler.term import Term, floor, fma, fms, fnma, polynomial, where

PI_2 = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a626331p-34"),
    float.fromhex("0x1.1701b839a2520p-88"),
)

# Minimax on |r| <= pi/4: sin r = r - r^3 SIN(r^2) to 2^-57 of sin r, cos r = 1 - r^2/2 + r^4 COS(r^2) to 2^-59.
SIN = (
    0.16666666666666632,
    -0.008333333333322425,
    0.00019841269829816966,
    -2.7557313695231406e-06,
    2.505075865398963e-08,
    -1.5896827967938434e-10,
)
COS = (
    0.0416666666666666,
    -0.0013888888888874138,
    2.4801587289491844e-05,
    -2.755731435524767e-07,
    2.087572368531228e-09,
    -1.1359669916495849e-11,
)
REACH = 0.8  # a little beyond pi/4, where rounding of k may put r; the polynomials still hold there


def _two_difference(a: Term, b: Term) -> tuple[Term, Term]:
    """a - b and its rounding error, exactly, whichever is the larger."""
    difference = a - b
    shared = a - difference
    return difference, (a - (difference + shared)) - (b - shared)


def _reduce(x: Term) -> tuple[Term, Term, Term]:
    """k, r and the tail of r, with x = k pi/2 + r + tail."""
    k = floor(fma(x, 2 / math.pi, 0.5))
    product = k * PI_2[1]
    product_error = fms(k, PI_2[1], product)
    r, error = _two_difference(fnma(k, PI_2[0], x), product)
    tail = fnma(k, PI_2[2], error - product_error)
    total = r + tail
    tail = (r - total) + tail
    is_too_far = abs(total) > REACH
    return k, where(is_too_far, 0.0, total), where(is_too_far, 0.0, tail)


def _kernels(r: Term, tail: Term) -> tuple[Term, Term]:
    """sin and cos of r + tail for |r| <= pi/4; the sine of -0 is -0."""
    z = r * r
    half = 0.5 * z
    sine = r - fma(r * z, polynomial(z, SIN), fms(half, tail, tail))
    # cos: 1 - z/2 with the rounding of the difference put back.
    head = 1.0 - half
    head_error = (1.0 - head) - half
    return sine, head + fma(z * z, polynomial(z, COS), fnma(r, tail, head_error))


def _quarter_turns(k: Term) -> tuple[Term, Term]:
    """cos and -sin of k pi/2: 1, 0, -1, 0 and 0, -1, 0, 1."""
    quarter = fnma(floor(0.25 * k), 4.0, k)
    return abs(quarter - 2.0) - 1.0, abs(quarter - 1.0) - 1.0


def sine(x: Term) -> Term:
    """sin x."""
    k, r, tail = _reduce(x)
    sin_r, cos_r = _kernels(r, tail)
    c, minus_s = _quarter_turns(k)  # one of them is 0, so nothing rounds
    return fms(sin_r, c, cos_r * minus_s)


def cosine(x: Term) -> Term:
    """cos x."""
    k, r, tail = _reduce(x)
    sin_r, cos_r = _kernels(r, tail)
    c, minus_s = _quarter_turns(k)
    return fma(cos_r, c, sin_r * minus_s)
