"""Which rows of the loops' equations are independent, and which velocities generalized: chosen by numbers (paper 3).

Pivoting cannot be traced, so J is eliminated at assembled states first, by pivots that are large enough and fill in
little, and the order that was taken becomes part of the program. A choice is fit at a state as far as its pivots there
are from zero, beside a fixed scale: the row's largest size over sampled states.
"""

from dataclasses import dataclass

import numpy as np

from kempe.analyze.mobility import assembled_samples
from kempe.dynamics.partition import Choice
from kempe.model.model import Model

THRESHOLD = 0.3  # of the largest entry in its column: pivots as large as this may be taken for their sparsity
SPARING = 1.0, 0.5, 0.0
PASSIVE = 0.7  # how much passive joints are preferred as dependent ones
SMALL = 1e-4  # rows of J this small beside the largest at all samples are looked at elsewhere
TREES = 4  # states of the tree at which that is done
NOTHING = 1e-9  # entries below this beside the largest are zeros
FIT = 0.05  # a choice as fit as this is fit enough
GOOD = 0.8  # of the best over sampled states: choices as good as this compete by the length of their program


@dataclass(frozen=True, eq=False)
class Scales:
    """Row norms of J over sampled assembled states, and the length that makes each velocity a number without unit."""

    rows: np.ndarray
    columns: np.ndarray
    samples: np.ndarray


def scales_of(model: Model) -> Scales:
    """Remembered as long as the model lives."""
    if "closure scales" not in model.compiled:
        samples = np.array(assembled_samples(model))
        size = model.equations.closure_size
        units = [unit for t in model.topology.tree for unit in t.joint.type.units]
        columns = np.array([1.0 if unit == "rad" else size for unit in units])
        norms, anywhere = (_norms(model, states, columns) for states in (samples, _anywhere(model)))
        # Where all samples happen to be singular alike, rows may nearly vanish there that do not elsewhere.
        norms = np.where(norms > SMALL * norms.max(initial=0.0), norms, anywhere)
        # Rows that vanish, as those of a loop that stays in its plane, are rounding: scaled up they would be chosen.
        real = norms > NOTHING * norms.max(initial=0.0)
        model.compiled["closure scales"] = Scales(np.where(real, norms, 1.0), columns, samples)
    return model.compiled["closure scales"]


