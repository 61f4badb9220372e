"""Rounding: how much a program loses to it, by working the same program out in longer numbers.

What a formulation divides by, and in which order, decides how many digits are left at the end; that shows when each of
its operations is carried out once as it is and once with eleven bits more, or as many more as the long doubles of the
machine have. Where those are no longer than doubles, nothing shows, and the answer is 0.
"""

import numpy as np

from kempe.compiler.interpret import MEANING
from kempe.compiler.operations import Op
from kempe.compiler.program import Block, Program

# Operations that `interpret` defines by the bits of doubles, and elementary functions, in numbers of any length.
_ANY_LENGTH = MEANING | {
    Op.FMA: lambda a, b, c: a * b + c,
    Op.FMS: lambda a, b, c: a * b - c,
    Op.FNMA: lambda a, b, c: c - a * b,
    Op.EXPONENT: lambda a: np.frexp(a)[1] - 1.0,
    Op.POW2: np.exp2,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.ATAN2: np.arctan2,
    Op.EXP: np.exp,
    Op.LOG: np.log,
}


def rounding(program: Program, *inputs: np.ndarray) -> np.ndarray:
    """The largest difference that rounding makes to the first output, beside its largest number, for each of the states
    that the inputs give, one in each row; infinite where numbers are not finite."""
    with np.errstate(all="ignore"):
        short, long = (_first_output(program, inputs, kind) for kind in (np.float64, np.longdouble))
        off, size = np.abs(short - long).max(axis=0, initial=0.0), np.abs(long).max(axis=0, initial=0.0)
        found = np.asarray(off / np.where(size > 0, size, 1.0), dtype=float)
    return np.where(np.isfinite(found), found, np.inf)


def _first_output(program: Program, inputs: tuple[np.ndarray, ...], kind: type) -> np.ndarray:
    """Numbers by states."""
    work = np.zeros((program.workspace, len(inputs[0])), dtype=kind)
    for array, slots in zip(inputs, program.input_slots, strict=True):
        work[slots] = array.reshape(len(array), -1).T
    work[program.constant_slots] = program.constants[:, None]
    for call in program.calls:
        block = program.blocks[call.block]
        for reads, writes in zip(call.reads, call.writes, strict=True):
            for slot, value in zip(writes, _block(block, work[reads], kind), strict=True):
                work[slot] = value
    return work[program.sources[0]]


def _block(block: Block, operands: np.ndarray, kind: type) -> list:
    values = list(operands)
    constants = block.constants.astype(kind)
    for op, *arguments in block.code.tolist():
        if op == Op.CONST:
            values.append(constants[arguments[0]])
        else:
            values.append(_ANY_LENGTH[Op(op)](*(values[a] for a in arguments if a >= 0)))
    return [values[k] for k in block.outputs.tolist()]
