"""J by its entries: the same steps, motions and ranks as dense algebra has, which shares no code with it."""

import numpy as np
import pytest

from kempe.loops.matrices import Entries, allowed, damped, least, of_columns, part, rank_of, row_norms, stacked, tied


def sample(seed: int, rows: int = 40, columns: int = 30) -> Entries:
    """A band of numbers, with rows that vanish and rows that repeat others."""
    rng = np.random.default_rng(seed)
    full = np.where(np.abs(np.arange(rows)[:, None] * columns / rows - np.arange(columns)) < 3, 1.0, 0.0)
    full *= rng.normal(size=full.shape)
    full[::7] = 0.0
    full[5] = 2.0 * full[4]
    places = np.nonzero(full)
    return Entries(*places, full[places], full.shape)


@pytest.mark.parametrize("damping", [1e-6, 1e-3, 1.0, 1e4])
def test_damped_steps(damping):
    matrix, right = sample(1), np.random.default_rng(2).normal(size=40)
    full = matrix.dense()
    meant = np.linalg.solve(full.T @ full + damping**2 * np.eye(30), full.T @ right)
    np.testing.assert_allclose(damped(matrix, right, damping), meant, rtol=1e-7, atol=1e-9 * np.abs(meant).max())
    np.testing.assert_allclose(damped(full, right, damping), meant, rtol=1e-7, atol=1e-9 * np.abs(meant).max())


def test_the_least_motion_of_those_that_fit():
    matrix = sample(3, 25, 30)
    right = matrix @ np.random.default_rng(4).normal(size=30)
    meant = np.linalg.pinv(matrix.dense(), rcond=1e-12) @ right
    np.testing.assert_allclose(least(matrix, right), meant, atol=1e-11 * np.abs(meant).max())
    np.testing.assert_allclose(least(matrix.dense(), right), meant, atol=1e-11 * np.abs(meant).max())


@pytest.mark.parametrize("small", [1e-6, 1e-4, 1e-2])
def test_ranks_by_inertia_are_those_of_singular_values(small):
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (25, 20))
    sizes = np.array([1.0] * 9 + [1e-3] * 4 + [1e-5] * 3 + [0.0] * 4)
    full = left[:, :20] * sizes @ right
    places = np.nonzero(np.ones(full.shape))
    found = Entries(*places, full.ravel(), full.shape)
    # A bound of the largest singular value is at most the root of rows times columns above it.
    counted = int((sizes > small).sum())
    assert rank_of(full, small) == counted
    assert int((sizes > small * np.sqrt(25 * 20)).sum()) <= rank_of(found, small) <= counted
    assert rank_of(found, 1e-7) == np.linalg.matrix_rank(full, tol=1e-7) == 16
    assert rank_of(Entries(*places, 1e-16 * full.ravel(), full.shape), 1e-6) == 0  # rounding has none


def test_parts_sums_and_products():
    matrix, x = sample(6), np.random.default_rng(7).normal(size=30)
    full, free, groups = matrix.dense(), np.arange(30) % 3 > 0, np.arange(30) % 4
    np.testing.assert_allclose(matrix @ x, full @ x, atol=1e-14)
    np.testing.assert_array_equal(of_columns(matrix, free).dense(), full[:, free])
    np.testing.assert_array_equal(stacked(matrix, [np.eye(30)[3:5]]).dense(), np.vstack([full, np.eye(30)[3:5]]))
    rows, columns = [7, 3, 21], [5, 2, 14, 0]
    np.testing.assert_array_equal(part(matrix, rows, columns), full[np.ix_(rows, columns)])
    np.testing.assert_array_equal(part(full, rows, columns), full[np.ix_(rows, columns)])
    np.testing.assert_allclose(row_norms(matrix, x), np.linalg.norm(full * x, axis=1), atol=1e-14)
    for each in (matrix, full):
        np.testing.assert_allclose(tied(each, groups), full @ np.eye(4)[groups], atol=1e-14)


def test_motions_that_rows_allow():
    full = sample(8, 20, 30).dense()
    motions = allowed(full, np.linalg.matrix_rank(full))
    assert motions.shape == (30, 30 - np.linalg.matrix_rank(full))
    np.testing.assert_allclose(full @ motions, 0.0, atol=1e-13)
    np.testing.assert_allclose(motions.T @ motions, np.eye(motions.shape[1]), atol=1e-13)
