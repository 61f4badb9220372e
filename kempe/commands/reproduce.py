"""`kempe reproduce`: runs studies of papers, two at a time in separate processes, and writes one document."""

import multiprocessing
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from kempe.papers.document import Document, as_json, write
from kempe.papers.report import Report
from kempe.papers.studies import Study, carried_out

AT_ONCE = 2  # studies; their own timings run in turn, and tolerate a second process


class Heard(Protocol):
    """Receives the progress of studies."""

    def begun(self, title: str) -> None:
        """A study starts."""

    def step(self, title: str, text: str) -> None:
        """A study reports its current step."""

    def ended(self, title: str, report: Report) -> None:
        """A study has ended."""


@dataclass(frozen=True)
class Reproduced:
    """The document, and the report of each paper."""

    document: Document
    reports: Mapping[int, Report]

    @property
    def complete(self) -> bool:
        """Whether no study failed."""
        return not any(report.trouble for report in self.reports.values())


def reproduce(studies: Mapping[int, Study], folder: Path, heard: Heard) -> Reproduced:
    """Runs all studies, started in this order, each into its own folder, and writes the document."""
    begun = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    found = _carried_out(studies, folder, heard)
    reports = dict(sorted(found.items()))
    return Reproduced(write(folder, list(reports.values()), time.perf_counter() - begun), reports)


def _carried_out(studies: Mapping[int, Study], folder: Path, heard: Heard) -> dict[int, Report]:
    waiting, found = list(studies), {}
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                paper = waiting.pop(0)
                running |= _started(paper, studies[paper], folder)
                heard.begun(studies[paper].title)
            for each in wait(list(running)):
                assert isinstance(each, Connection)
                paper, process = running[each]
                title = studies[paper].title
                told = _told(each, process, Report(folder / f"paper{paper}", title))
                if isinstance(told, str):
                    heard.step(title, told)
                    continue
                found[paper] = told
                heard.ended(title, told)
                del running[each]
    finally:
        for _, process in running.values():
            process.terminate()
    return found


def _started(paper: int, study: Study, folder: Path) -> dict[Connection, tuple[int, BaseProcess]]:
    # Not by fork: compilers have threads.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(study, folder / f"paper{paper}", theirs), daemon=True)
    process.start()
    theirs.close()  # so that the pipe ends with the process
    return {ours: (paper, process)}


def _work(study: Study, folder: Path, told: Connection) -> None:
    told.send(carried_out(study, folder, told.send))


def _told(connection: Connection, process: BaseProcess, empty: Report) -> str | Report:
    """The next message of a study; at the end its report, or an empty one if its process died."""
    try:
        return connection.recv()
    except EOFError:
        process.join()
        empty.trouble = f"The process of the study ended with exit code {process.exitcode} and no report."
        return empty


# ---- on the screen ---------------------------------------------------------------------------------------


class Lines:
    """Shows progress as a line for every step, for files and pipes."""

    def __init__(self, console: Console):
        """Writes to this console."""
        self.console, self.start = console, time.perf_counter()

    def begun(self, title: str) -> None:
        """A study starts."""
        self._say(title, "begins")

    def step(self, title: str, text: str) -> None:
        """A study reports its current step."""
        self._say(title, text)

    def ended(self, title: str, report: Report) -> None:
        """A study has ended."""
        self._say(title, _result(report))

    def _say(self, title: str, text: str) -> None:
        line = f"{time.perf_counter() - self.start:5.0f} s  {title.split(':')[0]}: {text}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


class Bars:
    """Shows progress as one line for every study, with its step and time, for terminals."""

    def __init__(self, progress: Progress):
        """Shows on this display."""
        self.progress, self.tasks = progress, {}

    def begun(self, title: str) -> None:
        """A study starts."""
        self.tasks[title] = self.progress.add_task(title.split(":")[0], total=1, step="begins")

    def step(self, title: str, text: str) -> None:
        """A study reports its current step."""
        self.progress.update(self.tasks[title], step=text)

    def ended(self, title: str, report: Report) -> None:
        """A study has ended."""
        self.progress.update(self.tasks[title], step=_result(report), completed=1)


class Silence:
    """Shows nothing, if only the result is wanted."""

    def begun(self, title: str) -> None:
        """A study starts."""

    def step(self, title: str, text: str) -> None:
        """A study reports its current step."""

    def ended(self, title: str, report: Report) -> None:
        """A study has ended."""


@contextmanager
def shown(console: Console) -> Iterator[Heard]:
    """The progress display for a console: bars on a terminal, else lines."""
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("[dim]{task.fields[step]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        yield Bars(progress)


def _result(report: Report) -> str:
    if report.trouble:
        return f"broke off: {report.trouble.strip().splitlines()[-1]}"
    agreeing = sum(comparison.agrees for comparison in report.comparisons)
    return f"done; {agreeing} of {len(report.comparisons)} comparisons agree"


def report_json(done: Reproduced) -> dict:
    """The results as plain data."""
    papers = [
        {
            "paper": paper,
            "title": report.title,
            "complete": not report.trouble,
            "compared": [as_json(comparison) for comparison in report.comparisons],
        }
        for paper, report in done.reports.items()
    ]
    return {"page": str(done.document.page), "papers": papers, "files": [str(path) for path in done.document.files]}
