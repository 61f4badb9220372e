"""A progress bar for runs that last: simulated time, and when they will be done."""

import sys
import time

PATIENCE = 1.0  # seconds before a bar appears


def is_watched() -> bool:
    """Whether someone looks."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def notice(text: str) -> None:
    """A line, where someone looks."""
    if is_watched():
        print(f"kempe: {text}", file=sys.stderr, flush=True)


class Progress:
    """Shows itself when a run has lasted a second; never where nobody looks, unless asked to."""

    def __init__(self, name: str, start: float, end: float, wanted: bool | None):
        self._name, self._start, self._end = name, start, end
        self._wanted = is_watched() if wanted is None else wanted
        self._begun = time.perf_counter()
        self._bar = None
        self._task = None

    def __enter__(self) -> "Progress":
        return self

    def show(self, t: float) -> None:
        """The run has come to t."""
        if not self._wanted or time.perf_counter() - self._begun < PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[time]}"),
                TimeElapsedColumn(),
                TextColumn("done in"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=sys.stderr.isatty(),
            )
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=self._end - self._start, time="")
        shown = f"{t:.3g} of {self._end:g} s"
        self._bar.update(self._task, completed=t - self._start, time=shown)  # type: ignore[arg-type]

    def __exit__(self, *exception) -> None:
        if self._bar is not None:
            self._bar.stop()
