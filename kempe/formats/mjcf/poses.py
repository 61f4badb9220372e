"""Poses of MJCF: a position, and axes given by a quaternion, axis and angle, Euler angles, two axes or one."""

import math

import numpy as np

from kempe.formats.mjcf.settings import Settings
from kempe.formats.poses import Pose
from kempe.formats.xml import Element
from kempe.spatial import quaternions

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


def point(pose: Pose, inside: np.ndarray) -> np.ndarray:
    """A point given in a frame, in the frame's base."""
    return pose.position + pose.rotation @ inside


def turn_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation by an angle about a unit axis."""
    return quaternions.to_matrix(quaternions.exponential(np.asarray(axis) * angle))


def z_along(direction: np.ndarray) -> np.ndarray:
    """The shortest rotation that takes z to a direction; half a turn about x if that is straight down."""
    z = direction / np.linalg.norm(direction)
    side = np.array([-z[1], z[0], 0.0])  # z cross direction
    size = float(np.linalg.norm(side))
    if size < 1e-15:
        return np.eye(3) if z[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return turn_about(side / size, math.atan2(size, z[2]))


def read_pose(element: Element, settings: Settings) -> Pose:
    """The pose of a body, geom, site, frame or inertial."""
    return Pose(read_rotation(element, settings), np.array(element.numbers("pos", 3, (0.0, 0.0, 0.0))))


def read_rotation(element: Element, settings: Settings) -> np.ndarray:
    """The axes of an element in any form; every other form takes precedence over quat."""
    told = [name for name in ORIENTATIONS[1:] if element.has(name)]
    if len(told) > 1:
        raise element.error(f"its axes are given twice, by {' and '.join(told)}; give one")
    if not told:
        q = element.numbers("quat", 4, quaternions.IDENTITY)
        return quaternions.to_matrix(unit(element, "quat", q))
    if told == ["axisangle"]:
        x, y, z, angle = element.numbers("axisangle", 4)
        return turn_about(unit(element, "axisangle", (x, y, z)), angle * settings.angle)
    if told == ["euler"]:
        return _euler(element.numbers("euler", 3), settings)
    if told == ["zaxis"]:
        return z_along(unit(element, "zaxis", element.numbers("zaxis", 3)))
    given = element.numbers("xyaxes", 6)
    x = unit(element, "xyaxes", given[:3])
    y = np.array(given[3:]) - x * (x @ given[3:])
    y = unit(element, "xyaxes", y)
    return np.column_stack([x, y, np.cross(x, y)])


def unit(element: Element, name: str, vector) -> np.ndarray:
    """A direction or quaternion, normalized."""
    size = float(np.linalg.norm(vector))
    if not size > 1e-14:
        raise element.error(f"attribute {name} has length zero; give a direction")
    return np.asarray(vector, dtype=float) / size


def _euler(angles: tuple[float, ...], settings: Settings) -> np.ndarray:
    out = np.eye(3)
    for letter, angle in zip(settings.eulerseq, angles, strict=True):
        turn = turn_about(np.eye(3)["xyz".index(letter.lower())], angle * settings.angle)
        out = out @ turn if letter.islower() else turn @ out
    return out
