"""Comparisons, reports and documents: numbers beside the paper's, several studies on one page, one that breaks off."""

import csv
import io
import json
import os
import re

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from kempe import cli
from kempe.commands import reproduce as command
from kempe.papers import studies
from kempe.papers.comparison import Comparison, Span
from kempe.papers.document import write
from kempe.papers.report import Report
from kempe.papers.sheets import sheet
from kempe.papers.studies import Study

PAGE = "<!doctype html><p>{}</p><script>play()</script>"


def whole(report, say):
    """A study of everything that a report can hold."""
    say("one thing")
    report.heading("A heading & <more>")
    report.compare("a time", "Table 1", 1.4, 1.333, "s", 0.05, "Because <of> that.", told="about 1.4 s")
    report.compare("a number", "(2)", 3, 3)
    figure, axes = sheet(1, 1, (4, 2))
    axes[0, 0].plot([0, 1], [0, 1])
    report.figure("line", "A line", figure, {"t [s]": np.array([0.0, 1.0]), "x [m]": np.array([0.0, 1.0])})
    report.table("numbers", "Numbers", ["name", "x [m]"], [["a", 0.1], ["b", None]])
    for k in range(2):
        report.animation(f"moving{k}", f"It moves, {k}", lambda path, k=k: path.write_text(PAGE.format(k)) and path)


def broken(report, say):
    """A study that breaks off."""
    say("another thing")
    report.say("So far so good.")
    raise ValueError("no such number")


def dying(report, say):
    """A study whose process ends."""
    os._exit(3)


TWO = {1: Study("Paper 1: whole", whole), 2: Study("Paper 2: broken", broken)}


# ---- comparisons -----------------------------------------------------------------------------------------


def test_a_number_agrees_as_far_as_the_papers_digits_tell():
    assert Comparison("x", "Table 1", 1.4, 1.449, "s", 0.05).agrees
    off = Comparison("x", "Table 1", 1.4, 1.333, "s", 0.05, "Why.", "about 1.4 s")
    assert not off.agrees
    assert off.farthest == (pytest.approx(-0.067), 1.4)
    assert off.row == ("x", "Table 1", "about 1.4 s", "1.333 s", "-0.067 s, -4.8 %", "Why.")


def test_several_numbers_are_as_far_apart_as_the_worst_of_them():
    several = Comparison("x", "Table 3", (5.4, 5.6), (5.5, 5.2), "s", 0.05, "Why.")
    assert several.farthest == (pytest.approx(-0.4), 5.6)
    assert several.row[2:5] == ("5.4, 5.6 s", "5.5, 5.2 s", "up to -0.4 s, -7.1 %")
    short = Comparison("x", "Table 3", (5.4, 5.6, 5.4), (5.5, 5.2))
    with pytest.raises(ValueError, match="shorter"):
        print(short.pairs)


def test_a_span_holds_what_lies_in_it():
    assert Comparison("x", "section 5", Span(20, 30), (20.0, 25.0, 30.0), "%").agrees
    outside = Comparison("x", "section 5", Span(20, 30), (25.0, 8.0, 31.0), "%")
    assert outside.farthest == (-12.0, 20.0)
    assert outside.row[2:5] == ("20 to 30 %", "25, 8, 31 %", "up to -12 %, 2.5 times less")


@pytest.mark.parametrize(
    ("paper", "ours", "shown"),
    [
        (6.0, 0.05, "-6 s, 120 times less"),
        (2.25, 9.54, "+7.3 s, 4.24 times as much"),
        (0.0, 2.0, "+2 s"),
        (3.0, 3.0, "agrees"),
    ],
)
def test_a_difference_is_shown_as_what_it_is(paper, ours, shown):
    assert Comparison("x", "here", paper, ours, "s").row[4] == shown


# ---- one page of several studies ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Three studies of which one is whole, what was printed meanwhile."""
    printed = io.StringIO()
    three = {**TWO, 3: Study("Paper 3: dying", dying)}
    folder = tmp_path_factory.mktemp("reproduce")
    with command.shown(Console(file=printed, width=200)) as heard:
        return command.reproduce(three, folder, heard), printed.getvalue()


def test_what_breaks_off_does_not_keep_others_from_the_page(done):
    found, printed = done
    page = found.document.page.read_text()
    assert not found.complete
    assert [bool(report.trouble) for report in found.reports.values()] == [False, True, True]
    assert page.index("ValueError: no such number") < page.index("Paper 1: whole")  # at the top
    assert "So far so good." in page  # what there was before
    assert "exit code 3" in page
    assert "Paper 2: another thing" in printed
    assert "Paper 1: done; 1 of 2 comparisons agree" in printed
    assert "Paper 2: broke off: ValueError: no such number" in printed


def test_the_page_fetches_nothing_and_keeps_a_player_once(done):
    page = done[0].document.page.read_text()
    links = re.findall(r"""(?:src|href|srcset|data)=["']([^"']*)""", page)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\(|@import|fetch\(|https?:", page)
    assert {link[1:] for link in links if link.startswith("#")} <= set(re.findall(r'id="([^"]*)"', page))
    assert page.count("play()") == 1
    assert page.count("<iframe") == 2


def test_comparisons_stand_at_the_top_in_the_chapter_and_in_a_file(done):
    found = done[0]
    page = found.document.page.read_text()
    assert page.count("Because &lt;of&gt; that.") == 2
    assert "2 comparisons with numbers of the papers: 1 agree" in page
    with (found.document.page.parent / "compared.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["paper"] == "Paper 1"
    assert rows[0]["why"] == "Because <of> that."
    assert "A heading & <more>" in (found.document.page.parent / "report.md").read_text()
    assert all(path.exists() for path in found.document.files)


def test_the_command_writes_json_and_has_exit_code_1_where_a_study_broke_off(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(studies, "STUDIES", TWO)
    ended = CliRunner().invoke(cli.app, ["reproduce", "2", "1", "--json"])
    assert ended.exit_code == 1
    told = json.loads(ended.stdout)
    assert told["page"] == "reproduce-1-2/index.html"
    assert [paper["complete"] for paper in told["papers"]] == [True, False]
    first = told["papers"][0]["compared"][0]
    assert first == {"what": "a time", "where": "Table 1", "paper": "about 1.4 s", "ours": [1.333], "unit": "s",
                     "agrees": False, "why": "Because <of> that."}  # fmt: skip
    assert (tmp_path / "reproduce-1-2/paper1/line.csv").exists()


def test_a_page_of_one_study_is_named_after_it(tmp_path):
    report = Report(tmp_path / "paper4", "Paper 4: the PUMA")
    report.say("Something.")
    assert "<h1>Paper 4</h1>" in write(tmp_path, [report], 2.0).page.read_text()
