"""Implicit: steps of Radau IIA of order 5 with exact Jacobians, for motions whose fast parts are damped.

A step solves for its three stages by Newton's method with the matrices of `collocation.py`, estimates its error, and
leaves slopes in k like explicit steps: all else (projection, events, rows, change of coordinates) is the same loop. The
Jacobian, the derivative of slopes by the state, is formed column by column from `variation`; it is kept while
iterations converge fast. Criteria are those of Hairer and Wanner (IV.8). Throughout, m are the doubles and w the
integers of `memory.py`. Nothing here calls Python.
"""

import math

import numpy as np
from numba.np.numpy_support import carray

from kempe.integrate.collocation import (
    COMPLEX,
    ESTIMATE,
    INVERSE,
    LEFT_COMPLEX,
    LEFT_REAL,
    REAL,
    RIGHT_COMPLEX,
    RIGHT_REAL,
    TIMES,
    WAYS,
)
from kempe.integrate.dense import eliminated, moved_by, reduced
from kempe.integrate.memory import *
from kempe.integrate.native import compiled, entry
from kempe.integrate.steps import copy, evaluate, look_up, native

ITERATIONS = 7  # most Newton iterations
FAST = 1e-3  # rate of convergence below which a Jacobian is kept
UNSOLVED = 10.5  # error of a step that did not converge: the next one is half as long


# ---- systems of linear equations -------------------------------------------------------------------------


