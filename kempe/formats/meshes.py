"""Meshes: closed triangle surfaces, their mass properties, and their files."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kempe.errors import FileError, MissingPackage
from kempe.formats.source import Source
from kempe.mechanism.solids import MeshFile

LARGEST = 256 * 2**20  # bytes of a file
# Packages needed to read meshes, by ending ("" for all), and the name to install.
NEEDS = {"": ("trimesh", "'kempe[meshes]'"), ".dae": ("collada", "pycollada")}
# Other readers of trimesh unpack archives, or allocate memory for counts that a file only claims.
ENDINGS = (".stl", ".obj", ".dae", ".ply", ".off", ".msh")
WORDS = 200  # characters quoted from the mesh reader's error
FARTHEST = 1e30  # larger coordinates overflow moments of inertia


@dataclass(frozen=True, eq=False)
class Mesh:
    """Corners [m], one per row, and triangles by indices of their corners, counterclockwise seen from outside."""

    corners: np.ndarray
    triangles: np.ndarray

    def contents(self, absolute: bool = False) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume [m^3], its centre [m], and the inertia tensor about it [m^5] at density 1.

        Each triangle and a point in the middle form a tetrahedron of volume d / 6, with d = a . (b x c), and the
        integral of x x^T over it is d / 120 (s s^T + a a^T + b b^T + c c^T), where s = a + b + c. absolute: all
        tetrahedra count as positive, as by default in MuJoCo: correct for convex meshes, too large for others.
        """
        corners = self.corners[self.triangles]
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        if not area.sum() > 0:
            return 0.0, self.corners.mean(axis=0), np.zeros((3, 3))
        middle = area @ corners.mean(axis=1) / area.sum()
        d = self._volumes(middle, absolute)
        if not d.sum() > 0:
            return 0.0, middle, np.zeros((3, 3))
        centre = middle + d @ (corners - middle).sum(axis=1) / 4 / d.sum()
        around = self._volumes(centre, absolute)
        a, b, c = ((corners - centre)[:, k] for k in range(3))
        squares = sum(np.einsum("i,ij,ik->jk", around, x, x) for x in (a + b + c, a, b, c)) / 120
        return float(around.sum() / 6), centre, np.trace(squares) * np.eye(3) - squares

    def _volumes(self, middle: np.ndarray, absolute: bool) -> np.ndarray:
        """Six times the volumes of the tetrahedra that the triangles form with a point."""
        a, b, c = ((self.corners - middle)[self.triangles[:, k]] for k in range(3))
        d = np.einsum("ij,ij->i", a, np.cross(b, c))
        return np.abs(d) if absolute else d if d.sum() > 0 else -d  # negative if all triangles are oriented inwards


def hull(corners: np.ndarray) -> Mesh:
    """The convex hull of corners."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        found = ConvexHull(corners)
    except QhullError as error:
        raise FileError("its corners lie in a plane, so it encloses no volume") from error
    triangles = found.simplices.copy()
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    triangles[inward] = triangles[inward][:, ::-1]
    return Mesh(corners, triangles)


def read_mesh(path: Path) -> Mesh:
    """Reads a mesh file by trimesh, or, for MuJoCo's own .msh, directly."""
    if not os.path.isfile(path):
        raise FileError(f"{path}: no such file")
    if path.stat().st_size > LARGEST:
        raise FileError(f"{path}: larger than {LARGEST // 2**20} MiB, the limit for a mesh")
    if path.suffix.lower() == ".msh":
        return _msh(path)
    if path.suffix.lower() not in ENDINGS:
        raise FileError(f"{path}: the ending of a mesh file must be one of {', '.join(ENDINGS)}")
    try:
        import trimesh
    except ImportError as error:
        raise MissingPackage("reading meshes needs the package trimesh: pip install 'kempe[meshes]'") from error
    try:
        found = trimesh.load(path, force="mesh", process=False)
        corners, triangles = np.array(found.vertices, dtype=float), np.array(found.faces, dtype=int)  # type: ignore[attr-defined]
    except Exception as error:  # trimesh's many readers raise anything
        raise FileError(f"{path}: not a mesh: {' '.join(str(error)[:WORDS].split())}") from error
    return _sound(path, corners, triangles)


def _msh(path: Path) -> Mesh:
    """Reads .msh: counts of corners, normals, texture coordinates and triangles, then these, four bytes per number."""
    content = path.read_bytes()
    corners, normals, textures, triangles = np.frombuffer(content[:16].ljust(16, b"\0"), dtype="<i4").tolist()
    before = 4 * (3 * corners + 3 * normals + 2 * textures)
    if min(corners, normals, textures, triangles) < 0 or len(content) != 16 + before + 12 * triangles:
        raise FileError(f"{path}: not a mesh: its length does not match its counts")
    points = np.frombuffer(content, "<f4", 3 * corners, 16).astype(float).reshape(-1, 3)
    numbers = np.frombuffer(content, "<i4", 3 * triangles, 16 + before).astype(int).reshape(-1, 3)
    return _sound(path, points, numbers)


def _sound(path: Path, corners: np.ndarray, triangles: np.ndarray) -> Mesh:
    """A mesh, after checking that it has triangles between existing corners at finite coordinates."""
    if corners.shape[1:] != (3,) or triangles.shape[1:] != (3,):
        raise FileError(f"{path}: not a mesh: no triangles between points in space")
    if not len(triangles) or triangles.min() < 0 or triangles.max() >= len(corners):
        raise FileError(f"{path}: not a mesh: it has no triangles, or one refers to a missing corner")
    if not np.isfinite(corners).all() or np.abs(corners).max() > FARTHEST:
        raise FileError(f"{path}: not a mesh: a corner is not finite")
    return Mesh(corners, triangles)


def drawable(source: Source, folder: Path, named: str, scale: Iterable[float]) -> MeshFile:
    """The mesh named by a file in a folder, for drawing. Its existence is checked now; it is read when drawn."""
    path = found(source, folder, named)
    ending = path.suffix.lower()
    for which, (module, command) in NEEDS.items():
        if ending != ".msh" and which in ("", ending) and find_spec(module) is None:
            raise MissingPackage(f"drawing {which or 'meshes'} needs the package {module}: pip install {command}")
    return MeshFile(str(path), tuple(scale))  # type: ignore[arg-type]


def found(source: Source, folder: Path, named: str) -> Path:
    """The path of a mesh: relative to the folder; or, for `package://arm/link.stl`, in a folder `arm` that is above it
    or next to one above."""
    places: list[tuple[Path | None, Path]] = [(None, folder / named.removeprefix("file://"))]
    if named.startswith("package://"):
        package, _, inside = named.removeprefix("package://").partition("/")
        above = (folder.absolute(), *folder.absolute().parents)
        roots = [place / package for place in above] + [x for x in above if x.name == package]
        places = [(root, root / inside) for root in roots if package not in ("", ".", "..")]
    for root, path in places:
        if os.path.isfile(path):
            return source.inside(path, root).absolute()
    raise FileError(f"there is no mesh {named!r}")
