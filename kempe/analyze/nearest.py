"""Nearest: a recorded motion brought onto the loops of a mechanism, with the least change of what was recorded.

The recording has coordinates of joints, cut or not, balls and free joints by quaternions, and places of bodies: fewer
than the freedoms of the tree, or more. Each row is replaced by the closed q with the least sum of squared errors,
lengths over the mechanism's size. With A their matrix on v, steps x of the Gauss-Newton method are

    least |A x + off|    where    J x = -phi,

and joints that are not recorded follow. The changes are a smooth function of time, whose derivatives, by a spline
through the rows, belong to the motion too. Velocities and accelerations are the nearest to these that keep loops
closed.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from kempe.errors import NotClosed, StateError
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.assembly import CLOSED
from kempe.loops.targets import CutCoordinate, CutPose, Measure, Place, measures
from kempe.mechanics.state import State, entry
from kempe.spatial.quaternions import posed
from kempe.topology.tree import TreeJoint

STEPS = 60  # Gauss-Newton steps; convergence is slower the farther the recording is from closed
SETTLED = 1e-12  # of a step: converged
EXACT = 1e-9  # a recording this close to closed was closed
RANK = 1e-8  # least relative singular value that counts

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # values, rates and second derivatives


@dataclass(frozen=True, eq=False)
class Track(ABC):
    """Some columns of a recording, and the coordinates they belong to.

    turning: whether they are a quaternion, possibly followed by a position. sizes: the scales that make each row of A
    and each error dimensionless.
    """

    model: Kinetics
    columns: list[int]
    sizes: np.ndarray
    turning: ClassVar[bool] = False

    @abstractmethod
    def off(self, q: np.ndarray, x: np.ndarray, p) -> np.ndarray:
        """Error of q relative to values x of the columns."""

    @abstractmethod
    def matrix(self, q: np.ndarray, p) -> np.ndarray:
        """A."""

    @abstractmethod
    def bias(self, q: np.ndarray, v: np.ndarray, p) -> np.ndarray:
        """Second derivatives at vdot = 0."""

    @abstractmethod
    def now(self, q: np.ndarray, x: np.ndarray, p) -> np.ndarray:
        """The values of the columns at q; angles nearest to x."""

    def moving(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Rates and accelerations in the terms of A, from those of the columns."""
        x, xdot, xddot = (y[:, self.columns] for y in rows)
        return posed(x, xdot, xddot)[1:] if self.turning else (xdot, xddot)

    def changed(self, q: np.ndarray, x: np.ndarray, p) -> np.ndarray:
        """The change of the columns that makes them those of q."""
        now = self.now(q, x, p)
        if self.turning:  # the nearer of the two quaternions, with the recorded norm
            now = np.concatenate([np.copysign(np.linalg.norm(x[:4]), now[:4] @ x[:4]) * now[:4], now[4:]])
        return now - x


@dataclass(frozen=True, eq=False)
class Entry(Track):
    """One coordinate of the tree."""

    q: int
    v: int

    @property
    def own(self) -> np.ndarray:
        """Its index in v."""
        return np.array([self.v])

    def off(self, q, x, p):
        """The difference."""
        return q[[self.q]] - x

    def matrix(self, q, p):
        """A unit row."""
        return np.eye(self.model.nv)[[self.v]]

    def bias(self, q, v, p):
        """Zero."""
        return np.zeros(1)

    def now(self, q, x, p):
        """Itself."""
        return q[[self.q]]

    def put(self, q, x):
        """Puts x into q."""
        q[self.q] = x[0]


@dataclass(frozen=True, eq=False)
class Pose(Track):
    """A ball or a free joint of the tree."""

    joint: TreeJoint
    turning = True

    @property
    def own(self) -> np.ndarray:
        """Their indices in v."""
        return np.arange(self.joint.v.start, self.joint.v.stop)

    def off(self, q, x, p):
        """The motion from one to the other, in the moving axes."""
        start = q.copy()
        self.put(start, x)
        return self.model.difference(start, q)[self.joint.v]

    def matrix(self, q, p):
        """Unit rows."""
        return np.eye(self.model.nv)[self.joint.v]

    def bias(self, q, v, p):
        """Zero."""
        return np.zeros(self.joint.v.stop - self.joint.v.start)

    def now(self, q, x, p):
        """Themselves."""
        return q[self.joint.q]

    def put(self, q, x):
        """Puts x into q, normalized."""
        q[self.joint.q] = np.concatenate([x[:4] / np.linalg.norm(x[:4]), x[4:]])


