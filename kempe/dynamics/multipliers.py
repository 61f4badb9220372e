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
from kempe.dynamics.held import Held, cuts_of, drifts_of, placed
from kempe.dynamics.kinematics import Frame, frames
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.ties import couplings
from kempe.dynamics.tree import Tree
from kempe.spatial.solving import Elimination, fitness, pivots, solve_symmetric
from kempe.spatial.vectors import Scalar, Vector, array, zeros


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations, multipliers of the rows that were kept, and the pivots of inertia.

    fit: how well the rows determine the multipliers, between 0 and 1: the least sine of the angle between a row and
    those eliminated before it, measured by the inertia.
    """

    vdot: Vector
    lam: Vector
    inertia: Vector
    fit: Vector


# ---- the whole system -------------------------------------------------------------------------------------


def augmented(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0
) -> Solution:
    """Accelerations and multipliers together, inertia before loops (10)."""
    inertia, jacobian, phi, gamma = _system(tree, q, v, tau, size, rows, pull)
    nv, count = tree.topology.nv, len(rows)
    matrix = np.zeros((nv + count, nv + count), dtype=object)
    matrix[:nv, :nv], matrix[:nv, nv:], matrix[nv:, :nv] = inertia, jacobian.T, jacobian
    whole = Elimination(matrix, begun=nv)
    found = whole.solve(np.concatenate([phi, gamma]))
    fit = fitness(whole.pivots[nv:], whole.begun[nv:])
    return Solution(found[:nv], array(-x for x in found[nv:]), whole.pivots[:nv], fit)


def slm(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0
) -> Solution:
    """Multipliers of the whole system first (12), then accelerations (11)."""
    inertia, jacobian, phi, gamma = _system(tree, q, v, tau, size, rows, pull)
    solved = solve_symmetric(inertia, np.column_stack([jacobian.T, phi]))  # I^-1 [J^T, phi]
    gicm = jacobian @ solved[:, :-1]
    lam = solve_symmetric(gicm, (gamma - jacobian @ solved[:, -1])[:, None])[:, 0]  #                          (12)
    vdot = solved[:, -1] + solved[:, :-1] @ lam  #                                                             (11)
    return Solution(vdot, lam, pivots(inertia), fitness(pivots(gicm), np.diagonal(gicm)))


def _system(tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float):
    """I, J, phi and gamma, of the rows that are kept."""
    kept, found, base = list(rows), frames(tree, q, v), -tree.gravity
    jacobian = loops.jacobian(tree, q, found, size)[kept]
    gamma = loops.bias(tree, found, loops.coasting(tree, q, v, base), base, size)
    gamma = _pulled(tree, q, v, found, size, gamma, pull)[kept]
    external = kinematics.external_wrenches(tree, q, v)
    phi = tau - recursions.rnea(tree, q, v, zeros(tree.topology.nv), external)
    return recursions.crba(tree, q), jacobian, phi, gamma


def _pulled(tree: Tree, q: Vector, v: Vector, found: list[Frame], size: Scalar, gamma: Vector, pull: float) -> Vector:
    """What rows are to do where loops that drifted apart are drawn together at a rate."""
    if not pull:
        return gamma
    return gamma - 2 * pull * loops.slip(tree, found, v, size) - pull**2 * loops.phi(tree, q, size)


# ---- subsystem by subsystem -------------------------------------------------------------------------------


def sslm(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0,
    run: Run = inline,
) -> Solution:  # fmt: skip
    """Multipliers and accelerations by recursion through each subsystem (13-25)."""
    external, base = kinematics.external_wrenches(tree, q, v), -tree.gravity
    out = recursions.coasting(tree, q, v, run)
    factors = recursions.factorized(tree, *recursions.moving(tree, out, q, v, tau, external, run), run=run)
    alone, motion = recursions.accelerations(tree, factors, base, run)  # phi-hat, of subsystems by themselves   (20)
    cuts = cuts_of(tree, size, rows, pull)
    moving = any(each.cut.needs_velocities for each in cuts)
    tied = couplings(tree, rows)
    drifts = drifts_of(tree, tied, alone, q, v, pull)
    held = Held(tree, factors, placed(tree, out, v, cuts, run, moving), motion, cuts, run, base, tied, drifts)
    lam = held.gicm.solve(held.drift)  # drift: Psi - J phi-hat                                            (23, 25)
    vdot = held.accelerations(lam)  #                                                                          (19)
    return Solution(vdot, lam, recursions.joined(factors.pivots), held.gicm.fit)


WAYS = {"augmented": augmented, "slm": slm, "sslm": sslm}
