"""Native: how integrators are compiled and cached, and how compiled code calls native code by its address.

Functions that Python calls are entries: native functions of addresses and numbers. Their machine code is kept in the
same cache as that of programs (`compiler.cache`), and linked like it; numba's own cache, which would be unpickled, is
not used.
"""

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from kempe.compiler import cache as disk
from kempe.compiler import native
from kempe.compiler.forks import compiling

LANES = 8  # doubles computed at once, a cache line
SYMBOL = "kempe_entry"
KINDS: dict[str, tuple[Any, Any]] = {  # of arguments and results: their types in numba and ctypes
    "nothing": (types.void, None),
    "doubles": (types.CPointer(types.float64), ctypes.c_void_p),
    "words": (types.CPointer(types.int64), ctypes.c_void_p),
    "double": (types.float64, ctypes.c_double),
    "word": (types.int64, ctypes.c_int64),
}


def compiled(function):
    """Compiles a function together with the compiled functions that call it; it cannot be called from Python."""
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(nogil=True, error_model="numpy", **options)(function)


class Entry:
    """A native function that is compiled, or loaded, on its first call; called by ctypes, so that it does not hold the
    interpreter's lock. Arrays are passed by address."""

    def __init__(self, function: Callable, returns: str, takes: tuple[str, ...]):
        self._function, self._returns, self._takes = function, returns, takes

    @property
    def is_kept(self) -> bool:
        """Whether it needs no compilation."""
        return "_code" in vars(self) or disk.found(self._name) is not None

    @property
    def address(self) -> int:
        """For calls from compiled code."""
        with compiling:
            return self._code.address(SYMBOL)

    @cached_property
    def call(self) -> Callable:
        """For calls from Python."""
        returns, *takes = (KINDS[kind][1] for kind in (self._returns, *self._takes))
        return ctypes.CFUNCTYPE(returns, *takes)(self.address)

    @cached_property
    def _code(self) -> native.Code:
        return native.Code(disk.fetch(self._name, self._made), (SYMBOL,), _helpers())

    @property
    def _name(self) -> str:
        return disk.key(
            "integrator", self._function.__name__, _sources(self._function), numba.__version__, str(native.host())
        )

    def _made(self) -> bytes:
        """Compiled by numba, under a fixed name."""
        returns, *takes = (KINDS[kind][0] for kind in (self._returns, *self._takes))
        made = cfunc(returns(*takes), error_model="numpy")(self._function)
        own = f'@{SYMBOL} = alias void (), ptr @"{made.native_name}"'
        return native.object_code(f"{made.inspect_llvm()}\n{own}\n")


def entry(returns: str, *takes: str) -> Callable[[Callable], Entry]:
    """Makes an entry of a function, by the kinds of its result and arguments."""
    return lambda function: Entry(function, returns, takes)


@cache
def _sources(function: Callable) -> str:
    """A hash of the sources of an entry: this package, and the function's module."""
    files = {*Path(__file__).parent.glob("*.py"), Path(function.__code__.co_filename)}
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


@cache
def _helpers() -> dict[str, int]:
    """Addresses of what numba's code calls: memory for small arrays, and errors that do not occur."""
    from numba import _helperlib
    from numba.core.registry import cpu_target
    from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
    from numba.core.runtime.nrt import rtsys

    rtsys.initialize(cpu_target.target_context)
    found = {f"numba_{name}": address for name, address in _helperlib.c_helpers.items()}  # type: ignore[attr-defined]
    return found | {f"NRT_{name}": address for name, address in _nrt_python.c_helpers.items()}


# ---- arrays by their addresses -----------------------------------------------------------------------------

carray: Any = numba.carray  # type: ignore[attr-defined]  (in compiled code alone)
DESCRIBED = 4  # words of an array in a table: its address, and up to three lengths


def table(arrays: list[np.ndarray]) -> np.ndarray:
    """Addresses and lengths of arrays, for `vector`, `matrix` and so on; valid as long as they live."""
    found = np.ones((len(arrays), DESCRIBED), dtype=np.int64)
    for row, x in zip(found, arrays, strict=True):
        assert x.flags.c_contiguous
        row[0], row[1 : 1 + x.ndim] = x.ctypes.data, x.shape
    return found.ravel()


def _pointer(kind):
    @intrinsic
    def pointer(typing_context, address):
        def emit(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), emit

    return pointer


_doubles, _words = _pointer(types.float64), _pointer(types.int64)


