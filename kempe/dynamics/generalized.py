"""Generalized: coordinates of closed chains (paper 3): which velocities are independent, W and g, and closing loops.

The loops allow velocities with J v = 0 and accelerations with J vdot = gamma. Independent rows of J (J_Cm) and as many
columns (J_S, of the velocities theta_S that depend on the others) were chosen before; the remaining velocities are the
generalized ones, theta_G. Then

    v = W yd,  vdot = W ydd + g,  W_S = H = -J_S^-1 J_G,  W_G = 1,  g_S = J_S^-1 gamma        (eqs. 15-22)
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import casadi as ca
import numpy as np

from kempe.dynamics import formulation, kinematics, loops
from kempe.dynamics.formulation import Formulation
from kempe.dynamics.kinematics import normalized
from kempe.dynamics.level import level
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.tree import Tree
from kempe.spatial.solving import Elimination
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, dot, is_zero, largest

METRE = 1.0  # rows of loops are left in metres: only pivots are compared with other numbers, and they are few
CHORD = 3  # steps that close loops with one elimination


@dataclass(frozen=True)
class Choice:
    """Which rows of J are kept, which velocities are dependent (both in the order of elimination), and which are the
    generalized ones.

    scales: bring each pivot to order one; a choice fits a state as far as its least pivot is from zero.
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
    """The same, with the solver of the loops: rows in metres and radians, pivots divided by `size`."""

    loops: Elimination


def reduce(tree: Tree, q: Vector, v: Vector | None, size: Scalar, choice: Choice, pull: float = 0.0) -> Reduction:
    """W, and g if v is given; loops that drifted open are pulled together at the rate `pull`, unless it is zero."""
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


def project(tree: Tree, q: Vector, v: Vector, size: Scalar, choice: Choice) -> tuple[Vector, Vector, Scalar]:
    """q and v on the loops, and the largest remaining residual: Newton's method with one elimination (each step gains
    as many digits as the first one needed), then velocities that keep loops closed. Only dependent coordinates move.
    """
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


def fitness(choice: Choice, pivots: Vector) -> Scalar:
    """The least pivot of the loops relative to its scale."""
    least = ca.SX(1.0)
    for pivot, scale in zip(pivots, choice.scales, strict=True):
        least = ca.fmin(least, ca.fabs(pivot * scale))
    return least


# ---- projections on them ----------------------------------------------------------------------------------


def generalized(w: Matrix, efforts: Vector, m: Matrix, mw: Matrix, g: Vector) -> Vector:
    """W^T (efforts + M g), by M g or by (M W)^T g, whichever needs fewer products."""
    moving = [j for j, x in enumerate(g) if not is_zero(x)]
    if sum(not is_zero(x) for x in m[:, moving].flat) < len(moving) * w.shape[1]:
        return w.T @ (efforts + m @ g)
    return w.T @ efforts + mw.T @ g


def congruent(w: Matrix, mw: Matrix) -> Matrix:
    """W^T M W of a symmetric M from W and M W; each entry above the diagonal is computed once."""
    a = np.zeros((w.shape[1], w.shape[1]), dtype=object)
    for i in range(w.shape[1]):
        for j in range(i + 1):
            a[i, j] = a[j, i] = dot(w[:, i], mw[:, j])
    return a


# ---- formulations that use them ----------------------------------------------------------------------------


@dataclass(frozen=True)
class InCoordinates(Formulation):
    """A formulation that keeps loops closed by equations, in generalized coordinates.

    choice: of these coordinates and of the rows that are kept; pull [1/s]: the rate at which loops that drifted open
    are pulled together (J. Baumgarte, 1972), zero if they are kept closed in another way.
    """

    choice: Choice | None = None
    pull: float = 0.0

    enforces: ClassVar[str] = formulation.EQUATIONS
    chooses: ClassVar[bool] = True

    def using(self, choice: Choice | None = None, scales: tuple[float, ...] = (), pull: float = 0.0) -> Self:
        """The same with other coordinates."""
        return replace(self, choice=choice, pull=pull)

    @property
    def chosen(self) -> Choice:
        """The choice, which must have been made."""
        assert self.choice is not None
        return self.choice

    def eliminated(self, tree: Tree, q: Vector, v: Vector | None, size: Scalar) -> Reduction:
        """W, and g if v is given, by the chosen rows and columns."""
        return reduce(tree, q, v, size, self.chosen, self.pull)

    def reduce(self, tree: Tree, q: Vector, size: Scalar) -> tuple[Matrix, Vector]:
        """W, and how well the coordinates fit."""
        found = self.eliminated(tree, q, None, size)
        return found.w, self.fit_of(found)

    def fit_of(self, found: Reduction) -> Vector:
        """How well the coordinates fit, from the elimination."""
        return array([fitness(self.chosen, found.loops.pivots)])

    def signed_fit(self, found: Reduction, pivots: Vector) -> Scalar:
        """The fit at a state with the sign of the product of the loops' pivots, which changes where one of them passes
        zero; pivots: all divisors of `forward`.
        """
        fit, turned = self.least_fit(found, pivots), ca.SX(1.0)
        for pivot in found.loops.pivots:
            turned = turned * pivot
        return ca.if_else(turned < 0, -fit, fit)

    def least_fit(self, found: Reduction, pivots: Vector) -> Scalar:
        """The same without the sign."""
        return fitness(self.chosen, found.loops.pivots)

    def project(self, tree: Tree, q: Vector, v: Vector, size: Scalar, run: Run = inline) -> tuple:
        """q and v on the loops, and the largest remaining residual."""
        return project(tree, q, v, size, self.chosen)

    def pivot_counts(self, nv: int, dof: int) -> tuple[int, int]:
        """The number of dependent velocities, and of pivots of A."""
        return nv - dof, dof
