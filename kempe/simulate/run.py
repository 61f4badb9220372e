"""The run: integrates a model from a state, handles events and controllers, and hands back what was computed."""

import time
from collections.abc import Iterable
from math import inf, isfinite

import numpy as np

from kempe.errors import StateError
from kempe.model.model import Model
from kempe.model.state import State
from kempe.results.outcome import Occurrence, Outcome, Statistics
from kempe.results.trajectory import Trajectory
from kempe.simulate import memory as at
from kempe.simulate.drive import Drive, drive_of, efforts
from kempe.simulate.endings import ending
from kempe.simulate.events import RECORD, STOP, Event, Moment
from kempe.simulate.machine import Machine
from kempe.simulate.progress import Progress
from kempe.simulate.stops import Stops, limit_events, no_events
from kempe.simulate.system import System, guard, system
from kempe.simulate.tables import METHODS, Method

BUDGET, PAUSE = 2000, 0.1  # steps before Python looks around first, and seconds between looks


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
) -> Trajectory:
    """See `Model.simulate`."""
    state = model.state() if state is None else state
    _check(model, state, duration, tolerance, longest)
    chosen = _method(method, step)
    parameters = np.array(model.p if p is None else p, dtype=float)
    if parameters.shape != model.p.shape:
        raise StateError(
            f"p has shape {parameters.shape}; it takes {len(model.p)} numbers ({', '.join(model.p_names)})"
        )
    if singular not in ("stop", "cross"):
        raise StateError(f"singular is {singular!r}; it takes 'stop' or 'cross'")
    stops, watched = _limits(model, limits)
    watched += [events] if isinstance(events, Event) else list(events)
    drive = drive_of(model, torque)
    compiled = system(model, drive.law, len(drive.held), stops)
    end = start + duration
    times = output_times(start, end, output)
    first = np.concatenate([state.q, state.v, [float(x) for x in drive.law.states.values()] if drive.law else []])
    machine = Machine(
        model,
        compiled,
        guard(model, tuple(watched), len(drive.held), len(compiled.z_names)),
        tuple(e.direction for e in watched),
        drive,
        chosen,
        first,
        parameters,
        times,
    )
    machine.begin(start, 0.0 if chosen.adaptive else step or 0.0, tolerance, longest, singular == "cross")
    run = _Run(model, machine, compiled, drive, watched, chosen, end, output is None)
    with Progress(model.mechanism.name, start, end, progress) as bar:
        run.go(bar)
    return run.trajectory()


