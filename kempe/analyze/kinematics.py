"""Kinematics of closed mechanisms: all joints and bodies along a motion of some of them, on one branch.

The motion may be of joints, of joints that were cut, and of places of bodies, such as those of a platform: what is
called inverse kinematics of a parallel robot is the same question.
"""

import numpy as np

from kempe.analyze.assembly import CLOSED
from kempe.analyze.given import Given, given
from kempe.errors import NotClosed, StateError
from kempe.model.model import Model
from kempe.model.state import State

NEWTON = 12  # iterations from a start nearby
LONGEST = 0.3  # rad, or sizes of the mechanism, that anything may move between two solutions before the step is halved
HALVINGS = 30


def place(model: Model, known: Given, q: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """The closed q with the given values, by Newton's method from q nearby; None where it does not get there."""
    free = _free(model, known)
    q = q.copy()
    q[known.at_q] = x[: known.tree]
    for _ in range(NEWTON):
        phi, jacobian, _ = model.closure(q)
        error = np.concatenate([phi, known.off(q, x[known.tree :])])
        if np.abs(error).max(initial=0.0) <= 0.1 * CLOSED:
            break
        columns = np.vstack([jacobian, known.matrix(q, model.nv)])[:, free]
        step = np.zeros(model.nv)
        step[free] = np.linalg.lstsq(columns, -error, rcond=1e-10)[0]
        if np.abs(step).max() > LONGEST * max(1.0, model.equations.closure_size):
            return None
        q = model.integrate(q, step)
    phi, _, upright = model.closure(q)
    error = np.concatenate([phi, known.off(q, x[known.tree :]) / max(1.0, model.equations.closure_size)])
    return q if np.abs(error).max(initial=0.0) <= CLOSED and (upright > 0).all() else None


def settle(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest closed state to one that is nearly closed, and the nearest velocities that keep it so."""
    for _ in range(NEWTON):
        phi, jacobian, _ = model.closure(q)
        if np.abs(phi).max(initial=0.0) <= 0.1 * CLOSED:
            break
        q = model.integrate(q, -np.linalg.lstsq(jacobian, phi, rcond=1e-10)[0])
    jacobian = model.closure(q)[1]
    return q, v - np.linalg.lstsq(jacobian, jacobian @ v, rcond=1e-10)[0]


def velocities(model: Model, known: Given, q: np.ndarray, xdot: np.ndarray) -> np.ndarray:
    """v of all joints from those that are given."""
    return _completed(model, known, q, xdot, np.zeros(len(model.residual(q))), np.zeros(len(known.measured)))


def accelerations(model: Model, known: Given, q: np.ndarray, v: np.ndarray, xddot: np.ndarray) -> np.ndarray:
    """Accelerations of all joints from those that are given."""
    return _completed(model, known, q, xddot, model.loop_bias(q, v), known.bias(q, v))


def _completed(model: Model, known: Given, q, wanted, gamma, bias) -> np.ndarray:
    """x with J x = gamma, the given entries, and L x + bias = wanted for measured ones."""
    free, out = _free(model, known), np.zeros(model.nv)
    out[known.at_v] = wanted[: known.tree]
    matrix = _rows(model, known, q)
    right = np.concatenate([gamma, wanted[known.tree :] - bias])
    out[free] = np.linalg.lstsq(matrix[:, free], right - matrix @ out, rcond=1e-10)[0]
    return out


def _rows(model: Model, known: Given, q: np.ndarray) -> np.ndarray:
    return np.vstack([model.closure(q)[1], known.matrix(q, model.nv)])


def _free(model: Model, known: Given) -> np.ndarray:
    free = np.ones(model.nv, dtype=bool)
    free[known.at_v] = False
    return free


def follow(model: Model, names: tuple[str, ...], at, t: np.ndarray, start: State | None):
    """q, v and a at times t along a motion of named coordinates; `at(t)` gives values, rates and accelerations.

    The branch is that of `start`, and is kept: where anything would move far from one time to the next, the way is
    gone in smaller steps.
    """
    known = given(model, names)
    first = at(t[0])[0][known.order]
    near = (start or model.assemble(dict(zip(names, at(t[0])[0].tolist(), strict=True)))).q
    q = place(model, known, near, first)
    if q is None:
        q = model.assemble(dict(zip(names, at(t[0])[0].tolist(), strict=True)), near=State(model, near, near)).q
    _check_determined(model, known, q, names)
    rows = []
    before = t[0]
    for now in t:
        q = _carried(model, known, at, q, before, now, HALVINGS)
        _, xdot, xddot = (x[known.order] for x in at(now))
        v = velocities(model, known, q, xdot)
        rows.append((q, v, accelerations(model, known, q, v, xddot)))
        before = now
    return tuple(np.array(part) for part in zip(*rows, strict=True))


def _carried(model: Model, known: Given, at, q: np.ndarray, before: float, now: float, halvings: int) -> np.ndarray:
    x = at(now)[0][known.order]
    if now == before:
        return q
    _, xdot, _ = (part[known.order] for part in at(before))
    ahead = model.integrate(q, (now - before) * velocities(model, known, q, xdot))
    found = place(model, known, ahead, x)
    if found is not None and np.abs(model.difference(ahead, found)).max() < LONGEST:
        return found
    if halvings == 0:
        raise NotClosed(
            f"the motion cannot be followed past t = {before:.6g} s: the loops do not close beyond it, or a singular "
            "pose is met"
        )
    half = 0.5 * (before + now)
    q = _carried(model, known, at, q, before, half, halvings - 1)
    return _carried(model, known, at, q, half, now, halvings - 1)


def _check_determined(model: Model, known: Given, q: np.ndarray, names: tuple[str, ...]) -> None:
    matrix, free = _rows(model, known, q), _free(model, known)
    rank = np.linalg.matrix_rank(matrix[:, free], tol=1e-9)
    left = int(free.sum()) - rank
    if left:
        raise StateError(f"motion: with {', '.join(names)} given, {left} freedoms are left; give as many more")
    over = len(known.measured) - (rank - np.linalg.matrix_rank(model.closure(q)[1][:, free], tol=1e-9))
    if over:
        raise StateError(
            f"motion: {', '.join(names)} cannot all be given: {over} of them follow from the others and the loops"
        )
