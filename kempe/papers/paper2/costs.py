"""Costs of paper 2: seconds of runs and of multipliers by both approaches (Tables 3, 4), and operations."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kempe.compiler.count import count
from kempe.model.model import Model
from kempe.papers.comparison import Span
from kempe.papers.paper2 import figures, multipliers, runs
from kempe.papers.paper2.multipliers import Problem
from kempe.papers.paper2.runs import Case
from kempe.papers.report import Report
from kempe.papers.timing import REPEATS, RUNS, in_turn, least
from kempe.results.outcome import Statistics

STATES = 25  # rows between states at which multipliers are timed and compared
OFTEN = 200  # repetitions of these states per call, so that neither program is timed with cold caches
TABLE_3 = {  # seconds, SLM and SSLM, with footnotes a, b and c
    "carpet-scraper": ((2.8, 2.72), (6.51, 6.41), (9.33, 9.25)),
    "3-rrr": ((3.07, 2.96), (10.25, 10.12), (12.91, 12.81)),
}
TABLE_4 = {"carpet-scraper": (0.3045, 0.2205), "3-rrr": (0.2055, 0.1575)}
SAVED, WHOLE, SHARE = Span(20, 30), Span(1, 3), Span(6, 8)  # %, section 5: saved of multipliers, of runs; their share
FOOTNOTES = "free, 15 s, 1e-3", "free, 5 s, 1e-8", "forced, 5 s, 1e-8"
KINDS = (runs.LONG, runs.COARSE, False), (runs.SHORT, runs.FINE, False), (runs.SHORT, runs.FINE, True)
MATLAB = "MATLAB on a Core 2 Duo of 2.2 GHz (Table 3) against compiled programs: only ratios can be compared."


def whole_runs(report: Report, cases: tuple[Case, ...]) -> dict[str, dict[str, tuple[float, int]]]:
    """Table 3; returns seconds and evaluations of the long free run by mechanism and approach."""
    report.heading("Table 3: seconds of whole simulations")
    rows, long, gained = [], {}, []
    for case in cases:
        for footnote, kind, paper in zip(FOOTNOTES, KINDS, TABLE_3[case.name], strict=True):
            ways = (*runs.PAIR, runs.OTHER)
            found: dict[str, list[Statistics]] = {way: [] for way in ways}
            in_turn({way: partial(_noted, found[way], case, way, kind) for way in ways}, RUNS)
            cost = {way: min(all_[1:], key=lambda x: x.seconds) for way, all_ in found.items()}
            seconds = {way: cost[way].seconds for way in ways}
            each = {way: 1e6 * seconds[way] / cost[way].evaluations for way in runs.PAIR}
            if footnote == FOOTNOTES[0]:
                long[case.name] = {way: (seconds[way], cost[way].evaluations) for way in runs.PAIR}
            gained.append(100 * (1 - seconds["sslm"] / seconds["slm"]))
            report.compare(f"{case.name}, {footnote}: seconds of a run, SLM and SSLM", "Table 3", paper,
                           tuple(seconds[way] for way in runs.PAIR), "s", 0.005, MATLAB, digits=2)  # fmt: skip
            rows.append([
                case.name, footnote, *(f"{1e3 * seconds[way]:.3g}" for way in ways),
                ", ".join(str(cost[way].evaluations) for way in ways), cost[runs.PAIR[0]].changes,
                f"{seconds['sslm'] / seconds['slm']:.2f}", f"{each['sslm'] / each['slm']:.2f}", *paper,
                f"{paper[1] / paper[0]:.3f}",
            ])  # fmt: skip
    header = ["mechanism", "run", "slm [ms]", "sslm [ms]", "partition [ms]", "evaluations of the three",
              "changes of coordinates", "sslm / slm", "the same an evaluation", "paper, SLM [s]", "paper, SSLM [s]",
              "paper, ratio"]  # fmt: skip
    report.table(
        "table3",
        f"Table 3. Ours: seconds of the integrator, the minimum of {RUNS} runs in turn, ode45's method",
        header,
        rows,
    )
    report.compare(
        "what SSLM saves of whole runs, the six of Table 3", "section 5", WHOLE, tuple(gained), "%", 0.5, "The same "
        "program except for its multipliers, and evaluations that differ by a few percent: the savings are about as "
        "large as the scatter of times. Where coordinates change, choosing them takes most of the time.", digits=2,
    )  # fmt: skip
    report.say(
        "Only ratios can be compared: the paper's MATLAB of 2014 and compiled programs differ by three orders of "
        "magnitude. The number of evaluations differs slightly, since sslm continues states "
        "that are not exactly closed, within a step, differently (see above). If a free run "
        "has to change its coordinates, choosing new ones takes most of its time, with any formulation."
    )
    saved = [1 - b / a for pairs in TABLE_3.values() for a, b in pairs]
    share = [part / pair[0][k] for name, pair in TABLE_3.items() for k, part in enumerate(TABLE_4[name])]
    first = {name: (pairs[0][0] - pairs[0][1], TABLE_4[name][0] - TABLE_4[name][1]) for name, pairs in TABLE_3.items()}
    (_, _), (total, part) = first.values()
    report.say(
        f"The paper's own tables: whole runs are shorter by {100 * min(saved):.1f} to {100 * max(saved):.1f} % (its "
        f"text: 1 to 3 %), multipliers take {100 * min(share):.1f} to {100 * max(share):.1f} % of a run (its text: 6 "
        f"to 8 %). The 3-RRR gains {total:.2f} s in total, but only {part:.3f} s by its multipliers, which "
        "do not explain the rest."
    )
    return long


def _noted(found: list[Statistics], case: Case, way: str, kind: tuple[float, float, bool]) -> None:
    found.append(case.again(way, *kind).statistics)


def _states(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and efforts (n, nv) along the free and the forced run."""
    free, forced = (run[::STATES] for run in (case.free("slm"), case.forced("slm")))
    tau = np.zeros((len(free.t) + len(forced.t), case.model.nv))
    tau[len(free.t) :, case.model.driven] = forced.u
    return np.concatenate([free.q, forced.q]), np.concatenate([free.v, forced.v]), tau


