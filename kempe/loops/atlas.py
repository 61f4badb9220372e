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

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kempe.loops.choosing import Chooser, fitness
from kempe.loops.freedom import closed_states

if TYPE_CHECKING:
    from kempe.dynamics.generalized import Choice

FADING = 0.2  # fitness below which coordinates are left, where mechanisms usually have better ones
USUAL = 0.5  # the same as a part of the best fitness in the median over sampled states, where they have not
NARROW = 1e-6  # fitness of the best choice, at which loops count as singular
MOST = 6  # choices
WORTH = 2  # states that a choice has to suit
STATES = 24  # at which choices are made, beside the sampled ones
FIRST = 1000  # of the seeds of these


@dataclass(frozen=True, eq=False)
class Atlas:
    """The choices of a mechanism; those beside the first are found when one is needed."""

    chooser: Chooser

    @cached_property
    def first(self) -> "Choice":
        """What a mechanism is moved in to begin with."""
        return self.chooser.first()

    @cached_property
    def enough(self) -> float:
        """How fit coordinates have to be at the beginning of a step; within it, half of that."""
        chooser, samples = self.chooser, self.chooser.samples.states
        usual = float(np.median([fitness(chooser.mechanics, self.first, q) for q in samples]))
        if USUAL * usual < FADING:
            fits = (chooser.best(q)[1] for q in samples)
            usual = float(np.median([fit for fit in fits if fit > NARROW] or [1.0]))  # of those that are not singular
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
            most = max(gains, key=gains.__getitem__)  # the first of those that gain as much
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
    """Which choice the rule takes where all are so fit (.., choices); -1 for none."""
    good = fits >= np.maximum(least, 0.5 * fits.max(axis=-1, keepdims=True))
    return np.where(good.any(axis=-1), good.argmax(axis=-1), -1)
