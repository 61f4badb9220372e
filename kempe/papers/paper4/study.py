"""Paper 4 reproduced: A. Mohan and S. K. Saha, Multibody System Dynamics 17 (2007), Figures 4-9 and Tables 1-3."""

from collections.abc import Callable
from functools import partial

import numpy as np

from kempe.gallery.puma import DURATION, JOINTS, desired, forced, puma
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.papers.paper4 import figures
from kempe.papers.paper4.counting import CROSSINGS, TABLE_1, compare, given_phi
from kempe.papers.report import Report
from kempe.papers.timing import least
from kempe.results.outcome import Statistics
from kempe.results.trajectory import Trajectory

TITLE = "Paper 4: the PUMA of Mohan and Saha (2007)"
TOLERANCE, STUDIED = 1e-8, 6.0  # section 4.2; section 5: the duration for which CPU times are given
ACCEPTABLE = 0.01  # rad; the paper does not define an unacceptable deviation
FALL = float(np.sqrt(3 * 9.81 / (2 * 0.02)))  # 1/s, of link 3 upright on its joint
GAIN = float(np.log(100)) / FALL
STEP_SIZES = (0.1, 0.01, 0.001, 0.0001)
REPEATS = 9
JOLT = 1.0  # rad/s^2: from this on, accelerations differ visibly in Figure 7
EXACT, FREED = (0, 1, 3), (2, 4, 5)  # joints 1, 2 and 4, which "match exactly", and joints 3, 5 and 6; section 4.2
TABLE_3 = {"recursive": (5.4, 5.6, 5.4, 5.4, 5.4, 5.4), "nonrecursive": (5.1, 5.1, 4.8, 5.1, 5.1, 4.8)}
FOLLOWED = {"recursive": 5.2, "nonrecursive": 1.5}  # s, section 5: "accurate results for all joints"
LEAVING, SMOOTH = 5.5, 5.5  # s: until then joints 3, 5 and 6 match (section 4.2), accelerations are smooth (section 5)
PARAMETERS = {  # Table 2
    "a": (0, 0.432, 0.02, 0, 0, 0),
    "b": (0.20, 0.149, 0, 0.432, 0, 0.056),
    "alpha": ("-pi/2", "0", "pi/2", "-pi/2", "pi/2", "0"),
    "mass": (10.521, 15.7612, 8.767, 0, 0, 0),
    "hub": (0, 0, 0, 0.181, 0.0735, 0.0141),
}
FORMULATIONS = {"recursive": "udu", "nonrecursive": "cholesky"}


def study(report: Report, say: Callable[[str], None]) -> None:
    """Runs the study and fills the report; `say` reports progress."""
    mechanism = puma()
    models = {name: mechanism.compile(formulation) for name, formulation in FORMULATIONS.items()}
    report.say(
        "A. Mohan and S. K. Saha, A recursive, numerically stable, and efficient simulation algorithm for serial "
        "robots, Multibody System Dynamics 17 (2007) 291-319. Each table is compared with the paper's; differences "
        "are explained. Gravity is not given in the paper: 9.81 m/s^2 along -Z1 is taken."
    )
    say("counting operations")
    _counts(report)
    _parameters(report, mechanism)
    say("inverse dynamics")
    need = models["recursive"].inverse_dynamics(desired())
    _torques(report, need)
    say("forced simulation, recursive and nonrecursive")
    runs = {name: forced(model, STUDIED, method="dopri5", tolerance=TOLERANCE) for name, model in models.items()}
    _simulation(report, runs)
    _accelerations_and_power(report, runs, need)
    say("how fast errors grow")
    _growth(report, models["recursive"], runs["recursive"])
    say("acceptable durations")
    _durations(report, models)
    say("CPU times")
    _times(report, models)


