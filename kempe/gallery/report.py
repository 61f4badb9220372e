"""Report: the figures, tables and sentences of a study, in a folder and as one page."""

import base64
import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.whole import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
figure { margin: 1.2rem 0; } img { width: 100%; background: white; border-radius: 8px; }
figcaption, caption { color: color-mix(in srgb, currentColor 70%, transparent); font-size: .92rem; text-align: left; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; display: block; }
table { overflow-x: auto; }
td, th { padding: .25rem .8rem; border-bottom: 1px solid var(--line); text-align: right; }
td:first-child, th:first-child { text-align: left; } th { background: var(--soft); }
"""


@dataclass
class Report:
    """What a study found. Parts are written to the folder as they come; `write` makes the page."""

    folder: Path
    title: str
    parts: list[str] = field(default_factory=list)  # of the page
    lines: list[str] = field(default_factory=list)  # of the text
    files: list[Path] = field(default_factory=list)

    def __post_init__(self):
        self.folder.mkdir(parents=True, exist_ok=True)

    def heading(self, text: str) -> None:
        """Begins a section."""
        self.parts.append(f"<h2>{escape(text)}</h2>")
        self.lines += ["", f"## {text}", ""]

    def say(self, sentence: str) -> None:
        """A paragraph."""
        self.parts.append(f"<p>{escape(sentence)}</p>")
        self.lines += [sentence, ""]

    def table(self, name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence]) -> None:
        """A table, also as a CSV file of that name."""
        shown = [[_shown(x) for x in row] for row in rows]
        head = "".join(f"<th>{escape(h)}</th>" for h in header)
        body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in shown)
        self.parts.append(f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>")
        self.lines += [f"**{caption}**", "", "| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
        self.lines += ["| " + " | ".join(row) + " |" for row in shown] + [""]
        self._csv(name, header, rows)

    def figure(self, name: str, caption: str, figure: "Figure", data: Mapping[str, np.ndarray]) -> None:
        """A figure as PNG, its numbers as CSV."""
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=130)
        self._file(f"{name}.png", file.getvalue())
        self._show(name, caption, file.getvalue())
        self._csv(name, list(data), list(zip(*(np.asarray(x).tolist() for x in data.values()), strict=True)))

    def picture(self, name: str, caption: str, draw: Callable[[Path], Path]) -> None:
        """A picture that `draw` writes to the PNG file it is given."""
        path = draw(self.folder / f"{name}.png")
        self.files.append(path)
        self._show(name, caption, path.read_bytes())

    def page(self, name: str, caption: str, draw: Callable[[Path], Path]) -> None:
        """A page of its own, such as an animation, that `draw` writes to the file it is given; with a link to it."""
        self.files.append(draw(self.folder / f"{name}.html"))
        self.parts.append(f'<p><a href="{escape(name)}.html">{escape(caption)}</a></p>')
        self.lines += [f"[{caption}]({name}.html)", ""]

    def write(self) -> Path:
        """The page and the same as text; the page's path."""
        self._file("report.md", f"# {self.title}\n" + "\n".join(self.lines))
        page = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(self.title)}</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
            f"<body><h1>{escape(self.title)}</h1>{''.join(self.parts)}</body></html>\n"
        )
        return self._file("index.html", page)

    def _show(self, name: str, caption: str, content: bytes) -> None:
        image = base64.b64encode(content).decode()
        self.parts.append(
            f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{image}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
        self.lines += [f"![{caption}]({name}.png)", "", caption, ""]

    def _csv(self, name: str, header: Sequence[str], rows: Sequence[Sequence]) -> None:
        file = io.StringIO(newline="")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        self._file(f"{name}.csv", file.getvalue())

    def _file(self, name: str, content: str | bytes) -> Path:
        path = write_whole(self.folder / name, content)
        self.files.append(path)
        return path


def _shown(x) -> str:
    if isinstance(x, float):
        return f"{x:.6g}"
    return "" if x is None else str(x)
