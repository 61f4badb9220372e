"""Store: runs saved in files and tables with their mechanism; reading restores them to the last bit.

An .npz contains the arrays and the rest as JSON. A .csv starts with that JSON in lines beginning with `#`, the first of
which is a checksum, followed by a row of column names with units, and numbers with enough digits to be read back
exactly.
"""

import csv
import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import copysign, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.bounded import read_bounded
from kempe.errors import CompileError, FileError, KempeError, MissingPackage
from kempe.kinds import short
from kempe.mechanism.files import parse
from kempe.mechanism.writing import text
from kempe.results import structures
from kempe.results.columns import SHOWN, TIME, all_labels, columns
from kempe.results.outcome import Occurrence, Outcome, Statistics
from kempe.results.trajectory import Trajectory
from kempe.whole import as_path, write_whole

if TYPE_CHECKING:
    import pandas as pd

    from kempe.model.model import Model

FORMAT, VERSION = "kempe trajectory", 1
ARRAYS = ("t", "q", "v", "a", "u", "stops", "z")
KEY = "kempe"  # in the attrs of a table
LARGEST = 8 * 2**30  # bytes of a file
BLOCK = 10_000  # rows
EXPANDS = 20  # maximum size of the arrays relative to a compressed file
SUM = "sha256"  # the checksum of a CSV, over all other lines
WORDS = 200  # characters quoted from an error
ABOUT = "about"  # the array of an .npz with the JSON


def save(run: Trajectory, path: str | Path) -> Path:
    """Writes a run in the format of the file's ending; the file appears complete or not at all."""
    path = as_path(path)
    return write_whole(path, _format(path)[0](run))


def load(path: str | Path, model: "Model | None" = None) -> Trajectory:
    """Reads a run from a file, compiling its mechanism unless a model is given."""
    path = as_path(path)
    read = _format(path)[1]
    content = read_bounded(path, LARGEST, "run")
    try:
        return read(content, str(path), model)
    except (FileError, CompileError, MissingPackage):
        raise
    except KempeError as error:
        raise FileError(f"{path}: {error}") from error
    except Exception as error:  # any error of the readers means that the file is damaged
        told = " ".join(str(error)[:WORDS].split())
        raise FileError(f"{path}: cut short, damaged, or not a run that Kempe wrote ({told})") from error


