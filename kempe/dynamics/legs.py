"""Legs: the recursion of paper 1 (eqs. 7-14), from actuated joint rates to the platform's twist and all other rates.

A leg leads from the ground to the platform. With all twists taken at one point in world axes, A_ei p_i = c_i, its
equation is (7a, 8)

    T t_e = sum of c_i thetad_i.

T is 1 for the leg that is whole in the tree, taken at the platform's frame. A leg that a joint closes is taken at
that joint, which is eliminated before all others: of its six equations there remain those along the wrenches that the
joint transmits, the rows of T, so a leg that ends on a spherical joint has three. The paper takes all legs at one point
E and has six equations for each; the solution is the same. A leg that ends on the ground has t_e = 0.

Passive joints are then eliminated from the platform to the ground (9-12),

    p~_i = Phi_{i+1} c_i,    delta_i = p~_i^T p~_i,    Phi_i = Phi_{i+1} - p~_i p~_i^T / delta_i,

which orthogonalizes their columns: Phi_{i+1} c_i is c_i less its components along the p~ found before, and Phi is
formed once, at the end. A joint of several freedoms is a block, with delta an f x f matrix; eliminating its columns one
after the other gives the factors of delta. The remaining equations of the leg involve t_e alone, and summed over all
legs

    Phi t_e = sum of T^T Phi_2 c_k thetad_k,    Phi = sum of T^T Phi_2 T,    t_e = J thetad                 (13b, 14)

There are more of these equations than unknowns if legs have fewer than five passive freedoms, or lie in a plane. As
sums of squares they need no choice of rows, and hold as long as the loops can be closed. Passive rates follow from the
ground to the platform (11b, 12b); they are linear in the leg's right-hand side, R (T t_e - c_k thetad_k).

Accelerations follow in the same way, with -b for the velocity terms. Measured relative to the accelerations that the
tree would have with vdot = 0, the leg's equation is T t_e' = sum of c_i theta''_i + b, and b = 0 for the leg that is
whole in the tree.
"""

from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics.kinematics import Frame, at_place, frames
from kempe.dynamics.loops import coasting
from kempe.dynamics.rows import ROWS
from kempe.dynamics.tree import Place, Tree
from kempe.mechanism.joint import Joint
from kempe.mechanism.joints import JointKind, Spherical, Universal
from kempe.spatial.moves import relative_pose
from kempe.spatial.solving import pivots, solve_symmetric
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, dot, is_zero, swing, zeros
from kempe.topology.legs import Leg, Legs

WORLD = np.eye(3)


@dataclass(frozen=True, eq=False)
class Reach:
    """A leg at a state, with its passive joints eliminated.

    measure: T. freedoms: the leg's velocities in the tree, passive ones in the order of elimination, the actuated one
    last; rates: R, a row for each of them, zero for the last; column: c_k. left: Phi_2 T. bias: b. deltas: the
    divisors; sizes: their values if the columns were at right angles. factors: what R is composed of, the components of
    each column along the p~ before it, p~ / delta, and the rotations of spherical joints.
    """

    leg: Leg
    measure: Matrix
    freedoms: tuple[int, ...]
    rates: Matrix
    column: Vector
    left: Matrix
    bias: Vector
    deltas: Vector
    sizes: Vector
    factors: tuple[list[list[Scalar]], list[Vector], list[tuple[slice, Matrix]]]

    def carried(self, efforts: Vector) -> Vector:
        """R^T e for efforts along `freedoms`, by the recursion: what each passive joint cannot supply, less what joints
        nearer to the platform have already passed to it (21).
        """
        along, shares, turned = self.factors
        own = list(efforts[:-1])
        for places, turn in turned:
            own[places] = turn @ array(own[places])
        for i in range(len(own)):
            for j in range(i):
                own[i] = own[i] - along[i][j] * own[j]
        total = zeros(len(self.column))
        for effort, share in zip(own, shares, strict=True):
            total = total + array(effort * x for x in share)
        return total


