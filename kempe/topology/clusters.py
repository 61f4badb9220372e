"""Clusters: joints of the tree that loops tie together, and the tree that the clusters form.

Problem. The joints of a closed loop do not move one by one. A recursion from body to body without multipliers must
treat all of them at once, and no others.

Must. The joints of one loop, or between coupled joints, are in one cluster; loops that share a joint are in the same
cluster, and this is transitive. A joint on no loop is a cluster of its own. Every cluster hangs on one link, of another
cluster or the ground.

Discussion. The last condition always holds. The joints of a loop are carried by each other, and ultimately by the link
where the two sides of the loop meet, which they do not move. Two loops that share a joint have two such meeting links
above it, one of which is above the other or the same; the lower one lies between the joint and the upper one, so it is
on the loop of the upper one. So of all meeting links of the loops in a cluster, all but one belong to the cluster.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from kempe.topology.tree import LoopJoint, Topology, TreeCoupling


@dataclass(frozen=True)
class Cluster:
    """Joints that move together, by number, parents first; root: the link they hang on, -1 for the ground.

    closed: whether loops tie them together; otherwise the cluster is a single joint.
    """

    joints: tuple[int, ...]
    root: int
    closed: bool


def clusters(topology: "Topology") -> tuple[Cluster, ...]:
    """The clusters of a tree with its loops, each after the one it hangs on."""
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
    """Coupled joints and those between them: a cluster hangs on one link."""
    above = (set(topology.chain(topology.parents[k])) for k in each.joints)
    return {k for joint in each.joints for k in topology.chain(joint)} - set.intersection(*above)
