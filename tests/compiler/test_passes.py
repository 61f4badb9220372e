"""Each pass by itself: what it changes, and that it changes no result."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kempe.compiler import passes
from kempe.compiler.count import count
from kempe.compiler.interpret import interpret, interpret_block
from kempe.compiler.operations import ELEMENTARY, Op
from kempe.compiler.program import Block
from kempe.compiler.tape import Tape
from kempe.compiler.trace import trace
from tests.compiler.strategies import blocks, lanes_of, programs, same_bits


def run(block, states):
    return np.array([np.broadcast_to(x, len(states)) for x in interpret_block(block, list(states.T))])


@given(block=blocks(), data=st.data())
def test_sharing_and_lowering_keep_every_bit(block, data):
    numbers = st.floats(allow_nan=True, allow_infinity=True)
    states = np.array(
        data.draw(st.lists(st.lists(numbers, min_size=block.arity, max_size=block.arity), min_size=1, max_size=5))
    )
    meant = run(block, states)
    shared, lowered = passes.share(block), passes.lower(block)
    assert same_bits(run(shared, states), meant)
    assert same_bits(run(lowered, states), meant)
    assert len(shared) <= len(block)
    assert not ELEMENTARY & {Op(k) for k in lowered.code[:, 0]}


@given(program=programs, data=st.data())
def test_splitting_keeps_every_bit(program, data):
    inputs = lanes_of(program, data.draw, 3)
    meant = interpret(program, *inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "LONGEST", 4)
        patch.setattr(passes, "PIECE", 3)
        pieces = passes.split(program)
    assert all(len(block) <= 6 for block in pieces.blocks)  # three instructions, and the constants they use
    assert all(same_bits(a, b) for a, b in zip(meant, interpret(pieces, *inputs), strict=True))


def test_a_long_block_is_cut_and_a_short_one_is_not():
    def long(x):
        for k in range(4000):
            x = ca.vertcat(x[1] * x[0] + 0.1, x[0] - 0.001 * k * x[1])
        return x

    program = trace(long, {"x": 2})
    cut = passes.split(program)
    assert len(cut.calls) == -(-len(program.blocks[0]) // passes.PIECE) > 2
    short = trace(lambda x: x * x, {"x": 2})
    assert passes.split(short) is short


@given(block=blocks(), data=st.data())
def test_fusing_only_removes_roundings(block, data):
    """On small whole numbers nothing rounds, so fused and plain blocks give the same."""
    kept = [Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.MIN, Op.CONST]
    code = [
        [op if op in kept else Op.ADD, a, max(b, 0) if op not in kept else b, -1 if op not in kept else c]
        for op, a, b, c in block.code.tolist()
    ]
    code = [[op, a, b, -1] for op, a, b, _ in code[:4]]
    whole = Block(
        "whole",
        block.arity,
        code,
        np.arange(len(block.constants)),
        [min(k, block.arity + len(code) - 1) for k in block.outputs],
    )
    states = np.array(
        data.draw(
            st.lists(st.lists(st.integers(-9, 9), min_size=block.arity, max_size=block.arity), min_size=1, max_size=4)
        ),
        dtype=float,
    )
    fused = passes.fuse(whole)
    assert np.array_equal(run(fused, states), run(whole, states))
    assert len(fused) <= len(whole)


def test_a_product_in_several_sums_is_fused_with_each_of_them():
    tape = Tape(5)
    product = tape.emit(Op.MUL, 0, 1)
    sums = [tape.emit(Op.ADD, product, 2), tape.emit(Op.SUB, product, 3), tape.emit(Op.SUB, 4, product)]
    block = passes.fuse(tape.block("sums", sums))
    assert [Op(k) for k in block.code[:, 0]] == [Op.FMA, Op.FMS, Op.FNMA]
    needed = passes.fuse(tape.block("sums", [*sums, product]))
    assert [Op(k) for k in needed.code[:, 0]] == [Op.MUL, Op.ADD, Op.SUB, Op.SUB]
    states = np.random.default_rng(0).integers(-99, 99, (7, 5)).astype(float)
    a, b, c, d, e = states.T
    assert np.array_equal(run(block, states), [a * b + c, a * b - d, e - a * b])


def test_a_product_in_several_fused_operations_is_counted_once():
    program = trace(lambda x: ca.vertcat(x[0] * x[1] + x[2], x[3] - x[1] * x[0]), {"x": 4})
    found = count(program)
    assert (found.multiplications, found.additions, found.stored) == (1, 2, 2)


def test_chains_of_sums_and_products_with_numbers_become_one_operation():
    def chain(x):
        inner = -0.75 - 2.5 * x
        return 0.5 + (4.0 - 2.0 * inner) - 3.0 * (-inner + x)

    block = trace(chain, {"x": ()}).blocks[0]
    assert [Op(k) for k in block.code[:, 0] if k != Op.CONST] == [Op.FMA]
    x = np.linspace(-3, 3, 25)
    assert np.array_equal(run(block, x[:, None])[0], chain(x))  # all numbers are short


@given(block=blocks(), data=st.data())
def test_gathering_changes_roundings_only(block, data):
    """On small whole numbers nothing rounds, so gathered and plain blocks give the same, in no more instructions."""
    kept = [Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.CONST]
    code = [[op, a, b, -1] if op in kept else [Op.SUB, a, max(b, 0), -1] for op, a, b, _ in block.code.tolist()[:5]]
    outputs = [min(k, block.arity + len(code) - 1) for k in block.outputs]
    numbers = np.arange(len(block.constants)) - 1.0
    whole = Block("whole", block.arity, np.array(code, dtype=np.int32).reshape(-1, 4), numbers, np.array(outputs))
    row = st.lists(st.integers(-9, 9), min_size=block.arity, max_size=block.arity)
    states = np.array(data.draw(st.lists(row, min_size=1, max_size=4)), dtype=float)
    gathered = passes.gather(whole)
    assert np.array_equal(run(gathered, states), run(whole, states))
    operations = [int((b.code[:, 0] != Op.CONST).sum()) for b in (gathered, passes.share(whole))]
    assert operations[0] <= operations[1] + len(set(outputs))  # an output may need its own


def test_of_two_products_the_later_one_is_fused():
    tape = Tape(4)
    early = tape.emit(Op.MUL, 0, 1)
    late = tape.emit(Op.MUL, tape.emit(Op.SQRT, 2), 3)
    block = passes.fuse(tape.block("sum", [tape.emit(Op.ADD, early, late)]))
    assert [Op(k) for k in block.code[:, 0]] == [Op.MUL, Op.SQRT, Op.FMA]


class TestTape:
    def value(self, build, algebra=False):
        tape = Tape(2, algebra=algebra)
        block = tape.block("b", [build(tape)])
        return [Op(k) for k in block.code[:, 0]], block

    @pytest.mark.parametrize(
        "build",
        [
            lambda t: t.emit(Op.MUL, 0, t.const(1.0)),
            lambda t: t.emit(Op.ADD, 0, t.const(-0.0)),
            lambda t: t.emit(Op.SUB, 0, t.const(0.0)),
            lambda t: t.emit(Op.DIV, 0, t.const(1.0)),
            lambda t: t.emit(Op.NEG, t.emit(Op.NEG, 0)),
        ],
    )
    def test_identities_vanish(self, build):
        ops, block = self.value(build)
        assert ops == []
        assert block.outputs.tolist() == [0]

    def test_adding_zero_stays_because_minus_zero_would_change_sign(self):
        ops, _ = self.value(lambda t: t.emit(Op.ADD, 0, t.const(0.0)))
        assert Op.ADD in ops
        ops, _ = self.value(lambda t: t.emit(Op.ADD, 0, t.const(0.0)), algebra=True)
        assert ops == []

    def test_times_zero_stays_because_of_infinity(self):
        ops, _ = self.value(lambda t: t.emit(Op.MUL, 0, t.const(0.0)))
        assert Op.MUL in ops
        ops, block = self.value(lambda t: t.emit(Op.MUL, 0, t.const(0.0)), algebra=True)
        assert ops == [Op.CONST]
        assert block.constants.tolist() == [0.0]

    def test_order_of_a_sum_does_not_matter(self):
        tape = Tape(2)
        assert tape.emit(Op.ADD, 0, 1) == tape.emit(Op.ADD, 1, 0)
        assert tape.emit(Op.SUB, 0, 1) != tape.emit(Op.SUB, 1, 0)

    def test_constants_are_folded_with_their_signs_and_nans(self):
        tape = Tape(0)
        zero, minus = tape.const(0.0), tape.const(-0.0)
        assert zero != minus
        assert tape.number(tape.emit(Op.DIV, tape.const(1.0), minus)) == -np.inf
        assert tape.emit(Op.DIV, zero, zero) == tape.const(np.nan)


def test_preparing_leaves_ports_and_name_alone():
    program = trace(lambda x: ca.sin(x), {"x": 2}, {"y": 2})
    prepared = passes.prepare(program)
    assert (prepared.name, prepared.inputs, prepared.outputs) == (program.name, program.inputs, program.outputs)
    assert replace(prepared) == prepared
