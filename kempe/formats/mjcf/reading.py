"""Reading an MJCF file: a mechanism, with notes on what is not used."""

from kempe.formats.mjcf.bodies import Bodies
from kempe.formats.mjcf.closures import read_equalities
from kempe.formats.mjcf.defaults import MAIN, Classes
from kempe.formats.mjcf.geoms import Geoms
from kempe.formats.mjcf.includes import put_in_included
from kempe.formats.mjcf.settings import read_settings
from kempe.formats.mjcf.tendons import read_tendons
from kempe.formats.reading import Names
from kempe.formats.xml import Element, unused_kinds
from kempe.mechanism.mechanism import Mechanism


def read(root: Element, floating: bool | None = None) -> Mechanism:
    """Reads a mechanism from the top element of an MJCF file. `floating` is not taken: in MJCF every body says how it
    moves."""
    if floating:
        raise root.error("floating is for URDF and SDFormat files; in MJCF, give the body a <freejoint/>")
    path = root.file
    put_in_included(root)
    settings, classes = read_settings(root), Classes(root)
    mechanism = Mechanism(root.text("model", path.stem), settings.gravity)
    geoms = Geoms(root, settings, classes, path.parent)
    found = Bodies(mechanism, settings, classes, geoms, Names(), _actuated(root))
    found.read(root)
    missing = found.actuated - set(found.joints)
    if missing:
        raise root.error(f"an actuator drives joint {min(missing)!r}, but there is no such joint")
    read_equalities(root, found, read_tendons(root, found))
    mechanism.notes += [*root.source.notes, *unused_kinds(root)]
    return mechanism


def _actuated(root: Element) -> set[str]:
    """The joints driven by actuators; gains, and actuators on anything else, are noted as not used."""
    driven = set()
    for section in root.all("actuator"):
        for actuator in section.children:
            for name in ("joint", "jointinparent"):
                if actuator.has(name):
                    actuator.wanted = True
                    actuator.text("name", "")
                    actuator.text("class", MAIN)
                    driven.add(actuator.text(name))
    return driven
