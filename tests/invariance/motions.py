"""Features of Kempe that take time: runs and what happens in them, fixed steps, equilibria, motions that are wanted.

What a run is off by is found out of the original, by a tolerance ten times as large or a step twice as long.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

import kempe as kp
from kempe.errors import KempeError
from tests.invariance.changes import TURNING
from tests.invariance.dense import Dense, dense, set_going
from tests.invariance.description import Motion
from tests.invariance.features import Feature, by_condition
from tests.invariance.observing import Observation, number, point, vector, watched, word
from tests.invariance.subject import Subject

TOLERANCE = 1e-10
DURATION = 0.2
OFTEN = 30.0  # times what a coarser run was off by
LEAST = 1e-8
MOVING = 0.2  # rad or m per second, of joints that shall meet something
LOCAL = ("inches",)
LARGE = ("units",)


def run_of(subject: Subject, duration: float, factor: float = 1.0, **options) -> kp.Trajectory:
    """A run from the subject's state under its efforts; rows at the start, half way and at the end."""
    tolerance = max(1e-14, factor * TOLERANCE * min(1.0, subject.world.length))
    given = {"limits": "ignore", "output": [0.0, duration / 2, duration], **subject.also, **options}
    return subject.model.simulate(subject.state, duration, torque=subject.tau, tolerance=tolerance, **given)


def told(subject: Subject, run: kp.Trajectory) -> Observation:
    """Points at the start, beside which what has come to rest is compared, half way and at the end, and the outcome."""
    found: Observation = {"outcome": word(run.outcome.kind)} | watched(subject, subject.state, " at the start")
    for at in (DURATION / 2, DURATION):
        rows = [k for k, t in enumerate(run.t) if abs(t - at) < 1e-12]
        if rows:
            found |= watched(subject, kp.State(subject.model, run.q[rows[-1]], run.v[rows[-1]]), f" at {at:g} s")
    return found


def gaps(one: Observation, other: Observation) -> dict[str, float]:
    """By sort, how far two observations are apart, beside the largest of it."""
    apart: dict[str, float] = {}
    size: dict[str, float] = {}
    for name, x in one.items():
        if x.kind != "word" and name in other:
            a, b = np.asarray(x.value, dtype=float), np.asarray(other[name].value, dtype=float)
            apart[x.sort] = max(apart.get(x.sort, 0.0), float(np.abs(a - b).max()))
            size[x.sort] = max(size.get(x.sort, 1e-300), float(np.abs(a).max()))
    return {sort: LEAST + OFTEN * x / size[sort] for sort, x in apart.items()}


def as_exact(subject: Subject, context) -> dict[str, float]:
    """As the context says."""
    return context["tolerance"]


def over_time(observe):
    """A context: how far the feature's observation is off with a tolerance ten times as large."""

    def found(subject: Subject) -> dict:
        return {"tolerance": gaps(observe(subject, {"factor": 1.0}), observe(subject, {"factor": 10.0}))}

    return found


def factor_of(context) -> float:
    return (context or {}).get("factor", 1.0)


# ---- runs --------------------------------------------------------------------------------------------------


def run(subject: Subject, context) -> Observation:
    """Where points go."""
    return told(subject, run_of(subject, DURATION, factor_of(context)))


def expression(subject: Subject, label: str, direction: np.ndarray, place: np.ndarray):
    """How far a watched point is beyond a plane through a place of the original's world."""
    pose = subject.model.casadi("pose", subject.markers[label])
    normal, there = subject.world.turn @ direction, subject.world.there("point", place, length=1)

    def value(t, q, v):
        return ca.dot(ca.DM(normal), pose(q, *([ca.DM(subject.p)] if subject.also else []))[1] - ca.DM(there))

    return value


