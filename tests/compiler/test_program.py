"""Programs as data: what is refused, what is equal, what survives a trip, what a person reads."""

import pickle

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

from kempe.compiler.compose import Composer
from kempe.compiler.count import count
from kempe.compiler.interpret import interpret
from kempe.compiler.operations import ARITY, PHRASE, Op
from kempe.compiler.program import Block, Call, Port, Program
from kempe.compiler.trace import single_block, trace
from kempe.errors import ProgramError
from tests.compiler.strategies import programs

ADD = Block("add", 2, [[Op.ADD, 0, 1, -1]], [], [2])


def program(calls, sources=((2,),)):
    return Program("p", (Port("x", (2,)),), (Port("y", (1,)),), (), (ADD,), calls, sources)


class TestRefused:
    def test_unknown_operation(self):
        with pytest.raises(ProgramError, match="not one of the 29 operations"):
            Block("b", 1, [[99, 0, -1, -1]], [], [1])

    def test_value_from_the_future(self):
        with pytest.raises(ProgramError, match="instruction 0 reads a value that does not exist yet"):
            Block("b", 1, [[Op.ADD, 0, 1, -1]], [], [1])

    def test_missing_operand(self):
        with pytest.raises(ProgramError, match="does not exist yet"):
            Block("b", 1, [[Op.ADD, 0, -1, -1]], [], [1])

    def test_operand_too_many(self):
        with pytest.raises(ProgramError, match="must be -1"):
            Block("b", 2, [[Op.ADD, 0, 1, 0]], [], [2])

    def test_slots_that_are_no_whole_numbers(self):
        for slots in ([[0.5, 1]], [[2**32 + 1, 0]]):
            with pytest.raises(ProgramError, match="whole numbers"):
                program((Call(0, slots, [[2]]),))

    def test_ports_of_three_axes(self):
        with pytest.raises(ProgramError, match=r"give \(\), \(n,\) or \(n, m\)"):
            Port("x", (2, 3, 4))

    def test_an_input_called_out(self):
        with pytest.raises(ProgramError, match="no input can be named 'out'"):
            trace(lambda x: x, {"out": 2})

    def test_missing_constant(self):
        with pytest.raises(ProgramError, match="a constant is missing"):
            Block("b", 0, [[Op.CONST, 1, -1, -1]], [2.0], [0])

    def test_output_of_nothing(self):
        with pytest.raises(ProgramError, match="an output names a value"):
            Block("b", 1, [], [], [1])

    def test_slot_read_before_it_is_written(self):
        with pytest.raises(ProgramError, match="call 0: a slot is read before it is written"):
            program((Call(0, [[0, 2]], [[2]]),))

    def test_row_that_reads_a_later_row(self):
        with pytest.raises(ProgramError, match="read before it is written"):
            program((Call(0, [[0, 3], [0, 1]], [[2], [3]]),))

    def test_slot_written_twice(self):
        with pytest.raises(ProgramError, match="written twice"):
            program((Call(0, [[0, 1], [0, 1]], [[2], [2]]),))

    def test_input_overwritten(self):
        with pytest.raises(ProgramError, match="written twice"):
            program((Call(0, [[0, 1]], [[0]]),))

    def test_table_of_the_wrong_width(self):
        with pytest.raises(ProgramError, match="'add', which takes 2 and gives 1"):
            program((Call(0, [[0]], [[2]]),))

    def test_slot_outside(self):
        with pytest.raises(ProgramError, match="outside the workspace"):
            program((Call(0, [[0, 7]], [[2]]),))

    def test_unknown_block(self):
        with pytest.raises(ProgramError, match="no block 3"):
            program((Call(3, [[0, 1]], [[2]]),))

    def test_output_of_the_wrong_size(self):
        with pytest.raises(ProgramError, match="takes 1 slots, not 2"):
            program((Call(0, [[0, 1]], [[2]]),), sources=((0, 1),))

    def test_name_used_twice(self):
        with pytest.raises(ProgramError, match="'x' is used twice"):
            Program("p", (Port("x", ()), Port("x", ())), (), (), (), (), ())


@given(program=programs)
def test_equality_is_by_content_and_survives_pickling(program):
    copy = pickle.loads(pickle.dumps(program))
    assert copy == program
    assert hash(copy) == hash(program)
    assert copy.digest == program.digest
    assert not copy.blocks[0].code.flags.writeable


def test_a_changed_constant_is_another_program():
    one, other = (trace(lambda x, c=c: x * c, {"x": 2}) for c in (2.0, np.nextafter(2.0, 3.0)))
    assert one != other
    assert one == trace(lambda x: x * 2.0, {"x": 2})


def test_programs_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        ADD.code[0, 0] = 3


