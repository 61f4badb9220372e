"""Bending: inertia, inertia forces and stiffness of a beam, from a few integrals of its shapes.

The point of the beam at x is, in the beam's frame, at

    r = (x - s, v, w),    v = sum of f_i eta_i (y), w alike (z),    s = (1/2) integral of v'^2 + w'^2 from 0 to x

where the foreshortening s is optional. With omega and u the velocities of the frame and etad the rates of the
coordinates, the kinetic energy up to squares of eta and etad is

    T = m u^2 / 2 + u . (omega x h) + omega . I omega / 2 + u . D etad + omega . L etad + etad . M etad / 2

with h, I the first moment and the inertia tensor of the bent beam, D = dh/deta, and L the integral of r x dr/deta (eq.
48 of paper 5, in space, with s). Lagrange's equations are, with a the acceleration of the frame's origin:

    force   m a + alpha x h + omega x (omega x h) + 2 omega x D etad + dD/dt etad + D etadd
    moment  I alpha + h x a + omega x I omega + dI/dt omega + omega x L etad + L etadd
    effort  D^T a + L^T alpha + M etadd + 2 omega . (dL/dt)_i - omega . (dI/deta_i) omega / 2,  less elastic efforts
"""

from dataclasses import dataclass

import numpy as np

from kempe.spatial.inertia import RigidInertia
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, dot, gyroscopic, matrix, scaled, swing, zeros

Motion = tuple[Vector, Vector, Vector]  # moment, force and modal efforts; or alpha, a and etadd


