"""Paper 1 reproduced: S. K. Saha and W. O. Schiehlen, recursive dynamics of closed loops (2001), Figures 5-8, 10-13."""

from collections.abc import Callable, Mapping

import numpy as np

from kempe.papers.paper1 import figures, growth, recursion, runs
from kempe.papers.paper1.growth import LEFT, LIKELY, SHOWN, STEP, VISIBLE
from kempe.papers.paper1.runs import Case
from kempe.papers.report import Report
from kempe.results.trajectory import Trajectory

TITLE = "Paper 1: the four-bar and the five-bar of Saha and Schiehlen (2001)"
FREE = 6.0  # s; the paper does not give the duration of Figure 7
SINGULAR = 1.4  # s, "about", section VI.B, item 5
FREE_STARTS = {"A": 1.5708, "left": 1.4, "right": 1.22}  # rad, items 5 of sections VI.A and VI.B


def study(report: Report, say: Callable[[str], None]) -> None:
    """Runs the study and fills the report; `say` reports progress."""
    report.say(
        "S. K. Saha and W. O. Schiehlen, Recursive kinematics and dynamics for closed loop multibody systems, section "
        "VI. The text has no figures and no tables: its statements are quoted with each of ours. Gravity is along "
        "-y (link 1 of the four-bar is 'vertical' at 90 degrees), links are slender rods; of the four-bar the open "
        "assembly is taken, of the five-bar the knee down. 'T = 20 sec; t = .02 sec' of eqs. 36 and 39 is read as a "
        f"duration and a step. Runs are by formulation {runs.FORMULATION!r}, which continues where the actuated angles "
        "fail as coordinates; the paper's own recursion is compared with it below."
    )
    say("the four-bar")
    four = runs.four_bar()
    _four_bar(report, four)
    say("the five-bar")
    five = runs.five_bar()
    _five_bar(report, five)
    report.compare("rows of the inertia matrix, four-bar and five-bar", "VI.A and VI.B, items 4", (1, 2),
                   (four.model.dof, five.model.dof))  # fmt: skip
    say("how errors grow")
    growth.eigenvalues(report, (four, five))
    say("when forced runs leave")
    earliest, left = growth.departures(report, (four, five))
    say("other readings of the four-bar")
    growth.readings(report, four, earliest, left)
    say("feedback")
    growth.feedback(report, (four, five))
    say("the paper's own recursion")
    recursion.compare(report, (four, five))


# ---- the figures -----------------------------------------------------------------------------------------


def four_bar_angles(run: Trajectory) -> dict[str, np.ndarray]:
    """theta_1 to theta_3 as in Figure 4; link 3 points from its joint with link 2 to the ground, half a turn from C."""
    return {"theta_1": run["A"], "theta_2": run["B"], "theta_3": run["C"] + np.pi}


def _four_bar(report: Report, case: Case) -> None:
    need = case.need
    report.heading("Figure 5: joint angles, rates and accelerations of the four-bar")
    names = {"theta_1": "A", "theta_2": "B", "theta_3": "C"}
    rates = {name: need.rate(joint) for name, joint in names.items()}
    accelerations = {name: need.acceleration(joint) for name, joint in names.items()}
    kinds = four_bar_angles(need), rates, accelerations
    caption = "Figure 5. Four-bar along eqs. 35 and 36: (a) angles, (b) rates, (c) accelerations"
    report.figure("figure5", caption, figures.motion(need.t, {"four-bar": kinds}), _columns(need.t, kinds))
    angle = np.pi - np.sum(list(kinds[0].values()), axis=0)
    fourth = np.rad2deg(angle[[0, -1]])
    _rest(report, "four-bar", "VI, Figs. 5(b, c)", [*rates.values(), *accelerations.values()])
    report.compare(
        "theta_4 by pi - (theta_1 + theta_2 + theta_3), minus the reversed rocker angle", "VI.A, item 1", 0.0,
        float(np.abs(angle + need["D"]).max()), "rad", 1e-12, digits=1,
    )  # fmt: skip
    report.say(
        "Velocity and acceleration vanish at both ends, as the paper says. The largest rates are "
        f"{_peaks(rates)} rad/s, the largest accelerations {_peaks(accelerations)} rad/s^2. theta_4 = pi - (theta_1 + "
        f"theta_2 + theta_3) goes from {fourth[0]:.2f} to {fourth[1]:.2f} degrees."
    )
    report.heading("Figure 6: the torque")
    data = {"tau_1": need.torque("A")}
    report.figure("figure6", "Figure 6. Torque of inverse dynamics for eqs. 35 and 36",
                  figures.torques(need.t, data), _columns(need.t, [data], "N m"))  # fmt: skip
    first, last = data["tau_1"][[0, -1]]
    report.say(
        f"From {first:.4f} N m, which holds the linkage at 30 degrees, to {last:.4f} N m, which holds it at 90: in 20 "
        f"s gravity dominates, and accelerations need at most {_inertial(case):.4f} N m."
    )
    report.heading("Figure 7: free simulation")
    fall = runs.free_four_bar(case, FREE, tolerance=runs.TOLERANCE)
    data = {"theta_1": fall["A"]}
    report.figure("figure7", "Figure 7. Free simulation from 90 degrees", figures.free(fall.t, data),
                  _columns(fall.t, [data], "rad"))  # fmt: skip
    report.animation("fall4", "The four-bar of Figure 7", lambda path: fall.animate(path, points=["coupler.pen"]))
    report.compare(
        "theta_1 where the free run starts", "VI.A, item 5", FREE_STARTS["A"], float(fall["A"][0]), "rad", 5e-5,
        digits=5,
    )  # fmt: skip
    sharp = runs.free_four_bar(case, FREE, tolerance=1e-11)
    report.say(
        f"The crank swings to {np.rad2deg(sharp['A'].max()):.2f} degrees and back, every {_period(sharp):.4f} "
        f"s; at the paper's tolerance of 1e-6 energy is kept to {_kept(fall):.0e} of the largest kinetic energy, and "
        f"the angle is accurate to {np.abs(fall['A'] - sharp['A']).max():.0e} rad."
    )
    report.heading("Figure 8: forced simulation")
    _forced(report, case, "figure8", "Figure 8. Four-bar under the torque of Figure 6", {"A": "theta_1"}, {})


