"""Reading SDFormat: links in their drawn poses, and every joint between them.

    <sdf version="1.9">
      <model name="arm">
        <link name="upper"><pose>0 0 1 0 0 0</pose><inertial>..</inertial></link>
        <joint name="shoulder" type="revolute"><parent>world</parent><child>upper</child><axis>..</axis></joint>
      </model>
    </sdf>

An SDFormat file is a graph: a loop is just one more joint, and the topology decides which joints to cut. Static models
are welded to the ground. Links not connected to the ground by joints float by default.
"""

from kempe.formats.poses import HERE
from kempe.formats.reading import Names, marked
from kempe.formats.sdf.couplings import read_couplings
from kempe.formats.sdf.frames import Frame, Frames
from kempe.formats.sdf.includes import put_in_included
from kempe.formats.sdf.joints import GEARBOX, Parts, read_joints
from kempe.formats.sdf.links import read_link
from kempe.formats.xml import Element, unused_kinds
from kempe.mechanism.mechanism import Mechanism

GRAVITY = (0.0, 0.0, -9.8)  # m/s^2, of a world that gives none


def read(top: Element, floating: bool | None = None) -> Mechanism:
    """Reads a mechanism from an <sdf>; floating: False welds unconnected links to the ground."""
    if top.tag != "sdf":
        raise top.error(f"an SDFormat file is an <sdf>, not a <{top.tag}>")
    put_in_included(top)
    frames = Frames(top)
    if not frames.links:
        raise top.error("there are no links; give a <model> with at least one")
    parts = Parts(frames, _mechanism(top, frames), Names())
    for joint in frames.joints:  # before links, so that joints keep their names more often
        gear = joint.element.text("type", "") == GEARBOX
        parts.joint_names[joint] = parts.names.new(joint.element, joint.name, "coupling" if gear else "joint")
    _bodies(parts)
    read_joints(parts)
    _roots(parts, floating is not False)
    read_couplings(parts)
    _actuation(top, parts)
    parts.mechanism.notes += [*top.source.notes, *unused_kinds(top)]
    return parts.mechanism


def _mechanism(top: Element, frames: Frames) -> Mechanism:
    """Named after the world or the first model; gravity was in <physics> up to version 1.5."""
    world = top.one("world")
    if world is None:
        return Mechanism(frames.models[0].element.text("name"))
    given = [world.one("gravity"), *(physics.one("gravity") for physics in world.all("physics"))]
    gravity = next((x.content_numbers(3) for x in given if x is not None), GRAVITY)
    return Mechanism(world.text("name", "") or top.file.stem, gravity)


def _bodies(parts: Parts) -> None:
    """Adds a body for each link, with markers for the frames that move with it."""
    parts.bodies[parts.frames.world] = parts.mechanism.ground
    for link in parts.frames.links:
        body = parts.mechanism.solid(parts.names.new(link.element, link.name, "link"))
        parts.bodies[link] = body
        read_link(parts.frames, link, body)
        if link.static:
            _hold(parts, link, "fixed", f"{body.name} fixed")
    for mark in parts.frames.marks:
        link = parts.frames.carrier(mark)
        marked(mark.element, parts.bodies[link], parts.frames.seen_from(link, mark), mark.name, "frame")


def _roots(parts: Parts, floating: bool) -> None:
    """Joins each unconnected group to the ground, preferably by a link that is not the child of a joint."""
    groups = _groups(parts)
    children = {b for _, b in parts.joined}
    for group in groups:
        root = next((link for link in group if link not in children), group[0])
        name = "root" if len(groups) == 1 else f"{parts.bodies[root].name} root"
        _hold(parts, root, "free" if floating else "fixed", name)


def _groups(parts: Parts) -> list[list[Frame]]:
    """Groups of links connected by joints with each other, but not with the ground."""
    beside: dict[Frame, list[Frame]] = {}
    for a, b in parts.joined:
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    still = [parts.frames.world, *(link for link in parts.frames.links if link.static)]
    reached = set(_reached(still, beside))
    groups = []
    for link in parts.frames.links:
        if link not in reached:
            members = set(_reached([link], beside))
            reached |= members
            groups.append([x for x in parts.frames.links if x in members])
    return groups


def _reached(start: list[Frame], beside: dict[Frame, list[Frame]]) -> list[Frame]:
    found = dict.fromkeys(start)
    waiting = list(start)
    while waiting:
        for link in beside.get(waiting.pop(), ()):
            if link not in found:
                found[link] = None
                waiting.append(link)
    return list(found)


def _hold(parts: Parts, link: Frame, kind: str, name: str) -> None:
    """Adds a joint to the ground, at zero in the drawn pose."""
    ends = parts.marker(parts.frames.world, parts.frames.pose(link)), parts.marker(link, HERE)
    parts.mechanism.joint(kind, parts.names.new(link.element, name, "joint"), *ends)


def _actuation(top: Element, parts: Parts) -> None:
    if any(any(joint.actuated) for joint in parts.mechanism.joints):
        top.note("the effort of limits marks the actuated joints; it does not limit their efforts")
    elif parts.single:
        top.note("no joint is actuated, since no limit has an <effort>, which marks actuated joints")
