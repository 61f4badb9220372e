"""Tendons: a straight one between two sites becomes a spring; a fixed one is a sum of coordinates for equalities."""

from dataclasses import dataclass

import numpy as np

from kempe.formats.mjcf.bodies import Bodies, placed
from kempe.formats.mjcf.defaults import MAIN
from kempe.formats.reading import guarded
from kempe.formats.xml import Element


@dataclass(frozen=True, eq=False)
class Sum:
    """A fixed tendon: coefficients by joint of the mechanism, and its length in the drawn pose."""

    element: Element
    coefficients: dict[str, float]
    drawn: float

    def used(self) -> tuple[dict[str, float], float]:
        """Coefficients and length; marks its element as used."""
        self.element.wanted = True
        self.element.text("name", "")
        for term in self.element.all("joint"):
            term.text("joint")
        return self.coefficients, self.drawn


def read_tendons(root: Element, found: Bodies) -> dict[str, Sum]:
    """Adds the springs; returns the sums of coordinates by tendon name."""
    sums: dict[str, Sum] = {}
    for section in root.all("tendon"):
        for element in section.children:
            found.classes.applied(element, MAIN)
            if element.tag == "spatial" and _is_spring(element):
                _spring(element, found)
            elif element.tag == "fixed":
                sums[element.attributes.get("name", "")] = _sum(element, found)
    return sums


def _is_spring(element: Element) -> bool:
    """Whether a tendon has stiffness or damping, and is straight between exactly two sites."""
    acts = any(element.has(name) for name in ("stiffness", "damping"))
    return acts and [child.tag for child in element.children] == ["site", "site"]


def _spring(element: Element, found: Bodies) -> None:
    """Adds a spring. Its length is by default that in the drawn pose; one with two goes slack between them."""
    places = []
    for end in element.children:
        site = end.attributes.get("site", "")
        if site not in found.sites:
            raise end.error(f"there is no site {site!r}")
        places.append(found.sites[site])
    ends = [place.drawn.then(place.inside).position for place in places]
    lengths = element.numbers("springlength", range(1, 3), (-1.0,))
    if lengths[0] != lengths[-1]:
        element.note("it goes slack between two lengths and is not used; give one length")
        return
    length = lengths[0]
    if length < 0:
        if _bent_springs(found):
            element.note("its length is that at the springref of all joints, not in the drawn pose; give springlength")
            return
        length = float(np.linalg.norm(ends[1] - ends[0]))
    stiffness, damping = (found.linear(element, name) for name in ("stiffness", "damping"))
    element.wanted = True
    element.text("class", MAIN)
    for end in element.all("site"):
        end.text("site")
    given = element.text("name", "")
    found.unnamed["spring"] += not given
    name = found.names.new(element, given or f"spring {found.unnamed['spring']}", "load")
    one, other = (placed(place.body, place.inside) for place in places)
    guarded(element, lambda: found.mechanism.spring(name, one, other, stiffness, damping, length))


def _bent_springs(found: Bodies) -> bool:
    """Whether any joint spring has its rest position away from the drawn pose."""
    refs = dict(found.joints.values())
    return any(x != refs[joint.name] for joint in found.mechanism.joints if joint.name in refs for x in joint.rest)


def _sum(element: Element, found: Bodies) -> Sum:
    coefficients: dict[str, float] = {}
    drawn = 0.0
    for term in element.children:
        name = term.attributes.get("joint", "")
        if name not in found.joints:
            raise term.error(f"there is no joint {name!r}; there are {', '.join(found.joints)}")
        joint, ref = found.joints[name]
        factor = term.number("coef", 1.0)
        coefficients[joint] = coefficients.get(joint, 0.0) + factor
        drawn += factor * ref
    return Sum(element, coefficients, drawn)
