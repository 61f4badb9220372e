"""Subjects made at random, or of the gallery, at closed states in general positions."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from kempe.gallery.entries import ENTRIES
from tests.closed import Workshop
from tests.invariance.dense import dense, set_going
from tests.invariance.description import GROUND, Description, Frame, Gear, Motion, Pull, Push, described, posed
from tests.invariance.subject import Subject
from tests.mechanisms import random_rotation

SORTS = {  # loops, whether in a plane, on a base that floats, of very different masses
    "planar": (1, True, False, False),
    "planar of two loops": (2, True, False, False),
    "planar of three loops": (3, True, False, False),
    "spatial": (1, False, False, False),
    "spatial of two loops": (2, False, False, False),
    "spatial of three loops": (3, False, False, False),
    "tree": (0, False, False, False),
    "floating": (0, False, True, False),
    "floating loop": (1, False, True, False),
    "planar floating loop": (1, True, True, False),
    "planar of unequal masses": (2, True, False, True),
    "spatial of unequal masses": (1, False, False, True),
}
QUICK = ("planar", "planar of two loops", "tree", "planar floating loop")
GALLERY = tuple(f"gallery {n}" for n in ("four-bar", "five-bar", "slider-crank", "watt", "3-rrr", "bricard"))
DRIVEN = ("revolute", "prismatic", "helical", "cylindrical", "universal")
SINGLE = ("revolute", "prismatic", "helical")
PROBES = 3


@dataclass(eq=False)
class Roaming(Workshop):
    """A workshop whose loops are on a base that floats."""

    floating: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.floating:
            base = self.body()
            self.join("planar" if self.planar else "free", self.m.ground, base)
            self.ground = self.poses.pop(self.m.ground)

    def grown(self, loops: int):
        """With loops, and one or two bodies that hang on others."""
        for _ in range(loops):
            if self.rng.random() < 0.35:
                self.redundant_loop()
            else:
                self.loop(None)
        for _ in range(int(self.rng.integers(0, 2)) if loops else int(self.rng.integers(1, 4))):
            self.branch()
        return self.finished()


@lru_cache(maxsize=32)
def subject(sort: str, seed: int) -> Subject:
    """The same for the same words; a draw that is not in general position is followed by the next."""
    for attempt in range(200):
        rng = np.random.default_rng([seed, attempt])
        found = of_gallery(sort.removeprefix("gallery "), rng) if sort.startswith("gallery ") else drawn(sort, rng)
        if found is not None and len(found.description.bodies) <= 14:
            return found
    raise ValueError(f"no {sort} in general position from {seed}")


def drawn(sort: str, rng: np.random.Generator) -> Subject | None:
    """One at random; None where it is in no general position."""
    loops, planar, floating, unequal = SORTS[sort]
    closed = Roaming(rng, planar, bool(rng.random() < 0.7), "drawn", floating=floating).grown(loops)
    found = described(closed.mechanism)
    values = {
        n: np.atleast_1d(np.asarray(x, dtype=float)) if np.size(x) else np.zeros(0) for n, x in closed.values.items()
    }
    links = {n: replace(x, actuated=(False,) * len(x.units)) for n, x in found.links.items()}
    motors = [n for n, x in links.items() if x.kind in DRIVEN and n not in closed.closing]
    for label in rng.permutation(motors)[: int(rng.integers(1, 3))]:
        links[str(label)] = replace(links[str(label)], actuated=(True,) * len(links[str(label)].units))
    bodies = found.bodies
    if unequal:
        bodies = {n: _weighing(x, 10.0 ** rng.uniform(-2, 2)) for n, x in bodies.items()}
    found = replace(found, links=links, bodies=bodies, loads=_loads(found, rng))
    efforts = {n: rng.normal(size=len(x.units)) * 3 for n, x in links.items() if any(x.actuated)}
    return _finished(found, values, efforts, tuple(closed.closing), rng)


def _weighing(solid, factor: float):
    return replace(solid, mass=solid.mass * factor, tensor=solid.tensor * factor)


def _frame(description: Description, rng: np.random.Generator, ground: bool = True) -> Frame:
    names = [*description.bodies, *([GROUND] * ground)]
    return Frame(str(names[rng.integers(len(names))]), rng.normal(size=3) * 0.4, random_rotation(rng))


def _loads(description: Description, rng: np.random.Generator) -> dict:
    loads: dict[str, Pull | Push] = {}
    if rng.random() < 0.5:
        a, b = _frame(description, rng), _frame(description, rng, ground=False)
        if a.body != b.body:
            loads["spring"] = Pull(a, b, *rng.uniform((2, 0, 0), (20, 1, 1)))
    if rng.random() < 0.4:
        follows = bool(rng.random() < 0.5)
        loads["wrench"] = Push(_frame(description, rng, ground=False), rng.normal(size=3), rng.normal(size=3), follows)
    return loads


def _finished(description, values, efforts, closing, rng) -> Subject | None:
    """Moving, with points to watch."""
    poses = posed(description, values)
    rest = {n: np.zeros(6) for n in poses}
    labels = [str(n) for n in rng.permutation(list(description.bodies))]
    points = {f"on {n}": Frame(n, rng.normal(size=3) * 0.4, np.eye(3)) for n in labels[:PROBES]}
    found = Subject(description, Motion(values, poses, rest, efforts), points)
    if rng.random() < 0.25:
        found = _geared(found, closing, rng) or found
    if dense(found).doubtful:
        return None
    return set_going(found, rng)


def _geared(subject: Subject, closing, rng) -> Subject | None:
    """With a gear between two joints, if that leaves it a freedom."""
    links = subject.description.links
    known = [n for n, x in links.items() if x.kind in SINGLE and n not in closing]
    if len(known) < 2:
        return None
    some = [str(n) for n in rng.permutation(known)[:2]]
    gear = Gear({n: float(rng.uniform(0.5, 2) * rng.choice([-1, 1])) for n in some}, 0.0)
    total = float(sum(gear.coefficients[n] * subject.motion.values[n][0] for n in some))
    found = replace(subject, description=replace(subject.description, gears={"gear": replace(gear, offset=total)}))
    return None if dense(found).doubtful else found


def of_gallery(name: str, rng: np.random.Generator) -> Subject | None:
    """A mechanism of the gallery at a random closed state."""
    m = ENTRIES[name].build()
    model = m.compile()
    q = model.random_state(int(rng.integers(1000))).q
    state = (
        model.assemble(near=type(model.state())(model, q, np.zeros(model.nv)))
        if model.topology.closed
        else model.state()
    )
    values = {j.name: np.atleast_1d(state[j.name]) if j.type.q_names else np.zeros(0) for j in m.joints}
    found = described(m)
    links = found.links
    efforts = {n: rng.normal(size=len(x.units)) for n, x in links.items() if any(x.actuated)}
    return _finished(found, values, efforts, tuple(model.cut), rng)
