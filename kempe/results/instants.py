"""Instants: closed states between the rows of a run, and rows by times."""

from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.results import between
from kempe.results.structures import parameters_of, parts

if TYPE_CHECKING:
    from kempe.results.trajectory import Trajectory


def states(run: "Trajectory", where: between.Instants) -> tuple[np.ndarray, np.ndarray]:
    """q and v at times located among the rows."""
    q, inside = between.quintic(run.q, *run.motion, where), where.s > 0
    for t in run.model.topology.tree:
        if len(t.joint.type.q_names) != len(t.joint.type.v_names):
            # A polynomial between quaternions leaves the unit sphere by its error; rows stay exact.
            quaternion = slice(t.q.start, t.q.start + 4)
            q[inside, quaternion] /= np.linalg.norm(q[inside, quaternion], axis=1, keepdims=True)
    v = between.cubic(run.v, run.a, where)
    for model, rows in parts(run) if inside.any() else ():
        # A polynomial between closed states opens the loops slightly.
        own = inside & (where.at >= rows.start) & (where.at < rows.stop)
        if model.topology.constrained and own.any():
            q[own], v[own] = model.settle(q[own], v[own], parameters_of(run, where.at[own]))
    return q, v


def rows(run: "Trajectory", key: slice) -> slice:
    """A slice of rows, from a slice of rows or times."""
    if not any(isinstance(bound, (float, np.floating)) for bound in (key.start, key.stop, key.step)):
        return key
    if isinstance(key.step, (float, np.floating)):
        raise StateError("run[start:stop:step] steps by rows; run.resample(times) gives the run at other times")
    slack = 1e-12 * np.abs(run.t).max()  # 0.3 finds the row at 0.30000000000000004
    first = None if key.start is None else np.searchsorted(run.t, key.start - slack, side="left")
    last = None if key.stop is None else np.searchsorted(run.t, key.stop + slack, side="right")
    return slice(first, last, key.step)
