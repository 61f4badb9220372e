"""What a model can compute of closed loops in generalized coordinates: functions with named inputs and outputs."""

from typing import TYPE_CHECKING

from kempe.dynamics import derivatives, multipliers, partition
from kempe.dynamics.function import MATRICES, VECTOR, Function
from kempe.spatial.vectors import array

if TYPE_CHECKING:
    from kempe.dynamics.equations import Equations


def _closed_forward(eq: "Equations", tree, q, v, tau):
    if eq.formulation in multipliers.WAYS:
        found = eq.multiplied(tree, q, v, tau)
        return found.vdot, found.fit
    vdot, pivots = eq.forward(tree, q, v, tau)
    assert eq.choice is not None
    return vdot, array([partition.fitness(eq.choice, pivots[: eq.loop_pivots])])


def _project(eq: "Equations", tree, q, v):
    closed_q, closed_v, left = eq.project(tree, q, v)
    return closed_q, closed_v, array([left])


def _reduction(eq: "Equations", tree, q):
    found = eq.eliminated(tree, q)
    return found.w, array([_fitness(eq, found)])


def _generalized_efforts(eq: "Equations", tree, q, v, a):
    found = eq.eliminated(tree, q)
    return found.w.T @ eq.inverse(tree, q, v, a), found.w, array([_fitness(eq, found)])  # (7)


def _fitness(eq: "Equations", found: partition.Reduction):
    assert eq.choice is not None
    return partition.fitness(eq.choice, found.loops.pivots)


def _row_multipliers(eq: "Equations", tree, q, v, tau):
    return (array(eq.all_rows(eq.multiplied(tree, q, v, tau).lam)),)


FUNCTIONS = {
    "forward_dynamics": Function(
        ("q", "v", "tau"), ("vdot", "fit"), ("vector", "scalar"), _closed_forward, chosen=True
    ),
    "project": Function(("q", "v"), ("q_out", "v_out", "left"), ("vector", "vector", "scalar"), _project, chosen=True),
    "reduction": Function(("q",), ("W", "fit"), ("matrix", "scalar"), _reduction, chosen=True),
    "generalized_efforts": Function(
        ("q", "v", "a"), ("tau_G", "W", "fit"), ("vector", "matrix", "scalar"), _generalized_efforts, chosen=True
    ),
    "forward_dynamics_derivatives": Function(
        ("q", "v", "tau"),
        ("by_q", "by_v", "by_tau", "fit"),
        (*MATRICES, "scalar"),
        derivatives.closed_forward,
        by_parameters=True,
        chosen=True,
    ),
}

MULTIPLIED = {
    "row_multipliers": Function(("q", "v", "tau"), ("lam",), VECTOR, _row_multipliers, chosen=True),
}
