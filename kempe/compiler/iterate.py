"""Iteration: runs a program many times over many states, feeding its outputs back as its first inputs.

    steps = Iteration(program)                       # (q, v, tau) -> q, v after a step
    q, v = steps((q, v), (tau,), rows=10, every=100) # for each state: ten rows, a hundred steps apart

States are evaluated in lanes and on several threads. The result of each is the same bit for bit, whatever the others
are and however many threads there are.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from kempe.compiler import arguments, native
from kempe.compiler.gate import CACHE_LINE, gate
from kempe.compiler.kernel import effort, load
from kempe.compiler.passes import prepare
from kempe.compiler.program import Port, Program
from kempe.compiler.targets import iterate
from kempe.compiler.threads import spread
from kempe.errors import ProgramError


class Iteration:
    """A program whose outputs have the shapes of its first inputs, as native code."""

    def __init__(self, program: Program):
        self.program = program
        for source, target in zip(program.outputs, program.inputs, strict=False):
            if source.shape != target.shape:
                raise ProgramError(f"{program.name!r} outputs {source}, which cannot be fed back as {target}")
        if len(program.outputs) > len(program.inputs):
            raise ProgramError(f"{program.name!r} has more outputs than inputs, so they cannot be fed back")

    @cached_property
    def _effort(self) -> int:
        return effort(self.program)

    @cached_property
    def _code(self) -> native.Code:
        return load(self.program, iterate, lambda: iterate.emit(prepare(self.program), native.host().lanes))

    def __call__(
        self,
        state: Sequence[np.ndarray],
        given: Sequence[np.ndarray],
        rows: int = 1,
        every: int = 1,
        threads: int | None = None,
    ) -> list[np.ndarray]:
        """For every part of the state an array (states, rows, ..): its values after each `every` evaluations.

        state: arrays (states, ..). given: arrays of the input's shape, shared by all states; (states, ..); or
        (states, rows * every, ..), with values for every evaluation; a first axis of 1 is shared by all states.
        """
        ports, count = self.program.inputs, len(state[0])
        flat, steps, between = [], [], []
        for port, values in zip(ports, (*state, *given), strict=True):
            array, lane, element, later = _laid_out(port, np.asarray(values, dtype=float), count, rows * every)
            flat.append(array)
            steps += [lane, element]
            between.append(later)
        outputs = [np.empty((count, rows, port.size)) for port in self.program.outputs]
        for port in self.program.outputs:
            steps += [rows * port.size, 1]
            between.append(port.size)
        address = self._code.address(iterate.SYMBOL)
        workspace = self._code.number(iterate.WORKSPACE) + CACHE_LINE // 8

        def some(first: int, last: int) -> None:
            numbers = np.array([address, last - first, len(ports), 1, *steps, rows, every, *between], dtype=np.int64)
            own = [x[first:last] if len(x) > 1 else x for x in (*flat, *outputs)]
            gate().invoke(numbers, np.empty(workspace), *own)

        spread(count, native.host().lanes, threads, rows * every * self._effort, some)
        return [x.reshape(count, rows, *port.shape) for x, port in zip(outputs, self.program.outputs, strict=True)]


def _laid_out(port: Port, values: np.ndarray, count: int, evaluations: int) -> tuple[np.ndarray, int, int, int]:
    """An argument with the states as first axis (length 1 if shared), and its strides: from state to state, element to
    element, evaluation to evaluation."""
    more = values.ndim - len(port.shape)
    values = values[None] if more == 0 else values
    if more == 2:
        values = np.ascontiguousarray(values).reshape(len(values), evaluations, port.size)
        return values, 0 if len(values) == 1 else evaluations * port.size, 1, port.size
    flat = np.ascontiguousarray(arguments.rows(values, port))
    return flat, 0 if len(flat) == 1 else port.size, 1, 0
