"""Writing MJCF trees: which joint carries which body, and which loops equalities close.

Problem. MJCF nests bodies; loops are closed by equalities, which can express a ball (one point), a hinge (two points)
and a weld, with nothing acting along their freedoms.

Must. A joint of another kind, or one that is actuated, limited, coupled, sprung or damped, is in the tree. Where all
joints of a loop must be, a body is written in pieces of equal mass: the joint carries a piece of its own, welded to the
rest, so they move as the whole body does. Switchable joints are never in the tree.

Should. As in Kempe's own tree: few equations and short chains.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx

from kempe.errors import MechanismError
from kempe.formats.writing import hanging, needs_coordinate
from kempe.formats.xml import DEEPEST

if TYPE_CHECKING:
    from kempe.mechanism.bodies import Body, Marker
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism

CLOSES = ("revolute", "spherical", "fixed")
ELEMENTS_AROUND = 3  # the file, <worldbody>, and elements in the innermost body


@dataclass(frozen=True, eq=False)
class Link:
    """A body of the file: one of the mechanism or a piece of one, and the joint that carries it."""

    name: str
    body: "Body"
    joint: "Joint"
    parent: "Link | None"  # None: the world

    @property
    def turned(self) -> bool:
        """Whether the joint is written from child to parent."""
        return self.joint.a.body is self.body

    @property
    def markers(self) -> tuple["Marker", "Marker"]:
        """The joint's markers on the parent and on this body."""
        return (self.joint.b, self.joint.a) if self.turned else (self.joint.a, self.joint.b)

    @property
    def depth(self) -> int:
        """The nesting depth, counting itself."""
        count, link = 0, self
        while link is not None:
            count, link = count + 1, link.parent
        return count


@dataclass(frozen=True, eq=False)
class Tree:
    """Links, parents before children; the number of pieces of each body; the joints that close loops, and the welds
    between pieces of a body."""

    links: tuple[Link, ...]
    pieces: Counter["Body"]
    closing: tuple["Joint", ...]
    welds: tuple[tuple[Link, Link], ...]


def grown(mechanism: "Mechanism", coupled: set[str], taken: set[str], notes: list[str]) -> Tree:
    """Builds the tree; coupled: names of coupled joints; taken: names in use, to which those of links are added."""
    floats = [at.joint for at in mechanism.topology().tree if at.joint not in set(mechanism.joints)]
    carried = hanging(mechanism, _sorted(mechanism, [*mechanism.joints, *floats], coupled))
    links: dict[Body, Link] = {}
    for body, joint in carried.items():
        other = joint.a.body if joint.b.body is body else joint.b.body
        links[body] = Link(_name(body, taken, notes), body, joint, links.get(other))
    whole, closing, welds = list(links.values()), [], []
    depths = {link.body: link.depth for link in whole}
    in_tree = set(carried.values())
    for joint in mechanism.joints:
        if joint in in_tree:
            continue
        if not _must_stay(joint, coupled):
            if joint.type.name == "free":
                notes.append(
                    f"joint {joint.name!r} closes a loop but is free, so it constrains nothing and is not written"
                )
            else:
                closing.append(joint)
        elif joint.switchable:
            words = f"switchable joint {joint.name!r} ({joint.type.name}, or with limits, springs or actuators)"
            raise MechanismError(f"{words} cannot be written as an equality of MJCF; save it as YAML")
        else:
            near = max((joint.a, joint.b), key=lambda marker: depths.get(marker.body, 0))
            other = joint.a if near is joint.b else joint.b
            name = unique(f"{links[near.body].name} piece", taken)
            piece = Link(name, near.body, joint, links.get(other.body))
            welds.append((links[near.body], piece))
            notes.append(
                f"joint {joint.name!r} cannot be an equality of MJCF: it carries {name!r}, a piece of body "
                f"{near.body.name!r}, which is welded to the rest"
            )
    every = (*whole, *(piece for _, piece in welds))
    for link in every:
        if link.depth + ELEMENTS_AROUND > DEEPEST:
            raise MechanismError(
                f"body {link.body.name!r} is nested in {link.depth - 1} others, and files nested deeper than {DEEPEST} "
                "levels cannot be read back; save it as YAML"
            )
    return Tree(every, Counter(link.body for link in every), tuple(closing), tuple(welds))


def unique(wanted: str, taken: set[str]) -> str:
    """A name not yet taken, which is then marked as taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted} {count}"
    taken.add(name)
    return name


def _name(body: "Body", taken: set[str], notes: list[str]) -> str:
    if body.name != "world":
        return body.name
    name = unique("world body", taken)
    notes.append(f"body 'world' is named {name!r} in the file, where the world is the ground")
    return name


def _must_stay(joint: "Joint", coupled: set[str]) -> bool:
    """Whether no equality can express it; a free joint need not be expressed."""
    said = joint.type.name in (*CLOSES, "free")
    return not said or needs_coordinate(joint) or joint.name in coupled


def _sorted(mechanism: "Mechanism", joints: Iterable["Joint"], coupled: set[str]) -> list["Joint"]:
    """Joints that are not switchable: those that must be in the tree first, then by freedoms and distance."""
    kept = [joint for joint in joints if not joint.switchable]
    graph = nx.Graph((joint.a.body, joint.b.body) for joint in kept)
    graph.add_node(mechanism.ground)
    distance = nx.single_source_shortest_path_length(graph, mechanism.ground)

    def cost(joint: "Joint"):
        ends = distance[joint.a.body] + distance[joint.b.body]
        return not _must_stay(joint, coupled), len(joint.type.v_names), ends

    return sorted(kept, key=cost)
