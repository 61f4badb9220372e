"""Actuated: runs of `denoc`, in the coordinates of the actuated joints, which end where these fail as coordinates.

Deltas and pivots of Phi are squares: a step can jump past their zero unnoticed. So their root takes the sign of det
J_S, the closure rows in the passive velocities, which changes there. That sign change is an event of the run like any
other: checked several times in every step, and located to the last digits. It ends the run just before, while loops can
still be closed in these coordinates.

With redundant equations, as in a Bricard linkage, J_S has as many rows as are independent, and which ones depends on
the state. det J_S also vanishes where its rows become dependent: the root does not, and other rows are chosen at that
state to continue the run. They do not affect the motion, only the event.
"""

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kempe.dynamics import denoc, loops
from kempe.dynamics.generalized import Choice
from kempe.dynamics.kinematics import frames
from kempe.errors import Singular, StateError
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.choosing import fitness, pivots_at
from kempe.simulate.events import Event
from kempe.simulate.scales import scales
from kempe.simulate.system import Setting, System, system
from kempe.spatial.solving import Elimination
from kempe.spatial.vectors import from_sx

NAME = "the actuated joints stop being coordinates"
LEAST = 1e-3  # fitness at which they have failed
ENDED = 1.01  # of that: what a state located by it may have through rounding
BETTER = 2.0  # how much fitter other rows must be than the model's own


def first(model: Kinetics, setting: Setting, crossing: bool, q: np.ndarray, p: np.ndarray) -> tuple[System, np.ndarray]:
    """The system of a run that begins at q, and its scales."""
    if crossing or setting.pull:
        words = 'singular="cross"' if crossing else 'stabilize="baumgarte"'
        raise StateError(f"{words} is not for denoc; give formulation='partition'")
    if fit_at(model, q, p) <= LEAST:
        raise Singular(
            f"at this state the actuated joints {', '.join(model.u_names)} are no coordinates of "
            f"{model.mechanism.name!r}: it can move with them held; start elsewhere, or give formulation='partition'"
        )
    given = p if model.p_names else None
    own, other = model.choice, model.prepared.atlas.chooser.at(q, p=given)
    choice = other if fitness(model, other, q, given) > BETTER * fitness(model, own, q, given) else own
    return system(model, setting, choice), scales(model, p, choice, q)


@dataclass(frozen=True, eq=False)
class End(Event):
    """Where the run ends, or its watched rows expire. expression: of q and p."""

    model: Kinetics | None = None

    def value(self, t, q, v, z, w, p):
        """The expression."""
        return self.expression(q, p)

    def again(self, q: np.ndarray, p: np.ndarray) -> "End | None":
        """The same with rows that are independent at a state where these are not; None if the coordinates
        fail there."""
        model = self.model
        assert model is not None
        if fit_at(model, q, p) <= ENDED * LEAST:
            return None
        return end_of(model, model.prepared.atlas.chooser.at(q, p=p if model.p_names else None), q, p)


def end_of(model: Kinetics, choice: Choice | None, q: np.ndarray, p: np.ndarray) -> End | None:
    """The event that ends a run at q, watched by the rows of a choice; None if these are dependent."""
    assert choice is not None
    side = int(np.prod(np.sign(pivots_at(model, choice, q, p if model.p_names else None))))
    return End(NAME, _expression(model, choice, side), model=model) if side else None


def fit_at(model: Kinetics, q: np.ndarray, p: np.ndarray) -> float:
    """The distance of the actuated joints from failing as coordinates."""
    pivots, _ = model.call("leg_pivots", q, p=p if model.p_names else None)
    return float(np.sqrt(max(0.0, (pivots * model.prepared.leg_scales).min(initial=1.0))))


def _expression(model: Kinetics, choice: Choice, side: int) -> Callable:
    """Fitness with the sign of det J_S relative to where the rows were chosen, less its value at the end."""

    def expression(q, p):
        at, equations = from_sx(q), model.equations
        tree, size = equations.tree(from_sx(p)), equations.closure_size
        rows = loops.jacobian(tree, at, frames(tree, at, np.zeros(model.nv)), size)
        signed = ca.SX(side)
        for pivot in Elimination(rows[np.ix_(choice.rows, choice.dependent)]).pivots:
            signed = signed * pivot
        fit = denoc.fitness(denoc.posture(tree, at, None, model.topology.legs), model.prepared.leg_scales)
        return ca.if_else(signed > 0, fit, -fit) - LEAST

    return expression
