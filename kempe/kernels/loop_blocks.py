"""Loop blocks: the loops of long trees as repeated blocks, each traced once for all loops of the same structure.

A loop involves only the joints around it: seen from the link at which its two sides meet, its residual and its rows of
J are those of a small tree. Two such trees have the same structure if their links do (see `recorder`); the frames of
the closing joint count as welded links. A row of J has few nonzero entries in a long tree, so J is given by those
entries; `places` gives their rows and columns.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kempe.compiler.program import Program
from kempe.dynamics import closure, loops
from kempe.dynamics.equations import Equations
from kempe.dynamics.kinematics import frames
from kempe.dynamics.tree import Link, Tree
from kempe.kernels.blocks import LONG
from kempe.kernels.recorder import Recorder
from kempe.mechanism.bodies import Body, Marker
from kempe.mechanism.flexible import BeamJoint
from kempe.mechanism.joint import PER_FREEDOM
from kempe.mechanism.joints import Fixed
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Moves, Rotation, Shift
from kempe.spatial.vectors import from_sx, zeros
from kempe.topology.tree import LoopJoint, Topology, TreeJoint

MASSLESS = RigidInertia(0.0, zeros(3), zeros(3, 3))


@dataclass(frozen=True)
class PerLoop:
    """A function computed loop by loop: its inputs, its outputs, and how it is computed from the tree of a loop, the
    length by which gaps are divided, and the inputs. world: whether it needs the world axes.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    work: Callable[..., list]
    world: bool = False


def _closure(tree: Tree, size: float, q) -> list:
    return [closure.phi(tree, q, size), closure.jacobian(tree, q, size), closure.uprights(tree, q)]


def _rows(tree: Tree, size: float, q) -> list:
    return [loops.jacobian(tree, q, frames(tree, q, np.zeros(tree.topology.nv)), size)]


def _pose(tree: Tree, size: float, q) -> list:
    frame = frames(tree, q, np.zeros(tree.topology.nv))[-1]
    return [frame.rotation, frame.position]


FUNCTIONS = {
    "residual": PerLoop(("q",), ("phi",), lambda tree, size, q: [closure.phi(tree, q, size)]),
    "closure_entries": PerLoop(("q",), ("phi", "J", "upright"), _closure),
    "row_entries": PerLoop(("q",), ("rows",), _rows, world=True),
    "loop_slip": PerLoop(("q", "v"), ("slip",), lambda tree, size, q, v: [closure.phi_rates(tree, q, v, size)]),
    "loop_bias": PerLoop(("q", "v"), ("gamma",), lambda tree, size, q, v: [closure.bias(tree, q, v, size)]),
    "loop_coordinates": PerLoop(("q",), ("coordinates",), lambda tree, size, q: closure.coordinates(tree, q)),
    "loop_velocities": PerLoop(("q", "v"), ("velocities",), lambda tree, size, q, v: closure.velocities(tree, q, v)),
}
POSE = PerLoop(("q",), ("rotation", "position"), _pose, world=True)


def program(equations: Equations, name: str) -> Program | None:
    """One of these functions in repeated blocks; None if the plain form is better."""
    if name not in FUNCTIONS or not repeats(equations):
        return None
    function, run = FUNCTIONS[name], Recorder(name)
    recorded = _Loops(equations, run, {n: run.input(n, equations.sizes[n]) for n in function.inputs})
    found = [recorded.loop(part, function) for part in parts(equations.constant_tree)]
    for output, values in zip(function.outputs, zip(*found, strict=True), strict=True):
        run.output(output, np.concatenate([each.ravel() for each in values]))
    return run.program()


def repeats(equations: Equations) -> bool:
    """Whether a tree with loops is long enough for repeated blocks, and has no parameters kept as inputs, no beams and
    no couplings.
    """
    topology = equations.topology
    bends = any(isinstance(t.joint, BeamJoint) for t in topology.tree)
    plain = not (equations.parameters or bends or topology.couplings)
    return bool(len(topology.tree) >= LONG and topology.loops and plain)


