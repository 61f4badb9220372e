"""Tiles: code that moves states between user arrays and tiles, in which each value has one lane per state.

There are three ways, depending on the layout of the array: contiguous states (each value is one vector load),
contiguous elements (NumPy's layout of a batch: rows are loaded and transposed in registers), or neither (number by
number). Rows may be read into up to one vector of slots beyond the last element, so a tile needs that much room
behind it.
"""

from kempe.compiler.llvm import Emitter

PACK = "void @pack(ptr %from, i64 %lane, i64 %element, i64 %first, i64 %last, ptr %to, i64 %n)"
UNPACK = "void @unpack(ptr %from, ptr %table, ptr %to, i64 %lane, i64 %element, i64 %first, i64 %last, i64 %n)"


def define(on: Emitter) -> None:
    """Adds both functions to a module.

    pack:   to[j][l] = from[state * lane + j * element], state = first + l, or the last one if that is beyond it
    unpack: to[state * lane + j * element] = from[table[j]][l]
    """
    on.add_function(f"internal {PACK}", _function(on, _pack_side_by_side(on), _pack_rows(on), _pack_singly(on)))
    on.add_function(f"internal {UNPACK}", _function(on, _unpack_side_by_side(on), _unpack_rows(on), _unpack_singly(on)))


def _function(on: Emitter, side_by_side: list[str], rows: list[str], singly: list[str]) -> list[str]:
    on.declare("i64 @llvm.smin.i64(i64, i64)")
    lanes = []
    for lane in range(on.lanes):
        lanes += [
            f"%state{lane} = add i64 %first, {lane}",
            f"%within{lane} = call i64 @llvm.smin.i64(i64 %state{lane}, i64 %last)",
            f"%offset{lane} = mul i64 %within{lane}, %lane",
        ]
    return [
        "entry:",
        *lanes,
        "%some = icmp sgt i64 %n, 0",
        "br i1 %some, label %choose, label %done",
        "choose:",
        f"%full = icmp sle i64 %state{on.lanes - 1}, %last",
        "%states.together = icmp eq i64 %lane, 1",
        "%quick = and i1 %full, %states.together",
        "br i1 %quick, label %s, label %otherwise",
        "otherwise:",
        "%elements.together = icmp eq i64 %element, 1",
        "br i1 %elements.together, label %r, label %o",
        *_loop("s", "choose", 1, side_by_side),
        *_loop("r", "otherwise", on.lanes, rows),
        *_loop("o", "otherwise", 1, singly),
        "done:",
        "ret void",
    ]


def _loop(name: str, before: str, step: int, body: list[str]) -> list[str]:
    """A loop over `body` for j = 0, step, .. below n; %name.j is j, and %name.e is j times the stride of elements."""
    return [
        f"{name}:",
        f"%{name}.j = phi i64 [ 0, %{before} ], [ %{name}.next, %{name} ]",
        f"%{name}.e = mul i64 %{name}.j, %element",
        *body,
        f"%{name}.next = add i64 %{name}.j, {step}",
        f"%{name}.more = icmp slt i64 %{name}.next, %n",
        f"br i1 %{name}.more, label %{name}, label %done",
    ]


def _tile_pointer(on: Emitter, name: str, tile: str) -> list[str]:
    """%name.tile: the address of the values of element j."""
    return [
        f"%{name}.k = mul i64 %{name}.j, {on.lanes}",
        f"%{name}.tile = getelementptr double, ptr {tile}, i64 %{name}.k",
    ]


def _table_vector(on: Emitter, name: str, element: str) -> list[str]:
    """%name.x: the values of an element's slot in the table."""
    return [
        f"%{name}.t = getelementptr i32, ptr %table, i64 {element}",
        f"%{name}.i = load i32, ptr %{name}.t",
        f"%{name}.z = zext i32 %{name}.i to i64",
        f"%{name}.y = mul i64 %{name}.z, {on.lanes}",
        f"%{name}.v = getelementptr double, ptr %from, i64 %{name}.y",
        f"%{name}.x = load {on.real}, ptr %{name}.v, align 8",
    ]


# ---- contiguous states -----------------------------------------------------------------------------------


def _pack_side_by_side(on: Emitter) -> list[str]:
    return [
        "%s.p = getelementptr double, ptr %from, i64 %s.e",
        "%s.q = getelementptr double, ptr %s.p, i64 %first",
        f"%s.x = load {on.real}, ptr %s.q, align 8",
        *_tile_pointer(on, "s", "%to"),
        f"store {on.real} %s.x, ptr %s.tile, align 8",
    ]


def _unpack_side_by_side(on: Emitter) -> list[str]:
    return [
        *_table_vector(on, "s", "%s.j"),
        "%s.p = getelementptr double, ptr %to, i64 %s.e",
        "%s.q = getelementptr double, ptr %s.p, i64 %first",
        f"store {on.real} %s.x, ptr %s.q, align 8",
    ]


# ---- contiguous elements: a square of lanes x lanes numbers at a time ------------------------------------


