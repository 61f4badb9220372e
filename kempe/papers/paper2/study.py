"""Paper 2 reproduced: M. Koul, S. V. Shah, S. K. Saha and M. Manivannan (2014), Figures 7, 8 and Tables 1-4."""

from collections.abc import Callable

import numpy as np

from kempe.gallery.excavator import excavator
from kempe.papers.paper2 import costs, figures, multipliers, runs
from kempe.papers.paper2 import pattern as patterns
from kempe.papers.paper2.runs import Case
from kempe.papers.report import Report
from kempe.results.trajectory import Trajectory

TITLE = "Paper 2: the carpet scraper and the 3-RRR of Koul, Shah, Saha and Manivannan (2014)"
TOLERANCES = (1e-8, 1e-10, 1e-12)
TABLE_1 = {  # length [m], mass [kg]
    "carpet-scraper": {
        "link1": (0.038, 1.5), "link2": (0.1152, 3.0), "link3": (0.2304, 5.0), "link4": (0.3346, 4.2),
        "link5": (0.239, 3.0), "link6": (0.8365, 10.5), "link7": (0.239, 3.0),
    },
    "3-rrr": {
        "upper1": (0.4, 3.0), "upper2": (0.4, 3.0), "upper3": (0.4, 3.0), "lower1": (0.6, 4.0), "lower2": (0.6, 4.0),
        "lower3": (0.6, 4.0), "platform": (0.4, 8.0),
    },
}  # fmt: skip


STRUCTURE = {  # freedom; loops, and their equations; freedoms of subsystems (27, 38)
    "carpet-scraper": (1, 3, 6, (1, 2, 4)),
    "3-rrr": (3, 2, 4, (5, 1, 1)),
}
EXCAVATOR = (11, 15, 4, 3)  # moving bodies, joints, loops, freedom: section 1, Fig. 1


def study(report: Report, say: Callable[[str], None]) -> None:
    """Runs the study and fills the report; `say` reports progress."""
    report.say(
        "M. Koul, S. V. Shah, S. K. Saha and M. Manivannan, Reduced-order forward dynamics of multiclosed-loop "
        "systems, Multibody System Dynamics (2014): Lagrange multipliers of the whole system (SLM, formulation 'slm') "
        "against those found subsystem by subsystem (SSLM, 'sslm'). The text has no figures: its statements are quoted "
        "with ours. Joints are cut where the paper cuts them; 'partition', without multipliers, is the "
        "reference."
    )
    say("the carpet scraper and the 3-RRR")
    cases = runs.scraper(), runs.platform()
    _parameters(report, cases)
    for number, case in zip((7, 8), cases, strict=True):
        say(f"Figure {number}")
        _figure(report, case, number)
    say("what agrees")
    _agreement(report, cases)
    say("when forced runs leave")
    _leaving(report, cases)
    say("seconds of runs")
    spent = costs.whole_runs(report, cases)
    say("multipliers alone")
    costs.multipliers_alone(report, cases, spent)
    costs.eliminations(report, cases)
    say("the excavator")
    _excavator(report)


# ---- Tables 1 and 2 --------------------------------------------------------------------------------------


def differing(case: Case) -> list[str]:
    """Parameters of the mechanism that differ from Table 1."""
    have, wrong = case.model.mechanism.parameters, []
    for link, sizes in TABLE_1[case.name].items():
        for kind, size in zip(("length", "mass"), sizes, strict=True):
            path = f"{link}.{kind}"
            if have.get(path, size) != size:
                wrong.append(path)
    return wrong


