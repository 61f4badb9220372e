"""Locks: joint limits that hold while something presses against them, and release where they would have to pull."""

from dataclasses import dataclass
from math import inf

import numpy as np

from kempe.kinetics.kinetics import Kinetics
from kempe.mechanics.layout import Limit
from kempe.topology.paths import lock_paths

SLIGHT = 1e-8  # of the largest acceleration
NEAR = 1e-10  # rad or sizes of the mechanism, and per second: at a limit, or at rest there


@dataclass(frozen=True)
class Lock:
    """One limit of a freedom; sign: 1 for an upper one, -1 for a lower one; size: its unit."""

    limit: Limit
    value: float
    sign: float
    size: float

    @property
    def near(self) -> float:
        """Tolerance for being at the limit, or at rest there: rad or m, and per second."""
        return NEAR * self.size

    @property
    def name(self) -> str:
        """Its name in structures."""
        return f"{self.limit.name} at its {'upper' if self.sign > 0 else 'lower'} limit"


def locks_of(model: Kinetics) -> tuple[Lock, ...]:
    """All limits that can be reached."""
    sizes = model.equations.steps
    both = ((x, value, sign) for x in model.limits for value, sign in ((x.low, -1.0), (x.high, 1.0)))
    every = (Lock(x, value, sign, float(sizes[x.v])) for x, value, sign in both)
    return tuple(lock for lock in every if abs(lock.value) < inf)


def masks(masked: Kinetics, on: frozenset[str], locks: tuple[Lock, ...]) -> tuple[float, ...]:
    """The parameters of a masked model that say what is on."""
    values = {f"{name}.on": float(name in on) for name in masked.topology.switchable}
    values |= dict.fromkeys((path for at in masked.topology.locks for path in lock_paths(at)), 0.0)
    for lock in locks:
        if lock.name in on:
            is_on, at = lock_paths(lock.limit.v)
            values[is_on], values[at] = 1.0, lock.value
    return tuple(values[path] for path in masked.topology.masks)


def pressed(
    locks: tuple[Lock, ...], on: frozenset[str], q: np.ndarray, v: np.ndarray, a: np.ndarray, sizes: np.ndarray
) -> list[str]:
    """Unlocked limits that something moves or presses against, or that are exceeded; sizes: the units of velocities."""
    found, slight = [], SLIGHT * np.abs(a / sizes).max(initial=0.0)  # remains where a lock has just released
    for lock in locks:
        beyond, rate, push = (lock.sign * x for x in (q[lock.limit.q] - lock.value, v[lock.limit.v], a[lock.limit.v]))
        near = lock.near
        moves = beyond >= -near and (rate > near or (rate >= -near and push > slight * lock.size))
        if lock.name not in on and (moves or beyond > 2 * near):
            found.append(lock.name)
    return found
