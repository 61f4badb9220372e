"""Hulls: convex hulls with few corners, drawn in place of mesh files to keep pages small.

The corners kept are those farthest out in one of many directions, spread evenly about the bounding box. Their hull lies
inside the mesh's own hull, and misses little of it.
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

DIRECTIONS = 64  # also the maximum number of corners


def hull_of(solid: "MeshFile") -> Mesh | None:
    """The hull of a mesh; None, with a warning, if the file cannot be read."""
    path = Path(solid.file)
    return _hull(path, path.stat().st_mtime_ns if os.path.isfile(path) else 0, solid.scale)


@cache
def _hull(path: Path, changed: int, scale: tuple[float, ...]) -> Mesh | None:
    """changed: the file's modification time, so that a changed file is read again."""
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
    """The corners that are farthest out in some direction."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    even = (corners - (low + high) / 2) / np.where(high > low, high - low, 1.0)
    # Points on a spiral from pole to pole, a golden angle apart.
    k = np.arange(DIRECTIONS)
    z = 1 - (2 * k + 1) / DIRECTIONS
    angle = np.pi * (3 - np.sqrt(5)) * k
    around = np.sqrt(1 - z * z)
    directions = np.column_stack([around * np.cos(angle), around * np.sin(angle), z])
    return corners[np.unique((directions @ even.T).argmax(axis=1))]
