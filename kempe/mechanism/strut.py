"""Struts: a hydraulic cylinder or linear actuator between two points, with bodies and joints created in one call."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.arithmetic.sums import norm, times
from kempe.errors import MechanismError
from kempe.kinds import short
from kempe.mechanism.bodies import Body, Cylinder, Marker
from kempe.mechanism.given import numbers

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism

# Fractions of the shortest length: the length of the barrel, and the part of the rod that stays inside at full length.
REACH, INSIDE = 0.9, 0.15


@dataclass(frozen=True, eq=False)
class Strut:
    """The parts of a strut. The slider has the strut's name; its coordinate is the strut's length."""

    barrel: Body
    rod: Body
    foot: "Joint"
    slider: "Joint"
    head: "Joint"


def strut(m: "Mechanism", name: str, a: Marker, b: Marker, stroke, mass, radius, axis, **options: Any) -> Strut:
    """See `Mechanism.strut`."""
    where = f"strut {name!r}"
    shortest, longest = numbers(stroke, 2, f"{where}: stroke, its shortest and longest length")
    if not 0 < shortest < longest:
        raise MechanismError(f"{where}: its lengths {shortest:g} and {longest:g} must be positive and increasing")
    masses = (0.7 * mass, 0.3 * mass) if np.ndim(mass) == 0 else numbers(mass, 2, f"{where}: mass, of barrel and rod")
    if not all(x >= 0 for x in masses):
        raise MechanismError(
            f"{where}: mass takes one number, or two for barrel and rod, not negative (0: a pure force); not "
            f"{short(mass)}"
        )
    radius = shortest / 20 if radius is None else float(radius)
    barrel, rod = m.solid(f"{name} barrel"), m.solid(f"{name} rod")
    # Both lie along their own z axis: the barrel starts at a, the rod ends at b.
    own, reach = REACH * shortest, longest - shortest + INSIDE * shortest
    barrel.add("tube", Cylinder(own, radius, masses[0]), at=(0, 0, own / 2))
    rod.add("bar", Cylinder(reach, 0.6 * radius, masses[1]), at=(0, 0, -reach / 2))
    if axis is None:
        foot = m.universal(f"{name} foot", a, barrel.at(0, 0, 0))
        head = m.spherical(f"{name} head", rod.at(0, 0, 0), b)
    else:
        turned = _across(np.array(numbers(axis, 3, f"{where}: axis")), where)
        foot = m.revolute(f"{name} foot", a, barrel.at(0, 0, 0, rotation=turned), axis=axis)
        head = m.revolute(f"{name} head", rod.at(0, 0, 0, rotation=turned), b, axis=axis)
    given = {"actuated": True, "limits": (shortest, longest), **options}
    slider = m.prismatic(name, barrel.at(0, 0, 0), rod.at(0, 0, 0), **given)
    return Strut(barrel, rod, foot, slider, head)


def _across(axis: np.ndarray, where: str) -> np.ndarray:
    """Marker axes on a body whose z axis is perpendicular to `axis`: at angle zero the strut is perpendicular to it."""
    if axis.shape != (3,) or not norm(axis) > 0:
        raise MechanismError(f"{where}: axis takes a direction such as (0, 0, 1), not {axis!r}")
    y = axis / norm(axis)
    first = np.eye(3)[int(np.abs(y).argmin())]
    z = first - y * times(y, first)
    z /= norm(z)
    body = np.column_stack([np.cross(y, z), y, z])  # the body's axes in those of marker a
    return body.T
