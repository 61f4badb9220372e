"""Mobility: how freely a mechanism moves, which of its constraints are redundant, and which reactions are unique.

The constraints of all joints, cut or not, are written on the twists of all bodies at sampled assembled states. Their
rank gives the freedom; the combinations of rows that vanish give the redundant constraints by name, and tell which
reactions nothing determines (M. Wojtyra, Joint reaction forces in multibody systems with redundant constraints, 2005).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import networkx as nx
import numpy as np

from kempe.analyze.freedom import assembled_samples, beside, freedom_beside, nullity
from kempe.analyze.matrices import allowed, rank_of
from kempe.analyze.seats import Seat, seat
from kempe.dynamics.rows import ROWS
from kempe.mechanism.bodies import Marker, Values
from kempe.mechanism.flexible import BeamJoint
from kempe.mechanism.joints import Cylindrical, Helical, JointKind, Planar, Prismatic, Revolute, Universal
from kempe.mechanism.mechanism import Joint
from kempe.model.model import Model
from kempe.model.state import State
from kempe.spatial.moves import relative_pose
from kempe.topology.tree import Topology, counted

LARGEST = 3  # bodies that are looked at together for motions of their own
RANK = 1e-8  # of the largest singular value: rows that follow from others, motions that nothing holds
FREEDOMS: dict[type[JointKind], tuple[int, ...]] = {  # directions in which joints move, of those named below
    Revolute: (2,),
    Prismatic: (5,),
    Helical: (2,),
    Cylindrical: (2, 5),
    Universal: (0, 1),
    Planar: (3, 4, 2),
}
NAMES = ("about x", "about y", "about z", "along x", "along y", "along z")


@dataclass(frozen=True)
class Mobility:
    """What a mechanism can do.

    freedom: by rank, at general assembled states; gruebler: by counting bodies and joints. redundant: directions of
    joints whose constraints follow from the others, one set of them; undetermined: all directions in which reactions
    are not unique. unique: joints all of whose reactions are. spins: bodies that can move while all others and all
    actuators rest.
    controlled: how many freedoms the actuators determine. notes: special poses and branches that were met.
    """

    name: str
    freedom: int
    gruebler: int
    redundant: tuple[str, ...]
    undetermined: tuple[str, ...]
    unique: tuple[str, ...]
    spins: tuple[str, ...]
    actuators: int
    controlled: int
    notes: tuple[str, ...] = field(default=())

    @property
    def actuation(self) -> str:
        """Too few, exact or redundant, in words."""
        counts = f"{self.actuators} actuated, {self.freedom} to control"
        if self.controlled < self.freedom:
            return f"too few: {counts}; {self.freedom - self.controlled} move as they must"
        return f"redundant: {counts}" if self.actuators > self.freedom else f"exact: {counts}"

    def __str__(self) -> str:
        def listed(names) -> str:
            return ", ".join(names) or "none"

        lines = [
            f"{self.name}: freedom {self.freedom} by rank, {self.gruebler} by Gruebler's count",
            f"  redundant constraints  {len(self.redundant)}: {listed(self.redundant)}",
            f"  actuation              {self.actuation}",
            f"  reactions unique at    {listed(self.unique)}",
            f"  not unique             {listed(self.undetermined)}",
        ]
        if self.spins:
            lines.append(f"  move by themselves     {', '.join(self.spins)}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def mobility(model: Model, near: Mapping | State | None = None) -> Mobility:
    """Of a compiled mechanism, on the branch of the state nearest to `near`, or on the least free of all it meets."""
    m = model.mechanism
    samples = assembled_samples(model) if near is None else [model.assemble(near=near).q]
    states = [beside(model, q) for q in samples]
    freedoms = [freedom_beside(model, q) for q in samples] if model.topology.constrained else [model.nv] * len(samples)
    freedom = min(freedoms)
    matrix, names = constraints(model, states[freedoms.index(freedom)])
    rank = matrix.shape[1] - freedom
    loose = _left_null(matrix, rank)
    undetermined = tuple(n for n, row in zip(names, loose, strict=True) if np.abs(row).max(initial=0.0) > 1e-6)
    touched = {n.rsplit(" ", 2)[0] for n in undetermined}
    general = [q for q, found in zip(states, freedoms, strict=True) if found == freedom]
    # At some poses actuators fail; at general ones they control as much as they can.
    controlled = max(_controlled(model, q) for q in general)
    return Mobility(
        m.name,
        freedom,
        gruebler(model.topology),
        _redundant(model, names, matrix, rank),
        undetermined,
        tuple(joint.name for joint in holding(model.topology) if joint.name not in touched),
        tuple(_loners(model, general)) if model.topology.constrained else (),
        model.nu,
        controlled,
        tuple(_notes(model, samples, freedoms)),
    )


def holding(topology: Topology) -> list[Joint]:
    """Joints of the mechanism that are not switched off."""
    off = {loop.joint for loop in topology.off}
    return [joint for joint in topology.mechanism.joints if joint not in off]


def gruebler(topology: Topology) -> int:
    """Freedom by counting: six a body, the coordinates of beams, less what each joint that is on takes, and one for
    each coupling."""
    bodies = topology.mechanism.bodies
    bending = sum(sum(body.beam.counts) for body in bodies if body.beam is not None)
    return (
        6 * len(bodies) + bending - sum(joint.rows for joint in holding(topology)) - len(topology.mechanism.couplings)
    )


@dataclass(frozen=True, eq=False)
class Held:
    """A direction that a joint holds at a state: its axis in world axes, and the joint's two frames there.

    screw: the pitch, where it couples turning and sliding in this direction.
    """

    joint: Joint
    direction: int
    axis: np.ndarray
    place: np.ndarray  # of frame b
    marker: np.ndarray  # axes of marker b, as columns
    screw: float

    @property
    def name(self) -> str:
        """Joint and direction."""
        return f"{self.joint.name} {NAMES[self.direction]}"

    def seen(self, size: float) -> np.ndarray:
        """What takes the multiplier of this direction out of a wrench at marker b, in its axes."""
        axis, none = self.marker.T @ self.axis, np.zeros(3)
        return np.concatenate([axis, none] if self.direction < 3 else [none, size * axis])

    def exerted(self, size: float) -> np.ndarray:
        """The wrench of a unit multiplier, at marker b, in its axes."""
        axis = self.marker.T @ self.axis
        return np.concatenate([axis, 0 * axis] if self.direction < 3 else [-self.screw / size * axis, axis / size])


def held_axes(model: Model, q: np.ndarray, actuators_held: bool = False, p=None) -> list[Held]:
    """All directions that joints hold at a state; all six of those whose actuators are at rest."""
    poses, found = _poses(model, q, p), []
    values = _values(model, p)
    for joint in holding(model.topology):
        ends, marker = _ends(model, joint, poses, q, values)
        wanted = range(6) if actuators_held and all(joint.actuated) else held(joint)
        pitch = float(values(f"{joint.name}.pitch")) if joint.pitch is not None else 0.0
        found += [Held(joint, d, _axis(joint, d, ends), ends[1][1], marker, pitch * (d == 5)) for d in wanted]
    return found


@dataclass(frozen=True, eq=False)
class HeldTogether:
    """A coupling at a state: the directions of its freedoms, and their factors in its equation; size: what that is
    divided by beside the coupling's own, where it is one of lengths."""

    name: str
    freedoms: tuple[tuple[Held, float], ...]
    size: float

    def exerted(self) -> list[tuple[str, np.ndarray]]:
        """By joint, the wrench of a unit multiplier at marker b, in its axes."""
        found = []
        for d, factor in self.freedoms:
            axis, none = factor * (d.marker.T @ d.axis), np.zeros(3)
            found.append((d.joint.name, np.concatenate([axis, none] if d.direction < 3 else [none, axis])))
        return found


