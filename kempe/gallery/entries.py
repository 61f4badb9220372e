"""The gallery: mechanisms by name, each with a sentence, a source and a default run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kempe.gallery import benchmarks, excavator, linkages, loops, parallel, puma, swing, trees, two_arms
from kempe.mechanics.state import State
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory


class Run(Protocol):
    """A default run; options are those of `Model.simulate`."""

    def __call__(self, model: Model, duration: float, **options) -> Trajectory: ...  # noqa: D102


@dataclass(frozen=True)
class Entry:
    """A mechanism of the gallery.

    run: its default run of `duration` seconds; story: what happens in it. checked: what the tests compare it with.
    points: markers whose paths are drawn.
    start: the initial state of that run, for closed mechanisms whose run is integrated.
    """

    name: str
    sentence: str
    source: str
    build: Callable[[], Mechanism]
    run: Run
    duration: float
    story: str
    checked: str
    points: tuple[str, ...] = ()
    start: Callable[[Model], State] | None = None


ENTRIES = {
    entry.name: entry
    for entry in (
        Entry(
            "puma",
            "a six-axis arm of slender links with a wrist of hubs",
            "Mohan and Saha (2007), Table 2",
            puma.puma,
            puma.forced,
            6.0,
            "forced by the torques of inverse dynamics for eq. 38, open-loop; it leaves the motion shortly before 6 s",
            "the paper",
            ("link6.end",),
        ),
        Entry(
            "double-pendulum",
            "two rods on two hinges",
            "Kempe",
            trees.double_pendulum,
            trees.fall,
            10.0,
            "falls from stretched out to the side",
            "its energy",
            ("lower.end",),
        ),
        Entry(
            "crane",
            "a slewing and luffing boom with a guy spring and a load on a ball joint",
            "Kempe",
            trees.crane,
            trees.swing,
            8.0,
            "slews a quarter turn and luffs under PD control; the load swings behind",
            "where it arrives, its power balance",
            ("load.origin",),
        ),
        Entry(
            "brick",
            "a free body with three different moments of inertia",
            "Kempe",
            trees.brick,
            trees.spin,
            20.0,
            "spun about its middle axis, it turns over again and again",
            "it turns over, its power balance",
        ),
        Entry(
            "excavator",
            "boom, stick and bucket with three cylinders: eleven bodies, four loops, three freedoms",
            "after Koul, Shah, Saha and Manivannan (2014), Figure 1; sizes are ours",
            excavator.excavator,
            excavator.dig,
            8.0,
            "reaches out, draws the bucket in, and lifts it: the forces of its cylinders",
            "distances between pins",
            ("bucket.tooth",),
        ),
        Entry(
            "four-bar",
            "a crank-rocker: three bars and the ground",
            "Saha and Schiehlen (2001)",
            loops.four_bar,
            loops.turn_crank,
            4.0,
            "one turn of the crank, and the torque it takes",
            "circles that meet, the paper",
            ("coupler.pen",),
        ),
        Entry(
            "five-bar",
            "a planar parallel manipulator with two motors",
            "Saha and Schiehlen (2001)",
            loops.five_bar,
            loops.draw,
            20.0,
            "its motors follow eq. 38: their torques",
            "circles that meet, the paper",
            ("left lower.end",),
        ),
        Entry(
            "scissor-lift",
            "two crossed bars under a deck",
            "Kempe",
            loops.scissor_lift,
            loops.lift,
            4.0,
            "its shoe is drawn in and let out again: the force that takes",
            "Pythagoras, a level deck",
        ),
        Entry(
            "slider-crank",
            "crank, rod and piston",
            "Kempe",
            loops.slider_crank,
            loops.turn_engine,
            4.0,
            "two turns of the crank, and the torque they take",
            "the piston's formula",
        ),
        Entry(
            "3-rrr",
            "a plane platform on three legs of two bars",
            "Koul, Shah, Saha and Manivannan (2014); sizes from ReDySim",
            loops.three_rrr,
            loops.sway,
            4.0,
            "its three motors swing, a third of a period apart: their torques",
            "circles, the paper",
            ("platform.origin",),
        ),
        Entry(
            "stewart",
            "a Gough-Stewart platform with universal joints below and balls above",
            "Kempe",
            loops.stewart,
            loops.heave,
            4.0,
            "its legs swing in pairs: their forces",
            "given leg lengths",
            ("platform.origin",),
        ),
        Entry(
            "bricard",
            "six hinges in a ring that by counting should not move",
            "the multibody benchmarks, problem A04",
            loops.bricard,
            loops.fold,
            10.0,
            "falls from rest, folds and comes back; the published run",
            "angles of a published run, energy",
            ("bar3.end",),
            loops.along_a_cube,
        ),
        Entry(
            "sarrus",
            "two pairs of hinged plates that guide a table straight",
            "Sarrus (1853); sizes are ours",
            loops.sarrus,
            loops.raise_table,
            4.0,
            "the table goes up and down: the torque that takes",
            "a level table, its height",
            ("table.origin",),
        ),
        Entry(
            "wang-four-bar",
            "a crank-rocker with a long coupler",
            "Wang, Gosselin and Cheng (2002), section 3.1",
            linkages.wang_four_bar,
            linkages.turn_wang,
            4.0,
            "one turn of the crank, from the paper's start, and the torque it takes",
            "the paper's start and energies, circles",
            ("coupler.middle",),
        ),
        Entry(
            "watt",
            "Watt's first six-bar: two loops, one freedom",
            "Kempe",
            linkages.watt,
            linkages.turn_watt,
            4.0,
            "one turn of the crank, and the torque it takes",
            "circles",
            ("upper.end",),
        ),
        Entry(
            "stephenson",
            "Stephenson's third six-bar: two loops, one freedom",
            "Kempe",
            linkages.stephenson,
            linkages.turn_stephenson,
            4.0,
            "one turn of the crank, and the torque it takes",
            "circles",
            ("coupler.pen",),
        ),
        Entry(
            "leg",
            "a Hoeken linkage that moves a pantograph: seven links, three loops",
            "ReDySim",
            linkages.leg,
            linkages.step,
            4.0,
            "one turn of the crank: the foot goes straight, and back in an arc under that; the torque it takes",
            "ReDySim's start, circles, enlargement",
            ("link6.end",),
        ),
        Entry(
            "carpet-scraper",
            "the leg's linkage in an industrial machine",
            "Koul, Shah, Saha and Manivannan (2014), Table 1; one pivot is ours",
            linkages.carpet_scraper,
            linkages.scrape,
            4.0,
            "one turn of the crank: a straight stroke, and back in an arc under that; the torque it takes",
            "circles, enlargement, the paper",
            ("link6.end",),
        ),
        Entry(
            "jansen",
            "the leg of Jansen's beach beasts: eight bars, three loops",
            "Jansen's thirteen numbers; masses are ours",
            linkages.jansen,
            linkages.walk,
            4.0,
            "one turn of the crank is one step; the torque it takes",
            "circles, bar after bar",
            ("foot.toe",),
        ),
        Entry(
            "andrews-squeezer",
            "seven bodies around one drive and a spring",
            "Test Set for Initial Value Problems; multibody benchmarks, problem A03",
            benchmarks.andrews_squeezer,
            benchmarks.squeeze,
            0.03,
            "the published run: 0.033 N m turn the drive faster and faster, 30 ms",
            "published closure, mass matrix, spring energy, states at t = 0 and 0.03, the run between them",
            ("K2.F",),
            benchmarks.squeezer_start,
        ),
        Entry(
            "n-four-bar",
            "two four-bars side by side, with more freedom wherever they lie flat",
            "the multibody benchmarks, problem A02",
            benchmarks.n_four_bar,
            benchmarks.tumble,
            10.0,
            "tumbles freely, over and over, and crosses the singular pose twice a turn; the published run",
            "parallel bars, energies, the freedoms it gains where it lies flat, energy kept through these",
            ("upright0.end",),
            benchmarks.upright_bars,
        ),
        Entry(
            "gough-stewart",
            "a light Gough-Stewart platform on six long legs",
            "Wang, Gosselin and Cheng (2002), section 3.2.3",
            parallel.gough_stewart,
            parallel.tilt_and_rise,
            6.0,
            "from the paper's start up, down and back: the forces of its legs",
            "the paper's start, distances, energies, the paper",
            ("platform.origin",),
        ),
        Entry(
            "delta",
            "Clavel's robot: three arms move a hand that never turns",
            "Clavel (1988); sizes are ours",
            parallel.delta,
            parallel.pick_and_place,
            4.0,
            "picks, places, and goes back: the torques of its motors",
            "spheres that meet, a hand that never turns",
            ("hand.origin",),
        ),
        Entry(
            "3-ruu",
            "three arms move a hand that never turns, by one rod each",
            "Kempe",
            parallel.three_ruu,
            parallel.circle,
            4.0,
            "the hand goes around a circle: the torques of its motors",
            "spheres that meet, a hand that never turns",
            ("hand.origin",),
        ),
        Entry(
            "swing",
            "a figure of 16 freedoms that hangs from two ropes by its hands: 34 velocities, two loops",
            "Yamane and Nakamura (1999), section 4; body after de Leva (1996), ropes are ours",
            swing.swing,
            swing.let_go,
            2.3,
            "swings forward, lets go with the left hand, then with the right one, and falls",
            "body table, energy, momentum, the paper",
            ("left forearm.palm", "right forearm.palm"),
            swing.hanging,
        ),
        Entry(
            "two-arms",
            "two arms of three hinges and one bar, held by welds that are switched",
            "Kempe",
            two_arms.two_arms,
            two_arms.pick_up,
            4.0,
            "both grippers take the bar off the table, put it on the shelf, and leave it there",
            "where grippers reach, Newton's law of the bar",
            ("bar.end",),
            two_arms.ready,
        ),
    )
}
