"""Runs of paper 3's swing: released one hand at a time, and held, to check conservation."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from kempe.gallery.figure import MASS
from kempe.gallery.swing import hanging, let_go, swing
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

FORMULATIONS = "partition", "augmented", "slm", "sslm"
SHORTEST = "sslm"  # by operations; used for runs
DURATION, HELD = 2.3, 4.0  # s
OUTPUT = 0.01  # s


@cache
def swings(formulations: tuple[str, ...] = FORMULATIONS) -> Mapping[str, Model]:
    """The model of the swing for each formulation."""
    mechanism = swing()
    return {name: mechanism.compile(name) for name in formulations}


def released(model: Model) -> Trajectory:
    """The left hand lets go, then the right one."""
    return let_go(model, DURATION, output=OUTPUT)


def held(model: Model, tolerance: float, limits: str = "ignore") -> Trajectory:
    """Both hands hold on; without limits energy is conserved."""
    return model.simulate(hanging(model), HELD, tolerance=tolerance, output=OUTPUT, limits=limits)


def figure_center(run: Trajectory) -> np.ndarray:
    """The centre of mass of the figure alone, without ropes (n, 3)."""
    value = run.model.mechanism.parameters.__getitem__
    total = np.zeros((len(run), 3))
    for body in run.model.mechanism.bodies:
        if "rope" not in body.name:
            inertia = body.inertia(value)
            axes, place = run.pose(body.name)
            total += inertia.mass * place + axes @ inertia.moment
    return total / MASS


def kept(run: Trajectory) -> float:
    """The largest change of energy over the largest kinetic energy."""
    return float(np.ptp(run.energy.total) / run.energy.kinetic.max())
