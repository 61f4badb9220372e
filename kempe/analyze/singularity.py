"""Singularity: how close a closed state is to losing control of its motion, or motion itself.

Three matrices can lose rank (C. Gosselin and J. Angeles, Singularity analysis of closed-loop kinematic chains, 1990).
With J the Jacobian of the closures on all velocities:

    J alone           constraint: the mechanism gains a freedom there
    J and actuators   parallel, type II: something moves although all actuators are held
    J and the output  serial, type I: actuators move although the output is held, so it has lost a direction

A measure is the least singular value that should not vanish over the largest, lengths divided by the mechanism's size:
0 at a singular pose. Accelerations are refused where J alone is singular by this measure. On a branch with more
freedoms than others, fewer values should not vanish.
"""

from dataclasses import dataclass

import numpy as np

from kempe.errors import StateError
from kempe.kinetics.closed import SINGULAR
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.freedom import freedom_beside
from kempe.mechanism.bodies import Body, Marker

PART = 0.1  # of the largest entry: joints that take part in a motion


@dataclass(frozen=True)
class Measure:
    """One of the three: its value, its condition number, and the joints whose motion is gained or idle in the critical
    direction."""

    value: float
    joints: tuple[str, ...]

    @property
    def condition(self) -> float:
        """Largest over least singular value."""
        return 1 / self.value if self.value > 0 else np.inf

    @property
    def singular(self) -> bool:
        """Whether it vanishes up to rounding."""
        return self.value < SINGULAR


@dataclass(frozen=True)
class Singularity:
    """The measures at a state; parallel is None without enough actuators, serial without an output."""

    constraint: Measure
    parallel: Measure | None
    serial: Measure | None

    def __str__(self) -> str:
        words = {
            "constraint": "gains a freedom",
            "parallel": "moves although all actuators are held",
            "serial": "the output has lost a direction: these move while it rests",
        }
        lines = []
        for name, text in words.items():
            measure = getattr(self, name)
            if measure is not None:
                near = f"; {text}: {', '.join(measure.joints)}" if measure.singular else ""
                lines.append(f"{name:<11} {measure.value:.3g} (condition {measure.condition:.3g}){near}")
        return "\n".join(lines)


def singularity(model: Kinetics, q: np.ndarray, output: str | Marker | Body | None) -> Singularity:
    """See `Model.singularity`."""
    scale = model.equations.steps
    jacobian = model.closure(q)[1] * scale
    freedom = freedom_beside(model, q) if model.topology.constrained else model.nv
    rank = model.nv - freedom
    parallel = serial = None
    if model.nu >= freedom:
        held = np.eye(model.nv)[model.driven]
        parallel = _measure(model, np.vstack([jacobian, held]), model.nv)
    if output is not None:
        rows = _output(model, q, output) * scale
        directions = min(freedom, np.linalg.matrix_rank(rows) if len(rows) else 0)
        serial = _measure(model, np.vstack([jacobian, rows]), rank + directions)
    return Singularity(_measure(model, jacobian, rank), parallel, serial)


def _output(model: Kinetics, q: np.ndarray, output) -> np.ndarray:
    """The output's velocity per v: rates of a joint, or the twist of a point, lengths over the size."""
    if isinstance(output, str):
        if output in model.cut:
            return model.loop_matrix(q)[model.cut[output][1]]
        if output in model.slices("v"):
            return np.eye(model.nv)[model.slices("v")[output]]
        if output.partition(".")[0] not in [body.name for body in model.mechanism.bodies]:
            raise StateError(f"singularity: output {output!r} is no joint, body or marker of {model.mechanism.name!r}")
    rows = model.jacobian(output, q)
    return np.vstack([rows[:3], rows[3:] / model.equations.closure_size])


def _measure(model: Kinetics, matrix: np.ndarray, rank: int) -> Measure:
    """The singular value that vanishes if a matrix of this rank loses it."""
    if rank == 0 or not matrix.size:
        return Measure(1.0, ())
    _, sizes, right = np.linalg.svd(matrix)
    least = sizes[rank - 1] if rank <= len(sizes) else 0.0
    motion = np.abs(right[rank - 1])
    names = [t.joint.name for t in model.topology.tree if motion[t.v].max(initial=0.0) > PART * motion.max()]
    return Measure(float(least / sizes[0]), tuple(names))
