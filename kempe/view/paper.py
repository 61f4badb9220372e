"""Paper: shapes as flat polygons with depth and shade, for pictures drawn without a browser."""

import itertools
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from kempe.view.shapes import Shape, triangles

if TYPE_CHECKING:
    from kempe.view.look import Look

ROUND = 28  # sides of round shapes
TURN, RISE = 0.62, 0.36  # angles of the three-quarter view [rad]
DISTANCE = 3.0  # of the eye, in sizes of the scene


class Sheet:
    """A projection: world points to (x, y) in metres on the sheet, and a depth that grows towards the viewer.

    Depth is in metres about the middle of what is seen; over a flat face it changes evenly along the sheet.
    """

    def __init__(self, look: "Look", turn: float, rise: float):
        right, up, front = look.axes
        c, s = np.cos(turn), np.sin(turn)
        side, ahead = c * right - s * front, s * right + c * front
        self.axes = np.array([side, np.cos(rise) * up - np.sin(rise) * ahead, np.sin(rise) * up + np.cos(rise) * ahead])
        self.face_on = turn == 0 and rise == 0
        self.center = look.center
        self.distance = DISTANCE * float(np.linalg.norm(look.high - look.low) or 1.0)
        self.light = self.axes.T @ (np.array([-0.35, 0.75, 0.55]) / np.linalg.norm([-0.35, 0.75, 0.55]))

    def put(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions on the sheet (..., 2) and depths (...); face-on, positions are world coordinates along its axes."""
        if self.face_on:
            seen = points @ self.axes.T
            return seen[..., :2], seen[..., 2]
        seen = (points - self.center) @ self.axes.T
        nearer = self.distance / (self.distance - seen[..., 2])
        return seen[..., :2] * nearer[..., None], seen[..., 2] * nearer


def hull(points: np.ndarray) -> np.ndarray:
    """The convex outline of points in the plane, counter-clockwise."""
    points = points[np.lexsort(points.T[::-1])]

    def half(order) -> list[np.ndarray]:
        chain: list[np.ndarray] = []
        for p in order:
            while len(chain) > 1 and _left(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array(half(points) + half(points[::-1]))


def _left(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def faces(shape: Shape) -> list[np.ndarray]:
    """A shape's polygons in its body's axes, in stacks (polygons, corners, 3) by their number of corners.

    They are convex, and go round counter-clockwise, seen from outside.
    """
    if shape.hull is not None:
        unit = [shape.hull.corners[shape.hull.triangles]]
    else:
        unit = _plate(shape.outline) if shape.mesh == "plate" else _unit(shape.mesh)
    return [(stack * shape.scale) @ shape.rotation.T + shape.position for stack in unit]


@cache
def _unit(mesh: str) -> list[np.ndarray]:
    angles = 2 * np.pi * np.arange(ROUND + 1) / ROUND
    ring = np.column_stack([np.cos(angles), np.sin(angles)]) / 2
    if mesh == "box":
        return [_box()]
    if mesh == "sphere":
        bands = np.pi * np.arange(ROUND // 2 + 1) / (ROUND // 2)
        levels = [np.column_stack([ring * np.sin(b), np.full(len(ring), np.cos(b) / 2)]) for b in bands]
        return [_bands(levels[::-1])]
    levels = [np.column_stack([ring, np.full(len(ring), -0.5)])]
    levels += [np.column_stack([ring * (mesh != "cone"), np.full(len(ring), 0.5)])]
    ends = [levels[0][:-1][::-1]] + ([] if mesh == "cone" else [levels[-1][:-1]])
    return [_bands(levels), np.array(ends)]


def _bands(levels: list[np.ndarray]) -> np.ndarray:
    """Quadrilaterals between rings, from the lowest to the highest."""
    return np.concatenate(
        [np.stack([low[:-1], low[1:], high[1:], high[:-1]], axis=1) for low, high in itertools.pairwise(levels)]
    )


def _box() -> np.ndarray:
    found = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            round_ = ((-1, -1), (1, -1), (1, 1), (-1, 1)) if side > 0 else ((-1, -1), (-1, 1), (1, 1), (1, -1))
            corners = np.full((4, 3), side)
            for corner, (u, v) in zip(corners, round_, strict=True):
                corner[(axis + 1) % 3], corner[(axis + 2) % 3] = u / 2, v / 2
            found.append(corners)
    return np.array(found)


def _plate(outline: tuple[tuple[float, float], ...]) -> list[np.ndarray]:
    flat = np.array(outline)
    top = np.column_stack([flat, np.full(len(flat), 0.5)])
    cut = triangles(flat)
    ends = np.roll(flat, -1, axis=0)
    clockwise = (flat[:, 0] * ends[:, 1] - ends[:, 0] * flat[:, 1]).sum() < 0
    ring = top[::-1] if clockwise else top
    under = ring * (1, 1, -1)
    sides = [np.array([under[k - 1], under[k], ring[k], ring[k - 1]]) for k in range(len(ring))]
    flats = [top[list(t)] for t in cut] + [(top * (1, 1, -1))[list(t[::-1])] for t in cut]
    return [np.array(flats), np.array(sides)]


def shaded(stack: np.ndarray, color: np.ndarray, sheet: Sheet) -> tuple[np.ndarray, np.ndarray]:
    """Which faces of a stack, in world axes, face the viewer, and their shaded colors."""
    spans = stack[:, 1:] - stack[:, :1]
    normals = np.cross(spans[:, :-1], spans[:, 1:]).sum(axis=1)
    sizes = np.linalg.norm(normals, axis=1, keepdims=True)
    normals /= np.where(sizes > 0, sizes, 1.0)
    eye = sheet.center + sheet.distance * sheet.axes[2]
    towards = np.broadcast_to(sheet.axes[2], normals.shape) if sheet.face_on else eye - stack.mean(axis=1)
    seen = (normals * towards).sum(axis=1) > 0
    bright = 0.62 + 0.48 * np.maximum(0.0, normals[seen] @ sheet.light)
    return seen, np.clip(color * bright[:, None], 0, 1)
