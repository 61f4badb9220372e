"""Moves: turns about a coordinate axis, rotations and shifts; a sequence of them leads from frame to frame.

Twists and accelerations are transformed along a move, wrenches, inertias and positions back. A rotation about a
coordinate axis leaves one component unchanged, and transforms a symmetric matrix with 8 multiplications instead of 45,
so constant rotations are decomposed into such turns (`turns_of`).
"""

import math
from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.angles import atan2, cos, sin
from kempe.arithmetic.sums import norm, times
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, is_zero, swing


@dataclass(frozen=True)
class Turn:
    """A rotation about coordinate axis 0, 1 or 2 by an angle with cosine c and sine s."""

    axis: int
    c: Scalar
    s: Scalar

    def along(self, x: Vector) -> Vector:
        """Components in the new frame of a vector given in the old one."""
        return self._mixed(x, self.s)

    def back(self, x: Vector) -> Vector:
        """Components in the old frame of a vector given in the new one."""
        return self._mixed(x, -self.s)

    def _mixed(self, x: Vector, s: Scalar) -> Vector:
        i, j = (self.axis + 1) % 3, (self.axis + 2) % 3
        out = list(x)
        out[i], out[j] = self.c * x[i] + s * x[j], self.c * x[j] - s * x[i]
        return array(out)

    def matrix_back(self, m: Matrix) -> Matrix:
        """R m R^T: a matrix given in the new frame, in the old one."""
        # In the plane of rotation [[a, d], [e, b]] becomes [[a - w, d + z], [e + z, b + w]].
        i, j, k = (self.axis + 1) % 3, (self.axis + 2) % 3, self.axis
        c, s = self.c, self.s
        product, square = c * s, s * s
        difference, total = m[i, i] - m[j, j], m[i, j] + m[j, i]
        w = square * difference + product * total
        z = product * difference - square * total
        entries = [[m[k, k]] * 3 for _ in range(3)]
        entries[i][i], entries[j][j] = m[i, i] - w, m[j, j] + w
        entries[i][j], entries[j][i] = m[i, j] + z, m[j, i] + z
        entries[i][k], entries[j][k] = c * m[i, k] - s * m[j, k], s * m[i, k] + c * m[j, k]
        entries[k][i], entries[k][j] = c * m[k, i] - s * m[k, j], s * m[k, i] + c * m[k, j]
        return array(x for row in entries for x in row).reshape(3, 3)

    def inverse(self) -> "Turn":
        """The move from the new frame to the old one."""
        return Turn(self.axis, self.c, -self.s)

    def matrix(self) -> Matrix:
        """R: maps components in the new frame to the old one."""
        return np.column_stack([self.back(e) for e in np.eye(3)])


@dataclass(frozen=True)
class Rotation:
    """Any rotation, by its matrix R, which maps components in the new frame to the old one."""

    r: Matrix

    def along(self, x: Vector) -> Vector:
        """Components in the new frame of a vector given in the old one."""
        return times(self.r.T, x)

    def back(self, x: Vector) -> Vector:
        """Components in the old frame of a vector given in the new one."""
        return times(self.r, x)

    def matrix_back(self, m: Matrix) -> Matrix:
        """R m R^T."""
        return times(times(self.r, m), self.r.T)

    def inverse(self) -> "Rotation":
        """The move from the new frame to the old one."""
        return Rotation(self.r.T)

    def matrix(self) -> Matrix:
        """R itself."""
        return self.r


@dataclass(frozen=True)
class Shift:
    """A translation: the new origin lies at r in the old frame."""

    r: Vector

    def inverse(self) -> "Shift":
        """The move from the new frame to the old one."""
        return Shift(-self.r)


Move = Turn | Rotation | Shift
Moves = tuple[Move, ...]


def inverse(moves: Moves) -> Moves:
    """The inverse moves."""
    return tuple(move.inverse() for move in reversed(moves))


def twist_along(moves: Moves, omega: Vector, velocity: Vector) -> tuple[Vector, Vector]:
    """Angular velocity and velocity of the origin, transformed to the new frame."""
    for move in moves:
        if isinstance(move, Shift):
            velocity = velocity + cross(omega, move.r)
        else:
            omega, velocity = move.along(omega), move.along(velocity)
    return omega, velocity


def spin_along(moves: Moves, omega: Vector) -> Vector:
    """An angular velocity, or any free vector, transformed to the new frame."""
    for move in moves:
        if not isinstance(move, Shift):
            omega = move.along(omega)
    return omega


def acceleration_along(moves: Moves, omega: Vector, alpha: Vector, a: Vector) -> tuple[Vector, Vector]:
    """Angular acceleration and acceleration of the origin, transformed between frames of a body rotating at omega."""
    for move in moves:
        if isinstance(move, Shift):
            a = a + swing(omega, alpha, move.r)
        else:
            omega, alpha, a = move.along(omega), move.along(alpha), move.along(a)
    return alpha, a


def wrench_back(moves: Moves, moment: Vector, force: Vector) -> tuple[Vector, Vector]:
    """A wrench at the new origin, transformed to the old one."""
    for move in reversed(moves):
        if isinstance(move, Shift):
            moment = moment + cross(move.r, force)
        else:
            moment, force = move.back(moment), move.back(force)
    return moment, force


def pose_along(moves: Moves, rotation: Matrix, position: Vector) -> tuple[Matrix, Vector]:
    """World axes and position of the next frame, from those of a frame."""
    for move in moves:
        if isinstance(move, Shift):
            position = position + times(rotation, move.r)
        else:
            rotation = np.vstack([move.along(row) for row in rotation])
    return rotation, position


def relative_pose(moves: Moves) -> tuple[Matrix, Vector]:
    """Axes and origin of the last frame in the first."""
    return pose_along(moves, np.eye(3), np.zeros(3))


def turns_of(r: Matrix) -> tuple[Turn, ...]:
    """A constant rotation as at most three turns about coordinate axes; none for the identity.

    A rotation about a coordinate axis is one turn; others get z-x-z angles, so the last turn is about z, where a
    joint's own turn follows.
    """
    r = np.asarray(r, dtype=float)
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        if abs(r[axis, axis] - 1) < 1e-15 and abs(r[i, axis]) < 1e-15 and abs(r[j, axis]) < 1e-15:
            return () if abs(r[j, i]) < 1e-15 and r[i, i] > 0 else (Turn(axis, *_clean(r[i, i], r[j, i])),)
    tilt = atan2(float(norm(r[:2, 2])), r[2, 2])
    if sin(tilt) < 1e-12:  # z is reversed: a turn about z and half a turn about x
        first, last = atan2(r[1, 0], r[0, 0]), 0.0
    else:
        # The last angle is measured from the result of the first: at small tilt neither is accurate, but their sum is.
        first = atan2(r[0, 2], -r[1, 2])
        middle = np.array([cos(first), sin(first), 0.0])
        last = atan2(-times(middle, r[:, 1]), times(middle, r[:, 0]))
    angles = ((2, first), (0, tilt), (2, last))
    return tuple(Turn(axis, *_clean(cos(a), sin(a))) for axis, a in angles if abs(a) > 1e-15)


def _clean(c: float, s: float) -> tuple[float, float]:
    """Cosine and sine without the rounding errors of right angles."""
    if abs(s) < 1e-15:
        return math.copysign(1.0, c), 0.0
    if abs(c) < 1e-15:
        return 0.0, math.copysign(1.0, s)
    return float(c), float(s)


def shift_of(r: Vector) -> tuple[Shift, ...]:
    """A shift, or no move if it is zero."""
    return () if all(is_zero(x) for x in r) else (Shift(array(r)),)
