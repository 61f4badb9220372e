"""Many: mechanisms of one model in fixed steps side by side, each by the program that its state requires.

The rule of the `atlas` determines the coordinates for a step at the state where it begins: so each mechanism moves as
it would alone, whatever the others do, however steps are divided into rows and calls. All begin with the first choice,
in native code that stops each mechanism where it needs other coordinates; these are found then, and the few steps
without fit coordinates take the dense way.
"""

from dataclasses import dataclass

import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.dynamics.generalized import Choice
from kempe.integrate.tables import Method
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.atlas import NARROW, fittest
from kempe.loops.freedom import freedom_beside
from kempe.simulate.pivoted import Pivoted
from kempe.simulate.scales import scales
from kempe.simulate.stepping import Step, fits_program, step, stride
from kempe.simulate.system import Setting

CLOSED = 1e-8  # residual of loops, over the mechanism's size, up to which steps start from a state
UNKNOWN = -1
OPENED = 1e-6  # residual of loops, likewise, at which a mechanism counts as lost
ANEW, DENSE, LOST = -1, -2, -3  # instead of a choice's number: ask the rule; the dense way; NaN


@dataclass(eq=False)
class Moving:
    """n mechanisms in motion: t (n,), q, v, z (n, ..), parameters p (np) or (n, np).

    number: the choice of each. While it keeps one, only its generalized velocities in v are current, and the others,
    and closed loops, are computed on demand: loose, if they are not yet. ruled: whether the rule was asked for it at
    this state. settled: whether its steps have to be closed one by one. free: its freedom in the dense way, UNKNOWN if
    not determined. fit, gap: the least fitness, and the largest residual of loops, so far.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    p: np.ndarray
    number: np.ndarray

    def __post_init__(self):
        n = len(self.t)
        self.ruled, self.settled, self.loose = np.zeros((3, n), dtype=bool)
        self.free, self.fit, self.gap = np.full(n, UNKNOWN), np.ones(n), np.zeros(n)

    def parameters(self, some: np.ndarray) -> np.ndarray:
        """Parameters of some mechanisms."""
        return _own((self.p,), some)[0]


class Many:
    """Advances mechanisms.

    closed: how far loops may be open at the end of a step, relative to the mechanism's size, before steps are closed
    one by one.
    """

    def __init__(self, model: Kinetics, setting: Setting, method: Method, h: float, threads: int | None = None,
                 closed: float = CLOSED):  # fmt: skip
        self._setting, self._method, self._h, self._threads, self._closed = setting, method, h, threads, closed
        self.use(model)

    def use(self, model: Kinetics) -> None:
        """Continues with a model of the same coordinates."""
        self.model, self._loops = model, model.topology.constrained
        self._choices: list[Choice | None] = [model.choice if self._loops else None]
        least = model.prepared.atlas.enough if self._loops else 0.0
        self._allowed = np.array([least, 0.5 * least, self._closed])
        self._known: dict[tuple[int, int], Kernel] = {}
        self._scaled: tuple[np.ndarray | None, dict[int | None, np.ndarray]] = None, {}
        self._fits: Kernel | None = None
        self._dense: dict[int, Pivoted] = {}  # by freedom

    @property
    def choices(self) -> int:
        """How many choices of generalized coordinates have been used."""
        return len(self._choices)

    # ---- one call --------------------------------------------------------------------------------------

    def stride(self, t, q, v, z, w, p, steps: int, number: int | np.ndarray = 0) -> tuple:
        """q, v, z on the loops and the fitness after some steps, of one mechanism or many (without and with an axis of
        their own); and the number of the choice each then has, in the form given, an int if all are equal."""
        if isinstance(number, int) and number >= 0:
            *found, left = self._strided(number, t, q, v, z, w, p, steps)
            if not self._loops or not left.any():
                return *found, number
        if not np.ndim(t):
            one = [np.asarray(x)[None] for x in (t, q, v, z)]
            *found, numbers = self._by_rule(*one, w, p, steps, np.array([number]))  # type: ignore[call-arg]
            return *(x[0] for x in found), int(numbers[0])
        numbers = np.full(len(t), number)
        found, late = [np.empty(x.shape) for x in (q, v, z, t)], numbers < 0
        for each in np.unique(numbers[~late]).tolist():
            some = np.flatnonzero(numbers == each)
            *part, left = self._strided(each, *_of((t, q, v, z), some), *_own((w, p), some), steps)  # type: ignore[call-arg]
            late[some] = left != 0
            for target, source in zip(found, part, strict=True):
                target[some] = source
        if late.any():
            some = np.flatnonzero(late)
            given = *_of((t, q, v, z), some), *_own((w, p), some)
            *part, numbers[some] = self._by_rule(*given, steps, numbers[some])  # type: ignore[call-arg]
            for target, source in zip(found, part, strict=True):
                target[some] = source
        return *found, one_number(numbers)

    def _strided(self, number: int, t, q, v, z, w, p, steps: int) -> tuple[np.ndarray, ...]:
        """q, v, z, fitness, and the number of remaining steps that this choice may not take."""
        if (number, steps) not in self._known:
            by = stride(self.model, self._setting, self._choices[number], self._method, self._h, steps)
            self._known[number, steps] = by
        _, q, v, z, fit, _, left = self._known[number, steps](t, q, v, z, w, p, self.scales(p, number), self._allowed)
        return q, v, z, fit, left

    def _by_rule(self, t, q, v, z, w, p, steps: int, number: np.ndarray) -> tuple[np.ndarray, ...]:
        moving = Moving(t.copy(), q.copy(), v.copy(), z.copy(), p, number)
        q, v, z = self.advance(moving, w, 1, steps)
        return q[:, 0], v[:, 0], z[:, 0], moving.fit, moving.number

    def scales(self, p: np.ndarray, number: int | None) -> np.ndarray:
        """c of a choice, or of the dense way; a row for each of many parameters if inertias determine the stiffness of
        stops. Remembered for the last parameters."""
        if self._scaled[0] is not p:
            self._scaled = p, {}
        known = self._scaled[1]
        if number not in known:
            choice = None if number is None else self._choices[number]
            if p.ndim == 1:
                known[number] = scales(self.model, p, choice)
            elif self._setting.stops is None or not self.model.limits:
                known[number] = scales(self.model, self.model.p, choice)
            else:
                different, where = np.unique(p, axis=0, return_inverse=True)
                known[number] = np.array([scales(self.model, each, choice) for each in different])[where]
        return known[number]

    # ---- along rows ------------------------------------------------------------------------------------

    def advance(self, moving: Moving, w: np.ndarray, rows: int, every: int) -> tuple[np.ndarray, ...]:
        """q, v, z on the loops at `rows` rows, `every` steps apart. External values w: (..), (n, ..), or for every step
        (n, rows * every, ..), where the first axis may have length 1. Moves the mechanisms."""
        n = len(moving.t)
        found = tuple(np.empty((n, rows, *x.shape[1:])) for x in (moving.q, moving.v, moving.z))
        left = np.full(n, rows * every)  # steps of each
        for some in self._alike(moving, np.flatnonzero(moving.number >= 0)):
            self._iterated(moving, some, left, w, rows, every, found)
        while len(waiting := np.flatnonzero(left > 0)):
            before = left[waiting]
            self._decide(moving, waiting[moving.number[waiting] == ANEW])
            for some in self._alike(moving, waiting):
                if moving.number[some[0]] >= 0:
                    self._iterated(moving, some, left, w, rows, every, found, one=True)
                elif moving.number[some[0]] == DENSE:
                    self._densely(moving, some, left, w, rows * every)
                else:
                    self._lost(moving, some, left, rows, every, found)
            come = (left[waiting] < before) & (left[waiting] % every == 0)
            self._rows(moving, waiting[come], left, rows, every, found)
        return found

    def _alike(self, moving: Moving, some: np.ndarray) -> list[np.ndarray]:
        """Groups that share one program."""
        key = 2 * moving.number[some] + moving.settled[some]
        return [some[key == each] for each in np.unique(key)]

    def _iterated(self, moving: Moving, some: np.ndarray, left: np.ndarray, w, rows: int, every: int, found,
                  one: bool = False) -> None:  # fmt: skip
        """Advances some mechanisms by their choice: to all rows if they are in step, or each to its next one; those
        that need other coordinates on the way stop there, with loops closed."""
        number, settled, whole = int(moving.number[some[0]]), bool(moving.settled[some[0]]), rows * every
        by, done = self._step(number, settled), whole - left[some]
        budget = (left[some] - 1) % every + 1 if one else left[some]
        allowed = self._allowed * [1.0, 1.0, np.inf] if settled else self._allowed
        p, y = moving.parameters(some), moving.v[some]
        y = y if by.independent is None else y[:, by.independent]
        known = moving.fit[some], moving.gap[some]
        state = moving.t[some], moving.q[some], y, moving.z[some], *known, budget.astype(float)
        length = int(budget.max()) if one else every
        given = (
            _of_steps(w, some, done, length if one else whole),
            p,
            *_own((self.scales(moving.p, number),), some),
            allowed,
        )
        ways = by.iteration(state, given, 1 if one else rows, length, self._threads)
        t, q, y, z, fit, gap, rest = (x[:, -1] for x in ways)
        wide, rest = rest < 0, np.abs(np.round(rest)).astype(int)
        moving.t[some], moving.q[some], moving.z[some] = t, q, z
        moving.fit[some], moving.gap[some], moving.settled[some[wide]] = fit, gap, True
        moving.v[some[:, None], by.independent if by.independent is not None else np.arange(y.shape[1])] = y
        left[some] += rest - budget
        if not one:
            reached = (whole - left[some]) // every
            closed = self._finished(by, ways[1], ways[2], p)
            for target, source in zip(found, (*closed, ways[3]), strict=True):
                target[some] = np.where((np.arange(rows) < reached[:, None])[:, :, None], source, target[some])
        moving.loose[some] |= rest < budget
        halted = (rest > 0) & moving.loose[some]  # by steps of this choice, which is fit to close them
        if halted.any():
            closed = self._finished(by, q[halted][:, None], y[halted][:, None], moving.parameters(some[halted]))
            moving.q[some[halted]], moving.v[some[halted]] = (x[:, 0] for x in closed)
            moving.loose[some[halted]] = False
        # A step with coordinates chosen by the rule that lose fitness within it takes the dense way.
        stuck = (rest == budget) & ~wide & moving.ruled[some]
        moving.number[some[rest > 0]] = np.where(stuck[rest > 0], DENSE, ANEW)
        moving.ruled[some] = False

    def _finished(self, by: Step, q: np.ndarray, y: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v (n, rows, ..) with loops closed, from coordinates and generalized velocities."""
        if by.finish is None:
            return q, y
        n, rows = q.shape[:2]
        each = np.repeat(p, rows, axis=0) if p.ndim == 2 else p
        closed, v, *_ = by.finish(q.reshape(n * rows, -1), y.reshape(n * rows, -1), each)
        return closed.reshape(n, rows, -1), v.reshape(n, rows, -1)

    def ended(self, moving: Moving) -> None:
        """Accounts for the loop gaps after the last steps, which further steps would have reported."""
        for some in self._alike(moving, np.flatnonzero(moving.number >= 0)):
            by = self._step(int(moving.number[some[0]]), bool(moving.settled[some[0]]))
            if by.finish is not None:
                *_, opened = by.finish(moving.q[some], moving.v[some][:, by.independent], moving.parameters(some))
                moving.gap[some] = np.maximum(moving.gap[some], opened)

    def _rows(self, moving: Moving, some: np.ndarray, left: np.ndarray, rows: int, every: int, found) -> None:
        """Records the states of some mechanisms that have come to a row."""
        for alike in self._alike(moving, some):
            q, v, z = (x[alike] for x in (moving.q, moving.v, moving.z))
            number = int(moving.number[alike[0]])
            if number >= 0:
                by = self._step(number, bool(moving.settled[alike[0]]))
                y = v if by.independent is None else v[:, by.independent]
                q, v = (x[:, 0] for x in self._finished(by, q[:, None], y[:, None], moving.parameters(alike)))
            row = rows - left[alike] // every - 1
            for target, source in zip(found, (q, v, z), strict=True):
                target[alike, row] = source

    def _densely(self, moving: Moving, some: np.ndarray, left: np.ndarray, w, whole: int) -> None:
        """One step of some mechanisms by the dense way, grouped by freedom."""
        for lane in some[moving.free[some] == UNKNOWN].tolist():
            moving.free[lane] = self._freedom(moving, lane)
        for free in np.unique(moving.free[some]).tolist():
            self._densely_alike(moving, some[moving.free[some] == free], left, w, whole, free)

    def _freedom(self, moving: Moving, lane: int) -> int:
        """The freedom of a mechanism's branch, found as in a run (`choices.Choices.first`)."""
        p = (moving.p if moving.p.ndim == 1 else moving.p[lane]) if self.model.p_names else None
        if self.model.prepared.atlas.chooser.best(moving.q[lane], p)[1] >= NARROW:
            return self.model.dof
        return max(self.model.dof, freedom_beside(self.model, moving.q[lane], p))

    def _densely_alike(self, moving: Moving, some: np.ndarray, left: np.ndarray, w, whole: int, free: int) -> None:
        if free not in self._dense:
            self._dense[free] = Pivoted(self.model, self._setting, self._method, self._h, free)
        now = _of_steps(w, some, whole - left[some], 1)
        now = now if now.ndim == 1 else now.reshape(len(now), -1)
        state = moving.t[some], moving.q[some], moving.v[some], moving.z[some]
        given = moving.parameters(some), *_own((self.scales(moving.p, None),), some)
        q, v, z, fit, gap = self._dense[free].step(*state, now, *given)
        moving.t[some] += self._h
        moving.q[some], moving.v[some], moving.z[some] = q, v, z
        moving.fit[some] = np.fmin(moving.fit[some], fit)
        moving.gap[some] = np.fmax(moving.gap[some], gap)
        left[some] -= 1
        alive = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1) & (gap <= OPENED)
        moving.number[some] = np.where(alive, ANEW, LOST)
        moving.q[some[~alive]] = moving.v[some[~alive]] = np.nan

    def _lost(self, moving: Moving, some: np.ndarray, left: np.ndarray, rows: int, every: int, found) -> None:
        """Mechanisms with NaN are lost for good."""
        later = np.arange(rows) >= (rows - (left[some] - 1) // every - 1)[:, None]
        for target in found:
            target[some] = np.where(later[:, :, None], np.nan, target[some])
        moving.t[some] += self._h * left[some]
        left[some] = 0

    # ---- the rule --------------------------------------------------------------------------------------

    def _decide(self, moving: Moving, some: np.ndarray) -> None:
        """The coordinates for the next step of some mechanisms."""
        if not len(some):
            return
        moving.ruled[some] = True
        if self.model.loops_repeat:
            for lane in some.tolist():
                p = moving.p if moving.p.ndim == 1 else moving.p[lane]
                choice = self.model.prepared.atlas.at(moving.q[lane], p if self.model.p_names else None)
                moving.number[lane] = DENSE if choice is None else self._number(choice)
            return
        if self._fits is None:
            choices = self.model.prepared.atlas.choices
            self._choices, self._fits = list(choices), Kernel(fits_program(self.model, choices))
        number = fittest(self._fits(moving.q[some], moving.parameters(some)), self._allowed[0])
        moving.number[some] = np.where(number < 0, DENSE, number)
        moving.free[some[number >= 0]] = UNKNOWN

    def _number(self, choice: Choice) -> int:
        if choice not in self._choices:
            self._choices.append(choice)
        return self._choices.index(choice)

    def _step(self, number: int, settled: bool) -> Step:
        return step(self.model, self._setting, self._choices[number], self._method, self._h, settled)


def one_number(numbers: np.ndarray) -> int | np.ndarray:
    """Numbers of choices, as one if they are all equal."""
    return int(numbers.flat[0]) if (numbers == numbers.flat[0]).all() else numbers


def _of(arrays, some: np.ndarray) -> list[np.ndarray]:
    """Some rows of each."""
    return [x[some] for x in arrays]


def _own(arrays, some: np.ndarray) -> list[np.ndarray]:
    """Some rows of each, except arrays that all share."""
    return [x if x.ndim == 1 else x[some] for x in arrays]


def _of_steps(w: np.ndarray, some: np.ndarray, done: np.ndarray, length: int) -> np.ndarray:
    """External values of some mechanisms, for so many steps after those they have done."""
    if w.ndim < 2:
        return w
    own = w if len(w) == 1 else w[some]
    if w.ndim == 2:
        return own
    if (done == done[0]).all():
        return np.ascontiguousarray(own[:, done[0] : done[0] + length])
    steps = np.minimum(done[:, None] + np.arange(length), w.shape[1] - 1)
    return own[np.zeros(len(done), dtype=int)[:, None] if len(w) == 1 else np.arange(len(done))[:, None], steps]
