"""Beams: slender bodies that bend, the joint that their coordinates form, and the motion of their sections.

Every section of a beam is a frame that shifts and turns with the coordinates eta of the beam. It acts as a joint, with
as many freedoms as the beam has coordinates, between the frame in which deflections are measured and the section.
Anything attached at x moves with the section at x; the beam itself hangs on the section at which its own joint is.
"""

import copyreg
from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import Chebyshev

from kempe.arithmetic.sums import times
from kempe.errors import MechanismError
from kempe.kinds import short
from kempe.mechanism.bodies import FRAME, Body, Length, Marker, Solid, Values, tensor_matrix
from kempe.mechanism.given import number
from kempe.mechanism.joint import Joint
from kempe.mechanism.joints import JointKind
from kempe.mechanism.ritz import ALONG, MOST, NAMED, Coefficients, Integrals, chebyshev, integrals, named, polynomial
from kempe.spatial.bending import BeamInertia
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Turn, shift_of, spin_along
from kempe.spatial.vectors import (
    Scalar,
    Vector,
    array,
    cos,
    cross,
    dot,
    is_symbolic,
    is_zero,
    matrix,
    scaled,
    sin,
)

if TYPE_CHECKING:
    from kempe.mechanism.mechanism import Mechanism

Shape = str | Sequence[Callable[[float], float] | Sequence[float]]
LETTERS = "eta", "zeta"  # coordinates along y, along z
SWAY = 0.02  # fraction of the length: the size of coordinates in random states


