"""Explain: a program as readable text."""

from kempe.compiler.count import count
from kempe.compiler.operations import PHRASE, Op
from kempe.compiler.program import Block, Program


def explain(program: Program, limit: int | None = 60) -> str:
    """The program in words and lines of algebra; `limit` caps the lines shown of each block (None: all)."""
    counts = count(program)
    lines = [
        f"{program.name}: {', '.join(map(str, program.inputs))} -> {', '.join(map(str, program.outputs))}",
        f"{counts.multiplications} multiplications, {counts.additions} additions, {counts.divisions} divisions, "
        f"{counts.square_roots} square roots, {counts.sincos} sines and cosines, "
        f"{counts.other_functions + counts.other} others; longest chain {counts.critical_path}",
    ]
    names = _slot_names(program)
    outputs = _output_names(program)
    if program.is_single_block:
        (call,) = program.calls
        operands = [names[slot] for slot in call.reads[0].tolist()]
        results = [outputs.get(slot, ["unused"]) for slot in call.writes[0].tolist()]
        lines += _block_lines(program.blocks[call.block], operands, results, limit)
        written = set(call.writes[0].tolist())
        through = [f"  {name} = {names[slot]}" for slot, to in outputs.items() if slot not in written for name in to]
        return "\n".join([*lines, *_capped(through, limit)])
    lines.append(
        f"{len(program.calls)} calls of {len(program.blocks)} blocks over {program.workspace} slots: "
        f"{program.constant_slots.start} of inputs, {len(program.constants)} constants"
    )
    for call in program.calls:
        block = program.blocks[call.block]
        times = "once" if call.repeat == 1 else f"{call.repeat} times"
        slots = _ranges(sorted(call.writes.ravel().tolist()))
        lines.append(
            f"  run block {call.block}, {block.name}, {times} ({len(block)} instructions, takes {block.arity}, "
            f"gives {len(block.outputs)}), into slots {slots}"
        )
    for port, slots in zip(program.outputs, program.sources, strict=True):
        lines.append(f"  {port} is slots {_ranges(slots.tolist())}")
    for number, block in enumerate(program.blocks):
        lines.append(f"block {number}, {block.name}:")
        results = [[f"result[{k}]"] for k in range(len(block.outputs))]
        lines += _block_lines(block, [f"x[{k}]" for k in range(block.arity)], results, limit)
    return "\n".join(lines)


def _indexed(name: str, shape: tuple[int, ...], position: int) -> str:
    if not shape:
        return name
    if len(shape) == 1:
        return f"{name}[{position}]"
    return f"{name}[{position // shape[1]}, {position % shape[1]}]"


def _slot_names(program: Program) -> dict[int, str]:
    names = {}
    for port, slots in zip(program.inputs, program.input_slots, strict=True):
        for k in range(port.size):
            names[slots.start + k] = _indexed(port.name, port.shape, k)
    for k, number in enumerate(program.constants.tolist()):
        names[program.constant_slots.start + k] = repr(number)
    return names


def _output_names(program: Program) -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for port, slots in zip(program.outputs, program.sources, strict=True):
        for k, slot in enumerate(slots.tolist()):
            names.setdefault(slot, []).append(_indexed(port.name, port.shape, k))
    return names


def _block_lines(block: Block, operands: list[str], results: list[list[str]], limit: int | None) -> list[str]:
    names = list(operands)
    lines = []
    for op, *arguments in block.code.tolist():
        if op == Op.CONST:
            names.append(f"{float(block.constants[arguments[0]])!r}")
            continue
        phrase = PHRASE[Op(op)].format(*(names[a] for a in arguments if a >= 0))
        names.append(f"t{len(lines)}")
        lines.append(f"  {names[-1]} = {phrase}")
    ends = [
        f"  {name} = {names[value]}" for value, to in zip(block.outputs.tolist(), results, strict=True) for name in to
    ]
    return [*_capped(lines, limit), *_capped(ends, limit)]


def _capped(lines: list[str], limit: int | None) -> list[str]:
    if limit is None or len(lines) <= limit:
        return lines
    return [*lines[:limit], f"  ... and {len(lines) - limit} more lines"]


def _ranges(numbers: list[int]) -> str:
    """Numbers in words: 3 to 7, 9."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    shown = [str(a) if a == b else f"{a} to {b}" for a, b in parts[:8]]
    return ", ".join(shown) + (", ..." if len(parts) > 8 else "") if parts else "none"
