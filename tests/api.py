"""The public names as text: `python -m tests.api` writes the page that `tests/test_api.py` holds them to."""

import inspect
from pathlib import Path

import kempe as kp

PAGE = Path(__file__).with_name("api.txt")


def lines() -> list[str]:
    """Every public name of Kempe, with what it takes; of classes, their public methods and properties."""
    found = []
    for name in sorted(kp.__all__):
        value = getattr(kp, name)
        if inspect.isclass(value):
            found += [f"{name}{_signature(value)}", *(f"    {line}" for line in _members(value))]
        elif inspect.ismodule(value):
            found += [name, *(f"    {n}{_signature(getattr(value, n))}" for n in sorted(value.__all__))]
        else:
            found.append(f"{name}{_signature(value)}" if callable(value) else name)
    return found


def _members(kind: type) -> list[str]:
    found = []
    for name in sorted(n for n in dir(kind) if not n.startswith("_")):
        owner = next(base for base in kind.__mro__ if name in vars(base))
        if owner.__module__.partition(".")[0] == "kempe":
            value = getattr(kind, name)
            found.append(f"{name}{_signature(value)}" if callable(value) else name)
    return found


def _signature(value) -> str:
    """Names and defaults; types are for the reader of the code."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values() if p.name != "self"]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


if __name__ == "__main__":
    PAGE.write_text("\n".join(lines()) + "\n")
