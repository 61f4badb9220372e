"""Kernel: a program as native code, called with NumPy arrays, one state or many.

    kernel = Kernel(program)
    vdot = kernel(q, v, tau)                # one state: arrays of the ports' shapes
    vdot = kernel(q, v, tau)                # many: a leading axis on some arguments, the others shared
    kernel(q, v, tau, out=vdot)             # into an array that is there

One state and many agree bit for bit. All inputs of a call are read before its outputs are written.
"""

import threading
from collections.abc import Callable
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np

from kempe.compiler import cache as disk
from kempe.compiler import native
from kempe.compiler.count import Counts, count
from kempe.compiler.gate import gate, table
from kempe.compiler.passes import prepare
from kempe.compiler.program import Port, Program
from kempe.compiler.targets import batch, cpu
from kempe.errors import ArgumentError

# Work of fewer operations than this keeps the interpreter's lock: handing it over would cost more.
WORTH_RELEASING = 4000

_loaded: WeakValueDictionary[str, native.Code] = WeakValueDictionary()
_loading = threading.Lock()


def _load(program: Program, target, make: Callable[[], str]) -> native.Code:
    """The code of a program for a target: once per process, from the disk if it was compiled before."""
    name = disk.key(program.digest, target.SYMBOL, str(native.host()))
    with _loading:
        code = _loaded.get(name)
        if code is None:
            image = disk.fetch(name, lambda: native.object_code(make()))
            code = _loaded[name] = native.Code(image, (target.SYMBOL, target.WORKSPACE))
        return code


