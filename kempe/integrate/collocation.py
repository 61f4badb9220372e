"""Collocation: Radau IIA of order 5: a cubic polynomial whose slope is exact at three times of a step, one its end.

The stage increments Z_i = Y_i - y solve Z = h (A x I) F(Z). Newton's method multiplies this by (h A)^-1, and the
eigenvectors of A^-1 split the 3 n equations into n real ones and n complex ones (E. Hairer and G. Wanner, Solving
Ordinary Differential Equations II, 2nd ed. (1996), IV.8):

    (mu / h - df/dy) dW = L F - mu / h W,    W = L Z,    Z = R W,

with mu the eigenvalues, R the right eigenvectors and L = R^-1; the third eigenvector is the second one's conjugate.
"""

import numpy as np
from numpy.polynomial import Polynomial

ROOT = 6**0.5
TIMES = np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0])  # c of the stages
WEIGHTS = np.array(  # A, whose last row is b: the step ends at its last stage
    [
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]
)
INVERSE = np.linalg.inv(WEIGHTS)
# The roots of mu^3 - 9 mu^2 + 36 mu - 60, the characteristic polynomial of A^-1.
REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
COMPLEX = complex(3 + (3 ** (1 / 3) - 3 ** (2 / 3)) / 2, (3 ** (5 / 6) + 3 ** (7 / 6)) / 2)


def _eigenvector(mu: complex) -> np.ndarray:
    """An eigenvector of A^-1, its last entry 1."""
    shifted = INVERSE - mu * np.eye(3)
    return np.append(np.linalg.solve(shifted[:2, :2], -shifted[:2, 2]), 1.0)


_RIGHT = np.array([_eigenvector(mu) for mu in (REAL, COMPLEX, COMPLEX.conjugate())]).T
_LEFT = np.linalg.inv(_RIGHT)
RIGHT_REAL, LEFT_REAL = np.real(_RIGHT[:, 0]).copy(), np.real(_LEFT[0]).copy()
RIGHT_COMPLEX, LEFT_COMPLEX = 2 * _RIGHT[:, 1], _LEFT[1].copy()  # Z = R_0 W_0 + Re(2 R_1 W_1)

# The estimate is the difference from the rule of order 3 that also uses f(y), with weight 1 / mu, filtered by the real
# matrix of Newton's method (IV.8, eqs. 8.17-8.19): (mu / h - df/dy)^-1 (f(y) + sum E_i Z_i / h).
_COMPARED = np.linalg.solve(np.vander(TIMES, increasing=True).T, np.array([1 - 1 / REAL, 1 / 2, 1 / 3]))
ESTIMATE = REAL * ((_COMPARED - WEIGHTS[2]) @ INVERSE)


def _through(nodes: np.ndarray, k: int) -> Polynomial:
    """The Lagrange polynomial of node k."""
    others = np.delete(nodes, k)
    return Polynomial.fromroots(others) / float(np.prod(nodes[k] - others))


SLOPES = [_through(TIMES, k) for k in range(3)]  # of the polynomial, for a unit slope at one of the stages
# Coefficients of theta, theta^2 and theta^3 of the increment at a part theta of the step, a row for each Z_i.
WAYS = np.array([_through(np.append(0.0, TIMES), k + 1).coef[1:] for k in range(3)])
