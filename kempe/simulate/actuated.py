"""Actuated: runs of `denoc`, in the coordinates of the actuated joints, which end where these fail as coordinates.

Deltas and pivots of Phi are squares: a step can lead past a zero of theirs and find nothing. So their root is given the
sign of det J_S, the loops' equations in the passive velocities, which changes there, and that is an event of the run
like others: looked at several times in every step, and found to the last digits. It ends the run just before, while
loops can still be closed in these coordinates.

Of redundant equations, as those of a Bricard linkage, J_S has as many rows as are independent, and which ones are is a
matter of the state. det J_S vanishes too where its rows stop being independent: then the root has not, and others are
taken at that state, by which the run goes on. Its motion does not depend on them, only what it is watched by.
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
ENDED = 1.01  # of that: what a state that was located by it may have by rounding
BETTER = 2.0  # by how much other rows must be fitter than the model's own


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
    """Where the run ends, or the rows that it is watched by expire. expression: of q and p."""

    model: Kinetics | None = None

    def value(self, t, q, v, z, w, p):
        """The expression."""
        return self.expression(q, p)

    def again(self, q: np.ndarray, p: np.ndarray) -> "End | None":
        """The same with rows that are independent at a state where these are not; None where coordinates fail there."""
        model = self.model
        assert model is not None
        if fit_at(model, q, p) <= ENDED * LEAST:
            return None
        return end_of(model, model.prepared.atlas.chooser.at(q, p=p if model.p_names else None), q, p)


def end_of(model: Kinetics, choice: Choice | None, q: np.ndarray, p: np.ndarray) -> End | None:
    """The event that ends a run that stands at q, watched by the rows of a choice; None where these are dependent."""
    assert choice is not None
    side = int(np.prod(np.sign(pivots_at(model, choice, q, p if model.p_names else None))))
    return End(NAME, _expression(model, choice, side), model=model) if side else None


def fit_at(model: Kinetics, q: np.ndarray, p: np.ndarray) -> float:
    """How far the actuated joints are from failing as coordinates."""
    pivots, _ = model.call("leg_pivots", q, p=p if model.p_names else None)
    return float(np.sqrt(max(0.0, (pivots * model.prepared.leg_scales).min(initial=1.0))))


def _expression(model: Kinetics, choice: Choice, side: int) -> Callable:
    """Fitness with the sign of det J_S beside that where the rows were chosen, less what is left at the end."""

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
