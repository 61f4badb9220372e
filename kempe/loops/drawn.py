"""Drawn: the distance of a closed state from a pose, over all joints, and the path there through closed states.

A mechanism is drawn with all joints at zero, where the frames of their markers coincide, or within limits that exclude
zero. The distance from there is the root of the sum of squared joint motions, in radians and sizes of the mechanism,
angles by the shorter way round. All joints count, cut ones too, so the choice of cuts does not matter.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.sums import dot, norm
from kempe.loops.descent import (
    CLOSED,
    Task,
    bounded,
    coupled,
    solve,
)
from kempe.loops.limits import bounds_of
from kempe.loops.matrices import Entries, closure_at, scaled, stacked
from kempe.loops.targets import CutCoordinate, Measure, measures, pose_off, wrapped
from kempe.mechanism.joints import Free, Helical

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

SLIDES = 60  # steps along closed states
SETTLED = 1e-12  # of the distance squared: stop when a step gains less
STIFF = 1e4  # weight of the loops relative to the distance, in a step along closed states
LONGEST = 0.5  # rad, or sizes: longest such step


@dataclass(frozen=True, eq=False)
class Pose:
    """The reference pose of all joints: those of the tree by q, cut ones at zero."""

    mechanics: "Mechanics"
    q: np.ndarray

    @cached_property
    def turning(self) -> np.ndarray:
        """Velocities of angles that are measured by the shorter way round."""
        found = []
        for t in self.mechanics.topology.tree:
            kind = t.joint.type
            flat = len(kind.q_names) == len(kind.units) and kind is not Helical
            found += [flat and unit == "rad" for unit in kind.units]
        return np.array(found, dtype=bool) & ~coupled(self.mechanics)

    @cached_property
    def cut(self) -> list[tuple[str, Measure, np.ndarray, np.ndarray]]:
        """For cut joints: names, measures, values in the pose, units."""
        found = []
        for loop in self.mechanics.topology.closures:
            kind, name = loop.joint.type, loop.joint.name
            size = self.mechanics.equations.closure_size
            units = [1.0 if unit == "rad" else size for unit in kind.units]
            zero = kind().neutral() if len(kind.q_names) != len(kind.units) else None
            for k, measure in enumerate(measures(self.mechanics, name, "assemble") if kind.units else ()):
                whole = zero is not None
                found.append((name, measure, zero if whole else np.zeros(1), np.array(units if whole else [units[k]])))
        return found

    @cached_property
    def names(self) -> list[str]:
        """The joint of each entry of `off`."""
        tree = [t.joint.name for t in self.mechanics.topology.tree for _ in t.joint.type.units]
        return tree + [name for name, _, _, units in self.cut for _ in units]

    def off(self, q: np.ndarray) -> np.ndarray:
        """How far each joint has moved, those of the tree first."""
        cut = (m.off(q, x) / units for _, m, x, units in self.cut)
        return np.concatenate([self._moved(self.q, q), *cut])

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """How far each joint has moved between two states."""
        cut = []
        for _, m, x, units in self.cut:
            turning = isinstance(m, CutCoordinate) and m.turning
            cut.append(wrapped(m.off(b, x) - m.off(a, x), turning) / units)
        return np.concatenate([self._moved(a, b), *cut])

    def _moved(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        step = self.mechanics.difference(a, b)
        step[self.turning] = wrapped(step[self.turning], True)
        for t in self.mechanics.topology.tree:
            if t.joint.type is Free:
                step[t.v] = pose_off(a[t.q], b[t.q])
        return step / self.mechanics.equations.steps

    def distance(self, q: np.ndarray) -> float:
        """Distance of a state from the pose."""
        return float(norm(self.off(q)))

    def farthest(self, q: np.ndarray) -> tuple[str, float, str]:
        """The joint whose coordinate has moved most: its name, by how much [rad, or sizes], and in words."""
        off, size = np.abs(self.off(q)), self.mechanics.equations.closure_size
        off[: self.mechanics.nv][coupled(self.mechanics)] = 0.0  # coupled joints move along with others
        units = [unit for t in self.mechanics.topology.tree for unit in t.joint.type.units]
        kinds = {loop.joint.name: loop.joint.type for loop in self.mechanics.topology.closures}
        for name in dict.fromkeys(name for name, *_ in self.cut):
            units += kinds[name].units
        k = int(np.argmax(off))
        words = f"{np.rad2deg(off[k]):.0f} degrees" if units[k] == "rad" else f"{off[k] * size:.3g} m"
        return self.names[k], float(off[k]), words

    def slid(self, task: Task, q: np.ndarray) -> np.ndarray:
        """The closed state nearest to the pose, downhill from a given closed state."""
        mechanics, units = self.mechanics, self.mechanics.equations.steps
        limits, off = bounds_of(mechanics, task.free if task.bounded else None), self.off(q)
        size, free = float(dot(off, off)), task.free & ~mechanics.bending
        for _ in range(SLIDES if size else 0):
            jacobian = closure_at(mechanics, q, task.p)[1]
            rows = [measure.matrix(q, task.p) for measure, _ in task.measured]
            own = [m.matrix(q) / scales[:, None] for _, m, _, scales in self.cut]
            held = scaled(stacked(jacobian, rows), STIFF * units)
            held = held.dense() if isinstance(held, Entries) else held
            matrix = np.vstack([held, np.eye(mechanics.nv), *(row * units for row in own)])
            right = np.concatenate([np.zeros(len(held)), -off])
            step = bounded(matrix, right, 0.0, free, *limits.around(q, units))
            longest = float(np.abs(step).max(initial=0.0))
            step = step * min(1.0, LONGEST / max(longest, 1e-300))
            if longest < 1e-9:
                break
            for _ in range(5):
                trial, gap = solve(mechanics, task, limits.kept(mechanics.integrate(q, step * units)))
                moved = self.off(trial)
                if gap <= CLOSED and dot(moved, moved) < size:
                    break
                step = 0.25 * step
            else:
                break
            gained = size - float(dot(moved, moved))
            q, off, size = trial, moved, size - gained
            if gained <= SETTLED * size:
                break
        return q
