"""Mechanisms written as URDF+: a tree of <joint>s and a <loop> for every joint that closes one.

A link's frame is that of the joint which carries it, so bodies are written in the frame of the marker at which they are
carried. The tree takes the joints that need a coordinate first (actuated, limited, damped), then the others that URDF
has; what URDF cannot say is returned in sentences, and where nothing sensible is left, raised.
"""

from collections.abc import Iterator
from math import inf, isinf
from xml.sax.saxutils import quoteattr

import numpy as np

from kempe.errors import MechanismError
from kempe.formats.poses import HERE, Pose, angles_of
from kempe.formats.urdf import LIMITLESS
from kempe.mechanism.bodies import Body, Box, Cylinder, Lump, Marker, Part, Rod, Sphere, Values, resolved, tensor_matrix
from kempe.mechanism.mechanism import Joint, Mechanism
from kempe.spatial.vectors import skew

IN_TREE = ("revolute", "prismatic", "fixed", "planar", "free")
IN_LOOP = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed")
GRAVITY = (0.0, 0.0, -9.81)
ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # its z is the x of what it is seen from


def text(mechanism: Mechanism) -> tuple[str, list[str]]:
    """A mechanism as the XML of a file, and what could not be said."""
    return _Writer(mechanism).text()


class _Writer:
    """A mechanism with the frame of every link chosen, and lines of XML."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.values = mechanism.parameters.__getitem__
        self.notes: list[str] = []
        self._refuse()
        self.carried = self._tree()  # joints by the body they carry, from the ground outwards
        self.frames: dict[Body, Pose] = {mechanism.ground: HERE}  # links' frames on their bodies
        for body, joint in self.carried.items():
            self.frames[body] = self._pose(joint.b if joint.b.body is body else joint.a)

    def text(self) -> tuple[str, list[str]]:
        """The file, and what it does not say."""
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

    # ---- what there is and what there is not -----------------------------------------------------------

    def _refuse(self) -> None:
        """What would be another mechanism if it were left out."""
        for body in self.mechanism.bodies:
            if body.beam is not None:
                raise MechanismError(f"body {body.name!r} is a beam, and links of URDF do not bend; save it as YAML")
        for joint in self.mechanism.joints:
            if joint.switchable:
                raise MechanismError(f"joint {joint.name!r} is switchable, which URDF cannot say; save it as YAML")
            if joint.type.name == "helical":
                raise MechanismError(f"joint {joint.name!r} is helical, which URDF cannot say; save it as YAML")

    def _leave_out(self) -> None:
        """What the file goes without."""
        m = self.mechanism
        if tuple(m.gravity) != GRAVITY:
            said = ", ".join(f"{x:g}" for x in m.gravity)
            self.notes.append(f"gravity ({said}) is not written: URDF has none, and it is read as (0, 0, -9.81)")
        for load in m.loads:
            self.notes.append(f"load {load.name!r} is not written: URDF has no loads")
        for joint in m.joints:
            for quantity in ("stiffness", "armature"):
                if any(getattr(joint, quantity)):
                    self.notes.append(f"{quantity} of joint {joint.name!r} is not written: URDF has none")
        named = [
            f"{b.name}.{n}" for b in (m.ground, *m.bodies) for n in b.markers if n not in ("origin", "start", "end")
        ]
        if named:
            self.notes.append(f"markers {', '.join(named)} are not written: URDF has none")
        if m.ground.parts:
            self.notes.append("solids of the ground are not written")

    def _tree(self) -> dict[Body, Joint]:
        """A spanning tree of joints that URDF has, those that need a coordinate first."""
        group = {body: body for body in (self.mechanism.ground, *self.mechanism.bodies)}

        def top(body: Body) -> Body:
            while group[body] is not body:
                body = group[body]
            return body

        edges: dict[Body, list[Joint]] = {body: [] for body in group}
        for joint in sorted(self.mechanism.joints, key=lambda joint: not _needs_coordinate(joint)):
            ends = top(joint.a.body), top(joint.b.body)
            if joint.type.name in IN_TREE and ends[0] is not ends[1]:
                group[ends[0]] = ends[1]
                for marker in (joint.a, joint.b):
                    edges[marker.body].append(joint)
        carried: dict[Body, Joint] = {}
        waiting = [self.mechanism.ground]
        for body in waiting:
            for joint in edges[body]:
                child = joint.b.body if joint.a.body is body else joint.a.body
                if child is not self.mechanism.ground and carried.get(body) is not joint:
                    carried[child] = joint
                    waiting.append(child)
        for body in self.mechanism.bodies:
            if body not in carried:
                raise MechanismError(self._why_not(body))
        return carried

    def _why_not(self, body: Body) -> str:
        others = [j for j in self.mechanism.joints if body in (j.a.body, j.b.body) and j.type.name not in IN_TREE]
        if not others:
            return f"body {body.name!r} does not hang on the ground by joints that URDF has ({', '.join(IN_TREE)})"
        which = ", ".join(f"{joint.name} ({joint.type.name})" for joint in others)
        return (
            f"body {body.name!r} hangs on {which}, and a tree of URDF has only joints that are {', '.join(IN_TREE)}; "
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
        inertia = " ".join(f'{name}="{_number(x)}"' for name, x in named.items())
        return [
            "    <inertial>",
            f"      {_origin(Pose(np.eye(3), com))}",
            f'      <mass value="{_number(mass)}"/>',
            f"      <inertia {inertia}/>",
            "    </inertial>",
        ]

    def _visuals(self, body: Body) -> list[str]:
        lines = []
        for part in body.parts:
            for shape, inner in _shapes(part):
                place = self.frames[body].inverse().then(_part_pose(part, self.values)).then(inner)
                lines.append(f"    <visual>{_origin(place)}<geometry>{shape}</geometry></visual>")
        return lines

    def _joint(self, joint: Joint, child: Body) -> list[str]:
        forward = joint.b.body is child
        carrier = joint.a if forward else joint.b
        name = joint.type.name
        if not forward and name in ("planar", "free"):
            raise MechanismError(f"joint {joint.name!r} is {name} and is written from {child.name!r}; swap its markers")
        limit = joint.limits[0] if len(joint.limits) == 1 else None
        kind = {"free": "floating", "revolute": "revolute" if limit else "continuous"}.get(name, name)
        place = self.frames[carrier.body].inverse().then(self._pose(carrier))
        lines = [
            f"  <joint name={quoteattr(joint.name)} type={quoteattr(kind)}>",
            f"    <parent link={quoteattr(carrier.body.name)}/><child link={quoteattr(child.name)}/>",
            f"    {_origin(place)}",
        ]
        if joint.axes:
            # Seen from b the joint turns a the other way, about the same line.
            lines.append(f"    <axis {_xyz(joint.axes[0] if forward else -joint.axes[0])}/>")
        if name in ("revolute", "prismatic"):
            low, high = limit or (-inf, inf)
            span = f'lower="{_limit(low)}" upper="{_limit(high)}" ' if kind != "continuous" else ""
            effort = _number(LIMITLESS if any(joint.actuated) else 0.0)
            lines.append(f'    <limit {span}effort="{effort}" velocity="{_number(LIMITLESS)}"/>')
        elif any(joint.actuated) or any(joint.limits):
            self.notes.append(f"limits and actuation of joint {joint.name!r} are not written: it is {name}")
        if any(joint.damping):
            if len(set(joint.damping)) > 1:
                self.notes.append(f"joint {joint.name!r}: URDF has one damping for all freedoms; the first is written")
            lines.append(f'    <dynamics damping="{_number(joint.damping[0])}"/>')
        return [*lines, "  </joint>"]

    def _loop(self, joint: Joint) -> list[str]:
        kind = joint.type.name
        if kind not in IN_LOOP:
            self.notes.append(
                f"joint {joint.name!r} closes a loop and is {kind}, which holds nothing: it is not written"
            )
            return []
        if _needs_coordinate(joint):
            self.notes.append(f"joint {joint.name!r} closes a loop: limits, actuation and damping are not written")
        lines = [f"  <loop name={quoteattr(joint.name)} type={quoteattr(kind)}>"]
        for tag, marker in (("predecessor", joint.a), ("successor", joint.b)):
            place = self.frames[marker.body].inverse().then(self._pose(marker))
            lines.append(f"    <{tag} link={quoteattr(marker.body.name)}>{_origin(place)}</{tag}>")
        lines += [f"    <{tag} {_xyz(x)}/>" for tag, x in zip(("axis", "axis2"), joint.axes, strict=False)]
        return [*lines, "  </loop>"]

    def _pose(self, marker: Marker) -> Pose:
        return Pose(np.asarray(marker.rotation, dtype=float), np.array(marker.origin(self.values), dtype=float))


def mass_properties(body: Body, values: Values) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass [kg], centre of mass and the tensor about it [kg m^2], in the body's axes.

    Worked out about centres of mass throughout: a tensor about the body's origin, m c^2 larger, would lose digits.
    """
    lumps = [lump for part in body.parts if (lump := _lump(part, values))[0] or lump[2].any()]
    if len(lumps) == 1:
        return lumps[0]
    mass = sum(lump[0] for lump in lumps)
    com = sum((m * at for m, at, _ in lumps), np.zeros(3)) / (mass or 1.0)
    arms = [skew(at - com) for _, at, _ in lumps]
    tensor = sum((own - m * arm @ arm for (m, _, own), arm in zip(lumps, arms, strict=True)), np.zeros((3, 3)))
    return mass, com, tensor


