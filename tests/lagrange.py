"""Lagrange: equations of motion by Lagrange's method, from energies alone (paper 4, eqs. 9-14 and Appendix B).

Slow, and independent of every recursion: velocities are the derivatives of poses, taken by CasADi, and the equations
follow from kinetic and potential energy. Only for joints whose velocities are the rates of their coordinates.
"""

import casadi as ca
import numpy as np

from kempe.dynamics.kinematics import frames, potential_energy
from kempe.dynamics.tree import Tree
from kempe.errors import StateError
from kempe.spatial.vectors import from_sx, to_sx


def lagrange(tree: Tree) -> ca.Function:
    """(q, v, a) -> generalized forces: d/dt dT/dv - dT/dq + dV/dq (eq. 12, with the sign of eq. 13 corrected)."""
    for link in tree.links:
        if link.kind.nq != link.kind.nv:
            raise StateError(
                f"joint {link.name!r} ({link.kind.name}): its velocities are not the rates of its coordinates"
            )
    n = tree.topology.nv
    q, v, a = (ca.SX.sym(name, n) for name in "qva")
    found = frames(tree, from_sx(q), np.zeros(n))
    kinetic = ca.SX(0)
    armature, damping = np.zeros(n, dtype=object), np.zeros(n, dtype=object)
    elastic = ca.SX(n, 1)
    for link, frame, at in zip(tree.links, found, tree.joints, strict=True):
        mass, moment, tensor = link.inertia.mass, to_sx(link.inertia.moment), to_sx(link.inertia.tensor)
        rotation, position = to_sx(frame.rotation), to_sx(frame.position)
        velocity = rotation.T @ ca.jtimes(position, q, v)
        spin = rotation.T @ ca.reshape(ca.jtimes(ca.vec(rotation), q, v), 3, 3)  # skew(omega), in the link's axes
        omega = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
        kinetic += mass * ca.dot(velocity, velocity) / 2 + ca.dot(velocity, ca.cross(omega, moment))
        kinetic += ca.dot(omega, tensor @ omega) / 2
        armature[at.v], damping[at.v] = armature[at.v] + link.armature, damping[at.v] + link.damping
        if link.beam is not None:
            eta, rates = from_sx(q)[at.q], from_sx(v)[at.v]
            momenta = link.beam.wrench(eta, from_sx(omega), from_sx(velocity), rates)
            kinetic += (
                sum(ca.dot(x, to_sx(y)) for x, y in zip((omega, velocity, to_sx(rates)), momenta, strict=True)) / 2
            )
            elastic[at.v] += to_sx(link.beam.effort(0.0 * eta, rates))
    kinetic += ca.dot(to_sx(armature), v * v) / 2
    potential = potential_energy(tree, found, from_sx(q))
    momentum = ca.gradient(kinetic, v)
    forces = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a) - ca.gradient(kinetic, q)
    forces += ca.gradient(ca.SX(potential), q) + to_sx(damping) * v - elastic
    return ca.Function("lagrange", [q, v, a], [forces], ["q", "v", "a"], ["tau"], {"cse": True})
