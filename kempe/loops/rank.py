"""Rank: which directions the rows of a matrix ask for, and which are nothing but rounding; decided here for all.

Problem. Rows of J are made of lever arms and rotations. A row that follows from others, or that asks for nothing, as
all that keep a plane loop in its plane, is zero to rounding only, and to the gap that is left in its loop. Scaled up,
or divided by, it would ask for anything.

Must. The answer does not depend on how a mechanism lies in space, on names, order or units. Directions of a regular
pose are kept, those of rounding never.

Discussion. Rows come as numbers without units: every velocity in radians or parts of the mechanism's size, every row
over its natural size. The size of a direction is what is left of a row across those before it, the longest always next,
which tells about as much as a singular value. At regular poses sizes are of order one, seldom below 1e-6; rounding
leaves less than 1e-12. In between there is room for one bound, `ROUNDING`. While a loop is open by `gap`, what follows
from others when it is closed does not yet: such rows ask for something of the order of the gap, so that a direction
counts only if it is `BEYOND` times that. What is closed by one step then moves by less than 1 / BEYOND.
"""

from dataclasses import dataclass

import numpy as np

from kempe.arithmetic.least import factors, least_squares, solve_upper
from kempe.arithmetic.sums import times

ROUNDING = 1e-7  # sizes up to this, beside the larger of one and the largest, are rounding, that of files' numbers too
BEYOND = 10.0  # how many times the gap a direction must be
COARSE = 1e-3  # however wide the gap is, directions as large as this count
NOTHING = 1e-14  # of a matrix that measures motions: what is left where nothing resists


def rounding(largest: float, gap: float = 0.0) -> float:
    """The size up to which directions do not count, beside the largest, while loops are open by `gap`."""
    return max(ROUNDING * max(1.0, largest), min(BEYOND * gap, COARSE))


@dataclass(frozen=True, eq=False)
class Directions:
    """What rows ask for: rows = parts right, but for rounding, the directions `right` at right angles and of length
    one; and the motions, as columns, that they say nothing of."""

    parts: np.ndarray
    right: np.ndarray
    free: np.ndarray

    def needed(self, wanted: np.ndarray) -> np.ndarray:
        """Parts along `right` of motions x with rows x = wanted, as nearly as can be."""
        return least_squares(self.parts, wanted)

    def motion(self, wanted: np.ndarray) -> np.ndarray:
        """The least of these motions."""
        return times(self.right.T, self.needed(wanted))

    def efforts(self, forces: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Of all efforts along the rows that exert these forces, the least when measured by sizes."""
        return sizes * least_squares((self.parts * sizes[:, None]).T, times(self.right, forces))


def directions(rows: np.ndarray, gap: float = 0.0) -> Directions:
    """Of rows without units, of loops that are open by `gap`, in the measure of the rows."""
    found = factors(rows.T)
    rank = found.rank(rounding(found.sizes.max(initial=0.0), gap))
    parts = np.zeros((len(rows), rank))
    parts[found.order] = np.triu(found.r)[:rank].T
    axes = found.turned_back(np.eye(rows.shape[1]))
    return Directions(parts, axes[:, :rank].T, axes[:, rank:])


class Nearest:
    """Of motions that directions ask for the one x of least x^T matrix x, of a matrix that is positive but for motions
    that nothing resists."""

    def __init__(self, asked: Directions, matrix: np.ndarray):
        self._asked, self._measure = asked, root(matrix)
        self._free = factors(times(self._measure, asked.free))
        self._rank = self._free.rank(NOTHING * self._free.sizes.max(initial=0.0))

    def __call__(self, wanted: np.ndarray) -> np.ndarray:
        """With rows x = wanted."""
        held, rank = self._asked.motion(wanted), self._rank
        back = np.zeros(self._asked.free.shape[1])
        right = self._free.turned(times(self._measure, held))[:rank]
        back[self._free.order[:rank]] = solve_upper(self._free.r[:rank, :rank], right)
        return held - times(self._asked.free, back)


def root(matrix: np.ndarray) -> np.ndarray:
    """F with F^T F = matrix, triangular, of one that is positive but for directions that resist nothing at all."""
    work, found = np.array(matrix, dtype=float), np.zeros(matrix.shape)
    for k, begun in enumerate(np.diagonal(matrix)):
        if work[k, k] > NOTHING * begun:
            found[k, k:] = work[k, k:] / np.sqrt(work[k, k])
            work[k:, k:] -= np.outer(found[k, k:], found[k, k:])
    return found
