"""Formulations beside each other: where `denoc` applies, and multipliers as reactions of joints."""

from functools import cache
from itertools import islice

import numpy as np
import pytest

from kempe.dynamics.kinematics import at_place, frames
from kempe.dynamics.loops import loops, wrenches
from kempe.dynamics.multipliers import Augmented, Slm, Sslm
from kempe.errors import MechanismError
from kempe.gallery.entries import ENTRIES
from kempe.model.model import Model
from kempe.topology.legs import legs
from tests.direct import beside
from tests.dynamics.test_multipliers import CLOSED, fit, model_of, moving

ON_LEGS = (
    "four-bar", "five-bar", "slider-crank", "3-rrr", "stewart", "gough-stewart", "bricard", "sarrus", "wang-four-bar",
    "3-ruu",
)  # fmt: skip


@cache
def states(name: str, count: int = 1) -> tuple:
    """General closed states that move, and efforts along all freedoms."""
    model = model_of(name)
    found = (moving(model, seed) for seed in range(20))
    return tuple(islice((state for state in found if fit(model, state[0]) > 0.02), count))


def test_where_denoc_applies():
    """By the graph; that the numbers agree is in the agreement matrix."""

    def stands_on_legs(name: str) -> bool:
        try:
            return bool(legs(ENTRIES[name].build().topology()).legs)
        except MechanismError:
            return False

    assert {name for name in CLOSED if stands_on_legs(name)} == set(ON_LEGS)


def exerted(model: Model, q: np.ndarray) -> list[np.ndarray]:
    """For every loop, [moment; force] on the second body of the joint that closes it, at its marker and in the axes of
    that, for unit multipliers: a column for each of its rows."""
    tree = model.equations.constant_tree
    placed = frames(tree, q, np.zeros(model.nv))
    found = []
    for loop, joint in zip(loops(tree, placed), model.topology.loops, strict=True):
        rotation = at_place(placed, tree.place(joint.joint.b)).rotation
        rows = [[rotation.T @ part for part in pair] for pair in wrenches(loop, model.equations.closure_size)]
        found.append(np.array(rows, dtype=float).reshape(-1, 6).T)
    return found


@pytest.mark.parametrize("name", CLOSED)
def test_multipliers_are_the_reactions_of_cut_joints_where_these_are_unique(name):
    """Rows that are redundant can be stressed against each other: what such a stress exerts at a joint is left out of
    its reaction, all else is to agree."""
    model = model_of(name)
    ((q, v, _),) = states(name)
    tau = np.linspace(-3.0, 4.0, model.nu)
    reactions = beside(model).reactions(q, v, tau)
    rows = model.loop_rows(q)
    left, sizes, _ = np.linalg.svd(rows)
    stresses = left[:, int((sizes > 1e-9 * sizes[0]).sum()) :]
    assert stresses.shape[1] == model.redundancy
    for way in (Augmented(), Slm(), Sslm()):
        lam, at, seen = beside(model, way).call("row_multipliers", q, v, model.spread(tau)), 0, 0
        for loop, unit in zip(model.topology.loops, exerted(model, q), strict=True):
            own = slice(at, at + unit.shape[1])
            at = own.stop
            if loop.joint.name not in reactions:  # a body that was cut
                continue
            off = unit @ lam[own] - reactions[loop.joint.name]
            possible, strong, _ = np.linalg.svd(unit @ stresses[own]) if stresses.size else (np.eye(6), np.zeros(0), 0)
            sure = possible[:, int((strong > 1e-9).sum()) :]
            seen += sure.shape[1]
            assert np.abs(sure.T @ off).max() < 1e-8 * max(1.0, np.abs(lam).max()), (way, loop.joint.name)
            if reactions.unique[loop.joint.name]:
                assert sure.shape[1] == 6
        assert seen >= 2
