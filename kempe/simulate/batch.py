"""Batch: many states of one model at once, on all cores: dynamics, and rollouts by fixed steps.

    many = model.batch(threads=2)
    vdot = many.forward_dynamics(q, v, tau)             # (n, nq), (n, nv), (n, nu) -> (n, nv)
    run = many.rollout(states, dt=1e-3, steps=1000)     # RK4, loops closed inside

States are computed in the lanes of vector registers and distributed over threads; results are bitwise independent of
the number of threads.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kempe.compiler.native import host
from kempe.compiler.threads import cores, spread
from kempe.control.laws import CompiledLaw
from kempe.errors import StateError
from kempe.kinds import checked, short
from kempe.kinetics.closed import check_closed
from kempe.mechanics.inputs import all_finite, real, reals, refuse
from kempe.mechanics.state import State
from kempe.results.outcome import Statistics
from kempe.results.rollout import Rollout
from kempe.simulate.drive import efforts
from kempe.simulate.many import CLOSED, Many, Moving
from kempe.simulate.progress import Progress
from kempe.simulate.stepper import fixed, parameters, starts
from kempe.simulate.stops import Stops, no_events
from kempe.simulate.system import Setting, system

if TYPE_CHECKING:
    from kempe.model.model import Model

# Steps of all mechanisms together between two checks by Python, and least steps of each: a check costs some of them.
GLANCE, LEAST = 2**18, 64


@checked(StateError)
class Batch:
    """Many states of a model at once. threads: how many cores to use, all if None."""

    def __init__(self, model: "Model", threads: int | None = None):
        if threads is not None and not (isinstance(threads, (int, np.integer)) and threads > 0):
            raise StateError(f"batch: threads is {short(threads)}; give a number from 1 on, or None for all cores")
        self.model, self.threads = model, int(threads or cores())

    def __repr__(self) -> str:
        return f"Batch({self.model.mechanism.name!r}: {host().lanes} lanes, {self.threads} threads)"

    # ---- dynamics --------------------------------------------------------------------------------------

    def forward_dynamics(self, q, v, tau=None, p=None, check: bool = True) -> np.ndarray:
        """vdot (n, nv); otherwise as `Model.forward_dynamics`."""
        tau = np.zeros(self.model.nu) if tau is None else efforts(self.model, tau) if isinstance(tau, dict) else tau
        return self._each("forward_dynamics", {"check": check}, q, v, tau, p)

    def inverse_dynamics(self, q, v, a, p=None, *, weights=None, bounds=None, check: bool = True) -> np.ndarray:
        """Efforts (n, nu) of the actuated freedoms; otherwise as `Model.inverse_dynamics`."""
        options = {"weights": weights, "bounds": bounds, "check": check}
        return self._each("inverse_dynamics", options, q, v, a, p)

    def generalized_forces(self, q, v, a, p=None) -> np.ndarray:
        """Efforts (n, nv) along every freedom, as in `Model.generalized_forces`."""
        return self._each("generalized_forces", {}, q, v, a, p)

    def _each(self, name: str, options: dict, q, v, third, p) -> np.ndarray:
        """A function of the model, with a part of the states on each thread."""
        what = "tau" if name == "forward_dynamics" else "a"
        q, v, third = real(name, **{"q": q, "v": v, what: third})
        if not isinstance(third, np.ndarray):
            raise StateError(f"batch: {what} is {short(third)}; give numbers, in rows or one row for all")
        if q.ndim != 2 or v.ndim != 2 or len(q) != len(v):
            raise StateError(
                f"batch: q has shape {q.shape} and v {v.shape}; give (n, {self.model.nq}) and (n, {self.model.nv})"
            )
        p = None if p is None else reals(p, "batch: p")
        for argument, x in ((what, third), ("p", p)):
            if x is not None and x.ndim > 1 and len(x) != len(q):
                words = f"{argument} has shape {x.shape} for {len(q)} states"
                raise StateError(f"batch: {words}; give a row for each, or one")
        found: dict[int, np.ndarray] = {}

        def some(first: int, last: int) -> None:
            own = [x[first:last] if x is not None and x.ndim == 2 else x for x in (third, p)]
            found[first] = getattr(self.model, name)(q[first:last], v[first:last], *own, **options)

        # Compiled once, not by every thread.
        forward = "driven_dynamics" if self.model.tells_at_once else "forward_dynamics"
        kernel = self.model.kernel(forward if name == "forward_dynamics" else "generalized_forces")
        try:
            spread(len(q), host().lanes, self.threads, kernel.effort, some)
        except StateError:  # evaluated for all, this names the state
            return getattr(self.model, name)(q, v, third, p, **options)
        return found[0] if len(found) == 1 else np.concatenate([found[first] for first in sorted(found)])

    # ---- rollouts --------------------------------------------------------------------------------------

    def rollout(
        self,
        state: State | Sequence[State] | None,
        dt: float,
        steps: int,
        tau=None,
        *,
        torque: CompiledLaw | None = None,
        output: int | None = None,
        batch: int | None = None,
        method: str = "rk4",
        limits: str | Stops = "stops",
        p=None,
        closed: float = CLOSED,
        progress: bool | None = None,
    ) -> Rollout:
        """Moves mechanisms by `steps` fixed steps of dt, independently.

        state: a `State` of arrays (n, nq) and (n, nv), a list of states, or one state for a `batch` of n.
        tau: constant efforts (nu), for each (n, nu), or for each and every step (n, steps, nu), where n may be 1 for
            all; a dict by joint name; or None. torque: a symbolic law (`kp.Law`) instead.
        output: steps from row to row; None for the first and the last state only.
        method: rk4 or euler. limits: "stops", "ignore", or `kp.Stops`. p: parameters (np), or of each (n, np).
        closed: how far loops may be open at the end of a step, over the mechanism's size, before steps are settled one
            by one; rows are closed to rounding.
        """
        begun, model = time.perf_counter(), self.model
        known = fixed(method, "rollout")
        steps, every = _whole("steps", steps), steps if output is None else _whole("output", output)
        if not 0 < dt < np.inf or not closed > 0:
            raise StateError(f"rollout: dt is {dt!r} s and closed {closed!r}; both must be positive, and dt finite")
        if steps % every:
            raise StateError(f"rollout: {steps} steps are no whole number of rows of {every} steps each")
        q, v = starts(model, state, batch, "rollout")
        q, v = np.atleast_2d(q), np.atleast_2d(v)
        n = len(q)
        p = parameters(model, p, n, "rollout")
        if model.topology.constrained:
            check_closed(model, q, v, p if model.p_names else None)
        setting = Setting(torque, 0 if torque is not None else model.nu, no_events(limits))
        w = self._efforts(tau, torque, n, steps)
        z = np.array(list(torque.states.values()), dtype=float) if torque is not None else np.zeros(0)
        many = Many(model, setting, known, dt, self.threads, closed)

        rows = steps // every + 1
        moving = Moving(np.zeros(n), q.copy(), v.copy(), np.tile(z, (n, 1)), p, np.zeros(n, dtype=int))
        found = [np.empty((n, rows, x.shape[-1])) for x in (q, v, z)]
        row, done = 1, 0
        for target, source in zip(found, (q, v, z), strict=True):
            target[:, 0] = source
        with Progress(model.mechanism.name, 0.0, steps * dt, progress) as bar:
            while done < steps:
                some, part = _stretch(done, steps, every, max(LEAST, GLANCE // n))
                part_of_w = w[:, done : done + some * part] if w.ndim == 3 else w
                moved, done = many.advance(moving, part_of_w, some, part), done + some * part
                if done % every == 0:
                    for target, source in zip(found, moved, strict=True):
                        target[:, row : row + some] = source
                    row += some
                bar.show(done * dt)
        many.ended(moving)
        q, v, z = found
        t = dt * every * np.arange(rows)
        u, stops = self._applied(many, setting, t, q, v, z, w, p, every)
        cost = Statistics(method, (known.slopes - 1) * steps * n, steps * n, seconds=time.perf_counter() - begun,
                          changes=many.choices - 1)  # fmt: skip
        names = tuple(torque.states) if torque is not None else ()
        return Rollout(model, t, q, v, u, z, names, p, moving.gap, moving.fit, stops, cost)

    def _efforts(self, tau, torque: CompiledLaw | None, n: int, steps: int) -> np.ndarray:
        nu = self.model.nu
        if torque is not None:
            if not isinstance(torque, CompiledLaw) or torque.signals is not None:
                raise StateError("rollout: torque takes a law over symbols (kp.Law); give other efforts as tau")
            if tau is not None:
                raise StateError("rollout: the law gives the efforts; leave tau out")
            return np.zeros(0)
        if tau is None:
            return np.zeros(nu)
        if isinstance(tau, dict) or np.ndim(tau) < 2:
            rows = efforts(self.model, tau)
            refuse("rollout", {"tau": rows}, {"tau": self.model.u_names})
            return rows
        rows = np.ascontiguousarray(reals(tau, "rollout: tau"))
        if not all_finite(rows):
            refuse("rollout", {"tau": rows}, {"tau": self.model.u_names})
        if rows.shape[0] not in (1, n) or rows.shape[1:] not in ((nu,), (steps, nu)):
            raise StateError(
                f"rollout: tau has shape {rows.shape}; it takes ({nu},), ({n}, {nu}) or ({n}, {steps}, {nu})"
            )
        return rows

    def _applied(self, many: Many, setting: Setting, t, q, v, z, w, p, every: int) -> tuple[np.ndarray, np.ndarray]:
        """Efforts of actuators and stops in every row: (n, rows, ..)."""
        model, (n, rows) = self.model, q.shape[:2]
        held = w if w.ndim == 1 else w[:, None]
        if w.ndim == 3:  # the values held from each row on; in the last one, those before
            held = w[:, np.minimum(np.arange(rows) * every, w.shape[1] - 1)]
        held = np.broadcast_to(held, (n, rows, held.shape[-1]))
        if setting.law is None and not (model.limits and setting.stops is not None):
            return held, np.zeros((n, rows, len(model.limited)))
        choice = model.choice if model.topology.constrained else None
        flat = [np.ascontiguousarray(x).reshape(n * rows, -1) for x in (q, v, z, held)]
        each = (np.repeat(x, rows, axis=0) if x.ndim == 2 else x for x in (p, many.scales(p, 0)))
        found = system(model, setting, choice).main(np.tile(t, n), *flat, *each)
        return found[3].reshape(n, rows, -1), found[4].reshape(n, rows, -1)


def _stretch(done: int, steps: int, every: int, most: int) -> tuple[int, int]:
    """How many rows come next, and the steps to each; a long interval is divided."""
    if every <= most:
        return min((steps - done) // every, max(1, most // every)), every
    return 1, min(most, every - done % every)


def _whole(name: str, value) -> int:
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise StateError(f"rollout: {name} is {short(value)}; give a number from 1 on")
    return int(value)
