"""Formulas of the papers, as printed and as they must be: what the theory pages and the errata say of them."""

import numpy as np
import pytest

from kempe.dynamics import kinematics, recursions
from kempe.dynamics.tree import Tree, build
from kempe.gallery.entries import ENTRIES
from kempe.papers.paper4.counting import CROSSINGS, CUBIC, TABLE_1
from kempe.spatial.moves import relative_pose
from kempe.spatial.vectors import skew
from tests.mechanisms import arm, random_tree

STEP = 1e-6


def carried(tree: Tree, q: np.ndarray) -> list[np.ndarray]:
    """X of every link: twists of its parent, at the link's frame and in its axes."""
    found = []
    for link, at in zip(tree.links, tree.joints, strict=True):
        rotation, position = relative_pose(link.moves(link.posture(q[at.q])))
        turn = np.array(rotation, dtype=float).T
        found.append(np.block([[turn, np.zeros((3, 3))], [-turn @ skew(np.array(position, dtype=float)), turn]]))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_inertia_matrix_is_the_product_of_its_factors(seed):
    """Paper 4, eqs. 30-35: M = U D U^T, U_ij = (X_ji S_i)^T U_j D_j^-1 for links j that link i carries."""
    tree = build(random_tree(seed, 7, passive=True).topology())
    rng = np.random.default_rng(seed)
    q = np.concatenate([link.kind.random(rng) for link in tree.links])
    found = recursions.factorized(tree, *recursions.resting(tree, q, np.zeros(tree.topology.nv)))
    moved, upper = carried(tree, q), np.eye(tree.topology.nv)
    middle = np.zeros_like(upper)
    for j, at in enumerate(tree.joints):
        middle[at.v, at.v] = recursions.pivot_matrix(tree.links[j], found.postures[j], found.carried[j])
        psi, way, i = found.k[j].reshape(-1, 6).T.astype(float), np.eye(6), j
        while tree.parents[i] >= 0:
            way, i = way @ moved[i], tree.parents[i]
            upper[tree.joints[i].v, at.v] = (way @ np.vstack(tree.links[i].subspace(found.postures[i]))).T @ psi
    np.testing.assert_allclose(upper @ middle @ upper.T, recursions.crba(tree, q).astype(float), rtol=0, atol=1e-12)


def complement(tree: Tree, q: np.ndarray) -> np.ndarray:
    """N: twists of all links' origins in world axes, a column for each joint."""
    columns = []
    for unit in np.eye(tree.topology.nv):
        columns.append(np.concatenate([kinematics.world_twist(x) for x in kinematics.frames(tree, q, unit)]))
    return np.array(columns, dtype=float).T


def test_phi_lacks_what_spins_take():
    """Paper 4, eq. 27 as printed has no gamma, which eq. 23 has: the wrenches omega x I omega and the like."""
    tree = build(arm(4).topology())
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 4))
    n = complement(tree, q)
    change = (complement(tree, q + STEP * v) - complement(tree, q - STEP * v)) @ v / (2 * STEP)
    printed, gamma, gravity = np.zeros((3, 24))
    for k, (link, frame) in enumerate(zip(tree.links, kinematics.frames(tree, q, v), strict=True)):
        turn, spin = frame.rotation.astype(float), (frame.rotation @ frame.omega).astype(float)
        tensor, lever = turn @ link.inertia.tensor @ turn.T, turn @ link.inertia.moment
        inertia = np.block([[tensor, skew(lever)], [-skew(lever), link.inertia.mass * np.eye(3)]]).astype(float)
        own = slice(6 * k, 6 * k + 6)
        printed[own] = inertia @ change[own]
        gamma[own] = [*np.cross(spin, tensor @ spin), *np.cross(spin, np.cross(spin, lever))]
        gravity[own] = inertia @ [0, 0, 0, *tree.gravity]
    wanted = recursions.rnea(tree, q, v, np.zeros(4)).astype(float)
    np.testing.assert_allclose(n.T @ (printed + gamma - gravity), wanted, atol=1e-7)
    assert np.abs(n.T @ gamma).max() > 0.1


