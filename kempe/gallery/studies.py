"""The papers' studies by number."""

from collections.abc import Callable
from pathlib import Path

from kempe.errors import FileError
from kempe.gallery import paper1, paper2, paper3, paper4, paper5
from kempe.gallery.report import Report

Study = Callable[[Path, Callable[[str], None]], Report]

STUDIES: dict[int, Study] = {1: paper1.study, 2: paper2.study, 3: paper3.study, 4: paper4.study, 5: paper5.study}


def study(paper: int) -> Study:
    """The study of a paper."""
    if paper not in STUDIES:
        there = ", ".join(map(str, sorted(STUDIES)))
        raise FileError(f"paper {paper} cannot be reproduced yet; there are: {there}")
    return STUDIES[paper]
