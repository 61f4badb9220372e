"""Kinds: checks the arguments of public functions against their annotations.

    @checked(MechanismError)
    class Mechanism:
        def rod(self, name: str, length: float, ...): ...

    m.rod("crank", "0.3", 1.0)   # MechanismError: rod 'crank': length is '0.3'; give a number

Checked annotations are `float`, `int`, `bool`, `str`, paths, dicts, sequences, functions, and classes (by name, so that
nothing needs to be imported). Arguments with other annotations or none are left to the function.
"""

import ast
import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar

LARGEST = 1.7976931348623157e308
LONGEST = 60  # characters of an argument that a message quotes

Checked = TypeVar("Checked", bound=Callable)


@dataclass(frozen=True)
class Kind:
    """A kind of argument: in words, and as a test."""

    words: str
    takes: Callable[[Any], bool]


def short(given: Any) -> str:
    """A value quoted in less than a line."""
    shape, kind = getattr(given, "shape", None), getattr(given, "dtype", None)
    if kind is not None and isinstance(shape, tuple) and shape:
        return f"an array of {kind} of shape {shape}"
    quoted = reprlib.Repr()
    quoted.maxlevel, quoted.maxstring, quoted.maxlong, quoted.maxother = 2, LONGEST, LONGEST, LONGEST
    try:
        words = " ".join(quoted.repr(given).split())
    except Exception:  # __repr__ of user objects may raise anything
        words = f"a {type(given).__name__}"
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 4]} ..."


def doubles(given: Any, what: str, error: type[Exception]) -> Any:
    """Numbers or rows of numbers as an array of doubles; complex and masked arrays are refused."""
    import numpy as np  # here, since importing Kempe loads nothing heavy

    if np.ma.is_masked(given):
        raise error(f"{what} has masked entries, and the mask would be lost; give plain numbers")
    try:
        found = np.asarray(given)
        if found.dtype.kind in "biuf" or (found.dtype.kind == "O" and all(map(is_number, found.flat))):
            return found.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError, NotImplementedError) as cause:
        raise error(f"{what} is {short(given)}; give numbers") from cause
    if found.dtype.kind == "c":
        raise error(f"{what} is complex; give real numbers")
    raise error(f"{what} is {short(given)}; give numbers, such as 30 * kp.deg")


def is_number(given: Any) -> bool:
    """Whether it is one real number within the range of a double; bools and text are not."""
    if type(given) is float:
        return True
    if isinstance(given, Real):
        huge = isinstance(given, Integral) and not -LARGEST <= int(given) <= LARGEST
        return not (isinstance(given, bool) or huge)
    kind = getattr(getattr(given, "dtype", None), "kind", "")
    return bool(kind) and kind in "iuf" and getattr(given, "shape", None) == ()


def one(given: Any, what: str, error: type[Exception]) -> float:
    """A number."""
    if not is_number(given):
        raise error(f"{what} is {short(given)}; give a number")
    return float(given)


def text(given: Any, what: str, error: type[Exception]) -> str:
    """A name."""
    if not isinstance(given, str):
        raise error(f"{what} is {short(given)}; give a name")
    return given


def whole(given: Any, what: str, error: type[Exception]) -> int:
    """A whole number."""
    if not _is_whole(given):
        raise error(f"{what} is {short(given)}; give a whole number")
    return int(given)


def _is_whole(given: Any) -> bool:
    if type(given) is not int and (isinstance(given, bool) or not isinstance(given, Integral)):
        return False
    return -(2**63) <= int(given) < 2**63


def _is_flag(given: Any) -> bool:
    return isinstance(given, bool) or type(given).__name__ in ("bool", "bool_")


def is_row(given: Any) -> bool:
    """Whether it is iterable, and neither text nor a dict."""
    if isinstance(given, (str, bytes, bytearray, memoryview, Mapping, type)):
        return False
    if type(given).__module__ == "casadi.casadi":  # has an __iter__ that raises
        return False
    shape = getattr(given, "shape", None)
    return isinstance(given, Iterable) and shape != () and getattr(getattr(given, "dtype", None), "kind", "f") != "c"


def _is_names(given: Any) -> bool:
    """Whether it is a row of names; the entries of iterators are left to the function."""
    if not (isinstance(given, Mapping) or is_row(given)):
        return False
    return isinstance(given, Iterator) or all(isinstance(x, str) for x in given)


def _is_dict(given: Any) -> bool:
    return isinstance(given, Mapping) and all(isinstance(key, str) for key in given)


