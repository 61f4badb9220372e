"""Two legs of thin rods that meet at their tips, in absolute angles, with multipliers: a second way to paper 1."""

import numpy as np

from tests.gallery.circles import meet, pointing

GRAVITY = 9.81


class Legs:
    """Feet on the x axis [m], and of each leg the lengths [m] and masses [kg] of its rods; the first rods of so many
    legs are driven. side: on which side of the way from elbow to elbow the legs meet."""

    def __init__(self, feet, rods, motors, side):
        self.feet, self.rods, self.motors, self.side = feet, rods, motors, side
        length, mass = np.array([rod for leg in rods for rod in leg]).T
        first = len(rods[0])
        leg = np.arange(len(length)) >= first
        reach = np.tril(np.where(leg[:, None] == leg, length, 0.0), -1) + np.diag(length / 2)  # to mass centres
        self.coupling, self.own = reach.T @ (mass[:, None] * reach), np.diag(mass * length**2 / 12)
        self.signed, self.weight = np.where(leg, -length, length), GRAVITY * mass @ reach
        self.driven = [0, first][:motors]

    def angles(self, driven):
        """Absolute angles of all rods (.., n) from those of the motors (.., motors)."""
        driven = np.asarray(driven, dtype=float)
        feet = [np.array([x, 0.0]) for x in self.feet]
        elbows = [
            feet[k] + self.rods[k][0][0] * pointing(driven[..., k]) if k < self.motors else feet[k] for k in (0, 1)
        ]
        tip = meet(elbows[0], self.rods[0][-1][0], elbows[1], self.rods[1][-1][0], self.side)
        found = []
        for k in (0, 1):
            if k < self.motors:
                found.append(driven[..., k])
            found.append(np.arctan2(*np.moveaxis(tip - elbows[k], -1, 0)[::-1]))
        return np.stack(found, axis=-1)

    def rows(self, phi, rate):
        """J of the tips' distance, and what J phi'' must be."""
        return self.signed * np.array([-np.sin(phi), np.cos(phi)]), (self.signed * pointing(phi).T) @ rate**2

    def forces(self, phi, rate):
        """M, and what stands beside M phi'': velocity terms and gravity."""
        apart = phi[:, None] - phi
        return self.coupling * np.cos(apart) + self.own, (
            self.coupling * np.sin(apart)
        ) @ rate**2 + self.weight * np.cos(phi)

    def moving(self, driven, rate=0.0, acceleration=0.0):
        """Angles, rates and accelerations of all rods from those of the motors."""
        phi = self.angles(driven)
        given = np.eye(len(phi))[self.driven]
        matrix = np.vstack([given, self.rows(phi, phi)[0]])
        zero = np.zeros(self.motors)
        phidot = np.linalg.solve(matrix, np.concatenate([zero + rate, [0, 0]]))
        return phi, phidot, np.linalg.solve(matrix, np.concatenate([zero + acceleration, self.rows(phi, phidot)[1]]))

    def torques(self, phi, rate, acceleration):
        """Of the motors: M phi'' + .. = B tau + J^T lam."""
        inertia, rest = self.forces(phi, rate)
        matrix = np.column_stack([np.eye(len(phi))[:, self.driven], self.rows(phi, rate)[0].T])
        return np.linalg.solve(matrix, inertia @ acceleration + rest)[: self.motors]

    def accelerations(self, phi, rate, torque):
        """Of all rods, by the equations with multipliers."""
        inertia, rest = self.forces(phi, rate)
        rows, wanted = self.rows(phi, rate)
        effort = np.zeros(len(phi))
        effort[self.driven] = torque
        matrix = np.block([[inertia, rows.T], [rows, np.zeros((2, 2))]])
        return np.linalg.solve(matrix, np.concatenate([effort - rest, wanted]))[: len(phi)]


FOUR_BAR = Legs((0.0, 1.0), (((0.3, 1.5), (1.0, 5.0)), ((0.6, 3.0),)), motors=1, side=1)
FIVE_BAR = Legs((0.0, 1.2), (((0.6, 3.0), (1.1, 1.6)), ((0.7, 2.0), (0.8, 1.1))), motors=2, side=-1)
