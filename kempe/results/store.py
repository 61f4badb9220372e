"""Runs kept in files and tables, with their mechanism, so that reading gives back the same numbers to the last bit.

An .npz holds the arrays as they are and the rest as JSON. A .csv begins with that JSON in lines that start with `#`,
then has a row of column names with units, then numbers written with as many digits as it takes to read them back.
"""

import csv
import io
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from math import copysign
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import FileError, KempeError, MissingPackage
from kempe.mechanism.files import parse
from kempe.mechanism.writing import text
from kempe.model.model import Model
from kempe.results import structures
from kempe.results.columns import TIME, all_labels, columns
from kempe.results.outcome import Occurrence, Outcome, Statistics
from kempe.results.trajectory import Trajectory
from kempe.whole import write_whole

if TYPE_CHECKING:
    import pandas as pd

FORMAT, VERSION = "kempe trajectory", 1
ARRAYS = ("t", "q", "v", "a", "u", "stops", "z")
KEY = "kempe"  # of a table's attrs
ABOUT = "about"  # the array of an .npz that holds the JSON


def save(run: Trajectory, path: str | Path) -> Path:
    """Writes a run in the format that the file's name ends with; the file appears whole or not at all."""
    path = Path(path)
    written = _format(path)[0](run)
    try:
        return write_whole(path, written)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def load(path: str | Path, model: Model | None = None) -> Trajectory:
    """The run of a file, compiled again unless a model is given."""
    path = Path(path)
    read = _format(path)[1]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    try:
        return read(content, str(path), model)
    except KempeError:
        raise
    except Exception as error:  # whatever a broken file does to the readers of its parts, it is the file that is broken
        raise FileError(f"{path}: cut short, damaged, or not a run that Kempe wrote ({error})") from error


