"""The graph of a mechanism, drawn: bodies in rows by their distance from the ground."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kempe.topology.tree import Topology


def draw(topology: "Topology", path: Path) -> Path:
    """Writes a PNG, SVG or PDF; its path."""
    from matplotlib.figure import Figure

    m = topology.mechanism
    depth = {m.ground: 0}
    for t in topology.tree:
        depth[t.child] = depth[t.parent] + 1
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
    for joint in m.joints:
        (x0, y0), (x1, y1) = place[joint.a.body], place[joint.b.body]
        broken = joint.name in closing
        axes.plot(
            [x0, x1], [y0, y1], "--" if broken else "-", color="tab:red" if broken else "tab:blue", lw=2, zorder=1
        )
        label = f"{joint.name}\n{joint.type.name}" + (" *" if any(joint.actuated) else "")
        axes.annotate(label, ((x0 + x1) / 2, (y0 + y1) / 2), ha="center", va="center", fontsize=8,
                      bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1}, zorder=2)  # fmt: skip
    for body, (x, y) in place.items():
        color = "0.75" if body is m.ground else "lightyellow"
        axes.annotate(body.name, (x, y), ha="center", va="center", bbox={"boxstyle": "round", "fc": color}, zorder=3)
    axes.set(title=f"{m.name}: tree (full), loop joints (broken), * actuated", xlim=(-0.5, len(rows) - 0.5))
    axes.set_ylim(0, max(map(len, rows.values())))
    axes.axis("off")
    figure.savefig(path, dpi=130)
    return path
