"""Ties: equations over freedoms of the tree, for couplings and locks, as rows, or as springs that replace them.

A coupling is sum_i c_i q_i = c_0. Divided by its largest coefficient, its row of J holds c_i for the velocities of its
freedoms and zero for all others, its gamma is zero, and its residual is in the unit of the coordinate with the largest
coefficient.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kempe.dynamics.tree import Tree
from kempe.spatial.vectors import Scalar, Vector, array, zeros
from kempe.topology.paths import spring_paths
from kempe.topology.tree import TreeCoupling


@dataclass(frozen=True)
class Tied:
    """A freedom of a link, by its index there and its indices in q and v, and its factor in a tie."""

    link: int
    freedom: int
    q: int
    v: int
    factor: Scalar


@dataclass(frozen=True, eq=False)
class Tie:
    """An equation over freedoms: the sum of their factors times their coordinates is `at`.

    number: index of its row among those that are kept, None if it is not kept; on: 0 if it demands nothing.
    """

    freedoms: tuple[Tied, ...]
    at: Scalar
    number: int | None
    on: Scalar = 1.0

    def gap(self, q: Vector) -> Scalar:
        """Its residual at coordinates q."""
        return self.on * (self._sum(each.factor * q[each.q] for each in self.freedoms) - self.at)

    def slip(self, v: Vector) -> Scalar:
        """The rate of its residual; also applies to accelerations, since factors are constant."""
        return self.on * self._sum(each.factor * v[each.v] for each in self.freedoms)

    @staticmethod
    def _sum(terms) -> Scalar:
        first, *rest = terms
        for term in rest:
            first = first + term
        return first

    def drift(self, alone: Vector, q: Vector, v: Vector, pull: float) -> Scalar:
        """What it demands beyond the motion of the tree by itself; gaps are closed at the rate `pull` [1/s]."""
        still = -self.slip(alone)
        return still - 2 * pull * self.slip(v) - pull**2 * self.gap(q) if pull else still


def couplings(tree: Tree, kept: Sequence[int] | None = None) -> list[Tie]:
    """The couplings that are equations; `kept`: indices of the rows that are kept, of all rows; all by default."""
    first = tree.topology.rows - len(tree.topology.couplings)
    numbers = {row: n for n, row in enumerate(range(tree.topology.rows) if kept is None else kept)}
    return [_tie(tree, each, numbers.get(first + k)) for k, each in enumerate(tree.topology.couplings)]


def every_coupling(tree: Tree) -> list[Tie]:
    """The couplings that are equations, and those that springs hold."""
    return couplings(tree) or [each.tie for each in sprung(tree)]


def _tie(tree: Tree, each: TreeCoupling, number: int | None) -> Tie:
    *factors, at = (tree.values[path] / each.coupling.size for path in each.coupling.paths)
    places = zip(each.joints, each.q, each.v, factors, strict=True)
    freedoms = [Tied(tree.own[joint], v - tree.topology.tree[joint].v.start, q, v, c) for joint, q, v, c in places]
    return Tie(tuple(freedoms), at, number)


def rows(tree: Tree) -> np.ndarray:
    """The rows of couplings in J, over all velocities."""
    found = np.zeros((len(tree.topology.couplings), tree.topology.nv), dtype=object)
    for row, tie in zip(found, couplings(tree), strict=True):
        for each in tie.freedoms:
            row[each.v] = each.factor
    return found


# ---- springs in place of couplings ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sprung:
    """A coupling held by a spring and a damper along its row (as paper 5 does for cuts): V = k phi^2 / 2."""

    tie: Tie
    stiffness: Scalar
    damping: Scalar


def sprung(tree: Tree) -> list[Sprung]:
    """The couplings that springs hold: k [N/m] and b [N s/m] along lengths, larger by the square of the size along
    angles.
    """
    found = []
    for each in tree.topology.sprung:
        stiffness, damping, size = (tree.values[path] for path in spring_paths(each.coupling))
        by = size * size if each.coupling.unit == "rad" else 1.0
        found.append(Sprung(_tie(tree, each, None), by * stiffness, by * damping))
    return found


def spring_efforts(tree: Tree, q: Vector, v: Vector) -> Vector:
    """Efforts of these springs and dampers along every freedom."""
    found = zeros(tree.topology.nv).astype(object)
    for each in sprung(tree):
        push = -(each.stiffness * each.tie.gap(q) + each.damping * each.tie.slip(v))
        for at in each.tie.freedoms:
            found[at.v] = found[at.v] + at.factor * push
    return array(found)


def spring_energy(tree: Tree, q: Vector) -> Scalar:
    """Energy stored in these springs."""
    total = 0.0
    for each in sprung(tree):
        gap = each.tie.gap(q)
        total = total + 0.5 * each.stiffness * gap * gap
    return total


def damper_power(tree: Tree, v: Vector) -> Scalar:
    """Power of these dampers, never positive."""
    total = 0.0
    for each in sprung(tree):
        slip = each.tie.slip(v)
        total = total - each.damping * slip * slip
    return total
