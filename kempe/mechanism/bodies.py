"""Bodies: solids with mass, the markers on them, and the parameters of both."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kempe.arithmetic.sums import norm
from kempe.errors import MechanismError
from kempe.kinds import checked
from kempe.mechanism.given import number
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Rotation, shift_of
from kempe.spatial.vectors import Scalar, array, matrix, scaled

if TYPE_CHECKING:
    from kempe.mechanism.flexible import Beam
    from kempe.mechanism.mechanism import Mechanism

Length = float | str  # a number, or the path of a parameter such as "crank.length"
Values = Callable[[str], Scalar]  # maps the path of a parameter to its value

FRAME = "origin"  # the marker at every body's own frame
TENSOR = ("xx", "yy", "zz", "xy", "xz", "yz")


def tensor_matrix(xx, yy, zz, xy=0.0, xz=0.0, yz=0.0) -> np.ndarray:
    """A symmetric matrix from its six entries."""
    return matrix(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def _floats(values, what: str) -> Any:
    """Numbers, or rows of numbers, as tuples."""
    if not isinstance(values, (tuple, list, np.ndarray)) or (isinstance(values, np.ndarray) and not values.ndim):
        return number(values, what)
    return tuple(_floats(x, what) for x in (values.tolist() if isinstance(values, np.ndarray) else values))


@dataclass(frozen=True)
class Solid:
    """A shape with mass. Its numeric fields are parameters, for which `inertia` takes numbers or symbols."""

    kind: ClassVar[str]
    flexible: ClassVar[bool] = False

    def __init_subclass__(cls):
        checked(MechanismError)(cls)

    def __post_init__(self):
        for part in fields(self):
            value = getattr(self, part.name)
            object.__setattr__(self, part.name, _floats(value, f"{part.name} of a {self.kind}"))

    def parameters(self) -> dict[str, float]:
        """Names and values of all numbers that can be varied."""
        named = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, tuple):
                names = TENSOR if len(value) == 6 else ("x", "y", "z")
                named |= {f"{part.name}.{n}": float(x) for n, x in zip(names, value, strict=False)}
            else:
                named[part.name] = float(value)
        return named

    def inertia(self, value: Values) -> RigidInertia:
        """The inertia about the solid's own origin."""
        raise TypeError(f"{type(self).__name__} has no inertia")


@dataclass(frozen=True)
class Lump(Solid):
    """A mass with a centre of mass and an inertia tensor about it (xx, yy, zz, xy, xz, yz)."""

    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tensor: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    kind = "body"

    def inertia(self, value: Values) -> RigidInertia:
        """The given values."""
        tensor = tensor_matrix(*(value(f"tensor.{n}") for n in TENSOR))
        return RigidInertia.at_com(value("mass"), array(value(f"com.{n}") for n in "xyz"), tensor)


@dataclass(frozen=True)
class Rod(Solid):
    """A uniform rod along +x from its origin; thin unless it has a radius."""

    length: float
    mass: float
    radius: float = 0.0
    kind = "rod"

    def inertia(self, value: Values) -> RigidInertia:
        """The inertia of a solid cylinder."""
        length, mass, radius = value("length"), value("mass"), value("radius")
        across = mass * (length * length / 12 + radius * radius / 4)
        tensor = tensor_matrix(mass * (radius * radius / 2), across, across)
        return RigidInertia.at_com(mass, array((length / 2, 0.0, 0.0)), tensor)


@dataclass(frozen=True)
class Box(Solid):
    """A uniform block, centred at the origin."""

    size: tuple[float, float, float]
    mass: float
    kind = "box"

    def inertia(self, value: Values) -> RigidInertia:
        """For each axis, from the squares of the two sides across it."""
        squares = [value(f"size.{n}") * value(f"size.{n}") for n in "xyz"]
        mass = value("mass")
        twelfth = mass / 12
        diagonal = (
            twelfth * (squares[1] + squares[2]),
            twelfth * (squares[0] + squares[2]),
            twelfth * (squares[0] + squares[1]),
        )
        return RigidInertia(mass, np.zeros(3), tensor_matrix(*diagonal))


@dataclass(frozen=True)
class Cylinder(Solid):
    """A uniform cylinder along z, centred at the origin."""

    length: float
    radius: float
    mass: float
    kind = "cylinder"

    def inertia(self, value: Values) -> RigidInertia:
        """About the centre."""
        length, radius, mass = value("length"), value("radius"), value("mass")
        across = mass * (length * length / 12 + radius * radius / 4)
        return RigidInertia(mass, np.zeros(3), tensor_matrix(across, across, mass * (radius * radius / 2)))


