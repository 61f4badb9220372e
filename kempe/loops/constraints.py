"""Constraints of all joints, cut or not, on the twists of all bodies at a state, and their axes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kempe.dynamics.rows import ROWS
from kempe.loops.seats import Seat, seat
from kempe.mechanism.flexible import BeamJoint
from kempe.mechanism.joints import Cylindrical, Helical, JointKind, Planar, Prismatic, Revolute, Universal
from kempe.spatial.moves import relative_pose

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics
    from kempe.mechanism.bodies import Marker, Values
    from kempe.mechanism.joint import Joint
    from kempe.topology.tree import Topology

FREEDOMS: dict[type[JointKind], tuple[int, ...]] = {  # the free directions of joints, as numbered in `held`
    Revolute: (2,),
    Prismatic: (5,),
    Helical: (2,),
    Cylindrical: (2, 5),
    Universal: (0, 1),
    Planar: (3, 4, 2),
}
NAMES = ("about x", "about y", "about z", "along x", "along y", "along z")


def holding(topology: "Topology") -> list["Joint"]:
    """The mechanism's joints that are not switched off."""
    off = {loop.joint for loop in topology.off}
    return [joint for joint in topology.mechanism.joints if joint not in off]


@dataclass(frozen=True, eq=False)
class Held:
    """A direction constrained by a joint at a state: its axis in world axes, and the joint's two frames.

    screw: the pitch, if the joint couples turning and sliding in this direction.
    """

    joint: "Joint"
    direction: int
    axis: np.ndarray
    place: np.ndarray  # of frame b
    marker: np.ndarray  # axes of marker b, as columns
    screw: float

    @property
    def name(self) -> str:
        """Joint and direction."""
        return f"{self.joint.name} {NAMES[self.direction]}"

    def seen(self, size: float) -> np.ndarray:
        """Extracts the multiplier of this direction from a wrench at marker b, in its axes."""
        axis, none = self.marker.T @ self.axis, np.zeros(3)
        return np.concatenate([axis, none] if self.direction < 3 else [none, size * axis])

    def exerted(self, size: float) -> np.ndarray:
        """The wrench of a unit multiplier, at marker b, in its axes."""
        axis = self.marker.T @ self.axis
        return np.concatenate([axis, 0 * axis] if self.direction < 3 else [-self.screw / size * axis, axis / size])


def held_axes(mechanics: "Mechanics", q: np.ndarray, actuators_held: bool = False, p=None) -> list[Held]:
    """All directions constrained by joints at a state; all six for joints whose actuators are held."""
    poses, found = _poses(mechanics, q, p), []
    values = _values(mechanics, p)
    for joint in holding(mechanics.topology):
        ends, marker = _ends(mechanics, joint, poses, q, values)
        wanted = range(6) if actuators_held and all(joint.actuated) else held(joint)
        pitch = float(values(f"{joint.name}.pitch")) if joint.pitch is not None else 0.0
        found += [Held(joint, d, _axis(joint, d, ends), ends[1][1], marker, pitch * (d == 5)) for d in wanted]
    return found


@dataclass(frozen=True, eq=False)
class HeldTogether:
    """A coupling at a state: the directions of its freedoms and their factors in its equation. size: the extra divisor
    of an equation of lengths."""

    name: str
    freedoms: tuple[tuple[Held, float], ...]
    size: float

    def exerted(self) -> list[tuple[str, np.ndarray]]:
        """The wrench of a unit multiplier at marker b, in its axes, by joint."""
        found = []
        for d, factor in self.freedoms:
            axis, none = factor * (d.marker.T @ d.axis), np.zeros(3)
            found.append((d.joint.name, np.concatenate([axis, none] if d.direction < 3 else [none, axis])))
        return found


def held_together(mechanics: "Mechanics", q: np.ndarray, p=None) -> list[HeldTogether]:
    """All couplings at a state."""
    poses, values, found = _poses(mechanics, q, p), _values(mechanics, p), []
    for each in mechanics.mechanism.couplings:
        freedoms, size = [], float(mechanics.equations.closure_size) if each.unit == "m" else 1.0
        for term, path in zip(each.terms, each.paths, strict=False):
            d = FREEDOMS[term.joint.type][term.freedom]
            ends, marker = _ends(mechanics, term.joint, poses, q, values)
            second = term.joint.type is Universal and d == 1  # the axis carried by b
            axis = ends[1][0][:, 1] if second else _axis(term.joint, d, ends)
            held = Held(term.joint, d, axis, ends[1][1], marker, 0.0)
            freedoms.append((held, float(values(path)) / each.size / size))
        found.append(HeldTogether(each.name, tuple(freedoms), size))
    return found


def _ends(mechanics: "Mechanics", joint: "Joint", poses, q: np.ndarray, values: "Values"):
    """A joint's frames at its markers, and the axes of marker b."""
    seats = [seat(mechanics, poses[marker.body.name], marker, q, values) for marker in (joint.a, joint.b)]
    ends = [_frame(at, joint, marker, values) for at, marker in zip(seats, (joint.a, joint.b), strict=True)]
    return ends, seats[1].rotation @ np.array(joint.b.rotation, dtype=float)


