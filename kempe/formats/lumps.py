"""Mass properties: as in URDF and SDFormat, a tensor about the centre of mass, in its own axes."""

from collections.abc import Sequence

import numpy as np

from kempe.formats.poses import Pose
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Lump, Part, tensor_matrix


def lump(inertial: Element, pose: Pose, mass: float, entries: Sequence[float]) -> Part:
    """A lump from mass [kg] and the tensor xx, yy, zz, xy, xz, yz [kg m^2], rotated into the link's axes.

    pose: the centre of mass and the axes of the tensor, relative to the link.
    """
    if mass < 0:
        raise inertial.error(f"the mass is {mass:g} kg; it cannot be negative")
    if not np.array_equal(pose.rotation, np.eye(3)):
        tensor = pose.rotation @ tensor_matrix(*entries) @ pose.rotation.T
        entries = [float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return Part("", Lump(mass, tuple(pose.position.tolist()), tuple(entries)))  # type: ignore[arg-type]
