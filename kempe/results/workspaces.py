"""Workspace plots: positions coloured by their distance from singular poses, and the singular curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.results import ink
from kempe.results.plots import write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kempe.analyze.workspace import Workspace

# Label and style of each kind of curve.
LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "parallel": ("type II: control is lost", {"color": "#c1121f", "lw": 1.6, "ls": (0, (5, 1.6))}),
    "serial": ("type I: a direction is lost", {"color": "0.1", "lw": 1.1, "ls": "-"}),
    "limit": ("a joint at its limit", {"color": "0.25", "lw": 1.0, "ls": (0, (1, 1.5))}),
    "outline": ("outline", {"color": "0.35", "lw": 0.9, "ls": "-"}),
}
REST = "0.9"
HEIGHT = 5.0


def draw(space: "Workspace", path: str | Path | None = None) -> "Figure":
    """Draws a workspace; also saves it if `path` is given."""
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    plane = space.plane
    wide, high = np.ptp(plane, axis=0)
    figure = ink.figure(ink.WIDTH, 0.9 + float(np.clip(0.62 * ink.WIDTH * high / max(wide, 1e-12), 2.6, 7.0)))
    axes: Any = figure.subplots()
    if len(space.rest):
        axes.add_collection(PolyCollection(list(space.rest), color=REST, lw=0.2, antialiased=False, rasterized=True))
    label, values = _measure(space)
    best = np.argsort(values[space.triangles].mean(axis=1), kind="stable")  # drawn last, on top
    # Rasterized in vector files, where thousands of triangles would be heavy.
    places = axes.tripcolor(*plane.T, space.triangles[best], values, shading="gouraud", cmap="viridis", rasterized=True)
    places.set_clim(0.0, float(values.max()))
    handles: list[Any] = []
    for kind, (name, style) in LINES.items():
        curves = [curve for curve in space.curves if curve.kind == kind]
        for curve in curves:
            axes.plot(*curve.plane.T, **style)
        if curves:
            handles.append(Line2D([], [], label=name, **style))
    axes.plot(*plane[0], "o", ms=5, mfc="white", mec="0.1")
    handles.append(Line2D([], [], ls="", marker="o", ms=5, mfc="white", mec="0.1", label="start"))
    if len(space.rest):
        handles.append(Patch(color=REST, label="beyond a type II curve"))
    for setter, name in zip((axes.set_xlabel, axes.set_ylabel), space.names, strict=True):
        setter(f"{name} [m]", fontsize=ink.FONT)
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    ink.tidy(axes)
    axes.set_axisbelow(True)
    bar = figure.colorbar(places, ax=axes, shrink=0.6, pad=0.02)
    bar.set_label(label, fontsize=ink.FONT)
    bar.ax.tick_params(labelsize=ink.FONT - 1)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=ink.FONT, frameon=False)
    name = ink.plain(space.model.mechanism.name)
    figure.suptitle(f"{name}: workspace of {ink.plain(space.point)}, {space.area:.4g} m²", fontsize=ink.FONT + 2)
    if path is not None:
        write(figure, path)
    return figure


def _measure(space: "Workspace") -> tuple[str, np.ndarray]:
    """The measure for colours: the distance from losing control, if it varies."""
    if space.parallel is not None and np.ptp(space.parallel) > 1e-9:
        return "parallel measure (0: control is lost)", space.parallel
    return "serial measure (0: a direction is lost)", space.serial
