"""Switches: switch joints on and off in a run, by time, by an expression, or by the load they bear."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from math import inf, isfinite
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kempe.dynamics import loops, masked
from kempe.dynamics.kinematics import frames
from kempe.errors import StateError
from kempe.kinds import checked, is_number, short
from kempe.kinetics.kinetics import Kinetics
from kempe.kinetics.structures import switched_on
from kempe.simulate.events import Event, Moment
from kempe.simulate.locks import Lock
from kempe.simulate.scales import scales
from kempe.simulate.system import Setting, efforts_of
from kempe.spatial.vectors import dot, from_sx, scaled, zeros
from kempe.topology.paths import lock_paths


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Switch:
    """Switches a joint that was declared `switchable`.

    on, off: when: a time [s], several, or a CasADi expression(t, q, v) that crosses zero upward. force [N], moment [N
    m]: it releases under a larger load. reach [m]: it is switched on only if its ends are closer than that, and
    otherwise stays off.
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
            if not value > 0:
                raise StateError(f"switch of {self.joint!r}: {name} is {value!r}; it takes a positive number")
        for name in ("on", "off"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                _times(self.joint, name, value)
        if self.on is None and self.off is None and self.force == self.moment == inf:
            raise StateError(f"switch of {self.joint!r}: say when, by on=, off=, force= or moment=")

    def times(self) -> Iterator[tuple[float, str, bool]]:
        """The times at which the clock switches it."""
        for name, wanted in (("on", True), ("off", False)):
            value = getattr(self, name)
            if value is not None and not callable(value):
                yield from ((t, self.joint, wanted) for t in _times(self.joint, name, value))


def _times(joint: str, name: str, value) -> list[float]:
    try:
        found = [float(t) if is_number(t) else inf for t in np.atleast_1d(value)]
    except (TypeError, ValueError):  # rows of different lengths
        found = [inf]
    if not all(map(isfinite, found)):
        raise StateError(f"switch of {joint!r}: {name} takes times in seconds, or an expression, not {short(value)}")
    return found


def check_switches(model: Kinetics, switches: tuple[Switch, ...]) -> None:
    """Raises for switches of joints that cannot be switched."""
    for switch in switches:
        if not isinstance(switch, Switch):
            raise StateError(f"switches: give kp.Switch(joint, ...), not {short(switch)}")
        switched_on(model.topology, {switch.joint: True})


def timetable(switches: tuple[Switch, ...]) -> list[tuple[float, str, bool]]:
    """All switches by the clock, in order."""
    return sorted((x for switch in switches for x in switch.times()), key=lambda entry: entry[0])


@dataclass(frozen=True, eq=False)
class Watch(Event):
    """An event that switches a joint; gate: the parameter that enables it, and the value at which it does, None if
    always enabled; full: its expression of all symbols, if it depends on more than (t, q, v)."""

    gate: tuple[int, float] | None = None
    full: Callable | None = None
    joint: str = ""

    @property
    def switches(self) -> tuple[str, ...]:  # type: ignore[override]
        """The joint it switches."""
        return (self.joint,)

    def value(self, *symbols):
        """Negative while disabled."""
        found = self.expression(*symbols[:3]) if self.full is None else self.full(*symbols)
        if self.gate is None:
            return found
        open_ = 1.0 - ca.fabs(symbols[-1][self.gate[0]] - self.gate[1])
        return ca.if_else(open_ > 0.5, found, -1.0)


@dataclass(frozen=True, eq=False)
class Bound(Watch):
    """A watch that fires at once if it already holds: an overloaded joint, a lock that would pull."""

    at_once: ClassVar[bool] = True
    sees: ClassVar[bool] = True


def switch_events(
    model: Kinetics,
    on: frozenset[str],
    switches: tuple[Switch, ...],
    locks: tuple[Lock, ...],
    setting: Setting,
    p: np.ndarray,
) -> tuple[Event, ...]:
    """What may switch joints, besides the clock, while a structure holds; or in any, if the model is masked."""
    found: list[Event] = []
    masked, bears = model.topology.is_masked, Bears(model, setting, p)

    def gate(path: str, wanted: bool) -> tuple[int, float] | None:
        return (model.p_names.index(path), float(wanted)) if masked else None

    for switch in switches:
        name, path = switch.joint, f"{switch.joint}.on"
        for word, wanted in (("on", True), ("off", False)):
            if callable(getattr(switch, word)) and (masked or wanted != (name in on)):
                act, when = _action(name, wanted), getattr(switch, word)
                found.append(Watch(f"{name} {word}", when, 1, act, gate(path, not wanted), None, name))
        if min(switch.force, switch.moment) < inf and (masked or name in on):
            limits = zip((switch.force, switch.moment), ("N", "N m"), strict=True)
            words = f"{name} off: it bears more than {' or '.join(f'{x:g} {unit}' for x, unit in limits if x < inf)}"
            breaks = partial(_above, bears, switch)
            found.append(Bound(words, breaks, 1, _action(name, False), gate(path, True), breaks, name))
    for lock in locks:
        name, path = lock.name, lock_paths(lock.limit.v)[0]
        meets = partial(_passed, lock)
        pulls = partial(_pulling, bears, lock, model.topology.locks.index(lock.limit.v))
        found.append(Watch(name, meets, 1, _action(name, True), gate(path, False), None, name))
        found.append(Bound(f"{name} no longer", pulls, 1, _action(name, False), gate(path, True), pulls, name))
    return tuple(found)


def _action(joint: str, wanted: bool) -> Callable[[Moment], None]:
    def act(moment: Moment) -> None:
        moment.switch[joint] = wanted

    return act


def _passed(lock: Lock, t, q, v):
    """How far a freedom is beyond a limit."""
    return lock.sign * (q[lock.limit.q] - lock.value) - lock.near


def _pulling(bears: "Bears", lock: Lock, number: int, *symbols):
    """The effort with which a lock would hold back a freedom that leaves the limit; zero if the freedom is locked at
    its other limit."""
    p, at = symbols[-1], bears.model.p_names.index(lock_paths(lock.limit.v)[1])
    return ca.if_else(ca.fabs(p[at] - lock.value) > 0, -1.0, lock.sign * bears.efforts(number, *symbols))


def _above(bears: "Bears", switch: Switch, *symbols):
    """The overload of a joint, relative to its limit."""
    borne = zip(bears.joint(switch.joint, *symbols), (switch.force, switch.moment), strict=True)
    return reduce(ca.fmax, [x / limit - 1.0 for x, limit in borne if limit < inf])


class Bears:
    """The loads of closures and locks in a run, as expressions; computed once for all."""

    def __init__(self, model: Kinetics, setting: Setting, p: np.ndarray):
        self.model, self._setting, self._p, self._known = model, setting, p, {}
        topology = model.topology
        self._unique = not topology.is_masked and (not topology.rows or topology.rows == model.nv - model.dof)

    def _solved(self, least: bool, symbols):
        """Multipliers of all closure rows, followed by those of locks, the least if they are not unique; and the tree
        with frames of its links."""
        key = (least, *map(id, symbols))
        if key not in self._known:
            t, q, v, z, w, p = symbols
            model = self.model
            equations = model.equations
            choice = None if model.topology.is_masked else model.choice
            inertias = ca.SX(scales(model, self._p, choice))
            tau = efforts_of(model, self._setting)(t, q, v, z, w, p, inertias)["tau"]
            tree, size = equations.tree(from_sx(p)), equations.closure_size
            at, rates, efforts = (from_sx(x) for x in (q, v, tau))
            given = tree, at, rates, efforts, size
            lam = masked.borne(*given) if least else masked.forward(*given).lam
            self._known[key] = (lam, tree, frames(tree, at, rates), symbols)  # keeps ids valid
        return self._known[key][:3]

    def joint(self, name: str, *symbols) -> tuple[ca.SX, ca.SX]:
        """The magnitudes of the force and the moment of a joint that closes a loop, at its marker b."""
        lam, tree, found = self._solved(not self._unique, symbols)
        first, moment, force, size = 0, zeros(3), zeros(3), self.model.equations.closure_size
        closures = self.model.topology.masked or self.model.topology.loops
        for own, loop in zip(closures, loops.loops(tree, found), strict=True):
            wrenches = loops.wrenches(loop, size)
            if own.joint.name == name:
                for factor, (n, f) in zip(lam[first : first + len(wrenches)], wrenches, strict=True):
                    moment, force = moment + scaled(factor, n), force + scaled(factor, f)
            first += len(wrenches)
        return ca.sqrt(ca.SX(dot(force, force))), ca.sqrt(ca.SX(dot(moment, moment)))

    def efforts(self, number: int, *symbols) -> ca.SX:
        """The effort of a lock along its freedom."""
        lam = self._solved(False, symbols)[0]
        return ca.SX(lam[len(lam) - len(self.model.topology.locks) + number])
