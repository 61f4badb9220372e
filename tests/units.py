"""Mechanisms, states and results in other units of length, mass and time: the same physics by other numbers.

Every number of a description has a unit, a product of powers of these three; radians have none.
"""

from copy import deepcopy
from dataclasses import dataclass, fields, replace

import numpy as np

from kempe.mechanics.state import State
from kempe.mechanism.bodies import Marker, Solid
from kempe.mechanism.joint import Joint
from kempe.mechanism.loads import Spring
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

# Powers of length, mass and time.
NUMBERS = {
    "mass": (0, 1, 0), "com": (1, 0, 0), "tensor": (2, 1, 0), "moment": (2, 1, 0), "length": (1, 0, 0),
    "radius": (1, 0, 0), "thickness": (1, 0, 0), "size": (1, 0, 0), "outline": (1, 0, 0), "scale": (1, 0, 0),
    "E": (-1, 1, -2), "I": (4, 0, 0), "rho": (-3, 1, 0), "A": (2, 0, 0), "damping": (0, 0, 1),
}  # fmt: skip
ALONG = {"rad": {"damping": (2, 1, -1), "stiffness": (2, 1, -2), "rest": (0, 0, 0), "armature": (2, 1, 0)},
         "m": {"damping": (0, 1, -1), "stiffness": (0, 1, -2), "rest": (1, 0, 0), "armature": (0, 1, 0)}}  # fmt: skip


@dataclass(frozen=True)
class Units:
    """How many of the new units an old one is, of length, mass and time."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    def by(self, powers: tuple[int, int, int]) -> float:
        """What a number with these powers is multiplied by."""
        return self.length ** powers[0] * self.mass ** powers[1] * self.time ** powers[2]

    # ---- of what is found ------------------------------------------------------------------------------

    def steps(self, model: Model) -> np.ndarray:
        """Of a step along each freedom."""
        return np.array([self.of(unit) for t in model.topology.tree for unit in t.joint.type.units])

    def of(self, unit: str) -> float:
        """Of a coordinate."""
        return 1.0 if unit == "rad" else self.length

    def efforts(self, model: Model) -> np.ndarray:
        """Of an effort along each freedom."""
        return self.energy / self.steps(model)

    @property
    def energy(self) -> float:
        """Of an energy, and of a moment."""
        return self.by((2, 1, -2))

    @property
    def force(self) -> float:
        """Of a force."""
        return self.by((1, 1, -2))

    def state(self, state: State, model: Model) -> State:
        """The same state of the mechanism in new units."""
        q = np.array(state.q)
        for t in model.topology.tree:
            where = [x.startswith("p") for x in t.joint.type.q_names]  # of a free joint, behind its quaternion
            flat = len(t.joint.type.q_names) == len(t.joint.type.units)
            q[..., t.q] *= [self.of(u) for u in t.joint.type.units] if flat else np.where(where, self.length, 1.0)
        return State(model, q, np.array(state.v) * self.steps(model) / self.time)

    # ---- of what a mechanism is made of ----------------------------------------------------------------

    def mechanism(self, m: Mechanism) -> Mechanism:
        """The mechanism in new units."""
        m = deepcopy(m)
        m.gravity = tuple(x * self.by((1, 0, -2)) for x in m.gravity)
        known = {}
        for body in (m.ground, *m.bodies):
            for name, marker in body.markers.items():
                known[marker] = body.markers[name] = self._marker(marker)
            body.parts[:] = [
                replace(part, solid=self._solid(part.solid), position=self._place(part.position)) for part in body.parts
            ]
        at = lambda marker: known.get(marker) or self._marker(marker)  # noqa: E731
        joints = {joint: self._joint(joint, at) for joint in m.joints}
        m.joints[:] = joints.values()
        for k, each in enumerate(m.couplings):
            terms = (
                replace(t, joint=joints[t.joint], coefficient=t.coefficient / self.of(t.joint.type.units[t.freedom]))
                for t in each.terms
            )
            m.couplings[k] = replace(each, terms=tuple(terms))
        for k, load in enumerate(m.loads):
            if isinstance(load, Spring):
                numbers = {
                    "stiffness": load.stiffness * self.by((0, 1, -2)),
                    "damping": load.damping * self.by((0, 1, -1)),
                    "length": load.length * self.length,
                }
                m.loads[k] = replace(load, a=at(load.a), b=at(load.b), **numbers)
            else:
                force, moment = (tuple(x * by for x in given) for given, by in
                                 ((load.force, self.force), (load.moment, self.energy)))  # fmt: skip
                m.loads[k] = replace(load, marker=at(load.marker), force=force, moment=moment)
        return m

    def _place(self, position) -> tuple:
        return tuple(x if isinstance(x, str) else x * self.length for x in position)

    def _marker(self, marker: Marker) -> Marker:
        return replace(marker, position=self._place(marker.position))

    def _solid(self, solid: Solid) -> Solid:
        changed = {}
        for field in fields(solid):
            value, powers = getattr(solid, field.name), NUMBERS.get(field.name)
            if powers is not None:
                changed[field.name] = _times(value, self.by(powers))
        return replace(solid, **changed) if changed else solid

    def _joint(self, joint: Joint, at) -> Joint:
        units = joint.type.units
        found = {"a": at(joint.a), "b": at(joint.b)}
        for name in ("damping", "stiffness", "rest", "armature"):
            found[name] = tuple(
                x * self.by(ALONG[unit][name]) for x, unit in zip(getattr(joint, name), units, strict=False)
            )
        found["limits"] = tuple(
            None if pair is None else tuple(x * self.of(unit) for x in pair)
            for pair, unit in zip(joint.limits, units, strict=False)
        )
        if joint.pitch is not None:
            found["pitch"] = joint.pitch * self.length
        return replace(joint, **found)


def _times(value, by: float):
    return tuple(_times(x, by) for x in value) if isinstance(value, tuple) else value * by
