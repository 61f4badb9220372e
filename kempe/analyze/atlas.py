"""Atlas: the generalized coordinates a mechanism is moved in, in order, and the rule that says which are used where.

Problem. No choice of coordinates suits all states. Where one fades, another has to take over: in runs, in steps of
fixed size, in batches, on any machine.

Must. Which coordinates take a step is a function of the state and of the description: never of what was compiled or run
before, of the clock, or of other mechanisms of a batch. The number of programs is bounded.

Rule. A mechanism stays with its coordinates as long as they are fit enough where a step begins, and keep half of that
within it. Then the first of the atlas takes over that is fit enough, and half as fit as the fittest. Where none is, or
where the step fails by these too, it is taken by the dense way, which finds coordinates by complete pivoting at the
state itself, until some of the atlas are fit again. In long rows of loops, of which some loop is nearly always in a
special pose, the best choice at the state comes before the dense way, which would take the cube of their length.

Discussion. The atlas begins with the model's own choice; then come those, of the best ones at sampled closed states,
that each are nearly as fit as the best one at most of these states. A program more takes longer to compile than some
hundred steps of the dense way, so those that few states need are left out.
"""

import numpy as np

from kempe.analyze.choosing import best_at, fitness
from kempe.analyze.freedom import assembled_samples, closed_states
from kempe.dynamics.generalized import Choice
from kempe.model.model import Model

FADING = 0.2  # fitness below which coordinates are left, where mechanisms usually have better ones
USUAL = 0.5  # the same as a part of the best fitness in the median over sampled states, where they have not
NARROW = 1e-6  # fitness of the best choice, at which loops count as singular
MOST = 6  # choices
WORTH = 2  # states that a choice has to suit
STATES = 24  # at which choices are made, beside the sampled ones
FIRST = 1000  # of the seeds of these


def enough(model: Model) -> float:
    """How fit coordinates have to be at the beginning of a step; within it, half of that. Remembered."""
    if "enough" not in model.compiled:
        samples = assembled_samples(model)
        usual = float(np.median([fitness(model, model.choice, q) for q in samples]))
        if USUAL * usual < FADING:
            fits = (best_at(model, q)[1] for q in samples)
            usual = float(np.median([fit for fit in fits if fit > NARROW] or [1.0]))  # of those that are not singular
        model.compiled["enough"] = min(FADING, USUAL * usual)
    return model.compiled["enough"]


def atlas(model: Model) -> tuple[Choice, ...]:
    """All choices, in order; found when one beside the model's own is needed first, and remembered."""
    if "atlas" not in model.compiled:
        states = (*assembled_samples(model), *closed_states(model, FIRST, STATES))
        found, best = [model.choice], [best_at(model, q) for q in states]
        known = dict.fromkeys(choice for choice, fit in best if fit >= enough(model))
        least = 0.5 * np.array([max(fit, enough(model)) for _, fit in best])
        fit = {choice: np.array([fitness(model, choice, q) for q in states]) >= least for choice in (*found, *known)}
        covered = fit[model.choice]
        while len(found) < MOST and known:
            gains = {choice: int((fit[choice] & ~covered).sum()) for choice in known}
            most = max(gains, key=gains.__getitem__)  # the first of those that gain as much
            if gains[most] < WORTH:
                break
            found.append(most)
            covered = covered | fit[most]
        model.compiled["atlas"] = tuple(found)
    return model.compiled["atlas"]


def fittest(fits: np.ndarray, least: float) -> np.ndarray:
    """Which choice the rule takes where all are so fit (.., choices); -1 for none."""
    good = fits >= np.maximum(least, 0.5 * fits.max(axis=-1, keepdims=True))
    return np.where(good.any(axis=-1), good.argmax(axis=-1), -1)


def coordinates(model: Model, q: np.ndarray, p=None) -> Choice | None:
    """Those that take over at a state; None for the dense way."""
    least = enough(model)
    own = fitness(model, model.choice, q, p)
    if own >= 0.5:  # no other is twice as fit
        return model.choice
    rest = [fitness(model, choice, q, p) for choice in atlas(model)[1:]]
    number = int(fittest(np.array([own, *rest]), least))
    if number >= 0:
        return atlas(model)[number]
    if model.loops_repeat:
        choice, fit = best_at(model, q, p)
        return choice if fit >= least else None
    return None
