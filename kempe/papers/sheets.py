"""Sheets: figures and axes for reports, in one style."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GRAY = "tab:blue", "tab:orange", "tab:green", "0.35"
DASHES = (4, 3)


def sheet(rows: int, columns: int, size: tuple[float, float]) -> "tuple[Figure, np.ndarray]":
    """A figure of this size [inch] and its axes (rows, columns), with shared x axes in columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, sharex="col", squeeze=False)
    for each in axes.flat:
        each.grid(color="0.9", lw=0.6)
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes
