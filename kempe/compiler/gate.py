"""Gate: two built-in functions, compiled here, that call machine code from Python.

Problem. ctypes takes microseconds to pass three arrays to a function; the function itself takes a tenth of one.

Must. A wrong argument never reaches machine code: `enter` checks every argument (an aligned, contiguous NumPy array of
doubles of exactly the right shape, or a float for an input of one entry). At the first that does not fit, it returns
its position without calling anything.

Discussion. Both functions are written in LLVM assembly against CPython's C interface and the stable memory layout of
NumPy arrays; `_check_layout` checks once whether this Python and NumPy have this layout. The interpreter's lock is
released only around long work: releasing it for a tenth of a microsecond would only invite other threads to take it.
"""

import ctypes

import numpy as np

from kempe.compiler import cache as disk
from kempe.compiler import native
from kempe.compiler.forks import compiling
from kempe.errors import CompileError

HEADER = object.__basicsize__  # size of every object's header; the type is its last pointer
DATA, NDIM, DIMENSIONS, DTYPE, FLAGS = HEADER, HEADER + 8, HEADER + 16, HEADER + 40, HEADER + 48
READABLE, WRITEABLE = 0x101, 0x501  # NumPy's flags: contiguous and aligned; the same and writeable

CACHE_LINE = 64  # bytes; access to a vector that straddles two takes twice as long

# The number of entries before ndim, rows, columns of every argument in a kernel's table.
TABLE_HEAD = 8
_METH_FASTCALL = 0x80
_PYTHON = (
    "PyLong_FromLong",
    "PyErr_NoMemory",
    "PyMem_RawMalloc",
    "PyMem_RawFree",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)

