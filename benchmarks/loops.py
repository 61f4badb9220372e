"""Closed loops: closing in compiled code, assembly from poor starts, the mobility report."""

import time
from functools import partial

import numpy as np

from benchmarks.rows import Row
from benchmarks.timing import interleaved
from kempe.compiler.clock import CompiledLoop
from kempe.gallery.entries import ENTRIES
from kempe.gallery.excavator import excavator
from kempe.gallery.loops import stewart

CALLS = 2000


def closing() -> list[Row]:
    """Six leg lengths to pose, rates and accelerations."""
    model = stewart().compile()
    names = [f"P{k}" for k in range(1, 7)]
    state = model.assemble(dict.fromkeys(names, -0.2))
    closer = model.closer(names, state)
    x, zero = np.array([state[name] + 0.005 * (-1) ** k for k, name in enumerate(names)]), np.zeros(6)
    assert closer(state.q, x, zero, zero)[3] < 1e-12
    loop = CompiledLoop(closer.kernel, state.q, x, zero, zero)
    actions = {
        "compiled": partial(loop, CALLS),
        "python": lambda: [closer(state.q, x, zero, zero) for _ in range(CALLS)],
    }
    spent = {name: seconds / CALLS * 1e6 for name, seconds in interleaved(actions).items()}
    return [
        Row("Stewart platform, closed from six lengths, compiled", f"{spent['compiled']:.1f} us", "under 5 us",
            spent["compiled"] < 5),
        Row("  from Python", f"{spent['python']:.1f} us", "under 10 us", spent["python"] < 10),
    ]  # fmt: skip


def assembling() -> list[Row]:
    """From random starts, after compilation."""
    rows = []
    for name, entry in ENTRIES.items():
        model = entry.build().compile()
        if not model.topology.loops:
            continue
        model.assemble()
        spent = []
        for seed in range(5):
            start = model.random_state(seed)
            begun = time.perf_counter()
            model.assemble(near=start)
            spent.append(time.perf_counter() - begun)
        worst = max(spent) * 1e3
        rows.append(Row(f"{name}: assembled from a poor start", f"{worst:.0f} ms at worst", "under 50 ms", worst < 50))
    return rows


def mobility_report() -> list[Row]:
    """Of the excavator."""
    mechanism = excavator()
    begun = time.perf_counter()
    mechanism.mobility()
    spent = time.perf_counter() - begun
    return [Row("mobility report of the excavator", f"{spent:.2f} s", "under 0.5 s", spent < 0.5)]


SECTIONS = (closing, assembling, mobility_report)
