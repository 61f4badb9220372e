"""Inertias: of a rigid body (ten numbers) and of an articulated body (three matrices).

At a frame's origin, with angular and linear acceleration (alpha, a), the inertia wrench is

    moment = J alpha + H a,    force = H^T alpha + M a

A rigid body of mass m and first moment h = m (centre of mass) has H = skew(h) and M = m 1.
"""

from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.sums import times
from kempe.spatial.moves import Moves, Shift
from kempe.spatial.vectors import (
    Matrix,
    Scalar,
    Vector,
    array,
    cross,
    gyroscopic,
    is_zero,
    scaled,
    skew,
    swing,
    swing_matrix,
)


@dataclass(frozen=True)
class RigidInertia:
    """Mass, first moment, and the inertia tensor at the frame's origin."""

    mass: Scalar
    moment: Vector
    tensor: Matrix

    def __add__(self, other: "RigidInertia") -> "RigidInertia":
        return RigidInertia(self.mass + other.mass, self.moment + other.moment, self.tensor + other.tensor)

    def wrench(self, alpha: Vector, a: Vector) -> tuple[Vector, Vector]:
        """Moment and force that give a body at rest these accelerations; with velocities, its momentum."""
        return times(self.tensor, alpha) + cross(self.moment, a), scaled(self.mass, a) + cross(alpha, self.moment)

    def gyration(self, omega: Vector) -> tuple[Vector, Vector]:
        """The wrench at angular velocity omega without acceleration: omega x I omega, omega x (omega x h)."""
        return gyroscopic(self.tensor, omega), swing(omega, np.zeros(3), self.moment)

    def motion_wrench(self, omega: Vector, alpha: Vector, a: Vector) -> tuple[Vector, Vector]:
        """The inertia wrench of a motion, from its accelerations and its angular velocity.

        I alpha + omega x I omega is also the integral of r x B r, with the matrix B of `swing_matrix`, found from the
        second moments of mass s, I = tr(s) 1 - s: fewer products, unless s has more nonzeros than I, as for a hub.
        """
        trace = self.tensor[0, 0] + self.tensor[1, 1] + self.tensor[2, 2]
        second = scaled(0.5 * trace, np.eye(3)) - self.tensor
        if _entries(second) <= _entries(self.tensor):
            m = times(swing_matrix(omega, alpha), second)
            moment = array((m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]))
        else:
            moment = times(self.tensor, alpha) + gyroscopic(self.tensor, omega)
        return moment + cross(self.moment, a), scaled(self.mass, a) + swing(omega, alpha, self.moment)

    def scaled(self, share: float) -> "RigidInertia":
        """A fraction of it."""
        if share == 1.0:
            return self
        return RigidInertia(share * self.mass, scaled(share, self.moment), scaled(share, self.tensor))

    def back(self, moves: Moves) -> "RigidInertia":
        """The same inertia in the frame that the moves start from."""
        mass, moment, tensor = self.mass, self.moment, self.tensor
        for move in reversed(moves):
            if isinstance(move, Shift):
                # I - [r][h] - [h][r] - m [r][r], symmetric
                lever = scaled(mass, move.r)
                half = times(skew(move.r), skew(moment) + skew(0.5 * lever))
                tensor = tensor - half - half.T
                moment = moment + lever
            else:
                moment, tensor = move.back(moment), move.matrix_back(tensor)
        return RigidInertia(mass, moment, tensor)

    @classmethod
    def at_com(cls, mass: Scalar, com: Vector, tensor: Matrix) -> "RigidInertia":
        """From the tensor about the centre of mass."""
        return cls(mass, np.zeros(3), tensor).back((Shift(array(com)),))


@dataclass(frozen=True)
class ArticulatedInertia:
    """The apparent inertia of a body that carries others on free joints."""

    j: Matrix
    h: Matrix
    m: Matrix

    @classmethod
    def of(cls, body: RigidInertia) -> "ArticulatedInertia":
        """The inertia of a body that carries nothing."""
        return cls(body.tensor, skew(body.moment), scaled(body.mass, np.eye(3)))

    def __add__(self, other: "ArticulatedInertia") -> "ArticulatedInertia":
        return ArticulatedInertia(self.j + other.j, self.h + other.h, self.m + other.m)

    def wrench(self, alpha: Vector, a: Vector) -> tuple[Vector, Vector]:
        """Moment and force for given accelerations."""
        return times(self.j, alpha) + times(self.h, a), times(self.h.T, alpha) + times(self.m, a)

    def back(self, moves: Moves) -> "ArticulatedInertia":
        """The same inertia in the frame that the moves start from."""
        j, h, m = self.j, self.h, self.m
        for move in reversed(moves):
            if isinstance(move, Shift):
                # H' = H + [r] M and J' = J - sym(N [r]) with N = H + H', where sym(X) = (X + X^T) / 2
                new = h + times(skew(move.r), m)
                j = j - _symmetric_product(h + new, skew(move.r))
                h = new
            else:
                j, h, m = move.matrix_back(j), move.matrix_back(h), move.matrix_back(m)
        return ArticulatedInertia(j, h, m)


def _entries(m: Matrix) -> int:
    """The number of entries that are not exact zeros."""
    return sum(not is_zero(x) for x in m.flat)


def _symmetric_product(n: Matrix, r: Matrix) -> Matrix:
    """(n r + (n r)^T) / 2, computing each off-diagonal entry once."""
    entries = [[0.0] * 3 for _ in range(3)]
    half = 0.5 * r
    for i in range(3):
        entries[i][i] = times(n[i], r[:, i])
        for k in range(i):
            entries[i][k] = entries[k][i] = times(n[i], half[:, k]) + times(n[k], half[:, i])
    return array(x for row in entries for x in row).reshape(3, 3)
