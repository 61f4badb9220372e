"""Rows: what a run has logged, projected onto the manifold, with accelerations and efforts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.errors import Singular
from kempe.kinetics.closed import FIT, LEFT, numeric
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.atlas import NARROW
from kempe.loops.kinematics import settle
from kempe.simulate.pivoted import DenseWay
from kempe.simulate.system import System

# Of the tolerance, for steps of size h at 1e-10: interpolation between them is of order h^7, steps of h^8.
BETWEEN, ORDER, FINEST = 0.03, 8, 1e-13
LENGTHY = 20000  # instructions: vector code of a longer program takes longer to compile than many single rows
FEW = 8  # rows that are faster one by one than in vector code


def for_steps(tolerance: float) -> float:
    """The tolerance of steps for which closed states between them keep the requested one."""
    return min(tolerance, max(BETWEEN * (tolerance / 1e-10) ** (1 / ORDER) * tolerance, FINEST))


@dataclass(frozen=True, eq=False)
class Logged:
    """Rows of output of one stretch, with the model and system in use and the joints on: each row has q, v, z and the
    values w."""

    model: Kinetics
    on: frozenset[str]
    system: System
    scales: np.ndarray
    t: np.ndarray
    rows: np.ndarray
    p: np.ndarray


def joined_rows(log: list[Logged]) -> list[Logged]:
    """Merges stretches with the same system."""
    out = []
    for _, group in groupby(log, key=lambda part: (id(part.system), part.on)):
        parts = list(group)
        if len(parts) == 1:
            out.append(parts[0])
            continue
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("t", "rows", "p"))
        last = parts[-1]
        out.append(Logged(last.model, last.on, last.system, last.scales, *columns))
    return out


def of_rows(kernel: Kernel, *given: np.ndarray) -> tuple[np.ndarray, ...]:
    """The outputs of a kernel for rows; some arguments may be shared by all rows."""
    if kernel.program.length < LENGTHY and len(given[0]) > FEW:
        return kernel(*given)
    own = [x.ndim > len(port.shape) for x, port in zip(given, kernel.program.inputs, strict=True)]
    rows = ([np.asarray(x[k]) if its else x for x, its in zip(given, own, strict=True)] for k in range(len(given[0])))
    return tuple(map(np.array, zip(*(kernel(*row) for row in rows), strict=True)))


def settled(part: Logged, signals) -> tuple[np.ndarray, ...]:
    """t, q, v, a, u, z, stops, p; `signals(t, q, v, w)` are the values w that were not held."""
    model, system, t, p = part.model, part.system, part.t, part.p
    nv, nz = model.nq + model.nv, model.nq + model.nv + len(system.z_names)
    q, v, z, w = part.rows[:, : model.nq], part.rows[:, model.nq : nv], part.rows[:, nv:nz], part.rows[:, nz:]
    if system.closure is not None:
        return _densely_settled(part, signals)
    opened: Sequence[int] = ()
    if system.project is not None:
        closed_q, closed_v, left = of_rows(system.project, q, v, p)
        if not (left.max(initial=0.0) <= LEFT and isfinite(closed_q.sum() + closed_v.sum())):
            found = np.isfinite(closed_q).all(axis=1) & np.isfinite(closed_v).all(axis=1) & (left <= LEFT)
            opened = np.flatnonzero(~found).tolist()
            closed_q[opened], closed_v[opened] = q[opened], v[opened]
        q, v = closed_q, closed_v
    for row in opened:
        q[row], v[row] = settle(model, q[row], v[row], p[row] if model.p_names else None)
    w = signals(t, q, v, w)
    _, a, _, u, stops, _, fit = of_rows(system.main, t, q, v, z, w, p, part.scales)
    if not np.abs(fit).min(initial=1.0) > FIT:
        _carefully(model, np.flatnonzero(~(np.abs(fit) > FIT)), q, v, a, u, stops, p)
    return t, q, v, a, u, z, stops, p


def _densely_settled(part: Logged, signals) -> tuple[np.ndarray, ...]:
    """The same for rows by the dense way; near singular poses, and on branches with more freedoms than others, one by
    one."""
    model, t, p, nq, way = part.model, part.t, part.p, part.model.nq, DenseWay(part.model, part.system)
    ends = [nq, nq + model.nv, nq + model.nv + len(part.system.z_names)]
    first_q, first_v, z, w = np.split(part.rows, ends, axis=1)
    q, v, left, least = way.closed(first_q, first_v, p)
    found = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1) & (left <= LEFT) & (least > NARROW)
    for row in np.flatnonzero(~found).tolist():
        q[row], v[row] = settle(model, first_q[row], first_v[row], p[row] if model.p_names else None)
    w = signals(t, q, v, w)
    with np.errstate(all="ignore"):  # `_carefully` reports NaN
        slopes, _ = way.slope(t, q, v, z, w, p, part.scales)
    u, stops = part.system.main(t, q, v, z, w, p, part.scales)[3:5]
    a = slopes[:, nq : nq + model.nv].copy()
    _carefully(model, np.flatnonzero(~found), q, v, a, u, stops, p)
    return t, q, v, a, u, z, stops, p


def _carefully(model: Kinetics, rows: np.ndarray, q, v, a, u, stops, p) -> None:
    """Fills in accelerations of rows at which coordinates are not fit."""
    for row in rows.tolist():
        tau = np.zeros(model.nv)
        tau[model.driven] += u[row]
        tau[model.limited] += stops[row]
        try:
            a[row] = numeric(model, q[row], v[row], tau, p[row] if model.p_names else None)
        except Singular:
            a[row] = np.nan
