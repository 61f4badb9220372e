"""Prescribed: inverse dynamics of a motion: the efforts it takes, as a trajectory."""

from typing import TYPE_CHECKING

import numpy as np

from kempe.control.motion import Motion
from kempe.errors import StateError
from kempe.kinetics.closed import efforts
from kempe.loops.kinematics import Way
from kempe.mechanics.state import State, placed
from kempe.results.outcome import FINISHED, Outcome
from kempe.results.trajectory import Trajectory
from kempe.simulate.asked import output_times
from kempe.simulate.following import Followed, Follower

if TYPE_CHECKING:
    from kempe.model.model import Model


def kinematic(model: "Model", motion: Motion, start: State | None, output) -> Trajectory:
    """See `Model.motion`."""
    t = instants(motion, output, "motion")
    found = _followed(model, motion, start, t, None, dynamics=False)
    done = Outcome(FINISHED, float(t[-1]), (), f"{t[-1]:g} s of motion, without efforts")
    return Trajectory(model, t, found.q, found.v, found.a, np.full((len(t), model.nu), np.nan), outcome=done)


def prescribed(model: "Model", motion: Motion, start: State | None, output, p, weights, bounds) -> Trajectory:
    """See `Model.inverse_dynamics`."""
    t = instants(motion, output, "inverse_dynamics")
    found = _followed(model, motion, start, t, p, dynamics=model.topology.constrained)
    moving = found.q, found.v, found.a, p
    if found.dynamics is not None:
        u = efforts(model, *moving, found.dynamics, weights, bounds)
    else:
        u = model.inverse_dynamics(*moving, weights=weights, bounds=bounds)
    done = Outcome(FINISHED, float(t[-1]), (), f"inverse dynamics of {t[-1]:g} s of motion")
    return Trajectory(model, t, found.q, found.v, found.a, u, p=p, outcome=done)


def _followed(model: "Model", motion: Motion, start: State | None, t: np.ndarray, p, dynamics: bool) -> Followed:
    """q, v and a at times t, and with `dynamics` the efforts."""
    if not model.topology.constrained and not any(placed(model, name) for name in motion.names):
        return Followed(*motion.on(model, start, t=t))
    way = Way(model, motion.names, motion.at, None if p is None else model.parameters(p))
    return Follower(model, way, dynamics).rows(t, way.begin(t[0], start))


def instants(motion: Motion, output, what: str) -> np.ndarray:
    """The times of a motion's rows; raises for motions without end."""
    if not isinstance(motion, Motion):
        raise StateError(f"{what} takes a motion such as kp.motions.cycloidal(...), not {type(motion).__name__}")
    if not np.isfinite(motion.duration):
        raise StateError(f"{what}: this motion never ends; give it a duration")
    if output is None:
        raise StateError(f"{what}: output is None; give a spacing in seconds, or times")
    t = np.minimum(output_times(0.0, motion.duration, output), motion.duration)
    return np.append(t, motion.duration) if t[-1] < motion.duration and np.ndim(output) == 0 else t
