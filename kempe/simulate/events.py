"""Events: zero crossings of expressions that end a run, are recorded, or change something."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked, short

STOP, RECORD = "stop", "record"


@dataclass
class Moment:
    """A run at an event, for an action to change: time, coordinates, velocities, states of a law, efforts if they are
    held, parameters kept as inputs. Arrays may be written to or replaced; `stop` ends the run here; `switch` takes
    joints that shall be on (True) or off (False)."""

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    efforts: np.ndarray
    p: np.ndarray
    stop: bool = False
    switch: dict[str, bool] = field(default_factory=dict)


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Event:
    """A zero crossing of an expression.

    expression(t, q, v): one CasADi expression of time, coordinates and velocities. direction: 1 for upward crossings
    only, -1 for downward ones, 0 for both. action: "stop" ends the run; "record" notes time and state; a function gets
    a `Moment`, which it may change.
    """

    name: str
    expression: Callable
    direction: int = 0
    action: str | Callable[[Moment], None] = STOP
    at_once: ClassVar[bool] = False  # whether it also happens if a stretch begins on its far side
    switches: ClassVar[tuple[str, ...]] = ()  # the joints it switches, according to its name
    sees: ClassVar[bool] = False  # whether it depends on efforts

    def __post_init__(self):
        if self.direction not in (-1, 0, 1):
            raise StateError(f"event {self.name!r}: direction is {self.direction!r}; it takes -1, 0 or 1")
        if not (self.action in (STOP, RECORD) or callable(self.action)):
            raise StateError(
                f"event {self.name!r}: action is {short(self.action)}; give 'stop', 'record' or a function"
            )

    def value(self, t: ca.SX, q: ca.SX, v: ca.SX, z: ca.SX, w: ca.SX, p: ca.SX) -> Any:
        """The expression; z are states of a law, w external values, p parameters."""
        return self.expression(t, q, v)

    def symbolic(self, *symbols: ca.SX) -> ca.SX:
        """The same, checked."""
        if len(symbols) != 6:
            raise StateError(f"event {self.name!r}: symbolic takes t, q, v, z, w and p, not {len(symbols)} symbols")
        try:
            value = self.value(*symbols)
        except NotImplementedError as error:
            raise StateError(
                f"event {self.name!r}: q and v are vectors of CasADi's, whose entries go by number, in the order of "
                "model.q_names and model.v_names"
            ) from error
        try:
            found = ca.SX(value)
        except NotImplementedError as error:
            raise StateError(
                f"event {self.name!r}: its expression gives {type(value).__name__}, not CasADi's"
            ) from error
        if found.shape != (1, 1):
            raise StateError(f"event {self.name!r}: its expression has {found.numel()} entries; it takes one")
        return found


def events_of(given: Event | Iterable[Event]) -> list[Event]:
    """Events from one or several."""
    listed = (given,) if isinstance(given, Event) or not isinstance(given, Iterable) else tuple(given)
    for each in listed:
        if not isinstance(each, Event):
            raise StateError(f"events: give kp.Event(name, expression), or several, not {type(each).__name__}")
    return list(listed)