def _every(way: Callable[[Problem], np.ndarray], posed: list[Problem]) -> list[np.ndarray]:
    return [way(p) for p in posed]


def multipliers_alone(
    report: Report, cases: tuple[Case, ...], spent: Mapping[str, Mapping[str, tuple[float, int]]]
) -> None:
    """Table 4, and operations; spent: the result of `whole_runs`."""
    report.heading("Table 4: multipliers alone")
    rows, counted, drawn = [], [], {}
    saved, share = [], []
    for case in cases:
        q, v, tau = _states(case)
        posed = multipliers.problems(case.model, q, v, tau)
        often = [np.tile(x, (OFTEN, 1)) for x in (q, v, tau)]
        seconds = least({way: partial(case.models[way].kernel("row_multipliers"), *often) for way in runs.PAIR})
        seconds = {way: x / OFTEN for way, x in seconds.items()}
        ways = {"NumPy (12)": multipliers.by_system, "NumPy (13-25)": multipliers.by_subsystems}
        seconds |= least({name: partial(_every, way, posed) for name, way in ways.items()})
        each = {name: 1e6 * x / len(posed) for name, x in seconds.items()}
        paper = TABLE_4[case.name]
        in_all = [1e-6 * each[way] * spent[case.name][way][1] for way in runs.PAIR]
        report.compare(f"{case.name}, {FOOTNOTES[0]}: seconds for multipliers, SLM and SSLM", "Table 4", paper,
                       tuple(in_all), "s", 5e-5, MATLAB, digits=2)  # fmt: skip
        saved.append(100 * (1 - each["sslm"] / each["slm"]))
        share += [100 * x / spent[case.name][way][0] for way, x in zip(runs.PAIR, in_all, strict=True)]
        rows.append([
            case.name, *(f"{x:.3g}" for x in each.values()), f"{each['sslm'] / each['slm']:.2f}",
            f"{each['NumPy (13-25)'] / each['NumPy (12)']:.2f}", *paper, f"{paper[1] / paper[0]:.2f}",
        ])  # fmt: skip
        drawn[case.name] = operations(case.models, posed[len(posed) // 3])
        counted += [[case.name, name, *pair, f"{pair[1] / pair[0]:.2f}"] for name, pair in drawn[case.name].items()]
    dense = "; ".join(f"{100 * (1 - b / a):.0f} % of the {name}'s" for name, found in drawn.items()
                      for a, b in [found["dense, given"]])  # fmt: skip
    report.compare(
        "what SSLM saves of multipliers, scraper and 3-RRR", "section 5, Table 4", SAVED, tuple(saved), "%", 0.5,
        f"With full matrices, as printed, subsystems save {dense} operations. When traced, zeros cost nothing in "
        f"either form, and the remaining savings come from the recursion.", digits=2,
    )  # fmt: skip
    report.compare(
        "what multipliers take of a run, SLM and SSLM of both", "section 5", SHARE, tuple(share), "%", 0.5, "In MATLAB "
        "a run is mostly function calls. Here the rest is the choice of coordinates, the same for both, "
        "and the integrator.", digits=2,
    )  # fmt: skip
    header = ["mechanism", "slm, compiled [us]", "sslm, compiled [us]", "(12), NumPy [us]", "(13-25), NumPy [us]",
              "sslm / slm", "the same, NumPy", "paper, SLM [s a run]", "paper, SSLM [s a run]",
              "paper, ratio"]  # fmt: skip
    report.table("table4", f"Table 4. Ours: microseconds per evaluation, the minimum of {REPEATS}", header, rows)
    report.say(
        "Compiled: from q, v and efforts, many states in one call. NumPy: from given I, J, phi and gamma, with a "
        "call of np.linalg for every solve; on matrices of one to seven rows such a call is mostly overhead, "
        "and subsystems need more calls. So the paper's 20 to 30 % do not follow from the formulas alone."
    )
    report.table("operations", "Operations of one evaluation of the multipliers",
                 ["mechanism", "what is counted", "SLM", "SSLM", "SSLM / SLM"], counted)  # fmt: skip
    data = {
        "mechanism": np.array([row[0] for row in counted]), "counted": np.array([row[1] for row in counted]),
        "SLM [operations]": np.array([row[2] for row in counted]),
        "SSLM [operations]": np.array([row[3] for row in counted]),
    }  # fmt: skip
    report.figure("counted", "Operations of the multipliers, by system and by subsystems",
                  figures.operations(drawn), data)  # fmt: skip
    report.say(
        "Dense as printed: (12) with full n x n and m x m matrices, (19-25) and (34-36) or (45, 46) with full blocks, "
        "without zero blocks, I, J, phi and gamma given. Elimination of n rows with k right-hand sides takes a "
        "division for every factor, a multiplication and a subtraction for every changed entry, and n^2 k for back "
        "substitution; a product of a x b and b x c takes abc multiplications and a (b - 1) c additions. Traced, "
        "given: the same formulas with each entry a symbol or an exact zero, symmetric matrices factored as U D U^T; "
        "zeros are never formed. Traced, whole: from q, v and efforts, as compiled."
    )
    report.say(
        "Once a program is traced, subsystem structure saves almost nothing of what it saves on paper. With full "
        "matrices subsystems save most of the work; when traced, (12) for the whole system is as short as by blocks, "
        "because the zeros of I and J that the subsystems exploit drop out anyway. The remaining difference between "
        "slm and sslm as compiled is the recursion: sslm forms neither I nor J, which saves most in deep "
        "chains (the excavator, below)."
    )


def operations(models: Mapping[str, Model], p: Problem) -> dict[str, tuple[int, int]]:
    """Operations of the system and of subsystems: dense as printed, traced with given matrices, and from the state."""
    ways = multipliers.by_system, multipliers.by_subsystems
    first, second = (count(models[way].program("row_multipliers")).total for way in runs.PAIR)
    return {
        "dense, given": (multipliers.dense(p, ways[0]), multipliers.dense(p, ways[1])),
        "traced, given": (multipliers.traced(p, ways[0]), multipliers.traced(p, ways[1])),
        "traced, whole": (first, second),
    }


def eliminations(report: Report, cases: tuple[Case, ...]) -> None:
    """Appendix A.3 to A.5: all methods for the multipliers, at states along the runs."""
    report.heading("Appendix A.3 to A.5: the same multipliers by block elimination")
    rows = []
    for case in cases:
        q, v, tau = _states(case)
        posed, kept = multipliers.problems(case.model, q, v, tau), multipliers.kept(case.model)
        whole = np.array([multipliers.whole(p) for p in posed])
        found = {
            "(12), (48): A.3": np.array([multipliers.by_system(p) for p in posed]),
            "(34-36), (45, 46): A.4": np.array([multipliers.by_subsystems(p) for p in posed]),
            "(53-56): A.5": np.array([multipliers.by_blocks(p) for p in posed]),
        }
        found |= {
            f"{way}, compiled": case.models[way].kernel("row_multipliers")(q, v, tau)[:, kept] for way in runs.PAIR
        }
        size = np.abs(whole).max()
        rows += [[case.name, len(posed), way, f"{np.abs(x - whole).max() / size:.0e}"] for way, x in found.items()]
    header = ["mechanism", "states", "multipliers by", "largest difference from (10) solved as one, relative"]
    report.table("eliminations", "Ways to the multipliers, at states along the free and the forced run", header, rows)
    report.say(
        "All agree to rounding. (55) has to be read with I_1^21, as in (54), where I_1^12 is printed "
        f"before the inverse: as printed, lambda_2 of the 3-RRR is off by up to {printed_55(cases[1]):.0e} of "
        "the largest multiplier."
    )


def printed_55(case: Case) -> float:
    """The error of the second loop's multipliers by (55) as printed, with I_1^12 in front, relative to the largest."""
    off, size = [], []
    for p in multipliers.problems(case.model, *_states(case)):
        one, two = p.loops
        inverse = np.linalg.inv(p.inertia)
        gicm, psi = p.rows @ inverse @ p.rows.T, p.gamma - p.rows @ inverse @ p.phi
        i11, i21, i22 = gicm[one, one], gicm[two, one], gicm[two, two]
        reduced = psi[two] - i21 @ np.linalg.solve(i11, psi[one])
        right = multipliers.whole(p)
        wrong = np.linalg.solve(i22 - i21.T @ np.linalg.solve(i11, i21.T), reduced)
        off.append(np.abs(wrong - right[two]).max())
        size.append(np.abs(right).max())
    return float(max(off) / max(size))
