"""Parallel: what processors working in parallel could gain (paper 5): operations by subsystem, and the longest chain.

Cuts held by springs leave a block diagonal inertia matrix: the accelerations of a subsystem follow from its own
coordinates and the positions of its cut ends. Its program is that part of forward dynamics alone, including the ends of
its neighbours, so that all programs together are slightly more than the whole.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kempe.compiler.count import count
from kempe.compiler.kernel import Kernel
from kempe.compiler.operations import Op
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.errors import StateError
from kempe.kinetics.kinetics import Kinetics

PROCESSORS = range(1, 9)


@dataclass(frozen=True, eq=False)
class Parallel:
    """Operations of one evaluation, by subsystem; of the whole; and of its longest dependency chain, which no number of
    processors can shorten.

    programs: of the subsystems, each from q, v and tau to its own accelerations.
    """

    name: str
    bodies: tuple[tuple[str, ...], ...]
    operations: tuple[int, ...]
    whole: int
    longest: int
    programs: tuple[Program, ...]

    def speed_up(self, processors: int) -> float:
        """Operations on one processor over those on the busiest of `processors`, where subsystems are assigned, the
        largest first, to whichever has the least to do."""
        loads = np.zeros(processors)
        for operations in sorted(self.operations, reverse=True):
            loads[loads.argmin()] += operations
        return max(1.0, self.whole / loads.max())

    def kernels(self) -> list[Kernel]:
        """The programs as native code."""
        return [Kernel(program) for program in self.programs]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.whole} operations, {self.longest} of them in a row"]
        parts = zip(self.bodies, self.operations, strict=True)
        lines += [f"  {number} ({', '.join(names)}): {own}" for number, (names, own) in enumerate(parts, 1)]
        gains = ", ".join(f"{n}: {self.speed_up(n):.2f}" for n in PROCESSORS)
        return "\n".join([*lines, f"  speed-up at most, by processors: {gains}"])


def parallel(model: Kinetics) -> Parallel:
    """See `Model.parallel_speedup`."""
    if model.topology.constrained:
        raise StateError(
            f"parallel: the loops of {model.mechanism.name!r} are closed by equations, which its subsystems share; "
            "compile it with formulation='springs', by which they move by themselves"
        )
    function = model.casadi("forward_dynamics")
    symbols = [ca.SX.sym(n, *function.size_in(n)) for n in function.name_in()]
    vdot, parts, programs = function(*symbols), model.topology.subsystems, []
    for number, part in enumerate(parts, 1):
        own = ca.Function(f"part{number}", symbols, [vdot[list(part.velocities)]], function.name_in(), ["vdot"])
        programs.append(trace(own))
    whole = model.program("forward_dynamics")
    return Parallel(
        model.mechanism.name,
        tuple(part.bodies for part in parts),
        tuple(count(program).total for program in programs),
        count(whole).total,
        _longest(whole),
        tuple(programs),
    )


def _longest(program: Program) -> int:
    """The longest chain of operations that each use the result of the one before."""
    depth = np.zeros(program.workspace, dtype=int)
    for call in program.calls:
        block = program.blocks[call.block]
        for reads, writes in zip(call.reads, call.writes, strict=True):
            own = [*depth[reads].tolist()]
            for op, *arguments in block.code.tolist():
                if op == Op.CONST:
                    own.append(0)
                else:
                    own.append(1 + max((own[a] for a in arguments if a >= 0), default=0))
            depth[writes] = [own[k] for k in block.outputs.tolist()]
    return int(max((depth[slots].max(initial=0) for slots in program.sources), default=0))
