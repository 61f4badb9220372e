"""Features that are about more than a state: workspaces, motions that nobody drives, files, and what ran before."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import kempe as kp
from kempe.formats.loading import read
from kempe.formats.mjcf import writing as mjcf
from kempe.formats.xml import parse_xml
from kempe.mechanism.joints import KINDS
from tests.formats.motion import carried_over
from tests.invariance.dense import dense
from tests.invariance.features import STATICS, Feature, by_condition, with_independent_actuators
from tests.invariance.motions import MOTIONS
from tests.invariance.observing import Observation, along_joints, number, vector, word
from tests.invariance.subject import Subject
from tests.newton import skew

# ---- workspaces --------------------------------------------------------------------------------------------

FAR = 0.15  # rad or sizes between states
COARSE = {"area": 0.02, "length": 0.03, "place": 0.05}


def two_ways(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """As it is, if it has two freedoms and hinges alone, two of which are actuated; a point is watched that moves in
    two directions."""
    links, d = subject.description.links, dense(subject)
    driven = [n for n, x in links.items() if any(x.actuated)]
    if d.free.shape[1] != 2 or {x.kind for x in links.values()} != {"revolute"} or len(driven) != 2:
        return None
    for label, frame in subject.points.items():
        place = subject.motion.at(frame)[1]
        speeds = np.hstack([-skew(place), np.eye(3)]) @ d.free[d.places[frame.body]]
        sizes = np.linalg.svd(speeds, compute_uv=False)
        if sizes[1] > 0.05 * sizes[0] and not subject.description.gears:
            return replace(subject, points={label: frame})
    return None


def workspace(subject: Subject, context) -> Observation:
    """How much a point reaches, and the singular curves: how many of each kind, and how long."""
    label = next(iter(subject.points))
    found = subject.model.workspace(subject.markers[label], subject.state, FAR)
    seen: Observation = {"area": number(found.area, 0, 2, "area")}
    for kind, curves in (("parallel", found.parallel_curves), ("serial", found.serial_curves)):
        lengths = [float(np.linalg.norm(np.diff(curve.points, axis=0), axis=1).sum()) for curve in curves]
        if kind == "parallel":  # others meet each other, and which are one depends on the triangles there
            seen["parallel curves"] = word(len(lengths))
        seen[f"length of {kind} curves"] = number(sum(lengths), 0, 1, "length", np.sqrt(found.area))
    return seen


def coarsely(subject: Subject, context) -> dict[str, float]:
    """A surface of triangles is as exact as they are small."""
    return COARSE


# ---- motions that nobody drives ----------------------------------------------------------------------------


def afloat(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """As it is, if it is a tree that floats, with joints that can be led."""
    kinds = [x.kind for x in subject.description.links.values()]
    floats = "free" in kinds[:1] and dense(subject).rank == sum(6 - len(KINDS[kind].v_names) for kind in kinds)
    return subject if floats and set(kinds) & {"revolute", "prismatic"} and not subject.description.gears else None


def synthesis(subject: Subject, context) -> Observation:
    """Efforts, and what is missing, of a motion of some joints."""
    turning = [n for n, x in subject.description.links.items() if x.kind in ("revolute", "prismatic")]
    values = {}
    for k, label in enumerate(turning):
        q = float(subject.motion.values[label][0])
        unit = subject.world.length if subject.description.links[label].units[0] == "m" else 1.0
        values[subject.name(label)] = (q, q + 0.2 * (k + 1) * subject.sign(label) * unit)
    still = kp.State(subject.model, subject.state.q, np.zeros(subject.model.nv))
    wanted = kp.motions.quintic(values, 1.0)
    told = subject.model.synthesize(wanted, start=still, output=[0.0, 0.4], **subject.also)
    middle = subject.model.center_of_mass(told.run.q, **subject.also)
    found: Observation = {"roots": word(sorted(map(subject.label, told.wrenches)))}
    for body, wrench in told.wrenches.items():
        label = subject.label(body)
        place = np.array([subject.model.pose(body, q, **subject.also)[1] for q in told.run.q])
        force, lever = wrench[:, 3:], np.cross(place - middle, wrench[:, 3:])
        found[f"force on {label}"] = vector(force, 1, 1)
        found[f"moment on {label}"] = vector(wrench[:, :3] + lever, 1, 2, size=np.abs(lever).max())
    for label in turning:
        link = subject.description.links[label]
        if any(link.actuated):
            length = 2 if link.units[0] == "rad" else 1
            effort = subject.sign(label) * told.torque(subject.name(label))
            found[f"effort of {label}"] = number(effort, 1, length, "effort")
    return found


# ---- files -------------------------------------------------------------------------------------------------


def sayable(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """Without what files of others cannot say."""
    links = {}
    for label, link in subject.description.links.items():
        even = {"spherical": 1.0, "free": 0.0}.get(link.kind)
        given = (
            {n: (even * getattr(link, n)[0],) * len(link.units) for n in ("damping", "armature")}
            if even is not None
            else {}
        )
        links[label] = replace(link, actuated=(False,) * len(link.units), **given)
    description = replace(subject.description, links=links, loads={}, gears={})
    found = replace(subject, description=description, motion=replace(subject.motion, efforts={}))
    return None if dense(found).doubtful else found


def through_mjcf(subject: Subject, context) -> Observation:
    """Accelerations, of what was written as MJCF and read again."""
    m = subject.mechanism
    again = read(parse_xml(mjcf.text(m)[0].encode(), Path("again.xml")))
    return read_again(subject, again)


def read_again(subject: Subject, again: kp.Mechanism) -> Observation:
    """Of another mechanism whose joints have the same names, or are rows of joints in their place."""
    own = {joint.name: joint for joint in again.joints}
    model = again.compile()
    values, rates = {}, {}
    for joint in subject.mechanism.joints:
        label = subject.label(joint.name)
        q, v = subject.motion.values[label], subject.rate(label, subject.motion)
        found = carried_over(joint, own, q, v, np.zeros(len(v)))
        values, rates = values | found[0], rates | found[1]
    tree = {t.joint.name: t for t in model.topology.tree}
    state = model.assemble(
        near={n: x if len(x) > 1 else float(x[0]) for n, x in values.items() if n in tree and len(x)}
    )
    for n, x in values.items():
        if n in tree:
            assert np.abs(state.q[tree[n].q] - x).max(initial=0.0) < 1e-9 * max(1.0, np.abs(x).max(initial=0.0)), n
    v, known = np.zeros(model.nv), np.zeros(model.nv, dtype=bool)
    for n, x in rates.items():
        if n in tree:
            v[tree[n].v], known[tree[n].v] = x, True
    if model.topology.constrained:
        rows = model.closure(state.q)[1]
        v[~known] = np.linalg.lstsq(rows[:, ~known], -rows[:, known] @ v[known], rcond=1e-9)[0]
    a = model.forward_dynamics(state.q, v)
    found = {"kinetic energy": number(model.energy(state.q, v)[0], 1, 2)}
    for joint in subject.mechanism.joints:
        label = subject.label(joint.name)
        if joint.type.name in ("revolute", "prismatic") and joint.name in tree:
            length = int(joint.type.units[0] == "m")
            x = float(a[tree[joint.name].v][0]) * subject.sign(label)
            found[f"{label}, acceleration"] = number(x, length=length, sort="acceleration")
    return found


def unwritten(subject: Subject, context) -> Observation:
    """The same of the mechanism itself."""
    m, q, v = subject.model, subject.state.q, subject.state.v
    found = along_joints(subject, m.forward_dynamics(q, v), "acceleration", "acceleration")
    return found | {"kinetic energy": number(m.energy(q, v)[0], 1, 2)}


# ---- what ran before ---------------------------------------------------------------------------------------

BEFORE = ("derivatives", "reactions", "runs", "steppers", "assembly", "batches")
CHECKED = ("accelerations", "inverse dynamics", "reactions", "runs", "rollouts", "steppers", "assembly")


def fresh(subject: Subject) -> Subject:
    """The same again, with nothing compiled."""
    return replace(subject)


def history(subject: Subject, context) -> Observation:
    """Whether features give the same bits first of all, and after others were used."""
    every, found = STATICS | MOTIONS, {}
    first = {}
    for name in CHECKED:
        first[name] = _bits(every[name].observe(fresh(subject), None))
    used = fresh(subject)
    for name in (*BEFORE, *reversed(CHECKED)):
        after = _bits(every[name].observe(used, None))
        if name in first:
            found[f"{name}, same bits"] = word(after == first[name])
    return found


def _bits(observation: Observation) -> dict:
    return {
        n: x.value if x.kind == "word" else np.asarray(x.value, dtype=float).tobytes() for n, x in observation.items()
    }


def all_same(subject: Subject, context) -> Observation:
    """They do."""
    return {f"{name}, same bits": word(True) for name in CHECKED}


ALL = (
    "turned",
    "reframed",
    "remarked",
    "exchanged",
    "renamed",
    "units",
    "inches",
    "saved",
    "inputs",
    "cut",
    "formulation",
)
COMPILED = ("units", "inputs", "cut", "formulation")
WHOLE: dict[str, Feature] = {
    "workspace": Feature(
        workspace, two_ways, tolerance=coarsely, avoid=("units", "inputs", "formulation"), sorts=("gallery five-bar",)
    ),
    "synthesis": Feature(synthesis, afloat, avoid=("inches",), sorts=("floating",)),
    "mjcf": Feature(
        through_mjcf, sayable, tolerance=lambda s, c: 1e3 * by_condition(s, c), truth=unwritten, avoid=COMPILED
    ),
    "what ran before": Feature(history, with_independent_actuators, truth=all_same, avoid=ALL),
}