class TestCounts:
    def test_by_hand(self):
        """cos(a) b + c takes one cosine, one multiplication, one addition: a chain of two with fusing."""
        counts = count(trace(lambda a, b, c: ca.cos(a) * b + c, dict.fromkeys("abc", ())))
        assert (counts.sincos, counts.multiplications, counts.additions) == (1, 1, 1)
        assert (counts.total, counts.calls, counts.critical_path, counts.live_values) == (3, 1, 2, 3)

    def test_operands_live_until_they_are_used(self):
        assert count(trace(lambda a, b, c: a * b + c, dict.fromkeys("abc", ()))).live_values == 3
        assert count(trace(lambda a, b, c: a * b + c, dict.fromkeys("abc", ()), as_written=True)).live_values == 3

    def test_signs_are_free(self):
        assert count(trace(lambda a: -a, {"a": 3})).total == 0

    def test_each_kind(self):
        def f(a, b):
            return a / b, ca.sqrt(a), ca.atan2(a, b), ca.fmin(a, b), ca.if_else(a < b, a, b)

        counts = count(trace(f, {"a": (), "b": ()}))
        assert (counts.divisions, counts.square_roots, counts.other_functions) == (1, 1, 1)
        assert counts.other >= 3

    def test_repeated_blocks_are_stored_once_and_counted_every_time(self):
        step = trace(lambda x, y: x * y + 1, {"x": (), "y": ()}, {"z": ()})
        composer = Composer("power")
        x = total = composer.input("x", ())
        for _ in range(50):
            (total,) = composer.call(step, total, x)
        composer.output("y", total)
        counts = count(composer.program())
        assert (counts.multiplications, counts.additions, counts.calls) == (50, 50, 50)
        assert counts.stored == len(step.blocks[0])
        assert counts.critical_path == 50

    def test_balanced_sum_has_a_short_chain(self):
        def balanced(x):
            terms = ca.vertsplit(x)
            while len(terms) > 1:
                terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
            return terms[0]

        assert count(trace(balanced, {"x": 16})).critical_path == 4

    def test_printed(self):
        text = str(count(trace(lambda a: a * a, {"a": 1000})))
        assert "operations            1,000" in text


class TestExplained:
    def test_one_block_reads_as_algebra(self):
        text = trace(lambda q, M: {"y": ca.sin(q[0]) * M[1, 0] + q[1], "z": 0}, {"q": 2, "M": (2, 2)}).explain()
        assert text.splitlines()[0] == "lambda: q[2], M[2][2] -> y[1], z[1]"
        assert "t0 = sin(q[0])" in text
        assert "= M[1, 0] * t0 + q[1]" in text
        assert "z[0] = 0" in text

    def test_many_calls_are_summed_up(self):
        step = trace(lambda x: x * x, {"x": 2}, name="square")
        composer = Composer("twice")
        x = composer.input("x", 2)
        for _ in range(3):
            (x,) = composer.call(step, x)
        composer.output("y", x)
        text = composer.program().explain()
        assert "1 calls of 1 blocks over 8 slots" in text
        assert "run block 0, square, 3 times (2 instructions, takes 2, gives 2), into slots 2 to 7" in text

    def test_long_ones_are_cut(self):
        program = trace(lambda x: x * x, {"x": 100})
        assert "... and 90 more lines" in program.explain(limit=10)
        assert "more lines" not in program.explain(limit=None)


class TestComposed:
    step = trace(lambda x, y: {"s": x + y, "p": x * y}, {"x": 2, "y": 2})

    def test_wrong_number_of_arguments(self):
        composer = Composer("c")
        with pytest.raises(ProgramError, match="takes 2 arguments"):
            composer.call(self.step, composer.input("q", 2))

    def test_wrong_size_of_an_argument(self):
        composer = Composer("c")
        q = composer.input("q", 3)
        with pytest.raises(ProgramError, match="takes 2 slots, not 3"):
            composer.call(self.step, q, q)

    def test_a_composed_program_may_be_called_too(self):
        inner = Composer("inner")
        q = inner.input("q", 2)
        x, y = inner.call(self.step, q, q)
        _, x = inner.call(self.step, x, y)
        inner.output("x", x)
        program = inner.program()
        outer = Composer("outer")
        q = outer.input("q", 2)
        (x,) = outer.call(program, q)
        (x,) = outer.call(program, x)
        outer.output("x", x)
        value = np.array([0.3, -0.7])
        once = 2 * value**3
        np.testing.assert_allclose(interpret(outer.program(), value)[0], 2 * once**3, rtol=1e-14)
        assert len(outer.program().blocks) == 1

    def test_a_step_may_be_wired_in_any_way(self):
        """A step that swaps its inputs, adds a constant of its own and passes one input through."""
        difference = trace(lambda a, b: a - b, {"a": (), "b": ()}, {"d": ()})
        inner = Composer("swapped")
        a, b = inner.input("a", ()), inner.input("b", ())
        (d,) = inner.call(difference, b, a)
        inner.output("d", np.array([d, a, inner.constant(4.0)]))
        outer = Composer("outer")
        x, y = outer.input("x", ()), outer.input("y", ())
        (result,) = outer.call(inner.program(), x, y)
        outer.output("r", result)
        assert interpret(outer.program(), 10.0, 1.0)[0].tolist() == [-9.0, 10.0, 4.0]

    @pytest.mark.parametrize("wrong", [1, 1.5, np.array([1.5, 2.0])])
    def test_numbers_are_no_slots(self, wrong):
        composer = Composer("c")
        with pytest.raises(ProgramError, match="takes slots; convert numbers with constant"):
            composer.call(self.step, composer.input("q", 2), wrong)

    def test_calls_of_different_blocks_keep_their_order(self):
        other = trace(lambda x: -x, {"x": 2})
        composer = Composer("c")
        q = composer.input("q", 2)
        for _ in range(2):
            s, p = composer.call(self.step, q, q)
            (q,) = composer.call(other, s)
        composer.output("q", q)
        composer.output("p", p)
        program = composer.program()
        assert [call.block for call in program.calls] == [0, 1, 0, 1]
        assert len(program.blocks) == 2


def test_the_set_of_operations_is_complete():
    assert set(ARITY) == set(PHRASE) == set(Op)
    assert [int(op) for op in Op] == list(range(len(Op)))


def test_single_block_programs_know_their_ports():
    program = single_block(ADD, [Port("a", ()), Port("b", ())], [Port("sum", ())])
    assert list(program.input_slots) == [slice(0, 1), slice(1, 2)]
    assert program.workspace == 3
    assert program.length == 1
