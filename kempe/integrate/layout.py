"""Layout: the positions of all parts in the memory of a run, computed once for all runs of the same sizes."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kempe.integrate.memory import *
from kempe.integrate.tables import METHODS

LINE = 8  # doubles in a cache line
KEPT_WORDS = [*range(IMPLICIT), RANK, WORK, *range(EVALUATIONS, IN_SYSTEM)]  # integers that no method changes


@dataclass(frozen=True)
class Sizes:
    """All sizes that determine a layout: coordinates, velocities, states of a law, external values, parameters,
    actuated freedoms, freedoms with limits, events, loop equations, scales, pieces and powers of the table of external
    values, discontinuities in time; freedom of the mechanism; and the positions of quaternions in q."""

    method: str
    nq: int
    nv: int
    nz: int
    width: int
    p: int
    nu: int
    limited: int
    events: int
    loops: int
    scales: int
    pieces: int
    powers: int
    jumps: int
    dof: int
    quaternions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Layout:
    """Initial m and w of a run, and which entries of w are addresses: `targets` are positions in m; sizes of the parts
    that a run keeps whatever its method."""

    m: np.ndarray
    w: np.ndarray
    pointers: np.ndarray
    targets: np.ndarray
    shared: dict[int, int]

    def begin(self) -> tuple[np.ndarray, np.ndarray]:
        """New memory for a run."""
        room = np.empty(len(self.m) + LINE)
        first = -(room.ctypes.data // 8) % LINE  # aligned with cache lines
        m, w = room[first : first + len(self.m)], self.w.copy()
        m[:] = self.m
        w[self.pointers] = m.ctypes.data + 8 * self.targets
        return m, w

    def taken_over(self, m: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Memory of a run that continues by another method from the state in m and w."""
        own, words = self.begin()
        exponent = own[EXPONENT]
        own[:CLOCK] = m[:CLOCK]
        own[EXPONENT], own[LASTED], own[FACTORED] = exponent, 0.0, 0.0
        for part, size in self.shared.items():
            own[words[part] : words[part] + size] = m[w[part] : w[part] + size]
        words[KEPT_WORDS], words[WORDS : w[EXCHANGED]] = w[KEPT_WORDS], w[WORDS : w[EXCHANGED]]
        words[OUTDATED] = 1
        return own, words


