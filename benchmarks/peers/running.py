"""Running: SciPy's DOP853 around accelerations of a peer that has no integrator of its own."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.peers.peer import DidNotArrive, Integrator, Order

METHOD = "DOP853"
PATIENCE = 4.0  # seconds of a run: where accelerations are noisy, steps shrink without end
TOLERANCES = tuple(10.0**-k for k in range(4, 13))


def dop853(order: Order, accelerations: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray], name: str):
    """An integrator around `accelerations(q, v, tau)`, which take and give the peer's own order; loops stay closed as
    far as errors of steps let them."""
    nq, rates = sum(link.q.stop - link.q.start for link in order.links), rates_of(order)

    def prepare(q: np.ndarray, v: np.ndarray, tau: np.ndarray, times: np.ndarray, tolerance: float):
        efforts = order.v(tau)
        start, end = np.concatenate([order.q(q), order.v(v)]), float(times[-1])
        given_up = [0.0]
        rows = times if len(times) > 1 else None  # without them it keeps its own steps, which costs nothing

        def right_hand_side(t, y):
            if perf_counter() > given_up[0]:
                raise DidNotArrive(f"{name} in SciPy's {METHOD}: steps become too short.")
            q, v = y[:nq], y[nq:]
            return np.concatenate([rates(q, v), accelerations(q, v, efforts)])

        def run():
            given_up[0] = perf_counter() + PATIENCE
            found = solve_ivp(right_hand_side, (0.0, end), start, METHOD, rows, rtol=tolerance, atol=tolerance)
            if not found.success:
                raise DidNotArrive(f"{name} in SciPy's {METHOD}: {found.message}")
            y = found.y.T[-len(times) :]
            return np.array([order.q_back(x) for x in y[:, :nq]]), np.array([order.v_back(x) for x in y[:, nq:]])

        return run

    told = "rtol = atol; nothing closes loops again."
    return Integrator(f"{name} in SciPy's {METHOD}", told, "1", TOLERANCES, prepare, between=True)


def rates_of(order: Order) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """dq/dt by q and v, all in the peer's own order."""
    balls, at, v_at = [], 0, 0
    for link in order.links:
        if link.kind == "spherical":
            balls.append((at, v_at))
        at, v_at = at + link.q.stop - link.q.start, v_at + link.v.stop - link.v.start
    nq = at
    plain = [k for k in range(nq) if not any(b <= k < b + 4 for b, _ in balls)]
    plain_v = [k for k in range(v_at) if not any(b <= k < b + 3 for _, b in balls)]

    def rates(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if not balls:
            return v
        out = np.empty(nq)
        out[plain] = v[plain_v]
        for b, w in balls:
            out[b : b + 4] = _quaternion_rate(q[b : b + 4], v[w : w + 3], order.real_last)
        return out

    return rates


def _quaternion_rate(q: np.ndarray, spin: np.ndarray, real_last: bool) -> np.ndarray:
    w, x, y, z = np.roll(q, 1) if real_last else q
    a, b, c = spin
    rate = 0.5 * np.array([-x * a - y * b - z * c, w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a])
    return np.roll(rate, -1) if real_last else rate
