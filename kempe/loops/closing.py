"""Closing in compiled code: Newton's method from a nearby state, for control loops, in microseconds.

Compiled code cannot choose pivots. The rows and columns of J to eliminate, and their order, are chosen at a state by
complete pivoting and stay valid near it; the residual of the answer shows whether they did.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kempe.compiler.compose import Composer
from kempe.compiler.kernel import Kernel
from kempe.compiler.recall import recalled
from kempe.compiler.trace import trace
from kempe.dynamics import closure
from kempe.dynamics.kinematics import rates
from kempe.errors import NotClosed, StateError
from kempe.kinds import one
from kempe.loops.kinematics import accelerations, place, velocities
from kempe.loops.targets import Given, given
from kempe.mechanics.state import State
from kempe.spatial.solving import Elimination
from kempe.spatial.vectors import array, from_sx, to_sx

if TYPE_CHECKING:
    from kempe.compiler.program import Program
    from kempe.mechanics.mechanics import Mechanics

STEPS = 4  # Newton steps; each squares the error
CLOSED = 1e-11


@dataclass(frozen=True, eq=False)
class Closer:
    """Compiled closing for given joints: `closer(q, x, xdot, xddot)` gives q, v, a and the largest remaining residual.

    names: the joints whose values, rates and accelerations are given, in this order.
    """

    mechanics: "Mechanics"
    names: tuple[str, ...]
    kernel: Kernel

    def __call__(self, q, x, xdot, xddot):
        """One state, or many with a leading axis; q is the start, for instance the last answer."""
        return self.kernel(q, x, xdot, xddot)


def closer(mechanics: "Mechanics", names: tuple[str, ...], near: State) -> Closer:
    """Compiles closing for given coordinates of joints or places, around a closed state."""
    known = given(mechanics, names, "close")
    free = np.setdiff1d(np.arange(mechanics.nv), known.at_v)
    measured = known.matrix(near.q, mechanics.nv) / known.sizes(mechanics)[:, None]
    matrix = np.vstack([mechanics.closure(near.q)[1], measured]) * mechanics.equations.steps
    rows, columns = _pivots(matrix[:, free], len(free))
    order = free[columns]
    program = recalled(
        lambda: _program(mechanics, names, known, rows, order), "close", mechanics.equations, names, rows, order
    )
    return Closer(mechanics, names, Kernel(program))


def _program(
    mechanics: "Mechanics", names: tuple[str, ...], known: Given, rows: np.ndarray, order: np.ndarray
) -> "Program":
    """Newton's method, then velocities and accelerations, with these pivots."""
    tree_x, measured_x = known.order[: known.tree], known.order[known.tree :]
    size, sizes = mechanics.equations.closure_size, {"q": mechanics.nq, "x": len(names)}
    tree, lengths = mechanics.equations.constant_tree, known.sizes(mechanics)

    def equations(q):
        """J, and below it L of the measured coordinates."""
        jacobian = from_sx(closure.jacobian(tree, q, size)).reshape(-1, mechanics.nv)
        return np.vstack([jacobian, known.symbolic_matrix(tree, q, mechanics.nv) / lengths[:, None]])

    def errors(q, x):
        return np.concatenate([closure.phi(tree, q, size), array(known.symbolic_off(tree, q, x[measured_x])) / lengths])

    def spread(values):
        full = np.zeros(mechanics.nv, dtype=object)
        full[order] = values
        return full

    def newton(q, x):
        q, x = from_sx(q).astype(object), from_sx(x)
        q[known.at_q] = x[tree_x]
        step = spread(Elimination(equations(q)[np.ix_(rows, order)]).solve(-errors(q, x)[rows]))
        moved = q + rates(tree, q, step)
        parts = [t.joint.type().normalized(moved[t.q]) if len(t.joint.type.q_names) != len(t.joint.type.v_names)
                 else moved[t.q] for t in mechanics.topology.tree]  # fmt: skip
        return {"q": to_sx(np.concatenate(parts))}

    def motion(q, x, xdot, xddot):
        q, x, xdot, xddot = map(from_sx, (q, x, xdot, xddot))
        full = equations(q)
        square, lead = Elimination(full[np.ix_(rows, order)]), full[np.ix_(rows, known.at_v)]
        v, a = np.zeros(mechanics.nv, dtype=object), np.zeros(mechanics.nv, dtype=object)
        v[known.at_v], a[known.at_v] = xdot[tree_x], xddot[tree_x]
        held = np.zeros(len(full) - len(measured_x))
        right = np.concatenate([held, xdot[measured_x] / lengths])[rows]
        v[order] = square.solve(right - lead @ xdot[tree_x])
        gamma = from_sx(closure.bias(tree, q, v, size))
        right = np.concatenate([gamma, (xddot[measured_x] - known.symbolic_bias(tree, q, v)) / lengths])[rows]
        a[order] = square.solve(right - lead @ xddot[tree_x])
        left = ca.SX(0.0)
        for entry in errors(q, x):
            left = ca.fmax(left, ca.fabs(entry))
        return {"v": to_sx(v), "a": to_sx(a), "left": left}

    step = trace(newton, sizes, {"q": mechanics.nq}, name="newton")
    rest = trace(
        motion, {"q": mechanics.nq, **dict.fromkeys(("x", "xdot", "xddot"), len(names))}, {"left": ()}, name="motion"
    )
    composer = Composer("close")
    widths = {"q": mechanics.nq, **dict.fromkeys(("x", "xdot", "xddot"), len(names))}
    q, x, xdot, xddot = (composer.input(n, k) for n, k in widths.items())
    for _ in range(STEPS):
        (q,) = composer.call(step, q, x)
    v, a, left = composer.call(rest, q, x, xdot, xddot)
    for name, slots in (("q_closed", q), ("v", v), ("a", a), ("left", left)):
        composer.output(name, slots)
    return composer.program()


