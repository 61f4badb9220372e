"""Switches: when joints are switched on and off in a run, by time, by an expression, or by what they have to bear."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from math import inf, isfinite
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kempe.dynamics import loops, multipliers
from kempe.dynamics.kinematics import frames
from kempe.errors import StateError
from kempe.model.model import Model
from kempe.simulate.events import Event, Moment
from kempe.simulate.scales import scales
from kempe.simulate.system import Setting, efforts_of
from kempe.spatial.vectors import dot, from_sx, scaled, zeros


@dataclass(frozen=True, eq=False)
class Switch:
    """Switches a joint that was declared `switchable`.

    on, off: when: a time [s], several, or an expression(t, q, v) of CasADi that passes zero upward.
    force [N], moment [N m]: it lets go where it has to bear more than that.
    reach [m]: it is switched on only where its ends are nearer to each other than that, and else stays off.
    """

    joint: str
    on: Any = None
    off: Any = None
    force: float = inf
    moment: float = inf
    reach: float = inf

    def __post_init__(self):
        for name in ("force", "moment", "reach"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and value > 0):
                raise StateError(f"switch of {self.joint!r}: {name} is {value!r}; it takes a positive number")
        for name in ("on", "off"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                _times(self.joint, name, value)
        if self.on is None and self.off is None and self.force == self.moment == inf:
            raise StateError(f"switch of {self.joint!r}: say when, by on=, off=, force= or moment=")

    def times(self) -> Iterator[tuple[float, str, bool]]:
        """When it is switched by the clock."""
        for name, wanted in (("on", True), ("off", False)):
            value = getattr(self, name)
            if value is not None and not callable(value):
                yield from ((t, self.joint, wanted) for t in _times(self.joint, name, value))


def _times(joint: str, name: str, value) -> list[float]:
    try:
        found = [float(t) for t in (value if isinstance(value, Iterable) else (value,))]
    except (TypeError, ValueError):
        found = [inf]
    if not all(map(isfinite, found)):
        raise StateError(f"switch of {joint!r}: {name} takes times in seconds, or an expression, not {value!r}")
    return found


def check_switches(model: Model, switches: tuple[Switch, ...]) -> None:
    """Refuses switches of joints that cannot be switched."""
    for switch in switches:
        if not isinstance(switch, Switch):
            raise StateError(f"switches: give kp.Switch(joint, ...), not {switch!r}")
        model.switched({switch.joint: True})


def timetable(switches: tuple[Switch, ...]) -> list[tuple[float, str, bool]]:
    """All that the clock switches, in order."""
    return sorted((x for switch in switches for x in switch.times()), key=lambda entry: entry[0])


def switch_events(model: Model, switches: tuple[Switch, ...], setting: Setting, p: np.ndarray) -> tuple[Event, ...]:
    """What may switch joints while a structure holds, beside the clock."""
    found: list[Event] = []
    for switch in switches:
        on = switch.joint in model.topology.on
        word = "off" if on else "on"
        if callable(getattr(switch, word)):
            name = f"{switch.joint} is switched {word}"
            found.append(Event(name, getattr(switch, word), 1, _action(switch.joint, not on)))
        if on and min(switch.force, switch.moment) < inf:
            found.append(_breaking(switch, model, setting, p))
    return tuple(found)


def _action(joint: str, wanted: bool) -> Callable[[Moment], None]:
    def act(moment: Moment) -> None:
        moment.switch[joint] = wanted

    return act


@dataclass(frozen=True, eq=False)
class Breaking(Event):
    """A joint that lets go where what it has to bear, beside its limit, passes one; at once, where it is above."""

    bears: Callable | None = None
    at_once: ClassVar[bool] = True

    def value(self, t, q, v, z, w, p):
        """Above its limit, as a part of it."""
        assert self.bears is not None
        return self.bears(t, q, v, z, w, p)


def _breaking(switch: Switch, model: Model, setting: Setting, p: np.ndarray) -> Breaking:
    rows, inertias = model.choice.rows, scales(model, p, model.choice)

    def bears(t, q, v, z, w, p):
        tau = efforts_of(model, setting)(t, q, v, z, w, p, ca.SX(inertias))["tau"]
        found = zip(borne(model, switch.joint, rows, *map(from_sx, (q, v, tau, p))), limits, strict=True)
        return reduce(ca.fmax, [x / limit - 1.0 for x, limit in found if limit < inf])

    limits = switch.force, switch.moment
    words = [f"{x:g} {unit}" for x, unit in zip(limits, ("N", "N m"), strict=True) if x < inf]
    name = f"{switch.joint} breaks at {' or '.join(words)}"
    return Breaking(name, bears, 1, _action(switch.joint, False), bears)


def borne(model: Model, joint: str, rows: tuple[int, ...], q, v, tau, p) -> tuple[ca.SX, ...]:
    """The sizes of the force and the moment that a joint which closes a loop has to bear, at its marker b."""
    equations = model.equations
    tree, size = equations.tree(p), equations.closure_size
    solution = multipliers.sslm(tree, q, v, tau, size, rows)
    lam = np.zeros(equations.sizes["lam"], dtype=object)
    lam[list(rows)] = solution.lam
    first, total = 0, (zeros(3), zeros(3))
    for loop, found in zip(model.topology.loops, loops.loops(tree, frames(tree, q, v)), strict=True):
        wrenches = loops.wrenches(found, size)
        if loop.joint.name == joint:
            for factor, (n, f) in zip(lam[first : first + len(wrenches)], wrenches, strict=True):
                total = total[0] + scaled(factor, n), total[1] + scaled(factor, f)
        first += len(wrenches)
    return tuple(ca.sqrt(ca.SX(dot(part, part))) for part in total[::-1])
