"""One suite for all targets: the interpreter says what a program means, and they agree with it to the last bit."""

from dataclasses import replace

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kempe.compiler import native
from kempe.compiler.compose import Composer
from kempe.compiler.interpret import interpret
from kempe.compiler.kernel import Kernel
from kempe.compiler.llvm import Emitter
from kempe.compiler.native import host
from kempe.compiler.operations import ARITY, Op
from kempe.compiler.passes import prepare
from kempe.compiler.program import Block, Port
from kempe.compiler.tape import Tape
from kempe.compiler.trace import single_block, trace
from tests.compiler.chains import chain_of_squares
from tests.compiler.strategies import SPECIAL, composed_programs, lanes_of, programs, same_bits
from tests.long import some

LANES = host().lanes
SIZES = [0, 1, LANES - 1, LANES, LANES + 1, 3 * LANES - 1]


@given(program=programs, data=st.data())
@settings(max_examples=some(150, 400))
def test_interpreter_scalar_and_batch_agree_to_the_last_bit(program, data):
    kernel = Kernel(program)
    count = data.draw(st.sampled_from(SIZES))
    inputs = lanes_of(program, data.draw, count)
    meant = interpret(program, *inputs)
    many = kernel(*inputs)
    for a, b in zip(meant, many, strict=True):
        assert same_bits(a, b)
    for lane in range(count):
        one = kernel(*(x[lane] for x in inputs))
        assert all(same_bits(a[lane], b) for a, b in zip(meant, one, strict=True))


@pytest.mark.parametrize("op", [op for op in Op if op != Op.CONST], ids=lambda op: op.name)
def test_every_operation_on_every_special_number(op):
    """All pairs of awkward numbers; the third operand runs through them too."""
    grid = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    thirds = np.resize(np.array(SPECIAL), len(grid) * 3)
    states = np.column_stack([np.tile(grid, (3, 1)), thirds])
    block = Block(op.name, 3, [[op, *range(ARITY[op]), *[-1] * (3 - ARITY[op])]], [], [3])
    program = single_block(block, [Port("x", (3,))], [Port("y", (1,))])
    kernel = Kernel(program)
    (meant,) = interpret(program, states)
    assert same_bits(meant, kernel(states))
    assert same_bits(meant, np.array([kernel(state) for state in states]))


@pytest.mark.parametrize("number", [1.0, 0.0, -0.0, np.inf, np.nan])
def test_extremes_beside_a_number_on_every_special_number(number):
    """Where one side is known not to be NaN, they are shorter."""
    tape = Tape(2)
    least = tape.emit(Op.MIN, tape.emit(Op.MIN, tape.const(number), 0), 1)
    most = tape.emit(Op.MAX, tape.emit(Op.MAX, 0, tape.const(number)), least)
    program = single_block(tape.block("extremes", [least, most]), [Port("x", (2,))], [Port("y", (2,))])
    states = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    (meant,) = interpret(program, states)
    kernel = Kernel(program)
    assert same_bits(meant, kernel(states))
    assert same_bits(meant, np.array([kernel(state) for state in states]))


@given(program=composed_programs())
@settings(max_examples=20)
def test_memory_order_of_a_batch_does_not_matter(program):
    kernel = Kernel(program)
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(11, *port.shape)) for port in program.inputs]
    usual = kernel(*inputs)
    by_element = kernel(*(np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0) for x in inputs))
    every_other = kernel(*(np.repeat(x, 2, axis=0)[::2] for x in inputs))
    backwards = kernel(*(x[::-1] for x in inputs))
    for a, b, c, d in zip(usual, by_element, every_other, backwards, strict=True):
        assert same_bits(a, b)
        assert same_bits(a, c)
        assert same_bits(a, d[::-1])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 21, 64, 65])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_states_of_any_width_arrive_and_leave_whole(n, lanes, monkeypatch):
    """Doubled and backwards, against NumPy; what lies before and behind the results is left alone."""
    monkeypatch.setattr(native.Host, "lanes", lanes)
    monkeypatch.setenv("KEMPE_CACHE_DIR", "")
    kernel = Kernel(trace(lambda x: {"twice": 2 * x, "back": x[::-1]}, {"x": n}))
    for count in (1, lanes - 1, lanes, lanes + 1, 3 * lanes):
        x = np.random.default_rng(n).normal(size=(count, n))
        around = np.full((2, (count + 2) * n), np.nan)
        twice, back = (row[n:-n].reshape(count, n) for row in around)
        kernel(x, out=(twice, back))
        assert np.array_equal(twice, 2 * x)
        assert np.array_equal(back, x[:, ::-1])
        assert np.isnan(around[:, :n]).all()
        assert np.isnan(around[:, -n:]).all()


