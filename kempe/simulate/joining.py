"""Joining: where joints are switched on, loops are closed, and a plastic impulse makes velocities consistent.

Of all small moves s with J s = -phi the one of least s^T M s closes the loops, step by step; where they are far apart,
they are assembled from there. Of all velocities with J v = 0, those after the impulse are the nearest in the same
measure (Gauss): with the columns of W for what J allows,

    v+ = W (W^T M W)^-1 W^T M v,    M (v+ - v) = J^T Lam,    T(v) - T(v+) = T(v - v+),

so that the energy lost is that of the velocity the impulses Lam take away. Nothing else acts in no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kempe.analyze.assembly import CLOSED
from kempe.analyze.freedom import column_scales
from kempe.errors import KempeError, NotClosed
from kempe.model.model import Model
from kempe.model.state import State

RANK = 1e-9  # singular value beside the largest, below which an equation follows from others
STEPS, LONGEST = 60, 0.3  # of Newton's method, and how far anything moves in one: rad, or sizes of the mechanism


@dataclass(frozen=True, eq=False)
class Joined:
    """A state whose loops are closed and stay so.

    gap [m]: how far they were from closed; lost [J]: kinetic energy, by the impulse; moved [J]: energy that closing
    the gap took or gave. impulses: [N m s; N s] of every joint on its second body, at marker b in its axes.
    """

    q: np.ndarray
    v: np.ndarray
    gap: float
    lost: float
    moved: float
    impulses: Mapping[str, np.ndarray]


def gap_of(model: Model, q: np.ndarray, p, joint: str | None = None) -> float:
    """How far loops, or that of one joint, are from closed; turns count by the mechanism's size [m]."""
    phi = np.abs(model.residual(q, p=p))
    if joint is not None:
        first = 0
        for loop in model.topology.loops:
            rows = 6 - len(loop.joint.type.v_names)
            if loop.joint.name == joint:
                phi = phi[first : first + rows]
                break
            first += rows
    return float(phi.max(initial=0.0)) * model.equations.closure_size


def joined(model: Model, q: np.ndarray, v: np.ndarray, p=None) -> Joined:
    """The state after loops of a model were closed, from one in which they were not; raises `NotClosed` where no pose
    closes them."""
    gap, before = gap_of(model, q, p), sum(model.energy(q, v, p=p))
    if gap > CLOSED * model.equations.closure_size:
        q = closed(model, q, p)
    rows = model.closure(q, p=p)[1]
    inertia = model.mass_matrix(q, p=p)
    allowed, _ = _spaces(model, rows)
    after = allowed @ _least(allowed.T @ inertia @ allowed, allowed.T @ inertia @ v)
    change = after - v
    kinetic, potential = model.energy(q, v, p=p)
    lam = np.linalg.lstsq(rows.T, inertia @ change, rcond=RANK)[0]
    rest, none = np.zeros(model.nv), np.zeros(len(lam))
    wrenches = model.call("joint_wrenches", q, rest, change, lam, p=p) - model.call(
        "joint_wrenches", q, rest, rest, none, p=p
    )
    return Joined(
        q,
        after,
        gap,
        0.5 * float(change @ inertia @ change),
        float(kinetic + potential - before),
        dict(zip(model.joint_names, wrenches, strict=True)),
    )


def closed(model: Model, q: np.ndarray, p=None) -> np.ndarray:
    """The nearest closed q, by small moves, or else by assembling from there."""
    start, size = q, model.equations.closure_size
    for _ in range(STEPS):
        phi, rows, upright = model.closure(q, p=p)
        if np.abs(phi).max(initial=0.0) <= 0.1 * CLOSED:
            if (upright > 0).all():
                return q
            break
        inertia = model.mass_matrix(q, p=p)
        allowed, back = _spaces(model, rows)
        step = -back @ phi
        step -= allowed @ _least(allowed.T @ inertia @ allowed, allowed.T @ inertia @ step)
        q = model.integrate(q, step * min(1.0, LONGEST * max(1.0, size) / np.abs(step).max(initial=1e-300)))
    if p is None:
        try:
            return model.assemble(near=State(model, start, np.zeros(model.nv))).q
        except KempeError:
            pass
    names = ", ".join(loop.joint.name for loop in model.topology.loops if loop.joint.switchable)
    raise NotClosed(
        f"{names} cannot be closed from here: the ends are {gap_of(model, start, p):.3g} m apart, and no pose that was "
        "found brings them together; switch it on where they are near each other (reach= waits for that)"
    )


def _least(inertia: np.ndarray, momenta: np.ndarray) -> np.ndarray:
    """Velocities with these momenta; the least, along freedoms without inertia."""
    return np.linalg.lstsq(inertia, momenta, rcond=1e-13)[0]


def _spaces(model: Model, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What rows allow, as columns, and their inverse of least length."""
    scale = column_scales(model)
    left, sizes, right = np.linalg.svd(rows * scale)
    rank = int((sizes > RANK * sizes.max(initial=0.0)).sum())
    back = scale[:, None] * (right[:rank].T / sizes[:rank]) @ left[:, :rank].T
    return scale[:, None] * right[rank:].T, back
