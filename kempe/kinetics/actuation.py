"""Actuation: how actuators share the load, S^T tau = tau_G (paper 3, eq. 8), if too few, enough, or more than freedoms.

With more, the efforts have the least weighted sum of squares. Within bounds, this is the problem of the point of a
polytope nearest to the origin, solved by non-negative least squares (C. Lawson and R. Hanson, Solving Least Squares
Problems, 1974, ch. 23).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import Singular, StateError
from kempe.kinds import doubles, short
from kempe.mechanics.state import by_name

if TYPE_CHECKING:
    from kempe.kinetics.kinetics import Kinetics

POOR = 1e-9  # least singular value of S relative to W, below which actuators do not control the motion
UNMET = 1e-8  # of the largest acting force: the residual allowed if there are too few actuators


def shared(model: "Kinetics", w: np.ndarray, needed: np.ndarray, strong, weights, bounds) -> np.ndarray:
    """Efforts (n, nu) from generalized ones (n, freedoms), with W (n, nv, freedoms), whose actuated rows are S.

    strong: returns the largest acting forces (n), times the mechanism's size; the needed efforts may be small
    differences of these.
    """
    # Velocities in radians and sizes of the mechanism, and unit columns of W: then all efforts are moments.
    steps = model.equations.steps
    w = w / steps[:, None]
    unit = np.linalg.norm(w, axis=1)
    w, needed = w / unit[:, None], needed / unit
    s, count, freedoms, steps = w[:, model.driven], model.nu, needed.shape[1], steps[model.driven]
    sizes = np.linalg.norm(w, axis=(1, 2))  # scale for S, where actuators do not control the motion
    if weights is None and bounds is None and count == freedoms:
        sides = np.concatenate([needed[..., None], np.broadcast_to(np.eye(count), s.shape)], axis=2)
        try:
            solved = np.linalg.solve(np.swapaxes(s, 1, 2), sides)
        except np.linalg.LinAlgError:
            solved = np.full(sides.shape, np.inf)
        poor = ~(np.linalg.norm(solved[..., 1:], axis=(1, 2)) * sizes < 1 / POOR)
        for row in np.flatnonzero(poor):
            _check_control(model, s[row], sizes[row])
        return solved[..., 0] / steps
    root = np.sqrt(weights_of(model, weights)) / steps
    low, high = (None if x is None else x * steps for x in bounds_of(model, bounds))
    rows = zip(s, needed, sizes, strong(), strict=True)
    return np.array([_share(model, *row, root, low, high) for row in rows]) / steps


def _share(
    model: "Kinetics", s: np.ndarray, needed: np.ndarray, size: float, strong: float, root: np.ndarray, low, high
) -> np.ndarray:
    """One row: the least tau that suffices, in units in which all weights are one."""
    matrix = s.T / root
    left, sizes, right = np.linalg.svd(matrix)
    rank = int((np.linalg.svd(s, compute_uv=False) > POOR * size).sum())
    least = right[:rank].T @ (left[:, :rank].T @ needed / sizes[:rank])
    missed = np.abs(matrix @ least - needed)
    if missed.max(initial=0.0) > UNMET * strong * size:
        raise StateError(_why_not(model, s, rank, len(needed), float(missed.max())))
    if low is None:
        return least / root
    idle = right[rank:].T  # efforts that only stress the mechanism
    inside = np.vstack([idle, -idle])
    slack = np.concatenate([low * root - least, least - high * root])
    if (slack <= 0).all():
        return least / root
    bounded = np.isfinite(slack)  # infinite slack would swamp the rest
    found = nearest(inside[bounded], slack[bounded])
    if found is None:
        names = ", ".join(model.u_names)
        raise StateError(f"inverse_dynamics: no efforts of {names} within these bounds give this motion")
    return (least + idle @ found) / root


def nearest(g: np.ndarray, h: np.ndarray) -> np.ndarray | None:
    """The shortest x with G x >= h; None where there is none."""
    from scipy.optimize import nnls  # slower to load than everything else here

    if not g.shape[1]:
        return None
    scale = max(np.abs(h).max(initial=0.0), 1e-300)
    stacked = np.vstack([g.T, h[None] / scale])
    target = np.zeros(len(stacked))
    target[-1] = 1.0
    u, _ = nnls(stacked, target)
    rest = stacked @ u - target
    if np.linalg.norm(rest) <= 1e-10:
        return None
    return -rest[:-1] / rest[-1] * scale


def _why_not(model: "Kinetics", s: np.ndarray, rank: int, freedoms: int, missed: float) -> str:
    names = ", ".join(model.u_names) or "none"
    if model.nu < freedoms:
        return (
            f"inverse_dynamics: {model.mechanism.name!r} has {freedoms} freedoms and {model.nu} actuators ({names}); "
            f"this motion would need {missed:.3g} more along directions they cannot push; synthesize(motion) says which"
        )
    return (
        f"inverse_dynamics: at this pose the actuators ({names}) control {rank} of {freedoms} freedoms, and this "
        f"motion would need {missed:.3g} along the others; singularity(q) says which joints move freely"
    )


def _check_control(model: "Kinetics", s: np.ndarray, size: float) -> None:
    sizes = np.linalg.svd(s, compute_uv=False)
    rank = int((sizes > POOR * size).sum())
    if rank < len(sizes):
        raise Singular(
            f"inverse_dynamics: at this pose the actuators ({', '.join(model.u_names)}) control {rank} of {len(sizes)} "
            "freedoms (a parallel singularity); singularity(q) says which joints move freely"
        )


def weights_of(model: "Kinetics", weights) -> np.ndarray:
    """One weight for each actuated freedom, by name or in order; ones if none are given."""
    given = np.ones(model.nv)
    if isinstance(weights, Mapping):
        given = by_name(weights, model.slices("v"), given, "weights")[model.driven]
    else:
        given = np.ones(model.nu) if weights is None else doubles(weights, "weights", StateError)
    if given.shape != (model.nu,) or not (given > 0).all():
        raise StateError(f"weights: give a positive number for each of {', '.join(model.u_names)}, by name or in order")
    return given


def bounds_of(model: "Kinetics", bounds) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The least and the largest effort of each actuated freedom, by name or one pair for all; None if there
    are none."""
    if bounds is None:
        return None, None
    low, high = np.full(model.nu, -np.inf), np.full(model.nu, np.inf)
    pairs: dict = {**bounds} if isinstance(bounds, Mapping) else dict.fromkeys(model.u_names, bounds)
    for name, pair in pairs.items():
        if name not in model.u_names:
            raise StateError(f"bounds: {name!r} is no actuated freedom; there are {', '.join(model.u_names)}")
        k = model.u_names.index(name)
        ends = doubles(pair, f"bounds: {name!r}", StateError)
        low[k], high[k] = (-ends, ends) if ends.ndim == 0 else ends if ends.shape == (2,) else (np.nan, np.nan)
        if not low[k] < high[k]:
            raise StateError(f"bounds: {name!r} is {short(pair)}; it takes a low and a higher number, or one for both")
    return low, high
