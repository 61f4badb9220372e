"""Figures of paper 1."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kempe.papers.sheets import BLUE, DASHES, GRAY, GREEN, ORANGE, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = BLUE, ORANGE, GREEN
UNITS = "angle [rad]", "rate [rad/s]", "acceleration [rad/s$^2$]"
LEAST = 1e-16  # of errors on logarithmic axes

Curve = tuple[np.ndarray, np.ndarray]
Curves = Mapping[str, np.ndarray]


def _over_time(rows: int, columns: int, size: tuple[float, float]) -> "tuple[Figure, np.ndarray]":
    figure, axes = sheet(rows, columns, size)
    for each in axes[-1]:
        each.set_xlabel("time [s]")
    return figure, axes


def _draw(axes: "Axes", t: np.ndarray, curves: Curves, unit: str) -> None:
    for (name, values), color in zip(curves.items(), COLORS, strict=False):
        axes.plot(t, values, color=color, label=name)
    axes.set_ylabel(unit)
    axes.legend(frameon=False, fontsize=9)


def motion(t: np.ndarray, parts: Mapping[str, Sequence[Curves]]) -> "Figure":
    """Figures 5 and 10: angles, rates and accelerations stacked, one column for each part."""
    figure, axes = _over_time(3, len(parts), (4.5 + 4 * (len(parts) - 1) + 3 * (len(parts) == 1), 8))
    for column, (name, kinds) in zip(axes.T, parts.items(), strict=True):
        for k, (each, curves, unit) in enumerate(zip(column, kinds, UNITS, strict=True)):
            _draw(each, t, curves, unit)
            each.set_title(f"({'abc'[k]}) {name}", fontsize=10)
    return figure


def torques(t: np.ndarray, curves: Curves) -> "Figure":
    """Figures 6 and 11."""
    figure, axes = _over_time(1, 1, (7.5, 3.4))
    _draw(axes[0, 0], t, curves, "torque [N m]")
    return figure


def free(t: np.ndarray, curves: Curves, end: float | None = None) -> "Figure":
    """Figures 7 and 12; dashed after `end`."""
    figure, axes = _over_time(1, 1, (7.5, 3.4))
    end = float(t[-1]) if end is None else end
    before, after = t <= end, t >= end
    _draw(axes[0, 0], t[before], {name: values[before] for name, values in curves.items()}, "angle [rad]")
    if after.sum() > 1:
        for values, color in zip(curves.values(), COLORS, strict=False):
            axes[0, 0].plot(t[after], values[after], color=color, dashes=DASHES)
        axes[0, 0].axvline(end, color=GRAY, lw=0.8)
        axes[0, 0].annotate(f" singular at {end:.3f} s", (end, 0.7), xycoords=("data", "axes fraction"), color=GRAY)
    return figure


def forced(panels: Mapping[str, tuple[Curve, Mapping[str, Curve]]], left: Mapping[str, float]) -> "Figure":
    """Figures 8 and 13: desired and simulated angles for each motor; a line where the paper's run left."""
    figure, axes = _over_time(1, len(panels), (7.5 + 2 * (len(panels) > 1), 4.2))
    for each, (name, (desired, found)) in zip(axes[0], panels.items(), strict=True):
        for (label, curve), color in zip(found.items(), COLORS, strict=False):
            each.plot(*curve, color=color, label=label)
        each.plot(*desired, color=GRAY, dashes=DASHES, label="desired (org)")
        for label, at in left.items():
            each.axvline(at, color=GRAY, lw=0.8)
            each.annotate(f" {label}", (at, 0.02), xycoords=("data", "axes fraction"), color=GRAY, fontsize=9)
        each.set(ylabel=f"{name} [rad]", ylim=(-1.0, 3.0))
    _legend_below(figure, axes[0, 0])
    return figure


def eigenvalues(t: np.ndarray, found: Curves) -> "Figure":
    """Real and imaginary parts over time, one column for each mechanism."""
    figure, axes = _over_time(2, len(found), (9.5, 5.6))
    for column, (name, values) in zip(axes.T, found.items(), strict=True):
        for part, each, unit in zip((np.real(values), np.imag(values)), column, ("real", "imaginary"), strict=True):
            each.plot(t, np.sort(part, axis=1), color=BLUE)
            each.set_ylabel(f"{unit} parts [1/s]")
        column[0].set_title(name, fontsize=10)
    return figure


def growth(t: np.ndarray, found: Mapping[str, tuple[np.ndarray, np.ndarray]], size: float) -> "Figure":
    """The largest error of a run and of dx/dt = A(t) x, by mechanism."""
    figure, axes = _over_time(1, len(found), (9.5, 4.0))
    for each, (name, (run, linear)) in zip(axes[0], found.items(), strict=True):
        each.semilogy(t, np.maximum(run, LEAST), color=ORANGE, label=f"run, started {size:g} rad off")
        each.semilogy(t, np.maximum(linear, LEAST), color=GRAY, dashes=DASHES, label="dx/dt = A(t) x")
        each.set(ylabel="largest error [rad]", ylim=(size / 100, 10))
        each.set_title(name, fontsize=10)
    _legend_below(figure, axes[0, 0])
    return figure


def feedback(t: np.ndarray, found: Mapping[str, Curves], formula: np.ndarray) -> "Figure":
    """Largest errors by mechanism and run; formula: the expected decay."""
    figure, axes = _over_time(1, len(found), (9.5, 4.2))
    for each, (name, curves) in zip(axes[0], found.items(), strict=True):
        for (label, values), color in zip(curves.items(), COLORS, strict=False):
            each.semilogy(t, np.maximum(values, LEAST), color=color, label=label)
        each.semilogy(t, formula, color=GRAY, dashes=DASHES, label="0.1 (1 + t) exp(-t)")
        each.set(ylabel="largest error [rad]", ylim=(1e-14, 10))
        each.set_title(name, fontsize=10)
    _legend_below(figure, axes[0, 0])
    return figure


def _legend_below(figure: "Figure", axes: "Axes") -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
