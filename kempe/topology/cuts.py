"""Cuts: which joints can be cut, and which to cut for small subsystems, or for subsystems solved one by one.

Problem. The cuts decide how the tree falls apart: which blocks there are, how large they are, and how many subsystems
inverse dynamics has to solve together.

Must. No more closure equations than the tree of least cost has: a cut joint is exchanged for one on its own loop with
as many freedoms that may be cut. Joints that can be switched off stay cut. A joint whose coordinate carries a nonzero
parameter, or one kept as an input (which may take any value), must not be cut.

Discussion. Exchanges are made one at a time, the best one first, as long as the measure improves. For small blocks the
measure is `Subsystems.work`. For subsystems solved one by one it is the sum of cubes of the sizes solved together; two
exchanges may be needed to make a subsystem determinate, so the search is also led by how many equations a subsystem
lacks. The result is the best choice met, which is the start if nothing improved.
"""

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from kempe.mechanism.joints import Helical

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.topology.tree import Topology

Measure = Callable[["Topology"], tuple[float, ...]]
ACTING = ("damping", "stiffness", "armature")  # act along a freedom unless zero; a rest needs a stiffness


def stays(joint: "Joint", inputs: Collection[str] = ()) -> str | None:
    """Why a joint must stay in the tree, or None; `inputs` are the paths of parameters kept as inputs."""
    coupled = joint.a.body.mechanism.couplings
    kept = [path for quantity in ACTING for path in joint.paths(quantity) if path in inputs]
    reasons = (
        ("is a screw", joint.type is Helical),
        ("is actuated", any(joint.actuated)),
        ("has armature", any(joint.armature)),
        ("has stiffness", any(joint.stiffness)),
        ("has damping", any(joint.damping)),
        ("has limits", any(limit is not None for limit in joint.limits)),
        ("is coupled", any(term.joint is joint for each in coupled for term in each.terms)),
        (f"has {', '.join(kept)} as input", bool(kept)),
    )
    return next((words for words, holds in reasons if holds), None)


def work(topology: "Topology") -> tuple[float, ...]:
    """The cost of the blocks."""
    return (topology.subsystems.work,)


def together(topology: "Topology") -> tuple[float, ...]:
    """The sizes solved together, cubed and summed; among equals, the cost of the blocks."""
    return sum(step.equations**3 for step in topology.subsystems.steps), topology.subsystems.work


def nearly(topology: "Topology") -> tuple[float, ...]:
    """The same, but the cost comes after how many equations the subsystem closest to determinate lacks."""
    parts = topology.subsystems
    lacking = (parts.unknowns(part.number) - len(part.velocities) for part in parts)
    cubes, cost = together(topology)
    return cubes, min((count for count in lacking if count > 0), default=0), cost


def improved(
    start: "Topology", gain: Measure, lead: Measure, cut: Callable[[tuple[str, ...]], "Topology"]
) -> tuple[str, ...]:
    """The joints to cut, starting from the cuts of `start`; `cut` returns the topology for other cuts."""
    best = here = start
    while True:
        ahead = min((cut(names) for names in _exchanged(here)), key=lead, default=here)
        if lead(ahead) >= lead(here):
            return _closing(best)
        here = ahead
        best = min(best, here, key=gain)


def _closing(topology: "Topology") -> tuple[str, ...]:
    """Joints that are cut, without the welds of bodies cut in two."""
    known = {joint.name for joint in topology.mechanism.joints}
    return tuple(loop.joint.name for loop in topology.loops if loop.joint.name in known)


def _exchanged(topology: "Topology") -> Iterator[tuple[str, ...]]:
    """All choices that one exchange leads to."""
    joints, closing = {joint.name: joint for joint in topology.mechanism.joints}, _closing(topology)
    for loop in topology.loops:
        if loop.joint.switchable:
            continue
        freedoms = len(loop.joint.type.v_names)
        for name in loop.around if loop.joint.name in closing else ():
            joint = joints[name]
            if name not in closing and len(joint.type.v_names) == freedoms and stays(joint, topology.inputs) is None:
                yield tuple(name if old == loop.joint.name else old for old in closing)
