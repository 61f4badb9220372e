"""Definiteness: which joints of a tree meet no inertia, or a negative one, tested numerically at a few random states.

The inertia matrix is positive definite if all pivots of its factorization are positive. A pivot is the inertia a joint
meets while everything it carries is free to move. It is compared with the inertia the joint would meet if nothing else
moved, so rotations are not compared with translations, nor fingers with trunks.
"""

import numpy as np

from kempe.arithmetic.least import least_squares
from kempe.arithmetic.singular import eigh
from kempe.arithmetic.sums import times
from kempe.dynamics.recursions import crba
from kempe.dynamics.tree import Tree
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import relative_pose
from kempe.spatial.vectors import skew
from kempe.topology.tree import Topology

SAMPLES = 3  # states at which the inertia matrix is tested
NOTHING = 1e-10  # relative to the inertia that a joint carries: anything smaller counts as none


def weak_joints(tree: Tree) -> tuple[list[str], list[str]]:
    """Joints that meet no inertia at any of a few states, and those that meet a negative one at some state."""
    rng = np.random.default_rng(0)
    pivots = _coupled_pivots if tree.topology.couplings else _pivots
    sampled = [pivots(tree, _drawn(tree, rng)) for _ in range(SAMPLES)]
    met = {link.name: [each[link.name] for each in sampled] for link in tree.links if link.name in sampled[0]}
    negative = [name for name, found in met.items() if min(found) < -NOTHING]
    return [name for name, found in met.items() if max(found) <= NOTHING and name not in negative], negative


def _drawn(tree: Tree, rng: np.random.Generator) -> list[np.ndarray]:
    """Random coordinates of every link; a beam is treated as rigid."""
    return [link.kind.neutral() if link.shared or link.beam else link.kind.random(rng) for link in tree.links]


def _pivots(tree: Tree, drawn: list[np.ndarray]) -> dict[str, float]:
    """The least pivot of every joint, by one pass from tips to root."""
    found: dict[str, float] = {}
    postures = [link.posture(q) for link, q in zip(tree.links, drawn, strict=True)]
    changes = [_matrix(relative_pose(link.moves(p))) for link, p in zip(tree.links, postures, strict=True)]
    whole = [x.inertia if x.beam is None else x.beam.rigid(np.zeros(x.beam.size)) for x in tree.links]
    articulated = [_spatial(inertia) for inertia in whole]
    composite = [x.copy() for x in articulated]
    for k in range(len(tree.links) - 1, -1, -1):
        link, parent, x = tree.links[k], tree.parents[k], changes[k]
        s, armature = np.vstack(link.subspace(postures[k])).astype(float), link.armature.astype(float)
        if link.kind.nv and not (link.shared or link.beam):
            u = times(articulated[k], s)
            pivot = times(s.T, u) + np.diag(armature)
            size = np.sqrt(np.abs(np.diag(times(s.T, times(composite[k], s))) + armature))
            size[size == 0.0] = 1.0
            found[link.name] = float(eigh(pivot / np.outer(size, size))[0][0])
            articulated[k] = articulated[k] - times(u, least_squares(pivot, u.T))
        if parent >= 0:
            articulated[parent] += times(x.T, times(articulated[k], x))
            composite[parent] += times(x.T, times(composite[k], x))
    return found


def _coupled_pivots(tree: Tree, drawn: list[np.ndarray]) -> dict[str, float]:
    """The least pivot of every joint, over the velocities it takes part in that couplings leave free: W^T M W has
    entries between joints that do not carry each other, so it is factored as a whole.
    """
    q = np.zeros(tree.topology.nq)
    for k in tree.own:
        q[tree.joints[k].q] = drawn[k]
    w = _allowed(tree.topology)
    a = times(w.T, times(np.array(crba(tree, q), dtype=float), w))
    sizes = np.abs(np.diag(a))
    joint_of = [t.joint.name for t in tree.topology.tree for _ in t.joint.type.v_names]
    found: dict[str, float] = {}
    for k in range(len(a) - 1, -1, -1):
        pivot = a[k, k] / (sizes[k] or 1.0)
        if abs(pivot) > NOTHING:
            a[:k, :k] -= np.outer(a[:k, k], a[k, :k]) / a[k, k]
        for row in np.flatnonzero(w[:, k]):
            found[joint_of[row]] = min(found.get(joint_of[row], np.inf), pivot)
    return found


def _allowed(topology: Topology) -> np.ndarray:
    """W (nv, free): the velocities that couplings allow, in terms of those that remain free."""
    rows = np.zeros((len(topology.couplings), topology.nv))
    for row, tied in zip(rows, topology.couplings, strict=True):
        row[list(tied.v)] = [term.coefficient / tied.coupling.size for term in tied.coupling.terms]
    w, dependent = np.eye(topology.nv), {}
    for k, row in enumerate(rows):
        column = int(np.abs(row).argmax())
        if abs(row[column]) > 1e-12:  # otherwise it depends on the others
            dependent[column] = row
            row /= row[column]
            others = np.arange(len(rows)) != k
            rows[others] -= np.outer(rows[others, column], row)
    for column, row in dependent.items():
        w[column] = -row
    return np.delete(w, list(dependent), axis=1)


def _matrix(pose: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """6 x 6: transforms twists of the reference frame into those of this frame."""
    r, p = (np.asarray(x, dtype=float) for x in pose)
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = r.T
    out[3:, :3] = -times(r.T, skew(p))
    return out


def _spatial(inertia: RigidInertia) -> np.ndarray:
    """6 x 6: wrenches from accelerations."""
    h = skew(np.asarray(inertia.moment, dtype=float))
    return np.block([[np.asarray(inertia.tensor, dtype=float), h], [h.T, float(inertia.mass) * np.eye(3)]])
