"""Topology: the one spanning tree of a mechanism, and the joints that close its loops.

Problem. Bodies and joints form a graph. Equations of motion want a tree that hangs from the ground; the joints left
over close loops.

Must. One tree per mechanism, the same for every formulation. A joint that is helical, or carries armature, stiffness,
damping, limits or an actuator, stays in the tree, since what it carries acts on a coordinate. The order of coordinates
follows the order in which joints were written down, as far as parents come before children.

Where every joint of a loop must stay, a body is cut in two halves, welded together by the closure. A joint that can be
switched off always closes a loop, so that the tree, and with it every coordinate, is the same whatever is on; a body
that is held by such joints only floats.

Should. Few closure rows (cut joints of many freedoms first) and short chains (cut far from the ground).

Discussion. A spanning tree of least cost has both: the cost of keeping a joint is first whether it may be cut at all,
then its freedoms, then its distance from the ground.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import networkx as nx

from kempe.errors import TopologyError
from kempe.mechanism.bodies import Body
from kempe.mechanism.flexible import BeamJoint, beam_joint
from kempe.mechanism.joints import Fixed, Free
from kempe.mechanism.mechanism import Joint, Mechanism
from kempe.topology.cuts import improved, nearly, stays, together, work
from kempe.topology.paths import lock_paths, spring_paths
from kempe.topology.plane import marked
from kempe.topology.subsystems import Subsystems, subsystems


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """A joint of the tree: it carries `child` on `parent`; reversed when the joint's a is on the child.

    share: how much of the child's inertia is on this link; a half where the body was cut in two.
    """

    joint: Joint
    parent: Body
    child: Body
    reversed: bool
    q: slice
    v: slice
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class LoopJoint:
    """A joint that closes a loop, and why it was chosen for that; `around` are the joints of the loop, with itself.
    asked: whether the user wanted it. carried: whether it turns in space with a body: its rows keep to its axes."""

    joint: Joint
    reason: str
    around: tuple[str, ...]
    asked: bool = False
    carried: bool = False


@dataclass(frozen=True, eq=False)
class Topology:
    """The tree in order (parents before children), and what closes loops.

    held: closures that springs hold in the place of equations, with the numbers of these springs by their paths. off:
    joints that would close loops if they were switched on. masked: closures each of which a parameter switches; locks:
    freedoms of the tree likewise, that hold still where they are locked.
    """

    mechanism: Mechanism
    tree: tuple[TreeJoint, ...]
    loops: tuple[LoopJoint, ...]
    held: tuple[LoopJoint, ...] = ()
    springs: tuple[tuple[str, float], ...] = ()
    off: tuple[LoopJoint, ...] = ()
    masked: tuple[LoopJoint, ...] = ()
    locks: tuple[int, ...] = ()

    @property
    def closures(self) -> tuple[LoopJoint, ...]:
        """All joints that were cut, whatever closes them."""
        return self.loops or self.held

    @cached_property
    def switchable(self) -> tuple[str, ...]:
        """Joints that can be switched, as they were written down."""
        return tuple(joint.name for joint in self.mechanism.joints if joint.switchable)

    @property
    def on(self) -> tuple[str, ...]:
        """Those of them that are on."""
        closed = {loop.joint.name for loop in self.loops}
        return tuple(name for name in self.switchable if name in closed)

    def switched(self, on: Iterable[str]) -> "Topology":
        """The same tree with these switchable joints on, and no others."""
        wanted, number = set(on), {joint: k for k, joint in enumerate(self.mechanism.joints)}
        every = sorted((*self.loops, *self.off), key=lambda loop: number.get(loop.joint, len(number)))
        off = tuple(x for x in every if x.joint.switchable and x.joint.name not in wanted)
        return replace(self, loops=tuple(x for x in every if x not in off), off=off)

    def with_masks(self, locks: Iterable[int]) -> "Topology":
        """The same tree with all closures masked, and locks on these freedoms."""
        return replace(self, loops=(), off=(), masked=self.switched(self.switchable).loops, locks=tuple(locks))

    @property
    def is_masked(self) -> bool:
        """Whether parameters say what is on."""
        return bool(self.masked or self.locks)

    @property
    def masks(self) -> dict[str, float]:
        """Parameters that switch closures and locks, by their paths: which are on (1 or 0), and where freedoms are
        held."""
        on = {f"{loop.joint.name}.on": float(loop.joint.on) for loop in self.masked if loop.joint.switchable}
        return on | {path: 0.0 for at in self.locks for path in lock_paths(at)}

    @cached_property
    def parameters(self) -> dict[str, float]:
        """All numbers by their paths: of the mechanism, of joints that are there for the tree only, of springs at cuts,
        and of masks."""
        known = set(self.mechanism.joints)
        added = [t.joint for t in self.tree if t.joint not in known and not isinstance(t.joint, BeamJoint)]
        named = {path: x for joint in added for path, x in joint.parameters.items()}
        return {**self.mechanism.parameters, **named, **dict(self.springs), **self.masks}

    @cached_property
    def nq(self) -> int:
        """Coordinates of the tree."""
        return self.tree[-1].q.stop if self.tree else 0

    @cached_property
    def nv(self) -> int:
        """Freedoms of the tree."""
        return self.tree[-1].v.stop if self.tree else 0

    @cached_property
    def parent_of(self) -> dict[Body, int]:
        """Number of the tree joint that carries each body; the ground is carried by none, -1."""
        return {self.mechanism.ground: -1} | {t.child: k for k, t in enumerate(self.tree)}

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """For every tree joint the number of the one that carries its parent, -1 on the ground."""
        return tuple(self.parent_of[t.parent] for t in self.tree)

    def chain(self, number: int) -> tuple[int, ...]:
        """Numbers of the tree's joints from the ground to this one."""
        return chain(self.parents, number)

    @cached_property
    def subsystems(self) -> Subsystems:
        """What the tree falls into without the ground, and how loops pass through that."""
        return subsystems(self)

    @cached_property
    def small_cuts(self) -> tuple[str, ...]:
        """Joints to cut for small blocks, `m.compile(cut=m.topology().small_cuts)`; those that are cut where no others
        are better."""
        return improved(self, work, work, lambda cut: topology(self.mechanism, cut))

    @cached_property
    def determinate_cuts(self) -> tuple[str, ...]:
        """Joints to cut so that inverse dynamics solves as few subsystems together as can be found, as paper 2 does."""
        return improved(self, together, nearly, lambda cut: topology(self.mechanism, cut))

    def explain(self) -> str:
        """The tree and the loops in words."""
        m = self.mechanism
        sizes = _count(len(m.bodies), "body", "bodies"), _count(len(m.joints), "joint"), _count(len(self.loops), "loop")
        lines = [f"{m.name}: {', '.join(sizes)}"]
        lines.append(f"the tree has {_count(self.nq, 'coordinate')} and {_count(self.nv, 'freedom')}:")
        depth: list[int] = []
        for t, parent in zip(self.tree, self.parents, strict=True):
            depth.append(0 if parent < 0 else depth[parent] + 1)
            back = ", written from child to parent" if t.reversed else ""
            kind = f"{'  ' * depth[-1]}{t.joint.name} ({t.joint.type.name})"
            half = "half of " if t.share < 1 else ""
            bends = isinstance(t.joint, BeamJoint)
            does = "bends as" if bends else f"carries {half}{t.child.name} on {t.parent.name}{back}"
            lines.append(f"  {kind} {does}{' ' + ', '.join(t.joint.type.q_names) if bends else ''}")
        for loop in self.loops:
            around = " - ".join(loop.around)
            lines.append(f"{loop.joint.name} ({loop.joint.type.name}) closes the loop {around}: {loop.reason}")
        for loop in self.off:
            words = f"is off; on, it closes the loop {' - '.join(loop.around)}"
            lines.append(f"{loop.joint.name} ({loop.joint.type.name}) {words}")
        for loop in self.held:
            stiffness, damping, _ = (self.parameters[path] for path in spring_paths(loop.joint))
            lines.append(
                f"{loop.joint.name} ({loop.joint.type.name}) is cut, and held by a spring of {stiffness:.4g} N/m and a "
                f"damper of {damping:.4g} N s/m in the loop {' - '.join(loop.around)}"
            )
        if self.loops or len(self.subsystems) > 1:
            lines.append(self.subsystems.explain())
        return "\n".join(lines)

    def picture(self, path: str | Path) -> Path:
        """Draws the graph: the tree in full lines, the joints that close loops in broken ones."""
        from kempe.topology.picture import draw

        return draw(self, Path(path))

    def picture_of_blocks(self, path: str | Path) -> Path:
        """Draws which blocks of J and of the GICM do not vanish, and the subsystems they are made of (paper 2)."""
        from kempe.topology.picture import draw_blocks

        return draw_blocks(self, Path(path))


