"""Sidecar: loops of a URDF file in `loop_closures.yaml`, since plain URDF can only express trees.

    closures:
      - {link_a: coupler, link_b: rocker, point: [0.9, 0.2, 0], axis: [0, 0, 1]}
      - {name: C, type: spherical, link_a: coupler, link_b: rocker, origin_a: [1, 0, 0], origin_b: [0.6, 0, 0]}
    independent: [A]
    dependent: [B, D]

A closure is a hinge unless it has a type. It is placed by a point and an axis in the root link's frame, with all joints
at zero; or by an origin in each link's own frame, [x, y, z] or {xyz: .., rpy: ..}, and an axis in the frame of a.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kempe.bounded import read_bounded
from kempe.errors import FileError
from kempe.formats.poses import Pose, rotation_of
from kempe.formats.xml import HUGE

if TYPE_CHECKING:
    from kempe.mechanism.files import Document, Where

SIDECAR = "loop_closures.yaml"
LARGEST = 2**20  # bytes
MOST = 1000  # closures
FIELDS = ("name", "type", "link_a", "link_b", "point", "axis", "origin_a", "origin_b")


@dataclass(frozen=True, eq=False)
class Closure:
    """One loop: a point in the root link's frame, or one origin in each link's own frame."""

    where: "Where"
    name: str
    type: str
    links: tuple[str, str]
    axis: np.ndarray
    point: np.ndarray | None
    origins: tuple[Pose, Pose] | None


@dataclass(frozen=True, eq=False)
class Sidecar:
    """The contents of the sidecar file; empty if there is none."""

    document: "Document | None" = None
    closures: tuple[Closure, ...] = ()
    independent: frozenset[str] = frozenset()
    dependent: frozenset[str] = frozenset()

    def error(self, where: "Where", what: str) -> FileError:
        """An error about one of its entries."""
        assert self.document is not None  # errors are only about entries it has
        return self.document.error(where, what)


def beside(path: Path) -> Sidecar:
    """Reads the sidecar of a URDF file: `robot.loop_closures.yaml` for `robot.urdf`, or `loop_closures.yaml`."""
    for candidate in (path.with_suffix(f".{SIDECAR}"), path.with_name(SIDECAR)):
        if os.path.isfile(candidate):
            return _read(candidate)
    return Sidecar()


def _read(path: Path) -> Sidecar:
    from kempe.mechanism.files import Document  # imports the YAML reader, which most robots do not need

    try:
        document = Document(path, read_bounded(path, LARGEST, "list of loops").decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: not YAML: {error}") from error
    data = _fields(document, document.data or {}, (), ("closures", "independent", "dependent"))
    closures = _list(document, data, "closures")
    if len(closures) > MOST:
        raise document.error(("closures",), f"there are {len(closures)}; at most {MOST} are allowed")
    return Sidecar(
        document,
        tuple(_closure(document, entry, ("closures", k)) for k, entry in enumerate(closures)),
        frozenset(map(str, _list(document, data, "independent"))),
        frozenset(map(str, _list(document, data, "dependent"))),
    )


def _closure(document: "Document", entry: Any, where: "Where") -> Closure:
    entry = _fields(document, entry, where, FIELDS)
    for name in ("link_a", "link_b"):
        if name not in entry:
            raise document.error(where, f"{name} is missing")
    apart = [name for name in ("origin_a", "origin_b") if name in entry]
    if ("point" in entry) == bool(apart) or len(apart) == 1:
        raise document.error(where, "give a point in the root link's frame, or origin_a and origin_b in the links' own")
    axis = _numbers(document, entry.get("axis", (0.0, 0.0, 1.0)), (*where, "axis"))
    return Closure(
        where,
        str(entry.get("name", f"closure {where[-1] + 1}")),  # type: ignore[operator]
        str(entry.get("type", "revolute")),
        (str(entry["link_a"]), str(entry["link_b"])),
        axis,
        _numbers(document, entry["point"], (*where, "point")) if "point" in entry else None,
        tuple(_pose(document, entry[name], (*where, name)) for name in apart) or None,  # type: ignore[arg-type]
    )


def _pose(document: "Document", value: Any, where: "Where") -> Pose:
    if not isinstance(value, dict):
        value = {"xyz": value}
    value = _fields(document, value, where, ("xyz", "rpy"))
    position, angles = (_numbers(document, value.get(name, (0.0,) * 3), (*where, name)) for name in ("xyz", "rpy"))
    return Pose(rotation_of(*angles.tolist()), position)


def _fields(document: "Document", value: Any, where: "Where", known: tuple[str, ...]) -> dict:
    if not isinstance(value, dict):
        raise document.error(where, f"should hold named entries, not {str(value)[:60]!r}")
    for name in value:
        if name not in known:
            raise document.error((*where, name), f"not known here; known are {', '.join(known)}")
    return value


def _list(document: "Document", data: dict, name: str) -> list:
    value = data.get(name) or []
    if not isinstance(value, list):
        raise document.error((name,), f"should be a list, not {str(value)[:60]!r}")
    return value


def _numbers(document: "Document", value: Any, where: "Where") -> np.ndarray:
    given = list(value) if isinstance(value, (list, tuple)) else []
    if len(given) != 3 or any(isinstance(x, bool) or not isinstance(x, (int, float)) for x in given):
        raise document.error(where, f"takes three numbers, not {str(value)[:60]!r}")
    if not all(abs(x) <= HUGE for x in given):  # also false for NaN
        raise document.error(where, "takes finite numbers")
    return np.array(given, dtype=float)
