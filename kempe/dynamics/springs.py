"""Springs: virtual springs (paper 5) and dampers that hold cuts, so that the parts of a tree move independently.

Instead of an equation, a cut has a spring of stiffness k along every row of its closure, and a damper b:

    places held in all directions   V = k |r|^2 / 2, r from a's point to b's                                (12, 13)
    places held in some             V = k (a_i . r)^2 / 2, along axes of a
    axes held at right angles       V = k' (a_i . b_j)^2 / 2
    no turning at all               V = k' (1 - cos of the angle between the two frames)

with k' = k s^2 for rotation, s the mechanism's size. Forces are exactly -dV/dx, so energy is conserved without damping;
dampers act on the same rates.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.dynamics.rows import ROWS
from kempe.mechanism.joints import JointKind
from kempe.spatial.vectors import Scalar, Vector, cross, dot, scaled, zeros

if TYPE_CHECKING:
    from kempe.dynamics.kinematics import Frame
    from kempe.dynamics.tree import Place


@dataclass(frozen=True)
class HeldCut:
    """A cut held by springs, between the frames of its joint on two links.

    stiffness [N/m], damping [N s/m]: for positions; those for rotation are larger by `size`^2, in N m/rad and N m
    s/rad.
    """

    name: str
    kind: type[JointKind]
    a: "Place"
    b: "Place"
    stiffness: Scalar
    damping: Scalar
    size: Scalar


@dataclass(frozen=True)
class Pull:
    """What a cut exerts on link b: a force at b's point, and a moment; the opposite force is on link a at `point_a`.

    energy: stored; power: of the dampers, never positive.
    """

    force: Vector
    moment: Vector
    point_a: Vector
    energy: Scalar
    power: Scalar


def pull(cut: HeldCut, a: "Frame", b: "Frame") -> Pull:
    """The pull of a cut, given the frames of its joint."""
    rows, k, d = ROWS[cut.kind], cut.stiffness, cut.damping
    away = b.position - a.position
    rate = b.rotation @ b.velocity - a.rotation @ a.velocity
    spin_a = a.rotation @ a.omega
    spin = b.rotation @ b.omega - spin_a
    force, moment, point = zeros(3), zeros(3), b.position
    energy = power = 0.0
    if len(rows.places) == 3:
        force, point = -(scaled(k, away) + scaled(d, rate)), a.position
        energy, power = 0.5 * k * dot(away, away), -d * dot(rate, rate)
    else:
        seen = rate - cross(spin_a, away)
        for i in rows.places:
            axis = a.rotation[:, i]
            gap, speed = dot(axis, away), dot(axis, seen)
            force = force - scaled(k * gap + d * speed, axis)
            energy, power = energy + 0.5 * k * gap * gap, power - d * speed * speed
    k, d = k * cut.size * cut.size, d * cut.size * cut.size
    if rows.locked:
        turn, alike = zeros(3), 0.0
        for axis, other in zip(a.rotation.T, b.rotation.T, strict=True):
            turn, alike = turn + 0.5 * cross(axis, other), alike + dot(axis, other)
        moment = -(scaled(k, turn) + scaled(d, spin))
        energy, power = energy + 0.5 * k * (3.0 - alike), power - d * dot(spin, spin)
    for i, j in rows.entries:
        axis, other = a.rotation[:, i], b.rotation[:, j]
        gap, lever = dot(axis, other), cross(other, axis)
        speed = dot(lever, spin)
        moment = moment - scaled(k * gap + d * speed, lever)
        energy, power = energy + 0.5 * k * gap * gap, power - d * speed * speed
    return Pull(np.asarray(force), np.asarray(moment), point, energy, power)
