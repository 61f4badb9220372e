"""Asked: the options of a run, checked and converted to the forms it uses."""

from math import inf, isfinite

import numpy as np

from kempe.errors import StateError
from kempe.integrate.tables import METHODS, Method
from kempe.kinds import doubles, is_number, is_row, short
from kempe.kinetics.kinetics import Kinetics
from kempe.mechanics.state import State
from kempe.simulate.events import Event
from kempe.simulate.stops import Stops, limit_events, no_events

MOST_ROWS = 10_000_000
PULL = 20.0  # 1/s: rate at which Baumgarte's method closes loops


def check(model: Kinetics, state: State, duration: float, tolerance: float, longest: float) -> None:
    """Raises for invalid arguments of a run."""
    if not isinstance(state, State):
        raise StateError(f"state: give one from model.state(...), or a dict by joint name, not {type(state).__name__}")
    if state.model.q_names != model.q_names:
        raise StateError(f"the state is one of {state.model.mechanism.name!r}; make one with model.state(...)")
    if state.q.shape != (model.nq,) or state.v.shape != (model.nv,):
        has, takes = f"{state.q.size} coordinates and {state.v.size} velocities", f"{model.nq} and {model.nv}"
        raise StateError(f"the state has {has}; {model.mechanism.name!r} takes {takes}: make one with model.state(...)")
    for what, number in (("duration", duration), ("tolerance", tolerance), ("longest", longest)):
        if not is_number(number):
            raise StateError(f"{what} is {short(number)}; give a number")
    if not (isfinite(duration) and duration > 0):
        raise StateError(f"duration is {duration!r} s; it must be positive")
    if not 1e-15 <= tolerance < 1:
        raise StateError(f"tolerance is {tolerance!r}; it takes 1e-15 to 1")
    if not longest > 0:
        raise StateError(f"longest is {longest!r} s; it must be positive")


def method_of(name: str, step: float | None) -> Method:
    """The initial method; `auto` may switch to another."""
    if name == "auto":
        name = "dop853"
    if name not in METHODS:
        raise StateError(f"there is no method {name!r}; there are auto, {', '.join(METHODS)}")
    method = METHODS[name]
    if method.adaptive and step is not None:
        raise StateError(f"{name} chooses its steps by tolerance; step is for rk4 and euler, longest= bounds a step")
    if not method.adaptive and not (step is not None and step > 0):
        raise StateError(f"{name} takes fixed steps: give step, in seconds")
    return method


def stabilized(stabilize: str | None) -> tuple[bool, float]:
    """Whether states are projected back onto the loops, and otherwise the rate at which loops are closed."""
    if stabilize not in ("project", "baumgarte", None):
        raise StateError(f"stabilize is {stabilize!r}; it takes 'project', 'baumgarte' or None")
    return stabilize == "project", PULL if stabilize == "baumgarte" else 0.0


def limits_of(model: Kinetics, limits) -> tuple[Stops | None, list[Event]]:
    """The stops, and the events, that joint limits become."""
    if limits == "events":
        return None, limit_events(model)
    if limits == "locks":
        return None, []
    return no_events(limits), []


def output_times(start: float, end: float, output) -> np.ndarray:
    """The times of output."""
    if output is None:
        return np.zeros(0)
    if is_number(output):
        spacing = float(output)
        if not 0 < spacing < inf:
            raise StateError(f"output is {output!r} s; it takes a spacing, times, or None for every step")
        rows = (end - start) / spacing * (1 + 1e-12)
        count = int(min(rows, 2 * MOST_ROWS))
        if count > MOST_ROWS:
            raise StateError(
                f"output every {spacing:g} s makes {rows:.3g} rows; at most {MOST_ROWS} fit, give more seconds"
            )
        return start + spacing * np.arange(count + 1)
    if not is_row(output):
        raise StateError(f"output is {short(output)}; give a spacing in seconds, times, or None for every step")
    times = np.array(doubles(output if isinstance(output, np.ndarray) else list(output), "output", StateError))
    slack = 1e-12 * (1 + abs(end))
    if (
        times.ndim != 1
        or not len(times)
        or not ((np.diff(times) >= 0).all() and start <= times[0] <= times[-1] <= end + slack)
    ):
        raise StateError(f"output: times must increase and lie within {start:g} and {end:g} s")
    return np.minimum(times, end)