def held_together(model: Model, q: np.ndarray, p=None) -> list[HeldTogether]:
    """All couplings at a state."""
    poses, values, found = _poses(model, q, p), _values(model, p), []
    for each in model.mechanism.couplings:
        freedoms, size = [], float(model.equations.closure_size) if each.unit == "m" else 1.0
        for term, path in zip(each.terms, each.paths, strict=False):
            d = FREEDOMS[term.joint.type][term.freedom]
            ends, marker = _ends(model, term.joint, poses, q, values)
            second = term.joint.type is Universal and d == 1  # an axis that b carries
            axis = ends[1][0][:, 1] if second else _axis(term.joint, d, ends)
            held = Held(term.joint, d, axis, ends[1][1], marker, 0.0)
            freedoms.append((held, float(values(path)) / each.size / size))
        found.append(HeldTogether(each.name, tuple(freedoms), size))
    return found


def _ends(model: Model, joint: Joint, poses, q: np.ndarray, values: Values):
    """A joint's frames at its markers, and the axes of marker b."""
    seats = [seat(model, poses[marker.body.name], marker, q, values) for marker in (joint.a, joint.b)]
    ends = [_frame(at, joint, marker, values) for at, marker in zip(seats, (joint.a, joint.b), strict=True)]
    return ends, seats[1].rotation @ np.array(joint.b.rotation, dtype=float)