_TEXT = f"""
declare ptr @PyLong_FromLong(i64)
declare ptr @PyErr_NoMemory()
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

; enter(*arguments): runs the kernel of the table that is `self`;
; gives 0, or 1 + the position of the first argument that does not fit
define ptr @enter(ptr %self, ptr %arguments, i64 %given) {{
entry:
  %table.at = getelementptr i8, ptr %self, i64 {DATA}
  %table = load ptr, ptr %table.at
  %function = load ptr, ptr %table
  %in.at = getelementptr i64, ptr %table, i64 1
  %in = load i64, ptr %in.at
  %out.at = getelementptr i64, ptr %table, i64 2
  %out = load i64, ptr %out.at
  %work.at = getelementptr i64, ptr %table, i64 3
  %work.size = load i64, ptr %work.at
  %release.at = getelementptr i64, ptr %table, i64 4
  %release = load i64, ptr %release.at
  %array.at = getelementptr i64, ptr %table, i64 5
  %array.type = load i64, ptr %array.at
  %double.at = getelementptr i64, ptr %table, i64 6
  %double.type = load i64, ptr %double.at
  %float.at = getelementptr i64, ptr %table, i64 7
  %float.type = load i64, ptr %float.at
  %total = add i64 %in, %out
  %pointers = alloca ptr, i64 %total
  %count.fits = icmp eq i64 %given, %total
  %none = icmp eq i64 %total, 0
  br i1 %count.fits, label %counted, label %refuse.count
counted:
  br i1 %none, label %run, label %argument
argument:
  %i = phi i64 [ 0, %counted ], [ %next, %accept ]
  %object.at = getelementptr ptr, ptr %arguments, i64 %i
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 {HEADER - 8}
  %type = load i64, ptr %type.at
  %i.3 = mul i64 %i, 3
  %shape.offset = add i64 %i.3, {TABLE_HEAD}
  %shape = getelementptr i64, ptr %table, i64 %shape.offset
  %ndim = load i64, ptr %shape
  %rows.at = getelementptr i64, ptr %shape, i64 1
  %rows = load i64, ptr %rows.at
  %columns.at = getelementptr i64, ptr %shape, i64 2
  %columns = load i64, ptr %columns.at
  %is.input = icmp slt i64 %i, %in
  %is.array = icmp eq i64 %type, %array.type
  br i1 %is.array, label %array, label %number
number:
  %is.float = icmp eq i64 %type, %float.type
  %size = mul i64 %rows, %columns
  %is.one = icmp eq i64 %size, 1
  %float.ok.1 = and i1 %is.float, %is.one
  %float.ok = and i1 %float.ok.1, %is.input
  %float.data = getelementptr i8, ptr %object, i64 {HEADER}
  br i1 %float.ok, label %accept, label %refuse
array:
  %dtype.at = getelementptr i8, ptr %object, i64 {DTYPE}
  %dtype = load i64, ptr %dtype.at
  %dtype.ok = icmp eq i64 %dtype, %double.type
  %flags.at = getelementptr i8, ptr %object, i64 {FLAGS}
  %flags = load i32, ptr %flags.at
  %needed = select i1 %is.input, i32 {READABLE}, i32 {WRITEABLE}
  %flags.had = and i32 %flags, %needed
  %flags.ok = icmp eq i32 %flags.had, %needed
  %ndim.at = getelementptr i8, ptr %object, i64 {NDIM}
  %ndim.32 = load i32, ptr %ndim.at
  %ndim.had = sext i32 %ndim.32 to i64
  %ndim.ok = icmp eq i64 %ndim.had, %ndim
  %ok.1 = and i1 %dtype.ok, %flags.ok
  %ok.2 = and i1 %ok.1, %ndim.ok
  br i1 %ok.2, label %dimensions, label %refuse
dimensions:
  %dimensions.at = getelementptr i8, ptr %object, i64 {DIMENSIONS}
  %sizes = load ptr, ptr %dimensions.at
  %is.scalar = icmp eq i64 %ndim, 0
  br i1 %is.scalar, label %array.fits, label %check.rows
check.rows:
  %rows.had = load i64, ptr %sizes
  %rows.ok = icmp eq i64 %rows.had, %rows
  br i1 %rows.ok, label %check.ndim, label %refuse
check.ndim:
  %is.matrix = icmp eq i64 %ndim, 2
  br i1 %is.matrix, label %check.columns, label %array.fits
check.columns:
  %columns.had.at = getelementptr i64, ptr %sizes, i64 1
  %columns.had = load i64, ptr %columns.had.at
  %columns.ok = icmp eq i64 %columns.had, %columns
  br i1 %columns.ok, label %array.fits, label %refuse
array.fits:
  %data.at = getelementptr i8, ptr %object, i64 {DATA}
  %array.data = load ptr, ptr %data.at
  br label %accept
accept:
  %data = phi ptr [ %float.data, %number ], [ %array.data, %array.fits ]
  %slot = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %slot
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %total
  br i1 %more, label %argument, label %run
run:
  %outputs = getelementptr ptr, ptr %pointers, i64 %in
  %needs.work = icmp sgt i64 %work.size, 0
  br i1 %needs.work, label %reserve, label %ready
reserve:
  %bytes = mul i64 %work.size, 8
  %reserved = call ptr @PyMem_RawMalloc(i64 %bytes)
  %no.memory = icmp eq ptr %reserved, null
  br i1 %no.memory, label %fail, label %ready
fail:
  %error = call ptr @PyErr_NoMemory()
  ret ptr %error
ready:
  %work = phi ptr [ null, %run ], [ %reserved, %reserve ]
  %let.go = icmp ne i64 %release, 0
  br i1 %let.go, label %alone, label %holding
alone:
  %thread = call ptr @PyEval_SaveThread()
  call void %function(ptr %pointers, ptr %outputs, ptr %work)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %finish
holding:
  call void %function(ptr %pointers, ptr %outputs, ptr %work)
  br label %finish
finish:
  br i1 %needs.work, label %free, label %leave
free:
  call void @PyMem_RawFree(ptr %work)
  br label %leave
leave:
  %zero = call ptr @PyLong_FromLong(i64 0)
  ret ptr %zero
refuse:
  %position = add i64 %i, 1
  %where = call ptr @PyLong_FromLong(i64 %position)
  ret ptr %where
refuse.count:
  %minus = call ptr @PyLong_FromLong(i64 -1)
  ret ptr %minus
}}

; invoke(numbers, work, *arrays): runs a batch; numbers are the function, the count of states, the count of inputs,
; whether to release the lock, and the strides. Nothing is checked here: the caller has made all arrays fit, and
; `work` larger by a cache line than needed, so that the code's share of it can begin with one.
define ptr @invoke(ptr %self, ptr %arguments, i64 %given) {{
entry:
  %numbers.object = load ptr, ptr %arguments
  %numbers.at = getelementptr i8, ptr %numbers.object, i64 {DATA}
  %numbers = load ptr, ptr %numbers.at
  %function = load ptr, ptr %numbers
  %count.at = getelementptr i64, ptr %numbers, i64 1
  %count = load i64, ptr %count.at
  %in.at = getelementptr i64, ptr %numbers, i64 2
  %in = load i64, ptr %in.at
  %release.at = getelementptr i64, ptr %numbers, i64 3
  %release = load i64, ptr %release.at
  %in.strides = getelementptr i64, ptr %numbers, i64 4
  %in.2 = mul i64 %in, 2
  %out.strides = getelementptr i64, ptr %in.strides, i64 %in.2
  %pointers = alloca ptr, i64 %given
  br label %argument
argument:
  %i = phi i64 [ 1, %entry ], [ %next, %argument ]
  %object.at = getelementptr ptr, ptr %arguments, i64 %i
  %object = load ptr, ptr %object.at
  %data.at = getelementptr i8, ptr %object, i64 {DATA}
  %data = load ptr, ptr %data.at
  %slot = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %slot
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %given
  br i1 %more, label %argument, label %run
run:
  %work.at = getelementptr ptr, ptr %pointers, i64 1
  %room = load i64, ptr %work.at
  %above = add i64 %room, {CACHE_LINE - 1}
  %aligned = and i64 %above, -{CACHE_LINE}
  %work = inttoptr i64 %aligned to ptr
  %inputs = getelementptr ptr, ptr %pointers, i64 2
  %outputs = getelementptr ptr, ptr %inputs, i64 %in
  %let.go = icmp ne i64 %release, 0
  br i1 %let.go, label %alone, label %holding
alone:
  %thread = call ptr @PyEval_SaveThread()
  call void %function(i64 %count, ptr %inputs, ptr %in.strides, ptr %outputs, ptr %out.strides, ptr %work)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %leave
holding:
  call void %function(i64 %count, ptr %inputs, ptr %in.strides, ptr %outputs, ptr %out.strides, ptr %work)
  br label %leave
leave:
  %zero = call ptr @PyLong_FromLong(i64 0)
  ret ptr %zero
}}
"""


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Gate:
    """The two functions, loaded; lives as long as the process."""

    def __init__(self):
        _check_layout()
        image = disk.fetch(disk.key("gate", _TEXT, str(native.host())), lambda: native.object_code(_TEXT))
        python = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}
        self._code = native.Code(image, ("enter", "invoke"), python)
        self._enter = _MethodDef(b"enter", self._code.address("enter"), _METH_FASTCALL, None)
        self._invoke = _MethodDef(b"invoke", self._code.address("invoke"), _METH_FASTCALL, None)
        prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self._new = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
        self.invoke = self._new(ctypes.addressof(self._invoke), None, None)

    def enter(self, table: np.ndarray):
        """A built-in function that runs the kernel described by `table`."""
        return self._new(ctypes.addressof(self._enter), table, None)


