"""Kinematics of closed mechanisms: all joints and bodies along a motion of some of them, on one branch."""

from dataclasses import dataclass

import numpy as np

from kempe.analyze.assembly import CLOSED
from kempe.errors import NotClosed, StateError
from kempe.model.model import Model
from kempe.model.state import State

NEWTON = 12  # iterations from a start nearby
LONGEST = 0.3  # rad, or sizes of the mechanism, that anything may move between two solutions before the step is halved
HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Inputs:
    """Which joints are given: tree coordinates (places in q and v) and entries of joints that were cut.

    order: where each entry of a motion goes, first those of the tree, then those of cut joints.
    """

    at_q: np.ndarray
    at_v: np.ndarray
    cut_q: np.ndarray
    cut_v: np.ndarray
    turning: np.ndarray
    order: np.ndarray

    @property
    def tree(self) -> int:
        """How many are of the tree."""
        return len(self.at_q)


def inputs(model: Model, names: tuple[str, ...]) -> Inputs:
    """The places of named coordinates, of joints in the tree or of joints that were cut."""
    slices_q, slices_v = model.slices("q"), model.slices("v")
    tree, cut = [], []
    for number, name in enumerate(names):
        if name in model.cut:
            at_q, at_v = model.cut[name]
            if at_q.stop - at_q.start != 1:
                raise StateError(f"joint {name!r} was cut and has several coordinates; a motion cannot give it")
            unit = next(loop.joint.type.units[0] for loop in model.topology.loops if loop.joint.name == name)
            cut.append((number, at_q.start, at_v.start, unit == "rad"))
        elif name in slices_q and name in slices_v and slices_q[name].stop - slices_q[name].start == 1:
            tree.append((number, slices_q[name].start, slices_v[name].start))
        else:
            raise StateError(f"there is no joint of one coordinate {name!r}; give {', '.join(model.q_names)}")
    return Inputs(
        np.array([t[1] for t in tree], dtype=int),
        np.array([t[2] for t in tree], dtype=int),
        np.array([c[1] for c in cut], dtype=int),
        np.array([c[2] for c in cut], dtype=int),
        np.array([c[3] for c in cut], dtype=bool),
        np.array([t[0] for t in tree] + [c[0] for c in cut], dtype=int),
    )


def place(model: Model, given: Inputs, q: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """The closed q with the given values, by Newton's method from q nearby; None where it does not get there."""
    free = _free(model, given)
    q = q.copy()
    q[given.at_q] = x[: given.tree]
    for _ in range(NEWTON):
        phi, jacobian, upright = model.closure(q)
        rows, columns = [phi], [jacobian[:, free]]
        if len(given.cut_q):
            off = model.loop_coordinates(q)[given.cut_q] - x[given.tree :]
            off[given.turning] = (off[given.turning] + np.pi) % (2 * np.pi) - np.pi
            rows.append(off)
            columns.append(model.loop_matrix(q)[given.cut_v][:, free])
        error = np.concatenate(rows)
        if np.abs(error).max(initial=0.0) <= 0.1 * CLOSED:
            break
        step = np.zeros(model.nv)
        step[free] = np.linalg.lstsq(np.vstack(columns), -error, rcond=1e-10)[0]
        if np.abs(step).max() > LONGEST * max(1.0, model.equations.closure_size):
            return None
        q = model.integrate(q, step)
    phi, _, upright = model.closure(q)
    return q if np.abs(phi).max(initial=0.0) <= CLOSED and (upright > 0).all() else None


def velocities(model: Model, given: Inputs, q: np.ndarray, xdot: np.ndarray) -> np.ndarray:
    """v of all joints from those that are given."""
    jacobian = model.closure(q)[1]
    return _completed(model, given, q, xdot, np.zeros(len(jacobian)), np.zeros(len(given.cut_v)))


def accelerations(model: Model, given: Inputs, q: np.ndarray, v: np.ndarray, xddot: np.ndarray) -> np.ndarray:
    """Accelerations of all joints from those that are given."""
    bias = model.loop_velocity_bias(q, v)[given.cut_v] if len(given.cut_v) else np.zeros(0)
    return _completed(model, given, q, xddot, model.loop_bias(q, v), bias)


def _completed(model: Model, given: Inputs, q, known, right, bias) -> np.ndarray:
    """x with J x = right, given entries, and L x + bias = known for cut joints."""
    free, out = _free(model, given), np.zeros(model.nv)
    out[given.at_v] = known[: given.tree]
    matrix = model.closure(q)[1]
    if len(given.cut_v):
        matrix = np.vstack([matrix, model.loop_matrix(q)[given.cut_v]])
        right = np.concatenate([right, known[given.tree :] - bias])
    out[free] = np.linalg.lstsq(matrix[:, free], right - matrix @ out, rcond=1e-10)[0]
    return out


def _free(model: Model, given: Inputs) -> np.ndarray:
    free = np.ones(model.nv, dtype=bool)
    free[given.at_v] = False
    return free


def follow(model: Model, names: tuple[str, ...], at, t: np.ndarray, start: State | None):
    """q, v and a at times t along a motion of named joints; `at(t)` gives their values, rates and accelerations.

    The branch is that of `start`, and is kept: where anything would move far from one time to the next, the way is
    gone in smaller steps.
    """
    given = inputs(model, names)
    first = at(t[0])[0][given.order]
    near = (start or model.assemble(dict(zip(names, at(t[0])[0].tolist(), strict=True)))).q
    q = place(model, given, near, first)
    if q is None:
        q = model.assemble(dict(zip(names, at(t[0])[0].tolist(), strict=True)), near=State(model, near, near)).q
    _check_determined(model, given, q, names)
    rows = []
    before = t[0]
    for now in t:
        q = _carried(model, given, at, q, before, now, HALVINGS)
        _, xdot, xddot = (x[given.order] for x in at(now))
        v = velocities(model, given, q, xdot)
        rows.append((q, v, accelerations(model, given, q, v, xddot)))
        before = now
    return tuple(np.array(part) for part in zip(*rows, strict=True))


def _carried(model: Model, given: Inputs, at, q: np.ndarray, before: float, now: float, halvings: int) -> np.ndarray:
    x = at(now)[0][given.order]
    if now == before:
        return q
    _, xdot, _ = (part[given.order] for part in at(before))
    ahead = model.integrate(q, (now - before) * velocities(model, given, q, xdot))
    found = place(model, given, ahead, x)
    if found is not None and np.abs(model.difference(ahead, found)).max() < LONGEST:
        return found
    if halvings == 0:
        raise NotClosed(
            f"the motion cannot be followed past t = {before:.6g} s: the loops do not close beyond it, or a singular "
            "pose is met"
        )
    half = 0.5 * (before + now)
    q = _carried(model, given, at, q, before, half, halvings - 1)
    return _carried(model, given, at, q, half, now, halvings - 1)


def _check_determined(model: Model, given: Inputs, q: np.ndarray, names: tuple[str, ...]) -> None:
    matrix = model.closure(q)[1]
    if len(given.cut_v):
        matrix = np.vstack([matrix, model.loop_matrix(q)[given.cut_v]])
    free = _free(model, given)
    left = int(free.sum()) - np.linalg.matrix_rank(matrix[:, free], tol=1e-9)
    if left:
        raise StateError(f"motion: with {', '.join(names)} given, {left} freedoms are left; give as many joints more")
