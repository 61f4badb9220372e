"""Plots: coordinates, efforts, energies, and paths of points of a run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, pi
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import StateError
from kempe.mechanism.bodies import Body, Marker
from kempe.results import ink
from kempe.results.columns import ACCELERATION, COORDINATE, EFFORT, LAW, RATE, Column, columns, unknown
from kempe.whole import write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kempe.results.trajectory import Trajectory

HEIGHT = 2.1  # of a panel, in inches
NAMED_EVENTS, EVENTS = 12, 200  # more are drawn without names, or not at all
FLAT = 1e-9  # paths thinner than this, relative to their length, are planar

Draw = Callable[["Trajectory", "Choice"], "Figure"]

WORDS = {
    (COORDINATE, "rad"): "angle",
    (COORDINATE, "m"): "slide",
    (COORDINATE, ""): "quaternion",
    (RATE, "rad/s"): "angular rate",
    (RATE, "m/s"): "speed",
    (ACCELERATION, "rad/s^2"): "angular acceleration",
    (ACCELERATION, "m/s^2"): "acceleration",
    (EFFORT, "N m"): "torque",
    (EFFORT, "N"): "force",
    (LAW, ""): "state of the law",
}


@dataclass(frozen=True, eq=False)
class Panel:
    """One set of axes over time: what it shows, its unit, and its lines by name.

    floor: smaller values are rounding errors, and drawn as zero; limits: thin horizontal lines, such as joint limits.
    """

    what: str
    unit: str
    lines: tuple[tuple[str, np.ndarray], ...]
    logarithmic: bool = False
    floor: float = 0.0
    limits: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """The label of its vertical axis."""
        return f"{self.what} [{ink.unit(self.unit)}]" if self.unit else self.what


@dataclass(frozen=True)
class Choice:
    """The options of a plot."""

    joints: tuple[str, ...] | None = None
    degrees: bool = False
    points: tuple[Marker | Body | str, ...] = ()


def plot(
    run: "Trajectory",
    what: str = "overview",
    path: str | Path | None = None,
    *,
    joints: Iterable[str] | str | None = None,
    joint: str | None = None,
    point: Marker | Body | str | Sequence[Marker | Body | str] | None = None,
    degrees: bool = False,
) -> "Figure":
    """A figure of one of KINDS, also saved if `path` is given; `joints` (or one `joint`) limits what is shown."""
    if what not in KINDS:
        raise unknown("plot", what, KINDS)
    wanted = [joint] if joint is not None else [joints] if isinstance(joints, str) else joints
    points = () if point is None else (point,) if isinstance(point, (str, Marker, Body)) else tuple(point)
    choice = Choice(None if wanted is None else tuple(wanted), degrees, points)
    _check_names(run, choice)
    figure = KINDS[what](run, choice)
    name = ink.plain(run.model.mechanism.name)
    figure.suptitle(name if run.outcome.finished else f"{name}\n{_ending(run)}", fontsize=ink.FONT + 2)
    if path is not None:
        write(figure, path)
    return figure


def write(figure: "Figure", path: str | Path) -> None:
    """Writes a figure in the format of the file's ending."""
    write_figure(figure, path, dpi=130)


# ---- panels over time ------------------------------------------------------------------------------------


def _of(*quantities: str) -> Callable[["Trajectory", Choice], list[Panel]]:
    """Panels of recorded quantities, one for each unit."""

    def panels(run: "Trajectory", choice: Choice) -> list[Panel]:
        by_unit: dict[tuple[str, str], list[tuple[str, np.ndarray]]] = {}
        for column in _chosen(run, choice, quantities):
            shown = _in_degrees(column) if choice.degrees else column
            head = WORDS[column.quantity, column.unit], shown.unit
            by_unit.setdefault(head, []).append((column.of, shown.values))
        marked = _limits(run, choice) if COORDINATE in quantities else {}
        return [Panel(*head, tuple(lines), limits=marked.get(head[1], ())) for head, lines in by_unit.items()]

    return panels


