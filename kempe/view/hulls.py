"""Hulls: what meshes of files are drawn as, convex and of few corners, so that a page stays small.

Of a mesh the corners are kept that lie farthest out in some of many directions, evenly spread about the box around it;
the hull of these lies inside the mesh's own, and misses little of it but hollows.
"""

import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import FileError, MissingPackage
from kempe.formats.meshes import Mesh, hull, read_mesh

if TYPE_CHECKING:
    from kempe.mechanism.solids import MeshFile

DIRECTIONS = 64  # and so many corners at most


def hull_of(solid: "MeshFile") -> Mesh | None:
    """Corners and triangles of what is drawn; nothing, with a warning, where the file cannot be read."""
    path = Path(solid.file)
    return _hull(path, path.stat().st_mtime_ns if os.path.isfile(path) else 0, solid.scale)


@cache
def _hull(path: Path, changed: int, scale: tuple[float, ...]) -> Mesh | None:
    """changed: when the file was, so that it is read again when it is another."""
    try:
        corners = read_mesh(path).corners * np.array(scale)
        mesh = hull(few(corners))
    except (FileError, MissingPackage) as error:
        where = "" if str(path) in str(error) else f"{path}: "
        warnings.warn(f"{where}{error}; this mesh is not drawn", stacklevel=2)
        return None
    used, triangles = np.unique(mesh.triangles, return_inverse=True)
    return Mesh(mesh.corners[used], triangles.reshape(-1, 3))


def few(corners: np.ndarray) -> np.ndarray:
    """Those that are farthest out in some direction."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    even = (corners - (low + high) / 2) / np.where(high > low, high - low, 1.0)
    # Along a spiral from pole to pole, each a golden section of a turn on.
    k = np.arange(DIRECTIONS)
    z = 1 - (2 * k + 1) / DIRECTIONS
    angle = np.pi * (3 - np.sqrt(5)) * k
    around = np.sqrt(1 - z * z)
    directions = np.column_stack([around * np.cos(angle), around * np.sin(angle), z])
    return corners[np.unique((directions @ even.T).argmax(axis=1))]
