"""CPU, one state: `void kempe(const double *const *inputs, double *const *outputs, double *work)`.

All inputs are read before the first output is written, so an output may be the same array as an input.
`kempe_workspace()` returns how many doubles `work` must hold; a program of one block needs none.
"""

from kempe.compiler.llvm import Emitter
from kempe.compiler.program import Program

SYMBOL = "kempe"
WORKSPACE = "kempe_workspace"  # int64_t kempe_workspace(void)


# Up to this many numbers in and out, each has its own load or store; beyond, loops copy them.
FEW_ENTRIES = 400


def emit(program: Program) -> str:
    """The LLVM module of a prepared program."""
    on = Emitter(lanes=1)
    lines = ["entry:"]
    for side, ports in (("in", program.inputs), ("out", program.outputs)):
        for k in range(len(ports)):
            lines += [
                f"%{side}at{k} = getelementptr ptr, ptr %{side}puts, i64 {k}",
                f"%{side}{k} = load ptr, ptr %{side}at{k}",
            ]
    entries = sum(port.size for port in (*program.inputs, *program.outputs))
    direct = program.is_single_block and entries <= FEW_ENTRIES
    lines += _single_block(on, program) if direct else _many_calls(on, program)
    on.add_function(f"void @{SYMBOL}(ptr %inputs, ptr %outputs, ptr %work)", [*lines, "ret void"])
    on.add_function(f"i64 @{WORKSPACE}()", [f"ret i64 {0 if direct else program.workspace}"])
    return on.module()


def _single_block(on: Emitter, program: Program) -> list[str]:
    place = {
        slots.start + j: (k, j) for k, slots in enumerate(program.input_slots) for j in range(program.inputs[k].size)
    }

    def address(slot: int) -> tuple[list[str], str]:
        k, j = place[slot]
        return [f"%p{slot} = getelementptr double, ptr %in{k}, i64 {j}"], f"%p{slot}"

    lines, values = on.inline(program, address)
    for k, slots in enumerate(program.sources):
        for j, slot in enumerate(slots.tolist()):
            lines += [
                f"%w{k}.{j} = getelementptr double, ptr %out{k}, i64 {j}",
                f"store double {values[slot]}, ptr %w{k}.{j}, align 8",
            ]
    return lines


def _many_calls(on: Emitter, program: Program) -> list[str]:
    on.runner(program)
    on.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    on.add_function("internal void @collect(ptr %work, ptr %table, ptr %to, i64 %n)", _COLLECT)
    lines = []
    for k, slots in enumerate(program.input_slots):
        lines += [
            f"%x{k} = getelementptr double, ptr %work, i64 {slots.start}",
            f"call void @llvm.memcpy.p0.p0.i64(ptr %x{k}, ptr %in{k}, i64 {8 * program.inputs[k].size}, i1 false)",
        ]
    lines.append("call void @run(ptr %work)")
    for k, slots in enumerate(program.sources):
        if len(slots):
            table = on.table(f"source{k}", "i32", [str(slot) for slot in slots.tolist()])
            lines.append(f"call void @collect(ptr %work, ptr {table}, ptr %out{k}, i64 {len(slots)})")
    return lines


# to[j] = work[table[j]] for j < n, n > 0
_COLLECT = """entry:
br label %loop
loop:
%j = phi i64 [ 0, %entry ], [ %next, %loop ]
%at = getelementptr i32, ptr %table, i64 %j
%slot = load i32, ptr %at
%place = zext i32 %slot to i64
%source = getelementptr double, ptr %work, i64 %place
%value = load double, ptr %source, align 8
%target = getelementptr double, ptr %to, i64 %j
store double %value, ptr %target, align 8
%next = add i64 %j, 1
%more = icmp slt i64 %next, %n
br i1 %more, label %loop, label %done
done:
ret void""".splitlines()
