"""Legs: which parallel platforms `denoc` can handle, by numbers: passive joints are independent, and fix the platform.

The divisors of the recursion are evaluated at the sampled closed states that `mobility` uses too. A divisor that
vanishes at all of them does so by design.
"""

from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import MechanismError
from kempe.topology.legs import INSTEAD

if TYPE_CHECKING:
    from kempe.loops.freedom import Samples
    from kempe.mechanics.mechanics import Mechanics

NONE = 1e-6  # best fitness of all samples below which there is none


def leg_scales(mechanics: "Mechanics", samples: "Samples", dof: int) -> tuple[float, ...]:
    """Scales that make each divisor of `denoc` of order one. Raises if legs or platform can move by themselves
    everywhere."""
    pivots, sizes = mechanics.call("leg_pivots", np.array(samples.states))
    largest = sizes.max(axis=0, initial=0.0)
    best = (np.maximum(pivots, 0.0) / np.where(largest > 0, largest, 1.0)).max(axis=0, initial=0.0)
    weak = np.flatnonzero(np.sqrt(best) < NONE)
    name, legs = mechanics.mechanism.name, mechanics.topology.legs.legs
    if len(weak):
        at = int(weak[0])
        for leg in legs:
            numbers = _passive(mechanics, leg)
            if at < len(numbers):
                raise MechanismError(
                    f"denoc: in leg {leg.name} of {name!r} the passive joints are not independent: "
                    f"{mechanics.v_names[numbers[at]]} can move with platform and actuator at rest, as a leg between "
                    f"two balls can spin about itself; {INSTEAD}, or take that freedom out"
                )
            at -= len(numbers)
        raise MechanismError(
            f"denoc: the actuated joints {', '.join(mechanics.u_names)} do not determine how the platform of {name!r} "
            f"moves; {INSTEAD}"
        )
    if dof != len(legs):
        why = "actuation is redundant" if dof < len(legs) else "some of them are not actuated"
        raise MechanismError(
            f"denoc: {name!r} has {dof} freedom{'s' * (dof != 1)} and {len(legs)} legs with one actuator "
            f"each: {why}; {INSTEAD}"
        )
    return tuple((1.0 / largest).tolist())


def _passive(mechanics: "Mechanics", leg) -> list[int]:
    """A leg's velocities in the order of elimination, without the actuated one."""
    tree = mechanics.topology.tree
    numbers = (n for k in reversed((*leg.near, *leg.far)) for n in range(tree[k].v.start, tree[k].v.stop))
    return [n for n in numbers if n != leg.driven]
