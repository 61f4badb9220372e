"""Couplings: linear equations between joint coordinates, as for gears, racks and mimic joints."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from kempe.errors import MechanismError
from kempe.kinds import is_number, short
from kempe.mechanism.joints import JointKind

if TYPE_CHECKING:
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Term:
    """One freedom of a joint (by index) and the coefficient of its coordinate."""

    joint: "Joint"
    freedom: int
    coefficient: float

    @property
    def name(self) -> str:
        """The name of the coordinate: the joint's, or joint.freedom where it has several."""
        return freedom_name(self.joint, self.freedom)


@dataclass(frozen=True, eq=False)
class Coupling:
    """An equation between joints: the sum of coefficients times coordinates is `offset`."""

    name: str
    terms: tuple[Term, ...]
    offset: float = 0.0

    @property
    def coefficients(self) -> dict[str, float]:
        """Coefficients by coordinate name."""
        return {term.name: term.coefficient for term in self.terms}

    @property
    def paths(self) -> tuple[str, ...]:
        """Parameter paths of the coefficients, then of the offset; `offset.coefficient` for a joint named `offset`."""
        names = (f"{term.name}.coefficient" if term.name == "offset" else term.name for term in self.terms)
        return (*(f"{self.name}.{name}" for name in names), f"{self.name}.offset")

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by path."""
        return dict(zip(self.paths, (*self.coefficients.values(), self.offset), strict=True))

    @property
    def size(self) -> float:
        """The largest coefficient, by which its equation is divided."""
        return max(abs(term.coefficient) for term in self.terms)

    @property
    def unit(self) -> str:
        """The unit of its residual, so divided: that of the coordinate with the largest coefficient."""
        largest = max(self.terms, key=lambda term: abs(term.coefficient))
        return largest.joint.type.units[largest.freedom]

    def __str__(self) -> str:
        terms = " + ".join(f"{term.coefficient:.6g} {term.name}" for term in self.terms).replace("+ -", "- ")
        return f"{terms} = {self.offset:.6g}"


def freedom_name(joint: "Joint", freedom: int) -> str:
    """The joint's name, followed by the freedom's where it has several."""
    return ".".join(part for part in (joint.name, joint.type.v_names[freedom]) if part)


def coupling(mechanism: "Mechanism", name: str, coefficients: Mapping[str, float], offset: float) -> Coupling:
    """A coupling of joints that already exist, each named once."""
    where = f"coupling {name!r}"
    if name == "gravity":
        raise MechanismError(f"{where}: gravity.x is already a parameter of gravity; give the coupling another name")
    if not coefficients:
        raise MechanismError(f"{where}: give coefficients by joint, such as {{'pinion': 0.05, 'rack': -1}}")
    freedoms = {freedom_name(j, k): (j, k) for j in mechanism.joints for k in range(len(j.type.v_names))}
    terms = tuple(_term(mechanism, freedoms, where, str(key), value) for key, value in coefficients.items())
    if not isfinite(offset):
        raise MechanismError(f"{where}: offset is {offset!r}; give a finite number")
    return Coupling(name, terms, float(offset))


def _term(mechanism: "Mechanism", freedoms: Mapping[str, tuple["Joint", int]], where: str, key: str, value) -> Term:
    if not is_number(value) or not isfinite(value) or value == 0:
        raise MechanismError(f"{where}: the coefficient of {key!r} must be a nonzero number, not {short(value)}")
    if key in freedoms:
        _accept(where, freedoms[key][0])
        return Term(*freedoms[key], float(value))
    named = next((joint for joint in mechanism.joints if joint.name == key), None)
    if named is None:
        known = ", ".join(joint.name for joint in mechanism.joints) or "none yet"
        raise MechanismError(f"{where}: there is no joint {key!r}; there are {known}")
    _accept(where, named)
    choices = ", ".join(freedom_name(named, k) for k in range(len(named.type.v_names)))
    raise MechanismError(
        f"{where}: joint {key!r} has {'several freedoms: name one of ' + choices if choices else 'no freedom'}"
    )


def _accept(where: str, joint: "Joint") -> None:
    """Refuses joints with quaternions as coordinates, and switchable joints."""
    if joint.type.integrate is not JointKind.integrate:
        raise MechanismError(
            f"{where}: a {joint.type.name} joint such as {joint.name!r} has a quaternion as coordinates, which cannot "
            "be scaled like an angle; couple joints that turn about axes, or slide"
        )
    if joint.switchable:
        raise MechanismError(f"{where}: joint {joint.name!r} can be switched off, so it cannot be coupled")
