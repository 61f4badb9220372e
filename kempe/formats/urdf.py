"""Reading URDF: links, joints, and loops in all common dialects.

    <robot name="arm">
      <link name="base"/>
      <link name="upper"><inertial>..</inertial><visual>..</visual></link>
      <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>..</joint>
    </robot>

A link's frame is that of the joint whose child it is. What a file leaves open is settled as follows: the root link is
welded to the ground, or floats on request; an empty root link named `world` or `ground` is the ground itself. A joint
is actuated if it has a positive effort limit, is named in a <transmission>, or is declared independent; never if it is
fixed, floating, mimics another or is declared dependent.
"""

from collections import deque
from functools import cached_property

import numpy as np

from kempe.errors import FileError, MissingPackage
from kempe.formats.lumps import lump
from kempe.formats.meshes import drawable
from kempe.formats.poses import HERE, LIMITLESS, Pose, pose_of
from kempe.formats.reading import Names, coupled, guarded
from kempe.formats.sidecar import beside
from kempe.formats.urdf_loops import read_loops
from kempe.formats.xml import Element, unused
from kempe.mechanism.bodies import TENSOR, Body, Box, Cylinder, Part, Solid, Sphere
from kempe.mechanism.mechanism import Mechanism

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
}
GROUND = ("world", "ground")
MOST = 5000  # parts; reading time grows with their number times the length of chains
X = (1.0, 0.0, 0.0)  # the default axis of a joint


def read(robot: Element, floating: bool | None = None) -> Mechanism:
    """Reads a mechanism from a <robot>; floating: its root link floats instead of being welded to the ground."""
    return Robot(robot).read(bool(floating))


