"""Closed: kinetics of closed mechanisms at states: compiled code where its coordinates fit, a dense solve elsewhere.

The dense solve is the reference for the compiled one. With M, h, J, gamma of the tree, an orthonormal basis W of the
null space of J, and the least g with J g = gamma,

    vdot = W ydd + g,    W^T M W ydd = W^T (tau - h - M g),    J^T lam = M vdot + h - tau.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.arithmetic.least import factors, least_squares, null_space, solve
from kempe.arithmetic.singular import eigh, svd
from kempe.arithmetic.sums import dot, times
from kempe.dynamics.closed import FIT, OPEN
from kempe.errors import NotClosed, Singular, StateError
from kempe.kinds import one
from kempe.kinetics.actuation import shared
from kempe.loops.freedom import freedom_beside, nullity_beside
from kempe.loops.kinematics import accelerations, settle
from kempe.loops.targets import given
from kempe.mechanics.inputs import look

if TYPE_CHECKING:
    from kempe.kinetics.kinetics import Kinetics

SINGULAR = 1e-6  # least singular value of J relative to the largest, below which loops do not determine accelerations
RANK = 1e-10  # the same if freedoms are held too, and for the last rows of runs that end at a singular pose
LEFT = 1e-12  # residual of a closed state
SLIP = 1e-9  # how fast its loops may open, relative to its velocities


def driven(model: "Kinetics", q, v, tau, p, check: bool) -> np.ndarray:
    """See `Model.forward_dynamics`, for many states, or for one that needs a closer look; tau along all freedoms, None
    without actuators."""
    if not model.prepared.has_coordinates:
        return _by_state(model, q, v, tau, p, check)
    if not model.tells_at_once:
        return forward(model, q, v, tau, p, check)
    vdot, told = model.call("driven_dynamics", q, v, np.asarray(tau)[..., model.driven], p=p)
    if check and not told[..., 1].max(initial=0.0) <= OPEN:
        check_closed(model, q, v, p, waivable=True)
    return _careful(model, q, v, tau, p, vdot, told[..., 0])


def forward(model: "Kinetics", q, v, tau, p, check: bool) -> np.ndarray:
    """Accelerations for any tau along all freedoms."""
    if check:
        check_closed(model, q, v, p, waivable=True)
    vdot, fit = model.call("forward_dynamics", q, v, tau, p=p)
    if not model.chosen.used.sees_all:
        # The solver for multipliers detects redundant rows, but not vanishing ones; coordinates detect both. Where the
        # tree alone has no inertia, results are not finite.
        fit = np.minimum(fit, model.call("fitness", q, p=p))
        fit = np.where(np.isfinite(vdot).all(axis=-1), fit, 0.0)
    return _careful(model, q, v, tau, p, vdot, fit)


def _by_state(model: "Kinetics", q, v, tau, p, check: bool) -> np.ndarray:
    """Accelerations if no closed states are known, or only singular ones, except the given ones."""
    if check:
        check_closed(model, q, v, p, waivable=True)
    if np.ndim(q) == 1:
        return numeric(model, q, v, tau, p, SINGULAR)
    rows = ([row_of(x, row) for x in (q, v, tau, p)] for row in range(len(q)))
    return np.array([numeric(model, *each, least=SINGULAR) for each in rows])


def _careful(model: "Kinetics", q, v, tau, p, vdot: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """The accelerations already found, replaced by the dense solve where generalized coordinates do not fit."""
    if (float(fit) if fit.ndim == 0 else fit.min(initial=1.0)) > FIT:  # NumPy's own min takes as long as all the rest
        return vdot
    look(model, "forward_dynamics", q=q, v=v, tau=tau, p=p)  # NaN has no fit coordinates
    if vdot.ndim == 1:
        return numeric(model, q, v, tau, p, SINGULAR)
    for row in np.flatnonzero(~(fit > FIT)).tolist():
        try:
            vdot[row] = numeric(model, *(row_of(x, row) for x in (q, v, tau, p)), least=SINGULAR)
        except Singular as error:
            raise Singular(f"state {row}: {error}") from None
    return vdot


def settled(model: "Kinetics", q, v, p) -> tuple[np.ndarray, np.ndarray]:
    """See `Model.settle`."""
    closed_q, closed_v, left = model.call("project", q, v, p=p)
    slip = np.abs(model.call("loop_slip", closed_q, closed_v, p=p)).max(axis=-1, initial=0.0)
    # Where generalized coordinates are unfit, loops may close without velocities that keep them closed.
    good = (left <= LEFT) & (slip <= SLIP * _fastest(model, v)[..., 0])
    if np.ndim(left) == 0:
        return (closed_q, closed_v) if good else settle(model, np.array(q, dtype=float), np.array(v, dtype=float), p)
    for row in np.flatnonzero(~good).tolist():
        closed_q[row], closed_v[row] = settle(model, *(row_of(x, row) for x in (q, v, p)))
    return closed_q, closed_v


def inverse(model: "Kinetics", q, v, a, p, weights, bounds, check: bool) -> np.ndarray:
    """See `Model.inverse_dynamics`."""
    if check:
        check_closed(model, q, v, p, waivable=True)
    if isinstance(a, dict):
        a = completed(model, q, v, a, p)
    elif check:
        check_accelerations(model, q, v, a, p)

    if weights is None and bounds is None and "inverse_dynamics" in model.chosen.functions():
        tau, fit = model.call("inverse_dynamics", q, v, a, p=p)
        if fit.min(initial=1.0) > FIT:
            return tau

    found = model.call("generalized_efforts", q, v, a, p=p)
    if found[0].ndim > 1:
        return efforts(model, q, v, a, p, found, weights, bounds)
    q, v, a = (np.asarray(x, dtype=float)[None] for x in (q, v, a))
    return efforts(model, q, v, a, p, [x[None] for x in found], weights, bounds)[0]


def efforts(model: "Kinetics", q, v, a, p, found, weights, bounds) -> np.ndarray:
    """Efforts of the actuated freedoms (n, nu) at n states with known tau_G, W and fitness."""
    needed, w, fit = found

    def strong() -> np.ndarray:
        """The largest acting forces along any freedom, times the mechanism's size: in this motion, or when coasting."""
        forces = model.generalized_forces(q, v, a, p), model.bias(q, v, p)
        return np.max(np.abs(forces) * model.equations.steps, axis=(0, -1), initial=0.0)

    found, freer = {}, []
    for row in np.flatnonzero(~(fit > FIT)).tolist():
        basis, _ = allowed(model, q[row], row_of(p, row))
        forces = model.generalized_forces(*(row_of(x, row) for x in (q, v, a, p)))
        if basis.shape[1] == w.shape[2]:
            w[row], needed[row] = basis, times(basis.T, forces)
        else:  # on a branch with more freedoms
            freer.append(row)
            only = lambda row=row: strong()[[row]]  # noqa: E731
            found[row] = shared(model, basis[None], times(basis.T, forces)[None], only, weights, bounds)[0]
    if not freer:
        return shared(model, w, needed, strong, weights, bounds)
    rest = np.setdiff1d(np.arange(len(w)), freer)
    tau = np.empty((len(w), model.nu))
    tau[freer] = [found[row] for row in freer]
    if len(rest):
        tau[rest] = shared(model, w[rest], needed[rest], lambda: strong()[rest], weights, bounds)
    return tau