def chain(parents: Sequence[int], number: int) -> tuple[int, ...]:
    """Numbers from the ground to this one, each carried by the one before."""
    found: list[int] = []
    while number >= 0:
        found.append(number)
        number = parents[number]
    return tuple(reversed(found))


def topology(mechanism: Mechanism, cut: Iterable[str] = (), floating: bool = False) -> Topology:
    """Chooses the tree; every body must be reachable from the ground. cut: joints that shall close loops; floating:
    bodies that would hang on nothing without them float."""
    switchable = {joint for joint in mechanism.joints if joint.switchable}
    wanted = _wanted(mechanism, cut) | switchable
    graph = _graph(mechanism)
    distance = nx.single_source_shortest_path_length(graph, mechanism.ground)
    loosely = {body for joint in switchable for body in nx.node_connected_component(graph, joint.a.body)}
    apart = [body.name for body in mechanism.bodies if body not in distance and body not in loosely]
    if apart:
        raise TopologyError(
            f"mechanism {mechanism.name!r}: nothing connects {', '.join(apart)} to the ground; "
            "add a joint, or m.free(...) for a body that floats"
        )
    distance = dict.fromkeys(mechanism.bodies, len(mechanism.bodies)) | distance
    kept = _kept(mechanism, graph, distance, wanted)
    kept -= wanted if floating else switchable
    kept |= _free_joints(mechanism, kept) if floating or switchable else set()
    for joint in wanted & kept:
        raise TopologyError(
            f"joint {joint.name!r} cannot be cut: without it, and the others that are, bodies would hang on nothing; "
            "leave it out of cut=[...]"
        )
    tree = _ordered(mechanism, kept)
    written = set(mechanism.joints)  # beams are no joints of a loop, though they bend
    spanning = nx.Graph((t.parent, t.child, {"joint": t.joint.name if t.joint in written else None}) for t in tree)
    spanning.add_node(mechanism.ground)
    loops = []
    for joint in (joint for joint in mechanism.joints if joint not in kept):
        around = _around(spanning, joint)
        if stays(joint) is None:
            asked = joint in wanted - switchable
            told = "it can be switched off" if joint in switchable else "it was asked to"
            loops.append(LoopJoint(joint, told if joint in wanted else _reason(joint, distance), around, asked))
        else:
            tree, weld = _body_cut(tree, joint, distance)
            loops.append(LoopJoint(weld, _body_reason(joint, weld), around))
    found = Topology(mechanism, tree, tuple(loops))
    return replace(found, loops=marked(found)).switched(joint.name for joint in switchable if joint.on)