@dataclass(frozen=True)
class Beam(Solid):
    """A straight uniform beam along +x from its origin that bends along y, or along y and z.

    E [N/m^2], I [m^4]: one second moment of area, or two, for bending along y and along z; rho [kg/m^3], A [m^2].
    modes: number of shapes along y (and z). shape: for each direction a name ("pinned-pinned", "cantilever", "free") or
    coefficients of Chebyshev polynomials on 0..1. damping [s]: material damping, stress from strain rate relative to
    strain. stiffening: whether bending draws points of the beam towards its origin, since the beam keeps its length.
    """

    length: float
    E: float
    I: float | tuple[float, ...]  # noqa: E741 (the usual name of a second moment of area)
    rho: float
    A: float
    modes: int | tuple[int, ...] = 2
    shape: Any = "pinned-pinned"
    damping: float = 0.0
    stiffening: bool = True
    kind = "beam"
    flexible = True

    def __post_init__(self):
        area = self.I if isinstance(self.I, (tuple, list, np.ndarray)) else (self.I,)
        directions = len(area)
        if directions not in (1, 2):
            raise MechanismError(f"I takes one number, or two for bending along y and z, not {directions}")
        shapes = _each_way(self.shape, directions)
        counts = self.modes if isinstance(self.modes, (tuple, list)) else (self.modes,) * directions
        if len(counts) != directions:
            raise MechanismError(f"modes takes one number, or as many as I has, not {short(self.modes)}")
        shapes = tuple(_shapes(shape, count) for shape, count in zip(shapes, counts, strict=True))
        counts = tuple(count if isinstance(x, str) else len(x) for x, count in zip(shapes, counts, strict=True))
        if not sum(counts):
            raise MechanismError("modes is zero in all directions; for a body that does not bend use a rod")
        numbers = {n: number(getattr(self, n), n) for n in ("length", "E", "rho", "A", "damping")}
        area = tuple(number(x, "I") for x in area)
        kept = {"I": area, "modes": counts, "shape": shapes}
        if directions == 1:
            kept = {name: only for name, (only,) in kept.items()}
        for name, value in (numbers | kept | {"stiffening": bool(self.stiffening)}).items():
            object.__setattr__(self, name, value)

    def parameters(self):
        """All numbers; the number of modes and their shapes are not parameters."""
        area = dict(zip(("I.y", "I.z"), self.I, strict=True)) if isinstance(self.I, tuple) else {"I": self.I}
        numbers = {n: getattr(self, n) for n in ("length", "E", "rho", "A", "damping")}
        return numbers | area

    @property
    def counts(self) -> tuple[int, int]:
        """The number of coordinates along y and along z."""
        return self.modes if isinstance(self.modes, tuple) else (self.modes, 0)  # type: ignore[return-value]

    @property
    def integrals(self) -> Integrals:
        """The integrals of its shapes."""
        given = self.shape if isinstance(self.I, tuple) else (self.shape, ())
        pairs = zip(given, self.counts, strict=True)
        return integrals(tuple(tuple(named(x, k + 1) for k in range(n)) if isinstance(x, str) else x for x, n in pairs))

    def inertia(self, value):
        """The inertia of the straight beam."""
        length = value("length")
        mass = value("rho") * value("A") * length
        across = mass * length * length / 3
        return RigidInertia(mass, array((0.5 * mass * length, 0.0, 0.0)), tensor_matrix(0.0, across, across))

    def bending(self, value: Values) -> BeamInertia:
        """Inertia and stiffness of the bending beam: integrals over its length, scaled from those over unit length."""
        unit, length = self.integrals, value("length")
        line = value("rho") * value("A")
        mass = line * length
        areas = [value("I.y"), value("I.z")] if isinstance(self.I, tuple) else [value("I")]
        rigidity = [scaled(1.0 / (length * length * length), array([value("E") * area]))[0] for area in areas]
        factors = array(rigidity[k] for k in unit.plane)
        grid = array(f * x for f, row in zip(factors, unit.curvature, strict=True) for x in row)
        on = 1.0 if self.stiffening else 0.0
        return BeamInertia(
            unit.plane,
            mass,
            0.5 * mass * length,
            mass * length * length / 3,
            scaled(mass, unit.whole),
            scaled(mass * length, unit.lever),
            scaled(mass, unit.overlap),
            scaled(line, on * unit.shortened),
            scaled(mass, on * unit.sunk),
            grid.reshape(unit.curvature.shape),
            value("damping"),
        )

    def section(self, x: Scalar | None, value: Values) -> "Section":
        """The motion of the section at x; None: the frame itself, which does not move."""
        unit, length, size = self.integrals, value("length"), len(self.integrals.plane)
        kind = bending(*self.counts)
        if x is None:
            nothing = (0.0,) * size
            return kind(0.0, nothing, nothing, ((0.0,) * size,) * size, _sway(length))
        s = 1.0 if x is length else x / length
        values = tuple(_at(f, s) for f in unit.shapes)
        slopes = tuple(_at(f.deriv(), s) / length for f in unit.shapes)
        known = unit.shortening if self.stiffening else {}
        pairs = [[known.get((i, j)) for j in range(size)] for i in range(size)]
        short = tuple(tuple(0.0 if f is None else _at(f, s) / length for f in row) for row in pairs)
        return kind(x, values, slopes, short, _sway(length))


def _sway(length: Scalar) -> float:
    return SWAY if is_symbolic(length) else SWAY * float(length)


def _at(shape: Chebyshev, s: Scalar) -> Scalar:
    """The value of a polynomial, made exactly zero where it is zero up to rounding."""
    coefficients = [float(np.real(c)) for c in shape.coef]
    found = chebyshev(coefficients, s)
    return 0.0 if not is_symbolic(found) and abs(found) < 1e-12 * max(map(abs, coefficients)) else found


def _each_way(shape: Any, directions: int) -> tuple:
    """A shape for each direction: given as one for all, by letter, or as read from a file."""
    if isinstance(shape, Mapping):
        wanted = ALONG[:directions]
        if set(shape) != set(wanted):
            raise MechanismError(f"shape takes one for each of {', '.join(wanted)}, not {', '.join(shape)}")
        return tuple(shape[along] for along in wanted)
    if isinstance(shape, (tuple, list)) and len(shape) == directions and all(_is_shape(x) for x in shape):
        return tuple(shape)
    return (shape,) * directions


