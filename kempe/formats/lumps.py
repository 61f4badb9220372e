"""Mass properties as URDF and SDFormat write them: a tensor about the centre of mass, in axes of its own."""

from collections.abc import Sequence

import numpy as np

from kempe.formats.poses import Pose
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Lump, Part, tensor_matrix


def lump(inertial: Element, pose: Pose, mass: float, entries: Sequence[float]) -> Part:
    """Mass [kg], centre of mass, and the tensor about it, xx, yy, zz, xy, xz, yz [kg m^2], turned into the link's axes.

    pose: of the centre of mass, and of the axes the tensor is given in, seen from the link.
    """
    if mass < 0:
        raise inertial.error(f"the mass is {mass:g} kg; it cannot be negative")
    if not np.array_equal(pose.rotation, np.eye(3)):
        tensor = pose.rotation @ tensor_matrix(*entries) @ pose.rotation.T
        entries = [float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return Part("", Lump(mass, tuple(pose.position.tolist()), tuple(entries)))  # type: ignore[arg-type]
