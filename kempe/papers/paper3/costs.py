"""Costs of paper 3: time of forward dynamics compared with the paper's 25 ms, operations, and their growth."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kempe.compiler import clock
from kempe.compiler.count import Counts, count
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.partition import WAYS, Partition
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.swing import HANDS, RELEASES
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.papers.paper3 import figures, runs
from kempe.papers.paper3 import growth as growing
from kempe.papers.paper3.growth import DENSE, PARTS, Counted, counted, slope
from kempe.papers.report import Report
from kempe.results.trajectory import Trajectory

PRINTED, PENTIUM = 25e-3, 200e6  # s and Hz, section 4
STATES = 5  # of a run, for timing evaluations
ROWS, RUNGS = (2, 4, 8, 16), (1, 2, 4, 6)  # loops


def times(report: Report, run: Trajectory) -> None:
    """Times one evaluation by every formulation, at states of a run while both hands hold."""
    report.heading("Time of one evaluation")
    models, hertz, rows = runs.swings(), processor(), []
    holding = np.flatnonzero(run.t < min(RELEASES.values()))
    states = [run[int(k)] for k in np.linspace(holding[0], holding[-1], STATES).round()]
    for name, model in models.items():
        kernel, none = model.kernel("forward_dynamics"), np.zeros(model.nv)
        spent = float(np.median([clock.seconds(kernel, state.q, state.v, none) for state in states]))
        cycles = None if hertz is None else f"{spent * hertz:.0f}"
        rows.append([name, model.counts.total, f"{1e6 * spent:.2f}", cycles, f"{PRINTED / spent:.0f}"])
        if name in (runs.SHORTEST, "partition"):
            report.compare(
                f"one evaluation of forward dynamics, by {name}", "section 4", 1e3 * PRINTED, 1e3 * spent, "ms", 0.5,
                "Compiled code without loops, branches and products with zeros, on a current processor, against a "
                "Pentium Pro of 200 MHz. The paper does not say whether its 25 ms include drawing.", "about 25 ms",
                digits=2,
            )  # fmt: skip
    rows.append(["paper 3", None, f"{1e6 * PRINTED:.0f}", f"{PRINTED * PENTIUM:.0f}", None])
    header = ["by", "operations", "one evaluation [us]", "clock cycles", "times as fast as the paper"]
    told = "" if hertz is None else f"; cycles at {hertz / 1e9:.2f} GHz, as reported by the system, and at 200 MHz"
    report.table("times", f"Forward dynamics of the swing in compiled code, both hands on{told}", header, rows)
    report.say(
        "The paper: 'the sampling time for the forward dynamics is approximately 25msec', on a Pentium Pro of 200 MHz. "
        "The paper does not say whether this includes drawing. Programs here have no loops, no branches and no "
        "products with zeros, and current processors do several operations per cycle."
    )


def processor() -> float | None:
    """The clock rate of the processor [Hz], if the system reports it."""
    told = Path("/proc/cpuinfo")
    found = re.search(r"^cpu MHz\s*:\s*([\d.]+)", told.read_text(), re.MULTILINE) if told.exists() else None
    return float(found[1]) * 1e6 if found else None


def operations(report: Report) -> None:
    """Operations by formulation, by variant of `partition`, and for the structures after releases."""
    report.heading("Operations of one evaluation")
    model = runs.swings()["partition"]
    found = {f"partition, {way}": count(_program(model, way)) for way in WAYS}
    found |= {name: runs.swings()[name].counts for name in runs.FORMULATIONS if name != "partition"}
    rows = [[name, *_shown(counts)] for name, counts in found.items()]
    header = ["by", "multiplications", "additions", "divisions", "sines and cosines", "all"]
    report.table("operations", f"N = {len(model.mechanism.bodies)} bodies, n = {model.dof} freedoms, "
                 f"m = {model.nv - model.dof} equations of loops", header, rows)  # fmt: skip
    rows = []
    for on in ((True, True), (False, True), (False, False)):
        each = runs.swings()[runs.SHORTEST].switched(dict(zip(HANDS, on, strict=True)))
        names = ", ".join(each.topology.on) or "none"
        rows.append([names, each.dof, each.formulation, *_shown(each.counts)])
    report.table("structures", "As hands let go", ["hands on", "n", "by", *header[1:]], rows)
    report.say(
        "The paper's own variant is 'unit': inverse dynamics for every unit acceleration, where only terms that differ "
        "are computed again for the next unit vector. Recursive multipliers (sslm) never form the inertia "
        "matrix of 28 freedoms, which takes most operations of the other formulations."
    )


def _program(model: Model, way: str) -> Program:
    equations = model.chosen.by(Partition(model.choice, way=way))
    return trace(equations.casadi("forward_dynamics", equations.functions()["forward_dynamics"]))


def _shown(counts: Counts) -> list[int]:
    return [counts.multiplications, counts.additions, counts.divisions, counts.sincos, counts.total]


def growth(report: Report) -> None:
    """Checks the O(N n) claim."""
    report.heading("O(N n), counted as loops are added")
    families = {
        "a row of four-bars": [_counted(n_four_bar(k)) for k in ROWS],
        "a rope ladder": [_counted(growing.rope_ladder(k)) for k in RUNGS],
    }
    drawn: dict[str, tuple[list[int], Mapping[str, list[int]]]] = {}
    for title, found in families.items():
        parts = {name: [x.parts[name] for x in found] for name in PARTS} | {DENSE: [x.dense for x in found]}
        drawn[title] = [x.loops for x in found], parts
        rows: list[list] = [[x.loops, x.bodies, x.freedoms, x.equations, *x.parts.values(), x.dense] for x in found]
        sizes = [x.bodies for x in found]
        rows.append(["grows as N to the", None, None, None, *(f"{slope(sizes, x):.2f}" for x in parts.values())])
        _grown(report, title, found, {name: slope(sizes, x) for name, x in parts.items()})
        header = ["loops", "N", "n", "m", *parts]
        report.table(title.replace(" ", "_").replace("-", "_"), f"Operations by part: {title}", header, rows)
    data = {"family": np.repeat(list(drawn), [len(x) for x, _ in drawn.values()]),
            "loops": np.concatenate([x for x, _ in drawn.values()])}  # fmt: skip
    for name in (*PARTS, DENSE):
        data[name] = np.concatenate([parts[name] for _, parts in drawn.values()])
    report.figure("growth", "Operations of forward dynamics by part, as loops are added", figures.growth(drawn), data)
    own = counted(runs.swings()["partition"].chosen)
    rows = [[name, number] for name, number in own.parts.items()] + [[DENSE, own.dense]]
    report.table("parts", "The swing by part; in a single program the parts share terms", ["part", "operations"], rows)
    report.say(
        "'This algorithm requires O(Nn) computations', section 3.2, for any number of loops. This holds for n + 1 "
        "inverse dynamics of N links: linear in a row of four-bars, which has n = 1 for any length, and about N^2 "
        "in a rope ladder, where n = 2 N. It does not hold for the other parts, which the sentence omits. J_S "
        "is m by m, up to 6 for each loop, and solving with a full matrix takes m^3 / 3 multiplications: cubic in "
        "the loops. The products of (7) take n for every freedom of the tree and every unit vector, N n^2, and (24) "
        "takes n^3 / 6. Kempe skips zeros in J_S, in an order chosen for that: a row of four-bars is then "
        "linear in all parts, but a ladder's J_S grows no slower than N n, since ropes lead from every rung to all "
        "above it. On the swing, with two loops, J_S is the smallest part."
    )


def _grown(report: Report, title: str, found: list[Counted], powers: Mapping[str, float]) -> None:
    """Compares the exponent of N with which operations grow with that of N n."""
    last = found[-1]
    claimed = 1.0 if last.freedoms == found[0].freedoms else 2.0  # n stays, or grows as N
    inverse, rest = powers[PARTS[2]], max(powers[name] for name in PARTS)
    report.compare(f"{title}: inverse dynamics for all unit vectors grows as N to the", "section 3.2", claimed, inverse,
                   to=0.1, told="O(N n)", digits=3)  # fmt: skip
    report.compare(
        f"{title}: the fastest growing part, and J_S if it had no zeros, grow as N to the", "section 3.2", claimed,
        (rest, powers[DENSE]), "", 0.1, "The sentence omits all but inverse dynamics: J_S^-1 takes m^3 / 3 "
        "multiplications, W^T tau_O (7) for all unit vectors N n^2, and A^-1 (24) n^3 / 6.", "O(N n)", digits=3,
    )  # fmt: skip


def _counted(mechanism: Mechanism) -> Counted:
    return counted(mechanism.compile("partition").chosen)
