"""Orders of instructions: they change no result, and the quicker one is taken, by a model that counts as hands do."""

from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kempe.compiler import cycles as model
from kempe.compiler import native, order, passes
from kempe.compiler.count import count
from kempe.compiler.cycles import cycles
from kempe.compiler.graph import Graph
from kempe.compiler.operations import Op
from kempe.compiler.tape import Tape
from kempe.compiler.targets import cpu
from kempe.compiler.trace import single_block
from kempe.gallery.entries import ENTRIES
from tests.compiler.strategies import blocks, same_bits
from tests.compiler.test_passes import run
from tests.mechanisms import arm


@given(block=blocks(), data=st.data())
def test_every_order_keeps_every_bit(block, data):
    numbers = st.floats(allow_nan=True, allow_infinity=True)
    row = st.lists(numbers, min_size=block.arity, max_size=block.arity)
    states = np.array(data.draw(st.lists(row, min_size=1, max_size=4)))
    graph = Graph.of(block)
    for sequence in (order.chains_first(graph), order.chains_first(graph, near=3), order.few_alive(graph)):
        assert sorted(sequence) == list(range(len(block)))
        place = {k: n for n, k in enumerate(sequence)}
        for k, operands in enumerate(graph.operands):
            assert all(place[a - block.arity] < place[k] for a in operands if a >= block.arity)
    assert same_bits(run(order.order(block), states), run(block, states))


def test_the_order_keeps_few_values_alive():
    """The forward dynamics of an arm, as it is traced and as it is compiled."""
    program = arm(6).compile().program("forward_dynamics")
    lowered = passes.lower(program.blocks[0])
    alive = [
        count(single_block(b, program.inputs, program.outputs)).live_values for b in (lowered, order.order(lowered))
    ]
    assert alive[1] < 0.75 * alive[0]


def lowered(name: str):
    return passes.lower(ENTRIES[name].build().compile().program("forward_dynamics").blocks[0])


@pytest.mark.parametrize(("name", "taken"), [("andrews-squeezer", order.chains_first), ("stewart", order.few_alive)])
def test_the_quicker_order_is_taken(name, taken, monkeypatch):
    """As measured on a processor with 32 registers: 67 and 101 ns of the squeezer, 710 and 500 of the platform."""
    monkeypatch.setattr(native.Host, "registers", 32)
    block = lowered(name)
    graph = Graph.of(block)
    expected = [block.code[k, 0] for k in taken(graph)]
    assert order.order(block).code[:, 0].tolist() == expected


# ---- the model of a processor ------------------------------------------------------------------------------


def taken(tape: Tape, *outputs: int, registers: int = 32) -> float:
    """Cycles of a block as it stands."""
    block = tape.block("b", list(outputs))
    return cycles(Graph.of(block), list(range(len(block))), registers)


def test_a_chain_takes_the_latencies_of_its_links():
    tape, value = Tape(1), 0
    for _ in range(10):
        value = tape.emit(Op.ADD, value, 0)
    assert taken(tape, value) == 1 / model.BEGUN + 10 * model.LATENCY[Op.ADD]


def test_what_waits_for_nothing_takes_as_long_as_it_takes_to_begin():
    tape = Tape(40)
    values = [tape.emit(Op.MUL, k, k + 1) for k in range(39)]
    assert taken(tape, *values) == 39 / model.BEGUN + model.LATENCY[Op.MUL]


def test_what_stands_beyond_the_window_waits():
    """A division, then so many products that the last is not looked at before it is done."""
    tape = Tape(model.WINDOW + 2)
    values = [tape.emit(Op.DIV, 0, 1), *(tape.emit(Op.MUL, k, k + 1) for k in range(model.WINDOW))]
    slow, times = model.LATENCY[Op.DIV], model.LATENCY[Op.MUL]
    begun = (model.WINDOW + 1) / model.BEGUN
    assert begun > slow + 1 / model.BEGUN  # all is begun in time here
    assert taken(tape, *values) == begun + times
    tape = Tape(model.WINDOW + 2)
    value = 0
    for _ in range(5):
        value = tape.emit(Op.DIV, value, 1)
    values = [value, *(tape.emit(Op.MUL, k, k + 1) for k in range(model.WINDOW))]
    assert taken(tape, *values) == 1 / model.BEGUN + 5 * slow + times


def test_values_that_do_not_fit_go_to_the_stack_and_back():
    """Products that wait for one more, and are then added up from the first on: the last ones go."""
    wanted = 12
    tape = Tape(wanted + 1)
    products = [tape.emit(Op.MUL, k, k + 1) for k in range(wanted)]
    total = products[0]
    for value in products[1:]:
        total = tape.emit(Op.ADD, total, value)
    fits = taken(tape, total, registers=wanted + model.KEPT)
    chain = wanted / model.BEGUN + (wanted - 1) * model.LATENCY[Op.ADD]
    assert fits <= chain + model.LATENCY[Op.MUL]
    assert taken(tape, total, registers=wanted - 1 + model.KEPT) >= fits
    assert taken(tape, total, registers=1 + model.KEPT) > fits + model.LOAD


def test_long_code_is_begun_more_slowly():
    each = []
    for length in (model.LONG - 1, model.LONG):
        tape = Tape(length + 1)
        values = [tape.emit(Op.MUL, k, k + 1) for k in range(length)]
        each.append((taken(tape, *values) - model.LATENCY[Op.MUL]) / length)
    assert each == pytest.approx([1 / model.BEGUN, 1 / model.BEGUN_OF_LONG])


# ---- LLVM --------------------------------------------------------------------------------------------------


def as_others_do(text: str) -> str:
    """Assembly that another user of LLVM gets in this process."""
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_triple(native.host().triple).create_target_machine(
        cpu=native.host().cpu, features=native.host().features, opt=2, reloc="pic", codemodel="small", jit=True
    )
    return machine.emit_assembly(module)


def test_the_order_is_kept_and_other_users_of_llvm_are_left_alone():
    program = ENTRIES["3-rrr"].build().compile().program("forward_dynamics")
    text = cpu.emit(passes.prepare(program))
    native.host()
    mine, before = native.assembly(text), as_others_do(text)
    assert mine != before
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(native.assembly, [text] * 16)) == {mine}
    assert as_others_do(text) == before