def plane_ahead(subject: Subject) -> dict:
    """A plane that a point of the original passes after 0.6 of the duration, at right angles to its way there."""
    label = next(iter(subject.points))
    half = subject.model.simulate(
        subject.state, DURATION, torque=subject.tau, tolerance=TOLERANCE, limits="ignore", output=[0.6 * DURATION]
    )
    state = half[0]
    speed = subject.model.twist(subject.markers[label], state.q, state.v)[3:]
    place = subject.model.pose(subject.markers[label], state.q)[1]
    fast = np.linalg.norm(speed)
    passes = fast > 1e-3 and half.outcome.kind == "finished"
    context = {"label": label, "direction": speed / fast if passes else None, "place": place}
    if context["direction"] is None:
        return context | {"tolerance": {"time": 1.0}}
    coarse = event(subject, context | {"factor": 10.0})
    return context | {"tolerance": gaps(event(subject, context), coarse)}


def event(subject: Subject, context) -> Observation:
    """When a point passes a plane, and where."""
    if context["direction"] is None:
        return {"standing": word(True)}
    asked = kp.Event(
        "passes", expression(subject, context["label"], context["direction"], context["place"]), 1, "record"
    )
    done = run_of(subject, DURATION, factor_of(context), events=asked)
    found: Observation = {"outcome": word(done.outcome.kind), "how often": word(len(done.occurrences))}
    for k, each in enumerate(done.occurrences):
        found[f"time {k}"] = number(each.t, sort="time", size=DURATION)
        place = subject.model.pose(subject.markers[context["label"]], np.array(each.q), **subject.also)[1]
        found[f"place {k}"] = point(place)
    return found


# ---- what takes hold ---------------------------------------------------------------------------------------


