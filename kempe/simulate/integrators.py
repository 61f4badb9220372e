"""Integrators: one compiled loop for all Runge-Kutta tables, with error control, dense output and located events.

The step size is chosen as in Hairer, Norsett and Wanner (II.4): from the estimate's size, by at most a factor of 10 up
and 5 down. An event is located on the dense output, and then by steps that end at it, so that it is as exact as any
other point of the run. Throughout, m are the doubles and w the whole numbers of `memory.py`. Nothing here calls Python.
"""

import math

from kempe.simulate.memory import *
from kempe.simulate.native import compiled, kept
from kempe.simulate.steps import between, copy, error, evaluate, first_step, guards, interpolate, settle, strain, take

# With the usual safety of 0.9 a fifth of all steps is taken in vain, and runs that are as exact take 13 % more work.
SAFETY, SHRINK, GROW = 0.75, 0.2, 10.0
FITTING = 0.12  # fitness of generalized coordinates at which step sizes are remembered
FORGOTTEN = 0.9  # how much of them is left a step later
SPOILT, ASIDE = 1e6, 0.9  # error, in parts of what is allowed, of a step that is tried again with this part of its size
BY_SHIFT = 2  # value of JUST_REJECTED
MOVED = 0.3  # of what is allowed: how far a projection may move a step; usual is a hundredth
SAMPLES = 4  # of each step, looked at for events
BISECTIONS = 52
STABLE = 5.8  # h |lambda| near the end of dop853's stability: 6.1 along the negative axis, 5.96 along the imaginary one
LOOK = 1000  # steps between looks for stiffness; then as many steps in a row are at STABLE as CERTAIN, with few others
CERTAIN, RELIEVED = 15, 6
CROWD = 5  # steps between two rows: about a period of what they follow, at usual tolerances
REFINEMENTS = 4


# ---- events ----------------------------------------------------------------------------------------------


@compiled
def sign(x):
    """-1, 0 or 1."""
    return 1 if x > 0 else -1 if x < 0 else 0


@compiled
def take_sides(m, w):
    """On which side of each event's zero the run is; at a zero, the side it is going to."""
    side, spot = w[SIDE], w[SPOT]
    guards(m, w, m[T], w[Y])
    for e in range(w[EVENTS]):
        w[side + e] = sign(m[w[GUARDED] + e])
    soon = 1e-6 * (m[H] if m[H] > 0 else 1e-3)
    for i in range(w[N]):
        m[spot + i] = m[w[Y] + i] + soon * m[w[K] + i]
    guards(m, w, m[T] + soon, spot)
    for e in range(w[EVENTS]):
        if w[side + e] == 0:
            w[side + e] = sign(m[w[GUARDED] + e])


@compiled
def expression(m, w, t, h, theta, event):
    """An event's expression at a part of the step; those of all events are in GUARDED."""
    between(m, w, h, theta)
    guards(m, w, t + theta * h, w[SPOT])
    return m[w[GUARDED] + event]


@compiled
def find(m, w, t, h):
    """The first event on the polynomial of the step: the part of the step at which it is, and its number or NONE."""
    side, signs = w[SIDE], w[SIGN]
    earliest, which = 2.0, NONE
    for sample in range(1, SAMPLES + 1):
        theta = sample / SAMPLES
        expression(m, w, t, h, theta, 0)
        for e in range(w[EVENTS]):
            w[signs + e] = sign(m[w[GUARDED] + e])
        for e in range(w[EVENTS]):
            now, direction = w[signs + e], w[w[DIRECTION] + e]
            if now == 0 or now == w[side + e] or w[side + e] == 0 or (direction != 0 and direction != now):
                continue
            low, high = theta - 1.0 / SAMPLES, theta
            for _ in range(BISECTIONS):
                half = 0.5 * (low + high)
                if sign(expression(m, w, t, h, half, e)) == now:
                    high = half
                else:
                    low = half
            if high < earliest:
                earliest, which = high, e
        if which != NONE:
            break
        for e in range(w[EVENTS]):
            if w[signs + e] != 0:
                w[side + e] = w[signs + e]
    return earliest, which


