"""Recursions over a tree: inverse dynamics, the generalized inertia matrix, and O(n) forward dynamics by UDU^T.

Accelerations are those of the link origins themselves, not their spatial parts, so no linear velocity is needed: with
(alpha, a) of the parent, a link whose joint turns and slides has

    (alpha, a) = X (alpha, a)_parent + b + S vdot                                    (paper 4, eq. 4 differentiated)

where b collects all terms quadratic in velocities: omega x (omega x r) of every shift, omega x omega_J,
(2 omega - omega_J) x v_J and dS/dt v. Gravity is an upward acceleration of the ground.

Every step is a function of one link and of arrays, and is called through `run`, which by default just calls it. A
compiler may pass its own `run` that records each step once and repeats it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics import beams
from kempe.dynamics.articulated import packed, pivot_of, reduced, unpacked
from kempe.dynamics.tree import Link, Tree
from kempe.spatial.inertia import ArticulatedInertia, RigidInertia
from kempe.spatial.moves import acceleration_along, spin_along, wrench_back
from kempe.spatial.solving import pivots, solve_symmetric
from kempe.spatial.vectors import Matrix, Vector, array, cross, dot, is_symbolic, is_zero, zeros

Run = Callable[..., Any]


def inline(step: Callable, link: Link, *arguments):
    """Runs a step by calling it."""
    return step(link, *arguments)


# ---- steps -----------------------------------------------------------------------------------------------


def outward(link: Link, omega_p: Vector, q: Vector, v: Vector) -> tuple[Vector, ...]:
    """Posture, angular velocity, bias acceleration b (angular, linear) and gyroscopic wrench of a link; for a beam,
    also the efforts along its coordinates.
    """
    posture = link.posture(q)
    moves = link.moves(posture)
    joint_spin, joint_velocity = (times(columns, v) for columns in link.subspace(posture))
    omega = spin_along(moves, omega_p) + joint_spin
    b_alpha, b_a = acceleration_along(moves, omega_p, zeros(3), zeros(3))
    s_alpha, s_a = link.bias(posture, v)
    b_alpha = b_alpha + cross(omega, joint_spin) + s_alpha
    b_a = b_a + cross(2.0 * omega - joint_spin, joint_velocity) + s_a
    taken = link.inertia.gyration(omega) if link.beam is None else link.beam.gyration(q, omega, v)
    return posture, omega, b_alpha, b_a, *taken


def inward(link: Link, posture, carried, n_above, f_above, n_own, f_own, b_alpha, b_a, phi) -> tuple[Vector, ...]:
    """One step of the UDU^T factorization (eqs. 31-34): from the apparent inertia and wrench of what a link carries
    to those it adds to its parent.

    carried: 21 numbers of an articulated inertia, more for a beam; n, f: wrenches of what it carries and its own; phi:
    the joint's efforts. Returns the pivots of D, K = D^-1 U^T (a row per freedom), d = D^-1 (phi - S^T p), and the
    inertia and wrench that are passed on.
    """
    moment, force = n_above + n_own, f_above + f_own
    angular, linear = link.subspace(posture)
    total, columns, pivot = _felt(link, posture, carried)  #                                                  (33)
    effort = array(f - dot(w, moment) - dot(x, force) for f, w, x in zip(phi, angular.T, linear.T, strict=True))  # (31)
    stacked = np.stack([np.concatenate(c) for c in columns]) if columns else zeros(0, 6)
    k = solve_symmetric(pivot, stacked)  # psi^T                                                               (33)
    d = solve_symmetric(pivot, effort[:, None])[:, 0]  #                                                       (35)
    left = reduced(link, total, stacked, k, angular, linear)  #                                               (34)
    n, f = left.wrench(b_alpha, b_a)
    n, f = n + moment + times(stacked[:, :3].T, d), f + force + times(stacked[:, 3:].T, d)  #                (32)
    moves = link.moves(posture)
    n, f = wrench_back(moves, n, f)
    return pivots(pivot), k, d, packed(left.back(moves)), n, f


def _felt(link: Link, posture: Vector, carried: Vector) -> tuple[ArticulatedInertia, list, Matrix]:
    """The inertia of a link with what it carries; U = I S, column by column; and D."""
    if link.beam is not None:
        return beams.felt(link, posture, carried)
    angular, linear = link.subspace(posture)
    total = ArticulatedInertia.of(link.inertia) + unpacked(carried)
    columns = [total.wrench(w, x) for w, x in zip(angular.T, linear.T, strict=True)]
    return total, columns, pivot_of(link, angular, linear, columns)


def pivot_matrix(link: Link, posture: Vector, carried: Vector) -> Matrix:
    """D of a link."""
    return _felt(link, posture, carried)[2]


def accelerate(link: Link, posture: Vector, alpha_p, a_p, b_alpha, b_a, k: Matrix, d: Vector) -> tuple[Vector, ...]:
    """Joint accelerations and the link's own, from the parent's (eqs. 36-37)."""
    angular, linear = link.subspace(posture)
    alpha, a = acceleration_along(link.moves(posture), zeros(3), alpha_p, a_p)
    alpha, a = alpha + b_alpha, a + b_a  # mu                                                                  (37)
    vdot = array(x - dot(row, np.concatenate([alpha, a])) for x, row in zip(d, k, strict=True))  #              (36)
    return vdot, alpha + angular @ vdot, a + linear @ vdot


def accelerated(link: Link, omega_p, alpha_p, a_p, q, v, vdot) -> tuple[Vector, ...]:
    """The outward step of inverse dynamics: posture, angular velocity, accelerations, and the wrench they require; for
    a beam, also the efforts along its coordinates.
    """
    posture = link.posture(q)
    moves = link.moves(posture)
    angular, linear = link.subspace(posture)
    joint_spin, joint_velocity = times(angular, v), times(linear, v)
    omega = spin_along(moves, omega_p) + joint_spin
    alpha, a = acceleration_along(moves, omega_p, alpha_p, a_p)
    s_alpha, s_a = link.bias(posture, v)
    alpha = alpha + cross(omega, joint_spin) + s_alpha + times(angular, vdot)
    a = a + cross(2.0 * omega - joint_spin, joint_velocity) + s_a + times(linear, vdot)
    if link.beam is None:
        return posture, omega, alpha, a, *link.inertia.motion_wrench(omega, alpha, a)
    pairs = zip(link.beam.wrench(q, alpha, a, vdot), link.beam.gyration(q, omega, v), strict=True)
    return posture, omega, alpha, a, *(x + y for x, y in pairs)


def handed_on(link: Link, posture, n_above, f_above, n_own, f_own, q, v, vdot) -> tuple[Vector, ...]:
    """The inward step of inverse dynamics: the efforts at the joint, and the wrench on the parent, from the wrenches
    of what the link carries and its own.
    """
    moment, force = n_above + n_own, f_above + f_own
    angular, linear = link.subspace(posture)
    along = [dot(w, moment) + dot(x, force) for w, x in zip(angular.T, linear.T, strict=True)]
    rotors = [i * a for i, a in zip(link.armature, vdot, strict=True)]
    own = internal_effort(link, q, v)
    efforts = array(e + r - o for e, r, o in zip(along, rotors, own, strict=True))
    return efforts, *wrench_back(link.moves(posture), moment, force)


def internal_effort(link: Link, q: Vector, v: Vector) -> Vector:
    """The efforts of a joint's own spring and damper, or a beam's, along its freedoms."""
    if link.beam is not None:
        return link.beam.effort(q, v)
    pulls = [-d * rate for d, rate in zip(link.damping, v, strict=True)]
    if any(not is_zero(k) for k in link.stiffness):
        rows = zip(pulls, link.stiffness, link.rest, q, strict=True)
        pulls = [pull - k * (x - rest) for pull, k, rest, x in rows]
    return array(pulls)


def joint_effort(link: Link, q: Vector, v: Vector, tau: Vector) -> tuple[Vector]:
    """phi: applied efforts plus those of the joint's own spring and damper."""
    return (array(tau + internal_effort(link, q, v)),)


