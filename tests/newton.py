"""Newton and Euler's equations of every single body, in world axes, with all joints' constraints, in dense numbers.

A second way to the dynamics of closed mechanisms that shares no equation with Kempe: twists and accelerations are
spatial ones [omega; velocity of the point at the world's origin], wrenches [moment about the world's origin; force]. Of
each joint only the screws it leaves free are known, each fixed in one of its two bodies. With A the accelerations of
all bodies, N the wrenches that joints can transmit, as columns, and c what screws that turn along add,

    I A + V x* I V = W + N lam,    N^T (A_b - A_a) = N^T c.
"""

from dataclasses import dataclass

import numpy as np

from kempe.mechanics.state import State
from kempe.mechanism.joint import Joint
from kempe.mechanism.loads import Spring
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.closed import upright

RANK = 1e-9  # of the largest singular value


def skew(v) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def crossed(v: np.ndarray) -> np.ndarray:
    """v x on twists; -(v x)^T is the same on wrenches."""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


@dataclass(frozen=True, eq=False)
class Screws:
    """A joint at a state: free screws as columns and the body each is fixed in (0 for a, 1 for b), the wrenches it
    transmits, those of unit efforts, and marker b.

    Wrenches are moments and forces over `size`, at marker b: their least combination is the least set of reactions.
    """

    joint: Joint
    free: np.ndarray
    carried: tuple[int, ...]
    held: np.ndarray
    efforts: np.ndarray
    marker: tuple[np.ndarray, np.ndarray]

    def seen(self, wrench: np.ndarray) -> np.ndarray:
        """A wrench as marker b sees it: [moment; force] there, in its axes."""
        rotation, place = self.marker
        return np.concatenate([rotation.T @ (wrench[:3] - np.cross(place, wrench[3:])), rotation.T @ wrench[3:]])


def screws(joint: Joint, poses: dict, values, size: float) -> Screws:
    """Of a joint, from what its kind means."""
    (turn_a, at_a), (turn_b, at_b) = (_marker(poses, marker, values) for marker in (joint.a, joint.b))
    axes_a, axes_b = ([turn @ (x / np.linalg.norm(x)) for x in joint.axes] for turn in (turn_a, turn_b))
    spin = lambda axis, point: np.concatenate([axis, np.cross(point, axis)])  # noqa: E731
    slide = lambda axis: np.concatenate([np.zeros(3), axis])  # noqa: E731
    pure = lambda axis: np.concatenate([axis, np.zeros(3)])  # noqa: E731
    push = lambda axis, point: np.concatenate([np.cross(point, axis), axis])  # noqa: E731
    across = _across(axes_a[0]) if axes_a else ()
    every, name, pitch = np.eye(3), joint.type.name, joint.pitch
    flat = turn_a @ upright(joint.axes[0] / np.linalg.norm(joint.axes[0])) if name == "planar" else every
    # Free screws with their carriers; moments and forces that are held, at b; unit efforts.
    free, moments, forces, efforts = {
        "revolute": lambda: ([(spin(axes_a[0], at_a), 0)], across, every, [pure(axes_a[0])]),
        "prismatic": lambda: ([(slide(axes_a[0]), 0)], every, across, [push(axes_a[0], at_b)]),
        "helical": lambda: ([(spin(axes_a[0], at_a) + pitch * slide(axes_a[0]), 0)], across, across, [pure(axes_a[0])]),
        "cylindrical": lambda: (
            [(spin(axes_a[0], at_a), 0), (slide(axes_a[0]), 0)], across, across,
            [pure(axes_a[0]), push(axes_a[0], at_b)],
        ),
        "universal": lambda: (
            [(spin(axes_a[0], at_a), 0), (spin(axes_b[1], at_a), 1)], [np.cross(axes_a[0], axes_b[1])], every,
            [pure(axes_a[0]), pure(axes_b[1])],
        ),
        "spherical": lambda: ([(spin(x, at_b), 1) for x in turn_b.T], (), every, [pure(x) for x in turn_b.T]),
        "planar": lambda: (
            [(slide(flat[:, 0]), 0), (slide(flat[:, 1]), 0), (spin(axes_a[0], at_b), 1)], across, [axes_a[0]],
            [push(flat[:, 0], at_b), push(flat[:, 1], at_b), pure(axes_a[0])],
        ),
        "free": lambda: (
            [*((spin(x, at_b), 1) for x in turn_b.T), *((slide(x), 1) for x in turn_b.T)], (), (),
            [*(pure(x) for x in turn_b.T), *(push(x, at_b) for x in turn_b.T)],
        ),
        "fixed": lambda: ([], every, every, []),
    }[name]()  # fmt: skip
    held = [pure(x) for x in moments] + [push(x, at_b) / size for x in forces]
    if name == "helical":
        held.append((push(axes_a[0], at_b) - pitch * pure(axes_a[0])) / size)
    columns = [np.array(x).reshape(-1, 6).T for x in ([s for s, _ in free], held, efforts)]
    return Screws(joint, columns[0], tuple(k for _, k in free), *columns[1:], (turn_b, at_b))


