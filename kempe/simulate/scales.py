"""Scales: reference sizes of pivots, fixed before a run, since all entries may vanish together."""

import numpy as np

from kempe.arithmetic.least import factors, solve
from kempe.arithmetic.singular import eigh
from kempe.arithmetic.sums import dot, norm, times
from kempe.dynamics.generalized import Choice
from kempe.dynamics.trees import Udu
from kempe.kinetics.closed import allowed
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.assembly import CLOSED, NEARLY
from kempe.loops.choosing import pivots_at
from kempe.loops.freedom import anywhere
from kempe.loops.kinematics import settle
from kempe.simulate.memo import memo

SAMPLES = 16  # states at which the scale of the pivots is measured
SOLVABLE = 1e-6  # least relative size of velocities that determine the others
REGULAR = 1e-6  # least relative singular value of the closure rows at states where inertias are measured


def scales(
    model: Kinetics,
    p: np.ndarray,
    choice: Choice | None = None,
    q: np.ndarray | None = None,
    pivots: np.ndarray | None = None,
) -> np.ndarray:
    """c: factors that make each pivot of order one, then the inertia of each freedom with limits against a stop.

    For loops, the signs are those of their pivots at q (given, if they are known already): a pivot that changes sign
    has passed zero.
    """
    if not model.topology.constrained:
        return _tree_scales(model, p)
    known = memo(model).closed_scales
    own = known.get(choice)
    if own is None:
        own = 1.0 / _pivots(model, choice, q)
        if _reduced_inertias(model):  # otherwise that of q
            known[choice] = own
    rows = np.ones(model.nv - model.dof)
    if choice is not None and (fixed := model.chosen.used.pivot_scales):
        rows = np.array(fixed)
    elif choice is not None:
        if pivots is None:
            pivots = np.ones(len(rows)) if q is None else pivots_at(model, choice, q, p if model.p_names else None)
        signs = np.where(pivots < 0, -1.0, 1.0)
        rows = signs * np.array(choice.scales)
    return np.concatenate([rows, own, _stop_inertias(model, p if model.p_names else None)])


def dense_scales(model: Kinetics) -> np.ndarray:
    """Scales of closure rows and columns, for the dense way."""
    found = model.prepared.atlas.chooser.scales
    return np.concatenate([1.0 / found.rows, found.columns])


def weakest(model: Kinetics, q: np.ndarray, p: np.ndarray) -> str:
    """The freedom with the least scaled pivot."""
    if model.topology.constrained:
        w, _ = allowed(model, q)
        _, directions = eigh(times(w.T, times(model.mass_matrix(q, p=p if model.p_names else None), w)))
        return model.v_names[int(np.abs(times(w, directions[:, 0])).argmax())]
    pivots = np.abs(model.pivots(q, p=p if model.p_names else None))
    return model.v_names[int((pivots * scales(model, p)[: model.nv]).argmin())]


def _tree_scales(model: Kinetics, p: np.ndarray) -> np.ndarray:
    known = memo(model).tree_scales
    if p.tobytes() not in known:
        known.clear()  # those of the last parameters only
        parameters, samples = p if model.p_names else None, _samples(model)
        own = _largest(model.pivots(samples, p=parameters))
        recursive = own if model.chosen.used.recursive else _largest(_recursive(model).pivots(samples, p=parameters))
        # Against a stop, with everything nearer to the ground held: the pivot of the UDU^T factorization.
        known[p.tobytes()] = np.concatenate([1.0 / own, recursive[model.limited]])
    return known[p.tobytes()]


def _recursive(model: Kinetics) -> Kinetics:
    known = memo(model)
    if known.recursive is None:
        known.recursive = model.with_equations(model.equations.by(Udu()))
    return known.recursive


def _samples(model: Kinetics) -> np.ndarray:
    known = memo(model)
    if known.tree_samples is None:
        known.tree_samples = np.array([model.neutral(), *(anywhere(model, seed) for seed in range(SAMPLES - 1))])
    return known.tree_samples


def _largest(pivots: np.ndarray) -> np.ndarray:
    found = np.abs(pivots).max(axis=0, initial=0.0)
    return np.where(found > 0, found, 1.0)


