"""Page: one self-contained HTML file that plays a run in a browser.

Poses and plots are packed as 16-bit steps between the smallest and largest value of each column. Positions are accurate
to 1 / 131070 of the distance a body travels along an axis, quaternions to 2e-5, plotted values to 1 / 131070 of their
range. Between frames the page rotates bodies at constant rate and moves them along straight lines.
"""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kempe.errors import StateError, ViewError
from kempe.mechanism.bodies import Body, Marker
from kempe.view.scene import Arrow, Point, Scene, scene
from kempe.view.shapes import ACCENT, LOAD, SPRING, triangles
from kempe.whole import as_path, write_whole

if TYPE_CHECKING:
    from kempe.kinetics.kinetics import Kinetics

SCRIPTS = ("math.js", "meshes.js", "render.js", "stage.js", "plots.js", "camera.js", "app.js")
SLOW, FAST = 30.0, 100.0  # frames per second: as many as fit in ROOM bytes, between these
ROOM = 60_000
BRIEF = 200  # minimum number of frames, also for very short runs
FRAMES = 18_000  # ten minutes at 30 frames per second; longer runs have fewer per second
CURVES = 12  # in a plot


class Run(Protocol):
    """What a page needs of a run: rows of times, coordinates, velocities and efforts, the structure over time, and the
    outcome."""

    @property
    def model(self) -> "Kinetics": ...  # noqa: D102
    @property
    def t(self) -> np.ndarray: ...  # noqa: D102
    @property
    def q(self) -> np.ndarray: ...  # noqa: D102
    @property
    def v(self) -> np.ndarray: ...  # noqa: D102
    @property
    def u(self) -> np.ndarray: ...  # noqa: D102
    @property
    def p(self) -> np.ndarray: ...  # noqa: D102
    @property
    def on_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def structure(self) -> Any: ...  # noqa: D102
    @property
    def outcome(self) -> Any: ...  # noqa: D102
    def resample(self, times: np.ndarray) -> "Run": ...  # noqa: D102


def animate(
    run: Run,
    path: str | Path,
    points: Iterable[Marker | Body | str] | Marker | Body | str = (),
    title: str | None = None,
    forces: bool = True,
) -> Path:
    """Writes the page; returns its path.

    points: markers, bodies or names such as "boom.end" that leave traces; by default the end of the last body.
    forces: whether arrows of efforts and loads are shown initially.
    """
    model = run.model
    t, q, v, u = sampled(run)
    if as_path(path).suffix.lower() not in (".html", ".htm"):
        raise ViewError(
            f"{Path(path).name!r}: a page is written as .html; for other formats, record the browser window"
        )
    whole = model.structures.whole(model) if model.topology.switchable else model  # with every switchable joint
    seen = scene(whole, q, listed(points) or tip(model), run.p)
    panels = _panels(model, q, v, u)
    content = {
        "times": _text(t.astype("<f4")),
        "bodies": seen.bodies,
        "poses": packed(_columns(seen)),
        "efforts": packed(u),
        "panels": panels,
        "switched": list(run.on_names),
        "structure": [[_short(span.start, 9), [run.on_names.index(x) for x in span.on]] for span in run.structure],
        **_drawn(seen),
    }
    facts = [
        f"{t[-1] - t[0]:.4g} s",
        _count(len(model.mechanism.bodies), "body", "bodies"),
        _count(model.dof, "freedom"),
    ]
    outcome = str(run.outcome or "").strip()
    words = " · ".join([*facts, *([outcome] if outcome else [])])
    name = title if title is not None else model.mechanism.name
    return write_whole(path, _filled(content, name, words, forces))


