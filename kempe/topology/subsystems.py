"""Subsystems: the parts of the tree without the ground, the loops that pass through them, and the resulting blocks.

Problem. Paper 2 writes J over loops and subsystems, and the generalized inertia constraint matrix (GICM) J I^-1 J^T
over loops: most of their blocks vanish, and which ones do depends on the graph alone.

Must. Block (i, j) of J is nonzero if a joint of subsystem j lies on loop i (eqs. 13-16). Block (i, k) of the GICM is
the sum over the subsystems that both loops pass through (eq. 25), so (i, i) lists the subsystems that form loop i.

Discussion. A joint that carries both bodies of a closing joint moves them alike: it does not lie on the loop, and its
column of J vanishes. A loop can lie in one subsystem without touching its root.

If constraints are redundant, the number of independent equations of a loop depends on lengths and angles too. The graph
gives an upper bound, and sometimes shows that the bound is too high: if it leaves no freedom, or fewer than there are
drives.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kempe.mechanism.joints import Free
from kempe.topology.determinacy import Step, steps
from kempe.topology.plane import in_plane

if TYPE_CHECKING:
    from kempe.topology.tree import Topology

WIDE = 12  # loops or subsystems; more than these are listed instead of tabulated


@dataclass(frozen=True)
class Subsystem:
    """Bodies that stay connected in the tree without the ground.

    joints: numbers of the tree's joints, parents first. velocities: their indices in v. drives: names of the actuated
    joints, one entry for each freedom. kind: "serial", or "tree" if a body carries several others.
    """

    number: int
    bodies: tuple[str, ...]
    joints: tuple[int, ...]
    velocities: tuple[int, ...]
    drives: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Subsystems(Sequence[Subsystem]):
    """All subsystems, numbered from 1 in the order of the tree, and how loops pass through them.

    loops: the joints that close them, then couplings, which act like loops of one equation. through: for each loop, the
    numbers of the subsystems it passes through by joints that move. equations: the number of independent ones for each
    loop. This is the upper bound by the kind of the closing joint (three directions in a plane, six in space) or, with
    `by_rank` as in `Model.subsystems`, the actual number, which is less if constraints are redundant.
    """

    all: tuple[Subsystem, ...]
    loops: tuple[str, ...]
    through: tuple[tuple[int, ...], ...]
    equations: tuple[int, ...]
    by_rank: bool = False
    couplings: int = 0  # how many of the loops, at the end, are couplings

    def __getitem__(self, index):
        return self.all[index]

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[Subsystem]:
        return iter(self.all)

    def shared(self, i: int, k: int) -> tuple[int, ...]:
        """Numbers of the subsystems that loops i and k (from 0) both pass through: block (i, k) of the GICM."""
        return tuple(number for number in self.through[i] if number in self.through[k])

    @cached_property
    def jacobian_pattern(self) -> tuple[tuple[bool, ...], ...]:
        """Which blocks of J do not vanish: loops x subsystems."""
        return tuple(tuple(part.number in passed for part in self.all) for passed in self.through)

    @cached_property
    def gicm_pattern(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The subsystems in each block of the GICM: loops x loops; empty where the block vanishes."""
        count = range(len(self.loops))
        return tuple(tuple(self.shared(i, k) for k in count) for i in count)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The order in which subsystems can be solved for efforts and multipliers (section 2.2), by number."""
        through = [[number - 1 for number in passed] for passed in self.through]
        return steps([len(s.velocities) for s in self.all], [len(s.drives) for s in self.all], self.equations, through)

    @property
    def freedom(self) -> int:
        """Velocities of all subsystems minus the equations of all loops."""
        return sum(len(part.velocities) for part in self.all) - sum(self.equations)

    @property
    def too_many(self) -> bool:
        """Whether these equations leave no freedom, or fewer than there are drives: some equations, or drives, must be
        redundant.
        """
        return self.freedom < max(1, sum(len(part.drives) for part in self.all))

    def unknowns(self, number: int) -> int:
        """The number of multipliers and drives that act on a subsystem."""
        pairs = zip(self.equations, self.through, strict=True)
        return len(self.all[number - 1].drives) + sum(count for count, passed in pairs if number in passed)

    @cached_property
    def work(self) -> float:
        """Multiplications for the multipliers at subsystem level (eqs. 19-25), with all blocks taken as full: to
        compare cuts.
        """
        sizes = {part.number: len(part.velocities) for part in self.all}
        total = sum(n**3 / 6 for n in sizes.values())  # I_j = U D U^T
        for i, (rows, passed) in enumerate(zip(self.equations, self.through, strict=True)):
            total += sum(rows * sizes[j] ** 2 for j in passed)  # I_j^-1 J_ij^T, eq. 20
            total += sum(rows * (rows + 1) / 2 * sizes[j] for j in passed)
            for k in range(i):
                total += sum(rows * self.equations[k] * sizes[j] for j in self.shared(i, k))  # eq. 25
        return total + self._elimination()

    def _elimination(self) -> float:
        """Multiplications to eliminate the GICM block by block, the loop with the fewest equations beside it first."""
        beside = {i: {k for k, block in enumerate(row) if block and k != i} for i, row in enumerate(self.gicm_pattern)}
        total = 0.0
        while beside:
            front = {i: sum(self.equations[k] for k in others) for i, others in beside.items()}
            i = min(front, key=lambda i: (front[i], i))
            own, rest = self.equations[i], front[i]
            total += own**3 / 6 + own**2 * rest / 2 + own * rest * (rest + 1) / 2
            others = beside.pop(i)
            for k in others:
                beside[k] = (beside[k] | others) - {i, k}
        return total

    # ---- text ------------------------------------------------------------------------------------------

    def explain(self) -> str:
        """Subsystems, the blocks of J and of the GICM, and the order for inverse dynamics, one line each."""
        lines = ["subsystems, * actuated:"]
        for part in self.all:
            drives = f"; * {', '.join(part.drives)}" if part.drives else ""
            lines.append(f"  {part.number} ({part.kind}): {', '.join(part.bodies)}{drives}")
        if not self.loops:
            return "\n".join(lines)
        names = self._titles
        if max(len(self.all), len(self.loops)) > WIDE:
            return "\n".join([*lines, *self._listed()])
        lines.append("blocks of J, a loop's row under the subsystems it passes through:")
        columns = [str(part.number) for part in self.all]
        rows = [[f"J{i + 1},{part.number}" if there else "." for part, there in zip(self.all, row, strict=True)]
                for i, row in enumerate(self.jacobian_pattern)]  # fmt: skip
        lines += _table(names, columns, rows)
        lines.append("blocks of the GICM, subsystems that form a loop or that two loops share:")
        rows = [[" + ".join(map(str, row[k])) or "." for k in range(i + 1)] for i, row in enumerate(self.gicm_pattern)]
        lines += _table(names, list(self.loops), rows)
        return "\n".join([*lines, *self._counted()])

    @property
    def _titles(self) -> list[str]:
        first = len(self.loops) - self.couplings
        return [f"{'loop' if k < first else 'coupling'} {name}" for k, name in enumerate(self.loops)]

    def _listed(self) -> list[str]:
        lines = ["blocks of J and of the GICM, for every loop the subsystems it passes through and those it shares:"]
        for i, name in enumerate(self._titles):
            others = [(self.loops[k], block) for k, block in enumerate(self.gicm_pattern[i]) if block and k != i]
            shared = "; ".join(f"{' + '.join(map(str, block))} with {other}" for other, block in others)
            lines.append(f"  {name}: {' + '.join(map(str, self.through[i]))}; {shared or 'none shared'}")
        return lines

    def _counted(self) -> list[str]:
        """Which subsystems are determinate in the sense of paper 2: as many unknowns as equations. If the graph gives
        too many equations, only what is certain.
        """
        unsure = self.too_many and not self.by_rank
        most = "at most " if unsure else ""
        lines = [f"inverse dynamics, by {'rank' if self.by_rank else 'counting'}:"]
        for part in self.all:
            unknowns, equations = self.unknowns(part.number), len(part.velocities)
            pairs = zip(self.loops, self.equations, self.through, strict=True)
            what = [*part.drives, *(f"{count} of {name}" for name, count, passed in pairs if part.number in passed)]
            word = "determinate" if unknowns <= equations else "not told" if unsure else "indeterminate"
            named = f" ({', '.join(what)})" if what else ""
            lines.append(f"  subsystem {part.number}: equations {equations}, unknowns {most}{unknowns}{named}: {word}")
        if unsure:
            drives = sum(len(part.drives) for part in self.all)
            return [
                *lines,
                f"  freedom left {self.freedom}, actuated {drives}: equations of loops are redundant, or actuators; "
                "m.compile().subsystems.explain() counts by rank",
            ]
        order = (" with ".join(str(j + 1) for j in step.subsystems) for step in self.steps)
        return [*lines, f"  order: {', then '.join(order)}"]


def subsystems(topology: "Topology") -> Subsystems:
    """The subsystems of a tree."""
    root: list[int] = []
    for k, parent in enumerate(topology.parents):
        root.append(k if parent < 0 else root[parent])
    number = {first: n for n, first in enumerate(dict.fromkeys(root), start=1)}
    parts = [_part(topology, n, [k for k, r in enumerate(root) if r == first]) for first, n in number.items()]
    flat = topology.loops and in_plane(topology.mechanism) and all(t.joint.type is not Free for t in topology.tree)
    through, equations, across = [], [], 3 if flat else 6
    for loop in topology.loops:
        sides = (set(topology.chain(topology.parent_of[marker.body])) for marker in (loop.joint.a, loop.joint.b))
        moving = (k for k in set.symmetric_difference(*sides) if topology.tree[k].joint.type.v_names)
        through.append(tuple(sorted({number[root[k]] for k in moving})))
        equations.append(across - len(loop.joint.type.v_names))
    for each in topology.couplings:
        through.append(tuple(sorted({number[root[k]] for k in each.joints})))
        equations.append(1)
    names = tuple(name for name, _ in topology.row_counts)
    return Subsystems(tuple(parts), names, tuple(through), tuple(equations), couplings=len(topology.couplings))


def _part(topology: "Topology", number: int, joints: list[int]) -> Subsystem:
    own = [topology.tree[k] for k in joints]
    parents = [topology.parents[k] for k in joints]
    drives = [
        f"{t.joint.name}.{name}" if name else t.joint.name
        for t in own
        for name, actuated in zip(t.joint.type.v_names, t.joint.actuated, strict=True)
        if actuated
    ]
    return Subsystem(
        number,
        tuple(dict.fromkeys(t.child.name for t in own)),
        tuple(joints),
        tuple(k for t in own for k in range(t.v.start, t.v.stop)),
        tuple(drives),
        "serial" if len(set(parents)) == len(parents) else "tree",
    )


def _table(names: list[str], columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table with row names at the left and columns as wide as needed."""
    first = max(map(len, names))
    widths = [max(len(title), *(len(row[k]) for row in rows if k < len(row))) for k, title in enumerate(columns)]
    lines = [("", columns), *zip(names, rows, strict=True)]
    return [
        "  " + "  ".join([name.ljust(first), *(x.center(w) for x, w in zip(row, widths, strict=False))]).rstrip()
        for name, row in lines
    ]
