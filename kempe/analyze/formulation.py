"""Formulation: what the candidates for a mechanism take and lose, found by tracing them; the decision is remembered.

No code is compiled for it: operations are counted in programs, and rounding is told by the same programs worked out
with fewer digits (see `compiler.rounding`).
"""

import numpy as np

from kempe.analyze.choosing import fitness
from kempe.analyze.closed import FIT
from kempe.analyze.freedom import assembled_samples
from kempe.arithmetic.random import normal
from kempe.compiler.count import count
from kempe.compiler.program import Program
from kempe.compiler.recall import recalled
from kempe.compiler.rounding import rounding
from kempe.dynamics.choose import Candidate, Decision, Measured, best, candidates, is_worth_tracing
from kempe.dynamics.multipliers import Sslm, without_inertia
from kempe.dynamics.partition import Partition
from kempe.model import blocks
from kempe.model.model import Model

TYPES = Decision, Candidate, Measured, Partition, Sslm


def decide(model: Model) -> Decision:
    """Which formulation a mechanism with loops or couplings takes, of all (`auto`), or which way of its own."""
    asked = model.equations.formulation
    if asked is not None and not asked.is_open:
        return Decision(Candidate(asked))
    # Masses that are inputs may be nothing, and so may what multipliers divide by.
    heavy = not (model.p_names or without_inertia(model.topology))
    repeats = asked is None and blocks.repeats(model.equations.by(Sslm()))
    known = candidates(model.topology, model.choice.independent, heavy, repeats)
    known = tuple(each for each in known if asked is None or isinstance(each.formulation, type(asked)))
    if len(known) == 1:
        return Decision(known[0])
    return recalled(lambda: _decided(model, known), "decision", model.equations, model.choice, known, types=TYPES)


def _decided(model: Model, known: tuple[Candidate, ...]) -> Decision:
    found: tuple[Measured, ...] = ()
    for candidate in known:
        if is_worth_tracing(candidate, found):
            program = model.candidate_program(candidate)
            found += (Measured(candidate, count(program).total, lost(model, program)),)
    return best(found)


def lost(model: Model, program: Program) -> float:
    """How much rounding changes accelerations, beside the largest, in the median over sampled closed states that move
    at random; states where generalized coordinates fail are left out, as runs choose others there. Nothing where all
    are such."""
    samples = assembled_samples(model)
    if model.topology.constrained:
        samples = [q for q in samples if fitness(model, model.choice, q) > FIT]
    if not samples:
        return 0.0
    q = np.array(samples)
    v, tau = normal(np.random.default_rng(5), (2, len(q), model.nv))
    parameters = [np.tile(model.p, (len(q), 1))] if model.p_names else []
    return float(np.median(rounding(program, q, v, tau, *parameters)))
