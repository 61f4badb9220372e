"""Choose: which formulation `auto` takes, judged by measured operation counts and measured rounding.

Problem. Which formulation is the shortest depends on the mechanism: the number of freedoms, the number of equations
that close loops, and how they are connected. Formulas for the count are wrong by factors, since tracing drops zeros;
tracing all formulations would take longer than everything else.

Must. The candidates that might win are traced and counted, the most promising first. The shortest of those that keep
their digits is taken, but another formulation than `partition` only if it is shorter by the factor `MARGIN`.

Discussion. Trees take the recursion `udu`: the whole inertia matrix is shorter only for trees of two links, by a few
operations. For loops, `partition` is the shortest as long as there are few freedoms, because its inertia matrix has a
row for each freedom. It works by composite bodies or, if loops follow each other, by clusters of them. With many
freedoms and few equations, as in a long ring or a figure that holds on to something, the recursion with multipliers
(`sslm`) is O(n) and wins. It also wins with very many loops side by side, since it compiles as repeated blocks. The
other ways of `partition`, `slm` and `augmented` have never been shorter than all of these where it would matter.
`denoc` must be requested by name, since its runs end where the actuated joints stop being valid coordinates. `kempe
counts` shows them all.
"""

from dataclasses import dataclass

from kempe.dynamics.formulation import Formulation
from kempe.dynamics.multipliers import Sslm
from kempe.dynamics.partition import Partition
from kempe.mechanism.flexible import BeamJoint
from kempe.topology.clusters import Cluster, clusters
from kempe.topology.tree import Topology

MARGIN = 0.8  # of the usual formulation's operations: another one must stay below this
DIGITS = 1e-11  # rounding too small to matter
WORSE = 1e3  # times the least rounding: what counts as losing digits
FEW = 2  # freedoms per loop equation, from which on multipliers might be shorter
SMALL, LARGE = 12, 30  # velocities up to which, and from which on, tracing one more costs little next to the rest


@dataclass(frozen=True)
class Candidate:
    """A formulation, without coordinates; least: a rough lower bound on its operations, as far as one is known."""

    formulation: Formulation
    least: float = 0.0

    def __str__(self) -> str:
        return str(self.formulation)


@dataclass(frozen=True)
class Measured:
    """What was measured for a candidate: operations, and how much rounding changes accelerations, relative to the
    largest, as the median over sampled states.
    """

    candidate: Candidate
    operations: int
    rounding: float

    def __str__(self) -> str:
        return f"{self.candidate} takes {self.operations}"


@dataclass(frozen=True)
class Decision:
    """The candidate that was taken, and the measurements; none if there was only one candidate."""

    taken: Candidate
    measured: tuple[Measured, ...] = ()

    @property
    def sentence(self) -> str:
        """What it was compared with, as the end of a sentence."""
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

    independent: velocities used as generalized ones; heavy: whether every joint of the tree alone moves against some
    inertia, as multipliers require; repeats: whether `sslm` compiles as repeated blocks, in a second where others would
    take most of a minute.
    """
    apart, multiplied = clusters(topology), Candidate(Sslm())
    free, rows = len(independent), topology.nv - len(independent)
    if heavy and repeats and len(apart) == 1:  # for loops in a row, separate clusters are better
        return (multiplied,)
    found = _partitioned(topology, independent, apart)
    if not heavy or (free < FEW * rows and SMALL < topology.nv < LARGE):
        return found
    return (multiplied, *found) if topology.nv >= LARGE else (*found, multiplied)


def _partitioned(topology: Topology, independent: tuple[int, ...], apart: tuple[Cluster, ...]) -> tuple[Candidate, ...]:
    """Composite bodies and clusters, if they differ and suit the mechanism; beams are supported by composite bodies
    only. For large mechanisms it is not worth comparing several clusters with one inertia matrix.
    """
    composite = Candidate(Partition(way="composite"), _factored(len(independent)))
    if len(apart) == 1 or any(isinstance(t.joint, BeamJoint) for t in topology.tree):
        return (composite,)
    sizes = [sum(topology.tree[j].v.start <= k < topology.tree[j].v.stop for j in each.joints for k in independent)
             for each in apart]  # fmt: skip
    recursive = Candidate(Partition(way="clusters"), sum(map(_factored, sizes)))
    return (recursive,) if topology.nv >= LARGE else (composite, recursive)


def _factored(n: int) -> float:
    """Operations to factor a full symmetric matrix."""
    return n**3 / 3


def is_worth_tracing(candidate: Candidate, measured: tuple[Measured, ...]) -> bool:
    """Whether it may still be the shortest, given those already measured."""
    kept = [each.operations for each in measured if each.rounding <= DIGITS]
    return not kept or candidate.least < min(kept)


def best(measured: tuple[Measured, ...]) -> Decision:
    """The shortest of those that keep their digits, or the usual one if it is not much longer."""
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
