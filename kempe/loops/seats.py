"""Seats: the frame a marker is fixed to at a state, a body's or a beam section's, and its motion."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.mechanism.flexible import section
from kempe.spatial.moves import relative_pose

if TYPE_CHECKING:
    from kempe.mechanics.layout import Layout
    from kempe.mechanism.bodies import Marker, Values


@dataclass(frozen=True, eq=False)
class Seat:
    """Axes and origin in the world; v: the velocities that bend it; angular, linear: its twist in world axes per unit
    of each, with the beam's frame at rest."""

    rotation: np.ndarray
    position: np.ndarray
    v: slice
    angular: np.ndarray
    linear: np.ndarray


def seat(
    mechanics: "Layout", pose: tuple[np.ndarray, np.ndarray], marker: "Marker", q: np.ndarray, value: "Values"
) -> Seat:
    """The seat of a marker on a body with that pose."""
    rotation, position = pose
    if marker.station is None:
        return Seat(rotation, position, slice(0, 0), np.zeros((3, 0)), np.zeros((3, 0)))
    at = mechanics.joint(marker.body.name)
    kind = section(marker, value)
    posture = kind.posture(q[at.q])
    turn, place = (np.asarray(x, dtype=float) for x in relative_pose(kind.moves(posture)))
    axes = rotation @ turn
    angular, linear = (axes @ np.asarray(x, dtype=float) for x in kind.subspace(posture))
    return Seat(axes, position + rotation @ place, at.v, angular, linear)
