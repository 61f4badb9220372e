"""Program: straight-line blocks of scalar instructions, and the list of calls that runs them.

Problem. The equations of a mechanism, traced on symbols, are a long list of scalar operations. As one list they
compile ever more slowly (the cost of straight-line code grows faster than its length), although most of them repeat:
one step of a recursion is the same for every body.

Must. A program is frozen data: it can be hashed, stored, sent to another process and compiled for any target
without the library it was traced with. A block that repeats is stored, compiled and counted once.

Should. A small program is one block called once, and costs no more than without blocks.

Discussion. All calls use one flat workspace of doubles: first the inputs in order, then the constants of the program,
then what the calls write. Every slot is written exactly once and only read afterwards, so calls need no order other
than the list's, and a slot's number identifies a value. A call has one row of slot numbers per repetition; rows run
from first to last, and may read what earlier rows wrote.
"""

import hashlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import prod

import numpy as np

from kempe.compiler.operations import ARITY, Op
from kempe.errors import ProgramError
from kempe.kinds import checked, short


def frozen_array(values, dtype, shape=None) -> np.ndarray:
    """A C-contiguous read-only copy of `values`."""
    try:
        given = np.array(values, order="C")
    except ValueError as error:
        raise ProgramError(f"a program's table is {short(values)}; its rows differ in length") from error
    if given.size and given.dtype.kind not in "biuf":
        raise ProgramError(f"a program's table is {short(values)}; it takes numbers")
    array = given.astype(dtype)
    if np.issubdtype(dtype, np.integer) and given.size and not np.array_equal(array, given):
        raise ProgramError("a table of whole numbers has an entry that is not a whole number, or too large")
    if shape is not None:
        array = array.reshape(shape)
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Port:
    """A named input or output: a scalar (), a vector (n,) or a matrix (n, m), stored row by row."""

    name: str
    shape: tuple[int, ...]

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise ProgramError(f"the name of a port must be text, not {short(self.name)}")
        sizes = tuple(self.shape)
        if len(sizes) > 2 or not all(isinstance(n, (int, np.integer)) and 0 <= n < 2**31 for n in sizes):
            raise ProgramError(f"port {self.name!r} has shape {short(self.shape)}; give (), (n,) or (n, m)")
        object.__setattr__(self, "shape", tuple(int(n) for n in sizes))

    @property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)

    def __str__(self) -> str:
        return self.name + "".join(f"[{n}]" for n in self.shape)


class _Content(ABC):
    """Equality, hash and pickling by content, for dataclasses with arrays."""

    @abstractmethod
    def _parts(self) -> Iterable[bytes]:
        """The complete content as bytes, in a fixed order."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content; equal digests mean equal records."""
        total = hashlib.sha256()
        for part in self._parts():
            total.update(len(part).to_bytes(8, "little"))
            total.update(part)
        return total.hexdigest()

    def __reduce__(self):
        return type(self), tuple(getattr(self, part.name) for part in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, eq=False)
class Block(_Content):
    """A straight-line function of `arity` scalars.

    Values are numbered: 0 .. arity-1 are the operands, arity + k is the result of instruction k. Row k of `code`
    is (operation, a, b, c) where a, b, c are earlier values, -1 if unused; for a CONST, `a` is the index into
    `constants`. `outputs` lists the output values.
    """

    name: str
    arity: int
    code: np.ndarray
    constants: np.ndarray
    outputs: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "code", frozen_array(self.code, np.int32, (-1, 4)))
        object.__setattr__(self, "constants", frozen_array(self.constants, np.float64, (-1,)))
        object.__setattr__(self, "outputs", frozen_array(self.outputs, np.int32, (-1,)))
        self._check()

    def _check(self) -> None:
        ops, operands = self.code[:, 0], self.code[:, 1:]
        unknown = ~np.isin(ops, [int(op) for op in Op])
        if unknown.any():
            raise ProgramError(
                f"block {self.name!r}: instruction {unknown.argmax()} is not one of the {len(Op)} operations"
            )
        used = np.arange(3) < _ARITY_OF[ops][:, None]
        limit = self.arity + np.arange(len(self.code))[:, None]
        wrong = (used & ((operands < 0) | (operands >= limit))).any(axis=1)
        idle = ~used & (operands != -1) & (ops != Op.CONST)[:, None]
        if self.arity < 0 or idle.any():
            raise ProgramError(f"block {self.name!r}: unused operands must be -1")
        if wrong.any():
            raise ProgramError(
                f"block {self.name!r}: instruction {wrong.argmax()} reads a value that does not exist yet"
            )
        numbers = operands[ops == Op.CONST, 0]
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(self.constants)):
            raise ProgramError(f"block {self.name!r}: a constant is missing from its table")
        if len(self.outputs) and not (self.outputs.min() >= 0 and self.outputs.max() < self.arity + len(self.code)):
            raise ProgramError(f"block {self.name!r}: an output names a value that does not exist")

    def __len__(self) -> int:
        return len(self.code)

    def _parts(self):
        yield repr((self.name, self.arity)).encode()
        yield self.code.tobytes()
        yield self.constants.tobytes()
        yield self.outputs.tobytes()


_ARITY_OF = np.array([ARITY[op] for op in Op])


