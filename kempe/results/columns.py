"""Columns: the data of a run as named columns with units, with the same names in files, tables and plots."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import StateError
from kempe.kinds import doubles

if TYPE_CHECKING:
    from kempe.model.model import Model
    from kempe.results.trajectory import Trajectory

COORDINATE, RATE, ACCELERATION, EFFORT = "coordinate", "rate", "acceleration", "effort"
STOP, LAW = "stop", "law"
TIME = "t [s]"

# Units of each quantity for freedoms that turn, slide, or are part of a quaternion, which has none.
UNITS = {
    COORDINATE: {"rad": "rad", "m": "m", "": ""},
    RATE: {"rad": "rad/s", "m": "m/s"},
    ACCELERATION: {"rad": "rad/s^2", "m": "m/s^2"},
    EFFORT: {"rad": "N m", "m": "N"},
    STOP: {"rad": "N m", "m": "N"},
}
SHOWN = 20  # names listed in an error


@dataclass(frozen=True)
class Label:
    """The head of a column: a joint, its coordinate or freedom, the quantity and its unit (empty for none)."""

    joint: str
    of: str
    quantity: str
    unit: str

    @property
    def name(self) -> str:
        """The name of the column: `shoulder`, `shoulder.rate`, `shoulder.effort`."""
        return self.of if self.quantity in (COORDINATE, LAW) else f"{self.of}.{self.quantity}"

    @property
    def header(self) -> str:
        """Name and unit: `shoulder.rate [rad/s]`."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, eq=False)
class Column(Label):
    """A label with its values, one per row."""

    values: np.ndarray


def labels(model: "Model", quantity: str) -> list[Label]:
    """The labels of one quantity, in the order of the model's q, v or u."""
    tree = model.topology.tree
    if quantity == COORDINATE:
        found = [(t, n, unit) for t in tree for n, unit in zip(t.joint.type.q_names, _q_units(t), strict=True)]
        names = model.q_names
    else:
        found = [(t, n, unit) for t in tree for n, unit in zip(t.joint.type.v_names, t.joint.type.units, strict=True)]
        names = model.v_names
    out = [
        Label(t.joint.name, of, quantity, UNITS[quantity][unit]) for (t, _, unit), of in zip(found, names, strict=True)
    ]
    some = {EFFORT: model.driven, STOP: model.limited}
    return [out[k] for k in some[quantity]] if quantity in some else out


def _q_units(t) -> tuple[str, ...]:
    """Units of a joint's coordinates: if there are more than freedoms, the first four are a quaternion."""
    units = t.joint.type.units
    return units if len(t.joint.type.q_names) == len(units) else ("",) * 4 + units[3:]


def all_labels(model: "Model", z_names: Iterable[str] = ()) -> list[Label]:
    """The labels of a whole run, in the order of its arrays q, v, a, u, stops, z."""
    of_model = [label for quantity in UNITS for label in labels(model, quantity)]
    return of_model + [Label("", name, LAW, "") for name in z_names]


def columns(run: "Trajectory", quantities: Iterable[str] = (*UNITS, LAW)) -> list[Column]:
    """The columns of a run."""
    arrays = {COORDINATE: run.q, RATE: run.v, ACCELERATION: run.a, EFFORT: run.u, STOP: run.stops, LAW: run.z}
    wanted = tuple(quantities)
    heads = [label for label in all_labels(run.model, run.z_names) if label.quantity in wanted]
    numbers = (column for quantity, array in arrays.items() if quantity in wanted for column in array.T)
    return [Column(h.joint, h.of, h.quantity, h.unit, x) for h, x in zip(heads, numbers, strict=True)]


def lookup(labelled: Iterable[Label]) -> dict[str, list[int]]:
    """The column indices of every joint, and of every single coordinate by its full name."""
    found: dict[str, list[int]] = {}
    for k, label in enumerate(labelled):
        found.setdefault(label.joint, []).append(k)
        if label.of != label.joint:
            found[label.of] = [k]
    return found


def unknown(what: str, name: object, known: Iterable[str]) -> StateError:
    """An error about an unknown name, which lists the known ones, close ones first."""
    names = list(dict.fromkeys(known))
    close = get_close_matches(str(name)[:100], names, n=5, cutoff=0.5)
    listed = close + [n for n in names if n not in close]
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    there = f"there are {', '.join(listed[:SHOWN])}{more}" if listed else "there are none"
    return StateError(f"there is no {what} {name!r}; {there}")


def frozen(name: str, given: Any, shape: tuple[int, int] | tuple[int] | None, dtype: type = float) -> np.ndarray:
    """A read-only array, after checking its shape."""
    if dtype is float:
        given = doubles(given, f"trajectory: {name}", StateError)
    try:
        array = np.asarray(given, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise StateError(f"trajectory: {name} is not an array of numbers ({error})") from error
    if shape is None and (array.ndim != 1 or not array.size):
        raise StateError(f"trajectory: {name} has shape {array.shape}; it takes (n,) with at least one row")
    if shape is not None and array.shape != shape:
        raise StateError(f"trajectory: {name} has shape {array.shape}; with this model and these t it takes {shape}")
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
