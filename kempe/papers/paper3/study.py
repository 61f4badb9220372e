"""Paper 3 reproduced: K. Yamane and Y. Nakamura (1999), section 4: a figure that lets go of a swing, and the costs."""

from collections.abc import Callable

import numpy as np

from kempe.gallery.figure import LIMITS, MASS, STATURE, TABLE
from kempe.gallery.swing import HANDS, RELEASES, SIDES, swing
from kempe.mechanism.mechanism import Mechanism
from kempe.papers.paper3 import costs, figures, runs
from kempe.papers.report import Report
from kempe.results.trajectory import Trajectory

TITLE = "Paper 3: the figure on a swing of Yamane and Nakamura (1999)"
TOLERANCES = 1e-6, 1e-8, 1e-10, 1e-12
GRAVITY = 9.81  # m/s^2


PRINTED = 16, 4, 6, 34, 2, 2  # freedoms of the figure, of a limb; balls; freedoms; loops; virtual links: section 4


def study(report: Report, say: Callable[[str], None]) -> None:
    """Runs the study and fills the report; `say` reports progress."""
    report.say(
        "K. Yamane and Y. Nakamura, Dynamics computation of closed kinematic chains for motion synthesis of human "
        "figures (1999), section 4: a figure of 16 freedoms holds a swing with six balls, 34 freedoms and two loops, "
        "and lets go with one hand or both. The text gives no sizes, masses or times; these are ours."
    )
    say("the figure and its swing")
    _body(report)
    _readings(report)
    say("operations")
    costs.operations(report)
    say("operations as loops are added")
    costs.growth(report)
    say("one hand lets go, then the other")
    model = runs.swings()[runs.SHORTEST]
    runs.released(model)  # first run, not timed, so that all structures are compiled
    run = runs.released(model)
    _released(report, run)
    say("energy")
    _energy(report)
    say("time of one evaluation")
    costs.times(report, run)


# ---- what is simulated -----------------------------------------------------------------------------------


def _body(report: Report) -> None:
    report.heading("The figure")
    rows = [[name, f"{100 * x.mass:.2f}", f"{1e3 * x.length:.1f}", f"{100 * x.center:.2f}",
             ", ".join(f"{100 * r:.1f}" for r in x.radii)] for name, x in TABLE.items()]  # fmt: skip
    header = ["segment", "mass [%]", "length [mm]", "centre of mass [%]", "radii of gyration [%]"]
    caption = f"After de Leva (1996), Table 4, males: {MASS:g} kg, {STATURE:g} m; radii about the axes forward, to the "
    report.table("body", caption + "left, and along the segment", header, rows)
    rows = [[joint, *(f"{low:g} to {high:g}" for low, high in pairs)] for joint, pairs in LIMITS.items()]
    report.table("limits", "Limits of joints [deg]: flexion and abduction of shoulders and hips, twist and flexion of "
                 "elbows and knees", ["joint", "first", "second"], rows)  # fmt: skip
    report.say(
        "Two freedoms each in shoulders, elbows, hips and knees make 4 for each arm and leg. No torque acts but those "
        "of smooth stops at these limits, as in the paper: 'zero torques except for the case when we need to restrict "
        "the joint angles within their limits'."
    )


def _readings(report: Report) -> None:
    report.heading("34 freedoms and two loops")
    rows = [[name, *reading(swing(bar))] for name, bar in (("hands on ropes by balls", False), ("on a bar", True))]
    header = ["reading", "freedoms of joints N_J", "independent loops of joints", "N_F", "velocities of the tree",
              "joints cut", "their equations"]  # fmt: skip
    report.table("readings", "Two readings of section 4", header, rows)
    counted(report, swing())
    balls, bar = (row[1:] for row in rows)
    report.compare(
        "independent loops of joints, by both readings", "section 4", PRINTED[4], (balls[1], bar[1]), reason="If hands "
        "hold ropes by two of the six balls there is one loop of joints, and two if the figure is thought of as "
        "floating, by its hands; if they are welded to a bar there are two of joints.",
    )  # fmt: skip
    report.compare("N_J, freedoms of all joints, by both readings", "section 4", PRINTED[3], (balls[0], bar[0]))
    report.say(
        f"'The swing consists of six spherical joints, thus we have 34 degrees of freedom and two closed loops in "
        f"total', and the hands hold it by two virtual links. If the hands' joints are two of the six balls, N_J = 16 "
        f"+ 18 = 34, and there are two loops if the figure is thought of as floating, by its two hands; of the joints "
        f"alone there is one. If all six balls are in the swing, and hands are welded to its bar, N_J = 34 and there "
        f"are two loops of joints. N_F = N_J - m (14) is {balls[2]} or {bar[2]}. Runs and times are of the first "
        f"reading, in which the tree has 34 velocities too."
    )


