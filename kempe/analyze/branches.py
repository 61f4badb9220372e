"""Branches: ways to close loops, told apart by the signs of the sines of hinges."""

from collections.abc import Mapping

import numpy as np

from kempe.errors import StateError
from kempe.mechanism.joints import Revolute
from kempe.model.model import Model
from kempe.model.state import State


def hinges(model: Model) -> list[str]:
    """All hinges, cut or not."""
    tree = [t.joint for t in model.topology.tree]
    return [joint.name for joint in (*tree, *(loop.joint for loop in model.topology.loops)) if joint.type is Revolute]


def label_of(model: Model, state: State) -> str:
    """The signs of the sines of all hinges."""
    return " ".join(f"{name}{'+' if np.sin(state[name]) >= 0 else '-'}" for name in hinges(model)) or "only"


def signs_of(model: Model, branch) -> dict[str, int]:
    """The signs that a branch asks for, checked."""
    if branch is None:
        return {}
    if not isinstance(branch, Mapping):
        raise StateError("branch takes a label of assemblies(...), or a dict such as {'C': -1}")
    for name, sign in branch.items():
        if name not in hinges(model) or sign not in (-1, 1):
            raise StateError(
                f"branch: {name!r}: {sign!r} is no hinge with a sign; hinges are {', '.join(hinges(model))}"
            )
    return dict(branch)


def is_on_branch(model: Model, q: np.ndarray, signs: Mapping[str, int]) -> bool:
    """Whether hinges are turned the way that these signs ask for."""
    state = State(model, q, np.zeros(model.nv))
    return all(np.sin(state[name]) * sign > 0 for name, sign in signs.items())
