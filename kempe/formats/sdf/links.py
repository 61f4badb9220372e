"""Links of SDFormat: their mass properties and the shapes for drawing."""

from kempe.formats.lumps import lump
from kempe.formats.poses import Pose
from kempe.formats.sdf.frames import Frame, Frames, read_pose
from kempe.formats.xml import Element
from kempe.mechanism.bodies import TENSOR, Body, Box, Cylinder, Part, Solid, Sphere

ROUND = ("cylinder", "capsule")


def read_link(frames: Frames, link: Frame, body: Body) -> None:
    """Adds mass and shapes of a link to its body; a static link gets no mass, since it never moves."""
    if not link.static:
        body.parts.append(_part(link.element))
        pulled = link.element.one("gravity")
        if pulled is not None and not pulled.content_flag():
            pulled.note("gravity acts on this link as on all others")
    for tag in ("visual", "collision"):
        drawn = [found for shape in link.element.all(tag) if (found := _shape(frames, link, shape)) is not None]
        for k, (solid, pose) in enumerate(drawn, 1):
            body.add(f"shape {k}", solid, pose.position.tolist(), pose.rotation)
        if drawn:
            return


def _part(link: Element) -> Part:
    """The mass properties; the defaults of SDFormat are 1 kg and 1 kg m^2."""
    inertial = link.one("inertial")
    if inertial is None:
        link.note("it has no <inertial>: 1 kg and moments of 1 kg m^2, the defaults of SDFormat")
        return lump(link, read_pose(None), 1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    if inertial.flag("auto"):
        raise inertial.error("automatic inertia from shapes is not supported; give a mass and an <inertia>")
    mass, inertia = inertial.one("mass"), inertial.one("inertia")
    given = {n: None if inertia is None else inertia.one(f"i{n}") for n in TENSOR}
    missing = [*(["mass"] if mass is None else []), *(f"i{n}" for n in ("xx", "yy", "zz") if given[n] is None)]
    if missing:
        inertial.note(f"{', '.join(missing)} not given: 1, the default of SDFormat")
    entries = [number(given[n], 1.0 if n in ("xx", "yy", "zz") else 0.0) for n in TENSOR]
    return lump(inertial, read_pose(inertial.one("pose")), number(mass, 1.0), entries)


def number(element: Element | None, otherwise: float, unbounded: bool = False) -> float:
    """The number in an element's text, or `otherwise` if there is no such element."""
    return otherwise if element is None else element.content_numbers(1, unbounded)[0]


def _shape(frames: Frames, link: Frame, drawn: Element) -> tuple[Solid, Pose] | None:
    """The primitive of a <visual> or <collision> as a massless solid; a capsule becomes a cylinder."""
    drawn.text("name", "")
    pose = frames.on_link(link, drawn.one("pose"))
    geometry = drawn.need("geometry")
    box, sphere = (geometry.one(tag) for tag in ("box", "sphere"))
    if box is not None:
        return Box(box.need("size").content_numbers(3), 0.0), pose  # type: ignore[arg-type]
    for long in geometry.all(*ROUND):
        return Cylinder(number(long.need("length"), 0.0), number(long.need("radius"), 0.0), 0.0), pose
    return None if sphere is None else (Sphere(number(sphere.need("radius"), 0.0), 0.0), pose)
