"""Picture: the graph of a mechanism, with bodies in rows by their distance from the ground; and the block patterns."""

from pathlib import Path
from typing import TYPE_CHECKING

from kempe.mechanism.flexible import BeamJoint
from kempe.whole import write_figure

if TYPE_CHECKING:
    from kempe.topology.tree import Topology

LISTED = 20  # subsystems listed below a picture of blocks


def draw(topology: "Topology", path: str | Path) -> Path:
    """Writes a PNG, SVG or PDF; returns its path."""
    from matplotlib.figure import Figure

    m = topology.mechanism
    depth = {m.ground: 0}
    for t in topology.tree:
        depth[t.child] = depth[t.parent] + 1
        if isinstance(t.joint, BeamJoint):  # a beam is drawn as its root
            depth[t.child] = depth.pop(t.parent)
    rows: dict[int, list] = {}
    for body, level in depth.items():
        rows.setdefault(level, []).append(body)
    place = {
        body: (level, (k + 0.5) / len(bodies) * max(map(len, rows.values())))
        for level, bodies in rows.items()
        for k, body in enumerate(bodies)
    }
    width, height = max(4.0, 2.0 * len(rows)), max(2.5, 0.9 * max(map(len, rows.values())) + 1.2)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    closing = {loop.joint.name for loop in topology.loops}
    middle = {}
    for joint in m.joints:
        (x0, y0), (x1, y1) = place[joint.a.body], place[joint.b.body]
        middle[joint] = (x0 + x1) / 2, (y0 + y1) / 2
        broken = joint.name in closing
        axes.plot(
            [x0, x1], [y0, y1], "--" if broken else "-", color="tab:red" if broken else "tab:blue", lw=2, zorder=1
        )
        label = f"{joint.name}\n{joint.type.name}" + (" *" if any(joint.actuated) else "")
        axes.annotate(label, middle[joint], ha="center", va="center", fontsize=8,
                      bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1}, zorder=2)  # fmt: skip
    for body, (x, y) in place.items():
        color = "0.75" if body is m.ground else "lightyellow"
        axes.annotate(body.name, (x, y), ha="center", va="center", bbox={"boxstyle": "round", "fc": color}, zorder=3)
    for coupling in m.couplings:
        xs, ys = zip(*(middle[term.joint] for term in coupling.terms), strict=True)
        axes.plot(xs, ys, ":", color="tab:green", lw=1.5, zorder=1)
        axes.annotate(coupling.name, (sum(xs) / len(xs), sum(ys) / len(ys)), ha="center", va="center", fontsize=8,
                      color="tab:green", bbox={"fc": "white", "ec": "none", "pad": 1}, zorder=2)  # fmt: skip
    coupled = ", couplings (dotted)" * bool(m.couplings)
    axes.set_title(f"{m.name}\ntree (full), loop joints (broken){coupled}, * actuated", fontsize=10)
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_ylim(0, max(map(len, rows.values())))
    axes.axis("off")
    return write_figure(figure, path, dpi=130)


def draw_blocks(topology: "Topology", path: str | Path) -> Path:
    """Writes a PNG, SVG or PDF of the blocks of J and of the GICM, one colour per subsystem; returns its path."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    parts = topology.subsystems
    rows, columns = max(1, len(parts.loops)), max(1, len(parts))
    entry = max(0.25, min(0.75, 16 / (rows + columns)))  # size of a block, in inches
    listed = [f"{part.number} ({part.kind}): {', '.join(part.bodies)}" for part in parts[:LISTED]]
    listed += [f"and {columns - LISTED} more"] * (columns > LISTED)
    size = entry * (columns + rows) + 4.0, entry * rows + 1.8 + 0.17 * len(listed)
    figure = Figure(figsize=size, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(columns, rows))

    def block(axes: Axes, row: int, column: int, numbers: tuple[int, ...], text: str) -> None:
        """A square with one stripe for each of its subsystems."""
        for k, number in enumerate(numbers):
            place, width = (column - 0.46 + 0.92 * k / len(numbers), row - 0.46), 0.92 / len(numbers)
            axes.add_patch(Rectangle(place, width, 0.92, color=f"C{number - 1}", alpha=0.35, lw=0))
        if entry > 0.4:
            axes.annotate(text, (column, row), ha="center", va="center", fontsize=8)

    for i, passed in enumerate(parts.through):
        for number in passed:
            block(left, i, number - 1, (number,), f"J{i + 1},{number}")
        for k, numbers in enumerate(parts.gicm_pattern[i]):
            block(right, i, k, numbers, " + ".join(map(str, numbers)))
    left.set_title("J: loops over subsystems", fontsize=9)
    right.set_title("GICM: loops over loops", fontsize=9)
    left.set_xticks(range(columns), [str(part.number) for part in parts], fontsize=8)
    left.set_yticks(range(len(parts.loops)), parts.loops, fontsize=8)
    right.set_xticks(range(len(parts.loops)), parts.loops, fontsize=8, rotation=30, ha="right", rotation_mode="anchor")
    right.set_yticks([])
    for axes, count in ((left, columns), (right, rows)):
        axes.set(xlim=(-0.5, count - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal")
        axes.tick_params(length=0)
    figure.supxlabel("\n".join(listed), fontsize=8, x=0.02, ha="left")
    figure.suptitle(f"{topology.mechanism.name}: blocks by the subsystems they are made of", fontsize=10)
    return write_figure(figure, path, dpi=130)
