"""A program as text a person can read."""

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
        lines += [f"  {name} = {names[slot]}" for slot, to in outputs.items() if slot not in written for name in to]
        return "\n".join(lines)
    lines.append(
        f"{len(program.calls)} calls of {len(program.blocks)} blocks over {program.workspace} slots: "
        f"{program.constant_slots.start} of inputs, {len(program.constants)} constants"
    )
    for call in program.calls:
        block = program.blocks[call.block]
        times = "once" if call.repeat == 1 else f"{call.repeat} times"
        lines.append(
            f"  run {block.name} {times} ({len(block)} instructions, takes {block.arity}, gives {len(block.outputs)})"
        )
    for block in program.blocks:
        lines.append(f"block {block.name}:")
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
            names.append(f"{block.constants[arguments[0]]:.17g}")
            continue
        phrase = PHRASE[Op(op)].format(*(names[a] for a in arguments if a >= 0))
        names.append(f"t{len(lines)}")
        lines.append(f"  {names[-1]} = {phrase}")
    if limit is not None and len(lines) > limit:
        lines = [*lines[:limit], f"  ... and {len(lines) - limit} more lines"]
    for value, to in zip(block.outputs.tolist(), results, strict=True):
        lines += [f"  {name} = {names[value]}" for name in to]
    return lines
