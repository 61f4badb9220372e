"""Progress: a progress bar for long runs: simulated time, and expected end."""

import sys
import time

PATIENCE = 1.0  # seconds before a bar appears


def is_watched() -> bool:
    """Whether output goes to a terminal."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def notice(text: str) -> None:
    """Prints a line if output goes to a terminal."""
    if is_watched():
        print(f"kempe: {text}", file=sys.stderr, flush=True)


class Progress:
    """Appears when a run has lasted a second; never without a terminal, unless requested."""

    def __init__(self, name: str, start: float, end: float, wanted: bool | None):
        self._name, self._start, self._end = name, start, end
        self._wanted = is_watched() if wanted is None else wanted
        self._begun = time.perf_counter()
        self._bar = None
        self._task = None

    def __enter__(self) -> "Progress":
        return self

    def show(self, t: float) -> None:
        """The run has reached t."""
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
