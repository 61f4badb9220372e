"""CPU, many states at once, one state per vector lane:

    void kempe_batch(int64_t count, const double *const *inputs, const int64_t *input_strides,
                     double *const *outputs, const int64_t *output_strides, double *work)

Element j of state i of argument k is at `inputs[k][i * strides[2k] + j * strides[2k + 1]]`; a stride of 0 between
states shares one value among all. States are worked on in tiles of `lanes`; the lanes of a last, partial tile
that have no state of their own repeat the last one. `kempe_batch_workspace()` says how many doubles `work` must
hold. Each lane computes exactly what the scalar code does, bit for bit.
"""

from kempe.compiler.llvm import Emitter
from kempe.compiler.program import Program

SYMBOL = "kempe_batch"
WORKSPACE = "kempe_batch_workspace"  # int64_t kempe_batch_workspace(void)


def emit(program: Program, lanes: int) -> str:
    """The module of a prepared program."""
    on = Emitter(lanes)
    on.add_function(
        "internal void @pack(ptr %from, i64 %lane, i64 %element, i64 %first, i64 %last, ptr %to, i64 %n)", _pack(on)
    )
    on.add_function(
        "internal void @unpack(ptr %from, ptr %table, ptr %to, i64 %lane, i64 %element, i64 %first, i64 %last, i64 %n)",
        _unpack(on),
    )
    arguments, tile = [], []
    for side, ports in (("in", program.inputs), ("out", program.outputs)):
        for k in range(len(ports)):
            arguments += [
                f"%{side}at{k} = getelementptr ptr, ptr %{side}puts, i64 {k}",
                f"%{side}{k} = load ptr, ptr %{side}at{k}",
                f"%{side}l{k} = getelementptr i64, ptr %{side}strides, i64 {2 * k}",
                f"%{side}lane{k} = load i64, ptr %{side}l{k}",
                f"%{side}e{k} = getelementptr i64, ptr %{side}strides, i64 {2 * k + 1}",
                f"%{side}element{k} = load i64, ptr %{side}e{k}",
            ]
    for k, slots in enumerate(program.input_slots):
        tile += [
            f"%into{k} = getelementptr double, ptr %work, i64 {slots.start * lanes}",
            f"call void @pack(ptr %in{k}, i64 %inlane{k}, i64 %inelement{k}, i64 %first, i64 %last, "
            f"ptr %into{k}, i64 {program.inputs[k].size})",
        ]
    if program.is_single_block:
        tile += _single_block(on, program)
    else:
        on.runner(program)
        tile.append("call void @run(ptr %work)")
    for k, slots in enumerate(program.sources):
        table = on.table(f"source{k}", "i32", [str(slot) for slot in slots.tolist()] or ["0"])
        tile.append(
            f"call void @unpack(ptr %work, ptr {table}, ptr %out{k}, i64 %outlane{k}, i64 %outelement{k}, "
            f"i64 %first, i64 %last, i64 {len(slots)})"
        )
    lines = [
        "entry:",
        *arguments,
        "%last = sub i64 %count, 1",
        "%any = icmp sgt i64 %count, 0",
        "br i1 %any, label %tile, label %done",
        "tile:",
        "%first = phi i64 [ 0, %entry ], [ %following, %tile ]",
        *tile,
        f"%following = add i64 %first, {lanes}",
        "%more = icmp slt i64 %following, %count",
        "br i1 %more, label %tile, label %done",
        "done:",
        "ret void",
    ]
    on.add_function(
        f"void @{SYMBOL}(i64 %count, ptr %inputs, ptr %instrides, ptr %outputs, ptr %outstrides, ptr %work)", lines
    )
    on.add_function(f"i64 @{WORKSPACE}()", [f"ret i64 {lanes * program.workspace}"])
    return on.module()


def _single_block(on: Emitter, program: Program) -> list[str]:
    lines, values = [], {}
    for slot in range(program.constant_slots.start):
        lines += [
            f"%p{slot} = getelementptr double, ptr %work, i64 {slot * on.lanes}",
            f"%x{slot} = load {on.real}, ptr %p{slot}, align 8",
        ]
        values[slot] = f"%x{slot}"
    for slot, number in enumerate(program.constants.tolist(), start=program.constant_slots.start):
        values[slot] = on.number(number)
    (call,) = program.calls
    body, results = on.body(program.blocks[call.block], [values[slot] for slot in call.reads[0].tolist()])
    lines += body
    values |= dict(zip(call.writes[0].tolist(), results, strict=True))
    for slot in sorted({slot for slots in program.sources for slot in slots.tolist()}):
        lines += [
            f"%w{slot} = getelementptr double, ptr %work, i64 {slot * on.lanes}",
            f"store {on.real} {values[slot]}, ptr %w{slot}, align 8",
        ]
    return lines


