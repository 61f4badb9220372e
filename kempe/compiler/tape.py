"""Tape: records instructions one by one, sharing equal ones, folding constants and dropping dead ones.

This changes no result by a bit, so a tape may rewrite any block. Only tracing goes further: with `algebra=True` a
product with an exact zero is zero, whatever the other factor (including NaN and infinity).
"""

import math

import numpy as np

from kempe.compiler.interpret import Evaluation
from kempe.compiler.operations import COMMUTATIVE, Op
from kempe.compiler.program import Block

_ON_NUMBERS = Evaluation()


class Tape:
    """Records one block; values are the block's value numbers."""

    def __init__(self, arity: int, algebra: bool = False):
        self.arity = arity
        self.algebra = algebra
        self._code: list[tuple[Op, tuple[int, ...]]] = []
        self._numbers: list[float] = []
        self._known: dict[tuple, int] = {}

    def const(self, value: float) -> int:
        """The value number of a constant; -0.0 and 0.0 are different constants, all NaNs are the same."""
        value = float(value)
        key = ("number", value.hex())
        if key not in self._known:
            self._numbers.append(value)
            self._known[key] = self._record(Op.CONST, (len(self._numbers) - 1,))
        return self._known[key]

    def emit(self, op: Op, *operands: int) -> int:
        """The value number of `op` on earlier values; adds an instruction only if there is no equal one."""
        simpler = self._simplify(op, operands)
        if simpler is not None:
            return simpler
        if op in COMMUTATIVE:
            operands = tuple(sorted(operands))
        key = (op, *operands)
        if key not in self._known:
            self._known[key] = self._record(op, operands)
        return self._known[key]

    def replay(self, block: Block, operands) -> list[int]:
        """Records a whole block with the given operands; returns the value numbers of its outputs."""
        values = list(operands)
        numbers = block.constants.tolist()
        for op, *arguments in block.code.tolist():
            if op == Op.CONST:
                values.append(self.const(numbers[arguments[0]]))
            else:
                values.append(self.emit(Op(op), *(values[a] for a in arguments if a >= 0)))
        return [values[k] for k in block.outputs.tolist()]

    def block(self, name: str, outputs) -> Block:
        """The recorded block, with only the instructions that its outputs need."""
        outputs = [int(k) for k in outputs]
        needed = [False] * (self.arity + len(self._code))
        for k in outputs:
            needed[k] = True
        for k in range(len(needed) - 1, self.arity - 1, -1):
            op, operands = self._code[k - self.arity]
            if needed[k] and op != Op.CONST:
                for a in operands:
                    needed[a] = True
        number = list(range(self.arity)) + [-1] * len(self._code)
        code, constants = [], []
        for k, (op, operands) in enumerate(self._code, start=self.arity):
            if needed[k]:
                number[k] = self.arity + len(code)
                if op == Op.CONST:
                    constants.append(self._numbers[operands[0]])
                    operands = (len(constants) - 1,)
                else:
                    operands = tuple(number[a] for a in operands)
                code.append((op, *operands, *(-1,) * (3 - len(operands))))
        kept = np.array([number[k] for k in outputs])
        return Block(name, self.arity, np.array(code, np.int32), np.array(constants), kept)

    def _record(self, op: Op, operands: tuple[int, ...]) -> int:
        self._code.append((op, operands))
        return self.arity + len(self._code) - 1

    def _made_by(self, value: int) -> tuple[Op | None, tuple[int, ...]]:
        return self._code[value - self.arity] if value >= self.arity else (None, ())

    def number(self, value: int) -> float | None:
        """The constant that a value is; None for computed values."""
        op, operands = self._made_by(value)
        return self._numbers[operands[0]] if op == Op.CONST else None

    def _simplify(self, op: Op, operands: tuple[int, ...]) -> int | None:
        """A known or cheaper value that equals `op` of `operands`, if there is one."""
        numbers = [self.number(a) for a in operands]
        if None not in numbers:
            return self.const(float(_ON_NUMBERS.emit(op, *map(np.float64, numbers))))
        if op == Op.NEG:
            inner, of = self._made_by(operands[0])
            return of[0] if inner == Op.NEG else None
        if op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV):
            (a, b), (x, y) = operands, numbers
            same = self._identity(op, a, b, x, y)
            return self._algebra(op, a, b, x, y) if same is None and self.algebra else same
        return None

    def _identity(self, op: Op, a: int, b: int, x: float | None, y: float | None) -> int | None:
        """Identities of IEEE arithmetic, exact to the last bit; x and y are the values of a and b, if constant."""
        if op == Op.MUL:
            for factor, other in ((x, b), (y, a)):
                if factor in (1.0, -1.0):
                    return other if factor == 1.0 else self.emit(Op.NEG, other)
        if op == Op.DIV and y is not None and _is_power_of_two(y):
            return self.emit(Op.MUL, a, self.const(1.0 / y))
        if op in (Op.ADD, Op.SUB):
            unit = -0.0 if op == Op.ADD else 0.0  # x + -0 and x - 0 are x, also for x = -0
            if _same(y, unit):
                return a
            if op == Op.ADD and _same(x, unit):
                return b
            inner, of = self._made_by(b)
            if inner == Op.NEG:
                return self.emit(Op.SUB if op == Op.ADD else Op.ADD, a, of[0])
            inner, of = self._made_by(a)
            if inner == Op.NEG and op == Op.ADD:
                return self.emit(Op.SUB, b, of[0])
        return None

    def _algebra(self, op: Op, a: int, b: int, x: float | None, y: float | None) -> int | None:
        """Identities of real numbers, for exact zeros."""
        if (op == Op.MUL and (x == 0 or y == 0)) or (op == Op.DIV and x == 0) or (op == Op.SUB and a == b):
            return self.const(0.0)
        if op in (Op.ADD, Op.SUB) and y == 0:
            return a
        if op == Op.ADD and x == 0:
            return b
        if op == Op.SUB and x == 0:
            return self.emit(Op.NEG, b)
        return None


def _same(a: float | None, b: float) -> bool:
    return a is not None and a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


def _is_power_of_two(x: float) -> bool:
    """Whether 1/x is exact and neither overflows nor becomes denormal."""
    return math.isfinite(x) and abs(math.frexp(x)[0]) == 0.5 and 2.0**-1000 < abs(x) < 2.0**1000
