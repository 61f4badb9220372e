"""Alike: joints in the same position of loops that are made of the same kinds of joints."""

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from kempe.topology.tree import Topology


def alike(topology: "Topology") -> list[int]:
    """For every joint of the tree, the first joint of the tree that is like it; the joint itself if there is no earlier
    one.

    A joint of two loops is like its counterparts in either loop: in a row of four-bars, the hinges of all uprights are
    alike.
    """
    number = {t.joint.name: k for k, t in enumerate(topology.tree)}
    kinds = {t.joint.name: t.joint.type for t in topology.tree}
    groups = nx.utils.UnionFind(range(len(topology.tree)))
    first: dict[tuple, tuple[str, ...]] = {}
    for loop in topology.loops:
        around = tuple(name for name in loop.around if name in number)
        known = first.setdefault((loop.joint.type, *(kinds[name] for name in around)), around)
        for name, other in zip(around, known, strict=True):
            groups.union(number[name], number[other])
    least: dict[int, int] = {}
    for k in range(len(topology.tree)):
        least.setdefault(groups[k], k)
    return [least[groups[k]] for k in range(len(topology.tree))]


def groups(topology: "Topology") -> np.ndarray:
    """For every velocity of the tree the number of its group: the velocities of alike joints, freedom by freedom."""
    found = np.arange(topology.nv)
    for t, first in zip(topology.tree, alike(topology), strict=True):
        found[t.v] = found[topology.tree[first].v]
    return np.unique(found, return_inverse=True)[1]
