"""What reading a file gives: the mechanism, couplings between its joints, and notes; with names and markers."""

from dataclasses import dataclass

from kempe.errors import MechanismError
from kempe.formats.poses import Pose
from kempe.formats.xml import Element
from kempe.mechanism.bodies import Body
from kempe.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Coupling:
    """A line between joints: the sum of coefficient times coordinate is the offset; rad and m."""

    name: str
    coefficients: dict[str, float]
    offset: float = 0.0

    def __str__(self) -> str:
        terms = [f"{factor:g} {joint}" for joint, factor in self.coefficients.items()]
        shown = [*terms[:6], "..."] if len(terms) > 6 else terms
        return f"coupling {self.name!r}: {' + '.join(shown)} = {self.offset:g}"


@dataclass(frozen=True, eq=False)
class Reading:
    """A mechanism from a file; notes, each with file, line and element, say what was read but is not used."""

    mechanism: Mechanism
    couplings: tuple[Coupling, ...]
    notes: tuple[str, ...]


class Names:
    """Names of a file as names of Kempe, in which bodies, joints and loads share one list, without dots.

    A dot becomes an underscore; a name that is empty or looks like a number gets its kind in front, and one that is
    taken gets it behind, then a count: `link 1`, `knee joint`, `knee joint 2`. What is renamed is noted.
    """

    def __init__(self):
        self.taken = {"ground"}

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