def with_limit(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """With a limit that a joint is about to meet."""
    geared = {n for gear in subject.description.gears.values() for n in gear.coefficients}
    labels = [
        n
        for n, link in subject.description.links.items()
        if link.kind in TURNING and len(link.units) == 1 and n.startswith("joint") and n not in geared
        and abs(subject.rate(n, subject.motion)[0]) > MOVING
    ]  # fmt: skip
    if not labels:
        return None
    label = str(labels[rng.integers(len(labels))])
    link, q = subject.description.links[label], float(subject.motion.values[label][0])
    rate = float(subject.rate(label, subject.motion)[0])
    ahead, behind = q + 0.25 * DURATION * rate, q - np.sign(rate) * 4.0
    links = {**subject.description.links, label: replace(link, limits=((min(ahead, behind), max(ahead, behind)),))}
    return replace(subject, description=replace(subject.description, links=links))


def limited(subject: Subject) -> str:
    """The joint with a limit."""
    return next(n for n, link in subject.description.links.items() if any(link.limits))


def stops(subject: Subject, context) -> Observation:
    """Pushed back."""
    unit, world = subject.description.links[limited(subject)].units[0], subject.world
    length = world.length if unit == "m" else 1.0
    stiffness = 500.0 * world.mass * (1.0 if unit == "m" else world.length**2)
    given = kp.Stops(stiffness, 0.3 / length, 0.01 * length)
    return told(subject, run_of(subject, DURATION, factor_of(context), limits=given))


def locks(subject: Subject, context) -> Observation:
    """Held, after an impulse."""
    done = run_of(subject, DURATION, factor_of(context), limits="locks")
    found = told(subject, done) | {"how often": word(len(done.switches))}
    for k, each in enumerate(done.switches):
        found[f"time {k}"] = number(each.t, sort="time", size=DURATION)
        found[f"lost {k}"] = number(each.lost, 1, 2, "energy", _kinetic(subject))
    return found


def _kinetic(subject: Subject) -> float:
    return float(subject.model.energy(subject.state.q, subject.state.v, **subject.also)[0])


def with_switch(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """With a joint that is off at the start and can be switched on, and velocities that it will not allow."""
    labels = [n for n, link in subject.description.links.items() if n.startswith("close")]
    if not labels:
        return None
    label = str(labels[rng.integers(len(labels))])
    links = {**subject.description.links, label: replace(subject.description.links[label], switchable="open")}
    found = replace(subject, description=replace(subject.description, links=links))
    if dense(found, (label,)).condition > 1e6:
        return None
    return set_going(found, rng, (label,))


def switchable(subject: Subject) -> str:
    """The joint that is switched."""
    return next(n for n, link in subject.description.links.items() if link.switchable)


AT_ONCE = 1e-10  # s: the ends have not moved apart, and nothing has become faster


def impulse(subject: Subject, context) -> Observation:
    """Velocities after a joint has taken hold, and the energy that took."""
    name = subject.name(switchable(subject))
    done = run_of(subject, 2 * AT_ONCE, switches=[kp.Switch(name, on=AT_ONCE)], output=[0.0, 2 * AT_ONCE])
    if not done.switches:
        return {"outcome": word(done.outcome.kind)}
    (each,) = done.switches
    after = next(k for k in range(1, len(done.t)) if done.t[k] == done.t[k - 1])
    found = watched(subject, kp.State(subject.model, done.q[after], done.v[after]))
    lost = number(each.lost, 1, 2, "energy", _kinetic(subject))
    return found | {"lost": lost, "outcome": word(done.outcome.kind)}


def struck(subject: Subject, context) -> Observation:
    """The same by the least change of kinetic energy over all bodies."""
    whole: Dense = dense(subject)
    before = whole.all(subject.motion)
    after = whole.struck(before)
    motion = whole.moving(subject.motion, after)
    lost = number(whole.energy(before) - whole.energy(after), 1, 2, "energy", whole.energy(before))
    found = {"lost": lost, "outcome": word("finished")}
    return found | seen_points(subject, motion)


def seen_points(subject: Subject, motion: Motion) -> Observation:
    """What `watched` sees, from poses and twists of bodies."""
    found: Observation = {}
    for label, frame in subject.points.items():
        place, twist = motion.at(frame)[1], motion.twists[frame.body]
        found[f"{label}, place"] = point(place)
        found[f"{label}, spin"] = vector(twist[:3], sort="spin")
        found[f"{label}, velocity"] = vector(twist[3:] + np.cross(twist[:3], place), length=1, sort="velocity")
    return found


def at_once(subject: Subject, context) -> dict[str, float]:
    """What rounding makes of an impulse, and of what happens in a nanosecond."""
    rounding = by_condition(replace(subject), context)
    return {"": 1e-7 + rounding, "place": 1e-7, "spin": 1e-7 + rounding, "velocity": 1e-7 + rounding, "energy": 1e-7}


def switching(subject: Subject, context) -> Observation:
    """A joint takes hold and lets go."""
    name = subject.name(switchable(subject))
    switch = kp.Switch(name, on=AT_ONCE, off=0.6 * DURATION)
    return told(subject, run_of(subject, DURATION, factor_of(context), switches=[switch]))


# ---- fixed steps -------------------------------------------------------------------------------------------

STEPS = 40


def starts(subject: Subject) -> list[kp.State]:
    """The state with its velocities, half of them, and back."""
    return [kp.State(subject.model, subject.state.q, factor * subject.state.v) for factor in (1.0, 0.5, -1.0)]


def rollout(subject: Subject, context) -> Observation:
    """Three side by side; and each with the same bits alone, in another order, and with other rows."""
    steps = (context or {}).get("steps", STEPS)
    dt, many, first = DURATION / 2 / steps, subject.model.batch(threads=1), starts(subject)
    options = {"tau": subject.tau, "limits": "ignore", "progress": False, **subject.also}
    whole = many.rollout(first, dt, steps, **options)
    found: Observation = {"healthy": word(whole.healthy.tolist())}
    for k in range(len(first)):
        found |= watched(subject, kp.State(subject.model, whole.q[k, -1], whole.v[k, -1]), f" of {k}")
    if "steps" not in (context or {}):
        backward = many.rollout(first[::-1], dt, steps, **options)
        alone = many.rollout([first[1]], dt, steps, **options)
        rows = many.rollout(first, dt, steps, output=steps // 4, **options)
        found["same bits in another order"] = word(bool((backward.q[::-1, -1] == whole.q[:, -1]).all()))
        found["same bits alone"] = word(bool((alone.q[0, -1] == whole.q[1, -1]).all()))
        found["same bits with other rows"] = word(bool((rows.q[:, -1] == whole.q[:, -1]).all()))
    return found


def stepper(subject: Subject, context) -> Observation:
    """One step after the other."""
    steps = (context or {}).get("steps", STEPS)
    sim = subject.model.stepper(subject.state, DURATION / 2 / steps, limits="ignore", **subject.also)
    for _ in range(steps):
        sim.step(subject.tau)
    return watched(subject, sim.state)


def by_halves(observe):
    """A context: how far steps that are twice as long are off."""

    def found(subject: Subject) -> dict:
        return {"tolerance": gaps(observe(subject, None), observe(subject, {"steps": STEPS // 2}))}

    return found


def batch(subject: Subject, context) -> Observation:
    """Accelerations of many at once, which are those of each, bit for bit."""
    m, first = subject.model, starts(subject)
    q, v = np.array([s.q for s in first]), np.array([s.v for s in first])
    a = m.batch(threads=1).forward_dynamics(q, v, np.tile(subject.tau, (len(q), 1)), **subject.also)
    one = [m.forward_dynamics(*x, subject.tau, **subject.also) for x in zip(q, v, strict=True)]
    found: Observation = {"same bits": word(bool((a == np.array(one)).all()))}
    for label, marker in subject.markers.items():
        for k in range(len(q)):
            both = m.acceleration(marker, q[k], v[k], a[k], **subject.also)
            found[f"{label}, spin {k}"] = vector(both[:3], sort="acceleration")
            found[f"{label}, acceleration {k}"] = vector(both[3:], length=1, sort="acceleration")
    return found


# ---- rest --------------------------------------------------------------------------------------------------


def at_rest(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """At an equilibrium of the original, where there is one that is not indifferent."""
    m = subject.model
    still = kp.State(m, subject.state.q, np.zeros(m.nv))
    try:
        found = m.equilibrium(near=still, tau=subject.tau, stable=False)
    except KempeError:
        return None
    if found.kind == "indifferent":
        return None
    values, poses = dict(subject.motion.values), dict(subject.motion.poses)
    for label, x in values.items():
        if len(x):
            values[label] = np.atleast_1d(np.asarray(found.state[subject.name(label)], dtype=float))
    for body, numbers in zip(m.mechanism.bodies, m.body_poses(found.state.q), strict=True):
        poses[subject.label(body.name)] = numbers[:9].reshape(3, 3), numbers[9:]
    motion = replace(subject.motion, values=values, poses=poses, twists={n: np.zeros(6) for n in subject.motion.twists})
    resting = replace(subject, motion=motion)
    return None if dense(resting).doubtful else resting


def equilibrium(subject: Subject, context) -> Observation:
    """Found again from where it is, of the same kind, with the same small motions."""
    m = subject.model
    found = m.equilibrium(near=subject.state, tau=subject.tau, stable=False, **subject.also)
    seen = watched(subject, found.state, velocities=False)
    own = m.linearize(subject.state, subject.tau, **subject.also)
    return seen | {
        "kind": word(found.kind),
        "small motions": number(invariants(found.linearization.eigenvalues), sort="small"),
        "small motions of that state": number(invariants(own.eigenvalues), sort="small"),
    }


def invariants(values: np.ndarray) -> np.ndarray:
    """Sums of powers of eigenvalues, which rounding changes smoothly; each to the power of one over a second."""
    size = np.abs(values).max(initial=1e-300)
    sums = [np.sum((values / size) ** k).real for k in range(1, len(values) + 1)]
    return np.array([1.0, *sums]) * size


def soft(subject: Subject, context) -> dict[str, float]:
    """An equilibrium is as exact as its softest direction lets it be."""
    from scipy.linalg import eigvals

    m = subject.model
    own = np.abs(eigvals(m.linearize(subject.state, subject.tau).A))
    spread = float((own.max() / max(own.min(), 1e-300)) ** 2)
    return {"place": 1e-9 * max(1.0, 1e-3 * spread), "small": 1e-8 * max(1.0, 1e-2 * spread)}


# ---- motions that are wanted -------------------------------------------------------------------------------


def led(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """As it is, if it has one freedom and a joint leads it well."""
    return subject if dense(subject).free.shape[1] == 1 and leader(subject) else None


def led_without_gears(subject: Subject, rng: np.random.Generator) -> Subject | None:
    """The same; whole turns of geared joints would count as ways of their own, without end."""
    return None if subject.description.gears else led(subject, rng)


def leader(subject: Subject) -> str | None:
    """The joint of the tree that moves most."""
    rates = {
        n: abs(subject.rate(n, subject.motion)[0])
        for n, link in subject.description.links.items()
        if link.kind in TURNING and len(link.units) == 1 and n.startswith("joint")
    }
    best = max(rates, key=lambda n: rates[n], default=None)
    return best if best is not None and rates[best] > MOVING else None


def motion(subject: Subject, context) -> Observation:
    """All bodies along a motion of one joint."""
    label = context
    q, name = float(subject.motion.values[label][0]), subject.name(label)
    rate = float(subject.rate(label, subject.motion)[0])
    wanted = kp.motions.quintic({name: (q, q + 0.1 * rate)}, 1.0)
    found: Observation = {}
    done = subject.model.motion(wanted, start=subject.state, output=[0.0, 0.5, 1.0])
    for k in (1, 2):
        found |= watched(subject, kp.State(subject.model, done.q[k], done.v[k]), f" at {k}")
    return found


def ways(subject: Subject, context) -> Observation:
    """How many ways there are to close the loops around the value of the leading joint, and that this is one."""
    name, m = subject.name(context), subject.model
    found = m.assemblies({name: float(subject.motion.values[context][0])})
    label, frame = next(iter(subject.points.items()))
    here = subject.motion.at(frame)[1]
    apart = [np.abs(m.pose(subject.markers[label], each.state.q)[1] - here).max() for each in found]
    return {"ways": word(len(found)), "this one": number(min(apart), 0, 1, size=subject.world.length)}


LOOPS = ("planar", "planar of two loops", "planar floating loop", "spatial", "planar of three loops", "floating loop")
MOTIONS: dict[str, Feature] = {
    "runs": Feature(run, context=over_time(run), tolerance=as_exact, avoid=LARGE),
    "events": Feature(event, context=plane_ahead, tolerance=as_exact, avoid=LARGE),
    "stops": Feature(stops, with_limit, over_time(stops), as_exact, avoid=LARGE),
    "locks": Feature(locks, with_limit, over_time(locks), as_exact, avoid=LARGE),
    "impulses": Feature(impulse, with_switch, tolerance=at_once, truth=struck, avoid=LOCAL, sorts=LOOPS),
    "switches": Feature(switching, with_switch, over_time(switching), as_exact, avoid=LARGE, sorts=LOOPS),
    "rollouts": Feature(rollout, context=by_halves(rollout), tolerance=as_exact, avoid=LARGE, each=True),
    "steppers": Feature(stepper, context=by_halves(stepper), tolerance=as_exact, avoid=LARGE, each=True),
    "batches": Feature(batch, avoid=LOCAL),
    "equilibria": Feature(equilibrium, at_rest, tolerance=soft, avoid=LOCAL),
    "ways": Feature(
        ways,
        led_without_gears,
        leader,
        avoid=(*LOCAL, "inputs", "formulation"),
        sorts=("planar", "planar of two loops"),
    ),
    "motions": Feature(motion, led, leader, avoid=LOCAL, sorts=("planar", "planar of two loops")),
}