def _counts(report: Report) -> None:
    ours = compare()
    report.heading("Table 1: operations of forward dynamics")
    star, plus = ours.crossings()
    rows = []
    for name, (m, a) in TABLE_1.items():
        known = CROSSINGS.get(name, (None, None))
        rows.append([name, *(f"{np.polyval(m, n):.0f} M, {np.polyval(a, n):.0f} A" for n in (6, 10, 12, 20)), *known])
    rows.insert(0, ["Kempe, counted", *("{} M, {} A".format(*ours.counts[n]) for n in (6, 10, 12, 20)), star, plus])
    report.table("table1", "Table 1. From phi to accelerations of n general links; M: multiplications and divisions, "
                 "A: additions", ["algorithm", "n = 6", "n = 10", "n = 12", "n = 20", "n*", "n+"], rows)  # fmt: skip
    formulas = TABLE_1["Mohan & Saha (proposed)"]
    fewer = (
        "A link frame at the joint makes the row and column of the apparent inertia along its axis exact zeros, and "
        "inertias are rotated with 8 products."
    )
    for k, kind in enumerate(("multiplications and divisions", "additions")):
        report.compare(
            f"{kind} for n = 6, 10 and 12 links", "Table 1", tuple(np.polyval(formulas[k], (6, 10, 12)).tolist()),
            tuple(ours.counts[n][k] for n in (6, 10, 12)), reason=fewer,
        )  # fmt: skip
    report.compare(
        "multiplications and additions per additional link", "Table 1, section 4.1", (173, 150),
        tuple(b - a for a, b in zip(ours.counts[19], ours.counts[20], strict=True)), reason=fewer,
    )  # fmt: skip
    report.compare(
        "n* and n+, from which O(n) takes no more than O(n^3)", "Table 1", CROSSINGS["Mohan & Saha (proposed)"],
        (star, plus), reason=f"Fewer operations win earlier. {fewer}",
    )  # fmt: skip
    m, a = given_phi(puma())
    report.say(
        "Kempe counts its traced program; the others are the paper's formulas. It is at or below the paper's "
        "(173n - 128) M and (150n - 133) A for every n from 2 to 20, because a link frame at the joint makes the "
        "row and column of the apparent inertia along the joint axis exact zeros, and inertias are rotated with 8 "
        f"products. The PUMA itself, with its right angles, needs {m} M and {a} A. From n* and n+ on, the "
        "O(n) algorithm takes no more than the O(n^3) one, in multiplications and in both; ours wins "
        "earlier for the same reason."
    )


def _parameters(report: Report, mechanism: Mechanism) -> None:
    report.heading("Table 2: the PUMA")
    rows = [[k + 1, *(column[k] for column in PARAMETERS.values())] for k in range(6)]
    report.table(
        "table2", "Table 2, as printed", ["link", "a [m]", "b [m]", "alpha", "m [kg]", "Izz hub [kg m^2]"], rows
    )
    value = mechanism.parameters
    found = {"a": "arm.length", "b": "riser.length", "hub": "hub.moment"}
    for column, path in found.items():
        report.compare(f"{column} of the six links", "Table 2", PARAMETERS[column],
                       tuple(value.get(f"link{k}.{path}", 0.0) for k in range(1, 7)),
                       "kg m^2" if column == "hub" else "m")  # fmt: skip
    report.compare("masses of the six links", "Table 2", PARAMETERS["mass"],
                   tuple(body.inertia(value.__getitem__).mass for body in mechanism.bodies), "kg", 1e-9,
                   digits=6)  # fmt: skip
    report.say("Links 4 to 6 have no mass, only hub inertias about their joint axes, as printed.")


def _torques(report: Report, need: Trajectory) -> None:
    report.heading("Figure 4: torques for eq. 38")
    data = {"t [s]": need.t} | {f"{n} [N m]": need.torque(n) for n in JOINTS}
    report.figure("figure4", "Figure 4. Joint torques of inverse dynamics for eq. 38", figures.torques(need), data)
    report.say(
        f"Every joint goes from 0 to pi in {DURATION:g} s: theta = (pi/T) t - sin(2 pi t/T)/2. At t = 0 the arm "
        f"has its upper arm horizontal: joint 2 carries {abs(need.torque('joint2')[0]):.2f} N m."
    )


