"""Reactions: wrenches that joints exert, of the tree by inverse dynamics, of closures by their multipliers."""

import numpy as np

from kempe.dynamics import loops, recursions
from kempe.dynamics.kinematics import Frame, at_place, external_wrenches, frames
from kempe.dynamics.springs import HeldCut, pull
from kempe.dynamics.tree import Tree
from kempe.spatial.vectors import Matrix, Scalar, Vector, cross, scaled, zeros


def joint_wrenches(tree: Tree, q: Vector, v: Vector, vdot: Vector, lam: Vector, size: Scalar) -> Matrix:
    """[moment; force] of every joint on its second body, at marker b, in that marker's axes: constraint, actuator,
    spring and damper together. Joints of the tree first, then those that close loops.

    lam: multipliers of the closures, in the joints' own axes.
    """
    found = frames(tree, q, v)
    loads, closing = loaded(tree, found, q, v, lam, size, own=True)
    rows = []
    transmitted = recursions.transmitted(tree, q, v, vdot, loads)
    for k in tree.own:
        t, frame, (n, f) = tree.joints[k], found[k], transmitted[k]
        sign = -1.0 if t.reversed else 1.0
        end = frame if tree.links[k].beam is not None else at_place(found, tree.place(t.joint.b))
        rows.append(_seen(end, sign * (frame.rotation @ n), sign * (frame.rotation @ f), frame.position))
    for load in (load for load in tree.loads if isinstance(load, HeldCut)):
        a, b = (at_place(found, place) for place in (load.a, load.b))
        held, joint = pull(load, a, b), next(x.joint for x in tree.topology.held if x.joint.name == load.name)
        rows.append(_seen(at_place(found, tree.place(joint.b)), held.moment, held.force, b.position))
    for loop, (moment, force) in zip(loops.loops(tree, found), closing, strict=True):
        joint = tree.topology.loops[len(rows) - len(tree.own)].joint
        rows.append(_seen(at_place(found, tree.place(joint.b)), moment, force, loop.b.position))
    return np.stack(rows) if rows else np.zeros((0, 6))


def loaded(
    tree: Tree, found: list[Frame], q: Vector, v: Vector, lam: Vector, size: Scalar, own: bool
) -> tuple[list[tuple[Vector, Vector]], list[tuple[Vector, Vector]]]:
    """Wrenches of loads and closures on all links; and those of the closures on their second bodies, in world axes.
    own: whether multipliers are in the joints' own axes.
    """
    loads = external_wrenches(tree, q, v) or [(zeros(3), zeros(3)) for _ in tree.links]
    closing, at = [], 0
    for loop in loops.loops(tree, found):
        moment, force = zeros(3), zeros(3)
        for n, f in loops.wrenches(loop, size, own):
            moment, force, at = moment + scaled(lam[at], n), force + scaled(lam[at], f), at + 1
        closing.append((moment, force))
        for sign, place in ((1.0, loop.places[1]), (-1.0, loop.places[0])):
            if place.link >= 0:
                frame = found[place.link]
                lever = moment + cross(loop.b.position - frame.position, force)
                n, f = loads[place.link]
                turned = sign * (frame.rotation.T @ lever), sign * (frame.rotation.T @ force)
                loads[place.link] = n + turned[0], f + turned[1]
    return loads, closing


def _seen(end: Frame, moment: Vector, force: Vector, point: Vector) -> Vector:
    """A wrench in world axes at a point, seen from a marker."""
    shifted = moment + cross(point - end.position, force)
    return np.concatenate([end.rotation.T @ shifted, end.rotation.T @ force])
