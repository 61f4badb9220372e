"""The gallery: mechanisms by name, each with a sentence, a source and a default run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kempe.gallery import excavator, loops, puma, trees
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory


class Run(Protocol):
    """A default run; options are those of `Model.simulate`."""

    def __call__(self, model: Model, duration: float, **options) -> Trajectory: ...  # noqa: D102


@dataclass(frozen=True)
class Entry:
    """A mechanism of the gallery.

    run: its default run, `duration` seconds of it; story: what happens in it. points: markers whose paths are drawn.
    """

    name: str
    sentence: str
    source: str
    build: Callable[[], Mechanism]
    run: Run
    duration: float
    story: str
    points: tuple[str, ...] = ()


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
        ),
        Entry(
            "excavator",
            "boom, stick and bucket with three cylinders: eleven bodies, four loops, three freedoms",
            "after Koul, Shah, Saha and Manivannan (2014), Figure 1; sizes are ours",
            excavator.excavator,
            excavator.dig,
            8.0,
            "reaches out, draws the bucket in, and lifts it",
            ("bucket.tooth",),
        ),
        Entry(
            "four-bar",
            "a crank-rocker: three bars and the ground",
            "Saha and Schiehlen (2001)",
            loops.four_bar,
            loops.turn_crank,
            4.0,
            "one turn of the crank",
            ("coupler.pen",),
        ),
        Entry(
            "five-bar",
            "a planar parallel manipulator with two motors",
            "Saha and Schiehlen (2001)",
            loops.five_bar,
            loops.draw,
            20.0,
            "its motors follow eq. 38",
            ("left lower.end",),
        ),
        Entry(
            "scissor-lift",
            "two crossed bars under a deck",
            "Kempe",
            loops.scissor_lift,
            loops.lift,
            4.0,
            "its shoe is drawn in and let out again",
        ),
        Entry(
            "slider-crank",
            "crank, rod and piston",
            "Kempe",
            loops.slider_crank,
            loops.turn_engine,
            4.0,
            "two turns of the crank",
        ),
        Entry(
            "3-rrr",
            "a plane platform on three legs of two bars",
            "Koul, Shah, Saha and Manivannan (2014); sizes from ReDySim",
            loops.three_rrr,
            loops.sway,
            4.0,
            "its three motors swing, a third of a period apart",
            ("platform.origin",),
        ),
        Entry(
            "stewart",
            "a Gough-Stewart platform with universal joints below and balls above",
            "Kempe",
            loops.stewart,
            loops.heave,
            4.0,
            "its legs swing in pairs",
            ("platform.origin",),
        ),
        Entry(
            "bricard",
            "six hinges in a ring that by counting should not move",
            "the multibody benchmarks, problem A04",
            loops.bricard,
            loops.fold,
            6.0,
            "it folds and unfolds",
            ("bar3.end",),
        ),
    )
}
