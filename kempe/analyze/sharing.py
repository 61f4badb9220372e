"""Sharing: what actuators and supports contribute to the forces of a motion, and what nothing can provide.

With W the motions the loops allow (the identity for a tree), B the actuated freedoms, J_c the velocities of supported
points and E the freedoms along which a remainder r is permitted, the forces of the tree (paper 3, eq. 7) are shared:

    W^T tau_O = W^T (B u + J_c^T f + E r)

First r is minimized, then the weighted squares of u and f; or, with a weight of its own, r is one of them. That is a
least squares problem. With limited friction, pushing supports, or bounds on efforts, it becomes a problem of the
shortest vector within half-spaces, as in `actuation`; it is posed only if the least squares solution violates one.
"""

from dataclasses import dataclass

import numpy as np

from kempe.errors import StateError
from kempe.kinetics.actuation import nearest

RANK = 1e-9  # least relative singular value that counts
DEAR = 1e6  # the weight of r relative to u and f if a half-space is active, before the exact solution
INSIDE = 1e-9  # of the largest force: allowed violation of a half-space
TOUCHED = 1e-6  # of the largest force: closer than this, a half-space is active
UNMET = 1e-7  # of the largest acting forces: what may remain unmet


@dataclass(frozen=True, eq=False)
class Costs:
    """Scales that give all forces one unit, in which their squares are summed: those of actuators and supports in
    order, and the remainder; remainder: the cost of a square of r relative to the others, None for infinite."""

    made: np.ndarray
    left: np.ndarray
    remainder: float | None


@dataclass(frozen=True, eq=False)
class Halves:
    """G and h: forces x of actuators and supports must have G x >= h."""

    matrix: np.ndarray
    least: np.ndarray

    def broken(self, x: np.ndarray) -> float:
        """The largest violation by x."""
        return float((self.least - self.matrix @ x).max(initial=0.0))


def share(
    made: np.ndarray, left: np.ndarray, needed: np.ndarray, costs: Costs, halves: Halves | None, strong: float
) -> tuple[np.ndarray, np.ndarray]:
    """x and r with made x + left r = needed at one state; x within half-spaces, if any are given. strong: the largest
    acting forces, of which those needed may be small differences."""
    made, left = made / costs.made, left / costs.left
    if costs.remainder is not None:
        left = left / np.sqrt(costs.remainder)
    x, r = _least(made, left, needed, costs.remainder is not None)
    if np.abs(made @ x + left @ r - needed).max(initial=0.0) > UNMET * strong:
        raise StateError(
            "actuators, supports and a residual along freedoms that are not actuated cannot make the forces of this "
            "motion: actuators lose control here (a parallel singularity); singularity(q) says which joints move freely"
        )
    if halves is not None:
        own = Halves(halves.matrix / costs.made, halves.least)
        size = max(strong, float(np.abs(x).max(initial=0.0)))
        if own.broken(x) > INSIDE * size:
            x, r = _within(made, left, needed, own, costs.remainder is not None, size)
    if costs.remainder is not None:
        r = r / np.sqrt(costs.remainder)
    return x / costs.made, r / costs.left


def _least(made: np.ndarray, left: np.ndarray, needed: np.ndarray, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """The shortest r, then the shortest x; or both as one vector."""
    if together:
        both = _shortest(np.hstack([made, left]), needed)
        return both[: made.shape[1]], both[made.shape[1] :]
    basis, sizes, ways = _apart(made)
    rest = left - basis @ (basis.T @ left)  # what x cannot provide instead
    r = _shortest(rest, needed - basis @ (basis.T @ needed), float(np.linalg.norm(left)))
    return ways @ (basis.T @ (needed - left @ r) / sizes), r


def _shortest(matrix: np.ndarray, right: np.ndarray, scale: float = 0.0) -> np.ndarray:
    """The shortest least squares solution x of matrix x = right."""
    basis, sizes, ways = _apart(matrix, scale)
    return ways @ (basis.T @ right / sizes)


def _apart(matrix: np.ndarray, scale: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The range of a matrix, its singular values, and their right vectors, as columns; relative to its largest singular
    value or a scale, whichever is more."""
    if not matrix.size:
        return np.zeros((len(matrix), 0)), np.zeros(0), np.zeros((matrix.shape[1], 0))
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int((sizes > RANK * max(sizes[0], scale)).sum())
    return left[:, :rank], sizes[:rank], right[:rank].T


def _within(made, left, needed, halves: Halves, together: bool, size: float) -> tuple[np.ndarray, np.ndarray]:
    """The same within half-spaces."""
    dear = 1.0 if together else np.sqrt(DEAR)
    both = np.hstack([made, left / dear])
    start, free = _shortest(both, needed), _kernel(both)
    count = made.shape[1]
    slack = halves.least - halves.matrix @ start[:count]
    found = nearest(halves.matrix @ free[:count], slack)
    if found is None:
        raise StateError(
            "no efforts within these bounds, with these supports, give this motion; leave the freedoms they are of, or "
            "the bounds, out"
        )
    both = start + free @ found
    x, r = both[:count], both[count:] / dear
    if together:
        return x, r
    # With a finite weight r is not quite minimal. The active half-spaces are known now: on their surface the least r,
    # and then the least x, are a least squares problem again.
    touched = halves.matrix @ x - halves.least <= TOUCHED * size
    base, along = _shortest(halves.matrix[touched], halves.least[touched]), _kernel(halves.matrix[touched])
    y, exact = _least(made @ along, left, needed - made @ base, together=False)
    polished = base + along @ y
    met = np.abs(made @ polished + left @ exact - needed).max(initial=0.0) <= INSIDE * size
    if (
        met
        and halves.broken(polished) <= INSIDE * size
        and exact @ exact <= r @ r * (1 + TOUCHED) + (INSIDE * size) ** 2
    ):
        return polished, exact
    return x, r


def _kernel(matrix: np.ndarray) -> np.ndarray:
    """A basis of the null space of a matrix."""
    if not matrix.size:
        return np.eye(matrix.shape[1])
    _, sizes, right = np.linalg.svd(matrix)
    return right[int((sizes > RANK * sizes[0]).sum()) :].T