def _five_bar(report: Report, case: Case) -> None:
    need = case.need
    report.heading("Figure 10: joint angles of the five-bar")
    legs = {f"leg {k}": {f"theta_1^({k})": side, f"theta_2^({k})": f"{side} elbow"}
            for k, side in ((1, "left"), (2, "right"))}  # fmt: skip
    kinds = {
        leg: tuple(
            {n: f(joint) for n, joint in names.items()} for f in (need.__getitem__, need.rate, need.acceleration)
        )
        for leg, names in legs.items()
    }
    data = _columns(need.t, [{n: x for leg in kinds.values() for n, x in leg[k].items()} for k in range(3)])
    caption = "Figure 10. Five-bar along eqs. 35, 38 and 39: angles of both legs, and their rates and accelerations"
    report.figure("figure10", caption, figures.motion(need.t, kinds), data)
    angle = need["left"] + need["left elbow"] - need["right"] - need["right elbow"]
    third = np.rad2deg(angle[[0, -1]])
    _rest(report, "five-bar", "VI.B, item 2", [x for leg in kinds.values() for kind in leg[1:] for x in kind.values()])
    report.compare("theta_3^(2) by [theta_1 + theta_2]^(1) - [theta_1 + theta_2]^(2), minus the reversed tip angle",
                   "VI.B, item 1", 0.0, float(np.abs(np.sin(angle + need["tip"])).max()), "rad", 1e-12,
                   digits=1)  # fmt: skip
    report.say(
        "Rates and accelerations have the pattern of Figure 5, as the paper says. theta_3^(2) = [theta_1 + "
        f"theta_2]^(1) - [theta_1 + theta_2]^(2) goes from {third[0]:.2f} to {third[1]:.2f} degrees: never 0 or 180, "
        "so the motors control the motion throughout."
    )
    report.heading("Figure 11: the torques")
    data = {"tau_1^(1)": need.torque("left"), "tau_1^(2)": need.torque("right")}
    report.figure("figure11", "Figure 11. Torques of inverse dynamics for eqs. 35, 38 and 39",
                  figures.torques(need.t, data), _columns(need.t, [data], "N m"))  # fmt: skip
    ends = ", ".join(f"{name} from {x[0]:.4f} to {x[-1]:.4f} N m" for name, x in data.items())
    report.say(f"{ends}; accelerations need at most {_inertial(case):.4f} N m.")
    report.heading("Figure 12: free simulation, and its singular end")
    _fall(report, case)
    report.heading("Figure 13: forced simulation")
    seeded = case.forced(1e-10, LIKELY, duration=SHOWN[case.name], events=runs.in_line(case.model))
    label = f"started {LIKELY:g} rad off, ends singular at {seeded.t[-1]:.2f} s"
    _forced(report, case, "figure13", "Figure 13. Five-bar under the torques of Figure 11",
            {"left": "theta_1^(1)", "right": "theta_1^(2)"}, {label: seeded})  # fmt: skip


