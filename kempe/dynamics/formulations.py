"""Formulations: all formulations by name, and which of them apply to a mechanism."""

from kempe.dynamics.denoc import Denoc
from kempe.dynamics.formulation import EQUATIONS, NOTHING, SPRINGS, Formulation
from kempe.dynamics.masked import Masked
from kempe.dynamics.multipliers import Augmented, Slm, Sslm
from kempe.dynamics.partition import Partition
from kempe.dynamics.trees import Cholesky, Springs, Udu
from kempe.topology.tree import Topology

ALL: tuple[type[Formulation], ...] = (Udu, Cholesky, Partition, Denoc, Augmented, Slm, Masked, Springs, Sslm)
BY_NAME = {each.name: each for each in ALL}
OPEN = tuple(each.name for each in ALL if each.enforces == NOTHING)  # of trees
CLOSED = tuple(each.name for each in ALL if each.enforces == EQUATIONS)  # that close loops by equations


def refusal(kind: type[Formulation], topology: Topology) -> str | None:
    """Why a formulation does not apply to a mechanism; None if it does."""
    name = topology.mechanism.name
    if topology.constrained and kind.enforces == NOTHING:
        held = "closed loops" if topology.loops else "couplings"
        return f"is for trees, and {name!r} has {held}; give auto or {', '.join((*CLOSED, Springs.name))}"
    if kind.enforces in (EQUATIONS, SPRINGS) and not topology.constrained and not topology.off:
        return f"is for closed loops, and {name!r} has no closed loops; give auto or {', '.join(OPEN)}"
    return kind.refusal(topology)


def suited(asked: Formulation | None, topology: Topology) -> Formulation | None:
    """The requested formulation if it suits what is on; otherwise `udu` for a tree, and None with loops, where the best
    is to be chosen.
    """
    wanted = EQUATIONS if topology.constrained else NOTHING
    if asked is not None and asked.enforces in (SPRINGS, wanted):
        return asked
    return None if topology.constrained else Udu()
