"""Spanning: which joints of a mechanism form its tree, and which close loops.

Must. One tree per mechanism, the same for every formulation. A joint stays in the tree if it is helical, or has
armature, stiffness, damping, limits, an actuator or a coupling, or may be given some of these as inputs: all of them
act on a coordinate. Coordinates follow the order in which joints were added, except that parents come before children.

If every joint of a loop must stay, a body is cut into two halves, which the closure welds together. A joint that can be
switched off always closes a loop, so the tree, and with it every coordinate, is the same whatever is on; a body held
only by such joints floats.

Should. Few closure rows (cut joints with many freedoms first) and short chains (cut far from the ground).

Discussion. A spanning tree of least cost achieves both: the cost of keeping a joint is first whether it may be cut at
all, then its freedoms, then its distance from the ground.
"""

import heapq
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx

from kempe.errors import TopologyError
from kempe.mechanism.bodies import Body
from kempe.mechanism.flexible import beam_joint
from kempe.mechanism.joint import Joint
from kempe.mechanism.joints import Fixed, Free
from kempe.topology.cuts import stays
from kempe.topology.plane import marked
from kempe.topology.tree import LoopJoint, Topology, TreeCoupling, TreeJoint, counted

if TYPE_CHECKING:
    from kempe.mechanism.mechanism import Mechanism


def topology(
    mechanism: "Mechanism", cut: Iterable[str] = (), floating: bool = False, inputs: Iterable[str] = ()
) -> Topology:
    """Chooses the tree; every body must be reachable from the ground. cut: joints that must close loops; floating: lets
    bodies float that nothing else would carry; inputs: paths of parameters kept as inputs.
    """
    inputs = tuple(sorted(set(inputs)))
    switchable = {joint for joint in mechanism.joints if joint.switchable}
    for joint in (joint for joint in mechanism.joints if joint in switchable and stays(joint, inputs)):
        raise TopologyError(
            f"joint {joint.name!r} {stays(joint, inputs)}, which takes a coordinate, and a switchable joint has none; "
            "put it elsewhere"
        )
    wanted = _wanted(mechanism, cut, inputs) | switchable
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
    kept = _kept(mechanism, graph, distance, wanted, inputs)
    kept -= wanted if floating else switchable
    kept |= _free_joints(mechanism, kept) if floating or switchable else set()
    for joint in wanted & kept:
        raise TopologyError(
            f"joint {joint.name!r} cannot be cut: without it, and the others that are, bodies would hang on nothing; "
            "leave it out of cut=[...]"
        )
    tree = _ordered(mechanism, kept)
    written = set(mechanism.joints)  # a beam bends, but is not a joint of a loop
    spanning = nx.Graph((t.parent, t.child, {"joint": t.joint.name if t.joint in written else None}) for t in tree)
    spanning.add_node(mechanism.ground)
    loops = []
    for joint in (joint for joint in mechanism.joints if joint not in kept):
        around = _around(spanning, joint)
        must = stays(joint, inputs)
        if must is None:
            asked = joint in wanted - switchable
            told = "it can be switched off" if joint in switchable else "it was asked to"
            loops.append(LoopJoint(joint, told if joint in wanted else _reason(joint, distance), around, asked))
        else:
            tree, weld = _body_cut(tree, joint, distance)
            told = f"every joint of the loop must stay in the tree ({joint.name} {must})"
            loops.append(LoopJoint(weld, f"{told}, so {weld.a.body.name} is cut in two halves", around))
    found = Topology(mechanism, tree, tuple(loops), couplings=_couplings(mechanism, tree), inputs=inputs)
    return replace(found, loops=marked(found)).switched(joint.name for joint in switchable if joint.on)


def _couplings(mechanism: "Mechanism", tree: tuple[TreeJoint, ...]) -> tuple[TreeCoupling, ...]:
    number, found = {t.joint: k for k, t in enumerate(tree)}, []
    for coupling in mechanism.couplings:
        joints = tuple(number[term.joint] for term in coupling.terms)
        places = [(tree[k].q.start + term.freedom, tree[k].v.start + term.freedom)
                  for k, term in zip(joints, coupling.terms, strict=True)]  # fmt: skip
        found.append(TreeCoupling(coupling, joints, *zip(*places, strict=True)))
    return tuple(found)