@compiled
def vector(table, k):
    """Array k of a table: doubles."""
    return carray(_doubles(table[DESCRIBED * k]), (table[DESCRIBED * k + 1],))  # type: ignore[call-arg]


@compiled
def matrix(table, k):
    """Rows of doubles."""
    at = DESCRIBED * k
    return carray(_doubles(table[at]), (table[at + 1], table[at + 2]))  # type: ignore[call-arg]


@compiled
def block(table, k):
    """Matrices of doubles."""
    at = DESCRIBED * k
    return carray(_doubles(table[at]), (table[at + 1], table[at + 2], table[at + 3]))  # type: ignore[call-arg]


@compiled
def numbers(table, k):
    """A vector of integers."""
    return carray(_words(table[DESCRIBED * k]), (table[DESCRIBED * k + 1],))  # type: ignore[call-arg]


@compiled
def number_rows(table, k):
    """Rows of integers."""
    at = DESCRIBED * k
    return carray(_words(table[at]), (table[at + 1], table[at + 2]))  # type: ignore[call-arg]


# ---- operations written in LLVM -----------------------------------------------------------------------------


def _sum(builder, weights, entries, count, stride, line):
    """A line of the weighted sum of `count` parts that lie a stride of bytes apart, with contiguous weights; even and
    odd ones separately, so that one addition does not wait for the other."""
    word, double = ir.IntType(64), ir.DoubleType()
    lane = ir.VectorType(double, LANES)
    even, odd = (cgutils.alloca_once_value(builder, ir.Constant(lane, None)) for _ in range(2))

    def add(number, part):
        weight = builder.add(weights, builder.mul(number, word(8)))
        entry = builder.add(builder.add(entries, line), builder.mul(number, stride))
        scalar = builder.load(builder.inttoptr(weight, double.as_pointer()))
        many = builder.load(builder.inttoptr(entry, lane.as_pointer()), align=8)
        builder.store(builder.fadd(builder.load(part), builder.fmul(_spread(builder, scalar), many)), part)

    pairs = builder.and_(count, word(-2))
    with cgutils.for_range_slice(builder, word(0), pairs, word(2), word) as (number, _):
        add(number, even)
        add(builder.add(number, word(1)), odd)
    with cgutils.for_range_slice(builder, pairs, count, word(1), word) as (number, _):
        add(number, even)
    return builder.fadd(builder.load(even), builder.load(odd))


def _spread(builder, scalar):
    """A line filled with one number."""
    lane = ir.VectorType(ir.DoubleType(), LANES)
    one = builder.insert_element(ir.Constant(lane, ir.Undefined), scalar, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), None))


@intrinsic
def summed(typing_context, weights, entries, count, stride, out, lines):
    """The weighted sum of parts of so many lines, to `out`. All arguments are addresses or integers: array indexing is
    slower, with checks and entry by entry, which took most of a step's time."""

    def emit(context, builder, signature, arguments):
        weights, entries, count, stride, out, lines = arguments
        with cgutils.for_range(builder, lines, intp=ir.IntType(64)) as loop:
            line = builder.mul(loop.index, ir.IntType(64)(8 * LANES))
            total = _sum(builder, weights, entries, count, stride, line)
            builder.store(total, builder.inttoptr(builder.add(out, line), total.type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 6), emit


@intrinsic
def stepped(typing_context, start, size, weights, entries, count, stride, out, lines):
    """start + size times the same sum."""

    def emit(context, builder, signature, arguments):
        start, size, weights, entries, count, stride, out, lines = arguments
        with cgutils.for_range(builder, lines, intp=ir.IntType(64)) as loop:
            line = builder.mul(loop.index, ir.IntType(64)(8 * LANES))
            total = builder.fmul(_spread(builder, size), _sum(builder, weights, entries, count, stride, line))
            pointer = total.type.as_pointer()
            before = builder.load(builder.inttoptr(builder.add(start, line), pointer), align=8)
            builder.store(builder.fadd(before, total), builder.inttoptr(builder.add(out, line), pointer), align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.float64, *[types.intp] * 6), emit


@intrinsic
def call(typing_context, address, inputs, outputs, work):
    """`void f(const double *const *inputs, double *const *outputs, double *work)` at an address; all are integers."""
    signature = types.void(types.intp, types.intp, types.intp, types.intp)

    def emit(context, builder, signature, arguments):
        word = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [word] * 3)
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return signature, emit
