"""Glyphs: the shapes that draw each kind of joint and its fixture to the ground."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kempe.mechanism.joints import Cylindrical, Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from kempe.mechanism.mechanism import Joint
from kempe.view.poses import Pose
from kempe.view.shapes import ACCENT, GROUND, JOINT, Shape, along, ball, bar, make

INNER = "#3d444d"  # the inner part of a hinge


@dataclass(frozen=True)
class Pin:
    """The drawn size of a joint: its radius, and half its length along its axis."""

    radius: float
    half: float


def joint_shapes(
    joint: Joint, bodies: tuple[int, int], frames: tuple[Pose, Pose], pin: Pin, slim: float, reach: tuple[float, float]
) -> list[Shape]:
    """The glyph of a joint, with parts on the bodies of markers a and b.

    slim: the radius of rails. reach: the range in which the joint slides along its axis.
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
        return bar(a, (0, 0, reach[0] - pin.half - slim), (0, 0, reach[1] + pin.half + slim), radius, JOINT, **more)

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


def slides(joint: Joint, pitch: float, q: np.ndarray) -> tuple[float, float]:
    """The range in which a joint slides along its axis over rows of its coordinates, including zero."""
    column = {Prismatic: 0, Helical: 0, Cylindrical: 1}.get(joint.type)
    if column is None:
        return 0.0, 0.0
    path = q[:, column] * (pitch if joint.type is Helical else 1.0)
    return min(0.0, float(path.min())), max(0.0, float(path.max()))


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
