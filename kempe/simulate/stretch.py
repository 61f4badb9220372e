"""Stretch: the part of a run in one structure, from a state to the end, or to where a joint is switched."""

import time
from collections import deque
from collections.abc import Mapping

import numpy as np

from kempe.errors import StateError
from kempe.integrate import memory as at
from kempe.kinetics.kinetics import Kinetics
from kempe.kinetics.structures import switched_on
from kempe.results.outcome import Occurrence, Outcome
from kempe.simulate import actuated
from kempe.simulate.choices import Choices
from kempe.simulate.drive import Command, efforts
from kempe.simulate.endings import REPEATED, ending
from kempe.simulate.events import RECORD, STOP, Event, Moment
from kempe.simulate.machine import Machine
from kempe.simulate.plan import COSTS, Journal, Plan, Point, Structure
from kempe.simulate.progress import Progress
from kempe.simulate.rows import Logged, for_steps
from kempe.simulate.scales import scales
from kempe.simulate.stiffness import Stiffness
from kempe.simulate.system import System, guard, system, variation

AT_ONCE = 1e-12  # of a run: an event whose action repeats this soon never ends
CROWDED, WITHIN = 100, 1e-6  # nor does one whose action is called this often within this part of a run
BRIEF = 1e-5  # s; and this, in long runs
BUDGET, PAUSE = 2000, 0.1  # steps before the first check by Python, and seconds between checks
FEW = 20  # steps of the dense way between searches for coordinates


def first_system(model: Kinetics, plan: Plan, choices: Choices | None, q, p) -> tuple[System, np.ndarray]:
    """The initial system of a stretch, and its scales."""
    if choices is not None:
        return choices.first(q, p)
    if model.topology.constrained and not model.chosen.used.chooses:
        return actuated.first(model, plan.setting, plan.crossing, q, p)
    return system(model, plan.setting), scales(model, p)


def choices_of(model: Kinetics, plan: Plan) -> Choices | None:
    """The generalized coordinates, if a model has them to choose."""
    if not (model.topology.constrained and model.chosen.used.chooses):
        return None
    return Choices(model, plan.setting, plan.crossing)


