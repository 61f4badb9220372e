"""Symbolic rules: what each CasADi operation becomes in the closed set of operations, written on terms."""

import math

import casadi as ca

from kempe.compiler.term import (
    Term,
    atan2,
    copysign,
    cos,
    exp,
    floor,
    fnma,
    log,
    maximum,
    minimum,
    sin,
    sqrt,
    where,
)


def _power(x: Term, n: Term) -> Term:
    """x^n: products if n is a small integer, with a root for half-integers, else exp(n log x)."""
    number = x.on.number(n.value)
    if number is not None and abs(number) <= 16 and (2 * number).is_integer():
        whole = _whole_power(x, int(abs(number)))
        result = whole if number.is_integer() else whole * sqrt(x)
        return 1.0 / result if number < 0 else result
    size = where(abs(x).equals(1.0), 1.0, exp(n * log(abs(x))))
    is_whole = floor(n).equals(n)
    is_odd = is_whole & ~floor(0.5 * n).equals(0.5 * n)
    signed = where((x < 0.0) & is_odd, -size, size)
    value = where((-math.inf < x) & (x < 0.0) & ~is_whole, math.nan, signed)
    return where(n.equals(0.0) | x.equals(1.0), 1.0, value)


def _whole_power(x: Term, n: int) -> Term:
    result, square = None, x
    while n:
        if n & 1:
            result = square if result is None else result * square
        n >>= 1
        square = square * square if n else square
    return x.like(1.0) if result is None else result


def _exp_minus_one(x: Term) -> Term:
    # W. Kahan's correction: the rounding of u = exp x divides out of (u - 1) / log u.
    u = exp(x)
    small = where(u.equals(1.0), x, (u - 1.0) * (x / log(u)))
    return where(abs(x) < 1.0, small, u - 1.0)


def _log_one_plus(x: Term) -> Term:
    u = 1.0 + x
    return where(u.equals(1.0) | u.equals(math.inf), x, log(u) * (x / (u - 1.0)))


def _sinh(x: Term) -> Term:
    e = _exp_minus_one(abs(x))
    half = exp(0.5 * abs(x))
    size = where(abs(x) < 20.0, 0.5 * (e + e / (e + 1.0)), 0.5 * half * half)
    return copysign(size, x)


def _cosh(x: Term) -> Term:
    e = exp(0.5 * abs(x))
    return 0.5 * e * e + 0.5 / e / e


def _tanh(x: Term) -> Term:
    e = _exp_minus_one(minimum(2.0 * abs(x), 50.0))
    return where(x.is_nan(), x, copysign(e / (e + 2.0), x))


def _asinh(x: Term) -> Term:
    a = abs(x)
    near = _log_one_plus(a + a * a / (1.0 + sqrt(1.0 + a * a)))
    return copysign(where(a < 1e8, near, log(a) + math.log(2.0)), x)


def _acosh(x: Term) -> Term:
    t = x - 1.0
    return where(x > 1e8, log(x) + math.log(2.0), _log_one_plus(t + sqrt(t) * sqrt(x + 1.0)))


def _atanh(x: Term) -> Term:
    a = abs(x)
    return copysign(0.5 * _log_one_plus(2.0 * a / (1.0 - a)), x)


def _other_leg(x: Term) -> Term:
    return sqrt((1.0 - x) * (1.0 + x))


def _hypot(x: Term, y: Term) -> Term:
    long, short = maximum(abs(x), abs(y)), minimum(abs(x), abs(y))
    ratio = where(long.equals(0.0) | long.equals(math.inf), 0.0, short / long)
    value = where(x.is_nan() | y.is_nan(), x + y, long * sqrt(1.0 + ratio * ratio))
    return where(long.equals(math.inf), math.inf, value)


def _fmod(x: Term, y: Term) -> Term:
    # Exact while |x / y| < 2^53, NaN beyond: the remainder of the rounded quotient, corrected if that was one too
    # large.
    a, b = abs(x), abs(y)
    quotient = a / b
    r = fnma(floor(quotient), b, a)
    r = where(r < 0.0, r + b, r)
    return where(a < b, x, where(quotient < 2.0**53, copysign(r, x), math.nan))


def _remainder(x: Term, y: Term) -> Term:
    # Subtracts the multiple of y nearest to x; halfway, the even multiple. For a in [0, 2b): nothing up to b/2, b
    # beyond it, and 2b from 3b/2 on.
    b = abs(y)
    a = abs(_fmod(x, 2.0 * b))
    less = a - b
    a = where(2.0 * a > b, where(2.0 * less >= b, less - b, less), a)
    return where(b.equals(math.inf) & (abs(x) < math.inf), x, copysign(x.like(1.0), x) * a)


def _sign(x: Term) -> Term:
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, x))


RULES = {
    ca.OP_ASSIGN: lambda x: x,
    ca.OP_LIFT: lambda x, _: x,
    ca.OP_ADD: lambda x, y: x + y,
    ca.OP_SUB: lambda x, y: x - y,
    ca.OP_MUL: lambda x, y: x * y,
    ca.OP_DIV: lambda x, y: x / y,
    ca.OP_NEG: lambda x: -x,
    ca.OP_SQ: lambda x: x * x,
    ca.OP_TWICE: lambda x: 2.0 * x,
    ca.OP_INV: lambda x: 1.0 / x,
    ca.OP_SQRT: sqrt,
    ca.OP_FABS: abs,
    ca.OP_SIGN: _sign,
    ca.OP_COPYSIGN: copysign,
    ca.OP_FLOOR: floor,
    ca.OP_CEIL: lambda x: -floor(-x),
    ca.OP_FMIN: minimum,
    ca.OP_FMAX: maximum,
    ca.OP_FMOD: _fmod,
    ca.OP_REMAINDER: _remainder,
    ca.OP_LT: lambda x, y: x < y,
    ca.OP_LE: lambda x, y: x <= y,
    ca.OP_EQ: lambda x, y: x.equals(y),
    ca.OP_NE: lambda x, y: ~x.equals(y),
    ca.OP_NOT: lambda x: ~x,
    ca.OP_AND: lambda x, y: x & y,
    ca.OP_OR: lambda x, y: x | y,
    ca.OP_IF_ELSE_ZERO: lambda c, x: where(c, x, 0.0),
    ca.OP_SIN: sin,
    ca.OP_COS: cos,
    ca.OP_TAN: lambda x: sin(x) / cos(x),
    ca.OP_ASIN: lambda x: atan2(x, _other_leg(x)),
    ca.OP_ACOS: lambda x: atan2(_other_leg(x), x),
    ca.OP_ATAN: lambda x: atan2(x, 1.0),
    ca.OP_ATAN2: atan2,
    ca.OP_HYPOT: _hypot,
    ca.OP_EXP: exp,
    ca.OP_LOG: log,
    ca.OP_EXPM1: _exp_minus_one,
    ca.OP_LOG1P: _log_one_plus,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_SINH: _sinh,
    ca.OP_COSH: _cosh,
    ca.OP_TANH: _tanh,
    ca.OP_ASINH: _asinh,
    ca.OP_ACOSH: _acosh,
    ca.OP_ATANH: _atanh,
}

# Names of CasADi's operations by number, for messages.
OPERATION_NAMES = {value: name[3:].lower() for name, value in vars(ca).items() if name.startswith("OP_")}