def places(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the structurally nonzero entries of J: loop by loop, each row by row, then those of
    couplings.
    """
    rows, columns, first = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)], 0
    for loop in topology.loops:
        _, around = _around(topology, loop)
        own, height = _numbers(topology, around, "v"), loop.joint.rows
        rows.append(np.repeat(np.arange(first, first + height), len(own)))
        columns.append(np.tile(own, height))
        first += height
    for row, each in enumerate(topology.couplings, start=first):
        rows.append(np.full(len(each.v), row))
        columns.append(np.array(each.v))
    return np.concatenate(rows), np.concatenate(columns)


# ---- one loop --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part:
    """A loop as a tree of its own, on link `root` of the whole tree (-1: the ground); places: those of its coordinates
    and velocities.
    """

    tree: Tree
    root: int
    places: dict[str, np.ndarray]


def parts(tree: Tree) -> list[Part]:
    """Every loop as a tree of its own."""
    return [_part(tree, loop) for loop in tree.topology.loops]


def _around(topology: Topology, loop: LoopJoint) -> tuple[int, list[int]]:
    """The link at which the two sides of a loop meet, and the joints around the loop, parents before children."""
    one, other = (topology.chain(topology.parent_of[marker.body]) for marker in (loop.joint.a, loop.joint.b))
    shared = [a for a, b in zip(one, other, strict=False) if a == b]
    return shared[-1] if shared else -1, sorted({*one, *other} - set(shared))


def _part(tree: Tree, loop: LoopJoint) -> Part:
    whole = tree.topology
    root, around = _around(whole, loop)
    joints: list[TreeJoint] = []
    links: list[Link] = []

    def weld(joint: TreeJoint, moves: Moves, body: Moves) -> None:
        joints.append(_after(joints, joint, moving=False))
        none: Any = {quantity: zeros(0) for quantity in PER_FREEDOM}
        links.append(Link("", Fixed(), False, moves, 0.0, MASSLESS, body, **none))

    if root >= 0:
        weld(replace(whole.tree[root], parent=whole.mechanism.ground), (), tree.links[root].body)
    for k in around:
        joints.append(_after(joints, whole.tree[k]))
        links.append(_massless(tree.links[k]))
    ends: list[Marker] = []
    for marker in (loop.joint.a, loop.joint.b):
        body = Body(whole.mechanism, marker.body.name)
        weld(
            TreeJoint(loop.joint, marker.body, body, False, slice(0), slice(0)),
            tree.joint_place(loop.joint, marker).moves,
            (),
        )
        ends.append(Marker(body, (0.0, 0.0, 0.0)))
    closing = replace(loop, joint=replace(loop.joint, a=ends[0], b=ends[1], axes=()))
    topology = Topology(whole.mechanism, tuple(joints), (closing,))
    small = Tree(
        topology, tuple(links), topology.parents, topology.tree, _seats(topology), tree.gravity, (), tree.values
    )
    return Part(small, root, {which: _numbers(whole, around, which) for which in ("q", "v")})


def _after(joints: list[TreeJoint], joint: TreeJoint, moving: bool = True) -> TreeJoint:
    """A joint with its coordinates placed after those of others; without coordinates if it does not move."""
    q, v = (joints[-1].q.stop, joints[-1].v.stop) if joints else (0, 0)
    kind = joint.joint.type
    nq, nv = (len(kind.q_names), len(kind.v_names)) if moving else (0, 0)
    return replace(joint, q=slice(q, q + nq), v=slice(v, v + nv))


def _seats(topology: Topology) -> dict:
    """The link of each rigid body."""
    return {body: {None: number} for body, number in topology.parent_of.items()}


def _massless(link: Link) -> Link:
    """A link without what only dynamics needs: links that differ in nothing else have the same structure here."""
    return replace(link, inertia=MASSLESS, **{quantity: zeros(link.kind.nv) for quantity in PER_FREEDOM})


def _numbers(topology: Topology, joints: list[int], which: str) -> np.ndarray:
    """Indices of the coordinates (q) or velocities (v) of joints."""
    spans = [getattr(topology.tree[k], which) for k in joints]
    return np.concatenate([np.zeros(0, dtype=int), *(np.arange(span.start, span.stop) for span in spans)])


# ---- recording -------------------------------------------------------------------------------------------


class _Loops:
    """Records functions of loops, and the frames of the links that carry loops."""

    def __init__(self, equations: Equations, run: Recorder, inputs: dict[str, np.ndarray]):
        self._tree, self._size, self._run, self._inputs = equations.constant_tree, equations.closure_size, run, inputs
        self._poses: dict[int, tuple[np.ndarray, ...]] = {}
        self._steps: dict[Callable, Callable] = {}

    def loop(self, part: Part, function: PerLoop) -> tuple[np.ndarray, ...]:
        """The outputs of a function for one loop."""
        above = self._pose(part.root) if function.world else ()
        return self._call(part.tree, function, [self._inputs[n][part.places[n]] for n in function.inputs], above)

    def _pose(self, number: int) -> tuple[np.ndarray, ...]:
        """Rotation and position of a link; nothing for the ground."""
        if number >= 0 and number not in self._poses:
            whole, above = self._tree.topology, self._pose(self._tree.parents[number])
            joint = replace(whole.tree[number], parent=whole.mechanism.ground)
            topology = Topology(whole.mechanism, (_after([], joint),), ())
            links = (_massless(self._tree.links[number]),)
            parts = links, (-1,), topology.tree, _seats(topology)
            small = Tree(topology, *parts, self._tree.gravity, (), self._tree.values)
            self._poses[number] = self._call(small, POSE, [self._inputs["q"][whole.tree[number].q]], above)
        return self._poses.get(number, ())

    def _call(self, tree: Tree, function: PerLoop, given: list[np.ndarray], above: tuple[np.ndarray, ...]):
        """Runs a function on a small tree whose first links are carried by a frame."""
        return self._run(self._step(function), tree, *given, *above)

    def _step(self, function: PerLoop) -> Callable:
        if function.work not in self._steps:
            count, size = len(function.inputs), self._size

            def step(tree: Tree, *arguments: np.ndarray):
                given, above = arguments[:count], arguments[count:]
                found = function.work(_hung(tree, *above) if above else tree, size, *given)
                return [from_sx(y) if isinstance(y, ca.SX) else y for y in found]

            self._steps[function.work] = step
        return self._steps[function.work]


def _hung(tree: Tree, rotation: np.ndarray, position: np.ndarray) -> Tree:
    """A tree carried by a frame instead of the ground."""
    frame = Shift(position), Rotation(rotation)
    links = [
        replace(link, placement=(*frame, *link.placement)) if parent < 0 else link
        for link, parent in zip(tree.links, tree.parents, strict=True)
    ]
    return replace(tree, links=tuple(links))
