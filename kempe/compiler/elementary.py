"""Elementary functions: recipes over the other operations, so every target computes the same results.

Accuracy, measured against mpmath: sin, cos at most 1 ulp for |x| <= 1e6; exp, log at most 1 ulp; atan2 at most
2 ulp. NaN gives NaN; limits at 0, infinity and signed zeros are those of the C library.
"""

import math

from kempe.compiler.operations import Op
from kempe.compiler.sincos import cosine, sine
from kempe.compiler.term import (
    Ground,
    Term,
    copysign,
    exponent,
    floor,
    fma,
    fnma,
    maximum,
    minimum,
    polynomial,
    pow2,
    where,
)

# Minimax: atan t = t + t^3 ATAN(t^2) for |t| <= tan(pi/8), to 2^-58 of atan t.
ATAN = (
    -0.333333333333332,
    0.19999999999954082,
    -0.14285714280248413,
    0.11111110786133833,
    -0.09090897836353919,
    0.0769206163572112,
    -0.06663120370859994,
    0.05848008838997454,
    -0.05039845232722333,
    0.038078315447468786,
    -0.017922274803417865,
)
# Minimax: exp r = 1 + r + r^2 EXP(r) for |r| <= ln(2)/2, to 2^-60.
EXP = (
    0.5,
    0.16666666666666685,
    0.04166666666666673,
    0.008333333333316751,
    0.0013888888888858562,
    0.00019841269897027242,
    2.4801587373523133e-05,
    2.755723426913533e-06,
    2.755723353350123e-07,
    2.5112228359057286e-08,
    2.0926892648936007e-09,
)
# Minimax: 2 atanh s = 2 s + s^3 LOG(s^2) for |s| <= (sqrt 2 - 1) / (sqrt 2 + 1), to 2^-60.
LOG = (
    0.6666666666666666,
    0.40000000000006253,
    0.2857142856908446,
    0.22222222647008583,
    0.1818177564866961,
    0.15387091491031882,
    0.13250101628339123,
    0.1325147906576254,
)
LN2 = float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c7673p-45")  # the first of 42 bits
PI = math.pi, 1.2246467991473532e-16
TAN_PI_8 = float.fromhex("0x1.a827999fcef32p-2")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")


def arctangent2(y: Term, x: Term) -> Term:
    """The angle of (x, y) in [-pi, pi]."""
    # First octant, scaled to avoid overflow; equal infinities count as equal lengths.
    shrink = where(maximum(abs(x), abs(y)) > 1e300, 2.0**-10, 1.0)
    ax, ay = abs(x) * shrink, abs(y) * shrink
    long, short = maximum(ax, ay), minimum(ax, ay)
    both_infinite = math.inf <= short
    long, short = where(both_infinite, 1.0, long), where(both_infinite, 1.0, short)
    # One division: tan of the angle, or of the angle minus pi/4.
    steep = TAN_PI_8 * long < short
    t = where(steep, short - long, short) / where(steep, short + long, long)
    t = where(long.equals(0.0), 0.0, t)
    z = t * t
    base, base_error = where(steep, PI[0] / 4, 0.0), where(steep, PI[1] / 4, 0.0)
    angle = base + (t + fma(t * z, polynomial(z, ATAN), base_error))
    # Unfold: across the diagonal, across the y axis, across the x axis.
    angle = where(ax < ay, PI[0] / 2 - (angle - PI[1] / 2), angle)
    angle = where(copysign(x.like(1.0), x) < 0.0, PI[0] - (angle - PI[1]), angle)
    return where(x.is_nan() | y.is_nan(), x + y, copysign(angle, y))


def exponential(x: Term) -> Term:
    """e^x."""
    bounded = where(x < -746.0, -746.0, where(x > 710.0, 710.0, x))
    k = floor(fma(bounded, LOG2_E, 0.5))
    high = fnma(k, LN2[0], bounded)
    low = k * LN2[1]
    r = high - low
    tail = (high - r) - low
    p = 1.0 + (r + fma(r * r, polynomial(r, EXP), tail))
    half = floor(0.5 * k)  # in two steps, so that neither power overflows
    return (p * pow2(half)) * pow2(k - half)


def logarithm(x: Term) -> Term:
    """ln x."""
    # x = m 2^k with m around 1; numbers at the ends of the range are scaled first.
    tiny, huge = x < 2.0**-1000, x > 2.0**1000
    scaled = x * where(tiny, 2.0**54, where(huge, 2.0**-54, 1.0))
    e = exponent(scaled)
    m = scaled * pow2(-e)
    above = math.sqrt(2) < m
    m = where(above, 0.5 * m, m)
    k = where(above, e + 1.0, e) + where(tiny, -54.0, where(huge, 54.0, 0.0))
    # ln(1 + f) = f - (f^2/2 - s (f^2/2 + R)) with s = f / (2 + f), R = s^2 LOG(s^2).
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * (f * f)
    value = k * LN2[0] - ((half - fma(s, half + z * polynomial(z, LOG), k * LN2[1])) - f)
    value = where(x < math.inf, value, x)
    value = where(x.equals(0.0), -math.inf, value)
    return where(x < 0.0, math.nan, value)


RECIPES = {
    Op.SIN: sine,
    Op.COS: cosine,
    Op.ATAN2: arctangent2,
    Op.EXP: exponential,
    Op.LOG: logarithm,
}


def expand(op: Op, on: Ground, *operands):
    """An elementary function of values, evaluated by its recipe on a ground."""
    return RECIPES[op](*(Term(on, value) for value in operands)).value
