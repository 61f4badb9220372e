"""Joint axes: the rotation of a joint's frames that aligns its kind's canonical axes with the given ones."""

import numpy as np

from kempe.arithmetic.sums import norm, times
from kempe.mechanism.joints import JointKind, Revolute, Universal


def alignment(kind: type[JointKind], axes: tuple[np.ndarray, ...]) -> np.ndarray:
    """The rotation that aligns a kind's canonical axes with the given ones (one axis, or two for a universal joint)."""
    if not axes:
        return np.eye(3)
    if kind is Universal:
        first, second = (axis / norm(axis) for axis in axes)
        return np.column_stack([first, second, np.cross(first, second)])
    z = axes[0] / norm(axes[0])
    if z[0] == 0 and z[1] == 0:
        return np.eye(3) if z[2] > 0 else np.diag([1.0, -1.0, -1.0])
    # The shortest rotation from z to the axis keeps the other two axes close to where they were.
    side = np.array([-z[1], z[0], 0.0])
    k = np.array([[0, -side[2], side[1]], [side[2], 0, -side[0]], [-side[1], side[0], 0]])
    return np.eye(3) + k + times(k, k) / (1 + z[2]) if z[2] > -0.5 else _flipped(z)


def _flipped(z: np.ndarray) -> np.ndarray:
    """The alignment for axes that point down: half a turn about x first, which avoids division by 1 + z[2] = 0."""
    half = np.diag([1.0, -1.0, -1.0])
    return times(half, alignment(Revolute, (times(half, z),)))
