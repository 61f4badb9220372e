"""CPU, iteration: many states at once, each advanced by a program many times before the next ones:

    void kempe_iterate(int64_t count, const double *const *inputs, const int64_t *input_strides,
                       double *const *outputs, const int64_t *output_strides, double *work)

The outputs of the program are fed back as its first inputs: they are a state. The other inputs are given. Arguments are
laid out as for `batch`. After the strides of the outputs follow the number of rows to write, the number of evaluations
before each, for every input the stride to its values for the next evaluation (0: constant), and for every output the
stride to its next row. States stay in the tile, one per lane, from the first evaluation to the last.
"""

from kempe.compiler.llvm import Emitter
from kempe.compiler.program import Program
from kempe.compiler.targets import batch, tiles

SYMBOL = "kempe_iterate"
WORKSPACE = "kempe_iterate_workspace"  # int64_t kempe_iterate_workspace(void)


def emit(program: Program, lanes: int) -> str:
    """The LLVM module of a prepared program whose outputs fit its first inputs."""
    on = Emitter(lanes)
    tiles.define(on)
    batch.define_run(on, program)
    inputs, outputs = program.inputs, program.outputs
    state = sum(port.size for port in outputs)
    end = lanes * (program.workspace + lanes)  # end of the memory of `run`; results wait behind it until all are read
    _define_feed(on, program, end)
    behind = 2 * len(outputs)
    entry = [
        "entry:",
        *batch.load_arguments(program),
        f"%behind = getelementptr double, ptr %work, i64 {end}",
    ]
    for name, at in (("rows", behind), ("every", behind + 1)):
        entry += [f"%{name}.at = getelementptr i64, ptr %outstrides, i64 {at}", f"%{name} = load i64, ptr %{name}.at"]
    for side, ports, first in (("in", inputs, behind + 2), ("out", outputs, behind + 2 + len(inputs))):
        for k in range(len(ports)):
            entry += [
                f"%{side}b{k} = getelementptr i64, ptr %outstrides, i64 {first + k}",
                f"%{side}between{k} = load i64, ptr %{side}b{k}",
            ]
    pack = [line for k in range(len(inputs)) for line in batch.pack_input(program, lanes, k)]
    again = [line for k in range(len(outputs), len(inputs)) for line in _packed_anew(program, lanes, k)]
    largest = max([state, *(port.size for port in inputs)])
    unpack = []
    table = on.table("state", "i32", [str(slot) for slot in range(state)] or ["0"])
    for k, slots in enumerate(program.input_slots[: len(outputs)]):
        unpack += [
            f"%away{k} = mul i64 %row, %outbetween{k}",
            f"%to{k} = getelementptr double, ptr %out{k}, i64 %away{k}",
            f"%table{k} = getelementptr i32, ptr {table}, i64 {slots.start}",
            f"call void @unpack(ptr %work, ptr %table{k}, ptr %to{k}, i64 %outlane{k}, i64 %outelement{k}, "
            f"i64 %first, i64 %last, i64 {outputs[k].size})",
        ]
    lines = [
        *entry,
        "%last = sub i64 %count, 1",
        "%some = icmp sgt i64 %count, 0",
        "%written = icmp sgt i64 %rows, 0",
        "%stepped = icmp sgt i64 %every, 0",
        "%once = and i1 %some, %written",
        "%any = and i1 %once, %stepped",
        "br i1 %any, label %tile, label %done",
        "tile:",
        "%first = phi i64 [ 0, %entry ], [ %following, %tile.end ]",
        *pack,
        "br label %row.begin",
        "row.begin:",
        "%row = phi i64 [ 0, %tile ], [ %row.next, %row.end ]",
        "%done.before = mul i64 %row, %every",
        "br label %step",
        "step:",
        "%n = phi i64 [ 0, %row.begin ], [ %n.next, %step.end ]",
        "%evaluation = add i64 %done.before, %n",
        *again,
        "call void @run(ptr %work)",
        "call void @feed(ptr %work)",
        "br label %step.end",
        "step.end:",
        "%n.next = add i64 %n, 1",
        "%n.more = icmp slt i64 %n.next, %every",
        "br i1 %n.more, label %step, label %row.end",
        "row.end:",
        *unpack,
        "%row.next = add i64 %row, 1",
        "%row.more = icmp slt i64 %row.next, %rows",
        "br i1 %row.more, label %row.begin, label %tile.end",
        "tile.end:",
        f"%following = add i64 %first, {lanes}",
        "%more = icmp slt i64 %following, %count",
        "br i1 %more, label %tile, label %done",
        "done:",
        "ret void",
    ]
    on.add_function(
        f"void @{SYMBOL}(i64 %count, ptr %inputs, ptr %instrides, ptr %outputs, ptr %outstrides, ptr %work)", lines
    )
    on.add_function(f"i64 @{WORKSPACE}()", [f"ret i64 {end + lanes * (largest + lanes)}"])
    return on.module()


def _packed_anew(program: Program, lanes: int, k: int) -> list[str]:
    """Packs the values of an input for this evaluation, if they change. Packing writes beyond the last value, so this
    is done in a separate place first."""
    size = program.inputs[k].size
    return [
        f"%changes{k} = icmp ne i64 %inbetween{k}, 0",
        f"br i1 %changes{k}, label %anew{k}, label %kept{k}",
        f"anew{k}:",
        f"%ahead{k} = mul i64 %evaluation, %inbetween{k}",
        f"%now{k} = getelementptr double, ptr %in{k}, i64 %ahead{k}",
        f"call void @pack(ptr %now{k}, i64 %inlane{k}, i64 %inelement{k}, i64 %first, i64 %last, ptr %behind, "
        f"i64 {size})",
        f"call void @llvm.memcpy.p0.p0.i64(ptr %into{k}, ptr %behind, i64 {8 * lanes * size}, i1 false)",
        f"br label %kept{k}",
        f"kept{k}:",
    ]


def _define_feed(on: Emitter, program: Program, waiting: int) -> None:
    """Adds @feed(work): the results of the program become its state. All are read before anything is written."""
    slots = [slot for source in program.sources for slot in source.tolist()]
    table = on.table("given", "i32", [str(slot) for slot in slots] or ["0"])
    on.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    lines = [
        "entry:",
        f"%behind = getelementptr double, ptr %work, i64 {waiting}",
        "br label %loop",
        "loop:",
        "%j = phi i64 [ 0, %entry ], [ %next, %loop ]",
        f"%at = getelementptr i32, ptr {table}, i64 %j",
        "%slot = load i32, ptr %at",
        "%wide = zext i32 %slot to i64",
        f"%from = mul i64 %wide, {on.lanes}",
        "%source = getelementptr double, ptr %work, i64 %from",
        f"%value = load {on.real}, ptr %source, align 8",
        f"%to = mul i64 %j, {on.lanes}",
        "%target = getelementptr double, ptr %behind, i64 %to",
        f"store {on.real} %value, ptr %target, align 8",
        "%next = add i64 %j, 1",
        f"%more = icmp slt i64 %next, {len(slots)}",
        "br i1 %more, label %loop, label %copy",
        "copy:",
        f"call void @llvm.memcpy.p0.p0.i64(ptr %work, ptr %behind, i64 {8 * on.lanes * len(slots)}, i1 false)",
        "ret void",
    ]
    on.add_function("internal void @feed(ptr %work)", lines if slots else ["ret void"])
