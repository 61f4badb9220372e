"""Steps: one compiled evaluation of a system, and one step of any Runge-Kutta table with its error and dense output.

Throughout, m are the doubles and w the whole numbers of `memory.py`. Nothing here calls Python.
"""

import math

from kempe.simulate.dense import dense_accelerations, dense_step, dense_velocities
from kempe.simulate.memory import *
from kempe.simulate.native import call, compiled, peek

NEWTON = 8  # steps that close loops by the dense way, at most

# ---- one evaluation --------------------------------------------------------------------------------------


@compiled
def native(m, w, function, inputs, outputs):
    """Calls native code with tables of pointers that begin at these places."""
    words = w.ctypes.data
    call(w[function], words + 8 * inputs, words + 8 * outputs, w[WORK])  # type: ignore[call-arg]


@compiled
def look_up(m, w, t):
    """The outside values at t, from their polynomials."""
    breaks, pieces, s = w[BREAKS], w[PIECES], w[PIECE]
    if not (m[breaks + s] <= t < m[breaks + s + 1]):
        s, high = 0, pieces
        while high - s > 1:
            half = (s + high) // 2
            if m[breaks + half] <= t:
                s = half
            else:
                high = half
        w[PIECE] = s
    x = min(max(t, m[breaks]), m[breaks + pieces]) - m[breaks + s]
    first, width = w[CELLS] + 1 + w[N], w[NW]
    row = w[COEFFICIENTS] + s * w[TABLE_POWERS] * width
    for i in range(width):
        value = 0.0
        for power in range(w[TABLE_POWERS] - 1, -1, -1):
            value = value * x + m[row + power * width + i]
        m[first + i] = value


@compiled
def evaluate(m, w, t, stage):
    """The slope at t of the state in the cells, into row `stage` of k."""
    t = min(max(t, m[EARLIEST]), m[LATEST])
    m[w[CELLS]] = t
    if w[PIECES] > 0:
        look_up(m, w, t)
    if w[HOOK] != 0:
        native(m, w, HOOK, IN_SYSTEM, OUT_HOOK)
    if w[CROSSING] and w[PROJECT] != 0:
        # Stages lie off the loops by more than steps do, and near a singular pose that is multiplied.
        native(m, w, PROJECT, IN_SHORT, OUT_PROJECT)
        copy(m, w[PROJECTED], w[CELLS] + 1, w[NQ] + w[NV])
    place = w[K] + stage * w[N]
    slope = m.ctypes.data + 8 * place
    w[EVALUATIONS] += 1
    if w[NUMERIC]:
        w[OUT_DENSE] = slope
        w[OUT_DENSE + 2] = slope + 8 * (w[NQ] + w[NV])
        native(m, w, SYSTEM, IN_SYSTEM, OUT_DENSE)
        dense_accelerations(m, w, place + w[NQ])
        return
    w[OUT_SYSTEM] = slope
    w[OUT_SYSTEM + 1] = slope + 8 * w[NQ]
    w[OUT_SYSTEM + 2] = slope + 8 * (w[NQ] + w[NV])
    native(m, w, SYSTEM, IN_SYSTEM, OUT_SYSTEM)


@compiled
def copy(m, source, target, count):
    """A part of the doubles to another place."""
    for i in range(count):
        m[target + i] = m[source + i]


@compiled
def guards(m, w, t, state):
    """The events' expressions at a state."""
    copy(m, state, w[CELLS] + 1, w[N])
    m[w[CELLS]] = t
    if w[SEES] and w[PIECES] > 0:
        look_up(m, w, min(max(t, m[EARLIEST]), m[LATEST]))
    if w[SEES] and w[HOOK] != 0:
        native(m, w, HOOK, IN_SYSTEM, OUT_HOOK)
    native(m, w, GUARD, IN_SYSTEM, OUT_GUARD)


# ---- one step --------------------------------------------------------------------------------------------


@compiled
def combine(m, w, stage, h):
    """y + h sum a k into the cells."""
    n, y, cells, k, row = w[N], w[Y], w[CELLS] + 1, w[K], w[A] + stage * w[ALL_SLOPES]
    for i in range(n):
        m[cells + i] = m[y + i] + h * along(m, row, k + i, stage, n)