@dataclass(frozen=True)
class Sphere(Solid):
    """A uniform ball, centred at the origin."""

    radius: float
    mass: float
    kind = "sphere"

    def inertia(self, value: Values) -> RigidInertia:
        """2/5 m r^2 about every axis."""
        size = 0.4 * value("mass") * value("radius") * value("radius")
        return RigidInertia(value("mass"), np.zeros(3), tensor_matrix(size, size, size))


@dataclass(frozen=True)
class Plate(Solid):
    """A uniform plate with a polygonal outline in the x-y plane, which halves its thickness."""

    outline: tuple[tuple[float, float], ...]
    mass: float
    thickness: float = 0.0
    kind = "plate"

    @property
    def area(self) -> float:
        """The area of the outline, negative if it runs clockwise."""
        points = np.array(self.outline, dtype=float)
        ends = np.roll(points, -1, axis=0)
        return float((points[:, 0] * ends[:, 1] - ends[:, 0] * points[:, 1]).sum() / 2)

    def parameters(self):
        """The outline is geometry, not a parameter."""
        return {"mass": float(self.mass), "thickness": float(self.thickness)}

    def inertia(self, value: Values) -> RigidInertia:
        """Moments of area of the polygon, summed over its edges, times mass per area."""
        points = np.array(self.outline, dtype=float)
        ends = np.roll(points, -1, axis=0)
        areas = points[:, 0] * ends[:, 1] - ends[:, 0] * points[:, 1]
        area = self.area
        com = ((points + ends) * areas[:, None]).sum(axis=0) / (6 * area)
        xx, yy = ((points**2 + points * ends + ends**2) * areas[:, None]).sum(axis=0) / (12 * area) - com**2
        mixed = (
            2 * points[:, 0] * points[:, 1]
            + points[:, 0] * ends[:, 1]
            + ends[:, 0] * points[:, 1]
            + 2 * ends[:, 0] * ends[:, 1]
        )
        xy = (mixed * areas).sum() / (24 * area) - com[0] * com[1]
        mass = value("mass")
        through = value("thickness") * value("thickness") / 12
        tensor = tensor_matrix(mass * (yy + through), mass * (xx + through), mass * (xx + yy), -mass * xy)
        return RigidInertia.at_com(mass, array((*com.tolist(), 0.0)), tensor)


@dataclass(frozen=True)
class PointMass(Solid):
    """A mass at the origin."""

    mass: float
    kind = "point"

    def inertia(self, value: Values) -> RigidInertia:
        """Mass only, no tensor."""
        return RigidInertia(value("mass"), np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True)
class Hub(Solid):
    """A moment of inertia about one axis and nothing else, such as a geared rotor or one whose mass is neglected."""

    moment: float
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    kind = "hub"

    def parameters(self):
        """The axis is geometry, not a parameter."""
        return {"moment": float(self.moment)}

    def inertia(self, value: Values) -> RigidInertia:
        """I n n^T for the unit axis n."""
        n = np.array(self.axis, dtype=float) / norm(self.axis)
        return RigidInertia(0.0, np.zeros(3), scaled(value("moment"), np.outer(n, n)))


def resolved(position: Iterable[Length], value: Values) -> np.ndarray:
    """A position with parameter values substituted for their paths."""
    return array(value(x) if isinstance(x, str) else x for x in position)


@dataclass(frozen=True)
class Part:
    """A solid at its place on a body. The first solid has no name; parameter paths of others contain their names."""

    name: str
    solid: Solid
    position: tuple[Length, Length, Length] = (0.0, 0.0, 0.0)
    rotation: np.ndarray | None = None

    def path(self, body: str, parameter: str) -> str:
        """The full path of one of its parameters."""
        return ".".join(part for part in (body, self.name, parameter) if part)

    def inertia(self, body: str, value: Values) -> RigidInertia:
        """The inertia about the body's origin."""
        own = self.solid.inertia(lambda name: value(self.path(body, name)))
        turned = own if self.rotation is None else own.back((Rotation(np.asarray(self.rotation, dtype=float)),))
        return turned.back(shift_of(resolved(self.position, value)))


