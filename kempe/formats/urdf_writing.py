"""Writing URDF+: mechanisms as a tree of <joint>s and a <loop> for every joint that closes one.

A link's frame is that of the joint that carries it, so bodies are written in the frame of their carrying marker. The
tree prefers joints that need a coordinate (actuated, limited, damped), then others that URDF has. What URDF cannot
express is returned in sentences, or raised where the result would be a different mechanism.
"""

from collections.abc import Iterator
from math import inf, isinf
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from kempe.errors import MechanismError
from kempe.formats.poses import HERE, LIMITLESS, Pose, angles_of
from kempe.formats.writing import (
    ALONG_X,
    hanging,
    marker_pose,
    mass_properties,
    needs_coordinate,
    number,
    numbers,
    part_pose,
    values_of,
)
from kempe.mechanism.bodies import Body, Box, Cylinder, Part, Rod, Sphere
from kempe.mechanism.solids import MeshFile

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism

IN_TREE = ("revolute", "prismatic", "fixed", "planar", "free")
IN_LOOP = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed")
GRAVITY = (0.0, 0.0, -9.81)


def text(mechanism: "Mechanism") -> tuple[str, list[str]]:
    """A mechanism as XML, and sentences about what it cannot express."""
    return _Writer(mechanism).text()


