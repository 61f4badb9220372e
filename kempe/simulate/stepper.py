"""Stepper: fixed steps one at a time, for control and learning loops, of one mechanism or of many at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kempe.control.laws import CompiledLaw
from kempe.errors import NotClosed, StateError
from kempe.integrate.tables import METHODS, Method
from kempe.kinds import checked, doubles, short
from kempe.kinetics.closed import check_closed
from kempe.kinetics.kinetics import Kinetics
from kempe.mechanics.inputs import all_finite, reals, refuse
from kempe.mechanics.state import State
from kempe.simulate.drive import efforts
from kempe.simulate.joining import Constraints, joined
from kempe.simulate.many import Many, one_number
from kempe.simulate.stops import Stops, no_events
from kempe.simulate.system import Setting, system


@checked(StateError, "step")
class Stepper:
    """A mechanism, or `batch` of them, that advances by dt with every `step`; efforts are constant within a step.

    t, q, v, z: time, coordinates, velocities and states of a law, each with a leading axis if there are many. They may
    be written to. fit: the least fitness of generalized coordinates in the last step, negative if it passed a singular
    pose.
    """

    def __init__(
        self,
        model: Kinetics,
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
        known = fixed(method, "stepper")
        if torque is not None and (not isinstance(torque, CompiledLaw) or torque.signals is not None):
            raise StateError("stepper: torque takes a law over symbols (kp.Law); give other efforts to step(...)")
        self.model, self.dt, self._law = model, float(dt), torque
        self._width = 0 if torque is not None else model.nu
        self._setting = Setting(torque, self._width, no_events(limits))
        self._substeps = int(substeps)
        q, v = starts(model, state, batch, "stepper")
        self.batch = len(q) if q.ndim == 2 else None
        self._p = parameters(model, p, self.batch, "stepper")
        self._many = Many(model, self._setting, known, dt / substeps)
        self._number: int | np.ndarray = 0  # the choice of coordinates of each
        self._model_first = model
        q, v = self._on_manifold(q, v)
        self._first = q.copy(), v.copy()
        self.q, self.v = q, v
        z = np.array(list(torque.states.values()), dtype=float) if torque is not None else np.zeros(0)
        self._z_first = z
        self.z = np.broadcast_to(z, (*q.shape[:-1], len(z))).copy()
        self.t, self.fit = np.zeros(q.shape[:-1]), np.ones(q.shape[:-1])

    def step(self, tau=None) -> State:
        """Advances by dt under efforts tau (nu entries, or one row for each of the batch, or a dict by joint name)."""
        given = self._efforts(tau)
        self.q, self.v, self.z, self.fit, self._number = self._many.stride(
            self.t, self.q, self.v, self.z, given, self._p, self._substeps, self._number
        )
        self.t = np.asarray(self.t + self.dt)
        return self.state

    @property
    def p(self) -> np.ndarray:
        """Parameters kept as inputs, of all (np) or of each of the batch (n, np), read-only. Assign new ones as
        numbers, or as a dict by path; if they open loops, these are closed again from the present state."""
        return self._p

    @p.setter
    def p(self, values) -> None:
        before, self._p = self._p, parameters(self.model, values, self.batch, "stepper")
        if self.model.topology.constrained:
            try:
                self.q, self.v = self._closed(self.q, self.v)
            except NotClosed:
                self._p = before
                raise

    def _closed(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same state, or the nearest closed one if new parameters have opened it."""
        p = self._p if self.model.p_names else None
        try:
            check_closed(self.model, q, v, p)
        except NotClosed:
            q, v = self.model.settle(q, v, p)
            check_closed(self.model, q, v, p)
        return q, v

    def switch(self, joints: Mapping[str, bool]) -> State:
        """Switches joints on (True) or off (False), for the whole batch; loops that are switched on are closed, and a
        plastic impulse makes velocities consistent."""
        old, new = self.model, self.model.switched(joints)
        if set(new.topology.on) - set(old.topology.on):
            self.q, self.v = self._joined(new, self.q, self.v)
        self._use(new)
        return self.state

    def _joined(self, model: Kinetics, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States in which a structure can begin."""
        q_, v_ = np.atleast_2d(q), np.atleast_2d(v)
        each, found = np.broadcast_to(self._p, (len(q_), len(model.p))), []
        for now, moving, own in zip(q_, v_, each, strict=True):
            p = own if model.p_names else None
            holds = Constraints(model.structures.whole(model), frozenset(model.topology.on), (), p)
            found.append(joined(holds, lambda: model, now, moving))
        return np.array([x.q for x in found]).reshape(q.shape), np.array([x.v for x in found]).reshape(v.shape)

    def _use(self, model: Kinetics) -> None:
        """Continues with a model."""
        self.model = model
        self._many.use(model)
        self._number = 0

    def _efforts(self, tau) -> np.ndarray:
        if self._law is not None:
            if tau is not None:
                raise StateError("stepper: the law gives the efforts; step() takes none")
            return np.zeros(0)
        if tau is None:
            return np.zeros(self._width)
        given = tau if isinstance(tau, Mapping) else reals(tau, "stepper: tau")
        if isinstance(given, Mapping) or given.ndim < 2:
            return self._finite(efforts(self.model, given))
        rows = self._finite(given)
        if self.batch is None or rows.shape != (self.batch, self.model.nu):
            raise StateError(f"stepper: tau has shape {rows.shape}; it takes {(self.batch or 1, self.model.nu)}")
        return rows

    def _finite(self, tau: np.ndarray) -> np.ndarray:
        if not all_finite(tau):
            refuse("stepper", {"tau": tau}, {"tau": self.model.u_names})
        return tau

    def _on_manifold(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        if self.model.topology.constrained:
            check_closed(self.model, q, v, self._p if self.model.p_names else None)
            return q, v
        project = system(self.model, self._setting).project
        return (q, v) if project is None else project(q, v, self._p)[:2]

    @property
    def state(self) -> State:
        """The present coordinates and velocities."""
        return State(self.model, self.q.copy(), self.v.copy())

    @property
    def healthy(self):
        """Whether all numbers are finite and the last step passed no singular pose, for each of the batch."""
        return np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1) & (self.fit > 0)

    def reset(self, mask=None, state: State | None = None) -> State:
        """Resets all, or those of the batch where `mask` is true, to their start, or to a state. Resetting all also
        restores the initial structure; some are brought into the present one."""
        mask = None if mask is None else doubles(mask, "reset: mask", StateError) != 0
        if state is None and (mask is None or np.all(mask)):
            self._use(self._model_first)
        q, v = self._first if state is None else self._on_manifold(state.q, state.v)
        if state is None and self.model is not self._model_first:
            q, v = self._joined(self.model, q, v)
        if state is None and self.model.topology.constrained:
            q, v = self._closed(q, v)  # parameters may have changed since the start
        if mask is None or self.batch is None:
            chosen = ... if mask is None or bool(np.all(mask)) else None
            if chosen is None:
                return self.state
        else:
            chosen = np.asarray(mask)
            if chosen.shape != (self.batch,):
                raise StateError(
                    f"stepper: the mask has shape {chosen.shape}; it takes one entry for each of {self.batch}"
                )
        for target, source in ((self.q, q), (self.v, v)):
            target[chosen] = source[chosen] if source.ndim == target.ndim else source
        self.z[chosen], self.t[chosen] = self._z_first, 0.0
        numbers = np.full(self.t.shape, self._number)
        numbers[chosen] = 0
        self._number = one_number(numbers)
        return self.state


def parameters(model: Kinetics, values, count: int | None, where: str) -> np.ndarray:
    """Parameters of all mechanisms (np), or a row for each, as a read-only array."""
    if values is not None and not isinstance(values, Mapping) and np.ndim(values) == 2:
        rows = reals(values, f"{where}: p").copy()
        if count is None or rows.shape != (count, len(model.p_names)):
            takes = (
                f"{(count, len(model.p_names))}, a row for each of the batch" if count else f"({len(model.p_names)},)"
            )
            raise StateError(f"{where}: p has shape {rows.shape}; it takes {takes}")
    else:
        rows = model.parameters(values).copy()
    refuse(where, {"p": rows}, {"p": model.p_names})
    rows.flags.writeable = False
    return rows


def fixed(method: str, where: str) -> Method:
    """A fixed-step method, by name."""
    if method not in METHODS or METHODS[method].adaptive:
        names = [name for name, known in METHODS.items() if not known.adaptive]
        raise StateError(f"{where}: it takes fixed steps, by {' or '.join(names)}, not {short(method)}")
    return METHODS[method]


def starts(model: Kinetics, state: Any, batch: int | None, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Initial q and v of one mechanism or many; quaternions are normalized."""
    if batch is not None and not (isinstance(batch, (int, np.integer)) and batch > 0):
        raise StateError(f"{where}: batch is {short(batch)}; give a number from 1 on")
    if state is None:
        state = model.assemble() if model.topology.closed else model.state()
    several = isinstance(state, Sequence) and not isinstance(state, str)
    given: list[Any] = list(state) if several else [state]
    if not given or not all(isinstance(each, State) for each in given):
        raise StateError(
            f"{where}: give a state, as model.assemble(...) or kp.State(model, q, v), or a list of one or more, not "
            f"{state!r}"
        )
    if several:
        if batch is not None and batch != len(given):
            raise StateError(f"{where}: {len(given)} states were given for a batch of {batch}")
        if len({(np.shape(each.q), np.shape(each.v)) for each in given}) > 1:
            raise StateError(f"{where}: the states of the list are not all of one model")
        q, v = np.array([s.q for s in given], dtype=float), np.array([s.v for s in given], dtype=float)
    else:
        q, v = np.array(given[0].q, dtype=float), np.array(given[0].v, dtype=float)
    if batch is not None and q.ndim == 1:
        q, v = np.tile(q, (batch, 1)), np.tile(v, (batch, 1))
    if (
        q.ndim > 2
        or q.shape[-1:] != (model.nq,)
        or v.shape != (*q.shape[:-1], model.nv)
        or (batch is not None and len(q) != batch)
    ):
        raise StateError(f"{where}: the state has q {q.shape} and v {v.shape}; the model has {model.nq} and {model.nv}")
    for joint in model.topology.tree:
        if len(joint.joint.type.q_names) != len(joint.joint.type.v_names):
            turned = q[..., joint.q.start : joint.q.start + 4]
            turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    return q, v