def _simulation(report: Report, runs: dict[str, Trajectory]) -> None:
    report.heading("Figures 5 and 6: forced simulation")
    run = runs["recursive"]
    wanted = desired().at(run.t)[0]
    data = {"t [s]": run.t} | {f"desired {n} [rad]": x for n, x in zip(JOINTS, wanted.T, strict=True)}
    data |= {f"{n} [rad]": run[n] for n in JOINTS}
    caption = "Figure 5. Forced simulation by the torques of Figure 4, with ode45's method at 1e-8"
    report.figure("figure5", caption, figures.simulated(run, wanted), data)
    title = f"Figure 5: the torques of Figure 4 move the arm, for {STUDIED:g} s"
    report.animation("puma", title, lambda path: run.animate(path, points=["link6.end"]))
    errors = {name: np.abs(r.q - desired().at(r.t)[0]) for name, r in runs.items()}
    early = errors["recursive"][run.t <= LEAVING]
    report.compare(f"error of joints 1, 2 and 4 up to {LEAVING:g} s, at most", "section 4.2, Fig. 5", 0.0,
                   float(early[:, EXACT].max()), "rad", ACCEPTABLE, told="'match exactly'", digits=1)  # fmt: skip
    data = {"t [s]": run.t}
    data |= {f"{name} {n} [rad]": e for name, all_ in errors.items() for n, e in zip(JOINTS, all_.T, strict=True)}
    report.figure(
        "figure6", "Figure 6. Error between desired and simulated angles", figures.errors(run.t, errors), data
    )
    report.say(
        "As in the paper, all joints follow for more than five seconds; then joints 3, 5 and 6 leave first. The "
        "integrator is Dormand and Prince's 5(4), which MATLAB's ode45 is, at the same tolerance of 1e-8."
    )
    gap = np.abs(runs["recursive"].q - runs["nonrecursive"].q)
    five = gap[run.t <= 5.0].max()
    condition = float(np.linalg.cond(run.model.mass_matrix(run.q[run.t <= 5.0])).max())
    report.say(
        f"Unlike in the paper, the recursive and the nonrecursive run agree here to {five:.0e} rad up to 5 "
        f"s: both solve the same equations to rounding, and factoring a 6 x 6 matrix of condition {condition:.0e} "
        f"loses {np.log10(condition):.0f} of sixteen digits, far below the tolerance of {TOLERANCE:g}."
    )


def _accelerations_and_power(report: Report, runs: dict[str, Trajectory], need: Trajectory) -> None:
    report.heading("Figures 7 and 8: accelerations and power")
    t = runs["recursive"].t
    wanted = desired().at(t)[2][:, 2]
    data = {"t [s]": t, "desired [rad/s^2]": wanted}
    data |= {f"{name} [rad/s^2]": run.acceleration("joint3") for name, run in runs.items()}
    report.figure("figure7", "Figure 7. Acceleration of joint 3", figures.accelerations(t, wanted, runs), data)
    smooth = [t[np.argmax(np.abs(run.acceleration("joint3") - wanted) > JOLT)] for run in runs.values()]
    report.compare(
        f"acceleration of joint 3, recursive, is within {JOLT:g} rad/s^2 of the desired one up to", "section 5, Fig. 7",
        SMOOTH, float(smooth[0]), "s", 0.05, f"Ours leaves smoothly, with the angles, and with the nonrecursive "
        f"algorithm at {smooth[1]:.2f} s: neither becomes noisy. The paper does not give its deviations.",
        "about 5.5 s",
    )  # fmt: skip
    v = desired().at(t)[1]
    power = {"desired": (need.resample(t).u * v).sum(axis=1)}
    power |= {name: (run.u * run.v).sum(axis=1) for name, run in runs.items()}
    data = {"t [s]": t} | {f"{name} [W]": x for name, x in power.items()}
    report.figure(
        "figure8", "Figure 8. Power of the torques: at desired and at simulated rates", figures.powers(t, power), data
    )
    off = max(np.abs(run.power.imbalance).max() for run in runs.values())
    report.say(
        "Accelerations are smooth in both runs until errors become visible in the angles themselves: neither "
        "algorithm becomes noisy. Power deviates together with the rates. The power balance holds "
        f"throughout: the power of the torques equals the rate of kinetic and potential energy to {off:.0e} W in every "
        "row, even after the motion has left the desired one: the simulated motion is then a different one, not a "
        "wrong one."
    )


def rates_of_growth(model: Model, t: np.ndarray) -> np.ndarray:
    """The largest real part of the eigenvalues of the equations linearized about eq. 38 under its torques."""
    q, v, a = desired().on(model, t=t)
    by_q, by_v, _ = model.forward_dynamics_derivatives(q, v, model.generalized_forces(q, v, a))
    zero, one = np.zeros((6, 6)), np.eye(6)
    return np.array(
        [np.linalg.eigvals(np.block([[zero, one], [k, d]])).real.max() for k, d in zip(by_q, by_v, strict=True)]
    )


def measured_rate(run: Trajectory, low: float = 1e-7, high: float = 1e-3) -> tuple[float, float, float]:
    """The slope of the logarithm of the error between two sizes, and the times of the interval."""
    size = np.abs(run.q - desired().at(run.t)[0]).max(axis=1)
    first = int(np.argmax(size > low))
    last = int(np.argmax(size > high))
    slope = np.polyfit(run.t[first : last + 1], np.log(size[first : last + 1]), 1)[0]
    return float(slope), float(run.t[first]), float(run.t[last])