@compiled
def factor(a, w, exchanged):
    """L and U of a real or complex matrix, in place, with partial pivoting; whether it is regular."""
    n = len(a)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        w[exchanged + k] = best
        if not abs(a[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        for i in range(k + 1, n):
            if a[i, k] != 0.0:
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]
    return True


@compiled
def solve(a, w, exchanged, b):
    """Solves for b with the factored matrix, in place."""
    n = len(a)
    for k in range(n):
        other = w[exchanged + k]
        b[k], b[other] = b[other], b[k]
        for j in range(k):
            b[k] -= a[k, j] * b[j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]


# ---- the Jacobian ----------------------------------------------------------------------------------------


@compiled
def vary(m, w, entry):
    """The variation with one entry of (q, v, z, a)."""
    m[w[SEED] + entry] = 1.0
    native(m, w, VARIATION, IN_VARIATION, OUT_VARIATION)
    m[w[SEED] + entry] = 0.0


@compiled
def differentiate(m, w, t):
    """The derivative of slopes by the state at y, whose slope is the first of k.

    For an entry of the state, accelerations and multipliers vary as M da - J^T dlam = -dr1, J da = -dr2.
    """
    n, nq, nv, rows = w[N], w[NQ], w[NV], w[ROWS]
    held, varied, last = w[HELD], w[VARIED], w[VARIED] + n
    copy(m, w[Y], w[CELLS] + 1, n)
    m[w[CELLS]] = min(max(t, m[EARLIEST]), m[LATEST])
    if w[PIECES] > 0:
        look_up(m, w, m[w[CELLS]])
    copy(m, w[K] + nq, held, nv)
    m[held + nv : held + nv + rows] = 0.0
    for k in range(nv):
        vary(m, w, n + k)
        for i in range(nv):
            m[w[DENSE_INERTIA] + i * nv + k] = m[varied + nq + i]
        for i in range(rows):
            m[w[DENSE_ROWS] + i * nv + k] = m[last + i]
    if rows > 0:
        find_multipliers(m, w)
    by_state = m[w[JACOBIAN] : w[JACOBIAN] + n * n].reshape((n, n))
    forces, sides = w[FORCES], w[FORCES] + nv * n
    for k in range(n):
        vary(m, w, k)
        for i in range(n):
            by_state[i, k] = m[varied + i]
        for i in range(nv):
            m[forces + i * n + k] = -m[varied + nq + i]
        for i in range(rows):
            m[sides + i * n + k] = -m[last + i]
    if not w[NUMERIC]:  # else those used for the slopes
        w[REPIVOT] = 1
    a, order, _ = eliminated(m, w, sides, n)
    x, _ = moved_by(m, w, forces, n, a, order)
    for i in range(nv):
        for k in range(n):
            by_state[nq + i, k] = x[i, k]
    for k in range(w[TURNS]):  # slopes are taken at normalized quaternions
        turn = w[w[TURNING] + k]
        for i in range(n):
            along = 0.0
            for j in range(turn, turn + 4):
                along += by_state[i, j] * m[w[Y] + j]
            for j in range(turn, turn + 4):
                by_state[i, j] -= along * m[w[Y] + j]
    copy(m, w[Y], w[BASE], n)
    m[FACTORED] = 0.0
    w[OUTDATED] = 0
    w[JACOBIANS] += 1


@compiled
def find_multipliers(m, w):
    """Multipliers of the loops, from J^T lam = r1 evaluated without lam; zero for redundant rows, where they are
    arbitrary."""
    nv, rows = w[NV], w[ROWS]
    scales = w[DENSE_SCALES]
    a = np.empty((nv, rows + 1))
    for j in range(nv):
        for i in range(rows):
            a[j, i] = m[w[DENSE_ROWS] + i * nv + j] * m[scales + i] * m[scales + rows + j]
        a[j, rows] = m[w[DENSE_REST] + j] * m[scales + rows + j]
    order, _ = reduced(a, rows, w[RANK], np.empty(2 * nv, dtype=np.int64), 0, True)
    for k in range(w[RANK]):
        m[w[HELD] + nv + order[k]] = a[k, rows] * m[scales + order[k]]


# ---- one step --------------------------------------------------------------------------------------------


@compiled
def factored(m, w, h):
    """Factors mu / h - df/dy, the real one and the complex one, for this step size; whether both are regular."""
    n = w[N]
    by_state = m[w[JACOBIAN] : w[JACOBIAN] + n * n].reshape((n, n))
    real, both = matrices(m, w)
    for i in range(n):
        for j in range(n):
            real[i, j] = both[i, j] = -by_state[i, j]
        real[i, i] += REAL / h
        both[i, i] += COMPLEX / h
    at = w[EXCHANGED]
    done = factor(real, w, at) and factor(both, w, at + n)
    m[FACTORED] = h if done else 0.0
    return done


@compiled
def matrices(m, w):
    """The real one and the complex one."""
    n = w[N]
    real = m[w[REAL_FACTORS] : w[REAL_FACTORS] + n * n]
    both = m[w[COMPLEX_FACTORS] : w[COMPLEX_FACTORS] + 2 * n * n].view(np.complex128)
    return real.reshape((n, n)), both.reshape((n, n))


@compiled
def expect(m, w, t, h, z):
    """Initial stage increments: from the last polynomial, if it began or ended here; else zero."""
    n, ratio = w[N], h / m[LASTED] if m[LASTED] > 0.0 else 0.0
    past = 0.0
    if m[BEGUN] != t:
        past = 1.0
        if not abs(m[BEGUN] + m[LASTED] - t) <= 1e-9 * m[LASTED] + 4 * ULP * abs(t):
            ratio = 0.0
    for stage in range(3):
        theta = past + TIMES[stage] * ratio
        for i in range(n):
            z[stage, i] = 0.0
            for k in range(3):
                way = m[w[STAGES] + k * n + i]
                share = ((WAYS[k, 2] * theta + WAYS[k, 1]) * theta + WAYS[k, 0]) * theta
                z[stage, i] += way * (share - (past if k == 2 else 0.0)) if ratio > 0.0 else 0.0


@compiled
def allowed(m, w, i):
    """The error tolerance of entry i of the state."""
    return m[ABSOLUTE] * m[w[USUAL] + i] + m[RELATIVE] * abs(m[w[Y] + i])


@compiled
def slope(m, w, t, stage):
    """The slope at t of the state in the cells, with normalized quaternions: the effect of others differs between
    formulations, and is not in the Jacobian."""
    for k in range(w[TURNS]):
        first, squares = w[CELLS] + 1 + w[w[TURNING] + k], 0.0
        for i in range(first, first + 4):
            squares += m[i] ** 2
        for i in range(first, first + 4):
            m[i] /= math.sqrt(squares)
    evaluate(m, w, t, stage)


@compiled
def converge(m, w, t, h, z):
    """Newton's method for the stage increments, from their prediction; whether it converged."""
    n, y, k = w[N], w[Y], w[K]
    real, both = matrices(m, w)
    at = w[EXCHANGED]
    enough = max(10 * ULP / m[RELATIVE], min(0.03, math.sqrt(m[RELATIVE])))
    w0, w1 = np.empty(n), np.empty(n, dtype=np.complex128)
    d0, d1 = np.empty(n), np.empty(n, dtype=np.complex128)
    for i in range(n):
        w0[i], w1[i] = 0.0, 0.0
        for stage in range(3):
            w0[i] += LEFT_REAL[stage] * z[stage, i]
            w1[i] += LEFT_COMPLEX[stage] * z[stage, i]
    before, rate = 0.0, 0.0
    for iteration in range(ITERATIONS):
        for stage in range(3):
            for i in range(n):
                m[w[CELLS] + 1 + i] = m[y + i] + z[stage, i]
            slope(m, w, t + TIMES[stage] * h, stage + 1)
            if w[ABORTED]:
                return False
        for i in range(n):
            d0[i], d1[i] = -REAL / h * w0[i], -COMPLEX / h * w1[i]
            for stage in range(3):
                found = m[k + (stage + 1) * w[WIDE] + i]
                d0[i] += LEFT_REAL[stage] * found
                d1[i] += LEFT_COMPLEX[stage] * found
        solve(real, w, at, d0)
        solve(both, w, at + n, d1)
        squares = 0.0
        for i in range(n):
            squares += (d0[i] ** 2 + d1[i].real ** 2 + d1[i].imag ** 2) / allowed(m, w, i) ** 2
            w0[i] += d0[i]
            w1[i] += d1[i]
            for stage in range(3):
                z[stage, i] = RIGHT_REAL[stage] * w0[i] + (RIGHT_COMPLEX[stage] * w1[i]).real
        change = math.sqrt(squares / (3 * n))
        if not math.isfinite(change):
            return False
        if iteration > 0:
            rate = change / before
        if change < enough or (0.0 < rate < 1.0 and rate / (1 - rate) * change < enough):
            w[OUTDATED] = iteration > 1 and rate > FAST
            return True
        if rate >= 1.0 or (rate > 0.0 and rate ** (ITERATIONS - 1 - iteration) / (1 - rate) * change > enough):
            return False
        before = change
    return False


@compiled
def estimate(m, w, t, h, z):
    """The error of the step over its tolerance; a large one is filtered twice (IV.8, eq. 8.20)."""
    n, y, cells = w[N], w[Y], w[CELLS] + 1
    real, _ = matrices(m, w)
    e, size = np.empty(n), 0.0
    for turn in range(2):
        if turn == 1:
            for i in range(n):
                m[cells + i] = m[y + i] + e[i]
            slope(m, w, t, 4)
        for i in range(n):
            e[i] = m[w[K] + 4 * w[WIDE] * turn + i]
            for stage in range(3):
                e[i] += ESTIMATE[stage] * z[stage, i] / h
        solve(real, w, w[EXCHANGED], e)
        squares = 0.0
        for i in range(n):
            most = max(abs(m[y + i]), abs(m[w[NEW] + i]))
            squares += (e[i] / (m[ABSOLUTE] * m[w[USUAL] + i] + m[RELATIVE] * most)) ** 2
        size = math.sqrt(squares / n)
        if size < 1.0:
            break
    return size


@compiled
def same(m, one, other, count):
    """Whether two parts are equal."""
    apart = 0
    for i in range(count):
        apart += m[one + i] != m[other + i]
    return apart == 0


@entry("nothing", "doubles", "words", "word")
def implicit_step(doubles, words, _work):
    """A step of the size to try: slopes into k, the resulting state into new, and its error. With size zero, the
    Jacobian only."""
    sizes = carray(words, (WORDS,))
    m, w = carray(doubles, (sizes[DOUBLES],)), carray(words, (sizes[WHOLE],))
    t, h, n, k = m[T], m[TRIED], w[N], w[K]
    m[ESTIMATED] = 0.0
    if n == 0:
        return
    z, done, current = np.empty((3, n)), False, w[JACOBIANS] > 0 and same(m, w[BASE], w[Y], n)
    anew = w[JACOBIANS] == 0 or w[OUTDATED] or h == 0.0
    while True:  # repeat with a Jacobian of this state if an earlier one fails
        if anew and not current:
            differentiate(m, w, t)
            current = True
        if h == 0.0:
            return
        expect(m, w, t, h, z)
        done = (m[FACTORED] == h or factored(m, w, h)) and converge(m, w, t, h, z)
        if done or current or w[ABORTED]:
            break
        anew = True
    for i in range(n):
        m[w[NEW] + i] = m[w[Y] + i] + z[2, i]
    if not done:
        m[ESTIMATED] = UNSOLVED
        return
    m[ESTIMATED] = estimate(m, w, t, h, z)
    m[BEGUN], m[LASTED] = t, h
    for stage in range(3):
        for i in range(n):
            m[w[STAGES] + stage * n + i] = z[stage, i]
            total = 0.0
            for other in range(3):
                total += INVERSE[stage, other] * z[other, i]
            m[k + (stage + 1) * w[WIDE] + i] = total / h
