"""Kinematics of closed mechanisms: all joints and bodies along a motion of some of them, on one branch.

The motion may be of joints, of joints that were cut, and of places of bodies, such as those of a platform: what is
called inverse kinematics of a parallel robot is the same question.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kempe.analyze.assembly import CLOSED
from kempe.analyze.given import Given, given
from kempe.errors import NotClosed, StateError
from kempe.model.model import Model
from kempe.model.state import State

NEWTON = 12  # iterations from a start nearby
LONGEST = 0.3  # rad, or sizes of the mechanism, that anything may move between two solutions before the step is halved
HALVINGS = 30


def place(model: Model, known: Given, q: np.ndarray, x: np.ndarray, p=None) -> np.ndarray | None:
    """The closed q with the given values, by Newton's method from q nearby; None where it does not get there."""
    free = _free(model, known)
    q = q.copy()
    q[known.at_q] = x[: known.tree]
    for _ in range(NEWTON):
        phi, jacobian, _ = model.closure(q, p=p)
        error = np.concatenate([phi, known.off(q, x[known.tree :], p)])
        if np.abs(error).max(initial=0.0) <= 0.1 * CLOSED:
            break
        columns = np.vstack([jacobian, known.matrix(q, model.nv, p)])[:, free]
        step = np.zeros(model.nv)
        step[free] = np.linalg.lstsq(columns, -error, rcond=1e-10)[0]
        if np.abs(step).max() > LONGEST * max(1.0, model.equations.closure_size):
            return None
        q = model.integrate(q, step)
    phi, _, upright = model.closure(q, p=p)
    error = np.concatenate([phi, known.off(q, x[known.tree :], p) / max(1.0, model.equations.closure_size)])
    return q if np.abs(error).max(initial=0.0) <= CLOSED and (upright > 0).all() else None


def settle(model: Model, q: np.ndarray, v: np.ndarray, p=None) -> tuple[np.ndarray, np.ndarray]:
    """The nearest closed state to one that is nearly closed, and the nearest velocities that keep it so."""
    for _ in range(NEWTON):
        phi, jacobian, _ = model.closure(q, p=p)
        if np.abs(phi).max(initial=0.0) <= 0.1 * CLOSED:
            break
        q = model.integrate(q, -np.linalg.lstsq(jacobian, phi, rcond=1e-10)[0])
    jacobian = model.closure(q, p=p)[1]
    return q, v - np.linalg.lstsq(jacobian, jacobian @ v, rcond=1e-10)[0]


def velocities(model: Model, known: Given, q: np.ndarray, xdot: np.ndarray, p=None) -> np.ndarray:
    """v of all joints from those that are given."""
    return _completed(model, known, q, xdot, np.zeros(len(model.residual(q, p=p))), np.zeros(len(known.measured)), p)


def accelerations(model: Model, known: Given, q: np.ndarray, v: np.ndarray, xddot: np.ndarray, p=None) -> np.ndarray:
    """Accelerations of all joints from those that are given."""
    return _completed(model, known, q, xddot, model.loop_bias(q, v, p=p), known.bias(q, v, p), p)


def _completed(model: Model, known: Given, q, wanted, gamma, bias, p) -> np.ndarray:
    """x with J x = gamma, the given entries, and L x + bias = wanted for measured ones."""
    free, out = _free(model, known), np.zeros(model.nv)
    out[known.at_v] = wanted[: known.tree]
    matrix = _rows(model, known, q, p)
    right = np.concatenate([gamma, wanted[known.tree :] - bias])
    out[free] = np.linalg.lstsq(matrix[:, free], right - matrix @ out, rcond=1e-10)[0]
    return out


def _rows(model: Model, known: Given, q: np.ndarray, p=None) -> np.ndarray:
    return np.vstack([model.closure(q, p=p)[1], known.matrix(q, model.nv, p)])


def _free(model: Model, known: Given) -> np.ndarray:
    free = np.ones(model.nv, dtype=bool)
    free[known.at_v] = False
    return free


# ---- along a motion --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Way:
    """A motion of named coordinates through closed states; `at(t)` gives their values, rates and accelerations."""

    model: Model
    names: tuple[str, ...]
    at: Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]
    p: np.ndarray | None = None

    @cached_property
    def known(self) -> Given:
        """The coordinates that are named."""
        return given(self.model, self.names)

    def ordered(self, t) -> tuple[np.ndarray, ...]:
        """Values, rates and accelerations at one time or at many, those of the tree first."""
        return tuple(x[..., self.known.order] for x in self.at(t))

    def begin(self, t: float, start: State | None) -> np.ndarray:
        """The closed q at the first time, on the branch of `start`; checks that the motion determines all others."""
        model, x = self.model, self.at(t)[0]
        values = dict(zip(self.names, x.tolist(), strict=True))
        near = (start or model.assemble(values)).q
        q = place(model, self.known, near, x[self.known.order], self.p)
        if q is None and self.p is not None:
            wanted = ", ".join(f"{name} = {value:g}" for name, value in values.items())
            raise NotClosed(f"the motion begins with {wanted}: with these parameters no closed state is near the start")
        if q is None:
            q = model.assemble(values, near=State(model, near, near)).q
        _check_determined(model, self.known, q, self.names, self.p)
        return q

    def moving(self, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and a of all joints at a time."""
        _, xdot, xddot = self.ordered(t)
        v = velocities(self.model, self.known, q, xdot, self.p)
        return v, accelerations(self.model, self.known, q, v, xddot, self.p)

    def carried(self, q: np.ndarray, before: float, now: float, halvings: int = HALVINGS) -> np.ndarray:
        """q at a later time. The branch is kept: where anything would move far, the way is gone in smaller steps."""
        if now == before:
            return q
        model, known, p = self.model, self.known, self.p
        ahead = model.integrate(q, (now - before) * velocities(model, known, q, self.ordered(before)[1], p))
        found = place(model, known, ahead, self.ordered(now)[0], p)
        if found is not None and np.abs(model.difference(ahead, found)).max() < LONGEST:
            return found
        if halvings == 0:
            raise NotClosed(
                f"the motion cannot be followed past t = {before:.6g} s: the loops do not close beyond it, or a "
                "singular pose is met"
            )
        half = 0.5 * (before + now)
        return self.carried(self.carried(q, before, half, halvings - 1), half, now, halvings - 1)


def _check_determined(model: Model, known: Given, q: np.ndarray, names: tuple[str, ...], p) -> None:
    matrix, free = _rows(model, known, q, p), _free(model, known)
    rank = np.linalg.matrix_rank(matrix[:, free], tol=1e-9)
    left = int(free.sum()) - rank
    if left:
        raise StateError(f"motion: with {', '.join(names)} given, {left} freedoms are left; give as many more")
    over = len(known.measured) - (rank - np.linalg.matrix_rank(model.closure(q, p=p)[1][:, free], tol=1e-9))
    if over:
        raise StateError(
            f"motion: {', '.join(names)} cannot all be given: {over} of them follow from the others and the loops"
        )
