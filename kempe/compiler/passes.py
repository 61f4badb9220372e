"""Passes: named rewritings of blocks and programs, each tested by itself.

`invert_once` and `fuse` belong to tracing: they change rounding. The compiler's own pipeline, `prepare`, keeps every
bit.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from kempe.compiler.elementary import expand
from kempe.compiler.operations import ELEMENTARY, Op
from kempe.compiler.order import order
from kempe.compiler.program import Block, Call, Program
from kempe.compiler.tape import Tape


def invert_once(block: Block) -> Block:
    """Several divisions by the same value become one, of 1 by it, and multiplications."""
    code = block.code.tolist()
    divisors = Counter(b for op, _, b, _ in code if op == Op.DIV)
    tape = Tape(block.arity)
    values = list(range(block.arity))
    for op, *operands in code:
        if op == Op.CONST:
            values.append(tape.const(float(block.constants[operands[0]])))
        elif op == Op.DIV and divisors[operands[1]] > 1:
            inverse = tape.emit(Op.DIV, tape.const(1.0), values[operands[1]])
            values.append(tape.emit(Op.MUL, values[operands[0]], inverse))
        else:
            values.append(tape.emit(Op(op), *(values[a] for a in operands if a >= 0)))
    return tape.block(block.name, [values[k] for k in block.outputs.tolist()])


def fuse(block: Block) -> Block:
    """Products that are only added become one fused operation; of two, the one that is ready later."""
    uses = np.zeros(block.arity + len(block), dtype=int)
    np.add.at(uses, block.outputs, 1)
    code = block.code.tolist()
    for op, *operands in code:
        if op != Op.CONST:
            for a in operands:
                if a >= 0:
                    uses[a] += 1
    depth = [0] * (block.arity + len(block))
    product: dict[int, tuple[int, int]] = {}
    fused = []
    for k, (op, a, b, c) in enumerate(code, start=block.arity):
        if op == Op.MUL:
            product[k] = (a, b)
        elif op in (Op.ADD, Op.SUB) and a != b:
            ready = [x for x in (a, b) if x in product and uses[x] == 1]
            if ready:
                chosen = max(ready, key=lambda x: depth[x])
                other = b if chosen == a else a
                fused_op = Op.FMA if op == Op.ADD else Op.FMS if chosen == a else Op.FNMA
                op, a, b, c = fused_op, *product[chosen], other
        if op != Op.CONST:
            depth[k] = 1 + max((depth[x] for x in (a, b, c) if x >= 0), default=0)
        fused.append((op, a, b, c))
    rewritten = Block(block.name, block.arity, np.array(fused, np.int32), block.constants, block.outputs)
    return share(rewritten)


def share(block: Block) -> Block:
    """Equal instructions once, constants folded, dead instructions gone."""
    tape = Tape(block.arity)
    return tape.block(block.name, tape.replay(block, range(block.arity)))


class _LoweringTape(Tape):
    """A tape on which elementary functions are written out by their recipes."""

    def emit(self, op: Op, *operands: int) -> int:
        return expand(op, self, *operands) if op in ELEMENTARY else super().emit(op, *operands)


def lower(block: Block) -> Block:
    """Elementary functions written out; the reduction of an angle is shared by its sine and cosine."""
    tape = _LoweringTape(block.arity)
    return tape.block(block.name, tape.replay(block, range(block.arity)))


# Measured: beyond some thousand instructions in one piece, compile time grows faster than their number.
LONGEST = 6000
PIECE = 2500


def split(program: Program) -> Program:
    """Blocks too long to compile well are cut into pieces that hand values on through the workspace."""
    if all(len(block) <= LONGEST for block in program.blocks):
        return program
    blocks: list[Block] = []
    cuts: list[tuple[int, list[_Piece]]] = []
    for block in program.blocks:
        pieces = _cut(block, PIECE) if len(block) > LONGEST else []
        cuts.append((len(blocks), pieces))
        blocks += [piece.block for piece in pieces] or [block]
    calls: list[Call] = []
    fresh = program.workspace
    for call in program.calls:
        first, pieces = cuts[call.block]
        if not pieces:
            calls.append(Call(first, call.reads, call.writes))
            continue
        for reads, writes in zip(call.reads.tolist(), call.writes.tolist(), strict=True):
            slot_of = dict(enumerate(reads))
            for number, piece in enumerate(pieces, start=first):
                taken = [slot_of[value] for value in piece.takes]
                given = []
                for value, output in piece.gives:
                    given.append(fresh if output is None else writes[output])
                    slot_of[value] = given[-1]
                    fresh += output is None
                calls.append(Call(number, np.array([taken]), np.array([given])))
    return replace(program, blocks=tuple(blocks), calls=tuple(calls))


@dataclass(frozen=True)
class _Piece:
    """A run of a block's instructions: which of its values it takes, and which it gives (to which output, if any)."""

    block: Block
    takes: list[int]
    gives: list[tuple[int, int | None]]


def _cut(block: Block, length: int) -> list[_Piece]:
    code = block.code.tolist()
    arity = block.arity
    is_number = [False] * arity + [op == Op.CONST for op, *_ in code]
    starts = range(0, len(code), length)
    last_use = [-1] * len(is_number)  # the piece that reads a value last
    for k, (op, *operands) in enumerate(code):
        if op != Op.CONST:
            for a in operands:
                if a >= 0:
                    last_use[a] = k // length
    # An output is given by the piece that makes it; operands and numbers passed through, by the last piece.
    outputs: dict[int, list[tuple[int, int | None]]] = {n: [] for n in range(len(starts))}
    is_given = set()
    for position, value in enumerate(block.outputs.tolist()):
        through = value < arity or is_number[value]
        outputs[len(starts) - 1 if through else (value - arity) // length].append((value, position))
        is_given.add(value)
    pieces = []
    for n, start in enumerate(starts):
        mine = range(start, min(start + length, len(code)))
        made = {arity + k for k in mine if code[k][0] != Op.CONST}
        used = {a for k in mine if code[k][0] != Op.CONST for a in code[k][1:] if a >= 0}
        used |= {value for value, _ in outputs[n]}
        takes = sorted(value for value in used - made if not is_number[value])
        handed_on = sorted(value for value in made - is_given if last_use[value] > n)
        gives = [*outputs[n], *((value, None) for value in handed_on)]
        tape = Tape(len(takes))
        values = {value: k for k, value in enumerate(takes)}
        for value in sorted(used - made - set(takes)):
            values[value] = tape.const(float(block.constants[code[value - arity][1]]))
        for k in mine:
            op, *operands = code[k]
            if op != Op.CONST:
                values[arity + k] = tape.emit(Op(op), *(values[a] for a in operands if a >= 0))
        pieces.append(_Piece(tape.block(f"{block.name}.{n + 1}", [values[v] for v, _ in gives]), takes, gives))
    return pieces


def prepare(program: Program) -> Program:
    """The compiler's pipeline: the same program to the last bit, ready to be emitted."""
    return split(replace(program, blocks=tuple(order(lower(block)) for block in program.blocks)))
