"""Compiling: a mechanism is checked and becomes a model; or all that is wrong with it is said."""

import warnings
from copy import deepcopy
from dataclasses import replace

from kempe.check import check
from kempe.dynamics.definite import weak_joints
from kempe.dynamics.equations import CLOSED, FORMULATIONS, OPEN, Equations
from kempe.dynamics.multipliers import WAYS
from kempe.dynamics.tree import build
from kempe.errors import MechanismError
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.model.structures import Structures, fit_for
from kempe.topology.spanning import topology
from kempe.topology.tree import Topology

ASKED = ("auto", *(name for name in FORMULATIONS if name != "masked"))


def compile_model(
    mechanism: Mechanism, formulation: str, parameters: tuple[str, ...], cut: tuple[str, ...] = (), **springs
) -> Model:
    """Checks the mechanism and what is asked for; raises with everything that is wrong. Equations are chosen, and code
    is made, when they are first needed."""
    if formulation not in ASKED:
        told = ". A run takes masked programs by itself: simulate(..., masked=True)" if formulation == "masked" else ""
        raise MechanismError(f"there is no formulation {formulation!r}; there are {', '.join(ASKED)}{told}")
    if springs and formulation != "springs":
        raise MechanismError(f"{', '.join(springs)}: only the formulation 'springs' takes it, not {formulation!r}")
    findings = check(mechanism)
    findings.raise_errors()
    for finding in findings.warnings:
        warnings.warn(str(finding), stacklevel=3)
    source, mechanism = mechanism, deepcopy(mechanism)  # what is built on later does not change this model
    found = topology(mechanism, cut, floating=formulation == "springs", inputs=parameters)
    _suits(found, formulation)
    if formulation == "springs":
        found = Model(Equations(found, (), "partition"), source).held_by_springs(**springs)
    _has(found, parameters)
    model = Model(Equations(found, parameters, fit_for(found, formulation)), source)
    model.compiled["structures"] = Structures(formulation, {frozenset(found.on): model})
    if formulation == "denoc":
        model.leg_scales  # noqa: B018 (raises where the mechanism is not one for denoc)
    return model


def _suits(found: Topology, formulation: str) -> None:
    """Raises where a formulation is not one for what there is."""
    name, asked = found.mechanism.name, f"formulation {formulation!r}"
    if found.constrained and formulation not in ("auto", "springs", *CLOSED):
        held = "closed loops" if found.loops else "couplings"
        raise MechanismError(
            f"{asked} is for trees, and {name!r} has {held}; give auto or {', '.join((*CLOSED, 'springs'))}"
        )
    if formulation == "springs" and found.switchable:
        raise MechanismError(
            f"{asked} holds its cuts for good, and {', '.join(found.switchable)} can be switched; give auto or another "
            "formulation"
        )
    if formulation in (*CLOSED, "springs") and not found.constrained and not found.off:
        raise MechanismError(
            f"{asked} is for closed loops, and {name!r} has no closed loops; give auto or {', '.join(OPEN)}"
        )
    if formulation in (*WAYS, "springs"):
        loose, _ = weak_joints(build(replace(found, couplings=())))
        if loose:
            raise MechanismError(
                f"{asked} works with the inertia of the tree alone, in which {', '.join(loose)} can move against none; "
                "give auto or partition"
            )
    bent = [body.name for body in found.mechanism.bodies if body.beam is not None]
    if formulation == "denoc" and bent:
        raise MechanismError(
            f"{asked} is for rigid links, and {', '.join(bent)} can bend, which the recursion of a leg does not know; "
            f"give auto or {', '.join(other for other in CLOSED if other != 'denoc')}"
        )


def _has(found: Topology, parameters: tuple[str, ...]) -> None:
    """Raises where parameters are named that there are not, or twice."""
    if len(set(parameters)) != len(parameters):
        raise MechanismError(f"parameters: {', '.join(parameters)} names one twice")
    for path in parameters:
        if path not in found.parameters:
            raise MechanismError(
                f"mechanism {found.mechanism.name!r} has no parameter {path!r}; it has {', '.join(found.parameters)}"
            )
