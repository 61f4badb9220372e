"""Scales: the sizes that pivots are measured by, fixed before a run, since the entries may all vanish together."""

from dataclasses import replace

import numpy as np

from kempe.analyze.choosing import pivots_at, scales_of
from kempe.analyze.closed import allowed
from kempe.dynamics.multipliers import WAYS
from kempe.dynamics.partition import Choice
from kempe.model.model import Model

SAMPLES = 16  # states at which the scale of the pivots is measured
REGULAR = 1e-6  # least singular value of the loops' rows, beside the largest, of states at which inertias are measured


def scales(
    model: Model,
    p: np.ndarray,
    choice: Choice | None = None,
    q: np.ndarray | None = None,
    pivots: np.ndarray | None = None,
) -> np.ndarray:
    """c: what makes each pivot a number of order one, then the inertia of each freedom with limits against a stop.

    For loops, the signs are those that their pivots have at q (given, where they are known already): a pivot that
    changes its sign has passed zero.
    """
    if not model.topology.constrained:
        return _tree_scales(model, p)
    known = model.compiled.setdefault("closed scales", {})
    if choice not in known:
        known[choice] = 1.0 / _pivots(model, choice, q)
    rows = np.ones(model.nv - model.dof)
    if model.formulation == "denoc":
        rows = np.array(model.leg_scales)
    elif choice is not None:
        if pivots is None:
            pivots = np.ones(len(rows)) if q is None else pivots_at(model, choice, q, p if model.p_names else None)
        signs = np.where(pivots < 0, -1.0, 1.0)
        rows = signs * np.array(choice.scales)
    return np.concatenate([rows, known[choice], _stop_inertias(model)])


def dense_scales(model: Model) -> np.ndarray:
    """Of rows and columns of the loops' equations, for the dense way."""
    found = scales_of(model)
    return np.concatenate([1.0 / found.rows, found.columns])


def weakest(model: Model, q: np.ndarray, p: np.ndarray) -> str:
    """The freedom whose pivot is the least beside its scale."""
    if model.topology.constrained:
        w, _ = allowed(model, q)
        _, directions = np.linalg.eigh(w.T @ model.mass_matrix(q, p=p if model.p_names else None) @ w)
        return model.v_names[int(np.abs(w @ directions[:, 0]).argmax())]
    pivots = np.abs(model.pivots(q, p=p if model.p_names else None))
    return model.v_names[int((pivots * scales(model, p)[: model.nv]).argmin())]


def _tree_scales(model: Model, p: np.ndarray) -> np.ndarray:
    known = model.compiled.setdefault("scales", {})
    if p.tobytes() not in known:
        known.clear()  # those of the last parameters only
        parameters, samples = p if model.p_names else None, _samples(model)
        own = _largest(model.pivots(samples, p=parameters))
        recursive = own if model.formulation == "udu" else _largest(_recursive(model).pivots(samples, p=parameters))
        # Against a stop, with everything nearer to the ground held: the pivot of the UDU^T factorization.
        known[p.tobytes()] = np.concatenate([1.0 / own, recursive[model.limited]])
    return known[p.tobytes()]


def _recursive(model: Model) -> Model:
    if "recursive" not in model.compiled:
        model.compiled["recursive"] = Model(replace(model.equations, formulation="udu"), model.mechanism)
    return model.compiled["recursive"]


def _samples(model: Model) -> np.ndarray:
    if "samples" not in model.compiled:
        states = [model.neutral(), *(model.random_state(seed).q for seed in range(SAMPLES - 1))]
        model.compiled["samples"] = np.array(states)
    return model.compiled["samples"]


def _largest(pivots: np.ndarray) -> np.ndarray:
    found = np.abs(pivots).max(axis=0, initial=0.0)
    return np.where(found > 0, found, 1.0)


def _reduced_inertias(model: Model) -> list[tuple[np.ndarray, np.ndarray]]:
    """W and W^T M W at sampled assembled states that are not singular."""
    if "reduced inertias" not in model.compiled:
        found = []
        for q in scales_of(model).samples:
            regular, w, inertia = _reduced_inertia(model, q)
            if regular:
                found.append((w, inertia))
        model.compiled["reduced inertias"] = found
    return model.compiled["reduced inertias"]


def _reduced_inertia(model: Model, q: np.ndarray) -> tuple[bool, np.ndarray, np.ndarray]:
    """Whether a state is regular, W and W^T M W there."""
    columns, rank = scales_of(model).columns, model.nv - model.dof
    jacobian = model.loop_rows(q) * columns
    _, sizes, right = np.linalg.svd(jacobian[jacobian.any(axis=1)])  # rows that vanish would only take time
    w = columns[:, None] * right[rank:].T
    inertia = w.T @ model.mass_matrix(q, p=model.p if model.p_names else None) @ w
    regular = not rank or (rank <= len(sizes) and sizes[rank - 1] > REGULAR * sizes[0])
    return regular, w, inertia


def _pivots(model: Model, choice: Choice | None, q: np.ndarray | None) -> np.ndarray:
    """The usual sizes of what the equations of motion divide by, beside the loops' own."""
    rows = model.nv - model.dof
    if choice is None:
        return np.ones(model.pivot_count - rows)
    if model.formulation == "sslm":  # its pivots are those of the tree alone
        return _largest(_recursive(model).pivots(scales_of(model).samples))
    if model.formulation in WAYS:
        # One by one: so few states are not worth compiling vector code for.
        return _largest(np.array([model.pivots(q)[rows:] for q in scales_of(model).samples]))
    return _typical(model, choice, q)


def _typical(model: Model, choice: Choice, q: np.ndarray | None) -> np.ndarray:
    """The usual size of the pivots of A: the inertia along each generalized velocity, the others free or held; that at
    q, where all sampled states are singular."""
    sizes, found = [], _reduced_inertias(model)
    for w, inertia in found or ([] if q is None else [_reduced_inertia(model, q)[1:]]):
        own = w[list(choice.independent)]
        if len(own) and np.linalg.cond(own) < 1e6:
            change = np.linalg.inv(own)
            sizes.append(np.diagonal(change.T @ inertia @ change))
    found = np.median(sizes, axis=0) if sizes else np.ones(len(choice.independent))
    return np.where(found > 0, found, 1.0)


def _stop_inertias(model: Model) -> np.ndarray:
    """The largest inertia that a freedom with limits has, everything else free."""
    if "stop inertias" in model.compiled:
        return model.compiled["stop inertias"]
    found = np.zeros(len(model.limited))
    for w, inertia in _reduced_inertias(model) if len(found) else ():
        rows = w[model.limited]
        compliance = np.einsum("ki,ki->k", rows, np.linalg.solve(inertia, rows.T).T) if len(inertia) else found
        found = np.maximum(found, np.where(compliance > 0, 1.0 / np.maximum(compliance, 1e-300), 0.0))
    model.compiled["stop inertias"] = np.where(found > 0, found, 1.0)
    return model.compiled["stop inertias"]
