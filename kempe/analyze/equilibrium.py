"""Equilibrium: closed states at rest under constant efforts, and their stability.

Problem. Find q with loops closed and f = W^T F = 0, F = h(q, v = 0) - tau the generalized forces of the tree.

Must. At rest to rounding, by exact derivatives; joint limits kept. The same question has the same answer. If there is
none, say what keeps moving; if only unstable ones were found, say so.

Should. The stable one in which a heavily damped mechanism would settle from its start.

Discussion. With lam the part of F carried by the loops, H = W^T d(F - J^T lam)/dq W is the stiffness along allowed
steps: the Hessian of the potential energy, if there is one. In coordinates of unit inertia, steps are Newton steps with
the absolute values of curvatures, so that they lead downhill near saddles too, shortened until F has done work. Forces
that follow a body have no potential; their H is not symmetric, and Newton's step near the end uses it as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kempe.analyze.linearize import Linearization, along, freedoms, linearize
from kempe.arithmetic.least import least_squares
from kempe.errors import NotClosed, Singular, StateError
from kempe.kinetics.closed import spaces
from kempe.kinetics.derivatives import residuals
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.assembly import CLOSED
from kempe.loops.freedom import anywhere
from kempe.mechanics.state import State

ITERATIONS = 200
STARTS = 16
LONGEST = 0.4  # rad, or sizes of the mechanism: the longest step
AT_REST = 1e-10  # forces relative to those that a radian or the mechanism's size would make
FLAT = 1e-9  # relative curvature below which an equilibrium is indifferent
GROWING = 1e-6  # growth relative to the largest eigenvalue, above which an equilibrium is unstable
KINDS = ("stable", "indifferent", "unstable")


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state of equilibrium.

    efforts: the efforts that held joints need, by freedom. kind: stable; indifferent, if it can move without any force;
    or unstable. linearization: of small motions about it, with held joints locked.
    """

    state: State
    efforts: dict[str, float]
    kind: str
    linearization: Linearization

    @property
    def stable(self) -> bool:
        """Whether small motions stay small; they decay only with dampers."""
        return self.kind == "stable"

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of small motions."""
        return self.linearization.eigenvalues

    def __str__(self) -> str:
        model = self.state.model
        shown = ", ".join(f"{n} = {x:.6g}" for n, x in zip(model.q_names, self.state.q, strict=True))
        lines = [f"{model.mechanism.name}: {self.kind} equilibrium at {shown}"]
        if self.efforts:
            lines.append("held by " + ", ".join(f"{x:.6g} at {n}" for n, x in self.efforts.items()))
        modes = [f"{m.frequency:.6g}" for m in self.linearization.modes if m.eigenvalue.imag]
        if modes:
            lines.append(f"swings at {', '.join(modes)} Hz")
        if self.kind == "unstable":
            lines.append(f"small motions grow by exp({self.linearization.growth:.4g} t)")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Task:
    """The problem: efforts along all freedoms, held freedoms, parameters."""

    model: Kinetics
    tau: np.ndarray
    held: list[int]
    p: np.ndarray | None

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Rows of the loops and of held freedoms."""
        return np.vstack([self.model.loop_rows(q, p=self.p), np.eye(self.model.nv)[self.held]])

    def forces(self, q: np.ndarray) -> np.ndarray:
        """F."""
        rest = np.zeros(self.model.nv)
        return self.model.generalized_forces(q, rest, rest, self.p) - self.tau

    def closed(self, q: np.ndarray) -> np.ndarray | None:
        """The nearest closed coordinates, with held ones unchanged; None if they are not near."""
        free = np.setdiff1d(np.arange(self.model.nv), self.held)
        for _ in range(12):
            phi, jacobian, upright = self.model.closure(q, p=self.p)
            if np.abs(phi).max(initial=0.0) <= 0.1 * CLOSED:
                break
            steps = self.model.equations.steps
            step = np.zeros(self.model.nv)
            step[free] = least_squares((jacobian * steps)[:, free], -phi, 1e-10) * steps[free]
            q = self.model.integrate(q, step)
        phi, _, upright = self.model.closure(q, p=self.p)
        return q if np.abs(phi).max(initial=0.0) <= CLOSED and (upright > 0).all() else None


def equilibrium(model: Kinetics, near, tau, hold, stable: bool, p) -> Equilibrium:
    """See `Model.equilibrium`."""
    task = Task(model, along(model, tau), freedoms(model, tuple(hold), "hold"), p)
    unstable = beyond = lost = None
    for start in islice(_starts(task, near, hold), STARTS):
        q, moving = _descended(task, start) if stable else _solved(task, start)
        if moving is None and stable and _judged(task, q).kind == "unstable":  # it began at an unstable equilibrium
            unstable = unstable or _judged(task, q)
            q, moving = _descended(task, _beside(task, q))
        if moving is not None:
            lost = lost or moving
            continue
        broken = [x for x in model.limits if x.v not in task.held and not x.low <= q[x.q] <= x.high]
        if broken:
            beyond = beyond or ", ".join(f"{x.name} = {q[x.q]:.4g} (limits {x.low:g} to {x.high:g})" for x in broken)
            continue
        found = _judged(task, q)
        if not stable or found.kind != "unstable":
            return found
    raise StateError(f"equilibrium: {_why_not(unstable, beyond, lost)}")


def _why_not(unstable: Equilibrium | None, beyond: str | None, lost: str | None) -> str:
    if unstable is not None:
        return f"only unstable ones were found, as this; stable=False gives the nearest of any kind.\n{unstable}"
    if beyond is not None:
        return f"it would rest only beyond limits of joints, as at {beyond}; give `near`, hold joints, or give efforts"
    return f"none was found: {lost}"


def _starts(task: Task, near, hold):
    """The requested start, then others, always the same ones."""
    model = task.model
    values = dict(hold) if isinstance(hold, Mapping) else {}
    state = near if isinstance(near, State) else None
    if state is None or values:
        state = model.assemble(values, near=near)
    q = task.closed(np.array(state.q, dtype=float))
    if q is None:
        raise NotClosed("equilibrium: the loops are not closed where it begins; assemble(...) closes them")
    yield q
    kept = values or {model.topology.tree[_joint_of(model, k)].joint.name: None for k in task.held}
    kept = {name: values.get(name, state[name]) for name in kept}
    rng = np.random.default_rng(1876)
    while True:
        away = anywhere(model, int(rng.integers(1 << 31)))
        try:
            other = task.closed(model.assemble(kept, near=State(model, away, np.zeros(model.nv))).q)
        except NotClosed:
            other = None
        if other is not None:
            yield other


def _joint_of(model: Kinetics, k: int) -> int:
    return next(i for i, t in enumerate(model.topology.tree) if t.v.start <= k < t.v.stop)


# ---- solving ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Here:
    """A pose: F, W, f in coordinates of unit inertia, its stiffness there, and the scale of f."""

    q: np.ndarray
    forces: np.ndarray
    steps: np.ndarray  # W, columns of unit inertia
    f: np.ndarray
    stiffness: np.ndarray
    scale: float


def _here(task: Task, q: np.ndarray) -> Here:
    model, rest = task.model, np.zeros(task.model.nv)
    forces = task.forces(q)
    r = residuals(model, q, rest, rest, forces, task.p, task.held)
    w, _ = spaces(model, q, task.p, r.rows, len(task.held))
    sizes, axes = np.linalg.eigh(w.T @ r.inertia @ w)
    w = w @ (axes / np.sqrt(np.maximum(sizes, 1e-12 * sizes.max(initial=0.0))))
    scale = float(
        np.linalg.norm(w.T @ (r.r1_by_q * model.equations.steps)) + np.linalg.norm(np.abs(w.T) @ np.abs(forces))
    )
    return Here(q, forces, w, w.T @ forces, w.T @ r.r1_by_q @ w, scale)


