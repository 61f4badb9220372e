"""Forward dynamics of closed loops by multipliers (paper 2): all at once, by the system, and by subsystems.

The tree's equations and those of the loops, I vdot = phi + J^T lam and J vdot = gamma (eqs. 8, 9), are solved in one of
three ways, which give the same numbers by programs of different length:

    augmented  both together, [I J^T; J 0] [vdot; -lam] = [phi; gamma]                                        (10)
    slm        lam from J I^-1 J^T, with the whole I factored; then vdot = I^-1 (phi + J^T lam)              (11, 12)
    sslm       the same without I, J or their products: by recursion through each subsystem                 (13-25)

A subsystem is what one child of the ground carries, so that I falls apart into blocks I_j. With I_j = U D U^T, a row of
J that reaches into subsystem j is a wrench at a link of it, and y = U^-1 J^T is what the joints between that link and
the ground feel of it: one sweep along them. Then

    J I^-1 J^T = sum over joints of y^T D^-1 y                                                                (25)

has an entry for two loops only where they share a joint of some subsystem, which is the paper's physical reading; it
is eliminated loop by loop in an order that fills in little. gamma - J vdot of the cut tree is how its ends would drift
apart, so J is not formed for it either. Accelerations take one more sweep with D^-1 y lam added to what each joint
does by itself.
"""

from dataclasses import dataclass

import numpy as np

from kempe.dynamics import kinematics, loops, recursions
from kempe.dynamics.closure import ROWS
from kempe.dynamics.kinematics import Frame, frames
from kempe.dynamics.recursions import Factors
from kempe.dynamics.tree import Tree
from kempe.spatial.moves import relative_pose, wrench_back
from kempe.spatial.solving import Elimination, Sparse, pivots, solve_symmetric
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, dot, is_one, is_zero, zeros

