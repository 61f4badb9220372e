"""Geoms: mass properties of MJCF shapes, and the solids that draw them."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kempe.errors import FileError, MissingPackage
from kempe.formats.meshes import FARTHEST, Mesh, drawable, hull, read_mesh
from kempe.formats.mjcf.defaults import MAIN, Classes
from kempe.formats.mjcf.poses import point, read_pose, z_along
from kempe.formats.mjcf.settings import Settings
from kempe.formats.poses import HERE, Pose
from kempe.formats.source import Outside
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Box, Cylinder, Solid, Sphere
from kempe.mechanism.solids import Ellipsoid
from kempe.spatial import quaternions
from kempe.spatial.inertia import RigidInertia

# The number of entries in the size of a shape; 0 where size is absent or not used.
SIZES = {
    "sphere": 1,
    "capsule": 2,
    "ellipsoid": 3,
    "cylinder": 2,
    "box": 3,
    "plane": 0,
    "hfield": 0,
    "mesh": 0,
    "sdf": 0,
}
LONG = ("capsule", "cylinder", "ellipsoid", "box")  # those that fromto can place
TOUCHES = ("contype", "conaffinity")


@dataclass(frozen=True, eq=False)
class Geom:
    """A shape on a body: its pose, its inertia (about the body's origin), and the solid that draws it, if any."""

    name: str | None
    pose: Pose
    inertia: RigidInertia
    solid: Solid | None


def shape_contents(kind: str, size: np.ndarray) -> tuple[float, np.ndarray]:
    """Volume [m^3] of a shape centred at the origin, and its moments of inertia [m^2] for a mass of 1 kg.

    size: radius of a sphere; radius and half length of a capsule or cylinder along z; half lengths of other shapes.
    """
    if kind == "sphere":
        r = size[0]
        return 4 / 3 * math.pi * r**3, np.full(3, 0.4 * r * r)
    if kind in ("ellipsoid", "box"):
        x, y, z = size**2
        sums = np.array([y + z, x + z, x + y])
        return (4 / 3 * math.pi * size.prod(), sums / 5) if kind == "ellipsoid" else (8 * size.prod(), sums / 3)
    r, h = size[:2]
    pipe, along, across = 2 * math.pi * r * r * h, r * r / 2, r * r / 4 + h * h / 3
    if kind == "cylinder":
        return pipe, np.array([across, across, along])
    # A capsule is a cylinder and two half balls with centres of mass 3/8 r beyond its ends.
    share = 2 * r / (2 * r + 3 * h)  # volume fraction of the balls
    across = (1 - share) * across + share * (0.4 * r * r + h * h + 0.75 * h * r)
    along = (1 - share) * along + share * 0.4 * r * r
    return pipe + 4 / 3 * math.pi * r**3, np.array([across, across, along])


class Geoms:
    """Reads geoms, and the meshes they refer to."""

    def __init__(self, root: Element, settings: Settings, classes: Classes, folder: Path):
        self.settings = settings
        self.folder = folder
        self._meshes: dict[str, Element] = {}
        self._read: dict[str, Mesh | None] = {}
        for asset in root.all("asset"):
            for mesh in asset.all("mesh"):
                classes.applied(mesh, MAIN)
                name = mesh.text("name", "") or Path(mesh.text("file", "")).stem
                self._meshes[name] = mesh

    def geom(self, element: Element, frame: Pose) -> Geom:
        """Reads one geom, whose attributes include the defaults."""
        kind = element.text("type", "sphere")
        if kind not in SIZES:
            raise element.error(f"there is no geom type {kind!r}; there are {', '.join(SIZES)}")
        pose, size = self._placed(element, kind)
        pose = frame.then(pose)
        if all(element.attributes.get(name, "1").strip() == "0" for name in TOUCHES):
            element.asked.update(TOUCHES)  # no contact, here and in MuJoCo
        inertia, name = RigidInertia(0.0, np.zeros(3), np.zeros((3, 3))), element.text("name", None)
        low, high = self.settings.groups
        weighs = low <= element.number("group", 0.0) <= high
        if kind in ("plane", "hfield") or (element.has("mass") and element.number("mass") == 0):
            weighs = False
        if SIZES[kind] and weighs:
            volume, moments = shape_contents(kind, size)
            mass = self._mass(element, volume)
            turned = pose.rotation @ np.diag(mass * moments) @ pose.rotation.T
            inertia = RigidInertia.at_com(mass, pose.position, turned)
        elif weighs:
            inertia = self._mesh_inertia(element, pose)
        if kind == "mesh":
            solid, inner = self._mesh_drawn(element)
            return Geom(name, pose.then(inner), inertia, solid)
        return Geom(name, pose, inertia, _drawn(kind, size))

    def _mass(self, element: Element, volume: float) -> float:
        given = element.number("mass") if element.has("mass") else volume * element.number("density", 1000.0)
        if given < 0:
            raise element.error(f"its mass is {given:g} kg; it cannot be negative")
        if element.has("shellinertia") and element.flag("shellinertia"):
            element.note("shellinertia: not used; the mass is spread over the volume, not the surface")
        return given

    def _placed(self, element: Element, kind: str) -> tuple[Pose, np.ndarray]:
        """Its pose and size; both from fromto if it is given."""
        count = SIZES[kind]
        if element.has("mesh") and count:
            raise element.error(f"fitting a {kind} to a mesh is not supported; give its size, or type mesh")
        pose = read_pose(element, self.settings)
        if not count:
            element.text("size", "")
            return pose, np.zeros(3)
        if not element.has("fromto"):
            size = np.array(element.numbers("size", range(1, 4), ()))
            if len(size) < count:
                raise element.error(f"attribute size of a {kind} takes {count} numbers, not {len(size)}")
        else:
            if kind not in LONG:
                raise element.error(f"a {kind} cannot have fromto; it is for {', '.join(LONG)}")
            ends = np.array(element.numbers("fromto", 6)).reshape(2, 3)
            radius = element.numbers("size", range(1, 4))[0]
            length = float(np.linalg.norm(ends[0] - ends[1]))
            if not length > 1e-14:
                raise element.error("the two points of fromto coincide")
            size = np.array([radius, length / 2] if count == 2 else [radius, radius, length / 2])
            pose = Pose(z_along(ends[0] - ends[1]), ends.mean(axis=0))
        if not (size[:count] > 0).all() or size.max() > FARTHEST:
            raise element.error(f"attribute size of a {kind} takes {count} positive numbers, none too large")
        return pose, size

    def _mesh_inertia(self, element: Element, pose: Pose) -> RigidInertia:
        mesh = self._mesh(element)
        if mesh is None:
            return RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))
        how = self._meshes[element.text("mesh")].text("inertia", "legacy")
        volume, centre, tensor = mesh.contents(absolute=how == "legacy")
        if not volume > 0:
            raise element.error("its mesh encloses no volume; give the body an <inertial>, or the geom mass 0")
        mass = self._mass(element, volume)
        turned = mass / volume * (pose.rotation @ tensor @ pose.rotation.T)
        return RigidInertia.at_com(mass, point(pose, centre), turned)

    def _mesh_drawn(self, element: Element) -> tuple[Solid | None, Pose]:
        """The solid that draws a mesh, and its pose: corners are shifted, rotated back and scaled, in this order."""
        asset = self._asset_of(element)
        away, turn, scale = _changes(asset)
        if asset.has("vertex") or (scale.min() < scale.max() and not np.array_equal(turn, np.eye(3))):
            asset.note("is not drawn: its vertices are in the file itself, or it is rotated before it is stretched")
            return None, HERE
        try:
            folder = self.folder / self.settings.mesh_folder
            solid = drawable(asset.source, folder, asset.text("file"), scale.tolist())
        except (FileError, MissingPackage) as error:
            asset.note(f"{error}; geoms of this mesh are not drawn")
            return None, HERE
        return solid, Pose(turn.T, -scale * (turn.T @ away))

    def _asset_of(self, element: Element) -> Element:
        name = element.text("mesh")
        if name not in self._meshes:
            raise element.error(f"there is no mesh {name!r}; there are {', '.join(self._meshes) or 'none'}")
        return self._meshes[name]

    def _mesh(self, element: Element) -> Mesh | None:
        """The mesh of a geom; None, with a note, if it cannot be read."""
        asset, name = self._asset_of(element), element.text("mesh")
        if name not in self._read:
            self._read[name] = self._asset(asset)
        return self._read[name]

    def _asset(self, asset: Element) -> Mesh | None:
        if asset.has("vertex"):
            found = self._surface(asset, np.array(asset.numbers("vertex", range(12, 10**6, 3))).reshape(-1, 3))
        else:
            try:
                path = self.folder / self.settings.mesh_folder / asset.text("file")
                found = read_mesh(asset.source.inside(path))
            except Outside as error:  # without its mass the body would be a different one
                raise asset.error(str(error)) from error
            except (FileError, MissingPackage) as error:
                asset.note(f"{error}; geoms of this mesh have no mass")
                return None
        if asset.text("inertia", "legacy") == "convex":
            found = self._hull(asset, found.corners)
        away, turn, scale = _changes(asset)
        return Mesh((found.corners - away) @ turn * scale, found.triangles)

    @staticmethod
    def _hull(asset: Element, corners: np.ndarray) -> Mesh:
        try:
            return hull(corners)
        except FileError as error:
            raise asset.error(str(error)) from error

    def _surface(self, asset: Element, corners: np.ndarray) -> Mesh:
        if not asset.has("face"):
            return self._hull(asset, corners)
        faces = np.array(asset.numbers("face", range(3, 10**6, 3))).reshape(-1, 3)
        if not np.isin(faces, np.arange(len(corners))).all():
            raise asset.error(f"a face refers to a missing vertex; there are {len(corners)}")
        return Mesh(corners, faces.astype(int))


def _changes(asset: Element) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shift, rotation and scale applied to its corners."""
    away = np.array(asset.numbers("refpos", 3, (0.0, 0.0, 0.0)))
    turn = quaternions.to_matrix(np.array(asset.numbers("refquat", 4, quaternions.IDENTITY)))
    return away, turn, np.array(asset.numbers("scale", 3, (1.0, 1.0, 1.0)))


def _drawn(kind: str, size: np.ndarray) -> Solid | None:
    """A massless solid; a capsule is drawn as a cylinder."""
    if kind == "sphere":
        return Sphere(float(size[0]), 0.0)
    if kind == "box":
        return Box((2 * float(size[0]), 2 * float(size[1]), 2 * float(size[2])), 0.0)
    if kind == "ellipsoid":
        return Ellipsoid((2 * float(size[0]), 2 * float(size[1]), 2 * float(size[2])), 0.0)
    if kind in ("cylinder", "capsule"):
        return Cylinder(2 * float(size[1]), float(size[0]), 0.0)
    return None
