"""Asked: turns the arguments of `assemble` into a task: values held, values measured, and the starting pose."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.loops.descent import Task, coupled, solve
from kempe.loops.limits import bounds_of
from kempe.loops.targets import TURN, Measure, measures
from kempe.mechanics.state import State
from kempe.mechanism.joints import Helical

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics


def task_of(mechanics: "Mechanics", values: Mapping, near) -> Task:
    """Puts the values into the starting pose: `near`, or the drawn pose (all zero, or within limits that
    exclude zero)."""
    start = mechanics.neutral()
    if isinstance(near, State):
        start = np.array(near.q, dtype=float)
    elif near:
        inside, aims = _parted(mechanics, near)
        start = mechanics.state(inside).q
        # Joints that nobody has named start where cut joints and places come closest to the values in `near`; named
        # joints stay fixed.
        slices = mechanics.slices("v")
        named = {n: x for n, x in {**near, **values}.items() if n in slices}
        placed = task_of(mechanics, named | aims, State(mechanics, start, start)) if aims else None
        if placed is not None and placed.free.any():
            start = unwound(mechanics, solve(mechanics, placed, placed.q)[0], start)
    inside, outside = _parted(mechanics, values)
    placed, free = mechanics.state(inside), np.ones(mechanics.nv, dtype=bool)
    q, slices_q, slices_v = start.copy(), mechanics.slices("q"), mechanics.slices("v")
    for name in inside:
        q[slices_q[name]] = placed.q[slices_q[name]]
        if name not in slices_v:
            raise StateError(f"assemble: give all coordinates of {name.split('.')[0]!r} together, not {name!r} alone")
        free[slices_v[name]] = False
    measured = [pair for name, value in outside.items() for pair in _aimed(mechanics, name, value)]
    return Task(bounds_of(mechanics, free).kept(q), free, tuple(measured), tuple(values), bounded=True)


def _parted(mechanics: "Mechanics", values: Mapping) -> tuple[dict, dict]:
    """Splits values into tree coordinates and measured quantities."""
    if not isinstance(values, Mapping):
        raise StateError(f"assemble: give a dict by joint name, not {type(values).__name__}")
    tree = mechanics.slices("q")
    outside = {n: x for n, x in values.items() if n in mechanics.cut or (n not in tree and "." in n)}
    for name in values:
        if name not in tree and name not in outside:
            raise StateError(f"assemble: there is no joint {name!r}; there are {', '.join(mechanics.joint_names)}")
    return {n: x for n, x in values.items() if n not in outside}, outside


def _aimed(mechanics: "Mechanics", name: str, value) -> list[tuple[Measure, np.ndarray]]:
    found = measures(mechanics, name, "assemble")
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError) as error:
        raise StateError(f"assemble: {name!r} is {value!r}, which is no number (30 * kp.deg is one)") from error
    width = sum(measure.width for measure in found)
    if numbers.shape != (width,) or not np.isfinite(numbers).all():
        raise StateError(f"assemble: {name!r} takes {width} finite numbers, not {value!r}")
    return list(zip(found, np.split(numbers, np.cumsum([m.width for m in found])[:-1]), strict=True))


def unwound(mechanics: "Mechanics", q: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The same state with each angle within half a turn of the one in `near`, if limits allow. Angles in couplings
    count turns and are kept."""
    out, counted = q.copy(), coupled(mechanics)
    limits = {limit.q: limit for limit in mechanics.limits}
    for t in mechanics.topology.tree:
        kind = t.joint.type
        if len(kind.q_names) != len(kind.units) or kind is Helical:
            continue
        for k, v, unit in zip(range(t.q.start, t.q.stop), range(t.v.start, t.v.stop), kind.units, strict=True):
            if unit == "rad" and not counted[v]:
                x = q[k] - TURN * np.round((q[k] - near[k]) / TURN)
                if k not in limits or limits[k].low <= x <= limits[k].high:
                    out[k] = x
    return out
