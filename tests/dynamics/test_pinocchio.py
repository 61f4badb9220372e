"""Random trees against Pinocchio, which shares nothing with Kempe but the physics."""

import numpy as np
import pinocchio as pin
import pytest

from kempe.dynamics.tree import build
from kempe.mechanism.joints import KINDS
from kempe.spatial.moves import inverse, relative_pose
from tests.long import some
from tests.mechanisms import random_tree

# Kinds Pinocchio has as such; cylindrical and planar joints are made of simple ones there.
SIMPLE = ("revolute", "prismatic", "helical", "universal", "spherical", "free")


class Peer:
    """The same tree in Pinocchio, its joints in depth-first order as that library wants it.

    A joint written from child to parent is built as the opposite one where that exists (the axis reversed).

    flat: bodies of which only moments of inertia about z are known, which Pinocchio takes for an error, get the same
    about x and y; where all motion is in a plane it does not matter.
    """

    def __init__(self, model, flat: bool = False):
        self.flat = flat
        self.tree = tree = build(model.topology)
        self.model = pin.Model()
        self.model.gravity.linear = np.array(tree.gravity)
        self.ids = {-1: 0}
        self.q_order: list = []
        self.v_order: list[int] = []
        self.v_sign: list[float] = []
        children = {k: [c for c, p in enumerate(tree.parents) if p == k] for k in range(-1, len(tree.links))}

        def add(k):
            self._add(k)
            for child in children[k]:
                add(child)

        for root in children[-1]:
            add(root)
        self.data = self.model.createData()

    def _add(self, k):
        link, at, parent = self.tree.links[k], self.tree.joints[k], self.tree.parents[k]
        rotation, position = relative_pose(link.placement)
        placement = pin.SE3(np.array(rotation, float), np.array(position, float))
        if link.offset:
            placement = placement * pin.SE3(pin.utils.rotate("z", link.offset), np.zeros(3))
        sign = -1.0 if link.reversed else 1.0
        parts = _joints(link)
        joint = self.ids[parent]
        for j, (kind, q_part, v_part) in enumerate(parts):
            where = placement if j == 0 else pin.SE3.Identity()
            joint = self.model.addJoint(joint, kind, where, f"{k}.{j}")
            self.q_order.append((at.q.start, q_part, sign))
            self.v_order += [at.v.start + i for i in v_part]
            self.v_sign += [sign] * len(v_part)
        self.ids[k] = joint
        i = link.inertia
        com = np.array(i.moment, float) / i.mass
        about_com = np.array(i.tensor, float) - i.mass * (com @ com * np.eye(3) - np.outer(com, com))
        about_com += self.flat * about_com[2, 2] * np.diag([1.0, 1.0, 0.0])
        self.model.appendBodyToJoint(joint, pin.Inertia(float(i.mass), com, about_com), pin.SE3.Identity())

    def q(self, q):
        return np.concatenate([np.asarray(part(q[start:])) * sign for start, part, sign in self.q_order])

    def v(self, v):
        return v[self.v_order] * self.v_sign

    def back(self, v):
        """A vector of the peer's freedoms in Kempe's order."""
        out = np.empty(len(v))
        out[self.v_order] = v * self.v_sign
        return out


def _joints(link):
    name = link.kind.name
    if name == "revolute":
        return [(pin.JointModelRZ(), lambda q: q[:1], [0])]
    if name == "prismatic":
        return [(pin.JointModelPZ(), lambda q: q[:1], [0])]
    if name == "helical":
        return [(pin.JointModelHZ(float(link.kind.pitch)), lambda q: q[:1], [0])]
    if name == "cylindrical":
        return [(pin.JointModelPZ(), lambda q: q[1:2], [1]), (pin.JointModelRZ(), lambda q: q[:1], [0])]
    if name == "planar":
        return [
            (pin.JointModelPX(), lambda q: q[:1], [0]),
            (pin.JointModelPY(), lambda q: q[1:2], [1]),
            (pin.JointModelRZ(), lambda q: q[2:3], [2]),
        ]
    if name == "universal":
        return [(pin.JointModelRX(), lambda q: q[:1], [0]), (pin.JointModelRY(), lambda q: q[1:2], [1])]
    if name == "spherical":
        return [(pin.JointModelSpherical(), lambda q: np.r_[q[1:4], q[0]], [0, 1, 2])]
    return [(pin.JointModelFreeFlyer(), lambda q: np.r_[q[4:7], q[1:4], q[0]], [3, 4, 5, 0, 1, 2])]


EVERY = tuple(kind for kind in KINDS if kind != "fixed")


def states(mechanism, count=2):
    model = mechanism.compile()
    rng = np.random.default_rng(7)
    for seed in range(count):
        state = model.random_state(seed)
        yield model, state.q, state.v, rng.normal(size=model.nv)


