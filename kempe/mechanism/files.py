"""Mechanisms as YAML files, read with file, line and field in every complaint, and written so that they read back.

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

A body is a solid (`rod`, `box`, `cylinder`, `sphere`, `plate`, `body`, `point`, `hub`), with more `solids` and named
`markers`. A marker is `body`, `body.marker`, `{body: [x, y, z]}`, or `{body: name, at: [x, y, z], rotation: [...]}`.
"""

import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from kempe.errors import FileError, KempeError
from kempe.mechanism.bodies import SOLIDS, TENSOR, Body, Lump, Marker, Part, Rod, Solid
from kempe.mechanism.joints import KINDS
from kempe.mechanism.loads import Spring, Wrench
from kempe.mechanism.mechanism import PER_FREEDOM, Joint, Mechanism

Where = tuple[str | int, ...]


class _JointOptions(BaseModel):
    """Everything a joint may say besides its kind and markers."""

    model_config = ConfigDict(extra="forbid")

    axis: tuple[float, float, float] | None = None
    axes: list[tuple[float, float, float]] | None = None
    normal: tuple[float, float, float] | None = None
    actuated: bool | list[str] = False
    limits: list | None = None
    damping: float | list[float] = 0.0
    stiffness: float | list[float] = 0.0
    rest: float | list[float] = 0.0
    armature: float | list[float] = 0.0
    pitch: float | None = None


class _Document:
    """A YAML file as plain data, with the line of every entry."""

    def __init__(self, path: Path):
        self.path = path
        self._lines: dict[Where, int] = {}
        try:
            node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise FileError(f"{path}, line {line}: not YAML: {error.problem}") from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise FileError(f"{path}: not YAML: {error}") from error
        self.data = self._plain(node, ()) if node is not None else None

    def error(self, where: Where, what: str) -> FileError:
        """A complaint about one entry; where it is missing, about what should hold it."""
        known = where
        while known not in self._lines and known:
            known = known[:-1]
        field = ".".join(map(str, where)) or "the file"
        return FileError(f"{self.path}, line {self._lines.get(known, 1)}, {field}: {what}")

    def _plain(self, node: yaml.Node, where: Where) -> Any:
        self._lines[where] = node.start_mark.line + 1
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
        return _scalar(node)


def _scalar(node: yaml.Node) -> Any:
    value = yaml.SafeLoader("").construct_object(node)
    if isinstance(value, str) and getattr(node, "style", None) is None:
        try:
            return float(value)  # YAML 1.1 takes 1e-3 for text
        except ValueError:
            return value
    return value


def load(path: str | Path) -> Mechanism:
    """The mechanism of a YAML file."""
    path = Path(path)
    try:
        document = _Document(path)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    return _Reader(document).mechanism()


