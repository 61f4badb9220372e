"""Springs that hold cuts (paper 5): their stiffness and damping."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import MechanismError
from kempe.loops.freedom import samples_of
from kempe.topology.paths import spring_paths

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics
    from kempe.topology.tree import Topology

GAP = 1e-5  # of the mechanism's size: how far its own weight opens a cut, by default
RATIO = 0.7  # of critical damping, by default
IMMOBILE = 1e-9  # relative mobility below which a cut cannot open in a direction


def held_by_springs(mechanics: "Mechanics", stiffness=None, damping=None, damping_ratio=None) -> "Topology":
    """The topology of a closed mechanism with springs in place of its loops.

    stiffness [N/m]: by default such that the mechanism's weight opens a cut by 1e-5 of its size. damping [N s/m], or
    damping_ratio: to critical damping of the mass that moves at a cut, at an assembled state; 0.7 by default.
    """
    found, size = mechanics.topology, float(mechanics.equations.closure_size)
    if damping is not None and damping_ratio is not None:
        raise MechanismError("springs: give damping or damping_ratio, not both")
    names = [name for name, _ in found.row_counts]
    mass = sum(float(link.inertia.mass) for link in mechanics.equations.constant_tree.links)
    usual = mass * (float(np.linalg.norm(mechanics.equations.constant_tree.gravity)) or 9.81) / (GAP * size)
    k = _by_joint("stiffness", usual if stiffness is None else stiffness, names)
    if damping is None:
        ratios = _by_joint("damping_ratio", RATIO if damping_ratio is None else damping_ratio, names)
        moving = masses(mechanics) if any(ratios.values()) else dict.fromkeys(names, 0.0)
        b = {name: 2.0 * ratios[name] * np.sqrt(k[name] * moving[name]) for name in names}
    else:
        b = _by_joint("damping", damping, names)
    numbers = []
    for part in (*(loop.joint for loop in found.loops), *(each.coupling for each in found.couplings)):
        values = k[part.name], float(b[part.name]), size
        numbers += zip(spring_paths(part), values, strict=True)
    held = {"held": found.loops, "sprung": found.couplings, "springs": tuple(numbers)}
    return replace(found, loops=(), couplings=(), **held)


def _by_joint(what: str, given: Any, names: list[str]) -> dict[str, float]:
    values: Mapping[str, Any] = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    found = {}
    for name in values:
        if name not in names:
            raise MechanismError(f"{what}: {name!r} is not cut; cut are {', '.join(names)}")
    for name in names:
        if name not in values:
            raise MechanismError(f"{what}: nothing is given for {name!r}, which is cut too")
        value = float(values[name])  # type: ignore[arg-type]
        if not np.isfinite(value) or value < 0 or (what == "stiffness" and value == 0):
            raise MechanismError(f"{what} of {name!r} is {value}; it takes a positive number")
        found[name] = value
    return found


def masses(mechanics: "Mechanics") -> dict[str, float]:
    """The mass that moves as each cut or coupling opens, in its heaviest direction [kg], at an assembled state."""
    q = samples_of(mechanics).states[0]
    rows, size, found, at = mechanics.loop_rows(q), float(mechanics.equations.closure_size), {}, 0
    lengths = [k for k, each in enumerate(mechanics.topology.couplings, -len(mechanics.topology.couplings))
               if each.coupling.unit == "m"]  # fmt: skip
    rows[lengths] /= size  # as for positions
    mobility = rows @ np.linalg.solve(mechanics.mass_matrix(q), rows.T) * size**2  # angular rows are scaled too
    for name, count in mechanics.topology.row_counts:
        own = np.linalg.eigvalsh(mobility[at : at + count, at : at + count])
        at += count
        found[name] = 1.0 / own[own > IMMOBILE * own.max(initial=0.0)].min(initial=np.inf)
    return found
