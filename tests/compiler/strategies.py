"""Programs made at random, and the numbers to run them on."""

import math

import numpy as np
from hypothesis import strategies as st

from kempe.compiler.compose import Composer
from kempe.compiler.operations import ARITY, Op
from kempe.compiler.program import Block, Port
from kempe.compiler.trace import single_block

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    math.pi / 2,
    math.inf,
    -math.inf,
    math.nan,
    5e-324,
    -2.5e-310,
    1e308,
    -1e-300,
    1e7,
]
numbers = st.one_of(
    st.sampled_from(SPECIAL),
    st.floats(-10, 10),
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
)


@st.composite
def blocks(draw, name="block"):
    """A block of a few instructions of any kind."""
    arity = draw(st.integers(1, 5))
    constants = draw(st.lists(numbers, min_size=1, max_size=4))
    code = []
    for k in range(draw(st.integers(1, 24))):
        op = draw(st.sampled_from(Op))
        if op == Op.CONST:
            operands = [draw(st.integers(0, len(constants) - 1))]
        else:
            operands = [draw(st.integers(0, arity + k - 1)) for _ in range(ARITY[op])]
        code.append([op, *operands, *[-1] * (3 - len(operands))])
    last = arity + len(code) - 1
    outputs = [last, *draw(st.lists(st.integers(0, last), max_size=4))]
    return Block(name, arity, np.array(code), np.array(constants), outputs)


@st.composite
def single_block_programs(draw):
    """A block called once, its operands spread over ports of several shapes."""
    block = draw(blocks())
    first = draw(st.integers(0, block.arity))
    inputs = [Port("a", (first,)), Port("b", (1, block.arity - first))]
    last = len(block.outputs) - 1
    return single_block(block, inputs, [Port("x", ()), Port("y", (last,))])


@st.composite
def composed_programs(draw):
    """Several blocks, repeated and interleaved, over inputs, constants and each other's results."""
    steps = []
    for k in range(draw(st.integers(1, 3))):
        block = draw(blocks(f"block {k}"))
        steps.append(single_block(block, [Port("x", (block.arity,))], [Port("y", (len(block.outputs),))]))
    composer = Composer("composed")
    pool = [*composer.input("q", draw(st.integers(1, 4))), *composer.input("M", (2, 2)).ravel()]
    pool += [*composer.constant(draw(st.lists(numbers, min_size=1, max_size=5)))]
    for _ in range(draw(st.integers(1, 5))):
        step = draw(st.sampled_from(steps))
        for _ in range(draw(st.integers(1, 4))):
            reads = [pool[draw(st.integers(0, len(pool) - 1))] for _ in range(step.inputs[0].size)]
            (results,) = composer.call(step, np.array(reads))
            pool += [*results]
    composer.output("last", np.array(pool[-4:]))
    composer.output("any", np.array(draw(st.lists(st.sampled_from(pool), max_size=6)), dtype=int))
    return composer.program()


programs = st.one_of(single_block_programs(), composed_programs())


def lanes_of(program, draw, count):
    """Inputs of `program` for `count` states."""
    values = draw(st.lists(numbers, min_size=8, max_size=40))
    return [
        np.resize(np.array(values[k % len(values) :] + values), (count, *p.shape)) for k, p in enumerate(program.inputs)
    ]


def same_bits(a, b) -> bool:
    """Equal to the last bit, signs of zeros included; any NaN equals any NaN."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(
        np.all(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))
    )
