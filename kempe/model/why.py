"""Why: which equations a model uses, and why, in a sentence."""

from typing import TYPE_CHECKING

from kempe.dynamics.formulation import SPRINGS
from kempe.topology.tree import counted

if TYPE_CHECKING:
    from kempe.model.model import Model


def why(model: "Model") -> str:
    """Which equations a model uses, and why, in a sentence."""
    used, asked = model.chosen.used, model.structures.asked
    equations = used.words(model.topology, model.v_names, model.dof)
    if used.enforces != SPRINGS and not model.program("forward_dynamics").is_single_block:
        equations += ", as repeated blocks"
    chosen = asked is None or asked.name != used.name
    reason = f"{_described(model)}, so {used.name}" if chosen else f"{used.name} was asked for"
    beside = model.decision.sentence if model.equations.is_closed else ""
    return f"{reason}: {equations}; {model.counts.total} operations{beside}"


def _described(model: "Model") -> str:
    """The features of the mechanism that matter for the decision."""
    found, name = model.topology, model.mechanism.name
    if not found.constrained:
        return f"{name} is a tree of {counted(len(found.tree), 'joint')}"
    held = [counted(len(found.loops), "closed loop")] * bool(found.loops)
    held += [counted(len(found.couplings), "coupling")] * bool(found.couplings)
    return f"{name} has {' and '.join(held)}"