def constraints(model: Model, q: np.ndarray, actuators_held: bool = False, p=None) -> tuple[np.ndarray, list[str]]:
    """Rows of all joints on the twists [omega; v] of all bodies at their `middles`, then on the rates of beams, in each
    joint's own axes, lengths over the size; then those of couplings."""
    directions, couplings = held_axes(model, q, actuators_held, p), held_together(model, q, p)
    found = [_rows(model, directions, q, p)]
    for each in couplings:
        size = model.equations.closure_size
        factors = np.array([factor * (size if d.direction > 2 else 1.0) for d, factor in each.freedoms])
        found.append(factors @ _rows(model, [d for d, _ in each.freedoms], q, p))
    names = [*(d.name for d in directions), *(f"{each.name} by coupling" for each in couplings)]
    return np.vstack(found), names


def _rows(model: Model, directions: list[Held], q: np.ndarray, p) -> np.ndarray:
    """How fast bodies move against each other along directions of joints."""
    m, size, poses = model.mechanism, model.equations.closure_size, _poses(model, q, p)
    middle = middles(model, q, p)
    number = {body.name: k for k, body in enumerate(m.bodies)}
    rows = np.zeros((len(directions), len(m.bodies), 6))
    bending = np.zeros((len(directions), model.nv))
    values, beams = _values(model, p), [t.v for t in model.topology.tree if isinstance(t.joint, BeamJoint)]
    for row, bent, d in zip(rows, bending, directions, strict=True):
        # At the place of frame b, for both bodies: along a slider the frames are apart.
        for sign, marker in ((-1, d.joint.a), (1, d.joint.b)):
            k = number.get(marker.body.name)
            if k is None:
                continue
            if d.direction < 3:
                row[k, :3] += sign * d.axis
            else:  # velocity of the joint's place along the axis; a screw slides as it turns
                row[k, 3:] += sign * d.axis
                row[k, :3] += sign * np.cross(d.place - middle[marker.body.name], d.axis) / size
                row[k, :3] -= sign * d.screw / size * d.axis
            at = seat(model, poses[marker.body.name], marker, q, values)
            if d.direction < 3:
                bent[at.v] += sign * (d.axis @ at.angular)
            else:
                lever = np.cross(d.place - at.position, d.axis) - d.screw * d.axis
                bent[at.v] += sign / size * (d.axis @ at.linear + lever @ at.angular)
    bending *= size  # rates of lengths, as those of places are
    return np.hstack([rows.reshape(len(directions), 6 * len(m.bodies)), *(bending[:, v] for v in beams)])


def middles(model: Model, q: np.ndarray, p=None) -> dict[str, np.ndarray]:
    """A place of every body in the world, amid its joints: its origin may be so far from them that all turns about it
    look alike."""
    poses, values, found = _poses(model, q, p), _values(model, p), {}
    for joint in holding(model.topology):
        ends, _ = _ends(model, joint, poses, q, values)
        for marker, (_, place) in zip((joint.a, joint.b), ends, strict=True):
            found.setdefault(marker.body.name, []).append(place)
    return {name: np.asarray(sum(places)) / len(places) for name, places in found.items()}


