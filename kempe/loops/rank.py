"""Rank: which directions the rows of a matrix span, and which are only rounding; decided here for all.

Problem. Rows of J consist of lever arms and rotations. A redundant row, or one that constrains nothing, such as those
that keep a planar loop in its plane, is zero only up to rounding and the gap of its loop. Scaled up, or divided by, it
would ask for anything.

Must. The answer does not depend on the mechanism's orientation, on names, order or units. Directions of a regular pose
are kept, those of rounding never.

Discussion. Rows are dimensionless: every velocity in radians or parts of the mechanism's size, every row over its
natural size. The size of a direction is the remainder of a row across those before it, the longest always next, which
is about as reliable as a singular value. At regular poses sizes are of order one, seldom below 1e-6; rounding leaves
less than 1e-12. In between there is room for one bound, `ROUNDING`. While a loop is open by `gap`, rows that are
redundant when it is closed are not yet: they have sizes of the order of the gap, so a direction counts only if it is
`BEYOND` times that. A step that closes the loop then moves by less than 1 / BEYOND.
"""

from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.least import factors, least_squares, solve_upper
from kempe.arithmetic.sums import times

ROUNDING = 1e-7  # sizes up to this, relative to the larger of one and the largest, are rounding, that of files included
BEYOND = 10.0  # least size of a direction, in gaps
COARSE = 1e-3  # directions this large count whatever the gap
NOTHING = 1e-14  # of a matrix that measures motions: what remains where nothing resists


def rounding(largest: float, gap: float = 0.0) -> float:
    """The size up to which directions do not count, relative to the largest, while loops are open by `gap`."""
    return max(ROUNDING * max(1.0, largest), min(BEYOND * gap, COARSE))


@dataclass(frozen=True, eq=False)
class Directions:
    """What rows span: rows = parts right, up to rounding, with orthonormal directions `right`; and as columns the
    motions that they leave free."""

    parts: np.ndarray
    right: np.ndarray
    free: np.ndarray

    def needed(self, wanted: np.ndarray) -> np.ndarray:
        """Components along `right` of the motions x with rows x = wanted, as nearly as possible."""
        return least_squares(self.parts, wanted)

    def motion(self, wanted: np.ndarray) -> np.ndarray:
        """The least of these motions."""
        return times(self.right.T, self.needed(wanted))

    def efforts(self, forces: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The least efforts along the rows that exert these forces, as measured by sizes."""
        return sizes * least_squares((self.parts * sizes[:, None]).T, times(self.right, forces))


def directions(rows: np.ndarray, gap: float = 0.0) -> Directions:
    """The directions of dimensionless rows, of loops open by `gap`, in the measure of the rows."""
    found = factors(rows.T)
    rank = found.rank(rounding(found.sizes.max(initial=0.0), gap))
    parts = np.zeros((len(rows), rank))
    parts[found.order] = np.triu(found.r)[:rank].T
    axes = found.turned_back(np.eye(rows.shape[1]))
    return Directions(parts, axes[:, :rank].T, axes[:, rank:])


class Nearest:
    """The motion x with the prescribed components and least x^T matrix x, for a matrix that is positive except for
    motions that nothing resists."""

    def __init__(self, asked: Directions, matrix: np.ndarray):
        self._asked, self._measure = asked, root(matrix)
        self._free = factors(times(self._measure, asked.free))
        self._rank = self._free.rank(NOTHING * self._free.sizes.max(initial=0.0))

    def __call__(self, wanted: np.ndarray) -> np.ndarray:
        """The motion with rows x = wanted."""
        held, rank = self._asked.motion(wanted), self._rank
        back = np.zeros(self._asked.free.shape[1])
        right = self._free.turned(times(self._measure, held))[:rank]
        back[self._free.order[:rank]] = solve_upper(self._free.r[:rank, :rank], right)
        return held - times(self._asked.free, back)


def root(matrix: np.ndarray) -> np.ndarray:
    """The triangular F with F^T F = matrix, which is positive except for directions without any resistance."""
    work, found = np.array(matrix, dtype=float), np.zeros(matrix.shape)
    for k, begun in enumerate(np.diagonal(matrix)):
        if work[k, k] > NOTHING * begun:
            found[k, k:] = work[k, k:] / np.sqrt(work[k, k])
            work[k:, k:] -= np.outer(found[k, k:], found[k, k:])
    return found
