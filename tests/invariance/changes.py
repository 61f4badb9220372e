"""Changes of a subject that change nothing in the physics: who described it, from where, in what units, and how."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from kempe.mechanism.joints import KINDS
from kempe.spatial import quaternions
from kempe.topology.spanning import topology
from tests.closed import cuttable, upright
from tests.invariance.description import GROUND, Description, Frame, Gear, Link, Motion, Pull, Push, Solid
from tests.invariance.subject import Subject, World
from tests.mechanisms import random_rotation

Change = Callable[[Subject, np.random.Generator], Subject]
TURNING = ("revolute", "prismatic", "helical", "cylindrical")  # joints along one line
EVEN = ("damping", "stiffness", "rest", "armature")


def _frames(description: Description, change: Callable[[Frame], Frame]) -> Description:
    """With every marker changed."""
    links = {n: replace(link, a=change(link.a), b=change(link.b)) for n, link in description.links.items()}
    loads = {
        n: replace(x, a=change(x.a), b=change(x.b)) if isinstance(x, Pull) else replace(x, at=change(x.at))
        for n, x in description.loads.items()
    }
    return replace(description, links=links, loads=loads)


# ---- the world ---------------------------------------------------------------------------------------------


def turned(subject: Subject, rng: np.random.Generator) -> Subject:
    """The mechanism turned and shifted in space, with gravity and all that is given in the world's axes."""
    turn, shift = random_rotation(rng), rng.normal(size=3)

    def onto(frame: Frame) -> Frame:
        if frame.body != GROUND:
            return frame
        return replace(frame, position=turn @ frame.position + shift, rotation=turn @ frame.rotation)

    old, motion, world = subject.description, subject.motion, subject.world
    found = _frames(old, onto)
    loads = {
        n: replace(x, force=turn @ x.force, moment=turn @ x.moment) if isinstance(x, Push) and not x.follows else x
        for n, x in found.loads.items()
    }
    poses = {n: (turn @ r, turn @ x + shift) for n, (r, x) in motion.poses.items() if n != GROUND}
    twists = {}
    for n, twist in motion.twists.items():
        spin = turn @ twist[:3]
        twists[n] = np.concatenate([spin, turn @ twist[3:] - np.cross(spin, shift)])
    points = {n: onto(frame) for n, frame in subject.points.items()}
    there = replace(world, turn=turn @ world.turn, shift=turn @ world.shift + shift / world.length)
    return replace(
        subject,
        description=replace(found, loads=loads, gravity=turn @ old.gravity),
        motion=replace(motion, poses={GROUND: motion.poses[GROUND], **poses}, twists=twists),
        points=points,
        world=there,
    )


def units(subject: Subject, rng: np.random.Generator) -> Subject:
    """Other units of length and mass."""
    length, mass = (10.0 ** rng.uniform(-4, 4) for _ in range(2))
    return measured(subject, length, mass)


def inches(subject: Subject, rng: np.random.Generator) -> Subject:
    """Other units that are not far away, for what has tolerances in radians and metres."""
    return measured(subject, *(10.0 ** rng.uniform(-1.5, 1.5) for _ in range(2)))


