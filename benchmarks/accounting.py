"""Where the time of compiled programs goes: operations, what the core could do at best, and what it does.

`python -m benchmarks --only accounting` prints it. Of forward dynamics, what the program has of each kind of operation,
a fused one counted once and sines not yet written out; and at one state, and of a batch, a state in every lane:

- instructions of the code that comes of it, those of arithmetic among them, and what goes to the stack and back;
- the chain: what the longest chain of operations takes, each waiting for the one before;
- the pipes: what all arithmetic takes where two pipes multiply and two add, each 256 bits wide;
- moving: what all instructions take, six at a time, or all loads and stores, whichever is more;
- what was measured. A loop begins with the next state before one is done, so that it may take less than the chain.

Latencies and widths are those of AMD's Zen 4 (A. Fog, "Instruction tables", 2023; a square root and a division in the
middle of their ranges). Cycles come from a loop of additions that wait for each other.
"""

import ctypes
import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.compiler import STATES
from benchmarks.rows import Row
from benchmarks.timing import CompiledBatch, interleaved
from kempe.compiler import native
from kempe.compiler.clock import CompiledLoop
from kempe.compiler.count import count
from kempe.compiler.cycles import LATENCY
from kempe.compiler.kernel import Kernel
from kempe.compiler.operations import Op
from kempe.compiler.program import Program
from kempe.compiler.targets import batch, cpu
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.mechanism import Mechanism
from kempe.papers.paper4.counting import general_arm

GALLERY = ("four-bar", "five-bar", "3-rrr", "stewart", "andrews-squeezer", "puma")
ADDS = 3  # cycles of an addition, by which the clock is found
FUSED = (Op.FMA, Op.FMS, Op.FNMA)
KINDS = {
    "multiplications": (Op.MUL,),
    "additions": (Op.ADD, Op.SUB),
    "fused": FUSED,
    "divisions": (Op.DIV,),
    "sines and cosines": (Op.SIN, Op.COS),
}
MULTIPLIED = (Op.MUL, *FUSED)
ADDED = (Op.ADD, Op.SUB, Op.FLOOR, Op.LT, Op.LE, Op.EQ, Op.MIN, Op.MAX)
DIVIDED = {Op.DIV: 5, Op.SQRT: 8}  # cycles until the next one may begin, two lanes at a time
DISPATCHED = 6
RUN = "run"  # the function that a batch calls for a tile of states
ARITHMETIC = re.compile(r"v(add|sub|mul|div|sqrt|fn?m(add|sub)|min|max|and|xor|or|cmp|ucomi|blend|round|rndscale|tern)")


@dataclass(frozen=True)
class Code:
    """Instructions of functions: all, arithmetic, loads, stores, and of those the ones from and to the stack."""

    instructions: int
    arithmetic: int
    loads: int
    stores: int
    reloads: int
    spills: int


def disassembled(text: str, *symbols: str) -> Code:
    """What the host's code for an LLVM module has in these of its functions, all together."""
    listing = native.assembly(text)
    bodies = (listing.split(f"\n{symbol}:", 1)[1].split(".Lfunc_end", 1)[0] for symbol in symbols)
    found: Counter[str] = Counter()
    for line in (line.strip() for body in bodies for line in body.splitlines()):
        said = re.match(r"([a-z][a-z0-9]+)\s*(.*)", line)
        if said is None:
            continue
        name, operands = said[1], re.split(r",\s*(?![^()]*\))", said[2])
        memory = [k for k, operand in enumerate(operands) if "(" in operand]
        on_stack = any("%rsp" in operands[k] for k in memory)
        writes = name.startswith("vmov") and memory == [len(operands) - 1]
        found["all"] += 1
        found["arithmetic"] += ARITHMETIC.match(name) is not None
        if memory and not name.startswith("lea"):
            found["stores" if writes else "loads"] += 1
            found["spills" if writes else "reloads"] += on_stack
    return Code(*(found[key] for key in ("all", "arithmetic", "loads", "stores", "reloads", "spills")))


def operations(program: Program) -> Counter[Op]:
    """How often a program carries out each operation, over all calls."""
    found: Counter[Op] = Counter()
    for call in program.calls:
        for op in program.blocks[call.block].code[:, 0].tolist():
            found[Op(op)] += call.repeat
    return found


def kinds(program: Program) -> dict[str, int]:
    """The same by kind; the rest are square roots, signs, comparisons and choices."""
    each = operations(program)
    found = {kind: sum(each[op] for op in ops) for kind, ops in KINDS.items()}
    return found | {"others": each.total() - each[Op.CONST] - sum(found.values())}


