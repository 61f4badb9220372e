"""Paper 5 reproduced: J. Wang, C. M. Gosselin and L. Cheng (2002), Figures 6-8 and 10-14, and costs."""

from collections.abc import Callable

import numpy as np

from kempe.gallery.parallel import GOUGH_START, LEGS
from kempe.papers.paper5 import bending, costs, figures, runs
from kempe.papers.paper5 import closed as closed_form
from kempe.papers.paper5.figures import columns, named
from kempe.papers.report import Report
from kempe.results.trajectory import Trajectory

TITLE = "Paper 5: the virtual springs of Wang, Gosselin and Cheng (2002)"
FIGURE_6 = 0.1, 1e6, 10**-5.5  # s, N/m, m: "the value of e is around 10^-5.5"
SEEN = 2e-5  # s, between rows of runs whose springs oscillate at up to 1 kHz
BESIDE = 1e-9  # m: the initial perturbation of another run, to measure its growth
EARLY = 1.5  # s: runs of the platform are compared up to this time
CLOSED = 1e-4, 1e-3  # m and m/s, section 3.2.3: "the errors are around"
COORDINATES = 3, 24, 5  # of the four-bar, the platform (24) and the flexible four-bar, sections 2.1, 2.2 and 3.2.1
SUBMODELS, PROCESSORS = 7, 8  # section 3.2.3, and after (43)
PARTS = (0.0, 0.5), (0.5, 1.0), (1.0, 1.5), (1.5, 2.0)  # s


def study(report: Report, say: Callable[[str], None]) -> None:
    """Runs the study and fills the report; `say` reports progress."""
    report.say(
        "J. Wang, C. M. Gosselin and L. Cheng, Modeling and simulation of robotic systems with closed kinematic "
        "chains using the virtual spring approach, Multibody System Dynamics (2002): cuts are closed by springs and "
        "dampers instead of equations (formulation 'springs'). The text has no figures: its statements are quoted "
        "with ours."
    )
    say("Figure 6")
    hardest = _figure_6(report)
    say("Figures 7 and 8")
    _figures_7_and_8(report, hardest)
    say("Figures 10 to 13")
    bending.figures_10_to_13(report)
    say("Figure 14")
    _figure_14(report)
    say("seconds of runs")
    costs.whole_runs(report)
    say("subsystems side by side")
    costs.side_by_side(report)


# ---- section 3.1 -----------------------------------------------------------------------------------------


