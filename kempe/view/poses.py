"""Where all bodies are, for many states at once: one pass along the tree, by the motion of each joint's kind."""

import casadi as ca
import numpy as np

from kempe.mechanism.joints import JointKind
from kempe.model.coordinates import Coordinates
from kempe.spatial.moves import relative_pose
from kempe.spatial.vectors import symbols, to_sx

Pose = tuple[np.ndarray, np.ndarray]  # axes (..., 3, 3) as columns, and origin (..., 3)


def values(model: Coordinates, p=None) -> dict[str, float]:
    """Of all parameters, those kept as inputs as given; of rows of them, the first."""
    given = model.p if p is None else np.asarray(p, dtype=float)
    named = zip(model.p_names, given[0] if given.ndim == 2 else given, strict=True)
    return {**model.mechanism.parameters, **dict(named)}


def poses(model: Coordinates, q: np.ndarray, p=None) -> Pose:
    """Axes (n, bodies, 3, 3) and origins (n, bodies, 3) in world axes at the rows of q; the ground is body 0.

    The same as `model.pose` of every body, without a kernel to compile for each of them.
    """
    m = model.mechanism
    value = values(model, p).__getitem__
    number = {body: k for k, body in enumerate((m.ground, *m.bodies))}
    rotation = np.empty((len(q), len(number), 3, 3))
    position = np.empty((len(q), len(number), 3))
    rotation[:, 0], position[:, 0] = np.eye(3), 0.0
    motions: dict[JointKind, ca.Function] = {}
    for t in model.topology.tree:
        if t.child not in number:  # half of a body that was cut: the other half is drawn
            continue
        kind = t.joint.kind(value)
        if kind not in motions:
            motions[kind] = _motion(kind)
        ends = [relative_pose(t.joint.frame(marker, value)) for marker in (t.joint.a, t.joint.b)]
        moved = _moved(motions[kind], q[:, t.q])
        if t.reversed:
            ends, moved = ends[::-1], inverted(moved)
        parent, child = number[t.parent], number[t.child]
        carrier = rotation[:, parent], position[:, parent]
        rotation[:, child], position[:, child] = chained(carrier, ends[0], moved, inverted(ends[1]))
    return rotation, position


def chained(*frames: Pose) -> Pose:
    """One frame after another, each seen in the one before."""
    rotation, position = frames[0]
    for r, p in frames[1:]:
        position = position + (rotation @ p[..., None])[..., 0]
        rotation = rotation @ r
    return rotation, position


def inverted(pose: Pose) -> Pose:
    """The way back."""
    back = np.swapaxes(pose[0], -1, -2)
    return back, -(back @ pose[1][..., None])[..., 0]


def _motion(kind: JointKind) -> ca.Function:
    """The pose of b in a, over a joint's coordinates, as a column of twelve numbers."""
    q = symbols("q", kind.nq) if kind.nq else np.zeros(0)
    rotation, position = relative_pose(kind.moves(kind.posture(q)))
    return ca.Function("motion", [to_sx(q)], [to_sx(np.concatenate([rotation.ravel(), position]))])


def _moved(motion: ca.Function, q: np.ndarray) -> Pose:
    column = np.array(motion.map(len(q))(q.T)).T if q.shape[1] else np.array(motion(ca.DM(0, 1))).ravel()
    return column[..., :9].reshape(*column.shape[:-1], 3, 3), column[..., 9:]
