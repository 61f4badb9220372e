"""Scale: a length, a mass and a time of a mechanism, by which all quantities with units are measured.

Problem. What is small depends on what it is compared with, and a mechanism may be a micrometre or a kilometre large,
in any units.

Must. The same physics in other units has the same scale in those units; so does a mechanism that is shifted, turned or
described in another order, except for rounding. A distance between two places meant to coincide, which may be due to
rounding alone, is not a length.

Should. The length is that of the links: about the distance by which a joint coordinate moves other bodies.

Discussion. Lengths are searched in tiers, and the first tier that has any gives its largest: distances between joints
on one body; between these, centres of mass and places of loads; radii of gyration, springs, pitches and strokes.
Distances not well above the rounding of the largest coordinate anywhere are ignored. If no tier has any, that
coordinate is the length; if it is zero too, no length matters, and it is 1 m. All sums are in a fixed order, since
sizes enter programs as constants.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.sums import norm
from kempe.mechanism.bodies import Body, Hub, Values
from kempe.mechanism.loads import Spring

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism

ROUNDED = 1e-9  # of the largest coordinate: a distance up to this may be due to rounding

Points = dict[Body, list[np.ndarray]]


@dataclass(frozen=True)
class Scale:
    """A typical length [m], mass [kg] and time [s] of a mechanism; each is positive."""

    length: float
    mass: float
    time: float

    @property
    def speed(self) -> float:
        """m/s."""
        return self.length / self.time

    @property
    def energy(self) -> float:
        """J; also for moments, N m."""
        return self.mass * self.speed * self.speed

    @property
    def force(self) -> float:
        """N."""
        return self.mass * self.length / (self.time * self.time)

    def of(self, unit: str) -> float:
        """A typical value of a coordinate in this unit: a radian, or the length."""
        return 1.0 if unit == "rad" else self.length


def scale(mechanism: "Mechanism", values: Values) -> Scale:
    """The scale of a mechanism whose parameters have these values."""
    length = _length(mechanism, values)
    mass = _mass(mechanism, values, length)
    return Scale(length, mass, _time(mechanism, values, length, mass))


# ---- length ----------------------------------------------------------------------------------------------


def _length(m: "Mechanism", values: Values) -> float:
    joints, others = _joint_places(m, values), _other_places(m, values)
    together = {body: [*joints.get(body, ()), *others.get(body, ())] for body in (*joints, *others)}
    largest = max((float(np.abs(x).max()) for points in together.values() for x in points), default=0.0)
    tiers = ((_widest(points) for points in joints.values()), (_widest(points) for points in together.values()),
             _sizes(m, values))  # fmt: skip
    for tier in tiers:
        found = max(tier, default=0.0)
        if found > ROUNDED * largest:
            return found
    return largest or 1.0


def _joint_places(m: "Mechanism", values: Values) -> Points:
    found: Points = {}
    for joint in m.joints:
        for marker in (joint.a, joint.b):
            found.setdefault(marker.body, []).append(np.array(marker.origin(values), dtype=float))
    return found


def _other_places(m: "Mechanism", values: Values) -> Points:
    """Centres of mass, and where loads act."""
    found: Points = {}
    for body in m.bodies:
        inertia = body.inertia(values)
        if inertia.mass:
            found[body] = [np.array(inertia.moment / inertia.mass, dtype=float)]
    for load in m.loads:
        for marker in (load.a, load.b) if isinstance(load, Spring) else (load.marker,):
            found.setdefault(marker.body, []).append(np.array(marker.origin(values), dtype=float))
    return found


def _widest(points: list[np.ndarray]) -> float:
    """The largest distance between two points."""
    spread = np.array(points)
    return float(norm(spread[:, None] - spread[None]).max())


def _sizes(m: "Mechanism", values: Values) -> Iterator[float]:
    """Lengths that are not distances between places."""
    for body in m.bodies:
        for part in body.parts:
            if not isinstance(part.solid, Hub):
                own = part.solid.inertia(lambda name, part=part, body=body: values(part.path(body.name, name)))
                if own.mass > 0:
                    yield sqrt(max(float(own.tensor[0, 0] + own.tensor[1, 1] + own.tensor[2, 2]), 0.0) / own.mass)
    yield from (abs(load.length) for load in m.loads if isinstance(load, Spring))
    for joint in m.joints:
        yield abs(joint.pitch or 0.0)
        for unit, pair in zip(joint.type.units, joint.limits, strict=False):
            if unit == "m" and pair is not None:
                yield max((abs(x) for x in pair if isfinite(x)), default=0.0)


# ---- mass and time ---------------------------------------------------------------------------------------


def _mass(m: "Mechanism", values: Values, length: float) -> float:
    """The largest mass of a body; if none has any, the mass that has the largest moment of inertia, or armature, at the
    length.
    """
    inertias = [body.inertia(values) for body in m.bodies]
    heaviest = max((abs(float(x.mass)) for x in inertias), default=0.0)
    if heaviest:
        return heaviest
    moments = [abs(float(x.tensor[k, k])) for x in inertias for k in range(3)]
    return max(_over(moments, length * length), _along(m, values, "armature", length)) or 1.0


def _time(m: "Mechanism", values: Values, length: float, mass: float) -> float:
    """The time to fall by the length; without gravity, that of the stiffest spring, or of the strongest damper."""
    pull = float(norm(np.array([values(f"gravity.{k}") for k in "xyz"], dtype=float)))
    if pull > 0:
        return sqrt(length / pull)
    springs = [load for load in m.loads if isinstance(load, Spring)]
    stiffness = max(
        _along(m, values, "stiffness", length), max((values(f"{x.name}.stiffness") for x in springs), default=0.0)
    )
    if stiffness > 0:
        return sqrt(mass / stiffness)
    damping = max(
        _along(m, values, "damping", length), max((values(f"{x.name}.damping") for x in springs), default=0.0)
    )
    return mass / damping if damping > 0 else 1.0


def _over(numbers: Iterable[float], unit: float) -> float:
    return max(numbers, default=0.0) / unit


def _along(m: "Mechanism", values: Values, quantity: str, length: float) -> float:
    """The largest value of a quantity that joints have along their freedoms, converted to a slider."""
    return max((_at(joint, path, unit, values, length) for joint in m.joints
                for path, unit in zip(joint.paths(quantity), joint.type.units, strict=False)), default=0.0)  # fmt: skip


def _at(joint: "Joint", path: str, unit: str, values: Values, length: float) -> float:
    return abs(values(path)) / (length * length if unit == "rad" else 1.0)
