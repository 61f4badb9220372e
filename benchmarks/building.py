"""Building: from a description to the first accelerations, and the memory it takes, each in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator

from benchmarks.compiler import fresh_cache
from benchmarks.mechanisms import Case
from benchmarks.peers import versions
from benchmarks.peers.generated import tracer
from benchmarks.peers.native import compiled_in, pinocchio_loop
from benchmarks.rows import Row, Sample
from benchmarks.timing import in_words

SECONDS, MEMORY = "from a description to the first accelerations", "memory it takes"


def building(cases: Iterable[Case]) -> Iterator[Row]:
    """Kempe with nothing kept from before and from its cache, the peers from the same numbers."""
    for case in cases:
        with fresh_cache():
            found = {"Kempe, cold": _once(case, "kempe"), "Kempe, from the cache": _once(case, "kempe")}
        found |= {package: _once(case, package) for package in versions()}
        told = "; ".join(f"{name} {in_words(x['seconds'])}, {x['memory']:.0f} MiB" for name, x in found.items())
        samples = [
            Sample(quantity, case.name, name, unit, value, value, value, case.size)
            for name, x in found.items()
            for quantity, unit, value in ((SECONDS, "s", x["seconds"]), (MEMORY, "MiB", x["memory"]))
        ]
        yield Row(f"{case.name}: {SECONDS}, {MEMORY}", told, samples=tuple(samples))
    for what, library in (("in a loop", pinocchio_loop()), ("on CasADi's symbols, which writes C", tracer())):
        yield Row(f"Pinocchio's C++ compiled, once for all mechanisms: {what}", compiled_in(library))


def _once(case: Case, contender: str) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.once", case.name, contender]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])
