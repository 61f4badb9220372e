"""Ours: Kempe's own functions as they are compared, from Python, prepared, in a compiled loop and in batches."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.timing import CompiledBatch, called
from kempe.compiler.clock import CompiledLoop
from kempe.compiler.kernel import Kernel
from kempe.model.model import Model

STATES, MOST_NUMBERS = 1024, 1 << 18  # of a batch, and how many numbers its widest array may hold


@dataclass(frozen=True)
class Ours:
    """A function of a model at a state: `forward_dynamics`, or `generalized_forces` of a tree.

    x: efforts along every freedom, or accelerations.
    """

    model: Model
    name: str
    q: np.ndarray
    v: np.ndarray
    x: np.ndarray

    @property
    def kernel(self) -> Kernel:
        """The compiled function."""
        return self.model.kernel(self.name)

    @property
    def result(self) -> np.ndarray:
        """What it gives."""
        found = self.kernel(self.q, self.v, self.x)
        return found[0] if isinstance(found, tuple) else found

    def actions(self) -> dict[str, Callable[[int], object]]:
        """By where they are called from, each making as many evaluations as one asks for."""
        return {
            "compiled": CompiledLoop(self.kernel, self.q, self.v, self.x),
            "prepared": called(self.prepared()),
            "python": called(self.plain()),
        }

    def prepared(self) -> Callable[[], object]:
        """One call from Python into arrays that are there; the only place that says how."""
        out = np.empty(self.model.nv)
        if self.name != "forward_dynamics":
            return partial(self.kernel, self.q, self.v, self.x, out=out)
        return partial(self.model.forward_dynamics, self.q, self.v, self.x[self.model.driven], out=out)

    def plain(self) -> Callable[[], object]:
        """As anyone would write it; it looks whether loops are closed, which others leave undone."""
        if self.name != "forward_dynamics":
            return partial(getattr(self.model, self.name), self.q, self.v, self.x)
        return partial(self.model.forward_dynamics, self.q, self.v, self.x[self.model.driven])

    def batch(self) -> tuple[int, CompiledBatch]:
        """The same state many times, on the vector units of one core; and how many times."""
        states = max(64, min(STATES, MOST_NUMBERS // self.model.nv))
        inputs = [np.tile(x, (states, 1)) for x in (self.q, self.v, self.x)]
        outputs = [np.empty((states, *port.shape)) for port in self.kernel.program.outputs]
        return states, CompiledBatch(self.kernel, inputs, outputs)
