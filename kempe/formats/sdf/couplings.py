"""Couplings of SDFormat: gearboxes and mimic joints, as linear equations between joint coordinates."""

import numpy as np

from kempe.formats.reading import coupled
from kempe.formats.sdf.frames import Frame
from kempe.formats.sdf.joints import GEARBOX, Parts, world_axis
from kempe.formats.sdf.links import number
from kempe.formats.xml import Element

AXES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("revolute", "continuous", "prismatic", "screw"), ("axis",)),
    **dict.fromkeys(("universal", "revolute2"), ("axis", "axis2")),
}


def read_couplings(parts: Parts) -> None:
    """Adds a coupling for every gearbox and <mimic> between joints of one coordinate; notes the others."""
    for joint in parts.frames.joints:
        kind = joint.element.text("type")
        if kind == GEARBOX:
            _gearbox(parts, joint)
        for tag in AXES.get(kind, ()):
            axis = joint.element.one(tag)
            mimic = None if axis is None else axis.one("mimic")
            if mimic is not None:
                _mimic(parts, joint, tag, mimic)


def _gearbox(parts: Parts, joint: Frame) -> None:
    """theta_2 = -ratio theta_1, angles of child about axis2 and parent about axis, relative to a third link."""
    assert joint.home is not None  # no joint is the world
    ratio = number(joint.element.one("gearbox_ratio"), 1.0)
    named = joint.element.need("gearbox_reference_body")
    third = parts.frames.carrier(parts.frames.find(named, joint.home, named.content))
    parent, child = parts.ends(joint)
    first = _turns(parts, third, parent, world_axis(parts, joint, "axis"))
    second = _turns(parts, third, child, world_axis(parts, joint, "axis2"))
    if first is None or second is None:
        lost = parent if first is None else child
        joint.element.note(f"there is no hinge about its axis between {third} and {lost}, so it is not used")
        return
    factors = {second[0]: second[1], first[0]: ratio * first[1]}
    coupled(joint.element, parts.mechanism, parts.joint_names[joint], factors)


def _turns(parts: Parts, third: Frame, link: Frame, axis: np.ndarray) -> tuple[str, float] | None:
    """The hinge whose angle is the rotation of a link about an axis relative to a third link, and its sign."""
    for name, a, b, along in parts.hinges:
        if {a, b} == {third, link} and np.linalg.norm(np.cross(along, axis)) < 1e-6:
            return name, float(np.sign(along @ axis)) * (1.0 if a is third else -1.0)
    return None


def _mimic(parts: Parts, joint: Frame, tag: str, mimic: Element) -> None:
    """q = multiplier (q_of_the_other - reference) + offset."""
    assert joint.home is not None  # no joint is the world
    factor, offset, reference = (
        number(mimic.one(word), otherwise)
        for word, otherwise in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    leader = parts.frames.find(mimic, joint.home, mimic.text("joint"))
    other = mimic.text("axis", "axis")
    if leader is joint and other == tag:
        raise mimic.error("the axis mimics itself; name another")
    ends = [parts.single.get(end) for end in ((joint, tag), (leader, other))]
    if None in ends:
        mimic.note("couplings take joints of one coordinate, so it is not used")
        return
    own, followed = (str(end) for end in ends)
    name = parts.names.new(mimic, f"{own} mimic", "coupling")
    factors = {own: 1.0, followed: -factor}
    coupled(mimic, parts.mechanism, name, factors, offset - factor * reference)
