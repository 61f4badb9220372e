"""The accounting of compiled programs, on a program and a listing small enough to count by hand."""

import casadi as ca
import numpy as np
import pytest

from benchmarks import accounting
from kempe.compiler import native
from kempe.compiler.kernel import Kernel
from kempe.compiler.operations import Op
from kempe.compiler.program import Block, Call, Port, Program
from kempe.compiler.targets import batch, cpu
from kempe.compiler.trace import trace

LISTING = """
\t.text
other:
\tvaddsd\t%xmm0, %xmm1, %xmm0
\tretq
.Lfunc_end0:
kempe:
\tpushq\t%rbx
\tmovq\t(%rdi), %rax
\tvmovsd\t(%rax), %xmm0
\tvmulsd\t8(%rax,%rcx,8), %xmm0, %xmm1
\tvmovsd\t%xmm1, 16(%rsp)
\tvfmadd231sd\t16(%rsp), %xmm0, %xmm1
\tleaq\t8(%rax), %rdx
.LBB1_2:
\tvdivsd\t%xmm1, %xmm0, %xmm0
\tvmovsd\t%xmm0, (%rsi)
\tretq
.Lfunc_end1:
"""


@pytest.fixture
def program() -> Program:
    """y = sqrt((a b + c) / b) for (a, b, c) and once more for (y, b, c), with a constant and a sum for nobody."""
    code = [
        (Op.CONST, 0, -1, -1),  # 3: 2.0
        (Op.FMA, 0, 1, 2),  # 4
        (Op.DIV, 4, 1, -1),  # 5
        (Op.SQRT, 5, -1, -1),  # 6
        (Op.ADD, 3, 0, -1),  # 7
        (Op.MUL, 7, 1, -1),  # 8
    ]
    block = Block("step", 3, np.array(code), np.array([2.0]), np.array([6]))
    twice = Call(0, np.array([[0, 1, 2], [3, 1, 2]]), np.array([[3], [4]]))
    return Program("made up", (Port("x", (3,)),), (Port("y", ()),), np.zeros(0), (block,), (twice,), (np.array([4]),))


def test_operations_are_counted_as_often_as_they_are_carried_out(program):
    assert accounting.operations(program) == {
        Op.CONST: 2, Op.FMA: 2, Op.DIV: 2, Op.SQRT: 2, Op.ADD: 2, Op.MUL: 2,
    }  # fmt: skip
    assert accounting.kinds(program) == {
        "multiplications": 2, "additions": 2, "fused": 2, "divisions": 2, "sines and cosines": 0, "others": 2,
    }  # fmt: skip


def test_the_longest_chain_goes_on_from_one_call_to_the_next(program):
    assert accounting.chain(program) == 2 * (4 + 13 + 21)


@pytest.mark.parametrize(("lanes", "cycles"), [(1, 2 * (5 + 8)), (8, 4 * 2 * (5 + 8))])
def test_divisions_keep_the_pipes_busy_longest(program, lanes, cycles):
    assert accounting.pipes(program, lanes) == cycles


def test_products_keep_two_pipes_busy():
    block = Block("products", 1, np.array([(Op.MUL, k, k, -1) for k in range(6)]), np.zeros(0), np.array([6]))
    call = Call(0, np.array([[0]]), np.array([[1]]))
    made = Program("made up", (Port("x", ()),), (Port("y", ()),), np.zeros(0), (block,), (call,), (np.array([1]),))
    assert accounting.pipes(made, 1) == 3
    assert accounting.pipes(made, 8) == 6


def test_instructions_of_functions_of_a_listing(monkeypatch):
    monkeypatch.setattr(native, "assembly", lambda text: LISTING)
    assert accounting.disassembled("", "other", "kempe").instructions == 12
    found = accounting.disassembled("", "kempe")
    assert found == accounting.Code(instructions=10, arithmetic=3, loads=4, stores=2, reloads=1, spills=1)
    assert accounting.moving(found, 1) == max(10 / 6, 4 / 2, 2)
    assert accounting.moving(found, 8) == max(10 / 6, 4, 2 * 2)


def test_code_of_a_compiled_program_has_its_arithmetic():
    """Whichever functions it is spread over: a product and a sum that are not fused, at one state and in lanes."""
    prepared = Kernel(trace(lambda x: ca.vertcat(x[0] * x[1], x[0] + x[1]), {"x": 2})).prepared
    assert accounting.disassembled(cpu.emit(prepared), cpu.SYMBOL).arithmetic == 2
    assert accounting.disassembled(batch.emit(prepared, 2), batch.SYMBOL, accounting.RUN).arithmetic == 2
