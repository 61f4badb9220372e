"""Summary: a run in words, with how it ended and how well its energy balances."""

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kempe.results.columns import COORDINATE, LAW, columns
from kempe.results.structures import parts

if TYPE_CHECKING:
    from kempe.results.trajectory import Trajectory

ROUNDED = 1e-14  # rad and m
LISTED = 60  # joints or events; more are only counted


def summary(run: "Trajectory") -> str:
    """The essentials of a run, one line each."""
    s = run.statistics
    steps = f"{s.steps} steps" + (f" ({s.rejected} refused)" if s.rejected else "")
    worked = f"{steps}, {s.evaluations} evaluations, {s.seconds:.3g} s of wall time"
    facts = [
        ("mechanism", run.model.mechanism.name + (f", by {run.model.formulation}" if s.method else "")),
        ("time", f"{run.start:g} to {run.end:g} s, {len(run)} row{'s' * (len(run) != 1)}"),
        ("method", f"{s.method}, {worked}" if s.method else "not simulated"),
        ("outcome", str(run.outcome) or run.outcome.kind),
        ("energy", energy_kept(run)),
        ("closure", closed(run)),
    ]
    if s.note:
        facts.insert(3, ("stiffness", s.note))
    if run.p.size:
        named = zip(run.model.p_names, np.atleast_2d(run.p).T, strict=True)
        facts.insert(1, ("parameters", ", ".join(f"{name} = {_span(x)}" for name, x in named)))
    lines = [f"{name:<10} {_one_line(text)}" for name, text in facts]
    return "\n".join([*lines, *_ranges(run), *_switches(run), *_events(run)])


def _span(values: np.ndarray) -> str:
    """A number, or its first and last value if it changed."""
    return f"{values[0]:g}" if (values == values[0]).all() else f"{values[0]:g}, later {values[-1]:g}"


def energy_kept(run: "Trajectory") -> str:
    """The drift of total energy if nothing adds or removes any; else the imbalance of power."""
    if np.isnan(run.u).any():
        return "efforts are not known"
    power, energy = run.power, run.energy
    if not (power.actuators.any() or power.dampers.any() or power.loads.any() or power.stops.any()):
        drift = max(np.abs(energy.total[x.rows] - energy.total[x.rows.start]).max() for x in run.structure)
        scale = max(energy.kinetic.max(), np.ptp(energy.potential))
        taken = sum(switch.lost - switch.moved for switch in run.switches)
        words = f"total kept to {drift:.2g} J" + (
            f" between switches, which took {taken:.4g} J" if run.switches else ""
        )
        return words + (f", {drift / scale:.1e} of the largest exchanged" if scale > 0 else "")
    off, scale = np.abs(power.imbalance).max(), np.abs([power.energy_rate, power.supplied]).max()
    part = f", {off / scale:.1e} of the largest power" if scale > 0 else ""
    change = energy.total[-1] - energy.total[0]
    return f"total changed by {change:.4g} J; power adds up to {off:.2g} W{part}"


def closed(run: "Trajectory") -> str:
    """The largest residual of loops."""
    if not any(model.topology.closed for model, _ in parts(run)):
        return "no loops"
    return f"loops closed to {run.closure.max():.1e}"


def page(run: "Trajectory") -> str:
    """The summary with a plot, for notebooks."""
    figure = run.plot("positions")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=70)
    data = base64.b64encode(picture.getvalue()).decode()
    return f'<pre>{escape(run.summary())}</pre><img alt="positions" src="data:image/png;base64,{data}">'


def _ranges(run: "Trajectory") -> list[str]:
    shown = columns(run, (COORDINATE, LAW))
    if not shown:
        return []
    width = min(40, max(len(_one_line(column.of)) for column in shown))
    lines = ["ranges"]
    for column in shown[:LISTED]:
        # Rounding errors count as zero.
        low, high = (f"{x if abs(x) > ROUNDED else 0.0:.5g}" for x in (column.values.min(), column.values.max()))
        lines.append(f"  {_one_line(column.of):<{width}}  {low:>11} .. {high:<11} {column.unit}".rstrip())
    return lines + _more(len(shown), "coordinates")


def _switches(run: "Trajectory") -> list[str]:
    if len(run.structure) == 1:
        return []
    lines = [f"  {_one_line(str(x))}" for x in (*run.structure, *run.switches)]
    return ["structure", *lines[:LISTED], *_more(len(lines), "lines")]


def _events(run: "Trajectory") -> list[str]:
    if not run.occurrences:
        return []
    lines = [f"  {o.t:<12.6g} s  {_one_line(o.name)}" for o in run.occurrences[:LISTED]]
    return ["events", *lines, *_more(len(run.occurrences), "events")]


def _more(count: int, what: str) -> list[str]:
    return [f"  and {count - LISTED} more {what}"] if count > LISTED else []


def _one_line(text: str) -> str:
    return " ".join(text.split())
