"""Whether a mechanism moves as the one it was written from, though its file has other joints in the place of some.

A joint of several freedoms is a row of hinges and slides there, balls and floating bodies are seen from other axes, and
bodies may be in pieces. So a state is carried over joint by joint, and forces, masses and loops of both must lead to
the same accelerations, by a dense solve.
"""

import mujoco
import numpy as np

import kempe as kp
from kempe.dynamics.equations import Equations
from kempe.dynamics.partition import Partition
from kempe.dynamics.trees import Udu
from kempe.mechanism.joint import Joint
from kempe.spatial import quaternions
from kempe.spatial.vectors import skew
from kempe.topology.spanning import topology
from tests.closed import allowed
from tests.direct import Direct

Named = dict[str, np.ndarray]


class Motion:
    """A mechanism on numbers, with all that holds it together; cut: the joints that close its loops."""

    def __init__(self, mechanism: kp.Mechanism, cut=()):
        self.topology = topology(mechanism, cut)
        self.places = {at.joint.name: at for at in self.topology.tree}
        kind = Partition() if self.topology.constrained else Udu()
        self.kernel = Direct(Equations(self.topology, (), kind), mechanism).kernel

    def coordinates(self, named: Named) -> np.ndarray:
        """q, of what is known by joint."""
        return np.concatenate([np.zeros(0), *(named.get(name, np.zeros(0)) for name in self.places)])

    def velocities(self, named: Named, q: np.ndarray) -> np.ndarray:
        """v; that of joints which are not known, as loops have it."""
        known = np.concatenate([np.full(at.v.stop - at.v.start, n in named) for n, at in self.places.items()])
        v = np.zeros(self.topology.nv)
        for name, at in self.places.items():
            v[at.v] = named.get(name, 0.0)
        rows = self.rows(q)
        v[~known] = np.linalg.lstsq(rows[:, ~known], -rows[:, known] @ v[known], rcond=1e-9)[0]
        return v

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Of loops, then of couplings."""
        return self.kernel("closure")(q)[1] if self.topology.constrained else np.zeros((0, self.topology.nv))

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Of loops, then of couplings."""
        return self.kernel("residual")(q) if self.topology.constrained else np.zeros(0)

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """By one dense solve of all equations, those that follow from others too."""
        gamma = self.kernel("loop_bias")(q, v) if self.topology.constrained else np.zeros(0)
        mass, bias, rows = self.kernel("mass_matrix")(q), self.kernel("bias")(q, v), self.rows(q)
        whole = np.block([[mass, rows.T], [rows, np.zeros((len(rows),) * 2)]])
        right = np.concatenate([-bias, gamma])
        return np.linalg.lstsq(whole, right, rcond=1e-12)[0][: len(v)]


def same_motion(m: kp.Mechanism, values: Named, again: kp.Mechanism, tolerance: float = 1e-9) -> None:
    """From a closed state of the first, both move alike; and have the same energy there."""
    loops = [joint.name for joint in again.joints[len(again.bodies) :]]
    first = Motion(m, [joint.name for joint in m.joints if joint.name in loops])
    second = Motion(again, loops)
    values = {name: np.atleast_1d(x) for name, x in values.items()}
    q = first.coordinates(values)
    rng = np.random.default_rng(3)
    v = rng.normal(size=first.topology.nv)
    v = allowed(first.rows(q)) @ v if first.topology.constrained else v
    a = first.acceleration(q, v)
    own = {joint.name: joint for joint in again.joints}
    there: tuple[Named, Named, Named] = ({}, {}, {})
    for joint in m.joints:
        at = first.places.get(joint.name)
        motion = (None, None) if at is None else (v[at.v], a[at.v])
        for found, into in zip(carried_over(joint, own, values[joint.name], *motion), there, strict=True):
            into |= found
    q_file = second.coordinates(there[0])
    assert np.abs(second.gaps(q_file)).max(initial=0.0) < 1e-10
    v_file = second.velocities(there[1], q_file)
    assert np.abs(second.rows(q_file) @ v_file).max(initial=0.0) < 1e-9 * max(1.0, np.abs(v_file).max(initial=0.0))
    for x, y in zip(first.kernel("energy")(q, v), second.kernel("energy")(q_file, v_file), strict=True):
        assert abs(x - y) <= tolerance * max(1.0, abs(x))
    found = second.acceleration(q_file, v_file)
    size = max(1.0, np.abs(a).max(initial=0.0))
    for name, expected in there[2].items():
        if name in second.places:
            np.testing.assert_allclose(found[second.places[name].v], expected, rtol=0, atol=tolerance * size)


def carried_over(joint: Joint, own: dict[str, Joint], q: np.ndarray, v, a) -> tuple[Named, Named, Named]:
    """Coordinates, velocities and accelerations of a joint as joints of the file have them; the latter two as far as
    they are known."""
    kind, name = joint.type.name, joint.name
    if kind == "free" and name not in own and f"{name} turn" not in own:
        return {}, {}, {}  # it closes a loop, and holds nothing
    if kind not in ("spherical", "free"):
        named = {n: name if name in own else f"{name} {n}" for n in joint.type.v_names}
        found = [{} if x is None else {named[n]: x[k : k + 1] for k, n in enumerate(named)} for x in (q, v, a)]
        if kind == "helical":
            for x, into in zip((q, v, a), found, strict=True):
                into |= {} if x is None else {f"{name} slide": joint.pitch * x}
        return tuple(found)  # type: ignore[return-value]
    file = own.get(name) or own[f"{name} turn"]
    marker, turned = joint.b, file.b.body.name.split(" piece")[0] != joint.b.body.name
    turn, at = quaternions.to_matrix(q[:4]), q[4:] if kind == "free" else np.zeros(3)
    twists = [None if x is None else (x[:3], x[3:] if kind == "free" else np.zeros(3)) for x in (v, a)]
    if turned:
        marker = joint.a
        twists = [None if x is None else tuple(-part for part in _moved(turn, at, x)) for x in twists]
        turn, at = turn.T, -turn.T @ at
    place = np.array(marker.position, dtype=float)
    around = marker.rotation @ turn @ marker.rotation.T
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, around.ravel())
    if kind == "spherical":
        return {name: quaternion}, *({} if x is None else {name: marker.rotation @ x[0]} for x in twists)
    if name in own:
        shift = marker.rotation @ at + place - around @ place
        moved = [None if x is None else np.concatenate(_moved(marker.rotation, place, x)) for x in twists]
        return {name: np.concatenate([quaternion, shift])}, *({} if x is None else {name: x} for x in moved)
    slides = [f"{name} {n}" for n in ("px", "py", "pz")]
    found = [dict(zip(slides, at[:, None], strict=True)) | {f"{name} turn": quaternion}, {}, {}]
    if twists[0] is not None and twists[1] is not None:
        (spin, speed), (gain, push) = twists
        lines = turn @ speed, turn @ (push + np.cross(spin, speed))
        for into, line, x in zip(found[1:], lines, (spin, gain), strict=True):
            into |= dict(zip(slides, line[:, None], strict=True)) | {f"{name} turn": marker.rotation @ x}
    return tuple(found)  # type: ignore[return-value]


def _moved(turn: np.ndarray, at: np.ndarray, twist) -> tuple[np.ndarray, np.ndarray]:
    """A twist in the frame that this frame is seen from."""
    spin = turn @ twist[0]
    return spin, turn @ twist[1] + skew(at) @ spin
