"""Figures of paper 4."""

from typing import TYPE_CHECKING

import numpy as np

from kempe.gallery.puma import JOINTS
from kempe.papers.sheets import BLUE, DASHES, GRAY, ORANGE, sheet
from kempe.results.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _six(draw, unit: str) -> "Figure":
    """One panel for every joint."""
    figure, axes = sheet(3, 2, (9, 8))
    for k, (each, name) in enumerate(zip(axes.flat, JOINTS, strict=True)):
        draw(each, k)
        each.set_title(f"({'abcdef'[k]}) {name}", fontsize=10)
        each.set_ylabel(unit, fontsize=9)
    for each in axes[-1]:
        each.set_xlabel("time [s]")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def torques(need: Trajectory) -> "Figure":
    """Figure 4."""
    return _six(lambda axes, k: axes.plot(need.t, need.u[:, k], color=BLUE), "torque [N m]")


def simulated(run: Trajectory, wanted: np.ndarray) -> "Figure":
    """Figure 5."""

    def draw(axes: "Axes", k: int) -> None:
        axes.plot(run.t, run.q[:, k], color=BLUE, label="simulated")
        axes.plot(run.t, wanted[:, k], color=GRAY, dashes=DASHES, label="desired")

    return _six(draw, "angle [rad]")


def errors(t: np.ndarray, found: dict[str, np.ndarray]) -> "Figure":
    """Figure 6, on a logarithmic scale."""

    def draw(axes: "Axes", k: int) -> None:
        for (name, values), color, dashes in zip(found.items(), (BLUE, ORANGE), ((1, 0), DASHES), strict=True):
            axes.semilogy(t, np.maximum(values[:, k], 1e-17), color=color, dashes=dashes, label=name)
        axes.set_ylim(1e-16, 10)

    return _six(draw, "error [rad]")


def accelerations(t: np.ndarray, wanted: np.ndarray, runs: dict[str, Trajectory]) -> "Figure":
    """Figure 7."""
    figure, axes = sheet(2, 1, (8, 6))
    for k, (each, (name, run)) in enumerate(zip(axes.flat, runs.items(), strict=True)):
        each.plot(t, run.acceleration("joint3"), color=(BLUE, ORANGE)[k], label=f"simulated, {name}")
        each.plot(t, wanted, color=GRAY, dashes=DASHES, label="desired")
        each.set_ylim(-12, 12)
        each.set_ylabel("acceleration [rad/s$^2$]")
        each.legend(frameon=False, loc="upper left")
    axes.flat[-1].set_xlabel("time [s]")
    return figure


def powers(t: np.ndarray, power: dict[str, np.ndarray]) -> "Figure":
    """Figure 8."""
    figure, axes = sheet(2, 1, (8, 6))
    for k, (each, name) in enumerate(zip(axes.flat, ("recursive", "nonrecursive"), strict=True)):
        each.plot(t, power[name], color=(BLUE, ORANGE)[k], label=f"simulated, {name}")
        each.plot(t, power["desired"], color=GRAY, dashes=DASHES, label="desired")
        each.set_ylabel("power [W]")
        each.legend(frameon=False, loc="upper left")
    axes.flat[-1].set_xlabel("time [s]")
    return figure


def growth(t: np.ndarray, rates: np.ndarray, times: np.ndarray, size: np.ndarray) -> "Figure":
    """The largest eigenvalue along the motion, and the error of a run."""
    figure, axes = sheet(2, 1, (8, 6))
    top, bottom = axes.flat
    top.plot(t, rates, color=BLUE)
    top.set_ylabel("growth rate [1/s]")
    bottom.semilogy(times, np.maximum(size, 1e-17), color=BLUE)
    bottom.set(ylabel="largest error [rad]", xlabel="time [s]", ylim=(1e-16, 10))
    return figure


def times(spent: dict[str, float]) -> "Figure":
    """Figure 9."""
    figure, axes = sheet(1, 1, (6, 3.2))
    bars = axes[0, 0].barh(list(spent), list(spent.values()), color=(BLUE, ORANGE), height=0.5)
    axes[0, 0].bar_label(bars, fmt="%.2f ms", padding=4)
    axes[0, 0].set(xlabel="wall time of 6 s of simulation [ms]", xlim=(0, 1.2 * max(spent.values())))
    axes[0, 0].invert_yaxis()
    return figure
