"""Writing bodies as MJCF: mass properties, and geoms for their shapes."""

from collections import defaultdict

import numpy as np

from kempe.errors import MechanismError
from kempe.formats.poses import HERE, Pose
from kempe.formats.writing import ALONG_X, mass_properties, number, numbers, part_pose
from kempe.mechanism.bodies import Body, Box, Cylinder, Hub, Lump, PointMass, Rod, Solid, Sphere, Values
from kempe.mechanism.solids import Ellipsoid

LEAST = 1e-14  # kg, or kg m^2: MuJoCo refuses moving bodies with less than 1e-15
ROUNDING = 1e-12
SLENDER = 1 / 50  # radius per length of the geom drawn for a thin rod
# Notes, each with the names of the bodies it is about.
NO_MASS = f"no mass, which MuJoCo refuses for moving bodies: {LEAST:g} kg and kg m^2 are written"
NO_MOMENT = f"no moment of inertia about some axis, which MuJoCo refuses: {LEAST:g} kg m^2 is written"
NO_BODY = "a moment of inertia larger than the sum of the other two: MuJoCo refuses the file, or takes the mean"
NO_STUFF = "no mass and only joints, which are written on the next body: its name is lost"
NO_GEOM = "a plate, a mesh or a shape without size: no geom is written for it"
Odd = defaultdict[str, list[str]]


def place(pose: Pose) -> dict[str, str]:
    """Attributes for position and axes, where they differ from those of the parent."""
    said = {"pos": numbers(pose.position)} if pose.position.any() else {}
    if not np.array_equal(pose.rotation, np.eye(3)):
        said["xyaxes"] = numbers(pose.rotation[:, :2].T.ravel())
    return said


def inertial(body: Body, values: Values, share: float, moves: bool, odd: Odd) -> dict[str, str]:
    """Attributes of an <inertial>, with principal moments; empty for a massless body that does not move."""
    mass, com, tensor = mass_properties(body, values)
    mass, tensor = share * mass, share * tensor
    if not np.isfinite(tensor).all():
        raise MechanismError(f"body {body.name!r}: its inertia is not finite; give other lengths or masses")
    if not moves and not mass and not tensor.any():
        return {}
    if np.array_equal(tensor, np.diag(np.diag(tensor))):
        moments, axes = np.diag(tensor).copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(tensor)
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    none = (moments < LEAST) & (moments >= -ROUNDING * np.abs(moments).max())  # files may have negative ones
    if moves and mass < LEAST:
        odd[NO_MASS].append(body.name)
    elif moves and none.any():
        odd[NO_MOMENT].append(body.name)
    if moves:
        mass, moments = max(mass, LEAST), np.where(none, LEAST, moments)
    largest = int(np.argmax(moments))
    others = float(np.delete(moments, largest).sum())
    if others < moments[largest] * (1 - ROUNDING):
        odd[NO_BODY].append(body.name)
    else:
        moments[largest] = min(moments[largest], others)  # for plates, where rounding decides which is larger
    pose = Pose(axes, com)
    return {"pos": numbers(com), **place(pose), "mass": number(mass), "diaginertia": numbers(moments)}


def geoms(body: Body, name: str, values: Values, odd: Odd) -> list[dict[str, str]]:
    """Geoms for its solids, with the names of the solids if they have any."""
    found = []
    for part in body.parts:
        type, size, inner = _shape(part.solid)
        if size and min(size) > 0:
            named = {"name": f"{name}.{part.name}"} if part.name else {}
            at = place(part_pose(part, values).then(inner))
            found.append({**named, "type": type, "size": numbers(size), **at})
        elif type:
            odd[NO_GEOM].append(".".join(word for word in (body.name, part.name) if word))
    return found


def _shape(solid: Solid) -> tuple[str, tuple[float, ...], Pose]:
    """Type and half sizes of a geom, and its pose on the solid; no sizes if MJCF has no such geom, no type if the solid
    is never drawn."""
    if isinstance(solid, Box):
        x, y, z = solid.size
        return "box", (x / 2, y / 2, z / 2), HERE
    if isinstance(solid, Ellipsoid):
        x, y, z = solid.size
        return "ellipsoid", (x / 2, y / 2, z / 2), HERE
    if isinstance(solid, Sphere):
        return "sphere", (solid.radius,), HERE
    if isinstance(solid, Cylinder):
        return "cylinder", (solid.radius, solid.length / 2), HERE
    if isinstance(solid, Rod):
        middle = Pose(ALONG_X, np.array([solid.length / 2, 0.0, 0.0]))
        return "cylinder", (solid.radius or SLENDER * solid.length, solid.length / 2), middle
    return ("" if isinstance(solid, (Lump, PointMass, Hub)) else solid.kind), (), HERE