@compiled
def along(m, row, first, count, stride):
    """The sum of so many entries that lie apart by a stride, with the weights that begin at `row`; even and odd ones
    on their own, so that one addition does not wait for the other."""
    even, odd, weights, entries = 0.0, 0.0, m.ctypes.data + 8 * row, m.ctypes.data + 8 * first
    for _ in range(count // 2):
        even += peek(weights) * peek(entries)  # type: ignore[call-arg]
        odd += peek(weights + 8) * peek(entries + 8 * stride)  # type: ignore[call-arg]
        weights, entries = weights + 16, entries + 16 * stride
    if count % 2:
        even += peek(weights) * peek(entries)  # type: ignore[call-arg]
    return even + odd


@compiled
def take(m, w, t, h):
    """A step of size h: slopes into k, the state it leads to into new; the slope there only where the error estimate
    asks for it: a step that is rejected does without."""
    if w[IMPLICIT] != 0:
        m[TRIED] = h
        call(w[IMPLICIT], m.ctypes.data, w.ctypes.data, 0)  # type: ignore[call-arg]
        return
    if w[EULER]:
        push(m, w, h)
    last = w[SLOPES] - 1
    for stage in range(1, last):
        combine(m, w, stage, h)
        evaluate(m, w, t + m[w[C] + stage] * h, stage)
    combine(m, w, last, h)
    copy(m, w[CELLS] + 1, w[NEW], w[N])
    if w[LAST_TELLS]:
        evaluate(m, w, t + h, last)


@compiled
def push(m, w, h):
    """Makes k_0 the slope of a semi-implicit step: coordinates go by the velocities at its end."""
    nq, nv, cells, k = w[NQ], w[NV], w[CELLS] + 1, w[K]
    copy(m, w[Y], cells, w[N])
    for i in range(nq, nq + nv):
        m[cells + i] += h * m[k + i]
    if w[RATES] == 0:
        copy(m, cells + nq, k, nq)
    else:
        native(m, w, RATES, IN_SHORT, OUT_RATES)


@compiled
def settle(m, w, t, h):
    """Brings the new state back onto its manifold, and works out the slope there."""
    if w[PROJECT] == 0 and not w[NUMERIC] and w[LAST_TELLS]:
        return
    copy(m, w[NEW], w[CELLS] + 1, w[N])
    if w[NUMERIC]:
        close(m, w)
    if w[PROJECT] != 0:
        native(m, w, PROJECT, IN_SHORT, OUT_PROJECT)
        copy(m, w[PROJECTED], w[CELLS] + 1, w[NQ] + w[NV])
    m[SHIFT] = shift(m, w)
    copy(m, w[CELLS] + 1, w[NEW], w[NQ] + w[NV])
    evaluate(m, w, t + h, w[SLOPES] - 1)


@compiled
def shift(m, w):
    """How far the state in the cells is from the new one, as a part of what is allowed: what a projection does to a
    step is an error of it as well, and far larger than the estimate where generalized coordinates fit badly."""
    squares, count = 0.0, w[NQ] + w[NV]
    for i in range(count):
        to, new = m[w[CELLS] + 1 + i], m[w[NEW] + i]
        squares += ((to - new) / (m[ABSOLUTE] + m[RELATIVE] * abs(new))) ** 2
    return math.sqrt(squares / max(count, 1))


@compiled
def close(m, w):
    """Newton's method on the loops for the state in the cells, and velocities that keep them closed; coordinates that
    depend on the others are moved, and no others."""
    nq, nv, cells, step = w[NQ], w[NV], w[CELLS] + 1, w[DENSE_REST]
    w[REPIVOT] = 1
    for _ in range(NEWTON):
        native(m, w, CLOSURE, IN_SHORT, OUT_CLOSURE)
        largest = 0.0
        for i in range(w[ROWS]):
            largest = max(largest, abs(m[w[DENSE_GAMMA] + i]))
            m[w[DENSE_GAMMA] + i] = -m[w[DENSE_GAMMA] + i]
        if largest < 1e-15:
            break
        dense_step(m, w, step)
        if w[RATES] == 0:
            for i in range(nq):
                m[cells + i] += m[step + i]
        else:  # v lends its place to the step while rates of coordinates are worked out
            copy(m, cells + nq, w[NEW] + nq, nv)
            copy(m, step, cells + nq, nv)
            kept = w[OUT_RATES]
            w[OUT_RATES] = m.ctypes.data + 8 * w[PROJECTED]
            native(m, w, RATES, IN_SHORT, OUT_RATES)
            w[OUT_RATES] = kept
            copy(m, w[NEW] + nq, cells + nq, nv)
            for i in range(nq):
                m[cells + i] += m[w[PROJECTED] + i]
    native(m, w, CLOSURE, IN_SHORT, OUT_CLOSURE)
    dense_velocities(m, w, cells + nq)


@compiled
def weighted(m, w, row, count, out):
    """The sum of slopes with the weights that begin at `row`."""
    for i in range(w[N]):
        m[out + i] = along(m, row, w[K] + i, count, w[N])


@compiled
def error(m, w, h):
    """The estimated error of a step, as a part of what is allowed."""
    if w[IMPLICIT] != 0:
        return m[ESTIMATED]
    n, y, new, k, slopes, row = w[N], w[Y], w[NEW], w[K], w[SLOPES], w[ERRORS]
    if n == 0:
        return 0.0
    first, second = 0.0, 0.0
    for i in range(n):
        share = 1.0 / (m[ABSOLUTE] + m[RELATIVE] * max(abs(m[y + i]), abs(m[new + i])))
        first += (along(m, row + (w[ESTIMATES] - 1) * slopes, k + i, slopes, n) * share) ** 2
        if w[ESTIMATES] > 1:  # the estimate of higher order comes last
            second += (along(m, row, k + i, slopes, n) * share) ** 2
    if w[ESTIMATES] == 1:
        return h * math.sqrt(first / n)
    return h * first / math.sqrt((first + 0.01 * second) * n) if first != 0.0 else 0.0


@compiled
def strain(m, w, h):
    """h |lambda| for the eigenvalue that a step's last two slopes tell of, both at its end, at different states (Hairer
    and Wanner, IV.2)."""
    n, last = w[N], w[SLOPES] - 1
    turned, apart, row = 0.0, 0.0, w[A] + (last - 1) * w[ALL_SLOPES]
    for i in range(n):
        there = m[w[Y] + i] + h * along(m, row, w[K] + i, last - 1, n)
        turned += (m[w[K] + last * n + i] - m[w[K] + (last - 1) * n + i]) ** 2
        apart += (m[w[NEW] + i] - there) ** 2
    return h * math.sqrt(turned / apart) if apart > 0.0 else 0.0


@compiled
def interpolate(m, w, t, h):
    """The polynomial of the step just taken, less y, over h; some methods take more slopes for it."""
    for stage in range(w[SLOPES], w[ALL_SLOPES]):
        combine(m, w, stage, h)
        evaluate(m, w, t + m[w[C] + stage] * h, stage)
    for power in range(w[POWERS]):
        weighted(m, w, w[DENSE] + power * w[ALL_SLOPES], w[ALL_SLOPES], w[POLYNOMIAL] + power * w[N])


@compiled
def between(m, w, h, theta):
    """The state at a part theta of the step, into spot."""
    n, y, spot, polynomial = w[N], w[Y], w[SPOT], w[POLYNOMIAL]
    for i in range(n):
        total = 0.0
        for power in range(w[POWERS] - 1, -1, -1):
            total = (total + m[polynomial + power * n + i]) * theta
        m[spot + i] = m[y + i] + h * total


@compiled
def first_step(m, w, until):
    """A step size to begin with (II.4): one for which an Euler step changes little, and its slope as well."""
    n, y, k, cells, t = w[N], w[Y], w[K], w[CELLS] + 1, m[T]
    if n == 0:
        return until - t
    size, slope, change = 0.0, 0.0, 0.0
    for i in range(n):
        allowed = m[ABSOLUTE] + m[RELATIVE] * abs(m[y + i])
        size += (m[y + i] / allowed) ** 2
        slope += (m[k + i] / allowed) ** 2
    size, slope = math.sqrt(size / n), math.sqrt(slope / n)
    h = min(1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope, until - t)
    for i in range(n):
        m[cells + i] = m[y + i] + h * m[k + i]
    evaluate(m, w, t + h, 1)
    for i in range(n):
        change += ((m[k + n + i] - m[k + i]) / (m[ABSOLUTE] + m[RELATIVE] * abs(m[y + i]))) ** 2
    steepest = max(slope, math.sqrt(change / n) / h)
    other = max(1e-6, h * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** m[EXPONENT]
    return min(100 * h, other, until - t)
