"""PUMA: the arm of Mohan and Saha (2007), Table 2, and the forced simulation of section 4.2."""

from functools import cache
from math import pi

from kempe.control import motions
from kempe.control.laws import feedforward
from kempe.control.motion import Motion
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

DURATION = 10.0  # T of eq. 38
JOINTS = tuple(f"joint{k}" for k in range(1, 7))


def puma() -> Mechanism:
    """Table 2: Denavit-Hartenberg parameters, masses of slender links, hub inertias. Gravity is 9.81 m/s^2 along -Z1
    (the paper gives neither)."""
    return Mechanism.from_dh(
        "puma",
        a=[0, 0.432, 0.02, 0, 0, 0],
        b=[0.20, 0.149, 0, 0.432, 0, 0.056],
        alpha=[-pi / 2, 0, pi / 2, -pi / 2, pi / 2, 0],
        mass=[10.521, 15.7612, 8.767, 0, 0, 0],
        hub=[0, 0, 0, 0.181, 0.0735, 0.0141],
    )


@cache
def desired() -> Motion:
    """Eq. 38: every joint from 0 to pi, cycloidally."""
    return motions.cycloidal(dict.fromkeys(JOINTS, (0.0, pi)), duration=DURATION)


def forced(model: Model, duration: float = DURATION, **options) -> Trajectory:
    """Forced simulation: the torques of inverse dynamics for eq. 38, applied open-loop from rest."""
    return model.simulate(model.state(), duration, torque=feedforward(desired()), **options)
