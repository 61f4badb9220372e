"""Mutations of files: of bytes, words and numbers, encodings, XML elements, YAML and JSON data, archives."""

import copy
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any
from xml.dom import expatbuilder
from xml.dom.minidom import Element

import numpy as np
import yaml

from kempe.results.store import SUM, _sum

NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
WORD = re.compile(r"[A-Za-z_][\w:.-]*")
NUMBERS = [
    "nan", ".nan", "inf", "-.inf", ".inf", "1e400", "-1e400", "1e160", "1e-320", "-0", "-0.0", "0", "-1", "1e9",
    "0x10", "1_000", "1:30", "1:30.5", "0b1", "0o7", "010", "+1", "1.", "١٢", "1,5", "true", "null", "~", "1e", "--1",
    "1e149", "-1e149", "1e75", "1e-150", "1e308", "3.7", "2147483648", "1e18", "", "1 2",
    "999999999999999999999999999999", "9" * 400, "9" * 5000,
]  # fmt: skip
WORDS = [
    "ground", "world", "origin", "body", "gravity", "x.y", ".", "..", "::", "a::b", "__model__", "\\", "/",
    "/dev/zero", "12", "null", "yes", "%s", "{}", "'", "&amp;", "&#0;", "&#x1F600;", "~", "file:///etc", "model://x",
    "package://x/y.stl", "fixed", "free", "loop", "spherical", "universal", "", "a b", "é" * 300, "x" * 3000, "\u202e",
    "\x85", "\u2028",
]  # fmt: skip
TANGLES = [
    "&a ", "*a ", "<<: *a", "!!binary ", "!!python/object:x ", "!!timestamp 2001-01-01", "!!set {a}", "- ", "{", "}",
    "[", "]", '"', "'", "|", ">-\n", "%YAML 3.0\n---\n", "---\n", "...\n", "\t", "#", ": ", "? [a]\n: b", '"\\0"',
    '"\\ud800"', "? ", '"\\x1b[31m"', "!!float ", "!!int ", "!!int 1.5 ", "!!bool ", "!!null x ", "!!str ", "! ",
    "2001-01-01", "<![CDATA[", "]]>", "<!--", "-->", "<?xml version='1.1'?>", "<?x y?>", "<!DOCTYPE a>", "&lt;",
    "&undefined;",
]  # fmt: skip
DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 3, 1.5, -0.0, float("inf"), float("nan"), 1e300, 1e149, 1e-320, 10**30, 10**400),
    *("", "x", "ground", "ground.x", "crank", "nan", "0x10", "1:30", "é" * 300, "x" * 3000, "\ud800", "\0", "a\nb"),
    *("\x1b[31m", [], {}, [[]], [1], [1, 2], [1, 2, 3], [0, 0, 0], ["a", "b"], {"a": 1}, {"x": None}, [None] * 3),
    *(DEEP[0], [float("nan")] * 3, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 0]] * 3, [0.0] * 2000, {"body": "x"}),
    *({"file": "a.stl"}, {"file": "loop"}, "loop"),
]  # fmt: skip
KEYS: list[Any] = [
    "", "x", "ground", "body", "mass", "at", "rotation", "12", "a.b", "é" * 300, None, True, 1.5, 7, "<<", "file",
]  # fmt: skip


def mutated_text(rng: random.Random, content: bytes, other: bytes, kind: str) -> bytes:
    """A file of text, or of a mesh; kind: how its name ends. other: another file of its format."""
    whole = {**dict.fromkeys(("xml", "urdf", "sdf"), _elements), "yaml": _yaml_data}.get(kind)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        way = rng.random()
        if whole and way < 0.45:
            content = whole(rng, content, other)
        elif way < 0.75:
            content = _words(rng, content)
        elif way < 0.95:
            content = noisy(rng, content, other)
        else:
            content = _encoded(rng, content)
    return content


# ---- bytes and words -------------------------------------------------------------------------------------


