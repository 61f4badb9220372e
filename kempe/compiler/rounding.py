"""Rounding: estimates the rounding error of a program by evaluating it with half the digits.

The pivots of a formulation and their order determine how many digits are lost. To measure this, every operation of a
program is evaluated once exactly as it is, and once with its result rounded to 26 of a double's 53 bits: errors are
then about 2^27 times as large, as long as they are small. Inputs and constants are not rounded, since this judges the
program, not the sensitivity of its mechanism. It uses only additions and multiplications of doubles, so the answer is
the same on every machine and in any units.
"""

import numpy as np

from kempe.compiler.elementary import expand
from kempe.compiler.interpret import MEANING, Evaluation
from kempe.compiler.operations import ELEMENTARY, Op
from kempe.compiler.program import Block, Program

SHORTER = 2.0**27  # factor by which errors grow
MOST = 2.0**900  # largest numbers that can be rounded

_IN_TWO = MEANING | {
    Op.FMA: lambda a, b, c: a * b + c,
    Op.FMS: lambda a, b, c: a * b - c,
    Op.FNMA: lambda a, b, c: c - a * b,
}


class _InTwo(Evaluation):
    """Evaluation with unfused multiply-adds: the exact ones of `interpret` are slow."""

    def emit(self, op: Op, *operands):
        if op in ELEMENTARY:
            return expand(op, self, *operands)
        return _IN_TWO[op](*operands)


def rounding(program: Program, *inputs: np.ndarray) -> np.ndarray:
    """The largest effect of rounding on the first output relative to its largest entry, for each state (row of the
    inputs); infinite if numbers are not finite."""
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
    """The entries of the first output by state."""
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
