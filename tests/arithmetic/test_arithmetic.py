"""Fixed-order arithmetic against LAPACK and mpmath; that it does not depend on how matrices lie in memory."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kempe.arithmetic import angles
from kempe.arithmetic.least import damped, factors, least_squares, null_space, solve
from kempe.arithmetic.singular import eigh, svd
from kempe.arithmetic.sums import dot, norm, times, total

SIZES = st.integers(0, 9)


@st.composite
def matrices(draw):
    """A matrix of a known rank, and a generator for more numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, columns = draw(SIZES), draw(SIZES)
    rank = draw(st.integers(0, min(rows, columns)))
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns)), rank, rng


@given(matrices())
def test_products_and_sums(made):
    a, _, rng = made
    b = rng.normal(size=(a.shape[1], 4))
    assert np.allclose(times(a, b), a @ b, rtol=0, atol=1e-12)
    assert np.allclose(times(a, b[:, 0]), a @ b[:, 0], rtol=0, atol=1e-12)
    assert np.allclose(times(b[:, 0], a.T), b[:, 0] @ a.T, rtol=0, atol=1e-12)
    assert np.allclose(norm(a), np.linalg.norm(a, axis=-1), rtol=1e-14, atol=0)
    assert np.allclose(total(a, 0), a.sum(axis=0), rtol=0, atol=1e-13)
    many = rng.normal(size=(3, 2, 5)), rng.normal(size=(3, 5, 4))
    assert np.allclose(times(*many), many[0] @ many[1], rtol=0, atol=1e-13)
    assert np.array_equal(times(many[0][1], many[1][1]), times(*many)[1])


@given(matrices())
def test_bits_do_not_depend_on_the_layout(made):
    a, _, rng = made
    b = rng.normal(size=len(a))
    other = np.asfortranarray(a)
    assert np.array_equal(times(a.T, b), times(other.T, b))
    assert np.array_equal(total(a), total(other))
    assert np.array_equal(dot(a.T, b), dot(other.T, b))
    assert np.array_equal(least_squares(a, b), least_squares(other, b))
    assert all(np.array_equal(x, y) for x, y in zip(svd(a), svd(other), strict=True))


@given(matrices())
def test_least_squares_and_null_spaces(made):
    a, rank, rng = made
    b = rng.normal(size=len(a))
    x = least_squares(a, b, 1e-9)
    best = np.linalg.lstsq(a, b, rcond=1e-9)[0] if all(a.shape) else np.zeros(a.shape[1])
    assert np.allclose(a @ x, a @ best, rtol=0, atol=1e-8)
    assert norm(x) <= np.linalg.norm(best) * (1 + 1e-6)
    basis = null_space(a, rank)
    assert basis.shape == (a.shape[1], a.shape[1] - rank)
    assert np.allclose(a @ basis, 0, atol=1e-12)
    assert np.allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-13)
    found = damped(a, b, 0.3)
    exact = np.linalg.solve(a.T @ a + 0.09 * np.eye(a.shape[1]), a.T @ b)
    assert np.allclose(found, exact, rtol=1e-9, atol=1e-12)


@given(matrices())
def test_singular_values_and_vectors(made):
    a, rank, _ = made
    left, sizes, right = svd(a)
    assert np.allclose(sizes, np.linalg.svd(a, compute_uv=False), rtol=1e-12, atol=1e-13)
    assert np.allclose((left * sizes) @ right[: len(sizes)], a, rtol=0, atol=1e-12)
    assert np.allclose(right @ right.T, np.eye(a.shape[1]), rtol=0, atol=1e-12)
    assert np.allclose(left[:, :rank].T @ left[:, :rank], np.eye(rank), rtol=0, atol=1e-12)
    assert np.allclose(a @ right[rank:].T, 0, atol=1e-12)
    assert factors(a).rank(1e-9) == rank or min(np.linalg.svd(a, compute_uv=False)[:rank]) < 1e-6


@given(st.integers(0, 9), st.integers(0, 2**32))
def test_eigenvalues_and_inverses(size, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(size, size))
    symmetric = a + a.T
    values, vectors = eigh(symmetric)
    assert np.allclose(values, np.linalg.eigvalsh(symmetric), rtol=0, atol=1e-12)
    assert np.allclose(symmetric @ vectors, vectors * values, rtol=0, atol=1e-12)
    b = rng.normal(size=(size, 2))
    assert np.allclose(a @ solve(a, b), b, rtol=0, atol=1e-9 * (1 + np.abs(solve(a, b)).max(initial=0.0)))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines(name):
    for x in np.random.default_rng(0).uniform(-20, 20, 300):
        exact = getattr(mpmath, name)(mpmath.mpf(float(x)))
        assert abs(getattr(angles, name)(x) - exact) <= 4e-16


def test_angles():
    for y, x in np.random.default_rng(1).normal(size=(300, 2)):
        assert abs(angles.atan2(y, x) - math.atan2(y, x)) <= 9e-16
    for y, x in ((0.0, 0.0), (0.0, -1.0), (-0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 2.0)):
        assert angles.atan2(y, x) == math.atan2(y, x)
