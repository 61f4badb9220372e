"""The run: integrates a model from a state, handles events and controllers, and hands back what was computed."""

import time
from collections.abc import Iterable, Mapping
from math import inf

import numpy as np

from kempe.analyze.closed import check_closed
from kempe.errors import StateError
from kempe.model.model import Model
from kempe.model.state import State
from kempe.results.outcome import Occurrence, Outcome, Statistics
from kempe.results.trajectory import Trajectory
from kempe.simulate import actuated
from kempe.simulate import memory as at
from kempe.simulate.asked import check, limits_of, method_of, output_times, stabilized
from kempe.simulate.choices import Choices
from kempe.simulate.drive import Drive, drive_of, efforts
from kempe.simulate.endings import REPEATED, ending
from kempe.simulate.events import RECORD, STOP, Event, Moment
from kempe.simulate.machine import Machine
from kempe.simulate.progress import Progress
from kempe.simulate.rows import Logged, for_steps, joined, settled
from kempe.simulate.scales import scales
from kempe.simulate.stiffness import Stiffness
from kempe.simulate.stops import Stops, limit_met
from kempe.simulate.system import Setting, guard, system, variation
from kempe.simulate.tables import Method

AT_ONCE = 1e-12  # of a run: an event whose action is called again so soon goes on for ever
BUDGET, PAUSE = 2000, 0.1  # steps before Python looks around first, and seconds between looks
FEW = 20  # steps between looks for other coordinates that are being compiled


def simulate(
    model: Model,
    state: State | None,
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
) -> Trajectory:
    """See `Model.simulate`."""
    if state is None or isinstance(state, Mapping):
        state = model.assemble(state) if model.topology.closures else model.state(state)
    check(model, state, duration, tolerance, longest)
    chosen = method_of(method, step)
    parameters = model.parameters(p)
    if singular not in ("stop", "cross"):
        raise StateError(f"singular is {singular!r}; it takes 'stop' or 'cross'")
    stops, watched = limits_of(model, limits)
    watched += [events] if isinstance(events, Event) else list(events)
    drive = drive_of(model, torque)
    setting = Setting(drive.law, len(drive.held), stops, *stabilized(stabilize))
    loops, legged = bool(model.topology.loops), model.formulation == "denoc"
    choices = Choices(model, setting, singular == "cross") if loops and not legged else None
    if loops:
        check_closed(model, state.q, state.v, parameters if model.p_names else None)
    if choices is not None:
        compiled, sizes = choices.first(state.q, parameters)
    elif legged:
        compiled, sizes = actuated.first(model, setting, singular == "cross", state.q, parameters, watched)
    else:
        compiled, sizes = system(model, setting), scales(model, parameters)
    times = output_times(start, end := start + duration, output)
    q, v = (state.q, state.v) if compiled.project is None else compiled.project(state.q, state.v, parameters)[:2]
    first = np.concatenate([q, v, [float(x) for x in drive.law.states.values()] if drive.law else []])
    machine = Machine(
        model,
        compiled,
        guard(model, tuple(watched), len(drive.held), len(compiled.z_names)),
        tuple(e.direction for e in watched),
        drive,
        chosen,
        first,
        parameters,
        sizes,
        times,
        variation(model, setting) if chosen.implicit else None,
    )
    machine.prepare()
    allowed = tolerance if not loops or output is None or chosen.implicit else for_steps(tolerance)
    machine.begin(start, 0.0 if chosen.adaptive else step or 0.0, allowed, longest, singular == "cross")
    if choices is not None:
        choices.begin(machine)
    stiffness = Stiffness(model, setting, chosen, tolerance) if method == "auto" else None
    if stiffness is not None:
        stiffness.begin(machine, times)
    run = _Run(model, machine, choices, drive, watched, chosen, end, output is None, stiffness)
    met = limit_met(model, q, v) if limits == "events" else None
    if met is not None:
        run.outcome = ending(model, machine, at.EVENT, end, met)
        return run.trajectory()
    try:
        with Progress(model.mechanism.name, start, end, progress) as bar:
            run.go(bar)
    finally:  # what a controller raises must not leave a compilation behind
        if choices is not None:
            choices.close()
    return run.trajectory()