def completed(model: "Kinetics", q, v, a: dict, p=None) -> np.ndarray:
    """Accelerations of all joints from those of as many joints as there are freedoms."""
    if np.ndim(q) != 1:
        raise StateError("inverse_dynamics: accelerations by name are for one state; for many, give an array (n, nv)")
    known = given(model, tuple(a), "inverse_dynamics")
    if len(a) != model.dof:
        raise StateError(
            f"inverse_dynamics: {', '.join(a) or 'nothing'} is given; {model.mechanism.name!r} has {model.dof} "
            "freedoms, so give as many accelerations, or all of them as an array"
        )
    wanted = np.array([one(x, f"inverse_dynamics: a of {n!r}", StateError) for n, x in a.items()])[known.order]
    found = accelerations(model, known, np.asarray(q, dtype=float), np.asarray(v, dtype=float), wanted, p)
    check_accelerations(model, q, v, found, p)
    return found


def numeric(model: "Kinetics", q, v, tau, p=None, least: float = RANK) -> np.ndarray:
    """vdot of one state by the dense solve.

    least: the least singular value of J relative to the largest. Runs end at singular poses, and their last rows are
    computed as far as rounding allows.
    """
    w, g = allowed(model, q, p, model.call("loop_bias", q, v, p=p), least)
    inertia, rest = model.mass_matrix(q, p=p), tau - model.generalized_forces(q, v, np.zeros(model.nv), p)
    reduced = times(w.T, times(inertia, w))
    sizes = eigh(reduced)[0] if len(reduced) else np.ones(1)
    if sizes[0] <= 1e-13 * sizes[-1]:
        raise Singular(
            f"{model.mechanism.name!r} can move without any inertia here, so its accelerations are not determined"
        )
    return times(w, solve(reduced, times(w.T, rest - times(inertia, g)))) + g


