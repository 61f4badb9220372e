"""Steps: one compiled evaluation of a system, and one step of any Runge-Kutta table with its error and dense output.

Throughout, m are the doubles and w the integers of `memory.py`. Nothing here calls Python.
"""

import math

from kempe.integrate.dense import dense_accelerations, dense_step, dense_velocities, eliminated
from kempe.integrate.memory import *
from kempe.integrate.native import LANES, call, compiled, stepped, summed

NEWTON = 8  # most Newton steps to close loops by the dense way
SPOILS = 0.02  # of the change of velocities in a step: allowed error of a polynomial half way

# ---- one evaluation --------------------------------------------------------------------------------------


@compiled
def native(m, w, function, inputs, outputs):
    """Calls native code with tables of pointers that begin at these positions."""
    words = w.ctypes.data
    call(w[function], words + 8 * inputs, words + 8 * outputs, w[WORK])  # type: ignore[call-arg]


@compiled
def look_up(m, w, t):
    """The external values at t, from their polynomials."""
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
    first, width = w[CELLS] + 1 + w[WIDE], w[NW]
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
        # Stages lie off the loops by more than steps do, and a singular pose amplifies that.
        native(m, w, PROJECT, IN_SHORT, OUT_PROJECT)
        copy(m, w[PROJECTED], w[CELLS] + 1, w[NQ] + w[NV])
    place = w[K] + stage * w[WIDE]
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
    """Copies a part of the doubles."""
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
def combine(m, w, stage, h, out):
    """y + h sum a k, for a stage or for the step itself."""
    advance_by(m, w, h, w[A] + stage * w[ALL_SLOPES], w[K], stage, out)


