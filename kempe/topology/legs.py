"""Legs: a mechanism as a platform on serial legs with one actuated freedom each; or the reason why it is not one.

Problem. Paper 1 walks each leg from the ground to the platform, wherever the tree was cut and whatever the order of a
joint's markers.

Must. Every body lies on one leg or is the platform; welded bodies count as one. A single loop with one actuated freedom
is a leg that ends on the ground; with two, the body in its middle is the platform. Everything else is refused with a
message that names the joints and the formulation to use instead.

Discussion. One leg is whole in the tree and carries the platform; each of the others is closed by one joint. The part
before that joint hangs on the ground (`near`), the part behind it on the platform (`far`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx

from kempe.errors import MechanismError
from kempe.mechanism.joints import Fixed

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.topology.tree import Topology

INSTEAD = "give formulation='partition', which takes any loops"


@dataclass(frozen=True)
class Leg:
    """A serial chain from the ground to the platform.

    joints: names in order from the ground. near, far: numbers of the tree's joints before and behind the closing joint,
    both starting from the ground. closing: number of the closing joint among those of the loops; None if the leg is
    whole in the tree. to_platform: whether its marker b is on the platform's side. driven: the actuated velocity.
    """

    joints: tuple[str, ...]
    near: tuple[int, ...]
    far: tuple[int, ...]
    closing: int | None
    to_platform: bool
    driven: int

    @property
    def name(self) -> str:
        """The names of its joints, in order."""
        return " - ".join(self.joints)


@dataclass(frozen=True)
class Legs:
    """All legs, in the order of their actuated velocities; platform: number of its joint in the tree, -1 for the
    ground.
    """

    platform: int
    legs: tuple[Leg, ...]


def legs(topology: "Topology") -> Legs:
    """The legs of a mechanism; raises if it is not a platform on legs."""
    if topology.couplings:
        named = ", ".join(each.coupling.name for each in topology.couplings)
        raise MechanismError(
            f"{topology.mechanism.name!r} has couplings ({named}), and denoc is for legs that move by themselves"
        )
    graph, group = _rigid(topology)
    ground = group[topology.mechanism.ground]
    platform = _platform(topology, graph, ground)
    root = -1 if platform == ground else next(k for k, t in enumerate(topology.tree) if group[t.child] == platform)
    while root >= 0 and group[topology.tree[root].parent] == platform:
        root = topology.parents[root]
    whole = topology.chain(root)
    found = [_leg(topology, whole, (), None, True)] if root >= 0 else []
    for number, loop in enumerate(topology.loops):
        a, b = (topology.chain(topology.parent_of[marker.body]) for marker in (loop.joint.a, loop.joint.b))
        far_is_b = root < 0 or root in b
        near, far = (a, b) if far_is_b else (b, a)
        behind = far[far.index(root) + 1 :] if root >= 0 else far
        found.append(_leg(topology, near, behind[::-1], number, far_is_b))
    return Legs(root, tuple(sorted(found, key=lambda leg: leg.driven)))


def _leg(topology: "Topology", near: tuple[int, ...], far: tuple[int, ...], closing: int | None, last: bool) -> Leg:
    between = [] if closing is None else [topology.loops[closing].joint]
    joints = [*(topology.tree[k].joint for k in near), *between, *(topology.tree[k].joint for k in far)]
    names = tuple(joint.name for joint in joints)
    driven = [
        topology.tree[k].v.start + i
        for k in (*near, *far)
        for i, actuated in enumerate(topology.tree[k].joint.actuated)
        if actuated
    ]
    if len(driven) != 1:
        words = "no actuated freedom" if not driven else f"{len(driven)} actuated freedoms"
        raise MechanismError(
            f"denoc: leg {' - '.join(names)} of {topology.mechanism.name!r} has {words}, and denoc takes one in each "
            f"leg; {INSTEAD}"
        )
    return Leg(names, near, far, closing, last, driven[0])


def _platform(topology: "Topology", graph: nx.MultiGraph, ground: int) -> int:
    """The group of bodies on which all legs end; raises if there is none."""
    name = topology.mechanism.name
    moving = [node for node in graph if node != ground]
    ends = [node for node in moving if graph.degree(node) == 1]
    if ends:
        (joint,) = (data["joint"].name for _, _, data in graph.edges(ends[0], data=True))
        raise MechanismError(
            f"denoc: {_bodies(graph, ends[0])} hangs on {joint!r} alone, beside the loops of {name!r}; {INSTEAD}"
        )
    for _, _, data in nx.selfloop_edges(graph, data=True):
        raise MechanismError(f"denoc: {data['joint'].name!r} of {name!r} joins bodies that are welded; {INSTEAD}")
    forks = [node for node in moving if graph.degree(node) > 2]
    if len(forks) > 1:
        listed = ", ".join(_bodies(graph, node) for node in forks)
        raise MechanismError(
            f"denoc: more than one body of {name!r} carries three joints or more ({listed}): there are loops inside a "
            f"leg, or several platforms; {INSTEAD}"
        )
    apart = list(nx.connected_components(nx.Graph(graph.subgraph(moving))))
    if forks:
        platform = forks[0]
        for part in nx.connected_components(nx.Graph(graph.subgraph(set(moving) - {platform}))):
            ways = {n for node in part for n in graph.neighbors(node)} - part
            if ways != {ground, platform}:
                listed = ", ".join(_bodies(graph, node) for node in sorted(part))
                raise MechanismError(
                    f"denoc: {listed} of {name!r} lie on a loop of their own, not on a leg from the ground to "
                    f"{_bodies(graph, platform)}; {INSTEAD}"
                )
        return platform
    if len(apart) > 1 or graph.degree(ground) > 2:
        raise MechanismError(f"denoc: {name!r} has several loops that share the ground only; {INSTEAD}")
    return _middle(topology, graph, ground)


def _middle(topology: "Topology", graph: nx.MultiGraph, ground: int) -> int:
    """For a single loop: the ground with one actuated freedom, the body in the middle with two."""
    joints = _around(graph, ground)
    driven = [sum(joint.actuated) for joint, _ in joints]
    if sum(driven) == 1:
        return ground
    if sum(driven) != 2 or max(driven) > 1:
        words = f"{sum(driven)} actuated freedoms" if sum(driven) else "no actuated freedom"
        raise MechanismError(
            f"denoc: the loop {' - '.join(joint.name for joint, _ in joints)} has {words}, and denoc takes one for "
            f"each leg: one, or two with a platform between them; {INSTEAD}"
        )
    first, last = (k for k, count in enumerate(driven) if count)
    freedoms = [len(joint.type.v_names) for joint, _ in joints]
    return min((abs(sum(freedoms[: k + 1]) - sum(freedoms[k + 1 :])), joints[k][1]) for k in range(first, last))[1]


def _around(graph: nx.MultiGraph, ground: int) -> list[tuple["Joint", int]]:
    """The joints of a single loop in order, each with the group it leads to."""
    found: list[tuple[Joint, int]] = []
    at, seen = ground, set()
    while at != ground or not found:
        edges = [(data["joint"], other) for _, other, data in graph.edges(at, data=True) if data["joint"] not in seen]
        joint, at = edges[0]
        seen.add(joint)
        found.append((joint, at))
    return found


def _rigid(topology: "Topology") -> tuple[nx.MultiGraph, dict]:
    """The graph of groups of welded bodies, connected by the moving joints; and the group of every body."""
    pairs = [(t.parent, t.child, t.joint) for t in topology.tree]
    pairs += [(loop.joint.a.body, loop.joint.b.body, loop.joint) for loop in topology.loops]
    written = topology.mechanism.ground, *topology.mechanism.bodies  # the same order for every tree
    bodies = list(dict.fromkeys([*written, *(t.child for t in topology.tree)]))
    joined = nx.utils.UnionFind(bodies)
    for a, b, joint in pairs:
        if joint.type is Fixed:
            joined.union(a, b)
    first: dict = {}
    group = {body: first.setdefault(joined[body], k) for k, body in enumerate(bodies)}
    graph = nx.MultiGraph()
    graph.add_nodes_from(group.values())
    for a, b, joint in pairs:
        if joint.type is not Fixed:
            graph.add_edge(group[a], group[b], joint=joint)
    for node in graph:
        graph.nodes[node]["bodies"] = dict.fromkeys(body.name for body in bodies if group[body] == node)
    return graph, group


def _bodies(graph: nx.MultiGraph, node: int) -> str:
    return " + ".join(graph.nodes[node]["bodies"])
