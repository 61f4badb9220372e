"""Arguments: kernel arguments bound to ports, checked, and converted to a form that compiled code can read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kempe.compiler.program import Port, Program
from kempe.errors import ArgumentError

DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Arguments:
    """Checked inputs and outputs of one call; `count` is None for one state, else the number of states.

    `asked` are the arrays given as `out`, None where a new one is needed.
    """

    inputs: list[np.ndarray]
    asked: list[np.ndarray | None]
    count: int | None


def check(program: Program, positional, named, out) -> Arguments:
    """The arguments of a call, in the order of the ports; raises `ArgumentError` if any is wrong."""
    values = _bound(program, positional, named)
    inputs = [_array(program, port, value) for port, value in zip(program.inputs, values, strict=True)]
    count = _number_of_states(program, inputs)
    return Arguments(inputs, _asked(program, out, count), count)


def plain(array: np.ndarray, port: Port) -> np.ndarray:
    """One state, contiguous and aligned, in exactly the port's shape."""
    return np.require(array, requirements=("C", "A")).reshape(port.shape)


def rows(array: np.ndarray, port: Port) -> np.ndarray:
    """One row per state (a single row if shared), flattened; a view where possible."""
    flat = array.reshape(_states(array, port), port.size)
    return flat if _is_whole(flat) else np.require(flat, requirements=("C", "A"))


def rows_to_write(array: np.ndarray, port: Port) -> np.ndarray | None:
    """The same view of an output array, or None if there is none."""
    try:
        flat = array.reshape((len(array), port.size), copy=False)
    except ValueError:
        return None
    return flat if _is_whole(flat) else None


def strides(flat: np.ndarray, is_shared: bool) -> tuple[int, int]:
    """The strides in doubles from state to state (0 if shared) and from element to element."""
    return 0 if is_shared or len(flat) < 2 else flat.strides[0] // 8, flat.strides[1] // 8 if flat.shape[1] > 1 else 1


def _states(array: np.ndarray, port: Port) -> int:
    return len(array) if array.ndim > len(port.shape) else 1


def _is_whole(flat: np.ndarray) -> bool:
    return flat.flags.aligned and not any(step % 8 for step in flat.strides)


def _bound(program: Program, positional: tuple, named: dict) -> Sequence:
    if not named and len(positional) == len(program.inputs):
        return positional
    ports = [port.name for port in program.inputs]
    where = f"kernel {program.name!r}"
    takes = f"it takes ({', '.join(map(str, program.inputs))})"
    if len(positional) > len(ports):
        raise ArgumentError(f"{where}: {len(positional)} arguments were given; {takes}")
    given = dict(zip(ports, positional, strict=False))
    for name in named:
        if name not in ports:
            raise ArgumentError(f"{where}: there is no argument {name!r}; {takes}")
        if name in given:
            raise ArgumentError(f"{where}: {name!r} is given by position and by name; give it once")
    given |= named
    for name in ports:
        if name not in given:
            raise ArgumentError(f"{where}: {name!r} is missing; {takes}")
    return [given[name] for name in ports]


def _array(program: Program, port: Port, value) -> np.ndarray:
    """An argument as doubles, of the port's shape or with a leading axis."""
    where = f"kernel {program.name!r}, argument {port.name!r}"
    if np.ma.is_masked(value):
        raise ArgumentError(f"{where}: it has masked entries, and the mask would be lost; give plain numbers")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{where}: not an array of numbers ({error})") from error
    if array.dtype is not DOUBLE:  # other type objects may be equal, for example after unpickling
        if array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, np.float64, "safe"):
            raise ArgumentError(f"{where}: its type is {array.dtype}; give real numbers that fit into doubles")
        array, given = np.empty(array.shape), array
        array[...] = given
    if array.shape == () and port.size == 1:
        array = array.reshape(port.shape)
    one, many = array.shape == port.shape, array.ndim == len(port.shape) + 1 and array.shape[1:] == port.shape
    if not (one or many):
        shape = ", ".join(["batch", *map(str, port.shape)]) + ("" if port.shape else ",")
        raise ArgumentError(
            f"{where} has shape {array.shape}; it takes {port.shape}, or ({shape}) for many states at once"
        )
    return array


def _number_of_states(program: Program, arrays) -> int | None:
    sizes = {p.name: len(a) for p, a in zip(program.inputs, arrays, strict=True) if a.ndim > len(p.shape)}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name!r} {size}" for name, size in sizes.items())
        raise ArgumentError(f"kernel {program.name!r}: the arguments have different numbers of states ({said})")
    return next(iter(sizes.values()), None)


def _asked(program: Program, out, count: int | None) -> list[np.ndarray | None]:
    if out is None:
        return [None] * len(program.outputs)
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(program.outputs):
        raise ArgumentError(f"kernel {program.name!r}: out has {len(given)} arrays for {len(program.outputs)} outputs")
    for port, array in zip(program.outputs, given, strict=True):
        where = f"kernel {program.name!r}, out for {port.name!r}"
        shape = port.shape if count is None else (count, *port.shape)
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            kind = f"{array.dtype} array" if isinstance(array, np.ndarray) else type(array).__name__
            raise ArgumentError(f"{where}: it must be a NumPy array of doubles, not {kind}")
        if array.shape != shape:
            raise ArgumentError(f"{where} has shape {array.shape}; it must have {shape}")
        if not array.flags.writeable:
            raise ArgumentError(f"{where} is read-only; give an array that can be written to")
    for k, array in enumerate(given):
        if any(np.may_share_memory(array, other) for other in given[:k]):
            raise ArgumentError(
                f"kernel {program.name!r}: two of the arrays given as out overlap; give each its own memory"
            )
    return given
