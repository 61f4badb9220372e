"""Input checks: numbers from the user (one, several, or one for each freedom of a joint), in one form."""

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any

import numpy as np

from kempe.errors import MechanismError
from kempe.kinds import is_number, short


def number(value: Any, what: str) -> float:
    """One number as a float; `what` names it in the error message."""
    if not is_number(value):
        raise MechanismError(f"{what}: give a number, not {short(value)}")
    return float(value)


def numbers(values: Any, count: int, what: str) -> tuple[float, ...]:
    """Exactly `count` numbers as floats; `what` names them in the error message."""
    try:
        row = tuple(values) if np.shape(values) != () or isinstance(values, Iterator) else None
    except (TypeError, ValueError):  # an iterable that fails when iterated
        row = None
    if row is None or not all(map(is_number, row)):
        raise MechanismError(f"{what}: give {count} numbers, not {short(values)}")
    if len(row) != count:
        raise MechanismError(f"{what}: give {count} numbers, not {len(row)}")
    return tuple(map(float, row))


def tensor_entries(inertia: Any, name: str) -> tuple[float, ...]:
    """xx, yy, zz, xy, xz, yz from three principal values or a symmetric matrix."""
    try:
        tensor = np.array(inertia, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise MechanismError(f"body {name!r}: inertia takes numbers, not {short(inertia)}") from error
    if tensor.shape == (3,):
        return (*tensor.tolist(), 0.0, 0.0, 0.0)
    if tensor.shape != (3, 3):
        raise MechanismError(
            f"body {name!r}: inertia takes three principal values or a 3 x 3 matrix, not shape {tensor.shape}"
        )
    if not np.allclose(tensor, tensor.T, rtol=1e-9, atol=0, equal_nan=True):
        raise MechanismError(f"body {name!r}: the inertia matrix is not symmetric")
    return tuple(float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def driven(name: str, freedoms: tuple[str, ...], actuated) -> tuple[bool, ...]:
    """Whether each freedom is actuated: all, none, or those named."""
    if isinstance(actuated, bool):
        return (actuated,) * len(freedoms)
    chosen = [actuated] if isinstance(actuated, str) or not isinstance(actuated, Iterable) else list(actuated)
    for freedom in chosen:
        if freedom not in freedoms:
            has = ", ".join(freedoms) if len(freedoms) > 1 else "one unnamed freedom: give actuated=True"
            raise MechanismError(f"joint {name!r} has no freedom {short(freedom)} to actuate; it has {has}")
    return tuple(freedom in chosen for freedom in freedoms)


def per_freedom(name: str, quantity: str, freedoms: tuple[str, ...], value) -> tuple[float, ...]:
    """One number for each freedom, given as one for all, one for each, or a dict by freedom."""
    if isinstance(value, Mapping):
        unknown = [n for n in value if n not in freedoms]
        if unknown:
            raise MechanismError(
                f"joint {name!r}: {quantity}: there is no freedom {short(unknown[0])}; there are {', '.join(freedoms)}"
            )
        return tuple(number(value.get(n, 0.0), f"{quantity} of joint {name!r}") for n in freedoms)
    if np.ndim(value) == 0:
        return numbers((value,), 1, f"{quantity} of joint {name!r}") * len(freedoms)
    return numbers(value, len(freedoms), f"{quantity} of joint {name!r}")


def limits_of(name: str, freedoms: tuple[str, ...], limits) -> tuple[tuple[float, float] | None, ...]:
    """(low, high) for every freedom that has limits, None for the others."""
    if limits is None:
        return (None,) * len(freedoms)
    if len(freedoms) == 1 and isinstance(limits, (tuple, list)) and len(limits) == 2:
        limits = [limits]
    if not isinstance(limits, (tuple, list)) or len(limits) != len(freedoms):
        raise MechanismError(f"joint {name!r}: limits take (low, high) for each of {len(freedoms)} freedoms")
    return tuple(None if pair is None else _span(name, pair) for pair in limits)


def _span(name: str, pair) -> tuple[float, float]:
    """(low, high), with None on a side meaning no limit there."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise MechanismError(f"joint {name!r}: limits are {short(pair)}; give (low, high), None for no limit on a side")
    low, high = (edge if x is None else x for x, edge in zip(pair, (-inf, inf), strict=True))
    return numbers((low, high), 2, f"limits of joint {name!r}")  # type: ignore[return-value]


def switched(name: str, given) -> bool:
    """Whether a joint is switchable: True or "open"."""
    if not isinstance(given, bool) and given != "open":
        raise MechanismError(
            f"joint {name!r}: switchable is {short(given)}; it takes True, False, or 'open' (off at the start)"
        )
    return bool(given)
