"""Run: integrates a model from a state, one structure after the other, and returns the results."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import NotClosed, StateError
from kempe.integrate import memory as at
from kempe.kinetics.closed import check_closed
from kempe.mechanics.state import State
from kempe.results.outcome import NOT_CLOSED, SINGULAR, Occurrence, Outcome, Statistics
from kempe.results.structures import Switched
from kempe.results.trajectory import Trajectory
from kempe.simulate.asked import check, limits_of, method_of, output_times, stabilized
from kempe.simulate.drive import Drive, drive_of, efforts
from kempe.simulate.endings import REPEATED, ending
from kempe.simulate.events import Event, events_of
from kempe.simulate.locks import pressed
from kempe.simulate.plan import Journal, Plan, Point
from kempe.simulate.progress import Progress
from kempe.simulate.rows import joined_rows, settled
from kempe.simulate.stops import Stops, limit_met, out_of_reach
from kempe.simulate.stretch import Stretch
from kempe.simulate.structures import Structures
from kempe.simulate.switches import Switch, check_switches, timetable
from kempe.simulate.system import Setting

if TYPE_CHECKING:
    from kempe.model.model import Model

AGAIN = 100  # switches at one time, after which a run counts as an endless loop


def simulate(
    model: "Model",
    state: State | Mapping | None,
    duration: float,
    torque=None,
    tolerance: float = 1e-8,
    output: float | Iterable[float] | None = 0.01,
    method: str = "auto",
    singular: str = "stop",
    *,
    step: float | None = None,
    events: Event | Iterable[Event] = (),
    limits: str | Stops = "stops",
    longest: float = inf,
    start: float = 0.0,
    p=None,
    progress: bool | None = None,
    stabilize: str | None = "project",
    switches: Switch | Iterable[Switch] = (),
    masked: bool | None = None,
) -> Trajectory:
    """See `Model.simulate`."""
    if state is None or isinstance(state, Mapping):
        state = model.assemble(state) if model.topology.closed else model.state(state)
    check(model, state, duration, tolerance, longest)
    chosen = method_of(method, step)
    parameters = model.parameters(p)
    if singular not in ("stop", "cross"):
        raise StateError(f"singular is {singular!r}; it takes 'stop' or 'cross'")
    stops, watched = limits_of(model, limits)
    stops = None if stops is None or not model.limits else out_of_reach(model, stops, state.q)
    watched += events_of(events)
    given = (switches,) if isinstance(switches, Switch) else tuple(switches)
    check_switches(model, given)
    drive = drive_of(model, torque)
    setting = Setting(drive.law, len(drive.held), stops, *stabilized(stabilize))
    if model.topology.constrained:
        check_closed(model, state.q, state.v, parameters if model.p_names else None)
    plan = Plan(
        drive,
        setting,
        chosen,
        method == "auto",
        tolerance,
        start,
        start + duration,
        None if output is None else output_times(start, start + duration, output),
        longest,
        step or 0.0,
        singular == "cross",
        tuple(watched),
    )
    first = np.concatenate([state.q, state.v, [float(x) for x in drive.law.states.values()] if drive.law else []])
    structures = Structures(model, plan, given, limits == "locks", masked)
    run = _Run(structures, Point(start, first, drive.held, parameters))
    met = limit_met(model, state.q, state.v) if limits == "events" else None
    if met is not None:
        run.outcome = ending(model, run.stretch.machine, at.EVENT, plan.end, met)
    else:
        with Progress(model.mechanism.name, start, plan.end, progress) as bar:
            run.go(bar)
    return run.trajectory()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `run` is the run so far; it is evaluated on request, so that a script ends at once."""

    def __init__(self, under_way: "_Run"):
        super().__init__()
        self._under_way = under_way

    @cached_property
    def run(self) -> Trajectory:
        """The run so far."""
        return self._under_way.trajectory()