@lru_cache(64)
def layout(s: Sizes) -> Layout:
    """The layout for these sizes."""
    method, n = METHODS[s.method], s.nq + s.nv + s.nz
    wide = -(-n // LINE) * LINE
    stages, solving = len(method.a), int(METHODS[s.method].implicit)
    parts = {
        CELLS: 1 + wide + s.width + s.p + s.scales,
        USUAL: wide,
        Y: wide,
        NEW: wide,
        SPOT: wide,
        K: stages * wide,
        POLYNOMIAL: method.dense.shape[1] * wide,
        THETAS: method.dense.shape[1],
        ESTIMATED_BY: len(method.errors) * wide,
        A: method.a,
        C: method.c,
        ERRORS: method.errors,
        DENSE: method.dense.T,
        BREAKS: s.pieces + 1 if s.pieces else 0,
        COEFFICIENTS: s.pieces * s.powers * s.width,
        JUMP_TIMES: 3 * s.jumps,
        GUARDED: s.events,
        SEEN: 5 * s.events,  # two samples, with slopes, and half way
        PROJECTED: s.nq + s.nv + 1,  # and the remaining residual
        APPLIED: 2 + s.nu + s.limited,  # health, fitness, u, stops
        DENSE_REST: s.nv,
        DENSE_INERTIA: s.nv * s.nv if s.loops or solving else 0,
        DENSE_ROWS: s.loops * s.nv,
        DENSE_GAMMA: s.loops,
        DENSE_SCALES: s.loops + s.nv if s.loops else 0,
        HELD: solving * (s.nv + s.loops),
        SEED: solving * (n + s.nv),
        VARIED: solving * (n + s.loops),
        FORCES: solving * (s.nv + s.loops) * n,
        JACOBIAN: solving * n * n,
        BASE: solving * n,
        REAL_FACTORS: solving * n * n,
        COMPLEX_FACTORS: solving * 2 * n * n,
        STAGES: solving * 3 * n,
    }
    rest = 3 * s.events + 2 * s.loops + solving * 2 * n + len(s.quaternions)
    w, start = np.zeros(WORDS + rest, dtype=np.int64), CLOCK
    filled = []
    for place, part in parts.items():
        start = -(-start // LINE) * LINE  # every part begins a line, so that none is written together with another
        if place == CELLS:  # time is at the end of a line, so that the state begins one
            start += LINE - 1
        w[place] = start
        if isinstance(part, np.ndarray):
            filled.append((start, part.ravel()))
        start += part.size if isinstance(part, np.ndarray) else part
    m = np.zeros(-(-start // LINE) * LINE + LINE)
    for begin, part in filled:
        m[begin : begin + part.size] = part
    w[[N, NQ, NV, NZ, NW, EVENTS, ROWS, RANK]] = n, s.nq, s.nv, s.nz, s.width, s.events, s.loops, s.nv - s.dof
    w[[SLOPES, ALL_SLOPES, POWERS, ESTIMATES]] = method.slopes, stages, method.dense.shape[1], len(method.errors)
    w[[PIECES, TABLE_POWERS, JUMPS, WIDE]] = s.pieces, s.powers, s.jumps, wide
    w[EULER], w[LAST_TELLS] = method.name == "euler", bool(method.errors[:, -1:].any())
    w[[SIDE, SIGN, DIRECTION, ORDER]] = WORDS + s.events * np.arange(4)
    w[EXCHANGED] = w[ORDER] + 2 * s.loops
    w[TURNING], w[TURNS] = len(w) - len(s.quaternions), len(s.quaternions)
    w[w[TURNING] :] = s.quaternions
    w[[DOUBLES, WHOLE]] = len(m), len(w)
    m[EXPONENT] = 1.0 / (method.error_order + 1) if method.error_order is not None else 0.0
    pointers, targets = zip(*_pointers(s, w), strict=True)
    kept = (CELLS, USUAL, Y, NEW, BREAKS, COEFFICIENTS, JUMP_TIMES, PROJECTED, APPLIED, DENSE_SCALES)
    shared = {part: parts[part] for part in kept}
    return Layout(m, w, np.array(pointers), np.array(targets), shared)


def _pointers(s: Sizes, w: np.ndarray):
    """Entries of w that are addresses, and the positions in m they point to."""
    cells, applied, seed, varied = (int(w[k]) for k in (CELLS, APPLIED, SEED, VARIED))
    outside = cells + 1 + int(w[WIDE])
    inputs = np.concatenate([cells + np.cumsum([0, 1, s.nq, s.nv]), outside + np.cumsum([0, s.width, s.p])])
    efforts = applied + 2, applied + 2 + s.nu
    places = {
        IN_SYSTEM: inputs.tolist(),
        OUT_SYSTEM + 3: [*efforts, applied, applied + 1],  # the first three change from slope to slope
        IN_SHORT: [cells + 1, cells + 1 + s.nq, outside + s.width],
        OUT_PROJECT: [w[PROJECTED], w[PROJECTED] + s.nq, w[PROJECTED] + s.nq + s.nv],
        OUT_RATES: [w[K]],
        OUT_HOOK: [outside],
        OUT_GUARD: [w[GUARDED]],
        OUT_DENSE + 1: [w[DENSE_REST]],
        OUT_DENSE + 3: [*efforts, w[DENSE_INERTIA], w[DENSE_ROWS], w[DENSE_GAMMA]],
        OUT_CLOSURE: [w[DENSE_GAMMA], w[DENSE_ROWS]],
        IN_VARIATION: [*inputs.tolist(), w[HELD], w[HELD] + s.nv, *(seed + np.cumsum([0, s.nq, s.nv, s.nz]))],
        OUT_VARIATION: [w[DENSE_REST], *(varied + np.cumsum([0, s.nq, s.nv, s.nz]))],
    }
    for first, targets in places.items():
        for k, target in enumerate(targets):
            yield first + k, int(target)
