"""Rows: what a kind of joint holds: positions along its axes, axes at right angles, or all rotation."""

from dataclasses import dataclass

from kempe.mechanism.joints import (
    Cylindrical,
    Fixed,
    Free,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)


@dataclass(frozen=True)
class Rows:
    """What a kind of joint holds: positions along axes of a; entries of R; and whether it does not turn at all.

    upright: the entry of R that must be positive, which distinguishes an axis from its opposite.
    """

    places: tuple[int, ...] = ()
    entries: tuple[tuple[int, int], ...] = ()
    locked: bool = False
    upright: tuple[int, int] | None = None


ALIGNED = ((0, 2), (1, 2))  # b's z is normal to a's x and y
ROWS: dict[type[JointKind], Rows] = {
    Revolute: Rows((0, 1, 2), ALIGNED, upright=(2, 2)),
    Prismatic: Rows((0, 1), locked=True),
    Cylindrical: Rows((0, 1), ALIGNED, upright=(2, 2)),
    Universal: Rows((0, 1, 2), ((0, 1),)),  # b's y is normal to a's x
    Spherical: Rows((0, 1, 2)),
    Planar: Rows((2,), ALIGNED, upright=(2, 2)),
    Free: Rows(),
    Fixed: Rows((0, 1, 2), locked=True),
}
