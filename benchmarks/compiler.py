"""The compiler measured: compile times, the cost of a call, batches against single states."""

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial

import casadi as ca
import numpy as np

from benchmarks.programs import SHAPES, body_step, chain_wrenches, repeated_chain, straight_chain
from benchmarks.rows import Row
from benchmarks.timing import CompiledBatch, interleaved, once
from kempe.compiler.clock import CompiledLoop
from kempe.compiler.count import count
from kempe.compiler.kernel import Kernel
from kempe.compiler.trace import trace
from kempe.gallery.loops import four_bar

STATES = 1024


@contextmanager
def fresh_cache():
    """A cache in which nothing is compiled yet."""
    before = os.environ.get("KEMPE_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="kempe-bench-") as folder:
        os.environ["KEMPE_CACHE_DIR"] = folder
        yield
        if before is None:
            del os.environ["KEMPE_CACHE_DIR"]
        else:
            os.environ["KEMPE_CACHE_DIR"] = before


def _best(action: Callable[[], float], repeat: int = 5) -> float:
    return min(action() for _ in range(repeat))


def imports() -> list[Row]:
    def seconds(code: str) -> float:
        return _best(lambda: once(lambda: subprocess.run([sys.executable, "-c", code], check=True))[0])

    spent = seconds("import kempe") - seconds("pass")
    return [Row("import kempe", f"{spent * 1e3:.0f} ms", "under 500 ms", spent < 0.5)]


def compile_times() -> list[Row]:
    Kernel(straight_chain(1))  # LLVM and the gate are set up
    bodies = next(n for n in range(5, 50) if count(straight_chain(n)).total >= 3000)
    traced, program = once(lambda: straight_chain(bodies))
    operations = count(program).total
    rows = [Row(f"tracing {operations} operations", f"{traced * 1e3:.0f} ms")]
    with fresh_cache():
        cold, kernel = once(lambda: Kernel(program))
        del kernel

        def from_cache() -> float:
            again = straight_chain(bodies)  # a new object: its hash is computed anew, as in a new process
            return once(lambda: Kernel(again))[0]

        warm = _best(from_cache)
        batch, _ = once(lambda: Kernel(program).batch_address)
    rows += [
        Row(f"compiling {operations} operations, cold", f"{cold * 1e3:.0f} ms", "under 500 ms", cold < 0.5),
        Row("  the same from the cache", f"{warm * 1e3:.1f} ms", "under 20 ms", warm < 0.020),
        Row("  the batch code of the same, cold", f"{batch * 1e3:.0f} ms"),
    ]
    with fresh_cache():
        step = count(trace(body_step, SHAPES)).total
        composed, chain = once(lambda: repeated_chain(1000))
        blocks, _ = once(lambda: Kernel(chain))
        straight = straight_chain(100)
        hundred, kernel = once(lambda: Kernel(straight))
    rows += [
        Row(f"composing 1000 blocks of {step} operations", f"{composed * 1e3:.0f} ms"),
        Row("  compiling them, cold", f"{blocks:.2f} s", "under 3 s", blocks < 3),
        Row(f"  100 of them as one block, cut in {len(kernel.prepared.calls)}", f"{hundred:.2f} s"),
    ]
    return rows


def calls() -> list[Row]:
    kernel = Kernel(trace(lambda q, v, tau: q * v + tau, {"q": 6, "v": 6, "tau": 6}))
    q, v, tau = np.random.default_rng(0).normal(size=(3, 6))
    out = np.empty(6)
    foreign = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(kernel.address)

    def by_ctypes():
        inputs = (ctypes.c_void_p * 3)(q.ctypes.data, v.ctypes.data, tau.ctypes.data)
        outputs = (ctypes.c_void_p * 1)(out.ctypes.data)
        foreign(inputs, outputs, None)

    many = range(2000)
    spent = interleaved(
        {
            "call": lambda: [kernel(q, v, tau) for _ in many],
            "prepared": lambda: [kernel(q, v, tau, out=out) for _ in many],
            "ctypes": lambda: [by_ctypes() for _ in many],
        }
    )
    each = {name: seconds / len(many) * 1e6 for name, seconds in spent.items()}
    return [
        Row("one call with checks, three vectors", f"{each['call']:.2f} us", "under 1.5 us", each["call"] < 1.5),
        Row("  into a prepared output", f"{each['prepared']:.2f} us"),
        Row("  by ctypes, without checks", f"{each['ctypes']:.2f} us"),
    ]


def batches() -> list[Row]:
    rows = []
    rng = np.random.default_rng(0)
    linkage = four_bar().compile()
    for name, program, function in (
        ("four-bar", linkage.program("forward_dynamics"), linkage.casadi("forward_dynamics")),
        ("chain of 6", straight_chain(6), _chain_function(6)),
        ("chain of 20", straight_chain(20), _chain_function(20)),
    ):
        kernel = Kernel(program)
        states = [rng.uniform(-1, 1, (STATES, *port.shape)) for port in program.inputs]
        results = [np.empty((STATES, *port.shape)) for port in program.outputs]
        out = tuple(results) if len(results) > 1 else results[0]
        loop = CompiledLoop(kernel, *(np.ascontiguousarray(x[0]) for x in states))
        ours = {
            "one": partial(loop, STATES),
            "batch": CompiledBatch(kernel, states, results),
            "python": partial(kernel, *states, out=out),
        }
        spent = interleaved(ours, repeat=101)
        one, batch, python = (spent[key] / STATES for key in ours)
        casadi = interleaved({"casadi": _casadi(function, states)})["casadi"] / STATES
        rows += [
            Row(f"{name}, {count(program).total} operations, one state", f"{one * 1e9:.0f} ns"),
            Row("  a batch, per state, one core", f"{batch * 1e9:.1f} ns"),
            Row(f"  called from Python with {STATES} states", f"{python * 1e9:.1f} ns"),
            Row("  batch against one state", f"{one / batch:.1f} x", "at least 4 x", one / batch >= 4),
            Row("  batch from Python against CasADi's map", f"{casadi / python:.0f} x"),
        ]
    return rows


def _casadi(function: ca.Function, states) -> Callable[[], object]:
    """The same program's source evaluated by CasADi over all states."""
    columns = [ca.DM(x.T) for x in states]
    mapped = function.map(len(states[0]))
    return lambda: mapped(*columns)


def _chain_function(bodies: int) -> ca.Function:
    symbols = [ca.SX.sym(name, bodies) for name in "qva"]
    return ca.Function("chain", symbols, list(chain_wrenches(bodies, *symbols).values()), {"cse": True})


SECTIONS = (imports, compile_times, calls, batches)