def _descended(task: Task, q: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Downhill to rest, and None; or as far as it came, and what still moves, in words."""
    here, damping, best = _here(task, q), 0.0, None
    for _ in range(ITERATIONS):
        size = np.abs(here.f).max(initial=0.0)
        if size <= AT_REST * here.scale and (size == 0.0 or (best is not None and size >= 0.5 * best)):
            break  # at rest, and not improving
        best = size if size <= AT_REST * here.scale else None
        values, axes = np.linalg.eigh(0.5 * (here.stiffness + here.stiffness.T))
        top = max(np.abs(values).max(), 1e-12 * here.scale)
        if values[0] > FLAT * top and not damping:
            y = -np.linalg.solve(here.stiffness, here.f)
        else:
            y = -axes @ (axes.T @ here.f / (np.maximum(np.abs(values), 1e-3 * top) + damping))
        trial = _stepped(task, here, y)
        if trial is None:
            damping = max(10 * damping, 1e-2 * top)
            if damping > 1e12 * top:
                break
            continue
        here, damping = trial, 0.1 * damping if damping > 1e-3 * top else 0.0
    return here.q, _left(task, here)


def _stepped(task: Task, here: Here, y: np.ndarray) -> Here | None:
    """The pose after a step, if forces have done work on the way, or are smaller."""
    step = here.steps @ y
    far = np.abs(step / task.model.equations.steps).max(initial=0.0)
    q = task.closed(task.model.integrate(here.q, step * min(1.0, LONGEST / max(far, 1e-300))))
    if q is None:
        return None
    try:
        there = _here(task, q)
    except Singular:
        return None
    work = -0.5 * (here.forces + there.forces) @ task.model.difference(here.q, q)
    small = np.abs(there.f).max(initial=0.0) <= AT_REST * there.scale
    return there if work > 0 or small else None


def _beside(task: Task, q: np.ndarray) -> np.ndarray:
    """A pose a little downhill from a saddle."""
    here = _here(task, q)
    _, axes = np.linalg.eigh(0.5 * (here.stiffness + here.stiffness.T))
    step = here.steps @ axes[:, 0]
    nudged = task.closed(task.model.integrate(q, 0.02 * step / np.abs(step / task.model.equations.steps).max()))
    return q if nudged is None else nudged


def _solved(task: Task, q: np.ndarray) -> tuple[np.ndarray, str | None]:
    """The same by Newton's method, to the nearest equilibrium of any kind."""
    here = _here(task, q)
    for _ in range(ITERATIONS):
        y = -np.linalg.lstsq(here.stiffness, here.f, rcond=FLAT)[0]
        far = np.abs(here.steps @ y / task.model.equations.steps).max(initial=0.0)
        part, size = min(1.0, LONGEST / max(far, 1e-300)), np.linalg.norm(here.f)
        while part > 1e-6:
            other = task.closed(task.model.integrate(here.q, here.steps @ (part * y)))
            trial = None if other is None else _here(task, other)
            if trial is not None and np.linalg.norm(trial.f) < (1 - 0.1 * part) * size:
                break
            part *= 0.5
        else:
            break
        here = trial
    return here.q, _left(task, here)


def _left(task: Task, here: Here) -> str | None:
    """What still moves; None at rest."""
    if np.abs(here.f).max(initial=0.0) <= AT_REST * here.scale:
        return None
    model = task.model
    motion = np.abs(here.steps @ here.f / model.equations.steps)
    names = [model.v_names[k] for k in np.argsort(-motion) if motion[k] > 0.1 * motion.max()]
    return f"{', '.join(names)} keep{'s' * (len(names) == 1)} moving; hold joints, or give efforts"


# ---- results ---------------------------------------------------------------------------------------------


def _judged(task: Task, q: np.ndarray) -> Equilibrium:
    model = task.model
    state, here = State(model, q, np.zeros(model.nv)), _here(task, q)
    names = [model.v_names[k] for k in task.held]
    small = linearize(model, state, task.tau[model.driven], None, None, names, task.p)
    curved = np.abs(np.linalg.eigvals(here.stiffness)) if len(here.f) else np.ones(1)
    largest = np.abs(small.eigenvalues).max(initial=0.0)
    kind = "stable"
    if curved.min() <= FLAT * max(curved.max(), here.scale * FLAT):
        kind = "indifferent"
    if small.growth > max(GROWING, np.sqrt(FLAT) * (kind == "indifferent")) * largest > 0:
        kind = "unstable"
    back = spaces(model, q, task.p, task.rows(q), len(task.held))[1]
    taken = (back.T @ here.forces)[len(back.T) - len(task.held) :]
    return Equilibrium(state, dict(zip(names, taken.tolist(), strict=True)), kind, small)