@dataclass(frozen=True, eq=False)
class Marker:
    """A frame on a body: its origin (numbers or parameter paths) and its axes, both in the body's axes."""

    body: "Body"
    position: tuple[Length, Length, Length]
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    name: str | None = None

    def origin(self, value: Values) -> np.ndarray:
        """Its position with parameter values substituted; on a beam, that on the straight beam."""
        return resolved(self.position, value)

    @property
    def station(self) -> Length | None:
        """The position along a beam of the section it is fixed to; None if it is fixed to the body's own frame."""
        return None if self.body.beam is None or self.name == FRAME else self.position[0]

    def offset(self, value: Values) -> np.ndarray:
        """Its position relative to the section it is fixed to, in that section's axes, or to the body's frame."""
        at = self.origin(value)
        return at if self.station is None else array((0.0, *at[1:]))

    def __str__(self) -> str:
        where = self.name or "at(" + ", ".join(f"{x:g}" if not isinstance(x, str) else x for x in self.position) + ")"
        return f"{self.body.name}.{where}"


@dataclass(eq=False)
class Body:
    """A body of a mechanism, created by the mechanism's methods."""

    mechanism: "Mechanism"
    name: str
    parts: list[Part] = field(default_factory=list)
    markers: dict[str, Marker] = field(default_factory=dict)

    @checked(MechanismError)
    def at(
        self, x: Length = 0.0, y: Length = 0.0, z: Length = 0.0, rotation: Any = None, name: str | None = None
    ) -> Marker:
        """A marker at (x, y, z) in the body's axes; the columns of `rotation` are the marker's axes in the body's axes.

        A named marker is available as `body.name`, and in files.
        """
        where = f"marker on {self.name!r}"
        if name is not None and (name in self.markers or name in dir(type(self)) or name in _FIELDS):
            raise MechanismError(
                f"{where}: the name {name!r} is already used on this body or on every body; choose another"
            )
        position = tuple(c if isinstance(c, str) else number(c, where) for c in (x, y, z))
        marker = Marker(self, position, _axes(rotation, where), name)  # type: ignore[arg-type]
        if name is not None:
            self.markers[name] = marker
        return marker

    @checked(MechanismError)
    def add(self, name: str, solid: Solid, at: Iterable[Length] = (0.0, 0.0, 0.0), rotation: Any = None) -> "Body":
        """Adds a solid to the body; its parameters are `body.name.mass` and so on."""
        where = f"solid {name!r} on {self.name!r}"
        position = tuple(c if isinstance(c, str) else number(c, where) for c in at)
        if len(position) != 3:
            raise MechanismError(f"{where}: at takes three numbers")
        axes = None if rotation is None else _axes(rotation, where)
        self.parts.append(Part(name, solid, position, axes))  # type: ignore[arg-type]
        return self

    @checked(MechanismError)
    def point_mass(self, name: str, mass: float, at: Iterable[Length]) -> "Body":
        """Adds a point mass to the body."""
        return self.add(name, PointMass(mass), at)

    def __getattr__(self, name: str) -> Marker:
        markers = self.__dict__.get("markers", {})
        if name in markers:
            return markers[name]
        known = ", ".join(markers) or "none"
        raise AttributeError(
            f"body {self.__dict__.get('name')!r} has no marker {name!r} (it has {known}); make one with at(x, y, z)"
        )

    @property
    def beam(self) -> "Beam | None":
        """The beam, if this body is one, else None."""
        solid = self.parts[0].solid if self.parts and not self.parts[0].name else None
        return solid if solid is not None and solid.flexible else None  # type: ignore[return-value]

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values of all its solids by path."""
        return {part.path(self.name, n): x for part in self.parts for n, x in part.solid.parameters().items()}

    @checked(MechanismError)
    def inertia(self, value: Values) -> RigidInertia:
        """The inertia of all its solids about the body's origin."""
        total = RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))
        for part in self.parts:
            total = total + part.inertia(self.name, value)
        return total

    def __repr__(self) -> str:
        return f"Body({self.name!r})"


_FIELDS = {part.name for part in fields(Body)}


def _axes(rotation: Any, where: str) -> np.ndarray:
    try:
        axes = np.eye(3) if rotation is None else np.array(rotation, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise MechanismError(f"{where}: rotation must be a 3 x 3 matrix of numbers") from error
    if axes.shape != (3, 3):
        raise MechanismError(f"{where}: rotation must be a 3 x 3 matrix, not {axes.shape}")
    return axes
