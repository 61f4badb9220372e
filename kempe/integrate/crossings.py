"""Crossings: where in a step an event's expression crosses zero, and the step that ends there.

Expressions are evaluated on the polynomial of the step. Between two samples an expression is approximated by the cubic
Hermite interpolant, and a sample half way gives its error. If the cubic turns back before zero by more than its error,
nothing happens between; if in doubt, there is a sample at its turning point, and others half way, until the case is
decided. Steps that end at the event then correct its time, so that it is as exact as any other point of the run. m are
the doubles and w the integers of `memory.py`. Nothing here calls Python.
"""

import math

from kempe.integrate.memory import *
from kempe.integrate.native import compiled
from kempe.integrate.steps import between, copy, evaluate, guards, settle, take

FINEST = 1.0 / 512  # of a step: no interval is halved further
BESIDE = 1e-4  # of a step: distance of the two samples that give a slope
DOUBT = 4.0  # the error of a cubic elsewhere, relative to half way
BISECTIONS = 52
REFINEMENTS = 4


@compiled
def sign(x):
    """-1, 0 or 1."""
    return 1 if x > 0 else -1 if x < 0 else 0


@compiled
def take_sides(m, w):
    """The side of each event's zero that the run is on; at a zero, the side it is going to."""
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
def look(m, w, t, h, theta, place, aside):
    """Puts the expressions at a part of the step, and their slopes from a second sample aside, into SEEN."""
    count, guarded = w[EVENTS], w[GUARDED]
    expression(m, w, t, h, theta + aside, 0)
    copy(m, guarded, place + count, count)
    expression(m, w, t, h, theta, 0)
    copy(m, guarded, place, count)
    for e in range(count):
        m[place + count + e] = (m[place + count + e] - m[place + e]) / aside


@compiled
def doubted(m, w, low, high):
    """Where between two samples an expression may cross zero and back unnoticed: a part of the step; else NaN."""
    count, at_low = w[EVENTS], w[SEEN]
    at_middle, at_high = at_low + 2 * count, at_low + 3 * count
    width, first = high - low, math.nan
    for e in range(count):
        side = w[w[SIDE] + e]
        if side == 0:
            continue
        a, b, middle = side * m[at_low + e], side * m[at_high + e], side * m[at_middle + e]
        da, db = side * width * m[at_low + count + e], side * width * m[at_high + count + e]
        off = DOUBT * abs(middle - (0.5 * (a + b) + 0.125 * (da - db)))
        # a + da s + c2 s^2 + c3 s^3, and its turning points
        c2, c3 = 3 * (b - a) - 2 * da - db, 2 * (a - b) + da + db
        square = c2 * c2 - 3 * c3 * da
        if not square > 0:
            continue
        q = -(c2 + math.copysign(math.sqrt(square), c2))
        turns = (min(da / q, q / (3 * c3)), max(da / q, q / (3 * c3))) if c3 != 0 else (da / q, da / q)
        seen, last = b, 2.0  # the known value after it
        for turn in (turns[1], turns[0]):
            if 0 < turn < 1:
                value = a + turn * (da + turn * (c2 + turn * c3))
                if value <= off and seen > -off:
                    last = turn
                seen = max(seen, value)
        if last < 1 and not low + last * width > first:
            first = low + last * width
    return first


@compiled
def crossed(m, w, t, h, low, high, place):
    """The first event between two samples, the later of which is at `place`; sides are those of the later, if there is
    none."""
    side, signs = w[SIDE], w[SIGN]
    earliest, which = 2.0, NONE
    for e in range(w[EVENTS]):
        w[signs + e] = sign(m[place + e])
    for e in range(w[EVENTS]):
        now, direction = w[signs + e], w[w[DIRECTION] + e]
        if now == 0 or now == w[side + e] or w[side + e] == 0 or (direction != 0 and direction != now):
            continue
        before, after = low, high
        for _ in range(BISECTIONS):
            half = 0.5 * (before + after)
            if sign(expression(m, w, t, h, half, e)) == now:
                after = half
            else:
                before = half
        if after < earliest:
            earliest, which = after, e
    if which == NONE:
        for e in range(w[EVENTS]):
            if w[signs + e] != 0:
                w[side + e] = w[signs + e]
    return earliest, which


@compiled
def find(m, w, t, h):
    """The first event on the polynomial of the step: its part of the step, and its number or NONE."""
    count, at_low = w[EVENTS], w[SEEN]
    at_middle, at_high = at_low + 2 * count, at_low + 3 * count
    low, high = 0.0, 1.0
    look(m, w, t, h, low, at_low, BESIDE)
    while low < 1.0:
        look(m, w, t, h, high, at_high, -BESIDE)
        while True:
            middle = 0.5 * (low + high)
            expression(m, w, t, h, middle, 0)
            copy(m, w[GUARDED], at_middle, count)
            turn = doubted(m, w, low, high)
            if math.isnan(turn) or high - low <= FINEST:
                break
            high = turn if low < turn < high and across(m, w, t, h, turn) else middle
            look(m, w, t, h, high, at_high, -BESIDE)
        theta, which = crossed(m, w, t, h, low, middle, at_middle)
        if which == NONE:
            theta, which = crossed(m, w, t, h, middle, high, at_high)
        if which != NONE:
            return theta, which
        copy(m, at_high, at_low, 2 * count)
        low, high = high, min(1.0, high + max(2 * (high - low), FINEST))
    return 2.0, NONE


@compiled
def across(m, w, t, h, theta):
    """Whether any expression there is on another side than at the beginning of the interval."""
    expression(m, w, t, h, theta, 0)
    found = False
    for e in range(w[EVENTS]):
        found |= sign(m[w[GUARDED] + e]) * w[w[SIDE] + e] < 0
    return found


@compiled
def step_to(m, w, t, size, event):
    """A step of that size, projected onto the manifold; the event's expression there."""
    if w[EULER]:  # the slope at t was replaced by the one of the step
        copy(m, w[Y], w[CELLS] + 1, w[N])
        evaluate(m, w, t, 0)
    take(m, w, t, size)
    settle(m, w, t, size)
    guards(m, w, t + size, w[NEW])
    return m[w[GUARDED] + event]


@compiled
def land(m, w, t, h, theta, event):
    """Steps from t to the event itself, correcting its time by the remaining value of its expression; the size of the
    step."""
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
        if not abs(better) < abs(left):  # a jump has no rate
            step_to(m, w, t, size, event)
            break
        size, left = other, better
    # Rounding may have left it just before the zero, where it would be found again.
    push = ULP * max(abs(t), h)
    while sign(left) == w[w[SIDE] + event] and size < h and push < 1e-12 * max(abs(t), h):
        size = min(size + push, h)
        left = step_to(m, w, t, size, event)
        push *= 4
    return size
