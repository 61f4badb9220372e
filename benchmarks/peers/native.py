"""Native: Pinocchio's own C++ in a compiled loop, where a compiler and the headers of Eigen are.

The wheels of Pinocchio bring its headers and those of Boost along, and Eigen's are a wheel of their own (cmeel-eigen),
so that all it takes is a compiler. Its templates are compiled for this processor, which its wheels are not.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio as pin

HERE = Path(__file__).parent
FLAGS = ("-std=c++17", "-DNDEBUG", "-w", "-shared", "-fPIC")
# As Pinocchio's own files for CMake have them.
DEFINITIONS = (
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
WAYS = ("constraintDynamics", "lcaba", "aba", "rnea")
KINDS = {"JointModelRX": "x", "JointModelRY": "y", "JointModelRZ": "z", "JointModelPZ": "p", "JointModelSpherical": "b"}
LONGEST = 1200  # seconds that compiling may take


@cache
def pinocchio_loop() -> ctypes.CDLL | str:
    """Its functions in a loop, compiled once for this machine; or a sentence why there is none."""
    library = compiled("pinocchio_loop.cpp", ("-O3", "-march=native"))
    if not isinstance(library, str):
        library.build.restype = ctypes.c_void_p
    return library


def compiled(source: str, flags: tuple[str, ...]) -> ctypes.CDLL | str:
    """A source that stands beside this file, compiled with the headers of Pinocchio; or a sentence why it is not."""
    found = compiler()
    if found is None:
        return "No C++ compiler (c++) is here, so Pinocchio was not measured in a compiled loop of its own."
    prefix = Path(find_spec("pinocchio").origin).parents[4] / "include"  # type: ignore[union-attr, arg-type]
    eigen = prefix / "eigen3"
    if not (prefix / "pinocchio").is_dir() or not eigen.is_dir():
        return "The headers of Pinocchio or Eigen (cmeel-eigen) are not here, so its C++ was not measured in a loop."
    text = "".join((HERE / name).read_text() for name in (source, "pinocchio_model.hpp"))
    library = folder() / f"{Path(source).stem}-{_digest(found, text, flags)}.so"
    if not library.exists():
        making = library.with_suffix(f".{os.getpid()}.so")
        options = [*FLAGS, *(f"-D{x}" for x in DEFINITIONS), f"-I{eigen}", f"-I{prefix}"]
        command = [found, *options, str(HERE / source), *flags, "-o", str(making)]
        begun = time.perf_counter()
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=LONGEST)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            return f"{source} did not compile here ({type(error).__name__}), so it was not measured."
        library.with_suffix(".seconds").write_text(f"{time.perf_counter() - begun:.1f}")
        making.replace(library)
    return ctypes.CDLL(str(library))


def compiled_in(library: ctypes.CDLL | str) -> str:
    """How long compiling a library took, when it was done; or the sentence why it was not."""
    if isinstance(library, str):
        return library
    return f"{Path(library._name).with_suffix('.seconds').read_text()} s, kept for later"


def compiler() -> str | None:
    """A C++ compiler, where there is one."""
    return shutil.which(os.environ.get("CXX", "c++"))


class Loop:
    """One of Pinocchio's functions with its arguments, called as often as one asks for, from compiled code."""

    def __init__(self, library: ctypes.CDLL, model: pin.Model, constraints, settings, way: str, given):
        self._library, self._way = library, WAYS.index(way)
        ends = [x for c in constraints for x in (c.joint1_id, c.joint2_id)]
        places = [x for c in constraints for at in (c.joint1_placement, c.joint2_placement) for x in _numbers(at)]
        loops = np.array(ends, np.int32), np.array(places, dtype=float), np.array(settings, dtype=float)
        numbers = *tree(model), len(constraints), *map(pointer, loops)
        self._peer = ctypes.c_void_p(library.build(self._way, *numbers))
        self._given = [np.ascontiguousarray(x, dtype=float) for x in given]
        self.result = np.empty(model.nv)

    def __call__(self, count: int) -> None:
        """`count` evaluations; the last one's result is in `result`, in Pinocchio's order."""
        arrays = (pointer(x) for x in (*self._given, self.result))
        self._library.repeat(self._peer, self._way, ctypes.c_long(count), *arrays)

    def __del__(self):
        self._library.release(self._peer)


def tree(model: pin.Model) -> tuple:
    """A tree as the C++ here takes it."""
    joints = range(1, model.njoints)
    kinds = "".join(KINDS[model.joints[k].shortname()] for k in joints).encode()
    inertias = [(x.mass, *x.lever, *x.inertia.ravel()) for x in (model.inertias[k] for k in joints)]
    placements = [_numbers(model.jointPlacements[k]) for k in joints]
    parents = np.array([model.parents[k] for k in joints], np.int32)
    numbers = [np.array(x, dtype=float).ravel() for x in (placements, inertias, model.gravity.linear)]
    return len(joints), ctypes.c_char_p(kinds), *map(pointer, (parents, *numbers))


def _numbers(pose: pin.SE3) -> list[float]:
    return [*pose.rotation.ravel(), *pose.translation]


def pointer(array: np.ndarray):
    """To the numbers of an array, which lives as long as the pointer does."""
    return array.ctypes.data_as(ctypes.c_void_p)


def folder() -> Path:
    """Where what was compiled is kept."""
    place = os.environ.get("KEMPE_BENCH_DIR") or Path(tempfile.gettempdir()) / f"kempe-bench-{os.getuid()}"
    Path(place).mkdir(parents=True, exist_ok=True, mode=0o700)
    return Path(place)


def _digest(found: str, source: str, given: tuple[str, ...]) -> str:
    try:
        eigen = version("cmeel-eigen")
    except PackageNotFoundError:
        eigen = "elsewhere"
    told = subprocess.run([found, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    cpu = Path("/proc/cpuinfo")
    flags = next((x for x in cpu.read_text().splitlines() if x.startswith("flags")), "") if cpu.exists() else ""
    text = repr((source, FLAGS, given, DEFINITIONS, pin.__version__, eigen, told, flags))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
