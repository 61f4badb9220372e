"""Tree: a mechanism's spanning tree as numbers, ready for recursions from body to body.

Each link has a frame of its own at the joint that carries it, the joint's canonical axes for axes: there the joint's
motion subspace is made of zeros and ones, and products with it cost nothing. Numbers may be symbols, where a
parameter is kept as an input.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kempe.dynamics.springs import HeldCut
from kempe.mechanism.bodies import Marker
from kempe.mechanism.joints import JointKind, Revolute
from kempe.mechanism.loads import Spring, Wrench
from kempe.mechanism.mechanism import PER_FREEDOM, Joint
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Moves, Turn, inverse, relative_pose, shift_of, turns_of
from kempe.spatial.vectors import Scalar, Vector, array, cross, is_symbolic, is_zero
from kempe.topology.tree import Topology, TreeJoint, spring_paths


@dataclass(frozen=True, eq=False)
class Link:
    """A body of the tree and the joint that carries it.

    placement: from the parent's link frame to the joint's frame on the parent.
    offset: a constant turn about z that precedes a hinge's own, added to its angle.
    inertia: at the link frame.
    body: from the link frame to the body's own frame.
    """

    name: str
    kind: JointKind
    reversed: bool
    placement: Moves
    offset: Scalar
    inertia: RigidInertia
    body: Moves
    damping: Vector
    stiffness: Vector
    rest: Vector
    armature: Vector

    def posture(self, q: Vector) -> Vector:
        """What the joint's kinematics need of its coordinates."""
        if is_zero(self.offset):
            return self.kind.posture(q)
        return self.kind.posture(q - self.offset if self.reversed else q + self.offset)

    def moves(self, posture: Vector) -> Moves:
        """From the parent's link frame to this one."""
        own = self.kind.moves(posture)
        return (*self.placement, *(inverse(own) if self.reversed else own))

    def subspace(self, posture: Vector) -> tuple[np.ndarray, np.ndarray]:
        """S in the link's axes: angular and linear velocity relative to the parent, one column per freedom."""
        angular, linear = self.kind.subspace(posture)
        if not self.reversed:
            return angular, linear
        # The child moves against the joint: S' = -Ad S, from b's frame to a's.
        return self._seen_reversed(posture, angular, linear)

    def bias(self, posture: Vector, v: Vector) -> tuple[Vector, Vector]:
        """dS/dt v in the link's axes. Reversed it is -Ad (dS/dt v): the rate of Ad adds S v x S v, which is zero."""
        angular, linear = self.kind.bias(posture, v)
        if not self.reversed:
            return angular, linear
        columns = self._seen_reversed(posture, angular[:, None], linear[:, None])
        return columns[0][:, 0], columns[1][:, 0]

    def _seen_reversed(self, posture: Vector, angular: np.ndarray, linear: np.ndarray):
        rotation, position = relative_pose(self.kind.moves(posture))
        turned, moved = rotation @ angular, rotation @ linear
        lever = [m - cross(w, position) for w, m in zip(turned.T, moved.T, strict=True)]
        return -turned, -(np.stack(lever, axis=1) if lever else moved)


@dataclass(frozen=True, eq=False)
class Tree:
    """All links, parents before children, with the loads on them and the names of everything.

    loads: with the link each of their markers is on; values: of all parameters, symbols where they are inputs.
    """

    topology: Topology
    links: tuple[Link, ...]
    parents: tuple[int, ...]
    gravity: Vector
    loads: tuple["PlacedSpring | PlacedWrench | HeldCut", ...]
    values: Mapping[str, Scalar]

    @property
    def joints(self) -> tuple[TreeJoint, ...]:
        """The joints, in the order of the links."""
        return self.topology.tree

    def place(self, marker: Marker) -> "Place":
        """Where a marker is."""
        number = self.topology.parent_of[marker.body]
        start = self.links[number].body if number >= 0 else ()
        own = (*shift_of(marker.origin(self.values.__getitem__)), *turns_of(marker.rotation))
        return Place(number, _shortest((*start, *own)))

    def joint_place(self, joint: Joint, marker: Marker) -> "Place":
        """Where the joint's frame at one of its markers is."""
        number = self.topology.parent_of[marker.body]
        start = self.links[number].body if number >= 0 else ()
        return Place(number, (*start, *joint.frame(marker, self.values.__getitem__)))


