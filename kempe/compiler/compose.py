"""Composing: programs of many calls, written as a Python loop over blocks that are traced once.

    step = trace(body_step, {"state": 6, "q": (), "length": ()}, {"state": 6})
    chain = Composer("chain")
    q = chain.input("q", 100)
    state = chain.constant(np.zeros(6))
    for i in range(100):
        (state,) = chain.call(step, state, q[i], chain.constant(lengths[i]))
    chain.output("tip", state)
    program = chain.program()

Values are `Slots`: arrays of workspace slot numbers that can be indexed and joined like any NumPy array. Consecutive
calls of one block become one repeated call, so the block is stored, compiled and counted once.
"""

import numpy as np

from kempe.compiler.program import Block, Call, Port, Program
from kempe.errors import ProgramError
from kempe.kinds import checked, doubles, short

Slots = np.ndarray


@checked(ProgramError)
class Composer:
    """Collects the inputs, constants, calls and outputs of one program."""

    def __init__(self, name: str):
        self.name = name
        self._inputs: list[tuple[Port, Slots]] = []
        self._constants: list[float] = []
        self._constant_slots: list[Slots] = []
        self._number_of: dict[str, int] = {}
        self._blocks: list[Block] = []
        self._calls: list[tuple[int, list[np.ndarray], list[np.ndarray]]] = []
        self._outputs: list[tuple[Port, Slots]] = []
        self._next = 0

    def input(self, name: str, shape: int | tuple[int, ...]) -> Slots:
        """A named input; its slots have its shape."""
        port = Port(name, (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape))
        slots = self._take(port.size).reshape(port.shape)
        self._inputs.append((port, slots))
        return slots

    def constant(self, values) -> Slots:
        """Numbers kept with the program, in slots of the same shape."""
        values = doubles(values, f"program {self.name!r}: a constant", ProgramError)
        slots = self._take(values.size).reshape(values.shape)
        self._constants += values.ravel().tolist()
        self._constant_slots.append(slots)
        return slots

    def call(self, step: Program, *arguments: Slots) -> tuple[Slots, ...]:
        """Appends all calls of a program on slots; returns the slots of its outputs, in their shapes."""
        if len(arguments) != len(step.inputs):
            raise ProgramError(
                f"program {self.name!r}: {step.name!r} takes {len(step.inputs)} arguments "
                f"({', '.join(map(str, step.inputs))}), not {len(arguments)}"
            )
        given = [np.zeros(0, dtype=np.int64)]
        for port, slots in zip(step.inputs, arguments, strict=True):
            where = f"program {self.name!r}: argument {port} of {step.name!r}"
            if not isinstance(slots, (np.ndarray, np.integer)) or slots.dtype.kind != "i":
                raise ProgramError(f"{where} takes slots; convert numbers with constant({short(slots)})")
            if slots.size != port.size:
                raise ProgramError(f"{where} takes {port.size} slots, not {slots.size}")
            given.append(np.ravel(slots))
        if len(step.constants):
            given.append(self.constant(step.constants))
        # The slots of the step are its inputs, its constants, then what its calls write.
        slots = np.empty(step.workspace, dtype=np.int64)
        slots[: step.constant_slots.stop] = np.concatenate(given)
        for call in step.calls:
            number = self._block(step.blocks[call.block])
            for reads, writes in zip(call.reads, call.writes, strict=True):
                slots[writes] = self._take(len(writes))
                if not self._calls or self._calls[-1][0] != number:
                    self._calls.append((number, [], []))
                self._calls[-1][1].append(slots[reads])
                self._calls[-1][2].append(slots[writes])
        return tuple(slots[source].reshape(p.shape) for p, source in zip(step.outputs, step.sources, strict=True))

    def _block(self, block: Block) -> int:
        """The number of a block; equal blocks are stored once."""
        number = self._number_of.setdefault(block.digest, len(self._blocks))
        if number == len(self._blocks):
            self._blocks.append(block)
        return number

    def output(self, name: str, slots: Slots) -> None:
        """Adds a named output; its shape is that of the slots."""
        if not isinstance(slots, (np.ndarray, np.integer)) or slots.dtype.kind != "i":
            raise ProgramError(f"program {self.name!r}: output {name!r} is {short(slots)}; give slots")
        slots = np.asarray(slots)
        self._outputs.append((Port(name, slots.shape), slots.ravel()))

    def program(self) -> Program:
        """The finished program, with slots renumbered: inputs, constants, then what the calls write, in order."""
        order = [slots.ravel() for _, slots in self._inputs]
        order += [slots.ravel() for slots in self._constant_slots]
        order += [writes for _, _, rows in self._calls for writes in rows]
        new = np.empty(self._next, dtype=np.int64)
        new[np.concatenate([np.zeros(0, dtype=np.int64), *order])] = np.arange(self._next)
        return Program(
            self.name,
            tuple(port for port, _ in self._inputs),
            tuple(port for port, _ in self._outputs),
            np.array(self._constants),
            tuple(self._blocks),
            tuple(Call(block, new[np.array(reads)], new[np.array(writes)]) for block, reads, writes in self._calls),
            tuple(new[slots] for _, slots in self._outputs),
        )

    def _take(self, count: int) -> Slots:
        self._next += count
        return np.arange(self._next - count, self._next)
