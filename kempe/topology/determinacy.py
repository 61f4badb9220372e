"""Determinacy: the order in which subsystems can be solved for efforts and multipliers (paper 2, section 2.2).

Problem. Every subsystem has one equation for each of its velocities. Its unknowns are its drives and the multipliers
of the loops that pass through it, which act on other subsystems too. A subsystem with no more unknowns than equations
is determinate; once it is solved, others may become determinate. If none is, several have to be solved together: which
ones, and how few?

Discussion. Match each unknown with an equation it appears in. A subsystem with an unknown that is matched with another
subsystem's equation waits for that subsystem; those that wait for each other in a cycle are solved together. These are
the smallest possible groups, the diagonal blocks of a block triangular matrix (A. Dulmage and N. Mendelsohn, Coverings
of bipartite graphs, Canadian Journal of Mathematics 10 (1958) 517-534). Unmatched equations or unknowns make
everything that could be matched in their place wait together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx


@dataclass(frozen=True)
class Step:
    """Subsystems that are solved together, and the loops whose multipliers they determine; both numbered from 0.

    determinate: whether this gives all their unknowns; false if there are more unknowns than equations.
    """

    subsystems: tuple[int, ...]
    loops: tuple[int, ...]
    equations: int
    unknowns: int
    determinate: bool


def steps(
    equations: Sequence[int], drives: Sequence[int], multipliers: Sequence[int], through: Sequence[Sequence[int]]
) -> tuple[Step, ...]:
    """The steps in order. equations, drives: the number for each subsystem; multipliers: the number for each loop;
    through: the subsystems that each loop passes through.
    """
    owners = {("drive", j, k): [j] for j, count in enumerate(drives) for k in range(count)}
    owners |= {("loop", i, k): list(through[i]) for i, count in enumerate(multipliers) for k in range(count)}
    matched = _matched(equations, owners)
    waits = nx.DiGraph()
    waits.add_nodes_from(range(len(equations)))
    waits.add_edges_from((j, k) for unknown, k in matched.items() for j in owners[unknown] if j != k)
    before = waits.copy()
    used = [0] * len(equations)
    for k in matched.values():
        used[k] += 1
    for j, count in enumerate(equations):
        if used[j] < count:  # spare equations, shared by all it waits for
            waits.add_edges_from((k, j) for k in nx.descendants(before, j))
    for unknown in owners.keys() - matched.keys():
        for j in owners[unknown]:
            waits.add_edges_from((j, k) for k in (*nx.ancestors(before, j), *owners[unknown]) if k != j)
    found: list[Step] = []
    known: set[int] = set()
    groups = nx.condensation(waits)
    members: dict[int, set[int]] = {group: groups.nodes[group]["members"] for group in groups}
    order = nx.lexicographical_topological_sort(groups, key=lambda group: -min(members[group]))
    for group in reversed(list(order)):  # those that others wait for come first
        together = tuple(sorted(members[group]))
        new = [i for i, passed in enumerate(through) if i not in known and set(passed) & set(together)]
        known |= set(new)
        unknowns = sum(multipliers[i] for i in new) + sum(drives[j] for j in together)
        own = sum(equations[j] for j in together)
        found.append(Step(together, tuple(new), own, unknowns, unknowns <= own))
    return tuple(found)


def _matched(equations: Sequence[int], owners: dict) -> dict:
    """For as many unknowns as possible, the subsystem whose equation is matched with it."""
    graph = nx.Graph()
    graph.add_nodes_from(owners)
    for unknown, parts in owners.items():
        graph.add_edges_from((unknown, (j, k)) for j in parts for k in range(equations[j]))
    pairs = nx.bipartite.hopcroft_karp_matching(graph, top_nodes=list(owners))
    return {unknown: pairs[unknown][0] for unknown in owners if unknown in pairs}
