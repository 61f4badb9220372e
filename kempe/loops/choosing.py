"""Choosing: which closure rows are independent, and which velocities are generalized; found numerically (paper 3).

Pivoting cannot be traced, so J is first eliminated numerically at assembled states, by large pivots with little
fill-in, and the order becomes part of the program. The fitness of a choice at a state is the distance of its pivots
from zero, relative to a fixed scale: the row's largest size over sampled states.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kempe.dynamics.generalized import Choice
from kempe.errors import Singular
from kempe.loops.elimination import NOTHING, fill, independent_columns, order, pivots
from kempe.loops.freedom import Samples, anywhere
from kempe.loops.matrices import Entries, part, row_norms, rows_at
from kempe.loops.rank import rounding
from kempe.mechanism.joints import Free

if TYPE_CHECKING:
    from kempe.mechanics.mechanics import Mechanics

SPARING = 1.0, 0.5, 0.0
PASSIVE = 0.7  # preference for passive joints as dependent ones
BENT = 0.05  # the same for joints next to beams: a bending beam moves on its own
FLOATS = 0.05  # the same for floating bodies, which are heavy next to what holds them; tried both ways
SMALL = 1e-4  # rows of J this small relative to the largest, at all samples, are measured elsewhere
EXISTS = 1e-12  # entries of J larger than this exist
TREES = 4  # states of the tree at which that is checked
FIT = 0.05  # a choice this fit is fit enough
NEARLY_AS_FIT = 2.0  # how much less fit a sparser choice may be
GOOD = 0.8  # of the best over sampled states: choices this fit compete by program length


@dataclass(frozen=True, eq=False)
class Scales:
    """Row norms of J over sampled assembled states, and the length that makes each velocity dimensionless.

    exists: which structural entries of J differ from zero at some of these states.
    """

    rows: np.ndarray
    columns: np.ndarray
    samples: np.ndarray
    exists: np.ndarray


@dataclass(frozen=True, eq=False)
class Chooser:
    """Chooses generalized coordinates for a mechanism.

    samples: assembled states; dof: freedoms there.
    """

    mechanics: "Mechanics"
    samples: Samples
    dof: int

    @property
    def rank(self) -> int:
        """The number of dependent velocities."""
        return self.mechanics.nv - self.dof

    @cached_property
    def scales(self) -> Scales:
        """Measured at the samples."""
        mechanics, samples = self.mechanics, np.array(self.samples.states)
        columns = mechanics.equations.steps
        norms, anywhere = (_norms(mechanics, states, columns) for states in (samples, _anywhere(mechanics)))
        entries = np.array([mechanics.row_entries(q) for q in samples]) * columns[mechanics.loop_places[1]]
        sizes = np.abs(entries).max(axis=0, initial=0.0)
        # If all samples are singular in the same way, rows may nearly vanish there but not elsewhere.
        norms = np.where(norms > SMALL * norms.max(initial=0.0), norms, anywhere)
        # Vanishing rows, such as those out of a planar loop's plane, are rounding: scaled up, they would be chosen.
        real = norms > rounding(norms.max(initial=0.0))
        return Scales(np.where(real, norms, 1.0), columns, samples, sizes > EXISTS)

    def first(self) -> Choice:
        """The choice to begin with: fit at as many samples as possible, and short."""
        mechanics, scales = self.mechanics, self.scales
        floats = (1.0, FLOATS) if _floating(mechanics) else (1.0,)
        found = dict.fromkeys(self.at(q, x, y) for q in scales.samples for x in self._sparings for y in floats)
        candidates = [choice for choice in found if len(choice.rows) == self.rank]  # leaves out singular poses
        if not candidates:
            raise Singular(
                f"every closed state of {mechanics.mechanism.name!r} that was found is singular, so that no "
                "generalized coordinates can be chosen; give it sizes, or joints, with which its loops close elsewhere "
                "too"
            )
        worth = [np.mean([min(fitness(mechanics, choice, q), FIT) for q in scales.samples]) for choice in candidates]
        fit = [(choice, value) for choice, value in zip(candidates, worth, strict=True) if value >= GOOD * max(worth)]
        return min(fit, key=lambda each: (self._fill(each[0]), -each[1]))[0]

    def best(self, q: np.ndarray, p=None) -> tuple[Choice, float]:
        """The sparsest choice that is nearly as fit as possible at a state, and its fitness."""
        found = [self.at(q, sparing, p=p) for sparing in self._sparings]
        sizes = [fitness(self.mechanics, x, q, p) if len(x.rows) == self.rank else 0.0 for x in found]
        for choice, size in zip(found, sizes, strict=True):
            if size >= max(sizes) / NEARLY_AS_FIT:
                return choice, size
        raise AssertionError

    def at(self, q: np.ndarray, sparing: float = 1.0, floats: float = 1.0, p=None) -> Choice:
        """The dependent velocities at a state, with rows and columns in the order of elimination.

        sparing: preference for velocities that few loops depend on as dependent ones, which keeps J_S sparse; floats:
        preference for those of floating bodies, relative to others.
        """
        mechanics, scales = self.mechanics, self.scales
        # Vanishing rows, such as those that keep a loop in its plane, are left out.
        jacobian = mechanics.loop_rows(q, p=p)
        real = np.flatnonzero(jacobian.any(axis=1))
        work = jacobian[real] * scales.columns / scales.rows[real, None]
        nonzero = np.abs(work) > NOTHING * np.abs(work).max(initial=0.0)
        felt = np.maximum(nonzero.sum(axis=0), 1)
        share = felt.min(initial=1) / felt
        weight = share if sparing == 1.0 else np.sqrt(share) if sparing == 0.5 else np.ones(len(share))
        weight[mechanics.driven] *= PASSIVE
        weight[mechanics.bending] *= BENT
        weight[_floating(mechanics)] *= floats
        asked = mechanics.equations.formulation
        if asked is not None and not asked.chooses:  # its coordinates are the actuated ones, fit or not
            dependent = np.setdiff1d(np.arange(mechanics.nv), mechanics.driven)
        else:
            dependent = independent_columns(work * weight, self.rank)
        rows, places = order(work[:, dependent])
        columns, rows = tuple(dependent[places].tolist()), real[rows].tolist()
        factors = scales.columns[list(columns)] / scales.rows[rows]
        taken = set(columns)
        rest = tuple(k for k in range(mechanics.nv) if k not in taken)
        return Choice(tuple(rows), columns, rest, tuple(factors.tolist()))

    @property
    def _sparings(self) -> tuple[float, ...]:
        """Values of `sparing` to try; in a long tree, a choice that is not sparing would fill in nearly all of H."""
        return tuple(x for x in SPARING if x or not self.mechanics.loops_repeat)

    def _fill(self, choice: Choice) -> int:
        """The number of entries an elimination by this choice works on: those of J_S with fill-in, and of H."""
        shape = self.mechanics.equations.sizes["lam"], self.mechanics.nv
        exists = Entries(*self.mechanics.loop_places, self.scales.exists, shape)
        return fill(*(exists.part(choice.rows, x).astype(bool) for x in (choice.dependent, choice.independent)))


def _norms(mechanics: "Mechanics", states: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.array([row_norms(rows_at(mechanics, q), columns) for q in states]).max(axis=0, initial=0.0)


def _anywhere(mechanics: "Mechanics") -> np.ndarray:
    """States of the tree, with loops open or closed."""
    return np.array([anywhere(mechanics, seed) for seed in range(TREES)])


def _floating(mechanics: "Mechanics") -> list[int]:
    """Velocities of floating bodies."""
    return [k for t in mechanics.topology.tree if t.joint.type is Free for k in range(t.v.start, t.v.stop)]


def pivots_at(mechanics: "Mechanics", choice: Choice, q: np.ndarray, p=None) -> np.ndarray:
    """The pivots of a choice at a state, times its scales, with their signs."""
    return pivots(part(rows_at(mechanics, q, p), choice.rows, choice.dependent)) * choice.scales


def fitness(mechanics: "Mechanics", choice: Choice, q: np.ndarray, p=None) -> float:
    """The smallest pivot in absolute value."""
    if not choice.rows:
        return 1.0
    found = np.abs(pivots_at(mechanics, choice, q, p))
    return float(np.where(np.isnan(found), 0.0, found).min())  # NaN follows a zero pivot
