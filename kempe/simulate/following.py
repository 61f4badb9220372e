"""Following: a motion of some coordinates through closed states, with its dynamics, row by row in one compiled loop.

Each row starts from the previous one, extrapolated over the time step h by its velocities and accelerations. Newton's
method closes the loops and meets the measured values; J, and L below it, are eliminated with complete pivoting at every
state, as in the dense way of runs, so that pivots cannot degrade. A row that does not converge, or that deviates from
the slopes at its ends and so may be on another branch, is handed back: the careful way (`Way.carried`) takes it, in
smaller steps, and the loop continues from there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kempe.integrate.native import (
    block,
    call,
    compiled,
    entry,
    matrix,
    number_rows,
    numbers,
    table,
    vector,
)
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.assembly import CLOSED
from kempe.loops.kinematics import BENT, LONGEST, NEWTON, NOISE, TURNED, WIDEST, Way
from kempe.loops.targets import CutCoordinate, Place

POOR = 1e-7  # least relative pivot, below which a row is left to the careful way
TURN = 2 * np.pi
RATES, DYNAMICS, FIRST = range(3)  # rows of the table of native code; from FIRST on, what is evaluated at q, then at v
LINE = 8  # doubles in a cache line
Code = tuple[Any, list[str], list[str]]  # a kernel, or None, and the names of its arguments and results


# ---- compiled code ---------------------------------------------------------------------------------------


@compiled
def native(codes, k):
    """Calls native code by its row of the table: its address, and those of arguments, results and workspace."""
    call(codes[k, 0], codes[k, 1], codes[k, 2], codes[k, 3])  # type: ignore[call-arg]


@compiled
def copy(rows, i, x):
    """Copies a row into a vector."""
    for k in range(len(x)):
        x[k] = rows[i, k]


@compiled
def keep(rows, i, x):
    """Copies a vector into a row."""
    for k in range(len(x)):
        rows[i, k] = x[k]


@compiled
def move(codes, quaternions, q, step, rate):
    """Moves q by a step of all velocities; quaternions keep length 1."""
    if codes[RATES, 0] == 0:
        for k in range(len(q)):
            q[k] += step[k]
        return
    native(codes, RATES)
    for k in range(len(q)):
        q[k] += rate[k]
    for k in quaternions:
        length = np.sqrt(q[k] ** 2 + q[k + 1] ** 2 + q[k + 2] ** 2 + q[k + 3] ** 2)
        for i in range(4):
            q[k + i] /= length


@compiled
def eliminated(matrix, free, square):
    """Eliminates the free columns of a matrix, scaled to radians and sizes of the mechanism, with rows and columns in
    pivot order, into `square`; returns the least relative pivot."""
    work, rows, columns, _, steps = square
    height, width = work.shape
    for i in range(height):
        rows[i] = i
        for j in range(width):
            work[i, j] = matrix[i, free[j]] * steps[free[j]]
    least, most = 1.0, 1.0
    for j in range(width):
        columns[j] = j
    for k in range(width):
        row, column, largest = k, k, 0.0
        for i in range(k, height):
            for j in range(k, width):
                if abs(work[i, j]) > largest:
                    row, column, largest = i, j, abs(work[i, j])
        least = largest if k == 0 else min(least, largest)
        most = largest if k == 0 else max(most, largest)
        if largest == 0.0:
            return 0.0
        for j in range(width):
            work[k, j], work[row, j] = work[row, j], work[k, j]
        for i in range(height):
            work[i, k], work[i, column] = work[i, column], work[i, k]
        rows[k], rows[row] = rows[row], rows[k]
        columns[k], columns[column] = columns[column], columns[k]
        for i in range(k + 1, height):
            if work[i, k] != 0.0:
                factor = work[i, k] / work[k, k]
                work[i, k] = factor
                for j in range(k + 1, width):
                    work[i, j] -= factor * work[k, j]
    return least / most


@compiled
def solved(matrix, at_v, free, square, right, x):
    """Solves matrix x = right for x with given entries at `at_v`, by the elimination."""
    work, rows, columns, found, steps = square
    width = len(free)
    for i in range(width):
        value = right[rows[i]]
        for k in at_v:
            value -= matrix[rows[i], k] * x[k]
        for j in range(i):
            value -= work[i, j] * found[j]
        found[i] = value
    for i in range(width - 1, -1, -1):
        for j in range(i + 1, width):
            found[i] -= work[i, j] * found[j]
        found[i] /= work[i, i]
    for i in range(width):
        x[free[columns[i]]] = found[i] * steps[free[columns[i]]]


@compiled
def measured(codes, last, picks, m, given, i, size, error, matrix):
    """Closure rows at q, followed by those of measured quantities, lengths over the mechanism's size in both; returns
    the largest error."""
    for k in range(FIRST, last):
        native(codes, k)
    loops, tree, largest = len(error) - len(picks), given.shape[2] - len(picks), 0.0
    for k in range(len(picks)):
        off = m[picks[k, 0]] - given[0, i, tree + k]
        if picks[k, 3]:  # angles by the shorter way round
            off -= TURN * np.floor(off / TURN + 0.5)
        share = 1.0 if picks[k, 3] else 1.0 / size
        error[loops + k] = off * share
        largest = max(largest, abs(off) * share)
        for j in range(matrix.shape[1]):
            matrix[loops + k, j] = m[picks[k, 1] + j] * share
    for k in range(loops):
        largest = max(largest, abs(error[k]))
    return largest


@compiled
def closed(codes, last, picks, m, given, i, limits, at_v, free, quaternions, cells, square):
    """Closes the loops from the present q; returns whether they are closed, the right way, and near the start."""
    q, _, _, step, moved, rate, error, _, upright, matrix, _, _ = cells
    size, enough, longest, most = limits
    before, largest = np.inf, np.inf
    for k in range(len(moved)):
        moved[k] = 0.0
    for _ in range(int(most)):
        largest = measured(codes, last, picks, m, given, i, size, error, matrix)
        if largest <= 0.1 * enough or (largest <= enough and largest > 0.5 * before):
            break
        if not eliminated(matrix, free, square) > POOR:
            return False
        for k in range(len(error)):
            error[k] = -error[k]
        for k in range(len(step)):
            step[k] = 0.0
        solved(matrix, at_v, free, square, error, step)
        for k in range(len(step)):
            moved[k] += step[k]
            if not abs(moved[k]) < longest * square[4][k]:
                return False
        move(codes, quaternions, q, step, rate)
        before = largest
    for k in range(len(upright)):
        if not upright[k] > 0.0:
            return False
    return largest <= enough and eliminated(matrix, free, square) > POOR


@compiled
def slope(picks, given, i, size, at_v, free, cells, square, x):
    """The first-order motion of all joints on the way to row i, at the state eliminated last."""
    right, matrix = cells[7], cells[9]
    tree, loops = len(at_v), len(right) - len(picks)
    for k in range(loops):
        right[k] = 0.0
    for k in range(tree):
        x[at_v[k]] = given[0, i, k] - given[0, i - 1, k]
    for k in range(len(picks)):
        way = given[0, i, tree + k] - given[0, i - 1, tree + k]
        right[loops + k] = way * (1.0 if picks[k, 3] else 1.0 / size)
    solved(matrix, at_v, free, square, right, x)


@compiled
def steady(before, after, moved, steps):
    """As `kinematics.is_steady`, which gives the reason."""
    long, steep, off, turned = 0.0, 0.0, 0.0, 0.0
    for k in range(len(moved)):
        x, y, z = moved[k] / steps[k], before[k] / steps[k], after[k] / steps[k]
        long, steep = max(long, abs(x)), max(steep, abs(y), abs(z))
        off, turned = max(off, abs(x - 0.5 * (y + z))), max(turned, abs(z - y))
    return steep < WIDEST and off <= BENT * long + NOISE and turned <= TURNED * steep + NOISE


@entry("word", "word", "word", "words", "doubles")
def follow_rows(i, last, table, four):
    """Computes rows from the i-th on, after an existing one; returns the number of the first that the loop cannot take,
    or of all.

    The table has t; given: values, rates and accelerations; codes: the table of native code, of which rows from `last`
    on are evaluated at v; picks: the positions in m of the value, the row of L and the bias of each measured quantity,
    and whether it is an angle; m; at_q, at_v; free velocities; quaternions; results; then cells, the parts of the
    elimination, and rows: q, v, a, and the dynamics, to which `results` points. four: limits.
    """
    # fmt: off
    t, given, codes, picks = vector(table, 0), block(table, 1), number_rows(table, 2), number_rows(table, 3)
    m, at_q, at_v, free = vector(table, 4), numbers(table, 5), numbers(table, 6), numbers(table, 7)
    quaternions, results, limits = numbers(table, 8), numbers(table, 9), (four[0], four[1], four[2], four[3])
    cells = (vector(table, 10), vector(table, 11), vector(table, 12), vector(table, 13), vector(table, 14),
             vector(table, 15), vector(table, 16), vector(table, 17), vector(table, 18), matrix(table, 19),
             vector(table, 20), vector(table, 21))
    square = matrix(table, 22), numbers(table, 23), numbers(table, 24), vector(table, 25), vector(table, 26)
    rows = (matrix(table, 27), matrix(table, 28), matrix(table, 29), matrix(table, 30), block(table, 31),
            vector(table, 32))
    # fmt: on
    q, v, a, step, moved, rate, error, right, _, jacobian, before, after = cells
    all_q, all_v, all_a, needed, basis, fit = rows
    tree, loops, size = len(at_v), len(error) - len(picks), limits[0]
    copy(all_q, i - 1, q)
    measured(codes, last, picks, m, given, i - 1, size, error, jacobian)
    if not eliminated(jacobian, free, square) > POOR:
        return i
    while i < len(t):
        h = t[i] - t[i - 1]
        slope(picks, given, i, size, at_v, free, cells, square, before)
        for k in range(len(step)):
            step[k] = h * (all_v[i - 1, k] + 0.5 * h * all_a[i - 1, k])
        for k in range(tree):
            step[at_v[k]] = before[at_v[k]]
        move(codes, quaternions, q, step, rate)
        for k in range(tree):
            q[at_q[k]] = given[0, i, k]
        for k in range(len(step)):
            after[k] = step[k]
        if not closed(codes, last, picks, m, given, i, limits, at_v, free, quaternions, cells, square):
            return i
        for k in range(len(moved)):
            moved[k] += after[k]
        slope(picks, given, i, size, at_v, free, cells, square, after)
        if not steady(before, after, moved, square[4]):
            return i
        for k in range(loops):
            right[k] = 0.0
        for k in range(tree):
            v[at_v[k]], a[at_v[k]] = given[1, i, k], given[2, i, k]
        for k in range(len(picks)):
            right[loops + k] = given[1, i, tree + k] * (1.0 if picks[k, 3] else 1.0 / size)
        solved(jacobian, at_v, free, square, right, v)
        for k in range(last, len(codes)):
            native(codes, k)
        for k in range(len(picks)):
            right[loops + k] = (given[2, i, tree + k] - m[picks[k, 2]]) * (1.0 if picks[k, 3] else 1.0 / size)
        solved(jacobian, at_v, free, square, right, a)
        keep(all_q, i, q)
        keep(all_v, i, v)
        keep(all_a, i, a)
        if codes[DYNAMICS, 0] != 0:
            results[0] = needed.ctypes.data + 8 * i * needed.shape[1]
            results[1] = basis.ctypes.data + 8 * i * basis.shape[1] * basis.shape[2]
            results[2] = fit.ctypes.data + 8 * i
            native(codes, DYNAMICS)
        i += 1
    return i


# ---- preparation -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Followed:
    """Rows of a motion: q, v, a; and of the dynamics if requested, tau_G, W and the fitness of the coordinates."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    dynamics: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


