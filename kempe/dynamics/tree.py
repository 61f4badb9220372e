"""Tree: a mechanism's spanning tree as numbers, ready for recursions from body to body.

Each link has a frame of its own at the joint that carries it, along the joint's canonical axes: there the joint's
motion subspace consists of zeros and ones, and products with it cost nothing. Numbers may be symbols, if a parameter is
kept as an input.

A beam is several links: its root, the section that its joint carries; its frame, which hangs on the root by a joint
that is the section's motion reversed; and, carried by the frame, every other section to which something is fixed. They
share the coordinates of the beam, which belong to the frame's link.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kempe.arithmetic.angles import atan2
from kempe.arithmetic.sums import times
from kempe.dynamics.springs import HeldCut
from kempe.mechanism.bodies import Body, Length, Marker, Values
from kempe.mechanism.flexible import BeamJoint, section
from kempe.mechanism.joint import PER_FREEDOM, Joint
from kempe.mechanism.joints import JointKind, Revolute
from kempe.mechanism.loads import Spring, Wrench
from kempe.spatial.bending import BeamInertia
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Moves, Turn, inverse, relative_pose, shift_of, turns_of
from kempe.spatial.vectors import Scalar, Vector, array, cross, is_symbolic, is_zero, zeros
from kempe.topology.paths import spring_paths
from kempe.topology.tree import Topology, TreeJoint, chain

NOTHING = RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class Link:
    """A body of the tree and the joint that carries it.

    placement: from the parent's link frame to the joint's frame on the parent.
    offset: a constant turn about z that precedes a hinge's own, added to its angle.
    inertia: at the link frame.
    body: from the link frame to the frame of the body, or of the section it represents.
    beam: the bending of a beam, on the link that is its frame; shared: whether the link is another section of a beam,
    whose freedoms are the beam's.
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
    beam: BeamInertia | None = None
    shared: bool = False

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
        turned, moved = times(rotation, angular), times(rotation, linear)
        lever = [m - cross(w, position) for w, m in zip(turned.T, moved.T, strict=True)]
        return -turned, -(np.stack(lever, axis=1) if lever else moved)


@dataclass(frozen=True, eq=False)
class Tree:
    """All links, parents before children, with the loads on them and all names.

    joints: for every link, the joint with its coordinates; seats: for every body, the links that markers are fixed to,
    by station; loads: with the link of each of their markers; values: of all parameters, symbols for inputs.
    """

    topology: Topology
    links: tuple[Link, ...]
    parents: tuple[int, ...]
    joints: tuple[TreeJoint, ...]
    seats: Mapping[Body, Mapping[Length | None, int]]
    gravity: Vector
    loads: tuple["PlacedSpring | PlacedWrench | HeldCut", ...]
    values: Mapping[str, Scalar]

    @cached_property
    def own(self) -> tuple[int, ...]:
        """Numbers of the links with freedoms of their own, in the order of the topology's joints."""
        return tuple(k for k, link in enumerate(self.links) if not link.shared)

    def chain(self, number: int) -> tuple[int, ...]:
        """Numbers of the links from the ground to this one."""
        return chain(self.parents, number)

    def seat(self, marker: Marker) -> tuple[int, Moves]:
        """The link that a marker is on, and the moves to the body, or section, that it is fixed to."""
        number = self.seats[marker.body][marker.station]
        return number, self.links[number].body if number >= 0 else ()

    def place(self, marker: Marker) -> "Place":
        """The place of a marker."""
        number, start = self.seat(marker)
        own = (*shift_of(marker.offset(self.values.__getitem__)), *turns_of(marker.rotation))
        return Place(number, _shortest((*start, *own)))

    def joint_place(self, joint: Joint, marker: Marker) -> "Place":
        """The place of the joint's frame at one of its markers."""
        number, start = self.seat(marker)
        return Place(number, (*start, *joint.frame(marker, self.values.__getitem__)))

    def including(self, marker: Marker) -> "Tree":
        """The same tree with a link added for the section that a marker is on, if its beam has none there yet."""
        if marker.station in self.seats[marker.body]:
            return self
        grown = _Growth(self.topology, self.values, list(self.links), list(self.parents), list(self.joints))
        grown.seats = {body: dict(seats) for body, seats in self.seats.items()}
        grown.section(marker)
        return replace(
            self, links=tuple(grown.links), parents=tuple(grown.parents), joints=tuple(grown.joints), seats=grown.seats
        )


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
    """The tree with the mechanism's own numbers, some of them replaced by `parameters` (floats or symbols)."""
    mechanism = topology.mechanism
    values = {**topology.parameters, **(parameters or {})}
    grown = _Growth(topology, values)
    for t in topology.tree:
        grown.joint(t)
    grown.beams()
    gravity = array(values[f"gravity.{k}"] for k in "xyz")
    parts = tuple(grown.links), tuple(grown.parents), tuple(grown.joints), grown.seats
    tree = Tree(topology, *parts, gravity, (), values)
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


