"""Joints of SDFormat: each becomes a joint of the mechanism, whether or not it closes a loop.

Links are given in the drawn pose, so every joint is at zero there and every loop is closed. A joint is actuated if it
has a nonzero effort limit (a negative one means unlimited) and does not mimic another joint.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kempe.formats.poses import HERE, LIMITLESS, Pose
from kempe.formats.reading import Names, guarded
from kempe.formats.sdf.frames import Frame, Frames
from kempe.formats.sdf.links import number
from kempe.formats.sdf.versions import version_of
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Body, Marker
from kempe.mechanism.mechanism import Mechanism

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "screw": "helical",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "fixed": "fixed",
}
GEARBOX = "gearbox"
AXES_OF_MODELS = (1, 4)  # up to this version, axes are in the model frame
BALL = "drake:ball_constraint"
Z = (0.0, 0.0, 1.0)  # the default axis of a joint


@dataclass(eq=False)
class Parts:
    """The parts read so far: bodies and joint names by their frames in the file.

    single: the one-coordinate joint for an axis of a joint in the file. hinges: name, both links, and axis in the
    world, in the drawn pose.
    """

    frames: Frames
    mechanism: Mechanism
    names: Names
    joint_names: dict[Frame, str] = field(default_factory=dict)
    bodies: dict[Frame, Body] = field(default_factory=dict)
    single: dict[tuple[Frame, str], str] = field(default_factory=dict)
    hinges: list[tuple[str, Frame, Frame, np.ndarray]] = field(default_factory=list)
    joined: list[tuple[Frame, Frame]] = field(default_factory=list)

    def ends(self, joint: Frame) -> tuple[Frame, Frame]:
        """The two links of a joint."""
        assert joint.home is not None  # no joint is the world
        parent, child = (joint.element.need(tag) for tag in ("parent", "child"))
        if child.content == "world":
            raise child.error("the world cannot be a child; make it the parent")
        first, second = (self.frames.carrier(self.frames.find(x, joint.home, x.content)) for x in (parent, child))
        if first is second:
            raise joint.element.error(f"it joins {first} to itself; name two links")
        return first, second

    def marker(self, link: Frame, pose: Pose) -> Marker:
        """A marker on the body of a link, or on the ground."""
        return self.bodies[link].at(*pose.position.tolist(), rotation=pose.rotation)


def read_joints(parts: Parts) -> None:
    """Adds every joint between bodies, and Drake's ball constraints, to a mechanism that has all its bodies."""
    for joint in parts.frames.joints:
        kind = joint.element.text("type")
        if kind not in (*KINDS, GEARBOX):
            raise joint.element.error(f"there is no joint type {kind[:60]!r}; there are {', '.join([*KINDS, GEARBOX])}")
        a, b = parts.ends(joint)
        if kind == GEARBOX:
            continue
        if _still(a) and _still(b):
            joint.element.take_all()
            joint.element.note("both its links are static or the world, so it is left out")
            continue
        parts.joined.append((a, b))
        _joint(parts, joint, kind, a, b)
    for model in parts.frames.models:
        for ball in model.element.all(BALL):
            _ball(parts, model, ball)


def _joint(parts: Parts, joint: Frame, kind: str, a: Frame, b: Frame) -> None:
    frames, name = parts.frames, parts.joint_names[joint]
    first, second = (parts.marker(link, frames.seen_from(link, joint)) for link in (a, b))
    markers = first, second
    if kind in ("ball", "fixed"):
        parts.mechanism.joint(KINDS[kind], name, *markers)
        return
    along, options = _axis(parts, joint, "axis", kind)
    if KINDS[kind] == "universal":
        _two_axes(parts, joint, markers, along, options)
        return
    if kind == "screw":
        options["pitch"] = _pitch(joint.element)
    guarded(joint.element, lambda: parts.mechanism.joint(KINDS[kind], name, *markers, (along,), **options))
    parts.single[joint, "axis"] = name
    if KINDS[kind] == "revolute":
        parts.hinges.append((name, a, b, frames.pose(joint).rotation @ along))


def _two_axes(parts: Parts, joint: Frame, markers: tuple[Marker, Marker], first: np.ndarray, one: dict) -> None:
    """Adds a universal joint or, if its axes are not perpendicular, two hinges with a massless body between them."""
    name = parts.joint_names[joint]
    second, two = _axis(parts, joint, "axis2", "revolute")
    if not np.linalg.norm(np.cross(first, second)) > 1e-6:
        raise joint.element.error("its two axes are parallel; give two that are not")
    if abs(first @ second) <= 1e-9:
        both: dict[str, Any] = {key: (one[key], two[key]) for key in ("limits", "damping", "stiffness", "rest")}
        both["actuated"] = [f for f, x in (("first", one), ("second", two)) if x["actuated"]]
        guarded(joint.element, lambda: parts.mechanism.universal(name, *markers, (first, second), **both))
        return
    cross = parts.mechanism.solid(parts.names.new(joint.element, f"{name} cross", "link"))
    other = parts.names.new(joint.element, f"{name} axis2", "joint")
    guarded(joint.element, lambda: parts.mechanism.revolute(name, markers[0], cross.origin, first, **one))
    guarded(joint.element, lambda: parts.mechanism.revolute(other, cross.origin, markers[1], second, **two))
    parts.single |= {(joint, "axis"): name, (joint, "axis2"): other}


