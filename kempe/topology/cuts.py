"""Cuts: which joints may be cut at all, and which to cut for subsystems that are small, or solved one by one.

Problem. Where loops are cut decides what hangs together: which blocks there are, how large, and how many subsystems
inverse dynamics has to solve at once.

Must. No more closure equations than the tree of least cost has: a joint is exchanged for one of as many freedoms, on
its own loop, that may be cut. Joints that can be switched off stay cut. What acts along a coordinate must not be cut,
whether it is a number that is not zero or a parameter that is an input, which may become anything.

Discussion. Exchanges are made one at a time, the best of all first, as long as they lead on. For small blocks what
counts is `Subsystems.work`. For subsystems that are solved one by one it is the cubes of what is solved together; and
since it may take two exchanges to make one determinate, what lacks fewer equations leads on already. The best of all
that was met is given; where nothing was gained that is the start.
"""

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from kempe.mechanism.joints import Helical

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.topology.tree import Topology

Measure = Callable[["Topology"], tuple[float, ...]]
ACTING = ("damping", "stiffness", "armature")  # what acts along a freedom unless it is zero; a rest needs a stiffness


def stays(joint: "Joint", inputs: Collection[str] = ()) -> str | None:
    """Why a joint must stay in the tree, or None; `inputs` are the paths of parameters that are kept as inputs."""
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
    """What blocks cost."""
    return (topology.subsystems.work,)


def together(topology: "Topology") -> tuple[float, ...]:
    """What is solved together, by cubes; among equals, what blocks cost."""
    return sum(step.equations**3 for step in topology.subsystems.steps), topology.subsystems.work


def nearly(topology: "Topology") -> tuple[float, ...]:
    """The same, with the equations between that the subsystem lacks which comes nearest to being determinate."""
    parts = topology.subsystems
    lacking = (parts.unknowns(part.number) - len(part.velocities) for part in parts)
    cubes, cost = together(topology)
    return cubes, min((count for count in lacking if count > 0), default=0), cost


def improved(
    start: "Topology", gain: Measure, lead: Measure, cut: Callable[[tuple[str, ...]], "Topology"]
) -> tuple[str, ...]:
    """The joints to cut, from those that `start` cuts on; `cut` gives the topology for others."""
    best = here = start
    while True:
        ahead = min((cut(names) for names in _exchanged(here)), key=lead, default=here)
        if lead(ahead) >= lead(here):
            return _closing(best)
        here = ahead
        best = min(best, here, key=gain)


def _closing(topology: "Topology") -> tuple[str, ...]:
    """Joints that are cut, without the welds of bodies that are."""
    known = {joint.name for joint in topology.mechanism.joints}
    return tuple(loop.joint.name for loop in topology.loops if loop.joint.name in known)


def _exchanged(topology: "Topology") -> Iterator[tuple[str, ...]]:
    """All that one exchange leads to."""
    joints, closing = {joint.name: joint for joint in topology.mechanism.joints}, _closing(topology)
    for loop in topology.loops:
        if loop.joint.switchable:
            continue
        freedoms = len(loop.joint.type.v_names)
        for name in loop.around if loop.joint.name in closing else ():
            joint = joints[name]
            if name not in closing and len(joint.type.v_names) == freedoms and stays(joint, topology.inputs) is None:
                yield tuple(name if old == loop.joint.name else old for old in closing)
