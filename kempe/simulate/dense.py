"""Dense: accelerations of closed mechanisms by elimination with complete pivoting, where no compiled choice suits.

Which rows of the loops' equations are independent, and which velocities generalized, is found anew for every step:
paper 3's procedure carried out in numbers. Within a step it stays: slopes lie off the loops a little, where other rows
would give other accelerations, and a step whose slopes do not go together is worth little. Throughout, m
are the doubles and w the whole numbers of `memory.py`.
"""

import numpy as np

from kempe.simulate.memory import *
from kempe.simulate.native import compiled


@compiled
def eliminated(m, w, extra):
    """The loops' rows, scaled, with a column that begins at `extra` beside them (none below zero), eliminated; the
    columns in their order, and the least pivot. Pivots are sought where REPIVOT asks for it, and kept until then."""
    rows, nv, rank = w[ROWS], w[NV], w[RANK]
    right = 1 if extra >= 0 else 0
    a = np.empty((rows, nv + right))
    for i in range(rows):
        scale = m[w[DENSE_SCALES] + i]
        for j in range(nv):
            a[i, j] = m[w[DENSE_ROWS] + i * nv + j] * scale * m[w[DENSE_SCALES] + rows + j]
        if right:
            a[i, nv] = m[extra + i] * scale
    order = np.arange(nv)
    least, kept = 1.0, w[ORDER]
    for k in range(rank):
        if w[REPIVOT]:
            largest = -1.0
            for i in range(k, rows):
                for j in range(k, nv):
                    if abs(a[i, j]) > largest:
                        w[kept + 2 * k], w[kept + 2 * k + 1], largest = i, j, abs(a[i, j])
        row, column = w[kept + 2 * k], w[kept + 2 * k + 1]
        least = min(least, abs(a[row, column]))
        for j in range(nv + right):
            a[k, j], a[row, j] = a[row, j], a[k, j]
        for i in range(rows):
            a[i, k], a[i, column] = a[i, column], a[i, k]
        order[k], order[column] = order[column], order[k]
        for i in range(rows):
            if i != k and a[i, k] != 0.0:
                factor = a[i, k] / a[k, k]
                for j in range(k, nv + right):
                    a[i, j] -= factor * a[k, j]
    for k in range(rank):
        for j in range(rank, nv + right):
            a[k, j] /= a[k, k]
    w[REPIVOT] = 0
    return a, order, least


@compiled
def dense_step(m, w, out):
    """The change of dependent velocities that does what the right-hand sides ask for, into the doubles from `out`."""
    a, order, _ = eliminated(m, w, w[DENSE_GAMMA])
    nv, columns = w[NV], w[DENSE_SCALES] + w[ROWS]
    for k in range(nv):
        value = a[k, nv] if k < w[RANK] else 0.0
        m[out + order[k]] = value * m[columns + order[k]]


@compiled
def dense_velocities(m, w, v):
    """Makes the dependent velocities of those from `v` follow from the others."""
    a, order, _ = eliminated(m, w, -1)
    nv, rank, columns = w[NV], w[RANK], w[DENSE_SCALES] + w[ROWS]
    for k in range(rank):
        value = 0.0
        for j in range(rank, nv):
            value -= a[k, j] * m[v + order[j]] / m[columns + order[j]]
        m[v + order[k]] = value * m[columns + order[k]]


@compiled
def dense_accelerations(m, w, out):
    """vdot, from the inertia matrix, the forces that are left, and the loops; fitness is the least pivot."""
    a, order, least = eliminated(m, w, w[DENSE_GAMMA])
    nv, rank, columns = w[NV], w[RANK], w[DENSE_SCALES] + w[ROWS]
    free = nv - rank
    basis, g = np.zeros((nv, free)), np.zeros(nv)
    for k in range(rank):
        scale = m[columns + order[k]]
        g[order[k]] = a[k, nv] * scale
        for j in range(free):
            basis[order[k], j] = -a[k, rank + j] * scale / m[columns + order[rank + j]]
    for j in range(free):
        basis[order[rank + j], j] = 1.0
    inertia = m[w[DENSE_INERTIA] : w[DENSE_INERTIA] + nv * nv].reshape((nv, nv))
    carried = np.zeros((nv, free))
    rest = np.zeros(free)
    for i in range(nv):
        force = m[w[DENSE_REST] + i]
        for j in range(nv):
            force -= inertia[i, j] * g[j]
            for k in range(free):
                carried[i, k] += inertia[i, j] * basis[j, k]
        for k in range(free):
            rest[k] += basis[i, k] * force
    reduced = np.zeros((free, free))
    for k in range(free):
        for j in range(free):
            for i in range(nv):
                reduced[k, j] += basis[i, k] * carried[i, j]
    health, largest = 1.0, 0.0
    for k in range(free):
        largest = max(largest, reduced[k, k])
    for k in range(free):
        health = min(health, reduced[k, k] / largest)
        for i in range(k + 1, free):
            factor = reduced[i, k] / reduced[k, k]
            for j in range(k, free):
                reduced[i, j] -= factor * reduced[k, j]
            rest[i] -= factor * rest[k]
    for k in range(free - 1, -1, -1):
        for j in range(k + 1, free):
            rest[k] -= reduced[k, j] * rest[j]
        rest[k] /= reduced[k, k]
    for i in range(nv):
        value = g[i]
        for k in range(free):
            value += basis[i, k] * rest[k]
        m[out + i] = value
    m[w[APPLIED]], m[w[APPLIED] + 1] = health, least
