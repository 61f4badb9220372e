"""Starting: from the beginning of a process to the first accelerations, cold and of what was seen before."""

import resource
import subprocess
import sys
import time
from importlib.metadata import files

from benchmarks.compiler import fresh_cache
from benchmarks.rows import Row

ROBOTS = ("g1_29dof_rev_1_0", "human", "talos_full_v2")
CLOSED = (("stewart", "partition"), ("stewart", "sslm"), ("delta", "partition"))
COLD, WARM, REPEAT = 8.0, 1.0, 5  # seconds wanted, of a humanoid of 40 bodies

ROBOT = """
import sys, warnings
warnings.simplefilter("ignore")
import kempe as kp
m = kp.load(sys.argv[1], floating=True)
assert m.check()
model = m.compile()
state = model.state()
model.forward_dynamics(state.q, state.v)
print(len(m.bodies), model.nv)
"""
LOOPS = """
import sys
from kempe.gallery.entries import ENTRIES
m = ENTRIES[sys.argv[1]].build()
model = m.compile(sys.argv[2])
state = model.assemble()
model.forward_dynamics(state.q, state.v)
print(len(m.bodies), model.nv)
"""


def humanoids() -> list[Row]:
    """Read, checked, compiled, evaluated once."""
    found = {entry.stem: str(entry.locate()) for entry in files("example-robot-data") or () if entry.suffix == ".urdf"}
    rows = []
    for robot in ROBOTS:
        cold, warm, sizes = _started(ROBOT, found[robot])
        what = f"{robot}, {sizes[0]} bodies, {sizes[1]} freedoms: from nothing to accelerations"
        rows.append(Row(what, _words(cold), f"under {COLD:g} s", cold[0] < COLD))
        rows.append(Row("  the same, seen before", _words(warm), f"under {WARM:g} s", warm[0] < WARM))
    return rows


def loops() -> list[Row]:
    """Compiled, assembled, its coordinates chosen, evaluated once."""
    rows = []
    for name, formulation in CLOSED:
        cold, warm, _ = _started(LOOPS, name, formulation)
        rows.append(Row(f"{name} by {formulation}: from nothing to accelerations", _words(cold)))
        rows.append(Row("  the same, seen before", _words(warm)))
    return rows


def _started(code: str, *arguments: str) -> tuple[tuple[float, float], tuple[float, float], list[str]]:
    """Seconds by the clock and of the processor, of a process that finds nothing in the cache, and the least of several
    that find all; and what they print."""
    with fresh_cache():
        first, *rest = (_process(code, *arguments) for _ in range(1 + REPEAT))
    return first[0], min(each for each, _ in rest), first[1]


def _process(code: str, *arguments: str) -> tuple[tuple[float, float], list[str]]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    spent, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return (spent, after.ru_utime - before.ru_utime), done.stdout.split()


def _words(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.2f} s, {seconds[1]:.2f} s of them computing"


SECTIONS = (humanoids, loops)