def measured(subject: Subject, length: float, mass: float) -> Subject:
    """In units so many times as small."""
    inertia = mass * length**2
    along = {"rad": inertia, "m": mass}  # of dampers, springs, rotors
    pushes, slides = {"rad": inertia, "m": mass * length}, {"rad": 1.0, "m": length}

    def each(values, link: Link, by: dict):
        return tuple(x * by[unit] for x, unit in zip(values, link.units, strict=True))

    def scaled(frame: Frame) -> Frame:
        return replace(frame, position=frame.position * length)

    def given(values: np.ndarray, link: Link) -> np.ndarray:
        if link.kind == "free":
            return values * ([1.0] * 4 + [length] * 3)
        return values if link.kind == "spherical" else np.array(each(values, link, slides))

    old, motion = subject.description, subject.motion
    bodies = {n: Solid(mass * x.mass, length * x.com, inertia * x.tensor) for n, x in old.bodies.items()}
    found = _frames(old, scaled)
    links = {}
    for n, link in found.links.items():
        limits = tuple(
            None if pair is None else (pair[0] * slides[unit], pair[1] * slides[unit])
            for pair, unit in zip(link.limits, link.units, strict=True)
        )
        links[n] = replace(
            link, pitch=None if link.pitch is None else link.pitch * length, limits=limits,
            rest=each(link.rest, link, slides), **{x: each(getattr(link, x), link, along) for x in along_names},
        )  # fmt: skip
    loads = {
        n: replace(x, stiffness=mass * x.stiffness, damping=mass * x.damping, length=length * x.length)
        if isinstance(x, Pull)
        else replace(x, force=mass * length * x.force, moment=inertia * x.moment)
        for n, x in found.loads.items()
    }
    gears = {
        n: Gear({j: c / slides[links[j].units[0]] for j, c in gear.coefficients.items()}, gear.offset)
        for n, gear in old.gears.items()
    }
    poses = {n: (r, length * x) for n, (r, x) in motion.poses.items()}
    twists = {n: x * ([1.0] * 3 + [length] * 3) for n, x in motion.twists.items()}
    values = {n: given(x, old.links[n]) for n, x in motion.values.items()}
    efforts = {n: np.array(each(x, old.links[n], pushes)) for n, x in motion.efforts.items()}
    world = subject.world
    return replace(
        subject,
        description=replace(found, gravity=length * old.gravity, bodies=bodies, links=links, loads=loads, gears=gears),
        motion=Motion(values, poses, twists, efforts),
        points={n: scaled(frame) for n, frame in subject.points.items()},
        world=World(world.turn, world.shift, world.length * length, world.mass * mass),
    )


along_names = ("damping", "stiffness", "armature")


# ---- bodies and joints -------------------------------------------------------------------------------------


def reframed(subject: Subject, rng: np.random.Generator) -> Subject:
    """Every body in another frame of its own."""
    size = subject.world.length
    frames = {n: (random_rotation(rng), size * rng.normal(size=3) * 0.5) for n in subject.description.bodies}

    def onto(frame: Frame) -> Frame:
        if frame.body == GROUND:
            return frame
        turn, place = frames[frame.body]
        return replace(frame, position=turn.T @ (frame.position - place), rotation=turn.T @ frame.rotation)

    bodies = {}
    for n, x in subject.description.bodies.items():
        turn, place = frames[n]
        tensor = turn.T @ x.tensor @ turn
        bodies[n] = Solid(x.mass, turn.T @ (x.com - place), (tensor + tensor.T) / 2)
    poses = dict(subject.motion.poses)
    for n, (turn, place) in frames.items():
        rotation, at = poses[n]
        poses[n] = rotation @ turn, at + rotation @ place
    return replace(
        subject,
        description=replace(_frames(subject.description, onto), bodies=bodies),
        motion=replace(subject.motion, poses=poses),
        points={n: onto(frame) for n, frame in subject.points.items()},
    )


def remarked(subject: Subject, rng: np.random.Generator) -> Subject:
    """Joints between other frames: turned together with the joint's axes, and moved along them."""
    for label, link in subject.description.links.items():
        if link.kind in ("spherical", "planar", "free") and not _plain(link):
            continue
        turn = random_rotation(rng)
        along = np.zeros(3)
        if link.kind in ("revolute", "prismatic", "helical", "cylindrical"):
            axis = link.axes[0] / np.linalg.norm(link.axes[0])
            along = axis * rng.normal() * 0.3 * subject.world.length
        values = subject.motion.values[label]
        if link.kind in ("spherical", "free"):
            parts = (values[1:4], values[4:]) if link.kind == "free" else (values[1:4],)
            values = np.concatenate([values[:1], *(turn.T @ part for part in parts)])
        axes = tuple(turn.T @ x * rng.uniform(0.5, 2) for x in link.axes)
        if link.kind == "planar":
            before, after = (upright(x / np.linalg.norm(x)) for x in (link.axes[0], axes[0]))
            flat = after.T @ turn.T @ before @ np.array([*values[:2], 0.0])
            values = np.array([*flat[:2], values[2]])
        new = replace(link, a=link.a.beside(turn, along), b=link.b.beside(turn, along), axes=axes)
        subject = _with_link(subject, label, new, values)
    return subject


