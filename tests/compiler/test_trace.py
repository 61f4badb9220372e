"""Tracing against CasADi's own evaluation, which shares no code with programs."""

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kempe.compiler.count import count
from kempe.compiler.interpret import interpret
from kempe.compiler.kernel import Kernel
from kempe.compiler.operations import Op
from kempe.compiler.symbolic import RULES
from kempe.compiler.targets import cpu
from kempe.compiler.trace import trace
from kempe.errors import TraceError

UNARY = {
    "sqrt": (ca.sqrt, (0, 50)),
    "fabs": (ca.fabs, (-5, 5)),
    "sign": (ca.sign, (-5, 5)),
    "floor": (ca.floor, (-5, 5)),
    "ceil": (ca.ceil, (-5, 5)),
    "not": (ca.logic_not, (-1, 1)),
    "sin": (ca.sin, (-50, 50)),
    "cos": (ca.cos, (-50, 50)),
    "tan": (ca.tan, (-50, 50)),
    "asin": (ca.asin, (-1, 1)),
    "acos": (ca.acos, (-1, 1)),
    "atan": (ca.atan, (-50, 50)),
    "exp": (ca.exp, (-50, 50)),
    "log": (ca.log, (0.01, 50)),
    "expm1": (ca.expm1, (-2, 2)),
    "log1p": (ca.log1p, (-0.9, 2)),
    "sinh": (ca.sinh, (-30, 30)),
    "cosh": (ca.cosh, (-30, 30)),
    "tanh": (ca.tanh, (-30, 30)),
    "asinh": (ca.asinh, (-30, 30)),
    "acosh": (ca.acosh, (1, 30)),
    "atanh": (ca.atanh, (-0.99, 0.99)),
    "square": (lambda x: x**2, (-5, 5)),
    "cube": (lambda x: x**3, (-5, 5)),
    "minus seventh": (lambda x: x**-7, (0.5, 2)),
    "three halves": (lambda x: x**1.5, (0, 5)),
    "any power": (lambda x: x**0.3, (0.01, 5)),
    "inverse": (lambda x: 1 / x, (0.1, 5)),
    "twice": (lambda x: x + x, (-5, 5)),
    "if": (lambda x: ca.if_else(x > 0.2, ca.sin(x), x * x), (-1, 1)),
}
BINARY = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / y,
    "atan2": ca.atan2,
    "hypot": ca.hypot,
    "fmin": ca.fmin,
    "fmax": ca.fmax,
    "fmod": ca.fmod,
    "remainder": ca.remainder,
    "copysign": ca.copysign,
    "power": lambda x, y: ca.fabs(x) ** y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "eq": lambda x, y: ca.floor(x) == ca.floor(y),
    "ne": lambda x, y: ca.floor(x) != ca.floor(y),
    "and": lambda x, y: ca.logic_and(x > 0, y > 0),
    "or": lambda x, y: ca.logic_or(x > 0, y > 0),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument_agree_with_casadi(name):
    function, (low, high) = UNARY[name]
    x = np.linspace(low, high, 1001)
    mine = Kernel(trace(lambda x: function(x), {"x": ()}, {"y": ()}))(x)
    symbol = ca.SX.sym("x")
    theirs = np.array(ca.Function("f", [symbol], [function(symbol)]).map(len(x))(x)).ravel()
    np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments_agree_with_casadi(name):
    function = BINARY[name]
    x, y = np.random.default_rng(3).uniform(-20, 20, (2, 2000))
    mine = Kernel(trace(lambda x, y: function(x, y), {"x": (), "y": ()}, {"z": ()}))(x, y)
    sx, sy = ca.SX.sym("x"), ca.SX.sym("y")
    theirs = np.array(ca.Function("f", [sx, sy], [function(sx, sy)]).map(len(x))(x, y)).ravel()
    np.testing.assert_allclose(mine, theirs, rtol=5e-14, atol=0)


@st.composite
def expressions(draw):
    """A CasADi function of random arithmetic on two vectors and a matrix, with a sparse and a dense output."""
    q, v, m = ca.SX.sym("q", 3), ca.SX.sym("v", 2), ca.SX.sym("m", 2, 3)
    terms = [*ca.vertsplit(q), *ca.vertsplit(v), *ca.vertsplit(ca.vec(m)), ca.SX(2), ca.SX(0), ca.SX(-1)]
    for _ in range(draw(st.integers(3, 25))):
        a, b = (terms[draw(st.integers(0, len(terms) - 1))] for _ in range(2))
        kind = draw(st.sampled_from(["+", "-", "*", "sin", "cos", "/"]))
        new = {"+": a + b, "-": a - b, "*": a * b, "sin": ca.sin(a), "cos": ca.cos(b), "/": a / (1 + b * b)}[kind]
        terms.append(new)
    dense = ca.reshape(ca.vertcat(*terms[-6:]), 3, 2)
    sparse = ca.SX(ca.Sparsity.lower(3))
    sparse[0, 0], sparse[2, 1] = terms[-1], terms[-3]
    return ca.Function("f", [q, v, m], [dense, sparse, terms[-2]], ["q", "v", "m"], ["dense", "sparse", "one"])