@dataclass(frozen=True, eq=False)
class Platform:
    """t_e = J thetad, with the velocity terms of t_e'.

    phi: over the components of t_e that can move, which are `moved`; sides: Phi J.
    """

    jacobian: Matrix
    bias: Vector
    phi: Matrix
    moved: list[int]
    sides: Matrix

    def moved_by(self, biases: Vector) -> Vector:
        """t_e due to the biases of all legs together, T^T Phi_2 b, with actuated joints at rest."""
        out = np.zeros(6, dtype=object)
        out[self.moved] = solve_symmetric(self.phi, biases[self.moved][:, None])[:, 0]
        return array(out)

    def back(self, wrench: Vector) -> Vector:
        """J^T w, by one solution with Phi instead of one for each actuator."""
        solved = solve_symmetric(self.phi, wrench[self.moved][:, None])[:, 0]
        return array(dot(side, solved) for side in self.sides[self.moved].T)


def reaches(tree: Tree, q: Vector, v: Vector | None, legs: Legs) -> tuple[list[Reach], list[Frame]]:
    """All legs at a state, and the frames of all links; with biases if v is given."""
    found = frames(tree, q, np.zeros(tree.topology.nv) if v is None else v)
    moving = None if v is None else coasting(tree, q, v, -tree.gravity)
    origin = found[legs.platform].position if legs.platform >= 0 else None
    return [_reach(tree, q, leg, found, moving, origin) for leg in legs.legs], found


def platform(all_legs: list[Reach]) -> Platform:
    """The platform of legs that end on one: Phi, J and the bias (14)."""
    phi = np.zeros((6, 6), dtype=object)
    sides, bias = [], zeros(6)
    for reach in all_legs:
        for i in range(6):
            for j in range(i + 1):
                phi[i, j] = phi[j, i] = phi[i, j] + dot(reach.measure[:, i], reach.left[:, j])  #              (14a)
        sides.append(array(dot(column, reach.column) for column in reach.left.T))
        bias = bias + array(dot(column, reach.bias) for column in reach.left.T)
    given = np.column_stack([*sides, bias])
    moved = _reached(phi, given)
    phi = phi[np.ix_(moved, moved)]
    solved = np.zeros(given.shape, dtype=object)
    solved[moved] = solve_symmetric(phi, given[moved])  #                                                      (14b)
    return Platform(solved[:, :-1], solved[:, -1], phi, moved, given[:, :-1])


def _reached(phi: Matrix, given: Matrix) -> list[int]:
    """The components of t_e that any leg moves: three in a plane."""
    found = [i for i in range(6) if not all(is_zero(x) for x in given[i])]
    for i in found:  # `found` grows in the loop
        found += [j for j in range(6) if j not in found and not is_zero(phi[i, j])]
    return sorted(found)


def leg_pivots(all_legs: list[Reach], end: Platform | None) -> tuple[Vector, Vector]:
    """All divisors, deltas and pivots of Phi, and the sizes they are to be compared with."""
    parts, sizes = [reach.deltas for reach in all_legs], [reach.sizes for reach in all_legs]
    if end is not None:
        parts, sizes = [*parts, pivots(end.phi)], [*sizes, array(np.diagonal(end.phi))]
    return np.concatenate(parts), np.concatenate(sizes)


def _reach(tree: Tree, q: Vector, leg: Leg, found: list[Frame], moving, origin: Vector | None) -> Reach:
    if leg.closing is None:
        assert origin is not None
        rows = [(WORLD[i], zeros(3)) for i in range(3)] + [(zeros(3), WORLD[i]) for i in range(3)]
        point, bias = origin, zeros(6)
    else:
        rows, point, bias = _closing(tree, leg, found, moving)
    columns: list[tuple[int, Vector]] = []  # velocities and their columns, passive ones from the platform to the ground
    turned: list[tuple[slice, Matrix]] = []
    driven = zeros(len(rows))
    for k in reversed((*leg.near, *leg.far)):
        sign = 1.0 if k in leg.near else -1.0
        spans, turn = _spans(tree, q, k, found, leg.driven)
        numbers = list(range(tree.joints[k].v.start, tree.joints[k].v.stop))
        if turn is not None:
            turned.append((slice(len(columns), len(columns) + len(numbers)), turn))
        for number, (spin, slide) in zip(numbers, spans, strict=True):
            moved = slide + cross(spin, point - found[k].position)
            column = array(sign * (dot(n, spin) + dot(f, moved)) for n, f in rows)  # c_i = A_ei p_i              (7)
            if number == leg.driven:
                driven = column
            else:
                columns.append((number, column))
    outer, deltas, rates, along, shares = _eliminated([column for _, column in columns], len(rows))
    for places, turn in turned:  # from world axes to the joint's own
        rates[places] = turn.T @ rates[places]
    measure = _measure(rows, point, origin)
    return Reach(
        leg,
        measure,
        (*(number for number, _ in columns), leg.driven),
        np.vstack([rates, zeros(1, len(rows))]),
        driven,
        measure - outer @ measure,  # Phi_2 T                                                               (13b)
        bias,
        deltas,
        array(dot(column, column) for _, column in columns),
        (along, shares, turned),
    )


