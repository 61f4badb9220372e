"""Held: how closures act on the tree, in steps that can be recorded, each of one link or one cut.

A row of a closure is a wrench on link b, and its reaction on link a. Its effect on the joints between a link and the
ground, y = U^-1 J^T, takes one sweep from the tips to the base; y gives the entries of J I^-1 J^T and, once the
multipliers are known, the acceleration of each joint (paper 2, eqs. 19-25).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics import beams, loops, recursions
from kempe.dynamics.kinematics import GROUND, Frame, frame_along
from kempe.dynamics.recursions import Factors, Run, accelerate
from kempe.dynamics.rows import ROWS
from kempe.dynamics.ties import Tie
from kempe.dynamics.tree import Link, Tree
from kempe.mechanism.joints import JointKind
from kempe.spatial.moves import Moves, pose_along, relative_pose, twist_along, wrench_back
from kempe.spatial.solving import solve_symmetric
from kempe.spatial.sparse import Sparse
from kempe.spatial.vectors import Matrix, Scalar, Vector, array, cross, dot, is_one, is_zero, scaled, zeros


@dataclass(frozen=True, eq=False)
class Cut:
    """A closure as a step sees it: which of its rows are kept, and moves from the frames of its links to its own.

    size: the length by which rows of positions are divided. pull [1/s]: how fast gaps are closed. own: whether its rows
    are in the axes of the joint. on: 0 if the cut is switched off and its rows demand nothing.
    """

    kind: type[JointKind]
    rows: tuple[int, ...]
    a: Moves
    b: Moves
    size: Scalar
    pull: float
    own: bool
    on: Scalar = 1.0

    @property
    def needs_velocities(self) -> bool:
        """Whether velocities of points matter: if positions are held in some directions only, and to close gaps."""
        return bool(self.pull) or 0 < len(ROWS[self.kind].places) < 3


@dataclass(frozen=True, eq=False)
class PlacedCut:
    """A cut, the links it joins (-1: the ground), and the indices of its rows among all that are kept."""

    cut: Cut
    links: tuple[int, int]
    numbers: tuple[int, ...]


def cuts_of(tree: Tree, size: Scalar, rows: tuple[int, ...], pull: float) -> list[PlacedCut]:
    """The cuts of a tree, with the rows that are kept."""
    found, first = [], 0
    for loop in tree.topology.masked or tree.topology.loops:
        a, b = (tree.joint_place(loop.joint, marker) for marker in (loop.joint.a, loop.joint.b))
        count = loop.joint.rows
        numbers = tuple(n for n, row in enumerate(rows) if first <= row < first + count)
        on = tree.values.get(f"{loop.joint.name}.on", 1.0)
        kept = tuple(rows[n] - first for n in numbers)
        cut = Cut(loop.joint.type, kept, a.moves, b.moves, size, pull, loop.carried, on)
        found.append(PlacedCut(cut, (a.link, b.link), numbers))
        first += count
    return found


def placed(tree: Tree, out: list, v: Vector, cuts: list[PlacedCut], run: Run, moving: bool = False) -> dict[int, Frame]:
    """Frames of the links that cuts hang on, directly or not, and of the ground (-1); `out` comes from
    `recursions.coasting`. moving: with the velocities of their origins; otherwise these are zero.
    """
    chains = {k for placed in cuts for end in placed.links for k in tree.chain(end)}
    found = {-1: GROUND}
    for k in sorted(chains):
        link, above, (posture, omega, *_) = tree.links[k], found[tree.parents[k]], out[k]
        rotation, position = run(pose, link, posture, above.rotation, above.position)
        velocity = zeros(3)
        if moving:
            velocity = run(drawn, link, posture, above.omega, above.velocity, v[tree.joints[k].v])[0]
        found[k] = Frame(rotation, position, omega, velocity)
    return found


class Held:
    """The effect of a tree's cuts and ties on its joints, and the generalized inertia constraint matrix formed from it.

    felt: for each row the links whose joints it acts on. drift: what the rows demand beyond the motion of the tree
    left alone. gicm: J I^-1 J^T, factored.
    """

    def __init__(
        self, tree: Tree, factors: Factors, frames: dict[int, Frame], motion: list, cuts: list[PlacedCut], run: Run,
        base: Vector, ties: Sequence[Tie] = (), drifts: Sequence[Scalar] = (), skips: float = 0.0,
        usual: Scalar = 0.0,
    ):  # fmt: skip
        """`motion`: angular acceleration and acceleration of every link of the tree left alone; `base`: of the ground;
        `drifts`: of the ties, in rows; `skips`, `usual`: as `Sparse` takes them.
        """
        self._tree, self._factors, self._run, self._base = tree, factors, run, base
        self.cuts = cuts = [placed for placed in cuts if placed.numbers]
        tied = [(tie, tie.number, drift) for tie, drift in zip(ties, drifts, strict=True) if tie.number is not None]
        count = sum(len(placed.numbers) for placed in cuts) + len(tied)
        self.felt: list[list[int]] = [[] for _ in range(count)]
        self.drift = np.empty(count, dtype=object)
        self._moved: dict[int, tuple[list[int], Matrix]] = {}  # by link: rows that act on its joint, and D^-1 y of each
        self._bent: dict[tuple[int, int], Vector] = {}  # by beam and row: efforts from the beam's sections
        pulled: dict[int, dict[int, Vector]] = {}  # by link, by row: the wrench at its frame, in its axes
        ground = zeros(3), base
        for placed in cuts:
            ends = [(frames[k], *(ground if k < 0 else motion[k])) for k in placed.links]
            states = [(f.rotation, f.position, f.omega, f.velocity, alpha, a) for f, alpha, a in ends]
            drift, *wrenches = run(apart, placed.cut, *states[0], *states[1])
            self.drift[list(placed.numbers)] = drift
            for k, rows in zip(placed.links, wrenches, strict=True):
                for number, wrench in zip(placed.numbers, rows, strict=True):
                    self._pull(pulled, k, number, wrench)
        for tie, number, drift in tied:
            for each in tie.freedoms:
                held = self._bent.setdefault((each.link, number), zeros(tree.links[each.link].kind.nv).astype(object))
                held[each.freedom] = held[each.freedom] + tie.on * each.factor
                pulled.setdefault(each.link, {})[number] = zeros(6)
            self.drift[number] = drift
        entries: dict[tuple[int, int], Scalar] = {}
        while pulled:
            k = max(pulled)  # links come after those that carry them
            self._hand_on(k, pulled.pop(k), pulled, entries)
        groups = [*(placed.numbers for placed in cuts), *((number,) for _, number, _ in tied)]
        self.gicm = Sparse(entries, groups, run, skips, usual)

    def _pull(self, pulled: dict, k: int, row: int, wrench: Vector) -> None:
        if k < 0 or all(is_zero(x) for x in wrench):
            return
        own = pulled.setdefault(k, {})
        own[row] = self._run(together, None, own[row], wrench)[0] if row in own else wrench

    def _hand_on(self, k: int, wrenches: dict[int, Vector], pulled: dict, entries: dict) -> None:
        """Computes the efforts at a joint, adds their products to the matrix, and passes the rest to the carrying
        link.
        """
        link, factors, rows = self._tree.links[k], self._factors, sorted(wrenches)
        if link.shared:
            self._bend(k, wrenches, pulled)
            return
        if link.kind.nv == 1:
            pivot = factors.pivots[k].reshape(1, 1)
        else:
            pivot = self._run(inertia_felt, link, factors.postures[k], factors.carried[k])[0]
        pairs = [(i, j) for n, i in enumerate(rows) for j in rows[: n + 1]]
        before = _objects([entries.get(pair, 0.0) for pair in pairs])
        given = np.stack([wrenches[row] for row in rows])
        bent = np.stack([self._bent.get((k, row), zeros(link.kind.nv)) for row in rows])
        y, moved, after, left = self._run(feel, link, factors.postures[k], factors.k[k], pivot, given, bent, before)
        felt = [n for n, row in enumerate(y) if not all(is_zero(x) for x in row)]
        for n in felt:
            self.felt[rows[n]].append(k)
        if felt:
            self._moved[k] = [rows[n] for n in felt], moved[felt]
        entries.update((pair, x) for pair, x in zip(pairs, after, strict=True) if not is_zero(x))
        for row, wrench in zip(rows, left, strict=True):
            self._pull(pulled, self._tree.parents[k], row, wrench)

    def _bend(self, k: int, wrenches: dict[int, Vector], pulled: dict) -> None:
        """Passes the whole wrench on a section to its beam, together with the efforts along the beam's coordinates."""
        on = self._tree.parents[k]
        for row, wrench in wrenches.items():
            effort, left = self._run(bend, self._tree.links[k], self._factors.postures[k], wrench)
            known = self._bent.get((on, row))
            self._bent[on, row] = effort if known is None else self._run(together, None, known, effort)[0]
            self._pull(pulled, on, row, left)

    def accelerations(self, lam: Vector) -> Vector:
        """Accelerations of all joints for given multipliers."""
        tree, factors = self._tree, self._factors
        vdot: list = []
        motion: list = []
        for k, parent in enumerate(tree.parents):
            above = (zeros(3), self._base) if parent < 0 else motion[parent]
            rows, moved = self._moved.get(k, ([], zeros(0, tree.links[k].kind.nv)))
            own = vdot[parent] if tree.links[k].shared else factors.d[k]
            given = factors.postures[k], *above, *factors.biases[k], factors.k[k], own
            rates, *moving = self._run(pushed, tree.links[k], *given, moved, lam[rows])
            vdot.append(rates)
            motion.append(moving)
        return recursions.joined(beams.owned(tree, vdot))