def _across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors at right angles to another and to each other."""
    one = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    one = one / np.linalg.norm(one)
    return one, np.cross(axis, one)


def along(free: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """How much of each free screw a twist (or several) is made of."""
    return np.linalg.solve(free.T @ free, free.T @ twist)


def by_joint(model: Model, state: State, a: np.ndarray) -> dict[str, np.ndarray]:
    """Accelerations of all joints, those that were cut too, from those of the tree."""
    found = {t.joint.name: a[t.v] for t in model.topology.tree}
    cut, at = model.loop_matrix(state.q) @ a + model.loop_velocity_bias(state.q, state.v), 0
    for loop in model.topology.loops:
        count = len(loop.joint.type.v_names)
        found[loop.joint.name] = cut[at : at + count]
        at += count
    return found


def _marker(poses: dict, marker, values) -> tuple[np.ndarray, np.ndarray]:
    rotation, place = poses[marker.body.name]
    return rotation @ marker.rotation, place + rotation @ np.array(marker.origin(values), dtype=float)


@dataclass(frozen=True, eq=False)
class Solved:
    """What came of it: accelerations of joints; their reactions, the least set where there are many; where a unit
    stress shows in a joint's reaction; freedom; and how well conditioned the constraints are (least singular value that
    counts beside the largest)."""

    accelerations: dict[str, np.ndarray]
    reactions: dict[str, np.ndarray]
    stressed: dict[str, float]
    freedom: int
    condition: float


class Bodies:
    """A mechanism at a state: poses and twists of all bodies, and the screws of all joints."""

    def __init__(self, model: Model, state: State, values=None):
        self.mechanism: Mechanism = model.mechanism
        self.values = {**self.mechanism.parameters, **(values or {})}.__getitem__
        self.size = model.equations.closure_size
        m, p = self.mechanism, (model.parameters(values) if values else None)
        self.poses = {m.ground.name: (np.eye(3), np.zeros(3))}
        for body, numbers in zip(m.bodies, model.body_poses(state.q, p=p), strict=True):
            self.poses[body.name] = numbers[:9].reshape(3, 3), numbers[9:]
        self.number = {body.name: 6 * k for k, body in enumerate(m.bodies)}
        off = {loop.joint for loop in model.topology.off}  # switched off
        joints = [joint for joint in m.joints if joint not in off]
        self.q = {j.name: np.atleast_1d(state[j.name]) if j.type.q_names else np.zeros(0) for j in joints}
        self.v = {j.name: np.atleast_1d(state.rate(j.name)) if j.type.v_names else np.zeros(0) for j in joints}
        self.joints = [screws(joint, self.poses, self.values, self.size) for joint in joints]
        self.twists = self._twists()

    def _twists(self) -> dict[str, np.ndarray]:
        """From joint to joint; what closes a loop must agree."""
        found, left = {self.mechanism.ground.name: np.zeros(6)}, list(self.joints)
        while left:
            known = next(s for s in left if {s.joint.a.body.name, s.joint.b.body.name} & found.keys())
            left.remove(known)
            a, b = known.joint.a.body.name, known.joint.b.body.name
            step = known.free @ self.v[known.joint.name]
            if a in found and b in found:
                np.testing.assert_allclose(found[b] - found[a], step, atol=1e-9 * (1 + np.abs(step).max()))
            elif a in found:
                found[b] = found[a] + step
            else:
                found[a] = found[b] - step
        return found

    def inertia(self, body) -> np.ndarray:
        """About the world's origin, in its axes."""
        own, (rotation, place) = body.inertia(self.values), self.poses[body.name]
        mass, first = float(own.mass), rotation @ np.array(own.moment, dtype=float)
        com = place + first / mass if mass else place
        about = rotation @ np.array(own.tensor, dtype=float) @ rotation.T  # about the body's origin
        middle = about + (skew(first) @ skew(first) / mass if mass else 0.0)
        upper = middle - mass * skew(com) @ skew(com)
        return np.block([[upper, mass * skew(com)], [-mass * skew(com), mass * np.eye(3)]])

    def rest(self, tau: dict) -> np.ndarray:
        """Wrenches of gravity, loads and efforts on all bodies, less those that velocities take."""
        m = self.mechanism
        total = np.zeros(6 * len(m.bodies))
        for body in m.bodies:
            at, inertia, v = self.number[body.name], self.inertia(body), self.twists[body.name]
            fall = np.concatenate([np.zeros(3), m.gravity])
            total[at : at + 6] += inertia @ fall + crossed(v).T @ inertia @ v
        for load in m.loads:
            self._load(load, total)
        for s in self.joints:
            self._pair(total, s.joint, s.efforts @ self.effort(s, tau))
        return total

    def effort(self, s: Screws, tau: dict) -> np.ndarray:
        """Of actuators, springs and dampers of a joint."""
        j = s.joint
        given = np.atleast_1d(tau.get(j.name, np.zeros(len(j.type.v_names)))).astype(float)
        given = given - np.array(j.damping) * self.v[j.name]
        if any(j.stiffness):
            given = given - np.array(j.stiffness) * (self.q[j.name] - np.array(j.rest))
        return given

    def _pair(self, total: np.ndarray, joint: Joint, wrench: np.ndarray) -> None:
        """A wrench of a joint on b, and its opposite on a."""
        for sign, marker in ((1, joint.b), (-1, joint.a)):
            if marker.body.name in self.number:
                at = self.number[marker.body.name]
                total[at : at + 6] += sign * wrench

    def _load(self, load, total: np.ndarray) -> None:
        push = lambda force, point: np.concatenate([np.cross(point, force), force])  # noqa: E731
        if isinstance(load, Spring):
            ends = [_marker(self.poses, marker, self.values)[1] for marker in (load.a, load.b)]
            speeds = [
                self.twists[marker.body.name][3:] + np.cross(self.twists[marker.body.name][:3], end)
                for marker, end in zip((load.a, load.b), ends, strict=True)
            ]
            span = ends[1] - ends[0]
            far = np.linalg.norm(span)
            unit = span / far
            pull = load.stiffness * (far - load.length) + load.damping * unit @ (speeds[1] - speeds[0])
            on = [(load.a, push(pull * unit, ends[0])), (load.b, push(-pull * unit, ends[1]))]
        else:
            turn, place = _marker(self.poses, load.marker, self.values)
            axes = turn if load.follows else np.eye(3)
            moment = np.concatenate([axes @ np.array(load.moment), np.zeros(3)])
            on = [(load.marker, moment + push(axes @ np.array(load.force), place))]
        for marker, wrench in on:
            if marker.body.name in self.number:
                at = self.number[marker.body.name]
                total[at : at + 6] += wrench

    def bias(self, s: Screws) -> np.ndarray:
        """c: what A_b - A_a is beside the joint's own accelerations."""
        twists = [self.twists[marker.body.name] for marker in (s.joint.a, s.joint.b)]
        terms = zip(s.free.T, s.carried, self.v[s.joint.name], strict=True)
        return sum((crossed(twists[by]) @ screw * rate for screw, by, rate in terms), np.zeros(6))

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inertia with rotors, N^T over all bodies, N^T c."""
        m = self.mechanism
        size = 6 * len(m.bodies)
        inertia = np.zeros((size, size))
        for body in m.bodies:
            at = self.number[body.name]
            inertia[at : at + 6, at : at + 6] = self.inertia(body)
        rows, right = [np.zeros((0, size))], [np.zeros(0)]
        for s in self.joints:
            between = np.zeros((6, size))
            for sign, marker in ((1, s.joint.b), (-1, s.joint.a)):
                if marker.body.name in self.number:
                    at = self.number[marker.body.name]
                    between[:, at : at + 6] += sign * np.eye(6)
            rows.append(s.held.T @ between)
            right.append(s.held.T @ self.bias(s))
            if any(s.joint.armature):
                inertia += between.T @ s.efforts @ np.diag(s.joint.armature) @ along(s.free, between)
        for coupling in m.couplings:
            row, known = np.zeros(size), 0.0
            for s, freedom, factor in self._coupled(coupling):
                push = factor * s.efforts[:, freedom]
                self._pair(row, s.joint, push)
                known += push @ self.bias(s)
            rows.append(row[None])
            right.append([known])
        return inertia, np.vstack(rows), np.concatenate(right)

    def _coupled(self, coupling):
        """Joints of a coupling, their freedoms and factors: the largest is 1, or of an equation of lengths 1 / size."""
        largest = max(coupling.terms, key=lambda term: abs(term.coefficient))
        unit = self.size if largest.joint.type.units[largest.freedom] == "m" else 1.0
        joints = {s.joint.name: s for s in self.joints}
        for term in coupling.terms:
            yield joints[term.joint.name], term.freedom, term.coefficient / abs(largest.coefficient) / unit

    def solve(self, tau: dict) -> Solved:
        """Accelerations and reactions for efforts by joint name."""
        inertia, rows, right = self.matrices()
        rest = self.rest(tau)
        for s in self.joints:  # rotors turn with c too
            if any(s.joint.armature):
                turning = np.array(s.joint.armature) * along(s.free, self.bias(s))
                self._pair(rest, s.joint, s.efforts @ turning)
        left, sizes, right_ = np.linalg.svd(rows)
        rank = int((sizes > RANK * sizes[0]).sum())
        basis = right_[rank:].T
        particular = right_[:rank].T @ (left[:, :rank].T @ right / sizes[:rank])
        reduced = basis.T @ inertia @ basis
        a = particular + basis @ np.linalg.solve(reduced, basis.T @ (rest - inertia @ particular))
        # The least lam with N lam = I A - W.
        lam = left[:, :rank] @ (right_[:rank] @ (inertia @ a - rest) / sizes[:rank])
        stress = left[:, rank:]
        accelerations, reactions, stressed, at = {}, {}, {}, 0
        for s in self.joints:
            between = sum(
                sign * a[self.number[x.body.name] : self.number[x.body.name] + 6]
                for sign, x in ((1, s.joint.b), (-1, s.joint.a))
                if x.body.name in self.number
            )
            own = along(s.free, between - self.bias(s)) if s.free.size else np.zeros(0)
            accelerations[s.joint.name] = own
            effort = self.effort(s, tau) - np.array(s.joint.armature) * own
            count = s.held.shape[1]
            reactions[s.joint.name] = s.seen(s.held @ lam[at : at + count] + s.efforts @ effort)
            stressed[s.joint.name] = float(np.abs(stress[at : at + count]).max(initial=0.0))
            at += count
        for coupling, factor in zip(self.mechanism.couplings, lam[at:], strict=True):
            for s, freedom, share in self._coupled(coupling):
                reactions[s.joint.name] = reactions[s.joint.name] + s.seen(factor * share * s.efforts[:, freedom])
        return Solved(accelerations, reactions, stressed, rows.shape[1] - rank, float(sizes[rank - 1] / sizes[0]))

    def unbalanced(self, accelerations: dict, reactions: dict) -> float:
        """How far Newton's and Euler's equations of single bodies are from met, beside the largest wrench of all."""
        m = self.mechanism
        a, left = {m.ground.name: np.zeros(6)}, list(self.joints)
        while left:
            s = next(s for s in left if {s.joint.a.body.name, s.joint.b.body.name} & a.keys())
            left.remove(s)
            one, other = s.joint.a.body.name, s.joint.b.body.name
            step = s.free @ np.atleast_1d(accelerations[s.joint.name]) + self.bias(s)
            if one not in a:
                a[one] = a[other] - step
            elif other not in a:
                a[other] = a[one] + step
        total = self.rest({})
        for s in self.joints:  # what springs and dampers of joints do is part of their reactions
            self._pair(total, s.joint, -s.efforts @ self.effort(s, {}))
        wrenches = [np.zeros(6)]
        for s in self.joints:
            rotation, place = s.marker
            moment, force = (rotation @ part for part in np.split(np.asarray(reactions[s.joint.name]), 2))
            wrenches.append(np.concatenate([moment + np.cross(place, force), force]))
            self._pair(total, s.joint, wrenches[-1])
        moving = np.concatenate([self.inertia(body) @ a[body.name] for body in m.bodies])
        return float(np.abs(total - moving).max() / max(np.abs(wrenches).max(), np.abs(moving).max(), 1e-300))
