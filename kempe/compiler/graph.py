"""Graph: which instructions of a block use which values, for ordering them."""

from dataclasses import dataclass
from functools import cached_property

from kempe.compiler.operations import Op
from kempe.compiler.program import Block


@dataclass(frozen=True, eq=False)
class Graph:
    """The instructions of a block, numbered in order; values are the inputs, then the result of each instruction.

    operands: of each instruction, every value once; constants have none. is_number: for each value, whether it is a
    constant, which costs nothing anywhere. outputs: the output values, with repetitions.
    """

    arity: int
    ops: list[Op]
    operands: list[list[int]]
    is_number: list[bool]
    outputs: list[int]

    @classmethod
    def of(cls, block: Block) -> "Graph":
        """The graph of a block."""
        code = block.code.tolist()
        operands = [[] if op == Op.CONST else list({a for a in rest if a >= 0}) for op, *rest in code]
        ops = [Op(op) for op, *_ in code]
        is_number = [False] * block.arity + [op is Op.CONST for op in ops]
        return cls(block.arity, ops, operands, is_number, block.outputs.tolist())

    @cached_property
    def made(self) -> list[bool]:
        """For each value, whether an instruction computes it: it is neither an input nor a constant."""
        return [k >= self.arity and not number for k, number in enumerate(self.is_number)]

    @property
    def numbers(self) -> list[int]:
        """Instructions that are constants."""
        return [k for k, op in enumerate(self.ops) if op is Op.CONST]

    @cached_property
    def users(self) -> list[list[int]]:
        """For each value, the instructions that use it."""
        found: list[list[int]] = [[] for _ in self.is_number]
        for k, values in enumerate(self.operands):
            for a in values:
                found[a].append(k)
        return found
