"""Why: which equations a model uses, and why, in a sentence; and the papers they are from."""

from typing import TYPE_CHECKING

from kempe.dynamics.equations import FORMULATIONS
from kempe.dynamics.multipliers import WAYS
from kempe.topology.tree import counted

if TYPE_CHECKING:
    from kempe.model.model import Model

SERIAL = (
    "A. Mohan and S. K. Saha, A recursive, numerically stable, and efficient simulation algorithm for serial robots, "
    "Multibody System Dynamics 17 (2007) 291-319."
)
MANY = (
    "M. Koul, S. V. Shah, S. K. Saha and M. Manivannan, Reduced-order forward dynamics of multiclosed-loop systems, "
    "Multibody System Dynamics 31 (2014) 451-476."
)
PAPERS = {
    "udu": SERIAL,
    "cholesky": SERIAL,
    "partition": "K. Yamane and Y. Nakamura, Dynamics computation of closed kinematic chains for motion synthesis of "
    "human figures, IEEE/RSJ International Conference on Intelligent Robots and Systems (1999) 1108-1114.",
    "denoc": "S. K. Saha and W. O. Schiehlen, Recursive kinematics and dynamics for parallel structured closed-loop "
    "multibody systems, Mechanics of Structures and Machines 29 (2001) 143-175.",
    **dict.fromkeys(WAYS, MANY),
    "springs": "J. Wang, C. M. Gosselin and L. Cheng, Modeling and simulation of robotic systems with closed kinematic "
    "chains using the virtual spring approach, Multibody System Dynamics 7 (2002) 145-170.",
}


def why(model: "Model") -> str:
    """Which equations a model uses, and why, in a sentence."""
    used, found = model.formulation, model.topology
    equations = FORMULATIONS[used]
    if used == "partition":
        equations += f", here {', '.join(model.v_names[k] for k in model.choice.independent) or 'none'}"
    elif used == "denoc":
        legs = model.equations.legs.legs
        joined = f"{len(legs)} legs carry a platform" if len(legs) > 1 else "one leg ends on the ground"
        equations += f", here {', '.join(model.u_names)}; of {model.mechanism.name} {joined}"
    elif used == "springs":
        parts = counted(len(found.subsystems), "subsystem")
        equations += f"; {counted(len(found.held), 'cut')}, {parts} that move by themselves"
    elif used in WAYS:
        equations += f"; {counted(model.nv - model.dof, 'multiplier')}"
    if used != "springs" and not model.program("forward_dynamics").is_single_block:
        equations += ", as repeated blocks"
    reason = f"{_described(model)}, so {used}" if model.structures.asked != used else f"{used} was asked for"
    beside = model.decision.sentence if model.equations.is_closed else ""
    return f"{reason}: {equations}; {model.counts.total} operations{beside}"


def _described(model: "Model") -> str:
    """What there is, in as far as it decides."""
    found, name = model.topology, model.mechanism.name
    if not found.constrained:
        return f"{name} is a tree of {counted(len(found.tree), 'joint')}"
    held = [counted(len(found.loops), "closed loop")] * bool(found.loops)
    held += [counted(len(found.couplings), "coupling")] * bool(found.couplings)
    return f"{name} has {' and '.join(held)}"
