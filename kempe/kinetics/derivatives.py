"""Derivatives of the dynamics of closed mechanisms at states: compiled where coordinates fit, dense elsewhere.

Both differentiate r1 = ID - J^T lam - tau = 0 and r2 = J a - gamma = 0 (`kempe.dynamics.derivatives`). Inverse dynamics
is the same problem: efforts of the least sum of squares are tau = E^T mu with J mu = 0, where E selects the actuated
freedoms, so

    [ E E^T  J^T ] [ dmu  ]   [ d (ID - J^T lam) ]
    [ J      0   ] [ dlam ] = [ -dJ mu           ].
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import Singular, StateError
from kempe.kinetics.actuation import weights_of
from kempe.kinetics.closed import FIT, check_closed, completed, row_of, spaces
from kempe.kinetics.closed import inverse as efforts
from kempe.kinetics.closed import numeric as accelerations

if TYPE_CHECKING:
    from kempe.kinetics.kinetics import Kinetics

POOR = 1e-9  # relative singular values below which actuators do not control the motion


@dataclass(frozen=True, eq=False)
class Residuals:
    """M and J at a state, and the derivatives of r1 and r2 by a step of q, by v, and by parameters (None without)."""

    inertia: np.ndarray
    rows: np.ndarray
    r1_by_q: np.ndarray
    r1_by_v: np.ndarray
    r2_by_q: np.ndarray
    r2_by_v: np.ndarray
    r1_by_p: np.ndarray | None = None
    r2_by_p: np.ndarray | None = None


def residuals(model: "Kinetics", q, v, a, forces: np.ndarray, p=None, held=()) -> Residuals:
    """At a state whose closures and held freedoms carry these forces. Rows that hold freedoms come last."""
    rows = np.vstack([model.loop_rows(q, p=p), np.eye(model.nv)[list(held)]])
    lam = (spaces(model, q, p, rows, len(held))[1].T @ forces)[: len(rows) - len(held)]
    inertia, r1_q, r1_v, r2_q, r2_v, *by_p = model.call("motion_derivatives", q, v, a, lam, p=p)
    r1_p, *r2_p = np.split(by_p[0], [model.nv]) if by_p else (None,)
    still = (np.vstack([x, np.zeros((len(held), x.shape[1]))]) for x in (r2_q, r2_v, *r2_p))
    r2_q, r2_v, *r2_p = still
    return Residuals(inertia, rows, r1_q, r1_v, r2_q, r2_v, r1_p, *r2_p)


def slip_derivatives(model: "Kinetics", q, v, p=None) -> tuple[np.ndarray, np.ndarray | None]:
    """Derivatives of J v by a step of q at constant v, and by parameters (None without)."""
    rest, none = np.zeros(model.nv), np.zeros(model.equations.sizes["lam"])
    _, _, _, by_q, _, *by_p = model.call("motion_derivatives", q, rest, v, none, p=p)  # at rest, J a - gamma is J a
    return by_q, by_p[0][model.nv :] if by_p else None


def solved(w: np.ndarray, back: np.ndarray, inertia: np.ndarray, r1, r2) -> np.ndarray:
    """x with rows x = -r2 and inertia x + r1 in the row space, from the `spaces` of the rows."""
    g = -back @ r2
    return w @ np.linalg.solve(w.T @ inertia @ w, -w.T @ (r1 + inertia @ g)) + g


# ---- forward ---------------------------------------------------------------------------------------------


def forward(model: "Kinetics", q, v, tau, p, check: bool) -> tuple[np.ndarray, ...]:
    """See `Model.forward_dynamics_derivatives`; tau along all freedoms."""
    if check:
        check_closed(model, q, v, p, waivable=True)
    by_q, by_v, by_tau, fit, *by_p = model.call("forward_dynamics_derivatives", q, v, tau, p=p)
    found = by_q, by_v, by_tau, *by_p
    if not np.min(fit) > FIT:
        if by_q.ndim == 2:
            found = numeric(model, q, v, tau, p)
        for row in np.flatnonzero(~(fit > FIT)).tolist() if by_q.ndim == 3 else ():
            for part, new in zip(found, numeric(model, *(row_of(x, row) for x in (q, v, tau, p))), strict=True):
                part[row] = new
    return *found[:2], found[2][..., model.driven], *found[3:]


def numeric(model: "Kinetics", q, v, tau, p=None) -> tuple[np.ndarray, ...]:
    """For one state, by dense solves."""
    a = accelerations(model, q, v, tau, p)
    r = residuals(model, q, v, a, model.generalized_forces(q, v, a, p) - tau, p)
    pairs = [(r.r1_by_q, r.r2_by_q), (r.r1_by_v, r.r2_by_v), (-np.eye(model.nv), np.zeros((len(r.rows), model.nv)))]
    pairs += [(r.r1_by_p, r.r2_by_p)] if r.r1_by_p is not None else []
    found = spaces(model, q, p, r.rows)
    return tuple(solved(*found, r.inertia, *pair) for pair in pairs)


# ---- inverse ---------------------------------------------------------------------------------------------


def inverse(model: "Kinetics", q, v, a, p, weights, check: bool) -> tuple[np.ndarray, ...]:
    """See `Model.inverse_dynamics_derivatives`."""
    if isinstance(a, dict):
        a = completed(model, q, v, a, p)
    tau = efforts(model, q, v, a, p, weights, None, check)
    root = weights_of(model, weights)
    if tau.ndim == 1:
        return _inverse(model, q, v, a, tau, p, root)
    states = ([row_of(x, k) for x in (q, v, a, tau, p)] for k in range(len(tau)))
    rows = [_inverse(model, *state, weights=root) for state in states]
    return tuple(np.stack(part) for part in zip(*rows, strict=True))


def _inverse(model: "Kinetics", q, v, a, tau, p, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    r = residuals(model, q, v, a, model.generalized_forces(q, v, a, p) - model.spread(tau), p)
    w, back = spaces(model, q, p, r.rows)
    sizes = np.linalg.svd(w[model.driven], compute_uv=False)
    if len(sizes) < w.shape[1] or sizes[-1] <= POOR * sizes[0]:
        names = ", ".join(model.u_names) or "none"
        error, why = (Singular, "at this pose") if model.nu >= w.shape[1] else (StateError, "with too few of them")
        raise error(
            f"inverse_dynamics_derivatives: {why}, the actuators ({names}) do not control all {w.shape[1]} freedoms, "
            "so efforts are no function of the motion"
        )
    mu = w @ np.linalg.lstsq(w[model.driven], weights * tau, rcond=None)[0]
    slip, slip_by_p = slip_derivatives(model, q, mu, p)
    picked = np.zeros((model.nv, model.nv))
    picked[model.driven, model.driven] = 1 / weights
    none = np.zeros((len(r.rows), model.nv))
    pairs = [(r.r1_by_q, slip), (r.r1_by_v, none), (r.inertia, none)]
    pairs += [(r.r1_by_p, slip_by_p)] if r.r1_by_p is not None else []
    found = (solved(w, back, picked, -r1, r2) for r1, r2 in pairs)
    return tuple(x[model.driven] / weights[:, None] for x in found)