def _figure_6(report: Report) -> float:
    """Figure 6; returns the time of the largest joint force [s]."""
    report.heading("Figure 6: the gap over the stiffness")
    model, closed = (runs.four_bars()[way] for way in (runs.SPRINGS, "augmented"))
    start, (moment, stiffness, printed) = runs.closed_start(model), FIGURE_6
    at = runs.gaps(model, start, np.logspace(3, 7, 801), moment, SEEN)
    over = runs.gaps(model, start, np.logspace(3, 7, 17), runs.DURATION, SEEN)
    exact = runs.four_bar_run(closed)
    force = np.linalg.norm(exact.reactions["B"][:, 3:5], axis=1)
    early = float(force[exact.t <= moment].max())
    drawn = figures.stiffness(at, over, 2.0 * np.array([early, force.max()]), (stiffness, printed))
    data = {"k [N/m]": at.k, "e(0.1 s) [m]": at.end, "largest up to 0.1 s [m]": at.largest, "rms [m]": at.rms}
    report.figure("figure6", "Figure 6. The gap at B over the stiffness of its spring, undamped", drawn, data)
    rows = [[f"{k:.3g}", f"{most:.3g}", f"{mean:.3g}", f"{most * k / force.max():.3f}"]
            for k, most, mean in zip(over.k, over.largest, over.rms, strict=True)]  # fmt: skip
    report.table("gaps", "Over 2 s", ["k [N/m]", "largest gap [m]", "rms [m]", "gap k / force"], rows[::2])
    there = int(np.abs(np.log(at.k / stiffness)).argmin())
    near = np.abs(np.log10(at.k / stiffness)) <= 0.25
    now, most, mean, lowest, highest = (
        f"10^{np.log10(x):.2f}"
        for x in (at.end[there], at.largest[there], at.rms[there], at.end[near].min(), at.end[near].max())
    )
    report.say(
        f"At k = 1e6 and {moment:g} s the gap is {now} m, its largest value so far {most}, its root mean square "
        f"{mean}; the paper reads 10^-5.5 off its figure. Undamped, the gap oscillates between 0 and 2 |lambda| / k, "
        f"with lambda the force of the closed joint ({early:.2f} N up to {moment:g} s), so its value at one time "
        f"depends on the phase: between k = 10^5.75 and 10^6.25 it is anywhere from {lowest} to {highest}, and below "
        f"10^-5.5 for {100 * (at.end[near] < printed).mean():.0f} % of all k. The largest value and the root mean "
        "square fall as 1 / k, independent of phase."
    )
    report.compare(
        "log10 of the gap e [m] at k = 1e6 and 0.1 s", "section 3.1.1, Fig. 6", -5.5, float(np.log10(at.end[there])),
        to=0.05, reason=f"Undamped, the gap oscillates between 0 and 2 |lambda| / k, and its value at one time depends "
        f"on the phase: for k from 10^5.75 to 10^6.25 it is anywhere from {lowest} to {highest} m, and below 10^-5.5 m "
        f"for {100 * (at.end[near] < printed).mean():.0f} % of them.", told="around -5.5", digits=3,
    )  # fmt: skip
    other = runs.printed_start(model)
    report.compare("alpha and phi at the start, the loop closed", "section 3.1", runs.PRINTED[1:],
                   (float(start["O"] + start["A"]), float(start["C"])), "rad", 5e-6, digits=7)  # fmt: skip
    off = runs.gaps(model, other, np.array([stiffness]), moment, SEEN)
    coarse = runs.gaps(model, start, np.array([stiffness]), moment, SEEN, method="dopri5", tolerance=1e-6)
    wide = float(runs.gap(np.array([[other["O"], other["O"] + other["A"], other["C"]]]))[0])
    report.say(
        f"From the printed angles, rounded to six digits, B starts with a gap of {wide:.1e} m, and e(0.1 s) is "
        f"10^{np.log10(off.end[0]):.2f} m; with a Runge-Kutta method of order 5 at 1e-6, from the "
        f"closed start 10^{np.log10(coarse.end[0]):.2f}. Over 2 s the force grows to "
        f"{force.max():.0f} N, at {exact.t[force.argmax()]:.2f} s, and the gap with it."
    )
    return float(exact.t[force.argmax()])


def _figures_7_and_8(report: Report, hardest: float) -> None:
    found = {way: runs.four_bar_run(model) for way, model in runs.four_bars().items()}
    run, dae = found[runs.SPRINGS], found["augmented"]
    t, names = run.t, runs.ANGLES
    shown = named(names, runs.angles(run)), named(names, runs.rates(run))
    report.heading("Figure 7: angles and rates of the rigid four-bar")
    panels = {"angles": ("angle [rad]", shown[0]), "rates": ("rate [rad/s]", shown[1])}
    report.figure("figure7", "Figure 7. Virtual springs, k = 1e6", figures.over_time(t, panels),
                  columns(t, {" [rad]": shown[0], "' [rad/s]": shown[1]}))  # fmt: skip
    title = "Figure 7: the rigid four-bar, two seconds under 6 N m, held together by a spring"
    report.animation("four_bar", title, lambda path: run.animate(path, points=["coupler.end"]))
    report.heading("Figure 8: differences to the DAE and to the closed form")
    exact = closed_form.solved(t)
    pairs = {
        "springs - augmented (DAE)": (runs.angles(run) - runs.angles(dae), runs.rates(run) - runs.rates(dae)),
        "springs - closed form": (runs.angles(run) - exact[0], runs.rates(run) - exact[1]),
        "augmented - closed form": (runs.angles(dae) - exact[0], runs.rates(dae) - exact[1]),
    }
    drawn = {title: (named(names, a), named(names, b)) for title, (a, b) in pairs.items()}
    groups = {f", {title}{unit}": curves for title, two in drawn.items()
              for unit, curves in zip((" [rad]", "' [rad/s]"), two, strict=True)}  # fmt: skip
    report.figure("figure8", "Figure 8. Differences, k = 1e6", figures.differences(t, drawn), columns(t, groups))
    rows = []
    for way, other in found.items():
        off = np.abs(runs.angles(other) - exact[0]), np.abs(runs.rates(other) - exact[1])
        rows.append(
            [
                way,
                *(f"{x[t <= 1.0].max():.1e}, {x.max():.1e}" for x in off),
                f"{runs.gap(runs.angles(other)).max():.0e}",
            ]
        )
    apart = {way: float(np.abs(runs.angles(found[way]) - exact[0]).max()) for way in ("augmented", runs.SPRINGS)}
    report.compare("angles by the DAE minus those of the closed form, at most", "section 3.1.2, Fig. 8", 0.0,
                   apart["augmented"], "rad", 1e-6, told="'almost identical'", digits=1)  # fmt: skip
    report.compare(
        "angles by springs minus those of the closed form, at most", "section 3.1.2, Fig. 8", 0.0, apart[runs.SPRINGS],
        "rad", 1e-3, f"Near {hardest:.2f} s the force of the joint is largest, and so is the extension of the spring; "
        f"the difference falls as 1 / k.", "'very small'", digits=1,
    )  # fmt: skip
    header = ["by", "angles, up to 1 s, 2 s [rad]", "rates, up to 1 s, 2 s [rad/s]", "gap [m]"]
    report.table("differences", "Largest differences from the closed form; runs at tolerance 1e-10", header, rows)
    report.say(
        f"The closed form is one equation in the crank's angle, with the loop solved by trigonometry, integrated by "
        f"SciPy at 1e-12; it shares no code with the others. The DAE approach and it are 'almost identical', as the "
        f"paper says. The remaining difference of the springs is their extension where the force is large, near "
        f"{hardest:.2f} s, and their oscillation, visible in rates but not in angles; the paper calls the differences "
        f"'very small'."
    )