class Kernel:
    """A compiled program. Thread-safe; pickles as its program, and is compiled or fetched again where it lands.

    address: where `void kempe(const double *const *inputs, double *const *outputs, double *work)` begins, for
        other compiled code; it stays good as long as this kernel lives.
    workspace: how many doubles `work` must hold; 0 when it may be null.
    """

    def __init__(self, program: Program):
        self.program = program
        self._scalar = _load(program, cpu, lambda: cpu.emit(self.prepared))
        self.address: int = self._scalar.address(cpu.SYMBOL)
        self.workspace: int = self._scalar.number(cpu.WORKSPACE)
        release = program.length >= WORTH_RELEASING
        self._enter = gate().enter(table(self.address, program.inputs, program.outputs, self.workspace, release))
        self._shapes = tuple(port.shape for port in program.outputs)
        self._only_shape = self._shapes[0] if len(self._shapes) == 1 else None

    def __call__(self, *arguments, out=None, **named):
        """The outputs for given inputs, by position or name: an array, or a tuple of arrays if there are several.

        out: where to put them, an array or a tuple of arrays of doubles.
        """
        if out is None and not named:
            # The common case, kept short: the gate checks the arguments and says 0 if it ran.
            if self._only_shape is not None:
                result = np.empty(self._only_shape)
                if self._enter(*arguments, result) == 0:
                    return result
            else:
                results = tuple(map(np.empty, self._shapes))
                if self._enter(*arguments, *results) == 0:
                    return results
        elif not named and self._enter(*arguments, *(out if isinstance(out, tuple) else (out,))) == 0:
            return out
        return self._general_call(arguments, named, out)

    # ---- what it is ------------------------------------------------------------------------------------

    @cached_property
    def prepared(self) -> Program:
        """The program as it was compiled: elementary functions written out, long blocks cut."""
        return prepare(self.program)

    @cached_property
    def counts(self) -> Counts:
        """Operations of one evaluation, as the program has them."""
        return count(self.program)

    @property
    def lanes(self) -> int:
        """How many states a batch works on at once."""
        return native.host().lanes

    @cached_property
    def _batch(self) -> native.Code:
        return _load(self.program, batch, lambda: batch.emit(self.prepared, self.lanes))

    @cached_property
    def batch_address(self) -> int:
        """Where the batch function begins (see `targets/batch.py` for its arguments)."""
        return self._batch.address(batch.SYMBOL)

    @cached_property
    def batch_workspace(self) -> int:
        """How many doubles the batch function's `work` must hold."""
        return self._batch.number(batch.WORKSPACE)

    def __reduce__(self):
        return Kernel, (self.program,)

    def __repr__(self) -> str:
        ports = [", ".join(map(str, side)) for side in (self.program.inputs, self.program.outputs)]
        return f"Kernel({self.program.name}: {ports[0]} -> {ports[1]}; {self.counts.total} operations)"

    # ---- calls that need a closer look -----------------------------------------------------------------

    def _general_call(self, arguments, named, out):
        arrays = [
            self._array(port, value)
            for port, value in zip(self.program.inputs, self._bound(arguments, named), strict=True)
        ]
        count = self._batch_size(arrays)
        asked = self._asked(out, count)
        if count is None:
            inputs = [_plain(a).reshape(p.shape) for a, p in zip(arrays, self.program.inputs, strict=True)]
            results = [np.empty(shape) for shape in self._shapes]
            refused = self._enter(*inputs, *results)
            assert refused == 0, f"argument {refused} was made to fit and does not"
        else:
            results = self._run_batch(arrays, asked, count)
        for result, wanted in zip(results, asked, strict=True):
            if wanted is not None and wanted is not result:
                wanted[...] = result
        if out is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _run_batch(self, arrays, asked, count: int) -> list[np.ndarray]:
        inputs = [
            array if _is_regular(array, port) else _plain(array)
            for array, port in zip(arrays, self.program.inputs, strict=True)
        ]
        results = []
        for port, wanted in zip(self.program.outputs, asked, strict=True):
            # An array that overlaps an input would be written while other states are still to be read.
            usable = wanted is not None and _is_regular(wanted, port) and not any(map(np.may_share_memory, inputs, [wanted] * len(inputs)))
            results.append(wanted if usable else np.empty((count, *port.shape)))
        sides = [
            (
                np.array([a.__array_interface__["data"][0] for a in side], dtype=np.int64),
                np.array([_strides(a, p) for a, p in zip(side, ports, strict=True)], dtype=np.int64),
            )
            for side, ports in ((inputs, self.program.inputs), (results, self.program.outputs))
        ]
        work = np.empty(self.batch_workspace)
        numbers = [x.__array_interface__["data"][0] for side in sides for x in side]
        release = count * self.program.length >= WORTH_RELEASING
        gate().invoke(np.array([self.batch_address, count, *numbers, work.__array_interface__["data"][0], release], dtype=np.int64))
        return results

    def _bound(self, arguments, named) -> list:
        """Arguments by position and by name, in the order of the ports."""
        ports = [port.name for port in self.program.inputs]
        given = dict(zip(ports, arguments, strict=False))
        twice = given.keys() & named.keys()
        unknown = named.keys() - set(ports)
        missing = [name for name in ports if name not in given and name not in named]
        takes = f"it takes ({', '.join(map(str, self.program.inputs))})"
        if len(arguments) > len(ports):
            raise ArgumentError(f"kernel {self.program.name!r}: {len(arguments)} arguments were given; {takes}")
        if unknown:
            raise ArgumentError(f"kernel {self.program.name!r}: there is no argument {min(unknown)!r}; {takes}")
        if twice:
            raise ArgumentError(f"kernel {self.program.name!r}: {min(twice)!r} is given by position and by name; give it once")
        if missing:
            raise ArgumentError(f"kernel {self.program.name!r}: {missing[0]!r} is missing; {takes}")
        given |= named
        return [given[name] for name in ports]

    def _array(self, port: Port, value) -> np.ndarray:
        """An argument as doubles, of the port's shape or with a leading axis."""
        where = f"kernel {self.program.name!r}, argument {port.name!r}"
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise ArgumentError(f"{where}: not an array of numbers ({error})") from error
        if array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, np.float64, "safe"):
            raise ArgumentError(f"{where}: its type is {array.dtype}; give real numbers that fit into doubles")
        array = array.astype(np.float64, copy=False)
        if array.shape == () and port.shape == (1,):
            array = array.reshape(1)
        if array.shape != port.shape and array.shape[1:] != port.shape:
            many = ", ".join(["batch", *map(str, port.shape)])
            raise ArgumentError(f"{where} has shape {array.shape}; it takes {port.shape}, or ({many}) for many states at once")
        if array.ndim > len(port.shape) + 1 or (array.ndim == 0 and port.shape):
            raise ArgumentError(f"{where} has shape {array.shape}; it takes {port.shape}")
        return array

    def _batch_size(self, arrays) -> int | None:
        sizes = {
            port.name: len(array)
            for port, array in zip(self.program.inputs, arrays, strict=True)
            if array.ndim > len(port.shape)
        }
        if len(set(sizes.values())) > 1:
            said = ", ".join(f"{name!r} {size}" for name, size in sizes.items())
            raise ArgumentError(f"kernel {self.program.name!r}: the arguments have different numbers of states ({said})")
        return next(iter(sizes.values()), None)

    def _asked(self, out, count: int | None) -> list[np.ndarray | None]:
        """The arrays given as `out`, checked; None for each where none are."""
        ports = self.program.outputs
        if out is None:
            return [None] * len(ports)
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(ports):
            raise ArgumentError(f"kernel {self.program.name!r}: out has {len(given)} arrays for {len(ports)} outputs")
        for port, array in zip(ports, given, strict=True):
            where = f"kernel {self.program.name!r}, out for {port.name!r}"
            shape = port.shape if count is None else (count, *port.shape)
            if not isinstance(array, np.ndarray) or array.dtype != np.float64:
                raise ArgumentError(f"{where}: it must be a NumPy array of doubles, not {type(array).__name__} {getattr(array, 'dtype', '')}".rstrip())
            if array.shape != shape:
                raise ArgumentError(f"{where} has shape {array.shape}; {shape} is written")
            if not array.flags.writeable:
                raise ArgumentError(f"{where} is read-only; give an array that can be written to")
        return given


def _strides(array: np.ndarray, port: Port) -> tuple[int, int]:
    """Doubles from state to state (0 when all share one) and from element to element."""
    steps = [step // 8 for step in array.strides]
    if array.ndim == len(port.shape):
        return 0, steps[-1] if steps else 1
    return steps[0], steps[-1] if port.shape else 1


def _is_regular(array: np.ndarray, port: Port) -> bool:
    """Whether elements lie at a constant distance, in whole doubles."""
    steps = array.strides[array.ndim - len(port.shape) :]
    even = len(steps) < 2 or steps[0] == array.shape[-1] * steps[1]
    return array.flags.aligned and even and not any(step % 8 for step in array.strides)


def _plain(array: np.ndarray) -> np.ndarray:
    """The same numbers, contiguous and aligned, in a NumPy array and no subclass of it."""
    return np.require(np.asarray(array), requirements=("C", "A"))
