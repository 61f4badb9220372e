"""Loops: the equations of closed loops for dynamics, as wrenches in world axes with the fewest operations.

A row of a closure resists one direction of motion of body b against body a: it is a moment n and a force f at the
origin p of frame b, and d phi/dt = n . (omega_b - omega_a) + f . (v_b - v_a) at p. With omega_k, v_k the motion of
joint k per unit of velocity about its origin o_k, all in world axes, the row's entry of J for a joint between a and
b is

    +-[(n + (p - o_k) x f) . omega_k + f . v_k].

`closure` has residuals in the joint's own axes with derivatives that are exact everywhere; the rows here hold at closed
states only: positions held in all three directions, and locked rotations, are written in world axes, and b's axes are
used for a's where they agree. Both sets of rows span the same space there, and Newton's method converges with either.

A loop on a body that turns in space, such as a satellite, has its rows in the axes of a instead: otherwise which of
them are redundant would change with the body's attitude.

The rows of couplings (`ties`) come after those of all loops.
"""

from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics import ties
from kempe.dynamics.kinematics import GROUND, Frame, at_place, frames
from kempe.dynamics.recursions import accelerated
from kempe.dynamics.rows import ROWS
from kempe.dynamics.tree import Place, Tree
from kempe.mechanism.joints import JointKind, Universal
from kempe.spatial.moves import relative_pose
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, dot, swing, zeros

WORLD = np.eye(3)


@dataclass(frozen=True, eq=False)
class Loop:
    """A closure at a state: the frames it joins, the joints of the tree on either side of it, and the poses of its
    frames. own: whether its rows are in the axes of a.
    """

    kind: type[JointKind]
    a: Frame
    b: Frame
    own: bool
    on_a: tuple[int, ...] = ()
    on_b: tuple[int, ...] = ()
    places: tuple[Place, ...] = ()


def loops(tree: Tree, found: list[Frame]) -> list[Loop]:
    """All closures, given the links' frames at a state."""
    out = []
    for loop in tree.topology.masked or tree.topology.loops:
        ends = [tree.joint_place(loop.joint, marker) for marker in (loop.joint.a, loop.joint.b)]
        above_a, above_b = (tree.chain(end.link)[::-1] for end in ends)
        on_a, on_b = (tuple(k for k in x if k not in y) for x, y in ((above_a, above_b), (above_b, above_a)))
        a, b = (at_place(found, end) for end in ends)
        out.append(Loop(loop.joint.type, a, b, loop.carried, on_a, on_b, tuple(ends)))
    return out


def wrenches(loop: Loop, size: Scalar, own: bool = False) -> list[tuple[Vector, Vector]]:
    """n and f of every row, at the origin of b; `own`: in the axes of the joint, as in `closure`."""
    rows, a, b, own = ROWS[loop.kind], loop.a.rotation, loop.b.rotation, own or loop.own
    axes = WORLD if len(rows.places) == 3 and not own else a.T
    found = [(zeros(3), axes[i] / size) for i in rows.places]
    if rows.locked:
        found += [(axis, zeros(3)) for axis in (a.T if own else WORLD)]
    elif loop.kind is Universal:
        found += [(cross(b[:, 1], a[:, 0]), zeros(3))]
    elif rows.entries:  # b's z equals a's z, and must stay normal to a's x and y
        found += [(a[:, 1], zeros(3)), (-a[:, 0], zeros(3))]
    return found


def residual(loop: Loop, size: Scalar) -> list[Scalar]:
    """phi of one closure, in the axes of its rows."""
    rows, a, b = ROWS[loop.kind], loop.a.rotation, loop.b.rotation
    away = loop.b.position - loop.a.position
    axes = WORLD if len(rows.places) == 3 and not loop.own else a.T
    found = [dot(axes[i], away) / size for i in rows.places]
    if rows.locked:
        turn = zeros(3)
        for k in range(3):
            turn = turn + 0.5 * cross(a[:, k], b[:, k])
        found += [*(a.T @ turn if loop.own else turn)]
    return found + [dot(a[:, i], b[:, j]) for i, j in rows.entries]


def jacobian(tree: Tree, q: Vector, found: list[Frame], size: Scalar) -> Matrix:
    """J over all velocities, row by row."""
    spans = []
    for link, at, frame in zip(tree.links, tree.joints, found, strict=True):
        angular, linear = link.subspace(link.posture(q[at.q]))
        spans.append((times(frame.rotation, angular), times(frame.rotation, linear)))
    rows = []
    for loop in loops(tree, found):
        for n, f in wrenches(loop, size):
            row = np.zeros(tree.topology.nv, dtype=object)
            for side, chain in ((1.0, loop.on_b), (-1.0, loop.on_a)):
                for k in chain:
                    lever = n + cross(loop.b.position - found[k].position, f)
                    for i, column in enumerate(range(tree.joints[k].v.start, tree.joints[k].v.stop)):
                        entry = side * (dot(lever, spans[k][0][:, i]) + dot(f, spans[k][1][:, i]))
                        row[column] = row[column] + entry  # sections of a beam share its columns
            rows.append(row)
    return np.vstack([np.array(rows, dtype=object).reshape(len(rows), tree.topology.nv), ties.rows(tree)])