# ---- algorithms ------------------------------------------------------------------------------------------


def rnea(tree: Tree, q: Vector, v: Vector, vdot: Vector, external=None, run: Run = inline) -> Vector:
    """Generalized forces for given accelerations, less what joint springs, dampers and `external` wrenches supply.

    external: for every link the moment and force on it, at its frame, in its axes.
    """
    base = zeros(3), zeros(3), -tree.gravity
    seen: list = []
    for link, parent, at in zip(tree.links, tree.parents, tree.joints, strict=True):
        above = base if parent < 0 else seen[parent][1:4]
        seen.append(run(accelerated, link, *above, q[at.q], v[at.v], vdot[at.v]))
    wrenches = _without(external, [step[4:6] for step in seen])
    tau: list = [None] * len(tree.links)
    carried: list = [None] * len(tree.links)
    for k in range(len(tree.links) - 1, -1, -1):
        link, parent, at = tree.links[k], tree.parents[k], tree.joints[k]
        above = carried[k] or (zeros(3), zeros(3))
        tau[k], *more = run(handed_on, link, seen[k][0], *above, *wrenches[k], q[at.q], v[at.v], vdot[at.v])
        if link.beam is not None:
            tau[k] = tau[k] + seen[k][6]
        if parent >= 0:
            carried[parent] = run(added, link, *carried[parent], *more) if carried[parent] else more
    return joined(beams.together(tree, tau))