def allowed(model: "Kinetics", q, p=None, gamma=None, least: float = SINGULAR) -> tuple[np.ndarray, np.ndarray]:
    """W, as columns, and g."""
    w, back = spaces(model, q, p, model.closure(q, p=p)[1], least=least)
    return w, np.zeros(model.nv) if gamma is None else times(back, gamma)


def spaces(
    model: "Kinetics", q, p, rows: np.ndarray, held: int = 0, least: float = SINGULAR
) -> tuple[np.ndarray, np.ndarray]:
    """As columns, a basis of the motions allowed by the closure rows, and by `held` further rows that hold freedoms, at
    a state; and the pseudoinverse of the rows. Lengths are scaled by the mechanism's size.

    A branch with more freedoms than others has as many columns. Raises if J loses rank at this pose only, or along a
    branch whose motion it does not determine.
    """
    scale = model.equations.steps
    scaled = rows * scale
    sizes = factors(scaled).sizes
    free = model.dof if model.prepared.samples.refusal is None else freedom_beside(model, np.asarray(q, dtype=float), p)
    least = least if not held else RANK

    def full(rank: int) -> bool:
        return not rank or (rank <= len(sizes) and sizes[rank - 1] > least * sizes[0])

    if not full(model.nv - free + held):
        free = freedom_beside(model, np.asarray(q, dtype=float), p)
    rank = model.nv - free + held
    if not full(rank):
        if held:
            raise StateError("hold: some of these joints follow from the others, and cannot be held besides them")
        _, sizes, right = svd(scaled)
        moving = np.abs(right[min(rank - 1, int((sizes > least * sizes[0]).sum())) : rank]).max(axis=0)  # should not
        names = [t.joint.name for t in model.topology.tree if moving[t.v].max(initial=0.0) > 0.1 * moving.max()]
        raise Singular(_why_singular(model, np.asarray(q, dtype=float), p, free, ", ".join(names)))
    back = scale[:, None] * least_squares(scaled, np.eye(len(rows)), rank=rank)
    return scale[:, None] * null_space(scaled, rank), back


def _why_singular(model: "Kinetics", q: np.ndarray, p, free: int, names: str) -> str:
    if nullity_beside(model, q, p) > free:
        return (
            f"on this branch {model.mechanism.name!r} can shake: {names} yield to first order wherever it moves, and "
            "lead nowhere; its accelerations are not determined by the loops"
        )
    return (
        f"at this pose {model.mechanism.name!r} gains a freedom, of {names}: its accelerations are not determined by "
        "the loops"
    )


def multipliers(model: "Kinetics", q, v, tau, a, p) -> dict[str, np.ndarray]:
    """See `Model.multipliers`."""
    lam, at, found = all_multipliers(model, q, v, tau, a, p)[0], 0, {}
    for name, rows in model.topology.row_counts:
        found[name] = lam[..., at : at + rows]
        at += rows
    return found


