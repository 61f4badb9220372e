"""Figures of paper 2."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kempe.papers.sheets import BLUE, DASHES, GRAY, GREEN, ORANGE, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = BLUE, ORANGE, GREEN
LEAST = 1e-16  # of differences on logarithmic axes

Curves = Mapping[str, np.ndarray]


def runs(t: np.ndarray, free: Curves, forced: Curves, desired: Curves, errors: Curves) -> "Figure":
    """Figures 7 and 8: (a) free, (b) forced with desired angles dashed, (c) deviations of the motors."""
    figure, axes = sheet(3, 1, (8, 8.5))
    for axis, curves, title in zip(axes[:2, 0], (free, forced), ("(a) free", "(b) forced"), strict=True):
        for (name, values), color in zip(curves.items(), COLORS, strict=False):
            axis.plot(t, values, color=color, label=name)
        axis.set(ylabel="angle [rad]")
        axis.set_title(title, fontsize=10)
    for k, values in enumerate(desired.values()):
        axes[1, 0].plot(t, values, color=GRAY, dashes=DASHES, label=None if k else "desired")
    below = axes[2, 0]
    for (name, values), color, dashes in zip(errors.items(), (BLUE, ORANGE), ((1, 0), DASHES), strict=True):
        below.semilogy(t, np.maximum(values, LEAST), color=color, dashes=dashes, label=name)
    below.set(ylabel="largest deviation [rad]", xlabel="time [s]", ylim=(1e-12, 10))
    below.set_title("(c) forced, deviation from the desired angles", fontsize=10)
    for axis in axes[:, 0]:
        axis.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def operations(found: Mapping[str, Mapping[str, tuple[int, int]]]) -> "Figure":
    """Operations of both approaches, one panel for each mechanism."""
    figure, axes = sheet(1, len(found), (9.5, 3.4))
    for axis, (name, ways) in zip(axes[0], found.items(), strict=True):
        places = np.arange(len(ways))
        for k, (label, color) in enumerate((("SLM", BLUE), ("SSLM", ORANGE))):
            bars = axis.bar(places + 0.4 * k - 0.2, [pair[k] for pair in ways.values()], 0.38, color=color, label=label)
            axis.bar_label(bars, fontsize=8)
        axis.set_xticks(places, list(ways), fontsize=9)
        axis.set_title(name, fontsize=10)
        axis.set_ylabel("operations")
    axes[0, -1].legend(frameon=False, fontsize=9)
    return figure