def transmitted(tree: Tree, q: Vector, v: Vector, vdot: Vector, external) -> list[tuple[Vector, Vector]]:
    """Moment and force that each link's joint exerts on it, at its frame, in its axes; `external` as for `rnea`."""
    base = zeros(3), zeros(3), -tree.gravity
    seen: list = []
    for link, parent, at in zip(tree.links, tree.parents, tree.joints, strict=True):
        omega, alpha, a = base if parent < 0 else seen[parent][1:4]
        seen.append(accelerated(link, omega, alpha, a, q[at.q], v[at.v], vdot[at.v]))
    carried = _without(external, [step[4:6] for step in seen])
    for k in range(len(tree.links) - 1, -1, -1):
        parent = tree.parents[k]
        if parent >= 0:
            more = wrench_back(tree.links[k].moves(seen[k][0]), *carried[k])
            carried[parent] = carried[parent][0] + more[0], carried[parent][1] + more[1]
    return carried


def added(link: Link, n, f, more_n, more_f) -> tuple[Vector, ...]:
    """The sum of two wrenches at the same place."""
    return n + more_n, f + more_f


def crba(tree: Tree, q: Vector) -> Matrix:
    """The generalized inertia matrix from composite bodies (eqs. 28-29)."""
    return composites(tree, q)[0]


