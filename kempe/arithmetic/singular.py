"""Singular values and eigenvalues by Jacobi's rotations, as many columns at once as do not meet.

One-sided: rotations V from the right make the columns of A V orthogonal; their lengths are the singular values
(M. R. Hestenes, 1958). Small values are as exact, relative to their columns, as large ones.
"""

import numpy as np

from kempe.arithmetic.least import factors, null_space
from kempe.arithmetic.sums import total

SWEEPS = 40
ORTHOGONAL = 1e-15  # cosine of the angle between two columns that counts as a right angle


def svd(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left vectors in columns, values that fall, all right vectors in rows. Left vectors of values that are zero are
    zero."""
    a = np.asarray(a, dtype=float)
    rows, columns = a.shape
    if not rows or not columns:
        return np.zeros((rows, 0)), np.zeros(0), np.eye(columns)
    if rows < columns:
        right, sizes, left = svd(a.T)
        real = right[:, sizes > 0.0]
        return left.T, sizes, np.vstack([real.T, null_space(real.T, real.shape[1]).T])
    found = factors(a)  # with falling columns, few sweeps are left to do
    work, right = np.zeros((len(found.r), columns)), np.eye(columns)
    work[:] = found.r
    rounds = _rounds(columns)
    for _ in range(SWEEPS):
        bent = [_rotated(work, right, *pairs) for pairs in rounds]
        if not any(bent):
            break
    sizes = np.sqrt(total(work * work, 0))
    order = np.argsort(-sizes, kind="stable")
    sizes, work, right = sizes[order], work[:, order], right[:, order]
    count = len(found.r)
    left = np.zeros((rows, count))
    left[:count] = np.where(sizes[:count] > 0, work[:, :count] / np.where(sizes[:count] > 0, sizes[:count], 1.0), 0.0)
    vectors = np.zeros((columns, columns))
    vectors[:, found.order] = right.T
    return found.turned_back(left), sizes[:count], vectors


def _rounds(columns: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """All pairs of columns, in rounds of pairs that do not meet, as in a tournament."""
    seats = list(range(columns + columns % 2))
    rounds = []
    for _ in range(len(seats) - 1):
        pairs = [(seats[k], seats[-1 - k]) for k in range(len(seats) // 2)]
        pairs = [(min(p), max(p)) for p in pairs if max(p) < columns]
        rounds.append(tuple(np.array(pairs, dtype=int).reshape(-1, 2).T))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds


def _rotated(work: np.ndarray, right: np.ndarray, i: np.ndarray, j: np.ndarray) -> bool:
    """Makes pairs of columns orthogonal, the longer one first; whether any was not so before."""
    a, b = work[:, i], work[:, j]
    alpha, beta, gamma = total(a * a, 0), total(b * b, 0), total(a * b, 0)
    bent = np.abs(gamma) > ORTHOGONAL * np.sqrt(alpha) * np.sqrt(beta)
    if not bent.any():
        return False
    i, j, a, b, alpha, beta, gamma = i[bent], j[bent], a[:, bent], b[:, bent], alpha[bent], beta[bent], gamma[bent]
    zeta = (beta - alpha) / (2.0 * gamma)
    with np.errstate(over="ignore"):
        t = np.where(zeta < 0, -1.0, 1.0) / (np.abs(zeta) + np.sqrt(1.0 + zeta * zeta))
    c = 1.0 / np.sqrt(1.0 + t * t)
    s = c * t
    for x in (work, right):
        x[:, i], x[:, j] = c * x[:, i] - s * x[:, j], s * x[:, i] + c * x[:, j]
    return True


def eigh(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix, rising, and their vectors in columns."""
    work, vectors = np.array(a, dtype=float), np.eye(len(a))
    size = np.sqrt(total(total(work * work, 0)))
    rounds = _rounds(len(a))
    for _ in range(SWEEPS):
        bent = False
        for i, j in rounds:
            off = work[i, j]
            real = np.abs(off) > 1e-17 * size
            if not real.any():
                continue
            bent, p, q, off = True, i[real], j[real], off[real]
            zeta = (work[q, q] - work[p, p]) / (2.0 * off)
            with np.errstate(over="ignore"):
                t = np.where(zeta < 0, -1.0, 1.0) / (np.abs(zeta) + np.sqrt(1.0 + zeta * zeta))
            c = 1.0 / np.sqrt(1.0 + t * t)
            s = c * t
            work[:, p], work[:, q] = c * work[:, p] - s * work[:, q], s * work[:, p] + c * work[:, q]
            work[p], work[q] = (
                c[:, None] * work[p] - s[:, None] * work[q],
                s[:, None] * work[p] + c[:, None] * work[q],
            )
            work[p, q] = work[q, p] = 0.0
            vectors[:, p], vectors[:, q] = c * vectors[:, p] - s * vectors[:, q], s * vectors[:, p] + c * vectors[:, q]
        if not bent:
            break
    values = np.diagonal(work)
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]