def chain(program: Program) -> int:
    """Cycles of the longest chain of operations of a prepared program."""
    ready = np.zeros(program.workspace, dtype=int)
    for call in program.calls:
        block = program.blocks[call.block]
        for reads, writes in zip(call.reads, call.writes, strict=True):
            values = ready[reads].tolist()
            for op, *operands in block.code.tolist():
                before = (values[a] for a in operands if a >= 0) if op != Op.CONST else ()
                values.append(LATENCY[Op(op)] + max(before, default=0))
            ready[writes] = [values[k] for k in block.outputs.tolist()]
    return int(ready.max())


def pipes(program: Program, lanes: int) -> float:
    """Cycles that all arithmetic of a prepared program takes at best, for all lanes together."""
    each = operations(program)
    passes = max(1.0, lanes / 4)
    busy = [sum(each[op] for op in ops) * passes / 2 for ops in (MULTIPLIED, ADDED)]
    return max(*busy, sum(each[op] * cycles * max(1.0, lanes / 2) for op, cycles in DIVIDED.items()))


def moving(code: Code, lanes: int) -> float:
    """Cycles that instructions take to be dispatched, or loads and stores to be made."""
    wide = 2 if lanes > 4 else 1
    return max(code.instructions / DISPATCHED, code.loads * wide / 2, code.stores * wide)


def clock() -> Callable[[], float]:
    """An action that takes so many additions, one after the other, and says how many."""
    lines = [f"%x{k + 1} = fadd double %x{k}, 1.0" for k in range(100)]
    text = "\n".join(
        [
            "define double @chain(i64 %n) {\nentry:\nbr label %loop\nloop:",
            "%i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            "%x0 = phi double [ 0.0, %entry ], [ %x100, %loop ]",
            *lines,
            "%next = add i64 %i, 1\n%more = icmp slt i64 %next, %n",
            "br i1 %more, label %loop, label %done\ndone:\nret double %x100\n}",
        ]
    )
    code = native.Code(native.object_code(text), ("chain",))
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code.address("chain"))
    return lambda kept=code: function(1000)


def mechanisms() -> dict[str, Mechanism]:
    """By name: the gallery's, and an arm with no special lengths or angles."""
    return {name: ENTRIES[name].build() for name in GALLERY} | {"general arm of 6": general_arm(6)}


def accounts() -> list[Row]:
    """For every program: bounds and measured times."""
    head = "instructions (arithmetic, spills + reloads); at best: chain, pipes, moving; measured; of peak"
    rows = [Row("forward dynamics [ns a state]", head)]
    rng = np.random.default_rng(0)
    for name, mechanism in mechanisms().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the mechanism; they are in `kempe info`
            kernel = Kernel(mechanism.compile().program("forward_dynamics"))
        program, lanes = kernel.prepared, kernel.lanes
        by_kind = ", ".join(f"{number} {kind}" for kind, number in kinds(kernel.program).items())
        rows.append(Row(f"  {name}", f"{count(kernel.program).total} operations: {by_kind}"))
        states = [rng.uniform(-1, 1, (STATES, *port.shape)) for port in program.inputs]
        results = [np.empty((STATES, *port.shape)) for port in program.outputs]
        spent = interleaved(
            {
                "clock": clock(),
                "one": partial(CompiledLoop(kernel, *(x[0] for x in states)), STATES),
                "batch": CompiledBatch(kernel, states, results),
            },
            repeat=51,
        )
        cycle = spent["clock"] / (100_000 * ADDS)
        ways = {
            "one state": (disassembled(cpu.emit(program), cpu.SYMBOL), 1, spent["one"]),
            f"a batch, {lanes} lanes": (
                disassembled(batch.emit(program, lanes), batch.SYMBOL, RUN),
                lanes,
                spent["batch"],
            ),
        }
        for way, (code, wide, seconds) in ways.items():
            took = seconds / STATES * 1e9
            each = {"chain": chain(program), "pipes": pipes(program, wide), "moving": moving(code, wide)}
            best = {key: cycles * cycle * 1e9 / wide for key, cycles in each.items()}
            nearest = min(best, key=lambda key: abs(best[key] - took))
            rows.append(
                Row(
                    f"    {way}",
                    f"{code.instructions} ({code.arithmetic}, {code.spills} + {code.reloads}); "
                    f"{', '.join(f'{x:.1f}' for x in best.values())}; {took:.1f} "
                    f"(nearest: {nearest}); {best['pipes'] / took:.0%}",
                )
            )
    return rows


SECTIONS = (accounts,)
