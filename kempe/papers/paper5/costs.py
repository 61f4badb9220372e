"""Costs of paper 5: seconds of runs with virtual springs, and subsystems computed in parallel."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

import numpy as np

from kempe.compiler import clock
from kempe.compiler.kernel import Kernel
from kempe.mechanics.state import State
from kempe.model.model import Model
from kempe.papers.paper5 import runs
from kempe.papers.report import Report
from kempe.papers.timing import REPEATS, RUNS, in_turn, least
from kempe.results.trajectory import Trajectory

TOLERANCES = 1e-6, 1e-8
ROWS = 0.01  # s, output of timed runs
AT_ONCE = 200  # evaluations timed together
MANY = 4096  # states in one call
PROCESSORS = range(1, 9)
WORKERS = 2, 3, 7
ONE, THREE, FASTER = 6.0, 0.4, 15.0  # s on one processor and on three, and the speed-up: section 3.2.3


def whole_runs(report: Report) -> None:
    """Times two seconds of both mechanisms, by springs and by equations."""
    report.heading("Seconds of runs")
    law, rows = runs.push(), []
    cases = (
        ("four-bar, k = 1e6", runs.four_bars(), runs.closed_start, runs.TORQUE),
        ("Gough-Stewart", runs.platforms(), runs.platform_start, law),
    )
    by_springs: dict[str, float] = {}
    more = []  # evaluations by springs relative to sslm
    for name, models, start, torque in cases:
        starts = {way: start(model) for way, model in models.items()}
        for tolerance in TOLERANCES:
            ways = {way: (way, runs.METHOD) for way in models} | {"springs, implicit": (runs.SPRINGS, "radau")}
            found: dict[str, list[Trajectory]] = {label: [] for label in ways}
            spent = in_turn({
                label: partial(_noted, found[label], models[way], starts[way], torque, tolerance, method)
                for label, (way, method) in ways.items()
            }, RUNS)  # fmt: skip
            for label, all_ in found.items():
                cost, inside = all_[0].statistics, min(run.statistics.seconds for run in all_)
                times = (f"{1e3 * x:.3g}" for x in (median(spent[label]), min(spent[label]), inside))
                operations, end = all_[0].model.counts.total, f"{all_[0].t[-1]:.3g}"
                rows.append([name, f"{tolerance:.0e}", label, *times, cost.evaluations, operations, end])
            by_springs[name] = min(spent[runs.SPRINGS])
            more.append(found[runs.SPRINGS][0].statistics.evaluations / found["sslm"][0].statistics.evaluations)
    header = ["mechanism", "tolerance", "by", "run, median [ms]", "least [ms]", "least, in the loop [ms]",
              "evaluations", "operations of one", "up to [s]"]  # fmt: skip
    report.table("seconds", f"Two seconds of motion, rows every {ROWS:g} s; {RUNS} runs each, in turn", header, rows)
    report.compare(
        f"two seconds of the platform by springs, one processor, tolerance {TOLERANCES[-1]:.0e}", "section 3.2.3", ONE,
        by_springs[cases[1][0]], "s", 0.5, "Simulink in 2002 against a compiled program.", "about 6 s", digits=2,
    )  # fmt: skip
    report.say(
        f"Springs need {min(more):.0f} to {max(more):.0f} times as many evaluations as sslm, each of fewer operations: "
        "steps have to follow the oscillation of the springs, and implicit steps (radau) only pay if it is damped "
        "and far faster than everything else. The platform passes poses at which coordinates fail: sslm chooses "
        "others on the way, which takes most of its time, and denoc, whose coordinates are the lengths of the legs, "
        "ends. The time of denoc outside the loop is for tracing an expression that detects this, for every run."
    )


def _noted(found: list[Trajectory], model: Model, start: State, torque, tolerance: float, method: str) -> None:
    found.append(model.simulate(start, runs.DURATION, torque, tolerance, ROWS, method))


def side_by_side(report: Report) -> None:
    """Operations by subsystem, the speed-up they allow, and measured times of threads."""
    report.heading("Subsystems side by side")
    held, found, gains = (runs.four_bars()[runs.SPRINGS], runs.platforms()[runs.SPRINGS]), [], []
    for model in held:
        counted = model.parallel_speedup()
        parts = "; ".join(
            f"{', '.join(names)}: {n}" for names, n in zip(counted.bodies, counted.operations, strict=True)
        )
        found.append([counted.name, counted.whole, counted.longest, parts])
        gains.append([counted.name, *(f"{counted.speed_up(n):.2f}" for n in PROCESSORS)])
    report.table("subsystems", "Operations of one evaluation of forward dynamics",
                 ["mechanism", "whole", "longest chain", "by subsystem, with ends of neighbours"], found)  # fmt: skip
    report.table("speed_up", "Upper bound of the speed-up by processors: operations only, communication for free",
                 ["mechanism", *map(str, PROCESSORS)], gains)  # fmt: skip
    rows = []
    for model, start in zip(held, (runs.closed_start(held[0]), runs.platform_start(held[1])), strict=True):
        rows += [[model.mechanism.name, *row] for row in threads(model, start)]
    report.table("threads", f"One evaluation, and {MANY} in one call; the minimum of {REPEATS} in turn",
                 ["mechanism", "how", "one state [us]", f"each of {MANY} states [us]"], rows)  # fmt: skip
    times = {name: float(one) for mechanism, name, one, _ in rows if mechanism == held[1].mechanism.name}
    share = times["the whole"] / times["parts, by 3 threads"]
    report.compare(
        "how many times as fast three processors are as one", "section 3.2.3", FASTER, float(gains[1][3]), "", 0.5,
        "Ours is the upper bound by operations. Three processors do at most three times the work of one; the rest of "
        f"the paper's {ONE:g} and {THREE:g} s is, in its own words, time for function calls and idle communication. "
        f"With three threads one evaluation is {share:.2g} times as fast: handing over takes longer than computing.",
        "almost 15", digits=3,
    )  # fmt: skip
    report.say(
        "For one state threads are far slower: handing jobs to threads and back takes tens of microseconds, the whole "
        "evaluation a fraction of one. Processors that share a step have to synchronize after every evaluation, which "
        "is every few tenths of a microsecond in a compiled loop. With many states per call this does not matter, but "
        "parts repeat computations of their neighbours and together cost more than the whole; and many states can be "
        "distributed directly, with any formulation."
    )
    report.say(
        "The paper reports 6 s on one processor and 0.4 s on three, 'almost 15 times faster' (3.2.3). Three processors "
        "do at most three times the work of one in the same time: computing explains at most 3 of the 15, and "
        f"{gains[1][3]} by the operations above. The rest is what the paper itself names, 'the time spent for function "
        "calling and the idle time of the communication among submodels': an overhead of its program on one "
        "processor, not shared computation."
    )


def threads(model: Model, start: State) -> list[list]:
    """Microseconds of forward dynamics: in a compiled loop, called from Python, in parts, and in threads."""
    whole, parts = model.kernel("forward_dynamics"), model.parallel_speedup().kernels()
    one = [np.array(x, dtype=float) for x in (start.q, start.v, np.zeros(model.nv))]
    if model.p_names:
        one.append(model.p)
    many = [np.tile(x, (MANY, 1)) for x in one]
    measured = {}
    for given, repeat in ((one, AT_ONCE), (many, 1)):
        actions: dict[str, Callable[[], object]] = {
            "the whole": partial(_again, whole, given, repeat),
            "parts, one after the other": partial(_each, parts, given, repeat),
        }
        pools = {n: ThreadPoolExecutor(n) for n in WORKERS}
        for n, pool in pools.items():
            actions[f"parts, by {n} threads"] = partial(_dealt, pool, parts, given, repeat)
        actions["empty jobs, as many, by 3 threads"] = partial(_empty, pools[3], len(parts), repeat)
        seconds = least(actions)
        for pool in pools.values():
            pool.shutdown()
        states = repeat if given is one else MANY
        for name, x in seconds.items():
            measured.setdefault(name, []).append(f"{1e6 * x / states:.3g}")
    inside = [["the whole, in a compiled loop", f"{1e6 * clock.seconds(whole, *one):.3g}", None]]
    return inside + [[name, *numbers] for name, numbers in measured.items()]


def _again(kernel: Kernel, given: list[np.ndarray], repeat: int) -> None:
    for _ in range(repeat):
        kernel(*given)


def _each(kernels: list[Kernel], given: list[np.ndarray], repeat: int) -> None:
    for _ in range(repeat):
        for kernel in kernels:
            kernel(*given)


def _dealt(pool: ThreadPoolExecutor, kernels: list[Kernel], given: list[np.ndarray], repeat: int) -> None:
    for _ in range(repeat):
        for job in [pool.submit(kernel, *given) for kernel in kernels]:
            job.result()


def _empty(pool: ThreadPoolExecutor, jobs: int, repeat: int) -> None:
    for _ in range(repeat):
        for job in [pool.submit(int) for _ in range(jobs)]:
            job.result()