Felt = dict[int, Vector]  # by the number of a link, what its joint feels of a wrench


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations, multipliers of the rows that were kept, and the pivots of inertia."""

    vdot: Vector
    lam: Vector
    inertia: Vector


# ---- the whole system -------------------------------------------------------------------------------------


def augmented(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0
) -> Solution:
    """Accelerations and multipliers together, inertia before loops (10)."""
    inertia, jacobian, phi, gamma = _system(tree, q, v, tau, size, rows, pull)
    nv, count = tree.topology.nv, len(rows)
    matrix = np.zeros((nv + count, nv + count), dtype=object)
    matrix[:nv, :nv], matrix[:nv, nv:], matrix[nv:, :nv] = inertia, jacobian.T, jacobian
    whole = Elimination(matrix)
    found = whole.solve(np.concatenate([phi, gamma]))
    return Solution(found[:nv], array(-x for x in found[nv:]), whole.pivots[:nv])


def slm(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0
) -> Solution:
    """Multipliers of the whole system first (12), then accelerations (11)."""
    inertia, jacobian, phi, gamma = _system(tree, q, v, tau, size, rows, pull)
    solved = solve_symmetric(inertia, np.column_stack([jacobian.T, phi]))  # I^-1 [J^T, phi]
    gicm = jacobian @ solved[:, :-1]
    lam = solve_symmetric(gicm, (gamma - jacobian @ solved[:, -1])[:, None])[:, 0]  #                          (12)
    return Solution(solved[:, -1] + solved[:, :-1] @ lam, lam, pivots(inertia))  #               (11)


def _system(tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float):
    """I, J, phi and gamma, of the rows that are kept."""
    kept, found, base = list(rows), frames(tree, q, v), -tree.gravity
    jacobian = loops.jacobian(tree, q, found, size)[kept]
    gamma = loops.bias(tree, found, loops.coasting(tree, q, v, base), base, size)
    gamma = _pulled(tree, q, found, size, gamma, pull)[kept]
    external = kinematics.external_wrenches(tree, q, v)
    phi = tau - recursions.rnea(tree, q, v, zeros(tree.topology.nv), external)
    return recursions.crba(tree, q), jacobian, phi, gamma


def _pulled(tree: Tree, q: Vector, found: list[Frame], size: Scalar, gamma: Vector, pull: float) -> Vector:
    """What rows are to do where loops that drifted apart are drawn together at a rate."""
    if not pull:
        return gamma
    return gamma - 2 * pull * loops.slip(tree, found, size) - pull**2 * loops.phi(tree, q, size)


# ---- subsystem by subsystem -------------------------------------------------------------------------------


def sslm(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0
) -> Solution:
    """Multipliers and accelerations by recursion through each subsystem (13-25)."""
    base, found = -tree.gravity, frames(tree, q, v)
    factors = recursions.factorized(tree, *recursions.moving(tree, q, v, tau, kinematics.external_wrenches(tree, q, v)))
    _, motion = recursions.accelerations(tree, factors, base)  # phi-hat, of the subsystems left alone          (20)
    drift = loops.bias(tree, found, [(alpha, a) for alpha, a in motion], base, size)  # Psi - J phi-hat          (25)
    drift = _pulled(tree, q, found, size, drift, pull)
    held = Held(tree, factors, found, size, rows)
    lam = held.gicm.solve(drift[list(rows)])  #                                                                (23)
    vdot = recursions.accelerations(tree, factors, base, d=held.pushed(lam, factors.d))[0]  #                  (19)
    return Solution(np.concatenate(vdot), lam, np.concatenate(factors.pivots))


class Held:
    """What the joints of a tree feel of its loops' rows, and the generalized inertia constraint matrix made of it.

    felt: y, a dict over links for every row. gicm: J I^-1 J^T, taken apart.
    """

    def __init__(self, tree: Tree, factors: Factors, found: list[Frame], size: Scalar, rows: tuple[int, ...]):
        """With frames of all links, of the rows that are kept."""
        inertias = zip(tree.links, factors.postures, factors.carried, strict=True)
        self._pivots = [recursions.pivot_matrix(link, posture, carried) for link, posture, carried in inertias]
        self.felt = [_felt(tree, factors, found, *row) for row in _rows(tree, found, size, rows)]
        self._moved = [{k: self._divided(k, y) for k, y in felt.items()} for felt in self.felt]  # D^-1 y
        touching: dict[int, list[int]] = {}
        for row, felt in enumerate(self.felt):
            for k in felt:
                touching.setdefault(k, []).append(row)
        entries: dict[tuple[int, int], Scalar] = {}
        for k, numbers in touching.items():
            for i in numbers:
                for j in numbers:
                    if j <= i:
                        more = dot(self.felt[i][k], self._moved[j][k])
                        entries[i, j] = entries[i, j] + more if (i, j) in entries else more
        self.gicm = Sparse(entries, len(rows))

    def _divided(self, k: int, y: Vector) -> Vector:
        pivot = self._pivots[k]
        if len(pivot) == 1:
            return array([y[0] * (1.0 / pivot[0, 0])])
        return solve_symmetric(pivot, y[:, None])[:, 0]

    def pushed(self, lam: Vector, alone: list[Vector]) -> list[Vector]:
        """What every joint does: by itself, and for multipliers besides."""
        out = list(alone)
        for moved, factor in zip(self._moved, lam, strict=True):
            for k, y in moved.items():
                out[k] = out[k] + array(factor * x for x in y)
        return out


def _rows(tree: Tree, found: list[Frame], size: Scalar, kept: tuple[int, ...]) -> list[tuple]:
    """The rows that are kept, in their order: the loop, and moment and force at the origin of its b, in world axes."""
    every = [(loop, n, f) for loop in loops.loops(tree, found) for n, f in loops.wrenches(loop, size)]
    return [every[row] for row in kept]


def _felt(tree: Tree, factors: Factors, found: list[Frame], loop: loops.Loop, n: Vector, f: Vector) -> Felt:
    """y of a row: its wrench on b, and back on a, handed on from link to link to the ground (32, 34 of paper 4).

    Where places are held in all directions, each body is pulled at its own point of the cut: the two are one where the
    loop is closed, and where it is not, this is what `loops.bias` says of their accelerations.
    """
    carried: dict[int, tuple[Vector, Vector]] = {}
    for sign, place in ((1.0, loop.places[1]), (-1.0, loop.places[0])):
        if place.link >= 0:
            frame = found[place.link]
            moment, force = frame.rotation.T @ n, frame.rotation.T @ f
            away = relative_pose(place.moves)[1]
            if sign < 0 and len(ROWS[loop.kind].places) < 3:  # a's own axes hold b's point
                away = frame.rotation.T @ (loop.b.position - frame.position)
            own = sign * (moment + cross(away, force)), sign * force
            carried[place.link] = _added(carried.get(place.link), own)
    felt: Felt = {}
    while carried:
        k = max(carried)  # links come after those that carry them
        moment, force = carried.pop(k)
        link, posture = tree.links[k], factors.postures[k]
        angular, linear = link.subspace(posture)
        effort = array(dot(w, moment) + dot(x, force) for w, x in zip(angular.T, linear.T, strict=True))
        if any(not is_zero(x) for x in effort):
            felt[k] = effort
        if tree.parents[k] >= 0:
            left = np.concatenate([moment, force]) - factors.k[k].T @ effort
            left = _without(left, link, angular, linear)
            handed = wrench_back(link.moves(posture), left[:3], left[3:])
            if any(not is_zero(x) for part in handed for x in part):
                carried[tree.parents[k]] = _added(carried.get(tree.parents[k]), handed)
    return felt


def _added(first, second):
    return second if first is None else (first[0] + second[0], first[1] + second[1])


def _without(wrench: Vector, link, angular: Matrix, linear: Matrix) -> Vector:
    """What a joint without a rotor hands on has no part along its axis: an exact zero."""
    wrench = np.array(wrench, dtype=object)
    for column, armature in zip(np.vstack([angular, linear]).T, link.armature, strict=True):
        unit = [i for i in range(6) if not is_zero(column[i])]
        if len(unit) == 1 and is_one(column[unit[0]]) and is_zero(armature):
            wrench[unit[0]] = 0.0
    return array(wrench)


WAYS = {"augmented": augmented, "slm": slm, "sslm": sslm}