def constraints(
    mechanics: "Mechanics", q: np.ndarray, actuators_held: bool = False, p=None
) -> tuple[np.ndarray, list[str]]:
    """Constraint rows of all joints, then those of couplings, on the twists [omega; v] of all bodies at their `middles`
    and on beam rates, in each joint's own axes, with lengths over the size."""
    directions, couplings = held_axes(mechanics, q, actuators_held, p), held_together(mechanics, q, p)
    found = [_rows(mechanics, directions, q, p)]
    for each in couplings:
        size = mechanics.equations.closure_size
        factors = np.array([factor * (size if d.direction > 2 else 1.0) for d, factor in each.freedoms])
        found.append(factors @ _rows(mechanics, [d for d, _ in each.freedoms], q, p))
    names = [*(d.name for d in directions), *(f"{each.name} by coupling" for each in couplings)]
    return np.vstack(found), names


def _rows(mechanics: "Mechanics", directions: list[Held], q: np.ndarray, p) -> np.ndarray:
    """Relative velocities of bodies along constrained joint directions."""
    m, size, poses = mechanics.mechanism, mechanics.equations.closure_size, _poses(mechanics, q, p)
    middle = middles(mechanics, q, p)
    number = {body.name: k for k, body in enumerate(m.bodies)}
    rows = np.zeros((len(directions), len(m.bodies), 6))
    bending = np.zeros((len(directions), mechanics.nv))
    values, beams = _values(mechanics, p), [t.v for t in mechanics.topology.tree if isinstance(t.joint, BeamJoint)]
    for row, bent, d in zip(rows, bending, directions, strict=True):
        # For both bodies at the origin of frame b: along a slider, the frames are apart.
        for sign, marker in ((-1, d.joint.a), (1, d.joint.b)):
            k = number.get(marker.body.name)
            if k is None:
                continue
            if d.direction < 3:
                row[k, :3] += sign * d.axis
            else:  # velocity of that point along the axis; a screw slides as it turns
                row[k, 3:] += sign * d.axis
                row[k, :3] += sign * np.cross(d.place - middle[marker.body.name], d.axis) / size
                row[k, :3] -= sign * d.screw / size * d.axis
            at = seat(mechanics, poses[marker.body.name], marker, q, values)
            if d.direction < 3:
                bent[at.v] += sign * (d.axis @ at.angular)
            else:
                lever = np.cross(d.place - at.position, d.axis) - d.screw * d.axis
                bent[at.v] += sign / size * (d.axis @ at.linear + lever @ at.angular)
    bending *= size  # rates of lengths, as for positions
    return np.hstack([rows.reshape(len(directions), 6 * len(m.bodies)), *(bending[:, v] for v in beams)])


def middles(mechanics: "Mechanics", q: np.ndarray, p=None) -> dict[str, np.ndarray]:
    """A point of every body in the world, in the middle of its joints: the origin may be so far away that all rotations
    about it look alike."""
    poses, values, found = _poses(mechanics, q, p), _values(mechanics, p), {}
    for joint in holding(mechanics.topology):
        ends, _ = _ends(mechanics, joint, poses, q, values)
        for marker, (_, place) in zip((joint.a, joint.b), ends, strict=True):
            found.setdefault(marker.body.name, []).append(place)
    return {name: np.asarray(sum(places)) / len(places) for name, places in found.items()}


def _poses(mechanics: "Mechanics", q: np.ndarray, p=None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    m = mechanics.mechanism
    poses = {m.ground.name: (np.eye(3), np.zeros(3))}
    for body, numbers in zip(m.bodies, mechanics.body_poses(q, p=p), strict=True):
        poses[body.name] = numbers[:9].reshape(3, 3), numbers[9:]
    return poses


def held(joint: "Joint") -> list[int]:
    """The directions a joint constrains, in its axes: about x, y, z (0 to 2), along x, y, z (3 to 5)."""
    if joint.type not in ROWS:  # a screw: one constraint couples turning and sliding
        return [0, 1, 3, 4, 5]
    rows = ROWS[joint.type]
    turning = [0, 1, 2] if rows.locked else [3 - i - j for i, j in rows.entries]
    return sorted(turning) + [3 + i for i in rows.places]


def _values(mechanics: "Mechanics", p) -> "Values":
    own = dict(zip(mechanics.p_names, mechanics.p if p is None else p, strict=True))
    return (mechanics.mechanism.parameters | own).__getitem__


def _frame(at: Seat, joint: "Joint", marker: "Marker", values: "Values") -> tuple[np.ndarray, np.ndarray]:
    turn, place = relative_pose(joint.frame(marker, values))
    return at.rotation @ np.array(turn, dtype=float), at.position + at.rotation @ np.array(place, dtype=float)


def _axis(joint: "Joint", direction: int, ends) -> np.ndarray:
    """The direction in world axes; the third axis of a universal joint is perpendicular to its two."""
    (a, _), (b, _) = ends
    if joint.type.name == "universal" and direction == 2:
        return np.cross(a[:, 0], b[:, 1])
    return a[:, direction % 3]