def test_a_thousand_calls_deep():
    """x -> x/2 + 1, repeated: each call reads what the one before wrote."""
    block = Block("halve", 1, [[Op.CONST, 0, -1, -1], [Op.CONST, 1, -1, -1], [Op.FMA, 0, 1, 2]], [0.5, 1.0], [3])
    step = single_block(block, [Port("x", ())], [Port("y", ())])
    composer = Composer("deep")
    x = start = composer.input("x", ())
    for _ in range(1000):
        (x,) = composer.call(step, x)
    composer.output("y", np.array([x, start]))
    program = composer.program()
    assert len(program.blocks) == len(program.calls) == 1
    kernel = Kernel(program)
    assert kernel(7.0).tolist() == [2.0, 7.0]
    assert same_bits(kernel(np.array([7.0, np.nan, np.inf])), interpret(program, np.array([7.0, np.nan, np.inf]))[0])


@pytest.mark.parametrize(
    ("cpu", "features", "lanes"),
    [("haswell", "+avx2,+fma,+avx", 4), ("x86-64", "", 2)],
)
def test_older_processors_agree_too(cpu, features, lanes, monkeypatch):
    """Four lanes, two lanes, and code without a fused instruction, which then calls the C library's."""
    if not native.host().triple.startswith("x86_64"):
        features = native.host().features
    other = replace(native.host(), cpu=cpu, features=features)
    if native.host().triple.startswith("x86_64"):
        monkeypatch.setattr(native, "host", lambda: other)
        assert native.host().lanes == lanes
    program = chain_of_squares(30)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (11, 3))
    monkeypatch.setenv("KEMPE_CACHE_DIR", "")
    kernel = Kernel(program)
    (meant,) = interpret(program, x)
    assert same_bits(kernel(x), meant)
    assert same_bits(kernel(x[3]), meant[3])
    wave = trace(lambda x: {"y": ca.sin(x) * x + ca.exp(x), "z": ca.floor(x)}, {"x": 3})
    for one, other_way in zip(Kernel(wave)(x), interpret(wave, x), strict=True):
        assert same_bits(one, other_way)


@pytest.mark.parametrize(
    ("triple", "mark"), [("wasm32-unknown-unknown", "f64.mul"), ("nvptx64-nvidia-cuda", "fma.rn.f64")]
)
@given(program=composed_programs())
@settings(max_examples=10)
def test_the_emitter_makes_no_assumption_about_the_host(triple, mark, program):
    """The same text is accepted by LLVM's other back ends; what they lack is only how arguments arrive."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    on = Emitter()
    on.runner(prepare(program))
    on.add_function("void @entry(ptr %work)", ["call void @run(ptr %work)", "ret void"])
    extra = Block("extra", 2, [[Op.MUL, 0, 1, -1], [Op.FMA, 0, 1, 2]], [], [3])
    body, (result,) = on.body(extra, ["%a", "%b"])
    on.add_function("double @extra(double %a, double %b)", [*body, f"ret double {result}"])
    module = llvm.parse_assembly(on.module())
    module.triple = triple
    machine = llvm.Target.from_triple(triple).create_target_machine()
    assert mark in machine.emit_assembly(module)
