"""Inverse dynamics of a motion: the efforts it takes, as a trajectory."""

import numpy as np

from kempe.analyze.kinematics import follow
from kempe.control.motion import Motion
from kempe.errors import StateError
from kempe.model.model import Model
from kempe.model.state import State, placed
from kempe.results.outcome import FINISHED, Outcome
from kempe.results.trajectory import Trajectory
from kempe.simulate.run import output_times


def kinematic(model: Model, motion: Motion, start: State | None, output) -> Trajectory:
    """See `Model.motion`."""
    t = _instants(motion, output, "motion")
    q, v, a = _moved(model, motion, start, t)
    done = Outcome(FINISHED, float(t[-1]), (), f"{t[-1]:g} s of motion, without efforts")
    return Trajectory(model, t, q, v, a, np.full((len(t), model.nu), np.nan), outcome=done)


def _moved(model: Model, motion: Motion, start: State | None, t: np.ndarray):
    """q, v and a at times t."""
    if model.topology.loops or any(placed(model, name) for name in motion.names):
        return follow(model, motion.names, motion.at, t, start)
    return motion.on(model, start, t=t)


def _instants(motion: Motion, output, what: str) -> np.ndarray:
    if not isinstance(motion, Motion):
        raise StateError(f"{what} takes a motion such as kp.motions.cycloidal(...), not {type(motion).__name__}")
    if not np.isfinite(motion.duration):
        raise StateError(f"{what}: this motion never ends; give it a duration")
    t = np.minimum(output_times(0.0, motion.duration, output), motion.duration)
    return np.append(t, motion.duration) if t[-1] < motion.duration and np.ndim(output) == 0 else t


def prescribed(model: Model, motion: Motion, start: State | None, output, p, weights, bounds) -> Trajectory:
    """See `Model.inverse_dynamics`."""
    t = _instants(motion, output, "inverse_dynamics")
    q, v, a = _moved(model, motion, start, t)
    u = model.inverse_dynamics(q, v, a, p, weights=weights, bounds=bounds, check=False)
    done = Outcome(FINISHED, float(t[-1]), (), f"inverse dynamics of {t[-1]:g} s of motion")
    return Trajectory(model, t, q, v, a, u, p=p, outcome=done)
