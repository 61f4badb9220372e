"""Closures: the equations of joints that close loops, each in the joint's own axes, with their exact rates.

With R and p the orientation and position of frame b seen from frame a of the joint, and w and u their rates in a's
axes,

    dR/dt = [w] R,    dp/dt = u,

a joint keeps 6 minus its freedoms at zero: positions p_i that it holds, entries R_ij that vanish while two axes are at
right angles, or the skew part of R if it does not turn at all. Two of these have false solutions, an axis reversed and
a half turn of a body that must not turn: `upright` detects them.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kempe.dynamics import ties
from kempe.dynamics.kinematics import Frame, at_place, changing, frames
from kempe.dynamics.rows import ROWS
from kempe.dynamics.tree import Tree
from kempe.mechanism.joint import Joint
from kempe.mechanism.joints import (
    Cylindrical,
    Fixed,
    Free,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, symbols, to_sx


@dataclass(frozen=True)
class Relative:
    """Frame b of a joint seen from frame a: orientation, position, and their rates w and u, all in a's axes."""

    rotation: Matrix
    position: Vector
    spin: Vector
    velocity: Vector


def relative(a: Frame, b: Frame) -> Relative:
    """Two frames of the tree, the second seen from the first."""
    rotation = a.rotation.T @ b.rotation
    position = a.rotation.T @ (b.position - a.position)
    spin = rotation @ b.omega - a.omega
    velocity = rotation @ b.velocity - a.velocity - cross(a.omega, position)
    return Relative(rotation, position, spin, velocity)


def residual(kind: type[JointKind], seen: Relative, size: Scalar) -> list[Scalar]:
    """phi of one closure: lengths divided by the mechanism's size."""
    rows, r = ROWS[kind], seen.rotation
    found = [seen.position[i] / size for i in rows.places]
    found += [r[i, j] for i, j in rows.entries]
    return found + _skew(r) if rows.locked else found


def residual_rates(kind: type[JointKind], seen: Relative, size: Scalar) -> list[Scalar]:
    """d phi / dt, linear in velocities."""
    rows, r = ROWS[kind], seen.rotation
    turned = np.stack([cross(seen.spin, column) for column in r.T], axis=1)  # dR/dt
    found = [seen.velocity[i] / size for i in rows.places]
    found += [turned[i, j] for i, j in rows.entries]
    return found + _skew(turned) if rows.locked else found


def upright(kind: type[JointKind], seen: Relative) -> Scalar:
    """Positive if the closure is met in the intended way, not with an axis reversed or a half turn."""
    rows, r = ROWS[kind], seen.rotation
    if rows.locked:
        return r[0, 0] + r[1, 1] + r[2, 2]
    return r[rows.upright] if rows.upright is not None else 1.0


def _skew(r: Matrix) -> list[Scalar]:
    return [0.5 * (r[2, 1] - r[1, 2]), 0.5 * (r[0, 2] - r[2, 0]), 0.5 * (r[1, 0] - r[0, 1])]


# ---- all closures of a tree ------------------------------------------------------------------------------


def seen_from(tree: Tree, found: list[Frame], joint: Joint) -> Relative:
    """The two frames of a loop joint, b relative to a."""
    ends = (at_place(found, tree.joint_place(joint, marker)) for marker in (joint.a, joint.b))
    return relative(*ends)


def phi(tree: Tree, q: Vector, size: Scalar) -> Vector:
    """The residual of all loops and couplings."""
    found = frames(tree, q, np.zeros(tree.topology.nv))
    rows = [residual(loop.joint.type, seen_from(tree, found, loop.joint), size) for loop in tree.topology.closures]
    return array([*(x for part in rows for x in part), *(tie.gap(q) for tie in ties.every_coupling(tree))])


def phi_rates(tree: Tree, q: Vector, v: Vector, size: Scalar) -> Vector:
    """d phi / dt = J v."""
    found = frames(tree, q, v)
    rows = [
        residual_rates(loop.joint.type, seen_from(tree, found, loop.joint), size) for loop in tree.topology.closures
    ]
    return array([*(x for part in rows for x in part), *(tie.slip(v) for tie in ties.every_coupling(tree))])


