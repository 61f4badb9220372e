"""Closed: functions of closed loops in generalized coordinates, with named inputs and outputs."""

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kempe.dynamics import derivatives, kinematics, loops
from kempe.dynamics.function import MATRICES, SCALAR, VECTOR, Function
from kempe.spatial.vectors import Scalar, Vector, array, largest

if TYPE_CHECKING:
    from kempe.dynamics.equations import Equations

OPEN = 1e-6  # residual, lengths over the mechanism's size, above which a state counts as open; also for its rate
FIT = 1e-2  # fitness of generalized coordinates above which compiled code is trusted: rounding grows by 1 / fitness^2
HUGE = 1e300  # larger accelerations count as not finite


def _closed_forward(eq: "Equations", tree, q, v, tau):
    found = eq.forward(tree, q, v, tau)
    return found.vdot, found.fit


def _opening(eq: "Equations", tree, q, v):
    """How far loops are open, or how fast they open relative to the fastest joint, whichever is larger."""
    found = kinematics.frames(tree, q, np.zeros(eq.topology.nv))
    slip = loops.jacobian(tree, q, found, eq.closure_size) @ v
    return (array([widest(eq, loops.phi(tree, q, eq.closure_size), slip, v)]),)


def widest(eq: "Equations", phi: Vector, slip: Vector, v: Vector) -> Scalar:
    """The largest gap, or how fast it opens relative to the fastest joint, whichever is larger. Joint speeds are
    measured in radians, or in sizes of the mechanism, and the fastest is taken as at least one of these per unit of the
    mechanism's time.
    """
    fastest = ca.fmax(1.0 / eq.scale.time, largest(v / eq.steps))
    return ca.fmax(largest(phi), largest(slip) / fastest)


def least_fit(fits: Vector, vdot: Vector) -> Scalar:
    """The least fitness; zero if an acceleration is not finite."""
    least = fits[0]
    for fit in fits[1:]:
        least = ca.fmin(least, fit)
    for entry in vdot:
        least = ca.if_else(ca.fabs(entry) < HUGE, least, 0.0)
    return least


def _driven(eq: "Equations", tree, q, v, u):
    """Accelerations for efforts of the actuated freedoms alone, and the measures of whether to trust them."""
    tau = np.zeros(eq.topology.nv, dtype=object)
    tau[list(eq.topology.driven)] = u
    vdot, fit = eq.functions()["forward_dynamics"].work(eq, tree, q, v, tau)
    least = fit[0]
    if not eq.used.sees_all:  # see `analyze.closed.forward`
        least = least_fit(array([least, _fit(eq, tree, q)[0][0]]), vdot)
    return vdot, array([least, _opening(eq, tree, q, v)[0][0]])


def _project(eq: "Equations", tree, q, v):
    closed_q, closed_v, left = eq.used.project(tree, q, v, eq.closure_size)
    return closed_q, closed_v, array([left])


def _reduction(eq: "Equations", tree, q):
    return eq.coordinates.reduce(tree, q, eq.closure_size)


def _fit(eq: "Equations", tree, q):
    return (eq.coordinates.fit_of(eq.coordinates.eliminated(tree, q, None, eq.closure_size)),)


def _generalized_efforts(eq: "Equations", tree, q, v, a):
    w, fit = eq.coordinates.reduce(tree, q, eq.closure_size)
    return w.T @ eq.inverse(tree, q, v, a), w, fit  # (7)


FUNCTIONS = {
    "opening": Function(("q", "v"), ("open",), SCALAR, _opening),
    "driven_dynamics": Function(("q", "v", "u"), ("vdot", "told"), VECTOR * 2, _driven, chosen=True),
    "forward_dynamics": Function(
        ("q", "v", "tau"), ("vdot", "fit"), ("vector", "scalar"), _closed_forward, chosen=True
    ),
    "project": Function(("q", "v"), ("q_out", "v_out", "left"), ("vector", "vector", "scalar"), _project, chosen=True),
    "reduction": Function(("q",), ("W", "fit"), ("matrix", "scalar"), _reduction, chosen=True),
    "fitness": Function(("q",), ("fit",), SCALAR, _fit, chosen=True),
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
