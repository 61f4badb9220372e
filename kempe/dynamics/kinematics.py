"""Kinematics and the sums over bodies: poses, twists, accelerations, energy, power, momentum, centre of mass."""

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kempe.arithmetic.sums import times
from kempe.dynamics.springs import HeldCut, pull
from kempe.dynamics.ties import damper_power, spring_energy
from kempe.dynamics.tree import Link, Place, PlacedSpring, Tree
from kempe.spatial.moves import Moves, pose_along, twist_along
from kempe.spatial.vectors import (
    Matrix,
    Scalar,
    Vector,
    array,
    cross,
    divided,
    dot,
    is_zero,
    length,
    scaled,
    symbols,
    to_sx,
    zeros,
)


@dataclass(frozen=True)
class Frame:
    """The pose of a link: axes (columns, in world axes) and origin; its angular and linear velocity in its own axes."""

    rotation: Matrix
    position: Vector
    omega: Vector
    velocity: Vector


GROUND = Frame(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))


def frames(tree: Tree, q: Vector, v: Vector) -> list[Frame]:
    """The frame of every link, from the ground outward."""
    found: list[Frame] = []
    for link, parent, at in zip(tree.links, tree.parents, tree.joints, strict=True):
        above = GROUND if parent < 0 else found[parent]
        posture = link.posture(q[at.q])
        moves = link.moves(posture)
        angular, linear = link.subspace(posture)
        omega, velocity = twist_along(moves, above.omega, above.velocity)
        rates = v[at.v]
        pose = pose_along(moves, above.rotation, above.position)
        found.append(Frame(*pose, omega + times(angular, rates), velocity + times(linear, rates)))
    return found


def at_place(found: list[Frame], place: Place) -> Frame:
    """The frame of a marker."""
    return frame_along(place.moves, GROUND if place.link < 0 else found[place.link])


def frame_along(moves: Moves, carrier: Frame) -> Frame:
    """The frame reached by moves from another frame of the same body."""
    pose = pose_along(moves, carrier.rotation, carrier.position)
    return Frame(*pose, *twist_along(moves, carrier.omega, carrier.velocity))


def world_twist(frame: Frame) -> Vector:
    """[omega; v] of a frame's origin, in world axes."""
    return np.concatenate([frame.rotation @ frame.omega, frame.rotation @ frame.velocity])


def rates(tree: Tree, q: Vector, v: Vector) -> Vector:
    """dq/dt."""
    parts = [tree.links[k].kind.rates(q[tree.joints[k].q], v[tree.joints[k].v]) for k in tree.own]
    return array(x for part in parts for x in part)


def changing(function: Callable, tree: Tree, q: Vector, v: Vector) -> ca.SX:
    """The rate of a function of q while q moves with v."""
    free, direction = symbols("q", tree.topology.nq), ca.SX.sym("qdot", tree.topology.nq)
    value = function(free)
    changed = ca.jtimes(value if isinstance(value, ca.SX) else to_sx(value), to_sx(free), direction)
    old, new = ca.vertcat(to_sx(free), direction), ca.vertcat(to_sx(q), to_sx(rates(tree, q, v)))
    return ca.substitute(changed, old, ca.densify(new))  # velocities may be structural zeros


def place(rotation: Matrix, position: Vector) -> Vector:
    """x, y, z, roll, pitch, yaw: turned about its own z by yaw, then y by pitch, then x by roll."""
    r = rotation
    pitch = ca.atan2(-r[2, 0], ca.sqrt(r[0, 0] * r[0, 0] + r[1, 0] * r[1, 0]))
    return array([*position, ca.atan2(r[2, 1], r[2, 2]), pitch, ca.atan2(r[1, 0], r[0, 0])])


def kinetic_energy(tree: Tree, found: list[Frame], q: Vector, v: Vector) -> Scalar:
    """The kinetic energy of all bodies and of the rotors in the joints."""
    total = 0.0
    for link, frame, at in zip(tree.links, found, tree.joints, strict=True):
        n, f, *modal = _momenta(link, frame, q[at.q], v[at.v])
        total = total + 0.5 * (dot(frame.omega, n) + dot(frame.velocity, f))
        for effort in modal:
            total = total + 0.5 * dot(v[at.v], effort)
        for armature, rate in zip(link.armature, v[at.v], strict=True):
            total = total + 0.5 * armature * rate * rate
    return total


def _momenta(link: Link, frame: Frame, q: Vector, v: Vector) -> tuple[Vector, ...]:
    """Angular and linear momentum of a link at its frame, in its axes; for a beam, also those of its coordinates."""
    if link.beam is None:
        return link.inertia.wrench(frame.omega, frame.velocity)
    return link.beam.wrench(q, frame.omega, frame.velocity, v)


def _mass(link: Link, q: Vector) -> tuple[Scalar, Vector]:
    """Mass and first moment of a link, in its axes."""
    inertia = link.inertia if link.beam is None else link.beam.rigid(q)
    return inertia.mass, inertia.moment


