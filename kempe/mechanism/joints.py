"""Joint kinds: how frame b moves relative to frame a, one class per kind.

At q = 0 the two frames coincide. Each kind has a canonical axis (z for turning and sliding, x then y for the universal
joint). A joint about another axis rotates both of its frames so that the canonical axis lies along it.

The interface of a kind, with all vectors in b's axes unless otherwise stated:

    posture(q)      p, computed once from q for the methods below: cosines and sines, a rotation matrix
    moves(p)        from frame a to frame b
    subspace(p)     S: angular and linear velocity of b relative to a, one column per freedom
    bias(p, v)      dS/dt v, the derivative taken in b's axes
    complement(p)   T: columns [moment; force] that a joint of this kind can transmit, T^T S = 0
    rates(q, v)     dq/dt
    normalized, integrate, difference, neutral, random: the manifold of q
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kempe.spatial import quaternions
from kempe.spatial.moves import Moves, Rotation, Shift, Turn
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cos, matrix, sin, zeros

Columns = tuple[Matrix, Matrix]  # angular and linear parts, 3 x freedoms each


class JointKind(ABC):
    """One kind of joint, in its canonical axes."""

    name: ClassVar[str]
    q_names: ClassVar[tuple[str, ...]]
    v_names: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, ...]]  # of the integrals of v: "rad" or "m"

    @property
    def nq(self) -> int:
        """The number of coordinates."""
        return len(self.q_names)

    @property
    def nv(self) -> int:
        """The number of freedoms."""
        return len(self.v_names)

    def posture(self, q: Vector) -> Vector:
        """What the kinematics need of q: q itself, or its cosine and sine for an angle."""
        return q

    @abstractmethod
    def moves(self, p: Vector) -> Moves:
        """From frame a to frame b."""

    @abstractmethod
    def subspace(self, p: Vector) -> Columns:
        """S in b's axes."""

    def bias(self, p: Vector, v: Vector) -> tuple[Vector, Vector]:
        """dS/dt v in b's axes; zero where S is constant."""
        return zeros(3), zeros(3)

    def rates(self, q: Vector, v: Vector) -> Vector:
        """dq/dt."""
        return v

    @abstractmethod
    def complement(self, p: Vector) -> Matrix:
        """T, 6 x (6 - freedoms): moments above forces, in b's axes."""

    def neutral(self) -> np.ndarray:
        """The coordinates at which the frames coincide."""
        return np.zeros(self.nq)

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """The nearest coordinates on the manifold; NaN if there are none."""
        return q

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The coordinates that a constant velocity reaches from q in unit time."""
        return q + step

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The velocity that leads from start to end in unit time."""
        return end - start

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Random coordinates: angles up to half a turn, slides up to a metre, either way."""
        return np.array([rng.uniform(-math.pi, math.pi) if u == "rad" else rng.uniform(-1, 1) for u in self.units])


def _columns(*pairs: tuple[tuple, tuple]) -> Columns:
    if not pairs:
        return zeros(3, 0), zeros(3, 0)
    return matrix(p[0] for p in pairs).T, matrix(p[1] for p in pairs).T


def _unit_wrenches(*rows: int) -> np.ndarray:
    return np.eye(6)[:, list(rows)]


NONE, X, Y, Z = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def _angle(angle: Scalar) -> Vector:
    return array((cos(angle), sin(angle)))


@dataclass(frozen=True)
class Revolute(JointKind):
    """A hinge: turns about z."""

    name = "revolute"
    q_names = v_names = ("",)
    units = ("rad",)

    def posture(self, q):
        """Cosine and sine."""
        return _angle(q[0])

    def moves(self, p):
        """A turn about z."""
        return (Turn(2, p[0], p[1]),)

    def subspace(self, p):
        """Angular velocity along z."""
        return _columns((Z, NONE))

    def complement(self, p):
        """All but the moment about z."""
        return _unit_wrenches(0, 1, 3, 4, 5)


@dataclass(frozen=True)
class Prismatic(JointKind):
    """A slider: shifts along z."""

    name = "prismatic"
    q_names = v_names = ("",)
    units = ("m",)

    def moves(self, p):
        """A shift along z."""
        return (Shift(array((0.0, 0.0, p[0]))),)

    def subspace(self, p):
        """Velocity along z."""
        return _columns((NONE, Z))

    def complement(self, p):
        """All but the force along z."""
        return _unit_wrenches(0, 1, 2, 3, 4)


@dataclass(frozen=True)
class Helical(JointKind):
    """A screw about z; pitch in metres per radian."""

    pitch: Scalar

    name = "helical"
    q_names = v_names = ("",)
    units = ("rad",)

    def posture(self, q):
        """Cosine, sine, slide."""
        return array((*_angle(q[0]), self.pitch * q[0]))

    def moves(self, p):
        """A turn about z and a shift along it."""
        return Shift(array((0.0, 0.0, p[2]))), Turn(2, p[0], p[1])

    def subspace(self, p):
        """Angular velocity and, in proportion, velocity along z."""
        return _columns((Z, (0.0, 0.0, self.pitch)))

    def complement(self, p):
        """Everything across z, and the combination of moment and force along z that does no work."""
        wrench = matrix([(0.0,), (0.0,), (-self.pitch,), (0.0,), (0.0,), (1.0,)])
        return np.hstack([_unit_wrenches(0, 1, 3, 4), wrench])


@dataclass(frozen=True)
class Cylindrical(JointKind):
    """Turns about z and slides along it."""

    name = "cylindrical"
    q_names = v_names = ("angle", "slide")
    units = ("rad", "m")

    def posture(self, q):
        """Cosine, sine, slide."""
        return array((*_angle(q[0]), q[1]))

    def moves(self, p):
        """A shift along z and a turn about it."""
        return Shift(array((0.0, 0.0, p[2]))), Turn(2, p[0], p[1])

    def subspace(self, p):
        """Angular velocity along z, velocity along z."""
        return _columns((Z, NONE), (NONE, Z))

    def complement(self, p):
        """Everything across z."""
        return _unit_wrenches(0, 1, 3, 4)


@dataclass(frozen=True)
class Universal(JointKind):
    """Turns about x, fixed in a, then about y, fixed in b."""

    name = "universal"
    q_names = v_names = ("first", "second")
    units = ("rad", "rad")

    def posture(self, q):
        """Cosines and sines of both angles."""
        return array((*_angle(q[0]), *_angle(q[1])))

    def moves(self, p):
        """A turn about x, then about y."""
        return Turn(0, p[0], p[1]), Turn(1, p[2], p[3])

    def subspace(self, p):
        """Angular velocity along a's x, in b's axes, and along b's y."""
        return _columns(((p[2], 0.0, p[3]), NONE), (Y, NONE))

    def bias(self, p, v):
        """The first axis moves in b's axes."""
        rate = v[0] * v[1]
        return array((-p[3] * rate, 0.0, p[2] * rate)), zeros(3)

    def complement(self, p):
        """The moment across both axes and all forces."""
        moment = matrix([(-p[3],), (0.0,), (p[2],), (0.0,), (0.0,), (0.0,)])
        return np.hstack([moment, _unit_wrenches(3, 4, 5)])


