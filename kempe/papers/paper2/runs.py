"""Runs of paper 2: its carpet scraper and 3-RRR, free and forced by torques of inverse dynamics."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from kempe import Table
from kempe.control import motions
from kempe.control.motion import Motion
from kempe.gallery.linkages import carpet_scraper
from kempe.gallery.loops import three_rrr
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

PAIR = "slm", "sslm"  # the approaches that the paper compares
OTHER = "partition"  # the reference, without multipliers
METHOD = "dopri5"  # the method of ode45
COARSE, FINE = 1e-3, 1e-8  # tolerances, footnotes of Table 3
LONG, SHORT = 15.0, 5.0  # s, durations with those tolerances
OUTPUT = 0.01  # s, "step size"
SPACING = 0.001  # s, between the torques of a forced run, with cubic interpolation

SPEED = 4.7124  # rad/s, Table 2
MOTORS = {"A1": 1.04, "A2": 4.1883, "A3": 5.7637}  # rad, Table 2: theta_1, theta_6, theta_7
# The other angles of ReDySim's start, which Table 2 omits, select how the legs bend.
LEGS = {"B1": 5.4206 - 2 * np.pi, "C1": -2.5357, "B2": -2.0939, "B3": -0.9869}
SWING = 0.5  # rad, the rotation of all three motors in the forced run; ours


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism of the paper with several formulations, its initial state, and the desired motion of its motors.

    shown: the plotted angles, by the paper's names.
    """

    name: str
    models: Mapping[str, Model]
    start: State
    motion: Motion
    shown: Mapping[str, str]

    @property
    def model(self) -> Model:
        """The reference model."""
        return self.models[OTHER]

    @cached_property
    def need(self) -> Trajectory:
        """Inverse dynamics along the motion."""
        return self.model.inverse_dynamics(self.motion, start=self.start, output=SPACING)

    @cached_property
    def torques(self) -> Table:
        """The efforts of inverse dynamics over time."""
        return Table(self.need.t, self.need.u, "cubic")

    def free(self, formulation: str, duration: float = SHORT, tolerance: float = FINE) -> Trajectory:
        """A run under gravity alone."""
        return _once(self, formulation, duration, tolerance, False)

    def forced(self, formulation: str, tolerance: float = FINE) -> Trajectory:
        """A run under gravity and the efforts of inverse dynamics only."""
        return _once(self, formulation, SHORT, tolerance, True)

    def again(self, formulation: str, duration: float, tolerance: float, forced: bool) -> Trajectory:
        """A new run, even if it was made before, for timing."""
        torque = self.torques if forced else None
        return self.models[formulation].simulate(self.start, duration, torque, tolerance, OUTPUT, METHOD)

    def errors(self, run: Trajectory) -> np.ndarray:
        """Simulated minus desired angles of the motors (n, motors)."""
        return np.column_stack([run[name] for name in self.motion.names]) - self.motion.at(run.t)[0]

    def growth(self, t: np.ndarray) -> np.ndarray:
        """The largest real part of the eigenvalues about the motion under its torques [1/s]."""
        found = [self.need.linearize(float(x), coordinates=self.motion.names).A for x in t]
        return np.linalg.eigvals(np.array(found)).real.max(axis=1)


@cache
def _once(case: Case, formulation: str, duration: float, tolerance: float, forced: bool) -> Trajectory:
    return case.again(formulation, duration, tolerance, forced)


def _compiled(mechanism: Mechanism, cut: tuple[str, ...], formulations: tuple[str, ...]) -> dict[str, Model]:
    return {name: mechanism.compile(name, cut=cut) for name in formulations}


def scraper(formulations: tuple[str, ...] = (OTHER, *PAIR)) -> Case:
    """Starts from theta_1 = 0 at 4.7124 rad/s; forced, the crank keeps that speed. Cut at joints 8, 9 and 10."""
    models = _compiled(carpet_scraper(), ("crank pin", "J9", "J10"), formulations)
    near = {"rocker": 4.487, "middle": 0.451, "arm": -0.335, "J5": -1.865, "J6": -1.865, "J7": -1.276}
    start = models[OTHER].assemble({"crank": 0.0}, near=near, rates={"crank": SPEED})
    steady = motions.quintic({"crank": (0.0, SHORT * SPEED)}, SHORT, rates={"crank": (SPEED, SPEED)})
    return Case("carpet-scraper", models, start, steady, {"theta_1": "crank", "theta_2": "rocker", "theta_4": "arm"})


def platform(formulations: tuple[str, ...] = (OTHER, *PAIR)) -> Case:
    """Starts from Table 2 at rest; forced, all motors turn half a radian, cycloidally. Cut at joints 6 and 7."""
    models = _compiled(three_rrr(), ("B2", "B3"), formulations)
    start = models[OTHER].assemble(MOTORS, near=LEGS)
    swing = motions.cycloidal({name: (x, x + SWING) for name, x in MOTORS.items()}, SHORT)
    return Case("3-rrr", models, start, swing, {"theta_1": "A1", "theta_6": "A2", "theta_7": "A3"})
