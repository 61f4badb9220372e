"""Tracing: turns a function over CasADi symbols, or a CasADi Function, into a Program.

Structural zeros cost nothing, repeated terms are computed once, constants are folded. Three rewritings change rounding:
a divisor that occurs several times is inverted once; sums and products of one value with constants are gathered; and a
product that is only added is fused with the additions (`as_written=True` disables them). After tracing, the meaning of
a program is fixed to the last bit; nothing later changes it.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import casadi as ca
import numpy as np

from kempe.compiler.operations import Op
from kempe.compiler.passes import fuse, gather, invert_once
from kempe.compiler.program import Block, Call, Port, Program
from kempe.compiler.symbolic import OPERATION_NAMES, RULES
from kempe.compiler.tape import Tape
from kempe.compiler.term import Term
from kempe.errors import TraceError
from kempe.kinds import checked

Shape = int | tuple[int, ...]


@checked(TraceError)
def trace(
    function: Callable | ca.Function,
    inputs: Mapping[str, Shape] | None = None,
    outputs: Mapping[str, Shape] | None = None,
    *,
    name: str | None = None,
    as_written: bool = False,
) -> Program:
    """The program of `function`.

    function: a Python function of CasADi SX arguments that returns one SX, a sequence of them or a dict by name;
        or a CasADi Function, with its own names and shapes.
    inputs: for a Python function, the shape of every argument by name: n for a vector, () for a scalar,
        (n, m) for a matrix.
    outputs: names, and shapes other than the default (a column is a vector, else a matrix); for
        instance `{"energy": ()}` for a scalar.
    as_written: keep every multiplication, addition and division as in CasADi.
    """
    if isinstance(function, ca.Function):
        if inputs is not None:
            raise TraceError(f"tracing {function.name()!r}: a CasADi Function has its own inputs; leave `inputs` out")
        compact = _expanded(function)
        called = name or function.name()
        ports_in = [_port(n, compact.size_in(i)) for i, n in enumerate(compact.name_in())]
        ports_out = [_port(n, compact.size_out(i)) for i, n in enumerate(compact.name_out())]
    else:
        called = name or getattr(function, "__name__", "program").strip("<>")
        if not isinstance(inputs, Mapping):
            raise TraceError(
                f'tracing {called!r}: give the shape of every argument, for example trace({called}, {{"q": 3, "v": 3}})'
            )
        ports_in = [Port(n, _shape(n, s)) for n, s in inputs.items()]
        symbols = [ca.SX.sym(p.name, *_size(p)) for p in ports_in]
        _takes(called, function, len(symbols))
        try:
            results = _named_results(called, function(*symbols), outputs)
            compact = ca.Function("traced", symbols, list(results.values()))
        except RuntimeError as error:  # from CasADi
            raise TraceError(
                f"tracing {called!r}: {_reason(error)}; a function may only use its arguments and numbers, and cannot "
                "branch on a symbol: write casadi.if_else(condition, a, b)"
            ) from error
        ports_out = [_port(n, value.shape) for n, value in results.items()]
    for name in outputs or ():
        if name not in [port.name for port in ports_out]:
            known = ", ".join(port.name for port in ports_out)
            raise TraceError(f"tracing {called!r}: there is no output {name!r}; there are {known}")
    ports_out = [_declared(port, outputs) for port in ports_out]
    block = _record(called, compact, ports_in, ports_out)
    return single_block(block if as_written else fuse(gather(invert_once(block))), ports_in, ports_out)


def single_block(block: Block, inputs, outputs) -> Program:
    """A program that is one block called once, its operands the inputs in order.

    Every computed value is written once; an output entry that is an input or a constant is read from there.
    """
    values = block.outputs.tolist()
    number_of = {block.arity + k: a for k, (op, a, *_) in enumerate(block.code.tolist()) if op == Op.CONST}
    numbers = list(dict.fromkeys(number_of[v] for v in values if v in number_of))
    computed = list(dict.fromkeys(v for v in values if v >= block.arity and v not in number_of))
    slot = {v: v for v in range(block.arity)}
    slot |= {v: block.arity + numbers.index(number_of[v]) for v in set(values) & number_of.keys()}
    first = block.arity + len(numbers)
    slot |= {v: first + k for k, v in enumerate(computed)}
    call = Call(0, np.arange(block.arity)[None], first + np.arange(len(computed))[None])
    ends = np.cumsum([0, *(port.size for port in outputs)])
    sources = [np.array([slot[v] for v in values[a:b]], dtype=int) for a, b in pairwise(ends)]
    lean = replace(block, outputs=np.array(computed, dtype=int))
    return Program(block.name, inputs, outputs, block.constants[numbers], (lean,), (call,), tuple(sources))


def _takes(called: str, function: Callable, count: int) -> None:
    """Refuses a function that cannot be called with this many arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:  # some built-in functions have no signature
        return
    except TypeError as error:
        raise TraceError(f"tracing {called!r}: {count} inputs are given, but {error}") from error