def drifts_of(
    tree: Tree, ties: Sequence[Tie], left_alone: list[Vector], q: Vector, v: Vector, pull: float
) -> list[Scalar]:
    """What ties demand beyond the motion of each joint by itself."""
    if not ties:
        return []
    alone = recursions.joined(beams.owned(tree, left_alone))
    return [tie.drift(alone, q, v, pull) for tie in ties]


def _objects(values: list) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


# ---- steps -----------------------------------------------------------------------------------------------


def pose(link: Link, posture: Vector, rotation: Matrix, position: Vector) -> tuple[Matrix, Vector]:
    """Pose of a link from its parent's."""
    return pose_along(link.moves(posture), rotation, position)


def drawn(link: Link, posture: Vector, omega_p: Vector, velocity_p: Vector, v: Vector) -> tuple[Vector]:
    """Velocity of a link's origin, in its axes, from the motion of its parent."""
    velocity = twist_along(link.moves(posture), omega_p, velocity_p)[1]
    return (velocity + link.subspace(posture)[1] @ v,)


def apart(cut: Cut, *states) -> tuple[Vector, Matrix, Matrix]:
    """What the kept rows of a cut demand, and their wrenches on links a and b, at these links' frames and in their
    axes.

    states: rotation, position, omega, velocity, angular acceleration and acceleration of a, and the same of b. If
    positions are held in all directions, each body is pulled at its own point of the cut: the two points coincide while
    the loop is closed, and otherwise this matches the accelerations in `loops.drift`.
    """
    a, b = Frame(*states[:4]), Frame(*states[6:10])
    loop = loops.Loop(cut.kind, frame_along(cut.a, a), frame_along(cut.b, b), cut.own)
    away_a, away_b = relative_pose(cut.a)[1], relative_pose(cut.b)[1]
    motions = loops.at_end(a, away_a, *states[4:6]), loops.at_end(b, away_b, *states[10:])
    drift = loops.drift(loop, *motions, cut.size)
    if cut.pull:
        slips, gaps = loops.slipping(loop, cut.size), loops.residual(loop, cut.size)
        drift = [x - 2 * cut.pull * s - cut.pull**2 * g for x, s, g in zip(drift, slips, gaps, strict=True)]
    if len(ROWS[cut.kind].places) < 3:  # b's point is held along a's own axes
        away_a = a.rotation.T @ (loop.b.position - a.position)
    pulls = loops.wrenches(loop, cut.size)
    if not is_one(cut.on):
        drift = [cut.on * x for x in drift]
        pulls = [(scaled(cut.on, n), scaled(cut.on, f)) for n, f in pulls]
    wrenches = []
    for sign, frame, away in ((-1.0, a, away_a), (1.0, b, away_b)):
        seen = [(times(frame.rotation.T, n), times(frame.rotation.T, f)) for n, f in (pulls[row] for row in cut.rows)]
        wrenches.append(np.stack([np.concatenate([sign * (n + cross(away, f)), sign * f]) for n, f in seen]))
    return array(drift[row] for row in cut.rows), *wrenches