@dataclass(eq=False)
class _Growth:
    """A tree under construction, link by link."""

    topology: Topology
    values: Mapping[str, Scalar]
    links: list[Link] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    joints: list[TreeJoint] = field(default_factory=list)

    def __post_init__(self):
        self.seats: dict[Body, dict[Length | None, int]] = {self.topology.mechanism.ground: {None: -1}}

    def _add(self, link: Link, parent: int, joint: TreeJoint) -> int:
        self.links.append(link)
        self.parents.append(parent)
        self.joints.append(joint)
        return len(self.links) - 1

    def joint(self, t: TreeJoint) -> None:
        """Adds the link that a joint of the tree carries."""
        joint, value = t.joint, self.values.__getitem__
        kind = joint.kind(value)
        if isinstance(joint, BeamJoint):
            self._frame(t, kind, value)
            return
        on_parent, on_child = (joint.b, joint.a) if t.reversed else (joint.a, joint.b)
        parent = self.section(on_parent)
        start = self.links[parent].body if parent >= 0 else ()
        placement, offset = _absorbed(kind, _shortest((*start, *joint.frame(on_parent, value))))
        frame = joint.frame(on_child, value)
        inertia = t.child.inertia(value).scaled(t.share).back(inverse(frame))
        each: Any = {n: array([value(path) for path in joint.paths(n)] or [0.0] * kind.nv) for n in PER_FREEDOM}
        link = Link(joint.name, kind, t.reversed, placement, offset, inertia, _shortest(inverse(frame)), **each)
        number = self._add(link, parent, t)
        self.seats[t.child] = {None: number}
        if on_child.station is not None:  # the root of a beam
            self.seats[on_child.body] = {on_child.station: number}

    def _frame(self, t: TreeJoint, kind: JointKind, value: Values) -> None:
        """Adds a beam's frame, carried by its root."""
        root, body = self.seats[t.parent][None], t.child
        bends = body.beam.bending(lambda name: value(body.parts[0].path(body.name, name)))  # type: ignore[union-attr]
        link = _bare(t.joint.name, kind, True, self.links[root].body)
        self.seats.setdefault(body, {})[None] = self._add(replace(link, beam=bends), root, t)

    def section(self, marker: Marker) -> int:
        """The link that a marker is fixed to; for a beam, it is added when first needed."""
        seats, station = self.seats[marker.body], marker.station
        if station not in seats:
            carrier = seats[None]
            kind = section(marker, self.values.__getitem__)
            link = replace(_bare(f"{marker}", kind, False, ()), shared=True)
            seats[station] = self._add(link, carrier, self.joints[carrier])
        return seats[station]

    def beams(self) -> None:
        """Adds the sections that carry loads, loops or solids."""
        value = self.values.__getitem__
        for t in self.topology.tree:
            for part in t.child.parts[1:] if isinstance(t.joint, BeamJoint) else ():
                x, *aside = part.position
                on = replace(part, position=(0.0, *aside)).inertia(t.child.name, value)
                number = self.section(t.child.at(x))
                link = self.links[number]
                self.links[number] = replace(link, inertia=link.inertia + on.back(link.body))
        for load in self.topology.mechanism.loads:
            for marker in (load.a, load.b) if isinstance(load, Spring) else (load.marker,):
                self.section(marker)
        for loop in self.topology.masked or self.topology.closures:
            for marker in (loop.joint.a, loop.joint.b):
                self.section(marker)


def _bare(name: str, kind: JointKind, reversed_: bool, placement: Moves) -> Link:
    """A link of a beam, without inertia of its own."""
    none = zeros(kind.nv)
    return Link(name, kind, reversed_, placement, 0.0, NOTHING, (), none, none, none, none)


def _placed(tree: Tree, load: Spring | Wrench) -> "PlacedSpring | PlacedWrench":
    value = tree.values.__getitem__
    if isinstance(load, Spring):
        numbers = (value(f"{load.name}.{n}") for n in ("stiffness", "damping", "length"))
        return PlacedSpring(load.name, tree.place(load.a), tree.place(load.b), *numbers)
    force, moment = (array(value(f"{load.name}.{n}.{k}") for k in "xyz") for n in ("force", "moment"))
    return PlacedWrench(load.name, tree.place(load.marker), force, moment, load.follows)


def _shortest(moves: Moves) -> Moves:
    """The same change of frame as one shift and at most three rotations."""
    rotation, position = relative_pose(moves)
    size = max((abs(float(x)) for x in position if not is_symbolic(x)), default=0.0)
    clean = array(0.0 if not is_symbolic(x) and abs(float(x)) < 1e-15 * size else x for x in position)
    return *shift_of(clean), *turns_of(np.array(rotation, dtype=float))


def _absorbed(kind: JointKind, placement: Moves) -> tuple[Moves, float]:
    """Turns a rotation about z just before a hinge into an offset of its angle."""
    if isinstance(kind, Revolute) and placement and isinstance(placement[-1], Turn) and placement[-1].axis == 2:
        turn = placement[-1]
        return placement[:-1], atan2(turn.s, turn.c)
    return placement, 0.0
