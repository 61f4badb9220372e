"""Terms: ordinary Python arithmetic that records or computes operations of the closed set.

A recipe on terms reads like mathematics and runs on anything with `emit(op, *operands)` and `const(value)`: on a
`Tape`, which records instructions, or on the interpreter, which computes numbers.
"""

from collections.abc import Callable
from typing import Any, Protocol

from kempe.compiler.operations import Op


class Ground(Protocol):
    """The place where operations are recorded or computed."""

    def const(self, value: float) -> Any:
        """A constant."""

    def number(self, value: Any) -> float | None:
        """The constant that a value is, if known beforehand, else None."""

    def emit(self, op: Op, *operands: Any) -> Any:
        """One operation on earlier values."""


class Term:
    """A value on some ground, with operators."""

    __slots__ = ("on", "value")

    def __init__(self, on: Ground, value: Any):
        self.on = on
        self.value = value

    def apply(self, op: Op, *others: "Term | float") -> "Term":
        """Applies `op` to this term and the others; plain numbers become constants."""
        return Term(self.on, self.on.emit(op, self.value, *(self._term(other).value for other in others)))

    def _term(self, other: "Term | float") -> "Term":
        return other if isinstance(other, Term) else self.like(other)

    def like(self, number: float) -> "Term":
        """A constant on the same ground."""
        return Term(self.on, self.on.const(number))

    def __add__(self, other):
        return self.apply(Op.ADD, other)

    def __radd__(self, other):
        return self.like(other) + self

    def __sub__(self, other):
        return self.apply(Op.SUB, other)

    def __rsub__(self, other):
        return self.like(other) - self

    def __mul__(self, other):
        return self.apply(Op.MUL, other)

    def __rmul__(self, other):
        return self.like(other) * self

    def __truediv__(self, other):
        return self.apply(Op.DIV, other)

    def __rtruediv__(self, other):
        return self.like(other) / self

    def __neg__(self):
        return self.apply(Op.NEG)

    def __abs__(self):
        return self.apply(Op.ABS)

    def __lt__(self, other):
        return self.apply(Op.LT, other)

    def __le__(self, other):
        return self.apply(Op.LE, other)

    def __gt__(self, other):
        return self._term(other) < self

    def __ge__(self, other):
        return self._term(other) <= self

    def equals(self, other: "Term | float") -> "Term":
        """1 if they are equal, else 0."""
        return self.apply(Op.EQ, other)

    def __invert__(self):
        return self.apply(Op.NOT)

    def __and__(self, other):
        return self.apply(Op.AND, other)

    def __or__(self, other):
        return self.apply(Op.OR, other)

    def is_nan(self) -> "Term":
        """1 if it is NaN, else 0."""
        return ~self.equals(self)


def _function(op: Op) -> Callable[..., Term]:
    def apply(first: Term, *others: Term | float) -> Term:
        return first.apply(op, *others)

    apply.__doc__ = f"{op.name.lower()} of terms."
    return apply


fma = _function(Op.FMA)
fms = _function(Op.FMS)
fnma = _function(Op.FNMA)
sqrt = _function(Op.SQRT)
floor = _function(Op.FLOOR)
copysign = _function(Op.COPYSIGN)
minimum = _function(Op.MIN)
maximum = _function(Op.MAX)
exponent = _function(Op.EXPONENT)
pow2 = _function(Op.POW2)
where = _function(Op.SELECT)
sin = _function(Op.SIN)
cos = _function(Op.COS)
atan2 = _function(Op.ATAN2)
exp = _function(Op.EXP)
log = _function(Op.LOG)


def polynomial(x: Term, coefficients) -> Term:
    """c0 + c1 x + c2 x^2 + ..., by Horner's rule with fused steps."""
    *lower, highest = coefficients
    total = x.like(highest)
    for c in reversed(lower):
        total = fma(total, x, c)
    return total