@dataclass(frozen=True, eq=False)
class BeamInertia:
    """The inertia and stiffness of a uniform beam, straight along x from its frame's origin.

    plane: for every coordinate, 0 if it bends along y, 1 along z. Integrals over mass: first, second: of x and x^2;
    whole, lever, overlap: of f_i, x f_i and f_i f_j; shortened, sunk: of twice the foreshortening due to eta_i eta_j,
    and of x times that. stiffness: E I times the integrals of f_i'' f_j''; damping [s]: relative to stiffness.
    """

    plane: tuple[int, ...]
    mass: Scalar
    first: Scalar
    second: Scalar
    whole: Vector
    lever: Vector
    overlap: Matrix
    shortened: Matrix
    sunk: Matrix
    stiffness: Matrix
    damping: Scalar

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return len(self.plane)

    def rigid(self, eta: Vector) -> RigidInertia:
        """The inertia of the bent beam as a rigid body."""
        return RigidInertia(self.mass, self._moment(eta), self._tensor(self.second, eta, self._products(eta, eta)))

    def coupling(self, eta: Vector) -> tuple[Matrix, Matrix]:
        """L and D: moment and force for unit accelerations of the coordinates, one column each."""
        sideways = self._apart() @ eta
        rolling = [x if along else -x for along, x in zip(self.plane, sideways, strict=True)]
        turning = [
            (roll, -arm, 0.0) if along else (roll, 0.0, arm)
            for along, roll, arm in zip(self.plane, rolling, self.lever, strict=True)
        ]
        short = self.shortened @ eta
        moving = [
            (-back, 0.0, x) if along else (-back, x, 0.0)
            for along, back, x in zip(self.plane, short, self.whole, strict=True)
        ]
        return matrix(turning).T, matrix(moving).T

    def modal(self) -> Matrix:
        """M: the inertia of the coordinates."""
        return np.where(self._same(), self.overlap, 0.0)

    def wrench(self, eta: Vector, alpha: Vector, a: Vector, etadd: Vector) -> Motion:
        """Moment, force and modal efforts that give the beam at rest these accelerations; with velocities, momenta."""
        angular, linear = self.coupling(eta)
        n, f = self.rigid(eta).wrench(alpha, a)
        return n + angular @ etadd, f + linear @ etadd, angular.T @ alpha + linear.T @ a + self.modal() @ etadd

    def gyration(self, eta: Vector, omega: Vector, etad: Vector) -> Motion:
        """The inertia forces of angular velocity and rates without acceleration."""
        angular, linear = self.coupling(eta)
        rigid = self.rigid(eta)
        rate = self._tensor(0.0, etad, [2.0 * x for x in self._products(eta, etad)])  # dI/dt
        moment = gyroscopic(rigid.tensor, omega) + rate @ omega + cross(omega, angular @ etad)
        force = swing(omega, zeros(3), rigid.moment) + 2.0 * cross(omega, linear @ etad)
        force = force - array((dot(etad, self.shortened @ etad), 0.0, 0.0))
        return moment, force, self._modal_gyration(eta, omega, etad)

    def effort(self, eta: Vector, etad: Vector) -> Vector:
        """The efforts of stiffness and internal damping along the coordinates."""
        return -(self.stiffness @ (eta + scaled(self.damping, etad)))

    def strain_energy(self, eta: Vector) -> Scalar:
        """The energy of bending (paper 5, eq. 49, with the curvature squared)."""
        return 0.5 * dot(eta, self.stiffness @ eta)

    def loss(self, etad: Vector) -> Scalar:
        """The power lost by internal damping."""
        return self.damping * dot(etad, self.stiffness @ etad)

    # ---- helpers -------------------------------------------------------------------------------------------

    def _same(self) -> np.ndarray:
        """Whether pairs of coordinates bend in the same plane."""
        plane = np.array(self.plane)
        return plane[:, None] == plane[None]

    def _apart(self) -> Matrix:
        """Integrals of products of a shape along y and one along z."""
        return np.where(self._same(), 0.0, self.overlap)

    def _moment(self, eta: Vector) -> Vector:
        """h."""
        sums = [dot(self.whole, array(x if k == along else 0.0 for k, x in zip(self.plane, eta, strict=True)))
                for along in (0, 1)]  # fmt: skip
        return array((self.first - 0.5 * dot(eta, self.shortened @ eta), *sums))

    def _products(self, a: Vector, b: Vector) -> list[Scalar]:
        """The quadratic parts of the second moments xx, yy, zz and yz, as bilinear forms of a and b."""
        on = [array(x if k == along else 0.0 for k, x in zip(self.plane, a, strict=True)) for along in (0, 1)]
        by = [array(x if k == along else 0.0 for k, x in zip(self.plane, b, strict=True)) for along in (0, 1)]
        across = dot(on[0], self.overlap @ by[1]) + dot(by[0], self.overlap @ on[1])
        squares = [dot(x, self.overlap @ y) for x, y in zip(on, by, strict=True)]
        return [-dot(a, self.sunk @ b), *squares, 0.5 * across]

    def _tensor(self, second: Scalar, eta: Vector, products: list[Scalar]) -> Matrix:
        """The inertia tensor from second moments of mass: tr(s) 1 - s."""
        xx, yy, zz, yz = second + products[0], *products[1:]
        xy, xz = (dot(self.lever, array(x if k == along else 0.0 for k, x in zip(self.plane, eta, strict=True)))
                  for along in (0, 1))  # fmt: skip
        return matrix(((yy + zz, -xy, -xz), (-xy, xx + zz, -yz), (-xz, -yz, xx + yy)))

    def _modal_gyration(self, eta: Vector, omega: Vector, etad: Vector) -> Vector:
        """Coriolis and centrifugal efforts; the first term stiffens a spinning beam, the second softens it."""
        x, y, z = omega
        along_x = y * y + z * z
        across = x * x + z * z, x * x + y * y  # for bending along y, along z
        mixed, coriolis = (y * z, x * y, x * z), (-2.0 * x, 2.0 * x)
        stretched, own = self.sunk @ eta, self.modal() @ eta
        other, passing = self._apart() @ eta, self._apart() @ etad
        return array(
            along_x * stretched[i] - across[k] * own[i] + mixed[1 + k] * self.lever[i] + mixed[0] * other[i]
            + coriolis[k] * passing[i]
            for i, k in enumerate(self.plane)
        )  # fmt: skip
