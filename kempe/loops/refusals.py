"""Refusals: which loop stays open, by how much, and which of the given values is out of reach."""

from typing import TYPE_CHECKING

import numpy as np

from kempe.loops.asked import unwound
from kempe.loops.descent import CLOSED, Task, solve
from kempe.loops.starts import beside
from kempe.mechanics.state import State

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics


def why_not(mechanics: "Mechanics", task: Task, q: np.ndarray) -> str:
    """The reason in words, from the state with the smallest gap."""
    phi, start, parts = mechanics.closure(q)[0] * mechanics.equations.closure_size, 0, []
    for loop in mechanics.topology.loops:
        rows = loop.joint.rows
        gap = float(np.abs(phi[start : start + rows]).max(initial=0.0))
        if gap > 1e-9:
            parts.append(f"loop {' - '.join(loop.around)} stays open by {gap:.3g} m at {loop.joint.name}")
        start += rows
    size = mechanics.equations.closure_size  # the residual of a coupling is not divided by it
    for each, left in zip(mechanics.topology.couplings, phi[start:] / size, strict=True):
        if abs(left) > 1e-9:
            parts.append(f"coupling {each.coupling.name} ({each.coupling}) is off by {left * each.coupling.size:.3g}")
    text = "cannot be assembled: " + ("; ".join(parts) or "it closes only the wrong way round")
    if not task.given:
        return text
    freed = Task(q, np.ones(mechanics.nv, dtype=bool), (), ())
    rng = np.random.default_rng(7)
    for size in (0.0, 1e-3, 1e-2, 0.1, 0.3):  # stretched-out loops need a push to the side
        reached, gap = solve(mechanics, freed, beside(mechanics, freed, q, size, rng))
        if gap <= CLOSED:
            break
    else:
        return (
            f"{text}; it closed at no pose that was tried, so look at lengths, and where its joints are on its bodies"
        )
    state = State(mechanics, unwound(mechanics, reached, task.q), np.zeros(mechanics.nv))
    near = ", ".join(f"{name} = {_shown(state[name])}" for name in task.given)
    return f"{text}; close to what was given it closes with {near}"


def _shown(x) -> str:
    return f"{x:.6g}" if np.ndim(x) == 0 else "(" + ", ".join(f"{each:.6g}" for each in x) + ")"