def all_multipliers(model: "Kinetics", q, v, tau, a, p) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least lam with J^T lam = M vdot + h - tau, vdot, and the number of freedoms; of one state or many."""
    least = SINGULAR if a is None else RANK  # known accelerations, as in rows of a run, may be nearly singular
    if a is None:
        if model.topology.constrained:
            check_closed(model, q, v, p)
            a = forward(model, q, v, tau, p, check=False)
        else:
            a = model.call("forward_dynamics", q, v, tau, p=p)
    needed = model.call("generalized_forces", q, v, a, p=p) - tau  # rows of runs may contain NaN
    count = needed.shape[:-1]
    lam, freedom = np.zeros((*count, model.equations.sizes["lam"])), np.full(count, model.nv)
    if not model.topology.constrained:
        return lam, a, freedom
    jacobian = model.closure(q, p=p)[1]
    for row in np.ndindex(count):
        state, own = (q, p) if not count else (row_of(q, row[0]), row_of(p, row[0]))
        if not np.isfinite(needed[row]).all():
            lam[row], freedom[row] = np.nan, model.dof
            continue
        w, back = spaces(model, state, own, jacobian[row], least=least)
        lam[row], freedom[row] = times(back.T, needed[row]), w.shape[1]
    return lam, a, freedom


def check_closed(model: "Kinetics", q, v, p=None, waivable: bool = False) -> None:
    """Raises if loops are open, or opening; waivable: if the caller takes check=False."""
    if not model.in_blocks:
        opening = model.call("opening", q, v, p=p)
        if (float(opening) if opening.ndim == 0 else opening.max(initial=0.0)) <= OPEN:
            return
    waived = ", check=False goes on as it is" if waivable else ""
    phi, slip = (np.abs(x) for x in (model.call("residual", q, p=p), model.call("loop_slip", q, v, p=p)))
    # A NaN in one state of many must not hide open loops in the others.
    phi, slip = np.nan_to_num(phi, posinf=np.inf), np.nan_to_num(slip, posinf=np.inf)
    if phi.max(initial=0.0) > OPEN:
        name, size, unit = _loop_of(model, phi)
        raise NotClosed(f"{name} is open by {phi.max() * size:.3g} {unit}; assemble(...) closes it{waived}")
    fastest = _fastest(model, v)  # per state: others say nothing about its loops
    slip = np.where(slip > OPEN * fastest, slip, 0.0)
    if slip.any():
        raise NotClosed(
            f"with these velocities {_loop_of(model, slip)[0]} opens at {slip.max():.3g} per second; "
            f"assemble(..., rates=...) gives velocities that keep it closed{waived}"
        )


def _fastest(model: "Kinetics", v) -> np.ndarray:
    """Speed of the fastest joint, in radians or sizes of the mechanism per second, or one of these per natural time."""
    rates = np.abs(np.asarray(v, dtype=float) / model.equations.steps)
    return rates.max(axis=-1, keepdims=True, initial=1.0 / model.equations.scale.time)


def check_accelerations(model: "Kinetics", q, v, a, p) -> None:
    """Raises if accelerations open loops."""
    off = dot(model.closure(q, p=p)[1], np.asarray(a, dtype=float)[..., None, :]) - model.loop_bias(q, v, p=p)
    rate = 1.0 / model.equations.scale.time
    strongest = np.abs(np.asarray(a, dtype=float) / model.equations.steps).max(initial=rate * rate)
    if np.abs(off).max(initial=0.0) > OPEN * strongest:
        raise NotClosed(
            f"these accelerations open {_loop_of(model, np.abs(off))[0]}: give those of as many joints as are free "
            "by name, and the others follow"
        )


def _loop_of(model: "Kinetics", sizes: np.ndarray) -> tuple[str, float, str]:
    """The loop or coupling with the largest entry, and of which state if there are many; the divisor of its residual,
    and its unit."""
    state, worst = divmod(int(sizes.argmax()), sizes.shape[-1])
    where, at = f" of state {state}" if sizes.ndim > 1 else "", 0
    for loop in model.topology.loops:
        at += loop.joint.rows
        if worst < at:
            return f"loop {' - '.join(loop.around)}{where}", model.equations.closure_size, "m"
    coupling = model.topology.couplings[worst - at].coupling
    return f"coupling {coupling.name}{where}", 1.0, coupling.unit


def row_of(x, row: int) -> Any:
    """One row of many states, or a value that all share."""
    return x if x is None or np.ndim(x) == 1 else np.asarray(x)[row]
