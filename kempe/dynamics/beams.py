"""Beams in recursions: what sections pass on to their beam, and the beam with its sections before modes are eliminated.

A link that a section carries is accelerated by X (alpha, a) + b + S etadd, with X and S of the section. So to the
beam, an articulated inertia I at a section is one of 6 + m freedoms,

    [ X^T I X   X^T I S ]
    [ S^T I X   S^T I S ],

and likewise its wrench p becomes [X^T p; S^T p]. Together with the beam's own they sum to I, C and M. The frame itself
moves with the coordinates if the beam hangs on another section, (alpha, a) = X (alpha, a)_root + b + S etadd, so

    U = I S + C,    D = S^T U + C^T S + M,

and from there on a beam is a link like any other.
"""

import numpy as np

from kempe.dynamics.articulated import packed, pivot_of, unpacked
from kempe.dynamics.tree import Link, Tree
from kempe.spatial.inertia import ArticulatedInertia
from kempe.spatial.moves import wrench_back
from kempe.spatial.vectors import Matrix, Vector, array, dot, zeros


def together(tree: Tree, efforts: list[Vector]) -> list[Vector]:
    """Efforts of links with freedoms of their own; those at sections are added to the beam's."""
    out = list(efforts)
    for k, link in enumerate(tree.links):
        if link.shared:
            out[tree.parents[k]] = out[tree.parents[k]] + out[k]
    return owned(tree, out)


def owned(tree: Tree, parts: list[Vector]) -> list[Vector]:
    """The parts of links with freedoms of their own."""
    return [parts[k] for k in tree.own]


def nothing(link: Link) -> tuple[Vector, ...]:
    """What a link without children starts from: inertia, moment, force; for a beam, C and M with the inertia, and
    efforts.
    """
    size = 0 if link.beam is None else link.beam.size
    return zeros(21 + 6 * size + size * size), zeros(3), zeros(3), *([zeros(size)] if size else [])


def held(link: Link, posture: Vector, carried, n_above, f_above, n_own, f_own, b_alpha, b_a) -> tuple[Vector, ...]:
    """What a section passes on to its beam: inertia with C and M, moment, force, efforts."""
    angular, linear = link.subspace(posture)
    total = ArticulatedInertia.of(link.inertia) + unpacked(carried)
    n, f = total.wrench(b_alpha, b_a)
    n, f = n + n_above + n_own, f + f_above + f_own
    columns = [total.wrench(w, x) for w, x in zip(angular.T, linear.T, strict=True)]
    moves = link.moves(posture)
    coupling = [np.concatenate(wrench_back(moves, *column)) for column in columns]
    effort = array(dot(w, n) + dot(x, f) for w, x in zip(angular.T, linear.T, strict=True))
    modal = pivot_of(link, angular, linear, columns)
    numbers = array(x for part in (packed(total.back(moves)), *coupling, modal.ravel()) for x in part)
    return numbers, *wrench_back(moves, n, f), effort


def felt(
    link: Link, posture: Vector, carried: Vector
) -> tuple[ArticulatedInertia, list[tuple[Vector, Vector]], Matrix]:
    """The inertia of a beam with what it carries, U column by column, and D."""
    assert link.beam is not None
    size = link.beam.size
    eta, (angular, linear) = posture[:size], link.subspace(posture)
    total = ArticulatedInertia.of(link.beam.rigid(eta)) + unpacked(carried[:21])
    own = np.vstack(link.beam.coupling(eta))
    coupling = own.T + carried[21 : 21 + 6 * size].reshape(size, 6)
    columns = []
    for w, x, c in zip(angular.T, linear.T, coupling, strict=True):
        n, f = total.wrench(w, x)
        columns.append((n + c[:3], f + c[3:]))
    pivot = np.array(link.beam.modal(), dtype=object) + carried[21 + 6 * size :].reshape(size, size)
    for i, (n, f) in enumerate(columns):
        for j in range(size):
            pivot[i, j] = pivot[i, j] + dot(angular[:, j], n) + dot(linear[:, j], f)
            pivot[i, j] = pivot[i, j] + dot(angular[:, i], coupling[j, :3]) + dot(linear[:, i], coupling[j, 3:])
    return total, columns, pivot
