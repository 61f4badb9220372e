"""Formulation: the interface that each set of equations of motion offers to its users.

A formulation is a frozen object. What was chosen for a mechanism (coordinates, scales) is in its fields; what others
ask of it is in its methods and in the attributes of its class. A new formulation is a class in its own module and a
line in `formulations`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from kempe.dynamics.function import Function
from kempe.dynamics.kinematics import normalized
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.tree import Tree
from kempe.spatial.vectors import Scalar, Vector, zeros

if TYPE_CHECKING:
    from kempe.dynamics.generalized import Choice
    from kempe.topology.tree import Topology

NOTHING, EQUATIONS, SPRINGS, MASKS = "nothing", "equations", "springs", "masks"  # what enforces closures


@dataclass(frozen=True, eq=False)
class Accelerations:
    """Accelerations of the tree, and how they were found.

    inertia: pivots of the inertia matrix that was factored. fit: how well the coordinates, or the rows of loops, suit
    the state (0 to 1); None if there are neither. lam: multipliers of the rows that were kept. loops: returns the
    pivots of the coordinates in which loops are closed.
    """

    vdot: Vector
    inertia: Vector
    fit: Vector | None = None
    lam: Vector = field(default_factory=lambda: zeros(0))
    loops: Callable[[], Vector] | None = None

    @property
    def pivots(self) -> Vector:
        """All pivots: of loops first, then of inertia."""
        return self.inertia if self.loops is None else np.concatenate([self.loops(), self.inertia])


class Formulation(ABC):
    """One set of equations of motion.

    name: as users write it; summary: a phrase for `model.why`; paper: its source. enforces: how it treats closures.
    in_steps: functions whose recursions can be compiled as repeated blocks. recursive: whether its inertia pivots are
    those of the tree alone, with outward joints free. chooses: whether runs may choose other coordinates on the way.
    squares: whether the pivots of loops are squares. sees_all: whether the fit from `forward` alone shows that
    accelerations can be trusted.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    enforces: ClassVar[str] = NOTHING
    in_steps: ClassVar[tuple[str, ...]] = ()
    recursive: ClassVar[bool] = False
    chooses: ClassVar[bool] = False
    squares: ClassVar[bool] = False
    sees_all: ClassVar[bool] = True

    @classmethod
    def refusal(cls, topology: "Topology") -> str | None:
        """Why it does not apply to a mechanism, beyond what `enforces` implies; None if it does."""
        return None

    def __str__(self) -> str:
        return self.name

    def among(self, others: "tuple[Formulation, ...]") -> str:
        """What distinguishes it from others that it is compared with."""
        return str(self)

    @property
    def pivot_scales(self) -> tuple[float, ...]:
        """Scales that bring each pivot of loops to order one, if they do not depend on a choice."""
        return ()

    @property
    def is_open(self) -> bool:
        """Whether some part of it is still to be decided by counting operations."""
        return False

    def using(self, choice: "Choice | None" = None, scales: tuple[float, ...] = (), pull: float = 0.0) -> Self:
        """The same with coordinates, scales of pivots, and the rate [1/s] at which open loops are pulled together, as
        far as it uses them.
        """
        return self

    @abstractmethod
    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Accelerations; `size` is the length by which gaps are divided, `run` executes the steps of recursions."""

    def project(self, tree: Tree, q: Vector, v: Vector, size: Scalar, run: Run = inline) -> tuple:
        """q and v on the manifold and on the loops, and the largest remaining residual."""
        return normalized(tree, q), v, 0.0

    def pivot_counts(self, nv: int, dof: int) -> tuple[int, int]:
        """How many pivots of loops, and of inertia, `forward` returns."""
        return 0, nv

    def functions(self) -> dict[str, Function]:
        """Functions that other formulations do not offer, or compute differently."""
        return {}

    def words(self, topology: "Topology", names: tuple[str, ...], dof: int) -> str:
        """A description for `model.why`; names: of all velocities."""
        return self.summary
