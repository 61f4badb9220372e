"""Multipliers of paper 2: as printed, from given matrices, for the system (10, 12) and subsystems (19-25, 53).

The same code runs on numbers, on numbers with every operation of dense matrices counted, and on symbols, where tracing
removes zeros.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kempe.compiler.count import count
from kempe.compiler.trace import trace
from kempe.model.model import Model
from kempe.spatial.solving import solve_symmetric
from kempe.spatial.vectors import from_sx, to_sx

ZERO = 1e-12  # for blocks of J, whose entries are of order 1


@dataclass(frozen=True, eq=False)
class Problem:
    """I vdot = phi + J^T lam and J vdot = gamma, ordered by subsystem and by loop.

    loops, subsystems: their rows and columns of J. pattern (loops, subsystems): the nonzero blocks of J.
    """

    inertia: np.ndarray
    rows: np.ndarray
    phi: np.ndarray
    gamma: np.ndarray
    loops: tuple[slice, ...]
    subsystems: tuple[slice, ...]
    pattern: np.ndarray


def columns_of(model: Model) -> list[list[int]]:
    """The indices in v of each subsystem: one child of the ground with all it carries."""
    return [list(part.velocities) for part in model.topology.subsystems]


def rows_of(model: Model) -> list[list[int]]:
    """The rows of J that each loop keeps, without redundant ones."""
    found, first = [], 0
    for loop in model.topology.loops:
        last = first + loop.joint.rows
        found.append(sorted(row for row in model.choice.rows if first <= row < last))
        first = last
    return found


def pattern(model: Model, q: np.ndarray) -> np.ndarray:
    """The nonzero blocks of J (loops, subsystems) at any of these states (n, nq), numerically (14, 26, 37)."""
    largest = np.abs(model.loop_rows(q)).max(axis=0)
    return np.array(
        [[largest[np.ix_(rows, columns)].max() > ZERO for columns in columns_of(model)] for rows in rows_of(model)]
    )


def _slices(groups: list[list[int]]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *map(len, groups)]).tolist()
    return tuple(slice(a, b) for a, b in pairwise(ends))


def problems(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> list[Problem]:
    """Problems at closed states (n, nq) and (n, nv) with efforts (n, nv); multipliers are in the order of `kept`.

    gamma is J vdot of any accelerations that keep the loops closed, here those of the model.
    """
    blocks, groups, rows = pattern(model, q), columns_of(model), kept(model)
    order = [k for columns in groups for k in columns]
    inertia, jacobian = model.mass_matrix(q)[:, order][:, :, order], model.loop_rows(q)[:, rows][:, :, order]
    phi = (tau - model.bias(q, v))[:, order]
    vdot = model.call("forward_dynamics", q, v, tau)[0][:, order]
    gamma = np.einsum("nij,nj->ni", jacobian, vdot)
    places = _slices(rows_of(model)), _slices(groups)
    return [Problem(*each, *places, blocks) for each in zip(inertia, jacobian, phi, gamma, strict=True)]


def kept(model: Model) -> list[int]:
    """All kept rows of J, loop by loop."""
    return [row for rows in rows_of(model) for row in rows]


# ---- arithmetic --------------------------------------------------------------------------------------------


class Numbers:
    """NumPy arithmetic: solves by Gaussian elimination, like MATLAB's mldivide."""

    def solve(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a^-1 b."""
        return np.linalg.solve(a, b)

    def times(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a b."""
        return a @ b

    def plus(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a + b."""
        return a + b

    def minus(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a - b."""
        return a - b


class Counted(Numbers):
    """Numbers that count multiplications, divisions and additions of dense matrices, ignoring zeros and symmetry.

    Elimination of n x n with k right-hand sides: a division for every factor, a multiplication and a subtraction for
    every changed entry, then back substitution. A product (a x b)(b x c): abc multiplications, a (b - 1) c additions.
    """

    def __init__(self):
        """Starts at zero."""
        self.operations = 0

    def solve(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a^-1 b."""
        n, k = len(a), b.shape[1]
        self.operations += sum(i + 2 * i * (i + k) for i in range(n)) + k * n * n
        return super().solve(a, b)

    def times(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a b."""
        rows, inner, columns = *a.shape, b[0].size
        self.operations += rows * columns * (2 * inner - 1)
        return super().times(a, b)

    def plus(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a + b."""
        self.operations += a.size
        return super().plus(a, b)

    def minus(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a - b."""
        self.operations += a.size
        return super().minus(a, b)


class Symbols(Numbers):
    """Symbolic arithmetic: entries are symbols or exact zeros; matrices in solves are symmetric."""

    def solve(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a^-1 b."""
        return solve_symmetric(a, b)


NUMBERS = Numbers()

# ---- methods -----------------------------------------------------------------------------------------------


def whole(p: Problem) -> np.ndarray:
    """Multipliers from (10), solved as one system."""
    n, m = len(p.phi), len(p.gamma)
    matrix = np.block([[p.inertia, p.rows.T], [p.rows, np.zeros((m, m))]])
    return -np.linalg.solve(matrix, np.concatenate([p.phi, p.gamma]))[n:]


def by_system(p: Problem, by: Numbers = NUMBERS) -> np.ndarray:
    """(12): with the inertia of the whole system; (48), which A.3 obtains from (10) by elimination, is the same."""
    solved = by.solve(p.inertia, np.column_stack([p.rows.T, p.phi]))
    found = by.times(p.rows, solved)  # J I^-1 J^T and J I^-1 phi
    return by.solve(found[:, :-1], by.minus(p.gamma, found[:, -1])[:, None])[:, 0]


def by_subsystems(p: Problem, by: Numbers = NUMBERS) -> np.ndarray:
    """(19-25), then (34-36) or (45, 46): with the inertia of one subsystem at a time, loop by loop."""
    gicm: dict[tuple[int, int], np.ndarray] = {}
    psi = [p.gamma[rows] for rows in p.loops]
    for j, columns in enumerate(p.subsystems):
        through = np.flatnonzero(p.pattern[:, j]).tolist()
        blocks = {i: p.rows[p.loops[i], columns] for i in through}
        solved = _solved(by, p.inertia[columns, columns], [blocks[i].T for i in through], p.phi[columns])  # (20)
        for r in through:
            psi[r] = by.minus(psi[r], by.times(blocks[r], solved[-1]))  # (25)
            for s, part in zip(through, solved, strict=False):
                if s <= r:
                    more = by.times(blocks[r], part)
                    gicm[r, s] = by.plus(gicm[r, s], more) if (r, s) in gicm else more  # (25)
    return _eliminated(gicm, psi, by)


def _solved(by: Numbers, matrix: np.ndarray, blocks: list[np.ndarray], last: np.ndarray) -> list[np.ndarray]:
    """matrix^-1 times each of these blocks and a vector, in one solve."""
    solved = by.solve(matrix, np.column_stack([*blocks, last]))
    ends = np.cumsum([block.shape[1] for block in blocks]).tolist()
    return [*np.split(solved[:, :-1], ends[:-1], axis=1), solved[:, -1]] if blocks else [solved[:, -1]]


def _eliminated(gicm: dict[tuple[int, int], np.ndarray], psi: list[np.ndarray], by: Numbers) -> np.ndarray:
    """Multipliers from the blocks of (23) on and below the diagonal."""
    steps = []
    for r in range(len(psi)):
        after = [s for s in range(r + 1, len(psi)) if (s, r) in gicm]
        solved = _solved(by, gicm[r, r], [gicm[s, r].T for s in after], psi[r])
        for s in after:
            psi[s] = by.minus(psi[s], by.times(gicm[s, r], solved[-1]))  # Psi~
            for t, part in zip(after, solved, strict=False):
                if t <= s:
                    less = by.times(gicm[s, r], part)
                    gicm[s, t] = by.minus(gicm[s, t] if (s, t) in gicm else 0 * less, less)  # I~
        steps.append((after, solved))
    lam: dict[int, np.ndarray] = {}
    for r in reversed(range(len(psi))):
        after, solved = steps[r]
        lam[r] = solved[-1]
        for s, part in zip(after, solved, strict=False):
            lam[r] = by.minus(lam[r], by.times(part, lam[s]))
    return np.concatenate([lam[r] for r in range(len(psi))])


def by_blocks(p: Problem) -> np.ndarray:
    """Appendix A.5: (10) by subsystems (53), reduced block by block to (54), with back substitution by (55, 56)."""
    n, m = len(p.phi), len(p.gamma)
    matrix = np.block([[p.inertia, p.rows.T], [p.rows, np.zeros((m, m))]])
    right = np.concatenate([p.phi, p.gamma])
    blocks = [*p.subsystems, *(slice(n + rows.start, n + rows.stop) for rows in p.loops)]
    for k, pivot in enumerate(blocks):
        for below in blocks[k + 1 :]:
            factor = np.linalg.solve(matrix[pivot, pivot].T, matrix[below, pivot].T).T
            matrix[below] -= factor @ matrix[pivot]
            right[below] -= factor @ right[pivot]
    found = np.zeros(n + m)
    for pivot in reversed(blocks):
        found[pivot] = np.linalg.solve(matrix[pivot, pivot], right[pivot] - matrix[pivot] @ found)
    return -found[n:]


# ---- operations --------------------------------------------------------------------------------------------


def dense(p: Problem, way) -> int:
    """Operations of a method as printed, with full matrices."""
    by = Counted()
    way(p, by)
    return by.operations


def traced(p: Problem, way) -> int:
    """Operations of the same code when traced: zero entries cost nothing, equal terms are computed once."""
    lower = np.argwhere(np.tril(np.abs(p.inertia) > ZERO))
    filled = np.argwhere(np.abs(p.rows) > ZERO)

    def program(inertia, rows, phi, gamma):
        symbols = np.zeros_like(p.inertia, dtype=object), np.zeros_like(p.rows, dtype=object)
        for (i, j), x in zip(lower, from_sx(inertia), strict=True):
            symbols[0][i, j] = symbols[0][j, i] = x
        for (i, j), x in zip(filled, from_sx(rows), strict=True):
            symbols[1][i, j] = x
        posed = replace(p, inertia=symbols[0], rows=symbols[1], phi=from_sx(phi), gamma=from_sx(gamma))
        return to_sx(way(posed, Symbols()))

    sizes = {"inertia": len(lower), "rows": len(filled), "phi": len(p.phi), "gamma": len(p.gamma)}
    return count(trace(program, sizes)).total
