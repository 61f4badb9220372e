"""Function: a computation over symbols with named inputs and outputs, which a model makes native code of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

VECTOR, MATRIX, SCALAR, MATRICES = ("vector",), ("matrix",), ("scalar",), ("matrix",) * 3


@dataclass(frozen=True)
class Function:
    """A function over symbols: names of inputs and outputs, the outputs' kinds, and how to work it out.

    by_parameters: it has a last output more, its derivative by the parameters, where there are any.
    chosen: it needs generalized coordinates to have been chosen.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kinds: tuple[str, ...]  # of the outputs: scalar, vector, matrix
    work: Callable[..., Sequence]
    by_parameters: bool = False
    chosen: bool = False