@compiled
def advance_by(m, w, h, weights, entries, count, out):
    """y + h times the weighted sum of so many parts as wide as a state."""
    at, wide = m.ctypes.data, w[WIDE]
    stepped(at + 8 * w[Y], h, at + 8 * weights, at + 8 * entries, count, 8 * wide, at + 8 * out, wide // LANES)  # type: ignore[call-arg]


@compiled
def weighted(m, w, weights, count, out):
    """The weighted sum of so many slopes."""
    at, wide = m.ctypes.data, w[WIDE]
    summed(at + 8 * weights, at + 8 * w[K], count, 8 * wide, at + 8 * out, wide // LANES)  # type: ignore[call-arg]


@compiled
def take(m, w, t, h):
    """A step of size h: slopes into k, the resulting state into new; the slope there only if the error estimate needs
    it: a rejected step does without."""
    if w[IMPLICIT] != 0:
        m[TRIED] = h
        call(w[IMPLICIT], m.ctypes.data, w.ctypes.data, 0)  # type: ignore[call-arg]
        return
    if w[EULER]:
        push(m, w, h)
    last = w[SLOPES] - 1
    for stage in range(1, last):
        combine(m, w, stage, h, w[CELLS] + 1)
        evaluate(m, w, t + m[w[C] + stage] * h, stage)
    combine(m, w, last, h, w[NEW])
    if w[LAST_TELLS]:
        copy(m, w[NEW], w[CELLS] + 1, w[N])
        evaluate(m, w, t + h, last)


@compiled
def push(m, w, h):
    """Makes k_0 the slope of a semi-implicit step: coordinates use the velocities at its end."""
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
    """Projects the new state onto its manifold, and computes the slope there."""
    if w[PROJECT] == 0 and not w[NUMERIC] and w[LAST_TELLS]:
        return
    copy(m, w[NEW], w[CELLS] + 1, w[N])
    passed = 1.0
    if w[NUMERIC]:
        native(m, w, CLOSURE, IN_SHORT, OUT_CLOSURE)
        _, _, passed = eliminated(m, w, 0, 0)  # with the pivots of the step
        close(m, w)
    if w[PROJECT] != 0:
        native(m, w, PROJECT, IN_SHORT, OUT_PROJECT)
        copy(m, w[PROJECTED], w[CELLS] + 1, w[NQ] + w[NV])
    m[SHIFT] = shift(m, w)
    copy(m, w[CELLS] + 1, w[NEW], w[NQ] + w[NV])
    evaluate(m, w, t + h, w[SLOPES] - 1)
    if passed < 0.0:  # the step passed a singular pose of its coordinates
        m[w[APPLIED] + 1] = passed


@compiled
def shift(m, w):
    """The distance of the state in the cells from the new one, over the tolerance: the motion by a projection is an
    error of the step too, and far larger than the estimate where generalized coordinates fit badly."""
    squares, count = 0.0, w[NQ] + w[NV]
    for i in range(count):
        to, new = m[w[CELLS] + 1 + i], m[w[NEW] + i]
        squares += ((to - new) / (m[ABSOLUTE] * m[w[USUAL] + i] + m[RELATIVE] * abs(new))) ** 2
    return math.sqrt(squares / max(count, 1))


@compiled
def close(m, w):
    """Newton's method on the loops for the state in the cells, and velocities that keep them closed; only dependent
    coordinates move."""
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
        else:  # v is lent to the step while rates of coordinates are computed
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
def error(m, w, h):
    """The estimated error of a step, over the tolerance."""
    if w[IMPLICIT] != 0:
        return m[ESTIMATED]
    n, y, new, found = w[N], w[Y], w[NEW], w[ESTIMATED_BY]
    if n == 0:
        return 0.0
    for estimate in range(w[ESTIMATES]):
        weighted(m, w, w[ERRORS] + estimate * w[SLOPES], w[SLOPES], found + estimate * w[WIDE])
    first, second, best = 0.0, 0.0, found + (w[ESTIMATES] - 1) * w[WIDE]  # the estimate of higher order comes last
    for i in range(n):
        share = 1.0 / (m[ABSOLUTE] * m[w[USUAL] + i] + m[RELATIVE] * max(abs(m[y + i]), abs(m[new + i])))
        first += (m[best + i] * share) ** 2
        second += (m[found + i] * share) ** 2
    if w[ESTIMATES] == 1:
        return h * math.sqrt(first / n)
    return h * first / math.sqrt((first + 0.01 * second) * n) if first != 0.0 else 0.0


@compiled
def strain(m, w, h):
    """h |lambda| for the eigenvalue estimated from a step's last two slopes, both at its end, at different states
    (Hairer and Wanner, IV.2)."""
    there, end = w[SPOT], w[K] + (w[SLOPES] - 1) * w[WIDE]
    turned, apart = 0.0, 0.0
    combine(m, w, w[SLOPES] - 2, h, there)
    for i in range(w[N]):
        turned += (m[end + i] - m[end - w[WIDE] + i]) ** 2
        apart += (m[w[NEW] + i] - m[there + i]) ** 2
    return h * math.sqrt(turned / apart) if apart > 0.0 else 0.0


@compiled
def interpolate(m, w, t, h):
    """The polynomial of the step just taken, less y, over h; some methods need more slopes for it."""
    for stage in range(w[SLOPES], w[ALL_SLOPES]):
        combine(m, w, stage, h, w[CELLS] + 1)
        evaluate(m, w, t + m[w[C] + stage] * h, stage)
    for power in range(w[POWERS]):
        weighted(m, w, w[DENSE] + power * w[ALL_SLOPES], w[ALL_SLOPES], w[POLYNOMIAL] + power * w[WIDE])
    if w[CROSSING] and spoilt(m, w, h):
        by_ends(m, w, h)


@compiled
def spoilt(m, w, h):
    """Whether a stage close to a singular pose has spoilt the polynomial: its velocities half way are farther off than
    the polynomials of the ends are from each other."""
    nq, nv, off, usual = w[NQ], w[NV], 0.0, 0.0
    between(m, w, h, 0.5)
    for i in range(nv):
        at, end = nq + i, w[K] + (w[SLOPES] - 1) * w[WIDE] + nq + i
        cubic = 0.5 * (m[w[Y] + at] + m[w[NEW] + at]) + 0.125 * h * (m[w[K] + at] - m[end])
        expected, own = SPOILS * h * max(abs(m[w[K] + at]), abs(m[end])), cubic
        if nq == nv:
            _, c2, c3, c4, c5 = quintic(m, w, h, i)
            own = m[w[Y] + at] + c2 + 0.75 * c3 + 0.5 * c4 + 0.3125 * c5
            expected = 2.0 * abs(cubic - own)
        off, usual = max(off, abs(m[w[SPOT] + at] - own)), max(usual, expected)
        if not math.isfinite(m[w[SPOT] + at]):
            return True
    return off > usual


@compiled
def quintic(m, w, h, i):
    """For a coordinate whose rate is a velocity, coefficients of the polynomial that matches all data at both ends of
    the step, less its value at the first, over h."""
    begun, ended = m[w[K] + i], m[w[K] + (w[SLOPES] - 1) * w[WIDE] + i]
    curved, curves = h * m[w[K] + w[NQ] + i], h * m[w[K] + (w[SLOPES] - 1) * w[WIDE] + w[NQ] + i]
    whole = (m[w[NEW] + i] - m[w[Y] + i]) / h - begun - 0.5 * curved
    turned, bent = ended - begun - curved, 0.5 * (curves - curved)
    c3, c4 = 10.0 * whole - 4.0 * turned + bent, -15.0 * whole + 7.0 * turned - 2.0 * bent
    return begun, 0.5 * curved, c3, c4, 6.0 * whole - 3.0 * turned + bent


@compiled
def by_ends(m, w, h):
    """The polynomial from the data at both ends alone: quintic for coordinates whose rates are velocities, these its
    derivative, and cubic for all others."""
    n, nq, wide, powers, first = w[N], w[NQ], w[WIDE], w[POWERS], w[POLYNOMIAL]
    last = w[K] + (w[SLOPES] - 1) * wide
    for i in range(powers * wide):
        m[first + i] = 0.0
    for i in range(n):
        begun, ended = m[w[K] + i], m[last + i]
        whole = (m[w[NEW] + i] - m[w[Y] + i]) / h - begun
        turned = ended - begun
        m[first + i] = begun
        m[first + wide + i] = 3.0 * whole - turned
        m[first + 2 * wide + i] = turned - 2.0 * whole
    for i in range(nq if powers >= 5 and w[NV] == nq else 0):
        coefficients = quintic(m, w, h, i)
        for power in range(5):
            m[first + power * wide + i] = coefficients[power]
        for power in range(1, 5):
            m[first + (power - 1) * wide + nq + i] = (power + 1) * coefficients[power] / h


@compiled
def between(m, w, h, theta):
    """The state at a part theta of the step, into spot."""
    power = 1.0
    for k in range(w[POWERS]):
        power *= theta
        m[w[THETAS] + k] = power
    advance_by(m, w, h, w[THETAS], w[POLYNOMIAL], w[POWERS], w[SPOT])


@compiled
def first_step(m, w, until):
    """An initial step size (II.4): one for which an Euler step changes little, and its slope as well."""
    n, y, k, cells, t = w[N], w[Y], w[K], w[CELLS] + 1, m[T]
    if n == 0:
        return until - t
    size, slope, change = 0.0, 0.0, 0.0
    for i in range(n):
        allowed = m[ABSOLUTE] * m[w[USUAL] + i] + m[RELATIVE] * abs(m[y + i])
        size += (m[y + i] / allowed) ** 2
        slope += (m[k + i] / allowed) ** 2
    size, slope = math.sqrt(size / n), math.sqrt(slope / n)
    h = min(1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope, until - t)
    for i in range(n):
        m[cells + i] = m[y + i] + h * m[k + i]
    evaluate(m, w, t + h, 1)
    for i in range(n):
        allowed = m[ABSOLUTE] * m[w[USUAL] + i] + m[RELATIVE] * abs(m[y + i])
        change += ((m[k + w[WIDE] + i] - m[k + i]) / allowed) ** 2
    steepest = max(slope, math.sqrt(change / n) / h)
    other = max(1e-6, h * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** m[EXPONENT]
    return min(100 * h, other, until - t)
