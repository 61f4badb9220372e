"""Kernel: a program as native code, called with NumPy arrays, one state or many.

    kernel = Kernel(program)
    vdot = kernel(q, v, tau)                # one state: arrays of the ports' shapes
    vdot = kernel(q, v, tau)                # many: a leading axis on some arguments, the others shared
    kernel(q, v, tau, out=vdot)             # into an existing array

One state and many agree bit for bit. All inputs of a call are read before its outputs are written.
"""

from collections.abc import Callable
from functools import cached_property
from itertools import chain
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from kempe.compiler import arguments, native
from kempe.compiler import cache as disk
from kempe.compiler.count import Counts, count
from kempe.compiler.forks import compiling
from kempe.compiler.gate import CACHE_LINE, gate, table
from kempe.compiler.operations import ELEMENTARY
from kempe.compiler.passes import prepare
from kempe.compiler.program import Program
from kempe.compiler.targets import batch, cpu
from kempe.errors import ArgumentError, CompileError
from kempe.kinds import checked

# Work of fewer operations keeps the interpreter's lock: releasing it would cost more.
WORTH_RELEASING = 4000

_loaded: WeakValueDictionary[str, native.Code] = WeakValueDictionary()


ELEMENTARY_EFFORT = 60  # simple operations that a sine is worth


def effort(program: Program) -> int:
    """The approximate number of simple operations of one evaluation, including copies of inputs and outputs."""
    slow = [ELEMENTARY_EFFORT * int(np.isin(block.code[:, 0], list(ELEMENTARY)).sum()) for block in program.blocks]
    runs = sum(call.repeat * (len(program.blocks[call.block]) + slow[call.block]) for call in program.calls)
    return runs + sum(port.size for port in (*program.inputs, *program.outputs))


def load(program: Program, target, make: Callable[[], str]) -> native.Code:
    """The code of a program for a target: loaded once per process, from the disk if it was compiled before."""
    name = disk.key(program.digest, target.SYMBOL, str(native.host()))
    with compiling:
        code = _loaded.get(name)
        if code is None:
            image = disk.fetch(name, lambda: native.object_code(make()))
            code = _loaded[name] = native.Code(image, (target.SYMBOL, target.WORKSPACE))
        return code


@checked(ArgumentError)
class Kernel:
    """A compiled program. Thread-safe; pickles as its program, which is compiled or fetched again when unpickled.

    address: of `void kempe(const double *const *inputs, double *const *outputs, double *work)`, for other compiled
        code; valid as long as this kernel lives.
    workspace: how many doubles `work` must hold; 0 if it may be null.
    effort: the approximate number of operations of one evaluation.
    enter(*inputs, *outputs): evaluates one state directly: returns 0, or the position (from 1) of the first argument
        that does not fit exactly; then nothing was done.
    """

    def __init__(self, program: Program):
        if not isinstance(program, Program):
            raise ArgumentError(f"a kernel takes a Program, not {type(program).__name__}; trace the function first")
        self.program = program
        self.effort = effort(program)
        self._scalar = load(program, cpu, lambda: cpu.emit(self.prepared))
        self.address: int = self._scalar.address(cpu.SYMBOL)
        self.workspace: int = self._scalar.number(cpu.WORKSPACE)
        release = self.effort >= WORTH_RELEASING
        self.enter = gate().enter(table(self.address, program.inputs, program.outputs, self.workspace, release))
        self._takes = len(program.inputs)
        self._shapes = tuple(port.shape for port in program.outputs)
        self._only_shape = self._shapes[0] if len(self._shapes) == 1 else None

    def __call__(self, /, *given, out=None, **named) -> Any:
        """The outputs for given inputs, by position or name: an array, or a tuple of arrays if there are several.

        out: an array or a tuple of arrays of doubles for the results.
        """
        if out is None and not named:
            # The common case, kept short: the gate checks the arguments and returns 0 if it ran.
            if self._only_shape is not None:
                result = np.empty(self._only_shape)
                if self.enter(*given, result) == 0:
                    return result
            else:
                results = tuple(map(np.empty, self._shapes))
                if self.enter(*given, *results) == 0:
                    return results
        elif not named and len(given) == self._takes and self.enter(*given, *_tuple(out)) == 0:
            return out
        return self._general_call(given, named, out)

    # ---- properties ------------------------------------------------------------------------------------

    @cached_property
    def prepared(self) -> Program:
        """The program as compiled: elementary functions expanded, long blocks split."""
        return prepare(self.program)

    @cached_property
    def counts(self) -> Counts:
        """Operations of one evaluation of the program."""
        return count(self.program)

    @property
    def lanes(self) -> int:
        """The number of states that a batch processes at once."""
        return native.host().lanes

    @cached_property
    def _batch(self) -> native.Code:
        return load(self.program, batch, lambda: batch.emit(self.prepared, self.lanes))

    @cached_property
    def batch_address(self) -> int:
        """The address of the batch function (see `targets/batch.py` for its arguments)."""
        return self._batch.address(batch.SYMBOL)

    @cached_property
    def batch_workspace(self) -> int:
        """The number of doubles that the batch function's `work` must hold."""
        return self._batch.number(batch.WORKSPACE)

    def __reduce__(self):
        return Kernel, (self.program,)

    def __repr__(self) -> str:
        ports = [", ".join(map(str, side)) for side in (self.program.inputs, self.program.outputs)]
        return f"Kernel({self.program.name}: {ports[0]} -> {ports[1]}; {self.counts.total} operations)"

    # ---- general calls ---------------------------------------------------------------------------------

    def _general_call(self, positional, named, out):
        given = arguments.check(self.program, positional, named, out)
        results = self._run_one(given) if given.count is None else self._run_many(given, given.count)
        for result, asked in zip(results, given.asked, strict=True):
            if asked is not None and asked is not result:
                asked[...] = result
        if out is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _run_one(self, given: arguments.Arguments) -> list[np.ndarray]:
        inputs = map(arguments.plain, given.inputs, self.program.inputs)
        results = [np.empty(shape) for shape in self._shapes]
        refused = self.enter(*inputs, *results)
        if refused:
            raise CompileError(
                f"a bug in Kempe: argument {refused} of {self.program.name!r} does not fit after conversion"
            )
        return results

    def _run_many(self, given: arguments.Arguments, count: int) -> list[np.ndarray]:
        ports_in, ports_out = self.program.inputs, self.program.outputs
        inputs = list(map(arguments.rows, given.inputs, ports_in))
        results, written = [], []
        for port, asked in zip(ports_out, given.asked, strict=True):
            flat = None if asked is None else arguments.rows_to_write(asked, port)
            # An array that overlaps an input would be overwritten before other states are read.
            if flat is None or any(np.may_share_memory(flat, x) for x in inputs):
                results.append(np.empty((count, *port.shape)))
                written.append(results[-1].reshape(count, port.size))
            else:
                results.append(asked)
                written.append(flat)
        shared = [x.ndim == len(port.shape) for x, port in zip(given.inputs, ports_in, strict=True)]
        steps = map(arguments.strides, (*inputs, *written), (*shared, *[False] * len(written)))
        head = (self.batch_address, count, len(inputs), count * self.effort >= WORTH_RELEASING)
        numbers = np.array((*head, *chain.from_iterable(steps)), dtype=np.int64)
        work = np.empty(self.batch_workspace + CACHE_LINE // 8)
        gate().invoke(numbers, work, *inputs, *written)
        return results


def _tuple(out) -> tuple:
    return out if isinstance(out, tuple) else (out,)