class _Run:
    """A run under way: what was logged so far, and how it ended."""

    def __init__(
        self,
        model: Model,
        machine: Machine,
        choices: Choices | None,
        drive: Drive,
        events: list[Event],
        method: Method,
        end: float,
        every_step: bool,
        stiffness: Stiffness | None,
    ):
        self.model, self.machine, self.choices, self.drive = model, machine, choices, drive
        self.z_names = machine.system.z_names
        self.events, self.method, self.end, self.every_step = events, method, end, every_step
        self.begun = time.perf_counter()
        self.log: list[Logged] = []
        self.logged = 0  # rows of the machine's output that are in the log
        self.occurrences: list[Occurrence] = []
        self.acted: dict[int, float] = {}  # when each event's action was last called
        self.span = end - machine.t
        self.outcome: Outcome | None = None
        self.stiffness = stiffness

    def go(self, bar: Progress) -> None:
        """Until the end, or whatever comes first; what Python raises in a controller is raised with the run so far."""
        try:
            self._go(bar)
        except KeyboardInterrupt:
            self.outcome = ending(self.model, self.machine, None, self.end)
        except BaseException as error:
            self.outcome = ending(self.model, self.machine, None, self.end)
            error.add_note(
                f"while simulating {self.model.mechanism.name!r}, at t = {self.machine.t:.6g} s; "
                "the run up to there is in this exception's `run`"
            )
            error.run = self.trajectory()  # type: ignore[attr-defined]
            raise

    def _go(self, bar: Progress) -> None:
        machine, sampled, budget = self.machine, self.drive.sampled, BUDGET
        start, until, samples = machine.t, self.end, 0
        if sampled is not None:
            until = self._sample(start, samples)
        if self.every_step:
            self._note()
        while True:
            looked, steps = time.perf_counter(), machine.w[at.STEPS]
            how = machine.advance(until, self._steps(budget))
            if self.every_step and machine.w[at.STEPS] > steps and how != at.EVENT:
                self._note()
            if how == at.REACHED and sampled is not None and machine.t < self.end:
                samples += 1
                until = self._sample(start, samples)
                if self.every_step:
                    self._note()
                bar.show(machine.t)
            elif how == at.EVENT:
                if self._event():
                    return
            elif how == at.FADING:
                assert self.choices is not None
                self.choices.fading(machine)
            elif how == at.WEAK:
                if not self._weak():
                    return
            elif how == at.STIFF:
                assert self.stiffness is not None
                self._flush()
                self.stiffness.look(machine, self.end)
            elif how == at.PAUSED:
                if self.choices is not None:
                    self._choose()
                bar.show(machine.t)
                spent = time.perf_counter() - looked
                if machine.w[at.STEPS] - steps >= budget:
                    budget = int(min(max(budget * min(PAUSE / max(spent, 1e-6), 4.0), 100), 10_000_000))
            else:
                self.outcome = ending(self.model, machine, how, self.end, states=self.z_names)
                return

    def _steps(self, budget: int) -> int:
        """How many before Python looks around: at each one that is noted or aimed; often, where better is coming."""
        if self.every_step or self.machine.w[at.CROSSING]:
            return 1
        return min(budget, FEW) if self.choices is not None and self.choices.waiting else budget

    def _weak(self) -> bool:
        """Coordinates, or loops, fail at the next step; whether the run goes on."""
        assert self.choices is not None
        self._flush()
        if self.choices.weak(self.machine):
            return True
        self.outcome = ending(self.model, self.machine, at.WEAK, self.end)
        return False

    def _choose(self) -> None:
        """Between steps: other coordinates that have become ready, or the far side of a singular pose."""
        assert self.choices is not None
        self._flush()
        if self.machine.w[at.CROSSING]:
            self.choices.crossed(self.machine)
        else:
            self.choices.look(self.machine)

    def _sample(self, start: float, samples: int) -> float:
        """Asks the controller; when to ask it next."""
        machine, sampled = self.machine, self.drive.sampled
        assert sampled is not None
        given = sampled.controller(machine.t, machine.q.copy(), machine.v.copy())
        machine.outside[:] = efforts(self.model, given)
        machine.changed()
        return min(start + (samples + 1) * sampled.period, self.end)

    def _event(self) -> bool:
        """Notes an event and does what it asks for; whether the run ends."""
        machine = self.machine
        number = int(machine.w[at.FIRED])
        event = self.events[number]
        self.occurrences.append(Occurrence(event.name, machine.t, tuple(machine.q.tolist()), tuple(machine.v.tolist())))
        if event.action == STOP:
            self.outcome = ending(self.model, machine, at.EVENT, self.end, event.name)
            return True
        if event.action == RECORD:
            if self.every_step:
                self._note()
            return False
        self._note()
        stop = self._act(number, event)
        self._note()
        if stop:
            self.outcome = ending(self.model, machine, at.EVENT, self.end, event.name)
        elif machine.t - self.acted.get(number, -inf) < AT_ONCE * self.span:
            self.outcome = ending(self.model, machine, REPEATED, self.end, event.name)
            return True
        self.acted[number] = machine.t
        return stop

    def _act(self, number: int, event: Event) -> bool:
        """Has an action change things; whether it asks for the end."""
        machine = self.machine
        held = machine.outside if self.drive.law is None else machine.outside[:0]
        parts = {"q": machine.q, "v": machine.v, "z": machine.z, "efforts": held, "p": machine.p}
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
        if machine.system.project is not None:
            machine.q[:], machine.v[:] = machine.system.project(machine.q, machine.v, machine.p)[:2]
        machine.changed()
        machine.sides_after(before, number)
        return bool(moment.stop)

    def _flush(self) -> None:
        """Rows of output that were filled since the last time, into the log."""
        machine = self.machine
        filled = int(machine.w[at.ROW])
        if filled > self.logged:
            rows = machine.rows[self.logged : filled]
            self._log(machine.times[self.logged : filled], rows)
            self.logged = filled

    def _note(self) -> None:
        """The state as it is now, as a row of its own."""
        self._flush()
        row = np.concatenate([self.machine.y, self.machine.outside])[None]
        self._log(np.array([self.machine.t]), row)

    def _log(self, t: np.ndarray, rows: np.ndarray) -> None:
        machine = self.machine
        p = np.broadcast_to(machine.p.copy(), (len(t), len(machine.p)))
        self.log.append(Logged(machine.system, machine.scales, t, rows, p))

    def trajectory(self) -> Trajectory:
        """Everything that was computed, with accelerations and efforts, all on the manifold."""
        model, machine = self.model, self.machine
        seconds = time.perf_counter() - self.begun
        machine.record()
        self._flush()
        if not self.log or self.log[-1].t[-1] < machine.t:
            self._note()
        parts = [settled(model, part, self._signals) for part in joined(self.log)]
        t, q, v, a, u, z, stops, p = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        return Trajectory(
            model,
            *(t, q, v, a, u, z),
            z_names=self.z_names,
            p=p[0] if (p == p[0]).all() else p,
            stops=stops,
            occurrences=tuple(self.occurrences),
            outcome=self.outcome or Outcome("finished", machine.t),
            statistics=self._statistics(seconds),
        )

    def _statistics(self, seconds: float) -> Statistics:
        """What it cost, and what was decided on the way."""
        words, found = self.machine.w, self.stiffness
        switched = f", radau from t = {found.since:.4g} s on" if found is not None and found.since is not None else ""
        return Statistics(
            self.method.name + switched,
            evaluations=int(words[at.EVALUATIONS]),
            steps=int(words[at.STEPS]),
            rejected=int(words[at.REJECTED]),
            seconds=seconds,
            changes=self.choices.changes if self.choices is not None else 0,
            jacobians=int(words[at.JACOBIANS]),
            note=found.note if found is not None else "",
        )

    def _signals(self, t, q, v, w) -> np.ndarray:
        """w at every row, where it is not as it was held."""
        if self.drive.table is not None:
            return self.drive.table(t)
        if self.drive.function is not None:
            return np.array([self._asked(*row) for row in zip(t.tolist(), q.copy(), v.copy(), strict=True)])
        return w

    def _asked(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What the function gives for a row; nothing, where it fails."""
        try:
            return efforts(self.model, self.drive.function(t, q, v))  # type: ignore[misc]
        except (Exception, KeyboardInterrupt):
            return np.full(self.model.nu, np.nan)
