"""Look: the best viewpoint of a mechanism, whether it moves in a plane, and where the floor is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.mechanism.joints import Fixed, Planar, Prismatic, Revolute
from kempe.view.poses import poses

if TYPE_CHECKING:
    from kempe.mechanics.layout import Layout

PARALLEL = 1e-9


@dataclass(frozen=True, eq=False)
class Look:
    """The view of a mechanism: screen axes of the front view, and the extent to show.

    flat: everything moves in one plane, seen face-on. right, up, front: unit vectors in world axes, front towards the
    viewer. low, high: the box of everything reached, along (right, up, front). floor: the level of the floor along up,
    or, for flat mechanisms, of the wall behind along front.
    """

    flat: bool
    right: np.ndarray
    up: np.ndarray
    front: np.ndarray
    low: np.ndarray
    high: np.ndarray
    floor: float

    @property
    def axes(self) -> np.ndarray:
        """Rows right, up, front: the rotation from world to view axes."""
        return np.array([self.right, self.up, self.front])

    @property
    def center(self) -> np.ndarray:
        """The centre of that box, in world axes."""
        return self.axes.T @ ((self.low + self.high) / 2)


def look(model: "Layout", cloud: np.ndarray, slim: float) -> Look:
    """Chooses the view from the joints' axes, gravity, and the points (..., 3) that bodies reach."""
    gravity = np.array(model.mechanism.gravity)
    normal = plane_normal(model)
    if normal is not None:
        axes = _face_on(normal, gravity)
        low, high = _box(cloud, axes)
        wide, tall, deep = high - low
        # A shaft on bearings also moves in a plane, but should not be seen from its end.
        if deep <= max(wide, tall):
            return Look(True, axes[0], axes[1], axes[2], low, high, float(low[2] - slim))
    size = float(np.linalg.norm(gravity))
    up = -gravity / size if size else np.array([0.0, 0.0, 1.0])
    # x points to the right, unless gravity is along it.
    right = _level(up)
    axes = np.array([right, up, np.cross(right, up)])
    low, high = _box(cloud, axes)
    return Look(False, axes[0], axes[1], axes[2], low, high, float(low[1]))


def plane_normal(model: "Layout") -> np.ndarray | None:
    """The direction parallel to all hinges and perpendicular to all sliders; None if there is none.

    Rotation about the normal does not change it, so one pose decides for all.
    """
    m = model.mechanism
    rotation, _ = poses(model, model.neutral()[None])
    number = {body: k for k, body in enumerate((m.ground, *m.bodies))}
    spins, slides = [], []
    for joint in m.joints:
        if joint.type is Fixed:
            continue
        if joint.type not in (Revolute, Planar, Prismatic):
            return None
        axis = joint.axes[0] / np.linalg.norm(joint.axes[0])
        axis = rotation[0, number[joint.a.body]] @ np.asarray(joint.a.rotation, dtype=float) @ axis
        (slides if joint.type is Prismatic else spins).append(axis)
    if not spins:
        spins = _across(slides, np.array(m.gravity))
        if not spins:
            return None
    n = spins[0]
    bent = [(number[b], along) for b in m.bodies if b.beam is not None for along in b.beam.integrals.plane]
    if any(abs(rotation[0, k][:, 1 + along] @ n) > PARALLEL for k, along in bent):
        return None
    parallel = all(np.linalg.norm(np.cross(n, s)) < PARALLEL for s in spins)
    across = all(abs(n @ s) < PARALLEL for s in slides)
    return n if parallel and across else None


def _across(slides: list[np.ndarray], gravity: np.ndarray) -> list[np.ndarray]:
    """A normal for mechanisms with sliders only: perpendicular to two of them, or to one and gravity."""
    if not slides:
        return []
    for other in (*slides[1:], gravity, np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])):
        normal = np.cross(slides[0], other)
        if (length := np.linalg.norm(normal)) > 1e-6:
            return [normal / length]
    return []


def _face_on(normal: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """Rows right, up, front: gravity points down the screen, and right is along a positive axis if possible."""
    down = gravity - normal * (normal @ gravity)
    if np.linalg.norm(down) > 1e-6 * max(1.0, float(np.linalg.norm(gravity))):
        up = -down / np.linalg.norm(down)
        right = np.cross(up, normal)
        if right[np.abs(right).argmax()] < 0:
            right, normal = -right, -normal
        return np.array([right, up, normal])
    # Seen from above, against gravity, or with the normal's largest component towards the viewer.
    towards = -gravity if np.linalg.norm(gravity) else np.sign(normal) * (np.abs(normal) == np.abs(normal).max())
    normal = normal if normal @ towards > 0 else -normal
    right = _level(normal)
    return np.array([right, np.cross(normal, right), normal])


def _level(up: np.ndarray) -> np.ndarray:
    """A unit vector perpendicular to `up`, close to x if possible, else to y."""
    x = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    right = x - up * (up @ x)
    return right / np.linalg.norm(right)


def _box(cloud: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    seen = cloud.reshape(-1, 3) @ axes.T
    return seen.min(axis=0), seen.max(axis=0)
