"""What makes programs shorter, each against something that has no part in it."""

import casadi as ca
import numpy as np
import pytest

from kempe.dynamics import kinematics, loops, recursions
from kempe.dynamics.level import LevelTree, level
from kempe.dynamics.regrouped import regrouped
from kempe.gallery.entries import ENTRIES
from kempe.spatial.vectors import from_sx, symbols, to_sx
from tests.mechanisms import arm

PLANE = ("four-bar", "slider-crank", "five-bar", "3-rrr")


def evaluated(symbols_, values, *results):
    function = ca.Function("f", [to_sx(s) for s in symbols_], [ca.densify(to_sx(r)) for r in results])
    return [np.array(x) for x in function.call([ca.DM(v) for v in values])]


@pytest.mark.parametrize("mechanism", [ENTRIES["3-rrr"].build(), arm(4)], ids=["3-rrr", "arm"])
def test_masses_at_joints_leave_the_equations_as_they_are(mechanism):
    """M by the second derivatives of the kinetic energy, and h by Lagrange's equations, of the tree as it was built."""
    tree = mechanism.compile().equations.constant_tree
    n = tree.topology.nv
    q, v = symbols("q", n), symbols("v", n)
    found = kinematics.frames(tree, q, v)
    kinetic = ca.SX(kinematics.kinetic_energy(tree, found, q, v))
    potential = ca.SX(kinematics.potential_energy(tree, found, q))
    by_v = ca.gradient(kinetic, to_sx(v))
    m = ca.jacobian(by_v, to_sx(v))
    h = ca.jtimes(by_v, to_sx(q), to_sx(v)) - ca.gradient(kinetic - potential, to_sx(q))
    moved = regrouped(tree)
    assert all(link.inertia.mass == 0 for link in moved.links)
    mine = recursions.crba(moved, q), recursions.rnea(moved, q, v, np.zeros(n))
    rng = np.random.default_rng(0)
    values = rng.uniform(-2, 2, (2, n))
    for theirs, ours in zip(
        evaluated((q, v), values, from_sx(m), from_sx(h)), evaluated((q, v), values, *mine), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())


@pytest.mark.parametrize("name", PLANE)
def test_rows_and_bias_in_world_axes_are_derivatives_of_the_residual(name):
    """At closed states: J by the derivatives of phi, and gamma by how fast J v changes."""
    model = ENTRIES[name].build().compile()
    tree, n = model.equations.constant_tree, model.nv
    q, v = symbols("q", n), symbols("v", n)
    plane = level(tree, q)
    assert isinstance(plane, LevelTree)
    found = kinematics.frames(plane, q, v)
    gamma = loops.bias(plane, found, loops.coasting(plane, q, v, np.zeros(3)), np.zeros(3), 2.0)
    phi = to_sx(loops.phi(tree, q, 2.0))
    rows = ca.jacobian(phi, to_sx(q))
    slip = rows @ to_sx(v)
    state = model.assemble(near=model.random_state(3))
    free = np.linalg.svd(model.closure(state.q)[1])[2][n - model.dof :].T
    values = state.q, free @ np.random.default_rng(1).normal(size=model.dof)
    wanted = evaluated((q, v), values, from_sx(rows), from_sx(-ca.jtimes(slip, to_sx(q), to_sx(v))))
    mine = evaluated((q, v), values, loops.jacobian(plane, q, found, 2.0), gamma)
    for theirs, ours in zip(wanted, mine, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)


def test_what_turns_in_space_is_left_in_its_own_axes():
    tree = ENTRIES["stewart"].build().compile().equations.constant_tree
    assert level(tree, symbols("q", tree.topology.nq)) is tree
