"""Dense: accelerations of closed mechanisms by elimination with complete pivoting, if no compiled choice is fit.

The independent closure rows and the generalized velocities are chosen anew for every step: paper 3's procedure carried
out numerically. They are kept within a step: slopes are taken slightly off the loops, where other rows would give other
accelerations, and a step with inconsistent slopes is worth little. Throughout, m are the doubles and w the integers of
`memory.py`.
"""

import numpy as np

from kempe.integrate.memory import *
from kempe.integrate.native import compiled


@compiled
def reduced(a, columns, rank, pivots, kept, seek):
    """Eliminates the first columns of a matrix, with complete pivoting, until the number of unit rows equals its rank;
    returns the columns in their order, and the least pivot. Pivots are sought, or read from `kept` on, where a column
    is bitwise inverted if its pivot was negative: the least pivot is returned as negative if one has changed sign
    since. If two vanish at a pose, their product keeps its sign."""
    rows, width = a.shape
    order = np.arange(columns)
    least, turned = 1.0, False
    for k in range(rank):
        if seek:
            largest = -1.0
            for i in range(k, rows):
                for j in range(k, columns):
                    if abs(a[i, j]) > largest:
                        pivots[kept + 2 * k], pivots[kept + 2 * k + 1] = i, j if a[i, j] >= 0.0 else ~j
                        largest = abs(a[i, j])
        row, column = pivots[kept + 2 * k], pivots[kept + 2 * k + 1]
        negative = column < 0
        if negative:
            column = ~column
        if (a[row, column] < 0.0) != negative:
            turned = True
        least = min(least, abs(a[row, column]))
        for j in range(width):
            a[k, j], a[row, j] = a[row, j], a[k, j]
        for i in range(rows):
            a[i, k], a[i, column] = a[i, column], a[i, k]
        order[k], order[column] = order[column], order[k]
        for i in range(rows):
            if i != k and a[i, k] != 0.0:
                factor = a[i, k] / a[k, k]
                for j in range(k, width):
                    a[i, j] -= factor * a[k, j]
    for k in range(rank):
        for j in range(rank, width):
            a[k, j] /= a[k, k]
    return order, -least if turned else least


@compiled
def eliminated(m, w, beside, count):
    """The scaled closure rows, with so many columns beside them, eliminated; the columns in their order, and the least
    pivot. Pivots are sought if REPIVOT is set, and kept until then."""
    rows, nv = w[ROWS], w[NV]
    a = np.empty((rows, nv + count))
    for i in range(rows):
        scale = m[w[DENSE_SCALES] + i]
        for j in range(nv):
            a[i, j] = m[w[DENSE_ROWS] + i * nv + j] * scale * m[w[DENSE_SCALES] + rows + j]
        for j in range(count):
            a[i, nv + j] = m[beside + i * count + j] * scale
    order, least = reduced(a, nv, w[RANK], w, w[ORDER], w[REPIVOT] != 0)
    w[REPIVOT] = 0
    return a, order, least


@compiled
def dense_step(m, w, out):
    """The change of dependent velocities for the right-hand sides, into the doubles from `out`."""
    a, order, _ = eliminated(m, w, w[DENSE_GAMMA], 1)
    nv, columns = w[NV], w[DENSE_SCALES] + w[ROWS]
    for k in range(nv):
        value = a[k, nv] if k < w[RANK] else 0.0
        m[out + order[k]] = value * m[columns + order[k]]


@compiled
def dense_velocities(m, w, v):
    """Computes the dependent velocities of those from `v`."""
    a, order, _ = eliminated(m, w, 0, 0)
    nv, rank, columns = w[NV], w[RANK], w[DENSE_SCALES] + w[ROWS]
    for k in range(rank):
        value = 0.0
        for j in range(rank, nv):
            value -= a[k, j] * m[v + order[j]] / m[columns + order[j]]
        m[v + order[k]] = value * m[columns + order[k]]


@compiled
def moved_by(m, w, forces, count, a, order):
    """x of M x - J^T lam = forces, J x = the columns beside the rows before elimination, for so many columns of both;
    and the distance of the inertia matrix from singularity."""
    nv, rank, columns = w[NV], w[RANK], w[DENSE_SCALES] + w[ROWS]
    free = nv - rank
    basis, x = np.zeros((nv, free)), np.zeros((nv, count))
    for k in range(rank):
        scale = m[columns + order[k]]
        for j in range(count):
            x[order[k], j] = a[k, nv + j] * scale
        for j in range(free):
            basis[order[k], j] = -a[k, rank + j] * scale / m[columns + order[rank + j]]
    for j in range(free):
        basis[order[rank + j], j] = 1.0
    inertia = m[w[DENSE_INERTIA] : w[DENSE_INERTIA] + nv * nv].reshape((nv, nv))
    carried, rest = np.zeros((nv, free)), np.zeros((free, count))
    for i in range(nv):
        for j in range(nv):
            for k in range(free):
                carried[i, k] += inertia[i, j] * basis[j, k]
        for c in range(count):
            force = m[forces + i * count + c]
            for j in range(nv):
                force -= inertia[i, j] * x[j, c]
            for k in range(free):
                rest[k, c] += basis[i, k] * force
    reduced_inertia = np.zeros((free, free))
    for k in range(free):
        for j in range(free):
            for i in range(nv):
                reduced_inertia[k, j] += basis[i, k] * carried[i, j]
    health = solved_symmetric(reduced_inertia, rest)
    for i in range(nv):
        for c in range(count):
            for k in range(free):
                x[i, c] += basis[i, k] * rest[k, c]
    return x, health


@compiled
def solved_symmetric(a, b):
    """Solves for columns b with a positive matrix, in place; returns its least pivot relative to the largest entry."""
    size, count = b.shape
    health, largest = 1.0, 0.0
    for k in range(size):
        largest = max(largest, a[k, k])
    for k in range(size):
        health = min(health, a[k, k] / largest)
        for i in range(k + 1, size):
            factor = a[i, k] / a[k, k]
            for j in range(k, size):
                a[i, j] -= factor * a[k, j]
            for c in range(count):
                b[i, c] -= factor * b[k, c]
    for k in range(size - 1, -1, -1):
        for c in range(count):
            for j in range(k + 1, size):
                b[k, c] -= a[k, j] * b[j, c]
            b[k, c] /= a[k, k]
    return health


@compiled
def dense_accelerations(m, w, out):
    """vdot, from the inertia matrix, the remaining forces, and the loops; fitness is the least pivot."""
    a, order, least = eliminated(m, w, w[DENSE_GAMMA], 1)
    x, health = moved_by(m, w, w[DENSE_REST], 1, a, order)
    for i in range(w[NV]):
        m[out + i] = x[i, 0]
    m[w[APPLIED]], m[w[APPLIED] + 1] = health, least
