"""Stepper: fixed steps one at a time, for control and learning loops, of one mechanism or of many at once."""

from collections.abc import Sequence

import numpy as np

from kempe.compiler.compose import Composer
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.control.laws import CompiledLaw
from kempe.errors import StateError
from kempe.model.model import Model
from kempe.model.state import State
from kempe.simulate.drive import efforts
from kempe.simulate.stops import Stops, no_events
from kempe.simulate.system import System, scales, system
from kempe.simulate.tables import METHODS, Method


class Stepper:
    """A mechanism, or `batch` of them, that moves on by dt with every `step`; the efforts are held in between.

    t, q, v, z: time, coordinates, velocities and states of a law, each with a leading axis if there are many. They may
    be written to.
    """

    def __init__(
        self,
        model: Model,
        state: State | Sequence[State] | None,
        dt: float,
        *,
        method: str = "rk4",
        substeps: int = 1,
        batch: int | None = None,
        torque: CompiledLaw | None = None,
        limits: str | Stops = "stops",
        p=None,
    ):
        if not dt > 0 or substeps < 1:
            raise StateError(f"stepper: dt is {dt!r} s and substeps {substeps!r}; both must be positive")
        if method not in METHODS or METHODS[method].adaptive:
            fixed = [name for name, known in METHODS.items() if not known.adaptive]
            raise StateError(f"stepper: it takes fixed steps, by {' or '.join(fixed)}, not {method!r}")
        if torque is not None and (not isinstance(torque, CompiledLaw) or torque.signals is not None):
            raise StateError("stepper: torque takes a law over symbols (kp.Law); give other efforts to step(...)")
        self.model, self.dt, self._law = model, float(dt), torque
        self._width = 0 if torque is not None else model.nu
        compiled = system(model, torque, self._width, no_events(limits))
        kernels = model.compiled.setdefault("steps", {})
        key = compiled, method, float(dt), int(substeps)
        if key not in kernels:
            kernels[key] = Kernel(step_program(model, compiled, METHODS[method], dt / substeps, substeps))
        self._kernel, self._system = kernels[key], compiled
        self.p = model.parameters(p)
        self._scales = scales(model, self.p)
        q, v = self._on_manifold(*_starts(model, state, batch))
        self.batch = len(q) if q.ndim == 2 else None
        self._first = q.copy(), v.copy()
        self.q, self.v = q, v
        z = np.array(list(torque.states.values()), dtype=float) if torque is not None else np.zeros(0)
        self._z_first = z
        self.z = np.broadcast_to(z, (*q.shape[:-1], len(z))).copy()
        self.t = np.zeros(q.shape[:-1])

    def step(self, tau=None) -> State:
        """Moves on by dt under efforts tau (nu entries, or one row for each of the batch, or a dict by joint name)."""
        given = self._efforts(tau)
        q, v, z = self._kernel(self.t, self.q, self.v, self.z, given, self.p, self._scales)
        self.q, self.v, self.z, self.t = q, v, z, np.asarray(self.t + self.dt)
        return self.state

    def _efforts(self, tau) -> np.ndarray:
        if self._law is not None:
            if tau is not None:
                raise StateError("stepper: the law gives the efforts; step() takes none")
            return np.zeros(0)
        if tau is None:
            return np.zeros(self._width)
        if isinstance(tau, dict) or np.ndim(tau) < 2:
            return efforts(self.model, tau)
        rows = np.asarray(tau, dtype=float)
        if self.batch is None or rows.shape != (self.batch, self.model.nu):
            raise StateError(f"stepper: tau has shape {rows.shape}; it takes {(self.batch or 1, self.model.nu)}")
        return rows

    def _on_manifold(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        return (q, v) if self._system.project is None else self._system.project(q, v, self.p)

    @property
    def state(self) -> State:
        """Coordinates and velocities as they are."""
        return State(self.model, self.q.copy(), self.v.copy())

    @property
    def healthy(self):
        """Whether all numbers are finite, for each of the batch."""
        return np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)

    def reset(self, mask=None, state: State | None = None) -> State:
        """Puts all, or those of the batch where `mask` is true, back to where they started, or into a state."""
        q, v = self._first if state is None else self._on_manifold(state.q, state.v)
        if mask is None or self.batch is None:
            chosen = ... if mask is None or bool(np.all(mask)) else None
            if chosen is None:
                return self.state
        else:
            chosen = np.asarray(mask, dtype=bool)
            if chosen.shape != (self.batch,):
                raise StateError(
                    f"stepper: the mask has shape {chosen.shape}; it takes one entry for each of {self.batch}"
                )
        for target, source in ((self.q, q), (self.v, v)):
            target[chosen] = source[chosen] if source.ndim == target.ndim else source
        self.z[chosen], self.t[chosen] = self._z_first, 0.0
        return self.state


