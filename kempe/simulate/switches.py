"""Switches: when joints are switched on and off in a run, by time, by an expression, or by what they have to bear."""

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
            if not value > 0:
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
        found = [float(t) if is_number(t) else inf for t in np.atleast_1d(value)]
    except (TypeError, ValueError):  # rows of several lengths
        found = [inf]
    if not all(map(isfinite, found)):
        raise StateError(f"switch of {joint!r}: {name} takes times in seconds, or an expression, not {short(value)}")
    return found


def check_switches(model: Kinetics, switches: tuple[Switch, ...]) -> None:
    """Refuses switches of joints that cannot be switched."""
    for switch in switches:
        if not isinstance(switch, Switch):
            raise StateError(f"switches: give kp.Switch(joint, ...), not {short(switch)}")
        switched_on(model.topology, {switch.joint: True})


def timetable(switches: tuple[Switch, ...]) -> list[tuple[float, str, bool]]:
    """All that the clock switches, in order."""
    return sorted((x for switch in switches for x in switch.times()), key=lambda entry: entry[0])


@dataclass(frozen=True, eq=False)
class Watch(Event):
    """An event that switches a joint; gate: the parameter that tells whether it is looked for now, and what that must
    be, none where it always is; full: its expression of all symbols, where it is of more than (t, q, v)."""

    gate: tuple[int, float] | None = None
    full: Callable | None = None
    joint: str = ""

    @property
    def switches(self) -> tuple[str, ...]:  # type: ignore[override]
        """The joint it switches."""
        return (self.joint,)

    def value(self, *symbols):
        """Negative while it is not looked for."""
        found = self.expression(*symbols[:3]) if self.full is None else self.full(*symbols)
        if self.gate is None:
            return found
        open_ = 1.0 - ca.fabs(symbols[-1][self.gate[0]] - self.gate[1])
        return ca.if_else(open_ > 0.5, found, -1.0)


@dataclass(frozen=True, eq=False)
class Bound(Watch):
    """One that happens at once where it holds already: a joint that has to bear too much, a lock that would pull."""

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
    """What may switch joints, beside the clock, while a structure holds; or in any, where the model is masked."""
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
    """The effort by which a lock would hold a freedom back that leaves the limit; none where it is the other limit of
    the freedom that it is locked at."""
    p, at = symbols[-1], bears.model.p_names.index(lock_paths(lock.limit.v)[1])
    return ca.if_else(ca.fabs(p[at] - lock.value) > 0, -1.0, lock.sign * bears.efforts(number, *symbols))


def _above(bears: "Bears", switch: Switch, *symbols):
    """How far what a joint has to bear is above its limit, as a part of it."""
    borne = zip(bears.joint(switch.joint, *symbols), (switch.force, switch.moment), strict=True)
    return reduce(ca.fmax, [x / limit - 1.0 for x, limit in borne if limit < inf])


class Bears:
    """What closures and locks have to bear in a run, as expressions; worked out once for all that ask."""

    def __init__(self, model: Kinetics, setting: Setting, p: np.ndarray):
        self.model, self._setting, self._p, self._known = model, setting, p, {}
        topology = model.topology
        self._unique = not topology.is_masked and (not topology.rows or topology.rows == model.nv - model.dof)

    def _solved(self, least: bool, symbols):
        """Multipliers of all rows of closures, and of locks after them, where these are not unique the least; and the
        tree with frames of its links."""
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
            self._known[key] = (lam, tree, frames(tree, at, rates), symbols)  # which keeps ids good
        return self._known[key][:3]

    def joint(self, name: str, *symbols) -> tuple[ca.SX, ca.SX]:
        """The sizes of the force and the moment of a joint that closes a loop, at its marker b."""
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
        """What a lock exerts along its freedom."""
        lam = self._solved(False, symbols)[0]
        return ca.SX(lam[len(lam) - len(self.model.topology.locks) + number])
