"""Trees: forward dynamics by the O(n) recursion UDU^T, by the whole inertia matrix, and with springs at cuts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kempe.dynamics import formulation, recursions
from kempe.dynamics.formulation import Accelerations, Formulation
from kempe.dynamics.kinematics import external_wrenches
from kempe.dynamics.multipliers import without_inertia
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.ties import spring_efforts
from kempe.dynamics.tree import Tree
from kempe.spatial.vectors import Scalar, Vector
from kempe.topology.tree import counted

if TYPE_CHECKING:
    from kempe.topology.tree import Topology

MOHAN = (
    "A. Mohan and S. K. Saha, A recursive, numerically stable, and efficient simulation algorithm for serial robots, "
    "Multibody System Dynamics 17 (2007) 291-319."
)


@dataclass(frozen=True)
class Udu(Formulation):
    """The recursion."""

    name: ClassVar[str] = "udu"
    summary: ClassVar[str] = "the O(n) UDU^T recursion of Mohan and Saha (2007), eqs. 30-37, in merged form"
    paper: ClassVar[str] = MOHAN
    in_steps: ClassVar[tuple[str, ...]] = ("forward_dynamics", "generalized_forces", "pivots")
    recursive: ClassVar[bool] = True

    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Outward, inward, outward."""
        return Accelerations(*recursions.udu(tree, q, v, tau, external_wrenches(tree, q, v), run))


@dataclass(frozen=True)
class Cholesky(Formulation):
    """The whole inertia matrix."""

    name: ClassVar[str] = "cholesky"
    summary: ClassVar[str] = (
        "the non-recursive way: the whole inertia matrix, factored (Mohan and Saha 2007, section 5)"
    )
    paper: ClassVar[str] = MOHAN

    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """Factored from the tips to the base."""
        return Accelerations(*recursions.cholesky(tree, q, v, tau, external_wrenches(tree, q, v)))


@dataclass(frozen=True)
class Springs(Udu):
    """The recursion over the parts of a tree, between springs and dampers at the cuts."""

    name: ClassVar[str] = "springs"
    summary: ClassVar[str] = (
        "springs and dampers at the cuts, and O(n) recursions between them (Wang, Gosselin and Cheng 2002)"
    )
    paper: ClassVar[str] = (
        "J. Wang, C. M. Gosselin and L. Cheng, Modeling and simulation of robotic systems with closed kinematic "
        "chains using the virtual spring approach, Multibody System Dynamics 7 (2002) 145-170."
    )
    enforces: ClassVar[str] = formulation.SPRINGS
    in_steps: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def refusal(cls, topology: "Topology") -> str | None:
        """Cuts cannot be switched, and every joint of the tree alone must move against some inertia."""
        if topology.switchable:
            return (
                f"holds its cuts for good, and {', '.join(topology.switchable)} can be switched; give auto or another "
                "formulation"
            )
        return without_inertia(topology)

    def forward(self, tree: Tree, q: Vector, v: Vector, tau: Vector, size: Scalar, run: Run = inline) -> Accelerations:
        """With the efforts of springs that replace couplings."""
        if tree.topology.sprung:
            tau = tau + spring_efforts(tree, q, v)
        return super().forward(tree, q, v, tau, size, run)

    def words(self, topology: "Topology", names: tuple[str, ...], dof: int) -> str:
        """The words with the number of springs."""
        parts = counted(len(topology.subsystems), "subsystem")
        return f"{self.summary}; {counted(len(topology.held), 'cut')}, {parts} that move by themselves"