def _reduced_inertias(model: Kinetics) -> list[tuple[np.ndarray, np.ndarray]]:
    """W and W^T M W at sampled assembled states that are not singular."""
    known = memo(model)
    if known.reduced_inertias is None:
        known.reduced_inertias = _inertias_with(model, model.p if model.p_names else None)
    return known.reduced_inertias


def _inertias_with(model: Kinetics, p: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same with other parameters, at the closed states nearest to these; none if they cannot be closed there."""
    found, still = [], np.zeros(model.nv)
    for q in model.prepared.atlas.chooser.scales.samples:
        if np.abs(model.residual(q, p=p)).max(initial=0.0) > CLOSED:
            q, _ = settle(model, q, still, p)
        if np.abs(model.residual(q, p=p)).max(initial=0.0) <= NEARLY:
            regular, w, inertia = _reduced_inertia(model, q, p)
            if regular:
                found.append((w, inertia))
    return found


def _reduced_inertia(model: Kinetics, q: np.ndarray, p: np.ndarray | None) -> tuple[bool, np.ndarray, np.ndarray]:
    """Whether a state is regular, W and W^T M W there."""
    columns, rank = model.prepared.atlas.chooser.scales.columns, model.nv - model.dof
    jacobian = model.loop_rows(q, p=p) * columns
    found = factors(jacobian[jacobian.any(axis=1)].T, rank)  # vanishing rows would only take time
    sizes, w = found.sizes, columns[:, None] * found.turned_back(np.eye(model.nv)[:, rank:])
    inertia = times(w.T, times(model.mass_matrix(q, p=p), w))
    regular = not rank or (rank <= len(sizes) and sizes[rank - 1] > REGULAR * sizes[0])
    return regular, w, inertia


def _pivots(model: Kinetics, choice: Choice | None, q: np.ndarray | None) -> np.ndarray:
    """Typical sizes of the divisors of the equations of motion, next to the loops' own."""
    used = model.chosen.used
    rows, inertias = used.pivot_counts(model.nv, model.dof)
    if choice is None:
        return np.ones(model.pivot_count - (model.nv - model.dof))
    if used.recursive:  # its pivots are those of the tree alone
        return _largest(_recursive(model).pivots(model.prepared.atlas.chooser.scales.samples))
    if inertias == model.nv:
        # One by one: so few states are not worth compiling vector code.
        return _largest(np.array([model.pivots(q)[rows:] for q in model.prepared.atlas.chooser.scales.samples]))
    return _typical(model, choice, q)


def _typical(model: Kinetics, choice: Choice, q: np.ndarray | None) -> np.ndarray:
    """The typical size of the pivots of A: the inertia along each generalized velocity, the others free or held; that
    at q if all sampled states are singular."""
    sizes, found, own_p = [], _reduced_inertias(model), model.p if model.p_names else None
    for w, inertia in found or ([] if q is None else [_reduced_inertia(model, q, own_p)[1:]]):
        own = w[list(choice.independent)]
        if len(own) and factors(own).rank(SOLVABLE * norm(own.ravel())) == len(own):
            change = solve(own, np.eye(len(own)))
            sizes.append(dot(change, times(inertia, change), 0))
    found = np.median(sizes, axis=0) if sizes else np.ones(len(choice.independent))
    return np.where(found > 0, found, 1.0)


def _stop_inertias(model: Kinetics, p: np.ndarray | None) -> np.ndarray:
    """The median inertia over sampled states of a freedom with limits, everything else free: near a dead centre it is
    unbounded."""
    nothing = np.zeros(len(model.limited))
    if not len(nothing):
        return nothing
    known, key = memo(model).stop_inertias, None if p is None else p.tobytes()
    if key not in known:
        known.clear()  # those of the last parameters only
        each = []
        for w, inertia in _reduced_inertias(model) if key in (None, model.p.tobytes()) else _inertias_with(model, p):
            rows = w[model.limited]
            compliance = dot(rows, solve(inertia, rows.T).T) if len(inertia) else nothing
            each.append(np.where(compliance > 0, 1.0 / np.maximum(compliance, 1e-300), 0.0))
        found = np.median(each, axis=0) if each else nothing
        known[key] = np.where(found > 0, found, 1.0)
    return known[key]
