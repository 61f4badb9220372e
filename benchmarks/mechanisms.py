"""Mechanisms: what is measured, each once, with a common moving, closed state and efforts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from kempe.gallery.benchmarks import SQUEEZER_TORQUE, andrews_squeezer, n_four_bar, parallel_bars, squeeze
from kempe.gallery.entries import ENTRIES
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.papers.paper4.counting import general_arm

ANGLE, RATE = 1.0, -1.0  # of all uprights of a row of four-bars
CLUSTERED = 10  # from this many four-bars on, multipliers of subsystems


@dataclass(frozen=True)
class Case:
    """A mechanism to be measured.

    moving: a closed state of its model in which everything moves, and efforts of its actuators there.
    """

    name: str
    build: Callable[[], Mechanism]
    moving: Callable[[Model], tuple[State, np.ndarray]]
    formulation: str = "auto"
    size: int = 1

    @cached_property
    def model(self) -> Model:
        """Compiled, its coordinates chosen for the state it is measured at, as a run would choose them."""
        model = self.build().compile(self.formulation)
        if model.topology.loops:
            atlas = model.prepared.atlas
            vars(atlas)["first"] = atlas.chooser.best(self.moving(model)[0].q)[0]
        return model

    @cached_property
    def given(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and efforts along every freedom, of the state it is measured at."""
        state, efforts = self.moving(self.model)
        return state.q, state.v, self.model.spread(efforts)

    @property
    def closed(self) -> bool:
        """Whether it has loops."""
        return bool(self.model.topology.loops)


def _from_its_run(name: str, model: Model) -> tuple[State, np.ndarray]:
    entry = ENTRIES[name]
    run = entry.run(model, entry.duration)
    return run.at(0.3 * run.end), run.u[0]


def _squeezed(model: Model) -> tuple[State, np.ndarray]:
    return squeeze(model, 0.005).at(0.005), np.array([SQUEEZER_TORQUE])


def _anywhere(model: Model) -> tuple[State, np.ndarray]:
    return model.random_state(1), np.random.default_rng(0).normal(size=model.nu)


def _side_by_side(model: Model) -> tuple[State, np.ndarray]:
    return parallel_bars(model, ANGLE, RATE), np.zeros(model.nu)


def _row(count: int) -> Case:
    formulation = "sslm" if count >= CLUSTERED else "auto"
    return Case(f"{count} four-bar{'s' * (count > 1)}", partial(n_four_bar, count), _side_by_side, formulation, count)


def _chain(bodies: int) -> Case:
    return Case(f"chain of {bodies}", partial(general_arm, bodies), _anywhere, size=bodies)


def _entry(name: str, label: str) -> Case:
    return Case(label, ENTRIES[name].build, partial(_from_its_run, name))


CASES = {
    case.name: case
    for case in (
        _entry("four-bar", "four-bar"),
        _entry("five-bar", "five-bar"),
        _entry("3-rrr", "3-RRR"),
        _entry("stewart", "Stewart"),
        Case("squeezer", andrews_squeezer, _squeezed),
        *map(_row, (1, 10, 40, 160)),
        Case("PUMA", ENTRIES["puma"].build, _anywhere),
        *map(_chain, (8, 64, 512)),
    )
}
QUICK = ("four-bar", "Stewart", "10 four-bars", "PUMA", "chain of 64")
