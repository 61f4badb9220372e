"""Studies: the studies of the papers by number, and a function that runs one and always returns a report."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from kempe.errors import FileError
from kempe.papers.paper1 import study as paper1
from kempe.papers.paper2 import study as paper2
from kempe.papers.paper3 import study as paper3
from kempe.papers.paper4 import study as paper4
from kempe.papers.paper5 import study as paper5
from kempe.papers.report import Report

Say = Callable[[str], None]


@dataclass(frozen=True)
class Study:
    """The study of a paper: the title of its report, and the function that fills it and reports progress."""

    title: str
    fill: Callable[[Report, Say], None]


PAPERS = {3: paper3, 5: paper5, 2: paper2, 1: paper1, 4: paper4}  # longest first, for parallel runs
STUDIES = {number: Study(paper.TITLE, paper.study) for number, paper in PAPERS.items()}


def chosen(papers: Iterable[int]) -> dict[int, Study]:
    """The studies of these papers (default all), in the best order to start them."""
    named = set(papers) or set(STUDIES)
    for paper in sorted(named - set(STUDIES)):
        there = ", ".join(map(str, sorted(STUDIES)))
        raise FileError(f"paper {paper} cannot be reproduced yet; there are: {there}")
    return {paper: study for paper, study in STUDIES.items() if paper in named}


def carried_out(study: Study, folder: Path, say: Say) -> Report:
    """Runs a study and returns its report; after an error, the partial report with the error."""
    report = Report(folder, study.title)
    try:
        study.fill(report, say)
    except Exception:
        report.trouble = traceback.format_exc()
    return report