_gate: _Gate | None = None


def gate() -> _Gate:
    """The gate of this process; created once, even if several threads ask at the same time."""
    global _gate
    if _gate is None:
        with compiling:
            if _gate is None:
                _gate = _Gate()
    return _gate


def table(address: int, inputs, outputs, work: int, release: bool) -> np.ndarray:
    """What `enter` needs to know about a kernel: its address, the shapes of its ports, its workspace."""
    shapes = [(len(port.shape), *(*port.shape, 1, 1)[:2]) for port in (*inputs, *outputs)]
    head = [address, len(inputs), len(outputs), work, int(release), id(np.ndarray), id(np.dtype(np.float64)), id(float)]
    return np.array([*head, *(number for shape in shapes for number in shape)], dtype=np.int64)


def _check_layout() -> None:
    """Raises unless arrays have the memory layout that `enter` reads."""
    array = np.arange(6.0).reshape(2, 3)

    def pointer(offset: int) -> int:
        return ctypes.c_int64.from_address(id(array) + offset).value

    def integer(offset: int) -> int:
        return ctypes.c_int32.from_address(id(array) + offset).value

    as_expected = (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and pointer(HEADER - 8) == id(np.ndarray)
        and pointer(DATA) == array.ctypes.data
        and integer(NDIM) == 2
        and [ctypes.c_int64.from_address(pointer(DIMENSIONS) + 8 * k).value for k in (0, 1)] == [2, 3]
        and pointer(DTYPE) == id(np.dtype(np.float64))
        and integer(FLAGS) & WRITEABLE == WRITEABLE
        and ctypes.c_double.from_address(id(2.5) + HEADER).value == 2.5
    )
    if not as_expected:
        raise CompileError(
            "this Python or NumPy has a memory layout of arrays that Kempe does not know; "
            "use 64-bit CPython 3.11 to 3.14 with NumPy 2"
        )
