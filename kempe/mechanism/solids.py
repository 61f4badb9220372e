"""Solids: all kinds by name; those of `bodies`, plus ellipsoids and mesh files, which are only drawn."""

from dataclasses import dataclass

import numpy as np

from kempe.errors import MechanismError
from kempe.kinds import short
from kempe.mechanism.bodies import (
    Box,
    Cylinder,
    Hub,
    Lump,
    Plate,
    PointMass,
    Rod,
    Solid,
    Sphere,
    Values,
    tensor_matrix,
)
from kempe.mechanism.given import numbers
from kempe.spatial.inertia import RigidInertia


@dataclass(frozen=True)
class Ellipsoid(Solid):
    """A uniform ellipsoid with three diameters, centred at the origin."""

    size: tuple[float, float, float]
    mass: float
    kind = "ellipsoid"

    def inertia(self, value: Values) -> RigidInertia:
        """With semi-axes a, b, c: I_x = m (b^2 + c^2) / 5, the others cyclically."""
        x, y, z = (value(f"size.{n}") * value(f"size.{n}") for n in "xyz")
        share = value("mass") / 20
        return RigidInertia(
            value("mass"), np.zeros(3), tensor_matrix(share * (y + z), share * (x + z), share * (x + y))
        )


@dataclass(frozen=True)
class MeshFile(Solid):
    """The shape of a mesh file for drawing, scaled by `scale` along its own axes; it has no mass.

    The file is read when the mesh is drawn.
    """

    file: str
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    kind = "mesh"

    def __post_init__(self):
        if not isinstance(self.file, str) or not self.file:
            raise MechanismError(f"file of a mesh: give a path, not {short(self.file)}")
        object.__setattr__(self, "scale", numbers(self.scale, 3, f"scale of mesh {self.file!r}"))

    def parameters(self):
        """A mesh has no parameters."""
        return {}

    def inertia(self, value: Values) -> RigidInertia:
        """Zero."""
        return RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))


SOLIDS: dict[str, type[Solid]] = {
    s.kind: s for s in (Lump, Rod, Box, Cylinder, Sphere, Ellipsoid, Plate, PointMass, Hub, MeshFile)
}
