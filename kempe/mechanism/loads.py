"""Loads: springs and dampers between two points, and wrenches applied at a marker."""

from dataclasses import dataclass

from kempe.mechanism.bodies import Marker


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring and damper along the line between the origins of two markers; it pulls when longer than `length`."""

    name: str
    a: Marker
    b: Marker
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by path."""
        return {f"{self.name}.{n}": float(getattr(self, n)) for n in ("stiffness", "damping", "length")}


@dataclass(frozen=True, eq=False)
class Wrench:
    """A constant force and moment on a body at a marker, in world axes, or in the marker's axes if it follows."""

    name: str
    marker: Marker
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moment: tuple[float, float, float] = (0.0, 0.0, 0.0)
    follows: bool = False

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by path."""
        parts = {"force": self.force, "moment": self.moment}
        return {f"{self.name}.{n}.{k}": float(x) for n, xyz in parts.items() for k, x in zip("xyz", xyz, strict=True)}