def _format(path: Path) -> tuple[Callable[[Trajectory], bytes], Callable[[bytes, str, Model | None], Trajectory]]:
    if path.suffix.lower() not in FORMATS:
        raise FileError(f"{path}: runs are kept in files that end with {' or '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]


# ---- everything but the rows -----------------------------------------------------------------------------


def about(run: Trajectory) -> dict[str, Any]:
    """All of a run but its rows, as JSON has it; `warnings` are those its mechanism was compiled with."""
    mechanism = run.model.mechanism
    found = {
        "format": FORMAT,
        "version": VERSION,
        "mechanism": text(mechanism),
        "warnings": [str(finding) for finding in mechanism.check().warnings],
        "formulation": run.model.structures.asked,
        "on": list(run.model.topology.on),
        "cut": [loop.joint.name for loop in run.model.topology.closures if loop.asked],
        "springs": dict(run.model.topology.springs),
        "names": _names(run.model),
        "p": run.p.tolist(),
        "z_names": list(run.z_names),
        "outcome": asdict(run.outcome),
        "statistics": asdict(run.statistics),
        "occurrences": [asdict(occurrence) for occurrence in run.occurrences],
        **structures.written(run),
    }
    return json.loads(_json(found))


def _json(value: Any) -> str:
    return json.dumps(value, default=lambda number: number.item())  # NumPy's numbers


def _checked(found: Any, source: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        raise FileError(f"{source}: not a run that Kempe wrote")
    if found["version"] > VERSION:
        raise FileError(
            f"{source}: written in format {found['version']} by a newer Kempe; this one reads formats up to {VERSION}"
        )
    return found


def _model(found: Mapping[str, Any], source: str, model: Model | None) -> Model:
    if model is None:
        mechanism = parse(found["mechanism"], Path(source))
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            # Files of older runs say nothing of cuts, or of springs at them.
            cut, springs = found.get("cut", ()), _springs(found.get("springs", {}))
            model = mechanism.compile(found["formulation"], found["names"]["p"], cut, **springs)
            on = found.get("on", model.topology.on)
            model = model.switched({name: name in on for name in model.topology.switchable})
        for warning in given:  # those that were there when the run was made have been heard
            if str(warning.message) not in found["warnings"]:
                warnings.warn(warning.message, stacklevel=5)
        return model
    for which, names in _names(model).items():
        if names != found["names"][which]:
            raise FileError(
                f"{source}: the model is of another mechanism, or compiled otherwise: its {which} is of "
                f"{', '.join(names) or 'nothing'}, that of the run of {', '.join(found['names'][which]) or 'nothing'}"
            )
    return model


def _springs(numbers: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Stiffness and damping by joint, from the numbers of springs by their paths."""
    found: dict[str, dict[str, float]] = {}
    for path, value in numbers.items():
        joint, _, quantity = path.rsplit(".", 2)
        if quantity != "size":
            found.setdefault(quantity, {})[joint] = value
    return found


def _names(model: Model) -> dict[str, list[str]]:
    """What the entries of q, v, u and p belong to."""
    return {which: list(getattr(model, f"{which}_names")) for which in "qvup"}


def _assembled(found: Mapping[str, Any], model: Model, source: str, arrays: Mapping[str, np.ndarray]) -> Trajectory:
    outcome = found["outcome"] | {"names": tuple(found["outcome"]["names"])}
    occurred = [Occurrence(o["name"], o["t"], tuple(o["q"]), tuple(o["v"])) for o in found["occurrences"]]
    try:
        switched = structures.read(model, found, len(arrays["t"]))
        return Trajectory(
            model,
            **arrays,
            **switched,
            z_names=tuple(found["z_names"]),
            p=np.array(found["p"], dtype=float),
            occurrences=tuple(occurred),
            outcome=Outcome(**outcome),
            statistics=Statistics(**found["statistics"]),
        )
    except KempeError as error:
        raise FileError(f"{source}: {error}") from error


# ---- .npz ------------------------------------------------------------------------------------------------


def _to_npz(run: Trajectory) -> bytes:
    file = io.BytesIO()
    described = np.frombuffer(_json(about(run)).encode(), dtype=np.uint8)
    np.savez(file, **{ABOUT: described}, **{name: getattr(run, name) for name in ARRAYS})
    return file.getvalue()


def _from_npz(content: bytes, source: str, model: Model | None) -> Trajectory:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        if not isinstance(file, np.lib.npyio.NpzFile) or ABOUT not in file.files:
            raise FileError(f"{source}: not a run that Kempe wrote")
        found = _checked(json.loads(file[ABOUT].tobytes()), source)
        missing = [name for name in ARRAYS if name not in file.files]
        if missing:
            raise FileError(f"{source}: {', '.join(missing)} missing; the file is not whole")
        arrays = {name: file[name] for name in ARRAYS}
    return _assembled(found, _model(found, source, model), source, arrays)


# ---- .csv ------------------------------------------------------------------------------------------------


def _to_csv(run: Trajectory) -> bytes:
    file = io.StringIO(newline="")
    for key, value in (about(run) | {"rows": len(run)}).items():
        file.write(f"# {key}: {_json(value)}\n")
    shown = columns(run)
    csv.writer(file, lineterminator="\n").writerow([TIME, *(column.header for column in shown)])
    for row in np.column_stack([run.t, *(column.values for column in shown)]).tolist():
        file.write(",".join(map(_digits, row)) + "\n")
    return file.getvalue().encode()


def _digits(x: float) -> str:
    """As many as it takes; NaN has a sign too, which Python reads but does not write."""
    return "-nan" if x != x and copysign(1.0, x) < 0 else repr(x)


def _from_csv(content: bytes, source: str, model: Model | None) -> Trajectory:
    file = io.StringIO(content.decode(), newline="")
    described: dict[str, Any] = {}
    line = file.readline()
    while line.startswith("#"):
        key, colon, value = line[1:].strip().partition(": ")
        described[key] = json.loads(value) if colon else None
        line = file.readline()
    found = _checked(described, source)
    file = io.StringIO(line + file.read(), newline="")
    header = next(csv.reader(file))
    lines = file.read().splitlines()
    rows = [list(map(float, one.split(","))) for one in lines]
    if len(rows) != found["rows"] or not content.endswith(b"\n"):
        raise FileError(f"{source}: cut short or changed: it had {found['rows']} rows, and has {len(rows)}")
    numbers = np.array(rows, dtype=float)
    table = {name: numbers[:, k] for k, name in enumerate(header)}
    model = _model(found, source, model)
    return _assembled(found, model, source, _from_columns(table, model, found["z_names"], source, len(rows)))


def _from_columns(table: Mapping, model: Model, z_names, source: str, rows: int) -> dict[str, np.ndarray]:
    """The arrays of a run from its columns by header, in any order."""
    heads = [TIME, *(label.header for label in all_labels(model, z_names))]
    missing = [head for head in heads if head not in table]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise FileError(f"{source}: columns are missing: {', '.join(missing[:5])}{more}")
    together = np.array([np.asarray(table[head], dtype=float) for head in heads]).reshape(len(heads), rows).T
    ends = np.cumsum([1, model.nq, model.nv, model.nv, model.nu, len(model.limited), len(z_names)])
    t, *others = (np.ascontiguousarray(part) for part in np.split(together, ends[:-1], axis=1))
    return dict(zip(ARRAYS, (t[:, 0], *others), strict=True))


FORMATS = {".npz": (_to_npz, _from_npz), ".csv": (_to_csv, _from_csv)}


# ---- tables ----------------------------------------------------------------------------------------------


def to_pandas(run: Trajectory) -> "pd.DataFrame":
    """A table indexed by time; its `attrs` hold the rest."""
    pandas = _pandas()
    shown = columns(run)
    frame = pandas.DataFrame(
        np.column_stack([np.zeros((len(run), 0)), *(column.values for column in shown)]),
        index=pandas.Index(run.t, name=TIME),
        columns=[column.header for column in shown],
    )
    frame.attrs[KEY] = about(run)
    return frame


def from_pandas(frame: "pd.DataFrame", model: Model | None = None) -> Trajectory:
    """The run of a table; its rows may be fewer, its columns more, than they were."""
    source = "the table"
    if KEY not in frame.attrs:
        raise FileError(f"{source} has lost its attrs, which hold the mechanism: it is not one that to_pandas made")
    found = _checked(frame.attrs[KEY], source)
    if np.ndim(found["p"]) == 2 and len(found["p"]) != len(frame):
        raise FileError(
            f"{source}: parameters changed during the run, and it has {len(frame)} of {len(found['p'])} rows"
        )
    model = _model(found, source, model)
    table = {name: frame[name].to_numpy() for name in frame.columns} | {TIME: frame.index.to_numpy()}
    return _assembled(found, model, source, _from_columns(table, model, found["z_names"], source, len(frame)))


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise MissingPackage("tables need pandas, which is not installed: pip install pandas") from error
    return pandas