@dataclass(frozen=True, eq=False)
class Call(_Content):
    """Runs block number `block` once per row: row i reads slots `reads[i]` and writes slots `writes[i]`."""

    block: int
    reads: np.ndarray
    writes: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "reads", frozen_array(self.reads, np.int32))
        object.__setattr__(self, "writes", frozen_array(self.writes, np.int32))

    @property
    def repeat(self) -> int:
        """The number of repetitions."""
        return len(self.reads)

    def _parts(self):
        yield repr((self.block, self.reads.shape, self.writes.shape)).encode()
        yield self.reads.tobytes()
        yield self.writes.tobytes()


@checked(ProgramError)
@dataclass(frozen=True, eq=False)
class Program(_Content):
    """Maps named inputs to named outputs by calls of blocks over one flat workspace (see the top of this module).

    `constants` fill the slots after the inputs; `sources[k]` are the slots that output k is read from, at the end.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: np.ndarray
    blocks: tuple[Block, ...]
    calls: tuple[Call, ...]
    sources: tuple[np.ndarray, ...] = field(repr=False)

    def __post_init__(self):
        for part in ("inputs", "outputs", "blocks", "calls"):
            object.__setattr__(self, part, tuple(getattr(self, part)))
        object.__setattr__(self, "constants", frozen_array(self.constants, np.float64, (-1,)))
        object.__setattr__(self, "sources", tuple(frozen_array(s, np.int32, (-1,)) for s in self.sources))
        for what, kind in (("inputs", Port), ("outputs", Port), ("blocks", Block), ("calls", Call)):
            if not all(isinstance(part, kind) for part in getattr(self, what)):
                raise ProgramError(f"program {self.name!r}: {what} takes a {kind.__name__} for each")
        self._check()

    @cached_property
    def input_slots(self) -> tuple[slice, ...]:
        """The slots of each input in the workspace."""
        ends = np.cumsum([0, *(port.size for port in self.inputs)]).tolist()
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @cached_property
    def constant_slots(self) -> slice:
        """The slots of the constants in the workspace."""
        start = sum(port.size for port in self.inputs)
        return slice(start, start + len(self.constants))

    @cached_property
    def workspace(self) -> int:
        """The number of slots."""
        return self.constant_slots.stop + sum(call.writes.size for call in self.calls)

    @cached_property
    def length(self) -> int:
        """The number of instructions of one evaluation."""
        return sum(call.repeat * len(self.blocks[call.block]) for call in self.calls)

    @property
    def is_single_block(self) -> bool:
        """Whether it is one block called once."""
        return len(self.calls) == 1 and self.calls[0].repeat == 1

    def _check(self) -> None:
        where = f"program {self.name!r}"
        for names in ([p.name for p in self.inputs], [p.name for p in self.outputs]):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ProgramError(f"{where}: the name {min(twice)!r} is used twice; give every port its own")
        if "out" in [p.name for p in self.inputs]:
            raise ProgramError(f"{where}: no input can be named 'out', which names the argument for results")
        if len(self.outputs) != len(self.sources):
            raise ProgramError(f"{where}: {len(self.outputs)} outputs but {len(self.sources)} lists of slots")
        written = np.zeros(self.workspace, dtype=bool)
        written[: self.constant_slots.stop] = True
        for number, call in enumerate(self.calls):
            self._check_call(f"{where}, call {number}", call, written)
        for port, slots in zip(self.outputs, self.sources, strict=True):
            if len(slots) != port.size:
                raise ProgramError(f"{where}: output {port} takes {port.size} slots, not {len(slots)}")
            if len(slots) and not (slots.min() >= 0 and slots.max() < self.workspace):
                raise ProgramError(f"{where}: output {port} reads a slot outside the workspace")

    def _check_call(self, where: str, call: Call, written: np.ndarray) -> None:
        if not 0 <= call.block < len(self.blocks):
            raise ProgramError(f"{where}: there is no block {call.block}")
        block = self.blocks[call.block]
        shapes = (call.repeat, block.arity), (call.repeat, len(block.outputs))
        if (call.reads.shape, call.writes.shape) != shapes:
            raise ProgramError(
                f"{where}: the slot tables do not fit block {block.name!r}, "
                f"which takes {block.arity} and gives {len(block.outputs)}"
            )
        for slots in (call.reads, call.writes):
            if slots.size and not (slots.min() >= 0 and slots.max() < len(written)):
                raise ProgramError(f"{where}: a slot lies outside the workspace")
        # Row i may read what earlier rows wrote: find the row that writes each slot.
        row_of = np.where(written, -1, call.repeat)
        if written[call.writes].any() or (np.diff(np.sort(call.writes, axis=None)) == 0).any():
            raise ProgramError(f"{where}: a slot is written twice")
        row_of[call.writes] = np.arange(call.repeat)[:, None]
        if (row_of[call.reads] >= np.arange(call.repeat)[:, None]).any():
            raise ProgramError(f"{where}: a slot is read before it is written")
        written[call.writes] = True

    def _parts(self):
        yield repr((self.name, self.inputs, self.outputs)).encode()
        yield self.constants.tobytes()
        for part in (*self.blocks, *self.calls):
            yield part.digest.encode()
        for slots in self.sources:
            yield slots.tobytes()

    def explain(self, limit: int | None = 60) -> str:
        """The program in words and lines of algebra; `limit` caps the lines shown of each block (None: all)."""
        from kempe.compiler.explain import explain

        return explain(self, limit)
