"""Prepared: all that is found out about a mechanism by numbers before it can move, in four parts."""

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
    """Samples, freedom, coordinates and decision: each is worked out when it is first asked for, from those before it,
    and is a function of the description and its parameters alone."""

    mechanics: "Mechanics"

    @cached_property
    def samples(self) -> Samples:
        """Assembled states."""
        return samples_of(self.mechanics)

    @cached_property
    def dof(self) -> int:
        """Freedom: velocities less the rank of what keeps loops closed, at general assembled states."""
        return tree_freedom(self.mechanics, self.samples)

    @cached_property
    def atlas(self) -> Atlas:
        """Generalized coordinates."""
        return Atlas(Chooser(self.mechanics, self.samples, self.dof))

    @cached_property
    def decision(self) -> "Decision":
        """Which formulation and which way are used where there are loops, and what others would take."""
        return decide(self.mechanics, self.samples, self.atlas.first)

    @cached_property
    def leg_scales(self) -> tuple[float, ...]:
        """Of what `denoc` divides by; none for other formulations."""
        if not isinstance(self.mechanics.equations.formulation, Denoc):
            return ()
        return leg_scales(self.mechanics, self.samples, self.dof)

    @cached_property
    def chosen(self) -> "Equations":
        """The equations in use, with generalized coordinates where there are loops."""
        equations = self.mechanics.equations
        if not equations.is_closed:
            return equations
        return equations.by(self.decision.taken.formulation.using(self.atlas.first, self.leg_scales))

    @cached_property
    def has_coordinates(self) -> bool:
        """Whether closed states were found at which coordinates could be chosen."""
        try:
            return self.atlas.first is not None
        except (NotClosed, Singular):
            return False


def require_legs(prepared: Prepared) -> None:
    """Raises where the mechanism is not one for `denoc`."""
    _ = prepared.leg_scales