@given(function=expressions())
@settings(max_examples=60)
def test_random_expressions_agree_with_casadi(function):
    rng = np.random.default_rng(5)
    program = trace(function)
    kernel = Kernel(program)
    for _ in range(3):
        arguments = rng.normal(size=3), rng.normal(size=2), rng.normal(size=(2, 3))
        theirs = [np.array(ca.DM(x)) for x in function(*arguments)]
        for mine, meant, other in zip(kernel(*arguments), interpret(program, *arguments), theirs, strict=True):
            assert np.array_equal(mine, meant)
            scale = max(1.0, np.abs(other).max())
            np.testing.assert_allclose(mine.reshape(other.shape), other, rtol=1e-11, atol=1e-11 * scale)


def test_matrices_are_laid_out_by_rows():
    kernel = Kernel(trace(lambda m: {"t": m.T, "row": m[0, :]}, {"m": (2, 3)}))
    m = np.arange(6.0).reshape(2, 3)
    transposed, row = kernel(m)
    assert np.array_equal(transposed, m.T)
    assert row.shape == (1, 3)
    assert np.array_equal(row[0], m[0])


def test_zeros_and_repetitions_cost_nothing():
    def f(x):
        twice = ca.sin(x[0]) * x[1]
        rotation = ca.vertcat(ca.horzcat(ca.cos(x[0]), -ca.sin(x[0]), 0), ca.horzcat(ca.sin(x[0]), ca.cos(x[0]), 0))
        return twice + 0 * x[2], twice * 1, rotation @ ca.vertcat(0, 0, x[2]), ca.cos(x[0]) + (2 + 3)

    counts = count(trace(f, {"x": 3}))
    assert (counts.sincos, counts.multiplications, counts.additions, counts.total) == (2, 1, 1, 4)


def test_products_are_fused_unless_kept_as_written():
    def f(a, b, c, d):
        return a * b + c, a - b * d, a * c - d, (c * d) * d

    fused, plain = (trace(f, dict.fromkeys("abcd", ()), as_written=flag) for flag in (False, True))
    kinds = [Op(k) for k in fused.blocks[0].code[:, 0]]
    assert {Op.FMA, Op.FNMA, Op.FMS} <= set(kinds)
    assert not {Op.FMA, Op.FNMA, Op.FMS} & {Op(k) for k in plain.blocks[0].code[:, 0]}
    for attribute in ("multiplications", "additions"):
        assert getattr(count(fused), attribute) == getattr(count(plain), attribute)
    x = 1 + 2.0**-30
    exact = 2.0**-60  # of x * x - (1 + 2^-29)
    difference = trace(lambda a, b: a * a - b, {"a": (), "b": ()}, {"y": ()})
    assert interpret(difference, x, 1 + 2.0**-29)[0] == exact


def test_a_divisor_is_inverted_once_unless_kept_as_written():
    def f(a, b):
        return a[0] / b, a[1] / b, a[2] / b, a[0] / a[1]

    shared, plain = (trace(f, {"a": 3, "b": ()}, as_written=flag) for flag in (False, True))
    assert (count(shared).divisions, count(plain).divisions) == (2, 4)
    a, b = np.array([1.0, 2.0, -5.0]), 3.0
    np.testing.assert_allclose(np.ravel(interpret(shared, a, b)), [*(a / b), 0.5], rtol=3e-16)
    assert np.ravel(interpret(plain, a, b)).tolist() == [*(a / b), 0.5]


def test_mx_functions_are_expanded():
    x = ca.MX.sym("x", 4)
    program = trace(ca.Function("norm", [x], [ca.norm_2(x)], ["x"], ["n"]))
    assert Kernel(program)(np.array([1.0, 1, 1, 1])).tolist() == [2.0]


