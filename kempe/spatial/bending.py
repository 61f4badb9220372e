"""A beam that bends: its inertia, what its motion takes, and its stiffness, from a few integrals of its shapes.

A point of the beam at x lies, in the beam's frame, at

    r = (x - s, v, w),    v = sum of f_i eta_i (y), w alike (z),    s = (1/2) integral of v'^2 + w'^2 from 0 to x

where s, the foreshortening, is left out on request. With omega and u the velocities of the frame and etad the rates of
the coordinates, the kinetic energy up to squares of eta and etad is

    T = m u^2 / 2 + u . (omega x h) + omega . I omega / 2 + u . D etad + omega . L etad + etad . M etad / 2

with h, I the first moment and the inertia tensor of the bent beam, D = dh/deta and L what r x dr integrates to (eq. 48
of paper 5, in space, with s). Lagrange's equations of it are below, with a the acceleration of the frame's origin:

    force   m a + alpha x h + omega x (omega x h) + 2 omega x D etad + dD/dt etad + D etadd
    moment  I alpha + h x a + omega x I omega + dI/dt omega + omega x L etad + L etadd
    effort  D^T a + L^T alpha + M etadd + 2 omega . (dL/dt)_i - omega . (dI/deta_i) omega / 2,  less what is elastic
"""

from dataclasses import dataclass

import numpy as np

from kempe.spatial.inertia import RigidInertia
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, dot, gyroscopic, matrix, scaled, swing, zeros

Motion = tuple[Vector, Vector, Vector]  # of moment, force and modal efforts; or of alpha, a and etadd


@dataclass(frozen=True, eq=False)
class BeamInertia:
    """Of a straight uniform beam along x from its frame's origin.

    plane: of every coordinate, 0 where it bends along y, 1 along z. first, second: integrals of x and of x^2 over mass;
    whole, lever, overlap: of f_i, x f_i and f_i f_j. shortened, sunk: of twice the foreshortening that eta_i eta_j
    make, and of x times that. stiffness: E I times the integrals of f_i'' f_j''; damping [s]: of its rates beside it.
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
        """How many coordinates."""
        return len(self.plane)

    def rigid(self, eta: Vector) -> RigidInertia:
        """The beam as it is bent, as if frozen."""
        return RigidInertia(self.mass, self._moment(eta), self._tensor(self.second, eta, self._products(eta, eta)))

    def coupling(self, eta: Vector) -> tuple[Matrix, Matrix]:
        """L and D: moment and force for unit accelerations of the coordinates, a column each."""
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
        """M: the inertia of the coordinates themselves."""
        return np.where(self._same(), self.overlap, 0.0)

    def wrench(self, eta: Vector, alpha: Vector, a: Vector, etadd: Vector) -> Motion:
        """Moment, force and modal efforts that give the beam at rest these accelerations; momenta, given velocities."""
        angular, linear = self.coupling(eta)
        n, f = self.rigid(eta).wrench(alpha, a)
        return n + angular @ etadd, f + linear @ etadd, angular.T @ alpha + linear.T @ a + self.modal() @ etadd

    def gyration(self, eta: Vector, omega: Vector, etad: Vector) -> Motion:
        """What spin and rates take without any acceleration."""
        angular, linear = self.coupling(eta)
        rigid = self.rigid(eta)
        rate = self._tensor(0.0, etad, [2.0 * x for x in self._products(eta, etad)])  # dI/dt
        moment = gyroscopic(rigid.tensor, omega) + rate @ omega + cross(omega, angular @ etad)
        force = swing(omega, zeros(3), rigid.moment) + 2.0 * cross(omega, linear @ etad)
        force = force - array((dot(etad, self.shortened @ etad), 0.0, 0.0))
        return moment, force, self._modal_gyration(eta, omega, etad)

    def effort(self, eta: Vector, etad: Vector) -> Vector:
        """What stiffness and internal damping exert along the coordinates."""
        return -(self.stiffness @ (eta + scaled(self.damping, etad)))

    def strain_energy(self, eta: Vector) -> Scalar:
        """Of bending (paper 5, eq. 49, with the curvature squared)."""
        return 0.5 * dot(eta, self.stiffness @ eta)

    def loss(self, etad: Vector) -> Scalar:
        """The power that internal damping takes."""
        return self.damping * dot(etad, self.stiffness @ etad)

    # ---- what these are made of ----------------------------------------------------------------------------

    def _same(self) -> np.ndarray:
        """Whether two coordinates bend in one plane."""
        plane = np.array(self.plane)
        return plane[:, None] == plane[None]

    def _apart(self) -> Matrix:
        """Integrals of the products of shapes along y with those along z."""
        return np.where(self._same(), 0.0, self.overlap)

    def _moment(self, eta: Vector) -> Vector:
        """h."""
        sums = [dot(self.whole, array(x if k == along else 0.0 for k, x in zip(self.plane, eta, strict=True)))
                for along in (0, 1)]  # fmt: skip
        return array((self.first - 0.5 * dot(eta, self.shortened @ eta), *sums))

    def _products(self, a: Vector, b: Vector) -> list[Scalar]:
        """The parts of the second moments xx, yy, zz and yz that are quadratic in the coordinates, of a and b mixed."""
        on = [array(x if k == along else 0.0 for k, x in zip(self.plane, a, strict=True)) for along in (0, 1)]
        by = [array(x if k == along else 0.0 for k, x in zip(self.plane, b, strict=True)) for along in (0, 1)]
        across = dot(on[0], self.overlap @ by[1]) + dot(by[0], self.overlap @ on[1])
        squares = [dot(x, self.overlap @ y) for x, y in zip(on, by, strict=True)]
        return [-dot(a, self.sunk @ b), *squares, 0.5 * across]

    def _tensor(self, second: Scalar, eta: Vector, products: list[Scalar]) -> Matrix:
        """The inertia tensor of second moments of mass: tr(s) 1 - s."""
        xx, yy, zz, yz = second + products[0], *products[1:]
        xy, xz = (dot(self.lever, array(x if k == along else 0.0 for k, x in zip(self.plane, eta, strict=True)))
                  for along in (0, 1))  # fmt: skip
        return matrix(((yy + zz, -xy, -xz), (-xy, xx + zz, -yz), (-xz, -yz, xx + yy)))

    def _modal_gyration(self, eta: Vector, omega: Vector, etad: Vector) -> Vector:
        """Coriolis' and centrifugal efforts; the first term stiffens a beam that spins, the second softens it."""
        x, y, z = omega
        along_x = y * y + z * z
        across = x * x + z * z, x * x + y * y  # of bending along y, along z
        mixed, coriolis = (y * z, x * y, x * z), (-2.0 * x, 2.0 * x)
        stretched, own = self.sunk @ eta, self.modal() @ eta
        other, passing = self._apart() @ eta, self._apart() @ etad
        return array(
            along_x * stretched[i] - across[k] * own[i] + mixed[1 + k] * self.lever[i] + mixed[0] * other[i]
            + coriolis[k] * passing[i]
            for i, k in enumerate(self.plane)
        )  # fmt: skip
