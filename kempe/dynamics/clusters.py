"""Clusters: forward dynamics of closed loops in which the joints that loops tie together are one joint of a recursion.

For comparison with multipliers, by counted operations. The idea is that of M. Chignoli, N. Adrian, S. Kim and P. M.
Wensing, Recursive rigid-body dynamics algorithms for systems with kinematic loops: no loop reaches beyond its cluster,
so W of the generalized coordinates consists of one block for each cluster, and a cluster moves by

    vdot = G ydd + g

with rows and columns of its own loops alone. Gravity, velocities and loads are put into efforts phi first, which leaves
a tree at rest: links are accelerated by A = X A_root + S vdot, where root is the link that their cluster hangs on. With
apparent inertias of its links (bodies together with the clusters they carry), composite bodies give the cluster's
inertia matrix M, the wrench F on its root per unit acceleration, and its whole inertia at the root, I. What holds for
one joint of a tree (paper 4, eqs. 31-37) then holds for all of them together, with U = F G and D = G^T M G:

    ydd = d - K A_root,    d = D^-1 G^T (phi - p - M g),    K = D^-1 U^T
    I - U D^-1 U^T  and  p_root + F g + U d  are passed on to the root,

where p are the efforts at the joints due to the wrenches that other clusters passed on. A joint in no loop takes the
tree's own step. If all loops are one cluster, nothing is passed on, and this is the `composite` way of `partition`.
"""

from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics import kinematics, recursions
from kempe.dynamics.articulated import packed, unpacked
from kempe.dynamics.generalized import Reduction, congruent, generalized
from kempe.dynamics.regrouped import regrouped
from kempe.dynamics.tree import Tree
from kempe.spatial.inertia import ArticulatedInertia, RigidInertia
from kempe.spatial.moves import acceleration_along, wrench_back
from kempe.spatial.solving import pivots, solve_symmetric
from kempe.spatial.vectors import Matrix, Vector, array, dot, zeros
from kempe.topology.clusters import Cluster, clusters

Inertia = RigidInertia | ArticulatedInertia
Handed = tuple[Vector, Vector, Vector]  # an apparent inertia as 21 numbers, moment and force
REST = zeros(3), zeros(3)


@dataclass(frozen=True, eq=False)
class Motion:
    """How a cluster may move, vdot = G ydd + g, and the indices of its velocities."""

    velocities: list[int]
    w: Matrix
    g: Vector


@dataclass(frozen=True, eq=False)
class Step:
    """An eliminated cluster: the pivots of D, K, d, and what it passes on to its root."""

    pivots: Vector
    k: Matrix
    d: Vector
    handed: Handed


def forward(
    tree: Tree, q: Vector, v: Vector, tau: Vector, found: Reduction, independent: tuple[int, ...]
) -> tuple[Vector, Vector]:
    """Accelerations, and the pivots of every D; independent: the generalized velocities, in the order of W's
    columns.
    """
    external = kinematics.external_wrenches(tree, q, v)
    tree = regrouped(tree)
    phi = tau - recursions.rnea(tree, q, v, zeros(tree.topology.nv), external)
    postures = [link.posture(q[at.q]) for link, at in zip(tree.links, tree.joints, strict=True)]
    parts = clusters(tree.topology)
    motions = [_motion(tree, part, found, independent) for part in parts]
    carried: dict[int, Handed] = {}  # by link, from the clusters that hang on it
    steps: list[Step] = []
    for part, motion in zip(reversed(parts), reversed(motions), strict=True):
        inward = _closed if part.closed else _single
        steps.append(inward(tree, postures, part, motion, phi, carried))
        if part.root >= 0:
            carried[part.root] = _gathered(carried.get(part.root), steps[-1].handed)
    steps.reverse()
    vdot = np.zeros(tree.topology.nv, dtype=object)
    moved: dict[int, tuple[Vector, Vector]] = {-1: REST}  # angular and linear accelerations of links
    for part, motion, step in zip(parts, motions, steps, strict=True):
        if part.closed:
            ydd = step.d - times(step.k, np.concatenate(moved[part.root]))  #                                     (36)
            vdot[motion.velocities] = motion.w @ ydd + motion.g
            _carry(tree, postures, part, vdot, moved)
        else:
            (k,) = part.joints
            above = *moved[part.root], *REST
            vdot[motion.velocities], *more = recursions.accelerate(tree.links[k], postures[k], *above, step.k, step.d)
            moved[k] = more[0], more[1]
    return array(vdot), np.concatenate([step.pivots for step in steps])


def _motion(tree: Tree, part: Cluster, found: Reduction, independent: tuple[int, ...]) -> Motion:
    """The block of W and the part of g that belong to a cluster."""
    velocities = [n for k in part.joints for n in range(tree.joints[k].v.start, tree.joints[k].v.stop)]
    columns = [i for i, n in enumerate(independent) if n in velocities]
    return Motion(velocities, found.w[np.ix_(velocities, columns)], found.g[velocities])


def _gathered(before: Handed | None, more: Handed) -> Handed:
    return more if before is None else (before[0] + more[0], before[1] + more[1], before[2] + more[2])


