"""Machine: the memory of one run and the calls that advance it; between calls it can be changed."""

from collections.abc import Callable, Generator
from ctypes import CFUNCTYPE, c_ssize_t, c_void_p, cast
from dataclasses import replace

import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.integrate.implicit import implicit_step
from kempe.integrate.integrators import advance
from kempe.integrate.layout import LINE, Sizes, layout
from kempe.integrate.memory import *
from kempe.integrate.native import table
from kempe.integrate.tables import Method
from kempe.kinetics.kinetics import Kinetics
from kempe.simulate.drive import Drive, efforts
from kempe.simulate.progress import notice
from kempe.simulate.scales import dense_scales
from kempe.simulate.system import System

_CALLBACK = CFUNCTYPE(None, c_ssize_t)  # called from compiled code; takes the first of (inputs, outputs, work)
ROOM = 1000  # rows of a run with one per step, before they are handed on
SINGULAR_BELOW = 1e-10  # health at which a run counts as singular


def _usual(model: Kinetics) -> np.ndarray:
    """Typical sizes of q and v, in seconds: a radian, or the mechanism's length. Absolute errors refer to them."""
    q: list[float] = []
    for t in model.topology.tree:
        own = [model.equations.scale.of(unit) for unit in t.joint.type.units]
        q += [1.0] * (len(t.joint.type.q_names) - len(own)) + own  # a quaternion has one number more
    return np.concatenate([q, model.equations.steps])


def _constants(model: Kinetics) -> tuple[int, tuple[int, ...]]:
    """The number of closure equations for the dense way, which masked models never take, and the positions of
    quaternions in q."""
    kinds = ((joint.q.start, joint.joint.type) for joint in model.topology.tree)
    quaternions = tuple(start for start, kind in kinds if len(kind.q_names) != len(kind.v_names))
    return 0 if model.topology.is_masked else model.equations.sizes["lam"], quaternions


