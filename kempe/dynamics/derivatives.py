"""Derivatives of dynamics: exact, from the residuals of the equations of motion; no elimination is differentiated.

With a and lam held, the residuals of the equations of motion and of the loops are

    r1 = ID(q, v, a) - J^T lam - tau,    r2 = J a - gamma(q, v),

with ID the inverse dynamics of the tree. Both stay zero, so accelerations and multipliers change by

    [ M  -J^T ] [ da   ]     [ d r1 ]
    [ J   0   ] [ dlam ] = - [ d r2 ],

which for a tree is M da = d tau - d ID. Steps of q are taken on its manifold, along each velocity.
"""

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kempe.dynamics import kinematics, loops, recursions
from kempe.dynamics.generalized import METRE
from kempe.dynamics.level import level
from kempe.dynamics.partition import Partition
from kempe.dynamics.tree import Tree
from kempe.spatial.solving import solve_symmetric
from kempe.spatial.vectors import Vector, array, dot, from_sx, symbols, to_sx, zeros

if TYPE_CHECKING:
    from kempe.dynamics.equations import Equations


def inverse(eq: "Equations", tree: Tree, q, v, a, p: ca.SX):
    """Derivatives of generalized forces with respect to a step of q, to v, to a, and to the parameters if there are
    any.
    """
    sq, sv, sa = (symbols(n, eq.sizes[n]) for n in ("q", "v", "a"))
    by_q, by_v, *by_p = _by_state(eq, tree, eq.inverse(tree, sq, sv, sa), sq, sv, p)
    found = [by_q, by_v, to_sx(recursions.crba(tree, sq)), *by_p]
    return _put_in(found, (sq, sv, sa), (q, v, a))


def forward(eq: "Equations", tree: Tree, q, v, tau, p: ca.SX):
    """Derivatives of a tree's accelerations, likewise, with tau for a: those of inverse dynamics, solved back."""
    a = eq.forward(tree, q, v, tau).vdot
    by_q, by_v, gim, *by_p = map(_grid, inverse(eq, tree, q, v, a, p))
    sides = [-by_q, -by_v, np.eye(eq.topology.nv), *(-x for x in by_p)]
    return _parted(solve_symmetric(gim, np.hstack(sides)), sides)


def residuals(eq: "Equations", tree: Tree, q, v, a, lam, p: ca.SX):
    """M, and the derivatives of r1 and r2 with respect to a step of q, to v, and to the parameters if there are any;
    for all rows of the loops, whether or not some are redundant.
    """
    every = list(range(eq.sizes["lam"]))
    first, second = _residual_derivatives(eq, tree, q, v, a, lam, p, every, eq.closure_size)
    by_p = [ca.vertcat(first[2], second[2])] if eq.parameters else []
    return [to_sx(recursions.crba(tree, q)), *first[:2], *second[:2], *by_p]


def closed_forward(eq: "Equations", tree: Tree, q, v, tau, p: ca.SX):
    """Derivatives of the accelerations of a closed mechanism, in its generalized coordinates: da = W dy + dg, J dg = -d
    r2, (W^T M W) dy = -W^T (d r1 + M dg).
    """
    used = eq.used if isinstance(eq.used, Partition) else Partition(eq.coordinates.chosen)
    choice = used.chosen
    dependent = list(choice.dependent)
    found = used.eliminated(tree, q, v, eq.closure_size)
    w = found.w
    a = used.with_coordinates(tree, q, v, tau, found).vdot
    lam = found.loops.solve_transposed((eq.inverse(tree, q, v, a) - tau)[dependent])
    first, second = _residual_derivatives(eq, tree, q, v, a, lam, p, list(choice.rows), METRE)
    (r1_q, r1_v, *r1_p), (r2_q, r2_v, *r2_p) = ([_grid(x) for x in part] for part in (first, second))
    nv = eq.topology.nv
    r1 = [r1_q, r1_v, -np.eye(nv), *r1_p]
    r2 = np.hstack([r2_q, r2_v, zeros(len(lam), nv), *r2_p])
    dg = np.zeros((nv, r2.shape[1]), dtype=object)
    dg[dependent] = -found.loops.solve(r2)
    mw = recursions.crba(tree, q) @ w
    inertia = np.zeros((w.shape[1],) * 2, dtype=object)
    for i in range(len(inertia)):
        for j in range(i + 1):
            inertia[i, j] = inertia[j, i] = dot(w[:, i], mw[:, j])
    dy = solve_symmetric(inertia, -(w.T @ np.hstack(r1) + mw.T @ dg))
    by_q, by_v, by_tau, *by_p = _parted(w @ dy + dg, r1)
    return by_q, by_v, by_tau, used.fit_of(found), *by_p


def _residual_derivatives(eq: "Equations", tree: Tree, q, v, a, lam, p: ca.SX, rows: list[int], size):
    """Derivatives of r1 and of r2 for these rows of the loops, with gaps divided by `size`; a and lam are held constant
    whatever they depend on.
    """
    sq, sv, sa = (symbols(n, eq.sizes[n]) for n in ("q", "v", "a"))
    held = symbols("lam", len(rows))
    moving = level(tree, sq)  # as in `partition`: off the loops, the axes of the rows matter
    frames = kinematics.frames(moving, sq, sv)
    jacobian = loops.jacobian(moving, sq, frames, size)[rows]
    up = -moving.gravity
    gamma = loops.bias(moving, frames, loops.coasting(moving, sq, sv, up), up, size)[rows]
    r1 = eq.inverse(tree, sq, sv, sa) - array(dot(column, held) for column in jacobian.T)
    r2 = array(dot(row, sa) for row in jacobian) - gamma
    old, new = (sq, sv, sa, held), (q, v, a, lam)
    return [_put_in(_by_state(eq, tree, r, sq, sv, p), old, new) for r in (r1, r2)]


def _by_state(eq: "Equations", tree: Tree, r: Vector, q, v, p: ca.SX) -> list[ca.SX]:
    """Derivatives with respect to a step of q, to v, and to the parameters if there are any."""
    out = to_sx(r)
    by_p = [ca.jacobian(out, p)] if eq.parameters else []
    return [ca.jacobian(out, to_sx(q)) @ tangent(eq, tree, q), ca.jacobian(out, to_sx(v)), *by_p]


def tangent(eq: "Equations", tree: Tree, q) -> ca.SX:
    """dq/dv: how coordinates move with each velocity."""
    v = ca.SX.sym("v", eq.topology.nv)
    return ca.jacobian(to_sx(kinematics.rates(tree, q, from_sx(v))), v)


def _put_in(found: list[ca.SX], old, new) -> list[ca.SX]:
    names, values = (ca.vertcat(*(ca.densify(to_sx(x)) for x in part)) for part in (old, new))
    return [ca.substitute(x, names, values) for x in found]


def _parted(solved: np.ndarray, like: list) -> list[np.ndarray]:
    return np.split(solved, np.cumsum([x.shape[1] for x in like])[:-1], axis=1)


def _grid(x: ca.SX) -> np.ndarray:
    return from_sx(x).reshape(x.shape)
