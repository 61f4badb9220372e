"""Compiling: checks a mechanism and makes a model of it, or reports everything that is wrong."""

import warnings
from copy import deepcopy
from typing import TYPE_CHECKING

from kempe.check import check
from kempe.dynamics.denoc import Denoc
from kempe.dynamics.equations import Equations
from kempe.dynamics.formulations import BY_NAME, refusal, suited
from kempe.dynamics.masked import Masked
from kempe.dynamics.partition import Partition
from kempe.dynamics.trees import Springs
from kempe.errors import MechanismError
from kempe.kinetics.structures import Structures
from kempe.loops.prepared import require_legs
from kempe.model.model import Model
from kempe.topology.spanning import topology

if TYPE_CHECKING:
    from kempe.mechanism.mechanism import Mechanism
    from kempe.topology.tree import Topology

ASKED = ("auto", *(name for name in BY_NAME if name != Masked.name))


def compile_model(
    mechanism: "Mechanism", formulation: str, parameters: tuple[str, ...], cut: tuple[str, ...] = (), **springs
) -> Model:
    """Checks the mechanism and the options; raises with everything that is wrong. Equations are chosen, and code is
    compiled, on first use."""
    if formulation not in ASKED:
        masked = ". A run takes masked programs by itself: simulate(..., masked=True)"
        told = masked if formulation == Masked.name else ""
        raise MechanismError(f"there is no formulation {formulation!r}; there are {', '.join(ASKED)}{told}")
    asked = None if formulation == "auto" else BY_NAME[formulation]()
    sprung = isinstance(asked, Springs)
    if springs and not sprung:
        raise MechanismError(f"{', '.join(springs)}: only the formulation 'springs' takes it, not {formulation!r}")
    findings = check(mechanism)
    findings.raise_errors()
    for finding in findings.warnings:
        warnings.warn(str(finding), stacklevel=3)
    source, mechanism = mechanism, deepcopy(mechanism)  # so later edits do not change this model
    found = topology(mechanism, cut, floating=sprung, inputs=parameters)
    if asked is not None and (why := refusal(type(asked), found)):
        raise MechanismError(f"formulation {formulation!r} {why}")
    if sprung:
        found = Model(Equations(found, (), Partition()), source).held_by_springs(**springs)
    _has(found, parameters)
    model = Model(Equations(found, parameters, suited(asked, found)), source, Structures(asked))
    if isinstance(asked, Denoc):
        require_legs(model.prepared)
    return model


def _has(found: "Topology", parameters: tuple[str, ...]) -> None:
    """Raises for parameters that do not exist, or are named twice."""
    if len(set(parameters)) != len(parameters):
        raise MechanismError(f"parameters: {', '.join(parameters)} names one twice")
    for path in parameters:
        if path not in found.parameters:
            raise MechanismError(
                f"mechanism {found.mechanism.name!r} has no parameter {path!r}; it has {', '.join(found.parameters)}"
            )
