"""Topology: the spanning tree of a mechanism, the joints that close its loops, and the couplings of its joints.

Bodies and joints form a graph. Equations of motion need a tree rooted at the ground; the remaining joints close loops
(`spanning` chooses them), and couplings are equations between joints of the tree.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kempe.mechanism.flexible import BeamJoint
from kempe.topology.cuts import improved, nearly, together, work
from kempe.topology.paths import lock_paths, spring_paths
from kempe.topology.subsystems import Subsystems, subsystems

if TYPE_CHECKING:
    from kempe.mechanism.bodies import Body
    from kempe.mechanism.couplings import Coupling
    from kempe.mechanism.joint import Joint
    from kempe.mechanism.mechanism import Mechanism
    from kempe.topology.legs import Legs


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """A joint of the tree: it carries `child` on `parent`; reversed if the joint's marker a is on the child.

    share: the fraction of the child's inertia on this link; a half if the body was cut in two.
    """

    joint: "Joint"
    parent: "Body"
    child: "Body"
    reversed: bool
    q: slice
    v: slice
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class LoopJoint:
    """A joint that closes a loop, and why it was chosen; `around` are the joints of the loop, including itself. asked:
    whether the user requested it. carried: whether the loop turns in space with a body, so that its rows are in its own
    axes.
    """

    joint: "Joint"
    reason: str
    around: tuple[str, ...]
    asked: bool = False
    carried: bool = False


@dataclass(frozen=True, eq=False)
class TreeCoupling:
    """A coupling; for each of its terms, the number of the tree's joint and the indices of its freedom in q and v."""

    coupling: "Coupling"
    joints: tuple[int, ...]
    q: tuple[int, ...]
    v: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Topology:
    """The tree in order (parents before children), what closes loops, and what couples joints.

    held: closures held by springs instead of equations, with the parameters of these springs by path. off: joints that
    would close loops if they were switched on. masked: closures that a parameter each switches on or off; locks:
    freedoms of the tree that parameters lock in the same way. couplings: those held by equations, after all rows of
    loops; sprung: those held by springs. inputs: parameters kept as inputs, as far as they were known when the tree was
    chosen; the tree may depend on them.
    """

    mechanism: "Mechanism"
    tree: tuple[TreeJoint, ...]
    loops: tuple[LoopJoint, ...]
    held: tuple[LoopJoint, ...] = ()
    springs: tuple[tuple[str, float], ...] = ()
    off: tuple[LoopJoint, ...] = ()
    masked: tuple[LoopJoint, ...] = ()
    locks: tuple[int, ...] = ()
    couplings: tuple[TreeCoupling, ...] = ()
    sprung: tuple[TreeCoupling, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def closures(self) -> tuple[LoopJoint, ...]:
        """All joints that were cut, however they are closed."""
        return self.loops or self.held

    @property
    def constrained(self) -> bool:
        """Whether loops or couplings constrain the tree by equations that do not change."""
        return bool(self.loops or self.couplings) and not self.is_masked

    @property
    def closed(self) -> bool:
        """The same, but counting springs that replace equations too."""
        return bool(self.closures or self.couplings or self.sprung)

    @property
    def driven(self) -> tuple[int, ...]:
        """The actuated freedoms."""
        on = [actuated for t in self.tree for actuated in t.joint.actuated]
        return tuple(k for k, actuated in enumerate(on) if actuated)

    @property
    def row_counts(self) -> tuple[tuple[str, int], ...]:
        """The number of equations of each loop, with the joint that closes it, then of each coupling, with its name."""
        loops = ((loop.joint.name, loop.joint.rows) for loop in self.loops)
        return (*loops, *((each.coupling.name, 1) for each in self.couplings))

    @property
    def rows(self) -> int:
        """The number of equations of all loops, masked or not, and of couplings."""
        return sum(loop.joint.rows for loop in self.masked or self.loops) + len(self.couplings)

    @cached_property
    def switchable(self) -> tuple[str, ...]:
        """The joints that can be switched, in the order they were added."""
        return tuple(joint.name for joint in self.mechanism.joints if joint.switchable)

    @property
    def on(self) -> tuple[str, ...]:
        """The switchable joints that are on."""
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
        """Whether parameters switch closures or locks."""
        return bool(self.masked or self.locks)

    @property
    def masks(self) -> dict[str, float]:
        """Parameters that switch closures and locks, by path: which are on (1 or 0), and where freedoms are held."""
        on = {f"{loop.joint.name}.on": float(loop.joint.on) for loop in self.masked if loop.joint.switchable}
        return on | {path: 0.0 for at in self.locks for path in lock_paths(at)}

    @cached_property
    def parameters(self) -> dict[str, float]:
        """All parameters by path: of the mechanism, of joints that only the tree has, of springs at cuts, and of
        masks.
        """
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
    def parent_of(self) -> dict["Body", int]:
        """The number of the tree joint that carries each body; -1 for the ground."""
        return {self.mechanism.ground: -1} | {t.child: k for k, t in enumerate(self.tree)}

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """For every tree joint, the number of the one that carries its parent; -1 on the ground."""
        return tuple(self.parent_of[t.parent] for t in self.tree)

    def chain(self, number: int) -> tuple[int, ...]:
        """Numbers of the tree's joints from the ground to this one."""
        return chain(self.parents, number)

    @cached_property
    def subsystems(self) -> Subsystems:
        """The subsystems of the tree without the ground, and how loops pass through them."""
        return subsystems(self)

    @cached_property
    def legs(self) -> "Legs":
        """The mechanism as a platform on legs, for `denoc`; raises if it is not one."""
        from kempe.topology.legs import legs

        return legs(self)

    @cached_property
    def small_cuts(self) -> tuple[str, ...]:
        """Joints to cut for small blocks, `m.compile(cut=m.topology().small_cuts)`; the present cuts if none are
        better.
        """
        return improved(self, work, work, lambda cut: self._with_cut(cut))

    @cached_property
    def determinate_cuts(self) -> tuple[str, ...]:
        """Joints to cut so that inverse dynamics solves as few subsystems together as the search finds, as paper 2
        does.
        """
        return improved(self, together, nearly, lambda cut: self._with_cut(cut))

    def _with_cut(self, cut: Iterable[str]) -> "Topology":
        from kempe.topology.spanning import topology

        return topology(self.mechanism, cut, inputs=self.inputs)

    def explain(self) -> str:
        """The tree and the loops in words."""
        m = self.mechanism
        sizes = (
            counted(len(m.bodies), "body", "bodies"),
            counted(len(m.joints), "joint"),
            counted(len(self.loops), "loop"),
        )
        lines = [f"{m.name}: {', '.join(sizes)}"]
        lines.append(f"the tree has {counted(self.nq, 'coordinate')} and {counted(self.nv, 'freedom')}:")
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
        for each in self.couplings:
            lines.append(f"{each.coupling.name} couples joints: {each.coupling}")
        for each in self.sprung:
            lines.append(f"{each.coupling.name} couples joints by a spring: {each.coupling}")
        if self.constrained or len(self.subsystems) > 1:
            lines.append(self.subsystems.explain())
        return "\n".join(lines)

    def picture(self, path: str | Path) -> Path:
        """Draws the graph: solid lines for the tree, dashed lines for the joints that close loops."""
        from kempe.topology.picture import draw

        return draw(self, path)

    def picture_of_blocks(self, path: str | Path) -> Path:
        """Draws the nonvanishing blocks of J and of the GICM, and their subsystems (paper 2)."""
        from kempe.topology.picture import draw_blocks

        return draw_blocks(self, path)


def chain(parents: Sequence[int], number: int) -> tuple[int, ...]:
    """Numbers from the root to this one, each carried by the one before."""
    found: list[int] = []
    while number >= 0:
        found.append(number)
        number = parents[number]
    return tuple(reversed(found))


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{n} {one if n == 1 else many or one + 's'}"