def _wanted(mechanism: "Mechanism", cut: Iterable[str], inputs: tuple[str, ...]) -> set[Joint]:
    named = {joint.name: joint for joint in mechanism.joints}
    found = set()
    for name in (cut,) if isinstance(cut, str) else cut:
        if name not in named:
            raise TopologyError(f"cut: there is no joint {name!r}; there are {', '.join(named)}")
        must = stays(named[name], inputs)
        if must:
            raise TopologyError(
                f"cut: joint {name!r} {must}, so it must stay in the tree; cut another joint of its loop"
            )
        found.add(named[name])
    return found


def _body_cut(
    tree: tuple[TreeJoint, ...], joint: Joint, distance: dict[Body, int]
) -> tuple[tuple[TreeJoint, ...], Joint]:
    """The tree with one body of a joint cut in two: the joint carries one half, and a weld joins the halves."""
    ends = [marker for marker in (joint.a, joint.b) if distance[marker.body] and marker.body.beam is None]
    if not ends:
        raise TopologyError(
            f"joint {joint.name!r}: every joint of its loop must stay in the tree, and a beam cannot be cut in two; "
            "give one joint of the loop no actuator, spring, damper, armature or limits, and keep none as input"
        )
    near = max(ends, key=lambda marker: distance[marker.body])
    body, other = near.body, joint.b.body if near is joint.a else joint.a.body
    half = Body(body.mechanism, body.name, body.parts, body.markers)  # its parameters are those of the whole body
    q, v = tree[-1].q.stop, tree[-1].v.stop
    sizes = len(joint.type.q_names), len(joint.type.v_names)
    shared = [replace(t, share=t.share / 2) if t.child is body else t for t in tree]
    own = next(t.share for t in shared if t.child is body)
    carried = TreeJoint(joint, other, half, near is joint.a, slice(q, q + sizes[0]), slice(v, v + sizes[1]), own)
    origin, zero = body.markers["origin"], (0.0, 0.0, 0.0)
    weld = Joint(f"{body.name} weld", Fixed, origin, replace(origin, body=half), (), (), (), (), (), (), (), None)
    assert origin.position == zero
    return (*shared, carried), weld


def _graph(mechanism: "Mechanism") -> nx.MultiGraph:
    graph = nx.MultiGraph()
    graph.add_nodes_from([mechanism.ground, *mechanism.bodies])
    for joint in mechanism.joints:
        if joint.a.body is joint.b.body:
            raise TopologyError(
                f"joint {joint.name!r} joins {joint.a.body.name!r} to itself; give it markers on two bodies"
            )
        graph.add_edge(joint.a.body, joint.b.body, key=joint.name, joint=joint)
    return graph


def _kept(
    mechanism: "Mechanism", graph: nx.MultiGraph, distance: dict[Body, int], wanted: set[Joint], inputs: tuple[str, ...]
) -> set[Joint]:
    """The joints of the spanning tree of least cost."""

    def cost(number: int, joint: Joint):
        ends = distance[joint.a.body], distance[joint.b.body]
        return joint in wanted, stays(joint, inputs) is None, len(joint.type.v_names), sum(ends), number

    joined = nx.utils.UnionFind(graph.nodes)
    kept = set()
    for _, joint in sorted(enumerate(mechanism.joints), key=lambda pair: cost(*pair)):
        if joined[joint.a.body] is not joined[joint.b.body]:
            joined.union(joint.a.body, joint.b.body)
            kept.add(joint)
    return kept


def _free_joints(mechanism: "Mechanism", kept: set[Joint]) -> set[Joint]:
    """A joint without constraints for every group of bodies that nothing carries: on its first body."""
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


def _ordered(mechanism: "Mechanism", kept: set[Joint]) -> tuple[TreeJoint, ...]:
    """Tree joints in the order they were added, each as soon as its parent is placed."""
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
        f"and lies {counted(steps, 'joint')} from the ground"
    )


def _around(spanning: nx.Graph, joint: Joint) -> tuple[str, ...]:
    path = nx.shortest_path(spanning, joint.a.body, joint.b.body)
    passed = (spanning.edges[pair]["joint"] for pair in pairwise(path))
    return *(name for name in passed if name is not None), joint.name