def _parameters(report: Report, cases: tuple[Case, ...]) -> None:
    report.heading("Tables 1 and 2: parameters and starts")
    rows = [[case.name, link, *sizes] for case in cases for link, sizes in TABLE_1[case.name].items()]
    report.table("table1", "Table 1. Lengths and masses; of the platform, the side of its triangle",
                 ["mechanism", "link", "length [m]", "mass [kg]"], rows)  # fmt: skip
    report.say(
        f"The gallery has these numbers ({sum(map(len, map(differing, cases)))} differ). The text omits: "
        "inertias (slender rods and a uniform plate are taken); of the scraper a39, a46, a56 and a67, which follow "
        "from the lengths if links 4 to 7 are a pantograph, the pivot of link 2 (0.0895 m from the crank's, as in "
        "ReDySim's Hoeken linkage) and that of link 4 (0.14 m, ours); of the 3-RRR its base (a triangle of 1 m, "
        "ReDySim's). ReDySim gives the platform 0.16 kg m^2; a uniform plate has 0.1067."
    )
    report.compare("numbers of Table 1 that the mechanisms do not have", "Table 1", 0,
                   sum(map(len, map(differing, cases))))  # fmt: skip
    for case, where in zip(cases, ("4.1, (26, 27)", "4.2, (37, 38)"), strict=True):
        freedom, loops, rows, sizes = STRUCTURE[case.name]
        model, subsystems = case.model, tuple(map(len, multipliers.columns_of(case.model)))
        report.compare(f"{case.name}: freedom, loops, multipliers, freedoms of subsystems", where,
                       (freedom, loops, rows, *sizes),
                       (model.dof, len(model.topology.loops), len(multipliers.kept(model)), *subsystems))  # fmt: skip
    names = {"carpet-scraper": {"theta_1": "crank"}, "3-rrr": {"theta_1": "A1", "theta_6": "A2", "theta_7": "A3"}}
    rows = [[case.name, name, float(case.start[joint]), float(case.start.rate(joint))]
            for case in cases for name, joint in names[case.name].items()]  # fmt: skip
    report.table(
        "table2", "Table 2. Initial states of runs", ["mechanism", "angle", "position [rad]", "rate [rad/s]"], rows
    )
    for case in cases:
        found = tuple(float(case.start[joint]) for joint in names[case.name].values())
        printed = (0.0,) if case.name == "carpet-scraper" else tuple(runs.MOTORS.values())
        report.compare(
            f"{case.name}: {', '.join(names[case.name])} at the start", "Table 2", printed, found, "rad", 5e-5,
            digits=5,
        )  # fmt: skip
    report.compare("carpet-scraper: rate of theta_1 at the start", "Table 2", runs.SPEED,
                   float(cases[0].start.rate("crank")), "rad/s", 5e-5, digits=5)  # fmt: skip
    ours = cases[1].start
    passive = ", ".join(f"{name} {ours[name]:.4f} ({x:.4f})" for name, x in runs.LEGS.items())
    report.say(
        "Loops are closed from there. ReDySim starts the 3-RRR with theta_1 = 1.0467, which with its other angles "
        "leaves a gap of 9 mm; with 1.04, as printed, and loops closed exactly, the passive angles are (in brackets "
        f"ReDySim's) {passive} rad."
    )


# ---- Figures 7 and 8 -------------------------------------------------------------------------------------


def _figure(report: Report, case: Case, number: int) -> None:
    report.heading(f"Figure {number}: {case.name}, free and forced")
    free, forced = case.free("sslm"), {way: case.forced(way) for way in runs.PAIR}
    t, run = free.t, forced["sslm"]
    shown = {name: (free[joint], run[joint]) for name, joint in case.shown.items()}
    wanted = dict(zip(case.motion.names, case.motion.at(t)[0].T, strict=True))
    errors = {way: np.abs(case.errors(x)).max(axis=1) for way, x in forced.items()}
    drawn = {name: pair[1] for name, pair in shown.items() if case.shown[name] in wanted}
    figure = figures.runs(t, {name: pair[0] for name, pair in shown.items()}, drawn, wanted, errors)
    data = {"t [s]": t}
    data |= {f"{name}, free [rad]": pair[0] for name, pair in shown.items()}
    data |= {f"{name}, forced [rad]": pair[1] for name, pair in shown.items()}
    data |= {f"desired {name} [rad]": x for name, x in wanted.items()}
    data |= {f"deviation by {way} [rad]": x for way, x in errors.items()}
    report.figure(f"figure{number}", f"Figure {number}. Simulation by sslm at tolerance 1e-8", figure, data)
    report.animation(f"fall{number}", f"Figure {number}(a), free: the {case.name} from Table 2", free.animate)
    need = case.need
    motion = {
        "carpet-scraper": f"the crank keeps its {runs.SPEED} rad/s",
        "3-rrr": f"all three motors turn by {runs.SWING} rad, cycloidally",
    }[case.name]
    largest = ", ".join(f"{x:.2f}" for x in np.abs(need.u).max(axis=0))
    table = {"t [s]": need.t[::10]} | {f"{name} [N m]": need.torque(name)[::10] for name in case.motion.names}
    report.table(f"torques{number}", f"Largest torques of inverse dynamics: {largest} N m; a selection of rows",
                 list(table), list(zip(*(x.tolist()[::50] for x in table.values()), strict=True)))  # fmt: skip
    report.say(
        f"Free: the mechanism falls from Table 2 without torques. Forced: {motion} for 5 s, by torques of inverse "
        f"dynamics given every {runs.SPACING:g} s, with cubic interpolation. The paper does not say for which motion "
        f"its torques were. Ours deviate by {errors['slm'][-1]:.1e} (slm) and {errors['sslm'][-1]:.1e} rad (sslm) at 5 "
        "s."
    )


