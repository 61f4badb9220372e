"""Reading MJCF bodies: nested bodies with their joints, inertia, markers and shapes.

Several joints of one body act one after the other, each about its own point of the body's frame; a massless body goes
between each two, which is exact. Coordinates are those of MuJoCo: a joint is drawn at its `ref`, where assembly starts.
Only those of a free joint are relative to the pose of the body in the file.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kempe.formats.mjcf.defaults import MAIN, Classes
from kempe.formats.mjcf.geoms import Geom, Geoms
from kempe.formats.mjcf.poses import point, read_pose, turn_about, unit
from kempe.formats.mjcf.settings import Settings
from kempe.formats.poses import HERE, Pose
from kempe.formats.reading import Names, guarded, marked
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Body, Lump, Marker, Part
from kempe.mechanism.given import tensor_entries
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.inertia import RigidInertia

KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
MAKES_BODIES = ("attach", "replicate", "composite")
NOTHING = RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class Place:
    """A frame on a body, and the pose of the body in the world as drawn."""

    body: Body
    inside: Pose
    drawn: Pose


@dataclass(eq=False)
class Bodies:
    """The parts read so far: bodies, sites and joints (with `ref`) by their names in the file."""

    mechanism: Mechanism
    settings: Settings
    classes: Classes
    geoms: Geoms
    names: Names
    actuated: set[str]
    bodies: dict[str, Place] = field(default_factory=dict)
    sites: dict[str, Place] = field(default_factory=dict)
    joints: dict[str, tuple[str, float]] = field(default_factory=dict)
    inertias: list[tuple[Body, RigidInertia]] = field(default_factory=list)
    on_ground: list[Element] = field(default_factory=list)
    unnamed: Counter[str] = field(default_factory=Counter)

    def read(self, root: Element) -> None:
        """Reads everything under <worldbody>, with masses bounded and scaled as the settings say."""
        world = Place(self.mechanism.ground, HERE, HERE)
        self.bodies["world"] = world
        for top in root.all("worldbody"):
            self._contents(top, world, HERE, MAIN)
        if self.on_ground:
            self.on_ground[0].note(
                f"geoms of the world ({len(self.on_ground)}) are not used: neither drawn nor in contact"
            )
        settings = self.settings
        found = [(body, _bounded(inertia, settings)) for body, inertia in self.inertias]
        total = sum(inertia.mass for _, inertia in found)
        scale = settings.total_mass / total if settings.total_mass > 0 and total > 0 else 1.0
        for body, inertia in found:
            if inertia.mass > 0 or inertia.tensor.any():
                body.parts.insert(0, Part("", _lump(inertia, scale, body.name)))

    def _contents(self, element: Element, place: Place, frame: Pose, inherited: str) -> None:
        """Adds bodies, and markers for sites, of an element that belongs to `place`."""
        inherited = element.text("childclass", inherited)
        for child, at, named in self._flat(element, frame, inherited):
            if child.tag == "body":
                self._body(child, place, at, named)
            elif child.tag == "site":
                self._site(child, place, at, named)
            elif child.tag in MAKES_BODIES:
                raise child.error(
                    f"<{child.tag}> is not supported; save the compiled model, which has its bodies written out"
                )
            elif child.tag == "geom" and place.body is self.mechanism.ground:
                child.take_all()
                self.on_ground.append(child)

    def _flat(self, element: Element, frame: Pose, inherited: str) -> Iterator[tuple[Element, Pose, str]]:
        """The children of an element and of its <frame>s, each with its frame and class."""
        tags = ("body", "site", "geom", "joint", "freejoint", "inertial", "frame", *MAKES_BODIES)
        for child in element.all(*tags):
            if child.tag == "frame":
                inner = frame.then(read_pose(child, self.settings))
                yield from self._flat(child, inner, child.text("childclass", inherited))
            else:
                yield child, frame, inherited

    def _body(self, element: Element, above: Place, frame: Pose, inherited: str) -> None:
        pose = frame.then(read_pose(element, self.settings))
        named = element.text("childclass", inherited)
        inside = list(self._flat(element, HERE, named))
        joints = [(self.classes.applied(x, c), at) for x, at, c in inside if x.tag in ("joint", "freejoint")]
        given = element.text("name", "")
        name = self.names.new(element, given or f"body {len(self.inertias) + 1}", "body")
        a, start = above.body, pose
        for k, (joint, at) in enumerate(joints, start=1):
            last = k == len(joints)
            b = self.mechanism.solid(name if last else self.names.new(joint, f"{name} before joint {k + 1}", "body"))
            self._joint(joint, at, a, start, b, name if len(joints) == 1 else f"{name} {k}")
            a, start = b, HERE
        if not joints:
            a = self.mechanism.solid(name)
            fixed = self.names.new(element, f"{name} fixed", "joint")
            self.mechanism.fixed(fixed, placed(above.body, pose), a.origin)
        place = Place(a, HERE, above.drawn.then(pose))
        if given:
            if given in self.bodies:
                raise element.error(f"there is a body {given!r} already; give each its own name")
            self.bodies[given] = place
        with np.errstate(over="ignore", invalid="ignore"):
            inertia = self._inertia(inside, a)
        if not np.isfinite([inertia.mass, *inertia.moment, *inertia.tensor.ravel()]).all():
            raise element.error("its inertia is not finite; give smaller masses and positions")
        self.inertias.append((a, inertia))
        self._contents(element, place, HERE, inherited)

    def _joint(self, element: Element, at: Pose, a: Body, start: Pose, b: Body, otherwise: str) -> None:
        """Adds one joint; `at` is its frame relative to the body, `start` the body's pose on a."""
        kind = "free" if element.tag == "freejoint" else element.text("type", "hinge")
        if kind not in KINDS:
            raise element.error(f"there is no joint type {kind!r}; there are {', '.join(KINDS)}")
        given = element.text("name", "")
        if given in self.joints:
            raise element.error(f"there is a joint {given!r} already; give each its own name")
        name = self.names.new(element, given or f"{otherwise} joint", "joint")
        ref, options = self._options(element, kind)
        here = point(at, np.array(element.numbers("pos", 3, (0.0, 0.0, 0.0))))
        axes: tuple[np.ndarray, ...] = ()
        zero = Pose(np.eye(3), here)  # the joint's frame on a at coordinate zero, relative to the body as drawn
        if kind in ("hinge", "slide"):
            axis = at.rotation @ unit(element, "axis", element.numbers("axis", 3, (0.0, 0.0, 1.0)))
            zero = Pose(turn_about(axis, -ref), here) if kind == "hinge" else Pose(np.eye(3), here - ref * axis)
            axes = (axis,)
            options["drawn"] = ref
        elif kind == "free":
            if a is not self.mechanism.ground:
                raise element.error("free joints are only for bodies of the world; this one is inside another body")
            here = np.zeros(3)
            zero = HERE
        frame = start.then(zero)
        markers = placed(a, frame), placed(b, Pose(np.eye(3), here))
        guarded(element, lambda: self.mechanism.joint(KINDS[kind], name, *markers, axes, **options))
        self.joints[given or name] = name, ref

    def _options(self, element: Element, kind: str) -> tuple[float, dict[str, Any]]:
        """The joint's coordinate in the drawn pose, and its options."""
        if element.tag == "freejoint":
            return 0.0, {}
        turn = self.settings.angle if kind in ("hinge", "ball") else 1.0
        options: dict[str, Any] = {"actuated": element.text("name", "") in self.actuated}
        options["armature"] = element.number("armature", 0.0)
        options["damping"] = self.linear(element, "damping")
        if kind == "free" and options["armature"]:
            element.note("armature acts along the axes of the body in Kempe, and of the world in MuJoCo")
        if kind in ("ball", "free"):
            return 0.0, options
        options["stiffness"] = self.linear(element, "stiffness")
        options["rest"] = element.number("springref", 0.0) * turn
        limited = element.text("limited", "auto")
        if limited not in ("true", "false", "auto"):
            raise element.error(f"limited takes true, false or auto, not {limited!r}")
        if limited == "true" or (limited == "auto" and self.settings.autolimits and element.has("range")):
            low, high = element.numbers("range", 2, unbounded=True)
            options["limits"] = (low * turn, high * turn)
        return element.number("ref", 0.0) * turn, options

    def linear(self, element: Element, name: str) -> float:
        """A stiffness or damping; MuJoCo takes two more numbers, for quadratic and cubic terms."""
        first, *more = element.numbers(name, range(1, 4), (0.0,))
        if any(more):
            element.note(f"{name} is taken as linear; its further terms are not used")
        return first

    def _site(self, element: Element, place: Place, frame: Pose, inherited: str) -> None:
        self.classes.applied(element, inherited)
        pose = frame.then(read_pose(element, self.settings))
        if element.has("fromto"):
            ends = np.array(element.numbers("fromto", 6)).reshape(2, 3)
            pose = frame.then(Pose(np.eye(3), ends.mean(axis=0)))
        name = element.text("name", "")
        if not name:
            return
        if name in self.sites:
            raise element.error(f"there is a site {name!r} already; give each its own name")
        marked(element, place.body, pose, name.removeprefix(f"{place.body.name}."), "site")
        self.sites[name] = Place(place.body, pose, place.drawn)

    def _inertia(self, inside: list[tuple[Element, Pose, str]], body: Body) -> RigidInertia:
        """The inertia of a body about its origin, as given or from its geoms, which are drawn in either case."""
        given = [x for x, _, _ in inside if x.tag == "inertial"]
        if len(given) > 1:
            raise given[1].error("a body has one <inertial>")
        shapes = [self.geoms.geom(self.classes.applied(x, c), at) for x, at, c in inside if x.tag == "geom"]
        for k, shape in enumerate(shapes, start=1):
            self._draw(shape, body, k)
        if self.settings.from_geoms == "true" or (self.settings.from_geoms == "auto" and not given):
            return sum((shape.inertia for shape in shapes), NOTHING)
        return _given_inertia(given[0], self.settings) if given else NOTHING

    def _draw(self, shape: Geom, body: Body, number: int) -> None:
        if shape.solid is None:
            return
        name = (shape.name or f"geom {number}").removeprefix(f"{body.name}.").replace(".", "_")
        if any(part.name == name for part in body.parts):
            name = f"{name} geom {number}"
        body.add(name, shape.solid, shape.pose.position, shape.pose.rotation)


