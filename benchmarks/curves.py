"""Curves: what runs cost and how exact they are, over tolerances or steps, and what a given accuracy costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import process_time as clock  # of all threads of the process; what others do meanwhile is none of it

import numpy as np

from benchmarks.motions import Motion
from benchmarks.peers.description import describe
from benchmarks.peers.peer import DidNotArrive, State
from benchmarks.references import Reference, distance
from benchmarks.timing import Times

LONGEST = 4.0  # seconds of a contender's settings together, after which finer ones are left out
TURN, MOST = 0.02, 20  # seconds of one repetition at least, and runs in it at most
LEAST = 1e-17  # no error is less, for logarithms


@dataclass(frozen=True)
class Contender:
    """A way to run a motion. prepare(fineness): the run that is timed, which gives rows of q and v: all of the motion's
    grid where `rows`, else the end alone, as its last. finenesses: from coarse to fine."""

    name: str
    prepare: Callable[[float], Callable[[], State]]
    finenesses: tuple[float, ...]
    rows: bool = False


@dataclass(frozen=True)
class Judged:
    """What a run is worth: its largest distance from the reference [rad or m], the largest gap of a loop (lengths over
    the mechanism's size), and by how much energy changed for which nothing did work [J]."""

    error: float
    gap: float
    drift: float


@dataclass(frozen=True)
class Point:
    """A setting of a contender: what its run is worth, and seconds of it."""

    fineness: float
    judged: Judged
    times: Times


class Judge:
    """Judges runs of one motion, all by the same functions of Kempe's model, whoever made them."""

    def __init__(self, motion: Motion, reference: Reference):
        self.motion, self.reference = motion, reference
        links = [link for link in describe(motion.model).links if link.q.stop - link.q.start == 1]
        self._q_at = [link.q.start for link in links]
        self._tau = motion.state[2][[link.v.start for link in links]]
        q, v, _ = motion.state
        self._start = self._energy(q[None], v[None])

    def __call__(self, rows: State, whole: bool) -> Judged:
        """Of all rows of the grid where `whole`, else of the last alone."""
        take = slice(None) if whole else slice(-1, None)
        q, v = (x[take] for x in rows)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise DidNotArrive("its numbers became infinite or undefined.")
        model = self.motion.model
        gap = float(np.abs(model.residual(q)).max()) if model.topology.loops else 0.0
        drift = float(np.abs(self._energy(q, v) - self._start).max())
        return Judged(distance(model, self.reference.q[take], q), gap, drift)

    def _energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic and potential, less the work of efforts, which are constant and along joints of one freedom."""
        kinetic, potential = self.motion.model.energy(q, v)
        return kinetic + potential - q[:, self._q_at] @ self._tau


def measured(contenders: list[Contender], judge: Judge, rounds: int, share: float) -> dict[str, tuple[Point, ...]]:
    """Curves by name. Every setting is run once, and judged; then all of them in turn, each in as many of the rounds as
    fit into `share` seconds. What does not arrive has no point."""
    runs: dict[tuple[str, float], Callable[[], State]] = {}
    judged: dict[tuple[str, float], Judged] = {}
    spent: dict[tuple[str, float], list[float]] = {}
    for contender in contenders:
        total = 0.0
        for fineness in contender.finenesses:
            key, run = (contender.name, fineness), contender.prepare(fineness)
            begun = clock()
            try:
                rows = run()
                spent[key] = [clock() - begun]
                judged[key] = judge(rows, contender.rows)
                runs[key] = run
            except DidNotArrive:
                pass
            total += clock() - begun
            if total > LONGEST:
                break
    _in_turn(runs, spent, rounds, share)
    return {
        contender.name: tuple(
            Point(fineness, judged[name, fineness], Times(np.array(spent[name, fineness])))
            for name, fineness in runs
            if name == contender.name
        )
        for contender in contenders
    }


def _in_turn(runs: Mapping, spent: Mapping[tuple[str, float], list[float]], rounds: int, share: float) -> None:
    """Repetitions; the first run, which may have had to compile, is forgotten where there are others."""
    first = {key: _again(run) if spent[key][0] < share else spent[key][0] for key, run in runs.items()}
    counts = {key: int(np.clip(TURN / seconds, 1, MOST)) for key, seconds in first.items()}
    for number in range(rounds):
        for key, run in runs.items():
            if number * first[key] * counts[key] < share and first[key] < share:
                if number == 0:
                    spent[key].clear()
                begun = clock()
                for _ in range(counts[key]):
                    run()
                spent[key].append((clock() - begun) / counts[key])


def _again(run: Callable[[], object]) -> float:
    begun = clock()
    run()
    return clock() - begun


def seconds_at(points: tuple[Point, ...], error: float) -> tuple[float, float, float] | None:
    """What it takes to be as exact: lower quartile, median and upper quartile; None where no setting is.

    Between the last two neighbours, from coarse to fine, of which only the finer is as exact, times go with errors as
    powers do. Where even the coarsest is as exact, it takes what that takes. The last ones, since an error may be small
    by chance.
    """
    errors = np.maximum([point.judged.error for point in points], LEAST)
    exact = errors <= error
    if not exact.any():
        return None
    enters = np.flatnonzero(exact & ~np.concatenate([[False], exact[:-1]]))
    at = int(enters[-1])
    times = np.array([point.times.quartiles for point in points])
    if at == 0:
        return tuple(times[0].tolist())  # type: ignore[return-value]
    coarse, fine = np.log(errors[at - 1 : at + 1])
    part = (coarse - np.log(error)) / (coarse - fine)
    return tuple(np.exp((1 - part) * np.log(times[at - 1]) + part * np.log(times[at])).tolist())  # type: ignore


def nearest(points: tuple[Point, ...], error: float) -> Point:
    """The first setting, from coarse to fine, from which on errors are as small; or the one with the least."""
    for at in range(len(points)):
        if all(point.judged.error <= error for point in points[at:]):
            return points[at]
    return min(points, key=lambda point: point.judged.error)


def of_kempe(motion: Motion) -> list[Contender]:
    """`model.simulate` as anyone would call it: every step kept, the end alone, and rows at the grid."""
    state, efforts = motion.given

    def run(output, tolerance: float) -> State:
        found = motion.model.simulate(state, motion.duration, efforts, tolerance, output)
        if found.outcome.kind != "finished":
            raise DidNotArrive(f"Kempe: {found.outcome}.")
        return found.q, found.v

    tolerances = tuple(10.0**-k for k in range(4, 13))
    outputs = {
        "Kempe, every step": None,
        "Kempe, end alone": np.array([motion.duration]),
        "Kempe, with rows": motion.grid,
    }
    for output in outputs.values():
        for tolerance in (tolerances[0], tolerances[-1]):
            run(output, tolerance)  # what only first runs compile is none of it
    return [
        Contender(name, lambda x, output=output: partial(run, output, x), tolerances, name.endswith("rows"))
        for name, output in outputs.items()
    ]
