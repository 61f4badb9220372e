"""Targets: quantities given by name: joints of the tree, cut joints, and places of bodies such as "platform.x".

Tree coordinates are put in. The others are measured at a state, each adding one or more rows to solve:

    off(q, x)    their distance from the requested values x
    matrix(q)    L: their rates are L v
    bias(q, v)   their second derivatives at vdot = 0

with p, the parameters kept as inputs, if they are not the mechanism's own.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import casadi as ca
import numpy as np

from kempe.arithmetic.sums import norm, times
from kempe.dynamics import closure, kinematics
from kempe.dynamics.kinematics import changing
from kempe.errors import StateError
from kempe.mechanics.state import PLACE, entry, placed
from kempe.spatial.quaternions import conjugate, logarithm, product, to_matrix
from kempe.spatial.vectors import Scalar, array, from_sx, to_sx

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

TURN = 2 * np.pi


class Measure(Protocol):
    """A measured quantity with `width` numbers as target."""

    @property
    def width(self) -> int: ...  # noqa: D102
    def off(self, q: np.ndarray, x: np.ndarray, p=None) -> np.ndarray: ...  # noqa: D102
    def matrix(self, q: np.ndarray, p=None) -> np.ndarray: ...  # noqa: D102
    def bias(self, q: np.ndarray, v: np.ndarray, p=None) -> np.ndarray: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class CutCoordinate:
    """One coordinate of a joint that closes a loop: its indices among those of all such joints."""

    mechanics: "Mechanics"
    q: int
    v: int
    turning: bool
    width = 1

    def off(self, q, x, p=None):
        """Angles by the shorter way round."""
        return wrapped(self.mechanics.call("loop_coordinates", q, p=p)[..., [self.q]] - x, self.turning)

    def matrix(self, q, p=None):
        """Its row of L."""
        return self.mechanics.call("loop_matrix", q, p=p)[..., [self.v], :]

    def bias(self, q, v, p=None):
        """Its entry."""
        return self.mechanics.call("loop_velocity_bias", q, v, p=p)[..., [self.v]]

    def symbolic(self, tree, q):
        """The coordinate over symbols."""
        return [x for part in closure.coordinates(tree, q) for x in part][self.q]

    def symbolic_rate(self, tree, q, v):
        """Its rate."""
        return [x for part in closure.velocities(tree, q, v) for x in part][self.v]


@dataclass(frozen=True, eq=False)
class CutPose:
    """The orientation in a ball that closes a loop, as a quaternion; for a free joint, followed by the position."""

    mechanics: "Mechanics"
    q: slice
    v: slice

    @property
    def width(self) -> int:
        """Four, or seven."""
        return self.q.stop - self.q.start

    def off(self, q, x, p=None):
        """The rotation from the requested orientation to the actual one, and the displacement, in the moving axes:
        their rates are about the joint's own velocities."""
        return pose_off(np.asarray(x, dtype=float), self.mechanics.call("loop_coordinates", q, p=p)[self.q])

    def matrix(self, q, p=None):
        """Its rows of L."""
        return self.mechanics.call("loop_matrix", q, p=p)[self.v]

    def bias(self, q, v, p=None):
        """Its entries."""
        return self.mechanics.call("loop_velocity_bias", q, v, p=p)[self.v]


@dataclass(frozen=True, eq=False)
class Place:
    """One of x, y, z, roll, pitch, yaw of a marker."""

    mechanics: "Mechanics"
    marker: str
    k: int
    width = 1

    @property
    def turning(self) -> bool:
        """Whether it is an angle."""
        return self.k >= 3

    def off(self, q, x, p=None):
        """Angles by the shorter way round."""
        return wrapped(self.mechanics.place(self.marker, q, p=p)[0][..., [self.k]] - x, self.turning)

    def matrix(self, q, p=None):
        """Its row."""
        return self.mechanics.place(self.marker, q, p=p)[1][..., [self.k], :]

    def bias(self, q, v, p=None):
        """Its entry."""
        return self.mechanics.place_bias(self.marker, q, v, p=p)[..., [self.k]]

    def symbolic(self, tree, q):
        """The coordinate over symbols."""
        marker = self.mechanics.marker(self.marker)
        tree = tree.including(marker)
        frame = kinematics.at_place(kinematics.frames(tree, q, np.zeros(self.mechanics.nv)), tree.place(marker))
        return kinematics.place(frame.rotation, frame.position)[self.k]

    def symbolic_rate(self, tree, q, v):
        """Its rate."""
        return from_sx(changing(lambda free: array([self.symbolic(tree, free)]), tree, q, v))[0]


def pose_off(x: np.ndarray, now: np.ndarray) -> np.ndarray:
    """The rotation from one orientation to another, and the displacement if there are positions, in the moving axes."""
    turn = logarithm(product(conjugate(x[:4] / norm(x[:4])), now[:4]))
    return np.concatenate([turn, times(to_matrix(now[:4]).T, now[4:] - x[4:])]) if len(x) > 4 else turn


def wrapped(off: np.ndarray, turning: bool) -> np.ndarray:
    """Angles within half a turn."""
    return (off + np.pi) % TURN - np.pi if turning else off