def placed(body: Body, pose: Pose) -> Marker:
    """Adds a marker to a body."""
    x, y, z = pose.position.tolist()
    return body.at(x, y, z, rotation=pose.rotation)


def _given_inertia(element: Element, settings: Settings) -> RigidInertia:
    pose, mass = read_pose(element, settings), element.number("mass")
    if element.has("fullinertia"):
        xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        tensor = np.diag(element.numbers("diaginertia", 3, (0.0, 0.0, 0.0)))
    if mass < 0:
        raise element.error(f"the mass is {mass:g} kg; it cannot be negative")
    return RigidInertia.at_com(mass, pose.position, pose.rotation @ tensor @ pose.rotation.T)


def _about_com(inertia: RigidInertia) -> tuple[np.ndarray, np.ndarray]:
    """The centre of mass and the tensor about it."""
    com = inertia.moment / inertia.mass if inertia.mass else np.zeros(3)
    return com, inertia.tensor - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))


def _bounded(inertia: RigidInertia, settings: Settings) -> RigidInertia:
    """The inertia with mass and principal moments raised to their bounds, and balanced moments if requested."""
    if not settings.least_mass and not settings.least_moment and not settings.balanced:
        return inertia
    com, tensor = _about_com(inertia)
    moments, axes = np.linalg.eigh(tensor)
    moments = np.maximum(moments, settings.least_moment)
    if settings.balanced and moments[0] + moments[1] < moments[2]:
        moments = np.full(3, moments.mean())
    return RigidInertia.at_com(max(inertia.mass, settings.least_mass), com, axes @ np.diag(moments) @ axes.T)


def _lump(inertia: RigidInertia, scale: float, name: str) -> Lump:
    com, tensor = _about_com(inertia)
    tensor = scale * (tensor + tensor.T) / 2
    return Lump(scale * inertia.mass, tuple(com.tolist()), tensor_entries(tensor, name))  # type: ignore[arg-type]
