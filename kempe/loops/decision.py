"""Formulation: the cost and rounding error of each candidate, found by tracing; the decision is remembered.

Nothing is compiled: operations are counted in the programs, and rounding is measured by evaluating the same programs
with fewer digits (see `compiler.rounding`).
"""

from typing import TYPE_CHECKING

import numpy as np

from kempe.arithmetic.random import normal
from kempe.compiler.count import count
from kempe.compiler.recall import recalled
from kempe.compiler.rounding import rounding
from kempe.dynamics.choose import Candidate, Decision, Measured, best, candidates, is_worth_tracing
from kempe.dynamics.closed import FIT
from kempe.dynamics.multipliers import Sslm, without_inertia
from kempe.dynamics.partition import Partition
from kempe.kernels import blocks
from kempe.kernels.kernels import recalled_program
from kempe.loops.choosing import fitness

if TYPE_CHECKING:
    from kempe.compiler.program import Program
    from kempe.dynamics.generalized import Choice
    from kempe.loops.freedom import Samples
    from kempe.mechanics.mechanics import Mechanics

TYPES = Decision, Candidate, Measured, Partition, Sslm


def decide(mechanics: "Mechanics", samples: "Samples", choice: "Choice") -> Decision:
    """The formulation for a mechanism with loops or couplings: the best of all (`auto`), or the best variant of the
    requested one."""
    asked = mechanics.equations.formulation
    if asked is not None and not asked.is_open:
        return Decision(Candidate(asked))
    # Masses that are inputs may be zero, and so may what multipliers divide by.
    heavy = not (mechanics.p_names or without_inertia(mechanics.topology))
    repeats = asked is None and blocks.repeats(mechanics.equations.by(Sslm()))
    known = candidates(mechanics.topology, choice.independent, heavy, repeats)
    known = tuple(each for each in known if asked is None or isinstance(each.formulation, type(asked)))
    if len(known) == 1:
        return Decision(known[0])
    return recalled(
        lambda: _decided(mechanics, samples, choice, known),
        *("decision", mechanics.equations, choice, known),
        types=TYPES,
    )


def _decided(mechanics: "Mechanics", samples: "Samples", choice: "Choice", known: tuple[Candidate, ...]) -> Decision:
    found: tuple[Measured, ...] = ()
    for candidate in known:
        if is_worth_tracing(candidate, found):
            program = recalled_program(mechanics.equations.by(candidate.formulation.using(choice)), "forward_dynamics")
            found += (Measured(candidate, count(program).total, lost(mechanics, samples, choice, program)),)
    return best(found)


def lost(mechanics: "Mechanics", samples: "Samples", choice: "Choice | None", program: "Program") -> float:
    """The effect of rounding on accelerations, relative to the largest: the median over sampled closed states with
    random velocities. States where generalized coordinates fail are skipped, since runs choose others there; zero if
    all fail."""
    states = [q for q in samples.states if choice is None or fitness(mechanics, choice, q) > FIT]
    if not states:
        return 0.0
    q = np.array(states)
    v, tau = normal(np.random.default_rng(5), (2, len(q), mechanics.nv))
    parameters = [np.tile(mechanics.p, (len(q), 1))] if mechanics.p_names else []
    return float(np.median(rounding(program, q, v, tau, *parameters)))