def _poses(model: Model, q: np.ndarray, p=None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    m = model.mechanism
    poses = {m.ground.name: (np.eye(3), np.zeros(3))}
    for body, numbers in zip(m.bodies, model.body_poses(q, p=p), strict=True):
        poses[body.name] = numbers[:9].reshape(3, 3), numbers[9:]
    return poses


def held(joint: Joint) -> list[int]:
    """Directions a joint holds, in its axes: about x, y, z (0 to 2), along x, y, z (3 to 5)."""
    if joint.type not in ROWS:  # a screw: one constraint couples turning and sliding
        return [0, 1, 3, 4, 5]
    rows = ROWS[joint.type]
    turning = [0, 1, 2] if rows.locked else [3 - i - j for i, j in rows.entries]
    return sorted(turning) + [3 + i for i in rows.places]


def _values(model: Model, p) -> Values:
    own = dict(zip(model.p_names, model.p if p is None else p, strict=True))
    return (model.mechanism.parameters | own).__getitem__


def _frame(at: Seat, joint: Joint, marker: Marker, values: Values) -> tuple[np.ndarray, np.ndarray]:
    turn, place = relative_pose(joint.frame(marker, values))
    return at.rotation @ np.array(turn, dtype=float), at.position + at.rotation @ np.array(place, dtype=float)


def _axis(joint: Joint, direction: int, ends) -> np.ndarray:
    """The direction in world axes; the third axis of a universal joint is across its two."""
    (a, _), (b, _) = ends
    if joint.type.name == "universal" and direction == 2:
        return np.cross(a[:, 0], b[:, 1])
    return a[:, direction % 3]


def _left_null(matrix: np.ndarray, rank: int) -> np.ndarray:
    """Combinations of rows that vanish, as columns."""
    return np.linalg.svd(matrix)[0][:, rank:]


def _redundant(model: Model, names: list[str], matrix: np.ndarray, rank: int) -> tuple[str, ...]:
    """Rows that follow from the others: those of joints that close loops first, then the last written ones."""
    closing = {name for name, _ in model.topology.row_counts}
    order = sorted(range(len(names)), key=lambda k: names[k].rsplit(" ", 2)[0] in closing)
    kept: list[int] = []
    dropped = []
    basis = np.zeros((0, matrix.shape[1]))
    for k in order:
        row = matrix[k] - basis.T @ (basis @ matrix[k])
        row = row - basis.T @ (basis @ row)
        length = np.linalg.norm(row)
        if length > RANK * max(np.linalg.norm(matrix[k]), 1e-300) and len(kept) < rank:
            basis = np.vstack([basis, row / length])
            kept.append(k)
        else:
            dropped.append(k)
    return tuple(names[k] for k in sorted(dropped))


def _with_actuators_held(model: Model, q: np.ndarray) -> np.ndarray:
    """Motions that are left while all actuated joints rest, as columns."""
    matrix, _ = constraints(model, q, actuators_held=True)
    matrix = matrix[:, : 6 * len(model.mechanism.bodies)]  # beams at rest: to swing is not to move by itself
    return allowed(matrix, rank_of(matrix, RANK))


def _loners(model: Model, states: list[np.ndarray]):
    """Bodies, or two or three that hang together, that can move while all others rest, at all states: spinning legs."""
    m, motions = model.mechanism, []
    for q in states:
        motions.append(_with_actuators_held(model, q))
        if not motions[-1].shape[1]:  # nothing is left to move
            return
    number = {body.name: k for k, body in enumerate(m.bodies)}
    graph = nx.Graph((number[j.a.body.name], number[j.b.body.name]) for j in holding(model.topology)
                     if m.ground.name not in (j.a.body.name, j.b.body.name))  # fmt: skip
    graph.add_nodes_from(number.values())
    found: list[frozenset[int]] = []
    groups = {frozenset((k,)) for k in number.values()}
    for _ in range(LARGEST):
        for group in sorted(groups, key=sorted):
            if len(group) == len(number) or any(known <= group for known in found):
                continue
            if all(_moves_alone(each, group) for each in motions):
                found.append(group)
                yield " with ".join(m.bodies[k].name for k in sorted(group))
        groups = {group | {other} for group in groups for k in group for other in graph[k] if other not in group}


def _moves_alone(motions: np.ndarray, group: frozenset[int]) -> bool:
    """Whether some allowed motion moves these bodies and no other."""
    others = np.ones(len(motions), dtype=bool)
    for body in group:
        others[6 * body : 6 * body + 6] = False
    return int((np.linalg.svd(motions[others], compute_uv=False) > 1e-6).sum()) < motions.shape[1]


def _controlled(model: Model, q: np.ndarray) -> int:
    """How many freedoms the actuated joints determine: the rank of their rates over the allowed motions."""
    if not model.topology.constrained:
        return model.nu
    jacobian = model.closure(q)[1]
    motions = allowed(jacobian, rank_of(jacobian, RANK))
    return rank_of(motions[model.driven], RANK) if model.nu and motions.size else 0


def _notes(model: Model, samples: list[np.ndarray], freedoms: list[int]):
    """Poses that have more freedoms than those beside them, and branches that have more than others."""
    for q, freedom in zip(samples, freedoms, strict=True):
        found, shown = nullity(model, q), State(model, q, np.zeros(model.nv))
        if found > freedom:
            yield f"special pose with {counted(found - freedom, 'more freedom')}: {shown}"
        if freedom > min(freedoms):
            more = counted(freedom - min(freedoms), "more freedom")
            yield f"another branch, which mobility(near=...) is for, has {more}: {shown}"
