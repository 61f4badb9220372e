"""Structures: the models of one mechanism with different joints switched on; they share the tree, hence q and v."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kempe.dynamics.denoc import Denoc
from kempe.dynamics.formulations import suited
from kempe.dynamics.masked import Masked
from kempe.errors import StateError
from kempe.kinds import short

if TYPE_CHECKING:
    from kempe.dynamics.formulation import Formulation
    from kempe.kinetics.kinetics import Kinetics
    from kempe.topology.tree import Topology

On = frozenset[str]  # switchable joints that are on


@dataclass(eq=False)
class Structures:
    """All models of a mechanism requested so far, by what is on in them.

    asked: the formulation, None for any; masked: models with all structures in one, by the freedoms that have locks.
    """

    asked: "Formulation | None"
    models: "dict[On, Kinetics]" = field(default_factory=dict)
    masked: "dict[tuple[int, ...], Kinetics]" = field(default_factory=dict)

    def model(self, base: "Kinetics", on: On) -> "Kinetics":
        """The model with these joints on, made from another if there is none yet."""
        if on not in self.models:
            found = base.topology.switched(on)
            asked = None if isinstance(self.asked, Denoc) else self.asked  # its legs are those of the first structure
            base.with_equations(replace(base.equations, topology=found, formulation=suited(asked, found)), self)
        return self.models[on]

    def whole(self, base: "Kinetics") -> "Kinetics":
        """The model with all joints on."""
        return self.model(base, frozenset(base.topology.switchable))

    def mask(self, base: "Kinetics", locks: tuple[int, ...] = ()) -> "Kinetics":
        """All structures in one model: parameters after the regular ones say what is on."""
        if locks not in self.masked:
            found = base.topology.with_masks(locks)
            equations = replace(
                base.equations,
                topology=found,
                parameters=(*base.equations.parameters, *found.masks),
                formulation=Masked(),
            )
            self.masked[locks] = base.with_equations(equations)
        return self.masked[locks]


def switched_on(topology: "Topology", joints: Mapping[str, bool]) -> On:
    """What is on after switching these joints."""
    on = set(topology.on)
    if not isinstance(joints, Mapping):
        raise StateError(f"switched: joints is {short(joints)}; give a dict of True and False by joint name")
    for name, wanted in joints.items():
        if name not in topology.switchable:
            have = ", ".join(topology.switchable) or "none: declare joints with switchable=True"
            raise StateError(f"joint {name!r} cannot be switched; those that can are {have}")
        (on.add if wanted else on.discard)(name)
    return frozenset(on)
