"""A subject by Newton and Euler's equations of single bodies, in dense numbers: what is possible, and what happens."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tests.invariance.description import Motion
from tests.invariance.subject import Subject
from tests.newton import skew

RANK = 1e-9  # of the largest singular value


@dataclass(frozen=True, eq=False)
class Dense:
    """Inertia of all bodies about the world's origin, constraints on their twists, and where each body's twist is."""

    inertia: np.ndarray
    rows: np.ndarray
    places: dict[str, slice]

    @property
    def sizes(self) -> np.ndarray:
        """Singular values of the constraints beside the largest."""
        sizes = np.linalg.svd(self.rows, compute_uv=False) if len(self.rows) else np.ones(1)
        return sizes / sizes[0]

    @property
    def rank(self) -> int:
        """How many constraints do not follow from others."""
        return int((self.sizes > RANK).sum()) if len(self.rows) else 0

    @property
    def free(self) -> np.ndarray:
        """Motions that are possible, as orthogonal columns."""
        return np.linalg.svd(self.rows)[2][self.rank :].T if len(self.rows) else np.eye(len(self.inertia))

    @property
    def condition(self) -> float:
        """How much rounding grows: by constraints that are nearly redundant, and by masses that differ."""
        counted = self.sizes[: self.rank] if self.rank else np.ones(1)
        basis = self.free
        masses = np.linalg.eigvalsh(basis.T @ self.inertia @ basis) if basis.size else np.ones(1)
        return float(max(1.0, masses[-1] / max(masses[0], 1e-300)) / counted[-1])

    @property
    def doubtful(self) -> bool:
        """Whether some constraint is neither redundant nor independent, or nothing moves, or moves without mass."""
        between = (self.sizes > 1e-13) & (self.sizes < 1e-3)
        return bool(between.any()) or self.condition > 1e6 or not self.free.size

    def struck(self, twists: np.ndarray) -> np.ndarray:
        """Twists after the constraints have taken hold at once: those allowed that are nearest by kinetic energy."""
        basis = self.free
        return basis @ np.linalg.solve(basis.T @ self.inertia @ basis, basis.T @ self.inertia @ twists)

    def energy(self, twists: np.ndarray) -> float:
        """Kinetic."""
        return float(twists @ self.inertia @ twists / 2)

    def all(self, motion: Motion) -> np.ndarray:
        """Twists of all bodies, one after the other."""
        found = np.zeros(len(self.inertia))
        for label, at in self.places.items():
            found[at] = motion.twists[label]
        return found

    def moving(self, motion: Motion, twists: np.ndarray) -> Motion:
        """The same pose with other twists."""
        given = {label: twists[at] for label, at in self.places.items()}
        return replace(motion, twists={**motion.twists, **given})


def dense(subject: Subject, off: Iterable[str] = ()) -> Dense:
    """Without the joints named in `off`."""
    description, motion = subject.description, subject.motion
    places = {label: slice(6 * k, 6 * k + 6) for k, label in enumerate(description.bodies)}
    size = 6 * len(places)
    inertia, rows = np.zeros((size, size)), [np.zeros((0, size))]
    for label, solid in description.bodies.items():
        turn, place = motion.poses[label]
        com, at = place + turn @ solid.com, places[label]
        cross = solid.mass * skew(com)
        upper = turn @ solid.tensor @ turn.T - cross @ skew(com)
        inertia[at, at] = np.block([[upper, cross], [-cross, solid.mass * np.eye(3)]])
    joints = {label: subject.screws(label) for label in description.links}
    for label, s in joints.items():
        link = description.links[label]
        between = np.zeros((6, size))
        for sign, frame in ((1, link.b), (-1, link.a)):
            if frame.body in places:
                between[:, places[frame.body]] += sign * np.eye(6)
        if label not in set(off):
            rows.append(s.held.T @ between)
        if any(link.armature) and s.free.size:
            inertia += between.T @ s.efforts @ np.diag(link.armature) @ subject.along(label, between)
    for gear in description.gears.values():
        row = np.zeros((1, size))
        for label, factor in gear.coefficients.items():
            link, s = description.links[label], joints[label]
            for sign, frame in ((1, link.b), (-1, link.a)):
                if frame.body in places:
                    row[:, places[frame.body]] += sign * factor * subject.along(label, np.eye(6))
        rows.append(row / np.abs(row).max())
    return Dense(inertia, np.vstack(rows), places)


def set_going(subject: Subject, rng: np.random.Generator, off: Iterable[str] = ()) -> Subject:
    """With velocities at random, as far as the joints that are on allow them."""
    found = dense(subject, off)
    basis = found.free
    twists = basis @ (basis.T @ rng.normal(size=len(basis)))
    return replace(subject, motion=found.moving(subject.motion, twists))
