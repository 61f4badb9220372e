"""A model of MuJoCo and the mechanism read from the same file, side by side, in each other's coordinates."""

from pathlib import Path

import mujoco
import numpy as np

from kempe.dynamics import recursions
from kempe.dynamics.equations import Equations
from kempe.dynamics.trees import Udu
from kempe.formats.loading import read
from kempe.formats.xml import read_xml
from kempe.spatial import quaternions
from kempe.topology.spanning import topology
from tests.direct import Direct


class Beside:
    """Both from one file; the tree is that of the file, all that closes loops is cut."""

    def __init__(self, path: Path):
        self.model = mujoco.MjModel.from_xml_path(str(path))
        # What is read but not used, as the notes say: springs of tendons that bend, and of joints that have no angle.
        bent = self.model.tendon_num != 2
        self.model.tendon_stiffness[bent] = self.model.tendon_damping[bent] = 0
        curved = (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL)
        self.model.jnt_stiffness[np.isin(self.model.jnt_type, curved)] = 0
        self.data = mujoco.MjData(self.model)
        self.mechanism = read(read_xml(path))
        self.loops = [joint.name for joint in self.mechanism.joints[len(self.mechanism.bodies) :]]
        self.topology = topology(self.mechanism, self.loops)
        self.equations = Equations(self.topology, (), Udu())
        self.tree = self.equations.constant_tree

    def random(self, rng) -> tuple[np.ndarray, np.ndarray]:
        """Any coordinates and velocities of the mechanism."""
        q = np.concatenate([t.joint.type().random(rng) for t in self.topology.tree])
        return q, rng.normal(size=self.topology.nv)

    def to_mujoco(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """qpos and qvel of a state, T with qvel = T v, and dT/dt v; joints that move are in the same order on both
        sides. Of a body that floats MuJoCo wants the pose and velocity in the world, and the spin in the body."""
        qpos, change, drift = [], np.eye(len(v)), np.zeros(len(v))
        for t in self.topology.tree:
            own = q[t.q]
            if t.joint.type.name == "free":
                start, turn = t.joint.a.rotation, quaternions.to_matrix(own[:4])
                world, spin, speed = start @ turn, v[t.v][:3], v[t.v][3:]
                whole = np.empty(4)
                mujoco.mju_mat2Quat(whole, world.ravel())
                qpos += [*(np.array(t.joint.a.position) + start @ own[4:]), *whole]
                change[t.v, t.v] = np.block([[np.zeros((3, 3)), world], [np.eye(3), np.zeros((3, 3))]])
                drift[t.v] = [*(world @ np.cross(spin, speed)), 0, 0, 0]
            else:
                qpos += [*own]
        return np.array(qpos), change @ v, change, drift

    def at(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's inertia matrix and its forces without acceleration, springs and dampers with them, in the
        coordinates of the mechanism."""
        qpos, qvel, change, drift = self.to_mujoco(q, v)
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        mujoco.mj_forward(self.model, self.data)
        inertia = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, inertia)
        passive = self.data.qfrc_spring + self.data.qfrc_damper
        return change.T @ inertia @ change, change.T @ (self.data.qfrc_bias - passive + inertia @ drift)

    def check_drawn(self) -> None:
        """States begin where MuJoCo begins: coordinates there, and places of bodies as it has them there."""
        model, data = self.model, self.data
        start = Direct(self.equations, self.mechanism).drawn
        np.testing.assert_allclose(self.to_mujoco(start.q, start.v)[0], model.qpos0, rtol=0, atol=1e-12)
        mujoco.mj_resetData(model, data)
        mujoco.mj_kinematics(model, data)
        places = [(name, k) for k in range(1, model.nbody) if (name := model.body(k).name)]
        bodies = {body.name: k for k, body in enumerate(self.mechanism.bodies)}
        poses = Direct(self.equations, self.mechanism).body_poses(start.q)
        size = 1.0 + np.abs(data.xpos).max()
        for name, k in places:
            own = poses[bodies[name]]
            np.testing.assert_allclose(own[9:], data.xpos[k], rtol=0, atol=1e-12 * size)
            np.testing.assert_allclose(own[:9], data.xmat[k], rtol=0, atol=1e-12)

    def check(self, share: float, states: int = 2) -> None:
        """Counts, mass, inertia matrix and forces agree, to a share of the largest; and so do accelerations of what
        falls freely, with links without mass between others, in that MuJoCo's inertia and forces balance."""
        model, nv = self.model, self.topology.nv
        assert (self.topology.nq, nv) == (model.nq, model.nv)
        values = self.mechanism.parameters.__getitem__
        mass = sum(body.inertia(values).mass for body in self.mechanism.bodies)
        np.testing.assert_allclose(mass, model.body_mass.sum(), rtol=share)
        rng = np.random.default_rng(0)
        for _ in range(states):
            q, v = self.random(rng)
            inertia, forces = self.at(q, v)
            found = np.array(recursions.crba(self.tree, q), dtype=float)
            np.testing.assert_allclose(found, inertia, rtol=0, atol=share * np.abs(inertia).max())
            found = np.array(self.equations.inverse(self.tree, q, v, np.zeros(nv)), dtype=float)
            np.testing.assert_allclose(found, forces, rtol=0, atol=share * np.abs(forces).max())
            falling = np.array(self.equations.forward(self.tree, q, v, np.zeros(nv)).vdot, dtype=float)
            size = (np.abs(inertia) @ np.abs(falling)).max()
            np.testing.assert_allclose(inertia @ falling, -forces, rtol=0, atol=share * size)
