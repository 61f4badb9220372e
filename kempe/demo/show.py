"""The demonstration: a four-bar falls, an excavator digs by the forces that inverse dynamics asks for."""

import time
from html import escape
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape as plain

import kempe as kp
from kempe.gallery.excavator import LENGTHS, dig, excavator
from kempe.gallery.loops import four_bar
from kempe.whole import write_whole

FALL, DIG = 5.0, 8.0  # seconds
FINE = 0.002  # seconds between the forces the excavator is given
TOLERANCE = 1e-10


class Story:
    """Lines of what happens, on the screen as it happens and on the page."""

    def __init__(self, console: Console):
        self.console, self.lines = console, [""]

    def tell(self, what: str, text: str) -> None:
        """A line, after a word that says what it is about."""
        self.console.print(f"  [bold]{what:<10}[/] {plain(text)}", highlight=False, soft_wrap=True)
        self.lines[-1] += f"<dt>{escape(what)}</dt><dd>{escape(text)}</dd>"

    def chapter(self, title: str) -> None:
        """What follows is about something else."""
        self.console.print(f"[bold]{plain(title)}[/]", highlight=False)
        self.lines.append("")


def show(folder: Path, console: Console) -> None:
    """Everything `kempe demo` does."""
    folder.mkdir(parents=True, exist_ok=True)
    story = Story(console)
    files = [*_four_bar(folder, story), *_excavator(folder, story)]
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    page = template.replace("@FOUR-BAR@", story.lines[1]).replace("@EXCAVATOR@", story.lines[2])
    files.append(write_whole(folder / "index.html", page))
    console.print(f"wrote      {', '.join(path.name for path in files)}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"look at    {folder / 'index.html'}", highlight=False, markup=False, soft_wrap=True)


def _four_bar(folder: Path, story: Story) -> list[Path]:
    """Free fall from rest."""
    story.chapter("A four-bar falls")
    model = _understood(four_bar(), story)
    start = model.assemble({"A": 90 * kp.deg}, near={"D": 70 * kp.deg})
    with story.console.status("compiling; the integrator, once on a machine, takes half a minute"):
        run = _quickest(model, start, FALL, None)
    _timed(run, f"{FALL:g} s from rest with the crank up", story)
    energy = run.energy
    drift = np.abs(energy.total - energy.total[0]).max() / energy.kinetic.max()
    story.tell(
        "kept", f"energy to {drift:.0e} of the largest kinetic energy, the loop closed to {run.closure.max():.0e}"
    )
    return _drawn(run, folder, "four-bar", ["coupler.pen"])


def _excavator(folder: Path, story: Story) -> list[Path]:
    """Inverse dynamics of a motion, then a run under the forces found."""
    story.chapter("An excavator digs")
    model = _understood(excavator(), story)
    need = dig(model, DIG, output=FINE)
    largest = ", ".join(f"{name} {np.abs(need.torque(name)).max() / 1000:.0f} kN" for name in LENGTHS)
    story.tell("inverse", f"what the motion asks of the cylinders, at most: {largest}")
    start, forces = need.at(0.0), kp.Table(need.t, need.u, between="cubic")
    with story.console.status("compiling"):
        run = _quickest(model, start, DIG, forces)
    _timed(run, f"{DIG:g} s under just these forces, nothing else guiding it", story)
    off = np.linalg.norm(run.point("bucket.tooth") - need.resample(run.t).point("bucket.tooth"), axis=1).max()
    told = f"the tooth on the motion to {off * 1000:.2g} mm, all loops closed to {run.closure.max():.0e}"
    story.tell("kept", told)
    return _drawn(run, folder, "excavator", ["bucket.tooth"])


def _understood(mechanism: kp.Mechanism, story: Story) -> kp.Model:
    """What Kempe finds out by itself."""
    begun = time.perf_counter()
    moves = mechanism.mobility()
    count, loops = len(moves.redundant), len(mechanism.topology().loops)
    story.tell(
        "mobility",
        f"{loops} loop{'s' * (loops > 1)}, freedom {moves.freedom} by rank where counting gives {moves.gruebler}: "
        f"{count} constraints are redundant",
    )
    model = mechanism.compile()
    story.tell("equations", f"{model.why} ({time.perf_counter() - begun:.1f} s to find out)")
    return model


def _quickest(model: kp.Model, start: kp.State, duration: float, torque: kp.Table | None) -> kp.Trajectory:
    """Of a few runs, all alike: the first compiles on its way, and other programs may have got in that of another."""
    runs = [model.simulate(start, duration, torque=torque, tolerance=TOLERANCE) for _ in range(6)]
    return min(runs, key=lambda run: run.statistics.seconds)


def _timed(run: kp.Trajectory, what: str, story: Story) -> None:
    spent, changes = run.statistics.seconds, run.statistics.changes
    anew = f"; coordinates were chosen anew {changes} times on the way" if changes else ""
    speed = f"{run.end / spent:.0f} simulated seconds per second"
    story.tell("simulated", f"{what}, in {spent * 1000:.1f} ms once compiled: {speed}{anew}")


def _drawn(run: kp.Trajectory, folder: Path, name: str, points: list[str]) -> list[Path]:
    overview, strip, page = folder / f"{name}.png", folder / f"{name}-strip.png", folder / f"{name}.html"
    run.plot("overview", overview)
    return [overview, run.strip(strip, points=points), run.animate(page, points=points)]
