"""Outcome: how a run ended, when, because of what, and what to do about it."""

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

    kind: finished, event, singular, step too small, non-finite, interrupted, or not closed, where a joint could not be
    switched on.
    t: when, in seconds of simulated time.
    names: the joints, coordinates or events it is about.
    message: what happened, in a sentence; remedy: what to do about it, empty where nothing needs doing.
    """

    kind: str
    t: float
    names: tuple[str, ...] = ()
    message: str = ""
    remedy: str = ""

    @property
    def finished(self) -> bool:
        """Whether the run came to the end that was asked for."""
        return self.kind == FINISHED

    def __str__(self) -> str:
        return "; ".join(part for part in (self.message, self.remedy) if part)


@checked(StateError)
@dataclass(frozen=True)
class Statistics:
    """What a run cost: evaluations of the equations of motion, steps taken and steps refused, seconds of wall time; how
    often generalized coordinates were chosen anew, and Jacobians worked out for implicit steps; a sentence on
    stiffness, where there was any to speak of."""

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
    """An event that happened: its name, when, and the coordinates and velocities then."""

    name: str
    t: float
    q: tuple[float, ...]
    v: tuple[float, ...]
