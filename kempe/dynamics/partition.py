"""Partition: forward dynamics of closed chains in automatically chosen generalized coordinates (paper 3).

With v = W yd and vdot = W ydd + g (`generalized`), the tree's equations, projected, are A ydd + b = tau_G with
tau_G = W^T tau (eqs. 7 and 23). A and b are computed in one of three ways, which give the same numbers by programs of
different length:

    unit       inverse dynamics of the tree for unit accelerations, the paper's own (section 3.2)
    projected  sums over bodies of the products of their inertia with their accelerations per unit of ydd
    composite  W^T M W, with the tree's inertia matrix from composite bodies

A fourth way, `clusters`, has no A: it is a recursion over clusters of loops.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kempe.dynamics import clusters, kinematics, recursions
from kempe.dynamics.formulation import Accelerations
from kempe.dynamics.generalized import InCoordinates, Reduction, congruent, generalized
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.regrouped import regrouped
from kempe.dynamics.tree import Tree
from kempe.spatial.moves import acceleration_along
from kempe.spatial.solving import pivots, solve_symmetric
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, dot, zeros

if TYPE_CHECKING:
    from kempe.dynamics.formulation import Formulation
    from kempe.topology.tree import Topology


def forward(tree: Tree, q: Vector, v: Vector, tau: Vector, found: Reduction, way: str) -> tuple[Vector, Vector]:
    """Accelerations, and the pivots of A."""
    external = kinematics.external_wrenches(tree, q, v)
    a, b = WAYS[way](regrouped(tree), q, v, tau, external, found)
    ydd = solve_symmetric(a, -b[:, None])[:, 0]  #                                                          (24)
    return found.w @ ydd + found.g, pivots(a)  #                                                           (19)


# ---- A, and b minus the given generalized forces -----------------------------------------------------------


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
        if link.shared:  # efforts along its freedoms are counted at the beam
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
    """W^T M W; b is W^T times the generalized forces at zero vdot, plus W^T M g."""
    m = recursions.crba(tree, q)
    mw = m @ found.w
    coasting = recursions.rnea(tree, q, v, zeros(tree.topology.nv), external) - tau
    return congruent(found.w, mw), generalized(found.w, coasting, m, mw, found.g)


WAYS = {"unit": unit, "projected": projected, "composite": composite}


# ---- the formulation --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Partition(InCoordinates):
    """Automatically chosen generalized coordinates; way: how A and b are computed, one of `WAYS` or "clusters", None
    until that is decided.
    """

    way: str | None = None

    name: ClassVar[str] = "partition"
    summary: ClassVar[str] = "generalized coordinates found by themselves (Yamane and Nakamura 1999)"
    paper: ClassVar[str] = (
        "K. Yamane and Y. Nakamura, Dynamics computation of closed kinematic chains for motion synthesis of "
        "human figures, IEEE/RSJ International Conference on Intelligent Robots and Systems (1999) 1108-1114."
    )

    def __str__(self) -> str:
        return self.name if self.way is None else f"{self.name} by {TOLD.get(self.way, self.way)}"

    def among(self, others: "tuple[Formulation, ...]") -> str:
        """With its way if another one was compared."""
        return str(self) if any(isinstance(each, Partition) for each in others) else self.name

    @property
    def is_open(self) -> bool:
        """Whether the way is still to be decided."""
        return self.way is None

    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Accelerations in the chosen way."""
        return self.with_coordinates(tree, q, v, tau, self.eliminated(tree, q, v, size))

    def with_coordinates(self, tree: Tree, q: Vector, v: Vector, tau: Vector, found: Reduction) -> Accelerations:
        """Accelerations for given W and g."""
        if self.way == "clusters":
            vdot, inertia = clusters.forward(tree, q, v, tau, found, self.chosen.independent)
        else:
            vdot, inertia = forward(tree, q, v, tau, found, self.way or "composite")
        return Accelerations(vdot, inertia, self.fit_of(found), loops=lambda: found.loops.pivots)

    def words(self, topology: "Topology", names: tuple[str, ...], dof: int) -> str:
        """The words with the coordinates."""
        return f"{self.summary}, here {', '.join(names[k] for k in self.chosen.independent) or 'none'}"


TOLD = {"composite": "composite bodies", "clusters": "clusters"}
