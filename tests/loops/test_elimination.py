"""Elimination by numbers: against SciPy's pivoted QR, determinants, and counting what a dense elimination touches."""

import numpy as np
import pytest
from scipy.linalg import qr

from kempe.loops.elimination import NOTHING, THRESHOLD, fill, independent_columns, order, pivots


def banded(seed: int, rows: int, columns: int, width: float = 2.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    near = np.abs(np.arange(rows)[:, None] * columns / rows - np.arange(columns)) < width
    return np.where(near, rng.normal(size=near.shape), 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_columns_are_those_that_a_qr_with_pivoting_takes(seed):
    matrix = banded(seed, 20, 24)
    found = independent_columns(matrix, 15)
    assert found.tolist() == sorted(qr(matrix, pivoting=True, mode="r")[1][:15])


def test_columns_end_where_nothing_is_left():
    matrix = banded(9, 12, 16)
    matrix[4:] = 0.0
    assert len(independent_columns(matrix, 10)) == 4


@pytest.mark.parametrize("seed", range(4))
def test_pivots_in_their_order_make_up_the_determinant(seed):
    matrix = banded(seed, 18, 18)
    rows, columns = order(matrix)
    assert sorted(rows) == sorted(columns) == list(range(18))
    found = pivots(matrix[np.ix_(rows, columns)])
    assert np.prod(np.abs(found)) == pytest.approx(abs(np.linalg.det(matrix)), rel=1e-9)
    left = matrix[np.ix_(rows, columns)]
    for k in range(18):  # every pivot was large in what was left of its column
        assert abs(left[k, k]) >= THRESHOLD * np.abs(left[k:, k]).max() * (1 - 1e-12)
        left[k + 1 :] -= np.outer(left[k + 1 :, k] / left[k, k], left[k])


def test_more_rows_than_columns_leave_those_that_are_not_needed():
    matrix = banded(5, 30, 10)
    matrix[::3] = 0.0
    rows, columns = order(matrix)
    assert sorted(columns) == list(range(10))
    assert not set(rows) & set(range(0, 30, 3))
    assert np.abs(pivots(matrix[np.ix_(rows, columns)])).min() > NOTHING


def test_an_arrow_is_eliminated_from_its_shaft():
    size = 30
    matrix = np.diag(np.linspace(1.0, 2.0, size))
    matrix[0] = matrix[:, 0] = 1.0
    rows, columns = order(matrix)
    ordered = matrix[np.ix_(rows, columns)] != 0.0
    # Each of the shaft works on its own product with the tip, and nothing fills in.
    assert fill(ordered, np.zeros((size, 0), dtype=bool)) == 2 * (size - 1)
    assert fill(ordered[::-1, ::-1], np.zeros((size, 0), dtype=bool)) > size**2


@pytest.mark.parametrize("seed", range(3))
def test_fill_counts_what_elimination_touches(seed):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((9, 12)) < 0.3, rng.normal(size=(9, 12)), 0.0)
    matrix[:, :9] += 3.0 * np.eye(9)
    counted, work = 0, matrix.copy()
    for k in range(9):
        for i in np.flatnonzero(work[k + 1 :, k]) + k + 1:
            counted += np.count_nonzero(work[k, k + 1 :]) + 1
            work[i] -= work[i, k] / work[k, k] * work[k]
            work[i, k] = 0.0
    beside = work[:, 9:] != 0.0
    for k in range(8, -1, -1):
        for j in np.flatnonzero(work[k, k + 1 : 9]) + k + 1:
            counted += np.count_nonzero(beside[j])
            beside[k] |= beside[j]
    assert fill(matrix[:, :9] != 0.0, matrix[:, 9:] != 0.0) == counted


def test_a_pivot_that_vanishes_leaves_none():
    assert not pivots(np.array([[0.0, 1.0], [1.0, 0.0]])).any()


def test_nothing_is_eliminated_from_nothing():
    assert order(np.zeros((0, 0))) == ([], [])
    assert order(np.zeros((3, 0))) == ([], [])
