"""Structures of a run: for every set of joints that is on, a model and what watches for the next switch, made ahead.

While one structure holds, those that a switch may lead to are compiled in the background.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf

import numpy as np

from kempe.model.model import Model
from kempe.model.structures import On, switched_on
from kempe.simulate.stretch import Plan, Structure, choices_of, first_system
from kempe.simulate.switches import Switch, switch_events
from kempe.simulate.system import guard, variation


@dataclass(eq=False)
class Ahead:
    """The structures of a run, and those that are on their way."""

    plan: Plan
    switches: tuple[Switch, ...]
    _coming: "dict[On, Future[Structure]]" = field(default_factory=dict)
    _pool: ThreadPoolExecutor | None = None

    def first(self, model: Model, p: np.ndarray) -> Structure:
        """The structure that a run begins with."""
        found: Future[Structure] = Future()
        found.set_result(self._made(model, p))
        self._coming[frozenset(model.topology.on)] = found
        return found.result()

    def look(self, model: Model, q: np.ndarray, p: np.ndarray, times: list[tuple[float, str, bool]]) -> None:
        """Has compiled in the background what the clock, or the next condition, may lead to."""
        on = frozenset(model.topology.on)
        for _, joint, wanted in times:
            on = on | {joint} if wanted else on - {joint}
            self._ask(model, on, q, p)
        for switch in self.switches:
            is_on = switch.joint in model.topology.on
            if callable(switch.off if is_on else switch.on) or (is_on and min(switch.force, switch.moment) < inf):
                self._ask(model, switched_on(model.topology, {switch.joint: not is_on}), q, p)

    def take(self, model: Model, joints: Mapping[str, bool], q: np.ndarray, p: np.ndarray) -> Structure:
        """The structure with some joints switched, as soon as it is there."""
        on = switched_on(model.topology, joints)
        if on not in self._coming:
            self._coming[on] = found = Future()
            found.set_result(self._ready(model, on, q, p))
        return self._coming[on].result()

    def close(self) -> None:
        """Lets go of what is still being compiled."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, model: Model, on: On, q: np.ndarray, p: np.ndarray) -> None:
        if on not in self._coming:
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="kempe structures")
            self._coming[on] = self._pool.submit(self._ready, model, on, q.copy(), p.copy())

    def _ready(self, model: Model, on: On, q: np.ndarray, p: np.ndarray) -> Structure:
        """With everything compiled that the first steps take."""
        found = self._made(model.structures.model(model, on), p)
        model, plan, given = found.model, self.plan, p if model.p_names else None
        rest = np.zeros(model.nv)
        model.energy(q, rest, p=given)
        if model.topology.loops:
            lam = np.zeros(len(model.closure(q, p=given)[0]))
            model.mass_matrix(q, p=given)
            model.residual(q, p=given)
            model.call("joint_wrenches", q, rest, rest, lam, p=given)
        first_system(model, plan, choices_of(model, plan), q, p)
        if plan.method.implicit:
            variation(model, plan.setting)
        return found

    def _made(self, model: Model, p: np.ndarray) -> Structure:
        events = (*self.plan.events, *switch_events(model, self.switches, self.plan.setting, p))
        law = self.plan.setting.law
        states = 0 if law is None else len(law.states)
        return Structure(model, events, guard(model, events, len(self.plan.drive.held), states))