@dataclass(frozen=True)
class Place:
    """A marker on a link (-1: the ground): moves from the link's frame."""

    link: int
    moves: Moves


@dataclass(frozen=True)
class PlacedSpring:
    """A spring between two places."""

    name: str
    a: Place
    b: Place
    stiffness: Scalar
    damping: Scalar
    length: Scalar


@dataclass(frozen=True)
class PlacedWrench:
    """A wrench at a place."""

    name: str
    at: Place
    force: Vector
    moment: Vector
    follows: bool


def build(topology: Topology, parameters: Mapping[str, Scalar] | None = None) -> Tree:
    """The tree with the mechanism's own numbers, or `parameters` (floats or symbols) in place of some."""
    mechanism = topology.mechanism
    values = {**topology.parameters, **(parameters or {})}
    value = values.__getitem__
    frames: list[Moves] = []  # from each body's frame to its link frame
    links = []
    for t, parent in zip(topology.tree, topology.parents, strict=True):
        joint = t.joint
        on_parent, on_child = (joint.b, joint.a) if t.reversed else (joint.a, joint.b)
        start = inverse(frames[parent]) if parent >= 0 else ()
        placement = _shortest((*start, *joint.frame(on_parent, value)))
        frame = joint.frame(on_child, value)
        kind = joint.kind(value)
        placement, offset = _absorbed(kind, placement)
        links.append(
            Link(
                joint.name,
                kind,
                t.reversed,
                placement,
                offset,
                t.child.inertia(value).scaled(t.share).back(inverse(frame)),
                _shortest(inverse(frame)),
                *(array([value(path) for path in joint.paths(n)] or [0.0] * kind.nv) for n in PER_FREEDOM),
            )
        )
        frames.append(frame)

    gravity = array(value(f"gravity.{k}") for k in "xyz")
    tree = Tree(topology, tuple(links), topology.parents, gravity, (), values)
    loads = [_placed(tree, load) for load in mechanism.loads]
    return replace(tree, loads=(*loads, *(_held(tree, loop.joint) for loop in topology.held)))


def _held(tree: Tree, joint: Joint) -> HeldCut:
    stiffness, damping, size = (tree.values[path] for path in spring_paths(joint))
    return HeldCut(
        joint.name,
        joint.type,
        tree.joint_place(joint, joint.a),
        tree.joint_place(joint, joint.b),
        stiffness,
        damping,
        size,
    )


def _placed(tree: Tree, load: Spring | Wrench) -> "PlacedSpring | PlacedWrench":
    value = tree.values.__getitem__
    if isinstance(load, Spring):
        numbers = (value(f"{load.name}.{n}") for n in ("stiffness", "damping", "length"))
        return PlacedSpring(load.name, tree.place(load.a), tree.place(load.b), *numbers)
    force, moment = (array(value(f"{load.name}.{n}.{k}") for k in "xyz") for n in ("force", "moment"))
    return PlacedWrench(load.name, tree.place(load.marker), force, moment, load.follows)


def _shortest(moves: Moves) -> Moves:
    """The same change of frame as one shift and at most three turns."""
    rotation, position = relative_pose(moves)
    size = max((abs(float(x)) for x in position if not is_symbolic(x)), default=0.0)
    clean = array(0.0 if not is_symbolic(x) and abs(float(x)) < 1e-15 * size else x for x in position)
    return *shift_of(clean), *turns_of(np.array(rotation, dtype=float))


def _absorbed(kind: JointKind, placement: Moves) -> tuple[Moves, float]:
    """A turn about z just before a hinge becomes an offset of its angle."""
    if isinstance(kind, Revolute) and placement and isinstance(placement[-1], Turn) and placement[-1].axis == 2:
        turn = placement[-1]
        return placement[:-1], float(np.arctan2(turn.s, turn.c))
    return placement, 0.0