def noisy(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Bits flipped, and parts dropped, doubled, put in, moved, cut off, or taken from another file."""
    first = rng.randrange(len(content) + 1)
    last = min(len(content), first + rng.choice((1, 2, 5, 30, 300, 3000)))
    begun, part, rest = content[:first], content[first:last], content[last:]
    at = rng.randrange(len(other) + 1)
    way = rng.randrange(8)
    if way == 0 and content:
        at = rng.randrange(len(content))
        return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
    if way == 1:
        return begun + rng.randbytes(rng.choice((1, 4, 8))) + content[first:]
    options = [begun + rest, begun + part * rng.choice((2, 2, 30)) + rest, begun, rest, part + begun + rest]
    return rng.choice([*options, begun + other[at:], begun + bytes(len(part)) + rest])


def _words(rng: random.Random, content: bytes) -> bytes:
    """Numbers, names, lines and texts in quotes swapped for others, or tangled."""
    text = content.decode("utf-8", "surrogateescape")
    way = rng.randrange(6)
    if way == 0:
        lines = text.splitlines(keepends=True) or [""]
        k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[k : k + 1] = rng.choice(([], [lines[k]] * 2, [lines[j]], ["  " + lines[k]], [lines[k].lstrip()]))
        new = "".join(lines)
    elif way == 1:
        at = rng.randrange(len(text) + 1)
        new = text[:at] + rng.choice(TANGLES) + text[at:]
    else:
        pattern = NUMBER if way in (2, 3) else WORD if way == 4 else re.compile(r'"[^"\n]*"|[^\s<>"{}\[\],]+')
        found = list(pattern.finditer(text))
        if not found:
            return content
        spot, with_ = rng.choice(found), rng.choice(found)[0]
        new = rng.choice((with_, rng.choice(NUMBERS), rng.choice(WORDS if way > 3 else NUMBERS)))
        if spot[0].startswith('"') and not new.startswith('"'):
            new = f'"{new}"'
        new = text[: spot.start()] + new + text[spot.end() :]
    return new.encode("utf-8", "surrogateescape" if way != 1 else "replace")


def _encoded(rng: random.Random, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    made: list[Callable[[], bytes]] = [
        lambda: text.encode("utf-16"),
        lambda: text.encode("utf-16-be"),
        lambda: text.encode("utf-32"),
        lambda: b"\xef\xbb\xbf" + content,
        lambda: text.replace("a", "ä").encode("latin-1", "replace"),
        lambda: content.replace(b"a", b"\0", 1),
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.replace(b"\n", b"\r"),
        lambda: content.replace(b" ", b"\xc2\xa0", 3),
        lambda: b'<?xml version="1.0" encoding="%s"?>' % rng.choice(ENCODINGS) + content,
    ]
    return rng.choice(made)()


ENCODINGS = (
    b"latin-1",
    b"utf-16",
    b"rot13",
    b"idna",
    b"zlib",
    b"x",
    b"cp037",
    b"utf-7",
    b"ascii",
    b"euc-jp",
    b"undefined",
)


# ---- XML -------------------------------------------------------------------------------------------------


def _elements(rng: random.Random, content: bytes, other: bytes) -> bytes:
    """Elements and attributes dropped, doubled, swapped, renamed, moved and nested."""
    try:
        top = expatbuilder.parseString(content, namespaces=False)
        others = [*expatbuilder.parseString(other, namespaces=False).getElementsByTagName("*")]
    except Exception:  # changed before
        return noisy(rng, content, other)
    found = [*top.getElementsByTagName("*")]
    inner = found[1:] or found
    element, second = rng.choice(inner), rng.choice(inner)
    parent = element.parentNode
    way = rng.randrange(9)
    if way == 0:
        parent.removeChild(element)
    elif way == 1 and element is not top.documentElement:
        for _ in range(rng.choice((1, 1, 3))):
            parent.insertBefore(element.cloneNode(True), element)
    elif way == 2:
        element.tagName = element.nodeName = rng.choice([*found, *others]).tagName
    elif way == 3 and element is not top.documentElement:
        parent.replaceChild(second.cloneNode(True), element)
    elif way == 4:
        element.appendChild(rng.choice([second.cloneNode(True), top.importNode(rng.choice(others), True)]))
    elif way == 5:
        wrapped: Any = element.cloneNode(True)
        for _ in range(rng.choice((1, 2, 20, 250))):
            outer = element.cloneNode(False)
            outer.appendChild(wrapped)
            wrapped = outer
        parent.replaceChild(wrapped, element)
    elif way == 6:
        element.appendChild(top.createTextNode(_swapped(rng, "".join(x.data for x in _texts(element)))))
        for x in _texts(element)[:-1]:
            element.removeChild(x)
    else:
        _attributes(rng, element, rng.choice([*found, *others]))
    return top.toxml(encoding="utf-8")


def _attributes(rng: random.Random, element: Element, second: Element) -> None:
    own, more = dict(element.attributes.items()), dict(second.attributes.items())
    name = rng.choice([*own, *more, "name"])
    if name in own and rng.random() < 0.2:
        element.removeAttribute(name)
    elif name in own and rng.random() < 0.7:
        element.setAttribute(name, _swapped(rng, own[name]))
    else:
        element.setAttribute(name, more.get(name, rng.choice([*WORDS, *more.values()])))


def _swapped(rng: random.Random, value: str) -> str:
    words = value.split() or [""]
    k = rng.randrange(len(words))
    words[k : k + 1] = rng.choice(([rng.choice(NUMBERS)], [rng.choice(WORDS)], [], [words[k]] * 2, ["0"]))
    return rng.choice((" ".join(words), " ".join(words), rng.choice(NUMBERS), rng.choice(WORDS)))


def _texts(element: Element) -> list:
    return [x for x in element.childNodes if x.nodeType in (x.TEXT_NODE, x.CDATA_SECTION_NODE)]


# ---- YAML and JSON ---------------------------------------------------------------------------------------


def _yaml_data(rng: random.Random, content: bytes, other: bytes) -> bytes:
    try:
        data, second = yaml.safe_load(content), yaml.safe_load(other)
        return yaml.safe_dump(bent(rng, data, second, circles=True), sort_keys=False).encode("utf-8", "replace")
    except Exception:  # changed before, or nothing that YAML can say
        return noisy(rng, content, other)


def bent(rng: random.Random, data: Any, other: Any, circles: bool = False) -> Any:
    """Nested data with one entry swapped, dropped, doubled, renamed, wrapped, or taken from elsewhere; circles: it may
    then hold itself."""
    data = copy.deepcopy(data)
    places, elsewhere = _places(data), _places(other)
    if not places:
        return rng.choice(VALUES)
    holder, key = rng.choice(places)
    way = rng.randrange(8)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif way == 1:
        holder[rng.choice(KEYS)] = holder[key]
    elif way == 2 and isinstance(holder, dict):
        holder[rng.choice([*KEYS, *(k for _, k in places if isinstance(k, str))])] = holder.pop(key)
    elif way == 3:
        holder[key] = rng.choice(([holder[key]], {"x": holder[key]}, [holder[key]] * 3, {str(key): holder[key]}))
    elif way == 4:
        source, at = rng.choice([*places, *elsewhere])
        holder[key] = source[at] if circles else copy.deepcopy(source[at])
    else:
        holder[key] = rng.choice(VALUES)
    return data


def _places(data: Any) -> list[tuple[Any, Any]]:
    found, waiting, seen = [], [data], set()
    while waiting:
        holder = waiting.pop()
        if id(holder) in seen:  # it may hold itself
            continue
        seen.add(id(holder))
        keys = holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        found += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys]
    return found


# ---- runs ------------------------------------------------------------------------------------------------


def mutated_archive(rng: random.Random, content: bytes, other: bytes) -> tuple[bytes, bool]:
    """An .npz, and whether it is damaged: otherwise it is one that somebody could have written."""
    if rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2))):
            content = _in_headers(rng, content) if rng.random() < 0.5 else noisy(rng, content, other)
        return content, True
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    name = rng.choice(list(entries))
    way = rng.randrange(7)
    if way == 0:
        entries[rng.choice([*entries, "x.npy", "../x.npy", "about", "q", ""])] = entries.pop(name)
    elif way == 1:
        del entries[name]
    elif way in (2, 3):
        described = json.loads(np.load(io.BytesIO(entries["about.npy"])).tobytes())
        text = json.dumps(bent(rng, described, described)).encode("utf-8", "replace")
        entries["about.npy"] = _npy(np.frombuffer(noisy(rng, text, text) if way == 3 else text, np.uint8))
    elif way == 4:
        entries[name] = _odd_header(rng, entries[name])
    else:
        entries[name] = _npy(_retyped(rng, np.load(io.BytesIO(entries[name]))))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))) as file:
        for each, data in entries.items():
            file.writestr(zipfile.ZipInfo(each), data)
    return made.getvalue(), False


def _in_headers(rng: random.Random, content: bytes) -> bytes:
    """A byte or a number near the signature of a zip's entry, or its directory."""
    found = [match.start() for match in re.finditer(rb"PK[\x01\x03\x05\x06]|\x93NUMPY", content)]
    if not found:
        return content
    at = rng.choice(found) + rng.randrange(100)
    new = rng.choice((rng.randbytes(1), struct.pack("<I", rng.choice((0, 1, 2**31, 2**32 - 1))), b"\0\0", b"\xff\xff"))
    return content[:at] + new + content[at + len(new) :]


def _npy(array: np.ndarray) -> bytes:
    made = io.BytesIO()
    np.save(made, array, allow_pickle=True)
    return made.getvalue()


RETYPED = ("f4", ">f8", "c16", "i4", "U5", "S3", "O", "?", "f2", "g")


def _retyped(rng: random.Random, array: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        made: list[Callable[[], np.ndarray]] = [
            *(lambda kind=kind: array.astype(kind) for kind in RETYPED),
            *(lambda: array[..., None], lambda: array.ravel(), lambda: array[:-1], lambda: array.T, lambda: array[:0]),
            lambda: np.zeros(len(array), dtype=[("a", "f8"), ("b", "O")]),
            lambda: np.zeros(len(array), dtype=[("a", "f8")]),
            lambda: np.zeros(len(array), dtype="datetime64[s]"),
            *(lambda: np.array(None), lambda: np.array(1.0), lambda: np.zeros((0, 0, 0))),
            *(lambda: np.asfortranarray(array), lambda: array * np.nan, lambda: array[::-1]),
            *(lambda: np.concatenate([array, array]), lambda: np.full(array.shape, 10**400, dtype=object)),
        ]
        return rng.choice(made)()


def _odd_header(rng: random.Random, entry: bytes) -> bytes:
    """What an array says of itself does not fit what it holds, or is nothing."""
    shape = rng.choice(
        ("(10**9,)", "(1000000000,)", "(-1,)", "(0,)", "()", "(2, 2)", "None", "(1e3,)", "(99999999999999999999,)")
    )
    kind = rng.choice(
        ("'<f8'", "'<f8'", "'|O'", "'<U9'", "'<f4'", "[('a', '<f8')]", "'<M8[s]'", "''", "'|V99999'", "3")
    )
    words = rng.choice(
        (
            f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}",
            "{" * 300,
            "[1]",
            "",
            "(" * 9000,
            "1" * 9000,
        )
    )
    header = words.encode().ljust(118) + b"\n"
    version = rng.choice((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"))
    length = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    return b"\x93NUMPY" + version + length + header + entry[128:]


def mutated_table(rng: random.Random, content: bytes, other: bytes) -> tuple[bytes, bool]:
    """A .csv, and whether it is damaged: otherwise its sum is right, or it has none."""
    if rng.random() < 0.3:
        for _ in range(rng.choice((1, 1, 2))):
            content = noisy(rng, content, other) if rng.random() < 0.7 else _words(rng, content)
        return content, content.startswith(f"# {SUM}: ".encode())
    lines = content.decode().splitlines(keepends=True)[1:]
    start = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    way = rng.randrange(5)
    if way < 2:
        k = rng.randrange(start)
        key, _, value = lines[k][2:].partition(": ")
        value = json.loads(value)
        if rng.random() < 0.3:
            k = next(j for j, line in enumerate(lines) if line.startswith("# mechanism: "))
            key, value = "mechanism", json.loads(lines[k][len("# mechanism: ") :])
            value = _words(rng, value.encode()).decode(errors="replace")
        lines[k] = f"# {key}: {json.dumps(next(iter(bent(rng, [value], [value])), None))}\n"
    elif way == 2:
        k = rng.randrange(start, len(lines))
        cells = lines[k].rstrip("\n").split(",")
        j = rng.randrange(len(cells))
        cells[j : j + 1] = rng.choice(
            ([rng.choice(NUMBERS)], [], [cells[j]] * 2, [rng.choice(WORDS)], ['"1"'], [cells[0]])
        )
        lines[k] = ",".join(cells) + "\n"
    elif way == 3:
        k, j = rng.randrange(len(lines)), rng.randrange(start, len(lines))
        lines[k : k + 1] = rng.choice(([], [lines[k]] * 2, [lines[j]], ["\n"], [lines[k], "\n"], ["\x85" + lines[k]]))
    else:
        lines = _words(rng, "".join(lines).encode()).decode(errors="replace").splitlines(keepends=True)
    rest = "".join(lines).encode("utf-8", "replace")
    return (f'# {SUM}: "{_sum(rest)}"\n'.encode() if rng.random() < 0.5 else b"") + rest, False
