"""Dense tiles: special code for full tiles of contiguous states, NumPy's layout of a batch.

The numbers of a tile are then contiguous in memory, at known offsets. A port with few elements is read and written by
whole vectors, from which lanes are picked; one with more elements by rows, transposed in registers. A row narrower than
a vector includes part of the next one, which later writes correct.
"""

from kempe.compiler.llvm import Emitter
from kempe.compiler.targets.tiles import transposed

FEW = 4  # elements: with more, picking lanes takes more shuffles than transposing
MOST = 64  # elements: with more, loops are as quick, and shorter


def pack(on: Emitter, name: str, source: str, tile: str, n: int) -> list[str]:
    """Lines that move a tile's numbers from the pointer `source` into n vectors from `tile` on."""
    if n <= FEW:
        rows = [f"%{name}.r{i}" for i in range(n)]
        lines = _loads(on, rows, source, [i * on.lanes for i in range(n)], n)
        columns = []
        for j in range(n):
            places = [divmod(lane * n + j, on.lanes) for lane in range(on.lanes)]
            columns.append(_picked(on, f"{name}.c{j}", rows, places, lines))
        return lines + _stores(on, name, columns, tile, [j * on.lanes for j in range(n)], n)
    lines = []
    for start in range(0, n, on.lanes):
        rows = [f"%{name}.r{start}.{lane}" for lane in range(on.lanes)]
        lines += _loads(on, rows, source, [lane * n + start for lane in range(on.lanes)], n)
        swap, columns = transposed(on, rows, f"{name}.{start}")
        kept = columns[: n - start]
        places = [(start + j) * on.lanes for j in range(len(kept))]
        lines += [*swap, *_stores(on, f"{name}.{start}", kept, tile, places, n)]
    return lines


def unpack(on: Emitter, name: str, columns: list[str], target: str) -> list[str]:
    """Lines that write the vectors `columns` as a tile's numbers from the pointer `target` on."""
    n, lines = len(columns), []
    if n <= FEW:
        rows = []
        for i in range(n):
            places = [(k % n, k // n) for k in range(i * on.lanes, (i + 1) * on.lanes)]
            rows.append(_picked(on, f"{name}.r{i}", columns, places, lines))
        return lines + _stores(on, name, rows, target, [i * on.lanes for i in range(n)], n)
    starts, blocks = range(0, n, on.lanes), []
    for start in starts:
        square = [columns[min(start + j, n - 1)] for j in range(on.lanes)]
        swap, rows = transposed(on, square, f"{name}.{start}")
        lines += swap
        blocks.append(rows)
    # In the order of addresses: the part of the next row that a row includes is overwritten.
    rows = [block[lane] for lane in range(on.lanes) for block in blocks]
    places = [lane * n + start for lane in range(on.lanes) for start in starts]
    return lines + _stores(on, name, rows, target, places, n)


def _picked(on: Emitter, name: str, sources: list[str], places: list[tuple[int, int]], lines: list[str]) -> str:
    """The vector with lanes from `places`, each a source index and a lane; adds the lines that build it."""
    found = "poison"
    for number, source in enumerate(sources):
        mine = [k for k, (which, _) in enumerate(places) if which == number]
        if len(mine) == on.lanes and [lane for _, lane in places] == list(range(on.lanes)):
            return source
        if mine:
            mask = ", ".join(f"i32 {on.lanes + lane if k in mine else k}" for k, (_, lane) in enumerate(places))
            lines.append(
                f"%{name}.{number} = shufflevector {on.real} {found}, {on.real} {source}, <{on.lanes} x i32> <{mask}>"
            )
            found = f"%{name}.{number}"
    return found


def _loads(on: Emitter, names: list[str], source: str, places: list[int], n: int) -> list[str]:
    lines = []
    for name, place in zip(names, places, strict=True):
        lines.append(f"{name}.p = getelementptr double, ptr {source}, i64 {place}")
        inside = on.lanes * n - place
        if inside >= on.lanes:
            lines.append(f"{name} = load {on.real}, ptr {name}.p, align 8")
        else:
            load = f"@llvm.masked.load.v{on.lanes}f64.p0"
            on.declare(f"{on.real} {load}(ptr, {on.mask}, {on.real})")
            lines.append(
                f"{name} = call {on.real} {load}(ptr align 8 {name}.p, {_first(on, inside)}, {on.real} zeroinitializer)"
            )
    return lines


def _stores(on: Emitter, name: str, values: list[str], target: str, places: list[int], n: int) -> list[str]:
    lines = []
    for k, (value, place) in enumerate(zip(values, places, strict=True)):
        pointer = f"%{name}.w{k}"
        lines.append(f"{pointer} = getelementptr double, ptr {target}, i64 {place}")
        inside = on.lanes * n - place
        if inside >= on.lanes:
            lines.append(f"store {on.real} {value}, ptr {pointer}, align 8")
        else:
            store = f"@llvm.masked.store.v{on.lanes}f64.p0"
            on.declare(f"void {store}({on.real}, ptr, {on.mask})")
            lines.append(f"call void {store}({on.real} {value}, ptr align 8 {pointer}, {_first(on, inside)})")
    return lines


def _first(on: Emitter, count: int) -> str:
    """A mask of the first `count` lanes."""
    bits = ", ".join(f"i1 {'true' if k < count else 'false'}" for k in range(on.lanes))
    return f"{on.mask} <{bits}>"
