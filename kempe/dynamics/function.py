"""Function: a computation over symbols with named inputs and outputs, which a model compiles to native code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

VECTOR, MATRIX, SCALAR, MATRICES = ("vector",), ("matrix",), ("scalar",), ("matrix",) * 3


@dataclass(frozen=True)
class Function:
    """A function over symbols: names of inputs and outputs, the kinds of the outputs, and how to compute them.

    by_parameters: if there are parameters it has one more output, the derivative with respect to them.
    chosen: it needs generalized coordinates to be chosen first.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kinds: tuple[str, ...]  # of the outputs: scalar, vector, matrix
    work: Callable[..., Sequence]
    by_parameters: bool = False
    chosen: bool = False
