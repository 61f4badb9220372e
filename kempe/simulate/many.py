"""Many: mechanisms of one model that move on by fixed steps side by side, each in coordinates that suit it.

All begin with one choice of generalized coordinates. Those it does not suit, along some of their way, go that way again
with another: one that others use already, or the best where it began; and where even that fails on the way, by halves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.dynamics.partition import Choice
from kempe.model.model import Model
from kempe.simulate.choices import FADING, WEAK, best_at
from kempe.simulate.scales import scales
from kempe.simulate.stepping import step, stride
from kempe.simulate.system import Setting
from kempe.simulate.tables import Method

CLOSED = 1e-8  # residual of loops, beside the mechanism's size, up to which steps go on from a state
Start = Sequence[np.ndarray]  # t (n,), q, v, z (n, ..)


@dataclass(frozen=True, eq=False)
class Moved:
    """States of n mechanisms at some rows: t (n, rows), q, v, z (n, rows, ..). fit, gap (n,): the least fitness of
    coordinates on the way, and the largest residual of loops."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    fit: np.ndarray
    gap: np.ndarray

    @property
    def states(self) -> tuple[np.ndarray, ...]:
        """t, q, v, z."""
        return self.t, self.q, self.v, self.z

    @property
    def last(self) -> Start:
        """The last row, to go on from."""
        return [x[:, -1] for x in self.states]

    def put(self, some: np.ndarray, other: "Moved") -> None:
        """Takes over some mechanisms from another."""
        for target, source in zip((*self.states, self.fit, self.gap), (*other.states, other.fit, other.gap),
                                  strict=True):  # fmt: skip
            target[some] = source

    def of(self, some: np.ndarray) -> "Moved":
        """Of some mechanisms."""
        return Moved(*(x[some] for x in (*self.states, self.fit, self.gap)))

    def weak(self, least: float) -> np.ndarray:
        """Which mechanisms' coordinates were not fit on the way, or gave what is no number."""
        return ~((self.fit > least) & _finite((self.q, self.v)))


@dataclass(frozen=True, eq=False)
class _Way:
    """What mechanisms are to go: from where, under which values w from outside, with which parameters p, to how many
    rows, and by how many steps to each. w is (..), (n, ..), or (n, steps, ..); p (..) or (n, ..); their first axis may
    have length 1."""

    start: Start
    w: np.ndarray
    p: np.ndarray
    rows: int
    every: int

    def of(self, some: np.ndarray) -> "_Way":
        """Of some mechanisms."""
        if len(some) == len(self.start[0]):
            return self
        start, given = [x[some] for x in self.start], (self.w, self.p)
        w, p = (x if x.ndim == 1 or len(x) == 1 else x[some] for x in given)
        return replace(self, start=start, w=w, p=p)

    def part(self, start: Start, first: int, last: int) -> "_Way":
        """Some of the steps, from where they begin to one row at their end."""
        return _Way(start, self.w[:, first:last] if self.w.ndim == 3 else self.w, self.p, 1, last - first)