@dataclass(frozen=True)
class Spherical(JointKind):
    """A ball joint: q is a quaternion, v the angular velocity in b's axes."""

    name = "spherical"
    q_names = ("w", "x", "y", "z")
    v_names = ("wx", "wy", "wz")
    units = ("rad", "rad", "rad")

    def posture(self, q):
        """The rotation matrix, row by row."""
        return quaternions.to_matrix(q).ravel()

    def moves(self, p):
        """Any rotation."""
        return (Rotation(p.reshape(3, 3)),)

    def subspace(self, p):
        """Angular velocity along each of b's axes."""
        return _columns((X, NONE), (Y, NONE), (Z, NONE))

    def rates(self, q, v):
        """q (0, omega) / 2."""
        return quaternions.rate(q, v)

    def complement(self, p):
        """All forces."""
        return _unit_wrenches(3, 4, 5)

    def neutral(self):
        """No rotation."""
        return np.array(quaternions.IDENTITY)

    def integrate(self, q, step):
        """A turn about a fixed axis."""
        return self.normalized(quaternions.product(q, quaternions.exponential(step)))

    def normalized(self, q):
        """A quaternion of length 1."""
        return quaternions.normalized(q)

    def difference(self, start, end):
        """The rotation vector between them."""
        return quaternions.logarithm(quaternions.product(quaternions.conjugate(start), end))

    def random(self, rng):
        """A rotation, uniformly distributed."""
        return quaternions.random(rng)


