"""Plane geometry by the rows of runs: where circles meet, and corners carried along."""

import numpy as np


def pointing(angle):
    """Unit vectors at angles."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def meet(a, radius_a, b, radius_b, side):
    """Where circles about a and b meet: left of the way from a to b for side 1, right of it for -1."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    apart = np.linalg.norm(b - a, axis=-1, keepdims=True)
    along = (radius_a**2 - radius_b**2 + apart**2) / (2 * apart)
    unit = (b - a) / apart
    left = np.stack([-unit[..., 1], unit[..., 0]], axis=-1)
    return a + along * unit + side * np.sqrt(radius_a**2 - along**2) * left


def carried(a, b, x, y):
    """A point of a body, at (x, y) in axes whose x points from a to b."""
    unit = (b - a) / np.linalg.norm(b - a, axis=-1, keepdims=True)
    left = np.stack([-unit[..., 1], unit[..., 0]], axis=-1)
    return a + x * unit + y * left
