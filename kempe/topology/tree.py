"""Topology: the one spanning tree of a mechanism, the joints that close its loops, and what couples its joints.

Bodies and joints form a graph. Equations of motion want a tree that hangs from the ground; the joints left over close
loops (`spanning` chooses them), and couplings are equations between joints of the tree.
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
    """A joint of the tree: it carries `child` on `parent`; reversed when the joint's a is on the child.

    share: how much of the child's inertia is on this link; a half where the body was cut in two.
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
    """A joint that closes a loop, and why it was chosen for that; `around` are the joints of the loop, with itself.
    asked: whether the user wanted it. carried: whether it turns in space with a body: its rows keep to its axes."""

    joint: "Joint"
    reason: str
    around: tuple[str, ...]
    asked: bool = False
    carried: bool = False


@dataclass(frozen=True, eq=False)
class TreeCoupling:
    """A coupling, and for each of its terms the number of the tree's joint and the places of its freedom in q and v."""

    coupling: "Coupling"
    joints: tuple[int, ...]
    q: tuple[int, ...]
    v: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Topology:
    """The tree in order (parents before children), what closes loops, and what couples joints.

    held: closures that springs hold in the place of equations, with the numbers of these springs by their paths. off:
    joints that would close loops if they were switched on. masked: closures each of which a parameter switches; locks:
    freedoms of the tree likewise, that hold still where they are locked. couplings: those that are equations, after all
    rows of loops; sprung: those that springs hold. inputs: the parameters that are kept as inputs, as far as they were
    named when the tree was chosen: the tree may differ with them.
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
        """All joints that were cut, whatever closes them."""
        return self.loops or self.held

    @property
    def constrained(self) -> bool:
        """Whether equations hold joints of the tree together, of loops or of couplings, always the same ones."""
        return bool(self.loops or self.couplings) and not self.is_masked

    @property
    def closed(self) -> bool:
        """The same, or springs in the place of equations."""
        return bool(self.closures or self.couplings or self.sprung)

    @property
    def driven(self) -> tuple[int, ...]:
        """The freedoms that are actuated."""
        on = [actuated for t in self.tree for actuated in t.joint.actuated]
        return tuple(k for k, actuated in enumerate(on) if actuated)

    @property
    def row_counts(self) -> tuple[tuple[str, int], ...]:
        """How many equations each loop has, with the joint that closes it, then each coupling, with its name."""
        loops = ((loop.joint.name, loop.joint.rows) for loop in self.loops)
        return (*loops, *((each.coupling.name, 1) for each in self.couplings))

    @property
    def rows(self) -> int:
        """Equations of all loops, masked or not, then of couplings."""
        return sum(loop.joint.rows for loop in self.masked or self.loops) + len(self.couplings)

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
    def parent_of(self) -> dict["Body", int]:
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
    def legs(self) -> "Legs":
        """The mechanism as a platform on legs, for `denoc`; raises where it is none."""
        from kempe.topology.legs import legs

        return legs(self)

    @cached_property
    def small_cuts(self) -> tuple[str, ...]:
        """Joints to cut for small blocks, `m.compile(cut=m.topology().small_cuts)`; those that are cut where no others
        are better."""
        return improved(self, work, work, lambda cut: self._with_cut(cut))

    @cached_property
    def determinate_cuts(self) -> tuple[str, ...]:
        """Joints to cut so that inverse dynamics solves as few subsystems together as can be found, as paper 2 does."""
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
        """Draws the graph: the tree in full lines, the joints that close loops in broken ones."""
        from kempe.topology.picture import draw

        return draw(self, path)

    def picture_of_blocks(self, path: str | Path) -> Path:
        """Draws which blocks of J and of the GICM do not vanish, and the subsystems they are made of (paper 2)."""
        from kempe.topology.picture import draw_blocks

        return draw_blocks(self, path)


def chain(parents: Sequence[int], number: int) -> tuple[int, ...]:
    """Numbers from the ground to this one, each carried by the one before."""
    found: list[int] = []
    while number >= 0:
        found.append(number)
        number = parents[number]
    return tuple(reversed(found))


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{n} {one if n == 1 else many or one + 's'}"
