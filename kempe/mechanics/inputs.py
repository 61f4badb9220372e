"""Inputs: converts what users pass to a model's functions to real arrays, and refuses anything else."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.errors import StateError
from kempe.kinds import doubles

if TYPE_CHECKING:
    from kempe.mechanics.layout import Layout

DOUBLE = np.dtype(np.float64)
FEW = 50  # up to this many numbers Python sums faster than NumPy
BY_NAME = ("tau", "a")  # arguments that may be a dict by joint name


def reals(given: Any, what: str) -> np.ndarray:
    """As an array of doubles; refuses complex numbers and masked arrays."""
    if type(given) is np.ndarray and given.dtype is DOUBLE:  # the common case, kept fast
        return given
    return doubles(given, what, StateError)


def all_finite(numbers: np.ndarray) -> bool:
    """Whether all numbers are finite. Their sum shows it fastest, unless it overflows; short arrays are summed by
    Python.
    """
    if numbers.size < FEW and numbers.ndim == 1 and isfinite(sum(numbers.tolist())):
        return True
    return isfinite(numbers.sum()) or bool(np.isfinite(numbers).all())


def real(where: str, **given) -> list[Any]:
    """Arguments of a function as arrays of doubles; dicts and None pass unchanged."""
    return [x if type(x) is np.ndarray and x.dtype is DOUBLE else _real(where, n, x) for n, x in given.items()]


def _real(where: str, name: str, given: Any) -> Any:
    if name in BY_NAME and (given is None or isinstance(given, Mapping)):
        return given
    return reals(given, f"{where}: {name}")


def look(model: "Layout", where: str, **given) -> None:
    """Raises if an argument of a model's function is not finite; efforts are those of the actuated freedoms, or of
    all.
    """
    tau = model.v_names if np.shape(given.get("tau", ()))[-1:] == (model.nv,) else model.u_names
    refuse(where, given, {"q": model.q_names, "v": model.v_names, "a": model.v_names, "tau": tau, "p": model.p_names})


def fit(model: "Layout", where: str, given: Mapping[str, Any]) -> None:
    """Raises unless coordinates, velocities and accelerations are one row, or many rows, of the model's length."""
    widths, rows = {"q": model.nq, "v": model.nv, "a": model.nv}, set()
    for name, x in given.items():
        if isinstance(x, Mapping) or (x is None and name in BY_NAME):
            continue
        if name in widths and (x is None or x.ndim not in (1, 2) or x.shape[-1] != widths[name]):
            takes = f"({widths[name]},), or (n, {widths[name]}) for many states"
            raise StateError(f"{where}: {name} {'is None' if x is None else f'has shape {x.shape}'}; it takes {takes}")
        rows |= {len(x)} if x is not None and x.ndim == 2 else set()
    single = getattr(given.get("q"), "ndim", 2) == 1
    if rows and single and model.topology.constrained:
        raise StateError(f"{where}: q is one state, and others are {min(rows)}; give q in rows, too")
    if len(rows) > 1:
        raise StateError(f"{where}: arguments have different numbers of states, {' and '.join(map(str, sorted(rows)))}")


def refuse(where: str, given: Mapping[str, Any], names: Mapping[str, Sequence[str]]) -> None:
    """Raises if an argument is not finite and names the first such entry; `names` are the names of the entries."""
    for argument, numbers in given.items():
        if numbers is None or (isinstance(numbers, Mapping) and argument in BY_NAME):
            continue
        values = reals(numbers, f"{where}: {argument}")
        bad = ~np.isfinite(values)
        if bad.any():
            first = tuple(int(k) for k in np.argwhere(bad)[0])
            known = names.get(argument, ())
            entry = (
                known[first[-1]] if first and values.shape[-1] == len(known) else f"entry {first[-1] if first else 0}"
            )
            of = f" in state {first[0]}" if len(first) > 1 else ""
            raise StateError(f"{where}: {argument} of {entry} is {values[first]}{of}; give finite numbers")
