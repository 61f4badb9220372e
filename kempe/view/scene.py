"""Scene: the contents of a view of a model at rows of q: shapes on bodies, arrows, springs, and the viewpoint."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError, ViewError
from kempe.kinds import short
from kempe.mechanism.bodies import Body, Lump, Marker, Part, Values, resolved
from kempe.mechanism.flexible import BeamJoint
from kempe.mechanism.joints import Free
from kempe.mechanism.loads import Spring
from kempe.mechanism.solids import MeshFile
from kempe.spatial.moves import relative_pose
from kempe.view.glyphs import FREEDOM_AXES, Pin, fixture, joint_shapes
from kempe.view.links import link_shapes
from kempe.view.look import Look, look
from kempe.view.poses import Pose, Station, poses, values
from kempe.view.shapes import GROUND, PALETTE, Shape, ball, bar, girth, nearest, solid_shapes

if TYPE_CHECKING:
    from kempe.mechanics.layout import Layout
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism

SAMPLES = 60  # poses used to find the extent of a run
BARS = 12  # number of bars that draw a beam
Seats = dict[Station, int]  # indices of bodies and sections


@dataclass(frozen=True, eq=False)
class Point:
    """A point on a body, by the body's index and its coordinates there."""

    name: str
    body: int
    at: np.ndarray

    def along(self, rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
        """Its world positions (n, 3) for poses of the bodies (n, bodies, ...)."""
        return rotation[:, self.body] @ self.at + position[:, self.body]


@dataclass(frozen=True, eq=False)
class Arrow:
    """A force or moment at a point: `vector` in the axes of body `carrier`, times effort `column` if given."""

    point: Point
    unit: str
    carrier: int
    vector: np.ndarray
    column: int | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """The contents of a view.

    rotation (n, bodies, 3, 3) and position (n, bodies, 3) are the frames of bodies in world axes; the ground is body 0,
    and beam sections, at `stations`, come last.
    slim is the radius of items without thickness, size the size of the mechanism in the first pose.
    """

    name: str
    bodies: tuple[str, ...]
    stations: tuple[Station, ...]
    rotation: np.ndarray
    position: np.ndarray
    shapes: tuple[Shape, ...]
    springs: tuple[tuple[str, Point, Point], ...]
    arrows: tuple[Arrow, ...]
    traces: tuple[Point, ...]
    look: Look
    slim: float
    size: float

    @property
    def planar(self) -> np.ndarray | None:
        """The normal of the plane in which everything moves, or None."""
        return self.look.front if self.look.flat else None


def scene(model: "Layout", q: np.ndarray, points: Iterable[Marker | Body | str] = (), p=None) -> Scene:
    """The scene of a model at one q or rows of q; `points` leave traces; p: parameters kept as inputs."""
    m = model.mechanism
    q = np.atleast_2d(np.asarray(q, dtype=float))
    if q.shape[1:] != (model.nq,) or not len(q) or not np.isfinite(q).all():
        raise StateError(f"a picture of {m.name!r} takes rows of {model.nq} finite coordinates, not {q.shape}")
    value = values(model, p).__getitem__
    number = {body: k for k, body in enumerate((m.ground, *m.bodies))}
    traced = [_own_marker(model, _marker(m, point)) for point in points]
    used = [*_markers_in_use(model)]
    seats, stations = _seats(number, [*used, *traced], value)
    rotation, position = poses(model, q, p, stations)
    held: dict[Body, list[np.ndarray]] = {body: [] for body in number}
    for marker in used:
        held[marker.body].append(marker.origin(value))
    size, slim = _sizes(number, held, value, (rotation[0], position[0]))
    shapes: list[Shape] = []
    for body, k in number.items():
        color = PALETTE[(k - 1) % len(PALETTE)] if k else GROUND
        # Slightly different radii, so that touching surfaces of different bodies do not coincide.
        own = slim * (1 + 0.02 * (k % 4))
        if body.beam is not None:
            shapes += _bent(body, seats, [marker for marker in used if marker.body is body], value, own, color)
            continue
        drawn = _drawn(body, k, value, own, color)
        shapes += [shape for _, found in drawn for shape in found]
        if k:
            shapes += link_shapes(
                replace(body, parts=[part for part, _ in drawn]), k, held[body], value, 0.8 * own, color
            )
    pin = {joint: _pin(joint, value, slim) for joint in m.joints}
    solids = [shape for shape in shapes if shape.role == "solid"]
    off = {loop.joint for loop in model.topology.off}
    for joint in (joint for joint in m.joints if joint not in off):
        ends = seats[joint.a.body, joint.a.station], seats[joint.b.body, joint.b.station]
        frames = _frames(joint, value)
        reach = _reach(ends, frames, rotation, position)
        shapes += joint_shapes(joint, ends, frames, pin[joint], slim, reach, solids)
    sampled = np.unique(np.linspace(0, len(q) - 1, SAMPLES).round().astype(int))
    cloud = _cloud(shapes, rotation[sampled], position[sampled])
    seen = look(model, cloud, slim)
    owner = [*number.values(), *(number[body] for body, _ in stations)]
    reached = {k: cloud[_rows_of(shapes, k, owner)] for k in number.values()}
    for joint in m.joints:
        for marker, other in ((joint.a, joint.b), (joint.b, joint.a)):
            if marker.body is m.ground and joint.type is not Free:
                at = marker.origin(value)
                # A hanging body is held from above.
                heights = (reached[number[other.body]] - at) @ seen.up
                hangs = heights.size > 0 and float(heights.mean()) < -2 * slim
                shapes += fixture(at, -seen.up if hangs else seen.up, seen.front, seen.flat, 2.2 * slim)
    seen = look(model, _cloud(shapes, rotation[sampled], position[sampled]), slim)
    return Scene(
        m.name,
        tuple(body.name for body in (*number, *(body for body, _ in stations))),
        stations,
        rotation,
        position,
        tuple(shapes),
        tuple(
            (load.name, _point(load.name, load.a, seats, value), _point(load.name, load.b, seats, value))
            for load in m.loads
            if isinstance(load, Spring)
        ),
        tuple(_arrows(model, seats, value)),
        tuple(_point(str(marker), marker, seats, value) for marker in traced),
        seen,
        slim,
        size,
    )


def _seats(number: dict[Body, int], markers: list[Marker], value: Values) -> tuple[Seats, tuple[Station, ...]]:
    """Indices of everything that carries shapes: bodies, and beam sections with markers, solids or the bars that draw
    the beam."""
    seats: Seats = {(body, None): k for body, k in number.items()}
    stations: dict[Station, None] = {}
    for body in number:
        if body.beam is not None:
            length = value(f"{body.name}.length")
            wanted = [marker.station for marker in markers if marker.body is body]
            wanted += [part.position[0] for part in body.parts[1:]]
            wanted += [(k + 0.5) / BARS * length for k in range(BARS)]
            stations |= {(body, x): None for x in wanted if x is not None}
    return seats | {station: len(number) + k for k, station in enumerate(stations)}, tuple(stations)


def _bent(body: Body, seats: Seats, markers: list[Marker], value: Values, radius: float, color: str) -> list[Shape]:
    """A beam as short bars, the solids on it, and bars to markers off its line."""
    length, shapes = value(f"{body.name}.length"), []
    for k in range(BARS):
        at, half = seats[body, (k + 0.5) / BARS * length], np.array([0.5 * length / BARS, 0.0, 0.0])
        shapes += [bar(at, -half, half, radius, color, name=body.name)]
        shapes += [ball(at, end, radius, color, name=body.name) for end in (-half, half)]
    for part in body.parts[1:]:
        x, *aside = part.position
        shapes += solid_shapes(part, resolved((0.0, *aside), value), seats[body, x], color, radius, body.name)
    for marker in markers:
        offset = marker.offset(value)
        if marker.station is not None and np.linalg.norm(offset) > 1.05 * radius:
            more = {"role": "link", "name": body.name}
            shapes += [bar(seats[body, marker.station], np.zeros(3), offset, 0.8 * radius, color, **more)]
    return shapes


def _drawn(body: Body, number: int, value: Values, slim: float, color: str) -> list[tuple[Part, list[Shape]]]:
    """The shapes of its solids; lumps are left out if massless solids show the body."""
    found = [
        (part, solid_shapes(part, resolved(part.position, value), number, color, slim, body.name))
        for part in body.parts
    ]
    shown = any(
        shapes and not part.solid.parameters().get("mass", part.solid.kind != MeshFile.kind) for part, shapes in found
    )
    return [(part, shapes) for part, shapes in found if not (shown and isinstance(part.solid, Lump))]


def _rows_of(shapes: list[Shape], body: int, owner: list[int]) -> np.ndarray:
    """The rows of a cloud that belong to a body or its sections."""
    return np.repeat([owner[shape.body] == body for shape in shapes], 8)


def _cloud(shapes: list[Shape], rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Corners of the bounding boxes of all shapes at all poses, in the world: (8 shapes, poses, 3)."""
    if not shapes:
        return np.zeros((1, len(rotation), 3))
    corners = np.concatenate([shape.corners() for shape in shapes])
    bodies = np.repeat([shape.body for shape in shapes], 8)
    return np.einsum("nbij,bj->bni", rotation[:, bodies], corners) + position[:, bodies].transpose(1, 0, 2)


def _markers_in_use(model: "Layout") -> Iterable[Marker]:
    """The markers of joints (except free ones) and loads."""
    m = model.mechanism
    for joint in m.joints:
        if joint.type is not Free:
            yield joint.a
            yield joint.b
    for load in m.loads:
        yield from (load.a, load.b) if isinstance(load, Spring) else (load.marker,)


def _sizes(
    number: dict[Body, int], held: dict[Body, list[np.ndarray]], value: Values, first: Pose
) -> tuple[float, float]:
    """The size of the mechanism, and the radius for items without one, from the whole and from a typical body."""
    everything, bodies = [], []
    for body, k in number.items():
        own = [*held[body]]
        if body.beam is not None:
            own += [np.zeros(3), np.array([value(f"{body.name}.length"), 0.0, 0.0])]
        for part in body.parts if body.beam is None else ():
            at = resolved(part.position, value)
            own += [c for shape in solid_shapes(part, at, k, "", 0.0, "") for c in shape.corners()]
        if own:
            own = np.array(own)
            everything.append(own @ first[0][k].T + first[1][k])
            extent = float(np.linalg.norm(np.ptp(own, axis=0)))
            if k and extent > 0:
                bodies.append(extent)
    size = float(np.linalg.norm(np.ptp(np.concatenate(everything), axis=0))) if everything else 0.0
    size = size or 1.0
    typical = float(np.median(bodies)) if bodies else size
    # A fiftieth of a body, more if bodies are small compared to the whole, but never thick.
    return size, min(max(0.02 * typical, min(0.009 * size, 0.045 * typical)), 0.013 * size)


def _frames(joint: "Joint", value: Values) -> tuple[Pose, Pose]:
    return relative_pose(joint.frame(joint.a, value)), relative_pose(joint.frame(joint.b, value))


def _reach(ends: tuple[int, int], frames: tuple[Pose, Pose], rotation, position) -> tuple[float, float]:
    """From where to where marker b goes along the axis of marker a."""
    (a, b), ((axes, start), (_, end)) = ends, frames
    span = rotation[:, b] @ end + position[:, b] - rotation[:, a] @ start - position[:, a]
    along = (span * (rotation[:, a] @ axes[:, 2])).sum(axis=1)
    return float(along.min()), float(along.max())


def _pin(joint: "Joint", value: Values, slim: float) -> Pin:
    """A pin sticks out of the solids it goes through, or is a collar around them if it would be too long."""
    radius, half = 1.8 * slim, 2.4 * slim
    for marker, (axes, at) in zip((joint.a, joint.b), _frames(joint, value), strict=True):
        for part in marker.body.parts if marker.body.beam is None else ():
            where = resolved(part.position, value)
            turn = np.eye(3) if part.rotation is None else np.asarray(part.rotation, dtype=float)
            own = turn.T @ (at - where)
            if np.linalg.norm(nearest(part.solid, own) - own) > slim:
                continue
            drawn = solid_shapes(part, where, 0, "", 0.1 * slim, "")
            depth = max((float(np.abs((s.corners() - at) @ axes[:, 2]).max()) for s in drawn), default=0.0)
            wide = girth(part.solid)
            if depth <= max(2.5 * wide, 4 * slim):
                half = max(half, 1.06 * depth)
            else:
                radius = max(radius, min(1.2 * wide, 6 * slim))
    return Pin(radius, max(half, 1.3 * radius))


def _marker(m: "Mechanism", point: Marker | Body | str) -> Marker:
    """The marker given by itself, by its body, or by a name such as `boom.end`."""
    if isinstance(point, Marker):
        return point
    if not isinstance(point, (str, Body)):
        raise ViewError(f"a point is {short(point)}; give a marker, a body, or a name such as 'boom.end'")
    name, _, label = point.partition(".") if isinstance(point, str) else (point.name, "", "")
    for body in (m.ground, *m.bodies):
        if body.name == name and (label or "origin") in body.markers:
            return body.markers[label or "origin"]
    raise ViewError(f"there is no point {point!r} on {m.name!r}; name a body, or one of its markers as body.marker")


def _own_marker(model: "Layout", marker: Marker) -> Marker:
    """The same marker on the model's body of that name, since a model has a copy of the mechanism."""
    named = {body.name: body for body in (model.mechanism.ground, *model.mechanism.bodies)}
    if marker.body.name not in named:
        raise ViewError(f"point {marker} is on a body that this model does not have")
    return replace(marker, body=named[marker.body.name])


def _point(name: str, marker: Marker, seats: Seats, value: Values) -> Point:
    """The point of a marker."""
    return Point(name, seats[marker.body, marker.station], marker.offset(value))


def _arrows(model: "Layout", seats: Seats, value: Values) -> Iterable[Arrow]:
    """Efforts of actuated freedoms in the order of `model.u_names`, then loads."""
    column = 0
    for t in model.topology.tree:
        joint = t.joint
        if isinstance(joint, BeamJoint):
            continue
        ends = seats[joint.a.body, joint.a.station], seats[joint.b.body, joint.b.station]
        frames = _frames(joint, value)
        for k, driven in enumerate(joint.actuated):
            if driven:
                side, axis = FREEDOM_AXES[joint.type][k]
                unit = "N·m" if joint.type.units[k] == "rad" else "N"
                point = Point(model.u_names[column], ends[1], frames[1][1])
                yield Arrow(point, unit, ends[side], frames[side][0] @ axis, column)
                column += 1
    for load in model.mechanism.loads:
        if not isinstance(load, Spring):
            point = _point(load.name, load.marker, seats, value)
            turn = load.marker.rotation if load.follows else np.eye(3)
            for unit, vector in (("N", load.force), ("N·m", load.moment)):
                if any(vector):
                    yield Arrow(point, unit, point.body if load.follows else 0, turn @ np.array(vector))
