"""Interpreter: the slow evaluator that defines the meaning of a program, one NumPy operation per instruction.

Every target must agree with it bit for bit (any NaN equals any NaN). It works on many states at once: with a leading
axis of the same length on the inputs, each lane is evaluated independently.
"""

import math
from fractions import Fraction

import numpy as np

from kempe.compiler.operations import ELEMENTARY, Op
from kempe.compiler.program import Block, Program
from kempe.errors import ArgumentError
from kempe.kinds import checked


def _fma(a: float, b: float, c: float) -> float:
    """a * b + c with one rounding, by exact rational arithmetic."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:  # the sign of an exact zero: that of the sum, or + if two numbers cancel
        return a * b + c if a == 0 or b == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


_fma_lanes = np.frompyfunc(lambda a, b, c: _fma(float(a), float(b), float(c)), 3, 1)


def _fused(a, b, c):
    return np.asarray(_fma_lanes(a, b, c), dtype=np.float64)


def _bits(x) -> np.ndarray:
    return np.asarray(x, dtype=np.float64).view(np.int64)


def _exponent(a):
    return ((_bits(a) >> 52) & 0x7FF).astype(np.float64) - 1023.0


# After adding this, the last bits of the sum are the integer a + 1023: the exponent field of 2^a.
POW2_SHIFT = 1.5 * 2.0**52 + 1023.0


def _pow2(a):
    a = np.asarray(a, dtype=np.float64)
    return np.where(a == a, (_bits(a + POW2_SHIFT) << 52).view(np.float64), a)


def _truth(x):
    return np.asarray(x).astype(np.float64)


MEANING = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.DIV: np.divide,
    Op.FMA: _fused,
    Op.FMS: lambda a, b, c: _fused(a, b, np.negative(c)),
    Op.FNMA: lambda a, b, c: _fused(np.negative(a), b, c),
    Op.NEG: np.negative,
    Op.ABS: np.abs,
    Op.SQRT: np.sqrt,
    Op.FLOOR: np.floor,
    Op.COPYSIGN: lambda a, b: np.where(b == b, np.copysign(a, b), np.abs(a)),
    Op.MIN: lambda a, b: np.where((a <= b) | (b != b), a, b),
    Op.MAX: lambda a, b: np.where((a >= b) | (b != b), a, b),
    Op.EXPONENT: _exponent,
    Op.POW2: _pow2,
    Op.LT: lambda a, b: _truth(np.less(a, b)),
    Op.LE: lambda a, b: _truth(np.less_equal(a, b)),
    Op.EQ: lambda a, b: _truth(np.equal(a, b)),
    Op.NOT: lambda a: _truth(np.equal(a, 0)),
    Op.AND: lambda a, b: _truth(np.not_equal(a, 0) & np.not_equal(b, 0)),
    Op.OR: lambda a, b: _truth(np.not_equal(a, 0) | np.not_equal(b, 0)),
    Op.SELECT: lambda a, b, c: np.where(np.not_equal(a, 0), b, c),
}


class Evaluation:
    """A ground on which `emit` computes numbers immediately."""

    def const(self, value: float):
        """The constant itself."""
        return np.float64(value)

    def number(self, value) -> float | None:
        """None: no value is known beforehand."""
        return None

    def emit(self, op: Op, *operands):
        """The value of one operation on numbers or arrays of numbers."""
        if op in ELEMENTARY:
            from kempe.compiler.elementary import expand

            return expand(op, self, *operands)
        with np.errstate(all="ignore"):
            return MEANING[op](*operands)


def interpret_block(block: Block, operands) -> list:
    """The outputs of one block for given operands, each a number or an array of lanes."""
    on = Evaluation()
    values = list(operands)
    for op, *arguments in block.code.tolist():
        if op == Op.CONST:
            values.append(on.const(float(block.constants[arguments[0]])))
        else:
            values.append(on.emit(Op(op), *(values[a] for a in arguments if a >= 0)))
    return [values[k] for k in block.outputs.tolist()]


@checked(ArgumentError)
def interpret(program: Program, *inputs) -> tuple[np.ndarray, ...]:
    """Evaluates `program` for `inputs`: arrays of the ports' shapes, or with a leading axis of lanes."""
    if len(inputs) != len(program.inputs):
        raise ArgumentError(f"program {program.name!r} takes {len(program.inputs)} inputs, not {len(inputs)}")
    arrays = [np.asarray(x, dtype=np.float64) for x in inputs]
    for array, port in zip(arrays, program.inputs, strict=True):
        if (array.shape not in ((), port.shape) and array.shape[1:] != port.shape) or (
            not array.shape and port.size != 1
        ):
            raise ArgumentError(f"program {program.name!r}: input {port} was given shape {array.shape}")
    lanes = next((a.shape[:1] for a, p in zip(arrays, program.inputs, strict=True) if a.ndim > len(p.shape)), ())
    work = np.zeros((program.workspace, *lanes))
    for array, port, slots in zip(arrays, program.inputs, program.input_slots, strict=True):
        rows = np.broadcast_to(array, (*lanes, *port.shape)).reshape((*lanes, port.size))
        work[slots] = np.moveaxis(rows, -1, 0)
    constants = program.constants.reshape(-1, *(1 for _ in lanes))
    work[program.constant_slots] = constants
    for call in program.calls:
        block = program.blocks[call.block]
        for reads, writes in zip(call.reads, call.writes, strict=True):
            for slot, value in zip(writes, interpret_block(block, work[reads]), strict=True):
                work[slot] = value
    return tuple(
        np.moveaxis(work[slots], 0, -1).reshape((*lanes, *port.shape))
        for port, slots in zip(program.outputs, program.sources, strict=True)
    )
