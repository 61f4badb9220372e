"""Supports: points of bodies that press on the ground or a wall, with friction, at times."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kempe.errors import StateError
from kempe.kinds import checked, doubles, short
from kempe.kinetics.kinetics import Kinetics
from kempe.mechanism.bodies import Body, Marker

Point = Marker | Body | str


@checked(StateError)
@dataclass(frozen=True, eq=False)
class Support:
    """A body pressed on something that does not move, at one or several points, such as those of a sole.

    points: a marker, a body (at its origin) or a name such as "foot.heel"; or several of them.
    normal: the direction in which the ground pushes, in world axes. friction: the largest tangential force relative
        to the normal one, infinite if nothing slides; 0 if smooth.
    during: when it acts: (from, to) in seconds, several such pairs, or a boolean for every row; always by default.
    name: by default that of its points.
    """

    points: Point | Sequence[Point]
    normal: Iterable[float] = (0.0, 0.0, 1.0)
    friction: float = 0.5
    during: Any = None
    name: str = ""

    def __post_init__(self):
        """Checks and normalizes the values."""
        several = [self.points] if isinstance(self.points, Point) else list(self.points)
        if not several or not all(isinstance(point, Point) for point in several):
            raise StateError(
                f"support: points is {short(self.points)}; give markers, bodies or names such as 'foot.heel'"
            )
        normal = doubles(list(self.normal), "support: normal", StateError)
        if normal.shape != (3,) or not np.isfinite(normal).all() or not normal.any():
            raise StateError(f"support: normal is {short(self.normal)}; give three numbers, where the ground pushes to")
        if not self.friction >= 0:
            raise StateError(f"support: friction is {self.friction!r}; it takes a number from 0, or math.inf")
        named = ", ".join(p if isinstance(p, str) else p.name if isinstance(p, Body) else str(p) for p in several)
        for name, value in (("points", tuple(several)), ("normal", normal / np.linalg.norm(normal))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "name", self.name or named)

    @property
    def axes(self) -> np.ndarray:
        """The normal, and two tangential directions, as rows."""
        normal = np.asarray(self.normal)
        along = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
        along /= np.linalg.norm(along)
        return np.stack([normal, along, np.cross(normal, along)])

    def acts(self, t: np.ndarray) -> np.ndarray:
        """The rows in which it acts, (n,)."""
        t = np.atleast_1d(doubles(t, "acts: t", StateError))
        if self.during is None:
            return np.ones(len(t), dtype=bool)
        given = np.asarray(self.during)
        if given.dtype == bool and given.shape == t.shape:
            return given
        pairs = np.atleast_2d(np.asarray(self.during, dtype=float))
        if given.dtype == bool or pairs.ndim != 2 or pairs.shape[1] != 2 or not (pairs[:, 0] <= pairs[:, 1]).all():
            raise StateError(
                f"support {self.name!r}: during takes (from, to) in seconds, several of them, or {len(t)} truths, one "
                "for every row"
            )
        return np.any((t[:, None] >= pairs[:, 0]) & (t[:, None] <= pairs[:, 1]), axis=1)

    def jacobians(self, model: Kinetics, q: np.ndarray, p) -> np.ndarray:
        """The velocities of its points along its axes per v, (n, points, 3, nv)."""
        q = doubles(q, "jacobians: q", StateError)
        if q.ndim != 2:
            raise StateError(f"jacobians: q has shape {q.shape}; it takes rows, (n, {model.nq})")
        found = [_velocities(model, model.marker(point), q, p) for point in self.points]  # type: ignore[union-attr]
        return np.einsum("ij,npjv->npiv", self.axes, np.stack(found, axis=1))

    @property
    def inside(self) -> np.ndarray:
        """G: admissible forces of a point along the axes have G f >= 0; a pyramid within the friction cone."""
        push = np.array([[1.0, 0.0, 0.0]])
        if self.friction == math.inf:
            return push
        edge = self.friction / math.sqrt(2.0)
        sides = [(edge, s, 0.0) for s in (1.0, -1.0)] + [(edge, 0.0, s) for s in (1.0, -1.0)]
        return np.vstack([push, sides])


def _velocities(model: Kinetics, point: Marker, q: np.ndarray, p) -> np.ndarray:
    """A point's velocity per v, (n, 3, nv): from that of its body's origin, so that all points of a rigid body share
    one kernel."""
    if point.body.beam is not None or any(isinstance(x, str) for x in point.position):
        return model.jacobian(point, q, p=p)[:, 3:]
    twist = model.jacobian(point.body, q, p=p)
    lever = model.pose(point.body, q, p=p)[0] @ np.array(point.position, dtype=float)
    return twist[:, 3:] + np.cross(twist[:, :3], lever[:, :, None], axis=1)
