"""Plan: what was asked of a run, the structures it can be in, where a stretch begins, and what it has been through."""

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
    """What was asked of a run: the same in all of its stretches. automatic: whether stiffness may change the method;
    output: when rows are wanted, None for every step."""

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
    """A structure that a run can be in: its model, what is on of all that has `names`, events of the run and of
    switches, and what evaluates them. mask: parameters of a masked model that come after those of the run."""

    model: Kinetics
    on: frozenset[str]
    names: tuple[str, ...] = ()
    mask: tuple[float, ...] = ()
    events: tuple[Event, ...] = ()
    guard: Kernel | None = None


@dataclass(eq=False)
class Point:
    """Where a stretch begins: a state, values from outside, parameters."""

    t: float
    y: np.ndarray
    outside: np.ndarray
    p: np.ndarray


@dataclass(eq=False)
class Journal:
    """What a run has been through so far: rows, events, when actions and controllers were called, what it cost."""

    log: list[Logged] = field(default_factory=list)
    occurrences: list[Occurrence] = field(default_factory=list)
    acted: dict[str, deque[float]] = field(default_factory=dict)
    samples: int = -1
    costs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COSTS, 0))
    methods: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
