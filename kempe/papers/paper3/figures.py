"""Figures of paper 3's study."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kempe.papers.sheets import BLUE, DASHES, GRAY, GREEN, ORANGE, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Panels = Mapping[str, Mapping[str, np.ndarray]]  # by axis label: curves by name
MORE = "tab:red", "tab:purple", "tab:brown"


def over_time(t: np.ndarray, panels: Panels, marks: Mapping[str, float]) -> "Figure":
    """Stacked panels, with the times of switches marked."""
    figure, axes = sheet(len(panels), 1, (8.5, 1.0 + 2.4 * len(panels)))
    for k, (axis, (label, curves)) in enumerate(zip(axes[:, 0], panels.items(), strict=True)):
        for (name, values), color in zip(curves.items(), (BLUE, ORANGE, GREEN, GRAY), strict=False):
            axis.plot(t, values, color=color, lw=1.2, label=name)
        for name, at in marks.items():
            axis.axvline(at, color="black", lw=0.8, dashes=DASHES)
            if not k:
                axis.annotate(f"{name} off", (at, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -10),
                              textcoords="offset points", fontsize=8)  # fmt: skip
        axis.set_ylabel(label)
        axis.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes[-1, 0].set_xlabel("time [s]")
    return figure


def growth(families: Mapping[str, tuple[Sequence[int], Mapping[str, Sequence[int]]]]) -> "Figure":
    """Operations by part over the number of loops, one panel for each family (numbers of loops, and parts by name)."""
    figure, axes = sheet(1, len(families), (5.2 * len(families) + 1.5, 4.6))
    colors = (BLUE, ORANGE, GREEN, GRAY, *MORE)
    for axis, (title, (loops, parts)) in zip(axes[0], families.items(), strict=True):
        for (name, numbers), color in zip(parts.items(), colors, strict=False):
            axis.loglog(loops, numbers, "o-", ms=3, lw=1.2, color=color, label=name)
        axis.set(xlabel="loops", ylabel="operations")
        axis.set_xticks(loops, labels=map(str, loops))
        axis.xaxis.minorticks_off()
        axis.set_title(title, fontsize=10)
    axes[0, -1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
