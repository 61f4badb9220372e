"""Articulated inertias of links: their pivots along a joint, what remains of them beyond it, and their 21 numbers."""

import numpy as np

from kempe.dynamics.tree import Link
from kempe.spatial.inertia import ArticulatedInertia
from kempe.spatial.vectors import Matrix, Vector, array, dot, is_one, is_zero


def pivot_of(link: Link, angular: Matrix, linear: Matrix, columns) -> Matrix:
    """D = S^T I S, and the rotor inertias."""
    size = len(columns)
    pivot = np.zeros((size, size), dtype=object)
    for i in range(size):
        n, f = columns[i]
        for j in range(i + 1):
            pivot[i, j] = pivot[j, i] = dot(angular[:, j], n) + dot(linear[:, j], f)
        pivot[i, i] = pivot[i, i] + link.armature[i]
    return pivot


def reduced(link: Link, total: ArticulatedInertia, u: Matrix, k: Matrix, angular, linear) -> ArticulatedInertia:
    """I - U D^-1 U^T; entries that vanish because the joint's axes transmit no inertia are made exact zeros."""
    full = np.zeros((6, 6), dtype=object)
    full[:3, :3], full[:3, 3:], full[3:, 3:] = total.j, total.h, total.m
    for i in range(6):
        for j in range(i, 6):
            full[i, j] = full[i, j] - dot(u[:, i], k[:, j])
    subspace = np.vstack([angular, linear])
    for column, armature in zip(subspace.T, link.armature, strict=True) if link.beam is None else ():
        unit = [i for i in range(6) if not is_zero(column[i])]
        if len(unit) == 1 and is_one(column[unit[0]]) and is_zero(armature):
            full[unit[0], :] = full[:, unit[0]] = 0.0
    for i in range(6):
        full[i + 1 :, i] = full[i, i + 1 :]
    return ArticulatedInertia(*(array(full[rows].ravel()).reshape(3, 3) for rows in _BLOCKS))


_BLOCKS = (np.s_[:3, :3], np.s_[:3, 3:], np.s_[3:, 3:])
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def packed(inertia: ArticulatedInertia) -> Vector:
    """The 21 numbers of an inertia."""
    symmetric = [m[i, j] for m in (inertia.j, inertia.m) for i, j in UPPER]
    return array((*symmetric, *inertia.h.ravel()))


def unpacked(numbers: Vector) -> ArticulatedInertia:
    """The inertia from its 21 numbers."""
    j, m = (np.array([[None] * 3] * 3, dtype=object) for _ in range(2))
    for matrix_, start in ((j, 0), (m, 6)):
        for n, (i, k) in enumerate(UPPER):
            matrix_[i, k] = matrix_[k, i] = numbers[start + n]
    return ArticulatedInertia(
        array(j.ravel()).reshape(3, 3), numbers[12:].reshape(3, 3), array(m.ravel()).reshape(3, 3)
    )
