"""Passes: rewritings of blocks and programs, each tested separately.

`invert_once`, `gather` and `fuse` belong to tracing, since they change rounding. The pipeline of the compiler,
`prepare`, preserves every bit.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from kempe.compiler.elementary import expand
from kempe.compiler.operations import ELEMENTARY, Op
from kempe.compiler.order import order
from kempe.compiler.program import Block, Call, Program
from kempe.compiler.tape import Tape


def invert_once(block: Block) -> Block:
    """Several divisions by the same value become one reciprocal and multiplications."""
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


Form = tuple[int | None, float, float]  # of a value: x, factor and rest; x is None for a constant


def gather(block: Block) -> Block:
    """Sums and products of one value x with constants become factor * x + rest, however long the chain.

    Each takes at most one instruction, as every step of the chain did; steps that nothing else needs disappear.
    """
    tape = Tape(block.arity, algebra=True)
    numbers = block.constants.tolist()
    known: list[Form] = [(k, 1.0, 0.0) for k in range(block.arity)]

    def value(form: Form) -> int:
        base, factor, rest = form
        if base is None or factor == 0.0:
            return tape.const(rest)
        if rest == 0.0:
            return tape.emit(Op.MUL, base, tape.const(factor))
        if factor == 1.0:
            return tape.emit(Op.ADD, base, tape.const(rest))
        if factor == -1.0:
            return tape.emit(Op.SUB, tape.const(rest), base)
        return tape.emit(Op.FMA, base, tape.const(factor), tape.const(rest))

    for op, *operands in block.code.tolist():
        if op == Op.CONST:
            known.append((None, 0.0, numbers[operands[0]]))
            continue
        forms = [known[a] for a in operands if a >= 0]
        found = _affine(Op(op), forms)
        if found is None:
            emitted = tape.emit(Op(op), *map(value, forms))
            number = tape.number(emitted)
            found = (emitted, 1.0, 0.0) if number is None else (None, 0.0, number)
        known.append(found)
    return tape.block(block.name, [value(known[k]) for k in block.outputs.tolist()])


def _affine(op: Op, forms: list[Form]) -> Form | None:
    """The form factor * x + rest of an operation on forms, if it has one with finite numbers."""
    (x, f, c), (y, g, d) = (*forms, (None, 0.0, 0.0))[:2]
    if op == Op.NEG:
        found = x, -f, -c
    elif op in (Op.ADD, Op.SUB) and (x is None or y is None or x == y):
        sign = 1.0 if op == Op.ADD else -1.0
        found = y if x is None else x, f + sign * g, c + sign * d
    elif op == Op.MUL and x is None:
        found = y, c * g, c * d
    elif op == Op.MUL and y is None:
        found = x, d * f, d * c
    else:
        return None
    return found if math.isfinite(found[1]) and math.isfinite(found[2]) else None


def fuse(block: Block) -> Block:
    """Fuses products that are only added with each addition; of two products, the one that is ready later, preferring
    products with a single use."""
    code = block.code.tolist()
    users: list[list[int]] = [[] for _ in range(block.arity + len(block))]
    for k, (op, *operands) in enumerate(code, start=block.arity):
        if op != Op.CONST:
            for a in operands:
                if a >= 0:
                    users[a].append(k)
    kept = set(block.outputs.tolist())  # products needed as such
    product = {k: (a, b) for k, (op, a, b, _) in enumerate(code, start=block.arity) if op == Op.MUL}
    depth = [0] * (block.arity + len(block))
    for k, (op, *operands) in enumerate(code, start=block.arity):
        if op != Op.CONST:
            depth[k] = 1 + max(depth[x] for x in operands if x >= 0)

    def sums(x: int) -> bool:
        """Whether all users of a value are sums of it and another value."""
        return x not in kept and all(
            code[k - block.arity][0] in (Op.ADD, Op.SUB) and code[k - block.arity][1] != code[k - block.arity][2]
            for k in users[x]
        )

    chosen: dict[int, int] = {}  # for every sum, the product fused into it
    for single in (True, False):
        for x in sorted((x for x in product if (len(users[x]) == 1) == single and sums(x)), key=lambda x: -depth[x]):
            if not any(k in chosen for k in users[x]):
                chosen |= dict.fromkeys(users[x], x)
    fused = []
    for k, (op, a, b, c) in enumerate(code, start=block.arity):
        if k in chosen:
            other = b if chosen[k] == a else a
            fused_op = Op.FMA if op == Op.ADD else Op.FMS if chosen[k] == a else Op.FNMA
            op, a, b, c = fused_op, *product[chosen[k]], other
        fused.append((op, a, b, c))
    rewritten = Block(block.name, block.arity, np.array(fused, np.int32), block.constants, block.outputs)
    return share(rewritten)


def share(block: Block) -> Block:
    """Shares equal instructions, folds constants, and drops dead instructions."""
    tape = Tape(block.arity)
    return tape.block(block.name, tape.replay(block, range(block.arity)))


class _LoweringTape(Tape):
    """A tape that expands elementary functions by their recipes."""

    def emit(self, op: Op, *operands: int) -> int:
        return expand(op, self, *operands) if op in ELEMENTARY else super().emit(op, *operands)


def lower(block: Block) -> Block:
    """Expands elementary functions; the sine and cosine of an angle share its reduction."""
    tape = _LoweringTape(block.arity)
    return tape.block(block.name, tape.replay(block, range(block.arity)))


# Measured: beyond some thousand instructions in one piece, compile time grows more than linearly.
LONGEST = 6000
PIECE = 2500


def split(program: Program) -> Program:
    """Splits blocks that are too long to compile well into pieces that pass values through the workspace."""
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
    """A piece of a block: the values it takes, and those it gives (with the output, if any)."""

    block: Block
    takes: list[int]
    gives: list[tuple[int, int | None]]


def _cut(block: Block, length: int) -> list[_Piece]:
    code = block.code.tolist()
    arity = block.arity
    is_number = [False] * arity + [op == Op.CONST for op, *_ in code]
    starts = range(0, len(code), length)
    last_use = [-1] * len(is_number)  # the last piece that reads a value
    for k, (op, *operands) in enumerate(code):
        if op != Op.CONST:
            for a in operands:
                if a >= 0:
                    last_use[a] = k // length
    # An output is given by the piece that computes it; operands and constants passed through, by the last piece.
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
    """The pipeline of the compiler: the same program to the last bit, ready to emit."""
    return split(replace(program, blocks=tuple(order(lower(block)) for block in program.blocks)))