# ---- section 3.2.3 ---------------------------------------------------------------------------------------


def _figure_14(report: Report) -> None:
    report.heading("Figure 14: the Gough-Stewart platform")
    models, law = runs.platforms(), runs.push()
    run, exact, legs = (runs.platform_run(models[way], law) for way in (runs.SPRINGS, "sslm", "denoc"))
    aside = runs.platform_run(models["sslm"], law, aside=BESIDE)
    t = run.t
    shown, behind = _moved(run), _moved(exact)
    far = {name: np.linalg.norm(x.point("platform") - exact.point("platform"), axis=1)
           for name, x in (("springs and sslm", run), (f"sslm, started {BESIDE:g} m aside", aside))}  # fmt: skip
    gap, speed = runs.openings(run)
    drawn = figures.platform(t, shown, [curves for _, curves in behind.values()], far, {"gap": gap, "rate": speed})
    groups = {f", {title} {unit}": curves for title, (unit, curves) in shown.items()} | {" [m]": far}
    data = columns(t, groups | {" at the cuts [m, m/s]": {"gap": gap, "rate": speed}})
    report.figure("figure14", "Figure 14. The platform by springs, k = 5e4, b = 50; dashed: sslm", drawn, data)
    report.animation("platform", "Figure 14: the platform with springs at its balls, two seconds",
                     lambda path: run.animate(path, points=["platform"]))  # fmt: skip
    lengths, level = runs.directions(*GOUGH_START)[:, 0], runs.directions(runs.LEVEL, 0.0)[:, 1:]
    turned = np.abs(level - np.column_stack([runs.TURNS_PRINTED, np.full(len(LEGS), runs.LEANING_PRINTED)])).max()
    report.say(
        "The run starts from the platform's pose at rest (x = -1.5, y = 0.1, z = 1.5, theta = 0.1 in (23)); geometry "
        f"gives the legs: their lengths agree with the printed rho_i to "
        f"{np.abs(lengths - runs.LEGS_PRINTED).max():.0e} m. The printed alpha_i and beta_i belong to another pose, a "
        f"level platform at x, y, z = {runs.LEVEL}, to {turned:.0e} rad. Hooke joints turn about x, then y; r_il = "
        "r_iu = 0.5 are from the foot and from the ball; lower parts have the inertia given for upper ones; g = 9.8. "
        "Bounds of the lengths (0.5 and 4.5 m) are ignored."
    )
    _legs(report)
    rows = []
    for a, b in PARTS:
        at = (t >= a) & (t <= b)
        rows.append([f"{a:g} to {b:g}", *(f"{f(x[at]):.1e}" for x in (gap, speed) for f in (np.median, np.max)),
                     *(f"{x[at].max():.0e}" for x in far.values())])  # fmt: skip
    header = ["time [s]", "gap, median [m]", "largest", "its rate, median [m/s]", "largest", "from sslm, largest [m]",
              f"of sslm, started {BESIDE:g} m aside [m]"]  # fmt: skip
    report.table("closure", "Gaps at the cuts, and distances between platforms", header, rows)
    early, apart = t <= EARLY, far["springs and sslm"]
    held = tuple(float(np.median(x[early])) for x in (gap, speed))
    for what, unit, paper, ours in zip(("gaps", "rates of gaps"), ("m", "m/s"), CLOSED, held, strict=True):
        report.compare(
            f"{what} at the cuts of the platform, median up to {EARLY:g} s", "section 3.2.3", paper, ours, unit, paper,
            told=f"around 10^{np.log10(paper):.0f}", digits=2,
        )  # fmt: skip
    count = len(legs.t) - 1
    near = np.linalg.norm(legs.point("platform")[:count] - exact.point("platform")[:count], axis=1).max()
    report.say(
        "The paper: 'the errors are around 10^-4 and 10^-3 respectively', in displacements and velocities. Here the "
        f"medians agree with that; the largest up to {EARLY:g} s are {gap[early].max():.0e} m and "
        f"{speed[early].max():.0e} m/s. Until then the platform is within {apart[early].max():.0e} m of the run by "
        f"equations. With leg lengths as coordinates, by denoc, a run agrees to {near:.0e} m up to "
        f"{legs.t[-1]:.3f} s, and ends: there the platform can move with all legs held, and tips over."
    )
    fold, shortest = np.abs(np.cos(run["hooke1"][:, 1])), min(float(run[f"leg{k}"].min()) for k in LEGS)
    report.say(
        f"At {t[fold.argmin()]:.2f} s the first leg points along the first axis of its Hooke joint to within "
        f"{fold.min():.3f} rad, where the joint cannot follow: it turns at up to "
        f"{np.abs(run.rate('hooke1')[:, 0]).max():.0f} rad/s, gaps grow to {gap.max():.0e} m, and runs that were "
        f"within {apart[early].max():.0e} m of each other are up to {apart.max():.0e} m apart. The text does not give "
        f"the orientation of the Hooke joints, and no leg is shorter than {shortest:.3f} m (the paper's bound is 0.5); "
        f"runs are not compared beyond that time."
    )


