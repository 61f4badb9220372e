"""Runs to look at: mechanisms in motion, by a few steps of a simple rule or by given coordinates."""

from pathlib import Path

import numpy as np

import kempe as kp

WEDGE = kp.MeshFile(str(Path(__file__).with_name("wedge.obj")))  # a notch in it is not drawn


def made(model, t, q, v, u, outcome="came to its end") -> kp.Trajectory:
    """A run of these rows; accelerations by differences."""
    a = np.gradient(v, t, axis=0) if len(t) > 1 else np.zeros_like(v)
    return kp.Trajectory(model, t, q, v, a, u, outcome=kp.Outcome("finished", float(t[-1]), (), outcome))


def given(model, path, duration=2.0, step=0.01) -> kp.Trajectory:
    """Coordinates as a function of time; velocities and efforts by differences."""
    t = np.arange(0, duration + step / 2, step)
    q = np.array([path(x) for x in t])
    v = np.gradient(q, t, axis=0)
    u = model.generalized_forces(q, v, np.gradient(v, t, axis=0))[:, : model.nu]
    return made(model, t, q, v, u)


def double_pendulum(name="double pendulum", axis=(0, 0, 1), gravity=(0, -9.81, 0)) -> kp.Mechanism:
    m = kp.Mechanism(name, gravity=gravity)
    upper, lower = m.rod("upper", length=0.5, mass=1.0), m.rod("lower", length=0.4, mass=0.8)
    m.revolute("shoulder", m.ground.at(0, 0), upper.start, axis=axis, actuated=True)
    m.revolute("elbow", upper.end, lower.start, axis=axis, damping=0.01)
    return m


def swinging(duration=2.0) -> kp.Trajectory:
    return given(double_pendulum().compile(), lambda t: [np.sin(2 * t) - 1.5, 1.5 * np.cos(3 * t)], duration)


def arm(duration=10.0) -> kp.Trajectory:
    """Six bodies, all actuated, ten seconds at a hundred rows a second."""
    right = np.pi / 2
    m = kp.Mechanism.from_dh(
        "arm", a=[0, 0.43, 0.02, 0, 0, 0], b=[0.2, 0.15, 0, 0.43, 0, 0.06],
        alpha=[-right, 0, right, -right, right, 0], mass=[10, 16, 9, 1, 1, 1], hub=[0, 0, 0, 0.2, 0.1, 0.1],
    )  # fmt: skip
    return given(m.compile(), lambda t: np.sin(t * np.arange(1, 7) / 2) * 0.8 + np.array([0, -1, 1, 0, 0, 0]), duration)


def tumbling() -> kp.Trajectory:
    """A free body with a plate, a ball, a hinge, a spring and loads."""
    m = kp.Mechanism("tumbling plate")
    wing = m.plate("wing", [(0, 0), (0.6, 0), (0.6, 0.2), (0.3, 0.2), (0.3, 0.5), (0, 0.5)], mass=1.0, thickness=0.03)
    wing.add("ball", kp.Sphere(0.06, 0.3), at=(0.15, 0.15, 0.1))
    wing.add("wedge", WEDGE, at=(0.3, 0.5, 0))
    fin = m.body("fin", 0.4, com=(0.2, 0, 0), inertia=(0.002, 0.004, 0.005))
    m.free("float", m.ground.at(0, 0, 1), wing.at(0.2, 0.2, 0))
    m.revolute("hinge", wing.at(0.6, 0.1, 0), fin.origin, axis=(0, 1, 0))
    m.wrench("thrust", wing.at(0.2, 0.2, 0), force=(0, 0, 2.2), moment=(0, 0, 0.02), follows=True)
    m.spring("tie", m.ground.at(0, 0, 2), wing.at(0, 0, 0), stiffness=3.0)
    model = m.compile()
    turn = lambda t: [np.cos(t), np.sin(t) * 0.6, np.sin(t) * 0.8, 0, 0.3 * t, 0, -0.2 * t, 0.5 * np.sin(3 * t)]  # noqa: E731
    t = np.arange(0, 2.01, 0.02)
    q = np.array([turn(x) for x in t])
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    ahead, behind = np.vstack([q[1:], q[-1:]]), np.vstack([q[:1], q[:-1]])
    v = model.difference(behind, ahead) / np.gradient(t)[:, None] / 2
    v[[0, -1]] *= 2
    return made(model, t, q, v, np.zeros((len(t), 0)))
