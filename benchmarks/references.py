"""References: where motions go, twice, by equations and integrators that share nothing with each other.

One is of Pinocchio's inertia matrices and Jacobians, in SciPy's DOP853. The other is of Kempe's inertia matrices and
loops, not of the formulation that runs use, extrapolated from ever shorter midpoint steps (Gragg, Bulirsch and Stoer).
Both solve for accelerations and multipliers at once by NumPy. What opened meanwhile is closed at every so many rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from benchmarks.motions import Motion
from benchmarks.peers.description import End, describe
from benchmarks.peers.pinocchio import Pinocchio
from benchmarks.peers.running import rates_of
from kempe.model.model import Model

RELATIVE, ABSOLUTE = 1e-13, 1e-14
COUNTS = (2, 4, 6, 8, 10, 12, 14)  # of midpoint steps from one row of the grid to the next: order 14
SETTLED = 1e-11  # how far the last two extrapolations may be apart; the error is much smaller than that
NOTHING = 1e-9  # rows of loops that are as small follow from the plane everything moves in

Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Reference:
    """Rows of a motion at its grid, and the largest distance from the other way to work them out."""

    q: np.ndarray
    v: np.ndarray
    apart: float


def reference(motion: Motion) -> Reference:
    """Pinocchio's, with its distance from Kempe's."""
    model = motion.model
    theirs, ours = by_pinocchio(motion), by_kempe(motion)
    return Reference(*theirs, distance(model, theirs[0], ours[0]))


def distance(model: Model, q: np.ndarray, other: np.ndarray) -> float:
    """The largest over rows and freedoms [rad or m]; of balls, the vector of the turn between them."""
    return float(np.abs([model.difference(a, b) for a, b in zip(q, other, strict=True)]).max())


def by_pinocchio(motion: Motion) -> Rows:
    """Rows of q and v."""
    peer = Pinocchio(describe(motion.model))
    order, n, rates = peer.order, motion.model.nq, rates_of(peer.order)
    data, tau = peer.model.createData(), motion.state[2]

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        q, v = y[:n], y[n:]
        efforts = order.v(peer.with_springs(order.q_back(q), order.v_back(v), tau))
        inertia = np.triu(pin.crba(peer.model, data, q))
        forces = efforts - pin.nonLinearEffects(peer.model, data, q, v)
        rows, bias = _loops_of(peer, data, q, v)
        return np.concatenate([rates(q, v), _accelerations(inertia + np.triu(inertia, 1).T, forces, rows, bias)])

    def advance(q: np.ndarray, v: np.ndarray, times: np.ndarray) -> Rows:
        start = np.concatenate([order.q(q), order.v(v)])
        found = solve_ivp(slope, (times[0], times[-1]), start, "DOP853", times[1:], rtol=RELATIVE, atol=ABSOLUTE)
        y = found.y.T
        return np.array([order.q_back(x) for x in y[:, :n]]), np.array([order.v_back(x) for x in y[:, n:]])

    return _carried(motion, advance, every=25)


def by_kempe(motion: Motion) -> Rows:
    """Rows of q and v."""
    model, tau, n = motion.model, motion.state[2], motion.model.nq

    def slope(y: np.ndarray) -> np.ndarray:
        q, v = y[:n], y[n:]
        rows, bias = np.zeros((0, model.nv)), np.zeros(0)
        if model.topology.loops:
            rows, bias = model.closure(q)[1], model.loop_bias(q, v)
        a = _accelerations(model.mass_matrix(q), tau - model.bias(q, v), rows, bias)
        return np.concatenate([model.rates(q, v), a])

    def advance(q: np.ndarray, v: np.ndarray, times: np.ndarray) -> Rows:
        y = extrapolated(slope, np.concatenate([q, v]), times[1] - times[0])
        return y[None, :n], y[None, n:]

    return _carried(motion, advance, every=1)


def _carried(motion: Motion, advance: Callable[[np.ndarray, np.ndarray, np.ndarray], Rows], every: int) -> Rows:
    """Rows at the grid, by `advance(q, v, times)`, which gives those at all times but the first; loops are closed at
    every so many of them."""
    q, v, _ = motion.state
    times, found = motion.grid, [(q[None], v[None])]
    for at in range(0, len(times) - 1, every):
        rows = advance(found[-1][0][-1], found[-1][1][-1], times[at : at + every + 1])
        found.append(_closed(motion.model, *rows) if motion.model.topology.loops else rows)
    rows_q, rows_v = zip(*found, strict=True)
    return np.concatenate(rows_q), np.concatenate(rows_v)


def _closed(model: Model, q: np.ndarray, v: np.ndarray) -> Rows:
    """The nearest closed states, by least squares, and velocities that keep them so."""
    q, v = q.copy(), v.copy()
    for row in range(len(q)):
        for _ in range(2):
            gaps, rows, _ = model.closure(q[row])
            back = np.linalg.pinv(rows, rcond=NOTHING)
            q[row] = model.integrate(q[row], -back @ gaps)
        rows = model.closure(q[row])[1]
        v[row] -= np.linalg.pinv(rows, rcond=NOTHING) @ (rows @ v[row])
    return q, v


def extrapolated(slope: Callable[[np.ndarray], np.ndarray], y: np.ndarray, h: float) -> np.ndarray:
    """dy/dt = slope(y) over one step of `h`: midpoint steps, 2, 4, .. of them, whose errors are series in the square of
    their length, extrapolated to none by Neville's scheme (Hairer, Norsett, Wanner I, II.9); in halves where it is too
    long."""
    first, table = slope(y), []
    for row, count in enumerate(COUNTS):
        step = h / count
        before, now = y, y + step * first
        for _ in range(count - 1):
            before, now = now, before + 2 * step * slope(now)
        found = [now]
        for k in range(row):
            ratio = (count / COUNTS[row - 1 - k]) ** 2
            found.append(found[k] + (found[k] - table[k]) / (ratio - 1))
        table = found
    if np.abs(table[-1] - table[-2]).max() > SETTLED * (1.0 + np.abs(y).max()):
        return extrapolated(slope, extrapolated(slope, y, h / 2), h / 2)
    return table[-1]


def _loops_of(peer: Pinocchio, data, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J and -dJ/dt v of the points that loops share, from places and accelerations of bodies."""
    pin.forwardKinematics(peer.model, data, q, v, np.zeros(peer.model.nv))
    pin.computeJointJacobians(peer.model, data)
    rows, bias = [np.zeros((0, peer.model.nv))], [np.zeros(0)]
    for a, b in peer.description.loops:
        (rows_a, bias_a), (rows_b, bias_b) = (_point(peer, data, end) for end in (a, b))
        rows.append(rows_b - rows_a)
        bias.append(bias_a - bias_b)
    return np.vstack(rows), np.concatenate(bias)


