"""Subsystems: inverse dynamics one subsystem at a time, each as soon as it is determinate (paper 2, section 2.2).

The equations of subsystem j (eq. 6) are rows of tau + J^T lam = M vdot + h. The unknowns are the efforts of its drives
and the multipliers of the loops that pass through it, less those known from earlier subsystems. The number of
independent multipliers of a loop is found from J at the state, not counted: rows that are redundant given earlier loops
are left out, and their multipliers are found at the end, as the least equivalent set.
"""

from dataclasses import dataclass, replace

import numpy as np

from kempe.errors import Singular, StateError
from kempe.kinetics.closed import allowed, check_accelerations, check_closed, completed
from kempe.kinetics.kinetics import Kinetics
from kempe.topology.determinacy import Step, steps
from kempe.topology.subsystems import Subsystems

SMALL = 1e-9  # relative singular values that count as zero
UNMET = 1e-8  # of the largest acting force: the residual allowed


@dataclass(frozen=True, eq=False)
class Inverse:
    """Efforts tau (nu), multipliers by the joint that closes each loop, and the steps in which they were found.

    words: a line for each step, what was solved for what, and why several were solved together.
    """

    tau: np.ndarray
    multipliers: dict[str, np.ndarray]
    steps: tuple[Step, ...]
    words: tuple[str, ...]

    @property
    def one_by_one(self) -> bool:
        """Whether every subsystem could be solved on its own."""
        return all(len(step.subsystems) == 1 and step.determinate for step in self.steps)

    def __str__(self) -> str:
        return "\n".join(self.words)


@dataclass(frozen=True, eq=False)
class Parts:
    """At a state: for each loop a basis of its independent multipliers, and their columns of J^T, all freedoms."""

    bases: list[np.ndarray]
    columns: list[np.ndarray]


def inverse_by_subsystems(model: Kinetics, q, v, a, p=None) -> Inverse:
    """See `Model.inverse_by_subsystems`."""
    if np.ndim(q) != 1:
        raise StateError("inverse_by_subsystems: give one state; inverse_dynamics takes many")
    check_closed(model, q, v, p)
    if isinstance(a, dict):
        a = completed(model, q, v, a, p)
    check_accelerations(model, q, v, a, p)
    jacobian, found = model.closure(q, p=p)[1], model.topology.subsystems
    parts = _independent(model, q, jacobian, p)
    order = _order(model, parts)
    needed = model.generalized_forces(q, v, a, p)
    left, tau, amounts = needed.copy(), np.zeros(model.nv), [np.zeros(basis.shape[1]) for basis in parts.bases]
    for step in order:
        rows, drives, pull = _equations(model, parts, step)
        scale = model.equations.steps[rows, None]  # work instead of forces and moments
        drive = np.eye(model.nv)[np.ix_(rows, drives)]
        efforts, new = _solved(scale * pull[rows], scale * drive, scale[:, 0] * left[rows])
        tau[drives] = efforts
        left -= pull @ new + np.eye(model.nv)[:, drives] @ efforts
        for i in step.loops:
            amounts[i], new = new[: len(amounts[i])], new[len(amounts[i]) :]
    strong = max(np.abs(needed).max(initial=0.0), np.abs(model.bias(q, v, p)).max(initial=0.0))
    _check(model, parts, left, strong)

    lam = np.concatenate([np.zeros(0), *(basis @ x for basis, x in zip(parts.bases, amounts, strict=True))])
    lam = _least(model, q, jacobian, lam, p)
    at = np.cumsum([len(basis) for basis in parts.bases])[:-1]
    multipliers = dict(zip(found.loops, np.split(lam, at) if found.loops else (), strict=True))
    return Inverse(tau[model.driven], multipliers, order, tuple(_words(model, parts, step) for step in order))


def _order(model: Kinetics, parts: Parts) -> tuple[Step, ...]:
    """The steps to take; a single one if subsystems are determinate by counting but not in fact, since some actuators
    are redundant."""
    found, counts = model.topology.subsystems, [basis.shape[1] for basis in parts.bases]
    sizes = [len(part.velocities) for part in found], [len(part.drives) for part in found]
    order = steps(*sizes, counts, [[number - 1 for number in passed] for passed in found.through])
    sure = all(step.unknowns == _rank(model, parts, step) for step in order if step.determinate)
    if model.nu + sum(counts) == model.nv and not (sure and all(step.determinate for step in order)):
        raise Singular(
            f"inverse_by_subsystems: at this pose the actuators ({', '.join(model.u_names)}) do not control all "
            f"{model.nu} freedoms (a parallel singularity); singularity(q) says which joints move freely"
        )
    everything = Step(tuple(range(len(found))), tuple(range(len(counts))), model.nv, sum(counts) + model.nu, False)
    return order if sure else (everything,)


def subsystems(model: Kinetics) -> Subsystems:
    """See `Model.subsystems`."""
    found = model.topology.subsystems
    if not found.loops:
        return found
    ranks = [
        [basis.shape[1] for basis in _parts(model, model.closure(q)[1]).bases] for q in model.prepared.samples.states
    ]
    return replace(found, equations=tuple(max(ranks, key=sum)), by_rank=True)


