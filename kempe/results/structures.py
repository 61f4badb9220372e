"""Structures: which joints were on along a run, the effect of each switch, and models and residuals by row."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked, doubles

if TYPE_CHECKING:
    from kempe.model.model import Model
    from kempe.results.trajectory import Trajectory


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Switched:
    """A time at which joints were switched.

    joints: which ones, and whether they were switched on; on: all that were on afterwards.
    gap: the gap that was closed [m], or the amount by which a limit was exceeded [rad, m]; lost [J]: kinetic energy
    lost in the impulse; moved [J]: energy added by closing the gap. impulses: [N m s; N s] of every joint on its second
    body, at marker b in its axes.
    """

    t: float
    joints: Mapping[str, bool]
    on: tuple[str, ...]
    gap: float = 0.0
    lost: float = 0.0
    moved: float = 0.0
    impulses: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __str__(self) -> str:
        words = ", ".join(f"{name} {'on' if on else 'off'}" for name, on in self.joints.items())
        if not any(self.joints.values()):
            return f"{words} at t = {self.t:.6g} s"
        moved = f" and {self.moved:.4g} J by closing it" if abs(self.moved) > 1e-9 * abs(self.lost) else ""
        unit = "" if any(name.endswith(" limit") for name in self.joints) else " m"
        gap = f", a gap of {self.gap:.3g}{unit} closed" if self.gap > 1e-9 else ""
        return f"{words} at t = {self.t:.6g} s{gap}, {self.lost:.4g} J lost in the impulse{moved if gap else ''}"


@dataclass(frozen=True)
class Span:
    """A part of a run with one structure: its first and last time, its rows, and the switchable joints on."""

    start: float
    end: float
    rows: slice
    on: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.start:.6g} to {self.end:.6g} s: {', '.join(self.on) or 'nothing'} on"


class Structure(tuple[Span, ...]):
    """The structures of a run, in order of time."""

    def at(self, t: float) -> tuple[str, ...]:
        """The joints that were on at a time; at a switch, those after it."""
        found = [span for span in self if span.start <= t <= self[-1].end]
        if not found:
            raise StateError(f"t = {t:g} s is outside the run, which is from {self[0].start:g} to {self[-1].end:g} s")
        return found[-1].on

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def structure(run: "Trajectory") -> Structure:
    """The structures of a run: consecutive rows with the same joints on."""
    change = np.flatnonzero((run.on[1:] != run.on[:-1]).any(axis=1)) + 1
    edges = [0, *change.tolist(), len(run)]
    names = np.array(run.on_names, dtype=object)
    spans = []
    for first, last in pairwise(edges):
        on = tuple(names[run.on[first]]) if len(names) else ()
        spans.append(Span(float(run.t[first]), float(run.t[last - 1]), slice(first, last), on))
    return Structure(spans)


def written(run: "Trajectory") -> dict[str, Any]:
    """The structures and switches of a run as JSON data."""
    spans = [[span.rows.stop - span.rows.start, list(span.on)] for span in run.structure]
    made = [
        {**asdict(switch), "impulses": {name: list(x) for name, x in switch.impulses.items()}}
        for switch in run.switches
    ]
    return {"structure": spans, "switches": made, "on_names": list(run.on_names)}


def read(model: "Model", found: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The joints that were on in every row, and the switches, from JSON data; older files have none."""
    names = tuple(found.get("on_names", model.topology.switchable))
    spans = found.get("structure", [[rows, model.topology.on]])
    made = tuple(
        Switched(**{**x, "on": tuple(x["on"]), "impulses": {n: _impulse(n, w) for n, w in x["impulses"].items()}})
        for x in found.get("switches", ())
    )
    if len(spans) == 1:
        spans = [[rows, spans[0][1]]]
    if sum(count for count, _ in spans) != rows:
        raise StateError(f"joints were switched during the run, but only {rows} of its rows are here")
    on = np.concatenate([np.tile([name in on for name in names], (count, 1)) for count, on in spans])
    return {"on": on, "on_names": names, "switches": made}


def _impulse(name: str, given: Any) -> np.ndarray:
    found = doubles(given, f"the impulse of {name!r}", StateError)
    if found.shape != (6,):
        raise StateError(f"the impulse of {name!r} has shape {found.shape}; it takes three moments and three forces")
    return found


def model_of(model: "Model", on: np.ndarray) -> "Model":
    """The model with the marked switchable joints on."""
    names = model.topology.switchable
    return model.switched(dict(zip(names, map(bool, on[: len(names)]), strict=True))) if names else model


def residuals(run: "Trajectory") -> np.ndarray:
    """The largest residual of the active loops in each row."""
    model = run.model if run.model.exact is not run.model else run.model.structures.whole(run.model)
    if not model.topology.closed:
        return np.zeros(len(run))
    found = np.abs(model.call("residual", run.q, p=run.inputs))
    first, column = 0, {name: k for k, name in enumerate(run.on_names)}
    for loop in model.topology.closures:
        rows = loop.joint.rows
        if loop.joint.switchable:
            found[~run.on[:, column[loop.joint.name]], first : first + rows] = 0.0
        first += rows
    return found.max(axis=1, initial=0.0)


def parts(run: "Trajectory") -> Iterator[tuple["Model", slice]]:
    """The model and the rows of each structure of a run."""
    for span in run.structure:
        yield model_of(run.model, run.on[span.rows.start]), span.rows


def parameters_of(run: "Trajectory", rows) -> np.ndarray | None:
    """Parameters of some rows, in the form that the model's functions take."""
    if run.inputs is None or run.p.ndim == 1:
        return run.inputs
    return run.p[rows]
