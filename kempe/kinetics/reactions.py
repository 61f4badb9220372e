"""Reactions: what joints exert at a state or along a run, each marked unique or not.

Redundant constraints can be stressed against each other without any motion. Of all possible sets of reactions the least
is taken, comparing moments with forces times the mechanism's size: it does not depend on which joints were cut. A
direction involved in such a stress is reported as not unique.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.kinetics.closed import all_multipliers, row_of
from kempe.loops.constraints import NAMES, constraints, held_axes, held_together

if TYPE_CHECKING:
    from kempe.kinetics.kinetics import Kinetics

STRESSED = 1e-6  # entry of a unit stress above which a reaction is not unique


@dataclass(frozen=True, eq=False)
class Reactions(Mapping[str, np.ndarray]):
    """[moment; force] of every joint on its second body, at marker b in its axes: `reactions["C"]`, (6,) or (n, 6).

    undetermined: for every joint the directions in its own axes ("along z") in which its reaction is not unique; there,
    the least set is given.
    """

    wrenches: Mapping[str, np.ndarray]
    undetermined: Mapping[str, tuple[str, ...]]

    @property
    def unique(self) -> dict[str, bool]:
        """Whether a joint's reaction is determined in all directions."""
        return {name: not directions for name, directions in self.undetermined.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        return self.wrenches[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.wrenches)

    def __len__(self) -> int:
        return len(self.wrenches)

    def __str__(self) -> str:
        lines = []
        for name, wrench in self.wrenches.items():
            if wrench.ndim == 1:
                moment, force = (", ".join(f"{x:.4g}" for x in part) for part in (wrench[:3], wrench[3:]))
                lines.append(f"{name}: moment ({moment}) N m, force ({force}) N")
            else:
                lines.append(f"{name}: {len(wrench)} states")
            if self.undetermined[name]:
                lines[-1] += f"; the least of many {', '.join(self.undetermined[name])}"
        return "\n".join(lines)


def reactions(model: "Kinetics", q, v, tau, a, p) -> Reactions:
    """See `Model.reactions`; tau along all freedoms."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    lam, a, freedom = all_multipliers(model, q, v, tau, a, p)
    found = model.call("joint_wrenches", q, v, a, lam, p=p)
    names, single = model.joint_names, q.ndim == 1
    rows, states = (found[None], q[None]) if single else (found, q)
    loose: dict[str, set[int]] = {name: set() for name in names}
    tied = np.atleast_2d(lam)[:, lam.shape[-1] - len(model.topology.couplings) :]
    if lam.shape[-1]:
        rows = rows.copy()
        for k, (wrenches, state, free) in enumerate(zip(rows, states, np.atleast_1d(freedom).tolist(), strict=True)):
            if lam.shape[-1] > model.nv - free:  # some closure rows are redundant
                for name, direction in _least(model, state, wrenches, tied[k], names, free, row_of(p, k)):
                    loose[name].add(direction)
    known = {joint.name for joint in model.mechanism.joints}
    wrenches = {name: rows[0, k] if single else rows[:, k] for k, name in enumerate(names) if name in known}
    return Reactions(wrenches, {name: tuple(NAMES[k] for k in sorted(loose[name])) for name in wrenches})


def _least(
    model: "Kinetics", q: np.ndarray, wrenches: np.ndarray, tied: np.ndarray, names: tuple[str, ...], freedom: int, p
) -> set[tuple[str, int]]:
    """Removes all self-stress from the reactions of a state, in place; returns the stressed joints and directions.
    tied: multipliers of couplings."""
    matrix, _ = constraints(model, q, p=p)
    stresses = np.linalg.svd(matrix)[0][:, matrix.shape[1] - freedom :]
    size, directions = model.equations.closure_size, held_axes(model, q, p=p)
    couplings = held_together(model, q, p)
    along = [wrenches[names.index(d.joint.name)] @ d.seen(size) for d in directions]
    along += [each.size * x for each, x in zip(couplings, tied, strict=True)]
    excess = stresses @ (stresses.T @ np.array(along))
    touched = set()
    for each, amount in zip(couplings, excess[len(directions) :], strict=True):
        for name, exerted in each.exerted():
            wrenches[names.index(name)] -= amount * exerted
    for d, amount, row in zip(directions, excess, stresses, strict=False):
        wrenches[names.index(d.joint.name)] -= amount * d.exerted(size)
        if np.abs(row).max(initial=0.0) > STRESSED:
            touched.add((d.joint.name, d.direction))
    return touched