def _fall(report: Report, case: Case) -> None:
    through = runs.free_five_bar(case, 2.0, tolerance=1e-10, events=runs.in_line(case.model, "record"))
    end = through.occurrences[0].t
    data = {"theta_1^(1)": through["left"], "theta_1^(2)": through["right"]}
    caption = "Figure 12. Free simulation from 80 and 70 degrees; dashed: beyond the singular pose"
    report.figure("figure12", caption, figures.free(through.t, data, end), _columns(through.t, [data], "rad"))
    report.animation("fall5", "The five-bar of Figure 12, continued through the pose that is singular for its motors",
                     lambda path: through.animate(path, points=["left lower.end"]))  # fmt: skip
    report.compare(
        "theta_1^(1) and theta_1^(2) where the free run starts", "VI.B, item 5",
        tuple(FREE_STARTS[name] for name in case.motors), tuple(float(through[name][0]) for name in case.motors), "rad",
        0.005,
    )  # fmt: skip
    report.compare(
        "free fall of the five-bar ends singular at", "VI.B, item 5, Fig. 12", SINGULAR, float(end), "s", 0.05,
        f"Ours is the time at which the distal links are in line, found as an event. The paper says 'about', and "
        f"used steps of {STEP:g} s: {SINGULAR:g} s is the first multiple of that after ours.", told="about 1.4 s",
    )  # fmt: skip
    rows = []
    for knee, tolerance in (("down", runs.TOLERANCE), ("down", 1e-10), ("up", 1e-10)):
        run = runs.free_five_bar(case, 3.0, knee, tolerance=tolerance, events=runs.in_line(case.model))
        parallel = case.model.singularity(run.q[-1]).parallel
        assert parallel is not None
        angles = (f"{np.rad2deg(run[name][-1]):.3f}" for name in case.motors)
        paper = SINGULAR if knee == "down" else None
        rows.append([knee, f"{tolerance:.0e}", f"{run.outcome.t:.9f}", paper, f"{parallel.value:.0e}", *angles])
    header = ["knee", "tolerance", "singular at [s]", "paper, about [s]", "parallel measure there", "theta_1^(1) [deg]",
              "theta_1^(2) [deg]"]  # fmt: skip
    report.table("singular", "Free fall ends where the distal links are in line", header, rows)
    report.say(
        "The event is a zero of the sine of the angle between the distal links: there the tip can move "
        "although both motors are held, and the two actuated angles no longer determine the configuration. The paper's "
        f"program stopped 'after about 1.4 sec'; with the knee down it is {end:.4f} s, with the knee up it would be "
        f"{float(rows[-1][2]):.2f} s, so the paper's knee is down. The mechanism itself is not affected: the loop "
        f"is regular there, and the run continues with other coordinates (chosen {through.statistics.changes} "
        f"times up to {through.t[-1]:g} s), keeping energy to {_kept(through):.0e}."
    )


def _forced(report: Report, case: Case, name: str, caption: str, motors: Mapping[str, str],
            more: Mapping[str, Trajectory]) -> None:  # fmt: skip
    run = case.forced(duration=SHOWN[case.name])
    all_ = {f"simulated (sim), tolerance {runs.TOLERANCE:.0e}": run, **more}
    wanted, panels, data = case.motion.at(run.t)[0], {}, {"t [s]": run.t}
    for k, (joint, shown) in enumerate(motors.items()):
        panels[shown] = (run.t, wanted[:, k]), {label: (each.t, each[joint]) for label, each in all_.items()}
        data[f"{shown}, desired [rad]"] = wanted[:, k]
        data |= {f"{shown}, {label} [rad]": _padded(each[joint], each.t, run.t) for label, each in all_.items()}
    report.figure(name, caption, figures.forced(panels, {"paper": LEFT[case.name]}), data)
    left = runs.leaves(run.t, case.errors(run), VISIBLE)
    report.say(
        f"Ours leaves the desired motion by {VISIBLE:g} rad at {left:.2f} s, the paper's at about "
        f"{LEFT[case.name]:g} s. The reason, and why the times differ, is explained below."
    )


def _rest(report: Report, name: str, where: str, curves: list[np.ndarray]) -> None:
    ends = max(float(np.abs(x[[0, -1]]).max()) for x in curves)
    report.compare(f"rates and accelerations of the {name} at both ends, at most", where, 0.0, ends, "rad/s, rad/s^2",
                   1e-12, told="vanish", digits=1)  # fmt: skip


# ---- numbers in sentences --------------------------------------------------------------------------------


def _columns(t: np.ndarray, kinds, *units: str) -> dict[str, np.ndarray]:
    """The columns of a figure's data, with units; rates and accelerations have one and two primes."""
    data = {"t [s]": t}
    for k, (curves, unit) in enumerate(zip(kinds, units or ("rad", "rad/s", "rad/s^2"), strict=True)):
        data |= {f"{name}{k * chr(39)} [{unit}]": values for name, values in curves.items()}
    return data


def _padded(values: np.ndarray, t: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Values at these times; NaN beyond their end."""
    return np.interp(times, t, values, right=np.nan)


def _peaks(curves: Mapping[str, np.ndarray]) -> str:
    return ", ".join(f"{np.abs(x).max():.4f}" for x in curves.values())


def _inertial(case: Case) -> float:
    """The largest torque due to motion."""
    need, still = case.need, np.zeros_like(case.need.v)
    return float(np.abs(need.u - case.model.inverse_dynamics(need.q, still, still, check=False)).max())


def _kept(run: Trajectory) -> float:
    return float(np.ptp(run.energy) / run.energy.kinetic.max())


def _period(run: Trajectory) -> float:
    """Twice the time until the crank first comes to rest, interpolating its rate."""
    rate = run.rate("A")
    k = int(np.argmax((rate[1:-1] > 0) & (rate[2:] <= 0))) + 1
    return float(2 * (run.t[k] + (run.t[k + 1] - run.t[k]) * rate[k] / (rate[k] - rate[k + 1])))