ROWS = {"float": Kind("a list of numbers", is_row), "str": Kind("a list of names", _is_names)}
PLAIN = {
    "str": Kind("text", lambda x: isinstance(x, str)),
    "float": Kind("a number", is_number),
    "int": Kind("a whole number", _is_whole),
    "bool": Kind("True or False", _is_flag),
    "None": Kind("None", lambda x: x is None),
    "Path": Kind("a path", lambda x: isinstance(x, PathLike)),
    "Callable": Kind("a function", callable),
    "Mapping": Kind("a dict by name", _is_dict),
    **dict.fromkeys(("Sequence", "Iterable", "tuple", "list"), Kind("a list", is_row)),
}
SURE = {float: 0.5, str: "", bool: True, type(None): None, type(lambda: 0): lambda: 0}  # no further check needed
ANYTHING = {"Any", "object", "ndarray", "Literal", "Annotated"}  # not checked here
MORE = {  # words for classes whose names alone would not help a user
    "Marker": "a marker, such as crank.end or m.ground.at(1, 0)",
    "State": "a state, from model.state() or model.assemble()",
    "Motion": "a motion, such as kp.motions.cycloidal({'A': (0, 1)}, duration=2)",
    "Model": "a model, from m.compile()",
    **dict.fromkeys(("Layout", "Mechanics", "Kinetics"), "a model, as m.compile() makes it"),
    "Mechanism": "a mechanism, kp.Mechanism(name)",
    "Equations": "equations, such as model.equations",
    "Structures": "structures, such as model.structures",
    "Event": "an event, kp.Event(name, expression)",
    "Switch": "a switch, kp.Switch(when, joints)",
    "Stops": "kp.Stops(..)",
    "Solid": "a solid, such as kp.Rod(0.2, 1.5)",
    "Body": "a body, such as one from m.rod()",
    "Support": "a support, kp.Support(points)",
    "DataFrame": "a pandas table, from run.to_pandas()",
    "Function": "a CasADi function",
    "SX": "a CasADi expression",
    "CompiledLaw": "a law over symbols (kp.Law, kp.pd, ..)",
    "Program": "a program: trace the function first (kp.trace), or take model.program(name)",
}


def kind_of(annotation: Any, known: Mapping[str, Any]) -> Kind | None:
    """The kind that an annotation declares; None if it takes anything. `known`: the names of its module."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _kind(ast.parse(text, mode="eval").body, known)


def _kind(node: ast.expr, known: Mapping[str, Any]) -> Kind | None:
    if isinstance(node, ast.BinOp):
        left, right = _kind(node.left, known), _kind(node.right, known)
        if left is None or right is None:
            return None
        return Kind(f"{left.words} or {right.words}", lambda x: left.takes(x) or right.takes(x))
    if isinstance(node, ast.Constant):
        return PLAIN["None"] if node.value is None else _kind(ast.parse(str(node.value), mode="eval").body, known)
    inner = node.slice if isinstance(node, ast.Subscript) else None
    named = node.value if isinstance(node, ast.Subscript) else node
    name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "Any")
    if name in PLAIN:
        entry = ast.unparse(inner).partition(",")[0] if inner is not None else ""
        return ROWS.get(entry, PLAIN[name]) if PLAIN[name].takes is is_row else PLAIN[name]
    alias = known.get(name)
    if name in ANYTHING or isinstance(alias, TypeVar) or (alias is None and name not in MORE):
        return None  # including names imported only for type checkers, which may not be classes
    if alias is not None and not isinstance(alias, type):  # an alias, such as Numbers = float | Sequence[float]
        return kind_of(alias, known)
    what = MORE.get(name, f"a {name}")
    return Kind(what, lambda x: any(base.__name__ == name for base in type(x).__mro__))


def checked(error: type[Exception], *but: str) -> Callable[[Checked], Checked]:
    """Decorates a function, or the public functions of a class except `but`: arguments of the wrong kind raise an error
    with a sentence. This costs about a microsecond per call, so very short functions do their own checks."""

    def decorated(thing: Any) -> Any:
        if not inspect.isclass(thing):
            return _watched(thing, error, thing.__name__)
        for name, value in list(vars(thing).items()):
            inside = value.__func__ if isinstance(value, classmethod) else value
            if not inspect.isfunction(inside) or name in but or (name.startswith("_") and name != "__init__"):
                continue
            own = _watched(inside, error, thing.__name__ if name == "__init__" else name)
            setattr(thing, name, classmethod(own) if isinstance(value, classmethod) else own)
        return thing

    return decorated


def _watched(function: Callable, error: type[Exception], where: str) -> Any:
    """The function with checks of its arguments."""
    kinds: dict[str, Kind] = {}
    sure: dict[str, set[type]] = {}  # types of an argument that need no further check
    places: list[tuple[int, str, set[type]]] = []
    learned = False

    def learn() -> None:
        """Reads the annotations, on the first call, so that importing stays fast."""
        nonlocal learned
        found = []
        for place, p in enumerate(inspect.signature(function).parameters.values()):
            if p.annotation is p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            kind = kind_of(p.annotation, function.__globals__)
            if kind is None:
                continue
            kinds[p.name] = Kind(kind.words, lambda x, k=kind, default=p.default: x is default or k.takes(x))
            sure[p.name] = {t for t, example in SURE.items() if kind.takes(example)}
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                found.append((place, p.name, sure[p.name]))
        places[:], learned = found, True  # assigned at once, since several threads may learn at the same time

    @wraps(function)
    def looked_at(*given, **named):
        if not learned:
            learn()
        count = len(given)
        for place, name, types in places:
            if place >= count:
                break
            if type(given[place]) not in types and not kinds[name].takes(given[place]):
                raise refused(name, given[place], given, named)
        for name, value in named.items():
            if name in sure and type(value) not in sure[name] and not kinds[name].takes(value):
                raise refused(name, value, given, named)
        return function(*given, **named)

    def refused(name: str, value: Any, given: tuple, named: dict[str, Any]) -> Exception:
        said = named.get("name", next((given[k] for k, n, _ in places if n == "name" and k < len(given)), None))
        whose = f"{where} {short(said)}" if isinstance(said, str) and name != "name" else where
        return error(f"{whose}: {name} is {short(value)}; give {kinds[name].words}")

    return looked_at
