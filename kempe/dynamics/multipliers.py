"""Multipliers: forward dynamics of closed loops by multipliers (paper 2): augmented, by the system, and by subsystems.

The tree's equations and those of the loops, I vdot = phi + J^T lam and J vdot = gamma (eqs. 8, 9), are solved in one of
three ways, which give the same numbers by programs of different length:

    augmented  both together, [I J^T; J 0] [vdot; -lam] = [phi; gamma]                                        (10)
    slm        lam from J I^-1 J^T, with the whole I factored; then vdot = I^-1 (phi + J^T lam)              (11, 12)
    sslm       the same without I, J or their products: by recursion through each subsystem                 (13-25)

A subsystem is what one child of the ground carries, so I consists of blocks I_j. With I_j = U D U^T, a row of J that
reaches into subsystem j is a wrench on one of its links, and y = U^-1 J^T is the effect of the wrench on the joints
between that link and the ground: one sweep along them. Then

    J I^-1 J^T = sum over joints of y^T D^-1 y                                                                (25)

has an entry for two loops only if they share a joint of some subsystem, which is the physical interpretation in the
paper; it is eliminated loop by loop in an order with little fill-in. gamma - J vdot of the cut tree is how its ends
would drift apart, so J is not formed for it either. Accelerations take one more sweep with D^-1 y lam added to the
acceleration of each joint by itself.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kempe.dynamics import kinematics, loops, recursions, settling
from kempe.dynamics.definite import weak_joints
from kempe.dynamics.formulation import Accelerations
from kempe.dynamics.function import VECTOR, Function
from kempe.dynamics.generalized import InCoordinates
from kempe.dynamics.held import Held, cuts_of, drifts_of, placed
from kempe.dynamics.kinematics import Frame, frames
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.ties import couplings
from kempe.dynamics.tree import Tree, build
from kempe.spatial.solving import Elimination, fitness, pivots, solve_symmetric
from kempe.spatial.vectors import Scalar, Vector, array, zeros
from kempe.topology.tree import counted

if TYPE_CHECKING:
    from kempe.dynamics.equations import Equations
    from kempe.topology.tree import Topology


KOUL = (
    "M. Koul, S. V. Shah, S. K. Saha and M. Manivannan, Reduced-order forward dynamics of multiclosed-loop systems, "
    "Multibody System Dynamics 31 (2014) 451-476."
)


# ---- the whole system -------------------------------------------------------------------------------------


def augmented(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0
) -> Accelerations:
    """Accelerations and multipliers together, inertia before loops (10)."""
    inertia, jacobian, phi, gamma = _system(tree, q, v, tau, size, rows, pull)
    nv, count = tree.topology.nv, len(rows)
    matrix = np.zeros((nv + count, nv + count), dtype=object)
    matrix[:nv, :nv], matrix[:nv, nv:], matrix[nv:, :nv] = inertia, jacobian.T, jacobian
    whole = Elimination(matrix, begun=nv)
    found = whole.solve(np.concatenate([phi, gamma]))
    fit = fitness(whole.pivots[nv:], whole.begun[nv:])
    return Accelerations(found[:nv], whole.pivots[:nv], fit, array(-x for x in found[nv:]))


def slm(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0
) -> Accelerations:
    """Multipliers of the whole system first (12), then accelerations (11)."""
    inertia, jacobian, phi, gamma = _system(tree, q, v, tau, size, rows, pull)
    solved = solve_symmetric(inertia, np.column_stack([jacobian.T, phi]))  # I^-1 [J^T, phi]
    gicm = jacobian @ solved[:, :-1]
    lam = solve_symmetric(gicm, (gamma - jacobian @ solved[:, -1])[:, None])[:, 0]  #                          (12)
    vdot = solved[:, -1] + solved[:, :-1] @ lam  #                                                             (11)
    return Accelerations(vdot, pivots(inertia), fitness(pivots(gicm), np.diagonal(gicm)), lam)


def _system(tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float):
    """I, J, phi and gamma, for the rows that are kept."""
    kept, found, base = list(rows), frames(tree, q, v), -tree.gravity
    jacobian = loops.jacobian(tree, q, found, size)[kept]
    gamma = loops.bias(tree, found, loops.coasting(tree, q, v, base), base, size)
    gamma = _pulled(tree, q, v, found, size, gamma, pull)[kept]
    external = kinematics.external_wrenches(tree, q, v)
    phi = tau - recursions.rnea(tree, q, v, zeros(tree.topology.nv), external)
    return recursions.crba(tree, q), jacobian, phi, gamma


def _pulled(tree: Tree, q: Vector, v: Vector, found: list[Frame], size: Scalar, gamma: Vector, pull: float) -> Vector:
    """The right-hand side of the rows if loops that drifted open are pulled together at a rate."""
    if not pull:
        return gamma
    return gamma - 2 * pull * loops.slip(tree, found, v, size) - pull**2 * loops.phi(tree, q, size)


# ---- subsystem by subsystem -------------------------------------------------------------------------------


def sslm(
    tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, rows: tuple[int, ...], pull: float = 0.0,
    run: Run = inline,
) -> Accelerations:  # fmt: skip
    """Multipliers and accelerations by recursion through each subsystem (13-25)."""
    external, base = kinematics.external_wrenches(tree, q, v), -tree.gravity
    out = recursions.coasting(tree, q, v, run)
    factors = recursions.factorized(tree, *recursions.moving(tree, out, q, v, tau, external, run), run=run)
    alone, motion = recursions.accelerations(tree, factors, base, run)  # phi-hat, of subsystems alone (20)
    cuts = cuts_of(tree, size, rows, pull)
    moving = any(each.cut.needs_velocities for each in cuts)
    tied = couplings(tree, rows)
    drifts = drifts_of(tree, tied, alone, q, v, pull)
    held = Held(tree, factors, placed(tree, out, v, cuts, run, moving), motion, cuts, run, base, tied, drifts)
    lam = held.gicm.solve(held.drift)  # drift: Psi - J phi-hat                                            (23, 25)
    vdot = held.accelerations(lam)  #                                                                          (19)
    return Accelerations(vdot, recursions.joined(factors.pivots), held.gicm.fit, lam)


# ---- formulations -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Multipliers(InCoordinates):
    """A formulation that solves for multipliers of the chosen rows; coordinates are used to close loops and are
    monitored.

    The fit of the rows is the least sine of the angle between a row and those eliminated before it, measured by the
    inertia. It detects dependent rows, but not rows that vanish.
    """

    paper: ClassVar[str] = KOUL
    sees_all: ClassVar[bool] = False

    @classmethod
    def refusal(cls, topology: "Topology") -> str | None:
        """Every joint of the tree alone must move against some inertia."""
        return without_inertia(topology)

    @abstractmethod
    def solve(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Accelerations and multipliers."""

    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """The same, with the coordinates that are monitored."""
        return replace(
            self.solve(tree, q, v, tau, size, run), loops=lambda: self.eliminated(tree, q, None, size).loops.pivots
        )

    def project(self, tree: Tree, q: Vector, v: Vector, size: Scalar, run: Run = inline) -> tuple:
        """Projection by least steps, which need no coordinates."""
        return settling.project(tree, q, v, size, self.chosen.rows, run)

    def all_rows(self, lam: Vector, count: int) -> Vector:
        """Multipliers of all rows from those of the chosen rows."""
        out = np.zeros(count, dtype=object)
        out[list(self.chosen.rows)] = lam
        return out

    def pivot_counts(self, nv: int, dof: int) -> tuple[int, int]:
        """The number of dependent velocities, and of pivots of M."""
        return nv - dof, nv

    def functions(self) -> dict[str, Function]:
        """The functions with multipliers."""
        return {"row_multipliers": Function(("q", "v", "tau"), ("lam",), VECTOR, _row_multipliers, chosen=True)}

    def words(self, topology: "Topology", names: tuple[str, ...], dof: int) -> str:
        """The words with the number of multipliers."""
        return f"{self.summary}; {counted(len(names) - dof, 'multiplier')}"


