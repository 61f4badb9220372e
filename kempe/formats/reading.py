"""Parts of files as parts of mechanisms: names that Kempe can take, markers, couplings, complaints with their line."""

from collections.abc import Mapping

from kempe.errors import MechanismError
from kempe.formats.poses import Pose
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Body
from kempe.mechanism.mechanism import Mechanism


class Names:
    """Names of a file as names of Kempe, in which bodies, joints and loads share one list, without dots.

    A dot becomes an underscore; a name that is empty or looks like a number gets its kind in front, and one that is
    taken gets it behind, then a count: `link 1`, `knee joint`, `knee joint 2`. What is renamed is noted.
    """

    def __init__(self):
        self.taken = {"ground", "gravity"}

    def new(self, element: Element, given: str, kind: str) -> str:
        """A name nobody has yet for an element's part; kind: link, joint, loop or load."""
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
            element.note(f"{kind} {given!r} is called {name!r} here")
        return name


def marked(element: Element, body: Body, pose: Pose, given: str, kind: str) -> None:
    """A marker on a body, by the name it has in the file, or with its kind in front where that is taken."""
    name = given.replace(".", "_")
    if name in body.markers or hasattr(type(body), name) or name in vars(body):
        name = f"{kind} {name}"
    guarded(element, lambda: body.at(*pose.position.tolist(), rotation=pose.rotation, name=name))


def coupled(
    element: Element, mechanism: Mechanism, name: str, coefficients: Mapping[str, float], offset: float = 0.0
) -> None:
    """A coupling of joints that are there, of the coefficients that are not zero; one that cannot be is noted."""
    try:
        mechanism.couple(name, {joint: factor for joint, factor in coefficients.items() if factor}, offset)
    except MechanismError as error:
        element.note(f"{error}; the coupling is not used")


def guarded(element: Element, make):
    """What a mechanism finds wrong with a part is said with the line of its element."""
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
