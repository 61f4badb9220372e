"""Choose: which formulation `auto` takes, by what each takes and what it loses to rounding, both measured.

Problem. Which formulation is the shortest depends on the mechanism: on how many freedoms there are, how many equations
hold loops closed, how they hang together. Formulas for it are wrong by factors, since what is traced has its zeros left
out; tracing all of them would take longer than all the rest.

Must. Those that might win are traced and counted, the most promising first. Among those that keep their digits the
shortest is taken; another formulation than `partition` only where it is shorter by the part that `MARGIN` says.

Discussion. Trees take the recursion `udu`: the whole inertia matrix is never shorter by more than a few operations, of
two links. Of loops, `partition` is the shortest as long as freedoms are few, by composite bodies or, where loops follow
each other, by clusters of them: its inertia matrix has a row for each freedom. With many freedoms and few equations, as
in a long ring or a figure that holds on to something, the recursion with multipliers (`sslm`) is O(n) and wins; so it
does where very many loops stand side by side, since it compiles as repeated blocks. The other ways of `partition`,
`slm` and `augmented` have not been shorter than all of these where that would count; `denoc` is left to those who ask
for it, since its runs end where the actuated joints stop being coordinates. `kempe counts` shows them all.
"""

from dataclasses import dataclass

from kempe.dynamics.formulation import Formulation
from kempe.dynamics.multipliers import Sslm
from kempe.dynamics.partition import Partition
from kempe.mechanism.flexible import BeamJoint
from kempe.topology.clusters import Cluster, clusters
from kempe.topology.tree import Topology

MARGIN = 0.8  # of another's operations: the part that is worth leaving the usual formulation for
DIGITS = 1e-11  # rounding that is none
WORSE = 1e3  # times the least rounding: what counts as losing digits
FEW = 2  # freedoms for each equation of the loops, from which on multipliers might be shorter
SMALL, LARGE = 12, 30  # velocities up to which, and from which on, tracing one more is little beside all the rest


@dataclass(frozen=True)
class Candidate:
    """A formulation, without coordinates; least: operations that it cannot do with much fewer than, as far as that is
    known."""

    formulation: Formulation
    least: float = 0.0

    def __str__(self) -> str:
        return str(self.formulation)


@dataclass(frozen=True)
class Measured:
    """What a candidate was found to take: operations, and how much rounding changes accelerations, in parts of the
    largest, in the median over sampled states."""

    candidate: Candidate
    operations: int
    rounding: float

    def __str__(self) -> str:
        return f"{self.candidate} takes {self.operations}"


@dataclass(frozen=True)
class Decision:
    """Which candidate is taken, and what was measured; nothing where there was but one."""

    taken: Candidate
    measured: tuple[Measured, ...] = ()

    @property
    def sentence(self) -> str:
        """What it was compared with, to end a sentence that says what it takes."""
        others = [each for each in self.measured if each.candidate != self.taken]
        if not others:
            return ""
        lost = [each for each in others if each.rounding > _bearable(self.measured)]
        own = min(each.operations for each in self.measured if each.candidate == self.taken)
        little = [each for each in others if each.operations < own and each not in lost]
        why = f", {_listed([str(each.candidate) for each in lost])} losing digits" if lost else ""
        why += f", too little to leave {self.taken.formulation.name} for" if little else ""
        named = self.taken.formulation.among(tuple(each.candidate.formulation for each in others))
        by = named.removeprefix(self.taken.formulation.name)
        return f"{by}, where {_listed([str(each) for each in others])}{why}"


def candidates(topology: Topology, independent: tuple[int, ...], heavy: bool, repeats: bool) -> tuple[Candidate, ...]:
    """Formulations of a mechanism with loops or couplings that might be the shortest, the most promising first.

    independent: velocities that are generalized ones; heavy: whether every joint of the tree alone moves against some
    inertia, as multipliers need it; repeats: whether `sslm` is compiled as repeated blocks, in a second where others
    would take the better part of a minute.
    """
    apart, multiplied = clusters(topology), Candidate(Sslm())
    free, rows = len(independent), topology.nv - len(independent)
    if heavy and repeats and len(apart) == 1:  # loops one after the other are better off apart
        return (multiplied,)
    found = _partitioned(topology, independent, apart)
    if not heavy or (free < FEW * rows and SMALL < topology.nv < LARGE):
        return found
    return (multiplied, *found) if topology.nv >= LARGE else (*found, multiplied)


def _partitioned(topology: Topology, independent: tuple[int, ...], apart: tuple[Cluster, ...]) -> tuple[Candidate, ...]:
    """Composite bodies and clusters, as far as they differ and the mechanism is one for them; beams are links of
    composite bodies only. Of large mechanisms several clusters are not worth comparing with one inertia matrix."""
    composite = Candidate(Partition(way="composite"), _factored(len(independent)))
    if len(apart) == 1 or any(isinstance(t.joint, BeamJoint) for t in topology.tree):
        return (composite,)
    sizes = [sum(topology.tree[j].v.start <= k < topology.tree[j].v.stop for j in each.joints for k in independent)
             for each in apart]  # fmt: skip
    recursive = Candidate(Partition(way="clusters"), sum(map(_factored, sizes)))
    return (recursive,) if topology.nv >= LARGE else (composite, recursive)


def _factored(n: int) -> float:
    """Operations by which a full symmetric matrix is factored."""
    return n**3 / 3


def is_worth_tracing(candidate: Candidate, measured: tuple[Measured, ...]) -> bool:
    """Whether it may still be the shortest, after those that have been measured."""
    kept = [each.operations for each in measured if each.rounding <= DIGITS]
    return not kept or candidate.least < min(kept)


def best(measured: tuple[Measured, ...]) -> Decision:
    """The shortest of those that keep their digits, or the usual one where that is not much longer."""
    fit = [each for each in measured if each.rounding <= _bearable(measured)]
    usual = [each for each in fit if isinstance(each.candidate.formulation, Partition)]
    shortest, own = (min(some, key=lambda each: each.operations, default=None) for some in (fit, usual))
    assert shortest is not None
    taken = own if own is not None and shortest.operations > MARGIN * own.operations else shortest
    return Decision(taken.candidate, measured)


def _bearable(measured: tuple[Measured, ...]) -> float:
    return max(DIGITS, WORSE * min(each.rounding for each in measured))


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