@dataclass(frozen=True, eq=False)
class Measured(Track):
    """A measured quantity: one coordinate of a joint that closes a loop, or of the place of a body."""

    measure: Measure

    def off(self, q, x, p):
        """As measured."""
        return self.measure.off(q, x, p)

    def matrix(self, q, p):
        """Its row of L."""
        return self.measure.matrix(q, p)

    def bias(self, q, v, p):
        """Its entry."""
        return self.measure.bias(q, v, p)

    def now(self, q, x, p):
        """Nearest to the recorded value."""
        return x + self.measure.off(q, x, p)


@dataclass(frozen=True, eq=False)
class MeasuredPose(Measured):
    """A ball, or a free joint, that closes a loop."""

    at: slice
    turning = True

    def now(self, q, x, p):
        """All its coordinates."""
        return self.model.loop_coordinates(q, p=p)[self.at]


@dataclass(frozen=True, eq=False)
class Nearest:
    """Closed rows nearest to those of a recording: q, v, a, and the changes of its values, (n, k)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    moved: np.ndarray


class Recording:
    """Named single coordinates of a mechanism. Joints that are not named, and are neither on a loop nor below a named
    place, stay at their values in `rest` (nq)."""

    def __init__(self, model: Kinetics, names: Sequence[str], rest: np.ndarray, p=None):
        """`names` are as for a motion."""
        self.model, self.names, self.p, self.rest = model, tuple(names), p, rest
        self.parts = tracks(model, self.names)
        named = {k for part in self.parts if isinstance(part, Entry | Pose) for k in part.own.tolist()}
        idle = np.array(sorted(set(range(model.nv)) - named - self._following()), dtype=int)
        self._held = np.eye(model.nv)[idle]
        self._scale = model.equations.steps
        self._sizes = np.concatenate([self._scale[idle], *(part.sizes for part in self.parts)])

    def _following(self) -> set[int]:
        """Velocities that follow from the others: of joints on loops, and of those that carry a place."""
        model = self.model
        found = set(model.loop_places[1].tolist()) if model.topology.constrained else set()
        for part in self.parts:
            if isinstance(part, Measured) and isinstance(part.measure, Place):
                body = model.marker(part.measure.marker).body
                for k in model.topology.chain(model.topology.parent_of[body]):
                    found |= set(range(model.topology.tree[k].v.start, model.topology.tree[k].v.stop))
        return found

    def rows(self, t: np.ndarray, given: Rows, start: State | None) -> Nearest:
        """All rows, each starting from the one before; `given` (n, k) each, in the order of names."""
        x = given[0]
        q = np.empty((len(t), self.model.nq))
        for i in range(len(t)):
            q[i] = self._closed(self._begin(x[0], start) if i == 0 else self._put(q[i - 1], x[i]), x[i], t[i])
        moved = np.empty_like(x)
        for part in self.parts:
            for i in range(len(t)):
                moved[i, part.columns] = part.changed(q[i], x[i, part.columns], self.p)
        if np.abs(moved).max(initial=0.0) <= EXACT:
            return Nearest(q, *self._velocities(q, given), moved)
        return Nearest(q, *self._velocities(q, _with(t, given, moved)), moved)

    @cached_property
    def _whole(self) -> bool:
        return self.model.topology.constrained

    def _closure(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self._whole:
            return np.zeros(0), np.zeros((0, self.model.nv)), np.ones(0)
        phi, jacobian, upright = self.model.closure(q, p=self.p)
        return phi, jacobian, upright

    def _matrix(self, q: np.ndarray) -> np.ndarray:
        """A, with resting joints first."""
        rows = np.vstack([self._held, *(part.matrix(q, self.p) for part in self.parts)])
        return rows * self._scale / self._sizes[:, None]

    def _put(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """q with the recorded coordinates of the tree."""
        q = q.copy()
        for part in self.parts:
            if isinstance(part, Entry | Pose):
                part.put(q, x[part.columns])
        return q

    def _begin(self, x: np.ndarray, start: State | None) -> np.ndarray:
        """The start for the first row; checks that the recording and the loops determine all that moves."""
        model = self.model
        q = self._put(self.rest, x)
        if start is None and self._whole:
            q = self._put(model.assemble(near=State(model, q, np.zeros(model.nv))).q, x)
        _, jacobian, _ = self._closure(q)
        ways = _allowed(jacobian * self._scale)[1]
        left = ways.shape[1] - np.linalg.matrix_rank(self._matrix(q) @ ways, tol=RANK)
        if left:
            raise StateError(
                f"motion: with {', '.join(self.names)} given, {left} freedoms are left; give as many more, of joints "
                "or of places of bodies"
            )
        return q

    def _closed(self, q: np.ndarray, x: np.ndarray, t: float) -> np.ndarray:
        """The nearest closed q."""
        before = np.inf
        for _ in range(STEPS):
            phi, jacobian, upright = self._closure(q)
            off = [np.zeros(len(self._held)), *(part.off(q, x[part.columns], self.p) for part in self.parts)]
            step = _least(jacobian * self._scale, -phi, self._matrix(q), -np.concatenate(off) / self._sizes)
            size, gap = np.abs(step).max(initial=0.0), np.abs(phi).max(initial=0.0)
            if gap <= CLOSED and (size <= SETTLED or (size <= EXACT and size >= 0.5 * before)):
                if (upright > 0).all():
                    return q
                break
            q, before = self.model.integrate(q, self._scale * step), size
        raise NotClosed(
            f"motion: at t = {t:.6g} s no closed state is near what was recorded of {', '.join(self.names)}; check "
            "the values there, or give a start= on the right branch"
        )

    def _velocities(self, q: np.ndarray, given: Rows) -> tuple[np.ndarray, np.ndarray]:
        """v and a of all rows."""
        still = np.zeros((len(q), len(self._held)))
        pairs = [part.moving(given) for part in self.parts]
        rates, seconds = (np.hstack([still, *(pair[k] for pair in pairs)]) for k in (0, 1))
        v, a = np.empty((2, len(q), self.model.nv))
        for i, state in enumerate(q):
            jacobian, matrix = self._closure(state)[1] * self._scale, self._matrix(state)
            v[i] = self._scale * _least(jacobian, np.zeros(len(jacobian)), matrix, rates[i] / self._sizes)
            gamma = self.model.loop_bias(state, v[i], p=self.p) if self._whole else np.zeros(0)
            bias = [still[i], *(part.bias(state, v[i], self.p) for part in self.parts)]
            wanted = (seconds[i] - np.concatenate(bias)) / self._sizes
            a[i] = self._scale * _least(jacobian, gamma, matrix, wanted)
        return v, a


def tracks(model: Kinetics, names: tuple[str, ...]) -> list[Track]:
    """The tracks of named single coordinates."""
    scale, length = model.equations.steps, model.equations.closure_size
    poses, slices = model.poses(names), (model.slices("q"), model.slices("v"))
    found: list[Track] = []
    for joint, columns in poses.items():
        at = model.joint(joint)
        found.append(Pose(model, columns, scale[at.v], at))
    numbers = sorted(set(range(len(names))) - {k for columns in poses.values() for k in columns})
    cut: dict[str, list[int]] = {}
    for number in numbers:
        joint, k = (names[number], None) if names[number] in slices[0] else entry(names[number])
        if joint in slices[0]:
            of, places = (x[joint] for x in slices)
            if (k is None and of.stop - of.start != 1) or (k or 0) >= of.stop - of.start:
                raise StateError(f"motion: joint {joint!r} has {of.stop - of.start} coordinates; give each")
            v = places.start + (k or 0)
            if any(isinstance(other, Entry) and other.v == v for other in found):
                raise StateError(f"motion: {', '.join(names)} names one coordinate twice")
            found.append(Entry(model, [number], scale[[v]], of.start + (k or 0), v))
        else:
            cut.setdefault(joint if joint in model.cut else names[number], []).append(number)
    for name, columns in cut.items():
        measured = measures(model, name, "motion")
        if sum(measure.width for measure in measured) != len(columns):
            width = sum(measure.width for measure in measured)
            raise StateError(f"motion: joint {name!r} has {width} coordinates; give each")
        (first, *_) = measured
        if isinstance(first, CutPose):
            sizes = np.array([1.0, 1.0, 1.0, length, length, length])[: first.width - 1]
            found.append(MeasuredPose(model, columns, sizes, first, first.q))
            continue
        for k, measure in zip(columns, measured, strict=True):
            turning = isinstance(measure, CutCoordinate | Place) and measure.turning
            found.append(Measured(model, [k], np.array([1.0 if turning else length]), measure))
    return found


def _with(t: np.ndarray, given: Rows, moved: np.ndarray) -> Rows:
    """Values, rates and second derivatives plus changes."""
    if len(t) < 2:
        return given[0] + moved, given[1], given[2]
    from scipy.interpolate import CubicSpline  # slow to load

    change = CubicSpline(t, moved)
    return tuple(x + change(t, k) for k, x in enumerate(given))  # type: ignore[return-value]


def _allowed(jacobian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pseudoinverse of J and a basis of its null space."""
    if not len(jacobian):
        return np.zeros((jacobian.shape[1], 0)), np.eye(jacobian.shape[1])
    left, sizes, right = np.linalg.svd(jacobian)
    rank = int((sizes > RANK * sizes[0]).sum())
    return (right[:rank].T / sizes[:rank]) @ left[:, :rank].T, right[rank:].T


def _least(jacobian: np.ndarray, right: np.ndarray, matrix: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """x with J x = right that minimizes |matrix x - wanted|."""
    back, ways = _allowed(jacobian)
    x = back @ right
    return x + ways @ np.linalg.lstsq(matrix @ ways, wanted - matrix @ x, rcond=RANK)[0]
