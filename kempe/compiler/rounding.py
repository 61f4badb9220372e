"""Rounding: how much a program loses to it, by working the same program out with half the digits.

What a formulation divides by, and in which order, decides how many digits are left at the end. That shows when every
operation of a program is carried out once as it is, and once with its result rounded to 26 of a double's 53 bits:
errors are then about 2^27 times as large, as long as they are small. Inputs and constants stay as they are, since it is
the program that is judged, not how sensitive its mechanism is. Additions and multiplications of doubles do it, so that
the answer is the same on every machine, and in any units.
"""

import numpy as np

from kempe.compiler.elementary import expand
from kempe.compiler.interpret import MEANING, Evaluation
from kempe.compiler.operations import ELEMENTARY, Op
from kempe.compiler.program import Block, Program

SHORTER = 2.0**27  # times which errors grow
MOST = 2.0**900  # sizes that can be rounded

_IN_TWO = MEANING | {
    Op.FMA: lambda a, b, c: a * b + c,
    Op.FMS: lambda a, b, c: a * b - c,
    Op.FNMA: lambda a, b, c: c - a * b,
}


class _InTwo(Evaluation):
    """Numbers whose fused operations take two roundings: one at a time, as `interpret` has them, they take long."""

    def emit(self, op: Op, *operands):
        if op in ELEMENTARY:
            return expand(op, self, *operands)
        return _IN_TWO[op](*operands)


def rounding(program: Program, *inputs: np.ndarray) -> np.ndarray:
    """The largest difference that rounding makes to the first output, beside its largest number, for each of the states
    that the inputs give, one in each row; infinite where numbers are not finite."""
    with np.errstate(all="ignore"):
        exact, short = (_first_output(program, inputs, shorter) for shorter in (False, True))
        off, size = np.abs(short - exact).max(axis=0, initial=0.0), np.abs(exact).max(axis=0, initial=0.0)
        found = off / np.where(size > 0, size, 1.0) / SHORTER
    return np.where(np.isfinite(found), found, np.inf)


def _shortened(x):
    """Rounded to 26 bits (G. W. Veltkamp, 1968)."""
    scaled = (SHORTER + 1.0) * x
    return np.where(np.abs(x) < MOST, scaled - (scaled - x), x)


def _first_output(program: Program, inputs: tuple[np.ndarray, ...], shorter: bool) -> np.ndarray:
    """Numbers by states."""
    work = np.zeros((program.workspace, len(inputs[0])))
    for array, slots in zip(inputs, program.input_slots, strict=True):
        work[slots] = array.reshape(len(array), -1).T
    work[program.constant_slots] = program.constants[:, None]
    for call in program.calls:
        block = program.blocks[call.block]
        for reads, writes in zip(call.reads, call.writes, strict=True):
            for slot, value in zip(writes, _block(block, work[reads], shorter), strict=True):
                work[slot] = value
    return work[program.sources[0]]


def _block(block: Block, operands: np.ndarray, shorter: bool) -> list:
    values, on = list(operands), _InTwo()
    for op, *arguments in block.code.tolist():
        if op == Op.CONST:
            values.append(block.constants[arguments[0]])
            continue
        value = on.emit(Op(op), *(values[a] for a in arguments if a >= 0))
        values.append(_shortened(value) if shorter else value)
    return [values[k] for k in block.outputs.tolist()]