class Robot:
    """A <robot> being read: links and joints by their names in the file."""

    def __init__(self, robot: Element):
        self.element = robot
        if robot.tag != "robot":
            raise robot.error(f"a URDF file is a <robot>, not a <{robot.tag}>")
        if len(robot.children) > MOST:
            raise robot.error(f"it has {len(robot.children)} parts; at most {MOST} are allowed")
        self.names = Names()
        self.mechanism = Mechanism(robot.text("name", robot.file.stem))
        self.links: dict[str, Element] = _named(robot, "link")
        self.joints: dict[str, Element] = _named(robot, "joint")
        self.ends = {
            name: (self.link_of(x.need("parent")), self.link_of(x.need("child"))) for name, x in self.joints.items()
        }
        self.bodies: dict[str, Body] = {}
        # Names in the file and in Kempe: joints first, so that they keep their names more often than links.
        self.joint_names = {name: self.names.new(joint, name, "joint") for name, joint in self.joints.items()}
        self.actuated = {
            joint.text("name")
            for drive in robot.all("transmission")
            for joint in drive.all("joint")
            if joint.has("name")
        }
        self.root = self._root()
        for name, link in self.links.items():
            if name != self.root and name not in self.above:
                raise link.error(f"it is not connected to the root link {self.root!r}; its joints form a cycle")
        self.sidecar = beside(robot.file)

    def read(self, floating: bool) -> Mechanism:
        """Builds the mechanism; its notes end with what was read but is not used."""
        grounded = not floating and self.root in GROUND and not self.links[self.root].children
        for name, link in self.links.items():
            self.bodies[name] = self.mechanism.ground if grounded and name == self.root else self._body(link, name)
        if not grounded:
            held = self.names.new(self.element, "root", "joint")
            ends = (self.mechanism.ground.origin, self.bodies[self.root].origin)
            self.mechanism.joint("free" if floating else "fixed", held, *ends)
        for name, joint in self.joints.items():
            self._joint(joint, name)
        for name, joint in self.joints.items():
            self._mimic(joint, name)
        read_loops(self)
        notes = self.element.source.notes
        if any(joint.one("limit") for joint in self.joints.values()):
            self.element.note("the effort of limits marks the actuated joints; it does not limit their efforts")
        self.mechanism.notes += [*notes, *unused(self.element)]
        return self.mechanism

    # ---- lookup by names in the file -------------------------------------------------------------------

    def link_of(self, end: Element) -> str:
        """The link that an element names, which must exist."""
        return self.known(end, end.text("link"), self.links, "link")

    @staticmethod
    def known(element: Element, name: str, among: dict, kind: str) -> str:
        """A name, after checking that it exists."""
        if name not in among:
            listed = ", ".join(list(among)[:20]) or "none"
            raise element.error(f"there is no {kind} {name!r}; there are {listed}{', ...' if len(among) > 20 else ''}")
        return name

    @cached_property
    def above(self) -> dict[str, str]:
        """The joint that carries each link on the shortest way from the root; others with that child close loops."""
        below: dict[str, list[str]] = {}
        for name, (parent, _) in self.ends.items():
            below.setdefault(parent, []).append(name)
        found: dict[str, str] = {}
        waiting = deque([self.root])
        while waiting:
            for name in below.get(waiting.popleft(), ()):
                child = self.ends[name][1]
                if child not in found and child != self.root:
                    found[child] = name
                    waiting.append(child)
        return found

    def chain(self, link: str) -> list[str]:
        """The joints from the root to a link."""
        found = []
        while link != self.root:
            found.append(self.above[link])
            link = self.ends[self.above[link]][0]
        return found[::-1]

    def pose(self, link: str) -> Pose:
        """The pose of a link's frame relative to the root's, with all joints at zero."""
        found = HERE
        for name in self.chain(link):
            found = found.then(pose_of(self.joints[name].one("origin")))
        return found

    # ---- parts -----------------------------------------------------------------------------------------

    def _root(self) -> str:
        """The one link that is not the child of a joint."""
        if not self.links:
            raise self.element.error("there are no links; give at least one")
        children = {child for _, child in self.ends.values()}
        roots = [name for name in self.links if name not in children]
        if not roots:
            raise self.element.error(
                "every link is the child of a joint, so there is no root; close the cycle by a <loop> instead"
            )
        if len(roots) > 1:
            words = f"neither it nor {roots[0]!r} is the child of a joint; only one can be the root, join the other"
            raise self.links[roots[1]].error(words)
        return roots[0]

    def _body(self, link: Element, given: str) -> Body:
        body = self.mechanism.solid(self.names.new(link, given, "link"))
        inertial = link.one("inertial")
        if inertial is not None:
            body.parts.append(_part(inertial))
        drawn = [found for visual in link.all("visual") if (found := _shape(visual)) is not None]
        if not drawn:
            drawn = [found for hull in link.all("collision") if (found := _shape(hull)) is not None]
        for k, (solid, pose) in enumerate(drawn, 1):
            body.add(f"shape {k}", solid, pose.position.tolist(), pose.rotation)
        return body

    def _joint(self, joint: Element, given: str) -> None:
        kind = joint.text("type")
        if kind not in KINDS:
            raise joint.error(f"there is no joint type {kind!r}; there are {', '.join(KINDS)}")
        name = self.joint_names[given]
        parent, child = (self.bodies[link] for link in self.ends[given])
        if self.above.get(self.ends[given][1]) != given:
            joint.note(f"link {self.ends[given][1]!r} is already the child of another joint, so this one closes a loop")
        pose = pose_of(joint.one("origin"))
        a = parent.at(*pose.position, rotation=pose.rotation)
        if kind in ("fixed", "floating"):
            self.mechanism.joint(KINDS[kind], name, a, child.origin)
            return
        axis = joint.one("axis")
        along = X if axis is None else axis.numbers("xyz", 3, X)
        if not np.linalg.norm(along) > 1e-9:
            raise (axis or joint).error("the axis is zero; give a direction such as 0 0 1")
        options: dict = {"actuated": self._driven(joint, given)}
        if kind in ("revolute", "prismatic"):
            options["limits"] = _limits(joint)
        dynamics = joint.one("dynamics")
        if dynamics is not None:
            options["damping"] = dynamics.number("damping", 0.0)
        guarded(joint, lambda: self.mechanism.joint(KINDS[kind], name, a, child.origin, (along,), **options))

    def _driven(self, joint: Element, given: str) -> bool:
        limit = joint.one("limit")
        strong = limit is not None and limit.number("effort", 0.0, unbounded=True) > 0
        independent = joint.flag("independent") if joint.has("independent") else None
        if joint.one("mimic") is not None or independent is False or given in self.sidecar.dependent:
            return False
        return strong or independent is True or given in self.actuated | self.sidecar.independent

    def _mimic(self, joint: Element, given: str) -> None:
        """Adds q = multiplier q_other + offset."""
        mimic = joint.one("mimic")
        if mimic is None:
            return
        other, factor, offset = mimic.text("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        if other == given:
            raise mimic.error("the joint mimics itself; name another")
        if other not in self.joints:
            mimic.note(f"there is no joint {other!r} to mimic; this is not used")
            return
        factors = {self.joint_names[given]: 1.0, self.joint_names[other]: -factor}
        name = self.names.new(mimic, f"{self.joint_names[given]} mimic", "coupling")
        coupled(mimic, self.mechanism, name, factors, offset)


def _named(robot: Element, tag: str) -> dict[str, Element]:
    """The elements of a tag by name; names must be unique."""
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.text("name")
        if name in found:
            raise element.error(f"a {tag} in line {found[name].line} has the same name; give each its own")
        found[name] = element
    return found


def _part(inertial: Element) -> Part:
    """The mass properties, in the link's axes."""
    pose = pose_of(inertial.one("origin"))
    mass = inertial.need("mass").number("value")
    given = inertial.one("inertia")
    return lump(inertial, pose, mass, [0.0 if given is None else given.number(f"i{n}", 0.0) for n in TENSOR])


def _shape(drawn: Element) -> tuple[Solid, Pose] | None:
    """The shape of a <visual> or <collision> as a massless solid for drawing; None, with a note, for a missing mesh."""
    pose = pose_of(drawn.one("origin"))
    geometry = drawn.need("geometry")
    box, cylinder, sphere = (geometry.one(tag) for tag in ("box", "cylinder", "sphere"))
    mesh = geometry.one("mesh")
    if mesh is not None:
        try:
            named, scale = mesh.text("filename"), mesh.numbers("scale", 3, (1.0, 1.0, 1.0))
            return drawable(mesh.source, mesh.file.parent, named, scale), pose
        except MissingPackage as error:
            mesh.note(f"mesh {mesh.text('filename')!r} is not drawn: {error}")
        except FileError as error:
            mesh.note(f"{error}, and not drawn")
    if box is not None:
        return Box(box.numbers("size", 3), 0.0), pose  # type: ignore[arg-type]
    if cylinder is not None:
        return Cylinder(cylinder.number("length"), cylinder.number("radius"), 0.0), pose
    return None if sphere is None else (Sphere(sphere.number("radius"), 0.0), pose)


def _limits(joint: Element) -> tuple[float | None, float | None] | None:
    """(low, high), or None for a continuous joint and one that gives neither."""
    limit = joint.one("limit")
    if limit is None or not (limit.has("lower") or limit.has("upper")):
        return None
    low, high = (limit.number(side, 0.0, unbounded=True) for side in ("lower", "upper"))
    if low > high:
        raise limit.error(f"the lower limit {low:g} is above the upper limit {high:g}")
    low, high = (None if abs(x) >= LIMITLESS else x for x in (low, high))
    return None if low is None and high is None else (low, high)
