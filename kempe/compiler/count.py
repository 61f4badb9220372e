"""Counting: the operations of one evaluation of a program, as the papers count them.

A fused multiply-add counts as one multiplication and one addition; a product shared by several of them counts as one
multiplication. Changes of sign are free, as in the papers' tables. Elementary functions are counted as such, not by
their operations.
"""

from dataclasses import dataclass, fields

import numpy as np

from kempe.compiler.operations import Op
from kempe.compiler.program import Block, Program
from kempe.errors import ArgumentError
from kempe.kinds import checked

_FUSED = (Op.FMA, Op.FMS, Op.FNMA)
_FREE = (Op.CONST, Op.NEG)
_COUNTED = {
    "multiplications": (Op.MUL, *_FUSED),
    "additions": (Op.ADD, Op.SUB, *_FUSED),
    "divisions": (Op.DIV,),
    "square_roots": (Op.SQRT,),
    "sincos": (Op.SIN, Op.COS),
    "other_functions": (Op.ATAN2, Op.EXP, Op.LOG),
}
_NAMED = {op for ops in _COUNTED.values() for op in ops}


@dataclass(frozen=True)
class Counts:
    """Operations of one evaluation, over all calls.

    other: comparisons, choices, signs and roundings.
    calls: runs of blocks; stored: stored instructions, each block once.
    critical_path: the longest chain of dependent operations (a fused one counts once).
    live_values: the maximum number of simultaneously live values of a block, in its stored order.
    """

    multiplications: int
    additions: int
    divisions: int
    square_roots: int
    sincos: int
    other_functions: int
    other: int
    calls: int
    stored: int
    critical_path: int
    live_values: int

    @property
    def total(self) -> int:
        """All operations of one evaluation."""
        operations = (getattr(self, name) for name in (*_COUNTED, "other"))
        return sum(operations)

    def __str__(self) -> str:
        lines = [(part.name.replace("_", " "), getattr(self, part.name)) for part in fields(self)]
        return "\n".join(f"{name:17s} {number:>9,d}" for name, number in [("operations", self.total), *lines])


@checked(ArgumentError)
def count(program: Program) -> Counts:
    """Counts the operations of one evaluation of `program`."""
    runs = np.zeros(len(program.blocks), dtype=int)
    for call in program.calls:
        runs[call.block] += call.repeat
    per_op, again = np.zeros(len(Op), dtype=int), 0
    for block, times in zip(program.blocks, runs.tolist(), strict=True):
        per_op += times * np.bincount(block.code[:, 0], minlength=len(Op))
        again += times * _products_again(block)
    named = {name: int(sum(per_op[op] for op in ops)) for name, ops in _COUNTED.items()}
    named["multiplications"] -= again
    other = int(sum(per_op[op] for op in Op if op not in _NAMED and op not in _FREE))
    return Counts(
        **named,
        other=other,
        calls=int(runs.sum()),
        stored=sum(len(block) for block in program.blocks),
        critical_path=_critical_path(program),
        live_values=max((_live_values(block) for block in program.blocks), default=0),
    )


def _products_again(block: Block) -> int:
    """The number of multiplications of a block that repeat the factors of another one."""
    pairs = np.sort(block.code[np.isin(block.code[:, 0], _COUNTED["multiplications"]), 1:3], axis=1)
    return len(pairs) - len(np.unique(pairs, axis=0))


def _critical_path(program: Program) -> int:
    depth = np.zeros(program.workspace, dtype=int)
    for call in program.calls:
        block = program.blocks[call.block]
        code, outputs = block.code.tolist(), block.outputs.tolist()
        for reads, writes in zip(call.reads, call.writes, strict=True):
            values = depth[reads].tolist()
            for op, *operands in code:
                if op == Op.CONST:
                    values.append(0)
                else:
                    values.append((op not in _FREE) + max(values[a] for a in operands if a >= 0))
            depth[writes] = [values[k] for k in outputs]
    return int(depth.max(initial=0))


def _live_values(block: Block) -> int:
    """The maximum number of live values, before the first instruction and after each; constants do not count."""
    code = block.code.tolist()
    last_use = [-1] * (block.arity + len(code))
    for k, (op, *operands) in enumerate(code):
        if op != Op.CONST:
            for a in operands:
                if a >= 0:
                    last_use[a] = k
    for value in block.outputs.tolist():
        last_use[value] = len(code)
    change = np.zeros(len(code) + 2, dtype=int)
    for value, last in enumerate(last_use):
        made = max(0, value - block.arity + 1)  # alive from here on
        is_number = value >= block.arity and code[value - block.arity][0] == Op.CONST
        if not is_number and last + 1 > made:
            change[made] += 1
            change[last + 1] -= 1
    return int(np.cumsum(change).max(initial=0))
