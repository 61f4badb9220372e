"""Raster: flat faces as samples on a grid, where those nearest to the viewer hide all others, even those they cut."""

import numpy as np

SAMPLES = 4000  # along a side, at most


class Raster:
    """A grid over the sheet from `low` to `high`: the depth and the color of what is seen at each sample.

    image: (rows, columns, 4), from the lowest row up; transparent where there is nothing.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, pitch: float):
        self.low = low
        self.pitch = max(pitch, float((high - low).max()) / SAMPLES)
        columns, rows = np.ceil((high - low) / self.pitch).astype(int) + 1
        self.depth = np.full((rows, columns), -np.inf, dtype=np.float32)
        self.image = np.zeros((rows, columns, 4), dtype=np.uint8)

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom, top."""
        right, top = self.low + self.pitch * np.array(self.depth.shape[::-1])
        return float(self.low[0]), float(right), float(self.low[1]), float(top)

    def fill(self, at: np.ndarray, depth: np.ndarray, tones: np.ndarray) -> None:
        """Convex faces of one number of corners: places (n, corners, 2), depths (n, corners), colors (n, 3).

        Corners go round counter-clockwise on the sheet, and depth grows towards the viewer, evenly over each face.
        """
        at = (at - self.low) / self.pitch - 0.5  # samples are at whole numbers now
        face, row = _counted(np.ceil(at[..., 1].min(axis=1)), np.ceil(at[..., 1].max(axis=1)) - 1)
        # Where the row enters and leaves the face, by the sides that go down and up.
        starts, ends = at[face], np.roll(at, -1, axis=1)[face]
        (x, y), (run, rise) = np.moveaxis(starts, -1, 0), np.moveaxis(ends - starts, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            cuts = x + run * (row[:, None] - y) / rise
        left = np.where(rise < 0, cuts, -np.inf).max(axis=1)
        right = np.where(rise > 0, cuts, np.inf).min(axis=1)
        line, column = _counted(np.ceil(left), np.ceil(right) - 1)
        face, row = face[line], row[line]
        step = np.stack([column, row], axis=1) - at[face, 0]
        deep = (depth[face, 0] + (step * _slopes(at, depth)[face]).sum(axis=1)).astype(np.float32)
        cell = row * self.depth.shape[1] + column
        nearer = np.flatnonzero(deep > self.depth.flat[cell])
        nearer = nearer[np.argsort(deep[nearer], kind="stable")]  # of samples at one place the last, the nearest, stays
        self.depth.flat[cell[nearer]] = deep[nearer]
        colors = np.column_stack([np.rint(255 * tones), np.full(len(tones), 255)]).astype(np.uint8)
        self.image.reshape(-1, 4)[cell[nearer]] = colors[face[nearer]]

    def over(self, at: np.ndarray) -> np.ndarray:
        """The depth of what is seen at places (..., 2); minus infinity where there is nothing."""
        column, row = np.moveaxis(np.floor((at - self.low) / self.pitch).astype(int), -1, 0)
        rows, columns = self.depth.shape
        inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
        return np.where(inside, self.depth[row.clip(0, rows - 1), column.clip(0, columns - 1)], -np.inf)


def _counted(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All whole numbers from low to high, for every pair of them: the pair's number, and the number itself."""
    counts = np.maximum(high - low + 1, 0).astype(int)
    pair = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    return pair, np.arange(len(pair)) - first[pair] + low.astype(int)[pair]


def _slopes(at: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """How depth changes along x and y on every face, by the largest triangle at its first corner."""
    spans, rises = at[:, 1:] - at[:, :1], depth[:, 1:] - depth[:, :1]
    areas = spans[:, :-1, 0] * spans[:, 1:, 1] - spans[:, :-1, 1] * spans[:, 1:, 0]
    each, best = np.arange(len(at)), areas.argmax(axis=1)
    (u, v), p, q = (spans[each, best], spans[each, best + 1]), rises[each, best], rises[each, best + 1]
    area = np.maximum(areas[each, best], 1e-12)
    return np.stack([p * v[:, 1] - q * u[:, 1], q * u[:, 0] - p * v[:, 0]], axis=1) / area[:, None]
