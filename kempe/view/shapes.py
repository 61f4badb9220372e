"""Shapes: solids drawn as a few unit meshes, scaled, rotated and placed on bodies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kempe.mechanism.axes import alignment
from kempe.mechanism.bodies import Box, Cylinder, Hub, Lump, Part, Plate, PointMass, Rod, Solid, Sphere, tensor_matrix
from kempe.mechanism.joints import Revolute
from kempe.mechanism.solids import Ellipsoid, MeshFile
from kempe.view.hulls import hull_of

if TYPE_CHECKING:
    from kempe.formats.meshes import Mesh

# Middle tones that can be read on white and on near-black.
PALETTE = ("#5b8fc0", "#d19a4a", "#5aa893", "#c5766d", "#9183bd", "#8ba35c", "#6aa9bd", "#c286a5")
JOINT, ACCENT, GROUND, SPRING, LOAD = "#727b87", "#ec7524", "#8d939b", "#3f9e75", "#c64b7e"


@dataclass(frozen=True, eq=False)
class Shape:
    """A mesh on a body.

    mesh: box, cylinder (along z), sphere or cone (along z), all filling the unit cube about the origin; or plate,
    `outline` extruded along z to thickness 1 about the plane z = 0; or hull, the given mesh.
    body: its index, 0 for the ground. role: solid, link, joint or ground.
    rotation, position, scale: from the mesh to the body's frame; the scale acts along the mesh's own axes.
    """

    mesh: str
    body: int
    rotation: np.ndarray
    position: np.ndarray
    scale: np.ndarray
    color: str
    role: str = "solid"
    name: str = ""
    outline: tuple[tuple[float, float], ...] = ()
    hull: "Mesh | None" = None

    def corners(self) -> np.ndarray:
        """Corners of its bounding box, in the body's axes (8, 3)."""
        low, high = np.full(3, -0.5), np.full(3, 0.5)
        if self.outline:
            points = np.array(self.outline)
            low[:2], high[:2] = points.min(axis=0), points.max(axis=0)
        if self.hull is not None:
            low, high = self.hull.corners.min(axis=0), self.hull.corners.max(axis=0)
        unit = np.array([[(low, high)[(k >> i) & 1][i] for i in range(3)] for k in range(8)])
        return (unit * self.scale) @ self.rotation.T + self.position

    def placed(self, rotation: np.ndarray, position: np.ndarray) -> "Shape":
        """The same shape in the frame in which `rotation` and `position` are given."""
        return replace(self, rotation=rotation @ self.rotation, position=rotation @ self.position + position)


def along(axis: Sequence[float] | np.ndarray) -> np.ndarray:
    """A rotation whose z axis lies along `axis`."""
    return alignment(Revolute, (np.asarray(axis, dtype=float),))


def make(mesh: str, body: int, position, scale, color: str, rotation=None, **more) -> Shape:
    """Creates a shape, converting sequences to arrays."""
    rotation = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    return Shape(mesh, body, rotation, np.array(position, dtype=float), np.array(scale, dtype=float), color, **more)


def bar(body: int, start, end, radius: float, color: str, **more) -> Shape:
    """A round bar from one point to another."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    span = end - start
    length = float(np.linalg.norm(span))
    axis = span if length else np.array([0.0, 0.0, 1.0])
    return make("cylinder", body, (start + end) / 2, (2 * radius, 2 * radius, length), color, along(axis), **more)


def ball(body: int, position, radius: float, color: str, **more) -> Shape:
    """A ball."""
    return make("sphere", body, position, np.full(3, 2 * radius), color, **more)


def solid_shapes(part: Part, position: np.ndarray, body: int, color: str, slim: float, name: str) -> list[Shape]:
    """The shapes of a solid on a body; `slim` is the radius for solids without thickness."""
    rotation = np.eye(3) if part.rotation is None else np.asarray(part.rotation, dtype=float)
    return [shape.placed(rotation, position) for shape in _own(part.solid, body, color, slim, name)]


def _own(solid: Solid, body: int, color: str, slim: float, name: str) -> list[Shape]:
    """Shapes in the solid's own frame."""
    more = {"name": name}
    if isinstance(solid, Rod):
        end = (solid.length, 0.0, 0.0)
        shapes = [bar(body, (0, 0, 0), end, solid.radius or slim, color, **more)]
        # Round ends join bent links of thin rods smoothly.
        caps = () if solid.radius else ((0.0, 0.0, 0.0), end)
        return shapes + [ball(body, cap, slim, color, **more) for cap in caps]
    if isinstance(solid, Box):
        return [make("box", body, (0, 0, 0), np.maximum(solid.size, slim / 4), color, **more)]
    if isinstance(solid, Cylinder):
        scale = (2 * solid.radius, 2 * solid.radius, max(solid.length, slim / 4))
        return [make("cylinder", body, (0, 0, 0), scale, color, **more)]
    if isinstance(solid, Sphere):
        return [ball(body, (0, 0, 0), solid.radius, color, **more)]
    if isinstance(solid, Ellipsoid):
        return [make("sphere", body, (0, 0, 0), solid.size, color, **more)]
    if isinstance(solid, MeshFile):
        hull = hull_of(solid)
        return [] if hull is None else [make("hull", body, (0, 0, 0), (1, 1, 1), color, hull=hull, **more)]
    if isinstance(solid, Plate):
        scale = (1, 1, solid.thickness or slim)
        return [make("plate", body, (0, 0, 0), scale, color, outline=tuple(solid.outline), **more)]
    if isinstance(solid, Lump):
        axes, diameters = equivalent_ellipsoid(solid)
        return [make("sphere", body, solid.com, np.maximum(diameters, 3 * slim), color, axes, **more)]
    if isinstance(solid, Hub):
        return [make("cylinder", body, (0, 0, 0), (5 * slim, 5 * slim, 2 * slim), color, along(solid.axis), **more)]
    if isinstance(solid, PointMass):
        return [ball(body, (0, 0, 0), 1.8 * slim, color, **more)] if solid.mass else []
    raise TypeError(f"no drawing for a solid of kind {solid.kind}")


