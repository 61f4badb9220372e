"""Integrators: one compiled loop for all Runge-Kutta tables, with error control, dense output and events.

The step size is controlled as in Hairer, Norsett and Wanner (II.4): by the size of the estimate, by at most a factor of
10 up and 5 down. Throughout, m are the doubles and w the integers of `memory.py`. Nothing here calls Python.
"""

import math

from kempe.integrate.crossings import find, land, take_sides
from kempe.integrate.memory import *
from kempe.integrate.native import compiled, entry, matrix, numbers, vector
from kempe.integrate.steps import between, copy, error, evaluate, first_step, interpolate, settle, strain, take

# With the usual safety of 0.9 a fifth of all steps is rejected, and equally exact runs take 13 % more work.
SAFETY, SHRINK, GROW = 0.75, 0.2, 10.0
FITTING = 0.12  # fitness of generalized coordinates above which step sizes are remembered
FORGOTTEN = 0.9  # decay of the remembered step size per step
ASIDE = 0.9  # of its size: the next try of a step through a singular pose, if a stage met the pose itself
SPOILT = 2.0  # factor by which each of these tries relaxes the tolerance, up to 1e6
BY_SHIFT = 2  # value of JUST_REJECTED
MOVED = 0.3  # of the tolerance: how far a projection may move a step; a hundredth is usual
STABLE = 5.8  # h |lambda| near dop853's stability limit: 6.1 along the negative axis, 5.96 along the imaginary one
LOOK = 1000  # steps between checks for stiffness; then CERTAIN steps in a row at STABLE, with few others
CERTAIN, RELIEVED = 15, 6
CROWD = 5  # steps between two rows: about a period of what they follow, at usual tolerances


@compiled
def finite(m, start, count):
    """Whether all entries of a part are finite."""
    total = 0.0
    for i in range(count):
        total += 0.0 * m[start + i]  # NaN if one is not finite
    return total == 0.0


@compiled
def record(m, w, rows, state):
    """The next row of output: a state, and the held external values."""
    n = w[N]
    for i in range(n):
        rows[w[ROW], i] = m[state + i]
    for i in range(w[NW]):
        rows[w[ROW], n + i] = m[w[CELLS] + 1 + w[WIDE] + i]
    w[ROW] += 1


@compiled
def begin(m, w, until):
    """Computes the slope at a new state, and what follows from it; NONE, or the reason why it cannot go on."""
    copy(m, w[Y], w[CELLS] + 1, w[N])
    w[REPIVOT], m[ROUNDING], m[LASTED] = 1, 0.0, 0.0
    evaluate(m, w, m[T], 0)
    sides = w[FRESH] == SLOPE_AND_SIDES
    w[FRESH] = 0
    if w[ABORTED]:
        return STOPPED
    m[HEALTH], m[FIT] = m[w[APPLIED]], m[w[APPLIED] + 1]
    if w[WATCH] and not m[FIT] >= m[WEAK_BELOW]:
        copy(m, w[Y], w[NEW], w[N])
        w[FRESH] = SLOPE_AND_SIDES if sides else SLOPE
        return WEAK
    if m[HEALTH] < m[FLOOR] and not w[CROSS]:
        return SINGULAR
    if not finite(m, w[K], w[N]):
        return NON_FINITE
    if m[H] == 0.0:
        m[H] = first_step(m, w, until)
        if not m[H] > 0.0:
            return NON_FINITE
    if w[GUARD] != 0 and sides:
        take_sides(m, w)
    return NONE


@compiled
def strained(m, w, h):
    """Whether steps have for some time been limited by stability, not accuracy (IV.2), or crowded."""
    if w[STRAINED] == 0 and w[STEPS] % LOOK != LOOK - 1:
        return False
    w[CROWDED] = w[STRAINED] == 0 and CROWD * m[H] < m[SPACING]
    if w[CROWDED]:
        return True
    if strain(m, w, h) > STABLE:
        w[STRAINED], w[EASY] = w[STRAINED] + 1, 0
    else:
        w[EASY] += 1
        if w[EASY] >= RELIEVED:
            w[STRAINED], w[EASY] = 0, 0
    return w[STRAINED] >= CERTAIN


@compiled
def reject(m, w, h, size):
    """Retries a step whose error is `size` times the tolerance."""
    m[H] = h * (max(SHRINK, SAFETY * size ** -m[EXPONENT]) if math.isfinite(size) else SHRINK)
    w[REJECTED] += 1
    w[JUST_REJECTED] = 1