class _Writer:
    """Chooses the frame of every link and writes the lines of XML."""

    def __init__(self, mechanism: "Mechanism"):
        self.mechanism = mechanism
        self.coupled = {name for each in mechanism.couplings for name in each.coefficients}
        self.values = values_of(mechanism)
        self.notes: list[str] = []
        self._refuse()
        self.carried = self._tree()  # joints by carried body, from the ground outwards
        self.frames: dict[Body, Pose] = {mechanism.ground: HERE}  # the links' frames on their bodies
        self.mimics = self._mimics()
        for body, joint in self.carried.items():
            self.frames[body] = marker_pose(joint.b if joint.b.body is body else joint.a, self.values)

    def text(self) -> tuple[str, list[str]]:
        """The file, and sentences about what it cannot express."""
        lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(self.mechanism.name)}>", '  <link name="ground"/>']
        for body in self.mechanism.bodies:
            lines += [f"  <link name={quoteattr(body.name)}>", *self._inertial(body), *self._visuals(body), "  </link>"]
        for body, joint in self.carried.items():
            lines += self._joint(joint, body)
        for joint in self.mechanism.joints:
            if joint not in self.carried.values():
                lines += self._loop(joint)
        self._leave_out()
        return "\n".join([*lines, "</robot>", ""]), self.notes

    # ---- what URDF cannot express ----------------------------------------------------------------------

    def _refuse(self) -> None:
        """Raises for parts without which it would be a different mechanism."""
        for body in self.mechanism.bodies:
            if body.beam is not None:
                raise MechanismError(f"body {body.name!r} is a beam, and URDF has only rigid links; save it as YAML")
        for joint in self.mechanism.joints:
            if joint.switchable:
                raise MechanismError(f"joint {joint.name!r} is switchable, which URDF cannot express; save it as YAML")
            if joint.type.name == "helical":
                raise MechanismError(f"joint {joint.name!r} is helical, which URDF cannot express; save it as YAML")

    def _leave_out(self) -> None:
        """Notes what the file leaves out."""
        m = self.mechanism
        if tuple(m.gravity) != GRAVITY:
            said = ", ".join(f"{x:g}" for x in m.gravity)
            self.notes.append(f"gravity ({said}) is not written: URDF has none, and reading sets (0, 0, -9.81)")
        for load in m.loads:
            self.notes.append(f"load {load.name!r} is not written: URDF has no loads")
        for joint in m.joints:
            for quantity in ("stiffness", "armature"):
                if any(getattr(joint, quantity)):
                    self.notes.append(f"{quantity} of joint {joint.name!r} is not written: URDF has none")
            if joint.drawn:
                self.notes.append(f"joint {joint.name!r} is drawn at zero: URDF has no other drawn pose")
        named = [
            f"{b.name}.{n}" for b in (m.ground, *m.bodies) for n in b.markers if n not in ("origin", "start", "end")
        ]
        if named:
            self.notes.append(f"markers {', '.join(named)} are not written: URDF has none")
        if m.ground.parts:
            self.notes.append("solids of the ground are not written")

    def _tree(self) -> dict[Body, "Joint"]:
        """A spanning tree of joints that URDF has, preferring those that need a coordinate."""
        known = [joint for joint in self.mechanism.joints if joint.type.name in IN_TREE]
        carried = hanging(self.mechanism, sorted(known, key=lambda joint: not self._wanted(joint)))
        for body in self.mechanism.bodies:
            if body not in carried:
                raise MechanismError(self._why_not(body))
        return carried

    def _wanted(self, joint: "Joint") -> bool:
        return needs_coordinate(joint) or joint.name in self.coupled

    def _mimics(self) -> dict[str, str]:
        """<mimic> elements by joint: q = multiplier q_other + offset; at most one, for an unactuated joint."""
        driven = {joint.name: any(joint.actuated) for joint in self.carried.values()}
        found: dict[str, str] = {}
        for each in self.mechanism.couplings:
            own, *rest = sorted(each.coefficients.items(), key=lambda term: driven.get(term[0], True))
            if len(rest) != 1 or own[0] in found or driven.get(own[0], True) or rest[0][0] not in driven:
                self.notes.append(
                    f"coupling {each.name!r} is not written: in URDF an unactuated joint mimics one other"
                )
                continue
            other, factor, offset = rest[0][0], -rest[0][1] / own[1], each.offset / own[1]
            line = f'multiplier="{number(factor)}" offset="{number(offset)}"'
            found[own[0]] = f"    <mimic joint={quoteattr(other)} {line}/>"
        return found

    def _why_not(self, body: Body) -> str:
        others = [j for j in self.mechanism.joints if body in (j.a.body, j.b.body) and j.type.name not in IN_TREE]
        if not others:
            return f"body {body.name!r} is not connected to the ground by joints that URDF has ({', '.join(IN_TREE)})"
        which = ", ".join(f"{joint.name} ({joint.type.name})" for joint in others)
        return (
            f"body {body.name!r} is carried by {which}, but URDF trees only have joints that are {', '.join(IN_TREE)}; "
            "save it as YAML"
        )

    # ---- elements --------------------------------------------------------------------------------------

    def _inertial(self, body: Body) -> list[str]:
        mass, com, tensor = mass_properties(body, self.values)
        if not mass and not tensor.any():
            return []
        frame = self.frames[body]
        com = frame.inverse().then(Pose(np.eye(3), com)).position
        if not np.array_equal(frame.rotation, np.eye(3)):
            tensor = frame.rotation.T @ tensor @ frame.rotation
        named = {f"i{m}{n}": tensor[i, j] for i, m in enumerate("xyz") for j, n in enumerate("xyz") if i <= j}
        inertia = " ".join(f'{name}="{number(x)}"' for name, x in named.items())
        return [
            "    <inertial>",
            f"      {_origin(Pose(np.eye(3), com))}",
            f'      <mass value="{number(mass)}"/>',
            f"      <inertia {inertia}/>",
            "    </inertial>",
        ]

    def _visuals(self, body: Body) -> list[str]:
        lines = []
        for part in body.parts:
            for shape, inner in _shapes(part):
                place = self.frames[body].inverse().then(part_pose(part, self.values)).then(inner)
                lines.append(f"    <visual>{_origin(place)}<geometry>{shape}</geometry></visual>")
        return lines

    def _joint(self, joint: "Joint", child: Body) -> list[str]:
        forward = joint.b.body is child
        carrier = joint.a if forward else joint.b
        name = joint.type.name
        if not forward and name in ("planar", "free"):
            raise MechanismError(
                f"joint {joint.name!r} is {name} and would be written from {child.name!r}; swap its markers"
            )
        limit = joint.limits[0] if len(joint.limits) == 1 else None
        kind = {"free": "floating", "revolute": "revolute" if limit else "continuous"}.get(name, name)
        place = self.frames[carrier.body].inverse().then(marker_pose(carrier, self.values))
        lines = [
            f"  <joint name={quoteattr(joint.name)} type={quoteattr(kind)}>",
            f"    <parent link={quoteattr(carrier.body.name)}/><child link={quoteattr(child.name)}/>",
            f"    {_origin(place)}",
        ]
        if joint.axes:
            # Seen from b, the joint turns a the other way about the same line.
            lines.append(f"    <axis {_xyz(joint.axes[0] if forward else -joint.axes[0])}/>")
        if name in ("revolute", "prismatic"):
            low, high = limit or (-inf, inf)
            span = f'lower="{_limit(low)}" upper="{_limit(high)}" ' if kind != "continuous" else ""
            effort = number(LIMITLESS if any(joint.actuated) else 0.0)
            lines.append(f'    <limit {span}effort="{effort}" velocity="{number(LIMITLESS)}"/>')
        elif any(joint.actuated) or any(joint.limits):
            self.notes.append(f"limits and actuation of joint {joint.name!r} are not written: it is {name}")
        if any(joint.damping):
            if len(set(joint.damping)) > 1:
                self.notes.append(f"joint {joint.name!r}: URDF has one damping for all freedoms; the first is written")
            lines.append(f'    <dynamics damping="{number(joint.damping[0])}"/>')
        if joint.name in self.mimics:
            lines.append(self.mimics[joint.name])
        return [*lines, "  </joint>"]

    def _loop(self, joint: "Joint") -> list[str]:
        kind = joint.type.name
        if kind not in IN_LOOP:
            self.notes.append(
                f"joint {joint.name!r} closes a loop but is {kind}, so it constrains nothing and is not written"
            )
            return []
        if needs_coordinate(joint):
            self.notes.append(f"joint {joint.name!r} closes a loop: limits, actuation and damping are not written")
        lines = [f"  <loop name={quoteattr(joint.name)} type={quoteattr(kind)}>"]
        for tag, marker in (("predecessor", joint.a), ("successor", joint.b)):
            place = self.frames[marker.body].inverse().then(marker_pose(marker, self.values))
            lines.append(f"    <{tag} link={quoteattr(marker.body.name)}>{_origin(place)}</{tag}>")
        lines += [f"    <{tag} {_xyz(x)}/>" for tag, x in zip(("axis", "axis2"), joint.axes, strict=False)]
        return [*lines, "  </loop>"]


