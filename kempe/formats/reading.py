"""Reading helpers: valid names, markers, couplings, and errors with their line."""

from collections.abc import Mapping

from kempe.errors import MechanismError
from kempe.formats.poses import Pose
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Body
from kempe.mechanism.mechanism import Mechanism


class Names:
    """Converts names of a file to valid names: unique among bodies, joints and loads, without dots.

    A dot becomes an underscore. An empty or numeric name is prefixed by its kind; one that is taken gets its kind as
    suffix, then a count: `link 1`, `knee joint`, `knee joint 2`. Renaming is noted.
    """

    def __init__(self):
        self.taken = {"ground", "gravity"}

    def new(self, element: Element, given: str, kind: str) -> str:
        """A name not yet taken for the part of an element; kind: link, joint, loop or load."""
        name = given.replace(".", "_")
        if not name or _number(name):
            name = f"{kind} {name}".strip()
        if name in self.taken:
            name = f"{name} {kind}"
        first, count = name, 1
        while name in self.taken:
            count += 1
            name = f"{first} {count}"
        self.taken.add(name)
        if name != given:
            element.note(f"{kind} {given!r} is renamed to {name!r}")
        return name


def marked(element: Element, body: Body, pose: Pose, given: str, kind: str) -> None:
    """Adds a marker to a body under its name in the file, prefixed by its kind if that is taken."""
    name = given.replace(".", "_")
    if name in body.markers or hasattr(type(body), name) or name in vars(body):
        name = f"{kind} {name}"
    guarded(element, lambda: body.at(*pose.position.tolist(), rotation=pose.rotation, name=name))


def coupled(
    element: Element, mechanism: Mechanism, name: str, coefficients: Mapping[str, float], offset: float = 0.0
) -> None:
    """Adds a coupling with the nonzero coefficients; one that is impossible is noted."""
    try:
        mechanism.couple(name, {joint: factor for joint, factor in coefficients.items() if factor}, offset)
    except MechanismError as error:
        element.note(f"{error}; the coupling is not used")


def guarded(element: Element, make):
    """Adds the line of the element to errors of the mechanism."""
    try:
        return make()
    except MechanismError as error:
        raise element.error(str(error)) from error


def _number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