def counted(report: Report, mechanism: Mechanism) -> None:
    """Compares freedoms of the figure and balls of the swing, joint by joint."""
    free = {joint.name: len(joint.type.v_names) for joint in mechanism.joints if joint.name != "flight"}
    balls = sum(number == 3 for number in free.values())
    figure = sum(number for number in free.values() if number != 3)
    arm = sum(free[f"left {name}"] for name in ("shoulder", "elbow"))
    virtual = sum(loop.joint.name in HANDS for loop in mechanism.topology().loops)
    report.compare("freedoms of the figure, and of a limb", "section 4, Fig. 7", PRINTED[:2], (figure, arm))
    report.compare("spherical joints of the swing", "section 4", PRINTED[2], balls)
    report.compare("virtual links, each at a hand that can let go", "section 4", PRINTED[5], virtual)


def reading(mechanism: Mechanism) -> tuple[int, int, int, int, int, int]:
    """N_J, independent loops without the floating joint, freedom, velocities of the tree, cuts, and equations of the
    cuts."""
    model, joints = mechanism.compile("partition"), [x for x in mechanism.joints if x.name != "flight"]
    freedoms = sum(len(joint.type.v_names) for joint in joints)
    rows = sum(loop.joint.rows for loop in model.topology.loops)
    loops = len(joints) - len(mechanism.bodies)
    return freedoms, loops, model.dof, model.nv, len(model.topology.loops), rows


# ---- the run ---------------------------------------------------------------------------------------------


def _released(report: Report, run: Trajectory) -> None:
    report.heading("Released one hand at a time")
    palms = tuple(f"{side} forearm.palm" for side in SIDES)
    title = "the left hand lets go at {:g} s, the right one at {:g} s".format(*RELEASES.values())
    report.animation("swing", f"The run: {title}", lambda path: run.animate(path, points=palms))
    report.picture("strip", f"The run, {title}", lambda path: run.strip(path, 9))
    t, energy, center = run.t, run.energy, runs.figure_center(run)
    forces = {hand: np.linalg.norm(run.reaction(hand)[:, 3:], axis=1) for hand in HANDS}
    panels = {
        "height [m]": {f"{side} hand": run.point(f"{side} forearm.palm")[:, 2] for side in SIDES}
        | {"figure's centre of mass": center[:, 2]},
        "energy [J]": {"kinetic": energy.kinetic, "potential": energy.potential, "total": energy.total},
        "force at the hand [N]": forces,
    }
    data = {"t [s]": t} | {f"{name}, {label}": x for label, curves in panels.items() for name, x in curves.items()}
    report.figure("released", f"Heights, energies and forces; {title}", figures.over_time(t, panels, RELEASES), data)
    rows = [[f"{span.start:g} to {span.end:g}", ", ".join(span.on) or "nothing", run.model.switched(
        {hand: hand in span.on for hand in HANDS}).dof, *(f"{x[span.rows].max():.0f}" for x in forces.values()),
        f"{run.closure[span.rows].max():.0e}"] for span in run.structure]  # fmt: skip
    header = ["time [s]", "on", "freedom", *(f"largest force, {hand} [N]" for hand in HANDS), "closure"]
    report.table("structures_of_the_run", "Structures over time", header, rows)
    flight = run.structure[-1].rows
    fall = np.polyfit(t[flight] - t[flight][0], center[flight], 2)
    off = np.abs(np.polyval(fall[:, 2], t[flight] - t[flight][0]) - center[flight, 2]).max()
    lost = energy.total[0] - energy.total[-1]
    report.say(
        f"Coordinates are the same for all three structures, and no velocity jumps: letting go causes no impulse. "
        f"After both hands let go, the figure's centre of mass falls with {-2 * fall[0, 2]:.9f} m/s^2, on a parabola "
        f"to within {off:.0e} m, whatever its limbs do. Stops took {lost:.1f} J in total; power balances to "
        f"{np.abs(run.power.imbalance).max() / np.abs(run.power.energy_rate).max():.0e} of the largest. The weight of "
        f"the figure is {MASS * GRAVITY:.0f} N; one hand alone bears up to {max(x.max() for x in forces.values()):.0f} "
        f"N when the body stretches to its limits. The run takes {1e3 * run.statistics.seconds:.0f} ms and "
        f"{run.statistics.evaluations} evaluations, after compilation."
    )


def _energy(report: Report) -> None:
    report.heading("Energy without switching")
    rows = []
    for tolerance in TOLERANCES:
        found = [runs.held(runs.swings()[way], tolerance) for way in ("partition", "sslm")]
        rows.append([f"{tolerance:.0e}", *(f"{runs.kept(x):.1e}" for x in found),
                     *(f"{x.closure.max():.0e}" for x in found), found[1].statistics.evaluations])  # fmt: skip
    header = ["tolerance", "energy, partition", "energy, sslm", "closure, partition", "closure, sslm", "evaluations"]
    report.table("energy", f"{runs.HELD:g} s on the swing, both hands on and no limits: the largest change of energy, "
                 "over the largest kinetic energy", header, rows)  # fmt: skip
    least = min(float(row[1]) for row in rows)
    report.say(f"The system is conservative, and energy is conserved to {least:.0e} at the tightest tolerance.")