def exchanged(subject: Subject, rng: np.random.Generator) -> Subject:
    """a and b of joints exchanged, or their axes turned round, or both; springs' ends exchanged."""
    for label in subject.description.links:
        if rng.random() < 0.5:
            subject = _swapped(subject, label)
        if rng.random() < 0.3 and subject.description.links[label].kind in TURNING:
            subject = _flipped(subject, label)
    loads = {
        n: replace(x, a=x.b, b=x.a) if isinstance(x, Pull) and rng.random() < 0.5 else x
        for n, x in subject.description.loads.items()
    }
    return replace(subject, description=replace(subject.description, loads=loads))


def _plain(link: Link) -> bool:
    """Whether nothing depends on which way its coordinates go."""
    if link.kind == "spherical":
        return not any(link.stiffness) and all(len(set(getattr(link, n))) <= 1 for n in ("damping", "armature"))
    return not any(any(getattr(link, n)) for n in EVEN)


def _swapped(subject: Subject, label: str) -> Subject:
    link, q = subject.description.links[label], subject.motion.values[label]
    if link.kind in ("spherical", "planar", "free") and not _plain(link):
        return subject
    found = replace(link, a=link.b, b=link.a)
    swapped = subject.swapped ^ {label}
    if link.kind in TURNING or link.kind == "universal":
        subject = _flipped(_with_link(subject, label, replace(found, axes=tuple(-x for x in link.axes)), q), label)
        if link.kind == "universal":
            subject = _reversed(subject, label)
        return replace(subject, swapped=swapped)
    if link.kind in ("spherical", "free"):
        values = q * ([1.0] + [-1.0] * 3 + [1.0] * (len(q) - 4))
        if link.kind == "free":
            values[4:] = -quaternions.to_matrix(q[:4]).T @ q[4:]
    elif link.kind == "planar":
        c, s = np.cos(q[2]), np.sin(q[2])
        values = -np.array([c * q[0] + s * q[1], -s * q[0] + c * q[1], q[2]])
    else:
        values = q
    return replace(_with_link(subject, label, found, values), swapped=swapped)


def _flipped(subject: Subject, label: str) -> Subject:
    """Its axes point the other way, and its coordinates count so."""
    link, motion = subject.description.links[label], subject.motion
    limits = tuple(None if pair is None else (-pair[1], -pair[0]) for pair in link.limits)
    found = replace(link, axes=tuple(-x for x in link.axes), limits=limits, rest=tuple(-x for x in link.rest))
    gears = {
        n: replace(gear, coefficients={j: -c if j == label else c for j, c in gear.coefficients.items()})
        for n, gear in subject.description.gears.items()
    }
    subject = replace(subject, description=replace(subject.description, gears=gears))
    efforts = dict(motion.efforts)
    if label in efforts:
        efforts[label] = -efforts[label]
    subject = replace(
        subject, motion=replace(motion, efforts=efforts), signs={**subject.signs, label: -subject.sign(label)}
    )
    return _with_link(subject, label, found, -motion.values[label])


def _reversed(subject: Subject, label: str) -> Subject:
    """A universal joint's freedoms in the other order."""
    link, motion = subject.description.links[label], subject.motion
    numbers = {n: getattr(link, n)[::-1] for n in (*EVEN, "actuated", "limits", "axes")}
    efforts = dict(motion.efforts)
    if label in efforts:
        efforts[label] = efforts[label][::-1]
    subject = replace(subject, motion=replace(motion, efforts=efforts))
    return _with_link(subject, label, replace(link, **numbers), motion.values[label][::-1])


def _with_link(subject: Subject, label: str, link: Link, values: np.ndarray) -> Subject:
    links = {**subject.description.links, label: link}
    motion = replace(subject.motion, values={**subject.motion.values, label: values})
    return replace(subject, description=replace(subject.description, links=links), motion=motion)