def _is_shape(x: Any) -> bool:
    """Whether x gives the shapes of one direction: a name, or a list of functions or of lists of numbers."""
    return isinstance(x, str) or (
        isinstance(x, (tuple, list)) and all(callable(f) or isinstance(f, (tuple, list)) for f in x)
    )


def _shapes(shape: Any, count: Any) -> str | tuple[Coefficients, ...]:
    """A known name (with a valid number of modes), or the polynomials of functions or of lists of numbers."""
    if isinstance(shape, str):
        if shape not in NAMED:
            raise MechanismError(f"there is no shape {shape!r}; there are {', '.join(NAMED)}, or functions")
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count <= MOST:
            raise MechanismError(f"modes takes a whole number up to {MOST}, not {short(count)}")
        return shape
    if not isinstance(shape, (tuple, list)) or not shape:
        raise MechanismError(f"shape takes a name ({', '.join(NAMED)}) or a list of functions, not {short(shape)}")
    return tuple(polynomial(f, "shape") if callable(f) else _coefficients(f) for f in shape)


def _coefficients(given: Any) -> Coefficients:
    if not isinstance(given, (tuple, list, np.ndarray)) or np.ndim(given) != 1:
        raise MechanismError(f"shape: {short(given)} is neither a function nor a row of coefficients")
    return tuple(number(x, "shape") for x in given)


# ---- sections -------------------------------------------------------------------------------------------------


class _Bending(ABCMeta):
    """The metaclass of section kinds, which differ in their number of coordinates and are pickled by it."""


@dataclass(frozen=True)
class Section(JointKind, metaclass=_Bending):
    """The motion of the section at x in the beam's frame: it shifts by the deflection and its foreshortening, and turns
    about z by v', then about y by -w'.

    shapes, slopes: values of the shapes at x and their derivatives by x. short: integrals of products of slopes up to
    x. sway [m]: size of coordinates in random states.
    """

    x: Scalar
    shapes: tuple[Scalar, ...]
    slopes: tuple[Scalar, ...]
    short: tuple[tuple[Scalar, ...], ...]
    sway: float

    name = "beam"
    q_names = v_names = ()
    units = ()
    plane = ()

    def _along(self, values: Sequence[Scalar], direction: int) -> Vector:
        return array(x if k == direction else 0.0 for k, x in zip(self.plane, values, strict=True))

    def _parts(self, p: Vector) -> tuple[Vector, Turn, Turn]:
        """The coordinates and both turns."""
        size = len(self.plane)
        return p[:size], Turn(2, p[size], p[size + 1]), Turn(1, p[size + 2], p[size + 3])

    def posture(self, q):
        """q, then cosines and sines of both turns."""
        about_z, about_y = dot(self._along(self.slopes, 0), q), -dot(self._along(self.slopes, 1), q)
        return array((*q, cos(about_z), sin(about_z), cos(about_y), sin(about_y)))

    def moves(self, p):
        """A shift, then turns about z and y."""
        eta, *turns = self._parts(p)
        back = 0.5 * dot(eta, times(matrix(self.short), eta))
        place = (self.x - back, *(dot(self._along(self.shapes, k), eta) for k in (0, 1)))
        return *shift_of(array(place)), *(turn for turn in turns if not is_zero(turn.s))

    def subspace(self, p):
        """Angular velocity from slopes, velocity from shapes and foreshortening."""
        eta, _, about_y = self._parts(p)
        z = about_y.along(array((0.0, 0.0, 1.0)))
        back = times(matrix(self.short), eta)
        moves = self.moves(p)
        spins, velocities = [], []
        for k, f, slope, nearer in zip(self.plane, self.shapes, self.slopes, back, strict=True):
            spins.append(array((0.0, -slope, 0.0)) if k else scaled(slope, z))
            velocities.append(spin_along(moves, array((-nearer, 0.0, f) if k else (-nearer, f, 0.0))))
        return matrix(spins).T, matrix(velocities).T

    def bias(self, p, v):
        """The first axis moves in the section's axes, foreshortening is quadratic, and the axes turn."""
        _, _, about_y = self._parts(p)
        rates = dot(self._along(self.slopes, 0), v), -dot(self._along(self.slopes, 1), v)
        spin = scaled(rates[0] * rates[1], array((-about_y.c, 0.0, -about_y.s)))
        angular, linear = self.subspace(p)
        grown = array((-dot(v, times(matrix(self.short), v)), 0.0, 0.0))
        return spin, spin_along(self.moves(p), grown) - cross(times(angular, v), times(linear, v))

    def complement(self, p):
        """All wrenches: a section transmits everything that acts on it."""
        return np.eye(6)

    def random(self, rng):
        """A slightly bent beam."""
        return self.sway * rng.uniform(-1, 1, self.nq)