def _agreement(report: Report, cases: tuple[Case, ...]) -> None:
    report.heading("Agreement of formulations")
    rows = []
    for case in cases:
        for kind, run in (("free", case.free), ("forced", case.forced)):
            found = {way: run(way) for way in case.models}
            apart = {way: np.abs(found[way].q - found["slm"].q).max(axis=1) for way in found}
            for way, each in found.items():
                early = apart[way][each.t <= 1.0].max()
                rows.append([case.name, kind, way, f"{early:.0e}", f"{apart[way].max():.0e}", kept(each, kind),
                             f"{each.closure.max():.0e}", each.statistics.evaluations])  # fmt: skip
    header = ["mechanism", "run", "by", "from slm, up to 1 s [rad]", "up to 5 s [rad]", "energy or power, relative",
              "closure", "evaluations"]  # fmt: skip
    report.table(
        "agreement", "Runs of 5 s at tolerance 1e-8: largest differences of joint angles from slm", header, rows
    )
    rows = [[case.name, *(f"{x:.0e}" for x in accelerations(case))] for case in cases]
    report.table("accelerations", "Accelerations by the three: largest differences from slm, relative",
                 ["mechanism", "partition", "sslm", "sslm, loops open by 1e-4"], rows)  # fmt: skip
    report.say(
        "At closed states accelerations agree to rounding. At states that are not exactly closed, as between "
        "the stages of a step, sslm continues them differently from slm and partition, so step sizes "
        "and errors differ, within the tolerance. From there differences grow like errors. Energy is the drift "
        "of a free run relative to its largest kinetic energy; for a forced run it is the imbalance of power relative "
        "to the largest power."
    )


def accelerations(case: Case) -> tuple[float, float, float]:
    """Relative differences from slm: partition and sslm along the free run, and sslm with loops open by 1e-4."""
    run = case.free("slm")[::10]
    tau = np.zeros_like(run.v)
    off = run.q + 1e-4 * np.random.default_rng(0).normal(size=run.q.shape)

    def by(way: str, q: np.ndarray) -> np.ndarray:
        return case.models[way].call("forward_dynamics", q, run.v, tau)[0]

    closed, size = by("slm", run.q), np.abs(by("slm", run.q)).max()
    pairs = (by(runs.OTHER, run.q), closed), (by("sslm", run.q), closed), (by("sslm", off), by("slm", off))
    first, second, third = (float(np.abs(a - b).max() / size) for a, b in pairs)
    return first, second, third


def kept(run: Trajectory, kind: str) -> str:
    """The relative drift of energy, or imbalance of power."""
    if kind == "free":
        return f"{np.ptp(run.energy) / run.energy.kinetic.max():.0e}"
    return f"{np.abs(run.power.imbalance).max() / np.abs((run.u * run.v[:, run.model.driven]).sum(axis=1)).max():.0e}"


