"""Identities of physics and of algebra, on random trees with every joint kind, in both directions."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kempe.dynamics import kinematics, recursions
from kempe.dynamics.tree import build
from kempe.errors import StateError
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.solving import solve_symmetric
from tests.lagrange import lagrange
from tests.mechanisms import RATED, arm, random_tree

seeds = st.integers(0, 10**6)
sizes = st.integers(1, 7)


def random_state(tree, seed):
    rng = np.random.default_rng(seed)
    q = np.concatenate([np.zeros(0), *(link.kind.random(rng) for link in tree.links)])
    return q, *rng.normal(size=(3, tree.topology.nv))


def stepped(tree, q, step):
    """q moved along a velocity, on its manifold."""
    parts = [link.kind.integrate(q[at.q], step[at.v]) for link, at in zip(tree.links, tree.joints, strict=True)]
    return np.concatenate([np.zeros(0), *parts])


def energies(tree, q, v):
    found = kinematics.frames(tree, q, v)
    return kinematics.kinetic_energy(tree, found, q, v), kinematics.potential_energy(tree, found, q)


@given(seeds, sizes)
def test_forward_after_inverse_dynamics_gives_the_acceleration_back(seed, bodies):
    tree = build(random_tree(seed, bodies, passive=True, loads=True).topology())
    q, v, a, _ = random_state(tree, seed)
    external = kinematics.external_wrenches(tree, q, v)
    tau = recursions.rnea(tree, q, v, a, external)
    np.testing.assert_allclose(recursions.udu(tree, q, v, tau, external)[0], a, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(recursions.cholesky(tree, q, v, tau, external)[0], a, rtol=1e-7, atol=1e-7)


@given(seeds, sizes)
def test_mass_matrix_and_kinetic_energy(seed, bodies):
    tree = build(random_tree(seed, bodies, passive=True).topology())
    q, v, a, _ = random_state(tree, seed)
    gim = recursions.crba(tree, q)
    assert v @ gim @ v / 2 == pytest.approx(energies(tree, q, v)[0], rel=1e-10)
    bias = recursions.rnea(tree, q, v, np.zeros_like(a))
    np.testing.assert_allclose(gim @ a, recursions.rnea(tree, q, v, a) - bias, rtol=1e-8, atol=1e-8)


@given(seeds, sizes)
def test_power_is_the_rate_of_energy(seed, bodies):
    """Efforts do work; dampers, and forces from outside, are accounted for; springs are part of the energy."""
    tree = build(random_tree(seed, bodies, passive=True, loads=True).topology())
    q, v, a, _ = random_state(tree, seed)
    tau = recursions.rnea(tree, q, v, a, kinematics.external_wrenches(tree, q, v))
    h = 1e-5
    after, before = (sum(energies(tree, stepped(tree, q, s * h * v + h * h / 2 * a), v + s * h * a)) for s in (1, -1))
    damping = np.concatenate([np.zeros(0), *(link.damping for link in tree.links)])
    given_power = v @ (tau - damping * v) + outside_power(tree, q, v)
    assert (after - before) / (2 * h) == pytest.approx(given_power, rel=1e-5, abs=1e-4)


def outside_power(tree, q, v):
    """Of wrenches, and of the dampers in springs."""
    found = kinematics.frames(tree, q, v)
    total = 0.0
    for load in tree.loads:
        if hasattr(load, "force"):
            frame = kinematics.at_place(found, load.at)
            axes = np.eye(3) if load.follows else frame.rotation.T
            total += frame.omega @ (axes @ load.moment) + frame.velocity @ (axes @ load.force)
        else:
            a, b = kinematics.at_place(found, load.a), kinematics.at_place(found, load.b)
            span = b.position - a.position
            speed = span / np.linalg.norm(span) @ (b.rotation @ b.velocity - a.rotation @ a.velocity)
            total -= load.damping * speed**2
    return total


@given(seeds, sizes)
def test_twists_are_the_rates_of_poses(seed, bodies):
    tree = build(random_tree(seed, bodies).topology())
    q, v, *_ = random_state(tree, seed)
    h = 1e-6
    now, after, before = (kinematics.frames(tree, stepped(tree, q, s * h * v), v) for s in (0, 1, -1))
    for here, later, earlier in zip(now, after, before, strict=True):
        velocity = here.rotation.T @ (later.position - earlier.position) / (2 * h)
        spin = here.rotation.T @ (later.rotation - earlier.rotation) / (2 * h)
        np.testing.assert_allclose(velocity, here.velocity, atol=1e-6)
        np.testing.assert_allclose((spin[2, 1], spin[0, 2], spin[1, 0]), here.omega, atol=1e-6)


@given(seeds, st.integers(1, 5))
def test_momentum_of_a_free_system_changes_by_gravity_alone(seed, bodies):
    """Everything hangs on one floating body; joint efforts and inner springs cannot change its momentum."""
    m = Mechanism("floating", gravity=(0.3, -0.4, 0.5))
    base = m.body("base", 1.5, (0.1, 0.2, 0.3), (0.5, 0.6, 0.7))
    m.free("float", m.ground.at(), base.at())
    arm_ = random_tree(seed, bodies)
    rng = np.random.default_rng(seed)
    previous = base
    for k, other in enumerate(arm_.bodies):
        body = m.solid(f"arm{k}", other.parts[0].solid)
        m.spherical(f"ball{k}", previous.at(*rng.normal(size=3)), body.at(*rng.normal(size=3)))
        previous = body
    tree = build(m.topology())
    q, v, tau, _ = random_state(tree, seed)
    tau[:6] = 0
    vdot, _ = recursions.udu(tree, q, v, tau)
    h = 1e-5
    beside = [(stepped(tree, q, s * h * v + h * h / 2 * vdot), v + s * h * vdot) for s in (1, -1)]
    momenta = [kinematics.momentum(tree, kinematics.frames(tree, *state), *state) for state in beside]
    angular, linear = (np.array([momentum[i] for momentum in momenta]) for i in (0, 1))
    mass = sum(link.inertia.mass for link in tree.links)
    com = kinematics.center_of_mass(tree, kinematics.frames(tree, q, v), q)
    np.testing.assert_allclose((linear[0] - linear[1]) / (2 * h), mass * tree.gravity, atol=1e-4)
    np.testing.assert_allclose((angular[0] - angular[1]) / (2 * h), np.cross(com, mass * tree.gravity), atol=1e-4)


@given(seeds, st.integers(1, 4))
@settings(max_examples=25)
def test_lagranges_equations_are_the_same(seed, bodies):
    """Section 3 and Appendix B of paper 4: energies differentiated by CasADi against the recursions."""
    tree = build(random_tree(seed, bodies, kinds=RATED, passive=True).topology())
    q, v, a, _ = random_state(tree, seed)
    forces = np.array(lagrange(tree)(q, v, a)).ravel()
    np.testing.assert_allclose(forces, recursions.rnea(tree, q, v, a), rtol=1e-9, atol=1e-9)


def test_lagranges_equations_want_coordinates_whose_rates_are_velocities():
    with pytest.raises(StateError, match="its velocities are not the rates"):
        lagrange(build(random_tree(0, 1, kinds=("spherical",)).topology()))


def test_solving_small_symmetric_systems():
    rng = np.random.default_rng(0)
    for n in range(1, 7):
        a = rng.normal(size=(n, n))
        a = a @ a.T + n * np.eye(n)
        b = rng.normal(size=(n, 4))
        np.testing.assert_allclose(solve_symmetric(a, b), np.linalg.solve(a, b), atol=1e-12)


def test_given_phi_the_recursion_inverts_the_inertia_matrix():
    tree = build(arm(7).topology())
    q, phi, *_ = random_state(tree, 3)
    np.testing.assert_allclose(recursions.crba(tree, q) @ recursions.udu_solve(tree, q, phi), phi, atol=1e-9)


def test_symbols_and_floats_give_the_same():
    tree = build(random_tree(5, 5, passive=True, loads=True).topology())
    q, v, tau, _ = random_state(tree, 1)
    from kempe.spatial.vectors import from_sx, to_sx

    symbols = [ca.SX.sym(n, len(x)) for n, x in (("q", q), ("v", v), ("tau", tau))]
    arrays = [from_sx(x) for x in symbols]
    traced, _ = recursions.udu(tree, *arrays, kinematics.external_wrenches(tree, *arrays[:2]))
    numeric, _ = recursions.udu(tree, q, v, tau, kinematics.external_wrenches(tree, q, v))
    np.testing.assert_allclose(
        np.array(ca.Function("f", symbols, [to_sx(traced)])(q, v, tau)).ravel(), numeric, rtol=1e-9
    )
