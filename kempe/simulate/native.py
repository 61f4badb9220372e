"""How integrators are compiled, and how compiled code calls native code by its address."""

import hashlib
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import config
from numba.extending import intrinsic

from kempe.compiler.cache import directory

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


@intrinsic
def peek(typing_context, address):
    """The double at an address: entries of arrays are looked up with more care, which took most of a step's time."""

    def emit(context, builder, signature, arguments):
        return builder.load(builder.inttoptr(arguments[0], ir.DoubleType().as_pointer()))

    return types.float64(types.intp), emit


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
