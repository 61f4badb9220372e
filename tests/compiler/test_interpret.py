"""The interpreter's own foundations: fused operations against exact arithmetic, the parts of a double."""

import ctypes
import ctypes.util
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kempe.compiler.interpret import Evaluation
from kempe.compiler.operations import Op
from tests.compiler.strategies import numbers, same_bits

emit = Evaluation().emit
libm = ctypes.CDLL(ctypes.util.find_library("m"))
libm.fma.restype = ctypes.c_double
libm.fma.argtypes = [ctypes.c_double] * 3


@given(numbers, numbers, numbers)
@example(1e308, 10.0, -math.inf)
@example(2.0**-600, 2.0**-600, -0.0)
@example(1 + 2.0**-30, 1 + 2.0**-30, -(1 + 2.0**-29))
@example(-5e-324, 0.5, 0.0)
def test_fused_operations_are_those_of_the_c_library(a, b, c):
    assert same_bits(emit(Op.FMA, a, b, c), libm.fma(a, b, c))
    assert same_bits(emit(Op.FMS, a, b, c), libm.fma(a, b, -c))
    assert same_bits(emit(Op.FNMA, a, b, c), libm.fma(-a, b, c))


@given(st.floats(-1e150, 1e150), st.floats(-1e150, 1e150), st.floats(-1e300, 1e300))
def test_fused_operations_round_once(a, b, c):
    assert emit(Op.FMA, a, b, c) == float(Fraction(a) * Fraction(b) + Fraction(c))


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).filter(bool))
def test_exponent_is_that_of_frexp(x):
    assert emit(Op.EXPONENT, x) == math.frexp(x)[1] - 1


@pytest.mark.parametrize("n", [-1022, -53, -1, 0, 1, 52, 1023])
def test_power_of_two(n):
    assert emit(Op.POW2, float(n)) == 2.0**n


def test_minimum_and_maximum_pass_over_nan_and_keep_the_first_of_equals():
    for op, other in ((Op.MIN, np.fmin), (Op.MAX, np.fmax)):
        for a in (1.0, 2.0, math.nan, -math.inf):
            for b in (1.0, math.nan, 3.0):
                assert np.array_equal(emit(op, a, b), other(a, b), equal_nan=True)
        assert np.signbit(emit(op, -0.0, 0.0))
        assert not np.signbit(emit(op, 0.0, -0.0))