def test_every_casadi_rule_is_exercised():
    """Rules without a case above would be untested code."""
    used = set()
    for function, _ in UNARY.values():
        x = ca.SX.sym("x")
        f = ca.Function("f", [x], [function(x)])
        used |= {f.instruction_id(k) for k in range(f.n_instructions())}
    for function in BINARY.values():
        x, y = ca.SX.sym("x"), ca.SX.sym("y")
        f = ca.Function("f", [x, y], [function(x, y)])
        used |= {f.instruction_id(k) for k in range(f.n_instructions())}
    untested = set(RULES) - used - {ca.OP_ASSIGN, ca.OP_LIFT, ca.OP_NEG}
    assert not untested, untested


def test_remainders_at_ties_are_those_of_the_c_library():
    x = np.arange(-12, 13) / 2
    kernel = Kernel(trace(ca.remainder, {"x": (), "y": ()}, {"r": ()}))
    for y in (1.0, 2.0, 3.0, -1.0):
        assert kernel(x, y).tolist() == [math.remainder(value, y) for value in x]


def test_entries_that_are_inputs_or_numbers_take_no_instruction():
    program = trace(lambda x: {"d": ca.diag(ca.sin(x)), "reversed": x[::-1, :], "twice": ca.vertcat(x, x)}, {"x": 3})
    assert count(program).total == 3
    assert len(program.blocks[0].outputs) == 3
    assert program.constants.tolist() == [0.0]
    d, backwards, twice = Kernel(program)(np.array([1.0, 2.0, 3.0]))
    assert np.array_equal(d != 0, np.eye(3, dtype=bool))
    assert backwards.tolist() == [3, 2, 1]
    assert twice.tolist() == [1, 2, 3] * 2


def test_many_entries_are_copied_by_loops():
    """8000 numbers reversed: no instruction at all, and code that does not grow with them."""
    kernel = Kernel(trace(lambda x: x[::-1, :], {"x": 8000}))
    x = np.arange(8000.0)
    assert np.array_equal(kernel(x), x[::-1])
    assert np.array_equal(kernel(np.array([x, 2 * x])), np.array([x, 2 * x])[:, ::-1])
    assert len(cpu.emit(kernel.prepared).splitlines()) < 200


class TestMistakes:
    def test_no_shapes(self):
        with pytest.raises(TraceError, match="give the shape of every argument"):
            trace(lambda q: q)

    def test_not_symbols(self):
        with pytest.raises(TraceError, match="must return CasADi SX"):
            trace(lambda q: "seven", {"q": 1})

    @pytest.mark.parametrize("shape", [(2, 2, 2), None, 2.5, "ab", -1])
    def test_strange_shapes(self, shape):
        with pytest.raises(TraceError, match=r"give n, \(\) or \(n, m\)"):
            trace(lambda q: q, {"q": shape})

    def test_branches_on_symbols(self):
        with pytest.raises(TraceError, match=r"casadi\.if_else"):
            trace(lambda q: q if q[0] > 0 else -q, {"q": 2})

    def test_a_symbol_from_outside(self):
        outside = ca.SX.sym("outside")
        with pytest.raises(TraceError, match="may only use its arguments and numbers"):
            trace(lambda q: q * outside, {"q": 2})

    def test_an_output_that_is_not_there(self):
        with pytest.raises(TraceError, match="no output 'enrgy'; there are energy"):
            trace(lambda q: {"energy": q}, {"q": 1}, {"enrgy": ()})

    def test_shapes_for_a_casadi_function(self):
        x = ca.SX.sym("x")
        with pytest.raises(TraceError, match="has its own inputs"):
            trace(ca.Function("f", [x], [x]), {"x": 1})

    def test_wrong_number_of_outputs(self):
        with pytest.raises(TraceError, match="returned 2 values, but 1"):
            trace(lambda q: (q, q), {"q": 1}, {"a": 1})

    def test_wrong_shape_of_output(self):
        with pytest.raises(TraceError, match="do not fill"):
            trace(lambda q: q, {"q": 3}, {"a": 2})

    def test_unknown_operation(self):
        with pytest.raises(TraceError, match="'erf' has no counterpart"):
            trace(lambda q: ca.erf(q), {"q": 1})

    def test_what_cannot_be_expanded(self):
        x, y = ca.SX.sym("x"), ca.SX.sym("y")
        root = ca.rootfinder("root", "newton", {"x": x, "p": y, "g": x * x - y})
        p = ca.MX.sym("p")
        with pytest.raises(TraceError, match=r"cannot expand it into scalar operations|calls a function"):
            trace(ca.Function("f", [p], [root(1.0, p)]))

    def test_a_call_inside(self):
        x = ca.MX.sym("x")
        table = ca.interpolant("table", "bspline", [[0, 1, 2, 3]], [0, 1, 0, 1])
        with pytest.raises(TraceError, match="calls a function"):
            trace(ca.Function("f", [x], [table(x)]))
