"""Glyphs: the shapes that draw each kind of joint and its fixture to the ground."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.mechanism.joints import Cylindrical, Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from kempe.view.shapes import ACCENT, GROUND, JOINT, Shape, along, ball, bar, make

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.view.poses import Pose

INNER = "#3d444d"  # the inner part of a hinge
SLIDING = (Prismatic, Cylindrical)
Bar = tuple[float, float, float]


@dataclass(frozen=True)
class Pin:
    """The drawn size of a joint: its radius, and half its length along its axis."""

    radius: float
    half: float


def joint_shapes(
    joint: "Joint",
    bodies: tuple[int, int],
    frames: tuple["Pose", "Pose"],
    pin: Pin,
    slim: float,
    reach: tuple[float, float],
    solids: Sequence[Shape],
) -> list[Shape]:
    """The glyph of a joint, its parts on the bodies of markers a and b.

    slim: the radius of rails. reach: from where to where the joint slides along its axis, if it does. solids: what
    there is on the bodies; where a bar of the one slides in a bar of the other, these are the rail.
    """
    a, b = bodies
    size, length = pin.radius, 2 * pin.half
    color = ACCENT if any(joint.actuated) else JOINT
    more = {"role": "joint", "name": joint.name}

    def drum(body: int, radius: float, length: float, shade: str = color, axis=(0.0, 0.0, 1.0)) -> Shape:
        scale = (2 * radius, 2 * radius, length)
        return make("cylinder", body, (0, 0, 0), scale, shade, along(np.array(axis)), **more)

    def block(body: int, x: float, z: float) -> Shape:
        return make("box", body, (0, 0, 0), (x, x, z), color, **more)

    def rail(radius: float) -> Shape:
        low, high = min(0.0, reach[0]) - pin.half - slim, max(0.0, reach[1]) + pin.half + slim
        return bar(a, (0, 0, low), (0, 0, high), radius, JOINT, **more)

    if joint.type in SLIDING and (found := _mouth(_bars(solids, a, frames[0]), _bars(solids, b, frames[1]), reach)):
        side, z, radius = found
        collar = make("cylinder", bodies[side], (0, 0, z), (2 * radius, 2 * radius, radius), color, **more)
        return [collar.placed(*frames[side])]
    parts = {
        Revolute: lambda: [drum(a, size, length), drum(a, 0.5 * size, length + 0.4 * size, INNER)],
        Helical: lambda: [drum(b, size, length), rail(slim), drum(b, 1.4 * size, 0.7 * size)],
        Prismatic: lambda: [block(b, 1.5 * size, 2.4 * size), rail(slim)],
        Cylindrical: lambda: [drum(b, 0.9 * size, 2.4 * size), rail(slim)],
        Universal: lambda: [
            drum(a, 0.45 * size, 4.4 * size, axis=(1, 0, 0)),
            drum(b, 0.45 * size, 4.4 * size, axis=(0, 1, 0)),
            ball(a, (0, 0, 0), 0.9 * size, color, **more),
        ],
        Spherical: lambda: [ball(a, (0, 0, 0), 1.4 * size, color, **more)],
        Planar: lambda: [drum(b, 3.5 * size, 0.5 * size)],
        Free: list,
        Fixed: lambda: [block(a, 1.8 * size, 1.8 * size)],
    }[joint.type]()
    return [part.placed(*frames[0 if part.body == a else 1]) for part in parts]


def _bars(solids: Sequence[Shape], body: int, frame: "Pose") -> list[Bar]:
    """Of round bars on a body along the z-axis of a frame on it: from where to where they go, and their radius."""
    turn, at = frame
    found = []
    for shape in solids:
        if shape.body == body and shape.mesh == "cylinder":
            axis, middle = turn.T @ shape.rotation[:, 2], turn.T @ (shape.position - at)
            half, radius = shape.scale[2] / 2, shape.scale[0] / 2
            if np.linalg.norm(axis[:2]) * half < 0.1 * radius and np.linalg.norm(middle[:2]) < 0.1 * radius:
                found.append((middle[2] - half, middle[2] + half, radius))
    return found


def _mouth(a: list[Bar], b: list[Bar], reach: tuple[float, float]) -> tuple[int, float, float] | None:
    """Where a bar of one body comes out of a thicker one of the other, if it is never all out: the body that the
    thicker one is on (0, 1), where along its frame's axis that ends, and the radius of a collar there."""
    for low, high, radius in a:
        for start, end, other in b:
            if radius != other and start + reach[1] < high and low < end + reach[0]:
                up = start + end + sum(reach) > low + high  # b is farther on along the axis
                collar = 1.2 * min(max(radius, other), 1.7 * min(radius, other))
                return (0, high if up else low, collar) if radius > other else (1, start if up else end, collar)
    return None


# The canonical axis of each freedom's effort, and which body carries it: 0 for a, 1 for b.
_X, _Y, _Z = np.eye(3)
FREEDOM_AXES: dict[type, Sequence[tuple[int, np.ndarray]]] = {
    Revolute: ((0, _Z),),
    Helical: ((0, _Z),),
    Prismatic: ((0, _Z),),
    Cylindrical: ((0, _Z), (0, _Z)),
    Universal: ((0, _X), (1, _Y)),
    Spherical: ((1, _X), (1, _Y), (1, _Z)),
    Planar: ((0, _X), (0, _Y), (0, _Z)),
    Free: ((1, _X), (1, _Y), (1, _Z), (1, _X), (1, _Y), (1, _Z)),
    Fixed: (),
}


def fixture(point: np.ndarray, up: np.ndarray, front: np.ndarray, flat: bool, size: float) -> list[Shape]:
    """The fixture of a joint to the ground: a hatched triangle in planar views, else a cone on a disc."""
    right = np.cross(up, front)
    axes = np.column_stack([right, up, front])
    more = {"role": "ground", "name": "ground"}
    if not flat:
        turned = along(up)
        foot = point - up * 4.4 * size
        return [
            make("cone", 0, point - up * 2 * size, np.array([5, 5, 4]) * size, GROUND, turned, **more),
            make("cylinder", 0, foot, np.array([7, 7, 0.8]) * size, GROUND, turned, **more),
        ]
    back = point - 0.4 * size * front
    outline = ((0.0, 0.0), (-2.4 * size, -4 * size), (2.4 * size, -4 * size))
    base = back - up * 4 * size
    shapes = [make("plate", 0, back, (1, 1, 0.8 * size), GROUND, axes, outline=outline, **more)]
    shapes.append(make("box", 0, base, np.array([7.6, 0.35, 0.8]) * size, GROUND, axes, **more))
    for k in range(6):
        top = base + right * (1.35 * k - 2.9) * size
        foot = top - (right + up) * 1.1 * size
        shapes.append(bar(0, top, foot, 0.13 * size, GROUND, **more))
    return shapes
