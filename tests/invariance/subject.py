"""A subject: a mechanism with a motion, as somebody else might have described and compiled it."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

import kempe as kp
from kempe.mechanism.joints import KINDS
from tests.invariance.description import GROUND, Description, Frame, Motion
from tests.newton import screws, skew


@dataclass(frozen=True)
class World:
    """Where the world of a subject is seen from that of the original, and its units: x' = length (turn x + shift)."""

    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    shift: np.ndarray = field(default_factory=lambda: np.zeros(3))
    length: float = 1.0
    mass: float = 1.0

    def there(self, kind: str, value, mass: int = 0, length: int = 0):
        """A number, vector or point of the original's world, as it is in this one."""
        value = np.asarray(value, dtype=float)
        if kind == "point":
            value = value @ self.turn.T + self.shift
        elif kind == "vector":
            value = value @ self.turn.T
        return value * (self.mass**mass * self.length**length)

    def back(self, kind: str, value, mass: int = 0, length: int = 0):
        """What `there` would have been given."""
        value = np.asarray(value, dtype=float) / (self.mass**mass * self.length**length)
        if kind == "point":
            return (value - self.shift) @ self.turn
        return value @ self.turn if kind == "vector" else value


@dataclass(frozen=True, eq=False)
class Compiling:
    """How it is compiled. inputs: parameters that stay inputs, none where it is compiled with their numbers; right or
    wrong ones as they are compiled, right ones as they are given."""

    formulation: str = "auto"
    cut: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Subject:
    """points: places on bodies that are watched, by label. swapped: joints whose bodies a and b are exchanged; signs:
    -1 for joints whose coordinates count the other way."""

    description: Description
    motion: Motion
    points: Mapping[str, Frame]
    world: World = World()
    swapped: frozenset[str] = frozenset()
    signs: Mapping[str, int] = field(default_factory=dict)
    compiling: Compiling = Compiling()
    file: str | None = None

    # ---- what the user of Kempe holds ------------------------------------------------------------------

    @cached_property
    def mechanism(self) -> kp.Mechanism:
        """As it is described, or as it was read from a file."""
        m = self.description.mechanism()
        return m if self.file is None else through_file(m, self.file)

    @cached_property
    def model(self) -> kp.Model:
        """Compiled; where parameters are inputs, from other values than they are given."""
        how = self.compiling
        source, asked = self.mechanism, {"cut": [self.name(n) for n in how.cut]}
        if how.inputs:
            source, asked["parameters"] = wrong(self.description, how.inputs).mechanism(), list(how.inputs)
            source = source if self.file is None else through_file(source, self.file)
        return source.compile(how.formulation, **asked)

    @cached_property
    def p(self) -> np.ndarray | None:
        """Right values of the inputs."""
        right = self.mechanism.parameters
        return np.array([right[path] for path in self.model.p_names]) if self.model.p_names else None

    @cached_property
    def also(self) -> dict:
        """The option p, where there are inputs."""
        return {} if self.p is None else {"p": self.p}

    @cached_property
    def state(self) -> kp.State:
        """The motion, in this model's coordinates."""
        m = self.model
        values = {t.joint.name: self.motion.values[self.label(t.joint.name)] for t in m.topology.tree}
        state = m.state({name: _plain(x) for name, x in values.items() if len(x)})
        return kp.State(m, state.q, self.velocities(self.motion))

    def velocities(self, motion: Motion) -> np.ndarray:
        """v, from the twists of bodies."""
        v = np.zeros(self.model.nv)
        for t in self.model.topology.tree:
            v[t.v] = self.rate(self.label(t.joint.name), motion)
        return v

    def rate(self, label: str, motion: Motion) -> np.ndarray:
        """Of a joint, from the twists of its bodies."""
        link = self.description.links[label]
        return self.along(label, motion.twists[link.b.body] - motion.twists[link.a.body], motion)

    def along(self, label: str, step: np.ndarray, motion: Motion | None = None) -> np.ndarray:
        """How much of each of a joint's free screws a twist, or several, are made of; where lengths are as long as a
        radian is wide, at the joint."""
        s = self.screws(label, motion)
        if not s.free.size:
            return np.zeros((0, *step.shape[1:]))
        length, (_, place) = self.world.length, s.marker
        here = np.vstack([np.hstack([np.eye(3), np.zeros((3, 3))]), np.hstack([-skew(place), np.eye(3)]) / length])
        free = here @ s.free
        sizes = np.linalg.norm(free, axis=0)
        return (np.linalg.lstsq(free / sizes, here @ step, rcond=None)[0].T / sizes).T

    def screws(self, label: str, motion: Motion | None = None):
        """What a joint leaves free and holds, in this world."""
        link = self.description.links[label]
        poses = {self._body(n): pose for n, pose in (motion or self.motion).poses.items()}
        joint = next(j for j in self._plainly.joints if j.name == self.name(label))
        assert joint.a.body.name == self._body(link.a.body)
        return screws(joint, poses, self._plainly.parameters.__getitem__, self.world.length)

    @cached_property
    def _plainly(self) -> kp.Mechanism:
        return self.description.mechanism()

    @cached_property
    def tau(self) -> np.ndarray:
        """Efforts of what is actuated, in this model's order."""
        by_name = {}
        for label, efforts in self.motion.efforts.items():
            link = self.description.links[label]
            for n, on, x in zip(_freedoms(link.kind), link.actuated, efforts, strict=True):
                if on:
                    by_name[".".join(part for part in (self.name(label), n) if part)] = x
        return np.array([by_name[name] for name in self.model.u_names])

    # ---- names -----------------------------------------------------------------------------------------

    def name(self, label: str) -> str:
        """What a part is called in this mechanism."""
        return self.description.called(label)

    def label(self, name: str) -> str:
        """What a part is called in the original."""
        return self._labels.get(name, name)

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {name: label for label, name in self.description.names.items()}

    def _body(self, label: str) -> str:
        return label if label == GROUND else self.name(label)

    def marker(self, label: str):
        """A watched point as a marker of the model's mechanism."""
        frame = self.points[label]
        m = self.model.mechanism
        body = m.ground if frame.body == GROUND else next(b for b in m.bodies if b.name == self.name(frame.body))
        return body.at(*frame.position.tolist(), rotation=frame.rotation)

    @cached_property
    def markers(self) -> dict:
        """Of all watched points; made once, as code is kept by them."""
        return {label: self.marker(label) for label in self.points}

    def sign(self, label: str) -> int:
        """Which way a joint's coordinate counts, beside the original."""
        return self.signs.get(label, 1)


