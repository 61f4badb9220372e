"""Stepper: fixed steps one at a time, for control and learning loops, of one mechanism or of many at once."""

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from kempe.analyze.closed import check_closed
from kempe.compiler.compose import Composer
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.control.laws import CompiledLaw
from kempe.dynamics.partition import Choice
from kempe.errors import StateError
from kempe.model.model import Model
from kempe.model.state import State
from kempe.simulate.choices import WEAK, best_at
from kempe.simulate.drive import efforts
from kempe.simulate.joining import Constraints, joined
from kempe.simulate.scales import scales
from kempe.simulate.stops import Stops, no_events
from kempe.simulate.system import Setting, System, system
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
        self._setting = Setting(torque, self._width, no_events(limits))
        self._method, self._substeps = METHODS[method], int(substeps)
        self.p = model.parameters(p)
        q, v = _starts(model, state, batch)
        self.batch = len(q) if q.ndim == 2 else None
        self._choice = np.full(q.shape[:-1], 0)
        self._use(model)
        self._model_first = model
        q, v = self._on_manifold(q, v)
        self._first = q.copy(), v.copy()
        self.q, self.v = q, v
        z = np.array(list(torque.states.values()), dtype=float) if torque is not None else np.zeros(0)
        self._z_first = z
        self.z = np.broadcast_to(z, (*q.shape[:-1], len(z))).copy()
        self.t = np.zeros(q.shape[:-1])

    def step(self, tau=None) -> State:
        """Moves on by dt under efforts tau (nu entries, or one row for each of the batch, or a dict by joint name)."""
        given = self._efforts(tau)
        found = self._stepped(0, ..., given) if len(self._choices) == 1 else self._stepped_by_choice(given)
        if self.model.topology.constrained:
            self._rechosen(found, given)
        self.q, self.v, self.z = found[:3]
        self.t = np.asarray(self.t + self.dt)
        return self.state

    def switch(self, joints: Mapping[str, bool]) -> State:
        """Switches joints on (True) or off (False), of all in the batch; loops that are switched on are closed, and a
        plastic impulse makes velocities consistent."""
        old, new = self.model, self.model.switched(joints)
        if set(new.topology.on) - set(old.topology.on):
            self.q, self.v = self._joined(new, self.q, self.v)
        self._use(new)
        return self.state

    def _joined(self, model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States that a structure can begin in."""
        p = self.p if model.p_names else None
        holds = Constraints(model.structures.whole(model), frozenset(model.topology.on), (), p)
        found = [joined(holds, lambda: model, *state) for state in zip(np.atleast_2d(q), np.atleast_2d(v), strict=True)]
        return np.array([x.q for x in found]).reshape(q.shape), np.array([x.v for x in found]).reshape(v.shape)

    def _use(self, model: Model) -> None:
        """Goes on with a model. One choice of generalized coordinates for all, chosen anew, one by one, for those it
        does not suit."""
        self.model = model
        self._choices: list[Choice | None] = [model.choice if model.topology.constrained else None]
        self._choice = np.zeros_like(self._choice)

    def _stepped(self, number: int, rows, given: np.ndarray) -> list[np.ndarray]:
        """q, v, z after a step, and the least fitness in it, of some of the batch, by one of the choices."""
        kernel, sizes = self._kernel(number)
        each = given[rows] if given.ndim == 2 else given
        return [
            np.array(x) for x in kernel(self.t[rows], self.q[rows], self.v[rows], self.z[rows], each, self.p, sizes)
        ]

    def _stepped_by_choice(self, given: np.ndarray) -> list[np.ndarray]:
        if self.batch is None:
            return self._stepped(int(self._choice), ..., given)
        found = [np.empty_like(x) for x in (self.q, self.v, self.z, self.t)]
        for number in np.unique(self._choice).tolist():
            rows = np.flatnonzero(self._choice == number)
            for target, part in zip(found, self._stepped(number, rows, given), strict=True):
                target[rows] = part
        return found

    def _rechosen(self, found: list[np.ndarray], given: np.ndarray) -> None:
        """Takes the step again, with coordinates of their own, where those in use did not suit."""
        for row in np.flatnonzero(~(np.atleast_1d(found[3]) > WEAK)).tolist():
            where = ... if self.batch is None else row
            choice, _ = best_at(self.model, self.q[where])
            if choice not in self._choices:
                self._choices.append(choice)
            number = self._choices.index(choice)
            self._choice[where] = number
            rows = ... if self.batch is None else np.array([row])
            for target, part in zip(found, self._stepped(number, rows, given), strict=True):
                target[rows] = part

    def _kernel(self, number: int) -> tuple[Kernel, np.ndarray]:
        """The step by one of the choices, and its scales."""
        compiled, steps = self._system(number), self.model.compiled.setdefault("steps", {})
        key = compiled, self._method.name, self.dt, self._substeps
        if key not in steps:
            program = step_program(self.model, compiled, self._method, self.dt / self._substeps, self._substeps)
            steps[key] = Kernel(program)
        return steps[key], scales(self.model, self.p, self._choices[number])

    def _system(self, number: int) -> System:
        return system(self.model, self._setting, self._choices[number])

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
        if self.model.topology.constrained:
            check_closed(self.model, q, v, self.p if self.model.p_names else None)
            return q, v
        project = self._system(0).project
        return (q, v) if project is None else project(q, v, self.p)[:2]

    @property
    def state(self) -> State:
        """Coordinates and velocities as they are."""
        return State(self.model, self.q.copy(), self.v.copy())

    @property
    def healthy(self):
        """Whether all numbers are finite, for each of the batch."""
        return np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)

    def reset(self, mask=None, state: State | None = None) -> State:
        """Puts all, or those of the batch where `mask` is true, back to where they started, or into a state; all at
        once go back to the structure they started in, some are brought into the one there is."""
        if state is None and (mask is None or np.all(mask)):
            self._use(self._model_first)
        q, v = self._first if state is None else self._on_manifold(state.q, state.v)
        if state is None and self.model is not self._model_first:
            q, v = self._joined(self.model, q, v)
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

    least = composer.constant(np.array(1.0))
    lesser = trace(lambda a, b: {"least": ca.fmin(a, ca.fabs(b))}, {"a": (), "b": ()}, {"least": ()}, name="lesser")

    def slope(time, y):
        nonlocal least
        qdot, vdot, zdot, *_, fit = composer.call(compiled.main.program, time, *np.split(y, sizes), w, p, c)
        if compiled.choice is not None:
            (least,) = composer.call(lesser, least, fit)
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
            y = np.concatenate([*composer.call(compiled.project.program, q, v, p)[:2], z])
        (t,) = composer.call(later, t, composer.constant(h))
    for name, part in zip(("q_next", "v_next", "z_next"), np.split(y, sizes), strict=True):
        composer.output(name, part)
    composer.output("fit", least)
    return composer.program()


def _starts(model: Model, state, batch: int | None) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(state, Sequence):
        if batch is not None and batch != len(state):
            raise StateError(f"stepper: {len(state)} states were given for a batch of {batch}")
        return np.array([s.q for s in state], dtype=float), np.array([s.v for s in state], dtype=float)
    if state is None:
        state = model.assemble() if model.topology.closed else model.state()
    q, v = np.array(state.q, dtype=float), np.array(state.v, dtype=float)
    if batch is not None and q.ndim == 1:
        q, v = np.tile(q, (batch, 1)), np.tile(v, (batch, 1))
    if q.shape[-1:] != (model.nq,) or v.shape != (*q.shape[:-1], model.nv) or (batch is not None and len(q) != batch):
        raise StateError(f"stepper: the state has q {q.shape} and v {v.shape}; the model has {model.nq} and {model.nv}")
    return q, v
