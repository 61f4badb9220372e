"""Generated: Pinocchio's functions of trees run on CasADi's symbols, written as C by CasADi and compiled, in a loop.

`pinocchio.casadi`, the module for it, is not in Pinocchio's wheels. Its templates and CasADi's headers are in wheels,
so that where a compiler is here the same is done in C++.
"""

import ctypes
import hashlib
import subprocess
from functools import cache
from pathlib import Path

import casadi
import numpy as np
import pinocchio as pin

from benchmarks.peers.native import WAYS, compiled, compiler, folder, pointer, tree

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC", "-x", "c")
LARGEST = 64  # freedoms: a C compiler takes twenty seconds for so many, and its time grows faster than they do
REPEAT = """
void repeat(long count, const casadi_real **given, casadi_real **result, casadi_int *iw, casadi_real *w) {
  for (long k = 0; k < count; ++k) %s(given, result, iw, w, 0);
}
"""


@cache
def tracer() -> ctypes.CDLL | str:
    """What runs Pinocchio on symbols; or a sentence why there is none."""
    here = Path(casadi.__file__).parent
    library = next(iter(sorted(here.glob("libcasadi.so.*"))), None)
    if library is None or not (here / "include" / "casadi").is_dir():
        return "The headers or the library of CasADi are not as expected, so generated C was not measured."
    linked = (f"-I{here / 'include'}", f"-L{here}", f"-l:{library.name}", f"-Wl,-rpath,{here}")
    return compiled("pinocchio_trace.cpp", ("-O1", *linked))


class Generated:
    """`aba` or `rnea` of a tree as compiled C, with its arguments, called as often as one asks for."""

    def __init__(self, library: ctypes.CDLL, model: pin.Model, way: str, given):
        numbers = tree(model)
        place = folder() / "generated"
        place.mkdir(exist_ok=True)
        library.trace(WAYS.index(way), way.encode(), str(place).encode(), *numbers)
        source = place / f"{way}.c"
        text = source.read_text() + REPEAT % way
        made = place / f"{way}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
        source.write_text(text)
        if not made.exists():
            subprocess.run([str(compiler()), *FLAGS, str(source), "-o", str(made)], check=True, capture_output=True)
        self._code = ctypes.CDLL(str(made))
        self._given = [np.ascontiguousarray(x, dtype=float) for x in given]
        self.result = np.empty(model.nv)
        sizes = [ctypes.c_longlong() for _ in range(4)]
        getattr(self._code, f"{way}_work")(*map(ctypes.byref, sizes))
        self._whole, self._work = np.empty(sizes[2].value + 1, np.int64), np.empty(sizes[3].value + 1)
        self._inputs = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in self._given))
        self._outputs = (ctypes.c_void_p * 1)(self.result.ctypes.data)

    def __call__(self, count: int) -> None:
        """`count` evaluations; the last one's result is in `result`, in Pinocchio's order."""
        memory = pointer(self._whole), pointer(self._work)
        self._code.repeat(ctypes.c_long(count), self._inputs, self._outputs, *memory)


def generated(model: pin.Model, way: str, given) -> Generated | None:
    """The loop, where there is one: of trees that are not too long, where a compiler is."""
    if way not in ("aba", "rnea") or model.nv > LARGEST or isinstance(tracer(), str):
        return None
    return Generated(tracer(), model, way, given)  # type: ignore[arg-type]
