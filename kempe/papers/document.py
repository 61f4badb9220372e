"""Document: the reports of studies as one self-contained HTML page, and as text."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from kempe import __version__
from kempe.papers.comparison import HEADER, Comparison
from kempe.papers.report import Report, csv_text, html_table, text_table
from kempe.whole import write_whole


@dataclass(frozen=True)
class Document:
    """The written files: the page, and all files including those of the studies."""

    page: Path
    files: tuple[Path, ...]


def write(folder: Path, chapters: Sequence[Report], seconds: float) -> Document:
    """Writes the page of these reports, index.html, and the same as text; seconds: the total time."""
    folder.mkdir(parents=True, exist_ok=True)
    title = "Five papers, reproduced" if len(chapters) == 5 else ", ".join(x.title.split(":")[0] for x in chapters)
    told = _told(chapters, seconds)
    compared = [comparison for chapter in chapters for comparison in chapter.comparisons]
    marks = {
        "TITLE": escape(title),
        "TOLD": "".join(f"<p>{escape(sentence)}</p>" for sentence in told),
        "TROUBLE": "".join(_trouble(chapter) for chapter in chapters if chapter.trouble),
        "CONTENTS": "".join(map(_contents, chapters)),
        "SUMMARY": "".join(_compared(x, x.title) for x in chapters if x.comparisons),
        "CHAPTERS": "".join(map(_chapter, chapters)),
        "PAGES": _in_script(_pages(chapters)),
    }
    template = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    page = re.sub("@([A-Z]+)@", lambda found: marks[found[1]], template)
    columns = ("paper", *HEADER)
    rows = [(chapter.title.split(":")[0], *x.row) for chapter in chapters for x in chapter.comparisons]
    files = [write_whole(folder / "index.html", page), write_whole(folder / "report.md", _text(title, told, chapters))]
    if compared:
        files.append(write_whole(folder / "compared.csv", csv_text(columns, rows)))
    return Document(files[0], (*files, *(path for chapter in chapters for path in chapter.files)))


def _told(chapters: Sequence[Report], seconds: float) -> list[str]:
    compared = [comparison for chapter in chapters for comparison in chapter.comparisons]
    agreeing = sum(comparison.agrees for comparison in compared)
    told = [
        f"Made by Kempe {__version__} in {seconds:.0f} s. Our numbers, in tables and in sentences, are from "
        "this run; times depend on the machine and its load."
    ]
    if compared:
        told.append(
            f"{len(compared)} comparisons with numbers of the papers: {agreeing} agree within the paper's digits, "
            f"{len(compared) - agreeing} differ, with the reason given."
        )
    return told


# ---- the page --------------------------------------------------------------------------------------------


def _trouble(chapter: Report) -> str:
    link = f'<a href="#{escape(chapter.name)}">{escape(chapter.title)}</a>'
    return f'<p class="trouble">Not complete: {link}. {escape(chapter.trouble.strip().splitlines()[-1])}</p>'


def _contents(chapter: Report) -> str:
    sections = "".join(
        f'<li><a href="#{escape(chapter.name)}-{k}">{escape(heading)}</a></li>'
        for k, heading in enumerate(chapter.headings, 1)
    )
    return f'<li><a href="#{escape(chapter.name)}">{escape(chapter.title)}</a><ul>{sections}</ul></li>'


def _compared(chapter: Report, caption: str) -> str:
    return html_table(caption, HEADER, [x.row for x in chapter.comparisons], "compared")


def _chapter(chapter: Report) -> str:
    broken = ""
    if chapter.trouble:
        broken = f'<p class="trouble">The study failed here.</p><pre>{escape(chapter.trouble)}</pre>'
    compared = _compared(chapter, "The paper's numbers and ours") if chapter.comparisons else ""
    head = f'<h2 id="{escape(chapter.name)}">{escape(chapter.title)}</h2>'
    return f"<section>{head}{compared}{''.join(chapter.parts)}{broken}</section>"


def _pages(chapters: Sequence[Report]) -> dict:
    """Pages of frames by name, split before their last script: their content, and the index of the player's code, which
    all pages share and which is stored once."""
    code: list[str] = []
    shown: dict[str, list] = {}
    for chapter in chapters:
        for k, page in enumerate(chapter.pages):
            content, script, rest = page.rpartition("<script>")
            if script + rest not in code:
                code.append(script + rest)
            shown[f"{chapter.name}-{k}"] = [content, code.index(script + rest)]
    return {"code": code, "shown": shown}


def _in_script(content: Mapping) -> str:
    """JSON for a script element, which only a "<" can end."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# ---- the text --------------------------------------------------------------------------------------------


def _text(title: str, told: Sequence[str], chapters: Sequence[Report]) -> str:
    lines = [f"# {title}", "", *told]
    for chapter in chapters:
        lines += ["", f"## {chapter.title}", ""]
        if chapter.comparisons:
            lines += text_table("The paper's numbers and ours", HEADER, [x.row for x in chapter.comparisons])
        lines += chapter.lines
        if chapter.trouble:
            lines += ["The study failed here.", "", *(f"    {line}" for line in chapter.trouble.splitlines())]
    return "\n".join(lines) + "\n"


def as_json(comparison: Comparison) -> dict:
    """A comparison as plain data."""
    what, where, paper, _, _, reason = comparison.row
    numbers = [ours for _, ours in comparison.pairs]
    found = {"what": what, "where": where, "paper": paper, "ours": numbers, "unit": comparison.unit}
    return found | {"agrees": comparison.agrees, "why": reason}
