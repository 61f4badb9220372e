"""The same mechanism elsewhere: turned and shifted in space with gravity, in other units, with other masses."""

from dataclasses import replace

import numpy as np

from kempe.mechanics.state import State
from kempe.mechanism.bodies import Marker
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.closed import Closed


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """w, x, y, z of a rotation: the eigenvector of a symmetric matrix that all of them give (Bar-Itzhack)."""
    (a, b, c), (d, e, f), (g, h, i) = rotation
    k = np.array(
        [
            [a - e - i, d + b, g + c, h - f],
            [d + b, e - a - i, h + f, c - g],
            [g + c, h + f, i - a - e, d - b],
            [h - f, c - g, d - b, a + e + i],
        ]
    )
    x, y, z, w = np.linalg.eigh(k)[1][:, -1]
    return np.array([w, x, y, z])


def moved(m: Mechanism, rotation=None, shift=(0.0, 0.0, 0.0), length: float = 1.0, masses=None) -> Mechanism:
    """A mechanism of lumps, in place: lengths times `length`, then turned and shifted; masses: a factor for each."""
    rotation, shift = np.eye(3) if rotation is None else rotation, np.asarray(shift, dtype=float)

    def placed(marker: Marker) -> Marker:
        at, axes = length * np.array(marker.position, dtype=float), marker.rotation
        if marker.body is m.ground:
            at, axes = shift + rotation @ at, rotation @ axes
        return Marker(marker.body, tuple(at.tolist()), axes, marker.name)

    for k, joint in enumerate(m.joints):
        pitch = None if joint.pitch is None else joint.pitch * length
        m.joints[k] = replace(joint, a=placed(joint.a), b=placed(joint.b), pitch=pitch)
    for body, factor in zip(m.bodies, np.ones(len(m.bodies)) if masses is None else masses, strict=True):
        lump = body.parts[0].solid
        tensor = (np.array(lump.tensor) * factor * length**2).tolist()
        com = (np.array(lump.com) * length).tolist()
        solid = replace(lump, mass=lump.mass * float(factor), com=tuple(com), tensor=tuple(tensor))
        body.parts[0] = replace(body.parts[0], solid=solid)
    m.gravity = tuple((rotation @ np.array(m.gravity, dtype=float)).tolist())
    return m


def state_there(made: Closed, model: Model, poses: np.ndarray, rotation, shift, length: float) -> State:
    """The closed state of a mechanism after `moved`, in a model of it in which bodies may float; poses: those that all
    bodies had before."""
    known = {joint.name: joint.type for joint in made.mechanism.joints}
    values = {}
    for t in model.topology.tree:
        name, kind = t.joint.name, t.joint.type
        if name in known:
            quaternions = len(kind.q_names) - len(kind.v_names)
            units = [""] * 4 + list(kind.units[3:]) if quaternions else kind.units
            by = np.array([length if unit == "m" else 1.0 for unit in units])
            values[name] = np.atleast_1d(made.values[name]) * by
        else:
            body = next(k for k, body in enumerate(made.mechanism.bodies) if name == f"{body.name} floats")
            turn, place = poses[body][:9].reshape(3, 3), poses[body][9:]
            values[name] = np.concatenate([quaternion(rotation @ turn), shift + rotation @ place * length])
    return model.state({name: float(x[0]) if x.size == 1 else x for name, x in values.items() if x.size})