def _shapes(part: Part) -> Iterator[tuple[str, Pose]]:
    """URDF primitives that draw a solid, and their poses on it."""
    solid = part.solid
    if isinstance(solid, Box):
        yield f'<box size="{numbers(solid.size)}"/>', HERE
    elif isinstance(solid, Sphere):
        yield f'<sphere radius="{number(solid.radius)}"/>', HERE
    elif isinstance(solid, Cylinder):
        yield f'<cylinder radius="{number(solid.radius)}" length="{number(solid.length)}"/>', HERE
    elif isinstance(solid, MeshFile):
        yield f'<mesh filename={quoteattr(solid.file)} scale="{numbers(solid.scale)}"/>', HERE
    elif isinstance(solid, Rod) and solid.radius:
        middle = Pose(ALONG_X, np.array([solid.length / 2, 0.0, 0.0]))
        yield f'<cylinder radius="{number(solid.radius)}" length="{number(solid.length)}"/>', middle


def _limit(x: float) -> str:
    """URDF readers want finite numbers; from LIMITLESS on they mean no limit."""
    return number(np.sign(x) * LIMITLESS if isinf(x) else x)


def _origin(pose: Pose) -> str:
    return f'<origin {_xyz(pose.position)} rpy="{numbers(angles_of(pose.rotation))}"/>'


def _xyz(vector) -> str:
    return f'xyz="{numbers(vector)}"'
