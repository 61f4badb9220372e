"""Clusters: joints of the tree that loops tie together, and the tree of what is left.

Problem. Where a loop is closed, its joints do not move one by one. A recursion from body to body that shall never see a
multiplier must take all of them at once, and only them.

Must. Joints on one loop, or between joints that are coupled, are in one cluster, and so are those of loops that share a
joint, and of loops that share one with these. A joint on no loop is a cluster of its own. Every cluster hangs on one
link, of another cluster or the ground.

Discussion. The last holds by itself. A loop's joints hang on each other, and at last on the link where its two sides
meet, which is not moved by them. Two loops that share a joint meet at two links above it, one of which is above the
other, or the same; the lower one lies between the joint and the upper one, so it is on the upper one's loop. However
many loops there are, all but one of the links they meet at belong to the cluster.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from kempe.topology.tree import LoopJoint, Topology, TreeCoupling


@dataclass(frozen=True)
class Cluster:
    """Joints that move together, by their numbers, parents first; root: the link they hang on, -1 the ground.

    closed: whether loops tie them together; else it is one joint.
    """

    joints: tuple[int, ...]
    root: int
    closed: bool


def clusters(topology: "Topology") -> tuple[Cluster, ...]:
    """Of a tree with its loops, each after the one it hangs on."""
    tied = nx.utils.UnionFind(range(len(topology.tree)))
    closed: set[int] = set()
    on_loops = [_around(topology, loop) for loop in topology.loops]
    for on_loop in (*on_loops, *(_between(topology, each) for each in topology.couplings)):
        closed |= on_loop
        tied.union(*on_loop)
    parts = sorted(sorted(part) for part in tied.to_sets())
    return tuple(Cluster(tuple(part), topology.parents[part[0]], part[0] in closed) for part in parts)


def _around(topology: "Topology", loop: "LoopJoint") -> set[int]:
    sides = (set(topology.chain(topology.parent_of[marker.body])) for marker in (loop.joint.a, loop.joint.b))
    return set.symmetric_difference(*sides)


def _between(topology: "Topology", each: "TreeCoupling") -> set[int]:
    """Joints that are coupled, and those that lie between them: a cluster hangs on one link."""
    above = (set(topology.chain(topology.parents[k])) for k in each.joints)
    return {k for joint in each.joints for k in topology.chain(joint)} - set.intersection(*above)
