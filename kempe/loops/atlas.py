"""Atlas: an ordered list of generalized coordinates, and the rule that says which are used at which state.

Problem. No choice of coordinates suits all states. Where one degrades, another has to take over: in runs, in fixed
steps, in batches, on any machine.

Must. The coordinates used for a step are a function of the state and the description: never of what was compiled or run
before, of the clock, or of other mechanisms in a batch. The number of programs is bounded.

Rule. A mechanism keeps its coordinates as long as they are fit enough at the beginning of a step and keep half of that
within it. Otherwise the first choice of the atlas takes over that is fit enough and at least half as fit as the
fittest. If there is none, or if the step fails with these too, the dense way takes it, which finds coordinates by
complete pivoting at the state itself, until a choice of the atlas is fit again. In long chains of loops, some loop is
nearly always in a special pose; there the best choice at the state comes before the dense way, whose cost grows with
the cube of the length.

Discussion. The atlas begins with the model's own choice. The rest are taken from the best choices at sampled closed
states, if they are nearly as fit as the best one at most of these states. One more program takes longer to compile than
some hundred steps of the dense way, so choices that few states need are left out.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kempe.loops.choosing import Chooser, fitness
from kempe.loops.freedom import closed_states

if TYPE_CHECKING:
    from kempe.dynamics.generalized import Choice

FADING = 0.2  # fitness below which coordinates are abandoned, for mechanisms that usually have better ones
USUAL = 0.5  # the same as a fraction of the median best fitness over sampled states, for all others
NARROW = 1e-6  # best fitness at which loops count as singular
MOST = 6  # choices
WORTH = 2  # states that a choice has to suit
STATES = 24  # states at which choices are made, besides the sampled ones
FIRST = 1000  # first of their seeds


@dataclass(frozen=True, eq=False)
class Atlas:
    """The choices of a mechanism; those after the first are found when needed."""

    chooser: Chooser

    @cached_property
    def first(self) -> "Choice":
        """The coordinates a mechanism starts with."""
        return self.chooser.first()

    @cached_property
    def enough(self) -> float:
        """The fitness required at the beginning of a step; within it, half of that."""
        chooser, samples = self.chooser, self.chooser.samples.states
        usual = float(np.median([fitness(chooser.mechanics, self.first, q) for q in samples]))
        if USUAL * usual < FADING:
            fits = (chooser.best(q)[1] for q in samples)
            usual = float(np.median([fit for fit in fits if fit > NARROW] or [1.0]))  # of nonsingular states
        return min(FADING, USUAL * usual)

    @cached_property
    def choices(self) -> tuple["Choice", ...]:
        """All of them, in order."""
        chooser, mechanics = self.chooser, self.chooser.mechanics
        states = (*chooser.samples.states, *closed_states(mechanics, FIRST, STATES))
        found, best = [self.first], [chooser.best(q) for q in states]
        known = dict.fromkeys(choice for choice, fit in best if fit >= self.enough)
        least = 0.5 * np.array([max(fit, self.enough) for _, fit in best])
        fit = {x: np.array([fitness(mechanics, x, q) for q in states]) >= least for x in (*found, *known)}
        covered = fit[self.first]
        while len(found) < MOST and known:
            gains = {choice: int((fit[choice] & ~covered).sum()) for choice in known}
            most = max(gains, key=gains.__getitem__)  # the first of equal gains
            if gains[most] < WORTH:
                break
            found.append(most)
            covered = covered | fit[most]
        return tuple(found)

    def at(self, q: np.ndarray, p=None) -> "Choice | None":
        """The choice that takes over at a state; None for the dense way."""
        mechanics, least = self.chooser.mechanics, self.enough
        own = fitness(mechanics, self.first, q, p)
        if own >= 0.5:  # no other is twice as fit
            return self.first
        rest = [fitness(mechanics, choice, q, p) for choice in self.choices[1:]]
        number = int(fittest(np.array([own, *rest]), least))
        if number >= 0:
            return self.choices[number]
        if mechanics.loops_repeat:
            choice, fit = self.chooser.best(q, p)
            return choice if fit >= least else None
        return None


def fittest(fits: np.ndarray, least: float) -> np.ndarray:
    """The choice the rule takes for these fitnesses (.., choices); -1 for none."""
    good = fits >= np.maximum(least, 0.5 * fits.max(axis=-1, keepdims=True))
    return np.where(good.any(axis=-1), good.argmax(axis=-1), -1)