def _limits(run: "Trajectory", choice: Choice) -> dict[str, tuple[float, ...]]:
    """Limits that joints came close to, by unit."""
    found: dict[str, tuple[float, ...]] = {}
    for t in run.model.topology.tree:
        for k, pair in enumerate(t.joint.limits):
            if pair is None or (choice.joints is not None and t.joint.name not in choice.joints):
                continue
            x, unit = run.q[:, t.q.start + k], t.joint.type.units[k]
            near = tuple(limit for limit in pair if np.abs(x - limit).min() < 0.05 * max(float(np.ptp(x)), 1e-9))
            factor, shown = (180 / pi, "deg") if choice.degrees and unit == "rad" else (1.0, unit)
            found[shown] = (*found.get(shown, ()), *(limit * factor for limit in near))
    return found


def _chosen(run: "Trajectory", choice: Choice, quantities: Iterable[str]) -> list[Column]:
    found = columns(run, quantities)
    if choice.joints is None:
        return found
    return [column for column in found if column.joint in choice.joints or column.of in choice.joints]


def _check_names(run: "Trajectory", choice: Choice) -> None:
    known = {name: None for column in columns(run) for name in (column.joint, column.of) if name}
    for name in choice.joints or ():
        if name not in known:
            raise unknown("joint or coordinate", name, known)


def _in_degrees(column: Column) -> Column:
    if not column.unit.startswith("rad"):
        return column
    return replace(column, unit="deg" + column.unit[3:], values=column.values * (180 / pi))


def _energies(run: "Trajectory", choice: Choice) -> list[Panel]:
    energy = run.energy
    lines = ("kinetic", energy.kinetic), ("potential", energy.potential), ("total", energy.total)
    return [Panel("energy", "J", lines)]


def _drift(run: "Trajectory", choice: Choice) -> list[Panel]:
    total = run.energy.total
    return [*_energies(run, choice), Panel("change of total", "J", (("total, less at start", total - total[0]),))]


def _powers(run: "Trajectory", choice: Choice) -> list[Panel]:
    power = run.power
    parts = ("actuators", power.actuators), ("dampers", power.dampers), ("loads", power.loads), ("stops", power.stops)
    shown = tuple((name, x) for name, x in parts if x.any())
    floor = (
        1e-9 * max(float(np.ptp(run.energy)), float(run.energy.kinetic.max()), 1e-3) / max(run.end - run.start, 1e-9)
    )
    left = Panel("imbalance", "W", (("rate of energy,\nless all power", power.imbalance),), floor=floor)
    return [Panel("power", "W", (*shown, ("rate of energy", power.energy_rate)), floor=floor), left]


def _closures(run: "Trajectory", choice: Choice) -> list[Panel]:
    what = "closure" if run.model.topology.closed else "closure (no loops)"
    return [Panel(what, "", (("largest residual", run.closure),), logarithmic=bool((run.closure > 0).any()))]


def _overview(run: "Trajectory", choice: Choice) -> list[Panel]:
    return [panel for part in (*map(_of, (COORDINATE, RATE, EFFORT)), _energies) for panel in part(run, choice)]


# ---- drawing over time -----------------------------------------------------------------------------------


def _over_time(panels: Callable[["Trajectory", Choice], list[Panel]], none: str = "no such joint moves") -> Draw:
    def draw(run: "Trajectory", choice: Choice) -> "Figure":
        found = panels(run, choice)
        if not found:
            return ink.empty(f"nothing to show: {none}")
        across = 1 if len(found) <= 4 else 2
        down = ceil(len(found) / across)
        figure = ink.figure(ink.WIDTH * across, max(3.2, 0.6 + HEIGHT * down))
        grid = figure.subplots(down, across, sharex=True, squeeze=False).T.ravel()
        colours, seen = _inks(found), set()
        for k, axes in enumerate(grid):
            if k >= len(found):
                axes.remove()
                continue
            panel = found[k]
            _draw_panel(axes, run.t, panel, colours)
            names = tuple(name for name, _ in panel.lines)
            seen = set() if k % down == 0 else seen
            if names not in seen:  # one legend for all panels below with the same lines
                ink.legend(axes, names, HEIGHT)
            seen.add(names)
            if k % down == down - 1 or k == len(found) - 1:
                axes.set_xlabel("time [s]", fontsize=ink.FONT)
                axes.tick_params(labelbottom=True)
            _mark_structures(axes, run)
            _mark_events(axes, run, named=k % down == 0)
        return figure

    return draw


