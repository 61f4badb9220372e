"""Moves, inertias and quaternions against plain matrices; each also over symbols."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kempe.spatial import moves as mv
from kempe.spatial import quaternions
from kempe.spatial.inertia import ArticulatedInertia, RigidInertia
from kempe.spatial.vectors import array, from_sx, gyroscopic, skew, swing, to_sx
from tests.mechanisms import random_rotation, random_tensor

seeds = st.integers(0, 10**6)

SPECIAL = [
    np.eye(3),
    np.diag([1.0, -1, -1]),
    np.diag([-1.0, 1, -1]),
    np.diag([-1.0, -1, 1]),
    np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]]),
    np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
]


def matrices(steps):
    """Twist and wrench transformations as 6 x 6 matrices, made from one pose."""
    r, p = mv.relative_pose(steps)
    x = np.block([[r.T, np.zeros((3, 3))], [-r.T @ skew(p), r.T]])
    return r, p, x


@pytest.mark.parametrize("r", SPECIAL, ids=range(len(SPECIAL)))
def test_special_rotations_taken_apart(r):
    steps = mv.turns_of(r)
    assert len(steps) <= 3
    np.testing.assert_allclose(mv.relative_pose(steps)[0], r, atol=1e-15)


@given(seeds)
def test_rotations_taken_apart_and_put_together(seed):
    r = random_rotation(np.random.default_rng(seed))
    np.testing.assert_allclose(mv.relative_pose(mv.turns_of(r))[0], r, atol=2e-15)
    np.testing.assert_allclose(mv.relative_pose(mv.turns_of(small_turn(seed)))[0], small_turn(seed), atol=1e-16)


@given(seeds)
def test_rotations_that_are_nearly_about_z(seed):
    """Where z is tilted by little, the angles before and after the tilt are not well known, but the rotation is."""
    rng = np.random.default_rng(seed)
    about = [mv.Turn(2, np.cos(t), np.sin(t)).matrix() for t in rng.normal(size=2)]
    tilt = 10 ** rng.uniform(-12, -1)
    other = random_rotation(rng)
    r = other.T @ (other @ about[0] @ mv.Turn(0, np.cos(tilt), np.sin(tilt)).matrix() @ about[1])
    np.testing.assert_allclose(mv.relative_pose(mv.turns_of(r))[0], r, atol=2e-15)


def small_turn(seed):
    """A turn of about 1e-8 about one axis, whose cosine is 1 to the last bit."""
    return mv.Turn(seed % 3, 1.0, 1e-8 * (1 + seed % 7)).matrix()


def random_moves(rng):
    shift = [mv.Shift(rng.normal(size=3)) for _ in range(2)]
    turn = mv.Turn(int(rng.integers(3)), *(lambda t: (np.cos(t), np.sin(t)))(rng.normal()))
    return shift[0], *mv.turns_of(random_rotation(rng)), turn, mv.Rotation(random_rotation(rng)), shift[1]


@given(seeds)
def test_moves_are_the_matrices_of_the_textbooks(seed):
    rng = np.random.default_rng(seed)
    steps = random_moves(rng)
    r, p, x = matrices(steps)
    twist, wrench = rng.normal(size=(2, 6))
    np.testing.assert_allclose(np.concatenate(mv.twist_along(steps, twist[:3], twist[3:])), x @ twist, atol=1e-12)
    np.testing.assert_allclose(np.concatenate(mv.wrench_back(steps, wrench[:3], wrench[3:])), x.T @ wrench, atol=1e-12)
    back_r, back_p = mv.relative_pose(mv.inverse(steps))
    np.testing.assert_allclose(back_r, r.T, atol=1e-14)
    np.testing.assert_allclose(back_p, -r.T @ p, atol=1e-13)


@given(seeds)
def test_accelerations_of_points_of_one_body(seed):
    rng = np.random.default_rng(seed)
    steps = random_moves(rng)
    omega, alpha, a = rng.normal(size=(3, 3))
    r, p, _ = matrices(steps)
    new_alpha, new_a = mv.acceleration_along(steps, omega, alpha, a)
    np.testing.assert_allclose(new_alpha, r.T @ alpha, atol=1e-13)
    np.testing.assert_allclose(new_a, r.T @ (a + np.cross(alpha, p) + np.cross(omega, np.cross(omega, p))), atol=1e-11)


@given(seeds)
def test_inertias_move_as_congruences(seed):
    rng = np.random.default_rng(seed)
    steps = random_moves(rng)
    *_, x = matrices(steps)
    body = RigidInertia.at_com(1.7, rng.normal(size=3), random_tensor(rng, 1.7))

    def full(i):
        return np.block([[i.j, i.h], [i.h.T, i.m]])

    here = full(ArticulatedInertia.of(body))
    np.testing.assert_allclose(full(ArticulatedInertia.of(body.back(steps))), x.T @ here @ x, atol=1e-11)
    general = rng.normal(size=(6, 6))
    general = general @ general.T
    articulated = ArticulatedInertia(general[:3, :3], general[:3, 3:], general[3:, 3:])
    np.testing.assert_allclose(full(articulated.back(steps)), x.T @ general @ x, atol=1e-10)
    alpha, a = rng.normal(size=(2, 3))
    np.testing.assert_allclose(np.concatenate(body.wrench(alpha, a)), here @ np.concatenate([alpha, a]), atol=1e-12)


@given(seeds)
def test_products_of_spins(seed):
    rng = np.random.default_rng(seed)
    omega, r = rng.normal(size=(2, 3))
    tensor = random_tensor(rng, 2.0)
    alpha, a = rng.normal(size=(2, 3))
    np.testing.assert_allclose(
        swing(omega, alpha, r), np.cross(alpha, r) + np.cross(omega, np.cross(omega, r)), atol=1e-13
    )
    body = RigidInertia.at_com(1.7, r, tensor)
    parts = np.add(body.wrench(alpha, a), body.gyration(omega))
    np.testing.assert_allclose(body.motion_wrench(omega, alpha, a), parts, atol=1e-12)
    np.testing.assert_allclose(gyroscopic(tensor, omega), np.cross(omega, tensor @ omega), atol=1e-13)


@given(seeds)
def test_quaternion_steps(seed):
    rng = np.random.default_rng(seed)
    q, p = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 4)))
    np.testing.assert_allclose(
        quaternions.to_matrix(quaternions.product(p, q)),
        quaternions.to_matrix(p) @ quaternions.to_matrix(q),
        atol=1e-14,
    )
    turn = rng.normal(size=3)
    turn *= rng.uniform(0, 3) / np.linalg.norm(turn)
    np.testing.assert_allclose(quaternions.logarithm(quaternions.exponential(turn)), turn, atol=1e-13)
    h = 1e-6
    omega = rng.normal(size=3)
    moved = quaternions.product(q, quaternions.exponential(h * omega))
    np.testing.assert_allclose((moved - q) / h, quaternions.rate(q, omega), atol=1e-5)


def test_symbols_and_floats_give_the_same():
    rng = np.random.default_rng(1)
    steps = random_moves(rng)
    body = RigidInertia.at_com(1.7, rng.normal(size=3), random_tensor(rng, 1.7))
    symbols = [ca.SX.sym(n, 3) for n in ("omega", "alpha", "a")]
    values = rng.normal(size=(3, 3))

    def work(omega, alpha, a):
        n, f = body.wrench(*mv.acceleration_along(steps, omega, alpha, a))
        return np.concatenate(mv.wrench_back(steps, n, f))

    function = ca.Function("f", symbols, [to_sx(work(*map(from_sx, symbols)))])
    np.testing.assert_allclose(np.array(function(*values)).ravel(), work(*values), atol=1e-12)


def test_exact_zeros_stay_structural():
    x = ca.SX.sym("x")
    turned = mv.Turn(2, ca.cos(x), ca.sin(x)).back(array((0.0, 0.0, 1.0)))
    assert [float(e) for e in turned] == [0, 0, 1]
    assert to_sx(skew(array((x, 0.0, 0.0)))).nnz() == 2
