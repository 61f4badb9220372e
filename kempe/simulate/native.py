"""How integrators are compiled, and how compiled code calls native code by its address."""

import hashlib
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic

from kempe.compiler.cache import directory

LANES = 8  # doubles that are worked on at once, a line of memory
SOURCES = (
    "memory.py",
    "native.py",
    "dense.py",
    "steps.py",
    "integrators.py",
    "following.py",
    "collocation.py",
    "implicit.py",
)


def _digest() -> str:
    text = b"".join(Path(__file__).with_name(name).read_bytes() for name in SOURCES)
    return hashlib.sha256(text).hexdigest()[:16]


_FOLDER = None if directory() is None else Path(str(directory())) / f"integrators-{_digest()}"


def yet_to_compile() -> bool:
    """Whether no run on this machine has compiled the integrators yet, so that the first one will wait."""
    return _FOLDER is None or not any(_FOLDER.rglob("integrators.advance*.nbc"))


def compiled(function):
    """Compiles a function that others of these call, along with them; it cannot be called from Python."""
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(nogil=True, error_model="numpy", **options)(function)


def kept(function):
    """Compiles a function that Python calls when it is first called, and keeps the code.

    numba takes kept code for good as long as the function's own file is unchanged; these functions call each other
    across files, so the code is kept in a folder named by the content of them all.
    """
    return _with_cache(njit(cache=_FOLDER is not None, nogil=True, error_model="numpy"), function)


def addressed(function):
    """Compiles, now, or fetches a function of the addresses of doubles, of whole numbers and of a workspace, which
    compiled code calls by its address, and Python by ctypes: it is no part of the code that calls it, nor of what that
    takes to compile."""
    signature = types.void(types.CPointer(types.float64), types.CPointer(types.int64), types.intp)
    return _with_cache(cfunc(signature, cache=_FOLDER is not None, error_model="numpy"), function)


def _with_cache(compiler, function):
    setting: Any = config
    before = setting.CACHE_DIR
    try:
        setting.CACHE_DIR = "" if _FOLDER is None else str(_FOLDER)
        return compiler(function)
    finally:
        setting.CACHE_DIR = before


def _sum(builder, weights, entries, count, stride, line):
    """A line of the sum of `count` parts that lie a stride of bytes apart, times weights that lie side by side; even
    and odd ones on their own, so that one addition does not wait for the other."""
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
    """A line of the same number."""
    lane = ir.VectorType(ir.DoubleType(), LANES)
    one = builder.insert_element(ir.Constant(lane, ir.Undefined), scalar, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), None))


@intrinsic
def summed(typing_context, weights, entries, count, stride, out, lines):
    """The sum of parts of so many lines, with weights, to `out`. All are addresses or whole numbers: entries of arrays
    are looked up with more care, and one by one, which took most of a step's time."""

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
    """The same, `size` times as much, from `start` on."""

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