class Augmented(Multipliers):
    """Accelerations and multipliers together."""

    name: ClassVar[str] = "augmented"
    summary: ClassVar[str] = (
        "accelerations and multipliers of the loops together (Koul, Shah, Saha and Manivannan 2014, eq. 10)"
    )

    def solve(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Solves (10)."""
        return augmented(tree, q, v, tau, size, self.chosen.rows, self.pull)


class Slm(Multipliers):
    """Multipliers by the system."""

    name: ClassVar[str] = "slm"
    summary: ClassVar[str] = (
        "multipliers of the whole system first, then accelerations (Koul and others 2014, eqs. 11-12)"
    )

    def solve(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Solves (11, 12)."""
        return slm(tree, q, v, tau, size, self.chosen.rows, self.pull)


class Sslm(Multipliers):
    """Multipliers by subsystems."""

    name: ClassVar[str] = "sslm"
    summary: ClassVar[str] = (
        "multipliers and accelerations by recursion through each subsystem (Koul and others 2014, eqs. 13-25)"
    )
    in_steps: ClassVar[tuple[str, ...]] = ("forward_dynamics", "row_multipliers", "project")
    recursive: ClassVar[bool] = True

    def solve(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Solves (13-25)."""
        return sslm(tree, q, v, tau, size, self.chosen.rows, self.pull, run)


def without_inertia(topology: "Topology") -> str | None:
    """Which joints of the tree alone can move against no inertia, for formulations that need its inertia matrix."""
    loose, _ = weak_joints(build(replace(topology, couplings=())))
    if not loose:
        return None
    return (
        f"works with the inertia of the tree alone, in which {', '.join(loose)} can move against none; give auto or "
        "partition"
    )


def _row_multipliers(eq: "Equations", tree: Tree, q, v, tau):
    used = eq.used
    assert isinstance(used, Multipliers)
    return (array(used.all_rows(used.solve(tree, q, v, tau, eq.closure_size).lam, eq.sizes["lam"])),)
