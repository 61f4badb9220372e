"""A four-bar linkage with its loop solved in closed form: one freedom, the crank's angle.

Ground pivots A = (0, 0) and D = (ground, 0); crank AB, coupler BC, rocker DC; uniform thin rods in the x-y plane,
gravity along -y. C is where two circles meet, on the side of the open (uncrossed) linkage, so the loop is closed
by construction; Lagrange's equation in the one coordinate theta gives the motion:

    M(theta) theta'' + M'(theta) theta'^2 / 2 + V'(theta) = torque
"""

from dataclasses import dataclass

import casadi as ca

from kempe.compiler.program import Program
from kempe.compiler.trace import trace


@dataclass(frozen=True)
class FourBar:
    """Lengths in metres, masses in kilograms."""

    crank: float = 0.3
    coupler: float = 1.0
    rocker: float = 0.6
    ground: float = 1.0
    masses: tuple[float, float, float] = (1.5, 5.0, 3.0)
    gravity: float = 9.81

    def points(self, theta: ca.SX) -> list[ca.SX]:
        """A, B, C, D."""
        a, d = ca.SX([0, 0]), ca.SX([self.ground, 0])
        b = self.crank * ca.vertcat(ca.cos(theta), ca.sin(theta))
        to_d = d - b
        square = ca.dot(to_d, to_d)
        along = (self.coupler**2 - self.rocker**2 + square) / (2 * square)
        across = ca.sqrt(self.coupler**2 / square - along**2)
        c = b + along * to_d + across * ca.vertcat(-to_d[1], to_d[0])
        return [a, b, c, d]

    def inertia_and_potential(self, theta: ca.SX) -> tuple[ca.SX, ca.SX]:
        """M and V as functions of the crank's angle."""
        a, b, c, d = self.points(theta)
        inertia, potential = ca.SX(0), ca.SX(0)
        lengths = (self.crank, self.coupler, self.rocker)
        for start, end, length, mass in zip((a, b, d), (b, c, c), lengths, self.masses, strict=True):
            center, direction = (start + end) / 2, (end - start) / length
            velocity, turning = ca.jacobian(center, theta), ca.jacobian(direction, theta)
            spin = direction[0] * turning[1] - direction[1] * turning[0]
            inertia += mass * ca.dot(velocity, velocity) + mass * length**2 / 12 * spin**2
            potential += mass * self.gravity * center[1]
        return inertia, potential

    def acceleration(self, theta: ca.SX, rate: ca.SX) -> ca.SX:
        """theta'' without torque."""
        inertia, potential = self.inertia_and_potential(theta)
        return -(ca.jacobian(inertia, theta) * rate**2 / 2 + ca.jacobian(potential, theta)) / inertia

    def dynamics(self) -> Program:
        """theta, theta' -> theta''."""
        ports = {"theta": (), "rate": ()}
        return trace(self.acceleration, ports, {"acceleration": ()}, name="four-bar forward dynamics")

    def step(self) -> Program:
        """One step of the classical Runge-Kutta method: x = [theta, theta'], h -> x after h seconds."""
        state = ca.SX.sym("state", 2)
        theta, rate = ca.SX.sym("theta"), ca.SX.sym("rate")
        acceleration = ca.Function("acceleration", [theta, rate], [self.acceleration(theta, rate)])
        f = ca.Function("f", [state], [ca.vertcat(state[1], acceleration(state[0], state[1]))])

        def rk4(x, h):

            k1 = f(x)
            k2 = f(x + h / 2 * k1)
            k3 = f(x + h / 2 * k2)
            k4 = f(x + h * k3)
            return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return trace(rk4, {"x": 2, "h": ()}, {"x": 2}, name="four-bar step")

    def look(self) -> Program:
        """x -> the four points, kinetic and potential energy, and by how much the loop fails to close."""

        def seen(x):
            theta = ca.SX.sym("theta")
            energies = ca.Function("energies", [theta], self.inertia_and_potential(theta))
            inertia, potential = energies(x[0])
            points = self.points(x[0])
            gap = ca.vertcat(
                ca.norm_2(points[2] - points[1]) - self.coupler, ca.norm_2(points[2] - points[3]) - self.rocker
            )
            rows = ca.vertcat(*(p.T for p in points))
            return {"points": rows, "kinetic": inertia * x[1] ** 2 / 2, "potential": potential, "gap": gap}

        return trace(seen, {"x": 2}, {"kinetic": (), "potential": ()}, name="four-bar look")