def _inks(panels: Sequence[Panel]) -> dict[str, Any]:
    """A colour for every name: the same in all panels, and unique within each panel."""
    found: dict[str, Any] = {}
    for panel in panels:
        palette = ink.colours(max(10, len(panel.lines)))
        here = [found[name] for name, _ in panel.lines if name in found]
        for name in (name for name, _ in panel.lines if name not in found):
            free = [colour for colour in palette if colour not in here]
            fresh = [colour for colour in free if colour not in found.values()]
            found[name] = (fresh or free)[0]
            here.append(found[name])
    return found


def _draw_panel(axes: "Axes", t: np.ndarray, panel: Panel, colours: dict[str, Any]) -> None:
    style: dict[str, Any] = {"marker": "o", "ms": 4} if len(t) == 1 else {"lw": 1.1}
    for name, values in panel.lines:
        axes.plot(t, values, color=colours[name], **style)
    if panel.logarithmic:
        axes.set_yscale("log")
    elif (
        panel.floor and max((np.abs(values).max(initial=0.0) for _, values in panel.lines), default=0.0) <= panel.floor
    ):
        axes.set_ylim(-panel.floor, panel.floor)
    for limit in panel.limits:
        axes.axhline(limit, color="0.4", lw=0.8, ls=(0, (1, 2)), zorder=0.5)
    axes.set_ylabel(panel.label, fontsize=ink.FONT)
    ink.tidy(axes)


def _mark_structures(axes: "Axes", run: "Trajectory") -> None:
    """Shades every other structure."""
    for span in run.structure[1::2]:
        axes.axvspan(span.start, span.end, color="0.5", alpha=0.1, lw=0, zorder=0.2)


