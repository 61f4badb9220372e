"""Limits: the bounds of joints, whether a state is within them, and the nearest coordinates that are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits of some coordinates, by their positions in q and v."""

    q: np.ndarray
    v: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def kept(self, q: np.ndarray) -> np.ndarray:
        """The nearest coordinates within the limits."""
        out = q.copy()
        out[self.q] = np.clip(out[self.q], self.low, self.high)
        return out

    def around(self, q: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far each velocity may go down and up, in its units."""
        low, high = np.full(len(units), -np.inf), np.full(len(units), np.inf)
        low[self.v] = (self.low - q[self.q]) / units[self.v]
        high[self.v] = (self.high - q[self.q]) / units[self.v]
        return low, high


def bounds_of(mechanics: "Mechanics", free: np.ndarray | None) -> Bounds:
    """Limits of the free velocities; of none if None."""
    found = [limit for limit in mechanics.limits if free is not None and free[limit.v]]
    columns = [np.array([getattr(limit, name) for limit in found]) for name in ("q", "v", "low", "high")]
    return Bounds(columns[0].astype(int), columns[1].astype(int), *columns[2:])


def beyond_limits(mechanics: "Mechanics", q: np.ndarray) -> str:
    """Joints beyond their limits."""
    found = [limit for limit in mechanics.limits if not limit.low <= q[limit.q] <= limit.high]
    return ", ".join(f"{x.name} = {q[x.q]:.6g} (limits {x.low:g} to {x.high:g})" for x in found) or "other joints"
