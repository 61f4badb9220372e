"""Runs of closed loops: a figure on a swing, new coordinates, motions."""

import time
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks.compiler import STATES, fresh_cache
from benchmarks.rows import Row
from benchmarks.timing import interleaved
from kempe.compiler.clock import CompiledLoop
from kempe.control import motions
from kempe.gallery.entries import ENTRIES
from kempe.gallery.swing import hanging
from kempe.loops.choosing import fitness
from kempe.loops.kinematics import Way
from kempe.mechanics.state import PLACE, State
from kempe.model.model import Model
from kempe.papers.paper3.runs import SHORTEST, held, kept, swings
from kempe.simulate.run import _Run
from kempe.simulate.switches import Switch
from kempe.simulate.system import Setting, system

LONGEST = 15.0  # us, forward dynamics of the figure on a swing


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
        model.prepared.atlas.chooser.best(state.q)
        spent = interleaved({"choose": partial(model.prepared.atlas.chooser.best, state.q)})["choose"] * 1e3
        choice = model.prepared.atlas.chooser.best(state.q)[0]
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


SECTIONS = (hanging_figure, changing, prescribed)