def potential_energy(tree: Tree, found: list[Frame], q: Vector) -> Scalar:
    """The energy of gravity (zero with all masses at the world origin), joint springs, beams, springs between points,
    at cuts and at couplings.
    """
    total = spring_energy(tree, q)
    for link, frame, at in zip(tree.links, found, tree.joints, strict=True):
        mass, moment = _mass(link, q[at.q])
        total = total - dot(tree.gravity, scaled(mass, frame.position) + frame.rotation @ moment)
        if link.beam is not None:
            total = total + link.beam.strain_energy(q[at.q])
        if any(not is_zero(k) for k in link.stiffness):
            for k, rest, x in zip(link.stiffness, link.rest, q[at.q], strict=True):
                total = total + 0.5 * k * (x - rest) * (x - rest)
    for load in tree.loads:
        if isinstance(load, PlacedSpring):
            span = at_place(found, load.b).position - at_place(found, load.a).position
            stretch = length(span) - load.length
            total = total + 0.5 * load.stiffness * stretch * stretch
        elif isinstance(load, HeldCut):
            total = total + pull(load, at_place(found, load.a), at_place(found, load.b)).energy
    return total


def passive_power(tree: Tree, found: list[Frame], v: Vector) -> tuple[Scalar, Scalar]:
    """Power of dampers (never positive) in joints, in beams, between points, at cuts and at couplings; and of
    wrenches.
    """
    dampers, loads = damper_power(tree, v), 0.0
    for link, at in zip(tree.links, tree.joints, strict=True):
        dampers = dampers - (0.0 if link.beam is None else link.beam.loss(v[at.v]))
        for damping, rate in zip(link.damping, v[at.v], strict=True):
            dampers = dampers - damping * rate * rate
    for load in tree.loads:
        if isinstance(load, PlacedSpring):
            _, _, speed = stretching(at_place(found, load.a), at_place(found, load.b))
            dampers = dampers - load.damping * speed * speed
        elif isinstance(load, HeldCut):
            dampers = dampers + pull(load, at_place(found, load.a), at_place(found, load.b)).power
        else:
            frame = at_place(found, load.at)
            omega, velocity = frame.omega, frame.velocity
            if not load.follows:
                omega, velocity = frame.rotation @ omega, frame.rotation @ velocity
            loads = loads + dot(load.moment, omega) + dot(load.force, velocity)
    return dampers, loads


def stretching(a: Frame, b: Frame) -> tuple[Vector, Scalar, Scalar]:
    """From a to b: the vector, its length, and the rate of that length; the rate is zero if the points coincide."""
    span = b.position - a.position
    far = length(span)
    return span, far, divided(dot(span, times(b.rotation, b.velocity) - times(a.rotation, a.velocity)), far)


def momentum(tree: Tree, found: list[Frame], q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Angular momentum about the world origin, and linear momentum, in world axes."""
    angular, linear = zeros(3), zeros(3)
    for link, frame, at in zip(tree.links, found, tree.joints, strict=True):
        n, f, *_ = _momenta(link, frame, q[at.q], v[at.v])
        force = frame.rotation @ f
        angular, linear = angular + frame.rotation @ n + cross(frame.position, force), linear + force
    return angular, linear


def center_of_mass(tree: Tree, found: list[Frame], q: Vector) -> Vector:
    """The centre of mass of all bodies, in world axes."""
    total, moments = 0.0, zeros(3)
    for link, frame, at in zip(tree.links, found, tree.joints, strict=True):
        mass, moment = _mass(link, q[at.q])
        total = total + mass
        moments = moments + scaled(mass, frame.position) + frame.rotation @ moment
    return scaled(1.0 / total, moments)


def external_wrenches(tree: Tree, q: Vector, v: Vector) -> list[tuple[Vector, Vector]] | None:
    """Moment and force of all loads on every link, at its frame, in its axes; None if there are no loads."""
    if not tree.loads:
        return None
    found = frames(tree, q, v)
    total = [(zeros(3), zeros(3)) for _ in tree.links]

    def add(place: Place, moment: Vector, force: Vector, point: Vector) -> None:
        """Adds a wrench in world axes at a world point."""
        if place.link < 0:
            return
        frame = found[place.link]
        moment = moment + cross(point - frame.position, force)
        n, f = total[place.link]
        total[place.link] = n + frame.rotation.T @ moment, f + frame.rotation.T @ force

    for load in tree.loads:
        if isinstance(load, PlacedSpring):
            a, b = at_place(found, load.a), at_place(found, load.b)
            # If the ends coincide, a spring has no direction and a damper no speed: only k times the vector remains.
            span, far, speed = stretching(a, b)
            pulled = scaled(load.stiffness + divided(load.damping * speed - load.stiffness * load.length, far), span)
            add(load.a, zeros(3), pulled, a.position)
            add(load.b, zeros(3), -pulled, b.position)
        elif isinstance(load, HeldCut):
            a, b = at_place(found, load.a), at_place(found, load.b)
            held = pull(load, a, b)
            add(load.a, -held.moment, -held.force, held.point_a)
            add(load.b, held.moment, held.force, b.position)
        else:
            frame = at_place(found, load.at)
            turned = (frame.rotation @ load.moment, frame.rotation @ load.force)
            add(load.at, *(turned if load.follows else (load.moment, load.force)), frame.position)
    return total


def normalized(tree: Tree, q: Vector) -> Vector:
    """The same coordinates with normalized quaternions."""
    own = ((tree.links[k].kind, q[tree.joints[k].q]) for k in tree.own)
    return np.concatenate([q[:0], *(kind.normalized(x) for kind, x in own)])
