"""Synthesis: a recorded motion of a mechanism that floats, stands or hangs, and the forces it takes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kempe.analyze.nearest import Nearest, Recording
from kempe.analyze.sharing import Costs, Halves, share
from kempe.analyze.supports import Support
from kempe.control.motion import Motion
from kempe.errors import StateError
from kempe.kinetics.actuation import bounds_of, weights_of
from kempe.kinetics.closed import allowed, row_of
from kempe.kinetics.kinetics import Kinetics
from kempe.mechanics.state import State, placed
from kempe.results.outcome import FINISHED, Outcome
from kempe.results.synthesis import Synthesis, check_supports
from kempe.results.trajectory import Trajectory
from kempe.simulate.prescribed import instants

WAYS = "qp", "minimum"


@dataclass(frozen=True, eq=False)
class Wishes:
    """How to share efforts and forces: see `Model.synthesize`."""

    support: str
    weights: object
    bounds: object
    forces: float
    residual: float | None

    def __post_init__(self):
        """Raises for invalid values."""
        if self.support not in WAYS:
            raise StateError(f"synthesize: support is {self.support!r}; it takes 'qp' or 'minimum'")
        if self.support == "minimum" and self.bounds is not None:
            raise StateError("synthesize: bounds are kept by support='qp'; support='minimum' knows none")
        for name, value in (("forces", self.forces), ("residual", self.residual)):
            if value is not None and not (np.isfinite(value) and value > 0):
                raise StateError(f"synthesize: {name} is {value!r}; it takes a weight above 0")


def synthesize(
    model: Kinetics,
    motion: Motion,
    start: State | None,
    output,
    supports: Support | Iterable[Support],
    wishes: Wishes,
    p,
) -> Synthesis:
    """See `Model.synthesize`."""
    supports = (supports,) if isinstance(supports, Support) else tuple(supports)
    check_supports(supports)
    given = None if p is None else model.parameters(p)
    exact, p = model.exact, model.exact_p(given)
    t = instants(motion, output, "synthesize")
    rows = _closed(exact, motion, start, t, p)
    u, forces, missing = _shared(exact, rows, t, supports, wishes, p)
    done = Outcome(FINISHED, float(t[-1]), (), f"synthesis of {t[-1]:g} s of motion")
    run = Trajectory(model, t, rows.q, rows.v, rows.a, u, p=given, outcome=done)  # type: ignore[arg-type]
    pushes, slips = {}, {}
    for support, jacobians, along in zip(supports, _jacobians(exact, supports, rows.q, p), forces, strict=True):
        pushes[support.name] = along @ support.axes
        speeds = np.einsum("npiv,nv->npi", jacobians, rows.v)[..., 1:]
        slips[support.name] = np.where(support.acts(t), np.linalg.norm(speeds, axis=-1).max(axis=1), 0.0)
    wrenches = _on_roots(exact, rows.q, missing, p)
    size, weight = float(exact.equations.closure_size), _weight(exact, rows.q[0], p)
    return Synthesis(run, wrenches, missing, supports, pushes, slips, rows.moved, motion.names, weight, size)


def _closed(model: Kinetics, motion: Motion, start: State | None, t: np.ndarray, p) -> Nearest:
    """The motion at times t, with loops closed."""
    if not model.topology.constrained and not any(placed(model, name) for name in motion.names):
        return Nearest(*motion.on(model, start, t=t), np.zeros((len(t), len(motion.names))))
    rest = model.drawn.q if start is None else np.array(start.q, dtype=float)
    return Recording(model, motion.names, rest, p).rows(t, motion.at(t), start)


def _jacobians(model: Kinetics, supports: tuple[Support, ...], q: np.ndarray, p) -> list[np.ndarray]:
    return [support.jacobians(model, q, p) for support in supports]


def _shared(model: Kinetics, rows: Nearest, t: np.ndarray, supports, wishes: Wishes, p):
    """Efforts (n, nu), forces of each support along its axes (n, points, 3), and what is missing (n, nv)."""
    n, nu, size = len(t), model.nu, float(model.equations.closure_size)
    needed = model.generalized_forces(rows.q, rows.v, rows.a, p)
    strong = float(np.abs(needed).max(initial=0.0))
    jacobians, acting = _jacobians(model, supports, rows.q, p), [support.acts(t) for support in supports]
    low, high = bounds_of(model, wishes.bounds)
    bounded = np.zeros(nu, dtype=bool) if low is None or high is None else np.isfinite(low) | np.isfinite(high)
    left_at = np.sort(np.concatenate([np.setdiff1d(np.arange(model.nv), model.driven), model.driven[bounded]]))
    actuators, dear = np.sqrt(weights_of(model, wishes.weights)), size * np.sqrt(wishes.forces)
    u, missing = np.zeros((n, nu)), np.zeros((n, model.nv))
    forces = [np.zeros(x.shape[:3]) for x in jacobians]
    drive, remain = np.eye(model.nv)[:, model.driven], np.eye(model.nv)[:, left_at]
    limits = _bounds(nu, low, high)
    for i in range(n):
        there = [k for k in range(len(supports)) if acting[k][i]]
        felt = [jacobians[k][i].reshape(-1, model.nv).T for k in there]
        points = np.hstack([np.zeros((model.nv, 0)), *felt])
        w = allowed(model, rows.q[i], row_of(p, i))[0] if model.topology.constrained else np.eye(model.nv)
        costs = Costs(
            np.concatenate([actuators, np.full(points.shape[1], dear)]), model.equations.steps[left_at], wishes.residual
        )
        halves = _halves(limits, [supports[k] for k in there]) if wishes.support == "qp" else None
        try:
            x, r = share(w.T @ np.hstack([drive, points]), w.T @ remain, w.T @ needed[i], costs, halves, strong)
        except StateError as error:
            raise StateError(f"synthesize, t = {t[i]:.6g} s: {error}") from None
        u[i], missing[i, left_at], at = x[:nu], r, nu
        for k in there:
            count = forces[k][i].size
            forces[k][i] = x[at : at + count].reshape(-1, 3)
            at += count
    return u, forces, missing


def _bounds(nu: int, low: np.ndarray | None, high: np.ndarray | None) -> Halves:
    """Half-spaces of bounds on efforts."""
    if low is None or high is None:
        return Halves(np.zeros((0, nu)), np.zeros(0))
    eye, below, above = np.eye(len(low)), np.isfinite(low), np.isfinite(high)
    return Halves(np.vstack([eye[below], -eye[above]]), np.concatenate([low[below], -high[above]]))


def _halves(limits: Halves, supports: list[Support]) -> Halves:
    """Half-spaces of efforts and of the admissible forces of each support point, combined."""
    blocks = [limits.matrix, *(support.inside for support in supports for _ in support.points)]  # type: ignore[union-attr]
    matrix = np.zeros([sum(block.shape[k] for block in blocks) for k in (0, 1)])
    row = column = 0
    for block in blocks:
        matrix[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return Halves(matrix, np.concatenate([limits.least, np.zeros(row - len(limits.least))]))


def _on_roots(model: Kinetics, q: np.ndarray, missing: np.ndarray, p) -> dict[str, np.ndarray]:
    """For each floating body, the missing efforts as an equivalent wrench at its origin, in world axes, doing the same
    work. If many wrenches do, the least, by moments, and by forces times the mechanism's size."""
    found, steps = {}, model.equations.steps
    sizes = np.repeat([1.0, 1.0 / model.equations.closure_size], 3)
    for joint in model.topology.tree:
        if joint.parent is model.mechanism.ground and joint.joint.type.v_names and not all(joint.joint.actuated):
            columns = model.jacobian(joint.child, q, p=p)[:, :, joint.v] * sizes[:, None] * steps[joint.v]
            works = missing[:, joint.v] * steps[joint.v]
            found[joint.child.name] = np.einsum("nvi,nv->ni", np.linalg.pinv(columns), works) * sizes
    return found


def _weight(model: Kinetics, q: np.ndarray, p) -> float:
    """The weight of all bodies: their rate of momentum, from the mass of the links and gravity."""
    values = None if p is None else np.asarray(p, dtype=float).reshape(-1, len(model.p_names))[0]
    tree = model.equations.constant_tree if values is None else model.equations.tree(values)
    masses = [float((link.inertia if link.beam is None else link.beam.rigid(q[at.q])).mass)
              for link, at in zip(tree.links, tree.joints, strict=True)]  # fmt: skip
    return float(sum(masses) * np.linalg.norm(np.array(tree.gravity, dtype=float)))
