"""The demonstration itself: compile, simulate, draw, write a page."""

import base64
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

import kempe as kp
from kempe.demo.four_bar import FourBar

STEP, DURATION = 5e-4, 5.0
START = np.array([90 * kp.deg, 0.0])
SWARM = 64


@dataclass(frozen=True)
class Motion:
    """One run: times (n,), states (n, 2), points (n, 4, 2), energies (n,), loop gap (n, 2)."""

    t: np.ndarray
    x: np.ndarray
    points: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    gap: np.ndarray

    @property
    def energy_drift(self) -> float:
        """The largest change of total energy, as a part of the largest kinetic energy."""
        total = self.kinetic + self.potential
        return float(np.abs(total - total[0]).max() / self.kinetic.max())


def simulate(step: kp.Kernel, look: kp.Kernel, start: np.ndarray) -> Motion:
    """A run of DURATION seconds from `start`, at fixed step."""
    count = round(DURATION / STEP)
    x = np.empty((count + 1, 2))
    x[0] = start
    for k in range(count):
        step(x[k], STEP, out=x[k + 1])
    return Motion(np.arange(count + 1) * STEP, x, *look(x))


def show(folder: Path, console: Console) -> None:
    """Everything `kempe demo` does."""
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    linkage = FourBar()
    program = linkage.dynamics()
    console.print(f"[bold]{program.name}[/]: one loop, one freedom, the crank's angle")
    console.print(
        f"  traced     {kp.count(program).total} operations, {kp.count(program).sincos} of them sines and cosines"
    )
    dynamics, step, look = kp.Kernel(program), kp.Kernel(linkage.step()), kp.Kernel(linkage.look())
    console.print(f"  compiled   {time.perf_counter() - begun:.2f} s for three kernels (or from the cache)")

    begun = time.perf_counter()
    motion = simulate(step, look, START)
    spent = time.perf_counter() - begun
    console.print(
        f"  simulated  {DURATION:g} s of free fall in {spent * 1e3:.0f} ms\n"
        f"             energy kept to {motion.energy_drift:.0e} of its peak, "
        f"loop closed to {np.abs(motion.gap).max():.0e} m"
    )

    thetas = np.random.default_rng(0).uniform(0, 2 * np.pi, 1 << 16)
    rates = np.zeros_like(thetas)
    dynamics(thetas, rates)  # compiles the batch code
    begun = time.perf_counter()
    for _ in range(20):
        dynamics(thetas, rates)
    each = (time.perf_counter() - begun) / (20 * len(thetas))
    console.print(f"  batch      {each * 1e9:.0f} ns per evaluation, {dynamics.lanes} states at a time on one core")

    swarm = _swarm(step)
    pictures = _draw(folder, linkage, motion, swarm)
    page = folder / "index.html"
    page.write_text(_page(linkage, motion, pictures), encoding="utf-8")
    for path in (*pictures, page):
        console.print(f"  wrote      {path}")


def _swarm(step: kp.Kernel) -> np.ndarray:
    """Many starts at once: states (steps, SWARM, 2)."""
    x = np.column_stack([np.full(SWARM, -90 * kp.deg), np.linspace(0, 14, SWARM)])
    states = [x]
    for k in range(round(3.0 / STEP)):
        x = step(x, STEP)
        if k % 10 == 9:
            states.append(x)
    return np.array(states)


def _draw(folder: Path, linkage: FourBar, motion: Motion, swarm: np.ndarray) -> list[Path]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    paths = []

    def save(figure, name: str) -> None:
        paths.append(folder / name)
        figure.savefig(paths[-1], dpi=130)
        plt.close(figure)

    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    ghosts = motion.points[: round(0.9 / STEP) : round(0.06 / STEP)]
    for k, points in enumerate(ghosts):
        axes.plot(*points.T, "o-", color="tab:blue", alpha=0.12 + 0.3 * k / len(ghosts), lw=2, ms=3)
    coupler_point = (motion.points[:, 1] + motion.points[:, 2]) / 2
    axes.plot(*coupler_point.T, color="tab:red", lw=1, label="path of the coupler's middle")
    axes.plot(*motion.points[0].T, "o-", color="black", lw=3, label="start, at rest")
    axes.plot([0, linkage.ground], [0, 0], "^", color="0.4", ms=12, label="ground pivots")
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="Four-bar linkage in free fall, a pose every 0.06 s")
    axes.legend(loc="lower right", fontsize=8)
    save(figure, "linkage.png")

    figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(7, 6), sharex=True, layout="constrained")
    top.plot(motion.t, motion.x[:, 0] / kp.deg)
    top.set(ylabel="crank angle [deg]")
    middle.plot(motion.t, motion.kinetic, label="kinetic")
    middle.plot(motion.t, motion.potential - motion.potential.min(), label="potential, above its least")
    middle.set(ylabel="energy [J]")
    middle.legend(fontsize=8)
    total = motion.kinetic + motion.potential
    bottom.plot(motion.t, total - total[0], color="tab:green")
    bottom.set(ylabel="change of total [J]", xlabel="time [s]")
    save(figure, "motion.png")

    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    for k in range(swarm.shape[1]):
        angle = np.mod(swarm[:, k, 0] / kp.deg + 180, 360) - 180
        angle[np.abs(np.diff(angle, append=angle[-1])) > 180] = np.nan
        axes.plot(angle, swarm[:, k, 1], lw=0.7, color=plt.get_cmap("viridis")(k / swarm.shape[1]))
    title = f"{swarm.shape[1]} starts at once, from slow (dark) to fast (light)"
    axes.set(xlim=(-180, 180), xlabel="crank angle [deg]", ylabel="crank rate [rad/s]", title=title)
    save(figure, "phase.png")
    return paths


def _page(linkage: FourBar, motion: Motion, pictures: list[Path]) -> str:
    every = round(0.02 / STEP)
    frames = json.dumps(np.round(motion.points[::every], 4).tolist(), separators=(",", ":"))
    images = "\n".join(
        f'<img alt="{path.stem}" src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}">'
        for path in pictures
    )
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    facts = (
        f"Free fall from rest, {DURATION:g} s. Energy kept to {motion.energy_drift:.0e} of its peak; "
        f"loop closed to {np.abs(motion.gap).max():.0e} m. "
        f"Bars: crank {linkage.crank:g} m, coupler {linkage.coupler:g} m, rocker {linkage.rocker:g} m, "
        f"ground {linkage.ground:g} m."
    )
    for mark, text in (("@FACTS@", facts), ("@FRAMES@", frames), ("@IMAGES@", images), ("@DT@", f"{every * STEP:g}")):
        template = template.replace(mark, text)
    return template
