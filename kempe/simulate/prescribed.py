"""Inverse dynamics of a motion: the efforts it takes, as a trajectory."""

import numpy as np

from kempe.control.motion import Motion
from kempe.errors import StateError
from kempe.model.model import Model
from kempe.model.state import State
from kempe.results.outcome import FINISHED, Outcome
from kempe.results.trajectory import Trajectory
from kempe.simulate.run import output_times


def prescribed(model: Model, motion: Motion, start: State | None, output, p) -> Trajectory:
    """See `Model.inverse_dynamics`."""
    if not isinstance(motion, Motion):
        raise StateError("inverse_dynamics takes q, v and a, or a motion such as kp.motions.cycloidal(...)")
    if not np.isfinite(motion.duration):
        raise StateError("inverse_dynamics: this motion never ends; give it a duration")
    t = np.minimum(output_times(0.0, motion.duration, output), motion.duration)
    if t[-1] < motion.duration and np.ndim(output) == 0:
        t = np.append(t, motion.duration)
    q, v, a = motion.on(model, start, t=t)
    u = model.inverse_dynamics(q, v, a, p)
    done = Outcome(FINISHED, float(t[-1]), (), f"inverse dynamics of {t[-1]:g} s of motion")
    return Trajectory(model, t, q, v, a, u, p=p, outcome=done)