def _measure(rows, point: Vector, origin: Vector | None) -> Matrix:
    """T: the components of a platform twist, taken at its origin, along the rows at a point of it."""
    if origin is None:
        return zeros(len(rows), 6)
    entries = [np.concatenate([n + cross(point - origin, f), f]) for n, f in rows]
    return np.stack(entries) if entries else zeros(0, 6)


def _eliminated(columns: list[Vector], size: int) -> tuple[Matrix, Vector, Matrix, list[list[Scalar]], list[Vector]]:
    """1 - Phi_2, the deltas, and R: columns orthogonal to all before them, and rates by back substitution; and the
    factors of R.
    """
    across: list[Vector] = []  # p~
    shares: list[Vector] = []  # p~ / delta
    deltas: list[Scalar] = []
    along: list[list[Scalar]] = []
    for column in columns:
        rest, parts = column, []
        for direction, share in zip(across, shares, strict=True):
            part = dot(share, rest)
            rest = rest - array(part * x for x in direction)  # Phi_{i+1} c_i                           (9b, 11c, 12c)
            parts.append(part)
        delta = dot(rest, rest)
        across.append(rest)
        deltas.append(delta)
        shares.append(array(x / delta for x in rest))
        along.append(parts)
    outer = np.zeros((size, size), dtype=object)
    for direction, share in zip(across, shares, strict=True):
        for i in range(size):
            for j in range(i + 1):
                outer[i, j] = outer[j, i] = outer[i, j] + direction[i] * share[j]  #                      (11d, 12d)
    rates = np.zeros((len(columns), size), dtype=object)
    for i in range(len(columns) - 1, -1, -1):
        row = shares[i]
        for j in range(i + 1, len(columns)):
            row = row - array(along[j][i] * x for x in rates[j])  #                                        (11b, 12b)
        rates[i] = row
    return outer, array(deltas), rates, along, shares


def _spans(
    tree: Tree, q: Vector, k: int, found: list[Frame], driven: int
) -> tuple[list[tuple[Vector, Vector]], Matrix | None]:
    """Angular and linear velocity that each freedom of a joint gives the link, in world axes at its origin. A passive
    spherical joint spans all rotations, whatever its axes: it is taken along world axes, with the rotation from its
    own.
    """
    link, at = tree.links[k], tree.joints[k]
    angular, linear = link.subspace(link.posture(q[at.q]))
    rotation = found[k].rotation
    if isinstance(link.kind, Spherical) and driven not in range(at.v.start, at.v.stop):
        return [(axis, zeros(3)) for axis in WORLD], rotation @ angular
    return list(zip(times(rotation, angular).T, times(rotation, linear).T, strict=True)), None


# ---- the joint that closes a leg --------------------------------------------------------------------------