def test_two_slips_of_appendix_b_cancel():
    """Paper 4, B.5: the rate of d omega / d thetad_j is not d omega / d theta_j, but omega x d omega / d thetad_j more;
    as much is missing from B.1b, since a hub's tensor turns with its link. B.6 is right."""
    tree = build(arm(4).topology())
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(2, 4))
    tensor = np.diag([1.0, 2.0, 3.0])  # of a hub on the last link, in its axes

    def spins(q):
        return complement(tree, q)[-6:-3]

    def energy(q):
        turn = kinematics.frames(tree, q, v)[-1].rotation.astype(float)
        return 0.5 * (spins(q) @ v) @ turn @ tensor @ turn.T @ (spins(q) @ v)

    rate = (spins(q + STEP * v) - spins(q - STEP * v)) / (2 * STEP)
    by_q = np.array([(spins(q + STEP * e) - spins(q - STEP * e)) @ v / (2 * STEP) for e in np.eye(4)]).T
    omega, turn = spins(q) @ v, kinematics.frames(tree, q, v)[-1].rotation.astype(float)
    np.testing.assert_allclose(rate - by_q, np.cross(omega, spins(q).T).T, atol=1e-8)
    assert np.abs(rate - by_q).max() > 0.1
    momentum = turn @ tensor @ turn.T @ omega
    wanted = np.array([energy(q + STEP * e) - energy(q - STEP * e) for e in np.eye(4)]) / (2 * STEP)
    np.testing.assert_allclose(rate.T @ momentum, wanted, atol=1e-7)  # what both slips leave
    assert np.abs(by_q.T @ momentum - wanted).max() > 0.1


def test_from_where_on_the_last_rows_of_table_1_win():
    """Paper 4: n* and n+ of Valasek and of Brandl are not those of the formulas beside them."""
    found = {}
    for name in CROSSINGS:
        wins = [[np.polyval(x, n) < np.polyval(y, n) for x, y in zip(TABLE_1[name], TABLE_1[CUBIC], strict=True)]
                for n in range(2, 60)]  # fmt: skip
        found[name] = tuple(2 + max(k for k, won in enumerate(wins) if not ok(won)) + 1 for ok in (lambda x: x[0], all))
    right = [name for name, pair in found.items() if pair == CROSSINGS[name]]
    assert right == ["Mohan & Saha (proposed)", "Saha [17]", "Featherstone [13]"]
    assert found["Valasek [15]"] == (13, 16)
    assert found["Brandle et al. [15]"] == (15, 18)


def test_composite_bodies_of_a_leg_give_way_in_its_passive_joints():
    """Paper 1, eqs. 27 and 28: M~_i of N_l^T M N_l is not the inertia of bodies i to m held rigid, but of these with
    what A~ of eq. 16e lets them do."""
    model = ENTRIES["five-bar"].build().compile("denoc")
    found = model.denoc(model.assemble({"left": 1.4, "right": 1.2}, near={"left elbow": -1.2, "right elbow": -2.6}).q)
    blocks, apart = found.n_l.T @ found.mass @ found.n_l, []
    for i in range(0, 6 * len(found.bodies) - 6, 6):
        own, after = np.s_[i : i + 6, i : i + 6], np.s_[i + 6 : i + 12, i + 6 : i + 12]
        if found.bodies[i // 6][0] == found.bodies[i // 6 + 1][0]:
            way = found.n_l[i + 6 : i + 12, i : i + 6]
            np.testing.assert_allclose(blocks[own], found.mass[own] + way.T @ blocks[after] @ way, atol=1e-12)
            rigid = np.eye(6)
            rigid[3:, :3] = -skew(found.points[i // 6 + 1] - found.points[i // 6])
            apart.append(np.abs(found.mass[own] + rigid.T @ blocks[after] @ rigid - blocks[own]).max())
    assert max(apart) > 0.1