def _norms(model: Model, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.linalg.norm(model.loop_rows(states) * columns, axis=2).max(axis=0, initial=0.0)


def _anywhere(model: Model) -> np.ndarray:
    """States of the tree, loops open or not."""
    return np.array([model.random_state(seed).q for seed in range(TREES)])


def choose(model: Model) -> Choice:
    """The choice to begin with: fit at as many sampled states as can be, and short."""
    scales = scales_of(model)
    found = dict.fromkeys(choose_at(model, q, x) for q in scales.samples for x in SPARING)
    candidates = [choice for choice in found if len(choice.rows) == model.nv - model.dof]  # not of singular poses
    worth = [np.mean([min(fitness(model, choice, q), FIT) for q in scales.samples]) for choice in candidates]
    fit = [choice for choice, value in zip(candidates, worth, strict=True) if value >= GOOD * max(worth)]
    return min(fit, key=lambda choice: _fill(model, choice))


def choose_at(model: Model, q: np.ndarray, sparing: float = 1.0) -> Choice:
    """Which velocities depend on the others at a state, and rows and columns in the order of elimination.

    sparing: how much velocities that few loops feel are preferred as dependent ones, which keeps J_S sparse.
    """
    scales = scales_of(model)
    work = model.loop_rows(q) * scales.columns / scales.rows[:, None]
    nonzero = np.abs(work) > NOTHING * np.abs(work).max(initial=0.0)
    felt = np.maximum(nonzero.sum(axis=0), 1)
    weight = (felt.min(initial=1) / felt) ** sparing
    weight[model.driven] *= PASSIVE
    if model.formulation == "denoc":  # its coordinates are the actuated ones, whether they are good here or not
        dependent = np.setdiff1d(np.arange(model.nv), model.driven)
    else:
        dependent = _independent_columns(work * weight, model.nv - model.dof)
    rows, order = _ordered(work[:, dependent])
    columns = tuple(int(dependent[k]) for k in order)
    factors = scales.columns[list(columns)] / scales.rows[rows]
    rest = tuple(k for k in range(model.nv) if k not in columns)
    return Choice(tuple(rows), columns, rest, tuple(factors.tolist()))


def _independent_columns(matrix: np.ndarray, rank: int) -> np.ndarray:
    """As many columns as the rank says that are as independent as can be, by their weights: QR with pivoting."""
    work, taken = matrix.copy(), []
    for _ in range(rank):
        sizes = np.linalg.norm(work, axis=0)
        sizes[taken] = 0.0
        best = int(sizes.argmax())
        if sizes[best] <= NOTHING * np.linalg.norm(matrix):
            break
        taken.append(best)
        unit = work[:, best] / sizes[best]
        work -= np.outer(unit, unit @ work)
    return np.array(sorted(taken), dtype=int)


def _ordered(square: np.ndarray) -> tuple[list[int], list[int]]:
    """Rows and columns in the order of elimination: large pivots that fill in little (after Markowitz)."""
    work = square.copy()
    rows, columns = list(range(len(work))), list(range(work.shape[1]))
    taken_rows, taken_columns = [], []
    top = np.abs(work).max(initial=0.0)
    while columns:
        left = np.abs(work[np.ix_(rows, columns)])
        nonzero = left > NOTHING * top
        large = nonzero & (left >= THRESHOLD * left.max(axis=0, keepdims=True))
        fill = (nonzero.sum(axis=1)[:, None] - 1.0) * (nonzero.sum(axis=0)[None] - 1.0)
        cost = np.where(large, fill - left / left.max(), np.inf)
        i, j = np.unravel_index(cost.argmin(), cost.shape)
        row, column = rows.pop(int(i)), columns.pop(int(j))
        taken_rows.append(row)
        taken_columns.append(column)
        work[rows] -= np.outer(work[rows, column] / work[row, column], work[row])
    return taken_rows, taken_columns


def pivots_at(model: Model, choice: Choice, q: np.ndarray) -> np.ndarray:
    """What the elimination of a choice divides by at a state, times its scales, with their signs."""
    work = model.loop_rows(q)[list(choice.rows)][:, list(choice.dependent)]
    size = len(work)
    for k in range(size):
        if work[k, k] == 0.0:
            return np.zeros(size)
        if k + 1 < size:
            work[k + 1 :] -= (work[k + 1 :, k, None] / work[k, k]) * work[k]
    return np.diagonal(work) * choice.scales


def fitness(model: Model, choice: Choice, q: np.ndarray) -> float:
    """The least of them, without sign."""
    return float(np.abs(pivots_at(model, choice, q)).min(initial=np.inf)) if choice.rows else 1.0


def _fill(model: Model, choice: Choice) -> int:
    """How many entries an elimination by this choice works on: those of J_S with what fills in, and of H."""
    pattern = np.abs(model.loop_rows(scales_of(model).samples)).max(axis=0) > 1e-12
    square = pattern[np.ix_(choice.rows, choice.dependent)]
    wide = pattern[np.ix_(choice.rows, choice.independent)]
    total = 0
    for k in range(len(square)):
        below = np.flatnonzero(square[k + 1 :, k]) + k + 1
        total += len(below) * int(square[k, k + 1 :].sum() + wide[k].sum() + 1)
        square[below] |= square[k]
        wide[below] |= wide[k]
    for k in range(len(square) - 1, -1, -1):
        for j in np.flatnonzero(square[k, k + 1 :]) + k + 1:
            wide[k] |= wide[j]
            total += int(wide[j].sum())
    return total