def together(_, one: Vector, other: Vector) -> tuple[Vector]:
    """The sum of two wrenches at one place."""
    return (one + other,)


def inertia_felt(link: Link, posture: Vector, carried: Vector) -> tuple[Matrix]:
    """D of a link."""
    return (recursions.pivot_matrix(link, posture, carried),)


def bend(link: Link, posture: Vector, wrench: Vector) -> tuple[Vector, Vector]:
    """The efforts along a beam's coordinates due to a wrench on one of its sections, and the wrench at its frame."""
    back = wrench_back(link.moves(posture), wrench[:3], wrench[3:])
    return array(_along(link, posture, wrench)), np.concatenate(back)


def _along(link: Link, posture: Vector, wrench: Vector) -> list[Scalar]:
    angular, linear = link.subspace(posture)
    return [dot(s, wrench[:3]) + dot(x, wrench[3:]) for s, x in zip(angular.T, linear.T, strict=True)]


def feel(
    link: Link, posture, k: Matrix, pivot: Matrix, wrenches: Matrix, bent: Matrix, before: Vector
) -> tuple[np.ndarray, ...]:
    """The effect of wrenches on a link, row by row, on its joint: y, and D^-1 y; the lower half of J I^-1 J^T, `before`
    plus their products; and the wrenches left for the carrying link (32, 34 of paper 4). bent: additional efforts
    at the joint, or from sections of a beam.
    """
    angular, linear = link.subspace(posture)
    size = len(pivot)
    rows = zip(wrenches, bent, strict=True)
    y = [[own + more for own, more in zip(_along(link, posture, w), extra, strict=True)] for w, extra in rows]
    if size == 1:
        moved = [[own[0] * (1.0 / pivot[0, 0])] for own in y]
    else:
        moved = [list(solve_symmetric(pivot, array(own)[:, None])[:, 0]) for own in y]
    shares = [
        dot(array(y[i]), array(moved[j])) for i in range(len(y)) for j in range(i + 1)
    ]  #                            (25)
    left = []
    for wrench, own, extra in zip(wrenches, y, bent, strict=True):
        rest = wrench - times(k.T, array(own))
        if all(is_zero(x) for x in extra):
            rest = _without(rest, link, angular, linear)
        left.append(np.concatenate(wrench_back(link.moves(posture), rest[:3], rest[3:])))
    after = array(x + more for x, more in zip(before, shares, strict=True))
    return _table(y, size), _table(moved, size), after, np.stack(left)


def pushed(link: Link, posture, alpha_p, a_p, b_alpha, b_a, k: Matrix, d: Vector, moved: Matrix, lam: Vector):
    """`accelerate`, with the effect of multipliers added."""
    for row, factor in zip(moved, lam, strict=True):
        d = d + array(factor * x for x in row)
    return accelerate(link, posture, alpha_p, a_p, b_alpha, b_a, k, d)


def _table(rows: list[list], width: int) -> Matrix:
    return array(x for row in rows for x in row).reshape(len(rows), width)


def _without(wrench: Vector, link: Link, angular: Matrix, linear: Matrix) -> Vector:
    """The wrench that a joint without a rotor passes on has no component along its axis: makes it an exact zero."""
    wrench = np.array(wrench, dtype=object)
    for column, armature in zip(np.vstack([angular, linear]).T, link.armature, strict=True) if not link.beam else ():
        unit = [i for i in range(6) if not is_zero(column[i])]
        if len(unit) == 1 and is_one(column[unit[0]]) and is_zero(armature):
            wrench[unit[0]] = 0.0
    return array(wrench)