def _lump(part: Part, values: Values) -> tuple[float, np.ndarray, np.ndarray]:
    """A part's mass, centre of mass and the tensor about it, in the body's axes."""
    solid = part.solid
    if isinstance(solid, Lump):
        mass, com, tensor = solid.mass, np.array(solid.com), tensor_matrix(*solid.tensor)
    else:
        own = solid.inertia(solid.parameters().__getitem__)
        mass, com = own.mass, own.moment / (own.mass or 1.0)
        tensor = own.tensor + own.mass * skew(com) @ skew(com)
    place = _part_pose(part, values)
    if part.rotation is not None:
        com, tensor = place.rotation @ com, place.rotation @ tensor @ place.rotation.T
    return float(mass), place.position + com, np.asarray(tensor, dtype=float)


def _part_pose(part: Part, values: Values) -> Pose:
    rotation = np.eye(3) if part.rotation is None else np.asarray(part.rotation, dtype=float)
    return Pose(rotation, np.array(resolved(part.position, values), dtype=float))


def _shapes(part: Part) -> Iterator[tuple[str, Pose]]:
    """The primitives of URDF that look like a solid, and where they are on it."""
    solid = part.solid
    if isinstance(solid, Box):
        yield f'<box size="{_numbers(solid.size)}"/>', HERE
    elif isinstance(solid, Sphere):
        yield f'<sphere radius="{_number(solid.radius)}"/>', HERE
    elif isinstance(solid, Cylinder):
        yield f'<cylinder radius="{_number(solid.radius)}" length="{_number(solid.length)}"/>', HERE
    elif isinstance(solid, Rod) and solid.radius:
        middle = Pose(ALONG_X, np.array([solid.length / 2, 0.0, 0.0]))
        yield f'<cylinder radius="{_number(solid.radius)}" length="{_number(solid.length)}"/>', middle


def _needs_coordinate(joint: Joint) -> bool:
    said = (*joint.actuated, *joint.damping, *joint.stiffness, *joint.armature, *(x is not None for x in joint.limits))
    return any(said)


def _limit(x: float) -> str:
    """Readers of URDF want finite numbers; beyond LIMITLESS they are read as none."""
    return _number(np.sign(x) * LIMITLESS if isinf(x) else x)


def _origin(pose: Pose) -> str:
    return f'<origin {_xyz(pose.position)} rpy="{_numbers(angles_of(pose.rotation))}"/>'


def _xyz(vector) -> str:
    return f'xyz="{_numbers(vector)}"'


def _numbers(values) -> str:
    return " ".join(map(_number, values))


def _number(x) -> str:
    """With all its digits; negative zero is zero."""
    return repr(float(x) + 0.0)