@cache
def bending(along_y: int, along_z: int) -> type[Section]:
    """The section kind of beams with these numbers of coordinates."""
    counts = along_y, along_z
    names = tuple(f"{letter}{k + 1}" for letter, count in zip(LETTERS, counts, strict=True) for k in range(count))
    plane = tuple(k for k, count in enumerate(counts) for _ in range(count))
    own = {"q_names": names, "v_names": names, "units": ("m",) * len(names), "plane": plane}
    made: Any = _Bending("Section", (Section,), own | {"__doc__": Section.__doc__, "__module__": __name__})
    return made


def _reduced(kind: Any) -> Any:
    """How a section kind is pickled: as a call of `bending`, or as the name of the base class."""
    return (bending, tuple(kind.plane.count(k) for k in (0, 1))) if kind.plane else "Section"


copyreg.pickle(_Bending, _reduced)


# ---- the joint of a beam's coordinates ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BeamJoint(Joint):
    """The joint, with the beam's name and coordinates, between its frame a and the section b on which it hangs."""

    def kind(self, value: Values) -> JointKind:
        """The motion of that section."""
        return section_at(self.a.body, None if self.b.name == FRAME else self.b.position[0], value)

    def paths(self, quantity: str) -> list[str]:
        """None: stiffness and damping are parameters of the beam."""
        return []


def beam_joint(body: Body, hung: Marker) -> tuple[BeamJoint, Body]:
    """The joint of a beam that hangs on a joint at marker `hung`, and the section there as a body (its root)."""
    assert body.beam is not None
    root = Body(body.mechanism, body.name, [], body.markers)
    kind, size = bending(*body.beam.counts), sum(body.beam.counts)
    none = (0.0,) * size
    ends = body.markers[FRAME], replace(hung, body=root)
    return BeamJoint(body.name, kind, *ends, (), (False,) * size, (None,) * size, none, none, none, none), root


def section(marker: Marker, value: Values) -> Section:
    """The motion, in the beam's frame, of the section that carries a marker of the beam."""
    return section_at(marker.body, marker.station, value)


def section_at(body: Body, station: Length | None, value: Values) -> Section:
    """The same by station along the beam; None for the frame itself."""
    assert body.beam is not None
    x = value(station) if isinstance(station, str) else station
    return body.beam.section(x, lambda name: value(body.parts[0].path(body.name, name)))


def beam(mechanism: "Mechanism", name: str, length, E, I, rho, A, modes, shape, **options) -> Body:  # noqa: E741
    """Creates a body that is a beam; see `Mechanism.beam`."""
    try:
        solid = Beam(length, E, I, rho, A, modes, shape, **options)
    except MechanismError as error:
        raise MechanismError(f"beam {name!r}: {error}") from error
    return beam_body(mechanism, name, solid)


def beam_body(mechanism: "Mechanism", name: str, solid: Beam) -> Body:
    """Creates a body from this beam, with markers at its ends."""
    body = mechanism.solid(name, solid)
    body.at(0.0, 0.0, 0.0, name="start")
    body.at(f"{name}.length", 0.0, 0.0, name="end")
    return body