class Many:
    """What moves mechanisms on.

    closed: how far loops may be open at the end of a step, relative to the mechanism's size, before they are closed as
    the state is given out. p: parameters of all, or a row for each.
    """

    def __init__(self, model: Model, setting: Setting, method: Method, h: float, p: np.ndarray, count: int,
                 threads: int | None = None, closed: float = CLOSED):  # fmt: skip
        self._setting, self._method, self._h, self._p = setting, method, h, p
        self._threads, self._closed = threads, closed
        self._number = np.zeros(count, dtype=int)  # of the choice in use
        self.use(model)

    def use(self, model: Model) -> None:
        """Goes on with a model of the same coordinates; one choice for all."""
        self.model = model
        self._choices: list[Choice | None] = [model.choice if model.topology.constrained else None]
        self._number[:] = 0
        self._known: dict[int, tuple[Kernel, np.ndarray]] = {}

    @property
    def choices(self) -> int:
        """How many choices of generalized coordinates have been in use."""
        return len(self._choices)

    def stride(self, start: Start, w: np.ndarray, steps: int) -> Sequence[np.ndarray]:
        """q, v, z after some steps, of one mechanism or many (without and with an axis of their own)."""
        if len(self._choices) == 1:  # one call of native code, for what is nearly always so
            compiled, sizes = self._strides(steps)
            *found, fit, left = compiled(*start, w, self._p, sizes)
            if not self.model.topology.constrained or (fit.min() > WEAK and left.max() <= self._closed):
                return found
        if start[0].ndim:
            return self.advance(start, w, every=steps).last[1:]
        return [x[0] for x in self.advance([x[None] for x in start], w, every=steps).last[1:]]

    def _strides(self, steps: int) -> tuple[Kernel, np.ndarray]:
        if steps not in self._known:
            choice = self._choices[0]
            found = stride(self.model, self._setting, choice, self._method, self._h, steps)
            self._known[steps] = found, self.scales(choice)
        return self._known[steps]

    def scales(self, choice: Choice | None) -> np.ndarray:
        """c of a choice; of trees, whose stops are as stiff as inertias make them, a row for each of many parameters,
        where there are stops."""
        if self._p.ndim == 1:
            return scales(self.model, self._p, choice)
        if choice is not None or not self.model.limits:
            return scales(self.model, self.model.p, choice)
        different, where = np.unique(self._p, axis=0, return_inverse=True)
        return np.array([scales(self.model, p) for p in different])[where]

    def advance(self, start: Start, w: np.ndarray, rows: int = 1, every: int = 1) -> Moved:
        """States at `rows` rows, `every` steps apart, under values w from outside: (..), (n, ..), or (n, rows * every,
        ..) for every step, where the first axis may have length 1."""
        way, numbers = _Way(start, w, self._p, rows, every), np.unique(self._number).tolist()
        if len(numbers) == 1:
            found = self._run(numbers[0], way)
        else:
            found = self._empty(len(self._number), rows)
            for number in numbers:
                some = np.flatnonzero(self._number == number)
                found.put(some, self._run(number, way.of(some)))
        if self.model.topology.constrained:
            self._rechosen(found, way)
        return found

    def _empty(self, count: int, rows: int) -> Moved:
        nz = len(self._setting.law.states) if self._setting.law is not None else 0
        shapes = [(rows,), *((rows, size) for size in (self.model.nq, self.model.nv, nz)), (), ()]
        return Moved(*(np.empty((count, *shape)) for shape in shapes))

    # ---- by one choice ---------------------------------------------------------------------------------

    def _run(self, number: int, way: _Way) -> Moved:
        """A way by one of the choices; where loops open too far, by steps that are settled."""
        found = self._stepped(number, way, settled=False)
        wide = np.flatnonzero(found.gap > self._closed)
        if len(wide):
            found.put(wide, self._stepped(number, way.of(wide), settled=True))
        return found

    def _stepped(self, number: int, way: _Way, settled: bool) -> Moved:
        choice, (t, q, v, z) = self._choices[number], way.start
        by = step(self.model, self._setting, choice, self._method, self._h, settled)
        state = t, q, v if by.independent is None else v[:, by.independent], z, np.ones(len(t)), np.zeros(len(t))
        given = way.w, way.p, self.scales(choice)
        t, q, v, z, fit, gap = by.iteration(state, given, way.rows, way.every, self._threads)
        if by.finish is not None:
            each = np.repeat(way.p, way.rows, axis=0) if way.p.ndim == 2 else way.p
            closed, moving, _, opened = by.finish(*(x.reshape(len(t) * way.rows, -1) for x in (q, v)), each)
            q, v = closed.reshape(q.shape), moving.reshape(len(t), way.rows, -1)
            gap[:, -1] = np.maximum(gap[:, -1], opened.reshape(gap.shape).max(axis=1))
        return Moved(t, q, v, z, fit[:, -1], gap[:, -1])

    # ---- by others where it is weak --------------------------------------------------------------------

    def _rechosen(self, found: Moved, way: _Way) -> None:
        """Goes the way again with other coordinates where those in use did not suit; not from where there is no state
        left to go on from."""
        weak = np.flatnonzero(found.weak(WEAK) & _finite(way.start))
        for number in range(len(self._choices)):
            others = weak[self._number[weak] != number]
            weak = np.setdiff1d(weak, self._tried(number, others, FADING, found, way))
        while len(weak):
            one, known = weak[:1], len(self._choices)
            used = int(self._number[one[0]])
            number = self._best(way.of(one), used)
            if number == known:  # a new one, which may suit others too
                weak = np.setdiff1d(weak, self._tried(number, weak, WEAK, found, way))
            if one[0] in weak:
                part, self._number[one] = self._by_halves(way.of(one), used)
                found.put(one, part)
                weak = np.setdiff1d(weak, one)

    def _best(self, way: _Way, used: int) -> int:
        """The number of the choice that is best where one mechanism begins its way; of the one in use, where loops are
        singular and there is none."""
        p = way.p if way.p.ndim == 1 else way.p[0]
        choice, _ = best_at(self.model, way.start[1][0], p if self.model.p_names else None)
        if len(choice.rows) < self.model.nv - self.model.dof:
            return used
        if choice not in self._choices:
            self._choices.append(choice)
        return self._choices.index(choice)

    def _tried(self, number: int, some: np.ndarray, least: float, found: Moved, way: _Way) -> np.ndarray:
        """Those of some mechanisms for which one of the choices is fit; they have gone the way with it."""
        if not len(some):
            return some
        again = self._run(number, way.of(some))
        good = np.flatnonzero(~again.weak(least))
        found.put(some[good], again.of(good))
        self._number[some[good]] = number
        return some[good]

    def _by_halves(self, way: _Way, number: int) -> tuple[Moved, int]:
        """One mechanism, row by row, with the best coordinates where each part of the way begins; their number before
        is given, and that at the end."""
        found, start = self._empty(1, way.rows), way.start
        found.fit[:], found.gap[:] = 1.0, 0.0
        for row in range(way.rows):
            part, number = self._part(way.part(start, row * way.every, (row + 1) * way.every), number)
            for target, source in zip(found.states, part.states, strict=True):
                target[:, row] = source[:, 0]
            found.fit[:], found.gap[:] = np.minimum(found.fit, part.fit), np.maximum(found.gap, part.gap)
            start = part.last
        return found, number

    def _part(self, way: _Way, number: int) -> tuple[Moved, int]:
        """A part of the way to one row, halved until coordinates suit it, or it is a single step, or there is no state
        left to go on from."""
        going, steps = _finite(way.start)[0], way.every
        number = self._best(way, number) if going else number
        found = self._run(number, way)
        if steps == 1 or not going or not found.weak(WEAK)[0]:
            return found, number
        before, number = self._part(way.part(way.start, 0, steps // 2), number)
        after, number = self._part(way.part(before.last, steps // 2, steps), number)
        least, most = np.minimum(before.fit, after.fit), np.maximum(before.gap, after.gap)
        return replace(after, fit=least, gap=most), number


def _finite(start: Start) -> np.ndarray:
    """Of which mechanisms all numbers are."""
    return np.logical_and.reduce([np.isfinite(x).reshape(len(x), -1).all(axis=1) for x in start])
