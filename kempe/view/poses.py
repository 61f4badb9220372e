"""Poses: the poses of all bodies for many states at once, by one pass along the tree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kempe.mechanism.bodies import Body, Length
from kempe.mechanism.flexible import BeamJoint, section_at
from kempe.spatial.moves import relative_pose
from kempe.spatial.vectors import symbols, to_sx

if TYPE_CHECKING:
    from kempe.mechanics.layout import Layout
    from kempe.mechanism.joints import JointKind

Pose = tuple[np.ndarray, np.ndarray]  # axes (..., 3, 3) as columns, and origin (..., 3)
Station = tuple[Body, Length | None]  # a section of a beam, or a body's own frame (None)


def values(model: "Layout", p=None) -> dict[str, float]:
    """The values of all parameters; for those kept as inputs, the given ones (the first row of several)."""
    given = model.p if p is None else np.asarray(p, dtype=float)
    named = zip(model.p_names, given[0] if given.ndim == 2 else given, strict=True)
    return {**model.mechanism.parameters, **dict(named)}


def poses(model: "Layout", q: np.ndarray, p=None, stations: Sequence[Station] = ()) -> Pose:
    """Axes (n, bodies, 3, 3) and origins (n, bodies, 3) in world axes at the rows of q. The ground is body 0; beam
    sections at `stations` follow the bodies.

    Equals `model.pose` of every body, without compiling a kernel for each of them.
    """
    m = model.mechanism
    value = values(model, p).__getitem__
    found: dict[Body, Pose] = {m.ground: (np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3)))}
    motions: dict[JointKind, ca.Function] = {}

    def moved(kind: "JointKind", rows: np.ndarray) -> Pose:
        if kind not in motions:
            motions[kind] = _motion(kind)
        return _moved(motions[kind], rows)

    def seat(body: Body, station: Length | None) -> Pose:
        if station is None:
            return found[body]
        return chained(found[body], moved(section_at(body, station, value), q[:, model.joint(body.name).q]))

    for t in model.topology.tree:
        motion = moved(t.joint.kind(value), q[:, t.q])
        if isinstance(t.joint, BeamJoint):
            found[t.child] = chained(found[t.parent], inverted(motion))
            continue
        markers, ends = (t.joint.a, t.joint.b), [relative_pose(t.joint.frame(x, value)) for x in (t.joint.a, t.joint.b)]
        if t.reversed:
            markers, ends, motion = markers[::-1], ends[::-1], inverted(motion)
        # Half of a cut body carries nothing; only the other half is drawn.
        carrier = found[t.parent] if markers[0].station is None else seat(markers[0].body, markers[0].station)
        found[t.child] = chained(carrier, ends[0], motion, inverted(ends[1]))
    every = [found[body] for body in (m.ground, *m.bodies)] + [seat(*station) for station in stations]
    return np.stack([r for r, _ in every], axis=1), np.stack([x for _, x in every], axis=1)


def chained(*frames: Pose) -> Pose:
    """The composition of frames, each relative to the one before."""
    rotation, position = frames[0]
    for r, p in frames[1:]:
        position = position + (rotation @ p[..., None])[..., 0]
        rotation = rotation @ r
    return rotation, position


def inverted(pose: Pose) -> Pose:
    """The inverse pose."""
    back = np.swapaxes(pose[0], -1, -2)
    return back, -(back @ pose[1][..., None])[..., 0]


def _motion(kind: "JointKind") -> ca.Function:
    """The pose of b in a as a function of a joint's coordinates, a column of twelve numbers."""
    q = symbols("q", kind.nq) if kind.nq else np.zeros(0)
    rotation, position = relative_pose(kind.moves(kind.posture(q)))
    return ca.Function("motion", [to_sx(q)], [to_sx(np.concatenate([rotation.ravel(), position]))])


def _moved(motion: ca.Function, q: np.ndarray) -> Pose:
    column = np.array(motion.map(len(q))(q.T)).T if q.shape[1] else np.array(motion(ca.DM(0, 1))).ravel()
    return column[..., :9].reshape(*column.shape[:-1], 3, 3), column[..., 9:]