def _plain(x: np.ndarray):
    return float(x[0]) if len(x) == 1 else x


def _freedoms(kind: str) -> tuple[str, ...]:
    return KINDS[kind].v_names


def through_file(m: kp.Mechanism, ending: str) -> kp.Mechanism:
    """Written and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"m{ending}"
        m.save(path)
        return kp.load(path)


def wrong(description: Description, paths: tuple[str, ...]) -> Description:
    """Other numbers for parameters that will be given: nothing may be left of them."""
    by_name = {description.called(n): n for n in (*description.bodies, *description.links, *description.loads)}
    bodies, links, loads = dict(description.bodies), dict(description.links), dict(description.loads)
    gravity = description.gravity.copy()
    for path in paths:
        name, *freedom, last = path.split(".")
        label = by_name.get(name)
        if name == "gravity":
            gravity["xyz".index(last)] *= -0.5
        elif label in bodies and last == "mass":
            bodies[label] = replace(bodies[label], mass=bodies[label].mass * 1.7 + 0.1)
        elif label in links and last in ("damping", "stiffness", "armature"):
            at = _freedoms(links[label].kind).index(freedom[0] if freedom else "")
            values = [0.0 if k == at else x for k, x in enumerate(getattr(links[label], last))]
            links[label] = replace(links[label], **{last: tuple(values)})
        elif label in loads and last in ("stiffness", "damping"):
            loads[label] = replace(loads[label], **{last: 0.3 * getattr(loads[label], last)})
    return replace(description, gravity=gravity, bodies=bodies, links=links, loads=loads)
