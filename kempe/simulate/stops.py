"""Stops: joint limits in a run: as smooth stops that push back, or as events that end it."""

import warnings
from dataclasses import dataclass, replace
from math import inf, pi

import casadi as ca
import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked
from kempe.kinetics.kinetics import Kinetics
from kempe.mechanics.layout import Limit
from kempe.simulate.events import Event

FREQUENCY = 25.0  # Hz at which a joint would swing on a stop, by default
WIDTH = 1e-3  # of the distance between the limits, over which such a stop begins
FAR = 0.1  # of that distance; a stop ignores joints that begin farther beyond it


@checked(StateError)
@dataclass(frozen=True)
class Stops:
    """Smooth stops at the limits of joints.

    Beyond a limit by d the effort is k s(d) (1 + c d'), against the motion, and never pulls: s is d^2 / (2 w) up to the
    width w and d - w/2 from there on, so that the effort and its slope are continuous.

    stiffness k [N m/rad, N/m]: by default such that the joint would swing on the stop at 25 Hz, in a tree with all
    nearer to the ground held or faster, with loops at the median inertia over closed states; damping c [s/rad, s/m]
    dissipates energy of an impact in proportion to its speed: by default one second per radian, or per size of the
    mechanism; width w [rad, m]: by default a thousandth of the distance between the limits, or of a radian or the size
    for a single limit. without: freedoms without stops.
    """

    stiffness: float | None = None
    damping: float | None = None
    width: float | None = None
    without: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("stiffness", "damping", "width"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and 0 <= value < inf):
                raise StateError(f"Stops: {name} is {value!r}; give a number that is not negative")


def stop_efforts(model: Kinetics, stops: Stops, inertias: ca.SX, q: ca.SX, v: ca.SX) -> list[ca.SX]:
    """The efforts of stops along every freedom that has limits."""
    found = []
    for number, at in enumerate(model.limits):
        total = ca.SX(0.0)
        if at.name in stops.without:
            found.append(total)
            continue
        usual = float(model.equations.steps[at.v])
        width = WIDTH * _span(model, at) if stops.width is None else stops.width
        damping = 1.0 / usual if stops.damping is None else stops.damping
        stiffness = inertias[number] * (2 * pi * FREQUENCY) ** 2 if stops.stiffness is None else stops.stiffness
        for limit, sign in ((at.low, -1.0), (at.high, 1.0)):
            if abs(limit) < inf:
                beyond = ca.fmax(sign * (q[at.q] - limit), 0)
                eased = ca.fmin(beyond, width)
                depth = eased * (beyond - eased / 2) / width if width else beyond
                push = stiffness * depth * ca.fmax(1 + damping * sign * v[at.v], 0)
                total -= sign * push
        found.append(total)
    return found


def out_of_reach(model: Kinetics, stops: Stops, q: np.ndarray) -> Stops:
    """The stops of a run that begins at q: without those that it begins far beyond, which would shoot the joint back.
    Files have such limits if bodies are drawn in another pose than joints are measured from."""
    far = []
    for at in model.limits:
        if max(at.low - q[at.q], q[at.q] - at.high) > FAR * _span(model, at):
            far.append(at.name)
    if far:
        warnings.warn(
            f"the run begins far beyond the limits of {', '.join(far)}, so that these are left out; begin within them, "
            "or give limits='ignore'",
            stacklevel=4,
        )
    return replace(stops, without=(*stops.without, *far)) if far else stops


def _span(model: Kinetics, at: Limit) -> float:
    """The distance between limits; for a single one, a radian, or the mechanism's size."""
    span = at.high - at.low
    return span if span < inf else float(model.equations.steps[at.v])


def no_events(limits: str | Stops) -> Stops | None:
    """The stops that `limits` requests, where events cannot be detected."""
    if isinstance(limits, Stops):
        return limits
    if limits not in ("stops", "ignore"):
        raise StateError(
            f"limits is {limits!r}; it takes 'stops', 'ignore' or kp.Stops(...), and 'events' or 'locks' in a run"
        )
    return Stops() if limits == "stops" else None


def limit_met(model: Kinetics, q: np.ndarray, v: np.ndarray) -> str | None:
    """The limit that a state is beyond already, or at and about to pass, in words."""
    for at in model.limits:
        for limit, sign, word in ((at.low, -1.0, "lower"), (at.high, 1.0, "upper")):
            beyond = sign * (q[at.q] - limit)
            if beyond > 0 or (beyond == 0 and sign * v[at.v] > 0):
                return f"{at.name} at its {word} limit {limit:g}"
    return None


def limit_events(model: Kinetics) -> list[Event]:
    """Events that end a run where a joint reaches a limit."""
    events = []
    for at in model.limits:
        for limit, sign, word in ((at.low, 1.0, "lower"), (at.high, -1.0, "upper")):
            if abs(limit) < inf:
                name = f"{at.name} at its {word} limit {limit:g}"
                events.append(Event(name, lambda t, q, v, at=at, x=limit, s=sign: s * (q[at.q] - x), direction=-1))
    return events