class Stretch:
    """A part of a run in progress.

    outcome: how the run ended, if it did; asked: joints to be switched now, otherwise.
    """

    def __init__(self, structure: Structure, plan: Plan, begin: Point, journal: Journal):
        model = structure.model
        self.structure, self.model, self.plan, self.journal = structure, model, plan, journal
        own = np.concatenate([begin.p, structure.mask])
        self.choices, loops = choices_of(model, plan), model.topology.constrained
        q, v = begin.y[: model.nq], begin.y[model.nq : model.nq + model.nv]
        compiled, sizes = first_system(model, plan, self.choices, q, own)
        closed = np.concatenate([q, v] if compiled.project is None else compiled.project(q, v, own)[:2])
        singular = not np.isfinite(closed).all()
        if not singular:
            begin.y[: model.nq + model.nv] = closed
        self.events, watch = structure.events, structure.guard
        method, drive = plan.method, plan.drive
        if loops and self.choices is None:
            end = actuated.end_of(model, compiled.choice, q, begin.p)
            assert end is not None  # it is not singular at the start
            self.events = (*self.events, end)
            watch = guard(model, self.events, len(drive.held), len(compiled.z_names))
        times = plan.output
        if times is not None:
            times = times[np.searchsorted(times, begin.t, side="left" if begin.t == plan.start else "right") :]
        self.machine = machine = Machine(
            model,
            compiled,
            watch,
            tuple(e.direction for e in self.events),
            drive,
            method,
            begin.y,
            own,
            sizes,
            times,
            variation(model, plan.setting) if method.implicit else None,
        )
        machine.outside[:] = begin.outside
        machine.w[at.SEES] = any(event.sees for event in self.events)
        machine.prepare()
        tolerance = plan.tolerance
        allowed = tolerance if not loops or plan.output is None or method.implicit else for_steps(tolerance)
        machine.begin(begin.t, 0.0 if method.adaptive else plan.step, allowed, plan.longest, plan.crossing)
        if self.choices is not None:
            self.choices.begin(machine)
        automatic = plan.automatic and not len(structure.mask)  # implicit steps do not support masks
        self.stiffness = Stiffness(model, plan.setting, method, tolerance) if automatic else None
        if self.stiffness is not None:
            self.stiffness.begin(machine, np.zeros(0) if times is None else times)
        self.outcome: Outcome | None = self._ended(at.WEAK) if singular and loops else None
        self.asked: dict[str, bool] = {}
        self.told: set[str] = set()  # joints that events have reported as switched
        self.begun = self.closed = False

    def go(self, bar: Progress, until: float) -> None:
        """Advances to a time, or whatever comes first; exceptions of a controller are raised where it was."""
        first, self.begun = not self.begun, True
        try:
            if first and self.journal.log and self.plan.output is not None:
                self.note()
            self._go(bar, until)
        except BaseException:
            self.outcome = self._ended(None)
            raise

    def close(self) -> Point:
        """Completes the journal; returns where the next stretch begins."""
        machine, journal, found = self.machine, self.journal, self.stiffness
        self.closed = True
        machine.record()
        self.flush()
        for name, place in COSTS.items():
            journal.costs[name] += int(machine.w[place])
        journal.costs["changes"] = journal.costs.get("changes", 0) + (self.choices.changes if self.choices else 0)
        if found is not None and found.since is not None:
            journal.methods.append(f"radau from t = {found.since:.4g} s on")
        if found is not None and found.note:
            journal.notes.append(found.note)
        return Point(machine.t, machine.y.copy(), machine.outside.copy(), self.p.copy())

    @property
    def p(self) -> np.ndarray:
        """The run's own parameters."""
        return self.machine.p[: len(self.machine.p) - len(self.structure.mask)]

    def _go(self, bar: Progress, end: float) -> None:
        machine, sampled, budget = self.machine, self.plan.drive.sampled, BUDGET
        until = end
        if sampled is not None:
            until = min(self._next_sample(), end)
        if self.plan.output is None:
            self.note(once=True)
        while not self.asked:
            looked, steps = time.perf_counter(), machine.w[at.STEPS]
            how = machine.advance(until, self._steps(budget))
            if how == at.REACHED and sampled is not None and machine.t == self._next_sample() < self.plan.end:
                until = min(self._sample(), end)
                if self.plan.output is None:
                    self.note()
                bar.show(machine.t)
            elif how == at.EVENT:
                if self._happened(int(machine.w[at.FIRED])):
                    return
            elif how == at.FADING:
                assert self.choices is not None
                self.flush()  # rows so far use the old coordinates
                self.choices.fading(machine)
            elif how == at.WEAK:
                if not self._weak():
                    return
            elif how == at.STIFF:
                assert self.stiffness is not None
                self.flush()
                self.stiffness.look(machine, self.plan.end)
            elif how == at.PAUSED:
                self.flush()
                if self.machine.w[at.CROSSING] or self._by_dense_way:
                    self._choose()
                bar.show(machine.t)
                spent = time.perf_counter() - looked
                if machine.w[at.STEPS] - steps >= budget:
                    budget = int(min(max(budget * min(PAUSE / max(spent, 1e-6), 4.0), 100), 10_000_000))
            elif how == at.REACHED and end < self.plan.end:
                return
            else:
                self.outcome = self._ended(how)
                return

    def _ended(self, how: int | None, event: str = "") -> Outcome:
        return ending(self.model, self.machine, how, self.plan.end, event, self.machine.system.z_names)

    def _steps(self, budget: int) -> int:
        """Steps before the next check by Python: each, while it is aimed; often, if the dense way goes on until
        coordinates are fit again. Other checks change nothing, and may go by the clock."""
        if self.machine.w[at.CROSSING]:
            return 1
        return FEW if self._by_dense_way else budget

    @property
    def _by_dense_way(self) -> bool:
        return self.choices is not None and self.choices.looking and bool(self.machine.w[at.NUMERIC])

    def _weak(self) -> bool:
        """Coordinates, or loops, fail at the next step; whether the run goes on."""
        assert self.choices is not None
        self.flush()
        if self.choices.weak(self.machine):
            return True
        self.outcome = self._ended(at.WEAK)
        return False

    def _choose(self) -> None:
        """Between steps: looks for coordinates that are fit again, or the far side of a singular pose."""
        assert self.choices is not None
        if self.machine.w[at.CROSSING]:
            self.choices.crossed(self.machine)
        else:
            self.choices.look(self.machine)

    # ---- controllers and events ------------------------------------------------------------------------

    def _next_sample(self) -> float:
        """The time of the next controller call."""
        sampled = self.plan.drive.sampled
        assert sampled is not None
        return min(self.plan.start + (self.journal.samples + 1) * sampled.period, self.plan.end)

    def _sample(self) -> float:
        """Calls the controller; returns the time of the next call."""
        machine, sampled = self.machine, self.plan.drive.sampled
        assert sampled is not None
        self.journal.samples += 1
        given = sampled.controller(machine.t, machine.q.copy(), machine.v.copy())
        if isinstance(given, Command):
            self._ask(given.switch)
            given = given.efforts
        machine.outside[:] = efforts(self.model, given)
        machine.changed()
        return self._next_sample()

    def _ask(self, joints: Mapping[str, bool]) -> None:
        """Notes the joints to be switched, of those not yet as requested."""
        on, own = self.structure.on, self.structure.names
        switched_on(self.model.topology, {name: True for name in joints if name not in own})  # raises
        self.asked |= {name: bool(wanted) for name, wanted in joints.items() if bool(wanted) != (name in on)}

    def refresh(self) -> dict[str, bool]:
        """Updates the external values; returns joints that a controller switches."""
        machine, drive = self.machine, self.plan.drive
        if drive.table is not None:
            machine.outside[:] = drive.table(machine.t)
        elif drive.function is not None:
            machine.outside[:] = efforts(self.model, drive.function(machine.t, machine.q.copy(), machine.v.copy()))
        elif drive.sampled is not None:
            soon = self._next_sample() - machine.t <= AT_ONCE * max(1.0, abs(machine.t))
            if soon and machine.t < self.plan.end:
                self._sample()
        return self.asked

    def coincide(self) -> None:
        """Handles events that cross zero exactly where another one, or the clock, ends the stretch; the next stretch
        redetermines sides."""
        values, machine = self.machine.expressions(), self.machine
        for number, event in enumerate(self.events):
            side = machine.side(number)
            now = int(np.sign(values[number])) or machine.heading(number)
            if side and now and now != side and event.direction in (0, now) and not self._expired(number):
                self._noted(event)
                if event.action == STOP or (event.action != RECORD and self._act(number, event)):
                    self.outcome = self._ended(at.EVENT, event.name)

    def at_once(self) -> dict[str, bool]:
        """Joints to be switched before anything moves; the events involved are noted."""
        if not any(event.at_once for event in self.events):
            return {}
        values = self.machine.expressions()
        for number, event in enumerate(self.events):
            if event.at_once and values[number] > 0:
                self._noted(event)
                self._act(number, event)
        return self.asked

    def _happened(self, number: int) -> bool:
        """Notes an event and carries out its action; whether the stretch ends."""
        event = self.events[number]
        if self._expired(number):
            return False
        self._noted(event)
        if event.action == STOP:
            self.outcome = self._ended(at.EVENT, event.name)
            return True
        if event.action == RECORD:
            if self.plan.output is None:
                self.note()
            return False
        self.note()
        stop = self._act(number, event)
        if not self.asked or stop:
            self.note()
        if stop:
            self.outcome = self._ended(at.EVENT, event.name)
        elif self._goes_on_for_ever(event):
            self.outcome = self._ended(REPEATED, event.name)
            return True
        return stop

    def _expired(self, number: int) -> bool:
        """Whether an event is only the expiry of the rows it was watched by; then others are taken."""
        event, machine = self.events[number], self.machine
        if not isinstance(event, actuated.End):
            return False
        other = event.again(machine.q, machine.p)
        if other is None:
            return False
        self.events = tuple(other if each is event else each for each in self.events)
        machine.watch(guard(self.model, self.events, len(machine.outside), len(machine.z)), number, 1)
        return True

    def _goes_on_for_ever(self, event: Event) -> bool:
        """Whether actions of an event repeat at once, or ever faster, as in impacts of a ball."""
        t, whole = self.machine.t, self.plan.end - self.plan.start
        before = self.journal.acted.setdefault(event.name, deque(maxlen=CROWDED))
        before.append(t)
        if len(before) > 1 and t - before[-2] < AT_ONCE * whole:
            return True
        return len(before) == CROWDED and t - before[0] < min(WITHIN * whole, BRIEF)

    def _noted(self, event: Event) -> None:
        machine = self.machine
        state = tuple(machine.q.tolist()), tuple(machine.v.tolist())
        self.journal.occurrences.append(Occurrence(event.name, machine.t, *state))

    def _act(self, number: int, event: Event) -> bool:
        """Runs an action; whether it asks for the end."""
        machine = self.machine
        held = machine.outside if self.plan.drive.law is None else machine.outside[:0]
        parts = {"q": machine.q, "v": machine.v, "z": machine.z, "efforts": held, "p": self.p}
        before = machine.expressions()
        q, v, z, efforts_, p = (part.copy() for part in parts.values())
        moment = Moment(machine.t, q, v, z, efforts_, p)
        event.action(moment)  # type: ignore[operator]
        for name, part in parts.items():
            given = np.asarray(getattr(moment, name), dtype=float)
            if given.shape != part.shape or not np.isfinite(given).all():
                raise StateError(
                    f"event {event.name!r}: its action left {name} with shape {given.shape}, or numbers that are not "
                    f"finite; it takes {part.shape}"
                )
            part[:] = given
        if machine.system.project is not None and not moment.switch:
            machine.q[:], machine.v[:] = machine.system.project(machine.q, machine.v, machine.p)[:2]
        machine.changed()
        machine.sides_after(before, number)
        self._ask(moment.switch)
        self.told |= set(event.switches)
        return bool(moment.stop)

    # ---- the log ---------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Moves rows of output filled since the last time into the log."""
        t, rows = self.machine.take()
        if len(t):
            self._log(t, rows)

    def note(self, once: bool = False) -> None:
        """Records the present state as a row of its own; `once`: unless the last row is the same."""
        self.flush()
        row, log = np.concatenate([self.machine.y, self.machine.outside])[None], self.journal.log
        if not (once and log and log[-1].t[-1] == self.machine.t and (log[-1].rows[-1] == row[0]).all()):
            self._log(np.array([self.machine.t]), row)

    def _log(self, t: np.ndarray, rows: np.ndarray) -> None:
        machine = self.machine
        p = machine.p[None].repeat(len(t), axis=0)
        self.journal.log.append(Logged(self.model, self.structure.on, machine.system, machine.scales, t, rows, p))
