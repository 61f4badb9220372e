"""Motions: what is run to compare integrators, from common closed states under constant efforts, nothing damped.

They are chosen so that loops meet no singular pose, and so calm that what is lost in a step grows to no more than some
thousand times as much by the end: only then are errors of 1e-8 those of the method and not of chance. Falls of the
3-RRR and of the PUMA from anywhere are chaotic: the one begins low, the other is run for a second. The Stewart platform
falls over and away when standing on constant forces; hanging on them, it swings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.mechanisms import CASES
from kempe.gallery.benchmarks import SQUEEZER_TORQUE, parallel_bars, squeezer_start
from kempe.mechanics.state import State
from kempe.model.model import Model

ACCURACY = 1e-8  # rad or m, at which costs of runs are compared
ROWS = 501  # of output, where there is any before the end


@dataclass(frozen=True)
class Motion:
    """A run of one of the mechanisms that are measured, for `duration` seconds.

    start: the state at its beginning, and constant efforts of actuators. story: what moves, for the table.
    """

    name: str
    story: str
    duration: float
    start: Callable[[Model], tuple[State, np.ndarray]]

    @cached_property
    def model(self) -> Model:
        """Compiled as anyone would."""
        return CASES[self.name].build().compile()

    @cached_property
    def given(self) -> tuple[State, np.ndarray]:
        """The state and the efforts."""
        return self.start(self.model)

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and efforts along every freedom."""
        start, efforts = self.given
        return start.q, start.v, self.model.spread(efforts)

    @property
    def grid(self) -> np.ndarray:
        """Times of rows."""
        return np.linspace(0.0, self.duration, ROWS)


def _four_bar(model: Model) -> tuple[State, np.ndarray]:
    return model.assemble({"A": np.pi / 2}, near={"D": 1.2}), np.zeros(model.nu)


def _five_bar(model: Model) -> tuple[State, np.ndarray]:
    feet = {"left": -2 * np.pi / 3, "right": -np.pi / 3}
    return model.assemble(feet, near={"left elbow": 1.2, "right elbow": 2.6}), np.zeros(model.nu)


def _three_rrr(model: Model) -> tuple[State, np.ndarray]:
    near = {f"{joint}{k}": at for k in (1, 2, 3) for joint, at in (("A", -1.5), ("B", 1.0))}
    return model.assemble({}, near=near), np.zeros(model.nu)


def _stewart(model: Model) -> tuple[State, np.ndarray]:
    legs = [f"P{k}" for k in range(1, 7)]
    below = model.assemble(dict.fromkeys(legs, -0.2), near={f"U{k}": (np.pi, 0.0) for k in range(1, 7)})
    still = np.zeros(model.nv)
    pulled = {leg: -0.2 + 0.1 * np.sin(2.3 * k) for k, leg in enumerate(legs, 1)}
    return model.assemble(pulled, near=below), model.inverse_dynamics(below.q, still, still)


def _squeezer(model: Model) -> tuple[State, np.ndarray]:
    return squeezer_start(model), np.array([SQUEEZER_TORQUE])


def _row(model: Model) -> tuple[State, np.ndarray]:
    return parallel_bars(model, -2.0), np.zeros(model.nu)


def _puma(model: Model) -> tuple[State, np.ndarray]:
    return model.state(), np.zeros(model.nu)


MOTIONS = {
    motion.name: motion
    for motion in (
        Motion("four-bar", "falls from rest, its crank upright", 5.0, _four_bar),
        Motion("3-RRR", "falls from rest, its legs low", 5.0, _three_rrr),
        Motion("Stewart", "swings below its feet on constant forces, legs pulled by up to 0.1 m", 5.0, _stewart),
        Motion("five-bar", "falls from rest, both motors below its feet", 5.0, _five_bar),
        Motion("squeezer", "its published run, prolonged", 0.05, _squeezer),
        Motion("10 four-bars", "swings below its feet, without coming into one line", 5.0, _row),
        Motion("PUMA", "falls from rest, stretched out; later on it is chaotic", 1.0, _puma),
    )
}  # fmt: skip