def _format(path: Path) -> tuple[Callable[[Trajectory], bytes], Callable[[bytes, str, "Model | None"], Trajectory]]:
    if path.suffix.lower() not in FORMATS:
        raise FileError(f"{path}: the ending of a run's file must be {' or '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]


# ---- everything but the rows -----------------------------------------------------------------------------


def about(run: Trajectory) -> dict[str, Any]:
    """All of a run except its rows, as JSON data; `warnings` are those of its mechanism."""
    mechanism = run.model.mechanism
    found = {
        "format": FORMAT,
        "version": VERSION,
        "mechanism": text(mechanism),
        "warnings": [str(finding) for finding in mechanism.check().warnings],
        "formulation": asked.name if (asked := run.model.structures.asked) else "auto",
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


def _model(found: Mapping[str, Any], source: str, model: "Model | None") -> "Model":
    if model is None:
        mechanism = parse(found["mechanism"], Path(source))
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            # Older files have no cuts, or springs at them.
            cut, springs = found.get("cut", ()), _springs(found.get("springs", {}))
            model = mechanism.compile(found["formulation"], found["names"]["p"], cut, **springs)
            on = found.get("on", model.topology.on)
            model = model.switched({name: name in on for name in model.topology.switchable})
        for warning in given:  # warnings that are in the file were shown when the run was made
            if str(warning.message) not in found["warnings"]:
                warnings.warn(warning.message, stacklevel=5)
        return model
    for which, names in _names(model).items():
        if names != found["names"][which]:
            raise FileError(
                f"{source}: the model is of another mechanism, or compiled differently: its {which} has "
                f"{_listed(names)}, that of the run {_listed(found['names'][which])}"
            )
    return model


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    shown = [name if str(name).isprintable() else repr(name) for name in names[:SHOWN]]
    return f"{', '.join(map(str, shown))}{more}" if names else "nothing"


def _springs(numbers: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Stiffness and damping by joint, from spring values by path."""
    found: dict[str, dict[str, float]] = {}
    for path, value in numbers.items():
        joint, _, quantity = path.rsplit(".", 2)
        if quantity != "size":
            found.setdefault(quantity, {})[joint] = value
    return found


def _names(model: "Model") -> dict[str, list[str]]:
    """The names of the entries of q, v, u and p."""
    return {which: list(getattr(model, f"{which}_names")) for which in "qvup"}


def _assembled(found: Mapping[str, Any], model: "Model", source: str, arrays: Mapping[str, np.ndarray]) -> Trajectory:
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


def _from_npz(content: bytes, source: str, model: "Model | None") -> Trajectory:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        size = sum(each.file_size for each in packed.infolist())
        if size > max(EXPANDS * len(content), 2**26):
            raise FileError(f"{source}: its arrays would take {size // 2**20} MiB, too much for a file of this size")
        there = set(packed.namelist())
        if f"{ABOUT}.npy" not in there:
            raise FileError(f"{source}: not a run that Kempe wrote")
        found = _checked(json.loads(_array(packed, ABOUT, source).tobytes()), source)
        missing = [name for name in ARRAYS if f"{name}.npy" not in there]
        if missing:
            raise FileError(f"{source}: {', '.join(missing)} missing; the file is incomplete")
        arrays = {name: _array(packed, name, source) for name in ARRAYS}
    return _assembled(found, _model(found, source, model), source, arrays)


def _array(packed: zipfile.ZipFile, name: str, source: str) -> np.ndarray:
    """An array of an .npz. All of it is read, so that its checksum is verified, and no more memory is allocated.

    NumPy itself allocates and reads as much as the header of an array claims.
    """
    content = packed.read(f"{name}.npy")
    file = io.BytesIO(content)
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, in_columns, kind = headers[np.lib.format.read_magic(file)](file)
    begun = file.tell()
    if kind.hasobject or prod(shape) * kind.itemsize != len(content) - begun:
        raise FileError(f"{source}: damaged: {name} is not an array of {kind} of shape {shape}, as its header says")
    return np.frombuffer(content, kind, offset=begun).reshape(shape, order="F" if in_columns else "C")


# ---- .csv ------------------------------------------------------------------------------------------------


def _to_csv(run: Trajectory) -> bytes:
    file = io.StringIO(newline="")
    for key, value in (about(run) | {"rows": len(run)}).items():
        file.write(f"# {key}: {_json(value)}\n")
    shown = columns(run)
    csv.writer(file, lineterminator="\n").writerow([TIME, *(column.header for column in shown)])
    table = np.column_stack([run.t, *(column.values for column in shown)])
    for first in range(0, len(table), BLOCK):  # in blocks, to limit memory for long runs
        for row in table[first : first + BLOCK].tolist():
            file.write(",".join(map(_digits, row)) + "\n")
    content = file.getvalue().encode()
    return f'# {SUM}: "{_sum(content)}"\n'.encode() + content


def _sum(content: bytes) -> str:
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def _check_sum(content: bytes, source: str) -> bytes:
    """The content without its checksum line, after checking it; the line is optional."""
    first, _, rest = content.partition(b"\n")
    if not first.startswith(f"# {SUM}: ".encode()):
        return content
    if _sum(rest) not in first.decode(errors="replace"):
        raise FileError(
            f"{source}: was changed since it was written, or damaged; if the change is intended, remove its first line"
        )
    return rest


def _digits(x: float) -> str:
    """All digits needed; NaN has a sign too, which Python reads but does not write."""
    return "-nan" if x != x and copysign(1.0, x) < 0 else repr(x)


def _from_csv(content: bytes, source: str, model: "Model | None") -> Trajectory:
    content = _check_sum(content, source)
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
        raise FileError(f"{source}: cut short or changed: it had {short(found['rows'])} rows, and has {len(rows)}")
    numbers = np.array(rows, dtype=float)
    table = {name: numbers[:, k] for k, name in enumerate(header)}
    model = _model(found, source, model)
    return _assembled(found, model, source, _from_columns(table, model, found["z_names"], source, len(rows)))


def _from_columns(table: Mapping, model: "Model", z_names, source: str, rows: int) -> dict[str, np.ndarray]:
    """The arrays of a run from its columns by header, in any order of columns."""
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
    """A table indexed by time; its `attrs` contain the rest."""
    pandas = _pandas()
    shown = columns(run)
    frame = pandas.DataFrame(
        np.column_stack([np.zeros((len(run), 0)), *(column.values for column in shown)]),
        index=pandas.Index(run.t, name=TIME),
        columns=[column.header for column in shown],
    )
    frame.attrs[KEY] = about(run)
    return frame


def from_pandas(frame: "pd.DataFrame", model: "Model | None" = None) -> Trajectory:
    """The run of a table, which may have fewer rows and more columns than the original."""
    source = "the table"
    if KEY not in frame.attrs:
        raise FileError(f"{source} has no attrs with the mechanism: it was not made by to_pandas, or has lost them")
    found = _checked(frame.attrs[KEY], source)
    if np.ndim(found["p"]) == 2 and len(found["p"]) != len(frame):
        raise FileError(
            f"{source}: parameters changed during the run, but only {len(frame)} of {len(found['p'])} rows are here"
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