def renamed(subject: Subject, rng: np.random.Generator) -> Subject:
    """Other names, and all parts in another order."""
    old = subject.description
    labels = [*old.bodies, *old.links, *old.loads, *old.gears]
    fresh = [f"{'xyzuvw'[rng.integers(6)]}{n}" for n in rng.permutation(len(labels))]
    order = {k: tuple(rng.permutation(list(getattr(old, k)))) if getattr(old, k) else () for k in ORDERED}
    order = {k: tuple(map(str, names)) for k, names in order.items()}
    names = dict(zip(labels, fresh, strict=True))
    return replace(subject, description=replace(old, names=names, order=order))


ORDERED = ("bodies", "links", "loads")


# ---- how it is compiled ------------------------------------------------------------------------------------


def inputs(subject: Subject, rng: np.random.Generator) -> Subject:
    """Some numbers given as inputs, compiled with others."""
    called = subject.name
    paths = [f"{called(n)}.mass" for n, x in subject.description.bodies.items() if x.mass]
    for n, link in subject.description.links.items():
        for freedom in KINDS[link.kind].v_names:
            kinds = ("damping", "armature") + ("stiffness",) * (link.kind not in ("spherical", "free"))
            paths += [".".join(x for x in (called(n), freedom, kind) if x) for kind in kinds if not link.switchable]
    paths += [f"{called(n)}.{x}" for n, load in subject.description.loads.items() for x in ("stiffness", "damping")
              if isinstance(load, Pull)]  # fmt: skip
    paths += ["gravity.x", "gravity.z"]
    some = tuple(str(path) for path in rng.permutation(paths)[: int(rng.integers(1, 5))])
    return replace(subject, compiling=replace(subject.compiling, inputs=some))


def cut(subject: Subject, rng: np.random.Generator) -> Subject:
    """Other joints close the loops."""
    m = subject.mechanism
    known = {joint.name: joint for joint in m.joints}
    stay = {name for each in m.couplings for name in each.coefficients}
    inputs = subject.compiling.inputs
    stay |= {path.split(".")[0] for path in inputs if path.split(".")[-1] in ("damping", "stiffness", "armature")}
    chosen = [loop.joint.name for loop in topology(m, inputs=inputs).loops if loop.joint.name in known]
    for name in list(chosen):
        loop = next(x for x in topology(m, chosen, inputs=inputs).loops if x.joint.name == name)
        free = [n for n in loop.around if n in known and n not in (*chosen, *stay) and cuttable(known[n])]
        if free:
            chosen[chosen.index(name)] = str(rng.choice(free))
    labels = tuple(subject.label(n) for n in chosen if not known[n].switchable)
    return replace(subject, compiling=replace(subject.compiling, cut=labels))


def formulation(subject: Subject, rng: np.random.Generator) -> Subject:
    """Another way to the same accelerations."""
    closed = topology(subject.mechanism).constrained
    ways = ("partition", "augmented", "slm", "sslm") if closed else ("udu", "cholesky")
    return replace(subject, compiling=replace(subject.compiling, formulation=str(rng.choice(ways))))


def saved(subject: Subject, rng: np.random.Generator) -> Subject:
    """Written as YAML, and read again."""
    return replace(subject, file=".yaml")


PARTS = (
    turned,
    reframed,
    remarked,
    exchanged,
    renamed,
    units,
    inches,
)  # in this order; what needs a mechanism comes after
CHOICES = (saved, inputs, cut, formulation)
CHANGES: dict[str, Change] = {change.__name__: change for change in (*PARTS, *CHOICES)}


def changed(subject: Subject, names, seed: int) -> Subject:
    """After several changes, each by numbers of its own."""
    for k, (name, change) in enumerate(CHANGES.items()):
        if name in names:
            subject = change(subject, np.random.default_rng([seed, k]))
    return subject


def fewest(names: tuple[str, ...], fails: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """Of changes that a check fails for, as few as it takes."""
    for name in names:
        if fails((name,)):
            return (name,)
    kept = names
    for name in names:
        fewer = tuple(n for n in kept if n != name)
        if fails(fewer):
            kept = fewer
    return kept


def described_changes(names) -> Iterator[str]:
    """In words."""
    yield from (f"{name}: {CHANGES[name].__doc__}" for name in names)
