"""Assembly: states with all loops closed, from given joint values, on the branch that is asked for.

Problem. Find q with phi(q) = 0 and some coordinates given, of joints in the tree or of joints that were cut.

Must. Closed to rounding, never by a false solution (an axis turned around, half a turn of a weld). The same question
has the same answer. Where there is none, say which loop stays open, by how much, and which value is out of reach.

Numbers of files are rounded, and constraints that repeat others then contradict them by a little: where nothing closes
to rounding, but to a ten-millionth of the size, that is given with a warning. So are bodies as they are drawn, where
that is beyond limits and nothing within them closes.

Should. Stay near what was asked for; find all branches.

Discussion. Levenberg and Marquardt's method on the free velocities, from the nearest start first, then from others
spread over all coordinates. Redundant rows do no harm: steps are those of least length.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from kempe.analyze.branches import is_on_branch, label_of, signs_of
from kempe.analyze.given import TURN, Measure, measures
from kempe.analyze.limits import beyond_limits, keeps_limits, within_limits
from kempe.analyze.matrices import Matrix, closure_at, damped, least, of_columns, rank_of, stacked, tied
from kempe.errors import NotClosed, StateError
from kempe.mechanism.joints import Helical
from kempe.model.model import Model
from kempe.model.state import State

CLOSED = 1e-13  # largest residual of a closed state, lengths over the mechanism's size
NEARLY = 1e-7  # the same of one that is as closed as rounded numbers let it be
ITERATIONS = 80
STARTS, WISHES = 64, 16  # tried to close loops, and to find what suits wishes
CLEARLY = 0.05  # rad, or sizes: what is as near to wishes is near enough; another way to close must be twice as near
DETERMINED = 1e-8  # of the largest singular value: values that are less determine nothing
SAME = 1e-6  # two states closer than this are one assembly


@dataclass(frozen=True, eq=False)
class Assembly:
    """One way to close the loops: its label, by which `assemble(branch=...)` finds it again, and the state."""

    label: str
    state: State


@dataclass(frozen=True, eq=False)
class Task:
    """What is given: q with the values put in, which velocities stay zero, and what is measured, with its targets; and
    parameters, where they are not the mechanism's own.

    groups: of velocities that shall be equal, a number for each velocity; none where each is by itself.
    """

    q: np.ndarray
    free: np.ndarray
    measured: tuple[tuple[Measure, np.ndarray], ...]
    given: tuple[str, ...]
    p: np.ndarray | None = None
    groups: np.ndarray | None = None

    def step(self, jacobian: Matrix, error: np.ndarray, damping: float) -> np.ndarray:
        """Downhill by free velocities; of those that do it, the least."""
        if self.groups is not None:
            return damped(tied(jacobian, self.groups), -error, damping)[self.groups]
        found = np.zeros(len(self.free))
        found[self.free] = damped(of_columns(jacobian, self.free), -error, damping)
        return found


def assemble(model: Model, values: Mapping, near, rates: Mapping, branch) -> State:
    """See `Model.assemble`."""
    task = _task(model, values, near)
    if isinstance(branch, str):
        for found in assemblies(model, values):
            if found.label == branch:
                return _moving(model, found.state.q, rates)
        labels = ", ".join(found.label for found in assemblies(model, values)) or "none"
        raise NotClosed(f"there is no assembly {branch!r} with these values; found were: {labels}")
    signs = signs_of(model, branch)
    best = fit = task.q, np.inf  # of all, and of those that keep limits, on the branch that is asked for
    for start in islice(_starts(model, task), STARTS):
        q, gap = solve(model, task, start)
        q = _unwound(model, q, task.q)
        best = min(best, (q, gap), key=lambda found: found[1])
        if gap < fit[1] and keeps_limits(model, task.given, q) and is_on_branch(model, q, signs):
            fit = q, gap
        if fit[1] <= CLOSED:
            other = _as_wished(model, task, values, near)
            if other is not None and is_on_branch(model, other, signs):
                own, others = (_off(model, task, near, q) for q in (fit[0], other))
                return _moving(model, other if others < 0.5 * own and own > CLEARLY else fit[0], rates)
            return _moving(model, fit[0], rates)
    drawn = model.neutral()
    if not values and near is None and not signs and _gap(model, drawn) <= CLOSED:
        warnings.warn(
            f"{model.mechanism.name!r} is drawn beyond limits, with {beyond_limits(model, drawn)}", stacklevel=3
        )
        return _moving(model, drawn, rates)
    if fit[1] <= NEARLY:
        gap = fit[1] * model.equations.closure_size
        what = "as where numbers are rounded: constraints that repeat others contradict them by that much"
        warnings.warn(f"the loops of {model.mechanism.name!r} close to {gap:.2g} m only, {what}", stacklevel=3)
        return _moving(model, fit[0], rates)
    if best[1] <= NEARLY and not signs:
        raise NotClosed(f"the loops close only beyond limits, as with {beyond_limits(model, best[0])}")
    if best[1] <= NEARLY:
        wanted = ", ".join(f"{name} {'+' if sign > 0 else '-'}" for name, sign in signs.items())
        raise NotClosed(f"the loops close, but on no branch with {wanted}; assemblies(...) lists those there are")
    raise NotClosed(_why_not(model, task, best[0]))


def _gap(model: Model, q: np.ndarray) -> float:
    """The largest residual at a state; infinite where loops are closed the wrong way."""
    phi, _, upright = closure_at(model, q)
    return float(np.abs(phi).max(initial=0.0)) if (upright > 0).all() else np.inf


def assemblies(model: Model, values: Mapping, starts: int = 128) -> tuple[Assembly, ...]:
    """See `Model.assemblies`."""
    task = _task(model, values, None)
    found: list[np.ndarray] = []
    for start in islice(_starts(model, task), starts):
        q, gap = solve(model, task, start)
        if gap > CLOSED or not keeps_limits(model, task.given, q):
            continue
        if not found:
            _check_determined(model, task, q)
        if all(_distance(model, q, other) > SAME for other in found):
            found.append(_unwound(model, q, task.q))
    states = [State(model, q, np.zeros(model.nv)) for q in found]
    labels = [label_of(model, state) for state in states]
    unique = [
        label if labels.count(label) == 1 else f"{label} #{labels[:k].count(label) + 1}"
        for k, label in enumerate(labels)
    ]
    return tuple(Assembly(label, state) for label, state in zip(unique, states, strict=True))


# ---- solving ---------------------------------------------------------------------------------------------


def solve(model: Model, task: Task, start: np.ndarray) -> tuple[np.ndarray, float]:
    """The closed q nearest to a start, downhill, and the largest entry that is left; infinite for a false solution.
    Beams are bent where loops do not close otherwise."""
    if model.bending.any():
        q, gap = _downhill(model, replace(task, free=task.free & ~model.bending), start)
        if gap <= CLOSED:
            return q, gap
    return _downhill(model, task, start)


def _as_wished(model: Model, task: Task, values: Mapping, near) -> np.ndarray | None:
    """A closed state from where loops close, or come nearest to it, with all joints that `near` names as it has them:
    what nobody has named may be far from there, and lead to another way to close."""
    slices = model.slices("v")
    named = {n: x for n, x in near.items() if n in slices and n not in values} if isinstance(near, Mapping) else {}
    if not named:
        return None
    held, best = _task(model, {**values, **named}, State(model, task.q, task.q)), (task.q, np.inf)
    for start in islice(_starts(model, held), WISHES):
        best = min(best, solve(model, held, start), key=lambda found: found[1])
        if best[1] <= CLOSED:
            break
    q, gap = solve(model, task, best[0])
    return _unwound(model, q, task.q) if gap <= CLOSED and keeps_limits(model, task.given, q) else None


def _off(model: Model, task: Task, near: Mapping, q: np.ndarray) -> float:
    """How far the joints that `near` names are from what it wishes, in radians or sizes of the mechanism."""
    slices, step = model.slices("v"), model.difference(task.q, q)
    for t in model.topology.tree:
        for k, unit in zip(range(t.v.start, t.v.stop), t.joint.type.units, strict=True):
            step[k] = (step[k] + np.pi) % TURN - np.pi if unit == "rad" else step[k] / model.equations.closure_size
    return max(float(np.abs(step[slices[n]]).max(initial=0.0)) for n in near if n in slices)


def _downhill(model: Model, task: Task, start: np.ndarray) -> tuple[np.ndarray, float]:
    q, damping = start, 1e-3
    error, jacobian, upright = _equations(model, task, q)
    for _ in range(ITERATIONS):
        size = float(error @ error)
        if not len(error) or np.abs(error).max() <= 0.1 * CLOSED:
            break
        step = task.step(jacobian, error, damping)
        trial = model.integrate(q, step)
        changed = _equations(model, task, trial)
        if float(changed[0] @ changed[0]) < size:
            q, (error, jacobian, upright) = trial, changed
            damping = max(damping * 0.1, 1e-12)
        elif damping > 1e6 or np.abs(step).max() < 1e-16:
            break
        else:
            damping *= 10
    gap = float(np.abs(error).max(initial=0.0))
    return q, gap if (upright > 0).all() else np.inf


def _equations(model: Model, task: Task, q: np.ndarray) -> tuple[np.ndarray, Matrix, np.ndarray]:
    phi, jacobian, upright = closure_at(model, q, task.p)
    off = [measure.off(q, target, task.p) for measure, target in task.measured]
    rows = [measure.matrix(q, task.p) for measure, _ in task.measured]
    return np.concatenate([phi, *off]), stacked(jacobian, rows), upright


def _task(model: Model, values: Mapping, near) -> Task:
    start = model.neutral()
    if isinstance(near, State):
        start = np.array(near.q, dtype=float)
    elif near:
        inside, aims = _parted(model, near)
        start = model.state(inside).q
        # What nobody has named goes where joints that were cut, and places, come nearest to what they are wished to be,
        # the named joints staying where they are.
        slices = model.slices("v")
        named = {n: x for n, x in {**near, **values}.items() if n in slices}
        placed = _task(model, named | aims, State(model, start, start)) if aims else None
        if placed is not None and placed.free.any():
            start = _unwound(model, solve(model, placed, placed.q)[0], start)
    inside, outside = _parted(model, values)
    placed = model.state(inside)
    q, free = within_limits(model, start), np.ones(model.nv, dtype=bool)
    slices_q, slices_v = model.slices("q"), model.slices("v")
    for name in inside:
        q[slices_q[name]] = placed.q[slices_q[name]]
        if name not in slices_v:
            raise StateError(f"assemble: give all coordinates of {name.split('.')[0]!r} together, not {name!r} alone")
        free[slices_v[name]] = False
    measured = [pair for name, value in outside.items() for pair in _aimed(model, name, value)]
    return Task(q, free, tuple(measured), tuple(values))


def _parted(model: Model, values: Mapping) -> tuple[dict, dict]:
    """Values of coordinates of the tree, and of what is measured."""
    if not isinstance(values, Mapping):
        raise StateError(f"assemble: give a dict by joint name, not {type(values).__name__}")
    tree = model.slices("q")
    outside = {n: x for n, x in values.items() if n in model.cut or (n not in tree and "." in n)}
    for name in values:
        if name not in tree and name not in outside:
            raise StateError(f"assemble: there is no joint {name!r}; there are {', '.join(model.joint_names)}")
    return {n: x for n, x in values.items() if n not in outside}, outside


def _aimed(model: Model, name: str, value) -> list[tuple[Measure, np.ndarray]]:
    found = measures(model, name, "assemble")
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError) as error:
        raise StateError(f"assemble: {name!r} is {value!r}, which is no number (30 * kp.deg is one)") from error
    width = sum(measure.width for measure in found)
    if numbers.shape != (width,) or not np.isfinite(numbers).all():
        raise StateError(f"assemble: {name!r} takes {width} finite numbers, not {value!r}")
    return list(zip(found, np.split(numbers, np.cumsum([m.width for m in found])[:-1]), strict=True))


def _starts(model: Model, task: Task):
    """The start that was asked for, then others spread over all free coordinates, always the same ones."""
    yield task.q
    rng = np.random.default_rng(1876)
    size = model.equations.closure_size
    while True:
        away = model.random_state(int(rng.integers(1 << 31))).q
        q = task.q.copy()
        for t in model.topology.tree:
            if (task.free & ~model.bending)[t.v].any():
                scale = np.array([1.0 if unit == "rad" else size for unit in _q_units(t.joint.type)])
                q[t.q] = away[t.q] * scale
        for limit in model.limits:  # spread over the whole way between limits
            if limit.name not in task.given and np.isfinite(limit.high - limit.low):
                q[limit.q] = rng.uniform(limit.low, limit.high)
        yield q


def _q_units(kind) -> tuple[str, ...]:
    return kind.units if len(kind.q_names) == len(kind.units) else ("rad",) * 4 + kind.units[3:]


def _unwound(model: Model, q: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The same state with angles less than half a turn from those of another; those that couplings hold count turns,
    and stay."""
    out, topology = q.copy(), model.topology
    counted = {k for each in (*topology.couplings, *topology.sprung) for k in each.q}
    for t in model.topology.tree:
        kind = t.joint.type
        if len(kind.q_names) != len(kind.units) or kind is Helical:
            continue
        for k, unit in zip(range(t.q.start, t.q.stop), kind.units, strict=True):
            if unit == "rad" and k not in counted:
                out[k] -= TURN * np.round((q[k] - near[k]) / TURN)
    return out


