"""Reading YAML: mechanisms from YAML files, with file, line and field in every error.

    name: four-bar
    gravity: [0, -9.81, 0]
    bodies:
      crank: {rod: {length: 0.3, mass: 1.5}}
      coupler: {rod: {length: 1.0, mass: 5.0}}
      rocker: {rod: {length: 0.6, mass: 3.0}}
    joints:
      A: {revolute: [ground, crank.start], actuated: true}
      B: {revolute: [crank.end, coupler.start]}
      C: {revolute: [coupler.end, rocker.end]}
      D: {revolute: [{ground: [1, 0]}, rocker.start]}
    couplings:
      mesh: {of: {sun: 30, planet: 18}, offset: 0.1}

A body is a solid (`rod`, `box`, `cylinder`, `sphere`, `ellipsoid`, `plate`, `body`, `point`, `hub`, `mesh`) or a
`beam`, with more `solids` and named `markers`; `ground` may have markers too. A marker is `body`, `body.marker`,
`{body: [x, y, z]}`, or `{body: name, at: [x, y, z], rotation: [...]}`.
"""

import contextlib
from dataclasses import fields
from math import inf, nan
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, StrictBool, TypeAdapter, ValidationError

from kempe.bounded import HUGE, read_bounded, real
from kempe.errors import FileError, KempeError
from kempe.mechanism.bodies import Body, Lump, Marker, Rod, Solid
from kempe.mechanism.flexible import Beam, beam_body
from kempe.mechanism.given import tensor_entries
from kempe.mechanism.joints import KINDS
from kempe.mechanism.mechanism import Mechanism
from kempe.mechanism.solids import SOLIDS, MeshFile

Where = tuple[str | int, ...]
MOST = 100_000  # entries; aliases can expand a short file into a long one
LARGEST = 8 * 2**20  # bytes
LONGEST = 400  # characters of a number
DEEPEST = 20  # levels
LINE = 250  # characters of an error, which may quote the entry
YAML = "tag:yaml.org,2002:"
COLLECTIONS = YAML + "map", YAML + "seq"
PLAIN = {YAML + name for name in ("str", "bool", "int", "float", "null", "timestamp", "value", "merge")}
SPECIAL = {".inf": inf, "+.inf": inf, "-.inf": -inf, ".nan": nan}
BOOLEANS = yaml.SafeLoader.bool_values
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _JointOptions(BaseModel):
    """The options of a joint, besides its kind and markers."""

    model_config = ConfigDict(extra="forbid")

    axis: tuple[float, float, float] | None = None
    axes: list[tuple[float, float, float]] | None = None
    normal: tuple[float, float, float] | None = None
    actuated: StrictBool | str | list[str] = False
    limits: list | None = None
    damping: float | list[float] = 0.0
    stiffness: float | list[float] = 0.0
    rest: float | list[float] = 0.0
    armature: float | list[float] = 0.0
    drawn: float | list[float] = 0.0
    pitch: float | None = None
    switchable: StrictBool | Literal["open"] = False


class Document:
    """A YAML file as plain data, with the line of every entry."""

    def __init__(self, path: Path, content: str):
        self.path = path
        self._lines: dict[Where, int] = {}
        self._texts: dict[Where, str] = {}
        try:
            _look_over(content, path)
            node = yaml.compose(content, Loader=LOADER)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise FileError(f"{path}, line {line}: not YAML: {error.problem}") from error
        except yaml.YAMLError as error:
            raise FileError(f"{path}: not YAML: {getattr(error, 'reason', error)}") from error
        except RecursionError as error:
            raise FileError(f"{path}: entries are nested too deeply") from error
        self.data = self._plain(node, ()) if node is not None else None

    def text(self, key: str, default: str) -> str:
        """A top-level entry as written: `yes` and 1e5 are names too."""
        return self._texts.get((key,), default)

    def error(self, where: Where, what: str) -> FileError:
        """An error about one entry; if it is missing, at the line of the enclosing one."""
        known = where
        while known not in self._lines and known:
            known = known[:-1]
        field = ".".join(map(str, where)) or "the file"
        short = what if len(what) <= LINE else f"{what[: LINE - 4]} ..."
        return FileError(f"{self.path}, line {self._lines.get(known, 1)}, {field}: {short}")

    def _plain(self, node: yaml.Node, where: Where) -> Any:
        self._lines[where] = node.start_mark.line + 1
        if len(self._lines) > MOST:
            raise self.error((), f"there are more than {MOST} entries, or aliases that expand to more")
        if len(where) > DEEPEST:
            raise self.error(where[:3], "entries are nested too deeply, or refer to themselves")
        if not isinstance(node, yaml.ScalarNode) and node.tag not in COLLECTIONS:
            raise self.error(where, f"the tag {_tag(node)!r} is not allowed here; leave it out")
        if isinstance(node, yaml.MappingNode):
            out = {}
            for key_node, value_node in node.value:
                key = str(key_node.value)
                if key in out:
                    self._lines[(*where, key)] = key_node.start_mark.line + 1
                    raise self.error((*where, key), "this key is already used above")
                out[key] = self._plain(value_node, (*where, key))
                self._lines[(*where, key)] = key_node.start_mark.line + 1
            return out
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*where, k)) for k, item in enumerate(node.value)]
        self._texts[where] = str(node.value)
        try:
            return _scalar(node)
        except ValueError as error:
            raise self.error(where, str(error)) from error


