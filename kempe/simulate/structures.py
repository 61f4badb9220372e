"""Structures: for every set of joints that is on in a run, a model and the watch for the next switch, prepared ahead.

While one structure holds, those that a switch may lead to are compiled in the background. With many joints, or with
limits as locks, one masked model serves all structures, and a switch only changes numbers.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.kinetics.kinetics import Kinetics
from kempe.kinetics.structures import On, switched_on
from kempe.simulate.joining import Constraints, Joined, joined
from kempe.simulate.locks import Lock, locks_of, masks
from kempe.simulate.plan import Plan, Structure
from kempe.simulate.stretch import choices_of, first_system
from kempe.simulate.switches import Switch, switch_events
from kempe.simulate.system import guard, variation

if TYPE_CHECKING:
    from kempe.model.model import Model

FEW = 4  # switchable joints, up to which every structure has a program of its own


@dataclass(eq=False)
class Structures:
    """The structures of a run, and those being compiled.

    model: that of the first; locked: whether limits are locks; masked: whether one model serves all, None to decide.
    """

    model: "Model"
    plan: Plan
    switches: tuple[Switch, ...]
    locked: bool = False
    masked: bool | None = None
    _coming: "dict[On, Future[Structure]]" = field(default_factory=dict)
    _pool: ThreadPoolExecutor | None = None

    def __post_init__(self):
        names = self.model.topology.switchable
        if self.masked is False and self.locked:
            raise StateError("limits='locks' takes one masked program for all structures; leave masked=False out")
        if self.locked and self.plan.method.implicit:
            raise StateError("limits='locks' takes explicit steps; give another method, or limits='stops'")
        many = self.locked or (len(names) > FEW and not self.plan.method.implicit)
        self.masked = many if self.masked is None else self.masked
        if self.masked and self.plan.method.implicit:
            raise StateError("implicit steps are for structures with programs of their own; give masked=False")
        self.locks: tuple[Lock, ...] = locks_of(self.model) if self.locked else ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that can be on or off: switchable joints, and limits that are locks."""
        return *self.model.topology.switchable, *(lock.name for lock in self.locks)

    def first(self, p: np.ndarray) -> Structure:
        """The structure in which a run begins."""
        on = frozenset(self.model.topology.on)
        found: Future[Structure] = Future()
        found.set_result(self._made(on, p))
        self._coming[on] = found
        return found.result()

    def look(self, on: On, q: np.ndarray, p: np.ndarray, times: list[tuple[float, str, bool]]) -> None:
        """Compiles in the background what the clock, or the next condition, may lead to."""
        if self.masked:
            return
        after = on
        for _, together in groupby(times, key=lambda entry: entry[0]):
            for _, joint, wanted in together:
                after = after | {joint} if wanted else after - {joint}
            self._ask(after, q, p)
        for switch in self.switches:
            is_on = switch.joint in on
            if callable(switch.off if is_on else switch.on) or (is_on and min(switch.force, switch.moment) < inf):
                self._ask(on ^ {switch.joint}, q, p)

    def take(self, on: On, q: np.ndarray, p: np.ndarray) -> Structure:
        """The structure with these joints on, waiting for it if necessary."""
        if on not in self._coming:
            self._coming[on] = found = Future()
            found.set_result(self._ready(on, q, p))
        return self._coming[on].result()

    def switched(self, on: On, joints: Mapping[str, bool]) -> On:
        """What is on after switching some."""
        own = {name: wanted for name, wanted in joints.items() if name not in self.names}
        switched_on(self.model.topology, own)  # raises if one cannot be switched
        off = {name for name, wanted in joints.items() if not wanted}
        return frozenset((on | {name for name, wanted in joints.items() if wanted}) - off)

    def constraints(self, on: On, p: np.ndarray) -> Constraints:
        """The constraints with these joints on."""
        model = self.model
        locks = tuple(lock for lock in self.locks if lock.name in on)
        joints = frozenset(on) & set(model.topology.switchable)
        return Constraints(model.structures.whole(model), joints, locks, p if model.p_names else None)

    def joined(self, on: On, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> tuple[On, Joined]:
        """The state in which a structure begins; limits that would have to pull are left out."""
        while True:
            holds = self.constraints(on, p)
            found = joined(holds, lambda: self.model.structures.model(self.model, holds.on), q, v)  # noqa: B023
            pulls = {x.name for x, held in zip(holds.locks, found.held, strict=True) if x.sign * held > 0}
            if not pulls or not found.struck:  # without an impact, accelerations decide
                return on, found
            on = on - pulls

    def close(self) -> None:
        """Discards what is still being compiled."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, on: On, q: np.ndarray, p: np.ndarray) -> None:
        if on not in self._coming:
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="kempe structures")
            self._coming[on] = self._pool.submit(self._ready, on, q.copy(), p.copy())

    def _ready(self, on: On, q: np.ndarray, p: np.ndarray) -> Structure:
        """The structure with everything compiled that switching and the first steps need."""
        found = self._made(on, p)
        whole, plan, given = self.model.structures.whole(self.model), self.plan, p if self.model.p_names else None
        rest, lam = np.zeros(whole.nv), np.zeros(whole.equations.sizes["lam"])
        whole.energy(q, rest, p=given)
        whole.closure(q, p=given)
        whole.residual(q, p=given)
        whole.mass_matrix(q, p=given)
        whole.call("joint_wrenches", q, rest, rest, lam, p=given)
        if not self.masked:
            first_system(found.model, plan, choices_of(found.model, plan), q, p)
            if plan.method.implicit:
                variation(found.model, plan.setting)
        return found

    def _made(self, on: On, p: np.ndarray) -> Structure:
        if self.masked:
            return self._masked(on, p)
        model = self.model.structures.model(self.model, on)
        return self._watched(model, on, p)

    def _masked(self, on: On, p: np.ndarray) -> Structure:
        freedoms = tuple(dict.fromkeys(lock.limit.v for lock in self.locks))
        model = self.model.structures.mask(self.model, freedoms)
        mask = masks(model, on, self.locks)
        known = next((future.result() for future in self._coming.values()), None)
        if known is not None:  # what is watched is the same for all
            return replace(known, on=on, mask=mask)
        return self._watched(model, on, np.concatenate([p, mask]), mask)

    def _watched(self, model: Kinetics, on: On, p: np.ndarray, mask: tuple[float, ...] = ()) -> Structure:
        plan, law = self.plan, self.plan.setting.law
        own = switch_events(model, on, self.switches, self.locks, plan.setting, p)
        states, events = 0 if law is None else len(law.states), (*plan.events, *own)
        return Structure(model, on, self.names, mask, events, guard(model, events, len(plan.drive.held), states))
