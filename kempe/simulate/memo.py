"""Memo: what runs have compiled and measured for a model, kept as long as the model lives."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from kempe.compiler.kernel import Kernel
from kempe.dynamics.generalized import Choice
from kempe.kinetics.kinetics import Kinetics

if TYPE_CHECKING:
    from kempe.simulate.stepping import Step
    from kempe.simulate.system import Setting, System


@dataclass(eq=False)
class Memo:
    """The memo of one model. It decides nothing: missing parts are made again, bit for bit."""

    systems: "dict[tuple[Setting, Choice | None], System]" = field(default_factory=dict)
    variations: "dict[Setting, Kernel]" = field(default_factory=dict)
    steps: "dict[tuple[Setting, Choice | None, str, float, bool], Step]" = field(default_factory=dict)
    strides: "dict[tuple[Setting, Choice | None, str, float, int], Kernel]" = field(default_factory=dict)
    closed_scales: dict[Choice | None, np.ndarray] = field(default_factory=dict)
    tree_scales: dict[bytes, np.ndarray] = field(default_factory=dict)
    stop_inertias: dict[bytes | None, np.ndarray] = field(default_factory=dict)
    tree_samples: np.ndarray | None = None
    recursive: Kinetics | None = None
    reduced_inertias: list[tuple[np.ndarray, np.ndarray]] | None = None


_MEMOS: WeakKeyDictionary[Kinetics, Memo] = WeakKeyDictionary()


def memo(model: Kinetics) -> Memo:
    """The memo of a model."""
    return _MEMOS.setdefault(model, Memo())
