"""Many loops: a row of four-bars by multipliers of subsystems, against Pinocchio and MuJoCo in one run."""

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from benchmarks.compiler import Row, fresh_cache
from benchmarks.peers import Peer
from benchmarks.soft import SoftPeer
from benchmarks.timing import interleaved
from kempe.compiler.clock import CompiledLoop
from kempe.gallery.benchmarks import n_four_bar, parallel_bars
from kempe.model.model import Model
from kempe.simulate.choices import best_at

LOOPS = (10, 40, 160)
COMPILED = (1, 10, 20, 40, 80, 160, 320)
WANTED = 8  # times as fast as the best of the others
CALLS = 8000  # evaluations of ten loops in compiled code; fewer of more
ANGLE, RATE = 1.0, -1.0  # of all uprights


def evaluations(loops: Sequence[int] = LOOPS) -> list[Row]:
    """Forward dynamics at one state, over and over: compiled, from Python, and the others from Python."""
    rows = []
    for count in loops:
        model = n_four_bar(count).compile("sslm")
        state, tau = parallel_bars(model, ANGLE, RATE), np.zeros(model.nv)
        vars(model)["choice"] = best_at(model, state.q)[0]  # coordinates for this state, as a run would take them
        hard, soft = Peer(model), SoftPeer(model)
        q, v, none = hard.q(state.q), hard.v(state.v), hard.v(tau)
        apart = _apart(model, hard, soft)
        soft.set(state.q, state.v)
        kernel, calls = model.kernel("forward_dynamics"), max(1, CALLS * 10 // count)
        few = max(1, calls // 40)
        actions = {
            "compiled": partial(CompiledLoop(kernel, state.q, state.v, tau), calls),
            "python": _called(partial(model.forward_dynamics, state.q, state.v, check=False), few),
            "pin.constraintDynamics": _called(partial(hard.solve, q, v, none), few),
            "pin.lcaba": _called(partial(hard.lcaba, q, v, none), few),
            "mj_forward": _called(soft.solve, few),
        }
        spent = {key: x / (calls if key == "compiled" else few) * 1e6 for key, x in interleaved(actions).items()}
        others = [key for key in actions if key not in ("compiled", "python")]
        best = min(others, key=lambda key: spent[key])
        told = ", ".join(f"{key} {spent[key]:.0f} us" for key in others)
        operations = f"{model.counts.total} operations"
        rows.append(Row(f"{count} four-bars, forward dynamics, {operations}", f"{spent['compiled']:.2f} us; {told}"))
        ratio = spent[best] / spent["compiled"]
        wanted = f"at least {WANTED} x", ratio >= WANTED
        rows.append(Row(f"  in a compiled loop, against {best} from Python", f"{ratio:.1f} x", *wanted))
        rows.append(Row(f"  from Python, against {best}", f"{spent[best] / spent['python']:.1f} x"))
        rows.append(Row("  accelerations apart by", ", ".join(f"{key} {x:.0e}" for key, x in apart.items())))
    return rows


def _apart(model: Model, hard: Peer, soft: SoftPeer) -> dict[str, float]:
    """How far others' accelerations are from ours, beside the largest: all solve the same problem. MuJoCo at rest, to
    its stiffness; lcaba loses digits as loops become more."""
    state, tau = parallel_bars(model, ANGLE, RATE), np.zeros(model.nv)
    given = hard.q(state.q), hard.v(state.v), hard.v(tau)
    moving, resting = (model.forward_dynamics(state.q, v) for v in (state.v, tau))
    soft.set(state.q, tau)
    soft.solve()
    found = {
        "pin.constraintDynamics": (hard.solve(*given), hard.v(moving)),
        "pin.lcaba": (hard.lcaba(*given), hard.v(moving)),
        "mj_forward": (soft.accelerations(), resting),
    }
    apart = {name: float(np.abs(x - y).max() / np.abs(y).max()) for name, (x, y) in found.items()}
    assert apart["pin.constraintDynamics"] < 1e-9, apart
    assert max(apart.values()) < 1e-2, apart
    return apart


def _called(action: Callable[[], object], count: int) -> Callable[[], list]:
    return lambda: [action() for _ in range(count)]


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


SECTIONS = (evaluations, compiling)
