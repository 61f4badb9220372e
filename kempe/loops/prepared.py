"""Prepared: all that is found numerically about a mechanism before it can move, in four parts."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kempe.dynamics.denoc import Denoc
from kempe.errors import NotClosed, Singular
from kempe.loops.atlas import Atlas
from kempe.loops.choosing import Chooser
from kempe.loops.decision import decide
from kempe.loops.freedom import Samples, samples_of, tree_freedom
from kempe.loops.legs import leg_scales

if TYPE_CHECKING:
    from kempe.dynamics.choose import Decision
    from kempe.dynamics.equations import Equations
    from kempe.mechanics.mechanics import Mechanics


@dataclass(frozen=True, eq=False)
class Prepared:
    """Samples, freedom, coordinates and decision: each is computed on first use from those before it, and is a function
    of the description and its parameters alone."""

    mechanics: "Mechanics"

    @cached_property
    def samples(self) -> Samples:
        """Assembled states."""
        return samples_of(self.mechanics)

    @cached_property
    def dof(self) -> int:
        """Freedom: velocities less the rank of the closure rows, at general assembled states."""
        return tree_freedom(self.mechanics, self.samples)

    @cached_property
    def atlas(self) -> Atlas:
        """Generalized coordinates."""
        return Atlas(Chooser(self.mechanics, self.samples, self.dof))

    @cached_property
    def decision(self) -> "Decision":
        """The formulation and variant used if there are loops, and the costs of the others."""
        return decide(self.mechanics, self.samples, self.atlas.first)

    @cached_property
    def leg_scales(self) -> tuple[float, ...]:
        """Scales of the divisors of `denoc`; none for other formulations."""
        if not isinstance(self.mechanics.equations.formulation, Denoc):
            return ()
        return leg_scales(self.mechanics, self.samples, self.dof)

    @cached_property
    def chosen(self) -> "Equations":
        """The equations in use, with generalized coordinates if there are loops."""
        equations = self.mechanics.equations
        if not equations.is_closed:
            return equations
        return equations.by(self.decision.taken.formulation.using(self.atlas.first, self.leg_scales))

    @cached_property
    def has_coordinates(self) -> bool:
        """Whether closed states were found at which coordinates could be chosen."""
        try:
            _ = self.atlas.first
        except (NotClosed, Singular):
            return False
        return True


def require_legs(prepared: Prepared) -> None:
    """Raises if `denoc` does not apply to the mechanism."""
    _ = prepared.leg_scales
