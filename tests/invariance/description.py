"""A mechanism as plain data, from which `kp.Mechanism`s are built, and a motion of it known by bodies and joints."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

import kempe as kp
from kempe.mechanism.joints import KINDS
from kempe.mechanism.loads import Spring
from tests.closed import moved

GROUND = "ground"
AXES = {"universal": 2, "spherical": 0, "free": 0, "fixed": 0}  # one, of all other kinds
PER_FREEDOM = ("damping", "stiffness", "rest", "armature")


@dataclass(frozen=True, eq=False)
class Frame:
    """A marker: its body, and where it is on that body."""

    body: str
    position: np.ndarray
    rotation: np.ndarray

    def beside(self, turn: np.ndarray, shift: np.ndarray) -> "Frame":
        """The frame at a place of this one, in its axes."""
        return replace(self, position=self.position + self.rotation @ shift, rotation=self.rotation @ turn)


@dataclass(frozen=True, eq=False)
class Solid:
    """Mass, centre of mass and the tensor about it, in the body's frame."""

    mass: float
    com: np.ndarray
    tensor: np.ndarray


@dataclass(frozen=True, eq=False)
class Link:
    """A joint: kind, frames, axes, and a number for each of its freedoms of whatever it carries."""

    kind: str
    a: Frame
    b: Frame
    axes: tuple[np.ndarray, ...] = ()
    pitch: float | None = None
    actuated: tuple[bool, ...] = ()
    limits: tuple[tuple[float, float] | None, ...] = ()
    damping: tuple[float, ...] = ()
    stiffness: tuple[float, ...] = ()
    rest: tuple[float, ...] = ()
    armature: tuple[float, ...] = ()
    switchable: bool | str = False

    @property
    def units(self) -> tuple[str, ...]:
        """rad or m, for each freedom."""
        return KINDS[self.kind].units

    @property
    def carries(self) -> bool:
        """Whether it has anything that needs a coordinate."""
        return any((*self.actuated, *self.damping, *self.stiffness, *self.armature, *map(bool, self.limits)))


@dataclass(frozen=True, eq=False)
class Pull:
    """A spring between points."""

    a: Frame
    b: Frame
    stiffness: float
    damping: float
    length: float


@dataclass(frozen=True, eq=False)
class Push:
    """A wrench at a marker."""

    at: Frame
    force: np.ndarray
    moment: np.ndarray
    follows: bool


@dataclass(frozen=True, eq=False)
class Gear:
    """A coupling of joints with one freedom each."""

    coefficients: Mapping[str, float]
    offset: float


@dataclass(frozen=True, eq=False)
class Description:
    """Parts by labels, which never change; `names` are what they are called, `order` the orders they are written in."""

    gravity: np.ndarray
    bodies: Mapping[str, Solid]
    links: Mapping[str, Link]
    loads: Mapping[str, Pull | Push] = field(default_factory=dict)
    gears: Mapping[str, Gear] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def called(self, label: str) -> str:
        """What a part is called."""
        return self.names.get(label, label)

    def mechanism(self) -> kp.Mechanism:
        """Built from nothing but these numbers."""
        m = kp.Mechanism("described", gravity=self.gravity)
        bodies = {GROUND: m.ground}
        for label in self.order.get("bodies", tuple(self.bodies)):
            solid = self.bodies[label]
            bodies[label] = m.body(self.called(label), solid.mass, solid.com, solid.tensor)

        def marker(frame: Frame):
            return bodies[frame.body].at(*frame.position.tolist(), rotation=frame.rotation)

        for label in self.order.get("links", tuple(self.links)):
            link = self.links[label]
            freedoms = KINDS[link.kind].v_names
            given = {n: getattr(link, n) for n in PER_FREEDOM if link.kind != "fixed"}
            given["actuated"] = [n for n, on in zip(freedoms, link.actuated, strict=True) if on]
            given["limits"] = list(link.limits) if any(link.limits) else None
            m.joint(link.kind, self.called(label), marker(link.a), marker(link.b), link.axes, pitch=link.pitch,
                    switchable=link.switchable, **given)  # fmt: skip
        for label, gear in self.gears.items():
            m.couple(self.called(label), {self.called(n): x for n, x in gear.coefficients.items()}, gear.offset)
        for label in self.order.get("loads", tuple(self.loads)):
            load = self.loads[label]
            if isinstance(load, Pull):
                m.spring(self.called(label), marker(load.a), marker(load.b), load.stiffness, load.damping, load.length)
            else:
                m.wrench(self.called(label), marker(load.at), load.force, load.moment, load.follows)
        return m


def described(m: kp.Mechanism) -> Description:
    """A mechanism of rigid bodies, as data."""
    value = m.parameters.__getitem__

    def frame(marker) -> Frame:
        return Frame(marker.body.name, np.array(marker.origin(value), dtype=float), np.array(marker.rotation))

    bodies = {}
    for body in m.bodies:
        own = body.inertia(value)
        mass, first = float(own.mass), np.array(own.moment, dtype=float)
        com = first / mass if mass else np.zeros(3)
        about = np.array(own.tensor, dtype=float) - mass * (com @ com * np.eye(3) - np.outer(com, com))
        bodies[body.name] = Solid(mass, com, (about + about.T) / 2)
    links = {
        j.name: Link(
            j.type.name, frame(j.a), frame(j.b), tuple(np.array(x) for x in j.axes), j.pitch, tuple(j.actuated),
            j.limits, j.damping, j.stiffness, j.rest, j.armature, (True if j.on else "open") if j.switchable else False,
        )
        for j in m.joints
    }  # fmt: skip
    loads = {
        x.name: Pull(frame(x.a), frame(x.b), x.stiffness, x.damping, x.length)
        if isinstance(x, Spring)
        else Push(frame(x.marker), np.array(x.force), np.array(x.moment), x.follows)
        for x in m.loads
    }
    gears = {x.name: Gear(dict(x.coefficients), x.offset) for x in m.couplings}
    return Description(np.array(m.gravity), bodies, links, loads, gears)


@dataclass(frozen=True, eq=False)
class Motion:
    """A state known without any tree.

    values: coordinates of all joints, cut or not, with their turns. poses: rotation and place of bodies in the world;
    twists: [omega; velocity of the body's point at the world's origin]. efforts: along each freedom, by joint.
    """

    values: Mapping[str, np.ndarray]
    poses: Mapping[str, tuple[np.ndarray, np.ndarray]]
    twists: Mapping[str, np.ndarray]
    efforts: Mapping[str, np.ndarray]

    def at(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """A marker in the world."""
        turn, place = self.poses[frame.body]
        return turn @ frame.rotation, place + turn @ frame.position


def posed(description: Description, values: Mapping[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """All bodies, from joint to joint."""
    found, left = {GROUND: (np.eye(3), np.zeros(3))}, dict(description.links)
    while left:
        label = next(n for n, link in left.items() if {link.a.body, link.b.body} & found.keys())
        link = left.pop(label)
        if link.a.body in found and link.b.body in found:
            continue
        turn, shift = moved(link.kind, [x / np.linalg.norm(x) for x in link.axes], values[label], link.pitch)
        known, other = (link.a, link.b) if link.a.body in found else (link.b, link.a)
        if known is link.b:
            turn, shift = turn.T, -turn.T @ shift
        rotation, place = found[known.body]
        far = known.beside(turn, shift)
        rotation, place = rotation @ far.rotation @ other.rotation.T, place + rotation @ far.position
        found[other.body] = rotation, place - rotation @ other.position
    return found
