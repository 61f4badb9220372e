"""`kempe run`: runs a mechanism and writes data, plots, pictures and a page to a folder."""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, pi
from pathlib import Path
from typing import Any

import numpy as np

from kempe.commands.subject import Subject, begun
from kempe.errors import StateError
from kempe.mechanics.state import PLACE, State
from kempe.mechanism.bodies import Body
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory
from kempe.simulate.switches import Switch
from kempe.whole import write_whole

# Units of numbers, with the SI unit of the quantity; plain numbers are in SI units.
UNITS = {"deg": ("rad", pi / 180), "rad": ("rad", 1.0), "mm": ("m", 1e-3), "m": ("m", 1.0), "": ("", 1.0)}
_ASSIGNMENT = re.compile(r"^(?P<name>[^=]+)=(?P<values>.+)$")


@dataclass(frozen=True)
class Wishes:
    """The options of the command line; None for the default."""

    duration: float | None = None
    state: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()
    torque: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def own(self) -> bool:
        """Whether the start or the efforts differ from the gallery's run."""
        return bool(self.state or self.near or self.rates or self.torque or self.on or self.off)


@dataclass(frozen=True, eq=False)
class Done:
    """A run and the files written."""

    run: Trajectory
    folder: Path
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def assignments(words: Iterable[str], what: str, measured: Mapping[str, str]) -> dict[str, Any]:
    """Numbers by name from words such as `A=30deg` or `hook=1,0,0,0`; `measured` gives the SI unit of each name, "rad",
    "m", or "" for none."""
    found: dict[str, Any] = {}
    for word in words:
        match = _ASSIGNMENT.match(word)
        if match is None:
            raise StateError(f"{what} {word!r}: write name=value, such as A=30deg or B=0.2")
        name = match["name"].strip()
        if name in found:
            raise StateError(f"{what} {word!r}: {name} is given twice")
        values = [_number(part, f"{what} {word!r}", measured.get(name, "")) for part in match["values"].split(",")]
        found[name] = values[0] if len(values) == 1 else values
    return found


def _number(text: str, where: str, measured: str) -> float:
    for unit, (of, factor) in UNITS.items():
        try:
            number = float(text.strip().removesuffix(unit)) if text.strip().endswith(unit) else None
        except ValueError:
            continue
        if number is None:
            continue
        if not isfinite(number):
            raise StateError(f"{where}: {text!r} is not finite")
        if of and of != measured:
            wants = {"rad": "deg or rad", "m": "mm or m"}.get(measured, "no unit")
            raise StateError(f"{where}: {text!r} has the wrong unit; it takes {wants}")
        return number * factor
    raise StateError(f"{where}: {text!r} is not a number; units are {', '.join(u for u in UNITS if u)}")


def measures(model: Model) -> dict[str, str]:
    """The SI units of joints with one coordinate, single coordinates, and places of bodies."""
    places = (f"{owner}.{part}" for body in model.mechanism.bodies for owner in _owners(body) for part in PLACE)
    found = {name: "rad" if PLACE.index(name.rpartition(".")[2]) > 2 else "m" for name in places}
    for joint in model.mechanism.joints:
        kind = joint.type
        if len(kind.q_names) == len(kind.units):
            names = (f"{joint.name}.{part}" if part else joint.name for part in kind.q_names)
            found |= dict(zip(names, kind.units, strict=True))
    return found


def _owners(body: Body) -> tuple[str, ...]:
    return body.name, *(f"{body.name}.{label}" for label in body.markers)


def begin(subject: Subject, model: Model, wishes: Wishes) -> State:
    """The requested initial state; mechanisms with loops are assembled, those of the gallery near the start of their
    run."""
    units = measures(model)
    values, near = assignments(wishes.state, "--state", units), assignments(wishes.near, "--near", units)
    rates = assignments(wishes.rates, "--rate", units)
    if not model.topology.constrained:
        if near:
            raise StateError(f"--near selects how loops close, and {model.mechanism.name!r} has none; give --state")
        return model.state(values, rates=rates)
    if subject.entry is None or near:
        return model.assemble(values, near=near, rates=rates)
    start = begun(subject.entry, model)
    return model.assemble(values, near=start, rates=rates) if values or rates else start


def simulate(subject: Subject, model: Model, wishes: Wishes) -> Trajectory:
    """The default run of the gallery, or one with the requested state and torques."""
    options = dict(wishes.options)
    if subject.entry is not None and not wishes.own:
        duration = subject.entry.duration if wishes.duration is None else wishes.duration
        return subject.entry.run(model, duration, **options)
    torque = assignments(wishes.torque, "--torque", {}) or None
    duration = 5.0 if wishes.duration is None else wishes.duration
    return model.simulate(begin(subject, model, wishes), duration, torque=torque, switches=switches(wishes), **options)


def switches(wishes: Wishes) -> list[Switch]:
    """Joints switched at given times."""
    on, off = assignments(wishes.on, "--on", {}), assignments(wishes.off, "--off", {})
    return [Switch(name, on=on.get(name), off=off.get(name)) for name in {**on, **off}]


def run(subject: Subject, folder: Path, wishes: Wishes) -> Done:
    """Simulates and writes all files."""
    notes = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = subject.mechanism.compile()
        found = simulate(subject, model, wishes)
    notes += [f"warning: {warning.message}" for warning in heard]
    if subject.entry is not None and wishes.own:
        notes.append(f"with your own start or torques, not as in the gallery ({subject.entry.story})")
    elif model.topology.constrained and not (subject.entry or wishes.state or wishes.near):
        notes.append("assembled closest to all joints at zero; --state and --near select another assembly")
    folder.mkdir(parents=True, exist_ok=True)
    points = subject.entry.points if subject.entry else ()
    files = [found.save(folder / "run.npz"), found.save(folder / "run.csv")]
    known = not np.isnan(found.u).any()
    for kind in ("overview", "power") if known else ("overview",):
        found.plot(kind, folder / f"{kind}.png")
        files.append(folder / f"{kind}.png")
    if len(found.structure) > 1:
        found.plot("structure", folder / "structure.png")
        files.append(folder / "structure.png")
    files.append(found.strip(folder / "strip.png", points=points))
    files.append(found.animate(folder / "index.html", points=points))
    files.append(write_whole(folder / "summary.txt", found.summary() + "\n"))
    return Done(found, folder, tuple(files), tuple(notes))


def as_json(done: Done) -> dict:
    """The result as plain data."""
    run = done.run
    return {
        "mechanism": run.model.mechanism.name,
        "outcome": {"kind": run.outcome.kind, "t": run.outcome.t, "names": run.outcome.names, "text": str(run.outcome)},
        "steps": run.statistics.steps,
        "evaluations": run.statistics.evaluations,
        "seconds": run.statistics.seconds,
        "rows": len(run),
        "folder": str(done.folder),
        "files": [str(path) for path in done.files],
        "notes": list(done.notes),
    }
