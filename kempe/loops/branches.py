"""Branches: the ways to close the loops, labelled by the signs of the sines of hinges, found from many starts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import StateError
from kempe.loops.asked import task_of, unwound
from kempe.loops.descent import CLOSED, Task, equations, solve
from kempe.loops.drawn import Pose
from kempe.loops.matrices import of_columns, rank_of
from kempe.loops.starts import anywhere, beside
from kempe.loops.targets import TURN
from kempe.mechanics.state import State
from kempe.mechanism.joints import Revolute

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

DETERMINED = 1e-8  # of the largest singular value: smaller ones count as zero
SAME = 1e-6  # two states closer than this are one assembly
NUDGE = 1e-2  # rad, or sizes: a nudge, to see what can move
LED = 1e-3  # of the nudge: what moves by more did not close where it was
FLAT = 1e-9  # rad: angles this close to zero or half a turn have no sign
FEW = 16  # states, none of them determined, after which none is expected


@dataclass(frozen=True, eq=False)
class Assembly:
    """One way to close the loops: its label, for `assemble(branch=...)`, and the state.

    freedom: how many freedoms remain with the given values; 0 if they determine the state. With folded parts they may
    not: the state is then the one nearest to the drawn pose, and the label has ~ for hinges that can turn.
    """

    label: str
    state: State
    freedom: int = 0


@dataclass(frozen=True, eq=False)
class Left:
    """What given values leave free at a closed state: how many freedoms, and which entries of `Pose.off` move."""

    freedom: int
    moving: np.ndarray


def left_at(pose: Pose, task: Task, q: np.ndarray) -> Left:
    """By rank; if that leaves freedom, also by closing loops again from nearby: a state that closes where it was is
    infinitesimally mobile only."""
    mechanics = pose.mechanics
    still = Left(0, np.zeros(len(pose.names), dtype=bool))
    if not undetermined(mechanics, task, q):
        return still
    rng, found = np.random.default_rng(5), []
    for _ in range(2):
        other, gap = solve(mechanics, task, beside(mechanics, task, q, NUDGE, rng))
        moved = np.abs(pose.between(q, other))
        if gap <= CLOSED and moved.max(initial=0.0) > LED * NUDGE:
            found.append((undetermined(mechanics, task, other), moved > LED * NUDGE))
    return Left(min(n for n, _ in found), np.any([moving for _, moving in found], axis=0)) if found else still


def undetermined(mechanics: "Mechanics", task: Task, q: np.ndarray) -> int:
    """The number of free directions at a state, by rank."""
    columns = of_columns(equations(mechanics, task, q)[1], task.free & ~mechanics.bending)
    return columns.shape[1] - rank_of(columns, DETERMINED)


def assemblies(mechanics: "Mechanics", values: Mapping, starts: int = 128) -> tuple[Assembly, ...]:
    """See `Model.assemblies`."""
    task, rng = task_of(mechanics, values, None), np.random.default_rng(1876)
    pose = Pose(mechanics, task.q)
    found: list[tuple[np.ndarray, Left]] = []
    for k in range(starts):
        q, gap = solve(mechanics, task, anywhere(mechanics, task, rng) if k else task.q)
        if gap > CLOSED:
            continue
        left = left_at(pose, task, q)
        if not any(_one(pose, (q, left), other) for other in found):
            found.append((q, left))
        if len(found) == FEW and all(each.freedom for _, each in found):
            break
    if any(not _bent(mechanics, q) for q, _ in found):
        found = [each for each in found if not _bent(mechanics, each[0])]
    fewest = min((left.freedom for _, left in found), default=0)
    if fewest:
        given = ", ".join(task.given) or "nothing"
        raise StateError(
            f"assemblies: with {given} given, {fewest} freedoms are left; give values for as many more joints"
        )
    states = [pose.slid(task, q) if left.freedom else q for q, left in found]
    states = [State(mechanics, unwound(mechanics, q, task.q), np.zeros(mechanics.nv)) for q in states]
    turning = [{n for n, moves in zip(pose.names, left.moving, strict=True) if moves} for _, left in found]
    labels = [label_of(mechanics, state, names) for state, names in zip(states, turning, strict=True)]
    unique = [
        label if labels.count(label) == 1 else f"{label} #{labels[:k].count(label) + 1}"
        for k, label in enumerate(labels)
    ]
    return tuple(
        Assembly(label, state, left.freedom) for label, state, (_, left) in zip(unique, states, found, strict=True)
    )


def _bent(mechanics: "Mechanics", q: np.ndarray) -> bool:
    """Whether loops close only because beams bend."""
    return bool(mechanics.difference(mechanics.neutral(), q)[mechanics.bending].any())


def _one(pose: Pose, one: tuple[np.ndarray, Left], other: tuple[np.ndarray, Left]) -> bool:
    """Whether two states are the same, apart from what can move at both."""
    (a, left), (b, right) = one, other
    if left.freedom != right.freedom or (left.moving != right.moving).any():
        return False
    return bool(np.abs(pose.between(a, b))[~left.moving].max(initial=0.0) <= SAME)


def hinges(mechanics: "Mechanics") -> list[str]:
    """All hinges, cut or not."""
    tree = [t.joint for t in mechanics.topology.tree]
    return [
        joint.name for joint in (*tree, *(loop.joint for loop in mechanics.topology.loops)) if joint.type is Revolute
    ]


def leans(angle: float) -> bool:
    """Whether the sine of an angle is positive or rounding only; computed without the sine."""
    rest = angle % TURN
    return rest <= 0.5 * TURN + FLAT or rest >= TURN - FLAT


def label_of(mechanics: "Mechanics", state: State, turning: Collection[str] = ()) -> str:
    """The signs of the sines of all hinges, with ~ for those that turn."""
    signs = ("~" if name in turning else "+" if leans(float(state[name])) else "-" for name in hinges(mechanics))
    return " ".join(f"{name}{sign}" for name, sign in zip(hinges(mechanics), signs, strict=True)) or "only"


def signs_of(mechanics: "Mechanics", branch) -> dict[str, int]:
    """The signs that a branch specifies, checked."""
    if branch is None:
        return {}
    if not isinstance(branch, Mapping):
        raise StateError("branch takes a label of assemblies(...), or a dict such as {'C': -1}")
    for name, sign in branch.items():
        if name not in hinges(mechanics) or sign not in (-1, 1):
            raise StateError(
                f"branch: {name!r}: {sign!r} is no hinge with a sign; hinges are {', '.join(hinges(mechanics))}"
            )
    return dict(branch)


def is_on_branch(mechanics: "Mechanics", q: np.ndarray, signs: Mapping[str, int]) -> bool:
    """Whether hinges have these signs."""
    if not signs:
        return True
    state = State(mechanics, q, np.zeros(mechanics.nv))
    return all(leans(float(state[name])) == (sign > 0) for name, sign in signs.items())
