"""Runs of closed loops: a free fall beside Pinocchio in SciPy, a figure on a swing, new coordinates, motions."""

import time
from functools import partial
from unittest.mock import patch

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.compiler import STATES, fresh_cache
from benchmarks.peers import describe
from benchmarks.peers.pinocchio import Pinocchio
from benchmarks.rows import Row
from benchmarks.timing import interleaved
from kempe.analyze.choosing import fitness
from kempe.analyze.kinematics import Way
from kempe.compiler.clock import CompiledLoop
from kempe.control import motions
from kempe.gallery.entries import ENTRIES
from kempe.gallery.loops import four_bar
from kempe.gallery.paper3_runs import SHORTEST, held, kept, swings
from kempe.gallery.swing import hanging
from kempe.model.model import Model
from kempe.model.state import PLACE, State
from kempe.simulate.choices import best_at
from kempe.simulate.run import _Run
from kempe.simulate.switches import Switch
from kempe.simulate.system import Setting, system

LONGEST = 15.0  # us, forward dynamics of the figure on a swing
FALL, TOLERANCE, RUNS = 5.0, 1e-8, 20


def _called(action, count: int):
    return lambda: [action() for _ in range(count)]


def falling() -> list[Row]:
    """The four-bar from rest, the same method and tolerance in SciPy around Pinocchio, which does not close loops
    again as it goes."""
    model = four_bar().compile()
    state = model.assemble({"A": np.pi / 2}, near={"D": 1.2})
    peer = Pinocchio(describe(model))
    zero, n = np.zeros(model.nv), model.nv
    start = np.concatenate([peer.order.q(state.q), zero])
    grid = np.linspace(0.0, FALL, 501)

    def right_hand_side(t, y):
        return np.concatenate([y[n:], peer.solve(y[:n], y[n:], zero)])

    def theirs(tolerance=TOLERANCE):
        return solve_ivp(right_hand_side, (0.0, FALL), start, "DOP853", grid, rtol=tolerance, atol=tolerance)

    ours = partial(model.simulate, state, FALL, tolerance=TOLERANCE, output=grid)
    run, reference = ours(), theirs()
    exact = model.simulate(state, FALL, tolerance=1e-12, output=grid)
    error = np.abs(run.q - exact.q).max()

    def turned(found) -> np.ndarray:
        return np.array([peer.order.q_back(q) for q in found.y[:n].T])

    def off(found) -> float:
        return float(np.abs(turned(found) - exact.q).max())

    as_exact = next(x for x in 10.0 ** -np.arange(8.0, 13.5, 0.5) if off(theirs(x)) <= error or x < 1e-12)
    # As many of ours as take about as long: caches are as warm for the one as for the other.
    actions = {"kempe": _called(ours, RUNS), "pin": theirs, "as exact": partial(theirs, as_exact)}
    spent = interleaved(actions, repeat=9)
    spent["kempe"] /= RUNS
    ratio, fair = (spent[key] / spent["kempe"] for key in ("pin", "as exact"))
    open_by = np.abs(model.residual(turned(reference))).max()
    return [
        Row(
            f"four-bar, {FALL:g} s of free fall at 1e-8, {run.statistics.evaluations} evaluations",
            f"{spent['kempe'] * 1e3:.1f} ms; pin in SciPy {spent['pin'] * 1e3:.0f} ms",
        ),
        Row("  against pin.constraintDynamics in SciPy's DOP853", f"{ratio:.0f} x", "at least 30 x", ratio >= 30),
        Row(
            "  loop open by at most (lengths over the mechanism's size)",
            f"{run.closure.max():.0e}; pin in SciPy {open_by:.0e}",
            "at most 1e-12",
            bool(run.closure.max() <= 1e-12),
        ),
        Row("  largest error of an angle", f"{error:.0e}; pin in SciPy {off(reference):.0e} rad"),
        Row(f"  against the same at {as_exact:.0e}, where it is as exact", f"{fair:.0f} x"),
    ]


def hanging_figure() -> list[Row]:
    """Forward dynamics of paper 3's figure on its swing, by every formulation; and its energy."""
    models = swings()
    state = hanging(models[SHORTEST])
    none = np.zeros(models[SHORTEST].nv)
    loops = {name: CompiledLoop(model.kernel("forward_dynamics"), state.q, state.v, none)
             for name, model in models.items()}  # fmt: skip
    spent = interleaved({name: partial(loop, STATES) for name, loop in loops.items()})
    rows = []
    for name, seconds in spent.items():
        us = seconds / STATES * 1e6
        what = f"swing, forward dynamics by {name}, {models[name].counts.total} operations"
        rows.append(Row(what, f"{us:.2f} us", f"at most {LONGEST:g} us", us <= LONGEST))
    off = kept(held(models[SHORTEST], 1e-8))
    rows.append(Row("  energy over 4 s at 1e-8, nobody lets go", f"{off:.0e}", "at most 1e-09", off <= 1e-9))
    for what, away in (("at the rope", 1e-7), ("from a gap", 0.02)):
        gap, spent = _switches(models[SHORTEST], state, away)
        rows.append(Row("  a hand lets go", f"{spent[0]:.2f} ms", "at most 1 ms", spent[0] <= 1))
        rows.append(Row(f"  takes hold {what} of {gap:.1e} m", f"{spent[1]:.2f} ms", "at most 1 ms", spent[1] <= 1))
    return rows