def _leaving(report: Report, cases: tuple[Case, ...]) -> None:
    report.heading("How far forced runs stay with their motion")
    rows = []
    for case in cases:
        rates = case.growth(np.linspace(0.0, runs.SHORT, 51))
        for tolerance in TOLERANCES:
            ends = [np.abs(case.errors(case.forced(way, tolerance))).max(axis=1)[[100, 300, -1]] for way in runs.PAIR]
            shown = [f"{a:.0e}, {b:.0e}" for a, b in zip(*ends, strict=True)]
            rows.append([case.name, f"{tolerance:.0e}", *shown, f"{rates[0]:.2f}, {rates.mean():.2f}"])
    header = ["mechanism", "tolerance", "at 1 s, slm, sslm [rad]", "at 3 s", "at 5 s", "growth at 0, mean [1/s]"]
    report.table("leaving", "Largest deviation of a motor, and the largest real part of the eigenvalues about the "
    "motion", header, rows)  # fmt: skip
    report.say(
        "The paper judges its forced runs by a deviation that is 'very less' over 5 s. Torques given in advance do not "
        "stabilize: both motions have a growing mode, so any early error grows by "
        "several orders of magnitude within 5 s, equally with both approaches. A small deviation at the end indicates "
        "a small tolerance, not a better approach."
    )


# ---- (14) ------------------------------------------------------------------------------------------------


def _excavator(report: Report) -> None:
    report.heading("The excavator's pattern (14)")
    model = patterns.figure_1().compile(cut=patterns.CUTS)
    numbers = patterns.numbers(model)
    found = multipliers.pattern(model, patterns.moved(model))[np.argsort(numbers)]
    header = ["", *(f"subsystem {name}" for name in ("I", "II", "III"))]
    report.table("pattern", "(14): blocks of J of the excavator of Figure 1, by numbers", header,
                 patterns.written(found, (1, 2, 3, 4)))  # fmt: skip
    topology, moving = model.topology, len(model.mechanism.bodies)
    report.compare("excavator: moving bodies, joints, loops, freedom", "section 1, Fig. 1", EXCAVATOR,
                   (moving, len(model.mechanism.joints), len(topology.loops), model.dof))  # fmt: skip
    report.compare("excavator: blocks of J that are not where (14) has them", "(14)", 0,
                   int((found != patterns.PRINTED).sum()))  # fmt: skip
    groups = "; ".join(", ".join(part.bodies) for part in model.topology.subsystems)
    same = "It is" if (found == patterns.PRINTED).all() else "It is not"
    report.say(
        f"{same} the printed pattern. The excavator is built joint by joint from the text (15 joints, 11 links, "
        f"freedom {model.dof}), cut at joints 15, 14, 5 and 11: subsystems {groups}. Sizes are ours. With joint 15 "
        "cut, loop 3 of the tree goes through joints 1 and 6 and the ground instead of joint 15: the rows of loop 1 "
        "are added to the paper's, and the blocks stay the same. An entry (i, j) of the matrix of (24) is nonzero if "
        "rows i and j of (14) share a column."
    )
    own = excavator()
    by = {way: own.compile(way) for way in runs.PAIR}
    states = patterns.moved(by["slm"])
    blocks = multipliers.pattern(by["slm"], states)
    model = by["slm"]
    rows = [[loop.joint.name, *("J" if there else "O" for there in row)]
            for loop, row in zip(model.topology.loops, blocks, strict=True)]  # fmt: skip
    report.table("gallery_excavator", "The gallery's excavator, whose boom is hinged to the ground: blocks of J",
                 ["loop closed by", *(f"of {part.bodies[0]}" for part in model.topology.subsystems)], rows)  # fmt: skip
    still = np.zeros((len(states), model.nv))
    p = multipliers.problems(model, states, still, still)[0]
    counted = costs.operations(by, p)
    report.table("excavator_operations", "Operations of its multipliers", ["what is counted", "SLM", "SSLM"],
                 [[name, *pair] for name, pair in counted.items()])  # fmt: skip
    report.say(
        "Here all cylinders but one belong to the boom's subsystem, which is deep: blocks save little on paper, but "
        "the recursion makes sslm the shorter program."
    )
