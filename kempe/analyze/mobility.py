"""Mobility: how freely a mechanism moves, which of its constraints are redundant, and which reactions are unique.

The constraints of all joints, cut or not, are written on the twists of all bodies at sampled assembled states. Their
rank gives the freedom; vanishing combinations of rows give the redundant constraints by name, and show which reactions
are not determined (M. Wojtyra, Joint reaction forces in multibody systems with redundant constraints, 2005).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import networkx as nx
import numpy as np

from kempe.kinetics.kinetics import Kinetics
from kempe.loops.constraints import constraints, holding
from kempe.loops.freedom import beside, freedom_beside, nullity
from kempe.loops.matrices import allowed, rank_of
from kempe.mechanics.state import State
from kempe.topology.tree import Topology, counted

LARGEST = 3  # bodies considered together for motions of their own
RANK = 1e-8  # of the largest singular value: redundant rows, free motions


@dataclass(frozen=True)
class Mobility:
    """The mobility of a mechanism.

    freedom: by rank, at general assembled states; gruebler: by counting bodies and joints. redundant: one set of joint
    directions whose constraints are redundant; undetermined: all directions in which reactions are not unique. unique:
    joints all of whose reactions are. spins: bodies that can move while all others and all actuators rest. controlled:
    how many freedoms the actuators determine. notes: special poses and branches that were met.
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


def mobility(model: Kinetics, near: Mapping | State | None = None) -> Mobility:
    """Mobility of a compiled mechanism, on the branch of the state nearest to `near`, or on the least free branch it
    meets."""
    m = model.mechanism
    samples = list(model.prepared.samples.states) if near is None else [model.assemble(near=near).q]
    states = [beside(model, q) for q in samples]
    freedoms = [freedom_beside(model, q) for q in samples] if model.topology.constrained else [model.nv] * len(samples)
    freedom = min(freedoms)
    matrix, names = constraints(model, states[freedoms.index(freedom)])
    rank = matrix.shape[1] - freedom
    loose = _left_null(matrix, rank)
    undetermined = tuple(n for n, row in zip(names, loose, strict=True) if np.abs(row).max(initial=0.0) > 1e-6)
    touched = {n.rsplit(" ", 2)[0] for n in undetermined}
    general = [q for q, found in zip(states, freedoms, strict=True) if found == freedom]
    # Actuators fail at some poses; general poses show how much they can control.
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


def gruebler(topology: Topology) -> int:
    """Freedom by counting: six per body and the coordinates of beams, less the constraints of each joint that is on,
    and one per coupling."""
    bodies = topology.mechanism.bodies
    bending = sum(sum(body.beam.counts) for body in bodies if body.beam is not None)
    return (
        6 * len(bodies) + bending - sum(joint.rows for joint in holding(topology)) - len(topology.mechanism.couplings)
    )


def _left_null(matrix: np.ndarray, rank: int) -> np.ndarray:
    """Vanishing combinations of rows, as columns."""
    return np.linalg.svd(matrix)[0][:, rank:]


def _redundant(model: Kinetics, names: list[str], matrix: np.ndarray, rank: int) -> tuple[str, ...]:
    """Redundant rows: those of joints that close loops first, then those written last."""
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


def _with_actuators_held(model: Kinetics, q: np.ndarray) -> np.ndarray:
    """Motions that remain while all actuated joints rest, as columns."""
    matrix, _ = constraints(model, q, actuators_held=True)
    matrix = matrix[:, : 6 * len(model.mechanism.bodies)]  # beams at rest: a vibration is no spin
    return allowed(matrix, rank_of(matrix, RANK))


def _loners(model: Kinetics, states: list[np.ndarray]):
    """Bodies, or two or three connected ones, that can move while all others rest, at all states: spinning legs."""
    m, motions = model.mechanism, []
    for q in states:
        motions.append(_with_actuators_held(model, q))
        if not motions[-1].shape[1]:  # no motion remains
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
    """Whether some allowed motion moves these bodies and no others."""
    others = np.ones(len(motions), dtype=bool)
    for body in group:
        others[6 * body : 6 * body + 6] = False
    return int((np.linalg.svd(motions[others], compute_uv=False) > 1e-6).sum()) < motions.shape[1]


def _controlled(model: Kinetics, q: np.ndarray) -> int:
    """How many freedoms the actuated joints determine: the rank of their rates over the allowed motions."""
    if not model.topology.constrained:
        return model.nu
    jacobian = model.closure(q)[1]
    motions = allowed(jacobian, rank_of(jacobian, RANK))
    return rank_of(motions[model.driven], RANK) if model.nu and motions.size else 0


def _notes(model: Kinetics, samples: list[np.ndarray], freedoms: list[int]):
    """Poses with more freedoms than those near them, and branches with more than others."""
    for q, freedom in zip(samples, freedoms, strict=True):
        found, shown = nullity(model, q), State(model, q, np.zeros(model.nv))
        if found > freedom:
            yield f"special pose with {counted(found - freedom, 'more freedom')}: {shown}"
        if freedom > min(freedoms):
            more = counted(freedom - min(freedoms), "more freedom")
            yield f"another branch, which mobility(near=...) is for, has {more}: {shown}"