def _distance(model: Model, a: np.ndarray, b: np.ndarray) -> float:
    """Between two states, angles by the shorter way round."""
    step = model.difference(a, b)
    units = [unit for t in model.topology.tree for unit in t.joint.type.units]
    turning = np.array([unit == "rad" for unit in units], dtype=bool)
    step[turning] = (step[turning] + np.pi) % TURN - np.pi
    return float(np.abs(step).max(initial=0.0))


# ---- rates, and what stands in the way -------------------------------------------------------------------


def _moving(model: Model, q: np.ndarray, rates: Mapping) -> State:
    """The state with velocities that keep loops closed; those that nothing says are the least that fit the others."""
    slices, free = model.slices("v"), np.ones(model.nv, dtype=bool)
    outside = {n: x for n, x in rates.items() if n in model.cut or (n not in slices and "." in n)}
    inside = model.state(rates={n: x for n, x in rates.items() if n not in outside}).v
    if not rates or not (model.topology.constrained or outside):
        return State(model, q, inside)
    for name in (n for n in rates if n not in outside):
        free[slices[name]] = False
    phi, jacobian, _ = closure_at(model, q)
    rows, right = [], [np.zeros(len(phi))]
    for name, rate in outside.items():
        rows += [measure.matrix(q) for measure in measures(model, name, "rates")]
        right.append(np.atleast_1d(np.asarray(rate, dtype=float)))
        if len(right[-1]) != sum(len(row) for row in rows) - sum(len(x) for x in right[1:-1]):
            raise StateError(f"rates: {name!r} takes as many numbers as it has velocities, not {rate!r}")
    matrix = stacked(jacobian, rows)
    wanted, v, off = np.concatenate(right) - matrix @ inside, inside.copy(), np.inf
    for some in (free & ~model.bending, free):  # beams keep still, if they can
        if off > 1e-9 * max(1.0, np.abs(wanted).max(initial=0.0)):
            columns = of_columns(matrix, some)
            v[some] = least(columns, wanted)
            off = np.abs(columns @ v[some] - wanted).max(initial=0.0)
    if off > 1e-9 * max(1.0, np.abs(wanted).max(initial=0.0)):
        raise NotClosed(
            f"these rates ({', '.join(rates)}) cannot go together: loops would open at {off:.3g} per second"
        )
    return State(model, q, v)


