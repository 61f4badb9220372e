"""Assembly: states with all loops closed, from given joint values, on the requested branch.

Problem. Find q with phi(q) = 0 and some coordinates given, of joints in the tree or of joints that were cut.

Must. Closed to rounding, within limits, never a false solution (a reversed axis, a weld half a turn off). The same
question has the same answer. If there is none, say which loop stays open, by how much, and which value is out of reach.

Numbers in files are rounded, so redundant constraints contradict each other slightly: if nothing closes to rounding but
something closes to a ten-millionth of the size, return that with a warning. Likewise return the drawn pose with a
warning if it is beyond limits and nothing within them closes.

Should. Stay near the requested pose, or else near the drawn one.

Discussion. Descents start from the requested pose, then from poses at growing distances, then from anywhere (`starts`).
If nothing says which assembly is meant, several are found and the one nearest to the drawn pose is taken (`drawn`).
Values that determine a state are meant to do so: folded bars can move where others cannot, so the nearest state without
freedom is preferred, unless it is much farther away.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.sums import norm
from kempe.errors import NotClosed, StateError
from kempe.loops.asked import task_of, unwound
from kempe.loops.branches import assemblies, hinges, is_on_branch, left_at, signs_of
from kempe.loops.descent import (
    CLOSED,
    NEARLY,
    Task,
    across,
    gap_at,
    solve,
)
from kempe.loops.drawn import Pose
from kempe.loops.limits import beyond_limits
from kempe.loops.matrices import closure_at, least, of_columns, stacked
from kempe.loops.refusals import why_not
from kempe.loops.starts import NEAR, attempts
from kempe.loops.targets import TURN, measures
from kempe.mechanics.state import State

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

WISHES = 16  # attempts to find a state that suits `near`
CLEARLY = 0.05  # rad, or sizes: this close to `near` is close enough; another assembly must be twice as close
ENOUGH = 0.3  # rad, or sizes over all joints: this close to the drawn pose, no nearer assembly is searched for
SAME = 1e-6  # states this close are the same
EQUALLY = 1e-6  # of the distance: states this equal in distance tie
SLID = 100  # closed states times velocities: how many are moved on to the nearest point of their branch
FOLDED = 3.0  # how many times farther a determined state may be and still win over one with freedom
FAR = 2.6  # rad, or sizes: warn if a joint moves farther than this from the drawn pose
LONG = 150  # velocities of a tree, above which the first state found is taken
ROUNDED = 4  # states closed up to rounded numbers, after which no better one is expected


def assemble(mechanics: "Mechanics", values: Mapping, near, rates: Mapping, branch) -> State:
    """See `Model.assemble`."""
    task = task_of(mechanics, values, near)
    if isinstance(branch, str):
        found = assemblies(mechanics, values)
        for each in found:
            if each.label == branch:
                return _moving(mechanics, each.state.q, rates)
        labels = ", ".join(each.label for each in found) or "none"
        raise NotClosed(f"there is no assembly {branch!r} with these values; found were: {labels}")
    signs = signs_of(mechanics, branch)
    free = not near and 0 < mechanics.nv <= LONG  # then choose the one nearest to the drawn pose
    found = _found(mechanics, task, signs, free)
    if free and found.closed:
        pose = Pose(mechanics, task.q)
        q = _nearest(pose, task, found.closed)
        joint, far, words = pose.farthest(q)
        if far > FAR and not signs:
            warnings.warn(
                f"{mechanics.mechanism.name!r} closes far from how it is drawn: {joint} moves by {words}. "
                "If another way to close is meant, say near= or branch=; assemblies(...) lists them",
                stacklevel=3,
            )
        return _moving(mechanics, q, rates)
    if found.closed:
        return _moving(mechanics, _wished(mechanics, task, values, near, found.closed[0], signs), rates)
    drawn = mechanics.neutral()
    if not values and near is None and not signs and gap_at(mechanics, drawn) <= CLOSED:
        warnings.warn(
            f"{mechanics.mechanism.name!r} is drawn beyond limits, with {beyond_limits(mechanics, drawn)}", stacklevel=3
        )
        return _moving(mechanics, drawn, rates)
    if found.nearly is not None:
        gap = found.nearly[1] * mechanics.equations.closure_size
        what = "as where numbers are rounded: constraints that repeat others contradict them by that much"
        warnings.warn(f"the loops of {mechanics.mechanism.name!r} close to {gap:.2g} m only, {what}", stacklevel=3)
        return _moving(mechanics, found.nearly[0], rates)
    raise NotClosed(_refused(mechanics, task, signs, found))


# ---- choosing --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Found:
    """Closed states on the requested branch; the best nearly closed one; whether others are off the branch; the state
    with the smallest gap."""

    closed: list[np.ndarray]
    nearly: tuple[np.ndarray, float] | None
    off_branch: bool
    best: tuple[np.ndarray, float]


def _found(mechanics: "Mechanics", task: Task, signs: Mapping[str, int], choose: bool) -> _Found:
    """Runs attempts up to the first closed state or, if there is one to choose, up to a few."""
    found, rounded = _Found([], None, False, (task.q, np.inf)), 0
    for number, (q, gap) in enumerate(attempts(mechanics, task)):
        if gap < found.best[1]:
            found.best = q, gap
        if gap <= NEARLY:
            q = unwound(mechanics, q, task.q)
            if not is_on_branch(mechanics, q, signs):
                found.off_branch = True
            elif gap <= CLOSED:
                found.closed.append(q)
            else:
                rounded += 1
                found.nearly = min(found.nearly or (q, gap), (q, gap), key=lambda each: each[1])
        if found.closed and (not choose or number >= NEAR or (not number and _enough(mechanics, task, q))):
            break
        if rounded >= ROUNDED and number >= NEAR and not found.closed:
            break
    return found


def _enough(mechanics: "Mechanics", task: Task, q: np.ndarray) -> bool:
    """Whether the first state found is so close to the start that no other need be searched for."""
    pose, way = Pose(mechanics, task.q), norm(mechanics.difference(task.q, q) / mechanics.equations.steps)
    if way > ENOUGH or (way > SAME and pose.distance(q) > ENOUGH):
        return False
    return not task.given or not left_at(pose, task, q).freedom


def _nearest(pose: Pose, task: Task, found: list[np.ndarray]) -> np.ndarray:
    """The closed state nearest to a pose; among ties, the one whose first hinges have positive angles."""
    ways: list[tuple[np.ndarray, float]] = []
    most, begun = max(SLID // pose.mechanics.nv, 2), []
    for q in sorted(found, key=pose.distance):
        if all(np.abs(pose.between(q, other)).max(initial=0.0) > SAME for other in begun):
            begun.append(q)
            q = unwound(pose.mechanics, pose.slid(task, q), task.q) if len(begun) <= most else q
            ways.append((q, pose.distance(q)))
    best = min(ways, key=lambda way: way[1])
    if task.given and len(ways) > 1 and left_at(pose, task, best[0]).freedom:
        near = [way for way in ways if way[1] <= FOLDED * best[1] and not left_at(pose, task, way[0]).freedom]
        ways = near or ways
        best = min(ways, key=lambda way: way[1])
    equal = [q for q, x in ways if x <= (1 + EQUALLY) * best[1]]
    return max(equal, key=lambda q: _turned(pose.mechanics, q)) if len(equal) > 1 else best[0]


def _turned(mechanics: "Mechanics", q: np.ndarray) -> list[bool]:
    """Which hinges have positive angles, in the order they were written."""
    state, there = State(mechanics, q, np.zeros(mechanics.nv)), set(hinges(mechanics))
    return [bool(state[joint.name] > 0) for joint in mechanics.mechanism.joints if joint.name in there]


def _refused(mechanics: "Mechanics", task: Task, signs: Mapping[str, int], found: _Found) -> str:
    """Why no assembly was found."""
    if found.off_branch:
        wanted = ", ".join(f"{name} {'+' if sign > 0 else '-'}" for name, sign in signs.items())
        return f"the loops close, but on no branch with {wanted}; assemblies(...) lists those there are"
    loose = replace(task, bounded=False)
    for q, gap in islice(attempts(mechanics, loose), NEAR) if mechanics.limits else ():
        if gap <= NEARLY:
            return (
                f"the loops close only beyond limits, as with {beyond_limits(mechanics, unwound(mechanics, q, task.q))}"
            )
    return why_not(mechanics, task, found.best[0])


# ---- joints named by near --------------------------------------------------------------------------------


def _wished(
    mechanics: "Mechanics", task: Task, values: Mapping, near, q: np.ndarray, signs: Mapping[str, int]
) -> np.ndarray:
    """The closed state q, or another that is clearly closer to the joints named in `near`: unnamed joints may start far
    off and lead to another assembly."""
    slices = mechanics.slices("v")
    named = {n: x for n, x in near.items() if n in slices and n not in values} if isinstance(near, Mapping) else {}
    own = _off(mechanics, task, named, q) if named else 0.0
    if own <= CLEARLY:
        return q
    held, best = task_of(mechanics, {**values, **named}, State(mechanics, task.q, task.q)), (task.q, np.inf)
    for found in islice(attempts(mechanics, held), WISHES):
        best = min(best, found, key=lambda each: each[1])
        if best[1] <= CLOSED:
            break
    other, gap = solve(mechanics, task, best[0])
    other = unwound(mechanics, other, task.q)
    good = gap <= CLOSED and is_on_branch(mechanics, other, signs) and _off(mechanics, task, named, other) < 0.5 * own
    return other if good else q


def _off(mechanics: "Mechanics", task: Task, named: Mapping, q: np.ndarray) -> float:
    """Largest distance of the named joints from their starting values, in radians or sizes of the mechanism."""
    slices, step = mechanics.slices("v"), mechanics.difference(task.q, q)
    for t in mechanics.topology.tree:
        for k, unit in zip(range(t.v.start, t.v.stop), t.joint.type.units, strict=True):
            step[k] = (step[k] + np.pi) % TURN - np.pi if unit == "rad" else step[k] / mechanics.equations.closure_size
    return max(float(np.abs(step[slices[n]]).max(initial=0.0)) for n in named)


# ---- rates -----------------------------------------------------------------------------------------------


def _moving(mechanics: "Mechanics", q: np.ndarray, rates: Mapping) -> State:
    """The state with velocities that keep loops closed; unspecified velocities are the least ones consistent with the
    rest."""
    slices, free = mechanics.slices("v"), np.ones(mechanics.nv, dtype=bool)
    outside = {n: x for n, x in rates.items() if n in mechanics.cut or (n not in slices and "." in n)}
    inside = mechanics.state(rates={n: x for n, x in rates.items() if n not in outside}).v
    if not rates or not (mechanics.topology.constrained or outside):
        return State(mechanics, q, inside)
    for name in (n for n in rates if n not in outside):
        free[slices[name]] = False
    phi, jacobian, _ = closure_at(mechanics, q)
    rows, right = [], [np.zeros(len(phi))]
    for name, rate in outside.items():
        rows += [measure.matrix(q) for measure in measures(mechanics, name, "rates")]
        right.append(np.atleast_1d(np.asarray(rate, dtype=float)))
        if len(right[-1]) != sum(len(row) for row in rows) - sum(len(x) for x in right[1:-1]):
            raise StateError(f"rates: {name!r} takes as many numbers as it has velocities, not {rate!r}")
    matrix = stacked(jacobian, rows)
    wanted, v, off = np.concatenate(right) - across(matrix, inside), inside.copy(), np.inf
    for some in (free & ~mechanics.bending, free):  # beams stay at rest if possible
        if off > 1e-9 * max(1.0, np.abs(wanted).max(initial=0.0)):
            columns = of_columns(matrix, some)
            v[some] = least(columns, wanted)
            off = np.abs(across(columns, v[some]) - wanted).max(initial=0.0)
    if off > 1e-9 * max(1.0, np.abs(wanted).max(initial=0.0)):
        raise NotClosed(
            f"these rates ({', '.join(rates)}) cannot go together: loops would open at {off:.3g} per second"
        )
    return State(mechanics, q, v)
