"""`python -m benchmarks.once CASE CONTENDER`: one mechanism built and evaluated once, for the clock and the memory.

What is imported before is not counted: it is the same for every mechanism.
"""

import json
import resource
import sys
import time
from pathlib import Path


def resident() -> float:
    """Memory in use [MiB]; the largest until now, where the system does not say more."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize() / 2**20
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def main(name: str, contender: str) -> dict[str, float]:
    """Seconds from the description to the first accelerations, and by how much memory grew on the way [MiB]."""
    from importlib import import_module

    from benchmarks.mechanisms import CASES
    from benchmarks.peers import MODULES, describe

    case = CASES[name]
    if contender == "kempe":
        import casadi  # noqa: F401
        import llvmlite.binding  # noqa: F401

        before, begun = resident(), time.perf_counter()
        model = case.build().compile(case.formulation)
        model.kernel("forward_dynamics")
        # A state that need not be closed: assembling is no part of it.
        state = model.random_state(0)
        model.kernel("forward_dynamics")(state.q, state.v, model.spread(None))
    else:
        module, peer = MODULES[contender]
        made = getattr(import_module(f"benchmarks.peers.{module}"), peer)
        description, given = describe(case.model), case.given
        before, begun = resident(), time.perf_counter()
        made(description).accelerations(*given)
    return {"seconds": time.perf_counter() - begun, "memory": resident() - before}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