@entry("word", "words", "double", "word")
def advance(table, until, budget):
    """Advances until a time, an event, or a number of steps; returns which. The table has m, w, times and rows: rows
    are filled at the given times; or, with a row for every step, at the end of each, with its time, while there is
    room."""
    m, w, times, rows = vector(table, 0), numbers(table, 1), vector(table, 2), matrix(table, 3)
    n, last = w[N], w[K] + (w[SLOPES] - 1) * w[WIDE]
    adaptive, asked = w[ESTIMATES] > 0, 0 if w[EVERY] else len(times)
    while True:
        t = m[T]
        if w[FRESH]:
            how = begin(m, w, until)
            if how != NONE:
                return how
        if t >= until:
            return REACHED
        while w[ROW] < asked and times[w[ROW]] <= t:
            record(m, w, rows, w[Y])
        if budget <= 0 or (w[EVERY] and w[ROW] == len(times)):
            return PAUSED
        budget -= 1

        # The target: at most the next discontinuity in time; no tiny remainder is left.
        target, m[LATEST] = until, math.inf
        if w[NEXT_JUMP] < w[JUMPS]:
            target = min(until, m[w[JUMP_TIMES] + w[NEXT_JUMP]])
            m[LATEST] = m[w[JUMP_TIMES] + w[JUMPS] + w[NEXT_JUMP]]
        wanted = min(m[H], m[LONGEST])
        cut = t + wanted * (1 + 1e-9) >= target
        h = target - t if cut else wanted
        if adaptive and not cut and (h < 10 * ULP * abs(t) or not t + h > t):
            return TOO_SMALL if finite(m, w[K], last - w[K]) else NON_FINITE

        take(m, w, t, h)
        if w[ABORTED]:
            return STOPPED
        size, controlled = 0.0, adaptive and not (w[CROSSING] or (w[CROSS] and m[HEALTH] < m[FLOOR]))
        if controlled:
            size = error(m, w, h)
            if not size < 1.0:
                reject(m, w, h, size)
                continue
        elif w[CROSSING] and not error(m, w, h) < min(SPOILT ** -w[JUST_REJECTED], 1e6):
            m[H] = ASIDE * h
            w[REJECTED] += 1
            w[JUST_REJECTED] = min(w[JUST_REJECTED], 0) - 1
            continue
        elif w[CROSSING]:
            w[JUST_REJECTED] = 0
        settle(m, w, t, h)
        m[HEALTH], m[FIT] = m[w[APPLIED]], m[w[APPLIED] + 1]
        if w[WATCH] and not m[FIT] >= m[WEAK_BELOW]:
            m[H] = h  # the step is not taken: another method has to try it
            return WEAK
        if controlled and m[SHIFT] > max(MOVED, 2 * m[ROUNDING]):
            if w[JUST_REJECTED] != BY_SHIFT or m[SHIFT] < 0.5 * m[SHIFTED]:
                m[SHIFTED] = m[SHIFT]
                reject(m, w, h, m[SHIFT] / MOVED)
                w[JUST_REJECTED], w[REPIVOT] = BY_SHIFT, 1
                continue
            m[ROUNDING] = m[SHIFT]  # a smaller step did not reduce it
        if controlled:
            factor = GROW if size == 0.0 else min(GROW, SAFETY * size ** -m[EXPONENT])
            if w[JUST_REJECTED]:
                factor = min(1.0, factor)
            w[JUST_REJECTED] = 0
            m[H] = max(h * factor, wanted) if cut else h * factor
            if m[FIT] > FITTING:  # the usual size, not one shortened by what lies ahead
                m[STEADY] = max(wanted, FORGOTTEN * m[STEADY])
        if not (finite(m, w[NEW], n) and finite(m, last, n)):
            return SINGULAR if m[HEALTH] < m[FLOOR] else NON_FINITE

        stiff = w[SENSING] and controlled and strained(m, w, h)
        fired, drawn = NONE, False
        if w[GUARD] != 0:
            interpolate(m, w, t, h)
            theta, fired = find(m, w, t, h)
            drawn = fired == NONE
            if fired != NONE:
                whole, h = h, land(m, w, t, h, theta, fired)
                m[HEALTH], m[FIT] = m[w[APPLIED]], m[w[APPLIED] + 1]
                cut = cut and whole - h <= 4 * ULP * max(abs(t), whole)
        # Compensated summation: what an addition rounds off is added to the next.
        arrived = target if cut else max(t, t + (h - m[LOST]))
        m[LOST] = 0.0 if cut else (arrived - t) - (h - m[LOST])
        while w[ROW] < asked and times[w[ROW]] < arrived:
            if not drawn:
                interpolate(m, w, t, h)
                drawn = True
            between(m, w, h, (times[w[ROW]] - t) / h)
            record(m, w, rows, w[SPOT])
        copy(m, w[NEW], w[Y], n)
        copy(m, last, w[K], n)
        m[T] = arrived
        w[STEPS] += 1
        if cut and w[NEXT_JUMP] < w[JUMPS] and arrived == m[w[JUMP_TIMES] + w[NEXT_JUMP]]:
            m[EARLIEST], m[LATEST] = m[w[JUMP_TIMES] + 2 * w[JUMPS] + w[NEXT_JUMP]], math.inf
            w[NEXT_JUMP] += 1
            w[FRESH] = SLOPE
        if fired != NONE:
            w[FIRED] = fired
            w[w[SIDE] + fired] *= -1
            return EVENT
        if w[EVERY]:
            times[w[ROW]] = arrived
            record(m, w, rows, w[Y])
        if m[HEALTH] < m[FLOOR] and not w[CROSS]:
            return SINGULAR
        if w[WATCH] and m[FIT] < m[FADING_BELOW]:
            return FADING
        if stiff:
            w[STRAINED] = 0
            return STIFF