@compiled
def step_to(m, w, t, size, event):
    """A step of that size, brought onto the manifold; the event's expression there."""
    if w[EULER]:  # the slope at t was replaced by the one the step went along
        copy(m, w[Y], w[CELLS] + 1, w[N])
        evaluate(m, w, t, 0)
    take(m, w, t, size)
    settle(m, w, t, size)
    guards(m, w, t + size, w[NEW])
    return m[w[GUARDED] + event]


@compiled
def land(m, w, t, h, theta, event):
    """Steps from t to the event itself, its time corrected by what is left of its expression; the size of the step."""
    reach = 1e-3
    before = expression(m, w, t, h, theta - reach, event)
    rate = (expression(m, w, t, h, theta + reach, event) - before) / (2 * reach * h)
    size = theta * h
    left = step_to(m, w, t, size, event)
    for _ in range(REFINEMENTS):
        other = min(max(size - left / rate, 0.0), h)
        if not abs(other - size) > ULP * max(abs(t), size):
            break
        better = step_to(m, w, t, other, event)
        if not abs(better) < abs(left):  # an expression that jumps has no rate
            step_to(m, w, t, size, event)
            break
        size, left = other, better
    # Rounding may have left it just before the zero, where it would be found once more.
    push = ULP * max(abs(t), h)
    while sign(left) == w[w[SIDE] + event] and size < h and push < 1e-12 * max(abs(t), h):
        size = min(size + push, h)
        left = step_to(m, w, t, size, event)
        push *= 4
    return size


# ---- the loop --------------------------------------------------------------------------------------------


@compiled
def finite(m, start, count):
    """Whether all entries of a part are."""
    total = 0.0
    for i in range(count):
        total += 0.0 * m[start + i]  # NaN, where one is not
    return total == 0.0


@compiled
def record(m, w, rows, state):
    """The next row of output: a state, and the outside values as they are held."""
    n = w[N]
    for i in range(n):
        rows[w[ROW], i] = m[state + i]
    for i in range(w[NW]):
        rows[w[ROW], n + i] = m[w[CELLS] + 1 + w[WIDE] + i]
    w[ROW] += 1


@compiled
def begin(m, w, until):
    """Works out the slope at a state that was just given, and what follows from it; NONE, or why it cannot go on."""
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
    """Whether steps have for some time been as long as stability, not accuracy, lets them be (IV.2), or crowd."""
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
    """Has a step tried again that is off by so many times what is allowed."""
    m[H] = h * (max(SHRINK, SAFETY * size ** -m[EXPONENT]) if math.isfinite(size) else SHRINK)
    w[REJECTED] += 1
    w[JUST_REJECTED] = 1


@kept
def advance(m, w, times, rows, until, budget):
    """Goes on until a time, an event, or a number of steps; says which. Rows are filled at the times that are given;
    where every step is to have one, at the end of each, with its time, as long as there is room."""
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

        # How far: to the next time at which something jumps at most; a rest of almost nothing is not left over.
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
        elif w[CROSSING] and not error(m, w, h) < SPOILT:  # a stage met the singular pose itself
            m[H] = ASIDE * h
            w[REJECTED] += 1
            continue
        settle(m, w, t, h)
        m[HEALTH], m[FIT] = m[w[APPLIED]], m[w[APPLIED] + 1]
        if w[WATCH] and not m[FIT] >= m[WEAK_BELOW]:
            m[H] = h  # the step is not taken: others will have to try it
            return WEAK
        if controlled and m[SHIFT] > max(MOVED, 2 * m[ROUNDING]):
            if w[JUST_REJECTED] != BY_SHIFT or m[SHIFT] < 0.5 * m[SHIFTED]:
                m[SHIFTED] = m[SHIFT]
                reject(m, w, h, m[SHIFT] / MOVED)
                w[JUST_REJECTED] = BY_SHIFT
                continue
            m[ROUNDING] = m[SHIFT]  # a smaller step did not lessen it
        if controlled:
            factor = GROW if size == 0.0 else min(GROW, SAFETY * size ** -m[EXPONENT])
            if w[JUST_REJECTED]:
                factor = min(1.0, factor)
            w[JUST_REJECTED] = 0
            m[H] = max(h * factor, wanted) if cut else h * factor
            if m[FIT] > FITTING:  # the usual size, not one that was cut short by what lies ahead
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
        # Many small steps add up to the time they should: what an addition rounds off is added to the next.
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
