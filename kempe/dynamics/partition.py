"""Generalized coordinates of closed chains found by themselves (paper 3): W, accelerations, forward dynamics.

The loops allow velocities with J v = 0 and accelerations with J vdot = gamma. Of J, independent rows (J_Cm) and as many
columns (J_S, of the velocities theta_S that depend on the others) were chosen before; the remaining velocities are the
generalized ones, theta_G. Then

    v = W yd,  vdot = W ydd + g,  W_S = H = -J_S^-1 J_G,  W_G = 1,  g_S = J_S^-1 gamma        (eqs. 15-22)

and the tree's equations, projected, are A ydd + b = tau_G with tau_G = W^T tau (eqs. 7 and 23). A and b are worked out
in one of three ways, which give the same numbers by programs of different length:

    unit       inverse dynamics of the tree for unit accelerations, the paper's own (section 3.2)
    projected  sums over bodies of what their accelerations per unit of ydd do against their inertia
    composite  W^T M W, with the tree's inertia matrix from composite bodies
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kempe.dynamics import kinematics, loops, recursions
from kempe.dynamics.level import level
from kempe.dynamics.regrouped import regrouped
from kempe.dynamics.tree import Tree
from kempe.spatial.moves import acceleration_along
from kempe.spatial.solving import Elimination, pivots, solve_symmetric
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, dot, is_zero, largest, zeros

METRE = 1.0  # rows of loops are left in it: only pivots are compared with other numbers, and they are few
CHORD = 3  # steps that close loops with one elimination


@dataclass(frozen=True)
class Choice:
    """Which rows of J are kept, which velocities depend on the others (both in the order they are eliminated in), and
    which are the generalized ones.

    scales: what makes each pivot a number of order one; a choice fits a state as far as its least pivot is from zero.
    """

    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]
    scales: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Motion:
    """W and g of a state: v = W yd, vdot = W ydd + g."""

    w: Matrix
    g: Vector


@dataclass(frozen=True, eq=False)
class Reduction(Motion):
    """The same, and what the loops were solved by: rows in metres and radians, pivots in parts of `size`."""

    loops: Elimination


def reduce(tree: Tree, q: Vector, v: Vector | None, size: Scalar, choice: Choice, pull: float = 0.0) -> Reduction:
    """W, and g where v is given; loops that drifted apart are drawn together at the rate `pull`, if it is not zero."""
    rows, dependent, independent = (list(part) for part in (choice.rows, choice.dependent, choice.independent))
    tree = level(tree, q)
    found = kinematics.frames(tree, q, np.zeros(tree.topology.nv) if v is None else v)
    jacobian = loops.jacobian(tree, q, found, METRE)[rows]  # J_Cm
    solver = Elimination(jacobian[:, dependent], measures=loops.measures(tree, size)[rows])  # J_S
    w, g = np.zeros((2, tree.topology.nv, max(1, len(independent))), dtype=object)
    w, g = w[:, : len(independent)], g[:, 0]
    w[dependent] = -solver.solve(jacobian[:, independent])  # H                                              (18)
    w[independent] = np.eye(len(independent))
    if v is not None:
        base = -tree.gravity
        gamma = loops.bias(tree, found, loops.coasting(tree, q, v, base), base, METRE)[rows]
        if pull:
            gamma = gamma - 2 * pull * (jacobian @ v) - pull**2 * loops.phi(tree, q, METRE)[rows]
        g[dependent] = solver.solve(gamma)  #                                                               (22)
    return Reduction(w, g, solver)


def forward(tree: Tree, q: Vector, v: Vector, tau: Vector, found: Reduction, way: str) -> tuple[Vector, Vector]:
    """Accelerations, and the pivots of A."""
    external = kinematics.external_wrenches(tree, q, v)
    a, b = WAYS[way](regrouped(tree), q, v, tau, external, found)
    ydd = solve_symmetric(a, -b[:, None])[:, 0]  #                                                          (24)
    return found.w @ ydd + found.g, pivots(a)  #                                                           (19)


def project(tree: Tree, q: Vector, v: Vector, size: Scalar, choice: Choice) -> tuple[Vector, Vector, Scalar]:
    """q and v on the loops, and the largest residual left: Newton's method with one elimination (each step gains as
    many digits as the first one needed), then velocities that keep loops closed. Only dependent coordinates move."""
    rows, dependent = list(choice.rows), list(choice.dependent)
    q = normalized(tree, q)
    solver = reduce(tree, q, None, size, choice).loops
    for _ in range(CHORD):
        step = np.zeros(tree.topology.nv, dtype=object)
        step[dependent] = -solver.solve(loops.phi(tree, q, METRE)[rows])
        q = q + kinematics.rates(tree, q, step)
    q = normalized(tree, q)
    left = largest(loops.phi(tree, q, size))
    return q, reduce(tree, q, None, size, choice).w @ v[list(choice.independent)], left


def normalized(tree: Tree, q: Vector) -> Vector:
    """The same coordinates with quaternions of length 1."""
    own = ((tree.links[k].kind, q[tree.joints[k].q]) for k in tree.own)
    return np.concatenate([q[:0], *(kind.normalized(x) for kind, x in own)])


def fitness(choice: Choice, pivots: Vector) -> Scalar:
    """The least pivot of the loops beside its scale."""
    least = ca.SX(1.0)
    for pivot, scale in zip(pivots, choice.scales, strict=True):
        least = ca.fmin(least, ca.fabs(pivot * scale))
    return least


# ---- A, and b less the generalized forces that are given ---------------------------------------------------


def unit(tree: Tree, q: Vector, v: Vector, tau: Vector, external, found: Reduction) -> tuple[Matrix, Vector]:
    """Column by column, from inverse dynamics for unit accelerations."""
    w = found.w
    b = w.T @ recursions.rnea(tree, q, v, found.g, external)
    a = np.zeros((w.shape[1], w.shape[1]), dtype=object)
    for i in range(w.shape[1]):
        a[:, i] = w.T @ recursions.rnea(tree, q, v, found.g + w[:, i], external) - b
    return a, b - w.T @ tau


def projected(tree: Tree, q: Vector, v: Vector, tau: Vector, external, found: Reduction) -> tuple[Matrix, Vector]:
    """By bodies: A_ij = sum of X_i^T I X_j, b_i = sum of X_i^T wrench, with X_i their accelerations per unit of ydd."""
    count = found.w.shape[1]
    a, b = np.zeros((count, count), dtype=object), np.zeros(count, dtype=object)
    base = zeros(3), zeros(3), -tree.gravity
    seen: list = []
    for k, (link, parent, at) in enumerate(zip(tree.links, tree.parents, tree.joints, strict=True)):
        omega, alpha, up = base if parent < 0 else seen[parent][0]
        posture, *moving, n, f, modal = recursions.accelerated(
            link, omega, alpha, up, q[at.q], v[at.v], found.g[at.v]
        ) + ((zeros(len(v[at.v])),) if link.beam is None else ())
        if external is not None:
            n, f = n - external[k][0], f - external[k][1]
        angular, linear = link.subspace(posture)
        moves = link.moves(posture)
        units = []
        for i in range(count):
            before = (zeros(3), zeros(3)) if parent < 0 else seen[parent][1][i]
            alpha, acceleration = acceleration_along(moves, zeros(3), *before)
            share = found.w[at.v, i]
            units.append((alpha + angular @ share, acceleration + linear @ share))
        seen.append((moving, units))
        for i, (alpha, acceleration) in enumerate(units):
            share = found.w[at.v, i]
            b[i] = b[i] + dot(alpha, n) + dot(acceleration, f) + dot(share, modal)
            moment, force, *bent = (
                link.inertia.wrench(alpha, acceleration)
                if link.beam is None
                else link.beam.wrench(q[at.q], alpha, acceleration, share)
            )
            for j in range(i + 1):
                a[i, j] = a[i, j] + dot(units[j][0], moment) + dot(units[j][1], force)
                for efforts in bent:
                    a[i, j] = a[i, j] + dot(found.w[at.v, j], efforts)
        if link.shared:  # what acts along its freedoms was the beam's
            continue
        own = recursions.internal_effort(link, q[at.q], v[at.v]) + tau[at.v]
        for i in range(count):
            share = found.w[at.v, i]
            rotors = array(x * y for x, y in zip(link.armature, share, strict=True))
            b[i] = b[i] + dot(rotors, found.g[at.v]) - dot(own, share)
            for j in range(i + 1):
                a[i, j] = a[i, j] + dot(rotors, found.w[at.v, j])
    for i in range(count):
        a[: i + 1, i] = a[i, : i + 1]
    return a, b


def composite(tree: Tree, q: Vector, v: Vector, tau: Vector, external, found: Reduction) -> tuple[Matrix, Vector]:
    """W^T M W; what g takes beside coasting is W^T M g."""
    m = recursions.crba(tree, q)
    mw = m @ found.w
    coasting = recursions.rnea(tree, q, v, zeros(tree.topology.nv), external) - tau
    return congruent(found.w, mw), generalized(found.w, coasting, m, mw, found.g)


def generalized(w: Matrix, efforts: Vector, m: Matrix, mw: Matrix, g: Vector) -> Vector:
    """W^T (efforts + M g), by M g or by (M W)^T g, whichever has fewer products."""
    moving = [j for j, x in enumerate(g) if not is_zero(x)]
    if sum(not is_zero(x) for x in m[:, moving].flat) < len(moving) * w.shape[1]:
        return w.T @ (efforts + m @ g)
    return w.T @ efforts + mw.T @ g


def congruent(w: Matrix, mw: Matrix) -> Matrix:
    """W^T M W of a symmetric M from W and M W, each entry above the diagonal once."""
    a = np.zeros((w.shape[1], w.shape[1]), dtype=object)
    for i in range(w.shape[1]):
        for j in range(i + 1):
            a[i, j] = a[j, i] = dot(w[:, i], mw[:, j])
    return a


WAYS = {"unit": unit, "projected": projected, "composite": composite}
