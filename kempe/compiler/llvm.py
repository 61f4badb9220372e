"""Emitter: writes a prepared program as LLVM assembly text, for any target and any number of lanes.

One instruction of a block becomes one to a few LLVM instructions. No flag lets LLVM change rounding, so scalar and
vector code agree bit for bit. This module does not know the host: the files in `targets/` determine how arguments reach
the code and where the workspace is.
"""

import math
import struct
from collections.abc import Callable, Sequence

import numpy as np

from kempe.compiler.interpret import POW2_SHIFT
from kempe.compiler.operations import Op
from kempe.compiler.program import Block, Program

_BINARY = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}
_INTRINSIC = {Op.ABS: "fabs", Op.SQRT: "sqrt", Op.FLOOR: "floor"}
_COMPARE = {Op.LT: "olt", Op.LE: "ole", Op.EQ: "oeq"}
_BEYOND = {"ole": "olt", "oge": "ogt"}
_LOGIC = {Op.AND: "and", Op.OR: "or"}


def literal(value: float) -> str:
    """A double as an exact LLVM literal."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Emitter:
    """Collects the functions, tables and declarations of one LLVM module, with values of `lanes` lanes."""

    def __init__(self, lanes: int = 1):
        self.lanes = lanes
        self.real, self.integer, self.mask = (self._wide(t) for t in ("double", "i64", "i1"))
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self._declared: set[str] = set()
        self._globals: list[str] = []
        self._functions: list[str] = []

    def _wide(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    def number(self, value: float) -> str:
        """A constant in every lane."""
        return literal(value) if self.lanes == 1 else f"splat (double {literal(value)})"

    def whole(self, value: int) -> str:
        """A 64-bit integer in every lane."""
        return str(value) if self.lanes == 1 else f"splat (i64 {value})"

    def add_function(self, header: str, lines: Sequence[str]) -> None:
        """Defines a function: `header` is the text between `define` and the brace."""
        # Vectors on the stack must not straddle cache lines: this would halve the speed of long blocks.
        stack = f" alignstack({8 * self.lanes})" if self.lanes > 2 else ""
        self._functions.append("\n".join([f"define {header}{stack} {{", *lines, "}"]))

    def table(self, name: str, kind: str, entries: list[str]) -> str:
        """A constant array; its symbol."""
        inside = ", ".join(f"{kind} {entry}" for entry in entries)
        self._globals.append(f"@{name} = internal constant [{len(entries)} x {kind}] [{inside}]")
        return f"@{name}"

    def declare(self, declaration: str) -> None:
        """Declares a function that is defined elsewhere."""
        self._declared.add(f"declare {declaration}")

    def module(self) -> str:
        """The whole module as text."""
        return "\n".join([*self._globals, *self._functions, *sorted(self._declared), ""])

    # ---- one block -------------------------------------------------------------------------------------

    def body(self, block: Block, operands: list[str]) -> tuple[list[str], list[str]]:
        """The lines of a block's instructions, and the names of its outputs; operands are names of values."""
        writer = _BlockWriter(self, block, operands)
        return writer.lines, writer.outputs()

    def inline(
        self, program: Program, address: Callable[[int], tuple[list[str], str]]
    ) -> tuple[list[str], dict[int, str]]:
        """A program of one block inline: its lines, and the names of the values that outputs are read from.

        address: for an input's slot, the lines that compute its address, and the name of that pointer.
        """
        (call,) = program.calls
        block = program.blocks[call.block]
        reads = call.reads[0].tolist()
        wanted = {slot for slots in program.sources for slot in slots.tolist()}
        wanted |= {reads[k] for k in used_operands(block)}
        lines: list[str] = []
        values: dict[int, str] = {}
        for slot in sorted(wanted):
            if slot < program.constant_slots.start:
                where, pointer = address(slot)
                values[slot] = f"%x{slot}"
                lines += [*where, f"%x{slot} = load {self.real}, ptr {pointer}, align 8"]
            elif slot < program.constant_slots.stop:
                values[slot] = self.number(float(program.constants[slot - program.constant_slots.start]))
        body, results = self.body(block, [values.get(slot, "unused") for slot in reads])
        return [*lines, *body], values | dict(zip(call.writes[0].tolist(), results, strict=True))

    # ---- a program of many calls -----------------------------------------------------------------------

    def runner(self, program: Program) -> None:
        """Defines @run(work): all calls over a workspace that contains the inputs.

        Constants are read from a separate table. Only those that are outputs, or that some rows of a call read where
        other rows read computed values, are put into the workspace.
        """
        self.table("constants", "double", [literal(x) for x in program.constants.tolist()] or ["0.0"])
        layouts = [_Layout(program, number) for number in range(len(program.blocks))]
        for number, layout in enumerate(layouts):
            if layout.rows:
                self._block_function(number, layout)
        numbers = range(program.constant_slots.start, program.constant_slots.stop)
        spilled = {slot for slots in program.sources for slot in slots.tolist() if slot in numbers}
        spilled |= {slot for layout in layouts for slot in layout.spilled}
        lines = ["entry:", *self._spill(sorted(spilled), program)]
        label, done = "entry", [0] * len(layouts)
        for at, call in enumerate(program.calls):
            first, repeat = done[call.block], call.repeat
            done[call.block] += repeat
            target, width = f"@block{call.block}", layouts[call.block].width
            if repeat == 0:
                continue
            if repeat == 1:
                lines += [
                    f"%row{at} = getelementptr i32, ptr @rows{call.block}, i64 {first * width}",
                    f"call void {target}(ptr %work, ptr %row{at})",
                ]
                continue
            loop, after = f"loop{at}", f"after{at}"
            lines += [
                f"br label %{loop}",
                f"{loop}:",
                f"%i{at} = phi i64 [ {first}, %{label} ], [ %next{at}, %{loop} ]",
                f"%at{at} = mul i64 %i{at}, {width}",
                f"%row{at} = getelementptr i32, ptr @rows{call.block}, i64 %at{at}",
                f"call void {target}(ptr %work, ptr %row{at})",
                f"%next{at} = add i64 %i{at}, 1",
                f"%more{at} = icmp slt i64 %next{at}, {first + repeat}",
                f"br i1 %more{at}, label %{loop}, label %{after}",
                f"{after}:",
            ]
            label = after
        self.add_function("internal void @run(ptr %work)", [*lines, "ret void"])

    def _block_function(self, number: int, layout: "_Layout") -> None:
        """One function for all calls of a block; a row of the table gives the start of each run of operands."""
        lines = ["entry:"]
        for k, in_table in enumerate(layout.run_in_constants):
            base, scale = ("@constants", 1) if in_table else ("%work", self.lanes)
            lines += [
                f"%e{k} = getelementptr i32, ptr %row, i64 {k}",
                f"%s{k} = load i32, ptr %e{k}",
                f"%z{k} = zext i32 %s{k} to i64",
                f"%o{k} = mul i64 %z{k}, {scale}",
                f"%b{k} = getelementptr double, ptr {base}, i64 %o{k}",
            ]
        block = layout.block
        operands = ["unused"] * block.arity
        for j in used_operands(block):
            run, offset = layout.place[j]
            if layout.run_in_constants[run]:
                lines += [
                    f"%a{j} = getelementptr double, ptr %b{run}, i64 {offset}",
                    *self.broadcast(f"%x{j}", f"%a{j}"),
                ]
            else:
                lines += [
                    f"%a{j} = getelementptr double, ptr %b{run}, i64 {offset * self.lanes}",
                    f"%x{j} = load {self.real}, ptr %a{j}, align 8",
                ]
            operands[j] = f"%x{j}"
        body, results = self.body(block, operands)
        lines += body
        for j, value in enumerate(results):
            run, offset = layout.place[block.arity + j]
            lines += [
                f"%w{j} = getelementptr double, ptr %b{run}, i64 {offset * self.lanes}",
                f"store {self.real} {value}, ptr %w{j}, align 8",
            ]
        self.table(f"rows{number}", "i32", [str(x) for x in layout.table.ravel().tolist()] or ["0"])
        self.add_function(f"internal void @block{number}(ptr %work, ptr %row) noinline", [*lines, "ret void"])

    def broadcast(self, name: str, pointer: str) -> list[str]:
        """Lines that load one double into all lanes of `name`."""
        if self.lanes == 1:
            return [f"{name} = load double, ptr {pointer}, align 8"]
        return [
            f"{name}.one = load double, ptr {pointer}, align 8",
            f"{name}.in = insertelement {self.real} poison, double {name}.one, i64 0",
            f"{name} = shufflevector {self.real} {name}.in, {self.real} poison, <{self.lanes} x i32> zeroinitializer",
        ]

    def _spill(self, slots: list[int], program: Program) -> list[str]:
        """Lines that put constants into the workspace."""
        lines = []
        for slot in slots:
            value = self.number(float(program.constants[slot - program.constant_slots.start]))
            lines += [
                f"%spill{slot} = getelementptr double, ptr %work, i64 {slot * self.lanes}",
                f"store {self.real} {value}, ptr %spill{slot}, align 8",
            ]
        return lines