def _look_over(content: str, path: Path) -> None:
    """Raises if there are too many entries or levels, before anything is built."""
    level = count = 0
    for event in yaml.parse(content, Loader=LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            level -= 1
            continue
        count += isinstance(event, yaml.NodeEvent)
        level += isinstance(event, yaml.CollectionStartEvent)
        if level > DEEPEST + 1:
            raise FileError(f"{path}, line {event.start_mark.line + 1}: entries are nested too deeply")
        if count > 2 * MOST + 1:  # keys and values
            raise FileError(f"{path}: there are more than {MOST} entries")


def _tag(node: yaml.Node) -> str:
    return node.tag.removeprefix(YAML)[:40]


def _scalar(node: yaml.Node) -> Any:
    """A number, bool, None or string; dates and sexagesimal numbers stay strings as written."""
    text, tag = str(node.value), node.tag
    if tag not in PLAIN:
        raise ValueError(f"the tag {_tag(node)!r} is not allowed here; leave it out")
    quoted = bool(getattr(node, "style", None))  # a style, which plain words do not have
    if tag.endswith("null"):
        return None
    if tag.endswith("bool"):
        if text.lower() not in BOOLEANS:
            raise ValueError(f"{text[:40]!r} is neither true nor false")
        return BOOLEANS[text.lower()]
    if quoted and tag.endswith("str"):
        return text
    return _number(text, tag.endswith("int"))


def _number(text: str, whole: bool) -> Any:
    """A number, if the text is one; to YAML 1.1, 1e-3 is a string."""
    if len(text) > LONGEST:
        if whole:
            raise ValueError(f"a number of {len(text)} digits is too long")
        return text
    plain = text.replace("_", "") if text[:1] in "+-.0123456789" else text
    if plain.lower() in SPECIAL:
        return SPECIAL[plain.lower()]
    for kind in (_integer, float) if whole else (float,):
        with contextlib.suppress(ValueError):
            value = kind(plain)
            break
    else:
        return text
    if HUGE < abs(value) < inf:
        raise ValueError(f"{text[:40]} is too large")
    return value


def _integer(text: str) -> int:
    return int(text, 0)


def load(path: str | Path, outside: bool = False) -> Mechanism:
    """Reads a mechanism from a YAML file; outside: whether meshes may lie outside its folder."""
    path = Path(path)
    try:
        content = read_bounded(path, LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: not YAML: {error}") from error
    return parse(content, path, outside)


def parse(content: str, path: Path, outside: bool = True) -> Mechanism:
    """Reads a mechanism from YAML text; the path gives its default name and appears in errors."""
    return _Reader(Document(path, content), outside).mechanism()


class _Reader:
    """Builds a mechanism from a document."""

    def __init__(self, document: Document, outside: bool):
        self.document, self.outside = document, outside
        self.data = document.data

    def mechanism(self) -> Mechanism:
        top = self._mapping(self.data, (), {"name", "gravity", "ground", "bodies", "joints", "couplings", "loads"})
        gravity = top.get("gravity", (0.0, 0.0, -9.81))
        m = self._guard(("gravity",), lambda: Mechanism(self.document.text("name", self.document.path.stem), gravity))
        self._body_markers(m.ground, top.get("ground", {}), ("ground",))
        for name, spec in self._mapping(top.get("bodies", {}), ("bodies",)).items():
            self._body(m, name, spec, ("bodies", name))
        for name, spec in self._mapping(top.get("joints", {}), ("joints",)).items():
            self._joint(m, name, spec, ("joints", name))
        for name, spec in self._mapping(top.get("couplings", {}), ("couplings",)).items():
            self._coupling(m, name, spec, ("couplings", name))
        for name, spec in self._mapping(top.get("loads", {}), ("loads",)).items():
            self._load(m, name, spec, ("loads", name))
        return m

    def _body(self, m: Mechanism, name: str, spec, where: Where) -> None:
        kinds = {**SOLIDS, Beam.kind: Beam}
        spec = self._mapping(spec, where, {*kinds, "solids", "markers"})
        if any(kind in spec for kind in kinds) or "solids" not in spec:
            kind = self._one_of(spec, kinds, where, "solid")
            solid = self._solid(kind, spec[kind], (*where, kind))
            if isinstance(solid, Beam):
                body = beam_body(m, name, solid)
            else:
                rod = isinstance(solid, Rod)
                body = m.rod(name, solid.length, solid.mass, solid.radius) if rod else m.solid(name, solid)
        else:
            body = m.solid(name)
        for part, inner in self._mapping(spec.get("solids", {}), (*where, "solids")).items():
            at = (*where, "solids", part)
            inner = self._mapping(inner, at, {*SOLIDS, "at", "rotation"})
            kind = self._one_of(inner, SOLIDS, at, "solid")
            more = self._solid(kind, inner[kind], (*at, kind))
            place = self._coordinates(inner.get("at", []), (*at, "at"))
            self._guard(at, lambda i=inner, p=part, s=more, x=place: body.add(p, s, x, i.get("rotation")))
        self._body_markers(body, spec.get("markers", {}), (*where, "markers"))

    def _body_markers(self, body: Body, markers, where: Where) -> None:
        for label, place in self._mapping(markers, where).items():
            at = (*where, label)
            full = place if isinstance(place, dict) else {"at": place}
            full = self._mapping(full, at, {"at", "rotation"})
            position = self._coordinates(full.get("at", []), at)
            self._guard(at, lambda f=full, n=label, x=position: body.at(*x, rotation=f.get("rotation"), name=n))

    def _coordinates(self, value, where: Where) -> list:
        """Up to three numbers or parameter paths; the rest are zero."""
        if not isinstance(value, list) or len(value) > 3 or not all(isinstance(x, (int, float, str)) for x in value):
            raise self.document.error(where, f"give up to three coordinates, such as [x, y, z], not {value!r}")
        return [*value, *[0.0] * (3 - len(value))]

    def _solid(self, kind: str, spec, where: Where) -> Solid:
        spec = dict(self._mapping(spec, where))
        if kind == Beam.kind:
            self._mapping(spec, where, {f.name for f in fields(Beam)})
            return self._guard(where, lambda: Beam(**spec))
        type_ = SOLIDS[kind]
        if type_ is Lump and "inertia" in spec:
            given = spec.pop("inertia")
            spec["tensor"] = self._guard((*where, "inertia"), lambda: tensor_entries(given, str(where[1])))
        for field, value in spec.items():
            if isinstance(value, bool):
                raise self.document.error((*where, field), f"give a number, not {str(value).lower()}")
        self._mapping(spec, where, {f.name for f in fields(type_)})
        if type_ is MeshFile and isinstance(spec.get("file"), str):
            folder = self.document.path.parent
            place = folder / spec["file"]  # relative to the YAML file
            if not (self.outside or real(place).is_relative_to(real(folder))):
                raise self.document.error(
                    (*where, "file"), f"{place} is outside the folder of the file; kp.load(..., outside=True) allows it"
                )
            spec["file"] = str(place.absolute())
        try:
            return TypeAdapter(type_).validate_python(spec)
        except ValidationError as error:
            raise self._invalid(error, where) from error

    def _joint(self, m: Mechanism, name: str, spec, where: Where) -> None:
        spec = dict(self._mapping(spec, where))
        kind = self._one_of(spec, KINDS, where, "joint kind")
        ends = spec.pop(kind)
        if not isinstance(ends, list) or len(ends) != 2:
            raise self.document.error((*where, kind), "give two markers, such as [crank.end, coupler.start]")
        a, b = (self._marker(m, end, (*where, kind, k)) for k, end in enumerate(ends))
        try:
            options = _JointOptions.model_validate(spec)
        except ValidationError as error:
            raise self._invalid(error, where) from error
        allowed = {"universal": "axes", "planar": "normal", "spherical": None, "free": None, "fixed": None}.get(
            kind, "axis"
        )
        for word in ("axis", "axes", "normal"):
            if word in spec and word != allowed:
                instead = f"it takes {allowed}" if allowed else "it takes none"
                raise self.document.error((*where, word), f"a {kind} joint has no {word}; {instead}")
        axes = options.axes or [x for x in (options.axis or options.normal,) if x is not None]
        if not axes and allowed:
            axes = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)] if kind == "universal" else [(0.0, 0.0, 1.0)]
        rest = options.model_dump(exclude={"axis", "axes", "normal"})
        self._guard(where, lambda: m.joint(kind, name, a, b, axes, **rest))

    def _coupling(self, m: Mechanism, name: str, spec, where: Where) -> None:
        spec = self._mapping(spec, where, {"of", "offset"})
        coefficients = self._mapping(spec.get("of"), (*where, "of"))
        self._guard((*where, "of"), lambda: m.couple(name, coefficients, spec.get("offset", 0.0)))

    def _load(self, m: Mechanism, name: str, spec, where: Where) -> None:
        spec = dict(self._mapping(spec, where))
        kind = self._one_of(spec, ("spring", "wrench"), where, "load")
        ends = spec.pop(kind)
        if kind == "spring":
            self._mapping(spec, where, {"stiffness", "damping", "length"})
            if not isinstance(ends, list) or len(ends) != 2:
                raise self.document.error((*where, kind), "give two markers")
            a, b = (self._marker(m, end, (*where, kind, k)) for k, end in enumerate(ends))
            for field, value in spec.items():
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    raise self.document.error((*where, field), f"give a number, not {value!r}")
            self._guard(where, lambda: m.spring(name, a, b, **spec))
        else:
            self._mapping(spec, where, {"force", "moment", "follows"})
            marker = self._marker(m, ends, (*where, kind))
            if not isinstance(spec.get("follows", False), bool):
                raise self.document.error((*where, "follows"), f"give true or false, not {spec['follows']!r}")
            self._guard(where, lambda: m.wrench(name, marker, **spec))

    def _marker(self, m: Mechanism, spec, where: Where) -> Marker:
        if isinstance(spec, str):
            body, _, label = spec.partition(".")
            found = self._named(m, body, where)
            if (label or "origin") not in found.markers:
                known = ", ".join(found.markers)
                raise self.document.error(where, f"body {body!r} has no marker {label!r}; it has {known}")
            return found.markers[label or "origin"]
        spec = self._mapping(spec, where)
        if "body" in spec and not isinstance(spec["body"], list):
            spec = self._mapping(spec, where, {"body", "at", "rotation"})
            body, at, rotation = spec["body"], spec.get("at", []), spec.get("rotation")
        elif len(spec) == 1:
            ((body, at),), rotation = spec.items(), None
        else:
            words = "a marker is body.marker, {body: [x, y, z]} or {body: name, at: ..., rotation: ...}"
            raise self.document.error(where, words)
        found = self._named(m, str(body), where)
        position = self._coordinates(at, where)
        return self._guard(where, lambda: found.at(*position, rotation=rotation))

    def _named(self, m: Mechanism, name: str, where: Where) -> Body:
        for body in (m.ground, *m.bodies):
            if body.name == name:
                return body
        known = ", ".join(b.name for b in (m.ground, *m.bodies))
        raise self.document.error(where, f"there is no body {name!r}; there are {known}")

    def _mapping(self, value, where: Where, allowed: set[str] | None = None) -> dict:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.document.error(where, f"should hold named entries, not {value!r}")
        for key in value:
            if allowed is not None and key not in allowed:
                raise self.document.error((*where, key), f"not known here; known are {', '.join(sorted(allowed))}")
        return value

    def _one_of(self, spec: dict, choices, where: Where, what: str) -> str:
        found = [key for key in spec if key in choices]
        if len(found) != 1:
            said = f"it names {', '.join(found)}" if found else "none is named"
            raise self.document.error(where, f"name one {what} ({', '.join(choices)}); {said}")
        return found[0]

    def _invalid(self, error: ValidationError, where: Where) -> FileError:
        first = error.errors()[0]
        inner = tuple(x for x in first["loc"] if isinstance(x, int) or x in _FIELD_NAMES)
        return self.document.error((*where, *inner), f"{first['msg'].lower()} (it is {first['input']!r})")

    def _guard(self, where: Where, make):
        """Adds file and line to whatever error an entry raises."""
        try:
            return make()
        except FileError:
            raise
        except (KempeError, TypeError, ValueError) as error:
            raise self.document.error(where, str(error)) from error


_FIELD_NAMES = {f.name for solid in SOLIDS.values() for f in fields(solid)} | set(_JointOptions.model_fields)
