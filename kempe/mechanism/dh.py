"""Serial arms: built from Denavit-Hartenberg parameters, with paper 4's links (bent slender rods, hubs, payloads).

Link i turns about Z_i or slides along it. Its frame has z along Z_i and x along X_{i+1}. The rod runs from the origin
b_i along z, then a_i along x (eq. 9), with uniform mass per length m_i / (|a_i| + |b_i|) (eq. 17a). The next joint is
at its end, its axis turned by alpha_i about x. A link of length zero is a point mass. Hubs are moments of inertia about
Z_i (eq. 11c), payloads are point masses at the link's end. For a prismatic joint theta_i is constant and b_i the
variable: the part of the rod along z has length b_i at q = 0 and slides with the link. The term that eq. 11a adds to
the velocities is the sliding of the joint.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.angles import cos, sin
from kempe.arithmetic.sums import times
from kempe.errors import MechanismError
from kempe.mechanism.bodies import Body, Hub, Length, PointMass, Rod

if TYPE_CHECKING:
    from kempe.mechanism.mechanism import Mechanism

Column = float | Iterable[float]
KINDS = {"revolute": "revolute", "prismatic": "prismatic", "R": "revolute", "P": "prismatic"}
_X_TO_Z = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # turns a rod's x to the link's z


def _about_x(angle: float) -> np.ndarray:
    c, s = cos(angle), sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _about_z(angle: float) -> np.ndarray:
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def serial_arm(
    arm: "Mechanism",
    a: Iterable[float],
    b: Column,
    alpha: Column,
    mass: Column,
    hub: Column = 0.0,
    payload: Column = 0.0,
    kind: str | Iterable[str] = "revolute",
    theta: Column = 0.0,
) -> None:
    """Puts an arm into an empty mechanism: bodies `link1`.., joints `joint1`.., all actuated.

    Each column has a number per link, or one for all. kind: "revolute" or "prismatic" (R or P). theta: the constant
    angles of prismatic joints, offsets of others.
    """
    a = list(a)
    n = len(a)
    given = {"a": a, "b": b, "alpha": alpha, "mass": mass, "hub": hub, "payload": payload, "kind": kind, "theta": theta}
    columns = {label: _column(x, n) for label, x in given.items()}
    for label, column in columns.items():
        if len(column) != n:
            raise MechanismError(f"from_dh {arm.name!r}: {label} has {len(column)} entries, a has {n}")
    before = arm.ground.at()
    for i in range(n):
        row = {label: column[i] for label, column in columns.items()}
        kind_name = KINDS.get(row.pop("kind"))
        if kind_name is None:
            raise MechanismError(
                f"from_dh {arm.name!r}: joint {i + 1} is {columns['kind'][i]!r}; known are {', '.join(KINDS)}"
            )
        try:
            row = {label: float(x) for label, x in row.items()}
        except (TypeError, ValueError) as error:
            raise MechanismError(f"from_dh {arm.name!r}: link {i + 1} has a non-numeric entry ({error})") from error
        link = _link(arm, i + 1, row)
        # The constant angle goes to the fixed side, so that q = 0 is at theta.
        base = before.body.at(*before.position, rotation=times(before.rotation, _about_z(row["theta"])))
        arm.joint(kind_name, f"joint{i + 1}", base, link.origin, ((0.0, 0.0, 1.0),), actuated=True)
        before = link.at(*_end(link), rotation=_about_x(row["alpha"]), name="end")


def _column(x, count: int) -> list:
    """A column as a list: repeats one number or kind for all links; a string has one letter per link."""
    if isinstance(x, (int, float)) or (isinstance(x, str) and x in KINDS):
        return [x] * count
    return list(x)


def _link(arm: "Mechanism", number: int, row: dict[str, float]) -> Body:
    name, a, b, mass = f"link{number}", row["a"], row["b"], row["mass"]
    total = abs(a) + abs(b)
    link = arm.solid(name)
    # The part along z, then the part along x; parts of length zero are left out.
    if b:
        link.add("riser", Rod(b, mass * abs(b) / total), rotation=_X_TO_Z)
    if a:
        link.add("arm", Rod(a, mass * abs(a) / total), at=(0.0, 0.0, _end(link)[2]))
    if not total:
        link.add("point", PointMass(mass))
    if row["hub"]:
        link.add("hub", Hub(row["hub"]))
    if row["payload"]:
        link.point_mass("payload", row["payload"], _end(link))
    return link


def _end(link: Body) -> tuple[Length, Length, Length]:
    """The end of a link, as parameter paths of the lengths of its parts, which may be varied."""
    parts = {part.name for part in link.parts}
    return (
        f"{link.name}.arm.length" if "arm" in parts else 0.0,
        0.0,
        f"{link.name}.riser.length" if "riser" in parts else 0.0,
    )