def _switches(model: Model, state: State, away: float) -> tuple[float, list[float]]:
    """The largest gap that was closed [m], and what letting go and taking hold again cost in the median [ms], each time
    `away` seconds later, in structures that are compiled."""
    times = np.linspace(0.01, 0.2, 6)
    switches = Switch("left hand", off=times.tolist(), on=(times + away).tolist())
    spent: list[float] = []
    switch = _Run._switch

    def timed(self, asked):
        begun = time.perf_counter()
        switch(self, asked)
        spent.append(1e3 * (time.perf_counter() - begun))

    model.simulate(state, 0.25, switches=switches)  # compiles
    with patch.object(_Run, "_switch", timed):
        runs = [model.simulate(state, 0.25, switches=switches) for _ in range(7)]
    off, on = spent[::2], spent[1::2]
    return max(x.gap for x in runs[0].switches), [float(np.median(x)) for x in (off, on)]


def changing() -> list[Row]:
    """Other coordinates for the state at hand, as a run asks for them where its own fade."""
    rows = []
    for name in ("four-bar", "excavator", "stewart"):
        entry = ENTRIES[name]
        model = entry.build().compile()
        state = _faded(model, entry)
        best_at(model, state.q)
        spent = interleaved({"choose": partial(best_at, model, state.q)})["choose"] * 1e3
        choice = best_at(model, state.q)[0]
        setting = Setting(None, model.nu, None)
        with fresh_cache():
            begun = time.perf_counter()
            system(model, setting, choice)
            cold = time.perf_counter() - begun
        rows.append(
            Row(f"{name}: coordinates chosen anew", f"{spent:.1f} ms; compiled in the background, cold, {cold:.1f} s")
        )
    return rows


def prescribed() -> list[Row]:
    """Efforts along motions of joints and of platforms: the compiled loop beside the careful way it falls back on."""
    rows = []
    for label, model, motion, start in _motions():
        run = model.inverse_dynamics(motion, start=start)
        way = Way(model, motion.names, motion.at)
        some = run.t[:: len(run) // 20]

        def careful(way=way, some=some, start=start, model=model):
            q, before, found = way.begin(0.0, start), 0.0, []
            for now in some.tolist():
                q, before = way.carried(q, before, now), now
                found.append((q, *way.moving(now, q)))
            return model.inverse_dynamics(*map(np.array, zip(*found, strict=True)), check=False)

        off = np.abs(careful() - run.u[:: len(run) // 20]).max() / np.abs(run.u).max()
        assert off < 1e-10, (label, off)
        spent = interleaved({"loop": partial(model.inverse_dynamics, motion, start=start), "careful": careful})
        loop, slow = spent["loop"] / len(run) * 1e6, spent["careful"] / len(some) * 1e6
        rows.append(
            Row(f"{label}: inverse dynamics along a motion, a row", f"{loop:.1f} us; by the careful way {slow:.0f} us")
        )
    return rows


def _motions():
    model = ENTRIES["four-bar"].build().compile()
    turn = motions.cycloidal({"A": (np.pi / 2, 2.5 * np.pi)}, 4.0)
    yield "four-bar by its crank", model, turn, model.assemble({"A": np.pi / 2}, near={"D": 1.2})
    for name in ("3-rrr", "stewart"):
        entry = ENTRIES[name]
        model = entry.build().compile()
        start = entry.run(model, entry.duration, output=entry.duration).at(0.0)
        middle = model.place("platform", start.q)[0]
        parts = ("x", "y", "yaw") if name == "3-rrr" else PLACE
        swing = {f"platform.{part}": (middle[PLACE.index(part)], 0.05) for part in parts}
        yield f"{name} by its platform", model, motions.sinusoidal(swing, 0.5, duration=4.0), start


def _faded(model: Model, entry) -> State:
    """Where, along the default run, the first choice suits worst."""
    run = entry.run(model, entry.duration)
    fits = [fitness(model, model.choice, q) for q in run.q[::10]]
    return State(model, run.q[::10][int(np.argmin(fits))], np.zeros(model.nv))


SECTIONS = (hanging_figure, falling, changing, prescribed)