def close(
    mechanics: "Mechanics", values, near: State, rates_, accelerations_
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See `Model.close`."""
    names = tuple(values)
    known = mechanics.closers
    if names not in known:
        known[names] = closer(mechanics, names, near)
    x, xdot, xddot = (
        np.array([one(given.get(n, 0.0), f"close: {n!r}", StateError) for n in names])
        for given in (values, rates_, accelerations_)
    )
    q, v, a, left = known[names](near.q, x, xdot, xddot)
    if left <= CLOSED:
        return q, v, a
    # The pivots no longer suit, or the step was too long: close by the careful solver, then choose new pivots.
    selected = given(mechanics, names, "close")
    x, xdot, xddot = (each[selected.order] for each in (x, xdot, xddot))
    q = place(mechanics, selected, near.q, x)
    if q is None:
        wanted = ", ".join(f"{n} = {y:g}" for n, y in zip(np.array(names)[selected.order], x, strict=True))
        raise NotClosed(
            f"close: {wanted} is too far from the state nearby, or out of reach; assemble(...) looks farther"
        )
    v = velocities(mechanics, selected, q, xdot)
    known[names] = closer(mechanics, names, State(mechanics, q, v))
    return q, v, accelerations(mechanics, selected, q, v, xddot)


def _pivots(matrix: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns in the order of complete pivoting."""
    work, rows, columns = matrix.copy(), list(range(len(matrix))), list(range(matrix.shape[1]))
    scale = np.abs(matrix).max(initial=1e-4)  # a loop that constrains nothing leaves rounding errors only
    for k in range(wanted):
        part = np.abs(work[k:, k:])
        if not part.size or part.max() <= 1e-9 * scale:
            raise StateError(f"close: with these joints given, {wanted - k} freedoms are left, or the pose is singular")
        i, j = np.unravel_index(part.argmax(), part.shape)
        i, j = int(i) + k, int(j) + k
        work[[k, i]] = work[[i, k]]
        work[:, [k, j]] = work[:, [j, k]]
        rows[k], rows[i] = rows[i], rows[k]
        columns[k], columns[j] = columns[j], columns[k]
        work[k + 1 :] -= np.outer(work[k + 1 :, k] / work[k, k], work[k])
    return np.array(rows[:wanted], dtype=int), np.array(columns[:wanted], dtype=int)