class _Run:
    """A run in progress: its present stretch, its history, and how it ended."""

    def __init__(self, structures: Structures, begin: Point):
        self.structures, self.plan, self.model = structures, structures.plan, structures.model
        self.begun = time.perf_counter()
        self.journal = Journal()
        self.times = [entry for entry in timetable(structures.switches) if entry[0] >= self.plan.start]
        self.outcome: Outcome | None = None
        self.switched: list[Switched] = []
        self.stretch = Stretch(structures.first(begin.p), self.plan, begin, self.journal)

    def go(self, bar: Progress) -> None:
        """Runs to the end, or whatever comes first; Ctrl-C, and exceptions of a controller, are raised with the run so
        far."""
        try:
            self._go(bar)
        except KeyboardInterrupt:
            raise self._told_of(Interrupted(self)) from None
        except BaseException as error:
            self._told_of(error).run = self.trajectory()  # type: ignore[attr-defined]
            raise
        finally:
            self.structures.close()

    def _told_of(self, error: BaseException) -> BaseException:
        self.outcome = self._broken_off()
        error.add_note(
            f"while simulating {self.model.mechanism.name!r}, at t = {self.stretch.machine.t:.6g} s; "
            "the run up to there is in this exception's `run`"
        )
        return error

    def _broken_off(self) -> Outcome:
        return self.stretch.outcome or ending(self.model, self.stretch.machine, None, self.plan.end)

    def _go(self, bar: Progress) -> None:
        while self.outcome is None:
            stretch = self.stretch
            self.outcome = stretch.outcome
            if self.outcome is not None:
                return
            due = stretch.refresh() or self._due(stretch.machine.t) or self._pressed() or stretch.at_once()
            if not due:
                self.structures.look(stretch.structure.on, stretch.machine.q, stretch.p, self.times)
                stretch.go(bar, min([self.plan.end, *(t for t, _, _ in self.times)]))
                due = stretch.asked or self._due(stretch.machine.t)
                if due and stretch.outcome is None:
                    stretch.coincide()
                    due = due | stretch.asked
            self.outcome = stretch.outcome
            if self.outcome is None:
                self._switch(due)

    def _due(self, t: float) -> dict[str, bool]:
        """What the clock switches now."""
        due = {joint: wanted for when, joint, wanted in self.times if when <= t}
        self.times = [entry for entry in self.times if entry[0] > t]
        return due

    def _pressed(self) -> dict[str, bool]:
        """Limits at which a stretch begins, and that have to lock at once."""
        machine, locks, on = self.stretch.machine, self.structures.locks, self.stretch.structure.on
        if not locks:
            return {}
        state = machine.t, machine.q, machine.v, machine.z
        a = machine.system.main(*state, machine.outside, machine.p, machine.scales)[1]
        return dict.fromkeys(pressed(locks, on, machine.q, machine.v, a, self.model.equations.steps), True)

    def _switch(self, asked: Mapping[str, bool]) -> None:
        """Continues in another structure, from the state it begins in."""
        old, t, nq = self.stretch, self.stretch.machine.t, self.model.nq
        old.asked, asked = {}, self._within_reach(asked)
        if not asked:
            return
        if old.begun:
            old.machine.record()
            old.note(once=True)
        begin, on = old.close(), self.structures.switched(old.structure.on, asked)
        q, v = begin.y[:nq].copy(), begin.y[nq : nq + self.model.nv].copy()
        report = Switched(t, asked, ())
        if any(asked.values()):
            try:
                on, found = self.structures.joined(on, q, v, begin.p)
            except NotClosed as error:
                remedy = "switch it on where its ends are near each other: reach= waits for that"
                self.outcome = Outcome(NOT_CLOSED, t, tuple(asked), f"at t = {t:.9g} s {error}", remedy)
                return
            begin.y[: nq + self.model.nv] = np.concatenate([found.q, found.v])
            report = replace(report, gap=found.gap, lost=found.lost, moved=found.moved, impulses=found.impulses)
        new = self.structures.take(on, q, begin.p)
        self.switched.append(replace(report, on=tuple(name for name in self.structures.names if name in on)))
        for joint, wanted in asked.items():
            name = f"{joint} {'on' if wanted else 'off'}"
            if joint not in old.told:
                self.journal.occurrences.append(Occurrence(name, t, tuple(q.tolist()), tuple(v.tolist())))
        self.stretch = Stretch(new, self.plan, begin, self.journal)
        if sum(each.t == t for each in self.switched) > AGAIN:
            self.outcome = ending(self.model, self.stretch.machine, REPEATED, self.plan.end, ", ".join(asked))

    def _within_reach(self, asked: Mapping[str, bool]) -> dict[str, bool]:
        """The joints to be switched that are not so already and are near enough to be closed."""
        machine, on = self.stretch.machine, self.stretch.structure.on
        reach: dict[str, float] = {}
        for switch in self.structures.switches:
            reach[switch.joint] = min(switch.reach, reach.get(switch.joint, inf))
        found = {}
        for joint, wanted in asked.items():
            if wanted == (joint in on):
                continue
            if wanted and reach.get(joint, inf) < inf:
                holds = self.structures.constraints(frozenset({joint}), self.stretch.p)
                gap = replace(holds, stay=False).gap(machine.q)
                if gap > reach[joint]:
                    state = tuple(machine.q.tolist()), tuple(machine.v.tolist())
                    self.journal.occurrences.append(Occurrence(f"{joint} missed by {gap:.3g} m", machine.t, *state))
                    continue
            found[joint] = wanted
        return found

    def trajectory(self) -> Trajectory:
        """All results, with accelerations and efforts, all on the manifold."""
        model, journal, seconds = self.model, self.journal, time.perf_counter() - self.begun
        machine = self.stretch.machine
        if not self.stretch.closed:
            self.stretch.close()
        if not journal.log or journal.log[-1].t[-1] < machine.t:
            self.stretch.note()
        parts = [settled(part, self._signals) for part in joined_rows(journal.log)]
        t, q, v, a, u, z, stops, p = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        for rows in (t, q, v, a, u, z, stops):  # not shared, so no copies are needed
            rows.flags.writeable = False
        names, own = self.structures.names, p[:, : len(model.p)]
        return Trajectory(
            model,
            *(t, q, v, a, u, z),
            z_names=machine.system.z_names,
            p=own[0] if (own == own[0]).all() else own,
            stops=stops,
            occurrences=tuple(journal.occurrences),
            outcome=_told(self.outcome or Outcome("finished", machine.t), t, a),
            statistics=self._statistics(seconds),
            switches=tuple(self.switched),
            on=np.repeat([[n in part.on for n in names] for part in journal.log], [len(x.t) for x in journal.log], 0),
            on_names=names,
        )

    def _statistics(self, seconds: float) -> Statistics:
        """The costs, and the decisions made on the way."""
        journal = self.journal
        method = ", ".join([self.plan.method.name, *journal.methods])
        return Statistics(method, **journal.costs, seconds=seconds, note="; ".join(journal.notes))

    def _signals(self, t, q, v, w) -> np.ndarray:
        """w at every row, if it is not as it was held."""
        drive = self.plan.drive
        if drive.table is not None:
            return drive.table(t)
        if drive.function is not None:
            return np.array(
                [_asked(self.model, drive, *row) for row in zip(t.tolist(), q.copy(), v.copy(), strict=True)]
            )
        return w


def _told(outcome: Outcome, t: np.ndarray, a: np.ndarray) -> Outcome:
    """The outcome, with a note on rows at which accelerations could not be computed."""
    missing = np.flatnonzero(np.isnan(a).any(axis=1))
    if not len(missing):
        return outcome
    when = ", ".join(f"{t[row]:.6g}" for row in missing[:3]) + (", .." if len(missing) > 3 else "")
    words = f"accelerations and reactions are NaN at t = {when} s, where the loops do not determine them"
    message = f"{outcome.message}; {words}" if outcome.message else words
    return replace(outcome, kind=SINGULAR if outcome.finished else outcome.kind, message=message)


def _asked(model: "Model", drive: Drive, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The function's result for a row; NaN if it fails."""
    try:
        return efforts(model, drive.function(t, q, v))  # type: ignore[misc]
    except Exception:
        return np.full(model.nu, np.nan)
