"""Plane: whether a mechanism moves in a plane, judged by joint axes alone; and which loops turn in space.

A plane has one normal. Its direction is the same on both sides of a joint, seen in the axes of the joint's markers:
hinges and planar joints turn about it, sliders move across it, welds preserve it. So one hinge determines it for all
bodies; every joint must agree, and beams must bend across it.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from kempe.arithmetic.sums import norm, times
from kempe.mechanism.joints import Fixed, Free, Planar, Prismatic, Revolute, Spherical

if TYPE_CHECKING:
    from kempe.mechanism.bodies import Body
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism
    from kempe.topology.tree import LoopJoint, Topology

CLOSE = 1e-9  # of unit vectors


def in_plane(mechanism: "Mechanism") -> bool:
    """Whether all bodies move parallel to one plane, whatever the lengths."""
    first = next((joint for joint in mechanism.joints if joint.type in (Revolute, Planar)), None)
    if first is None:
        return False
    graph = nx.MultiGraph()
    for joint in mechanism.joints:
        graph.add_edge(joint.a.body, joint.b.body, joint=joint)
    normals = {first.a.body: times(first.a.rotation, _axis(first))}  # in the axes of each body
    for before, after in nx.bfs_edges(graph, first.a.body):
        joint: Joint = graph.edges[before, after, 0]["joint"]
        normals[after] = _other(joint, before, normals[before])
    if len(normals) < 1 + len(mechanism.bodies):  # some bodies are not connected to the others: they float
        return False
    bent = ((body, along) for body in mechanism.bodies if body.beam is not None for along in body.beam.integrals.plane)
    across = all(abs(normals[body][1 + along]) < CLOSE for body, along in bent)
    return across and all(_agrees(joint, normals) for joint in mechanism.joints)


def marked(found: "Topology") -> "tuple[LoopJoint, ...]":
    """The loops, with those marked as carried that hang on a body which can turn out of a common plane: both ends of
    the joint that closes such a loop are carried by that body.
    """
    floats = any(t.joint.type is Free for t in found.tree)  # also where switched joints release a body
    if not found.loops or (in_plane(found.mechanism) and not floats):
        return found.loops
    kinds, out = {joint.name: joint.type for joint in found.mechanism.joints}, []
    for loop in found.loops:
        above_a, above_b = (found.chain(found.parent_of[x.body]) for x in (loop.joint.a, loop.joint.b))
        turns = sum(found.tree[k].joint.type.units.count("rad") for k in above_a if k in above_b)
        # The three equations of a spherical joint are redundant only in a plane; in space, behind one hinge, world axes
        # need fewer operations.
        others = [kinds[name] for name in loop.around if name in kinds and name != loop.joint.name]
        spatial = loop.joint.type is Spherical and any(kind.units.count("rad") > 1 for kind in others)
        out.append(replace(loop, carried=turns > spatial))
    return tuple(out)


def _axis(joint: "Joint") -> np.ndarray:
    length = norm(joint.axes[0])
    return joint.axes[0] / length if length > 0 else joint.axes[0]  # an axis without direction is refused elsewhere


def _other(joint: "Joint", body: "Body", normal: np.ndarray) -> np.ndarray:
    """The normal seen from the other body of a joint, in the axes of that body."""
    near, far = (joint.a, joint.b) if joint.a.body is body else (joint.b, joint.a)
    return times(far.rotation, times(near.rotation.T, normal))


def _agrees(joint: "Joint", normals: dict["Body", np.ndarray]) -> bool:
    if norm(_other(joint, joint.a.body, normals[joint.a.body]) - normals[joint.b.body]) > CLOSE:
        return False
    if joint.type not in (Revolute, Planar, Prismatic):
        return joint.type is Fixed
    along = float(times(times(joint.a.rotation, _axis(joint)), normals[joint.a.body]))
    return abs(along) < CLOSE if joint.type is Prismatic else abs(along) > 1 - CLOSE