def _wanted(mechanism: Mechanism, cut: Iterable[str]) -> set[Joint]:
    named = {joint.name: joint for joint in mechanism.joints}
    found = set()
    for name in (cut,) if isinstance(cut, str) else cut:
        if name not in named:
            raise TopologyError(f"cut: there is no joint {name!r}; there are {', '.join(named)}")
        must = stays(named[name])
        if must:
            raise TopologyError(
                f"cut: joint {name!r} {must}, so it must stay in the tree; cut another joint of its loop"
            )
        found.add(named[name])
    return found


def _body_cut(
    tree: tuple[TreeJoint, ...], joint: Joint, distance: dict[Body, int]
) -> tuple[tuple[TreeJoint, ...], Joint]:
    """The tree with one body of a joint cut in two: the joint carries one half, a weld holds the halves together."""
    ends = [marker for marker in (joint.a, joint.b) if distance[marker.body] and marker.body.beam is None]
    if not ends:
        raise TopologyError(
            f"joint {joint.name!r}: every joint of its loop must stay in the tree, and a beam cannot be cut in two; "
            "give one joint of the loop no actuator, spring, damper, armature or limits"
        )
    near = max(ends, key=lambda marker: distance[marker.body])
    body, other = near.body, joint.b.body if near is joint.a else joint.a.body
    half = Body(body.mechanism, body.name, body.parts, body.markers)  # its parameters are those of the whole
    q, v = tree[-1].q.stop, tree[-1].v.stop
    sizes = len(joint.type.q_names), len(joint.type.v_names)
    shared = [replace(t, share=t.share / 2) if t.child is body else t for t in tree]
    own = next(t.share for t in shared if t.child is body)
    carried = TreeJoint(joint, other, half, near is joint.a, slice(q, q + sizes[0]), slice(v, v + sizes[1]), own)
    origin, zero = body.markers["origin"], (0.0, 0.0, 0.0)
    weld = Joint(f"{body.name} weld", Fixed, origin, replace(origin, body=half), (), (), (), (), (), (), (), None)
    assert origin.position == zero
    return (*shared, carried), weld