def _growth(report: Report, model: Model, run: Trajectory) -> None:
    report.heading("The zero-eigenvalue instability, measured")
    t = np.linspace(0, DURATION, 401)
    rates = rates_of_growth(model, t)
    slope, begin, end = measured_rate(run)
    between = float(rates[(t >= begin) & (t <= end)].mean())
    size = np.abs(run.q - desired().at(run.t)[0]).max(axis=1)
    report.figure("growth", "Largest growth rate of the linearized equations along eq. 38, and the error it feeds",
                  figures.growth(t, rates, run.t, size), {"t [s]": t, "growth rate [1/s]": rates})  # fmt: skip
    sharp = t[np.argmax(rates > 10)]
    report.say(
        "Under given torques the arm at rest has zero eigenvalues: an error stays constant. Along eq. 38 the largest "
        f"one rises slowly, to {rates[t <= 5].max():.1f} 1/s at 5 s, and then jumps beyond 10 1/s at t = {sharp:.2f} s "
        f"and to {rates.max():.0f} 1/s later. The cause is link 3: as printed it is a rod of 8.767 kg and only "
        "0.02 m, and from 5 s on it is above its joint, an inverted pendulum (alone it would fall at sqrt(3 g "
        f"/ 2 a) = {FALL:.1f} 1/s), held only by torques given in advance. In the run the error grows by "
        f"{slope:.1f} 1/s between {begin:.2f} and {end:.2f} s; the mean of the eigenvalues there is {between:.1f} "
        f"1/s. So any error of a run at {sharp:.1f} s, from rounding, tolerance or algorithm, is "
        f"{np.exp(slope * 0.3):.0f} times as large 0.3 s later: this explains the paper's 5.1 s and 5.4 s."
    )


def durations(run: Trajectory, acceptable: float) -> list[float | None]:
    """The time that each joint stays within an error; None if it always does."""
    off = np.abs(run.q - desired().at(run.t)[0]) > acceptable
    return [float(run.t[np.argmax(column)]) if column.any() else None for column in off.T]


def _durations(report: Report, models: dict[str, Model]) -> None:
    report.heading("Table 3: acceptable simulation duration")
    found = {}
    for name, model in models.items():
        run = forced(model, 8.0, method="dopri5", tolerance=TOLERANCE)
        found[name] = durations(run, ACCEPTABLE)
    later = _leaving(report, {name: [float(x or run.t[-1]) for x in all_] for name, all_ in found.items()})
    rows = [
        [n, found["recursive"][k], TABLE_3["recursive"][k], found["nonrecursive"][k], TABLE_3["nonrecursive"][k]]
        for k, n in enumerate(JOINTS)
    ]
    header = ["joint", "recursive [s]", "paper [s]", "nonrecursive [s]", "paper [s]"]
    report.table("table3", f"Table 3. Time until the error exceeds {ACCEPTABLE:g} rad, at tolerance 1e-8", header, rows)
    rows = []
    for tolerance in (1e-6, 1e-8, 1e-10, 1e-12):
        runs = [forced(model, 8.0, method="dopri5", tolerance=tolerance) for model in models.values()]
        rows.append(
            [f"{tolerance:.0e}", *(min(x for x in durations(run, ACCEPTABLE) if x is not None) for run in runs)]
        )
    report.table("tolerances", "The same, of the first joint to leave, at other tolerances",
                 ["tolerance", "recursive [s]", "nonrecursive [s]"], rows)  # fmt: skip
    report.say(
        f"Both algorithms leave the desired motion at the same time, later than the paper's recursive one by "
        f"{min(later):.1f} to {max(later):.1f} s. The paper does not say which error counts as unacceptable, and "
        f"ode45's absolute tolerance is not given; a hundredfold smaller tolerance gains about ln(100) / {FALL:.0f} = "
        f"{GAIN:.2f} s, as the growth rate says. The text of section 5 gives the nonrecursive run 1.5 s, its Table 3 "
        f"gives 4.8 to 5.1 s; the table fits the rest of the paper, and we take 1.5 for a misprint."
    )


