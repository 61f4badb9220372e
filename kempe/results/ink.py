"""Ink: the style of plots: figures, colours, legends, and names escaped for Matplotlib."""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.5  # of a panel, in inches
FONT = 8


def figure(width: float, height: float) -> "Figure":
    """A figure of this size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def empty(why: str) -> "Figure":
    """A figure with only a text that explains why it is empty."""
    paper = figure(WIDTH, 2.4)
    paper.text(0.5, 0.45, why, ha="center", fontsize=FONT, color="0.4")
    return paper


def colours(count: int) -> list:
    """`count` colours that are as distinct as possible."""
    import matplotlib as mpl

    if count <= 10:
        return list(mpl.colormaps["tab10"].colors)[:count]  # type: ignore[attr-defined]
    return [mpl.colormaps["turbo"](x) for x in np.linspace(0.03, 0.97, count)]


def tidy(axes: "Axes") -> None:
    """Sets a light grid, small numbers, and no box."""
    axes.grid(lw=0.4, color="0.88")
    axes.tick_params(labelsize=FONT - 1)
    axes.yaxis.get_offset_text().set_fontsize(FONT - 1)
    axes.spines[["top", "right"]].set_visible(False)


def legend(axes: "Axes", names: Sequence[str], height: float) -> None:
    """Puts a legend next to the axes, in as many columns as needed."""
    size = FONT if len(names) <= 12 else FONT - 2
    fits = max(1, int(height * 72 / (size * 1.35)) - 1)
    axes.legend(
        axes.get_lines()[: len(names)],
        [_legend_text(name) for name in names],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        borderaxespad=0.0,
        fontsize=size,
        ncols=ceil(len(names) / fits),
        labelspacing=0.25,
        handlelength=1.4,
        columnspacing=1.0,
        frameon=False,
    )


def plain(text: str) -> str:
    """A name on one line, with dollar signs escaped, which would start a formula."""
    return " ".join(text.split()).replace("$", r"\$")


def unit(of: str) -> str:
    """A unit in print form."""
    return of.replace("^2", "\u00b2").replace("N m", "N\u00b7m")


def _legend_text(name: str) -> str:
    """A name for a legend; Matplotlib would leave out names that start with an underscore."""
    return " " + plain(name) if name.startswith("_") else "\n".join(map(plain, name.split("\n")))
