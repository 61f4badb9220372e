"""URDF loops: loops in all common dialects, and couplings of URDF+.

| written as | becomes |
|---|---|
| URDF+ `<loop type><predecessor link><origin/></predecessor><successor ..><axis/></loop>` | a joint of that type |
| older URDF+ `<constraint type="position">`, with the same ends | a ball |
| proposed `<constraint type><parent link/><parent_origin/><parent_axis/><child link/>..` | a joint of that type |
| Drake's `<drake:ball_constraint>` | a ball |
| `loop_closures.yaml` beside the file | a hinge, unless it has a type |
| URDF+ `<coupling>` or `<constraint type="rolling">` with a `<ratio>` | a coupling of joints |
"""

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import MechanismError
from kempe.formats.poses import HERE, Pose, pose_of, turning
from kempe.formats.reading import coupled, guarded
from kempe.formats.sidecar import Closure
from kempe.formats.xml import Element

if TYPE_CHECKING:
    from kempe.formats.urdf import Robot

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "cylindrical": "cylindrical",
    "universal": "universal",
    "spherical": "spherical",
    "ball": "spherical",
    "position": "spherical",
    "planar": "planar",
    "fixed": "fixed",
}
DRAKE = "drake:ball_constraint"
End = tuple[str, Pose, np.ndarray]  # a link, the loop's frame on it, the loop's axis in that frame


def read_loops(robot: "Robot") -> None:
    """Adds loop joints and couplings to a mechanism that has all its links and joints."""
    for element in robot.element.all("loop", "constraint", "coupling", DRAKE):
        if element.tag == DRAKE:
            _drake(robot, element)
        elif element.tag == "coupling" or element.text("type", "") == "rolling":
            _coupling(robot, element)
        else:
            _loop(robot, element)
    for closure in robot.sidecar.closures:
        _beside(robot, closure)
    for name in robot.sidecar.independent | robot.sidecar.dependent:
        if name not in robot.joints:
            raise robot.sidecar.error((), f"there is no joint {name!r} in {robot.element.file.name}")


def _loop(robot: "Robot", element: Element) -> None:
    """URDF+ names predecessor and successor; the proposed <constraint> names parent and child with an axis each."""
    if element.one("predecessor") is not None or element.tag == "loop":
        axis = element.one("axis")
        second = element.one("axis2")
        ends = []
        for tag, along in (("predecessor", axis), ("successor", second or axis)):
            end = element.need(tag)
            ends.append((robot.link_of(end), pose_of(end.one("origin")), _axis(along)))
    else:
        ends = []
        for tag in ("parent", "child"):
            place, along = element.one(f"{tag}_origin"), element.one(f"{tag}_axis")
            ends.append((robot.link_of(element.need(tag)), pose_of(place), _axis(along)))
    kind = element.text("type")
    if kind not in KINDS:
        raise element.error(f"there is no loop type {kind!r}; there are {', '.join(KINDS)}")
    name = robot.names.new(element, element.text("name", element.tag), "loop")
    guarded(element, lambda: close(robot, name, KINDS[kind], *ends))


def _drake(robot: "Robot", element: Element) -> None:
    """Two points that coincide."""
    ends = []
    for body, point in (("A", "AP"), ("B", "BQ")):
        end = element.need(f"{DRAKE}_body_{body}")
        link = robot.known(end, end.text("name"), robot.links, "link")
        place = element.need(f"{DRAKE}_p_{point}").numbers("value", 3)
        ends.append((link, Pose(HERE.rotation, np.array(place)), _axis(None)))
    name = robot.names.new(element, element.text("name", "ball constraint"), "loop")
    guarded(element, lambda: close(robot, name, "spherical", *ends))


def _beside(robot: "Robot", closure: Closure) -> None:
    for k, link in enumerate(closure.links):
        if link not in robot.links:
            where = (*closure.where, ("link_a", "link_b")[k])
            raise robot.sidecar.error(where, f"there is no link {link!r} in {robot.element.file.name}")
    known = [kind for kind in KINDS if kind != "universal"]  # it takes two axes
    if closure.type not in known:
        words = f"there is no type {closure.type!r}; there are {', '.join(known)}"
        raise robot.sidecar.error((*closure.where, "type"), words)
    places = closure.origins
    if places is None:
        assert closure.point is not None  # the sidecar has one or the other
        at = Pose(HERE.rotation, closure.point)
        places = tuple(robot.pose(link).inverse().then(at) for link in closure.links)
    ends = [(link, place, closure.axis) for link, place in zip(closure.links, places, strict=True)]
    name = robot.names.new(robot.element, closure.name, "loop")
    try:
        close(robot, name, KINDS[closure.type], *ends)
    except MechanismError as error:
        raise robot.sidecar.error(closure.where, str(error)) from error


def close(robot: "Robot", name: str, kind: str, a: End, b: End) -> None:
    """Adds a joint between frames on two links; if each has its own axis, b's frame is rotated until they agree."""
    if a[0] == b[0]:
        raise MechanismError(f"loop {name!r} joins link {a[0]!r} to itself; name two links")
    (_, place_a, axis), (_, place_b, other) = a, b
    axes: tuple = ()
    if kind not in ("spherical", "fixed"):
        if not min(np.linalg.norm(axis), np.linalg.norm(other)) > 1e-9:
            raise MechanismError(f"loop {name!r}: its axis is zero; give a direction such as 0 0 1")
        axes = (axis,)
        if kind == "universal":
            # b carries the second axis; the frames coincide where it is perpendicular to the first.
            across = other - (other @ axis) / (axis @ axis) * axis
            if not np.linalg.norm(across) > 1e-9 * np.linalg.norm(other):
                raise MechanismError(f"loop {name!r}: the axes of a universal joint must not be parallel")
            axes = (axis, across)
        if not np.array_equal(axes[-1], other):
            place_b = Pose(place_b.rotation @ turning(axes[-1], other), place_b.position)
    first, second = (
        robot.bodies[link].at(*place.position, rotation=place.rotation)
        for link, place in ((a[0], place_a), (b[0], place_b))
    )
    robot.mechanism.joint(kind, name, first, second, axes)


def _coupling(robot: "Robot", element: Element) -> None:
    """The successor turns by ratio times the angle of the predecessor, both relative to their last common link."""
    name = robot.names.new(element, element.text("name", element.tag), "coupling")
    element.text("type", "")
    ways = [robot.chain(robot.link_of(element.need(tag))) for tag in ("predecessor", "successor")]
    ratio = element.need("ratio").number("value")
    shared = 0
    while shared < min(map(len, ways)) and ways[0][shared] == ways[1][shared]:
        shared += 1
    factors: defaultdict[str, float] = defaultdict(float)
    for way, factor in zip(ways, (-ratio, 1.0), strict=True):
        for joint in way[shared:]:
            if robot.joints[joint].text("type") != "fixed":
                factors[robot.joint_names[joint]] += factor
    if len(factors) < 2:
        raise element.error("there are not two joints to couple between these links")
    coupled(element, robot.mechanism, name, factors)


def _axis(element: Element | None) -> np.ndarray:
    """The given axis, or x, the default of joints."""
    return np.array((1.0, 0.0, 0.0) if element is None else element.numbers("xyz", 3))
