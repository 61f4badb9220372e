"""Sine and cosine: computed from additions and multiplications, identical on every target.

Problem. A library's sine cannot be vectorised or moved to another target, and two libraries differ in the last digit.
Must: at most 1 ulp for |x| <= 1e6, also near multiples of pi/2 where x - k pi/2 cancels; NaN for NaN and infinity;
sin(-0) = -0.

Discussion. x = k pi/2 + r with |r| <= pi/4. pi/2 is stored as P1 + P2 + P3, of 53, 33 and 53 bits. x - k P1, rounded
once, is exact: both are multiples of the spacing of P1 or more, and the difference is below 1. For |k| < 2^20 the
product k P2 has at most 53 bits, so the rounding error of the second difference is a double too, and goes into a tail.
So r + tail has about 60 bits more than a double of that size, for five operations.

k is rounded to an integer by adding a number so large that doubles there are integers, and to a multiple of 4 likewise.
The difference between the two, -2 to 2, determines how the sine and cosine of r are swapped and signed. Polynomials are
summed in pairs, which takes as many operations as Horner's rule but has a chain of three instead of five.

Beyond |x| = 2^20 pi/2 (about 1.6e6) products round: small results lose relative accuracy, but the absolute error
stays below 2e-16 up to 1e13. From 7e13 on, where doubles are at least a hundredth apart, an angle is taken as zero, so
the result stays within [-1, 1] however large x is.
"""

import math

from kempe.compiler.term import Term, fma, fms, fnma, where

PI_2 = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633100000p-54"),
    float.fromhex("0x1.1701b839a2520p-88"),
)
WHOLE = 1.5 * 2.0**52  # doubles near it are one apart
FOURS = 1.5 * 2.0**54  # and near this, four
FAR = 2.0**46

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


def _reduce(x: Term) -> tuple[Term, Term, Term]:
    """r, its negated tail, and the distance from k up to a multiple of 4, with x = k pi/2 + r + tail."""
    near = where(abs(x) > FAR, x - x, x)  # NaN for infinite angles
    k = fma(near, 2 / math.pi, WHOLE) - WHOLE
    first = fnma(k, PI_2[0], near)
    r = fnma(k, PI_2[1], first)
    lacks = fma(k, PI_2[2], fms(k, PI_2[1], first - r))
    return r, lacks, (fma(near, 2 / math.pi, FOURS) - FOURS) - k


def _sum(z: Term, zz: Term, c: tuple[float, ...]) -> Term:
    """A polynomial of six coefficients in z, summed in pairs."""
    low, middle, high = (fma(z, c[k + 1], c[k]) for k in (0, 2, 4))
    return fma(fma(high, zz, middle), zz, low)


def _kernels(r: Term, lacks: Term) -> tuple[Term, Term]:
    """sin and cos of r - lacks for |r| <= pi/4; the sine of -0 is -0."""
    z = r * r
    zz = z * z
    # cos: 1 - z/2, with the rounding error of the difference restored.
    head = fnma(z, 0.5, 1.0)
    head_error = fnma(z, 0.5, 1.0 - head)
    slope = fma(zz, 1 / 24, head)  # derivative of the sine, accurate enough for the tail
    sine = r - fma(r * z, _sum(z, zz, SIN), lacks * slope)
    return sine, head + fma(sine, lacks, fma(zz, _sum(z, zz, COS), head_error))


def _quarter_turns(to_fours: Term) -> tuple[Term, Term]:
    """cos and -sin of k pi/2, from the distance to a multiple of 4: -1, 0, 1, 0, -1 and 0, -1, 0, 1, 0."""
    c = 1.0 - abs(to_fours)
    return c, fma(to_fours, c, to_fours)


def sine(x: Term) -> Term:
    """sin x."""
    r, lacks, to_fours = _reduce(x)
    sin_r, cos_r = _kernels(r, lacks)
    c, minus_s = _quarter_turns(to_fours)  # one of them is 0, so nothing rounds
    return fms(sin_r, c, cos_r * minus_s)


def cosine(x: Term) -> Term:
    """cos x."""
    r, lacks, to_fours = _reduce(x)
    sin_r, cos_r = _kernels(r, lacks)
    c, minus_s = _quarter_turns(to_fours)
    return fma(cos_r, c, sin_r * minus_s)
