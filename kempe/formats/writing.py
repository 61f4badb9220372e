"""Writing helpers: the tree of bodies, mass properties, and numbers with all their digits."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import MechanismError
from kempe.formats.poses import Pose
from kempe.kinds import short
from kempe.mechanism.bodies import Body, Lump, Marker, Part, Values, resolved, tensor_matrix
from kempe.spatial.vectors import skew

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism

ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # its z is the x of the base


def hanging(mechanism: "Mechanism", joints: Iterable["Joint"]) -> dict[Body, "Joint"]:
    """The joint that carries each body in a spanning tree from the ground outwards, built from the joints in order.

    Joints between bodies that are already connected are not in the tree; neither are bodies not connected to the
    ground.
    """
    group = {body: body for body in (mechanism.ground, *mechanism.bodies)}

    def top(body: Body) -> Body:
        while group[body] is not body:
            group[body] = body = group[group[body]]
        return body

    edges: dict[Body, list[Joint]] = {body: [] for body in group}
    for joint in joints:
        ends = top(joint.a.body), top(joint.b.body)
        if ends[0] is not ends[1]:
            group[ends[0]] = ends[1]
            for marker in (joint.a, joint.b):
                edges[marker.body].append(joint)
    carried: dict[Body, Joint] = {}
    waiting = [mechanism.ground]
    for body in waiting:
        for joint in edges[body]:
            child = joint.b.body if joint.a.body is body else joint.a.body
            if child is not mechanism.ground and carried.get(body) is not joint:
                carried[child] = joint
                waiting.append(child)
    return carried


def needs_coordinate(joint: "Joint") -> bool:
    """Whether anything acts along its freedoms or limits them."""
    said = (*joint.actuated, *joint.damping, *joint.stiffness, *joint.armature, *(x is not None for x in joint.limits))
    return any(said)


def mass_properties(body: Body, values: Values) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass [kg], centre of mass and the tensor about it [kg m^2], in the body's axes.

    Computed about centres of mass throughout: a tensor about the body's origin, m c^2 larger, would lose digits.
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
    place = part_pose(part, values)
    if part.rotation is not None:
        com, tensor = place.rotation @ com, place.rotation @ tensor @ place.rotation.T
    return float(mass), place.position + com, np.asarray(tensor, dtype=float)


def values_of(mechanism: "Mechanism") -> Values:
    """Its parameters by path, which positions may refer to."""
    known = mechanism.parameters

    def value(path: str) -> float:
        if path not in known:
            words = f"a position refers to {short(path)}, which is not one of its parameters; give a number or a path"
            raise MechanismError(f"{mechanism.name!r} cannot be saved: {words}")
        return known[path]

    return value


def part_pose(part: Part, values: Values) -> Pose:
    """The pose of a solid on its body."""
    rotation = np.eye(3) if part.rotation is None else np.asarray(part.rotation, dtype=float)
    return Pose(rotation, np.array(resolved(part.position, values), dtype=float))


def marker_pose(marker: Marker, values: Values) -> Pose:
    """The pose of a marker on its body."""
    return Pose(np.asarray(marker.rotation, dtype=float), np.array(marker.origin(values), dtype=float))


def number(x) -> str:
    """A number with all its digits; negative zero becomes zero."""
    return repr(float(x) + 0.0)


def numbers(values) -> str:
    """Numbers separated by spaces."""
    return " ".join(map(number, values))
