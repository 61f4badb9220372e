"""`kempe run`: simulates a mechanism and leaves data, plots, pictures and a page in a folder."""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kempe.commands.subject import Subject
from kempe.errors import StateError
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory
from kempe.whole import write_whole

UNITS = {"deg": 0.017453292519943295, "rad": 1.0, "m": 1.0, "mm": 1e-3, "": 1.0}
_ASSIGNMENT = re.compile(r"^(?P<name>[^=]+)=(?P<values>.+)$")


@dataclass(frozen=True)
class Wishes:
    """What was asked for on the command line; None where the default serves."""

    duration: float | None = None
    state: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()
    torque: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class Done:
    """A run and the files it left."""

    run: Trajectory
    folder: Path
    files: tuple[Path, ...]


def assignments(words: Iterable[str], what: str) -> dict[str, Any]:
    """Numbers by name from words such as `A=30deg` or `hook=1,0,0,0`."""
    found = {}
    for word in words:
        match = _ASSIGNMENT.match(word)
        if match is None:
            raise StateError(f"{what} {word!r}: write name=value, such as A=30deg or B=0.2")
        values = [_number(part, f"{what} {word!r}") for part in match["values"].split(",")]
        found[match["name"].strip()] = values[0] if len(values) == 1 else values
    return found


def _number(text: str, where: str) -> float:
    for unit, factor in UNITS.items():
        if text.strip().endswith(unit):
            try:
                return float(text.strip().removesuffix(unit)) * factor
            except ValueError:
                continue
    raise StateError(f"{where}: {text!r} is no number; units are {', '.join(u for u in UNITS if u)}")


def simulate(subject: Subject, model: Model, wishes: Wishes) -> Trajectory:
    """The default run of the gallery, or one from the state and under the torques that were asked for."""
    options = dict(wishes.options)
    own = wishes.state or wishes.rates or wishes.torque
    if subject.entry is not None and not own:
        return subject.entry.run(model, wishes.duration or subject.entry.duration, **options)
    state = model.state(assignments(wishes.state, "--state"), rates=assignments(wishes.rates, "--rate"))
    torque = assignments(wishes.torque, "--torque") or None
    return model.simulate(state, wishes.duration or 5.0, torque=torque, **options)


def run(subject: Subject, folder: Path, wishes: Wishes) -> Done:
    """Simulates, and writes everything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in `kempe info`
        model = subject.mechanism.compile()
    found = simulate(subject, model, wishes)
    folder.mkdir(parents=True, exist_ok=True)
    points = subject.entry.points if subject.entry else ()
    files = [found.save(folder / "run.npz"), found.save(folder / "run.csv")]
    for kind in ("overview", "power"):
        found.plot(kind, folder / f"{kind}.png")
        files.append(folder / f"{kind}.png")
    files.append(found.strip(folder / "strip.png", points=points))
    files.append(found.animate(folder / "index.html", points=points))
    files.append(write_whole(folder / "summary.txt", found.summary() + "\n"))
    return Done(found, folder, tuple(files))


def as_json(done: Done) -> dict:
    """For programs."""
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
    }
