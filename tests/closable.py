"""Questions to assembly that have an answer: random mechanisms that close at a pose, with limits and values around it.

Bodies and joints are first put where loops close (`tests/closed.py`). Limits are then drawn around the coordinates that
joints have there, and some joints are given their values from there; so a closed state exists that keeps all of them.
"""

from dataclasses import dataclass

import numpy as np

from kempe.mechanics.state import State
from kempe.model.model import Model
from tests.closed import Closed, random_closed
from tests.mechanisms import RATED


@dataclass(frozen=True, eq=False)
class Question:
    """A mechanism with the pose it closes at, what is given of it, and where assembly begins; None: as it is drawn."""

    closed: Closed
    values: dict[str, float | np.ndarray]
    away: int | None

    def near(self, model: Model) -> State | None:
        """Where assembly begins."""
        return None if self.away is None else model.random_state(self.away)

    def keeps(self, model: Model, state: State) -> float:
        """How far a state is from what was asked: open loops, values, limits."""
        phi, _, upright = model.closure(state.q)
        off = [np.abs(phi).max(initial=0.0), *(-upright)]
        for name, x in self.values.items():
            off.append(float(np.abs(turned(state[name], x, self.closed.joint(name).type.units)).max()))
        given = {k for name in self.values if name in model.slices("q") for k in at(model, name)}
        for limit in model.limits:
            if limit.q not in given:
                off += [limit.low - state.q[limit.q], state.q[limit.q] - limit.high]
        return max(off)


def at(model: Model, name: str) -> range:
    """Where a joint's coordinates are in q."""
    here = model.slices("q")[name]
    return range(here.start, here.stop)


def turned(x, y, units) -> np.ndarray:
    """Differences of coordinates, angles the shorter way round; quaternions by what is between them."""
    x, y = np.atleast_1d(x), np.atleast_1d(y)
    if len(x) != len(units):
        sign = 1 if x[:4] @ y[:4] > 0 else -1
        return np.concatenate([x[:4] - sign * y[:4], x[4:] - y[4:]])
    return np.where([unit == "rad" for unit in units], (x - y + np.pi) % (2 * np.pi) - np.pi, x - y)


def question(seed: int) -> Question:
    """The same for the same number: one to six loops, half in a plane, half with limits, most with values given."""
    rng = np.random.default_rng([27, seed])
    closed = random_closed(seed, 1 + seed % 6, planar=bool(rng.random() < 0.5))
    if rng.random() < 0.5:
        limited(closed, rng)
    names = [joint.name for joint in closed.mechanism.joints if joint.type.v_names]
    count = int(rng.integers(0, closed.freedom + 1))
    given = rng.permutation(names)[:count].tolist()
    away = int(rng.integers(1 << 31)) if rng.random() < 0.5 else None
    return Question(closed, {name: closed.values[name] for name in given}, away)


def limited(closed: Closed, rng: np.random.Generator) -> None:
    """Limits around the pose, on half of the joints that can have any and do not close a loop."""
    for joint in closed.mechanism.joints:
        if joint.type.name in RATED and joint.name not in closed.closing and rng.random() < 0.5:
            x = np.atleast_1d(closed.values[joint.name])
            widest = np.array([2.0 if unit == "rad" else 0.5 for unit in joint.type.units])
            low, high = (x - widest * rng.uniform(0.02, 1, len(x)), x + widest * rng.uniform(0.02, 1, len(x)))
            object.__setattr__(joint, "limits", tuple(zip(low.tolist(), high.tolist(), strict=True)))
