"""Writing joints as MJCF: one joint as a row of hinges, slides and balls on one body."""

from dataclasses import dataclass, replace

import numpy as np

from kempe.formats.mjcf.poses import turn_about
from kempe.formats.mjcf.writing_tree import Link, unique
from kempe.formats.poses import Pose
from kempe.formats.writing import number, numbers
from kempe.mechanism.axes import alignment
from kempe.mechanism.joint import Joint

# Type, suffix of the joint's name, canonical axis, freedoms: in the order in which they act from a to b.
STEPS = {
    "revolute": (("hinge", "", 2, (0,)),),
    "prismatic": (("slide", "", 2, (0,)),),
    "helical": (("slide", "slide", 2, ()), ("hinge", "", 2, (0,))),
    "cylindrical": (("slide", "slide", 2, (1,)), ("hinge", "angle", 2, (0,))),
    "universal": (("hinge", "first", 0, (0,)), ("hinge", "second", 1, (1,))),
    "spherical": (("ball", "", 2, (0, 1, 2)),),
    "planar": (("slide", "x", 0, (0,)), ("slide", "y", 1, (1,)), ("hinge", "angle", 2, (2,))),
    "free": (("free", "", 2, (0, 1, 2, 3, 4, 5)),),
    "fixed": (),
}
# MJCF has free joints only for bodies of the world; elsewhere three slides and a ball do the same.
INSIDE = (("slide", "px", 0, (3,)), ("slide", "py", 1, (4,)), ("slide", "pz", 2, (5,)), ("ball", "turn", 2, (0, 1, 2)))
AXES_OF_B = ("spherical", "free")  # kinds with velocities in the axes of b
GEARS = {"ball": np.eye(3), "free": np.roll(np.eye(6), 3, axis=1)}  # rotation first here, translation first in MJCF


@dataclass(frozen=True, eq=False)
class Row:
    """One <joint>: its type, its axis in the body's axes, the freedoms of the whole joint that it represents, and its
    coordinate in the drawn pose."""

    name: str
    type: str
    axis: np.ndarray
    freedoms: tuple[int, ...]
    ref: float = 0.0


@dataclass(frozen=True, eq=False)
class Element:
    """A row of a joint at a position on a body, in the body's axes."""

    joint: Joint
    row: Row
    position: np.ndarray

    def seen_from(self, pose: Pose) -> "Element":
        """The same in the axes of a body at this pose in the current one."""
        turned = replace(self.row, axis=pose.rotation.T @ self.row.axis)
        return Element(self.joint, turned, pose.inverse().then(Pose(np.eye(3), self.position)).position)


def rows(link: Link, taken: set[str], notes: list[str]) -> list[Row]:
    """The joints of a link. Written from child to parent, their order and axes are reversed."""
    joint, kind = link.joint, link.joint.type.name
    slides = joint.pitch * joint.drawn[0] if joint.pitch is not None and joint.drawn else 0.0  # of a screw as drawn
    inside = kind == "free" and link.parent is not None
    steps = INSIDE if inside else STEPS[kind]
    axes = link.markers[1].rotation @ alignment(joint.type, joint.axes)
    if link.turned and kind not in AXES_OF_B:
        steps, axes = steps[::-1], -axes
    found = []
    for type, behind, axis, freedoms in steps:
        name = joint.name if not behind else unique(f"{joint.name} {behind}", taken)
        ref = (joint.drawn[freedoms[0]] if freedoms else slides) if joint.drawn else 0.0
        found.append(Row(name, type, axes[:, axis], freedoms, ref))
    if len(found) > 1:
        notes.append(f"joint {joint.name!r} ({kind}) is written as {', '.join(repr(row.name) for row in found)}")
    _what_differs(link, inside, notes)
    return found


def as_drawn(joint: Joint, found: list[Row], position: np.ndarray) -> tuple[Pose, list[Element]]:
    """The body's displacement from zero coordinates to the drawn pose, and the rows as MJCF wants them, with axes and
    positions in the body as drawn.

    In the body's axes at the joint, one row after the other moves the body; the later rows act between an axis and the
    body.
    """
    later, elements = Pose(np.eye(3), np.zeros(3)), []
    for row in reversed(found):
        turned = replace(row, axis=later.rotation.T @ row.axis)
        elements.insert(0, Element(joint, turned, position + later.inverse().position))
        turn = turn_about(row.axis, row.ref) if row.type == "hinge" else np.eye(3)
        later = Pose(turn, row.ref * row.axis if row.type == "slide" else np.zeros(3)).then(later)
    return Pose(later.rotation, position + later.position - later.rotation @ position), elements


def attributes(joint: Joint, row: Row, notes: list[str]) -> dict[str, str]:
    """All attributes of a <joint> except its position."""
    said = {"name": row.name, "type": row.type}
    if row.type in ("hinge", "slide"):
        said["axis"] = numbers(row.axis)
        if row.ref:
            said["ref"] = number(row.ref)
    for quantity in ("damping", "armature"):
        found = [getattr(joint, quantity)[k] for k in row.freedoms]
        if any(found):
            said[quantity] = number(found[0])
        if len(set(found)) > 1:
            notes.append(f"joint {joint.name!r}: MJCF has one {quantity} for all its freedoms; the first is written")
    bounded = [joint.limits[k] for k in row.freedoms if joint.limits[k] is not None]
    if len(row.freedoms) == 1:
        (k,) = row.freedoms
        if joint.stiffness and joint.stiffness[k]:
            said |= {"stiffness": number(joint.stiffness[k]), "springref": number(joint.rest[k])}
        if bounded:
            said["range"] = numbers(bounded[0])
    elif bounded:
        notes.append(f"limits of joint {joint.name!r} are not written: in MJCF it is a {row.type} joint")
    return said


def motors(joint: Joint, row: Row, notes: list[str]) -> list[dict[str, str]]:
    """A <motor> for each freedom that is actuated."""
    driven = [k for k in row.freedoms if joint.actuated[k]]
    if len(row.freedoms) == 1:
        return [{"name": row.name, "joint": row.name} for _ in driven]
    if driven and len(driven) < len(row.freedoms):
        notes.append(f"only some freedoms of joint {joint.name!r} are actuated; after reading the file, all are")
    return [
        {"name": f"{joint.name} {joint.type.v_names[k]}", "joint": row.name,
         "gear": numbers(GEARS[row.type][row.freedoms.index(k)])}
        for k in driven
    ]  # fmt: skip


def _what_differs(link: Link, inside: bool, notes: list[str]) -> None:
    """Notes where velocities, and what acts along them, refer to other axes."""
    joint, kind = link.joint, link.joint.type.name
    if kind not in AXES_OF_B:
        return
    if link.turned:
        to, start = joint.a.body.name, joint.b.body.name
        notes.append(
            f"joint {joint.name!r} is written from {start!r} to {to!r}, as in the tree, so its motion is reversed"
        )
    if kind == "free" and any((*joint.actuated, *joint.damping, *joint.armature)):
        axes = "of its carrier" if inside else "of the world at its body's origin"
        notes.append(f"joint {joint.name!r}: in MJCF, its motors and damping act along axes {axes}, not of its marker")
