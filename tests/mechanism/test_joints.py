"""Every joint kind against finite differences of its own poses."""

import numpy as np
import pytest

import kempe as kp
from kempe.dynamics.tree import build
from kempe.errors import MechanismError
from kempe.mechanism.axes import alignment
from kempe.mechanism.joints import KINDS, Helical, Revolute, Universal
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.moves import relative_pose
from tests.mechanisms import random_joint, random_rotation

EACH = [Helical(0.7) if kind is Helical else kind() for kind in KINDS.values()]
kinds = pytest.mark.parametrize("kind", EACH, ids=lambda kind: kind.name)


def pose(kind, q):
    return relative_pose(kind.moves(kind.posture(q)))


def twist_between(start, end, h):
    """The twist, in the moving axes, that leads from one pose to a near one in time h."""
    (r0, p0), (r1, p1) = start, end
    spin = (r0.T @ r1 - r1.T @ r0) / (2 * h)
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0], *(r0.T @ (p1 - p0) / h)])


@kinds
def test_at_rest_the_frames_coincide(kind):
    r, p = pose(kind, kind.neutral())
    assert np.array_equal(r, np.eye(3))
    assert np.array_equal(p, np.zeros(3))


@kinds
def test_the_subspace_is_the_rate_of_the_pose(kind):
    rng = np.random.default_rng(0)
    h = 1e-6
    for _ in range(5):
        q, v = kind.random(rng), rng.normal(size=kind.nv)
        s = np.vstack(kind.subspace(kind.posture(q)))
        rates = kind.rates(q, v)
        start, end = pose(kind, q - h * rates), pose(kind, q + h * rates)
        middle = pose(kind, q)[0], start[1]
        moved = twist_between((middle[0], start[1]), (middle[0], end[1]), 2 * h)[3:]
        spun = twist_between(start, end, 2 * h)[:3]
        np.testing.assert_allclose(s @ v, [*spun, *moved], atol=1e-8)


@kinds
def test_the_bias_is_the_rate_of_the_subspace(kind):
    rng = np.random.default_rng(1)
    h = 1e-6
    for _ in range(5):
        q, v = kind.random(rng), rng.normal(size=kind.nv)
        rates = kind.rates(q, v)
        after, before = (np.vstack(kind.subspace(kind.posture(q + sign * h * rates))) for sign in (1, -1))
        np.testing.assert_allclose(
            np.concatenate(kind.bias(kind.posture(q), v)), (after - before) @ v / (2 * h), atol=1e-8
        )


@kinds
def test_the_complement_does_no_work(kind):
    rng = np.random.default_rng(2)
    p = kind.posture(kind.random(rng))
    s, t = np.vstack(kind.subspace(p)), kind.complement(p)
    assert s.shape == (6, kind.nv)
    assert t.shape == (6, 6 - kind.nv)
    np.testing.assert_allclose(t.T @ s, 0, atol=1e-15)
    if kind.nv:
        assert np.linalg.matrix_rank(np.hstack([s, t])) == 6


@kinds
def test_steps_on_the_manifold(kind):
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = kind.random(rng), rng.uniform(-1, 1, kind.nv)
        np.testing.assert_allclose(kind.difference(q, kind.integrate(q, v)), v, atol=1e-12)
        h = 1e-7
        np.testing.assert_allclose((kind.integrate(q, h * v) - q) / h, kind.rates(q, v), atol=1e-6)


@kinds
def test_a_constant_twist_is_integrated_exactly(kind):
    """For spherical and free joints: many small steps of the rate end where one large step does."""
    rng = np.random.default_rng(4)
    q, v = kind.random(rng), rng.normal(size=kind.nv) * 0.5
    end = kind.integrate(q, v)
    n = 400
    x = q
    for _ in range(n):  # Runge-Kutta's method on dq/dt
        k1 = kind.rates(x, v)
        k2 = kind.rates(x + k1 / (2 * n), v)
        k3 = kind.rates(x + k2 / (2 * n), v)
        k4 = kind.rates(x + k3 / n, v)
        x = x + (k1 + 2 * k2 + 2 * k3 + k4) / (6 * n)
    np.testing.assert_allclose(x, end, atol=1e-10)


@pytest.mark.parametrize(
    "axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (0.3, -0.2, -0.9), (1, 2, 3), (1e-9, 0, -1)]
)
def test_the_canonical_axis_is_put_along_the_given_one(axis):
    r = alignment(Revolute, (np.array(axis, float),))
    np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(r) == pytest.approx(1)
    np.testing.assert_allclose(r[:, 2], np.array(axis) / np.linalg.norm(axis), atol=1e-14)


def test_universal_axes():
    r = alignment(Universal, (np.array([0, 0, 2.0]), np.array([3.0, 0, 0])))
    np.testing.assert_allclose(r[:, :2], [[0, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_joint_written_backwards_is_the_same_joint(kind):
    """q turns b relative to a however the tree runs: with a on the moving body, the pose is the inverse."""
    rng = np.random.default_rng(5)
    for trial in range(4):
        m = Mechanism("one", gravity=(1, 2, 3))
        body = m.body("body", 1.3, (0.1, 0.2, 0.3), (1, 1.2, 1.4))
        on_ground = m.ground.at(*rng.normal(size=3), rotation=random_rotation(rng))
        on_body = body.at(*rng.normal(size=3), rotation=random_rotation(rng))
        joint = random_joint(m, np.random.default_rng(trial), "joint", kind, on_body, on_ground, passive=False)
        (link,) = build(m.topology()).links
        assert link.reversed
        q, v = link.kind.random(rng), rng.normal(size=link.kind.nv)
        r, p = relative_pose(link.moves(link.posture(q)))
        frame = joint.frame(on_ground, m.parameters.__getitem__)
        inside = relative_pose((*frame, *link.kind.moves(link.kind.posture(q)))[: len(frame)])
        own_r, own_p = pose(link.kind, q)
        np.testing.assert_allclose(r, inside[0] @ own_r.T, atol=1e-12)
        np.testing.assert_allclose(p, inside[1] - r @ own_p, atol=1e-12)
        # The rates of that pose are what the link's subspace says.
        h = 1e-6
        rates = link.kind.rates(q, v)
        start, end = (relative_pose(link.moves(link.posture(q + sign * h * rates))) for sign in (-1, 1))
        spun = twist_between(start, end, 2 * h)[:3]
        moved = r.T @ (end[1] - start[1]) / (2 * h)
        np.testing.assert_allclose(np.vstack(link.subspace(link.posture(q))) @ v, [*spun, *moved], atol=1e-7)
        after, before = (np.vstack(link.subspace(link.posture(q + sign * h * rates))) for sign in (1, -1))
        bias = np.concatenate(link.bias(link.posture(q), v))
        np.testing.assert_allclose(bias, (after - before) @ v / (2 * h), atol=1e-7)


def test_an_option_that_there_is_not_is_named_with_those_there_are():
    m = kp.Mechanism("pendulum")
    rod = m.rod("rod", length=0.5, mass=1.0)
    with pytest.raises(MechanismError, match="joint 'A': there is no option motor; there are actuated, limits"):
        m.revolute("A", m.ground.at(0, 0), rod.start, motor=True)