def measures(mechanics: "Mechanics", name: str, what: str) -> list[Measure]:
    """What to measure for a name that is not a tree coordinate; a joint of several coordinates has several measures."""
    joint, k = (name, None) if name in mechanics.cut else entry(name)
    loops = {loop.joint.name: loop.joint.type for loop in mechanics.topology.loops}
    if joint not in loops and "." in name and name.rpartition(".")[0] in loops:
        joint, _, part = name.rpartition(".")
        k = loops[joint].q_names.index(part) if part in loops[joint].q_names else -1
    if joint in loops:
        kind, (at_q, at_v) = loops[joint], mechanics.cut[joint]
        if len(kind.q_names) == len(kind.v_names):
            count = len(kind.q_names)
            if k is not None and not 0 <= k < count:
                raise StateError(f"{what}: joint {joint!r} has {count} coordinates ({', '.join(kind.q_names)})")
            wanted = range(count) if k is None else (k,)
            return [CutCoordinate(mechanics, at_q.start + i, at_v.start + i, kind.units[i] == "rad") for i in wanted]
        if k is None:
            return [CutPose(mechanics, at_q, at_v)]
        raise StateError(f"{what}: of {kind.name} joint {joint!r}, which closes a loop, give the whole orientation")
    found = placed(mechanics, name)
    if found is None:
        there = ", ".join((*mechanics.joint_names, *(f"{body.name}.x" for body in mechanics.mechanism.bodies)))
        raise StateError(
            f"{what}: there is no joint {name!r}, and no place of a body (its {', '.join(PLACE)}); there are {there}"
        )
    return [Place(mechanics, *found)]


# ---- a motion's coordinates ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Given:
    """Single coordinates that are given: tree coordinates by their indices in q and v, then measured ones.

    order: the position of each entry of a motion, first those of the tree, then the measured ones.
    """

    at_q: np.ndarray
    at_v: np.ndarray
    measured: tuple[CutCoordinate | Place, ...]
    order: np.ndarray

    @property
    def tree(self) -> int:
        """How many are in the tree."""
        return len(self.at_q)

    def off(self, q: np.ndarray, x: np.ndarray, p=None) -> np.ndarray:
        """Distance of the measured ones from x, at one state or many."""
        none = np.zeros((*np.shape(q)[:-1], 0))
        return np.concatenate([none, *(m.off(q, x[k], p) for k, m in enumerate(self.measured))], axis=-1)

    def sizes(self, mechanics: "Mechanics") -> np.ndarray:
        """The scale of the measured ones: a radian, or the mechanism's length."""
        return np.array([1.0 if m.turning else mechanics.equations.scale.length for m in self.measured])

    def matrix(self, q: np.ndarray, nv: int, p=None) -> np.ndarray:
        """L of the measured ones."""
        none = np.zeros((*np.shape(q)[:-1], 0, nv))
        return np.concatenate([none, *(m.matrix(q, p) for m in self.measured)], axis=-2)

    def bias(self, q: np.ndarray, v: np.ndarray, p=None) -> np.ndarray:
        """The bias of the measured ones."""
        return np.concatenate([np.zeros((*np.shape(q)[:-1], 0)), *(m.bias(q, v, p) for m in self.measured)], axis=-1)

    def symbolic_off(self, tree, q, x) -> list[Scalar]:
        """Distance of the measured ones from x, symbolically."""
        found = []
        for k, m in enumerate(self.measured):
            away = m.symbolic(tree, q) - x[k]
            found.append(away - TURN * ca.floor(away / TURN + 0.5) if m.turning else away)
        return found

    def symbolic_matrix(self, tree, q, nv: int) -> np.ndarray:
        """L of the measured ones, symbolically."""
        v = ca.SX.sym("v", nv)
        rate = self._symbolic_rates(tree, q, from_sx(v))
        return from_sx(ca.jacobian(to_sx(rate), v)).reshape(len(self.measured), nv)

    def symbolic_bias(self, tree, q, v) -> np.ndarray:
        """The bias of the measured ones, symbolically."""
        return from_sx(changing(lambda free: self._symbolic_rates(tree, free, v), tree, q, v))

    def _symbolic_rates(self, tree, q, v) -> np.ndarray:
        return array(m.symbolic_rate(tree, q, v) for m in self.measured)


def given(mechanics: "Mechanics", names: tuple[str, ...], what: str = "motion") -> Given:
    """The positions of named single coordinates."""
    slices_q, slices_v = mechanics.slices("q"), mechanics.slices("v")
    tree, measured = [], []
    for number, name in enumerate(names):
        joint, k = (name, None) if name in slices_q else entry(name)
        at_q, at_v = slices_q.get(joint), slices_v.get(joint)
        if at_q is not None:
            if at_v is None or at_q.stop - at_q.start != at_v.stop - at_v.start:
                raise StateError(
                    f"{what}: the velocities of joint {joint!r} are not the rates of its coordinates; give the place "
                    "of a body that it carries, such as 'body.x' and 'body.roll'"
                )
            if (k is None and at_q.stop - at_q.start != 1) or (k or 0) >= at_q.stop - at_q.start:
                raise StateError(f"{what}: joint {joint!r} has {at_q.stop - at_q.start} coordinates; give each")
            tree.append((number, at_q.start + (k or 0), at_v.start + (k or 0)))
            continue
        (found, *more) = measures(mechanics, name, what)
        if more or isinstance(found, CutPose):
            raise StateError(f"{what}: joint {name!r} has several coordinates; give each, as {name}[0]")
        measured.append((number, found))
    where = [t[1:] for t in tree]
    if len(set(where)) < len(where) or len(set(names)) < len(names):
        raise StateError(f"{what}: {', '.join(names)} names one coordinate twice")
    at_q, at_v = np.array(where, dtype=int).reshape(-1, 2).T
    order = np.array([t[0] for t in tree] + [m[0] for m in measured], dtype=int)
    return Given(at_q, at_v, tuple(m[1] for m in measured), order)
