"""Settling: projects states onto their loops by subsystems: the least step that closes them, measured by the inertia.

The least step of the tree's coordinates is I^-1 J^T x for some x at the cuts, just as accelerations are due to
multipliers, so the machinery that keeps accelerations on the loops (`held`) closes them too: x = -(J I^-1 J^T)^-1 phi
for positions, and the same with J v instead of phi for velocities. No coordinates need to be chosen.
"""

from collections.abc import Sequence

import numpy as np

from kempe.dynamics import loops, recursions
from kempe.dynamics.held import Cut, Held, PlacedCut, cuts_of, placed
from kempe.dynamics.kinematics import Frame, frame_along
from kempe.dynamics.recursions import Run, inline
from kempe.dynamics.ties import Tie, couplings
from kempe.dynamics.tree import Link, Tree
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, is_one, larger, zeros

CHORD = 3  # steps that close loops with one elimination


def project(
    tree: Tree, q: Vector, v: Vector, size: Scalar, rows: tuple[int, ...], run: Run = inline,
    locks: Sequence[Tie] = (), skips: float = 0.0, usual: Scalar = 0.0,
) -> tuple[Vector, Vector, Scalar]:  # fmt: skip
    """q and v on the loops, and the largest remaining residual: Newton's method with one elimination (each step gains
    as many digits as the first one needed), then velocities that keep loops closed. Locks come after all `rows`;
    `skips` and `usual` as for `Held`.
    """
    cuts, ties = cuts_of(tree, size, rows, 0.0), [*couplings(tree, rows), *locks]
    q = _each(tree, run, normalized, q)
    held = _held(tree, q, cuts, run, ties, skips, usual)
    for _ in range(CHORD):
        gaps, _ = _gaps(tree, q, cuts, run, ties)
        step = held.accelerations(held.gicm.solve(gaps))
        q = _each(tree, run, advanced, q, step)
    held = _held(tree, q, cuts, run, ties, skips, usual)
    seen = placed(tree, recursions.coasting(tree, q, v, run), v, cuts, run, moving=True)
    slips = np.empty(len(rows) + len(locks), dtype=object)
    for tie in (tie for tie in ties if tie.number is not None):
        slips[tie.number] = tie.slip(v)
    for each in (each for each in cuts if each.numbers):
        states = [(f.rotation, f.position, f.omega, f.velocity) for f in (seen[k] for k in each.links)]
        slips[list(each.numbers)] = run(slip, each.cut, *states[0], *states[1])[0]
    change = held.accelerations(held.gicm.solve(slips))
    slowed = [run(less, None, v[at.v], change[at.v])[0] for at in tree.topology.tree]
    return q, recursions.joined(slowed), _gaps(tree, q, cuts, run, ties)[1][0]


def _each(tree: Tree, run: Run, step, q: Vector, change: Vector | None = None) -> Vector:
    """Applies a step to every link's own coordinates."""
    found = []
    for link, at in ((tree.links[k], tree.joints[k]) for k in tree.own):
        found.append(run(step, link, q[at.q], *([] if change is None else [change[at.v]]))[0])
    return recursions.joined(found)


def _held(
    tree: Tree, q: Vector, cuts: list[PlacedCut], run: Run, ties: Sequence[Tie], skips: float, usual: Scalar
) -> Held:
    """The tree at rest, without gravity or efforts."""
    rest, none = zeros(tree.topology.nv), zeros(3)
    out = recursions.coasting(tree, q, rest, run)
    still = [(none, none)] * len(tree.links)
    efforts = [rest[at.v] for at in tree.joints]
    factors = recursions.factorized(tree, [step[0] for step in out], still, still, efforts, run=run)
    return Held(
        tree, factors, placed(tree, out, rest, cuts, run), still, cuts, run, none, ties, [0.0] * len(ties), skips, usual
    )


def _gaps(tree: Tree, q: Vector, cuts: list[PlacedCut], run: Run, ties: Sequence[Tie]) -> tuple[Vector, Vector]:
    """The residual of the rows that are kept, and the largest of all rows."""
    seen = placed(tree, recursions.coasting(tree, q, zeros(tree.topology.nv), run), zeros(0), cuts, run)
    own = sum(tie.number is not None for tie in ties)
    kept = np.empty(sum(len(each.numbers) for each in cuts) + own, dtype=object)
    most: np.ndarray = zeros(1)
    for tie in ties:
        left = tie.gap(q)
        most = array([larger(most[0], abs(left))])
        if tie.number is not None:
            kept[tie.number] = left
    for each in cuts:
        a, b = (seen[k] for k in each.links)
        kept[list(each.numbers)], most = run(gap, each.cut, a.rotation, a.position, b.rotation, b.position, most)
    return kept, most


# ---- steps -----------------------------------------------------------------------------------------------


def normalized(link: Link, q: Vector) -> tuple[Vector]:
    """The same coordinates with normalized quaternions."""
    return (link.kind.normalized(q),)


def advanced(link: Link, q: Vector, step: Vector) -> tuple[Vector]:
    """Coordinates after a small step against a velocity."""
    return normalized(link, array(x - y for x, y in zip(q, link.kind.rates(q, step), strict=True)))


def less(_, v: Vector, change: Vector) -> tuple[Vector]:
    """Velocities minus a change."""
    return (v - change,)


def gap(cut: Cut, rotation_a: Matrix, position_a, rotation_b: Matrix, position_b, most: Vector) -> tuple[Vector, ...]:
    """The residual of a cut in the rows that are kept, and the largest so far of all its rows and those before."""
    a, b = Frame(rotation_a, position_a, zeros(3), zeros(3)), Frame(rotation_b, position_b, zeros(3), zeros(3))
    found = loops.residual(loops.Loop(cut.kind, frame_along(cut.a, a), frame_along(cut.b, b), cut.own), cut.size)
    found = found if is_one(cut.on) else [cut.on * x for x in found]
    worst = most[0]
    for x in found:
        worst = larger(worst, abs(x))
    return array(found[row] for row in cut.rows), array([worst])


def slip(cut: Cut, *states) -> tuple[Vector]:
    """J v of a cut in the rows that are kept."""
    loop = loops.Loop(cut.kind, frame_along(cut.a, Frame(*states[:4])), frame_along(cut.b, Frame(*states[4:])), cut.own)
    found = loops.slipping(loop, cut.size)
    found = found if is_one(cut.on) else [cut.on * x for x in found]
    return (array(found[row] for row in cut.rows),)
