"""Long trees: from a mechanism to native code, what a body costs; operation counts beside paper 4's Table 1."""

import time
from functools import partial

import numpy as np

from benchmarks.compiler import fresh_cache
from benchmarks.rows import Row
from benchmarks.timing import interleaved
from kempe.compiler.clock import CompiledLoop
from kempe.papers.paper4.counting import TABLE_1, compare, general_arm


def chains() -> list[Row]:
    rows = []
    for bodies in (64, 512, 1024):
        mechanism = general_arm(bodies)
        with fresh_cache():
            begun = time.perf_counter()
            model = mechanism.compile()
            kernel = model.kernel("forward_dynamics")
            compiled = time.perf_counter() - begun
        state, x = model.random_state(1), np.random.default_rng(0).normal(size=bodies)
        loop = CompiledLoop(kernel, state.q, state.v, x)
        repeat = 20000 // bodies
        spent = interleaved({"kempe": partial(loop, repeat)})["kempe"] / repeat
        each = spent / bodies * 1e9
        rows += [
            Row(f"chain of {bodies}: from mechanism to kernel, cold", f"{compiled:.2f} s", "under 5 s", compiled < 5),
            Row("  forward dynamics, per body", f"{each:.0f} ns", "at most 120 ns", each <= 120),
        ]
    return rows


def table_1() -> list[Row]:
    sizes = (2, 6, 10, 20)
    ours = compare()
    rows = [Row(f"given phi, n = {', '.join(map(str, sizes))}: Kempe", _shown([ours.counts[n] for n in sizes]))]
    for name, (m, a) in TABLE_1.items():
        rows.append(Row(f"  {name}", _shown([(np.polyval(m, n), np.polyval(a, n)) for n in sizes])))
    star, plus = ours.crossings()
    rows.append(Row("  n* and n+ of Kempe: from where on O(n) wins", f"{star} and {plus}", "the paper's: 10 and 12"))
    met = ours.within_the_papers()
    rows.append(Row("  at or below the paper's for all n = 2 .. 20", "yes" if met else "no", "yes", met))
    return rows


def _shown(pairs) -> str:
    return "; ".join(f"{m:.0f} M {a:.0f} A" for m, a in pairs)


SECTIONS = (chains, table_1)