class Follower:
    """The compiled loop prepared for a motion: native code, and its workspace."""

    def __init__(self, model: Kinetics, way: Way, dynamics: bool):
        """`dynamics`: whether to compute generalized efforts too."""
        self.way, self.model, self.known = way, model, way.known
        model, rows = self.model, self.model.equations.sizes["lam"] + len(self.known.measured)
        curved = model.nq != model.nv
        shapes: dict = dict.fromkeys(("v", "a", "step", "moved", "before", "after"), model.nv)
        shapes |= dict.fromkeys(("q", "rate"), model.nq)
        shapes |= {"error": rows, "right": rows, "matrix": (rows, model.nv), "upright": len(model.topology.loops)}
        shapes["p"] = len(model.p_names)
        codes: list[Code] = [
            (model.kernel("rates") if curved else None, ["q", "step"], ["rate"]),
            (model.kernel("generalized_efforts") if dynamics else None, ["q", "v", "a"], []),
            (model.kernel("closure"), ["q"], ["error", "matrix", "upright"]),
        ]
        moving: list[Code] = [(model.kernel("loop_bias"), ["q", "v"], ["right"])]
        picks = []
        for measure in self.known.measured:
            source, value, row, at_q, at_v = self._measured(measure)
            if source not in shapes:
                codes += at_q
                moving.append(at_v)
                for kernel, _, outputs in (*at_q, at_v):
                    shapes |= {n: port.shape for n, port in zip(outputs, kernel.program.outputs, strict=True)}
            picks.append((source, value, row, measure.turning))
        self._last = len(codes)
        self._lay_out(shapes, codes + moving)
        places = {name: (view.ctypes.data - self._m.ctypes.data) // 8 for name, view in self._parts.items()}
        self._picks = np.array(
            [(places[source] + value, places[f"{source}, L"] + row * model.nv, places[f"{source}, bias"] + row, turning)
             for source, value, row, turning in picks], dtype=np.int64).reshape(-1, 4)  # fmt: skip

    def _measured(self, measure: CutCoordinate | Place) -> tuple[str, int, int, list[Code], Code]:
        """The source of a measured coordinate, its index there and that of its row; the native code for values and L at
        q, and for the bias at v."""
        model = self.model
        if isinstance(measure, CutCoordinate):
            source, value, row = "joints that were cut", measure.q, measure.v
            names = (model.kernel("loop_coordinates"), [source]), (model.kernel("loop_matrix"), [f"{source}, L"])
            bias = model.kernel("loop_velocity_bias")
        else:
            source, value, row = f"place of {measure.marker}", measure.k, measure.k
            names = ((model.marker_kernel("place", measure.marker), [source, f"{source}, L"]),)
            bias = model.marker_kernel("place_bias", measure.marker)
        return source, value, row, [(k, ["q"], out) for k, out in names], (bias, ["q", "v"], [f"{source}, bias"])

    def _lay_out(self, shapes: dict, codes: list) -> None:
        """Places all parts in one array, each at the beginning of a cache line, with the table of native code."""
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        starts = np.cumsum([0, *(-(-size // LINE) * LINE for size in sizes)])
        self._m = m = np.zeros(starts[-1] + LINE)
        self._parts = {
            name: m[start : start + size].reshape(shape)
            for (name, shape), start, size in zip(shapes.items(), starts, sizes, strict=False)
        }
        p = ["p"] if self.model.p_names else []
        if p:
            self._parts["p"][:] = self.model.p if self.way.p is None else self.way.p
        self._results = np.zeros(3, dtype=np.int64)
        work = np.zeros(max(kernel.workspace for kernel, *_ in codes if kernel is not None) + LINE)
        self._codes, self._held = np.zeros((len(codes), 4), dtype=np.int64), [work]
        for number, (kernel, inputs, outputs) in enumerate(codes):
            if kernel is None:
                continue
            takes, gives = (np.array([self._parts[n].ctypes.data for n in names], dtype=np.int64)
                            for names in (inputs + p, outputs))  # fmt: skip
            gives = self._results if number == DYNAMICS else gives
            self._codes[number] = kernel.address, takes.ctypes.data, gives.ctypes.data, work.ctypes.data
            self._held += [kernel, takes, gives]  # addresses are valid while they live

    def rows(self, t: np.ndarray, q: np.ndarray) -> Followed:
        """Rows at all times t, from the closed q at the first of them."""
        way, model, known, n = self.way, self.model, self.known, len(t)
        dynamics = self._codes[DYNAMICS, 0] != 0
        freedoms = len(model.choice.independent) if dynamics else 0
        moving = np.zeros((n, model.nq)), np.zeros((n, model.nv)), np.zeros((n, model.nv))
        rows = *moving, np.zeros((n, freedoms)), np.zeros((n, model.nv, freedoms)), np.ones(n)
        given = np.ascontiguousarray(np.stack(way.ordered(t)))
        free = np.setdiff1d(np.arange(model.nv), known.at_v)
        kinds = ((at.q.start, at.joint.type) for at in model.topology.tree)
        quaternions = np.array([k for k, kind in kinds if len(kind.q_names) != len(kind.v_names)], dtype=np.int64)
        names = "q", "v", "a", "step", "moved", "rate", "error", "right", "upright", "matrix", "before", "after"
        cells = tuple(self._parts[name] for name in names)
        height = len(self._parts["error"])
        orders = np.zeros(height, dtype=np.int64), np.zeros(len(free), dtype=np.int64)
        square = np.zeros((height, len(free))), *orders, np.zeros(len(free)), model.equations.steps
        limits = np.array([model.equations.closure_size, CLOSED, LONGEST, float(NEWTON)])
        at_q, at_v = (np.ascontiguousarray(x, dtype=np.int64) for x in (known.at_q, known.at_v))
        first = t, given, self._codes, self._picks, self._m, at_q, at_v, free, quaternions, self._results
        arrays = [np.ascontiguousarray(x) for x in (*first, *cells, *square)] + [*rows]
        where = table(arrays)
        i = 0
        while i < n:  # the first row, and those that the loop cannot take
            q = q if i == 0 else way.carried(moving[0][i - 1], float(t[i - 1]), float(t[i]))
            now = q, *way.moving(float(t[i]), q)
            if dynamics:
                now = *now, *model.call("generalized_efforts", *now, p=way.p)
            for part, value in zip(rows, now, strict=False):
                part[i] = value
            i = follow_rows.call(i + 1, self._last, where.ctypes.data, limits.ctypes.data)
        return Followed(*moving, rows[3:] if dynamics else None)