class Machine:
    """One run. Between calls of `advance` its parts may be read and written: q, v, z (all in y), the external values,
    parameters p; after writing, call `changed`."""

    def __init__(
        self,
        model: Kinetics,
        system: System,
        guard: Kernel | None,
        directions: tuple[int, ...],
        drive: Drive,
        method: Method,
        state: np.ndarray,
        p: np.ndarray,
        scales: np.ndarray,
        times: np.ndarray | None,
        variation: Kernel | None = None,
    ):
        self.model, self.drive = model, drive
        nq, nv, n, width, events = model.nq, model.nv, len(state), len(drive.held), len(directions)
        self._failure: BaseException | None = None
        self._arrays: list[np.ndarray | None] = [None] * 4  # those in the table
        self._callback = None
        if drive.function is not None:
            calls = self._calls()
            next(calls)
            self._callback = _CALLBACK(calls.send)
        self._jumps = jumps = drive.breaks
        loops, quaternions = _constants(model)
        pieces, powers = (0, 0) if drive.table is None else drive.table.coefficients.shape[:2]
        rest = model.nu, len(model.limited), events, loops, len(scales), pieces, powers, len(jumps), model.dof
        self._sizes = Sizes(method.name, nq, nv, n - nq - nv, width, len(p), *rest, quaternions)
        self.m, self.w = _, w = layout(self._sizes).begin()
        room = np.zeros(w[WIDE] - n)
        self._set(CELLS, np.concatenate([[0.0], state, room, drive.held, p, scales]))
        self._set(Y, state)
        self._set(USUAL, np.concatenate([_usual(model), np.ones(n - nq - nv)]))
        if drive.table is not None:
            self._set(BREAKS, drive.table.breaks)
            self._set(COEFFICIENTS, drive.table.coefficients)
        if len(jumps):
            self._set(JUMP_TIMES, np.concatenate([jumps, np.nextafter(jumps, -np.inf), np.nextafter(jumps, np.inf)]))
        if loops:
            self._set(DENSE_SCALES, dense_scales(model))
        if self._callback is not None:
            w[HOOK] = cast(self._callback, c_void_p).value or 0
        w[WORDS + 2 * events : WORDS + 3 * events] = directions
        self._guard = guard
        self._look(variation)
        self.use(system, scales)
        w[EVERY] = times is None
        self._times = np.empty(ROOM) if times is None else times
        self._rows, self._taken = np.empty((len(self._times), n + width)), 0

    def _look(self, variation: Kernel | None) -> None:
        """Names parts of the memory; `variation` is for a method with implicit steps, None for others."""
        m, w, s = self.m, self.w, self._sizes
        n, nv, cells = s.nq + s.nv + s.nz, s.nq + s.nv, int(w[CELLS])
        self.y = m[w[Y] : w[Y] + n]
        self.q, self.v, self.z = self.y[: s.nq], self.y[s.nq : nv], self.y[nv:]
        self._given, outside = m[cells : cells + 1 + nv], cells + 1 + int(w[WIDE])
        p, c = outside + s.width, outside + s.width + s.p
        self.outside, self.p, self._c = m[outside:p], m[p:c], m[c : c + s.scales]
        self._side = w[WORDS : WORDS + s.events]
        self.slopes = m[w[K] : w[K] + w[ALL_SLOPES] * w[WIDE]].reshape(w[ALL_SLOPES], w[WIDE])[:, :n]
        self._variation = variation
        w[IMPLICIT] = 0 if variation is None else implicit_step.address
        w[VARIATION] = 0 if variation is None else variation.address

    def change(self, method: Method, variation: Kernel | None) -> None:
        """Continues by another method from the present state; parts must be looked up anew."""
        self._sizes = replace(self._sizes, method=method.name)
        self.m, self.w = layout(self._sizes).taken_over(self.m, self.w)
        self._look(variation)
        self.use(self.system, self.scales)

    def jacobian(self) -> np.ndarray:
        """The present derivative of slopes by the state; for a method with implicit steps."""
        m, w, n = self.m, self.w, len(self.y)
        self.prepare()
        m[TRIED] = 0.0
        implicit_step.call(m.ctypes.data, w.ctypes.data, 0)
        return m[w[JACOBIAN] : w[JACOBIAN] + n * n].reshape(n, n).copy()

    def _set(self, part: int, values: np.ndarray) -> None:
        start = self.w[part]
        self.m[start : start + values.size] = values.ravel()

    def use(self, system: System, scales: np.ndarray) -> None:
        """Swaps addresses: from now on this system gives the slopes."""
        w = self.w
        kernels = system.main, self._guard, system.project, system.rates, system.closure
        every = *kernels, self._variation
        self.system, self._kernels = system, [k for k in every if k is not None]  # addresses are valid while they live
        for place, kernel in zip((SYSTEM, GUARD, PROJECT, RATES, CLOSURE), kernels, strict=True):
            w[place] = 0 if kernel is None else kernel.address
        self._work = np.zeros(max(kernel.workspace for kernel in self._kernels) + LINE)
        w[WORK] = self._work.ctypes.data
        w[NUMERIC] = system.closure is not None
        self._c[:] = scales
        self.changed()

    def watch(self, guard: Kernel | None, event: int, side: int) -> None:
        """Swaps the expressions of events for others, one of which begins on another side of its zero."""
        scales, fresh = self.scales, int(self.w[FRESH])
        self._guard = guard
        self.use(self.system, scales)
        self.w[FRESH], self._side[event] = fresh, side

    @property
    def scales(self) -> np.ndarray:
        """The present c."""
        return self._c.copy()

    @property
    def efforts(self) -> np.ndarray:
        """u and the efforts of stops, as last computed."""
        start = self.w[APPLIED] + 2
        return self.m[start : start + self.model.nu + len(self.model.limited)]

    @property
    def next(self) -> tuple[np.ndarray, np.ndarray]:
        """q and v at the end of a rejected step."""
        start, nq, nv = self.w[NEW], self.model.nq, self.model.nv
        return self.m[start : start + nq].copy(), self.m[start + nq : start + nq + nv].copy()

    def prepare(self) -> None:
        """Compiles or loads the integrators if necessary: a call that moves nothing."""
        if not advance.is_kept:
            notice("the integrators are being compiled, once on a machine; that takes half a minute")
        self._advance(-np.inf, 0)

    def begin(self, t: float, h: float, tolerance: float, longest: float, cross: bool) -> None:
        """Sets the clock; with step size 0 the method chooses."""
        m, w = self.m, self.w
        m[T], m[H], m[LONGEST], m[FLOOR] = t, h, longest, SINGULAR_BELOW
        m[RELATIVE] = m[ABSOLUTE] = tolerance
        m[EARLIEST], m[LATEST] = -np.inf, np.inf
        if len(self._jumps):
            w[NEXT_JUMP] = np.searchsorted(self._jumps, t, side="right")
            m[EARLIEST] = np.nextafter(t, np.inf) if t in self._jumps else -np.inf
        w[CROSS] = cross
        w[FRESH] = SLOPE_AND_SIDES

    def changed(self) -> None:
        """To be called after writing between calls."""
        self.w[FRESH] = max(self.w[FRESH], SLOPE)

    def record(self) -> None:
        """Rows of output due now, before any later step."""
        if self.w[EVERY]:
            return
        row, stop = int(self.w[ROW]), int(np.searchsorted(self._times, self.t, side="right"))
        if stop > row:
            self._rows[row:stop, : len(self.y)], self._rows[row:stop, len(self.y) :] = self.y, self.outside
            self.w[ROW] = stop

    def take(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and rows of output filled since the last call."""
        part = slice(self._taken, int(self.w[ROW]))
        found = self._times[part], self._rows[part]
        if self.w[EVERY]:  # their memory is reused
            self.w[ROW] = 0
            return found[0].copy(), found[1].copy()
        self._taken = part.stop
        return found

    def expressions(self) -> np.ndarray:
        """The present values of all events."""
        if self._guard is None:
            return np.zeros(0)
        return self._guard(self.t, self.q, self.v, self.z, self.outside, self.p)

    def sides_after(self, before: np.ndarray, fired: int) -> None:
        """Redetermines the sides of events whose expressions an action has changed; others may be close to zero, before
        or after, and are kept. The one that fired is on the side its rate leads to."""
        after = self.expressions()
        moved = (after != before) & (after != 0)
        self._side[moved] = np.sign(after[moved]).astype(np.int64)
        if not moved[fired]:
            self._side[fired] = self.heading(fired) or self._side[fired]

    def side(self, event: int) -> int:
        """The present side of an event's zero."""
        return int(self._side[event])

    def heading(self, event: int) -> int:
        """The side of an event's zero that the run is about to enter."""
        assert self._guard is not None
        soon = 1e-6 * (self.m[H] or 1e-3)
        if self.system.closure is not None:  # in the dense way the slope at hand is good enough
            qdot, vdot, zdot = np.split(self.slopes[0], np.cumsum([self.model.nq, self.model.nv]))
        else:
            qdot, vdot, zdot, *_ = self.system.main(self.t, self.q, self.v, self.z, self.outside, self.p, self._c)
        later = self.q + soon * qdot, self.v + soon * vdot, self.z + soon * zdot
        return int(np.sign(self._guard(self.t + soon, *later, self.outside, self.p)[event]))

    def advance(self, until: float, budget: int) -> int:
        """Advances; returns one of the endings in `memory`."""
        how = self._advance(until, budget)
        if self._failure is not None:
            raise self._failure
        return how

    def _advance(self, until: float, budget: int) -> int:
        arrays = [self.m, self.w, self._times, self._rows]
        if any(x is not y for x, y in zip(arrays, self._arrays, strict=True)):
            self._arrays, self._table = arrays, table(arrays)
        return advance.call(self._table.ctypes.data, until, budget)

    def _calls(self) -> Generator[None, int, None]:
        """The callback from compiled code if the torque is Python: each call runs to the next `yield`. Exceptions are
        kept until the compiled code has returned, also those of a signal (Ctrl-C) raised as Python takes over, which is
        before the first line of a function, where it could not catch them."""
        function: Callable = self.drive.function  # type: ignore[assignment]
        nq = self.model.nq
        try:
            while True:
                yield
                given = self._given.copy()
                self.outside[:] = efforts(self.model, function(float(given[0]), given[1 : 1 + nq], given[1 + nq :]))
        except GeneratorExit:
            return
        except BaseException as error:
            self._failure = error
            self.w[ABORTED] = 1
        while True:
            yield

    @property
    def t(self) -> float:
        """Time."""
        return float(self.m[T])