def _check_determined(model: Model, task: Task, q: np.ndarray) -> None:
    _, jacobian, _ = _equations(model, task, q)
    columns = of_columns(jacobian, task.free & ~model.bending)
    left = columns.shape[1] - rank_of(columns, DETERMINED)
    if left:
        given = ", ".join(task.given) or "nothing"
        raise StateError(
            f"assemblies: with {given} given, {left} freedoms are left; give values for as many more joints"
        )


def _why_not(model: Model, task: Task, q: np.ndarray) -> str:
    """Which loop stays open, by how much, and which of the given values is out of reach."""
    phi, start, parts = model.closure(q)[0] * model.equations.closure_size, 0, []
    for loop in model.topology.loops:
        rows = loop.joint.rows
        gap = float(np.abs(phi[start : start + rows]).max(initial=0.0))
        if gap > 1e-9:
            parts.append(f"loop {' - '.join(loop.around)} stays open by {gap:.3g} m at {loop.joint.name}")
        start += rows
    size = model.equations.closure_size  # which the residual of a coupling is not by
    for each, left in zip(model.topology.couplings, phi[start:] / size, strict=True):
        if abs(left) > 1e-9:
            parts.append(f"coupling {each.coupling.name} ({each.coupling}) is off by {left * each.coupling.size:.3g}")
    text = "cannot be assembled: " + ("; ".join(parts) or "it closes only the wrong way round")
    if not task.given:
        return text
    freed = Task(q, np.ones(model.nv, dtype=bool), (), ())
    rng = np.random.default_rng(7)
    for size in (0.0, 1e-3, 1e-2, 0.1, 0.3):  # where loops are stretched out, a push to the side helps
        reached, gap = solve(model, freed, model.integrate(q, size * rng.normal(size=model.nv)))
        if gap <= CLOSED:
            break
    else:
        return (
            f"{text}; it closed at no pose that was tried, so look at lengths, and where its joints are on its bodies"
        )
    state = State(model, _unwound(model, reached, task.q), np.zeros(model.nv))
    near = ", ".join(f"{name} = {_shown(state[name])}" for name in task.given)
    return f"{text}; close to what was given it closes with {near}"


def _shown(x) -> str:
    return f"{x:.6g}" if np.ndim(x) == 0 else "(" + ", ".join(f"{each:.6g}" for each in x) + ")"
