"""Figures of paper 5."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kempe.papers.paper5.runs import Gaps
from kempe.papers.sheets import BLUE, DASHES, GRAY, GREEN, ORANGE, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = BLUE, ORANGE, GREEN
LEAST = 1e-17  # of differences on logarithmic axes

Curves = Mapping[str, np.ndarray]
Panels = Mapping[str, tuple[str, Curves]]  # by title: the unit, and curves by name


def named(names: tuple[str, ...], values: np.ndarray) -> dict[str, np.ndarray]:
    """Columns (n, names) by name."""
    return dict(zip(names, values.T, strict=True))


def columns(t: np.ndarray, groups: Mapping[str, Curves]) -> dict[str, np.ndarray]:
    """The columns of a data file: time, and every curve by its name and the label of its group."""
    return {"t [s]": t} | {f"{name}{what}": x for what, curves in groups.items() for name, x in curves.items()}


def _beside(axes: "Axes") -> None:
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def stiffness(at: Gaps, over: Gaps, bound: np.ndarray, printed: tuple[float, float]) -> "Figure":
    """Figure 6: gaps over stiffness, (a) at one time and (b) over a run; bound: 2 |lambda| / k for each panel."""
    figure, axes = sheet(1, 2, (10.5, 4.4))
    first, second = axes[0]
    first.loglog(at.k, at.end, color=BLUE, lw=0.9, label="e(0.1 s)")
    first.loglog(*printed, "*", color="black", ms=10, label="as the paper reads it")
    first.set_title("(a) at 0.1 s, and up to then", fontsize=10)
    second.set_title("(b) over 2 s", fontsize=10)
    for axis, found, limit in zip((first, second), (at, over), bound, strict=True):
        axis.loglog(found.k, found.largest, color=ORANGE, label="largest")
        axis.loglog(found.k, found.rms, color=GREEN, label="root mean square")
        axis.loglog(found.k, limit / found.k, color=GRAY, dashes=DASHES, label="2 max |λ| / k")
        axis.set(xlabel="stiffness k [N/m]", ylabel="gap e at B [m]")
        axis.legend(frameon=False, fontsize=9)
    return figure


def over_time(t: np.ndarray, panels: Panels, behind: Sequence[Curves] = (), label: str = "") -> "Figure":
    """Figures 7, 10, 11 and 13: stacked panels, with reference curves dashed."""
    figure, axes = sheet(len(panels), 1, (8, 1.2 + 2.6 * len(panels)))
    for k, (axis, (title, (unit, curves))) in enumerate(zip(axes[:, 0], panels.items(), strict=True)):
        for (name, values), color in zip(curves.items(), COLORS, strict=False):
            axis.plot(t, values, color=color, label=name)
        for n, values in enumerate(behind[k].values() if behind else ()):
            axis.plot(t, values, color="black", lw=0.8, dashes=DASHES, label=None if n else label)
        axis.set_ylabel(unit)
        axis.set_title(f"({'abcdef'[k]}) {title}" if len(panels) > 1 else title, fontsize=10)
        _beside(axis)
    axes[-1, 0].set_xlabel("time [s]")
    return figure


def differences(t: np.ndarray, pairs: Mapping[str, tuple[Curves, Curves]]) -> "Figure":
    """Figures 8 and 12: differences of angles and of rates, one column for each pair of approaches."""
    figure, axes = sheet(2, len(pairs), (1 + 4.0 * max(len(pairs), 1.6), 5.6))
    for column, (title, kinds) in zip(axes.T, pairs.items(), strict=True):
        for axis, curves, unit in zip(column, kinds, ("[rad]", "[rad/s]"), strict=True):
            for (name, values), color in zip(curves.items(), COLORS, strict=False):
                axis.plot(t, values, color=color, lw=0.8, label=name)
            axis.set_ylabel(f"difference {unit}")
            axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
        column[0].set_title(title, fontsize=10)
        column[-1].set_xlabel("time [s]")
    _beside(axes[0, -1])
    return figure


def platform(t: np.ndarray, shown: Panels, behind: Sequence[Curves], apart: Curves, open_: Curves) -> "Figure":
    """Figure 14: positions, angles and their rates, exact ones dashed; then differences of runs, and gaps."""
    figure, axes = sheet(3, 2, (11, 9))
    for k, (axis, (title, (unit, curves))) in enumerate(zip(axes.flat, shown.items(), strict=False)):
        for (name, values), color in zip(curves.items(), COLORS, strict=True):
            axis.plot(t, values, color=color, label=name)
        for n, values in enumerate(behind[k].values()):
            axis.plot(t, values, color="black", lw=0.8, dashes=DASHES, label=None if n else "sslm")
        axis.set(ylabel=unit)
        axis.set_title(f"({'abcd'[k]}) {title}", fontsize=10)
    for axis, curves, title, unit in (
        (axes[2, 0], apart, "(e) how far platforms are apart", "distance [m]"),
        (axes[2, 1], open_, "(f) at the cuts, the largest", "gap [m], rate [m/s]"),
    ):
        for (name, values), color in zip(curves.items(), COLORS, strict=False):
            axis.semilogy(t, np.maximum(values, LEAST), color=color, lw=0.9, label=name)
        axis.set(ylabel=unit, xlabel="time [s]")
        axis.set_title(title, fontsize=10)
    axes[2, 0].set_ylim(1e-13, 10)
    axes[2, 1].set_ylim(1e-8, 10)
    for axis in axes.flat:
        axis.legend(frameon=False, fontsize=8)
    return figure