def _leaving(report: Report, found: dict[str, list[float]]) -> list[float]:
    """Compares how long joints follow with Table 3 and the text; returns ours minus the paper's, recursive [s]."""
    later = [ours - paper for ours, paper in zip(found["recursive"], TABLE_3["recursive"], strict=True)]
    seed = (
        f"An error grows by about {FALL:.0f} 1/s after 5 s: leaving {min(later):.1f} s later means an error smaller by "
        f"a factor of {np.exp(FALL * min(later)):.0e}. The paper does not say which error is unacceptable, how torques "
        "were passed to ode45, or its absolute tolerance."
    )
    same = f"{seed} Here both algorithms leave at the same time: they differ by rounding."
    for name, reason in (("recursive", seed), ("nonrecursive", same)):
        report.compare(
            f"six joints within {ACCEPTABLE:g} rad up to, {name}", "Table 3", TABLE_3[name], tuple(found[name]), "s",
            0.05, reason, digits=3,
        )  # fmt: skip
    first = {name: min(all_) for name, all_ in found.items()}
    report.compare("joints 3, 5 and 6 match up to", "section 4.2, Fig. 5", LEAVING,
                   tuple(found["recursive"][k] for k in FREED), "s", 0.05, seed, digits=3)  # fmt: skip
    report.compare(
        "all joints are accurate up to, recursive", "section 5", FOLLOWED["recursive"], first["recursive"], "s", 0.05,
        seed, digits=3,
    )  # fmt: skip
    report.compare(
        "all joints are accurate up to, nonrecursive", "section 5", FOLLOWED["nonrecursive"], first["nonrecursive"],
        "s", 0.05, f"The paper's own Table 3 has {min(TABLE_3['nonrecursive']):g} s: a misprint. {same}", "about 1.5 s",
        digits=3,
    )  # fmt: skip
    return later


def _times(report: Report, models: dict[str, Model]) -> None:
    report.heading("Figure 9: CPU times, and the step-size study")
    cost: dict[str, Statistics] = {}

    def timed(name: str) -> None:
        cost[name] = forced(models[name], STUDIED, method="dopri5", tolerance=TOLERANCE).statistics

    spent = {name: 1e3 * x for name, x in least({name: partial(timed, name) for name in models}, REPEATS).items()}
    counted = {name: model.counts.total for name, model in models.items()}
    data = {"algorithm": np.array(list(spent)), "wall time [ms]": np.array(list(spent.values()))}
    report.figure("figure9", "Figure 9. Wall time of 6 s of forced simulation", figures.times(spent), data)
    rows = [[name, f"{spent[name]:.3g}", cost[name].evaluations, cost[name].steps, counted[name]] for name in models]
    header = ["algorithm", "wall time [ms]", "evaluations", "steps", "operations each"]
    report.table("times", f"6 s of forced simulation, the minimum of {REPEATS} runs in turn", header, rows)
    report.say(
        f"The recursive algorithm takes {counted['recursive']} operations per evaluation, the nonrecursive one "
        f"{counted['nonrecursive']}, {counted['nonrecursive'] / counted['recursive']:.2f} times as many; it took "
        f"{spent['nonrecursive'] / spent['recursive']:.2f} times as long in this run. Both need the same number of "
        "evaluations: the difference comes from operations (diluted by torques and integrator, the same in both), not "
        "from smoother accelerations, as the paper says of its own. "
        "(MATLAB's times are not in the text; Figure 9 is a plot.)"
    )
    rows = []
    for step in STEP_SIZES:
        runs = [forced(model, STUDIED, method="dopri5", tolerance=TOLERANCE, output=step) for model in models.values()]
        fixed = forced(models["recursive"], 8.0, method="rk4", step=step, output=max(step, 0.01))
        first = min((x for x in durations(fixed, ACCEPTABLE) if x is not None), default=None)
        rows.append([step, *(run.statistics.steps for run in runs), first])
    report.compare(
        "difference of steps at other step sizes, recursive and nonrecursive", "section 5", 0,
        tuple(int(np.ptp([row[k] for row in rows])) for k in (1, 2)), told="no significant effect",
    )  # fmt: skip
    header = ["step size [s]", "steps, recursive", "steps, nonrecursive", "fixed steps (RK4) leave at [s]"]
    report.table(
        "steps", "Step sizes: of ode45, where they only set the output, and of a method with fixed steps", header, rows
    )
    report.say(
        "A step size given to ode45 sets the output times, not its steps: the number of steps is the "
        "same, which is why the paper saw no significant effect. With fixed steps (classical RK4) a smaller "
        "step delays the deviation, again by the logarithm of its error."
    )