def measures(tree: Tree, size: Scalar) -> Vector:
    """Factors for rows in metres that turn gaps into fractions of `size`."""
    out: list[Scalar] = []
    for loop in tree.topology.masked or tree.topology.loops:
        rows = ROWS[loop.joint.type]
        out += [1.0 / size] * len(rows.places) + [1.0] * (3 if rows.locked else len(rows.entries))
    return array([*out, *[1.0] * len(tree.topology.couplings)])


def bias(tree: Tree, found: list[Frame], moving: list[tuple[Vector, Vector]], base: Vector, size: Scalar) -> Vector:
    """gamma: the required J vdot. moving: angular acceleration and acceleration of every link, in its axes, at zero
    vdot with the ground accelerated by `base`.
    """
    ground = zeros(3), base
    out: list[Scalar] = []
    for loop in loops(tree, found):
        seen = []
        for place in loop.places:
            on = GROUND if place.link < 0 else found[place.link]
            lever = relative_pose(place.moves)[1]
            if len(ROWS[loop.kind].places) == 3 and _is_world(on.rotation):
                lever = loop.b.position - on.position  # valid if the loop is closed, as for its rows
            seen.append(at_end(on, lever, *(ground if place.link < 0 else moving[place.link])))
        out += drift(loop, seen[0], seen[1], size)
    return array([*out, *[0.0] * len(tree.topology.couplings)])


def _is_world(axes: Matrix) -> bool:
    return axes.dtype != object and np.array_equal(axes, WORLD)


def at_end(on: Frame, lever: Vector, alpha: Vector, a: Vector) -> tuple[Vector, Vector]:
    """Angular acceleration and acceleration of a point of a link, in world axes; the lever, and the link's alpha and a,
    are in the link's axes.
    """
    return times(on.rotation, alpha), times(on.rotation, a + swing(on.omega, alpha, lever))


def drift(loop: Loop, moving_a: tuple[Vector, Vector], moving_b: tuple[Vector, Vector], size: Scalar) -> list[Scalar]:
    """gamma of one closure, with angular acceleration and acceleration of its frames, in world axes."""
    (alpha_a, acc_a), (alpha_b, acc_b) = moving_a, moving_b
    rows, a, b = ROWS[loop.kind], loop.a, loop.b
    turned = alpha_b - alpha_a
    moved = acc_b - acc_a
    spin_a, spin_b = times(a.rotation, a.omega), times(b.rotation, b.omega)
    spin = spin_b - spin_a
    out: list[Scalar] = []
    if len(rows.places) == 3:
        out += [-x / size for x in (a.rotation.T @ moved if loop.own else moved)]
    elif rows.places:
        # In a's rotating axes: p'' less the terms that are not relative to them.
        away = b.position - a.position
        rate = times(b.rotation, b.velocity) - times(a.rotation, a.velocity) - cross(spin_a, away)
        seen = moved - cross(alpha_a, away) - cross(spin_a, cross(spin_a, away))
        seen = seen - 2.0 * cross(spin_a, rate)
        out += [-dot(a.rotation[:, i], seen) / size for i in rows.places]
    if rows.locked:
        out += [-x for x in (a.rotation.T @ turned if loop.own else turned)]
    elif loop.kind is Universal:
        x, y = a.rotation[:, 0], b.rotation[:, 1]
        normal = cross(y, x)
        swings = 2.0 * dot(cross(spin_a, x), cross(spin_b, y))
        swings = swings + dot(cross(spin_a, cross(spin_a, x)), y) + dot(x, cross(spin_b, cross(spin_b, y)))
        out.append(-(dot(normal, turned) + swings))
    elif rows.entries:
        for n in (a.rotation[:, 1], -a.rotation[:, 0]):
            out.append(-(dot(n, turned) + dot(cross(spin_a, n), spin)))
    return out


def slip(tree: Tree, found: list[Frame], v: Vector, size: Scalar) -> Vector:
    """J v: how fast the ends of every closure separate along its rows, and couplings open."""
    tied = (tie.slip(v) for tie in ties.couplings(tree))
    return array([*(x for loop in loops(tree, found) for x in slipping(loop, size)), *tied])


def slipping(loop: Loop, size: Scalar) -> list[Scalar]:
    """J v of one closure."""
    a, b = loop.a, loop.b
    spin_a, spin_b = times(a.rotation, a.omega), times(b.rotation, b.omega)
    away = times(b.rotation, b.velocity) - times(a.rotation, a.velocity) - cross(spin_a, b.position - a.position)
    return [dot(n, spin_b - spin_a) + dot(f, away) for n, f in wrenches(loop, size)]


def coasting(tree: Tree, q: Vector, v: Vector, base: Vector) -> list[tuple[Vector, Vector]]:
    """Accelerations of every link at zero vdot with the ground accelerated by `base`."""
    seen: list = []
    start = zeros(3), zeros(3), base
    for link, parent, at in zip(tree.links, tree.parents, tree.joints, strict=True):
        omega, alpha, a = start if parent < 0 else seen[parent]
        step = accelerated(link, omega, alpha, a, q[at.q], v[at.v], np.zeros(len(v[at.v])))
        seen.append(step[1:4])
    return [(alpha, a) for _, alpha, a in seen]


def phi(tree: Tree, q: Vector, size: Scalar) -> Vector:
    """The residual of all loops, in the axes of the rows above, and of couplings."""
    found = frames(tree, q, np.zeros(tree.topology.nv))
    tied = (tie.gap(q) for tie in ties.couplings(tree))
    return array([*(x for loop in loops(tree, found) for x in residual(loop, size)), *tied])