def _expanded(function: ca.Function) -> ca.Function:
    if function.is_a("SXFunction"):
        return function
    try:
        return function.expand()
    except RuntimeError as error:
        raise TraceError(
            f"tracing {function.name()!r}: CasADi cannot expand it into scalar operations ({_reason(error)}); "
            "build it from SX symbols, or replace the part that is not elementary"
        ) from error


def _reason(error: RuntimeError) -> str:
    """The last line of CasADi's error."""
    return str(error).strip().splitlines()[-1].rstrip(".")


def _named_results(name: str, returned, outputs) -> dict[str, ca.SX]:
    if isinstance(returned, Mapping):
        results = dict(returned)
    else:
        values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        names = list(outputs) if outputs else [f"out{k}" for k in range(len(values))] if len(values) > 1 else ["out"]
        if len(names) != len(values):
            raise TraceError(f"tracing {name!r}: it returned {len(values)} values, but {len(names)} outputs are named")
        results = dict(zip(names, values, strict=True))
    try:
        return {n: ca.SX(value) for n, value in results.items()}
    except NotImplementedError as error:  # raised by CasADi if no conversion fits
        raise TraceError(
            f"tracing {name!r}: it must return CasADi SX values, not {type(returned).__name__}; "
            "use casadi's functions (casadi.sin, casadi.vertcat) on its arguments"
        ) from error


def _shape(name: str, shape: Shape) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if len(sizes) > 2 or not all(isinstance(n, (int, np.integer)) and n >= 0 for n in sizes):
        raise TraceError(f"{name!r} has shape {shape!r}: give n, () or (n, m)")
    return tuple(int(n) for n in sizes)


def _size(port: Port) -> tuple[int, int]:
    rows, columns = (*port.shape, 1, 1)[:2]
    return rows, columns


def _port(name: str, size: tuple[int, int]) -> Port:
    rows, columns = size
    return Port(name, (rows,) if columns == 1 else (rows, columns))


def _declared(port: Port, outputs) -> Port:
    if not outputs or port.name not in outputs:
        return port
    shape = _shape(port.name, outputs[port.name])
    if Port(port.name, shape).size != port.size:
        raise TraceError(f"output {port.name!r} has {port.size} entries, which do not fill the shape {shape}")
    return Port(port.name, shape)


def _record(name: str, function: ca.Function, ports_in, ports_out) -> Block:
    """Records the instructions of an SX function on a tape, entries row by row."""
    starts = np.cumsum([0, *(p.size for p in ports_in)]).tolist()
    tape = Tape(starts[-1], algebra=True)
    places_in = [_row_major(function.sparsity_in(i)) for i in range(function.n_in())]
    places_out = [_row_major(function.sparsity_out(i)) for i in range(function.n_out())]
    results = [[tape.const(0.0)] * port.size for port in ports_out]
    registers: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op, to, of = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if op == ca.OP_INPUT:
            registers[to[0]] = starts[of[0]] + places_in[of[0]][of[1]]
        elif op == ca.OP_OUTPUT:
            results[to[0]][places_out[to[0]][to[1]]] = registers[of[0]]
        elif op == ca.OP_CONST:
            registers[to[0]] = tape.const(function.instruction_constant(k))
        elif op in RULES:
            registers[to[0]] = RULES[op](*(Term(tape, registers[r]) for r in of)).value
        elif op == ca.OP_CALL:
            raise TraceError(
                f"tracing {name!r}: it calls a function that is not made of scalar operations (a table, a solver, "
                "outside code); write that part out on SX symbols, or compute it outside and pass it as an input"
            )
        else:
            what = OPERATION_NAMES.get(op, str(op))
            raise TraceError(f"tracing {name!r}: CasADi's operation {what!r} has no counterpart in a program")
    return tape.block(name, [value for values in results for value in values])


def _row_major(sparsity: ca.Sparsity) -> list[int]:
    """The position of each stored entry if the matrix is laid out row by row."""
    rows, columns = sparsity.get_triplet()
    return [r * sparsity.size2() + c for r, c in zip(rows, columns, strict=True)]