def transposed(on: Emitter, names: list[str], prefix: str = "x") -> tuple[list[str], list[str]]:
    """Lines that transpose a square given by rows, by swapping halves, quarters, .., and the names of the new rows."""
    lines, size, rows = [], on.lanes, list(names)
    span = 1
    while span < size:
        new = list(rows)
        for i in range(size):
            if not i & span:
                pair = f"{on.real} {rows[i]}, {on.real} {rows[i + span]}"
                low = [k if not k & span else size + k - span for k in range(size)]
                high = [k + span if not k & span else size + k for k in range(size)]
                for row, pick in ((i, low), (i + span, high)):
                    new[row] = f"%{prefix}.{span}.{row}"
                    mask = ", ".join(f"i32 {k}" for k in pick)
                    lines.append(f"{new[row]} = shufflevector {pair}, <{size} x i32> <{mask}>")
        rows, span = new, 2 * span
    return lines, rows


def _present(on: Emitter) -> list[str]:
    """%r.present: which of the elements j .. j + lanes - 1 exist."""
    order = ", ".join(f"i64 {k}" for k in range(on.lanes))
    return [
        "%r.left = sub i64 %n, %r.j",
        f"%r.one = insertelement {on.integer} poison, i64 %r.left, i64 0",
        f"%r.all = shufflevector {on.integer} %r.one, {on.integer} poison, <{on.lanes} x i32> zeroinitializer",
        f"%r.present = icmp slt {on.integer} <{order}>, %r.all",
    ]


def _pack_rows(on: Emitter) -> list[str]:
    load = f"@llvm.masked.load.v{on.lanes}f64.p0"
    on.declare(f"{on.real} {load}(ptr, {on.mask}, {on.real})")
    lines = _present(on)
    for lane in range(on.lanes):
        lines += [
            f"%r.p{lane} = getelementptr double, ptr %from, i64 %offset{lane}",
            f"%r.q{lane} = getelementptr double, ptr %r.p{lane}, i64 %r.j",
            f"%r.x{lane} = call {on.real} {load}"
            f"(ptr align 8 %r.q{lane}, {on.mask} %r.present, {on.real} zeroinitializer)",
        ]
    swap, columns = transposed(on, [f"%r.x{lane}" for lane in range(on.lanes)])
    lines += [*swap, *_tile_pointer(on, "r", "%to")]
    for k, column in enumerate(columns):
        lines += [
            f"%r.w{k} = getelementptr double, ptr %r.tile, i64 {k * on.lanes}",
            f"store {on.real} {column}, ptr %r.w{k}, align 8",
        ]
    return lines


def _unpack_rows(on: Emitter) -> list[str]:
    store = f"@llvm.masked.store.v{on.lanes}f64.p0"
    on.declare(f"void {store}({on.real}, ptr, {on.mask})")
    lines = [*_present(on), "%r.end = sub i64 %n, 1"]
    for k in range(on.lanes):
        lines += [
            f"%r.k{k} = add i64 %r.j, {k}",
            f"%r.m{k} = call i64 @llvm.smin.i64(i64 %r.k{k}, i64 %r.end)",
            *_table_vector(on, f"r{k}", f"%r.m{k}"),
        ]
    swap, rows = transposed(on, [f"%r{k}.x" for k in range(on.lanes)])
    lines += swap
    for lane, row in enumerate(rows):
        lines += [
            f"%r.p{lane} = getelementptr double, ptr %to, i64 %offset{lane}",
            f"%r.q{lane} = getelementptr double, ptr %r.p{lane}, i64 %r.j",
            f"call void {store}({on.real} {row}, ptr align 8 %r.q{lane}, {on.mask} %r.present)",
        ]
    return lines


# ---- number by number ------------------------------------------------------------------------------------


def _pack_singly(on: Emitter) -> list[str]:
    lines = ["%o.p = getelementptr double, ptr %from, i64 %o.e"]
    tile = "poison"
    for lane in range(on.lanes):
        lines += [
            f"%o.q{lane} = getelementptr double, ptr %o.p, i64 %offset{lane}",
            f"%o.x{lane} = load double, ptr %o.q{lane}, align 8",
            f"%o.y{lane} = insertelement {on.real} {tile}, double %o.x{lane}, i64 {lane}",
        ]
        tile = f"%o.y{lane}"
    return [*lines, *_tile_pointer(on, "o", "%to"), f"store {on.real} {tile}, ptr %o.tile, align 8"]


def _unpack_singly(on: Emitter) -> list[str]:
    """In a partial tile the lanes beyond the last state repeat it, so writing them changes nothing."""
    lines = [*_table_vector(on, "o", "%o.j"), "%o.p = getelementptr double, ptr %to, i64 %o.e"]
    for lane in range(on.lanes):
        lines += [
            f"%o.x{lane} = extractelement {on.real} %o.x, i64 {lane}",
            f"%o.q{lane} = getelementptr double, ptr %o.p, i64 %offset{lane}",
            f"store double %o.x{lane}, ptr %o.q{lane}, align 8",
        ]
    return lines