def used_operands(block: Block) -> list[int]:
    """The operands used by an instruction or an output."""
    named = block.code[block.code[:, 0] != Op.CONST, 1:]
    used = np.union1d(named[named >= 0], block.outputs)
    return used[used < block.arity].tolist()


class _Layout:
    """The slot table of the calls of one block: operands and outputs that are adjacent in every row form a run, and the
    table has one number per run and row."""

    def __init__(self, program: Program, number: int):
        self.block = program.blocks[number]
        calls = [call for call in program.calls if call.block == number]
        width = self.block.arity + len(self.block.outputs)
        slots = np.concatenate([np.zeros((0, width), int), *(np.hstack([c.reads, c.writes]) for c in calls)])
        self.rows = len(slots)
        constants = program.constant_slots
        is_constant = (slots >= constants.start) & (slots < constants.stop)
        in_table = is_constant.all(axis=0) if self.rows else np.zeros(width, bool)
        # A column that is constant only in some rows is read from the workspace, so these constants are put there.
        self.spilled = set(slots[is_constant & ~in_table].tolist())
        slots = np.where(in_table, slots - constants.start, slots)
        starts_run = np.ones(width, dtype=bool)
        starts_run[1:] = (np.diff(slots, axis=1) != 1).any(axis=0) | (in_table[1:] != in_table[:-1])
        run_of = np.cumsum(starts_run) - 1
        firsts = np.flatnonzero(starts_run)
        self.table = slots[:, firsts]
        self.width = len(firsts)
        self.run_in_constants = in_table[firsts].tolist()
        self.place = [(int(r), int(j - firsts[r])) for j, r in enumerate(run_of)]


