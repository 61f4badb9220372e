"""What forward dynamics of paper 3's swing costs: time beside the paper's 25 ms, operations, and how they grow."""

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
STATES = 5  # of a run, at which evaluations are timed
ROWS, RUNGS = (2, 4, 8, 16), (1, 2, 4, 6)  # loops


def times(report: Report, run: Trajectory) -> None:
    """One evaluation by every formulation, at states of a run while both hands hold."""
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
                "Compiled code without loops, branches and zeros to multiply by, on a processor of today, against a "
                "Pentium Pro of 200 MHz. Whether drawing is part of the paper's 25 ms is not said.", "about 25 ms",
                digits=2,
            )  # fmt: skip
    rows.append(["paper 3", None, f"{1e6 * PRINTED:.0f}", f"{PRINTED * PENTIUM:.0f}", None])
    header = ["by", "operations", "one evaluation [us]", "clock cycles", "as fast as the paper's, times"]
    told = "" if hertz is None else f"; cycles at {hertz / 1e9:.2f} GHz, as the system has it, and at 200 MHz"
    report.table("times", f"Forward dynamics of the swing in compiled code, both hands on{told}", header, rows)
    report.say(
        "The paper: 'the sampling time for the forward dynamics is approximately 25msec', on a Pentium Pro of 200 MHz. "
        "Whether drawing is part of that is not said. Programs here have no loops, no branches and no zeros to "
        "multiply by, and a processor of today does several operations in a cycle."
    )


def processor() -> float | None:
    """Its clock [Hz], where the system tells."""
    told = Path("/proc/cpuinfo")
    found = re.search(r"^cpu MHz\s*:\s*([\d.]+)", told.read_text(), re.MULTILINE) if told.exists() else None
    return float(found[1]) * 1e6 if found else None


def operations(report: Report) -> None:
    """By formulation, by the ways of `partition`, and for the structures that releases leave."""
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
        "The paper's own way is 'unit': inverse dynamics for every unit acceleration. What one unit vector takes is "
        "computed anew for the next, as far as it differs. Multipliers by recursion (sslm) never form the inertia "
        "matrix of 28 freedoms, which takes most of the others' operations."
    )


def _program(model: Model, way: str) -> Program:
    equations = model.chosen.by(Partition(model.choice, way=way))
    return trace(equations.casadi("forward_dynamics", equations.functions()["forward_dynamics"]))


def _shown(counts: Counts) -> list[int]:
    return [counts.multiplications, counts.additions, counts.divisions, counts.sincos, counts.total]


def growth(report: Report) -> None:
    """The O(N n) claim."""
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
    report.table("parts", "The swing by part; in one program they share terms", ["part", "operations"], rows)
    report.say(
        "'This algorithm requires O(Nn) computations', section 3.2, for any number of loops. So it is for n + 1 times "
        "inverse dynamics of N links: linear in a row of four-bars, which has n = 1 however long it is, and about N^2 "
        "in a rope ladder, where n = 2 N. It is not for the rest of the algorithm, which the sentence leaves out. J_S "
        "is m by m, up to 6 for each loop, and solving with it as it stands takes m^3 / 3 multiplications: cubic in "
        "the loops. The products of (7) take n for every freedom of the tree and every unit vector, N n^2, and (24) "
        "takes n^3 / 6. Kempe leaves out what is zero in J_S, in an order chosen for that: a row of four-bars is then "
        "linear in all parts, while a ladder's J_S grows no slower than N n, since ropes lead from every rung to all "
        "above it. On the swing, with two loops, J_S is the least of it."
    )


def _grown(report: Report, title: str, found: list[Counted], powers: Mapping[str, float]) -> None:
    """The power of N that operations grow with, beside that of N n."""
    last = found[-1]
    claimed = 1.0 if last.freedoms == found[0].freedoms else 2.0  # n stays, or grows as N
    inverse, rest = powers[PARTS[2]], max(powers[name] for name in PARTS)
    report.compare(f"{title}: inverse dynamics for all unit vectors grows as N to the", "section 3.2", claimed, inverse,
                   to=0.1, told="O(N n)", digits=3)  # fmt: skip
    report.compare(
        f"{title}: what grows fastest of the algorithm, and J_S had it no zeros, as N to the", "section 3.2", claimed,
        (rest, powers[DENSE]), "", 0.1, "The sentence leaves out what is not inverse dynamics: J_S^-1 takes m^3 / 3 "
        "multiplications, W^T tau_O (7) for all unit vectors N n^2, and A^-1 (24) n^3 / 6.", "O(N n)", digits=3,
    )  # fmt: skip


def _counted(mechanism: Mechanism) -> Counted:
    return counted(mechanism.compile("partition").chosen)
