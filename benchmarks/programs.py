"""Programs to measure with: one step of a recursion over bodies, straight-line or as repeated blocks."""

import casadi as ca
import numpy as np

from kempe.compiler.compose import Composer
from kempe.compiler.program import Program
from kempe.compiler.trace import trace

DATA = 3 + 10 + 2  # per body: offset, mass properties, cosine and sine of the twist of the link


def cross(a, b):
    return ca.cross(a, b)


def body_step(twist, acceleration, q, v, a, data):
    """Twist, acceleration and inertia wrench of a link from those of the one before: one step of Newton-Euler."""
    offset, mass, moment = data[:3], data[3], data[4:7]
    inertia = ca.vertcat(
        ca.horzcat(data[7], data[8], data[9]),
        ca.horzcat(data[8], data[10], data[11]),
        ca.horzcat(data[9], data[11], data[12]),
    )
    c, s, ca_, sa_ = ca.cos(q), ca.sin(q), data[13], data[14]
    rotation = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s * ca_, c * ca_, -sa_), ca.horzcat(s * sa_, c * sa_, ca_))
    axis = ca.vertcat(0, 0, 1)
    omega = rotation.T @ twist[:3] + axis * v
    velocity = rotation.T @ (twist[3:] + cross(twist[:3], offset))
    alpha = rotation.T @ acceleration[:3] + cross(omega, axis * v) + axis * a
    linear = rotation.T @ (acceleration[3:] + cross(acceleration[:3], offset) + cross(twist[:3], cross(twist[:3], offset)))
    force = mass * linear + cross(alpha, moment) + cross(omega, cross(omega, moment))
    torque = inertia @ alpha + cross(omega, inertia @ omega) + cross(moment, linear) + mass * cross(velocity, velocity)
    return ca.vertcat(omega, velocity), ca.vertcat(alpha, linear), ca.vertcat(torque, force)


SHAPES = {"twist": 6, "acceleration": 6, "q": (), "v": (), "a": (), "data": DATA}


def link_data(bodies: int) -> np.ndarray:
    """Made-up links, all different."""
    rng = np.random.default_rng(1)
    data = rng.uniform(0.5, 1.5, (bodies, DATA))
    angle = rng.uniform(0, 2 * np.pi, bodies)
    data[:, 13], data[:, 14] = np.cos(angle), np.sin(angle)
    return data


def repeated_chain(bodies: int) -> Program:
    """The wrenches of a chain of links, one block called once per link."""
    step = trace(body_step, SHAPES, name="body step")
    chain = Composer(f"chain of {bodies}")
    q, v, a = (chain.input(name, bodies) for name in "qva")
    twist, acceleration = chain.constant(np.zeros(6)), chain.constant([0, 0, 0, 0, 0, 9.81])
    wrenches = []
    for i, numbers in enumerate(chain.constant(link_data(bodies))):
        twist, acceleration, wrench = chain.call(step, twist, acceleration, q[i], v[i], a[i], numbers)
        wrenches.append(wrench)
    chain.output("wrench", np.array(wrenches))
    return chain.program()


def straight_chain(bodies: int) -> Program:
    """The same as one block."""
    data = link_data(bodies)

    def wrenches(q, v, a):
        twist, acceleration, out = ca.SX.zeros(6), ca.SX([0, 0, 0, 0, 0, 9.81]), []
        for i in range(bodies):
            twist, acceleration, wrench = body_step(twist, acceleration, q[i], v[i], a[i], ca.SX(data[i]))
            out.append(wrench.T)
        return {"wrench": ca.vertcat(*out)}

    return trace(wrenches, dict.fromkeys("qva", bodies), name=f"straight chain of {bodies}")