class _Run:
    """A run under way: what was logged so far, and how it ended."""

    def __init__(
        self,
        model: Model,
        machine: Machine,
        compiled: System,
        drive: Drive,
        events: list[Event],
        method: Method,
        end: float,
        every_step: bool,
    ):
        self.model, self.machine, self.system, self.drive = model, machine, compiled, drive
        self.events, self.method, self.end, self.every_step = events, method, end, every_step
        self.begun = time.perf_counter()
        self.log: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # times, rows, parameters
        self.logged = 0  # rows of the machine's output that are in the log
        self.occurrences: list[Occurrence] = []
        self.outcome: Outcome | None = None

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
            how = machine.advance(until, 1 if self.every_step else budget)
            if self.every_step and machine.w[at.STEPS] > steps:
                self._note()
            if how == at.REACHED and sampled is not None and machine.t < self.end:
                samples += 1
                until = self._sample(start, samples)
                bar.show(machine.t)
            elif how == at.EVENT:
                if self._event():
                    return
            elif how == at.PAUSED:
                bar.show(machine.t)
                spent = time.perf_counter() - looked
                budget = int(min(max(budget * min(PAUSE / max(spent, 1e-6), 4.0), 100), 10_000_000))
            else:
                self.outcome = ending(self.model, machine, how, self.end)
                return

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
            machine.w[at.FIRED] = at.NONE
            return False
        moment = Moment(machine.t, machine.q, machine.v, machine.z, machine.outside, machine.p)
        self._note()
        event.action(moment)  # type: ignore[operator]
        if not np.isfinite(machine.y).all():
            raise StateError(f"event {event.name!r}: its action left numbers that are not finite in q, v or z")
        self._note()
        machine.changed(number)
        if moment.stop:
            self.outcome = ending(self.model, machine, at.EVENT, self.end, event.name)
        return moment.stop

    def _flush(self) -> None:
        """Rows of output that were filled since the last time, into the log."""
        machine = self.machine
        filled = int(machine.w[at.ROW])
        if filled > self.logged:
            rows = machine.rows[self.logged : filled]
            self.log.append((machine.times[self.logged : filled], rows, self._parameters(len(rows))))
            self.logged = filled

    def _note(self) -> None:
        """The state as it is now, as a row of its own."""
        self._flush()
        row = np.concatenate([self.machine.y, self.machine.outside])[None]
        self.log.append((np.array([self.machine.t]), row, self._parameters(1)))

    def _parameters(self, count: int) -> np.ndarray:
        return np.broadcast_to(self.machine.p.copy(), (count, len(self.machine.p)))

    def trajectory(self) -> Trajectory:
        """Everything that was computed, with accelerations and efforts, all on the manifold."""
        model, machine = self.model, self.machine
        seconds = time.perf_counter() - self.begun
        self._flush()
        if not self.log or self.log[-1][0][-1] < machine.t:
            self._note()
        t, rows, p = (np.concatenate(parts) for parts in zip(*self.log, strict=True))
        sizes = model.nq, model.nv, len(self.system.z_names)
        q, v, z, w = np.split(rows, np.cumsum(sizes), axis=1)
        if self.system.project is not None:
            q, v = self.system.project(q, v, p)
        w = self._signals(t, q, v, w)
        _, a, _, u, stops, _ = self.system.main(t, q, v, z, w, p)
        return Trajectory(
            model,
            *(t, q, v, a, u, z),
            z_names=self.system.z_names,
            p=p[0] if (p == p[0]).all() else p,
            stops=stops,
            occurrences=tuple(self.occurrences),
            outcome=self.outcome or Outcome("finished", machine.t),
            statistics=Statistics(
                self.method.name,
                evaluations=int(machine.w[at.EVALUATIONS]),
                steps=int(machine.w[at.STEPS]),
                rejected=int(machine.w[at.REJECTED]),
                seconds=seconds,
            ),
        )

    def _signals(self, t, q, v, w) -> np.ndarray:
        """w at every row, where it is not as it was held."""
        if self.drive.table is not None:
            return self.drive.table(t)
        if self.drive.function is not None and self.machine._failure is None:
            return np.array(
                [efforts(self.model, self.drive.function(*row)) for row in zip(t.tolist(), q, v, strict=True)]
            )
        return w


def _check(model: Model, state: State, duration: float, tolerance: float, longest: float) -> None:
    if state.q.shape != (model.nq,) or state.v.shape != (model.nv,):
        has, takes = f"{state.q.size} coordinates and {state.v.size} velocities", f"{model.nq} and {model.nv}"
        raise StateError(f"the state has {has}; {model.mechanism.name!r} takes {takes}: make one with model.state(...)")
    if not (isfinite(duration) and duration > 0):
        raise StateError(f"duration is {duration!r} s; it must be positive")
    if not 1e-15 <= tolerance < 1:
        raise StateError(f"tolerance is {tolerance!r}; it takes 1e-15 to 1")
    if not longest > 0:
        raise StateError(f"longest is {longest!r} s; it must be positive")


def _method(name: str, step: float | None) -> Method:
    if name == "auto":
        name = "dop853"
    if name not in METHODS:
        raise StateError(f"there is no method {name!r}; there are auto, {', '.join(METHODS)}")
    method = METHODS[name]
    if method.adaptive and step is not None:
        raise StateError(f"{name} chooses its steps by tolerance; step is for rk4 and euler, longest= bounds a step")
    if not method.adaptive and not (step is not None and step > 0):
        raise StateError(f"{name} takes fixed steps: give step, in seconds")
    return method


def _limits(model: Model, limits) -> tuple[Stops | None, list[Event]]:
    if limits == "events":
        return None, limit_events(model)
    return no_events(limits), []


def output_times(start: float, end: float, output) -> np.ndarray:
    """When output is wanted."""
    if output is None:
        return np.zeros(0)
    if np.ndim(output) == 0:
        spacing = float(output)
        if not spacing > 0:
            raise StateError(f"output is {output!r} s; it takes a spacing, times, or None for every step")
        count = int((end - start) / spacing * (1 + 1e-12))
        return start + spacing * np.arange(count + 1)
    times = np.array(output, dtype=float).ravel()
    if len(times) == 0 or (np.diff(times) < 0).any() or times[0] < start or times[-1] > end * (1 + 1e-12) + 1e-12:
        raise StateError(f"output: times must increase and lie within {start:g} and {end:g} s")
    return times
