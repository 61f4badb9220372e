"""Paths: parameter paths of the numbers that a topology adds to those of its mechanism."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kempe.mechanism.couplings import Coupling
    from kempe.mechanism.joint import Joint


def lock_paths(at: int) -> tuple[str, str]:
    """Paths of a lock on a freedom of the tree: whether it is on, and the coordinate at which it holds."""
    return f"lock.{at}.on", f"lock.{at}.at"


def spring_paths(part: "Joint | Coupling") -> tuple[str, str, str]:
    """Paths of a spring that holds a cut or a coupling: its stiffness, its damping, and the size that scales
    rotations.
    """
    return tuple(f"{part.name}.spring.{n}" for n in ("stiffness", "damping", "size"))  # type: ignore[return-value]