def composites(tree: Tree, q: Vector, apart: int = -1) -> tuple[Matrix, RigidInertia | None, dict[int, tuple]]:
    """The generalized inertia matrix from composite bodies (eqs. 28-29). If link `apart` is given, it is detached from
    its joint: the matrix lacks that joint's rows, and the function also returns the inertia of everything the link
    carries, and the wrenches on the link for unit accelerations of the joints it carries, by velocity index, both at
    its frame.
    """
    postures = [link.posture(q[at.q]) for link, at in zip(tree.links, tree.joints, strict=True)]
    moves = [link.moves(p) for link, p in zip(tree.links, postures, strict=True)]
    subspaces = [link.subspace(p) for link, p in zip(tree.links, postures, strict=True)]
    composite = [link.inertia if link.beam is None else link.beam.rigid(q[at.q])
                 for link, at in zip(tree.links, tree.joints, strict=True)]  # fmt: skip
    gim = np.zeros((tree.topology.nv, tree.topology.nv), dtype=object)
    felt: dict[int, tuple] = {}
    for k in range(len(tree.links) - 1, -1, -1):
        parent = tree.parents[k]
        rows = range(tree.joints[k].v.start, tree.joints[k].v.stop)
        for row, armature in zip(rows, tree.links[k].armature, strict=True):
            gim[row, row] = gim[row, row] + armature
        beam = tree.links[k].beam
        coupled = None if beam is None else beam.coupling(q[tree.joints[k].q])
        if beam is not None:
            gim[tree.joints[k].v, tree.joints[k].v] += beam.modal()
        if k == apart:
            continue
        if parent >= 0:
            composite[parent] = composite[parent] + composite[k].back(moves[k])  #                             (28)
        for i, row in enumerate(rows):
            n, f = composite[k].wrench(subspaces[k][0][:, i], subspaces[k][1][:, i])
            if coupled is not None:  # D = S^T (I S + C) + C^T S + M
                n, f = n + coupled[0][:, i], f + coupled[1][:, i]
            for j in range(i + 1):
                entry = dot(subspaces[k][0][:, j], n) + dot(subspaces[k][1][:, j], f)
                if coupled is not None:
                    back = zip(coupled, subspaces[k], strict=True)
                    entry = entry + sum(dot(c[:, j], s[:, i]) for c, s in back)
                gim[row, rows[j]] = gim[rows[j], row] = gim[row, rows[j]] + entry
            at = k
            while tree.parents[at] >= 0:
                n, f = wrench_back(moves[at], n, f)
                at = tree.parents[at]
                if at == apart:
                    felt[row] = n, f
                    break
                angular, linear = subspaces[at]
                for j, column in enumerate(range(tree.joints[at].v.start, tree.joints[at].v.stop)):
                    entry = dot(angular[:, j], n) + dot(linear[:, j], f)  #                                     (29)
                    gim[row, column] = gim[row, column] + entry  # sections of a beam share its columns
                    gim[column, row] = gim[column, row] + entry
    gim = gim if any(is_symbolic(x) for x in gim.flat) else gim.astype(float)
    return gim, composite[apart] if apart >= 0 else None, felt


def udu(tree: Tree, q: Vector, v: Vector, tau: Vector, external=None, run: Run = inline) -> tuple[Vector, Vector]:
    """Joint accelerations in O(n), and the pivots: the UDU^T factorization of the inertia matrix, computed and used
    body by body.
    """
    found = factorized(tree, *moving(tree, coasting(tree, q, v, run), q, v, tau, external, run), run=run)
    vdot = beams.owned(tree, accelerations(tree, found, -tree.gravity, run)[0])
    return joined(vdot), joined(found.pivots)


def coasting(tree: Tree, q: Vector, v: Vector, run: Run = inline) -> list[tuple[Vector, ...]]:
    """The results of `outward` for every link."""
    out: list = []
    for link, parent, at in zip(tree.links, tree.parents, tree.joints, strict=True):
        out.append(run(outward, link, zeros(3) if parent < 0 else out[parent][1], q[at.q], v[at.v]))
    return out


def moving(
    tree: Tree, out: list[tuple[Vector, ...]], q: Vector, v: Vector, tau: Vector, external=None, run: Run = inline
) -> tuple[list, list, list, list]:
    """The inputs of the factorization for a tree in motion: postures, bias accelerations, wrenches and efforts; `out`
    comes from `coasting`.
    """
    phi = [
        run(joint_effort, link, q[at.q], v[at.v], tau[at.v])[0]
        for link, at in zip(tree.links, tree.joints, strict=True)
    ]
    phi = [own - step[6] if len(step) > 6 else own for own, step in zip(phi, out, strict=True)]
    wrenches = _without(external, [step[4:6] for step in out])
    return [step[0] for step in out], [step[2:4] for step in out], wrenches, phi


def resting(tree: Tree, q: Vector, phi: Vector) -> tuple[list, list, list, list]:
    """The same for a tree at rest without gravity, under efforts phi."""
    postures = [link.posture(q[at.q]) for link, at in zip(tree.links, tree.joints, strict=True)]
    nothing = [(zeros(3), zeros(3))] * len(tree.links)
    return postures, nothing, nothing, [phi[at.v] for at in tree.joints]


