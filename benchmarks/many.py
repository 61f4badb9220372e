"""Many loops: how long rows of four-bars take to compile, by multipliers of subsystems."""

import time
from collections.abc import Sequence

from benchmarks.compiler import fresh_cache
from benchmarks.rows import Row
from kempe.gallery.benchmarks import n_four_bar

COMPILED = (1, 10, 20, 40, 80, 160, 320)


def compiling(loops: Sequence[int] = COMPILED) -> list[Row]:
    """From a mechanism to native code, nothing compiled before; coordinates that loops are closed in included."""
    n_four_bar(2).compile("sslm").kernel("forward_dynamics")  # LLVM is set up
    rows = []
    for count in loops:
        mechanism = n_four_bar(count)
        with fresh_cache():
            begun = time.perf_counter()
            model = mechanism.compile("sslm")
            choice = model.choice
            chosen = time.perf_counter()
            model.kernel("forward_dynamics")
            done = time.perf_counter()
        wanted = ("under 5 s", done - begun < 5) if count == 160 else ("", None)
        told = f"{done - begun:.2f} s, of which {chosen - begun:.2f} s until {len(choice.rows)} rows are chosen"
        rows.append(Row(f"{count} four-bars: from mechanism to kernel, cold", told, *wanted))
        each, operations = (done - begun) / count * 1e3, model.counts.total / count
        rows.append(Row("  for each loop", f"{each:.0f} ms, {operations:.0f} operations"))
    return rows


SECTIONS = (compiling,)
