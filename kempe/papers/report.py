"""Report: the figures, animations, tables, comparisons and sentences of one study, and their files in its folder."""

import base64
import csv
import io
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kempe.papers.comparison import Comparison
from kempe.whole import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS = 110  # per inch: a figure of 9 inches is as wide as the page


@dataclass
class Report:
    """The results of a study, a chapter of a document. Files are written to the folder immediately, named by their
    content; the last part of the folder names the chapter.

    parts: of the page; `pages` fills in its frames, such as animations. lines: the same as text. trouble: why the study
    failed, empty if it did not.
    """

    folder: Path
    title: str
    parts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    trouble: str = ""

    def __post_init__(self):
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def name(self) -> str:
        """The name of the chapter in links."""
        return self.folder.name

    def heading(self, text: str) -> None:
        """Starts a section."""
        self.headings.append(text)
        self.parts.append(f'<h3 id="{escape(self.name)}-{len(self.headings)}">{escape(text)}</h3>')
        self.lines += ["", f"### {text}", ""]

    def say(self, sentence: str) -> None:
        """Adds a paragraph."""
        self.parts.append(f"<p>{escape(sentence)}</p>")
        self.lines += [sentence, ""]

    def compare(self, *args, **options) -> None:
        """Adds a comparison; arguments are those of `Comparison`."""
        self.comparisons.append(Comparison(*args, **options))

    def table(self, name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence]) -> None:
        """Adds a table, also as a CSV file of that name."""
        shown = [[_shown(x) for x in row] for row in rows]
        self.parts.append(html_table(caption, header, shown))
        self.lines += text_table(caption, header, shown)
        self._csv(name, header, rows)

    def figure(self, name: str, caption: str, figure: "Figure", data: Mapping[str, np.ndarray]) -> None:
        """Adds a figure as PNG, and its data as CSV."""
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=DOTS)
        self._file(f"{name}.png", file.getvalue())
        self._show(name, caption, file.getvalue())
        self._csv(name, list(data), list(zip(*(np.asarray(x).tolist() for x in data.values()), strict=True)))

    def picture(self, name: str, caption: str, draw: Callable[[Path], Path]) -> None:
        """Adds a picture that `draw` writes to the given PNG file."""
        path = draw(self.folder / f"{name}.png")
        self.files.append(path)
        self._show(name, caption, path.read_bytes())

    def animation(self, name: str, caption: str, draw: Callable[[Path], Path]) -> None:
        """Adds a separate page that `draw` writes to the given file, shown in a frame."""
        path = draw(self.folder / f"{name}.html")
        self.files.append(path)
        frame = f'<iframe title="{escape(caption)}" data-page="{escape(self.name)}-{len(self.pages)}"></iframe>'
        self.pages.append(path.read_text(encoding="utf-8"))
        self.parts.append(f"<figure>{frame}<figcaption>{escape(caption)}</figcaption></figure>")
        self.lines += [f"[{caption}]({self.name}/{name}.html)", ""]

    def _show(self, name: str, caption: str, content: bytes) -> None:
        image = base64.b64encode(content).decode()
        wide, tall = struct.unpack(">II", content[16:24])  # so that the layout does not shift while pictures load
        self.parts.append(
            f'<figure><div class="sheet"><img alt="{escape(caption)}" width="{wide}" height="{tall}" '
            f'src="data:image/png;base64,{image}"></div>'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
        self.lines += [f"![{caption}]({self.name}/{name}.png)", "", caption, ""]

    def _csv(self, name: str, header: Sequence[str], rows: Sequence[Sequence]) -> None:
        self._file(f"{name}.csv", csv_text(header, rows))

    def _file(self, name: str, content: str | bytes) -> None:
        self.files.append(write_whole(self.folder / name, content))


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """An HTML table; cells have the name of their column, for narrow screens. kind: its style class."""
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in header)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-of="{escape(h)}">{escape(x)}</td>' for h, x in zip(header, row, strict=True))
        + "</tr>"
        for row in rows
    )
    style = f' class="{kind}"' if kind else ""
    return (
        f"<table{style}><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def text_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The same table as lines of text."""
    lines = [f"**{caption}**", "", "| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def csv_text(header: Sequence[str], rows: Sequence[Sequence]) -> str:
    """The same table as CSV."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue()


def _shown(x) -> str:
    if isinstance(x, float):
        return f"{x:.6g}"
    return "" if x is None else str(x)
