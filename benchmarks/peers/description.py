"""Description: a model's tree, loops and springs as plain numbers, which every peer builds its own model of."""

from dataclasses import dataclass

import numpy as np

from kempe.dynamics.tree import Place, PlacedSpring, build
from kempe.model.model import Model
from kempe.spatial.moves import Moves, relative_pose

KINDS = ("revolute", "prismatic", "universal", "spherical")  # those that peers know how to build


class CannotBuild(Exception):
    """Why a peer does not have a mechanism, in one sentence."""


@dataclass(frozen=True)
class Pose:
    """Where a frame is in another: axes as columns, and the origin."""

    rotation: np.ndarray
    position: np.ndarray


@dataclass(frozen=True)
class Link:
    """A body and the joint that carries it: hinges and sliders move along z, universal joints turn about x, then y.

    pose: of the joint in its parent's frame, at q = 0; the link's own frame is the joint's. sign: -1 where a joint was
    described from child to parent. com, tensor: in the link's frame, the tensor about the center of mass.
    """

    name: str
    parent: int
    kind: str
    pose: Pose
    sign: float
    q: slice
    v: slice
    mass: float
    com: np.ndarray
    tensor: np.ndarray


@dataclass(frozen=True)
class End:
    """A frame on a link; -1 is the ground."""

    link: int
    pose: Pose


@dataclass(frozen=True)
class Spring:
    """A spring between points of two links."""

    a: End
    b: End
    stiffness: float
    damping: float
    length: float


@dataclass(frozen=True)
class Description:
    """A mechanism on its spanning tree, parents before children; loops are pairs of frames with a common origin.

    A shared point is what a ball joint demands, and all that a hinge demands where everything moves in one plane.
    planar: whether it does, and the normal of that plane in the world.
    """

    name: str
    gravity: np.ndarray
    links: tuple[Link, ...]
    loops: tuple[tuple[End, End], ...]
    springs: tuple[Spring, ...]
    planar: bool
    nq: int
    nv: int

    def children(self, k: int) -> list[int]:
        """Links carried by link k."""
        return [c for c, link in enumerate(self.links) if link.parent == k]


def describe(model: Model) -> Description:
    """The numbers of a model; raises `CannotBuild` where it has what no peer is asked to build."""
    tree, topology = build(model.topology), model.topology
    name = model.mechanism.name
    odd = {link.kind.name for link in tree.links} - set(KINDS)
    if odd:
        raise CannotBuild(f"{name} has joints ({', '.join(sorted(odd))}) that the comparison does not build elsewhere.")
    links = tuple(
        Link(
            link.name,
            parent,
            link.kind.name,
            _turned(_pose(link.placement), float(link.offset)),
            -1.0 if link.reversed else 1.0,
            joint.q,
            joint.v,
            *_inertia(link.inertia),
        )
        for link, parent, joint in zip(tree.links, tree.parents, tree.joints, strict=True)
    )
    for link in links:
        if link.sign < 0 and link.kind in ("universal", "spherical"):
            raise CannotBuild(f"{link.name} of {name} leads from child to parent, which a {link.kind} joint cannot.")
    kinds = {loop.joint.type.name for loop in topology.loops}
    planar = all(link.kind in ("revolute", "prismatic") for link in links) and _in_one_plane(links)
    if kinds - {"spherical"} and not (planar and kinds == {"revolute"}):
        raise CannotBuild(f"{name} has loops that close by more than a shared point, in space.")
    loops = tuple((_end(tree.place(x.joint.a)), _end(tree.place(x.joint.b))) for x in topology.loops)
    springs = tuple(_spring(load) for load in tree.loads if isinstance(load, PlacedSpring))
    if len(springs) < len(tree.loads):
        raise CannotBuild(f"{name} has loads other than springs.")
    gravity = np.array(tree.gravity, dtype=float)
    return Description(name, gravity, links, loops, springs, planar, model.nq, model.nv)


def axes(link: Link) -> tuple[str, ...]:
    """The joints of one freedom that make up a link's: r or p for turning or sliding, and along what; a ball is one."""
    return {"revolute": ("rz",), "prismatic": ("pz",), "universal": ("rx", "ry"), "spherical": ("ball",)}[link.kind]


def _pose(moves: Moves) -> Pose:
    rotation, position = relative_pose(moves)
    return Pose(np.array(rotation, dtype=float), np.array(position, dtype=float))


def _turned(pose: Pose, angle: float) -> Pose:
    c, s = np.cos(angle), np.sin(angle)
    return Pose(pose.rotation @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), pose.position)


def _inertia(inertia) -> tuple[float, np.ndarray, np.ndarray]:
    mass, moment = float(inertia.mass), np.array(inertia.moment, dtype=float)
    com = moment / (mass or 1.0)
    return mass, com, np.array(inertia.tensor, dtype=float) - mass * (com @ com * np.eye(3) - np.outer(com, com))


def _end(place: Place) -> End:
    return End(place.link, _pose(place.moves))


def _spring(load: PlacedSpring) -> Spring:
    return Spring(_end(load.a), _end(load.b), float(load.stiffness), float(load.damping), float(load.length))


def _in_one_plane(links: tuple[Link, ...]) -> bool:
    """Whether all hinges stay parallel and sliders perpendicular to them: rotations then keep z where it was."""
    return all(link.kind == "revolute" and abs(abs(link.pose.rotation[2, 2]) - 1.0) < 1e-12 for link in links)