class _BlockWriter:
    """The lines of one block. Comparisons are kept as masks, and converted to numbers only if needed."""

    def __init__(self, emitter: Emitter, block: Block, operands: list[str]):
        self.on = emitter
        self.block = block
        self.lines: list[str] = []
        self._real: dict[int, str] = dict(enumerate(operands))
        self._mask: dict[int, str] = {}
        self._sure: set[str] = set()  # names of values that are never NaN
        self._fresh = 0
        numbers = block.constants.tolist()
        for k, (op, *arguments) in enumerate(block.code.tolist(), start=block.arity):
            if op == Op.CONST:
                self._real[k] = emitter.number(numbers[arguments[0]])
                if not math.isnan(numbers[arguments[0]]):
                    self._sure.add(self._real[k])
            else:
                self._write(Op(op), f"%v{k}", k, [a for a in arguments if a >= 0])
                if op in (Op.MIN, Op.MAX) and any(self._real[a] in self._sure for a in arguments[:2]):
                    self._sure.add(self._real[k])

    def outputs(self) -> list[str]:
        return [self.real(k) for k in self.block.outputs.tolist()]

    def real(self, k: int) -> str:
        if k not in self._real:
            one, zero = self.on.number(1.0), self.on.number(0.0)
            self._real[k] = self._line(
                f"select {self.on.mask} {self._mask[k]}, {self.on.real} {one}, {self.on.real} {zero}"
            )
        return self._real[k]

    def mask(self, k: int) -> str:
        if k not in self._mask:
            self._mask[k] = self._line(f"fcmp une {self.on.real} {self._real[k]}, {self.on.number(0.0)}")
        return self._mask[k]

    def _line(self, text: str) -> str:
        self._fresh += 1
        name = f"%t{self._fresh}"
        self.lines.append(f"{name} = {text}")
        return name

    def _call(self, intrinsic: str, *values: str) -> str:
        real, suffix = self.on.real, self.on.suffix
        self.on.declare(f"{real} @llvm.{intrinsic}.{suffix}({', '.join([real] * len(values))})")
        return f"call {real} @llvm.{intrinsic}.{suffix}({', '.join(f'{real} {v}' for v in values)})"

    def _write(self, op: Op, name: str, k: int, arguments: list[int]) -> None:
        on = self.on
        if op in _COMPARE:
            a, b = map(self.real, arguments)
            self._mask[k] = self._line(f"fcmp {_COMPARE[op]} {on.real} {a}, {b}")
        elif op in _LOGIC:
            a, b = map(self.mask, arguments)
            self._mask[k] = self._line(f"{_LOGIC[op]} {on.mask} {a}, {b}")
        elif op == Op.NOT:
            true = "true" if on.lanes == 1 else "splat (i1 true)"
            self._mask[k] = self._line(f"xor {on.mask} {self.mask(arguments[0])}, {true}")
        else:
            self._real[k] = name
            self.lines.append(f"{name} = {self._instruction(op, arguments)}")

    def _instruction(self, op: Op, arguments: list[int]) -> str:
        on, real = self.on, self.on.real
        if op == Op.SELECT:
            chosen, other = self.real(arguments[1]), self.real(arguments[2])
            return f"select {on.mask} {self.mask(arguments[0])}, {real} {chosen}, {real} {other}"
        values = [self.real(a) for a in arguments]
        if op in _BINARY:
            return f"{_BINARY[op]} {real} {values[0]}, {values[1]}"
        if op in _INTRINSIC:
            return self._call(_INTRINSIC[op], *values)
        return _SPECIAL[op](self, *values)

    # ---- operations of several instructions ------------------------------------------------------------

    def _fma(self, a: str, b: str, c: str) -> str:
        return self._call("fma", a, b, c)

    def _negated(self, a: str) -> str:
        return self._line(self._negate(a))

    def _negate(self, a: str) -> str:
        return f"fneg {self.on.real} {a}"

    def _extreme(self, order: str, a: str, b: str) -> str:
        if a in self._sure:  # b only if it is less (or greater): one instruction on most processors
            beyond = self._line(f"fcmp {_BEYOND[order]} {self.on.real} {b}, {a}")
            return f"select {self.on.mask} {beyond}, {self.on.real} {b}, {self.on.real} {a}"
        in_order = self._line(f"fcmp {order} {self.on.real} {a}, {b}")
        is_nan = self._line(f"fcmp uno {self.on.real} {b}, {b}")
        first = self._line(f"or {self.on.mask} {in_order}, {is_nan}")
        return f"select {self.on.mask} {first}, {self.on.real} {a}, {self.on.real} {b}"

    def _copysign(self, a: str, b: str) -> str:
        signed = self._line(self._call("copysign", a, b))
        size = self._line(self._call("fabs", a))
        is_number = self._line(f"fcmp ord {self.on.real} {b}, {b}")
        return f"select {self.on.mask} {is_number}, {self.on.real} {signed}, {self.on.real} {size}"

    def _exponent(self, a: str) -> str:
        on = self.on
        bits = self._line(f"bitcast {on.real} {a} to {on.integer}")
        shifted = self._line(f"lshr {on.integer} {bits}, {on.whole(52)}")
        field = self._line(f"and {on.integer} {shifted}, {on.whole(0x7FF)}")
        number = self._line(f"uitofp {on.integer} {field} to {on.real}")
        return f"fsub {on.real} {number}, {on.number(1023.0)}"

    def _pow2(self, a: str) -> str:
        on = self.on
        shifted = self._line(f"fadd {on.real} {a}, {on.number(POW2_SHIFT)}")
        bits = self._line(f"bitcast {on.real} {shifted} to {on.integer}")
        field = self._line(f"shl {on.integer} {bits}, {on.whole(52)}")
        power = self._line(f"bitcast {on.integer} {field} to {on.real}")
        is_number = self._line(f"fcmp ord {on.real} {a}, {a}")
        return f"select {on.mask} {is_number}, {on.real} {power}, {on.real} {a}"


_SPECIAL: dict[Op, Callable[..., str]] = {
    Op.NEG: _BlockWriter._negate,
    Op.FMA: _BlockWriter._fma,
    Op.FMS: lambda w, a, b, c: w._fma(a, b, w._negated(c)),
    Op.FNMA: lambda w, a, b, c: w._fma(w._negated(a), b, c),
    Op.MIN: lambda w, a, b: w._extreme("ole", a, b),
    Op.MAX: lambda w, a, b: w._extreme("oge", a, b),
    Op.COPYSIGN: _BlockWriter._copysign,
    Op.EXPONENT: _BlockWriter._exponent,
    Op.POW2: _BlockWriter._pow2,
}
