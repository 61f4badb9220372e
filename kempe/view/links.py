"""Links: slim bars that connect the joints and solids of a body."""

from collections.abc import Callable

import numpy as np

from kempe.mechanism.bodies import Body, Values, resolved
from kempe.view.shapes import Shape, ball, bar, nearest

Nearest = Callable[[np.ndarray], np.ndarray]  # maps a point to the nearest point of an item, in the body's axes


def link_shapes(
    body: Body, number: int, points: list[np.ndarray], value: Values, radius: float, color: str
) -> list[Shape]:
    """The shortest set of bars that connects all points and solids of a body."""
    things = [_of_part(part, resolved(part.position, value)) for part in body.parts]
    things += [lambda _, point=point: point for point in points]
    shapes = []
    for start, end in _spanning(things):
        if np.linalg.norm(end - start) > 1.05 * radius:
            more = {"role": "link", "name": body.name}
            shapes += [bar(number, start, end, radius, color, **more)]
            shapes += [ball(number, point, radius, color, **more) for point in (start, end)]
    return shapes


def _of_part(part, position: np.ndarray) -> Nearest:
    rotation = np.eye(3) if part.rotation is None else np.asarray(part.rotation, dtype=float)
    return lambda point: rotation @ nearest(part.solid, rotation.T @ (point - position)) + position


def _spanning(things: list[Nearest]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Prim's minimum spanning tree, by distances between nearest points."""
    if not things:
        return []
    gaps = {k: _gap(things[0], thing) for k, thing in enumerate(things) if k}
    found = []
    while gaps:
        k = min(gaps, key=lambda k: float(np.linalg.norm(gaps[k][1] - gaps[k][0])))
        found.append(gaps.pop(k))
        for other, known in gaps.items():
            gap = _gap(things[k], things[other])
            if np.linalg.norm(gap[1] - gap[0]) < np.linalg.norm(known[1] - known[0]):
                gaps[other] = gap
    return found


def _gap(a: Nearest, b: Nearest) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of two convex items, by alternating projection."""
    end = b(np.zeros(3))
    start = a(end)
    for _ in range(8):
        end = b(start)
        start = a(end)
    return start, end