def sampled(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, q, v and u at the frames of a page: rows of the run, or states in between if these are too far apart for a
    smooth picture."""
    model = run.model
    t, q, v = (np.asarray(x, dtype=float) for x in (run.t, run.q, run.v))
    u = np.asarray(run.u, dtype=float).reshape(len(t), -1) if model.nu else np.zeros((len(t), 0))
    good = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1) & np.isfinite(t)
    t, q, v, u = t[good], q[good], v[good], np.nan_to_num(u[good], posinf=0.0, neginf=0.0)
    if not len(t):
        raise StateError(f"the run of {model.mechanism.name!r} has no row of finite coordinates to show")
    duration = t[-1] - t[0]
    if duration <= 0:
        return t[-1:], q[-1:], v[-1:], u[-1:]
    each = (14 * len(model.mechanism.bodies) + 2 * (model.nq + model.nv + 2 * model.nu + 3)) * 4 / 3
    rate = max(float(np.clip(ROOM / (each * duration), SLOW, FAST)), BRIEF / duration)
    grid = np.linspace(t[0], t[-1], int(np.clip(np.ceil(rate * duration), 1, FRAMES)) + 1)
    if np.diff(t).max() <= 1.5 * (grid[1] - grid[0]):
        rows = np.unique(np.abs(np.searchsorted(t, grid - (grid[1] - grid[0]) / 2)).clip(0, len(t) - 1))
        rows[-1] = len(t) - 1
        return t[rows], q[rows], v[rows], u[rows]
    if good.all():
        fine = run.resample(grid)
        return grid, fine.q, fine.v, np.nan_to_num(fine.u).reshape(len(grid), -1)
    return t, q, v, u


def listed(points) -> tuple[Marker | Body | str, ...]:
    """One marker or several, as a tuple."""
    return (points,) if isinstance(points, (Marker, Body, str)) else tuple(points)


def tip(model: "Kinetics") -> tuple[Marker, ...]:
    """The marker `end` of the last body of the tree that has one and carries no other body."""
    carriers = {t.parent for t in model.topology.tree}
    for t in reversed(model.topology.tree):
        if t.child not in carriers and "end" in t.child.markers:
            return (t.child.markers["end"],)
    return ()


def packed(columns: np.ndarray) -> dict:
    """Columns as 16-bit steps between their smallest and largest values."""
    low = columns.min(axis=0, initial=np.inf) if len(columns) else np.zeros(0)
    span = columns.max(axis=0, initial=-np.inf) - low
    steps = np.rint((columns - low) / np.where(span > 0, span, 1.0) * 65535).astype("<u2")
    return {"low": [_short(x, 9) for x in low], "span": [_short(x, 9) for x in span], "data": _text(steps)}


def quaternions(rotation: np.ndarray) -> np.ndarray:
    """The quaternions x, y, z, w (..., 4) of rotation matrices (..., 3, 3)."""
    r = np.moveaxis(rotation, (-2, -1), (0, 1))
    one = np.ones_like(r[0, 0])
    # Four times the products of all pairs of components; the row with the largest square is the most accurate.
    rows = (
        (one + r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[2, 1] - r[1, 2]),
        (r[0, 1] + r[1, 0], one - r[0, 0] + r[1, 1] - r[2, 2], r[1, 2] + r[2, 1], r[0, 2] - r[2, 0]),
        (r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], one - r[0, 0] - r[1, 1] + r[2, 2], r[1, 0] - r[0, 1]),
        (r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], one + r[0, 0] + r[1, 1] + r[2, 2]),
    )
    products = np.moveaxis(np.array([np.array(row) for row in rows]), (0, 1), (-2, -1))
    largest = np.diagonal(products, axis1=-2, axis2=-1).argmax(axis=-1)
    q = np.take_along_axis(products, largest[..., None, None], axis=-2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _columns(seen: Scene) -> np.ndarray:
    """Seven columns per body, without the ground: position, and a quaternion with continuous sign."""
    q = quaternions(seen.rotation[:, 1:])
    flips = np.where((q[1:] * q[:-1]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    q[1:] *= np.cumprod(flips, axis=0)
    return np.concatenate([seen.position[:, 1:], q], axis=-1).reshape(len(q), -1)


def _panels(model: "Kinetics", q: np.ndarray, v: np.ndarray, u: np.ndarray) -> list[dict]:
    """Plots of coordinates, rates, efforts and energies, one for each unit."""
    joints = [t.joint for t in model.topology.tree]
    v_units = [unit for joint in joints for unit in joint.type.units]
    q_units = [unit for joint in joints for unit in _coordinate_units(joint.type.q_names, joint.type.units)]
    driven = [on for joint in joints for on in joint.actuated]
    u_units = ["N·m" if unit == "rad" else "N" for unit, on in zip(v_units, driven, strict=True) if on]
    rates = [f"{unit}/s" for unit in v_units]
    kinetic, potential = (np.asarray(x, dtype=float) for x in model.energy(q, v))
    energy = np.column_stack([kinetic, potential, kinetic + potential])
    groups = (
        ("coordinates", model.q_names, q_units, q),
        ("rates", model.v_names, rates, v),
        ("efforts", model.u_names, u_units, u),
        ("energy", ("kinetic", "potential", "total"), ["J"] * 3, energy),
    )
    found = []
    for title, names, units, values in groups:
        for unit in dict.fromkeys(units):
            own = [k for k, x in enumerate(units) if x == unit]
            few = own[:CURVES]
            label = "quaternions" if not unit else title
            found.append(
                {"title": label, "unit": unit, "names": [names[k] for k in few], "of": len(own)}
                | packed(values[:, few])
            )
    return found


def _coordinate_units(names: Sequence[str], units: Sequence[str]) -> tuple[str, ...]:
    """The units of q: those of v, with none for the four numbers of a quaternion."""
    return tuple(units) if len(names) == len(units) else ("",) * 4 + tuple(units[3:])


def _drawn(seen: Scene) -> dict:
    """The contents of the page other than the motion."""
    colors = list(dict.fromkeys(shape.color for shape in seen.shapes))
    meshes, shapes = [], []
    for shape, q in zip(seen.shapes, quaternions(np.array([s.rotation for s in seen.shapes])), strict=True):
        entry = [shape.mesh, shape.body, shape.role, colors.index(shape.color), shape.name]
        entry += [_list(shape.position), _list(q), _list(shape.scale)]
        if shape.outline:
            entry.append(len(meshes))
            meshes.append([[_list(corner) for corner in shape.outline], triangles(np.array(shape.outline))])
        if shape.hull is not None:
            entry.append(len(meshes))
            meshes.append([[_list(corner) for corner in shape.hull.corners], shape.hull.triangles.tolist()])
        shapes.append(entry)
    look = seen.look
    sides = {n: _list(getattr(look, n)) for n in ("right", "up", "front", "low", "high")}
    return {
        "shapes": shapes,
        "meshes": meshes,
        "colors": colors,
        "springs": [[name, *_place(a), *_place(b)] for name, a, b in seen.springs],
        "arrows": [_arrow(arrow) for arrow in seen.arrows],
        "traces": [[point.name, *_place(point)] for point in seen.traces],
        "look": {"flat": look.flat, "floor": _short(look.floor), **sides},
        "slim": _short(seen.slim),
        "size": _short(seen.size),
        "accent": ACCENT,
        "spring": SPRING,
        "load": LOAD,
    }


def _arrow(arrow: Arrow) -> list:
    column = -1 if arrow.column is None else arrow.column
    return [arrow.point.name, arrow.unit, *_place(arrow.point), arrow.carrier, _list(arrow.vector), column]


def _place(point: Point) -> tuple[int, list[float]]:
    return point.body, _list(point.at)


def _filled(content: dict, title: str, facts: str, forces: bool) -> str:
    """Fills in the page in one pass, so that inserted text is never taken for a placeholder."""
    folder = Path(__file__).parent
    files = {name: (folder / name).read_text(encoding="utf-8") for name in ("page.html", "viewer.css", *SCRIPTS)}
    data = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # Inside a script element, only "<" can end it or start a comment.
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    marks = {
        "TITLE": escape(title),
        "FACTS": escape(facts),
        "STYLE": files["viewer.css"],
        "SCRIPT": "\n".join(files[name] for name in SCRIPTS),
        "DATA": data,
        "ARROWS": " checked" if forces else "",
    }
    return re.sub("@([A-Z]+)@", lambda found: marks[found[1]], files["page.html"])


def _text(numbers: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode()


def _list(values: Iterable[float]) -> list[float]:
    return [_short(x) for x in values]


def _short(x: float, digits: int = 6) -> float:
    """Rounds to the digits that can be seen."""
    return float(f"{x:.{digits}g}") + 0.0


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
