"""Measured: quantities computed along a run, not stored in it: cut joints, and places of bodies.

Results have the leading axes of q: (rows,) for a run, (n, rows) for a rollout.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import StateError
from kempe.kinds import text
from kempe.mechanics.state import placed

if TYPE_CHECKING:
    from kempe.model.model import Model
    from kempe.results.rollout import Rollout
    from kempe.results.trajectory import Trajectory


def _whole(run: "Trajectory | Rollout") -> "Model":
    """The model with every switchable joint on."""
    return run.model.switched(dict.fromkeys(run.model.topology.switchable, True))


def measurable(run: "Trajectory | Rollout", name: str) -> bool:
    """Whether a name is that of a cut joint, or of a place such as "platform.x"."""
    return text(name, "name", StateError) in _whole(run).cut or placed(run.model, name) is not None


def at_rows(run: "Trajectory | Rollout", function: Callable, *given: np.ndarray) -> Any:
    """Evaluates a function of a model (one array or several) at all rows; NaN where a mechanism is no longer finite."""
    front, p = run.q.shape[:-1], run.inputs
    rows = [x.reshape(-1, x.shape[-1]) for x in given]
    alive = np.logical_and.reduce([np.isfinite(x).all(axis=1) for x in rows])
    if not alive.all():
        rows, p = [x[alive] for x in rows], p[alive] if p is not None and p.ndim == 2 else p
    found = function(*rows, p=p)

    def whole(x: np.ndarray) -> np.ndarray:
        if not alive.all():
            x, some = np.full((len(alive), *x.shape[1:]), np.nan), x
            x[alive] = some
        return x.reshape(*front, *x.shape[1:])

    return tuple(map(whole, found)) if isinstance(found, tuple) else whole(found)


def units(run: "Trajectory | Rollout", name: str) -> tuple[str, ...]:
    """Units of the coordinates, empty for parts of a quaternion."""
    model = _whole(run)
    if name not in model.cut:
        return ("rad" if _place(run, name)[1] >= 3 else "m",)
    kind = next(loop.joint.type for loop in model.topology.closures if loop.joint.name == name)
    return kind.units if len(kind.q_names) == len(kind.units) else ("",) * 4 + kind.units[3:]


def coordinates(run: "Trajectory | Rollout", name: str) -> np.ndarray:
    """Coordinates, one or (.., k); angles continue beyond half a turn."""
    model = _whole(run)
    if name in model.cut:
        values = at_rows(run, model.loop_coordinates, run.q)[..., model.cut[name][0]]
    else:
        marker, k = _place(run, name)
        values = at_rows(run, partial(run.model.place, marker), run.q)[0][..., k : k + 1]
    for k, unit in enumerate(units(run, name)):
        values[..., k] = np.unwrap(values[..., k]) if unit == "rad" else values[..., k]
    return _single(values)


def rates(run: "Trajectory | Rollout", name: str) -> np.ndarray:
    """Velocities, one or (.., k)."""
    model = _whole(run)
    if name in model.cut:
        return _single(at_rows(run, model.loop_velocities, run.q, run.v)[..., model.cut[name][1]])
    marker, k = _place(run, name)
    return np.einsum("...j,...j->...", at_rows(run, partial(run.model.place, marker), run.q)[1][..., k, :], run.v)


def accelerations(run: "Trajectory", name: str) -> np.ndarray:
    """Accelerations, one or (.., k)."""
    model = _whole(run)
    if name in model.cut:
        matrix, bias = model.loop_matrix(run.q, p=run.inputs), model.loop_velocity_bias(run.q, run.v, p=run.inputs)
        return _single((np.einsum("nij,nj->ni", matrix, run.a) + bias)[:, model.cut[name][1]])
    marker, k = _place(run, name)
    matrix = run.model.place(marker, run.q, p=run.inputs)[1][:, k]
    return np.einsum("nj,nj->n", matrix, run.a) + run.model.place_bias(marker, run.q, run.v, p=run.inputs)[:, k]


def _place(run: "Trajectory | Rollout", name: str) -> tuple[str, int]:
    found = placed(run.model, name)
    assert found is not None
    return found


def _single(values: np.ndarray) -> np.ndarray:
    return values[..., 0] if values.shape[-1] == 1 else values