@dataclass(frozen=True)
class Planar(JointKind):
    """Slides in the x-y plane of a and turns about z."""

    name = "planar"
    q_names = v_names = ("x", "y", "angle")
    units = ("m", "m", "rad")

    def posture(self, q):
        """Position, cosine, sine."""
        return array((q[0], q[1], *_angle(q[2])))

    def moves(self, p):
        """A shift in the plane, then a turn about z."""
        return Shift(array((p[0], p[1], 0.0))), Turn(2, p[2], p[3])

    def subspace(self, p):
        """Velocities along a's x and y, in b's axes, and angular velocity along z."""
        c, s = p[2], p[3]
        return _columns((NONE, (c, -s, 0.0)), (NONE, (s, c, 0.0)), (Z, NONE))

    def bias(self, p, v):
        """a's axes turn in b's."""
        c, s = p[2], p[3]
        return zeros(3), array((v[2] * (c * v[1] - s * v[0]), -v[2] * (c * v[0] + s * v[1]), 0.0))

    def complement(self, p):
        """Moments across z and the force along it."""
        return _unit_wrenches(0, 1, 5)


@dataclass(frozen=True)
class Free(JointKind):
    """No constraint: q is a quaternion and the position of b in a's axes, v the twist of b in b's axes."""

    name = "free"
    q_names = ("w", "x", "y", "z", "px", "py", "pz")
    v_names = ("wx", "wy", "wz", "vx", "vy", "vz")
    units = ("rad", "rad", "rad", "m", "m", "m")

    def posture(self, q):
        """The rotation matrix, row by row, and the position."""
        return array((*quaternions.to_matrix(q[:4]).ravel(), *q[4:]))

    def moves(self, p):
        """A shift, then any rotation."""
        return Shift(array(p[9:])), Rotation(p[:9].reshape(3, 3))

    def subspace(self, p):
        """All directions."""
        return np.eye(6)[:3], np.eye(6)[3:]

    def rates(self, q, v):
        """Quaternion rate, and the velocity in a's axes."""
        return np.concatenate([quaternions.rate(q[:4], v[:3]), quaternions.turned(q[:4], v[3:])])

    def complement(self, p):
        """No wrenches."""
        return zeros(6, 0)

    def neutral(self):
        """At a, in a's axes."""
        return np.array([*quaternions.IDENTITY, 0.0, 0.0, 0.0])

    def integrate(self, q, step):
        """A screw motion with constant twist in b's axes."""
        turn, slide = step[:3], step[3:]
        new = quaternions.product(q[:4], quaternions.exponential(turn))
        moved = quaternions.turned(q[:4], quaternions.screwed(turn, slide))
        return self.normalized(np.concatenate([new, q[4:] + moved]))

    def normalized(self, q):
        """A quaternion of length 1; any position."""
        return np.concatenate([quaternions.normalized(q[:4]), q[4:]])

    def difference(self, start, end):
        """The screw motion between them."""
        turn = quaternions.logarithm(quaternions.product(quaternions.conjugate(start[:4]), end[:4]))
        moved = quaternions.turned(quaternions.conjugate(start[:4]), end[4:] - start[4:])
        return np.concatenate([turn, quaternions.unscrewed(turn, moved)])

    def random(self, rng):
        """Any rotation; positions up to a metre either way."""
        return np.concatenate([quaternions.random(rng), rng.uniform(-1, 1, 3)])


@dataclass(frozen=True)
class Fixed(JointKind):
    """A weld."""

    name = "fixed"
    q_names = v_names = ()
    units = ()

    def moves(self, p):
        """No moves."""
        return ()

    def subspace(self, p):
        """No columns."""
        return _columns()

    def complement(self, p):
        """All wrenches."""
        return np.eye(6)


KINDS: dict[str, type[JointKind]] = {
    kind.name: kind for kind in (Revolute, Prismatic, Helical, Cylindrical, Universal, Spherical, Planar, Free, Fixed)
}