def relative(a, b):
    return np.abs(a - b).max() / max(1.0, np.abs(b).max())


@pytest.mark.parametrize("seed", some((*range(9), 11), range(12)))
def test_random_trees_of_every_kind(seed):
    mechanism = random_tree(seed, bodies=1 + seed, kinds=EVERY, reverse=False)
    for model, q, v, a in states(mechanism):
        peer = Peer(model)
        pq, pv = peer.q(q), peer.v(v)
        tau = pin.rnea(peer.model, peer.data, pq, pv, peer.v(a))
        assert relative(model.generalized_forces(q, v, a), peer.back(tau)) < 1e-9
        assert relative(model.forward_dynamics(q, v, peer.back(tau)), a) < 1e-9
        gim = pin.crba(peer.model, peer.data, pq)
        order = np.argsort(peer.v_order)
        assert relative(model.mass_matrix(q), gim[np.ix_(order, order)]) < 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 7])  # each has some
def test_joints_written_backwards(seed):
    """Hinges, sliders and screws from child to parent are those joints with q reversed."""
    mechanism = random_tree(100 + seed, bodies=6, kinds=("revolute", "prismatic", "helical"))
    for model, q, v, a in states(mechanism):
        assert any(t.reversed for t in model.topology.tree)
        peer = Peer(model)
        tau = pin.rnea(peer.model, peer.data, peer.q(q), peer.v(v), peer.v(a))
        assert relative(model.generalized_forces(q, v, a), peer.back(tau)) < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_jacobians_twists_and_accelerations_of_bodies(seed):
    mechanism = random_tree(200 + seed, bodies=6, kinds=EVERY, reverse=False)
    for model, q, v, a in states(mechanism, count=1):
        peer = Peer(model)
        pq, pv, pa = peer.q(q), peer.v(v), peer.v(a)
        pin.computeJointJacobiansTimeVariation(peer.model, peer.data, pq, pv)
        pin.forwardKinematics(peer.model, peer.data, pq, pv, pa)
        k = len(peer.tree.links) - 1
        # Pinocchio's joint frame is Kempe's link frame: ask for a marker there.
        body = model.topology.tree[k].child
        rotation, position = relative_pose(inverse(peer.tree.links[k].body))
        marker = body.at(*position, rotation=rotation)
        joint = peer.ids[k]
        swap = [3, 4, 5, 0, 1, 2]
        frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        theirs = pin.getJointJacobian(peer.model, peer.data, joint, frame)[swap]
        rate = pin.getJointJacobianTimeVariation(peer.model, peer.data, joint, frame)[swap]
        order = np.argsort(peer.v_order)
        assert relative(model.jacobian(marker, q), theirs[:, order]) < 1e-9
        assert relative(model.jacobian_rate(marker, q, v), rate[:, order]) < 1e-9
        assert relative(model.twist(marker, q, v), theirs @ pv) < 1e-9
        assert relative(model.pose(marker, q)[0], peer.data.oMi[joint].rotation) < 1e-9
        assert relative(model.pose(marker, q)[1], peer.data.oMi[joint].translation) < 1e-9
        classical = pin.getClassicalAcceleration(peer.model, peer.data, joint, frame)
        assert relative(model.acceleration(marker, q, v, a), np.r_[classical.angular, classical.linear]) < 1e-9


@pytest.mark.parametrize("seed", some((0, 1, 2, 12), (0, 1, 2, 12, 3)))  # 12 has a free joint, and 3 two
def test_derivatives_are_pinocchios(seed):
    """Of forward and inverse dynamics, on the manifold of q."""
    mechanism = random_tree(300 + seed, bodies=3, kinds=("revolute", "prismatic", "spherical", "free"), reverse=False)
    for model, q, v, a in states(mechanism, count=1):
        peer = Peer(model)
        pq, pv, pa = peer.q(q), peer.v(v), peer.v(a)
        order = np.argsort(peer.v_order)
        both = np.ix_(order, order)
        by_q, by_v, by_a = pin.computeRNEADerivatives(peer.model, peer.data, pq, pv, pa)
        gim = np.triu(by_a) + np.triu(by_a, 1).T
        ours = model.generalized_forces_derivatives(q, v, a)
        assert relative(ours[0], by_q[both]) < 1e-8
        assert relative(ours[1], by_v[both]) < 1e-8
        assert relative(ours[2], gim[both]) < 1e-8
        tau = model.generalized_forces(q, v, a)
        pin.computeABADerivatives(peer.model, peer.data, pq, pv, peer.v(tau))
        ours = model.forward_dynamics_derivatives(q, v, tau)
        assert relative(ours[0], peer.data.ddq_dq[both]) < 1e-7
        assert relative(ours[1], peer.data.ddq_dv[both]) < 1e-7
        minv = peer.data.Minv
        assert relative(ours[2], (np.triu(minv) + np.triu(minv, 1).T)[both]) < 1e-8