def _legs(report: Report) -> None:
    """Compares the start of the platform with geometry, and its counts."""
    stated, level = runs.directions(*GOUGH_START), runs.directions(runs.LEVEL, 0.0)
    rounded = "Positions of the feet and of the platform's joints are given to a millimetre."
    report.compare(
        "rho_1 to rho_6 at the start", "section 3.2.3", runs.LEGS_PRINTED, tuple(stated[:, 0].tolist()), "m", 5e-4,
        rounded, digits=6,
    )  # fmt: skip
    for k, (name, printed) in enumerate((("alpha", runs.TURNS_PRINTED), ("beta", (runs.LEANING_PRINTED,) * 6)), 1):
        off = float(np.abs(level[:, k] - printed).max())
        report.compare(
            f"{name}_1 to {name}_6 at the start", "section 3.2.3", printed, tuple(stated[:, k].tolist()), "rad", 5e-4,
            f"The printed ones belong to another pose: for a level platform at x, y, z = {runs.LEVEL} they agree to "
            f"{off:.0e} rad. Ours are for the stated pose, like rho_i.", digits=6,
        )  # fmt: skip
    models = runs.four_bars()[runs.SPRINGS], runs.platforms()[runs.SPRINGS], runs.flexible_four_bars()[runs.SPRINGS]
    report.compare("coordinates of the four-bar, the platform and the flexible four-bar", "(15), (24), section 3.2.1",
                   COORDINATES, tuple(model.nv for model in models))  # fmt: skip
    parts = len(models[1].parallel_speedup().bodies)
    report.compare("submodels of the platform", "section 3.2.3", SUBMODELS, parts)
    report.compare("processors that its submodels can use", "after (43)", PROCESSORS, parts, reason="Six legs and the "
                   "platform are seven, as section 3.2.3 has it: a misprint.")  # fmt: skip


def _moved(run: Trajectory) -> dict[str, tuple[str, dict[str, np.ndarray]]]:
    """Position, Euler angles, velocity and angular velocity of the platform."""
    rotations, places = run.pose("platform")
    twist = run.model.twist("platform", run.q, run.v, p=run.inputs)
    return {
        "place": ("[m]", named(runs.PLACES, places)),
        "Euler angles (23)": ("[rad]", named(runs.EULER, runs.euler(rotations))),
        "velocity": ("[m/s]", named(runs.PLACES, twist[:, 3:])),
        "angular velocity, in world axes": ("[rad/s]", named(runs.PLACES, twist[:, :3])),
    }
