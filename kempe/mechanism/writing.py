"""Writing YAML: mechanisms as YAML files that read back as the same mechanism."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from kempe.errors import MechanismError
from kempe.mechanism.joint import PER_FREEDOM, Joint
from kempe.mechanism.loads import Spring, Wrench

if TYPE_CHECKING:
    from kempe.mechanism.bodies import Body, Marker, Part, Solid
    from kempe.mechanism.couplings import Coupling
    from kempe.mechanism.mechanism import Mechanism


def text(mechanism: "Mechanism") -> str:
    """A mechanism as YAML text."""
    names = [part.name for part in (*mechanism.bodies, *mechanism.joints, *mechanism.couplings, *mechanism.loads)]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise MechanismError(f"saving {mechanism.name!r}: two of its parts are named {twice!r}; give each its own name")
    content: dict[str, Any] = {"name": mechanism.name, "gravity": list(mechanism.gravity)}
    on_ground = {n: _written_place(marker) for n, marker in mechanism.ground.markers.items() if n != "origin"}
    if on_ground:
        content["ground"] = on_ground
    content["bodies"] = {body.name: _written_body(body) for body in mechanism.bodies}
    content["joints"] = {joint.name: _written_joint(joint) for joint in mechanism.joints}
    if mechanism.couplings:
        content["couplings"] = {each.name: _written_coupling(each) for each in mechanism.couplings}
    if mechanism.loads:
        content["loads"] = {load.name: _written_load(load) for load in mechanism.loads}
    return yaml.safe_dump(_plain_numbers(content), sort_keys=False, default_flow_style=None, width=110)


def _written_body(body: "Body") -> dict:
    out: dict[str, Any] = {}
    parts = list(body.parts)
    has_ends = False
    if parts and not parts[0].name and not any(parts[0].position) and parts[0].rotation is None:
        first = parts.pop(0)
        has_ends = first.solid.kind in ("rod", "beam")
        out[first.solid.kind] = _written_solid(first.solid)
    if parts or not out:
        out["solids"] = {part.name: _written_part(part) for part in parts}
    usual = {"origin", "start", "end"} if has_ends else {"origin"}
    named = {n: _written_place(marker) for n, marker in body.markers.items() if n not in usual}
    return out | ({"markers": named} if named else {})


def _written_solid(solid: "Solid") -> dict:
    defaults = {f.name: f.default for f in fields(solid)}
    return {n: getattr(solid, n) for n in defaults if getattr(solid, n) != defaults[n]}


def _written_part(part: "Part") -> dict:
    out: dict[str, Any] = {part.solid.kind: _written_solid(part.solid)}
    if any(part.position):
        out["at"] = part.position
    return out | ({"rotation": part.rotation} if part.rotation is not None else {})


def _written_place(marker: "Marker") -> dict:
    out: dict[str, Any] = {"at": marker.position}
    return out | ({"rotation": marker.rotation} if not np.array_equal(marker.rotation, np.eye(3)) else {})


def _written_marker(marker: "Marker") -> Any:
    if marker.name is not None and marker.body.markers.get(marker.name) is marker:
        return f"{marker.body.name}.{marker.name}"
    place = _written_place(marker)
    short = "rotation" not in place and marker.body.name != "body"
    return {marker.body.name: place["at"]} if short else {"body": marker.body.name, **place}


def _written_joint(joint: Joint) -> dict:
    out: dict[str, Any] = {joint.type.name: [_written_marker(joint.a), _written_marker(joint.b)]}
    if len(joint.axes) == 1 and not np.array_equal(joint.axes[0], (0, 0, 1)):
        out["normal" if joint.type.name == "planar" else "axis"] = joint.axes[0]
    elif len(joint.axes) == 2:
        out["axes"] = joint.axes
    if any(joint.actuated):
        named = [n for n, on in zip(joint.type.v_names, joint.actuated, strict=True) if on]
        out["actuated"] = True if all(joint.actuated) else named
    if any(limit is not None for limit in joint.limits):
        out["limits"] = joint.limits
    out |= {n: getattr(joint, n) for n in (*PER_FREEDOM, "drawn") if any(getattr(joint, n))}
    if joint.switchable:
        out["switchable"] = True if joint.on else "open"
    return out | ({"pitch": joint.pitch} if joint.pitch is not None else {})


def _written_coupling(coupling: "Coupling") -> dict:
    return {"of": coupling.coefficients} | ({"offset": coupling.offset} if coupling.offset else {})


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