def _lane_offsets(on: Emitter) -> list[str]:
    """%offset{l}: how far state `first + l`, or the last one, is from the first of all."""
    on.declare("i64 @llvm.smin.i64(i64, i64)")
    lines = []
    for lane in range(on.lanes):
        lines += [
            f"%state{lane} = add i64 %first, {lane}",
            f"%within{lane} = call i64 @llvm.smin.i64(i64 %state{lane}, i64 %last)",
            f"%offset{lane} = mul i64 %within{lane}, %lane",
        ]
    return [
        *lines,
        f"%full = icmp sle i64 %state{on.lanes - 1}, %last",
        "%together = icmp eq i64 %lane, 1",
        "%quick = and i1 %full, %together",
        "%some = icmp sgt i64 %n, 0",
    ]


def _loop(name: str, before: str, body: list[str]) -> list[str]:
    """`body` for j = 0 .. n-1; in it %j.name counts and %e.name is j times the stride of elements."""
    return [
        f"{name}:",
        f"%j.{name} = phi i64 [ 0, %{before} ], [ %next.{name}, %{name} ]",
        f"%e.{name} = mul i64 %j.{name}, %element",
        *body,
        f"%next.{name} = add i64 %j.{name}, 1",
        f"%more.{name} = icmp slt i64 %next.{name}, %n",
        f"br i1 %more.{name}, label %{name}, label %done",
    ]


def _pack(on: Emitter) -> list[str]:
    """to[j][lane] = from[state * lane + j * element]."""
    together = [
        "%p.fast = getelementptr double, ptr %from, i64 %e.fast",
        "%q.fast = getelementptr double, ptr %p.fast, i64 %first",
        f"%x.fast = load {on.real}, ptr %q.fast, align 8",
        f"%s.fast = mul i64 %j.fast, {on.lanes}",
        "%t.fast = getelementptr double, ptr %to, i64 %s.fast",
        f"store {on.real} %x.fast, ptr %t.fast, align 8",
    ]
    apart = ["%p.slow = getelementptr double, ptr %from, i64 %e.slow"]
    tile = "poison"
    for lane in range(on.lanes):
        apart += [
            f"%q{lane} = getelementptr double, ptr %p.slow, i64 %offset{lane}",
            f"%x{lane} = load double, ptr %q{lane}, align 8",
            f"%y{lane} = insertelement {on.real} {tile}, double %x{lane}, i64 {lane}",
        ]
        tile = f"%y{lane}"
    apart += [
        f"%s.slow = mul i64 %j.slow, {on.lanes}",
        "%t.slow = getelementptr double, ptr %to, i64 %s.slow",
        f"store {on.real} {tile}, ptr %t.slow, align 8",
    ]
    return [
        "entry:",
        *_lane_offsets(on),
        "br i1 %some, label %choose, label %done",
        "choose:",
        "br i1 %quick, label %fast, label %slow",
        *_loop("fast", "choose", together),
        *_loop("slow", "choose", apart),
        "done:",
        "ret void",
    ]


def _unpack(on: Emitter) -> list[str]:
    """to[state * lane + j * element] = from[table[j]][lane], for the states there are."""

    def source(name: str) -> list[str]:
        return [
            f"%r.{name} = getelementptr i32, ptr %table, i64 %j.{name}",
            f"%i.{name} = load i32, ptr %r.{name}",
            f"%z.{name} = zext i32 %i.{name} to i64",
            f"%s.{name} = mul i64 %z.{name}, {on.lanes}",
            f"%t.{name} = getelementptr double, ptr %from, i64 %s.{name}",
            f"%x.{name} = load {on.real}, ptr %t.{name}, align 8",
            f"%p.{name} = getelementptr double, ptr %to, i64 %e.{name}",
        ]

    together = [
        *source("fast"),
        "%q.fast = getelementptr double, ptr %p.fast, i64 %first",
        f"store {on.real} %x.fast, ptr %q.fast, align 8",
    ]
    # In a partial tile the lanes beyond the last state repeat it, so writing them again writes the same.
    apart = source("slow")
    for lane in range(on.lanes):
        apart += [
            f"%y{lane} = extractelement {on.real} %x.slow, i64 {lane}",
            f"%q{lane} = getelementptr double, ptr %p.slow, i64 %offset{lane}",
            f"store double %y{lane}, ptr %q{lane}, align 8",
        ]
    return [
        "entry:",
        *_lane_offsets(on),
        "br i1 %some, label %choose, label %done",
        "choose:",
        "br i1 %quick, label %fast, label %slow",
        *_loop("fast", "choose", together),
        *_loop("slow", "choose", apart),
        "done:",
        "ret void",
    ]