def _independent(model: Kinetics, q, jacobian: np.ndarray, p) -> Parts:
    """At a state that is not singular."""
    parts = _parts(model, jacobian)
    if sum(basis.shape[1] for basis in parts.bases) != model.nv - allowed(model, q, p)[0].shape[1]:
        raise Singular(
            f"at this pose of {model.mechanism.name!r} it cannot be told which equations of its loops are independent"
        )
    return parts


def _parts(model: Kinetics, jacobian: np.ndarray) -> Parts:
    """Loop by loop, the multipliers that are independent of those of earlier loops."""
    scale, at = model.equations.steps, 0
    scaled = jacobian * scale
    largest = np.linalg.norm(scaled, 2) if scaled.size else 0.0
    before, bases, columns = np.zeros((0, model.nv)), [], []
    for _, count in model.topology.row_counts:
        rows = scaled[at : at + count]
        at += count
        left, sizes, right = np.linalg.svd(rows - rows @ before.T @ before, full_matrices=False)
        rank = int((sizes > SMALL * largest).sum())
        before = np.vstack([before, right[:rank]])
        bases.append(left[:, :rank])
        columns.append((left[:, :rank].T @ rows / scale).T)
    return Parts(bases, columns)


def _equations(model: Kinetics, parts: Parts, step: Step) -> tuple[list[int], list[int], np.ndarray]:
    """Rows of a step, the driven ones, and columns of J^T for its multipliers."""
    found = model.topology.subsystems
    rows = [k for j in step.subsystems for k in found[j].velocities]
    driven = set(model.driven.tolist())
    pull = np.hstack([np.zeros((model.nv, 0)), *(parts.columns[i] for i in step.loops)])
    return rows, [k for k in rows if k in driven], pull


def _rank(model: Kinetics, parts: Parts, step: Step) -> int:
    """Rank of a step's equations; lengths over the mechanism's size."""
    rows, drives, pull = _equations(model, parts, step)
    scale = model.equations.steps[rows, None]
    matrix = np.hstack([pull[rows] * scale, np.eye(model.nv)[np.ix_(rows, drives)]])
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int((sizes > SMALL * sizes.max(initial=0.0)).sum())


def _solved(pull: np.ndarray, drive: np.ndarray, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least efforts, and with them the least multipliers, that meet what is needed."""
    left, sizes, _ = np.linalg.svd(pull)
    rank = int((sizes > SMALL * sizes.max(initial=0.0)).sum())
    across = left[:, rank:].T  # what multipliers cannot provide
    # Actuators whose joints cannot move do nothing there, up to rounding of their other effects.
    efforts = _shortest(across @ drive, across @ needed, SMALL * np.abs(drive).max(initial=0.0))
    return efforts, _shortest(pull, needed - drive @ efforts, SMALL * sizes.max(initial=0.0))


def _shortest(matrix: np.ndarray, right: np.ndarray, least: float) -> np.ndarray:
    """The shortest least squares solution x of matrix x = right; singular values up to `least` count as zero."""
    left, sizes, x = np.linalg.svd(matrix, full_matrices=False)
    kept = sizes > least
    return x[kept].T @ (left[:, kept].T @ right / sizes[kept])


def _least(model: Kinetics, q, jacobian: np.ndarray, lam: np.ndarray, p) -> np.ndarray:
    """The least of all equivalent multipliers, as in `Model.multipliers`."""
    rank = model.nv - allowed(model, q, p)[0].shape[1]
    inside = np.linalg.svd(jacobian * model.equations.steps)[0][:, :rank]
    return inside @ (inside.T @ lam)


def _check(model: Kinetics, parts: Parts, left: np.ndarray, strong: float) -> None:
    worst = int(np.abs(left).argmax()) if len(left) else 0
    if len(left) and abs(left[worst]) > UNMET * strong:
        raise StateError(
            f"inverse_by_subsystems: {abs(left[worst]):.3g} would be needed along {model.v_names[worst]} besides what "
            f"{', '.join(model.u_names) or 'no actuator'} can do; these actuators do not give this motion here"
        )


def _words(model: Kinetics, parts: Parts, step: Step) -> str:
    found = model.topology.subsystems
    numbers = [str(j + 1) for j in step.subsystems]
    what = [name for j in step.subsystems for name in found[j].drives]
    counts = [(parts.bases[i].shape[1], found.loops[i]) for i in step.loops]
    what += [f"{_count(count, 'multiplier')} of {name}" for count, name in counts if count]
    gives = f"{_count(step.equations, 'equation')} for {_count(step.unknowns, 'unknown')}"
    gives += f" ({', '.join(what)})" if what else ""
    if len(numbers) == 1:
        start = f"subsystem {numbers[0]} is {'determinate' if step.determinate else 'indeterminate'}: {gives}"
    elif step.determinate or step.unknowns > step.equations:
        start = f"none of subsystems {', '.join(numbers)} is determinate by itself; together {gives}"
    else:
        start = f"some of the actuators do the same as others, so subsystems {', '.join(numbers)} together: {gives}"
    return start if step.determinate else f"{start}; of all efforts that do it, the least are taken"


def _count(n: int, one: str) -> str:
    return f"{n} {one}{'s' * (n != 1)}"
