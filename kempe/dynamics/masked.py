"""Masked: all structures of a mechanism in one program, whose closures and locks are switched by numbers.

Every closure that could be on, and every freedom that could be locked, has its rows, each multiplied by a factor of 1
or 0. The multipliers are those of paper 2, by recursion through subsystems, of all rows:

    J I^-1 J^T lam = drift,

where rows that are off, and redundant rows, are skipped during elimination (`Sparse`), so no rows are chosen
beforehand. A row counts as redundant if the square of its component normal to the earlier rows, measured by the
inertia, is less than `SKIPPED` times its own square.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from kempe.dynamics import formulation, kinematics, recursions, settling
from kempe.dynamics.formulation import Accelerations, Formulation
from kempe.dynamics.held import Held, cuts_of, drifts_of, placed
from kempe.dynamics.multipliers import KOUL
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.stress import least
from kempe.dynamics.ties import Tie, Tied, couplings
from kempe.dynamics.tree import Tree
from kempe.spatial.vectors import Scalar, Vector, array, is_zero
from kempe.topology.paths import lock_paths

if TYPE_CHECKING:
    from kempe.dynamics.generalized import Choice

SKIPPED = 1e-11


def _usual(tree: Tree, size: Scalar) -> Scalar:
    """A typical entry of J I^-1 J^T for rows that constrain anything: that of all masses at the mechanism's size. If
    loops constrain nothing, as out of a plane, and no lock is on, all entries are rounding.
    """
    inertia = sum((link.inertia.mass for link in tree.links), 0.0) * size * size
    if is_zero(inertia):
        inertia = sum((link.inertia.tensor[k, k] for link in tree.links for k in range(3)), 0.0)
    return 0.0 if is_zero(inertia) else 1.0 / inertia


def rows_of(tree: Tree) -> tuple[int, ...]:
    """Indices of all rows of closures and couplings."""
    return tuple(range(tree.topology.rows))


def locks_of(tree: Tree) -> list[Tie]:
    """The freedoms that can be locked, as ties; their rows come after all others."""
    found, first = [], len(rows_of(tree))
    for number, at in enumerate(tree.topology.locks):
        link = next(k for k in tree.own if tree.joints[k].v.start <= at < tree.joints[k].v.stop)
        joint = tree.joints[link]
        freedom = at - joint.v.start
        on, held = (tree.values[path] for path in lock_paths(at))
        found.append(Tie((Tied(link, freedom, joint.q.start + freedom, at, 1.0),), held, first + number, on))
    return found


def forward(tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, pull: float = 0.0) -> Accelerations:
    """Accelerations, and multipliers of all rows, which are zero for rows that are off."""
    held, inertia = _held(tree, q, v, tau, size, pull)
    lam = held.gicm.solve(held.drift)
    return Accelerations(held.accelerations(lam), inertia, held.gicm.fit, lam)


def borne(tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar) -> Vector:
    """Of all sets of multipliers that satisfy the equations, the one with the least joint wrenches (`stress`)."""
    held, _ = _held(tree, q, v, tau, size, 0.0)
    lam = held.gicm.solve(held.drift)
    on = [each.cut.on for each in held.cuts for _ in each.numbers]
    on += [tie.on for tie in (*couplings(tree), *locks_of(tree))]
    stresses = [array(x * factor for x in row) for row, factor in zip(held.gicm.dependent(), on, strict=True)]
    return least(tree, q, v, held.accelerations(lam), lam, stresses, size)


def _held(tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, pull: float) -> tuple[Held, Vector]:
    """The effect of the rows on the tree, and the pivots of its inertia."""
    external, base = kinematics.external_wrenches(tree, q, v), -tree.gravity
    out = recursions.coasting(tree, q, v, inline)
    factors = recursions.factorized(tree, *recursions.moving(tree, out, q, v, tau, external, inline), run=inline)
    alone, motion = recursions.accelerations(tree, factors, base, inline)
    cuts = cuts_of(tree, size, rows_of(tree), pull)
    moving = any(each.cut.needs_velocities for each in cuts)
    frames = placed(tree, out, v, cuts, inline, moving)
    tied = couplings(tree)
    drifts = [*drifts_of(tree, tied, alone, q, v, pull), *drifts_of(tree, locks_of(tree), alone, q, v, 0.0)]
    held = Held(tree, factors, frames, motion, cuts, inline, base, [*tied, *locks_of(tree)], drifts, SKIPPED,
                _usual(tree, size))  # fmt: skip
    return held, recursions.joined(factors.pivots)


def project(tree: Tree, q: Vector, v: Vector, size: Scalar) -> tuple[Vector, Vector, Scalar]:
    """q and v on the loops and locks that are on, and the largest remaining residual."""
    return settling.project(tree, q, v, size, rows_of(tree), inline, locks_of(tree), SKIPPED, _usual(tree, size))


@dataclass(frozen=True)
class Masked(Formulation):
    """One program for all structures; pull [1/s]: as for `InCoordinates`."""

    pull: float = 0.0

    name: ClassVar[str] = "masked"
    summary: ClassVar[str] = (
        "multipliers by recursion, in one program for all structures, whose closures are switched by numbers"
    )
    paper: ClassVar[str] = KOUL
    enforces: ClassVar[str] = formulation.MASKS

    def using(self, choice: "Choice | None" = None, scales: tuple[float, ...] = (), pull: float = 0.0) -> Self:
        """The same with another rate."""
        return replace(self, pull=pull)

    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Accelerations with what is on."""
        return forward(tree, q, v, tau, size, self.pull)

    def project(self, tree: Tree, q: Vector, v: Vector, size: Scalar, run: Run = inline) -> tuple:
        """Projection onto what is on."""
        return project(tree, q, v, size)