class _Reader:
    """Builds a mechanism from a document."""

    def __init__(self, document: _Document):
        self.document = document
        self.data = document.data

    def mechanism(self) -> Mechanism:
        top = self._mapping(self.data, (), {"name", "gravity", "bodies", "joints", "loads"})
        gravity = top.get("gravity", (0.0, 0.0, -9.81))
        m = self._guard(("gravity",), lambda: Mechanism(str(top.get("name", self.document.path.stem)), gravity))
        for name, spec in self._mapping(top.get("bodies", {}), ("bodies",)).items():
            self._body(m, name, spec, ("bodies", name))
        for name, spec in self._mapping(top.get("joints", {}), ("joints",)).items():
            self._joint(m, name, spec, ("joints", name))
        for name, spec in self._mapping(top.get("loads", {}), ("loads",)).items():
            self._load(m, name, spec, ("loads", name))
        return m

    def _body(self, m: Mechanism, name: str, spec, where: Where) -> None:
        spec = self._mapping(spec, where, {*SOLIDS, "solids", "markers"})
        kind = self._one_of(spec, SOLIDS, where, "solid")
        solid = self._solid(kind, spec[kind], (*where, kind))
        body = m.rod(name, solid.length, solid.mass, solid.radius) if isinstance(solid, Rod) else m.solid(name, solid)
        for part, inner in self._mapping(spec.get("solids", {}), (*where, "solids")).items():
            at = (*where, "solids", part)
            inner = self._mapping(inner, at, {*SOLIDS, "at", "rotation"})
            kind = self._one_of(inner, SOLIDS, at, "solid")
            more = self._solid(kind, inner[kind], (*at, kind))
            self._guard(
                at, lambda i=inner, p=part, s=more: body.add(p, s, i.get("at", (0.0, 0.0, 0.0)), i.get("rotation"))
            )
        for label, place in self._mapping(spec.get("markers", {}), (*where, "markers")).items():
            at = (*where, "markers", label)
            full = place if isinstance(place, dict) else {"at": place}
            full = self._mapping(full, at, {"at", "rotation"})
            self._guard(at, lambda f=full, n=label: body.at(*f.get("at", ()), rotation=f.get("rotation"), name=n))

    def _solid(self, kind: str, spec, where: Where) -> Solid:
        type_ = SOLIDS[kind]
        spec = dict(self._mapping(spec, where))
        if type_ is Lump and "inertia" in spec:
            tensor = np.array(spec.pop("inertia"), dtype=float)
            full = np.diag(tensor) if tensor.shape == (3,) else tensor
            if full.shape != (3, 3):
                raise self.document.error((*where, "inertia"), "give three principal values or a 3 x 3 matrix")
            spec["tensor"] = tuple(float(full["xyz".index(n[0]), "xyz".index(n[1])]) for n in TENSOR)
        self._mapping(spec, where, {f.name for f in fields(type_)})
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
        axes = options.axes or [x for x in (options.axis or options.normal,) if x is not None]
        if not axes and kind not in ("spherical", "free", "fixed"):
            axes = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)] if kind == "universal" else [(0.0, 0.0, 1.0)]
        rest = options.model_dump(exclude={"axis", "axes", "normal"})
        self._guard(where, lambda: m.joint(kind, name, a, b, axes, **rest))

    def _load(self, m: Mechanism, name: str, spec, where: Where) -> None:
        spec = dict(self._mapping(spec, where))
        kind = self._one_of(spec, ("spring", "wrench"), where, "load")
        ends = spec.pop(kind)
        if kind == "spring":
            self._mapping(spec, where, {"stiffness", "damping", "length"})
            if not isinstance(ends, list) or len(ends) != 2:
                raise self.document.error((*where, kind), "give two markers")
            a, b = (self._marker(m, end, (*where, kind, k)) for k, end in enumerate(ends))
            self._guard(where, lambda: m.spring(name, a, b, **spec))
        else:
            self._mapping(spec, where, {"force", "moment", "follows"})
            marker = self._marker(m, ends, (*where, kind))
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
        if "body" in spec:
            spec = self._mapping(spec, where, {"body", "at", "rotation"})
            body, at, rotation = spec["body"], spec.get("at", ()), spec.get("rotation")
        elif len(spec) == 1:
            ((body, at),), rotation = spec.items(), None
            if not isinstance(at, list) or len(at) > 3:
                raise self.document.error(where, f"give up to three coordinates on {body!r}, such as [x, y, z]")
        else:
            raise self.document.error(
                where, "a marker is body.marker, {body: [x, y, z]} or {body: name, at: ..., rotation: ...}"
            )
        found = self._named(m, body, where)
        return self._guard(where, lambda: found.at(*at, rotation=rotation))

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
        """Whatever is wrong with an entry is said with its line."""
        try:
            return make()
        except FileError:
            raise
        except (KempeError, TypeError, ValueError) as error:
            raise self.document.error(where, str(error)) from error


_FIELD_NAMES = {f.name for solid in SOLIDS.values() for f in fields(solid)} | set(_JointOptions.model_fields)


# ---- writing ---------------------------------------------------------------------------------------------