def _mark_events(axes: "Axes", run: "Trajectory", named: bool) -> None:
    shown = run.occurrences if len(run.occurrences) <= EVENTS else ()
    for occurrence in shown:
        axes.axvline(occurrence.t, color="0.45", lw=0.6, ls=(0, (4, 2)), zorder=0.5)
    if not named or len(shown) > NAMED_EVENTS:
        return
    together: list[tuple[float, list[str]]] = []  # groups the names of events that are too close for separate labels
    for occurrence in sorted(shown, key=lambda o: o.t):
        if together and occurrence.t - together[-1][0] < 0.03 * (run.end - run.start):
            together[-1][1].append(occurrence.name)
        else:
            together.append((occurrence.t, [occurrence.name]))
    for t, names in together:
        axes.annotate(
            ink.plain(", ".join(names)),
            (t, 1.0),
            (0, 2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="bottom",
            rotation=20,
            fontsize=ink.FONT - 2,
            color="0.35",
        )


# ---- other axes ------------------------------------------------------------------------------------------


def _phase(run: "Trajectory", choice: Choice) -> "Figure":
    """Rates over coordinates, for freedoms that have both."""
    rates = {column.of: column for column in _chosen(run, choice, (RATE,))}
    pairs = [(x, rates[x.of]) for x in _chosen(run, choice, (COORDINATE,)) if x.unit and x.of in rates]
    if not pairs:
        return ink.empty("nothing to show: a phase plot takes joints that turn or slide, not quaternions")
    if choice.degrees:
        pairs = [(_in_degrees(x), _in_degrees(rate)) for x, rate in pairs]
    units = list(dict.fromkeys(x.unit for x, _ in pairs))
    figure = ink.figure(0.7 * ink.WIDTH * len(units) + 1, 4.4)
    for axes, unit in zip(figure.subplots(1, len(units), squeeze=False)[0], units, strict=True):
        here = [pair for pair in pairs if pair[0].unit == unit]
        for colour, (x, rate) in zip(ink.colours(len(here)), here, strict=True):
            axes.plot(x.values, rate.values, color=colour, lw=1.1, marker="o" if len(run) == 1 else None)
        for colour, (x, rate) in zip(ink.colours(len(here)), here, strict=True):
            axes.plot(x.values[:1], rate.values[:1], "o", color=colour, ms=4)
        names = [x.of for x, _ in here]
        axes.set_xlabel(f"{'slide' if unit == 'm' else 'angle'} [{unit}]", fontsize=ink.FONT)
        axes.set_ylabel(
            f"{'speed' if unit == 'm' else 'angular rate'} [{ink.unit(here[0][1].unit)}]", fontsize=ink.FONT
        )
        ink.legend(axes, names, 3.6)
        ink.tidy(axes)
    return figure


def _path(run: "Trajectory", choice: Choice) -> "Figure":
    """The paths of points: in 2D if they stay parallel to a coordinate plane, else in 3D."""
    if not choice.points:
        raise StateError('a path needs a point: run.plot("path", point=boom.end), or point="boom.end"')
    ways = [(_point_name(point), run.point(point)) for point in choice.points]
    moved = np.ptp(np.concatenate([way - way[0] for _, way in ways]), axis=0)
    still = [k for k in range(3) if not moved[k] > FLAT * moved.max()]
    if still:
        shown = [k for k in range(3) if k != still[-1]]
        wide, high = np.ptp(np.concatenate([way[:, shown] for _, way in ways]), axis=0)
        form = high / wide if wide > 0 and np.isfinite(high) else 0.7
        # A figure of about the shape of the path, since both axes have the same scale.
        figure = ink.figure(ink.WIDTH, 1.0 + float(np.clip(form * 0.75 * ink.WIDTH, 2.5, 6.5)))
        axes: Any = figure.subplots()
        ink.tidy(axes)
    else:
        shown, figure = [0, 1, 2], ink.figure(ink.WIDTH, 5.2)
        axes = figure.add_subplot(projection="3d")
        axes.tick_params(labelsize=ink.FONT - 1)
    for colour, (_, way) in zip(ink.colours(len(ways)), ways, strict=True):
        axes.plot(*way[:, shown].T, color=colour, lw=1.2)
    for colour, (_, way) in zip(ink.colours(len(ways)), ways, strict=True):
        axes.plot(*way[:1, shown].T, "o", color=colour, ms=5)
        axes.plot(*way[-1:, shown].T, "s", color=colour, ms=4, mfc="white")
    for setter, k in zip(("set_xlabel", "set_ylabel", "set_zlabel"), shown, strict=False):
        getattr(axes, setter)(f"{'xyz'[k]} [m]", fontsize=ink.FONT)
    axes.set_aspect("equal", adjustable="datalim")
    ink.legend(axes, [name for name, _ in ways], 4.4)
    axes.set_title("a dot where it starts, a square where it ends", fontsize=ink.FONT - 1, color="0.4")
    return figure


def _structures(run: "Trajectory", choice: Choice) -> "Figure":
    """When each was on: a row for every switchable joint, and for every locking limit."""
    names = run.on_names
    if not names:
        return ink.empty("nothing to show: no joint can be switched, and no limit locks")
    figure = ink.figure(ink.WIDTH, max(2.0, 1.2 + 0.3 * len(names)))
    axes = figure.subplots()
    for row, (name, colour) in enumerate(zip(names, ink.colours(len(names)), strict=True)):
        held = [(span.start, span.end - span.start) for span in run.structure if name in span.on]
        axes.broken_barh(held, (row - 0.35, 0.7), color=colour, lw=0, zorder=2)
    axes.set_yticks(range(len(names)), [ink.plain(name) for name in names], fontsize=ink.FONT - 1)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(run.start, run.end)
    axes.set_xlabel("time [s]", fontsize=ink.FONT)
    axes.set_title("when each is on", fontsize=ink.FONT, color="0.4")
    for switch in run.switches:
        axes.axvline(switch.t, color="0.45", lw=0.6, ls=(0, (4, 2)), zorder=0.5)
    ink.tidy(axes)
    return figure


def _point_name(point: Marker | Body | str) -> str:
    if isinstance(point, Marker) and point.name is None:
        return f"{point.body.name} at ({', '.join(x if isinstance(x, str) else f'{x:g}' for x in point.position)})"
    return point if isinstance(point, str) else point.name if isinstance(point, Body) else str(point)


def _ending(run: "Trajectory") -> str:
    return ink.plain(f"{run.outcome.kind} at t = {run.outcome.t:.6g} s: {run.outcome.message}".removesuffix(": "))


KINDS: dict[str, Draw] = {
    "overview": _over_time(_overview),
    "positions": _over_time(_of(COORDINATE)),
    "rates": _over_time(_of(RATE)),
    "accelerations": _over_time(_of(ACCELERATION)),
    "torques": _over_time(_of(EFFORT), "no such joint is actuated"),
    "energy": _over_time(_drift),
    "power": _over_time(_powers),
    "phase": _phase,
    "path": _path,
    "closure": _over_time(_closures),
    "structure": _structures,
    "laws": _over_time(_of(LAW), "no control law has states"),
}
