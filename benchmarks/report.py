"""Report: one table of all rows with what it was measured on, as Markdown, as JSON and on the screen."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.rows import Row, Sample
from kempe import __version__
from kempe.compiler.native import host

OWN = ("numpy", "scipy", "casadi", "llvmlite", "numba")


@dataclass(frozen=True)
class Header:
    """What was measured on, with what: names and sentences."""

    lines: Mapping[str, str]


@dataclass
class Report:
    """All rows, by section in the order in which they were measured."""

    header: Header
    sections: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def samples(self) -> list[Sample]:
        """All numbers behind all rows."""
        return [sample for rows in self.sections.values() for row in rows for sample in row.samples]

    @property
    def marks(self) -> tuple[int, int]:
        """How many lines with a wish were met, and how many there are."""
        wished = [row.met for rows in self.sections.values() for row in rows if row.met is not None]
        return sum(wished), len(wished)


def header(peers: Mapping[str, str], settings: Mapping[str, str]) -> Header:
    """Of this machine; peers: their versions by package; settings: sentences by name."""
    lines = {
        "processor": f"{_processor()} ({host().cpu}), {os.cpu_count()} cores",
        "Kempe": f"{__version__}; Python {platform.python_version()}; {', '.join(f'{x} {version(x)}' for x in OWN)}",
        "peers": ", ".join(f"{name} {number}" for name, number in peers.items()),
    }
    return Header(lines | {f"settings of {name}": text for name, text in settings.items()})


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    return next(
        (x.split(":")[1].strip() for x in lines if x.startswith("model name")), platform.processor() or "unknown"
    )


def outcome(report: Report) -> str:
    """How much of what was wanted came out, as a sentence."""
    met, wished = report.marks
    return f"{met} of {wished} wishes met" if wished else "nothing was wanted of these rows"


def markdown(report: Report) -> str:
    """The table, each section with a heading."""
    lines = ["# Kempe measured", "", f"{outcome(report)}.", ""]
    lines += [f"- {name}: {text}" for name, text in report.header.lines.items()]
    for section, rows in report.sections.items():
        lines += ["", f"## {section}", "", "| measured | result | wanted |", "|---|---|---|"]
        lines += [
            f"| {_cell(row.what)} | {_cell(row.measured)} | {_cell(f'{row.wanted} {mark(row)}')} |" for row in rows
        ]
    return "\n".join((*lines, ""))


def _cell(text: str) -> str:
    """Two blanks at the beginning, which a row that belongs to the one before has, are kept."""
    indented = "&nbsp;&nbsp;" if text.startswith("  ") else ""
    return indented + text.strip().replace("|", "\\|")


def mark(row: Row) -> str:
    """Of a row with a wish."""
    return "" if row.met is None else "met" if row.met else "missed"


def as_json(report: Report) -> dict:
    """Everything, for programs."""
    rows = [{"section": section, **asdict(row)} for section, all_ in report.sections.items() for row in all_]
    return {"header": dict(report.header.lines), "rows": rows}


def write(report: Report, folder: Path) -> list[Path]:
    """As Markdown, JSON and plots."""
    from benchmarks.plots import draw

    folder.mkdir(parents=True, exist_ok=True)
    table, numbers = folder / "report.md", folder / "report.json"
    table.write_text(markdown(report))
    numbers.write_text(json.dumps(as_json(report), indent=1))
    return [table, numbers, *draw(report.samples, folder)]


def show(report: Report, console: Console) -> None:
    """On the screen."""
    for name, text in report.header.lines.items():
        console.print(f"{name}: {text}", markup=False, highlight=False, soft_wrap=True)
    for section, rows in report.sections.items():
        table = Table("measured", "result", "wanted", title=escape(section), title_justify="left")
        for row in rows:
            color = {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[row.met]
            table.add_row(escape(row.what), escape(row.measured), f"{escape(row.wanted)} {color}")
        console.print(table)
    console.print(outcome(report), highlight=False)
