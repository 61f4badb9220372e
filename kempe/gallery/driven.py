"""Driven: default runs of closed mechanisms that follow a motion, with the required efforts."""

from kempe.control.motion import Motion
from kempe.errors import StateError
from kempe.mechanics.state import State
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory


def driven(model: Model, motion: Motion, start: State, output=0.01, **options) -> Trajectory:
    """Inverse dynamics along a motion; nothing is integrated, so integrator options are refused."""
    if options:
        raise StateError(
            f"{', '.join(options)}: the gallery's run of {model.mechanism.name!r} follows a motion, and nothing is "
            "integrated; give a start, rates or torques of your own to simulate it"
        )
    return model.inverse_dynamics(motion, start=start, output=output)