def jacobian(tree: Tree, q: Vector, size: Scalar) -> ca.SX:
    """J: d phi / dt = J v."""
    v = symbols("v", tree.topology.nv)
    return ca.jacobian(to_sx(phi_rates(tree, q, v, size)), to_sx(v))


def bias(tree: Tree, q: Vector, v: Vector, size: Scalar) -> ca.SX:
    """gamma = -(dJ/dt) v: what J vdot must be."""
    return -changing(lambda free: phi_rates(tree, free, v, size), tree, q, v)


def uprights(tree: Tree, q: Vector) -> Vector:
    """For every loop, a number that is positive if it is closed in the intended way."""
    found = frames(tree, q, np.zeros(tree.topology.nv))
    return array(upright(loop.joint.type, seen_from(tree, found, loop.joint)) for loop in tree.topology.closures)


# ---- coordinates of joints that were cut -----------------------------------------------------------------


def measured(kind: type[JointKind], seen: Relative) -> list[Scalar]:
    """The coordinates of a closed joint from the frames it joins; angles within half a turn either way."""
    r, p = seen.rotation, seen.position
    angle = lambda y, x: ca.atan2(y, x)  # noqa: E731
    return {
        Revolute: lambda: [angle(r[1, 0], r[0, 0])],
        Prismatic: lambda: [p[2]],
        Cylindrical: lambda: [angle(r[1, 0], r[0, 0]), p[2]],
        Universal: lambda: [angle(r[2, 1], r[1, 1]), angle(r[0, 2], r[0, 0])],
        Spherical: lambda: _quaternion(r),
        Planar: lambda: [p[0], p[1], angle(r[1, 0], r[0, 0])],
        Free: lambda: [*_quaternion(r), *p],
        Fixed: list,
    }[kind]()


def measured_rates(kind: type[JointKind], seen: Relative) -> list[Scalar]:
    """The velocities of a joint from the same frames, in the order of its v."""
    r, w, u = seen.rotation, seen.spin, seen.velocity
    own, moving = r.T @ w, r.T @ u  # in b's axes
    return {
        Revolute: lambda: [w[2]],
        Prismatic: lambda: [u[2]],
        Cylindrical: lambda: [w[2], u[2]],
        Universal: lambda: [w[0], own[1]],
        Spherical: lambda: [*own],
        Planar: lambda: [u[0], u[1], w[2]],
        Free: lambda: [*own, *moving],
        Fixed: list,
    }[kind]()


def _quaternion(r: Matrix) -> list[Scalar]:
    """The quaternion w, x, y, z of a rotation, w >= 0. Each row below is the quaternion times four of its entries; the
    longest row suffers least from rounding.
    """
    skew = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    xy, xz, yz = r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1]
    x, y, z = r[0, 0], r[1, 1], r[2, 2]
    rows = [
        [1 + x + y + z, *skew],
        [skew[0], 1 + x - y - z, xy, xz],
        [skew[1], xy, 1 - x + y - z, yz],
        [skew[2], xz, yz, 1 - x - y + z],
    ]
    best, size = rows[0], rows[0][0]
    for k in (1, 2, 3):
        larger = rows[k][k] > size
        best = [_either(larger, new, old) for new, old in zip(rows[k], best, strict=True)]
        size = _either(larger, rows[k][k], size)
    length = ca.sqrt(sum(entry * entry for entry in best)) * _either(best[0] < 0, -1, 1)
    return [entry / length for entry in best]


def _either(condition, a: Scalar, b: Scalar) -> Scalar:
    """One or the other, decided now if the condition contains only numbers."""
    return ca.if_else(condition, a, b) if isinstance(condition, ca.SX) else (a if condition else b)


def coordinates(tree: Tree, q: Vector) -> list[Vector]:
    """Coordinates of every joint that closes a loop."""
    found = frames(tree, q, np.zeros(tree.topology.nv))
    return [array(measured(loop.joint.type, seen_from(tree, found, loop.joint))) for loop in tree.topology.closures]


def velocities(tree: Tree, q: Vector, v: Vector) -> list[Vector]:
    """Velocities of every joint that closes a loop."""
    found = frames(tree, q, v)
    return [
        array(measured_rates(loop.joint.type, seen_from(tree, found, loop.joint))) for loop in tree.topology.closures
    ]
