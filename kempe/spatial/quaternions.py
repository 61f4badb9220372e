"""Unit quaternions w, x, y, z: matrices, products, rates, exponentials, and velocities of recorded quaternions."""

import numpy as np

from kempe.arithmetic.angles import atan2, cos, sin
from kempe.arithmetic.least import solve
from kempe.arithmetic.sums import norm, times
from kempe.spatial.vectors import Matrix, Vector, array, dot, is_symbolic, matrix, scaled, sqrt

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def to_matrix(q: Vector) -> Matrix:
    """R: maps components in the new frame to the old one; q must have length 1."""
    w, x, y, z = q
    return matrix(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
    )


def rate(q: Vector, omega: Vector) -> Vector:
    """dq/dt for an angular velocity in the moving axes: q (0, omega) / 2."""
    w, x, y, z = q
    a, b, c = 0.5 * omega
    return array((-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a))


def product(p: Vector, q: Vector) -> Vector:
    """p q: a rotation by p, then by q in the rotated axes."""
    (a, b, c, d), (e, f, g, h) = p, q
    return array(
        (
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        )
    )


def exponential(turn: Vector) -> np.ndarray:
    """The quaternion of a rotation vector (axis times angle); floats only."""
    turn = np.asarray(turn, dtype=float)
    angle = float(norm(turn))
    scale = sin(0.5 * angle) / angle if angle > 0 else 0.5
    return np.array([cos(0.5 * angle), *(scale * turn)])


def logarithm(q: np.ndarray) -> np.ndarray:
    """The rotation vector of a quaternion, at most half a turn long; floats only."""
    q = np.asarray(q, dtype=float)
    q = -q if q[0] < 0 else q
    size = float(norm(q[1:]))
    if size < 1e-12:
        return 2 * q[1:] / q[0]
    return 2 * atan2(size, q[0]) / size * q[1:]


def normalized(q: Vector) -> Vector:
    """The quaternion scaled to length 1; NaN for zero."""
    if any(is_symbolic(x) for x in q):
        return scaled(1.0 / sqrt(dot(q, q)), q)
    length = float(norm(q))
    return q / length if length else np.full(4, np.nan)


def random(rng: np.random.Generator) -> np.ndarray:
    """A rotation, uniformly distributed."""
    while True:
        q = rng.uniform(-1.0, 1.0, 4)
        if 0.01 < norm(q) <= 1.0:
            return normalized(q)


def conjugate(q: Vector) -> Vector:
    """The inverse of a unit quaternion."""
    return array((q[0], -q[1], -q[2], -q[3]))


def turned(q: Vector, x: Vector) -> Vector:
    """R x."""
    return times(to_matrix(q), x)


def screwed(turn: np.ndarray, slide: np.ndarray) -> np.ndarray:
    """The displacement in unit time at constant velocity in the moving axes, while rotating by `turn`."""
    return times(_screw_matrix(turn), slide)


def unscrewed(turn: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """The velocity of a given displacement: the inverse of `screwed`."""
    return solve(_screw_matrix(turn), moved)


def _screw_matrix(turn: np.ndarray) -> np.ndarray:
    angle = float(norm(turn))
    k = np.array([[0, -turn[2], turn[1]], [turn[2], 0, -turn[0]], [-turn[1], turn[0], 0]])
    if angle < 1e-4:  # the series of the two coefficients, accurate to the last digit
        first, second = 0.5 - angle * angle / 24, 1 / 6 - angle * angle / 120
    else:
        first, second = (1 - cos(angle)) / (angle * angle), (angle - sin(angle)) / (angle * angle * angle)
    return np.eye(3) + first * k + second * times(k, k)


def posed(x: np.ndarray, rate: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, velocities and accelerations of a ball (4 columns) or free joint (7) from the columns of x and their
    first and second derivatives, (n, 4 or 7); the quaternion may have any nonzero length; floats only.

    With x = |x| q, omega = 2 Im(x* x') / |x|^2; in its derivative x*' x' is real and drops out.
    """
    square = (x[:, :4] ** 2).sum(axis=1, keepdims=True)
    growth = (x[:, :4] * rate[:, :4]).sum(axis=1, keepdims=True) / square
    omega = 2 * _beside(x, rate) / square
    alpha = 2 * _beside(x, second) / square - 2 * growth * omega
    q = np.hstack([x[:, :4] / np.sqrt(square), x[:, 4:]])
    if x.shape[1] == 4:
        return q, omega, alpha
    velocity, acceleration = (_turned_back(q, y[:, 4:]) for y in (rate, second))
    return q, np.hstack([omega, velocity]), np.hstack([alpha, acceleration - np.cross(omega, velocity)])


def _beside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The vector part of x* y, row by row."""
    return x[:, :1] * y[:, 1:4] - y[:, :1] * x[:, 1:4] - np.cross(x[:, 1:4], y[:, 1:4])


def _turned_back(q: np.ndarray, y: np.ndarray) -> np.ndarray:
    """R^T y, row by row."""
    across = np.cross(q[:, 1:4], y)
    return y - 2 * q[:, :1] * across + 2 * np.cross(q[:, 1:4], across)
