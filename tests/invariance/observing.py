"""What is observed of a subject, said in the original's world and by its labels, and how two of them are compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

import kempe as kp
from tests.invariance.changes import TURNING
from tests.invariance.subject import Subject

USUAL = (
    1e-2  # in the original's units, in which lengths, masses and rates are about one: what is less is next to nothing
)


@dataclass(frozen=True, eq=False)
class Seen:
    """A number, vector or point of the world, or a word that must be the same; mass and length: powers of its unit.

    size: what errors are measured by, beside the largest of its sort in the same observation.
    """

    kind: str
    value: object
    mass: int = 0
    length: int = 0
    sort: str = ""
    size: float = 0.0

    def back(self, subject: Subject) -> "Seen":
        """As the original has it."""
        if self.kind == "word":
            return self
        world = subject.world
        size = self.size / (world.mass**self.mass * world.length**self.length)
        value = world.back(self.kind, self.value, self.mass, self.length)
        return Seen(self.kind, value, self.mass, self.length, self.sort, size)


Observation = dict[str, Seen]


def word(value) -> Seen:
    """What must be equal."""
    return Seen("word", value)


def number(value, mass=0, length=0, sort="", size=0.0) -> Seen:
    """A scalar, or several."""
    return Seen("number", value, mass, length, sort, size)


def vector(value, mass=0, length=0, sort="", size=0.0) -> Seen:
    """What turns with the world."""
    return Seen("vector", value, mass, length, sort, size)


def point(value, sort="place") -> Seen:
    """What is shifted with it too."""
    return Seen("point", value, 0, 1, sort, 0.0)


def differences(one: Observation, other: Observation, tolerance: float | Mapping[str, float]) -> Iterator[str]:
    """What differs by more than the tolerance, beside the largest of its sort."""
    shared = one.keys() & other.keys()
    if not shared:
        yield "nothing was observed of both"
    sizes: dict[object, float] = {}
    for name in shared:
        x = one[name]
        if x.kind != "word":
            key = _sort(x)
            own = np.abs(np.asarray(x.value, dtype=float)).max(initial=0.0)
            sizes[key] = max(sizes.get(key, 0.0), float(own), x.size)
    for name in sorted(shared):
        x, y = one[name], other[name]
        if x.kind == "word":
            if x.value != y.value:
                yield f"{name}: {x.value!r}, and {y.value!r} after the changes"
            continue
        a, b = np.asarray(x.value, dtype=float), np.asarray(y.value, dtype=float)
        size = max(sizes[_sort(x)], USUAL)
        apart = np.abs(a - b).max(initial=0.0) / size if a.shape == b.shape else np.inf
        allowed = tolerance if isinstance(tolerance, float) else tolerance.get(x.sort, min(tolerance.values()))
        if not apart <= allowed:
            yield f"{name}: {a.tolist()}, and {b.tolist()} after the changes: {apart:.2g} apart, {allowed:.2g} allowed"


def _sort(x: Seen) -> object:
    """What is measured by one size: lengths of random mechanisms are about a metre, and compare with radians."""
    return x.sort or (x.kind, x.mass, x.length)


# ---- of bodies and joints ----------------------------------------------------------------------------------


def watched(subject: Subject, state: kp.State, at: str = "", velocities: bool = True) -> Observation:
    """Places and velocities of points."""
    found: Observation = {}
    for label, marker in subject.markers.items():
        found[f"{label}, place{at}"] = point(subject.model.pose(marker, state.q, **subject.also)[1])
        if velocities:
            twist = subject.model.twist(marker, state.q, state.v, **subject.also)
            found[f"{label}, spin{at}"] = vector(twist[:3], sort="spin")
            found[f"{label}, velocity{at}"] = vector(twist[3:], length=1, sort="velocity")
    return found


def along_joints(subject: Subject, values: np.ndarray, what: str, sort: str) -> Observation:
    """Of values along v, those of joints with one freedom."""
    found = {}
    for t in subject.model.topology.tree:
        label = subject.label(t.joint.name)
        link = subject.description.links[label]
        if link.kind in TURNING and len(link.units) == 1:
            length = int(link.units[0] == "m")
            found[f"{label}, {what}"] = number(subject.sign(label) * values[t.v][0], length=length, sort=sort)
    return found