def udu_solve(tree: Tree, q: Vector, phi: Vector) -> Vector:
    """I^-1 phi in O(n), the algorithm of section 4 of paper 4 as its operation counts assume it: phi is given."""
    found = factorized(tree, *resting(tree, q, phi))
    return joined(beams.owned(tree, accelerations(tree, found, zeros(3))[0]))


def cholesky(tree: Tree, q: Vector, v: Vector, tau: Vector, external=None) -> tuple[Vector, Vector]:
    """Joint accelerations, and the pivots, by factoring the whole inertia matrix: the O(n^3) way (section 5)."""
    bias = rnea(tree, q, v, zeros(tree.topology.nv), external)
    gim = crba(tree, q)
    return solve_symmetric(gim, (tau - bias)[:, None])[:, 0], pivots(gim)


@dataclass(frozen=True, eq=False)
class Factors:
    """A tree's inertia matrix, factored link by link: what each link carries (21 numbers), K and d of `inward`, and the
    pivots of D; with the postures and bias accelerations they were computed for.
    """

    postures: list[Vector]
    biases: list[tuple[Vector, Vector]]
    carried: list[Vector]
    k: list[Matrix]
    d: list[Vector]
    pivots: list[Vector]


def factorized(tree: Tree, postures, biases, wrenches, phi, *, run: Run = inline) -> Factors:
    """Factors the inertia matrix, from the tips to the base."""
    count = len(tree.links)
    carried: list = [None] * count  # by link: inertia, moment, force
    k, d, pivot = ([zeros(0)] * count for _ in range(3))
    for i in range(count - 1, -1, -1):
        link, parent = tree.links[i], tree.parents[i]
        carried[i] = carried[i] or beams.nothing(link)
        if link.shared:  # its freedoms are the beam's, and are eliminated there
            pivot[i], k[i], d[i] = zeros(0), zeros(link.kind.nv, 6), zeros(0)
            more = beams.held(link, postures[i], *carried[i], *wrenches[i], *biases[i])
        else:
            *above, felt = (*carried[i], zeros(0)) if link.beam is None else carried[i]
            efforts = phi[i] if link.beam is None else phi[i] - felt
            pivot[i], k[i], d[i], *more = run(inward, link, postures[i], *above, *wrenches[i], *biases[i], efforts)
        if parent >= 0:
            carried[parent] = run(gathered, link, *carried[parent], *more) if carried[parent] else more
    return Factors(postures, biases, [x[0] for x in carried], k, d, pivot)  # type: ignore[arg-type]


def accelerations(tree: Tree, found: Factors, base: Vector, run: Run = inline, d=None) -> tuple[list, list]:
    """Accelerations of every link's joint, and (alpha, a) of the link itself, with the ground accelerated by `base`:
    from the base to the tips. d: replaces that of the factors.
    """
    vdot, motion = [], []
    for i, parent in enumerate(tree.parents):
        above = (zeros(3), base) if parent < 0 else motion[parent]
        own = vdot[parent] if tree.links[i].shared else found.d[i] if d is None else d[i]
        rates, *moved = run(accelerate, tree.links[i], found.postures[i], *above, *found.biases[i], found.k[i], own)
        vdot.append(rates)
        motion.append(moved)
    return vdot, motion


def gathered(link: Link, *both: Vector) -> tuple[Vector, ...]:
    """What two branches carry, added."""
    half = len(both) // 2
    return tuple(x + y for x, y in zip(both[:half], both[half:], strict=True))


def _without(external, wrenches: list) -> list:
    """Wrenches that joints must supply: those the motion requires, less those of loads."""
    if external is None:
        return wrenches
    return [(n - give_n, f - give_f) for (n, f), (give_n, give_f) in zip(wrenches, external, strict=True)]


def joined(parts: Sequence[Vector]) -> Vector:
    """Concatenated vectors."""
    return np.concatenate(parts) if parts else zeros(0)
