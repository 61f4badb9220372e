"""Drive: any torque given by a user, in the one form that a run uses."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kempe.control.laws import CompiledLaw, Law
from kempe.control.piecewise import Piecewise
from kempe.errors import StateError
from kempe.kinds import checked
from kempe.kinetics.kinetics import Kinetics
from kempe.mechanics.inputs import reals, refuse

BETWEEN = {"hold": Piecewise.hold, "linear": Piecewise.linear, "cubic": Piecewise.cubic}


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Table:
    """Efforts over time: values (n, nu) at times (n,), or a dict of (n,) by joint name; constant before and after.

    between: "linear", "hold" (each value from its time until the next) or "cubic" (a smooth spline).
    """

    times: Any
    values: Any
    between: str = "linear"


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Command:
    """The result of a `Sampled` controller that also switches joints: efforts, and which joints shall be on (True) or
    off (False); the others stay as they are."""

    efforts: Any
    switch: Mapping[str, bool]


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Sampled:
    """A controller that is called every `period` seconds, from the start on: controller(t, q, v) returns the efforts
    (an array of nu entries, or a dict by joint name), which are held until the next call; or a `Command`."""

    controller: Callable
    period: float

    def __post_init__(self):
        if not self.period > 0:
            raise StateError(f"Sampled: the period is {self.period!r} s; it must be positive")


@dataclass(frozen=True, eq=False)
class Drive:
    """What drives a run.

    law: expressions compiled into the step; None if the efforts are w itself. held: w if no table gives it; table: w
    over time; function: Python that returns w at every evaluation; sampled: a controller that sets w periodically. At
    most one of the last three.
    """

    held: np.ndarray
    law: CompiledLaw | None = None
    table: Piecewise | None = None
    function: Callable | None = None
    sampled: Sampled | None = None

    @property
    def breaks(self) -> np.ndarray:
        """Times of discontinuities."""
        if self.law is not None:
            return np.unique(self.law.breaks)
        return np.zeros(0) if self.table is None else np.unique(self.table.jumps)


def drive_of(model: Kinetics, torque) -> Drive:
    """The drive for None, constants, a Table, a law, a CasADi Function, a Sampled controller, or any Python function of
    (t, q, v)."""
    none = np.zeros(model.nu)
    if torque is None:
        return Drive(none)
    if isinstance(torque, ca.Function):
        torque = Law(torque)
    if isinstance(torque, CompiledLaw):
        table = torque.signals
        return Drive(np.zeros(0) if table is None else table(table.breaks[0]), law=torque, table=table)
    if isinstance(torque, Table):
        table = _table(model, torque)
        return Drive(none, table=table)
    if isinstance(torque, Sampled):
        _takes_three(torque.controller)
        return Drive(none, sampled=torque)
    if callable(torque):
        _takes_three(torque)
        return Drive(none, function=torque)
    held = efforts(model, torque)
    refuse("simulate", {"torque": held}, {"torque": model.u_names})
    return Drive(held)


def efforts(model: Kinetics, given) -> np.ndarray:
    """The efforts of actuated freedoms (nu) from a user or controller: numbers, or a dict by joint name."""
    if isinstance(given, Mapping):
        return model.efforts(given)
    if given is None:
        raise StateError("torque: the function gave None; it must return the efforts")
    values = np.atleast_1d(reals(given, "torque"))
    if values.shape != (model.nu,):
        takes = f"{model.nu} efforts ({', '.join(model.u_names)})" if model.nu else "none: no joint has actuated=True"
        raise StateError(f"torque: it takes {takes}, not {values.size}")
    return values


def _table(model: Kinetics, table: Table) -> Piecewise:
    if table.between not in BETWEEN:
        raise StateError(f"Table: between is {table.between!r}; it takes {', '.join(BETWEEN)}")
    times = reals(table.times, "Table: times")
    values = table.values
    if isinstance(values, Mapping):
        columns = {name: reals(x, f"Table: {name!r}") for name, x in values.items()}
        for name, x in columns.items():
            if x.shape[:1] != times.shape:
                raise StateError(f"Table: {name!r} has {x.shape[:1]} values for {times.size} times")
        values = np.array([model.efforts({n: x[k] for n, x in columns.items()}) for k in range(len(times))])
    values = reals(values, "Table: values")
    values = values[:, None] if values.ndim == 1 else values
    refuse("Table", {"values": values}, {"values": model.u_names})
    if values.shape != (len(times), model.nu):
        raise StateError(f"Table: values have shape {values.shape}; they take {(len(times), model.nu)}")
    return BETWEEN[table.between](times, values)


def _takes_three(function: Callable) -> None:
    try:
        inspect.signature(function).bind(0.0, None, None)
    except ValueError:  # some built-in functions have no signature
        return
    except TypeError as error:
        raise StateError(f"torque: {function!r} is called as function(t, q, v), and {error}") from error
