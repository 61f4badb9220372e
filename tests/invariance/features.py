"""Features of Kempe at a state: what each tells of a subject, in numbers that depend on nothing but the physics."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import kempe as kp
from tests.invariance.changes import TURNING
from tests.invariance.dense import dense
from tests.invariance.observing import Observation, along_joints, number, point, vector, watched, word
from tests.invariance.subject import Subject

ROUNDING = 2e-13  # times the condition of constraints and masses: some hundred operations, one after the other
LOCKED = 1e-9  # rad or m per second: joints that move less are held by others


def nothing(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """As it is."""
    return subject


def unknown(subject: Subject) -> Any:
    """Nothing is found out beforehand."""
    return None


def by_condition(subject: Subject, context: Any) -> float:
    """What rounding of the pose and of the elimination may become."""
    return ROUNDING * dense(subject).condition ** 1.0


@dataclass(frozen=True)
class Feature:
    """observe(subject, context) tells; prepare makes a subject that has what it takes, or None; context is found out
    of the original once, and the same for all; truth: what the observation must be, by other means, where that is
    known."""

    observe: Callable[[Subject, Any], Observation]
    prepare: Callable[[Subject, np.random.Generator], Subject | None] = nothing
    context: Callable[[Subject], Any] = unknown
    tolerance: Callable[[Subject, Any], Any] = by_condition
    truth: Callable[[Subject, Any], Observation] | None = None
    avoid: tuple[str, ...] = ("inches",)  # changes that it has nothing to do with
    sorts: tuple[str, ...] = ()  # of subjects, where not all will do
    each: bool = False  # whether errors depend on the coordinates: then those of the changed one count too


# ---- dynamics at a state -----------------------------------------------------------------------------------


def accelerations(subject: Subject, context) -> Observation:
    """Of points and joints; energy, power, momentum, centre of mass."""
    m, q, v, also = subject.model, subject.state.q, subject.state.v, subject.also
    a = m.forward_dynamics(q, v, subject.tau, **also)
    found = along_joints(subject, a, "acceleration", "acceleration")
    for label, marker in subject.markers.items():
        both = m.acceleration(marker, q, v, a, **also)
        found[f"{label}, spin"] = vector(both[:3], sort="acceleration")
        found[f"{label}, acceleration"] = vector(both[3:], length=1, sort="acceleration")
    kinetic = float(m.energy(q, v, **also)[0])
    found["kinetic energy"] = number(kinetic, 1, 2)
    power = m.passive_power(q, v, **also)
    found["power"] = number([m.energy_rate(q, v, a, **also), *power], 1, 2, "power", kinetic)
    turning, linear = m.momentum(q, v, **also)
    middle = m.center_of_mass(q, **also)
    found["momentum"] = vector(linear, 1, 1)
    found["angular momentum"] = vector(turning - np.cross(middle, linear), 1, 2, size=kinetic)
    found["centre of mass"] = point(middle)
    return found


def rates_of_actuators(subject: Subject) -> tuple[int, bool]:
    """How many there are, and whether their rates are independent."""
    d = dense(subject)
    rows = []
    for label, link in subject.description.links.items():
        if any(link.actuated):
            between = np.zeros((6, len(d.inertia)))
            for sign, frame in ((1, link.b), (-1, link.a)):
                if frame.body in d.places:
                    between[:, d.places[frame.body]] += sign * np.eye(6)
            own = subject.along(label, between)
            rows += [row for row, on in zip(own, link.actuated, strict=True) if on]
    if not rows:
        return 0, True
    sizes = np.linalg.svd(np.array(rows) @ d.free, compute_uv=False)
    moves = sizes[0] > LOCKED * np.abs(rows).max()
    return len(rows), moves and len(sizes) == len(rows) and sizes[-1] > 1e-2 * sizes[0]


def with_independent_actuators(subject: Subject, rng) -> Subject | None:
    """As it is, if its efforts are unique."""
    count, independent = rates_of_actuators(subject)
    return subject if count and independent else None


def inverse(subject: Subject, context) -> Observation:
    """The efforts that give the accelerations they gave."""
    m, q, v, also = subject.model, subject.state.q, subject.state.v, subject.also
    a = m.forward_dynamics(q, v, subject.tau, **also)
    found = _efforts(subject, m.inverse_dynamics(q, v, a, **also), "")
    if m.topology.closed:
        found |= _efforts(subject, m.inverse_by_subsystems(q, v, a, **also).tau, " by subsystems")
    return found


def given_efforts(subject: Subject, context) -> Observation:
    """What they are."""
    found = _efforts(subject, subject.tau, "")
    return found | (_efforts(subject, subject.tau, " by subsystems") if subject.model.topology.closed else {})


def _efforts(subject: Subject, tau: np.ndarray, how: str) -> Observation:
    """By joint; where a joint has several, by size alone, since it may be seen from its other side."""
    units = [unit for t in subject.model.topology.tree for unit in t.joint.type.units]
    by_joint: dict[tuple[str, str], list[float]] = {}
    for name, at, x in zip(subject.model.u_names, subject.model.driven, tau, strict=True):
        label = subject.label(name.split(".")[0])
        by_joint.setdefault((label, units[at]), []).append(subject.sign(label) * float(x))
    found: Observation = {}
    for (label, unit), values in by_joint.items():
        value = values[0] if len(values) == 1 else sorted(map(abs, values))
        found[f"effort of {label} [{unit}]{how}"] = number(value, 1, 2 if unit == "rad" else 1, "effort")
    return found


def reactions(subject: Subject, context) -> Observation:
    """Of joints whose reactions are unique, about the centre of mass; and which these are."""
    m, q, v, also = subject.model, subject.state.q, subject.state.v, subject.also
    told, middle = m.reactions(q, v, subject.tau, **also), m.center_of_mass(q, **also)
    found: Observation = {}
    for label, link in subject.description.links.items():
        name = subject.name(label)
        found[f"{label} unique"] = word(told.unique[name])
        if told.unique[name]:
            turn, place = subject.motion.at(link.b)
            sign = -1 if label in subject.swapped else 1
            moment, force = turn @ told[name][:3], turn @ told[name][3:]
            found[f"force at {label}"] = vector(sign * force, 1, 1)
            found[f"moment at {label}"] = vector(sign * (moment + np.cross(place - middle, force)), 1, 2)
    return found


def mobility(subject: Subject, context) -> Observation:
    """Freedom, what is redundant, unique reactions, what actuators control."""
    near = {subject.name(n): _plain(x) for n, x in subject.motion.values.items() if len(x)}
    found = subject.mechanism.mobility(near)
    unique = sorted(subject.label(n) for n in found.unique)
    return {
        "freedom": word(found.freedom),
        "by counting": word(found.gruebler),
        "redundant": word(len(found.redundant)),
        "unique": word(unique),
        "controlled": word((found.actuators, found.controlled)),
        "spinning": word(sorted(sorted(map(subject.label, n.split(" with "))) for n in found.spins)),
    }


def counted(subject: Subject, context) -> Observation:
    """Freedom and redundancy by the rank of the constraints of single bodies."""
    d = dense(subject)
    return {"freedom": word(d.free.shape[1]), "redundant": word(len(d.rows) - d.rank)}


def _plain(x: np.ndarray):
    return float(x[0]) if len(x) == 1 else x


def derivatives(subject: Subject, context) -> Observation:
    """How fast accelerations change along the motion under constant efforts."""
    m, q, v, also = subject.model, subject.state.q, subject.state.v, subject.also
    by_q, by_v, by_tau, *_ = m.forward_dynamics_derivatives(q, v, subject.tau, **also)
    a = m.forward_dynamics(q, v, subject.tau, **also)
    found = along_joints(subject, by_q @ v + by_v @ a, "change of acceleration", "change")
    for name, column in zip(m.u_names, by_tau.T, strict=True):
        label = subject.label(name.split(".")[0])
        link = subject.description.links[label]
        if link.kind in TURNING and len(link.units) == 1:
            length = -2 if link.units[0] == "rad" else -1
            for what, x in along_joints(subject, column, f"by {label}", f"by {label}").items():
                found[what] = replace(x, value=subject.sign(label) * x.value, mass=-1, length=x.length + length)
    return found


def with_single_joints(subject: Subject, rng) -> Subject | None:
    """As it is, if joints with one freedom stay in every tree, and one of them moves."""
    kept = [n for n, x in subject.description.links.items() if x.kind in TURNING and len(x.units) == 1 and x.carries]
    rates = [np.abs(subject.rate(n, subject.motion)).max() for n in kept]
    return subject if max(rates, default=0.0) > LOCKED else None


# ---- closing -----------------------------------------------------------------------------------------------


def assembly(subject: Subject, context) -> Observation:
    """From the state itself, and from the values of all joints; from nothing, just whether it closes."""
    m, q = subject.model, subject.state.q
    named = {subject.name(n): _plain(x) for n, x in subject.motion.values.items() if len(x)}
    gears = {subject.name(n) for gear in subject.description.gears.values() for n in gear.coefficients}
    inside = {n: x for n, x in named.items() if n not in m.cut or n in gears}
    found = {}
    for how, state in {
        "near the state": m.assemble(near=subject.state),
        "near all values": m.assemble(near=named),
        "of given values": m.assemble(inside, near=subject.state),
    }.items():
        found |= watched(subject, kp.State(m, state.q, state.v), f", {how}", velocities=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may be far from how it is drawn
        found["closes from nothing"] = word(bool(np.abs(m.residual(m.assemble().q)).max(initial=0.0) < 1e-12))
    assert len(q) == m.nq
    return found


def where_it_is(subject: Subject, context) -> Observation:
    """Points, by the poses of bodies."""
    ways = "near the state", "near all values", "of given values"
    found: Observation = {
        f"{label}, place, {how}": point(subject.motion.at(frame)[1])
        for label, frame in subject.points.items()
        for how in ways
    }
    return found | {"closes from nothing": word(True)}


STATICS: dict[str, Feature] = {
    "accelerations": Feature(accelerations),
    "inverse dynamics": Feature(inverse, with_independent_actuators, truth=given_efforts),
    "reactions": Feature(reactions),
    "mobility": Feature(mobility, truth=counted, avoid=("inches", "inputs", "formulation", "cut")),
    "derivatives": Feature(derivatives, with_single_joints),
    "assembly": Feature(assembly, truth=where_it_is, avoid=("inches", "inputs", "formulation")),
}