def equivalent_ellipsoid(lump: Lump) -> tuple[np.ndarray, np.ndarray]:
    """Principal axes and diameters of the uniform ellipsoid with a lump's mass and tensor; zeros without a mass."""
    moments, axes = np.linalg.eigh(tensor_matrix(*lump.tensor))
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    if not lump.mass > 0:
        return axes, np.zeros(3)
    # With semi-axes a, b, c: I_x = m (b^2 + c^2) / 5, the others cyclically.
    squares = 2.5 / lump.mass * (moments.sum() - 2 * moments)
    return axes, 2 * np.sqrt(np.maximum(squares, 0.0))


def girth(solid: Solid) -> float:
    """The thickness radius of a bar-like solid, which a joint glyph must exceed."""
    if isinstance(solid, Box):
        return min(solid.size) / 2
    return solid.radius if isinstance(solid, (Rod, Cylinder, Sphere)) else 0.0


def nearest(solid: Solid, point: np.ndarray) -> np.ndarray:
    """The point of a solid nearest to `point`, in the solid's frame; lumps, points and hubs count as their centres."""
    x, y, z = point
    if isinstance(solid, Rod):
        low, high = sorted((0.0, solid.length))
        across = _within((y, z), solid.radius)
        return np.array([np.clip(x, low, high), *across])
    if isinstance(solid, Box):
        half = np.array(solid.size) / 2
        return np.clip(point, -half, half)
    if isinstance(solid, Cylinder):
        return np.array([*_within((x, y), solid.radius), np.clip(z, -solid.length / 2, solid.length / 2)])
    if isinstance(solid, Sphere):
        return _within(point, solid.radius)
    if isinstance(solid, Plate):
        level = np.clip(z, -solid.thickness / 2, solid.thickness / 2)
        return np.array([*_in_polygon(np.array(solid.outline), np.array([x, y])), level])
    if isinstance(solid, Ellipsoid):
        half = np.array(solid.size) / 2
        return half * _within(point / half, 1.0)  # accurate enough to join a bar to it
    if isinstance(solid, MeshFile):
        hull = hull_of(solid)
        return np.zeros(3) if hull is None else _in_hull(hull, point)
    return np.array(solid.com) if isinstance(solid, Lump) else np.zeros(3)


def _within(point, radius: float) -> np.ndarray:
    point = np.asarray(point, dtype=float)
    length = float(np.linalg.norm(point))
    return point if length <= radius else point * (radius / length)


def _in_hull(hull: "Mesh", point: np.ndarray) -> np.ndarray:
    """The point itself if it is inside, else approximately the nearest, by steps towards corners."""
    corners = hull.corners
    a, b, c = (corners[hull.triangles[:, k]] for k in range(3))
    if (np.einsum("ij,ij->i", np.cross(b - a, c - a), point - a) <= 0).all():
        return point
    found = corners.mean(axis=0)
    for _ in range(30):
        away = point - found
        step = corners[(corners @ away).argmax()] - found
        gain = float(away @ step)
        if gain <= 1e-12 * float(step @ step):
            break
        found = found + min(1.0, gain / float(step @ step)) * step
    return found


def _in_polygon(corners: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The point itself if it is inside, else the nearest point on the edges."""
    starts, spans = corners, np.roll(corners, -1, axis=0) - corners
    ends = starts + spans
    crosses = (starts[:, 1] > point[1]) != (ends[:, 1] > point[1])
    rise = np.where(spans[:, 1] == 0, 1.0, spans[:, 1])
    at = starts[:, 0] + (point[1] - starts[:, 1]) / rise * spans[:, 0]
    if np.count_nonzero(crosses & (point[0] < at)) % 2:
        return point
    squares = np.maximum((spans**2).sum(axis=1), 1e-300)
    share = np.clip(((point - starts) * spans).sum(axis=1) / squares, 0, 1)
    feet = starts + share[:, None] * spans
    return feet[((feet - point) ** 2).sum(axis=1).argmin()]


def triangles(outline: np.ndarray) -> list[tuple[int, int, int]]:
    """Triangulates a simple polygon by ear clipping, counter-clockwise."""
    left = list(range(len(outline)))
    ends = np.roll(outline, -1, axis=0)
    if (outline[:, 0] * ends[:, 1] - ends[:, 0] * outline[:, 1]).sum() < 0:
        left.reverse()
    found = []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            others = [i for i in left if i not in (a, b, c)]
            if _turn(outline, a, b, c) > 0 and not any(_holds(outline, a, b, c, i) for i in others):
                break
        else:  # a self-intersecting outline has no ears left: cut anywhere
            k, (a, b, c) = 1, left[:3]
        found.append((a, b, c))
        left.pop(k)
    return [*found, (left[0], left[1], left[2])]


def _turn(p: np.ndarray, a: int, b: int, c: int) -> float:
    (x, y), (u, v) = p[b] - p[a], p[c] - p[a]
    return float(x * v - y * u)


def _holds(p: np.ndarray, a: int, b: int, c: int, i: int) -> bool:
    return all(_turn(p, *pair, i) >= 0 for pair in ((a, b), (b, c), (c, a)))
