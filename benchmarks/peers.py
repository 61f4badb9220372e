"""Peers: closed mechanisms of hinges, sliders, universal and ball joints in Pinocchio, on the same spanning tree."""

import numpy as np
import pinocchio as pin

from kempe.dynamics.tree import Place, build
from kempe.model.model import Model
from kempe.spatial.moves import Moves, relative_pose

PARTS = {
    "revolute": (pin.JointModelRZ,),
    "prismatic": (pin.JointModelPZ,),
    "universal": (pin.JointModelRX, pin.JointModelRY),
    "spherical": (pin.JointModelSpherical,),
}
ACCURACY, MU, MOST = 1e-10, 1e-8, 20  # of its proximal iterations, which redundant constraints need


class Peer:
    """A model of Kempe in Pinocchio; every loop is closed by a point that two bodies share.

    That is what a ball joint does, and enough for a hinge of a plane mechanism: Pinocchio has constraints of three and
    of six equations only. Forward dynamics by `solve(q, v, tau)`, in Pinocchio's own order of coordinates.
    """

    def __init__(self, model: Model):
        self.kempe, self.tree = model, build(model.topology)
        self.model = pin.Model()
        self.model.gravity.linear = np.array(self.tree.gravity, dtype=float)
        self.ids, self.q_order, self.v_order, self.signs = {-1: 0}, [], [], []
        children = {k: [c for c, p in enumerate(self.tree.parents) if p == k] for k in range(-1, len(self.tree.links))}

        def add(parent: int) -> None:
            for k in children[parent]:  # depth first, as Pinocchio wants it
                self._add(k)
                add(k)

        add(-1)
        self.data = self.model.createData()
        self.constraints = pin.StdVec_RigidConstraintModel()
        # One for each of both ways: what lcaba leaves behind spoils the other.
        self.constraint_data, self.loop_constraint_data = (pin.StdVec_RigidConstraintData() for _ in range(2))
        for loop in model.topology.loops:
            ends = [self._end(self.tree.place(marker)) for marker in (loop.joint.a, loop.joint.b)]
            flat = [x for end in ends for x in end]
            self.constraints.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.model, *flat))
            for found in (self.constraint_data, self.loop_constraint_data):
                found.append(self.constraints[-1].createData())
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.constraint_data)
        self.settings = pin.ProximalSettings(ACCURACY, MU, MOST)
        self.loop_data = self.model.createData()
        pin.computeJointMinimalOrdering(self.model, self.loop_data, self.constraints)

    def solve(self, q, v, tau) -> np.ndarray:
        """By the factorization of the whole problem."""
        given = self.constraints, self.constraint_data, self.settings
        return pin.constraintDynamics(self.model, self.data, q, v, tau, *given)

    def lcaba(self, q, v, tau) -> np.ndarray:
        """By the loop-constrained articulated body algorithm."""
        given = self.constraints, self.loop_constraint_data, self.settings
        return pin.lcaba(self.model, self.loop_data, q, v, tau, *given)

    def q(self, q: np.ndarray) -> np.ndarray:
        """Coordinates as Pinocchio has them."""
        return np.concatenate([_own(q[at], sign) for at, sign in self.q_order])

    def v(self, v: np.ndarray) -> np.ndarray:
        """Velocities, or efforts, likewise."""
        return v[self.v_order] * self.signs

    def _add(self, k: int) -> None:
        link, at = self.tree.links[k], self.tree.joints[k]
        if link.reversed and link.kind.name in ("universal", "spherical"):
            raise NotImplementedError(f"{link.name}: a {link.kind.name} joint from child to parent")
        sign = -1.0 if link.reversed else 1.0
        place = _pose(link.placement) * pin.SE3(pin.utils.rotate("z", float(link.offset)), np.zeros(3))
        joint = self.ids[self.tree.parents[k]]
        for number, kind in enumerate(PARTS[link.kind.name]):
            where = pin.SE3.Identity() if number else place
            joint = self.model.addJoint(joint, kind(), where, f"{link.name}.{number}")
        self.q_order.append((at.q, sign))
        self.v_order += range(at.v.start, at.v.stop)
        self.signs += [sign] * (at.v.stop - at.v.start)
        self.ids[k] = joint
        inertia, mass = link.inertia, float(link.inertia.mass)
        com = np.array(inertia.moment, dtype=float) / mass
        tensor = np.array(inertia.tensor, dtype=float) - mass * (com @ com * np.eye(3) - np.outer(com, com))
        self.model.appendBodyToJoint(joint, pin.Inertia(mass, com, tensor), pin.SE3.Identity())

    def _end(self, place: Place) -> tuple[int, pin.SE3]:
        return self.ids[place.link], _pose(place.moves)


def _pose(moves: Moves) -> pin.SE3:
    rotation, position = relative_pose(moves)
    return pin.SE3(np.array(rotation, dtype=float), np.array(position, dtype=float))


def _own(q: np.ndarray, sign: float) -> np.ndarray:
    """Of one joint; quaternions have their real part last there."""
    return np.r_[q[1:], q[0]] if len(q) == 4 else sign * q
