"""Poses: as in URDF and SDFormat, a position with roll, pitch and yaw about fixed axes."""

from math import atan2, cos, hypot, sin
from typing import NamedTuple

import numpy as np

from kempe.formats.xml import Element

LIMITLESS = 1e16  # in files, a limit of this size is none


class Pose(NamedTuple):
    """The pose of a frame relative to another: its axes as columns, and its origin [m]."""

    rotation: np.ndarray
    position: np.ndarray

    def then(self, inner: "Pose") -> "Pose":
        """The composition: the pose of `inner`, given in this frame, relative to the base of this one."""
        return Pose(self.rotation @ inner.rotation, self.position + self.rotation @ inner.position)

    def inverse(self) -> "Pose":
        """The pose of the base frame relative to this one."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)


HERE = Pose(np.eye(3), np.zeros(3))


def rotation_of(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """The rotation about fixed x, then y, then z: Rz(yaw) Ry(pitch) Rx(roll), angles in radians."""
    (cr, sr), (cp, sp), (cy, sy) = ((cos(x), sin(x)) for x in (roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def angles_of(rotation: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a rotation; if pitch is a right angle they are not unique, and yaw is zero.

    Close to that, yaw has few digits. Roll is computed from what that yaw leaves of the rotation, so together they are
    exact.
    """
    r = rotation
    flat = hypot(r[0, 0], r[1, 0])
    yaw = 0.0 if flat < 1e-12 else atan2(r[1, 0], r[0, 0])
    c, s = cos(yaw), sin(yaw)
    return atan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1]), atan2(-r[2, 0], flat), yaw


def turning(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The shortest rotation from one direction to another; about any perpendicular axis if they are opposite."""
    a, b = start / np.linalg.norm(start), end / np.linalg.norm(end)
    if a @ b < -1 + 1e-12:
        across = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        across /= np.linalg.norm(across)
        return 2 * np.outer(across, across) - np.eye(3)
    # A half turn about a, then one about the bisector of a and b, takes a to b.
    middle = (a + b) / np.linalg.norm(a + b)
    return (2 * np.outer(middle, middle) - np.eye(3)) @ (2 * np.outer(a, a) - np.eye(3))


def pose_of(origin: Element | None) -> Pose:
    """The pose of an <origin xyz rpy>; without one, no offset."""
    if origin is None:
        return HERE
    angles, position = (origin.numbers(name, 3, (0.0, 0.0, 0.0)) for name in ("rpy", "xyz"))
    return Pose(rotation_of(*angles), np.array(position))
