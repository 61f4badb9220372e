"""The demonstration: an excavator digs by the forces that inverse dynamics asks of its cylinders."""

import time
from html import escape
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape as plain
from scipy.integrate import simpson

import kempe as kp
from kempe.gallery.excavator import LENGTHS, dig, excavator
from kempe.whole import write_whole

DIG = 8.0  # seconds
FINE = 0.002  # seconds between the forces that the cylinders are given
TOLERANCE = 1e-10
TURNS = 5  # runs, all alike, of which the quickest counts: the first compiles on its way


class Story:
    """Lines of what happens, on the screen as it happens and on the page."""

    def __init__(self, console: Console):
        self.console, self.page = console, ""

    def tell(self, what: str, text: str) -> None:
        """A line, after a word that says what it is about."""
        self.console.print(f"  [bold]{what:<10}[/] {plain(text)}", highlight=False, soft_wrap=True)
        self.page += f"<dt>{escape(what)}</dt><dd>{escape(text)}</dd>"


def show(folder: Path, console: Console) -> None:
    """Everything `kempe demo` does."""
    folder.mkdir(parents=True, exist_ok=True)
    story = Story(console)
    console.print("[bold]An excavator digs[/]", highlight=False)
    model = _understood(story)
    need = dig(model, DIG, output=FINE)
    largest = ", ".join(f"{name} {np.abs(need.torque(name)).max() / 1000:.0f} kN" for name in LENGTHS)
    story.tell("forces", f"what {DIG:g} s of it, without soil, ask of the cylinders, at most: {largest}")
    run = _simulated(model, need, story)
    files = [run.animate(folder / "excavator.html", points=["bucket.tooth"])]
    files.append(run.strip(folder / "poses.png", points=["bucket.tooth"]))
    run.plot("torques", folder / "forces.png")
    files.append(folder / "forces.png")
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    files.append(write_whole(folder / "index.html", template.replace("@STORY@", story.page)))
    console.print(f"wrote      {', '.join(path.name for path in files)}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"look at    {folder / 'index.html'}", highlight=False, markup=False, soft_wrap=True)


def _understood(story: Story) -> kp.Model:
    """What Kempe finds out by itself."""
    begun, mechanism = time.perf_counter(), excavator()
    moves, loops = mechanism.mobility(), len(mechanism.topology().loops)
    story.tell(
        "mobility",
        f"{loops} loops, freedom {moves.freedom} by rank where counting gives {moves.gruebler}: "
        f"{len(moves.redundant)} constraints are redundant; {moves.actuation}",
    )
    model = mechanism.compile()
    story.tell("equations", f"{model.why} ({time.perf_counter() - begun:.1f} s to find out)")
    return model


def _simulated(model: kp.Model, need: kp.Trajectory, story: Story) -> kp.Trajectory:
    """A run under the forces found, nothing else guiding it."""
    forces = kp.Table(need.t, need.u, between="cubic")
    with story.console.status("compiling; the integrators, once on a machine, take half a minute"):
        given = {"torque": forces, "tolerance": TOLERANCE, "output": FINE}
        runs = [model.simulate(need.at(0.0), DIG, **given) for _ in range(TURNS)]
    run = min(runs, key=lambda run: run.statistics.seconds)
    spent = run.statistics.seconds
    story.tell("simulated", f"{DIG:g} s under just these forces, nothing else guiding it, in {spent * 1000:.1f} ms")
    off = np.linalg.norm(run.point("bucket.tooth") - need.point("bucket.tooth"), axis=1).max()
    work, turned = (simpson(x, x=run.t) for x in (run.power.actuators, np.abs(run.power.actuators)))
    grown = run.energy.total[-1] - run.energy.total[0]
    balance = f"energy balanced to {abs(grown - work) / turned:.0e} of {turned / 1000:.0f} kJ turned over"
    told = f"loops closed to {run.closure.max():.0e}, {balance}, {run.end / spent:.0f} times faster than real time"
    story.tell("result", f"{told}; the tooth is on its motion to {off * 1000:.1g} mm")
    return run
