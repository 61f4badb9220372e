"""Sines, cosines, angles and exponentials of numbers by the compiler's recipes: a C library's differ in the last bit.

A recipe is written down once as the text of a Python function on floats. Fused operations of polynomials take two
roundings; those by which whole turns are taken off are exact.
"""

import math
from collections.abc import Callable
from typing import Any

from kempe.compiler.elementary import arctangent2, exponential
from kempe.compiler.operations import Op
from kempe.compiler.sincos import cosine, sine
from kempe.compiler.term import Term

_TEXT = {
    Op.ADD: "{} + {}",
    Op.SUB: "{} - {}",
    Op.MUL: "{} * {}",
    Op.DIV: "{0} / {1} if {1} else nan",
    Op.FMA: "{} * {} + {}",
    Op.FMS: "fused({}, {}, -{})",
    Op.FNMA: "fused(-{}, {}, {})",
    Op.NEG: "-{}",
    Op.ABS: "abs({})",
    Op.FLOOR: "float(floor({}))",
    Op.POW2: "ldexp(1.0, int({}))",
    Op.COPYSIGN: "copysign({}, {})",
    Op.MIN: "min({}, {})",
    Op.MAX: "max({}, {})",
    Op.LT: "{} < {}",
    Op.LE: "{} <= {}",
    Op.EQ: "{} == {}",
    Op.NOT: "not {}",
    Op.OR: "{} or {}",
    Op.SELECT: "{1} if {0} else {2}",
}


SPLIT = 2.0**27 + 1.0


def _fused(a: float, b: float, c: float) -> float:
    """a b + c, but for the last rounding: the product is worked out exactly, in halves (T. J. Dekker, 1971)."""
    p = a * b
    high, other = SPLIT * a - (SPLIT * a - a), SPLIT * b - (SPLIT * b - b)
    low, rest = a - high, b - other
    error = ((high * other - p) + high * rest + low * other) + low * rest
    total = p + c
    back = total - p
    return total + ((p - (total - back)) + (c - back) + error)


class _Lines:
    """Where a recipe is written down: each operation a line."""

    def __init__(self):
        self.lines: list[str] = []

    def const(self, value: float) -> str:
        """A number."""
        return repr(value) if math.isfinite(value) else "inf"

    def number(self, value: Any) -> float | None:
        """Nothing is known before it is computed."""
        return None

    def emit(self, op: Op, *names: str) -> str:
        """The name of the result."""
        self.lines.append(f"    t{len(self.lines)} = {_TEXT[op].format(*names)}\n")
        return f"t{len(self.lines) - 1}"


def _function(recipe: Callable[..., Term], *names: str) -> Callable[..., float]:
    on = _Lines()
    result = recipe(*(Term(on, name) for name in names)).value
    known: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "fused": _fused} | {
        name: getattr(math, name) for name in ("copysign", "floor", "ldexp")
    }
    exec(f"def function({', '.join(names)}):\n{''.join(on.lines)}    return {result}\n", known)
    return known["function"]


sin = _function(sine, "x")
cos = _function(cosine, "x")
atan2 = _function(arctangent2, "y", "x")
exp = _function(exponential, "x")