def step_program(model: Model, compiled: System, method: Method, h: float, repeats: int) -> Program:
    """`repeats` steps of size h as one program, the right-hand side called for every slope."""
    composer = Composer(f"{method.name} step")
    shapes = {port.name: port.shape for port in compiled.main.program.inputs}
    t, q, v, z, w, p, c = (composer.input(name, shape) for name, shape in shapes.items())
    sizes = np.cumsum([model.nq, model.nv])
    n = model.nq + model.nv + z.size
    add = trace(lambda y, k, a: {"sum": y + a * k}, {"y": n, "k": n, "a": ()}, name="add")

    def slope(time, y):
        qdot, vdot, zdot, *_ = composer.call(compiled.main.program, time, *np.split(y, sizes), w, p, c)
        return np.concatenate([qdot, vdot, zdot])

    def moved(y, slopes, weights):
        for k, weight in zip(slopes, weights, strict=True):
            if weight:
                (y,) = composer.call(add, y, k, composer.constant(h * weight))
        return y

    later = trace(lambda t, by: {"t": t + by}, {"t": (), "by": ()}, {"t": ()}, name="later")
    y = np.concatenate([q, v, z])
    for _ in range(repeats):
        if method.name == "euler":
            rates = slope(t, y)
            faster = np.split(moved(y, [rates], [1.0]), sizes)[1]
            if compiled.rates is not None:
                (qdot,) = composer.call(compiled.rates.program, np.split(y, sizes)[0], faster, p)
            else:
                qdot = faster
            y = moved(y, [np.concatenate([qdot, rates[model.nq :]])], [1.0])
        else:
            slopes = [slope(t, y)]
            for a, share in zip(method.a[1 : method.slopes - 1], method.c[1:], strict=False):
                (time,) = composer.call(later, t, composer.constant(h * share))
                slopes.append(slope(time, moved(y, slopes, a[: len(slopes)])))
            y = moved(y, slopes, method.a[method.slopes - 1, : len(slopes)])
        if compiled.project is not None:
            q, v, z = np.split(y, sizes)
            y = np.concatenate([*composer.call(compiled.project.program, q, v, p), z])
        (t,) = composer.call(later, t, composer.constant(h))
    for name, part in zip(("q_next", "v_next", "z_next"), np.split(y, sizes), strict=True):
        composer.output(name, part)
    return composer.program()


def _starts(model: Model, state, batch: int | None) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(state, Sequence):
        if batch is not None and batch != len(state):
            raise StateError(f"stepper: {len(state)} states were given for a batch of {batch}")
        return np.array([s.q for s in state], dtype=float), np.array([s.v for s in state], dtype=float)
    state = model.state() if state is None else state
    q, v = np.array(state.q, dtype=float), np.array(state.v, dtype=float)
    if batch is not None and q.ndim == 1:
        q, v = np.tile(q, (batch, 1)), np.tile(v, (batch, 1))
    if q.shape[-1:] != (model.nq,) or v.shape != (*q.shape[:-1], model.nv) or (batch is not None and len(q) != batch):
        raise StateError(f"stepper: the state has q {q.shape} and v {v.shape}; the model has {model.nq} and {model.nv}")
    return q, v
