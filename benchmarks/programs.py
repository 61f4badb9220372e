"""Programs to measure with: one step of a recursion over bodies, straight-line or as repeated blocks."""

from functools import partial

import casadi as ca
import numpy as np

from kempe.compiler.compose import Composer
from kempe.compiler.program import Program
from kempe.compiler.trace import trace

DATA = 3 + 10 + 2  # per body: offset, mass properties, cosine and sine of the twist of the link


def body_step(twist, acceleration, q, v, a, data):
    """Twist and acceleration of a link from those of the one before; its wrench, also seen from there; its energy
    and momentum: one step of Newton-Euler with what one would plot."""
    cross = ca.cross
    offset, mass, moment = data[:3], data[3], data[4:7]
    inertia = ca.vertcat(
        ca.horzcat(data[7], data[8], data[9]),
        ca.horzcat(data[8], data[10], data[11]),
        ca.horzcat(data[9], data[11], data[12]),
    )
    c, s, ct, st = ca.cos(q), ca.sin(q), data[13], data[14]
    rotation = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s * ct, c * ct, -st), ca.horzcat(s * st, c * st, ct))
    axis = ca.vertcat(0, 0, 1)
    spin, before = twist[:3], acceleration[:3]
    omega = rotation.T @ spin + axis * v
    velocity = rotation.T @ (twist[3:] + cross(spin, offset))
    alpha = rotation.T @ before + cross(omega, axis * v) + axis * a
    linear = rotation.T @ (acceleration[3:] + cross(before, offset) + cross(spin, cross(spin, offset)))
    angular_momentum = inertia @ omega + cross(moment, velocity)
    momentum = mass * velocity + cross(omega, moment)
    force = mass * linear + cross(alpha, moment) + cross(omega, cross(omega, moment))
    torque = inertia @ alpha + cross(omega, inertia @ omega) + cross(moment, linear)
    seen_force = rotation @ force
    seen = ca.vertcat(rotation @ torque + cross(offset, seen_force), seen_force)
    energy = (ca.dot(omega, angular_momentum) + ca.dot(velocity, momentum)) / 2
    return ca.vertcat(omega, velocity), ca.vertcat(alpha, linear), seen, energy


SHAPES = {"twist": 6, "acceleration": 6, "q": (), "v": (), "a": (), "data": DATA}


def link_data(bodies: int) -> np.ndarray:
    """Made-up links, all different."""
    rng = np.random.default_rng(1)
    data = rng.uniform(0.5, 1.5, (bodies, DATA))
    angle = rng.uniform(0, 2 * np.pi, bodies)
    data[:, 13], data[:, 14] = np.cos(angle), np.sin(angle)
    return data


def repeated_chain(bodies: int) -> Program:
    """Wrenches and energies of a chain of links, one block called once per link."""
    step = trace(body_step, SHAPES, name="body step")
    chain = Composer(f"chain of {bodies}")
    q, v, a = (chain.input(name, bodies) for name in "qva")
    twist, acceleration = chain.constant(np.zeros(6)), chain.constant([0, 0, 0, 0, 0, 9.81])
    wrenches, energies = [], []
    for i, numbers in enumerate(chain.constant(link_data(bodies))):
        twist, acceleration, wrench, energy = chain.call(step, twist, acceleration, q[i], v[i], a[i], numbers)
        wrenches.append(wrench)
        energies.append(energy)
    chain.output("wrenches", np.array(wrenches))
    chain.output("energies", np.array(energies).ravel())
    return chain.program()


def chain_wrenches(bodies: int, q, v, a) -> dict:
    """What the chain needs at its base, and its energy, as one expression."""
    data = link_data(bodies)
    twist, acceleration = ca.SX.zeros(6), ca.SX([0, 0, 0, 0, 0, 9.81])
    total, energy = ca.SX.zeros(6), ca.SX(0)
    for i in range(bodies):
        twist, acceleration, wrench, more = body_step(twist, acceleration, q[i], v[i], a[i], ca.SX(data[i]))
        total, energy = total + wrench, energy + more
    return {"wrench": total, "energy": energy}


def straight_chain(bodies: int) -> Program:
    """`chain_wrenches` as one block."""
    shapes = dict.fromkeys("qva", bodies)
    return trace(partial(chain_wrenches, bodies), shapes, name=f"straight chain of {bodies}")
