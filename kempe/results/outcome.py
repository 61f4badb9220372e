"""Outcome: how a run ended, when, why, and what to do about it."""

from dataclasses import dataclass

from kempe.errors import StateError
from kempe.kinds import checked

FINISHED = "finished"
EVENT = "event"
SINGULAR = "singular"
STEP_TOO_SMALL = "step too small"
NON_FINITE = "non-finite"
INTERRUPTED = "interrupted"
NOT_CLOSED = "not closed"
KINDS = (FINISHED, EVENT, SINGULAR, STEP_TOO_SMALL, NON_FINITE, INTERRUPTED, NOT_CLOSED)


@checked(StateError)
@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    kind: finished, event, singular, step too small, non-finite, interrupted, or not closed (a joint could not be
    switched on).
    t: the simulated time in seconds.
    names: the joints, coordinates or events involved.
    message: what happened, in a sentence; remedy: what to do about it, empty if nothing.
    """

    kind: str
    t: float
    names: tuple[str, ...] = ()
    message: str = ""
    remedy: str = ""

    @property
    def finished(self) -> bool:
        """Whether the run reached its requested end."""
        return self.kind == FINISHED

    def __str__(self) -> str:
        return "; ".join(part for part in (self.message, self.remedy) if part)


@checked(StateError)
@dataclass(frozen=True)
class Statistics:
    """The cost of a run: evaluations of the equations of motion, accepted and rejected steps, seconds of wall time,
    changes of generalized coordinates, Jacobians of implicit steps; and a sentence on stiffness, if relevant."""

    method: str = ""
    evaluations: int = 0
    steps: int = 0
    rejected: int = 0
    seconds: float = 0.0
    changes: int = 0
    jacobians: int = 0
    note: str = ""


@checked(StateError)
@dataclass(frozen=True)
class Occurrence:
    """An event that occurred: its name, time, coordinates and velocities."""

    name: str
    t: float
    q: tuple[float, ...]
    v: tuple[float, ...]