def world_axis(parts: Parts, joint: Frame, tag: str) -> np.ndarray:
    """The unit direction of a joint's axis in the world, in the drawn pose."""
    frame, along = _direction(parts.frames, joint, tag)
    return parts.frames.pose(frame).rotation @ along


def _direction(frames: Frames, joint: Frame, tag: str) -> tuple[Frame, np.ndarray]:
    """The frame in which a joint's axis is given (its own or one that it names), and the unit direction."""
    assert joint.home is not None  # no joint is the world
    axis = joint.element.one(tag)
    xyz = None if axis is None else axis.one("xyz")
    along = np.array(Z if xyz is None else xyz.content_numbers(3))
    length = float(np.linalg.norm(along))
    if not length > 1e-9:
        raise (xyz or joint.element).error("the axis is zero; give a direction such as 0 0 1")
    named = "" if xyz is None else xyz.text("expressed_in", "")
    old = None if axis is None else axis.one("use_parent_model_frame")
    if xyz is not None and named:
        frame = frames.find(xyz, joint.home, named)
    elif old is None:
        frame = joint.home if version_of(joint.element) <= AXES_OF_MODELS else joint
    else:
        frame = joint.home if old.content_flag() else joint
    return frame, along / length


def _axis(parts: Parts, joint: Frame, tag: str, kind: str) -> tuple[np.ndarray, dict[str, Any]]:
    """The direction in the joint's own frame, and the joint options for that axis."""
    frame, along = _direction(parts.frames, joint, tag)
    if frame is not joint:
        along = parts.frames.pose(joint).rotation.T @ parts.frames.pose(frame).rotation @ along
    axis = joint.element.one(tag)
    limit, dynamics = (None if axis is None else axis.one(part) for part in ("limit", "dynamics"))
    effort = number(None if limit is None else limit.one("effort"), 0.0, unbounded=True)
    follows = axis is not None and axis.one("mimic") is not None
    options: dict[str, Any] = {"actuated": effort != 0 and not follows, "limits": None}
    if limit is not None and kind != "continuous":
        options["limits"] = _limits(limit)
    for quantity, word in (("damping", "damping"), ("stiffness", "spring_stiffness"), ("rest", "spring_reference")):
        options[quantity] = 0.0 if dynamics is None else number(dynamics.one(word), 0.0)
    return along, options


def _limits(limit: Element) -> tuple[float | None, float | None] | None:
    """(low, high), or None."""
    low, high = (
        number(limit.one(side), bound, unbounded=True) for side, bound in (("lower", -math.inf), ("upper", math.inf))
    )
    if low > high:
        raise limit.error(f"the lower limit {low:g} is above the upper limit {high:g}")
    if low > 0 or high < 0:
        limit.note("in the drawn pose the joint is at 0, which is not between its limits")
    low, high = (None if abs(x) >= LIMITLESS else x for x in (low, high))
    return None if low is None and high is None else (low, high)


def _pitch(joint: Element) -> float:
    """Metres per radian, right-handed; the older <thread_pitch> is in radians per metre, left-handed."""
    turn, old = joint.one("screw_thread_pitch"), joint.one("thread_pitch")
    if turn is None and old is None:
        joint.note("it has no <screw_thread_pitch>: 1 m per turn, the default of SDFormat")
    if turn is not None or old is None:
        return number(turn, 1.0) / (2 * math.pi)
    if not abs(number(old, 1.0)) > 1e-9:
        raise old.error("a <thread_pitch> is in radians per metre and cannot be zero; give another")
    return -1 / number(old, 1.0)


def _ball(parts: Parts, model: Frame, ball: Element) -> None:
    """Drake's ball constraint: two points that coincide, in the drawn pose or not."""
    ends = []
    for body, point in (("A", "AP"), ("B", "BQ")):
        named = ball.need(f"{BALL}_body_{body}")
        link = parts.frames.carrier(parts.frames.find(named, model, named.content))
        ends.append((link, Pose(HERE.rotation, np.array(ball.need(f"{BALL}_p_{point}").content_numbers(3)))))
    (a, _), (b, _) = ends
    if a is b:
        raise ball.error(f"it joins {a} to itself; name two links")
    parts.joined.append((a, b))
    name = parts.names.new(ball, ball.text("name", "ball constraint"), "loop")
    parts.mechanism.spherical(name, parts.marker(*ends[0]), parts.marker(*ends[1]))


def _still(link: Frame) -> bool:
    return link.kind == "world" or link.static