def _single(
    tree: Tree, postures: list[Vector], part: Cluster, motion: Motion, phi: Vector, carried: dict[int, Handed]
) -> Step:
    """The step of a joint in no loop."""
    (link,) = part.joints
    above = carried.get(link, (zeros(21), *REST))
    found = recursions.inward(tree.links[link], postures[link], *above, *REST, *REST, phi[motion.velocities])
    pivot, k, d, *handed = found
    return Step(pivot, k, d, (handed[0], handed[1], handed[2]))


def _closed(
    tree: Tree, postures: list[Vector], part: Cluster, motion: Motion, phi: Vector, carried: dict[int, Handed]
) -> Step:
    """The step of joints that loops tie together."""
    gim, felt, whole, efforts, n, f = _composites(tree, postures, part, motion, phi, carried)
    w, g, gw = motion.w, motion.g, gim @ motion.w
    d_matrix, u = congruent(w, gw), felt @ w
    d = solve_symmetric(d_matrix, -generalized(w, -efforts, gim, gw, g)[:, None])[:, 0]  #                       (35)
    k = solve_symmetric(d_matrix, u.T)  #                                                                       (33)
    left = ArticulatedInertia(
        whole.j - u[:3] @ k[:, :3], whole.h - u[:3] @ k[:, 3:], whole.m - u[3:] @ k[:, 3:]
    )  #                                                                                                        (34)
    more = felt @ g + u @ d
    return Step(pivots(d_matrix), k, d, (packed(left), n + more[:3], f + more[3:]))  #                (32)


def _composites(
    tree: Tree, postures: list[Vector], part: Cluster, motion: Motion, phi: Vector, carried: dict[int, Handed]
) -> tuple[Matrix, Matrix, ArticulatedInertia, Vector, Vector, Vector]:
    """M and F of a cluster from composite bodies, its inertia at its root, the efforts that remain for its joints, and
    the wrench that is passed on to the root.
    """
    at = {n: i for i, n in enumerate(motion.velocities)}
    gim, felt = np.zeros((len(at), len(at)), dtype=object), np.zeros((6, len(at)), dtype=object)
    efforts = np.array(phi[motion.velocities], dtype=object)
    spans = {k: tree.links[k].subspace(postures[k]) for k in part.joints}
    moves = {k: tree.links[k].moves(postures[k]) for k in part.joints}
    rows = {k: [at[n] for n in range(tree.joints[k].v.start, tree.joints[k].v.stop)] for k in part.joints}
    inertia = {k: _apparent(tree.links[k].inertia, carried.get(k)) for k in part.joints}
    wrench = {k: carried[k][1:] if k in carried else REST for k in part.joints}
    inertia[part.root], wrench[part.root] = RigidInertia(0.0, zeros(3), zeros(3, 3)), REST
    for k in reversed(part.joints):
        parent = tree.parents[k]
        for i, row in enumerate(rows[k]):
            n, f = inertia[k].wrench(*(columns[:, i] for columns in spans[k]))
            for j in range(i + 1):
                gim[row, rows[k][j]] = gim[rows[k][j], row] = _along(spans[k], j, n, f)
            gim[row, row] = gim[row, row] + tree.links[k].armature[i]
            efforts[row] = efforts[row] - _along(spans[k], i, *wrench[k])
            link = k
            while link != part.root:
                n, f = wrench_back(moves[link], n, f)
                link = tree.parents[link]
                for j, column in enumerate(rows.get(link, ())):
                    gim[row, column] = gim[column, row] = _along(spans[link], j, n, f)
            felt[:, row] = np.concatenate([n, f])
        handed = wrench_back(moves[k], *wrench[k])
        wrench[parent] = wrench[parent][0] + handed[0], wrench[parent][1] + handed[1]
        inertia[parent] = _together(inertia[parent], inertia[k].back(moves[k]))
    return gim, felt, _articulated(inertia[part.root]), array(efforts), *wrench[part.root]


def _along(span: tuple[Matrix, Matrix], freedom: int, n: Vector, f: Vector):
    """The effort of a wrench along one freedom of a joint."""
    return dot(span[0][:, freedom], n) + dot(span[1][:, freedom], f)


def _apparent(body: RigidInertia, more: Handed | None) -> Inertia:
    """The apparent inertia of a link: its body, and what other clusters that hang on it pass on."""
    return body if more is None else ArticulatedInertia.of(body) + unpacked(more[0])


def _together(one: Inertia, other: Inertia) -> Inertia:
    """The sum of two inertias at one frame; two rigid bodies stay a rigid body of ten numbers."""
    if isinstance(one, RigidInertia) and isinstance(other, RigidInertia):
        return one + other
    return _articulated(one) + _articulated(other)


def _articulated(inertia: Inertia) -> ArticulatedInertia:
    return ArticulatedInertia.of(inertia) if isinstance(inertia, RigidInertia) else inertia


def _carry(tree: Tree, postures: list[Vector], part: Cluster, vdot: Vector, moved: dict) -> None:
    """Computes the accelerations of a cluster's links."""
    for k in part.joints:
        link, rates = tree.links[k], vdot[tree.joints[k].v]
        alpha, a = acceleration_along(link.moves(postures[k]), zeros(3), *moved[tree.parents[k]])
        angular, linear = link.subspace(postures[k])
        moved[k] = alpha + angular @ rates, a + linear @ rates
