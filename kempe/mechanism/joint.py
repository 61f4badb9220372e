"""Joint: a joint of a mechanism, between two markers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from kempe.arithmetic.sums import times
from kempe.mechanism.axes import alignment
from kempe.mechanism.bodies import Marker, Values
from kempe.mechanism.joints import Helical, JointKind
from kempe.spatial.moves import Moves, shift_of, turns_of

PER_FREEDOM = ("damping", "stiffness", "rest", "armature")
PerFreedom = float | Sequence[float] | Mapping[str, float]  # one for all freedoms, one for each, or by name


class Options(TypedDict, total=False):
    """What every joint takes.

    actuated: True, or the names of driven freedoms. limits: (low, high). damping, stiffness, rest, armature: a number
    for all freedoms, or one for each. drawn: where the joint stands as the mechanism is drawn, if not at zero; states
    begin there. switchable: True for a joint that can be switched off and on in a run, "open" for one that is off at
    the start.
    """

    actuated: bool | str | Iterable[str]
    limits: Any
    damping: PerFreedom
    stiffness: PerFreedom
    rest: PerFreedom
    armature: PerFreedom
    drawn: PerFreedom
    switchable: bool | str


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two markers. Everything per freedom is a tuple with one entry for each.

    switchable: whether it can be switched on and off while the mechanism moves; on: whether it is on at the start.
    drawn: the coordinates at which the mechanism is drawn, where its states begin; all zero where there is none.
    """

    name: str
    type: type[JointKind]
    a: Marker
    b: Marker
    axes: tuple[np.ndarray, ...]
    actuated: tuple[bool, ...]
    limits: tuple[tuple[float, float] | None, ...]
    damping: tuple[float, ...]
    stiffness: tuple[float, ...]
    rest: tuple[float, ...]
    armature: tuple[float, ...]
    pitch: float | None = None
    switchable: bool = False
    on: bool = True
    drawn: tuple[float, ...] = ()

    def kind(self, value: Values) -> JointKind:
        """Its kind, with parameters put in."""
        return Helical(value(f"{self.name}.pitch")) if self.type is Helical else self.type()

    @property
    def rows(self) -> int:
        """How many equations it is where it closes a loop."""
        return 6 - len(self.type.v_names)

    def paths(self, quantity: str) -> list[str]:
        """The parameters of a quantity that every freedom has, such as `damping`; springs want an angle or a slide."""
        if quantity in ("stiffness", "rest") and len(self.type.q_names) != len(self.type.v_names):
            return []
        return [".".join(p for p in (self.name, freedom, quantity) if p) for freedom in self.type.v_names]

    @property
    def parameters(self) -> dict[str, float]:
        """Paths and values."""
        named = {path: x for n in PER_FREEDOM for path, x in zip(self.paths(n), getattr(self, n), strict=False)}
        return named | ({f"{self.name}.pitch": self.pitch} if self.pitch is not None else {})

    def frame(self, marker: Marker, value: Values) -> Moves:
        """From the body's frame, or a beam's section, to the joint's frame on it, canonical axes along the joint's."""
        return *shift_of(marker.offset(value)), *turns_of(times(marker.rotation, alignment(self.type, self.axes)))

    def __str__(self) -> str:
        return f"{self.type.name} {self.name} ({self.a} - {self.b})"