def save(mechanism: Mechanism, path: str | Path) -> None:
    """Writes a mechanism so that `load` gives it back; the file appears whole or not at all."""
    path = Path(path)
    content: dict[str, Any] = {"name": mechanism.name, "gravity": list(mechanism.gravity)}
    content["bodies"] = {body.name: _written_body(body) for body in mechanism.bodies}
    content["joints"] = {joint.name: _written_joint(joint) for joint in mechanism.joints}
    if mechanism.loads:
        content["loads"] = {load.name: _written_load(load) for load in mechanism.loads}
    text = yaml.safe_dump(_plain_numbers(content), sort_keys=False, default_flow_style=None, width=110)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _written_body(body: Body) -> dict:
    first, *others = body.parts
    if first.name or any(first.position) or first.rotation is not None:
        first, others = Part("", Lump(0.0)), body.parts
    out: dict[str, Any] = {first.solid.kind: _written_solid(first.solid)}
    if others:
        out["solids"] = {part.name: _written_part(part) for part in others}
    usual = {"origin", "start", "end"} if first.solid.kind == "rod" else {"origin"}
    named = {n: _written_place(marker) for n, marker in body.markers.items() if n not in usual}
    return out | ({"markers": named} if named else {})


def _written_solid(solid: Solid) -> dict:
    defaults = {f.name: f.default for f in fields(solid)}
    return {n: getattr(solid, n) for n in defaults if getattr(solid, n) != defaults[n]}


def _written_part(part: Part) -> dict:
    out: dict[str, Any] = {part.solid.kind: _written_solid(part.solid)}
    if any(part.position):
        out["at"] = part.position
    return out | ({"rotation": part.rotation} if part.rotation is not None else {})


def _written_place(marker: Marker) -> dict:
    out: dict[str, Any] = {"at": marker.position}
    return out | ({"rotation": marker.rotation} if not np.array_equal(marker.rotation, np.eye(3)) else {})


def _written_marker(marker: Marker) -> Any:
    if marker.name is not None and marker.body.markers.get(marker.name) is marker:
        return f"{marker.body.name}.{marker.name}"
    place = _written_place(marker)
    return {"body": marker.body.name, **place} if "rotation" in place else {marker.body.name: place["at"]}


def _written_joint(joint: Joint) -> dict:
    out: dict[str, Any] = {joint.type.name: [_written_marker(joint.a), _written_marker(joint.b)]}
    if len(joint.axes) == 1 and not np.array_equal(joint.axes[0], (0, 0, 1)):
        out["axis"] = joint.axes[0]
    elif len(joint.axes) == 2:
        out["axes"] = joint.axes
    if any(joint.actuated):
        named = [n for n, on in zip(joint.type.v_names, joint.actuated, strict=True) if on]
        out["actuated"] = True if all(joint.actuated) else named
    if any(limit is not None for limit in joint.limits):
        out["limits"] = joint.limits
    out |= {n: getattr(joint, n) for n in PER_FREEDOM if any(getattr(joint, n))}
    return out | ({"pitch": joint.pitch} if joint.pitch is not None else {})


def _written_load(load: Spring | Wrench) -> dict:
    if isinstance(load, Spring):
        ends = {"spring": [_written_marker(load.a), _written_marker(load.b)]}
        return ends | {n: getattr(load, n) for n in ("stiffness", "damping", "length") if getattr(load, n)}
    out: dict[str, Any] = {"wrench": _written_marker(load.marker)}
    out |= {n: getattr(load, n) for n in ("force", "moment") if any(getattr(load, n))}
    return out | ({"follows": True} if load.follows else {})


def _plain_numbers(value: Any) -> Any:
    """Arrays and tuples as lists, NumPy numbers as Python's."""
    if isinstance(value, dict):
        return {key: _plain_numbers(x) for key, x in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain_numbers(x) for x in value]
    return value.item() if isinstance(value, np.generic) else value