def _closing(tree: Tree, leg: Leg, found: list[Frame], moving):
    """The wrenches that the joint transmits, as rows at the origin of its b, that point, and b; in world axes,
    orthonormal.
    """
    joint, places, a, b = _ends(tree, leg, found)
    rows = _transmitted(joint.type, a, b)
    if moving is None:
        return rows, b.position, zeros(len(rows))
    (spin_a, alpha_a, acc_a), (spin_b, alpha_b, acc_b) = (
        _accelerated(place, found, moving, -tree.gravity) for place in places
    )
    spin, missing = spin_b - spin_a, acc_a - acc_b
    if len(ROWS[joint.type].places) < 3:  # a's point at b, and terms of sliding along axes that turn
        away = b.position - a.position
        slide = b.rotation @ b.velocity - a.rotation @ a.velocity - cross(spin_a, away)
        missing = missing + cross(alpha_a, away) + cross(spin_a, cross(spin_a, away)) + 2.0 * cross(spin_a, slide)
    if joint.type is Universal:
        x, y = a.rotation[:, 0], b.rotation[:, 1]
        first, second = dot(x, spin), dot(y, spin)
        turning = array(first * s + second * t for s, t in zip(cross(spin_a, x), cross(spin_b, y), strict=True))
    else:
        turning = cross(spin_a, spin)
    turning = turning + alpha_a - alpha_b
    side = 1.0 if leg.to_platform else -1.0
    return rows, b.position, array(side * (dot(n, turning) + dot(f, missing)) for n, f in rows)


def gap(tree: Tree, leg: Leg, found: list[Frame]) -> Vector:
    """How far the leg is open along its rows, as a motion of the platform's side relative to the other; empty if no
    joint closes it.
    """
    if leg.closing is None:
        return zeros(6)
    joint, _, a, b = _ends(tree, leg, found)
    held, away = ROWS[joint.type], b.position - a.position
    turn = cross(a.rotation[:, 2], b.rotation[:, 2])
    if held.locked:
        turn = zeros(3)
        for k in range(3):
            turn = turn + 0.5 * cross(a.rotation[:, k], b.rotation[:, k])
    open_by = [dot(f, away) + dot(n, turn) for n, f in _transmitted(joint.type, a, b)]
    if joint.type is Universal:
        open_by[-1] = dot(a.rotation[:, 0], b.rotation[:, 1])
    return array(x if leg.to_platform else -x for x in open_by)


def _ends(tree: Tree, leg: Leg, found: list[Frame]) -> tuple[Joint, list[Place], Frame, Frame]:
    """The joint that closes a leg, with its places and frames a and b."""
    assert leg.closing is not None
    joint = tree.topology.loops[leg.closing].joint
    places = [tree.joint_place(joint, marker) for marker in (joint.a, joint.b)]
    a, b = (at_place(found, place) for place in places)
    return joint, places, a, b


def _transmitted(kind: type[JointKind], a: Frame, b: Frame) -> list[tuple[Vector, Vector]]:
    """Moments and forces, at the origin of b, that a joint of this kind transmits."""
    held, z = ROWS[kind], a.rotation[:, 2]
    across = _across(z, a.rotation)
    forces = {3: WORLD, 2: across, 1: [z], 0: []}[len(held.places)]
    if held.locked:
        turns = list(WORLD)
    elif kind is Universal:
        turns = [cross(b.rotation[:, 1], a.rotation[:, 0])]
    else:
        turns = across if held.entries else []
    return [(zeros(3), f) for f in forces] + [(n, zeros(3)) for n in turns]


def _across(z: Vector, axes: Matrix) -> list[Vector]:
    """Two directions at right angles to z: world axes if z is one of them, so that planes are preserved."""
    for i in range(3):
        if all(is_zero(z[j]) for j in range(3) if j != i):
            return [WORLD[j] for j in range(3) if j != i]
    return [axes[:, 0], axes[:, 1]]


def _accelerated(place: Place, found: list[Frame], moving, base: Vector) -> tuple[Vector, Vector, Vector]:
    """Angular velocity, angular acceleration and acceleration of a place, in world axes, at zero vdot. The angular
    terms are those of its link, so that places on one link share them.
    """
    if place.link < 0:
        return zeros(3), zeros(3), base
    frame, (alpha, a) = found[place.link], moving[place.link]
    away = relative_pose(place.moves)[1]
    a = a + swing(frame.omega, alpha, away)
    return frame.rotation @ frame.omega, frame.rotation @ alpha, frame.rotation @ a