def _body_reason(joint: Joint, weld: Joint) -> str:
    body = weld.a.body.name
    must = f"every joint of the loop must stay in the tree ({joint.name} {stays(joint)})"
    return f"{must}, so {body} is cut in two halves"


def _graph(mechanism: Mechanism) -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from([mechanism.ground, *mechanism.bodies])
    for joint in mechanism.joints:
        if joint.a.body is joint.b.body:
            raise TopologyError(
                f"joint {joint.name!r} joins {joint.a.body.name!r} to itself; give it markers on two bodies"
            )
        graph.add_edge(joint.a.body, joint.b.body, key=joint.name, joint=joint)
    return graph


def _kept(mechanism: Mechanism, graph: nx.MultiGraph, distance: dict[Body, int], wanted: set[Joint]) -> set[Joint]:
    """The joints of the spanning tree of least cost."""

    def cost(number: int, joint: Joint):
        ends = distance[joint.a.body], distance[joint.b.body]
        return joint in wanted, stays(joint) is None, len(joint.type.v_names), sum(ends), number

    joined = nx.utils.UnionFind(graph.nodes)
    kept = set()
    for _, joint in sorted(enumerate(mechanism.joints), key=lambda pair: cost(*pair)):
        if joined[joint.a.body] is not joined[joint.b.body]:
            joined.union(joint.a.body, joint.b.body)
            kept.add(joint)
    return kept


def _free_joints(mechanism: Mechanism, kept: set[Joint]) -> set[Joint]:
    """A joint without constraints for every group of bodies that would hang on nothing: on its first body."""
    graph = nx.Graph((joint.a.body, joint.b.body) for joint in kept)
    graph.add_nodes_from([mechanism.ground, *mechanism.bodies])
    found = set()
    for body in mechanism.bodies:
        if not nx.has_path(graph, mechanism.ground, body):
            a, b = (x.markers["origin"] for x in (mechanism.ground, body))
            none = (0.0,) * 6
            found.add(Joint(f"{body.name} floats", Free, a, b, (), (False,) * 6, (None,) * 6, none, (), (), none))
            graph.add_edge(mechanism.ground, body)
    return found


def _ordered(mechanism: Mechanism, kept: set[Joint]) -> tuple[TreeJoint, ...]:
    """Tree joints as they were written down, each as soon as its parent is there."""
    number = {joint: k for k, joint in enumerate(mechanism.joints)}
    number |= {joint: len(number) + k for k, joint in enumerate(sorted(kept - set(number), key=lambda x: x.name))}
    at: dict[Body, list[Joint]] = {}
    for joint in kept:
        at.setdefault(joint.a.body, []).append(joint)
        at.setdefault(joint.b.body, []).append(joint)
    placed, tree, nq, nv = {mechanism.ground}, [], 0, 0
    reachable = [(number[joint], joint) for joint in at.get(mechanism.ground, [])]
    heapq.heapify(reachable)
    while reachable:
        _, joint = heapq.heappop(reachable)
        backwards = joint.b.body in placed
        parent, child = (joint.b.body, joint.a.body) if backwards else (joint.a.body, joint.b.body)
        steps: list[tuple[Joint, Body, Body, bool]] = [(joint, parent, child, backwards)]
        if child.beam is not None:  # it hangs on one of its sections, which carries its frame
            own, root = beam_joint(child, joint.a if backwards else joint.b)
            steps = [(joint, parent, root, backwards), (own, root, child, True)]
        for step in steps:
            sizes = len(step[0].type.q_names), len(step[0].type.v_names)
            tree.append(TreeJoint(*step, slice(nq, nq + sizes[0]), slice(nv, nv + sizes[1])))
            nq, nv = nq + sizes[0], nv + sizes[1]
        placed.add(child)
        for other in at[child]:
            if other is not joint:
                heapq.heappush(reachable, (number[other], other))
    return tuple(tree)


def _reason(joint: Joint, distance: dict[Body, int]) -> str:
    rows, steps = joint.rows, min(distance[joint.a.body], distance[joint.b.body])
    return (
        f"it gives {rows} closure equations, carries nothing that needs a coordinate, "
        f"and lies {_count(steps, 'joint')} from the ground"
    )


def _around(spanning: nx.Graph, joint: Joint) -> tuple[str, ...]:
    path = nx.shortest_path(spanning, joint.a.body, joint.b.body)
    passed = (spanning.edges[pair]["joint"] for pair in pairwise(path))
    return *(name for name in passed if name is not None), joint.name


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
