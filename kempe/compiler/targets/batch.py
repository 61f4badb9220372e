"""CPU, batches: many states at once, one state per vector lane:

    void kempe_batch(int64_t count, const double *const *inputs, const int64_t *input_strides,
                     double *const *outputs, const int64_t *output_strides, double *work)

Element j of state i of argument k is at `inputs[k][i * strides[2k] + j * strides[2k + 1]]`; a stride of 0 between
states shares one value among all. States are processed in tiles of `lanes`; in a last, partial tile the remaining
lanes repeat the last state. `kempe_batch_workspace()` returns how many doubles `work` must hold. Each lane computes
the same result as the scalar code, bit for bit.
"""

from kempe.compiler.llvm import Emitter
from kempe.compiler.program import Program
from kempe.compiler.targets import dense, tiles

SYMBOL = "kempe_batch"
WORKSPACE = "kempe_batch_workspace"  # int64_t kempe_batch_workspace(void)


def emit(program: Program, lanes: int) -> str:
    """The LLVM module of a prepared program."""
    on = Emitter(lanes)
    tiles.define(on)
    define_run(on, program)
    tile = []
    for k, port in enumerate(program.inputs):
        n = port.size
        place, *general = pack_input(program, lanes, k)
        quick = dense.pack(on, f"d.in{k}", f"%infrom{k}", f"%into{k}", n)
        tile += [place, *_either(f"in{k}", n, quick, general)]
    tile.append("call void @run(ptr %work)")
    for k, slots in enumerate(program.sources):
        table = on.table(f"source{k}", "i32", [str(slot) for slot in slots.tolist()] or ["0"])
        general = [
            f"call void @unpack(ptr %work, ptr {table}, ptr %out{k}, i64 %outlane{k}, i64 %outelement{k}, "
            f"i64 %first, i64 %last, i64 {len(slots)})"
        ]
        quick = []
        for j, slot in enumerate(slots.tolist()):
            quick += [
                f"%o{k}.{j}.p = getelementptr double, ptr %work, i64 {slot * lanes}",
                f"%o{k}.{j} = load {on.real}, ptr %o{k}.{j}.p, align 8",
            ]
        quick += dense.unpack(on, f"d.out{k}", [f"%o{k}.{j}" for j in range(len(slots))], f"%outfrom{k}")
        tile += _either(f"out{k}", len(slots), quick, general)
    lines = [
        "entry:",
        *load_arguments(program),
        "%last = sub i64 %count, 1",
        "%any = icmp sgt i64 %count, 0",
        "br i1 %any, label %tile, label %done",
        "tile:",
        "%first = phi i64 [ 0, %entry ], [ %following, %tiled ]",
        f"%following = add i64 %first, {lanes}",
        "%full = icmp sle i64 %following, %count",
        *tile,
        "br label %tiled",
        "tiled:",
        "%more = icmp slt i64 %following, %count",
        "br i1 %more, label %tile, label %done",
        "done:",
        "ret void",
    ]
    on.add_function(
        f"void @{SYMBOL}(i64 %count, ptr %inputs, ptr %instrides, ptr %outputs, ptr %outstrides, ptr %work)", lines
    )
    on.add_function(f"i64 @{WORKSPACE}()", [f"ret i64 {lanes * (program.workspace + lanes)}"])
    return on.module()


def load_arguments(program: Program) -> list[str]:
    """Lines that name the addresses of arguments (%in0, %out0, ..) and their strides (%inlane0, ..)."""
    lines = []
    for side, ports in (("in", program.inputs), ("out", program.outputs)):
        for k in range(len(ports)):
            lines += [
                f"%{side}at{k} = getelementptr ptr, ptr %{side}puts, i64 {k}",
                f"%{side}{k} = load ptr, ptr %{side}at{k}",
                f"%{side}l{k} = getelementptr i64, ptr %{side}strides, i64 {2 * k}",
                f"%{side}lane{k} = load i64, ptr %{side}l{k}",
                f"%{side}e{k} = getelementptr i64, ptr %{side}strides, i64 {2 * k + 1}",
                f"%{side}element{k} = load i64, ptr %{side}e{k}",
            ]
    return lines


def pack_input(program: Program, lanes: int, k: int) -> list[str]:
    """Lines that pack an input of the states from %first on into the tile."""
    return [
        f"%into{k} = getelementptr double, ptr %work, i64 {program.input_slots[k].start * lanes}",
        f"call void @pack(ptr %in{k}, i64 %inlane{k}, i64 %inelement{k}, i64 %first, i64 %last, "
        f"ptr %into{k}, i64 {program.inputs[k].size})",
    ]


def define_run(on: Emitter, program: Program) -> None:
    """Adds @run(work): the program over a tile that contains the inputs."""
    if program.is_single_block:
        on.add_function("internal void @run(ptr %work)", ["entry:", *_single_block(on, program), "ret void"])
    else:
        on.runner(program)


def _either(port: str, n: int, quick: list[str], general: list[str]) -> list[str]:
    """Lines that choose how to move a port's numbers: the quick way for a full tile of contiguous states."""
    if not 0 < n <= dense.MOST:
        return general
    side = port.rstrip("0123456789")
    number = port.removeprefix(side)
    return [
        f"%{port}.dense = icmp eq i64 %{side}lane{number}, {n}",
        f"%{port}.side = icmp eq i64 %{side}element{number}, 1",
        f"%{port}.both = and i1 %{port}.dense, %{port}.side",
        f"%{port}.quick = and i1 %{port}.both, %full",
        f"br i1 %{port}.quick, label %{port}.d, label %{port}.g",
        f"{port}.d:",
        f"%{port}.at = mul i64 %first, {n}",
        f"%{side}from{number} = getelementptr double, ptr %{port}, i64 %{port}.at",
        *quick,
        f"br label %{port}.moved",
        f"{port}.g:",
        *general,
        f"br label %{port}.moved",
        f"{port}.moved:",
    ]


def _single_block(on: Emitter, program: Program) -> list[str]:
    def address(slot: int) -> tuple[list[str], str]:
        return [f"%p{slot} = getelementptr double, ptr %work, i64 {slot * on.lanes}"], f"%p{slot}"

    lines, values = on.inline(program, address)
    for slot in sorted({slot for slots in program.sources for slot in slots.tolist()}):
        if slot >= program.constant_slots.start:  # inputs are there already
            lines += [
                f"%w{slot} = getelementptr double, ptr %work, i64 {slot * on.lanes}",
                f"store {on.real} {values[slot]}, ptr %w{slot}, align 8",
            ]
    return lines