def _point(peer: Pinocchio, data, end: End) -> tuple[np.ndarray, np.ndarray]:
    """Of a point on a body: its velocity by velocities of joints, and its acceleration where theirs are zero."""
    if end.link < 0:
        return np.zeros((3, peer.model.nv)), np.zeros(3)
    joint, world = peer.ids[end.link], pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    arm = data.oMi[joint].rotation @ end.pose.position
    jacobian = pin.getJointJacobian(peer.model, data, joint, world)
    spin = pin.getVelocity(peer.model, data, joint, world).angular
    moved = pin.getClassicalAcceleration(peer.model, data, joint, world)
    acceleration = moved.linear + np.cross(moved.angular, arm) + np.cross(spin, np.cross(spin, arm))
    return jacobian[:3] - pin.skew(arm) @ jacobian[3:], acceleration


def _accelerations(inertia: np.ndarray, forces: np.ndarray, rows: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """M a - J^T lam = forces, J a = bias, all at once."""
    held = np.abs(rows).max(axis=1, initial=0.0) > NOTHING
    rows, bias = rows[held], bias[held]
    n, m = len(forces), len(bias)
    whole = np.block([[inertia, -rows.T], [rows, np.zeros((m, m))]])
    return np.linalg.solve(whole, np.concatenate([forces, bias]))[:n]
