"""Plan: the options of a run, its possible structures, where a stretch begins, and its history."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.integrate import memory as at
from kempe.integrate.tables import Method
from kempe.kinetics.kinetics import Kinetics
from kempe.results.outcome import Occurrence
from kempe.simulate.drive import Drive
from kempe.simulate.events import Event
from kempe.simulate.rows import Logged
from kempe.simulate.system import Setting

COSTS = {
    "evaluations": at.EVALUATIONS,
    "steps": at.STEPS,
    "rejected": at.REJECTED,
    "jacobians": at.JACOBIANS,
}


@dataclass(frozen=True, eq=False)
class Plan:
    """The options of a run: the same in all of its stretches. automatic: whether stiffness may change the method;
    output: times of rows, None for every step."""

    drive: Drive
    setting: Setting
    method: Method
    automatic: bool
    tolerance: float
    start: float
    end: float
    output: np.ndarray | None
    longest: float
    step: float
    crossing: bool
    events: tuple[Event, ...]


@dataclass(frozen=True, eq=False)
class Structure:
    """A possible structure of a run: its model, which of `names` are on, events of the run and of switches, and their
    kernel. mask: parameters of a masked model after those of the run."""

    model: Kinetics
    on: frozenset[str]
    names: tuple[str, ...] = ()
    mask: tuple[float, ...] = ()
    events: tuple[Event, ...] = ()
    guard: Kernel | None = None


@dataclass(eq=False)
class Point:
    """Where a stretch begins: a state, external values, parameters."""

    t: float
    y: np.ndarray
    outside: np.ndarray
    p: np.ndarray


@dataclass(eq=False)
class Journal:
    """The history of a run: rows, events, times of actions and controller calls, costs."""

    log: list[Logged] = field(default_factory=list)
    occurrences: list[Occurrence] = field(default_factory=list)
    acted: dict[str, deque[float]] = field(default_factory=dict)
    samples: int = -1
    costs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COSTS, 0))
    methods: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
