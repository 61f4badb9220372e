"""Workspace: where a point of a mechanism with two freedoms can go, and the singular curves that bound and divide it.

The closed states form a surface, covered with triangles from a start (`surface`); singular poses are curves on it,
where a determinant changes its sign (after C. Gosselin and J. Angeles, 1990):

    parallel, type II   of the rates of the actuated joints over the allowed motions: control is lost
    serial, type I      of the velocities of the point over them: the point has lost a direction; these are the outline

Triangles are cut along these curves, so that the image of each on the plane is not folded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.analyze.mesh import Mesh, area, chains, edges_of, straightened
from kempe.analyze.powers import NEVER, Powers, least, powers
from kempe.analyze.slice import Slice
from kempe.analyze.surface import Level, Surface
from kempe.errors import NotClosed, StateError
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.targets import given
from kempe.mechanics.state import State, placed
from kempe.mechanism.bodies import Body, Marker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP = 0.05  # times the root of the number of moving joints
MOST = 200_000  # states
FLAT = 1e-9  # relative thickness below which points lie in a plane
ALIKE = 0.05  # relative difference below which spreads count as equal when a view is chosen
MOVES = 1e-6  # of a step: joints that move less are at rest
MODES = ("all", "start")


@dataclass(frozen=True, eq=False)
class Curve:
    """Poses along a line: kind is "parallel" or "serial" for singular ones, "limit" for a joint at one, and "outline"
    where a curved surface is seen edge-on.

    q (n, nq), points (n, 3) and plane (n, 2), as in a `Workspace`; a closed curve ends where it begins.
    """

    kind: str
    q: np.ndarray
    points: np.ndarray
    plane: np.ndarray

    @property
    def closed(self) -> bool:
        """Whether it ends where it begins."""
        return len(self.q) > 2 and bool(np.array_equal(self.q[0], self.q[-1]))


@dataclass(frozen=True, eq=False)
class Workspace:
    """The region a point can reach.

    q (n, nq): closed states; points (n, 3): the point there; triangles (t, 3): neighbouring states.
    axes (2, 3): the directions of the picture; flat: whether the point stays in their plane.
    parallel, serial, constraint (n,): measures of singularity, 0 at singular poses; parallel is None without enough
        actuators; serial is of the point's position alone.
    curves: singular curves. rest (.., 3, 2): triangles of the picture that mode "start" leaves out.
    """

    model: Kinetics
    point: str
    start: State
    step: float
    mode: str
    q: np.ndarray
    points: np.ndarray
    triangles: np.ndarray
    axes: np.ndarray
    flat: bool
    parallel: np.ndarray | None
    serial: np.ndarray
    constraint: np.ndarray
    curves: tuple[Curve, ...]
    rest: np.ndarray
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self):
        """Makes arrays read-only."""
        for value in (self.q, self.points, self.triangles, self.axes, self.parallel, self.serial, self.constraint):
            if value is not None:
                value.flags.writeable = False

    @property
    def plane(self) -> np.ndarray:
        """Positions along the two axes of the picture (n, 2)."""
        return self.points @ self.axes.T

    @property
    def parallel_curves(self) -> tuple[Curve, ...]:
        """Where something moves although all actuators are held."""
        return tuple(curve for curve in self.curves if curve.kind == "parallel")

    @property
    def serial_curves(self) -> tuple[Curve, ...]:
        """Where the point has lost a direction."""
        return tuple(curve for curve in self.curves if curve.kind == "serial")

    @cached_property
    def area(self) -> float:
        """Area of the picture, in square metres: places that several states reach count once."""
        return area(self.plane[self.triangles])

    @property
    def names(self) -> tuple[str, str]:
        """Names of the two axes: x, y or z if they are the world's."""
        first, second = (_axis_name(axis) for axis in self.axes)
        return first, second

    def plot(self, path: str | Path | None = None) -> "Figure":
        """A figure: places coloured by their distance from a singular pose, with singular curves; saved if a path is
        given. For places that several states reach, the best of them is shown."""
        from kempe.results.workspaces import draw

        return draw(self, path)

    def __str__(self) -> str:
        low, high = self.plane.min(axis=0), self.plane.max(axis=0)
        extent = ", ".join(f"{name} {a:.4g} to {b:.4g} m" for name, a, b in zip(self.names, low, high, strict=True))
        whole = "" if self.mode == "all" else ", reached from the start without a parallel singular pose"
        counts = len(self.parallel_curves), len(self.serial_curves)
        lines = [
            f"{self.model.mechanism.name}: workspace of {self.point}{whole}",
            f"  states  {len(self.q)}, a step of {self.step:.3g} apart",
            f"  extent  {extent}",
            f"  area    {self.area:.4g} m^2",
            f"  curves  {counts[0]} parallel singular (type II), {counts[1]} serial singular (type I)",
        ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"Workspace({self.point!r} of {self.model.mechanism.name!r}: {len(self.q)} states, {self.area:.4g} m^2)"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def workspace(
    model: Kinetics,
    point: Marker | Body | str,
    start,
    step: float | None,
    hold: Mapping,
    mode: str,
    plane,
    most: int | None,
) -> Workspace:
    """See `Model.workspace`."""
    if mode not in MODES:
        raise StateError(f"workspace: mode is {' or '.join(map(repr, MODES))}, not {mode!r}")
    held, state = _slice(model, start, step, hold)
    _check_start(held, state)
    model.jacobian(point, state.q)  # check the point before the work
    surface = Surface(held)
    mesh = surface.covered(state.q, MOST if most is None else most)
    if not len(mesh.triangles):
        raise StateError("workspace: nothing can move from the start; its limits, or a singular pose, leave no room")
    axes, flat = _view(model.pose(point, mesh.q)[1], plane)
    notes, curves, rest = _gaps(mesh), [], np.zeros((0, 3, 2))

    def placed(kind: str, states: np.ndarray) -> Curve:
        points = model.pose(point, states)[1]
        return Curve(kind, states, points, points @ axes.T)

    def found(kind: str, mesh: Mesh, on: np.ndarray) -> list[Curve]:
        ways = straightened(chains(mesh.triangles, on), held.embedded(mesh.q), held.step)
        return [placed(kind, mesh.q[way]) for way in ways]

    actuators = powers(held, mesh.q)
    level, earlier = actuators.parallel(mesh.q), None
    if isinstance(level, str):
        notes.append(level)
    else:
        notes += actuators.notes()
        mesh, on = surface.cut(mesh, level)
        if mode == "start":
            mesh, on, rest = _usable(mesh, on)
            rest = (model.pose(point, rest.reshape(-1, model.nq))[1] @ axes.T).reshape(-1, 3, 2)
        curves += found("parallel", mesh, on)
        earlier = level, on
    values, _ = _serial(held, point, axes)(mesh.q)
    if np.abs(values).max() < NEVER:
        raise StateError(f"workspace: {_named(point)} moves along a line only; take a point that both freedoms move")
    mesh, on = surface.cut(mesh, _serial(held, point, axes), earlier)
    curves += found("serial" if flat else "outline", mesh, on)
    curves += [curve for k in range(len(model.limits)) for curve in found("limit", *_bordering(mesh, k))]
    parallel, serial, constraint = _measures(held, actuators, mesh.q, point)
    if not flat:
        names = " and ".join(map(_axis_name, axes))
        notes.append(f"the point leaves every plane: its widest view is shown, along {names}, with the outline of that")
    if constraint.min() < 0.05 * held.step:
        worst = State(model, mesh.q[constraint.argmin()], np.zeros(model.nv))
        notes.append(f"near {worst} it gains a freedom: other states may begin there, and lines may be rough")
    points = model.pose(point, mesh.q)[1]
    return Workspace(
        model, _named(point), state, held.step, mode, mesh.q, points, mesh.triangles, axes, flat, parallel, serial,
        constraint, tuple(curves), rest, tuple(notes),
    )  # fmt: skip


# ---- the slice and its start -----------------------------------------------------------------------------


def _slice(model: Kinetics, start, step: float | None, hold: Mapping) -> tuple[Slice, State]:
    if step is not None and not step > 0:
        raise StateError(f"workspace: step is {step:g}; it is a distance between states, such as 0.1")
    if not isinstance(hold, Mapping):
        raise StateError(
            "workspace: hold takes a dict, such as {'A': 0.5}, or {'A': None} for where it is at the start"
        )
    joints = [name for name in hold if name in model.cut or name in model.slices("v") or placed(model, name)]
    bodies = [name for name in hold if name not in joints]
    known = [body.name for body in model.mechanism.bodies]
    for name in bodies:
        if name not in known:
            there = ", ".join((*model.v_names, *model.cut, *known))
            raise StateError(f"workspace: hold: {name!r} is no joint, body or place; there are {there}")
    asked = {name: hold[name] for name in joints if hold[name] is not None}
    state = start if isinstance(start, State) else model.assemble({**(start or {}), **asked})
    values = {name: state[name] if hold[name] is None else hold[name] for name in joints}
    if values:
        state = model.assemble(values, near=state)
    places = given(model, tuple(values), "workspace: hold")
    wanted = np.array([float(values[name]) for name in values])[places.order]
    turned = tuple((name, _rotation(model.pose(name, state.q)[0], hold[name])) for name in bodies)
    names = *(list(values)[k] for k in places.order), *(f"the rotation of {name}" for name in bodies for _ in range(3))
    found = Slice(model, places, wanted, turned, names, step or STEP)
    q, closed = found.settle(state.q[None], steps=80)
    if not closed[0]:
        raise NotClosed(f"workspace: near the start nothing closes with {', '.join(hold) or 'its loops'} as asked")
    if step is None:  # the more joints move, the longer a step in which each moves as far
        found = replace(found, step=STEP * float(np.sqrt(_moving(found, q))))
    return found, State(model, q[0], np.zeros(model.nv))


def _moving(found: Slice, q: np.ndarray) -> int:
    """How many joints move on a slice, at or near one of its states, however it is held."""
    tangent = found.tangents(q)[0]
    beside = found.settle(found.moved(q, STEP * tangent.sum(axis=2)))[0]
    rates = [np.linalg.norm(way, axis=2) for way in (tangent, found.tangents(beside)[0])]
    return max(2, int((np.maximum(*rates) > MOVES).sum()))


def _rotation(now: np.ndarray, wanted) -> np.ndarray:
    """A rotation matrix, or an angle about z; the present one for None."""
    if wanted is None:
        return now
    if np.ndim(wanted) == 0:
        c, s = np.cos(float(wanted)), np.sin(float(wanted))
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    return np.asarray(wanted, dtype=float)


def _check_start(held: Slice, start: State) -> None:
    model = held.model
    for limit in model.limits:
        little = 1e-9 * held.units[limit.v]
        if not limit.low - little <= start.q[limit.q] <= limit.high + little:
            raise StateError(
                f"workspace: the start is beyond limits: {limit.name} = {start.q[limit.q]:.6g}, not within "
                f"{limit.low:g} to {limit.high:g}; give start= within them"
            )
    freedom = held.freedom(start.q)
    if freedom == 2:
        return
    what = f"workspace: {model.mechanism.name} has {freedom} freedom{'s' * (freedom != 1)}"
    if freedom < 2:
        raise StateError(f'{what} here, and the point moves along a line: run.plot("path", point=...) shows it')
    if not held.names and model.dof == 2:
        raise StateError(f"{what} at this start, one more than elsewhere: it is a singular pose; start at another")
    extra = ", ".join(f"{name!r}: None" for name in model.u_names[2 - freedom :]) or "'joint': value"
    raise StateError(f"{what}, and a picture shows 2; hold some joints: hold={{{extra}}} keeps them as at the start")


# ---- determinants and measures ---------------------------------------------------------------------------


def _serial(held: Slice, point, axes: np.ndarray) -> Level:
    """The determinant of the point's velocity along two axes."""
    size = held.model.equations.closure_size

    def level(q: np.ndarray):
        tangent, _ = held.tangents(q)
        rows = held.model.jacobian(point, q)[:, 3:, held.free] / held.weights / size
        return np.linalg.det(axes @ rows @ tangent), tangent

    return level


def _usable(mesh: Mesh, on: np.ndarray) -> tuple[Mesh, np.ndarray, np.ndarray]:
    """The part around the start, its singular states, and the states of the other triangles (t, 3, nq)."""
    if on[0]:
        raise StateError("workspace: mode 'start' takes a start that is no parallel singular pose; this one is")
    edges, _ = edges_of(mesh.triangles)
    here = mesh.around(edges[on[edges].all(axis=1)])
    part, kept = mesh.part(here)
    return part, on[kept], mesh.q[mesh.triangles[~here]]


def _gaps(mesh: Mesh) -> list[str]:
    """Words on borders that are not at limits: the mesh should have none."""
    edges, which = edges_of(mesh.triangles)
    border = edges[np.bincount(which.ravel()) == 1]
    held = np.any(np.all(mesh.pinned[border], axis=1), axis=1)
    count = int(np.sum(~held))
    why = "the states bend sharply there, and a smaller step= may find more"
    return [f"triangles have nothing beyond {count} of their edges: {why}"] if count else []


def _bordering(mesh: Mesh, limit: int) -> tuple[Mesh, np.ndarray]:
    """The triangles and states at a limit of one joint."""
    on = mesh.pinned[:, limit]
    edges, which = edges_of(mesh.triangles)
    outer = np.bincount(which.ravel())[which] == 1
    there = (outer & on[edges[which]].all(axis=2)).any(axis=1)
    return Mesh(mesh.q, mesh.triangles[there], mesh.pinned), on


def _measures(held: Slice, actuators: Powers, q: np.ndarray, point):
    """The measures of `Model.singularity`, for many states; the serial one is of the point's position."""
    model, scale = held.model, held.units[held.free]
    rows = model.jacobian(point, q)[:, 3:, held.free] / model.equations.closure_size
    serial = least((held.equations(q)[1] * scale, rows * scale), len(held.free))
    return actuators.measure(q), serial, held.tangents(q)[1]


# ---- the view --------------------------------------------------------------------------------------------


def _view(points: np.ndarray, plane: str | None) -> tuple[np.ndarray, bool]:
    """The two axes of the picture, the world's if they fit, and whether the points lie in their plane."""
    world = np.eye(3)
    spread = points - points.mean(axis=0)
    _, sizes, directions = np.linalg.svd(spread, full_matrices=False)
    flat = bool(sizes[2] <= FLAT * sizes[0])
    normal = directions[2]
    if plane is not None:
        if len(plane) != 2 or plane[0] == plane[1] or set(plane) - set("xyz"):
            raise StateError(f"workspace: plane is two of x, y and z, such as 'xz', not {plane!r}")
        axes = world[["xyz".index(name) for name in plane]]
        return axes, flat and bool(np.abs(axes @ normal).max() < 1e-6)
    if not flat:  # seen along the world axis of least spread, from above if that is about as good
        along = np.linalg.norm(spread, axis=0)
        normal = world[2 if along[2] <= (1 + ALIKE) * along.min() else int(along.argmin())]
    k = int(np.abs(normal).argmax())
    if np.abs(normal[k]) > 1 - 1e-9:
        return world[[m for m in range(3) if m != k]], flat
    first = world[int(np.abs(normal).argmin())]
    first = first - (first @ normal) * normal
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(normal * np.sign(normal[k]), first)]), flat


def _axis_name(axis: np.ndarray) -> str:
    k = int(np.abs(axis).argmax())
    return "xyz"[k] if axis[k] > 1 - 1e-9 else f"({', '.join(f'{x:.3g}' for x in axis)})"


def _named(point: Marker | Body | str) -> str:
    return point if isinstance(point, str) else point.name if isinstance(point, Body) else str(point)
