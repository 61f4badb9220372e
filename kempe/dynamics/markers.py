"""Markers: kinematics of one marker as functions over symbols: its pose, its motion, and their derivatives."""

import casadi as ca
import numpy as np

from kempe.dynamics import kinematics
from kempe.dynamics.function import Function
from kempe.dynamics.kinematics import changing
from kempe.mechanism.bodies import Marker
from kempe.spatial.vectors import from_sx, symbols, to_sx


def functions(marker: Marker) -> dict[str, Function]:
    """By name, the functions of the equations, the tree, and their other inputs."""

    def pose(eq, tree, q):
        tree = tree.including(marker)
        frame = kinematics.at_place(kinematics.frames(tree, q, np.zeros(eq.topology.nv)), tree.place(marker))
        return frame.rotation, frame.position

    def twist(eq, tree, q, v):
        tree = tree.including(marker)
        return (kinematics.world_twist(kinematics.at_place(kinematics.frames(tree, q, v), tree.place(marker))),)

    def jacobian(eq, tree, q):
        v = ca.SX.sym("v", eq.topology.nv)
        return (ca.jacobian(to_sx(twist(eq, tree, q, from_sx(v))[0]), v),)

    def jacobian_rate(eq, tree, q, v):
        rate = changing(lambda free: ca.vec(jacobian(eq, tree, free)[0]), tree, q, v)
        return (ca.reshape(rate, 6, eq.topology.nv),)

    def acceleration(eq, tree, q, v, a):
        j, rate = jacobian(eq, tree, q)[0], jacobian_rate(eq, tree, q, v)[0]
        return (j @ to_sx(a) + rate @ to_sx(v),)

    def place(eq, tree, q):
        return kinematics.place(*pose(eq, tree, q))

    def place_rates(eq, tree, q, v):
        free = symbols("q", eq.topology.nq)
        by_q = ca.jacobian(to_sx(place(eq, tree, free)), to_sx(free))
        return ca.substitute(by_q, to_sx(free), to_sx(q)) @ to_sx(kinematics.rates(tree, q, v))

    def place_and_matrix(eq, tree, q):
        v = ca.SX.sym("v", eq.topology.nv)
        return place(eq, tree, q), ca.jacobian(place_rates(eq, tree, q, from_sx(v)), v)

    def place_bias(eq, tree, q, v):
        return (changing(lambda free: place_rates(eq, tree, free, v), tree, q, v),)

    return {
        "place": Function(("q",), ("place", "matrix"), ("vector", "matrix"), place_and_matrix),
        "place_bias": Function(("q", "v"), ("bias",), ("vector",), place_bias),
        "pose": Function(("q",), ("rotation", "position"), ("matrix", "vector"), pose),
        "twist": Function(("q", "v"), ("twist",), ("vector",), twist),
        "jacobian": Function(("q",), ("jacobian",), ("matrix",), jacobian),
        "jacobian_rate": Function(("q", "v"), ("rate",), ("matrix",), jacobian_rate),
        "acceleration": Function(("q", "v", "a"), ("acceleration",), ("vector",), acceleration),
    }
