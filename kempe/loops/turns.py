"""Turns: residuals that vanish only where joints are closed the right way, from those of `closure`.

If a joint constrains an axis, or all rotation, phi has the sines of the angle, s = n sin(t): half a turn is also a
zero, and leads many descents astray. With cos(t), which `upright` gives,

    e = s / cos(t/2) = 2 n sin(t/2)

is largest there. Its rates follow from cos(t) decreasing by s . ds / cos(t) as s changes by ds:

    de = ds / cos(t/2) + s (s . ds) / (4 cos(t) cos(t/2)^3)

except near a right angle, where s says nothing about t: there cos(t) is kept a little away from zero.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kempe.dynamics.rows import ROWS

if TYPE_CHECKING:
    from kempe.loops.matrices import Matrix
    from kempe.mechanics.mechanics import Mechanics

ACROSS = 0.05  # least absolute cosine
OVER = 1e-3  # least cosine of half an angle


@dataclass(frozen=True)
class Turn:
    """The rows of phi that constrain a rotation, the number of the loop, whether it constrains all rotation, and the
    entries of these rows, row by row, if J is known by its entries."""

    rows: slice
    loop: int
    locked: bool
    entries: slice


def turns_of(mechanics: "Mechanics") -> tuple[Turn, ...]:
    """The turns of all loops."""
    found, start, entry = [], 0, 0
    counts = (
        np.bincount(mechanics.loop_places[0], minlength=mechanics.equations.sizes["lam"])
        if mechanics.loops_repeat
        else None
    )
    for number, loop in enumerate(mechanics.topology.closures):
        rows = ROWS[loop.joint.type]
        first, start = start + len(rows.places), start + loop.joint.rows
        width = 0 if counts is None else int(counts[start - 1])
        entry += width * loop.joint.rows
        if rows.locked or rows.upright is not None:
            entries = slice(entry - width * (start - first), entry)
            found.append(Turn(slice(first, start), number, rows.locked, entries))
    return tuple(found)


def by_half_angles(
    turns: tuple[Turn, ...], phi: np.ndarray, jacobian: "Matrix", upright: np.ndarray
) -> tuple[np.ndarray, "Matrix"]:
    """phi and J with these rows replaced."""
    whole = isinstance(jacobian, np.ndarray)
    phi, numbers = phi.copy(), (jacobian if whole else jacobian.values).copy()
    for turn in turns:
        cosine = 0.5 * (upright[turn.loop] - 1.0) if turn.locked else upright[turn.loop]
        half = max(np.sqrt(max(0.5 * (1.0 + cosine), 0.0)), OVER)
        cosine = cosine if abs(cosine) > ACROSS else np.copysign(ACROSS, cosine)
        s, at = phi[turn.rows].copy(), turn.rows if whole else turn.entries
        ds = numbers[at].reshape(len(s), -1)
        along = (s[:, None] * ds).sum(axis=0)
        phi[turn.rows] = s / half
        numbers[at] = (ds / half + s[:, None] * (along / (4.0 * cosine * half * half * half))).reshape(
            numbers[at].shape
        )
    return phi, numbers if whole else replace(jacobian, values=numbers)
