"""What is measured along a run rather than kept in it: joints that close loops, and places of bodies."""

from typing import TYPE_CHECKING

import numpy as np

from kempe.model.model import Model
from kempe.model.state import placed

if TYPE_CHECKING:
    from kempe.results.trajectory import Trajectory


def _whole(run: "Trajectory") -> Model:
    """The model in which every joint that can close a loop does."""
    return run.model.switched(dict.fromkeys(run.model.topology.switchable, True))


def measurable(run: "Trajectory", name: str) -> bool:
    """Whether a name is that of such a joint, or of a place such as "platform.x"."""
    return name in _whole(run).cut or placed(run.model, name) is not None


def coordinates(run: "Trajectory", name: str) -> np.ndarray:
    """Coordinates (n,) or (n, k); angles go on where they were measured within half a turn."""
    model = _whole(run)
    if name not in model.cut:
        marker, k = _place(run, name)
        values = run.model.place(marker, run.q, p=run.inputs)[0][:, k]
        return np.unwrap(values) if k >= 3 else values
    kind = next(loop.joint.type for loop in model.topology.closures if loop.joint.name == name)
    values = model.loop_coordinates(run.q, p=run.inputs)[:, model.cut[name][0]]
    if len(kind.q_names) == len(kind.units):
        for k, unit in enumerate(kind.units):
            values[:, k] = np.unwrap(values[:, k]) if unit == "rad" else values[:, k]
    return _single(values)


def rates(run: "Trajectory", name: str) -> np.ndarray:
    """Velocities likewise."""
    model = _whole(run)
    if name in model.cut:
        return _single(model.loop_velocities(run.q, run.v, p=run.inputs)[:, model.cut[name][1]])
    marker, k = _place(run, name)
    return np.einsum("nj,nj->n", run.model.place(marker, run.q, p=run.inputs)[1][:, k], run.v)


def accelerations(run: "Trajectory", name: str) -> np.ndarray:
    """Accelerations likewise."""
    model = _whole(run)
    if name in model.cut:
        matrix, bias = model.loop_matrix(run.q, p=run.inputs), model.loop_velocity_bias(run.q, run.v, p=run.inputs)
        return _single((np.einsum("nij,nj->ni", matrix, run.a) + bias)[:, model.cut[name][1]])
    marker, k = _place(run, name)
    matrix = run.model.place(marker, run.q, p=run.inputs)[1][:, k]
    return np.einsum("nj,nj->n", matrix, run.a) + run.model.place_bias(marker, run.q, run.v, p=run.inputs)[:, k]


def _place(run: "Trajectory", name: str) -> tuple[str, int]:
    found = placed(run.model, name)
    assert found is not None
    return found


def _single(values: np.ndarray) -> np.ndarray:
    return values[:, 0] if values.shape[1] == 1 else values
