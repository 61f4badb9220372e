"""Pictures: a state, or a run as a strip of faded poses, drawn with Matplotlib as PNG, SVG or PDF."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.errors import ViewError
from kempe.mechanism.bodies import Body, Marker
from kempe.view.page import Run, listed, sampled, tip
from kempe.view.paper import RISE, TURN, Sheet, faces, hull, shaded
from kempe.view.poses import poses
from kempe.view.raster import Raster
from kempe.view.scene import Scene, scene
from kempe.view.shapes import LOAD, SPRING, Shape
from kempe.whole import as_path, write_figure

if TYPE_CHECKING:
    from kempe.mechanics.state import State

Points = Iterable[Marker | Body | str] | Marker | Body | str
View = str | tuple[float, float] | None
SUFFIXES = (".png", ".svg", ".pdf")
TRACES = ("#b3541e", "#1d6fa5", "#a02860", "#55751f")
DOTS, FINE = 160, 2  # per inch, of PNGs; and how many samples to a dot


def picture(state: "State", path: str | Path, size=(7.0, 5.2), view: View = None, points: Points = ()) -> Path:
    """Draws a state; returns the path.

    size: in inches. view: "face", "3d", or two angles (turn, rise) in radians from the face-on view; by default planar
    mechanisms are seen face-on. points: markers to label by name.
    """
    seen = scene(state.model, state.q, listed(points))
    canvas = _Canvas(seen, path, size, view, [0])
    canvas.ground()
    canvas.pose(0)
    for k, point in enumerate(seen.traces):
        canvas.named(point.name, point.along(seen.rotation, seen.position)[0], TRACES[k % len(TRACES)])
    return canvas.write(seen.name)


def strip(run: Run, path: str | Path, count: int = 8, size=(7.0, 5.2), view: View = None, points: Points = ()) -> Path:
    """Draws `count` poses of a run at equal time intervals over one another, the last one opaque, and paths of points.

    The default point is the end of the last body.
    """
    if count < 1:
        raise ViewError(f"a strip takes at least one pose, not {count}")
    t, q, _, _ = sampled(run)
    seen = scene(run.model, q, listed(points) or tip(run.model), run.p)
    moments = np.linspace(t[0], t[-1], count) if count > 1 else t[-1:]
    frames = [int(np.abs(t - moment).argmin()) for moment in moments]
    canvas = _Canvas(seen, path, size, view, frames)
    canvas.ground()
    for k, frame in enumerate(frames[:-1]):
        canvas.pose(frame, 0.12 + 0.33 * k / max(1, count - 1))
    path_of = seen.rotation, seen.position
    if seen.traces and len(t) > 1 and len(t) == len(run.t):  # all rows are finite, so paths can be refined
        fine = run.resample(np.linspace(t[0], t[-1], int(np.clip(6 * len(t), 600, 12_000)))).q
        path_of = poses(run.model, fine, run.p, seen.stations)
    behind = canvas.next()
    canvas.pose(frames[-1])
    for k, point in enumerate(seen.traces):
        canvas.trace(point.name, point.along(*path_of), TRACES[k % len(TRACES)], behind)
    every = f"a pose every {(t[-1] - t[0]) / (count - 1):.3g} s, the last " if count > 1 and len(t) > 1 else ""
    return canvas.write(f"{seen.name}, {every}at {t[-1]:.4g} s")


class _Canvas:
    """One figure, and the projection onto it; what is drawn later covers what was drawn before.

    Face-on, bodies are silhouettes; else they are filled into a raster, where within a pose, and before the ground,
    the nearest faces are seen. Face-on the raster is not shown: it tells what is nearer than a path.
    """

    def __init__(self, seen: Scene, path: str | Path, size, view: View, frames: list[int]):
        from matplotlib.figure import Figure

        self.path = as_path(path)
        if self.path.suffix.lower() not in SUFFIXES:
            raise ViewError(f"{self.path.name!r}: pictures are written as {', '.join(SUFFIXES)}")
        self.seen = seen
        self.sheet = Sheet(seen.look, *_angles(view, seen.look.flat))
        self.figure = Figure(figsize=tuple(size), layout="constrained")
        self.axes = self.figure.subplots()
        self.order = 0
        self.reach = float(np.linalg.norm(seen.look.high - seen.look.low)) or 1.0
        self.extent: list[np.ndarray] = []
        boxes = [self._world(shape.corners(), shape, frame) for shape in seen.shapes for frame in frames]
        corners, _ = self.sheet.put(np.concatenate([*boxes, seen.look.center[None]]))
        low, high = corners.min(axis=0), corners.max(axis=0)
        self.raster = Raster(low, high, max(*((high - low) / size), seen.slim / 100) / (FINE * DOTS))
        self.empty = self.raster.depth

    def ground(self) -> None:
        """The grid of the floor in views with depth, and the shapes of the ground."""
        if not self.sheet.face_on:
            self._floor()
        self._shapes([shape for shape in self.seen.shapes if shape.role == "ground" or not shape.body], 0, 1.0)
        self.empty = self.raster.depth.copy()

    def pose(self, frame: int, share: float = 1.0) -> None:
        """All bodies at a frame; a share below 1 draws a faded pose without joints."""
        self.raster.depth = self.empty.copy()
        roles = ("solid", "link", "joint") if share == 1 else ("solid", "link")
        self._shapes([s for s in self.seen.shapes if s.role in roles and (s.body or s.role == "joint")], frame, share)
        if share < 1:
            return
        pose = self.seen.rotation[frame : frame + 1], self.seen.position[frame : frame + 1]
        for _, a, b in self.seen.springs:
            self._spring(a.along(*pose)[0], b.along(*pose)[0])
        forces = [a for a in self.seen.arrows if a.column is None and a.unit == "N"]
        largest = max((float(np.linalg.norm(a.vector)) for a in forces), default=1.0)
        for arrow in forces:
            start = arrow.point.along(*pose)[0]
            push = pose[0][0, arrow.carrier] @ arrow.vector * (0.25 * self.seen.size / largest)
            self._arrow(start, start + push)

    def trace(self, name: str, places: np.ndarray, color: str, behind: int) -> None:
        """A path with its name, in front of the last pose where it is; `behind`: an order before that pose's."""
        at, depth = self.sheet.put(places)
        self.extent.append(at)
        shown = self._ahead(at, depth)
        if self.sheet.face_on:  # what is over the pose; the rest is drawn before it, and its rims cover that
            shown &= np.isfinite(self.raster.over(at))
        for mask, order in ((shown, self.next()), (~shown & self.sheet.face_on, behind)):
            self.axes.plot(*np.where(mask, at.T, np.nan), color=color, lw=1.0, zorder=order)
        self.axes.plot([], [], color=color, lw=1.0, label=f"path of {name}")

    def named(self, name: str, place: np.ndarray, color: str) -> None:
        """A dot with its name."""
        at, _ = self.sheet.put(place)
        self.axes.plot(*at, "o", color=color, ms=5, mec="white", mew=0.8, label=name, zorder=self.next())

    def write(self, title: str) -> Path:
        """Adds labels and writes the file."""
        axes = self.axes
        axes.set_title(_plain(title), fontsize=11)
        if not self.sheet.face_on:
            smooth = "hanning" if self.path.suffix.lower() == ".png" else "none"  # others keep all samples
            kept = {"origin": "lower", "extent": self.raster.extent, "interpolation": smooth}
            axes.imshow(self.raster.image, zorder=0.5, **kept)
        axes.set_aspect("equal")
        corners = np.concatenate(self.extent) if self.extent else np.zeros((1, 2))
        low, high = corners.min(axis=0), corners.max(axis=0)
        margin = 0.06 * max(*(high - low), self.seen.slim)
        axes.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - margin, high[1] + margin))
        if self.sheet.face_on:
            axes.set_xlabel(_axis_label(self.seen.look.right))
            axes.set_ylabel(_axis_label(self.seen.look.up))
            axes.grid(color="0.9", lw=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(labelsize=9)
            axes.spines[["top", "right"]].set_visible(False)
        else:
            axes.axis("off")
            text = f"grid {self.pitch:g} m"
            axes.text(1, 0, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=9, color="0.4")
        if self.seen.traces:
            # Outside: finding the best place inside would make Matplotlib go through every polygon several times.
            self.figure.legend(fontsize=8, loc="outside lower center", frameon=False, ncols=4)
        return write_figure(self.figure, self.path, dpi=DOTS, bbox_inches="tight", pad_inches=0.15)

    def next(self) -> int:
        """An order before everything that is drawn later."""
        self.order += 1
        return self.order

    # ---- shapes ----------------------------------------------------------------------------------------

    def _shapes(self, shapes: list[Shape], frame: int, share: float) -> None:
        if self.sheet.face_on:
            self._outlines(shapes, frame, share)
        if share == 1 or not self.sheet.face_on:
            self._filled(shapes, frame, share)

    def _outlines(self, shapes: list[Shape], frame: int, share: float) -> None:
        """Each body and each joint as a silhouette with a rim, farthest first."""
        groups: dict[tuple, list[tuple[float, np.ndarray, np.ndarray]]] = {}
        for shape in shapes:
            stacks = [self._world(stack, shape, frame) for stack in faces(shape)]
            at, depth = self.sheet.put(np.concatenate([stack.reshape(-1, 3) for stack in stacks]))
            # All shapes but plates are convex.
            flat = [hull(at)]
            if shape.outline:
                flat = [hull(self.sheet.put(face)[0]) for stack in stacks for face in stack]
            self.extent.append(at)
            key = (shape.role == "joint", shape.body if shape.role != "joint" else shape.name)
            for outline in flat:
                groups.setdefault(key, []).append((float(depth.max()), outline, _faded(shape.color, share)))
        order = sorted(groups, key=lambda key: max(depth for depth, _, _ in groups[key]))
        for key in order:
            ordered = sorted(groups[key], key=lambda entry: entry[0])
            if key[0]:  # parts of a joint get separate rims
                for _, outline, color in ordered:
                    self._fill([outline], [color], 0.45 * color, 0.9)
                continue
            # A dark rim under all parts, then the parts, which leaves a rim around the whole.
            rim = 0.55 * ordered[0][2] if share == 1 else 0.85 * ordered[0][2]
            outlines = [outline for _, outline, _ in ordered]
            self._fill(outlines, [rim] * len(outlines), rim, 1.8)
            self._fill(outlines, [color for _, _, color in ordered], None, 0.0)

    def _filled(self, shapes: list[Shape], frame: int, share: float) -> None:
        """All faces, shaded, into the raster."""
        for shape in shapes:
            color = _faded(shape.color, share)
            for stack in faces(shape):
                world = self._world(stack, shape, frame)
                seen, tones = shaded(world, color, self.sheet)
                at, depth = self.sheet.put(world[seen])
                self.raster.fill(at, depth, tones)
                self.extent.append(at.reshape(-1, 2))

    def _ahead(self, at: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """Which points of a line nothing hides; a line on a surface is in front of it."""
        return depth + self.seen.slim / 2 > self.raster.over(at)

    def _world(self, points: np.ndarray, shape: Shape, frame: int) -> np.ndarray:
        return points @ self.seen.rotation[frame, shape.body].T + self.seen.position[frame, shape.body]

    def _fill(self, outlines: list[np.ndarray], colors: list, edge, width: float) -> None:
        from matplotlib.collections import PolyCollection

        edges = colors if isinstance(edge, str) else edge if edge is not None else "none"
        self.axes.add_collection(
            PolyCollection(outlines, facecolors=colors, edgecolors=edges, linewidths=width, zorder=self.next()),
            autolim=False,
        )

    # ---- lines -----------------------------------------------------------------------------------------

    def _spring(self, start: np.ndarray, end: np.ndarray) -> None:
        (p, q), (low, high) = self.sheet.put(np.array([start, end]))
        span = q - p
        length = float(np.linalg.norm(span))
        if not length:
            return
        across = np.array([-span[1], span[0]]) / length * min(2.4 * self.seen.slim, length / 4)
        shares = np.concatenate([[0, 0.12], np.linspace(0.16, 0.84, 16), [0.88, 1]])
        sides = np.concatenate([[0, 0], np.where(np.arange(16) % 2, 1.0, -1.0), [0, 0]])
        zigzag = p + shares[:, None] * span + sides[:, None] * across
        self.extent.append(zigzag)
        if not self.sheet.face_on:  # only what bodies do not hide, to a tenth of each part
            fine, parts = np.linspace(0, 1, 10 * len(shares)), np.linspace(0, 1, len(shares))
            zigzag = np.column_stack([np.interp(fine, parts, zigzag[:, k]) for k in (0, 1)])
            shown = self._ahead(zigzag, low + np.interp(fine, parts, shares) * (high - low))
            zigzag = np.where(shown[:, None], zigzag, np.nan)
        self.axes.plot(*zigzag.T, color=SPRING, lw=1.4, solid_joinstyle="round", zorder=self.next())

    def _arrow(self, start: np.ndarray, end: np.ndarray) -> None:
        (p, q), _ = self.sheet.put(np.array([start, end]))
        self.extent.append(np.array([p, q]))
        style = {"arrowstyle": "-|>", "color": LOAD, "lw": 1.8, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13}
        self.axes.annotate("", q, p, arrowprops=style, zorder=self.next())

    def _floor(self) -> None:
        look = self.seen.look
        normal = 2 if look.flat else 1
        level = np.where(np.arange(3) == normal, look.floor, 0.0)
        flat = [k for k in range(3) if k != normal]
        pitch = self.pitch
        low = np.floor(look.low / pitch - 0.5) * pitch
        high = np.ceil(look.high / pitch + 0.5) * pitch
        for k in flat:
            (other,) = (j for j in flat if j != k)
            for x in np.arange(low[k], high[k] + pitch / 2, pitch):
                ends = np.tile(level, (2, 1))
                ends[:, k], ends[:, other] = x, (low[other], high[other])
                at, _ = self.sheet.put(ends @ look.axes)
                self.axes.plot(*at.T, color="0.86", lw=0.7, zorder=0)
        footprint = np.array([look.low, look.high, look.low, look.high])
        footprint[2:, flat[0]] = footprint[1::-1, flat[0]]
        footprint[:, normal] = look.floor
        self.extent.append(self.sheet.put(footprint @ look.axes)[0])

    @property
    def pitch(self) -> float:
        """The spacing of the grid: 1, 2 or 5 times a power of ten, about a tenth of the scene."""
        power = 10.0 ** np.floor(np.log10(self.reach / 10))
        return float(next(x * power for x in (1, 2, 5, 10) if x * power >= 0.999 * self.reach / 10))


def _angles(view: View, flat: bool) -> tuple[float, float]:
    named = {"face": (0.0, 0.0), "3d": (TURN, RISE)}
    if view is None:
        view = "face" if flat else "3d"
    if isinstance(view, str):
        if view not in named:
            raise ViewError(f"there is no view {view!r}; there are {', '.join(named)}, or two angles (turn, rise)")
        return named[view]
    turn, rise = view
    return float(turn), float(rise)


def _faded(color: str, share: float) -> np.ndarray:
    """A color, faded towards white."""
    own = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return 1 - share * (1 - own)


def _axis_label(axis: np.ndarray) -> str:
    k = int(np.abs(axis).argmax())
    if abs(abs(axis[k]) - 1) < 1e-9:
        return f"{'' if axis[k] > 0 else '-'}{'xyz'[k]} [m]"
    return f"along ({', '.join(f'{x:.2g}' for x in axis)}) [m]"


def _plain(text: str) -> str:
    """Escapes Matplotlib's math markup."""
    return text.replace("$", r"\$")
