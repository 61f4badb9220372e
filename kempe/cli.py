"""Command line: the `kempe` command, which answers with a result or one clear sentence, never a traceback."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from kempe import __version__
from kempe.errors import KempeError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
console = Console(emoji=False)

Name = Annotated[
    str, typer.Argument(metavar="X", help="A gallery name (see `kempe list`) or a YAML, URDF, MJCF or SDFormat file.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Floating = Annotated[
    bool | None,
    typer.Option("--floating/--welded", help="Links of a file not connected to the ground: free, or fixed."),
]
Outside = Annotated[
    bool, typer.Option("--outside", help="Also read includes and meshes outside the folder of the file.")
]
Folder = Annotated[Path | None, typer.Option(help="Output folder; default kempe-X.")]


@app.callback(invoke_without_command=True)
def kempe(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Kempe, a compiler for mechanisms."""
    if version:
        console.print(f"kempe {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.Exit


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Output folder.")] = Path("demo"),
) -> None:
    """Move an excavator through a dig; write pictures and an HTML page."""
    from kempe.demo.show import show

    show(folder, console)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the mechanisms of the gallery."""
    from kempe.gallery.entries import ENTRIES

    if as_json:
        _print_json(
            [{"name": e.name, "what": e.sentence, "run": e.story, "source": e.source} for e in ENTRIES.values()]
        )
        return
    table = Table(show_header=False, box=None, padding=(0, 2, 1, 0))
    for entry in ENTRIES.values():
        table.add_row(f"[bold]{entry.name}[/]", f"{entry.sentence} ({entry.source})\n[dim]run: {entry.story}[/]")
    console.print(table)
    console.print("next       kempe info puma   kempe run puma", highlight=False)


@app.command()
def info(
    x: Name, floating: Floating = None, outside: Outside = False, folder: Folder = None, as_json: Json = False
) -> None:
    """Show a mechanism on one screen: parts, freedom, actuation, loops, equations, coordinates, and a picture."""
    from kempe.commands import info as command
    from kempe.commands.subject import subject

    found = subject(x, floating, outside)
    seen = command.info(found, folder or found.folder)
    if as_json:
        _print_json(command.as_json(seen))
    else:
        command.show(seen, console)


@app.command()
def run(
    x: Name,
    duration: Annotated[float | None, typer.Option(help="Seconds to simulate.")] = None,
    state: Annotated[list[str] | None, typer.Option(help="Start: A=30deg, hook=1,0,0,0; can be repeated.")] = None,
    near: Annotated[list[str] | None, typer.Option(help="How loops close: near D=70deg.")] = None,
    rate: Annotated[list[str] | None, typer.Option(help="Start rates: A=2.0.")] = None,
    torque: Annotated[list[str] | None, typer.Option(help="Constant efforts: A=1.5.")] = None,
    on: Annotated[list[str] | None, typer.Option(help="Times at which joints are switched on: grip=0.5,2.")] = None,
    off: Annotated[list[str] | None, typer.Option(help="Times at which joints are switched off.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Error tolerance of a step.")] = None,
    method: Annotated[str | None, typer.Option(help="dop853, dopri5, radau, rk4 or euler.")] = None,
    step: Annotated[float | None, typer.Option(help="Step size of rk4 and euler, in seconds.")] = None,
    output: Annotated[float | None, typer.Option(help="Seconds between rows.")] = None,
    limits: Annotated[str | None, typer.Option(help="Joint limits: stops, locks, events or ignore.")] = None,
    singular: Annotated[str | None, typer.Option(help="At singular poses: stop or cross.")] = None,
    floating: Floating = None,
    outside: Outside = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Run a mechanism; write data, plots, pictures and an HTML page to a folder.

    A gallery name makes its default run, unless --state, --near, --rate, --torque, --on or --off are given. Loops are
    closed first.
    The exit code is 1 if the run ended early: singular, step too small, not closed, or non-finite.
    """
    from kempe.commands import run as command
    from kempe.commands.subject import subject

    found = subject(x, floating, outside)
    given = {"tolerance": tolerance, "method": method, "step": step, "output": output, "limits": limits}
    given["singular"] = singular
    options = tuple((name, value) for name, value in given.items() if value is not None)
    start, nearby, rates, efforts, ons, offs = (tuple(x or ()) for x in (state, near, rate, torque, on, off))
    wishes = command.Wishes(duration, start, nearby, rates, efforts, ons, offs, options)
    done = command.run(found, folder or found.folder, wishes)
    if as_json:
        _print_json(command.as_json(done))
    else:
        _say(done.run.summary())
        for note in done.notes:
            _say(f"note       {note}")
        _say(f"wrote      {done.folder}: {', '.join(path.name for path in done.files)}")
        _say(f"look at    {done.folder / 'index.html'}")
    if done.run.outcome.kind not in ("finished", "event"):
        raise typer.Exit(1)


@app.command()
def counts(
    x: Name,
    quick: Annotated[bool, typer.Option("--quick", help="Operations only: compile and measure nothing.")] = False,
    floating: Floating = None,
    outside: Outside = False,
    as_json: Json = False,
) -> None:
    """Compare forward dynamics by every formulation, and show which one `auto` takes.

    Operations, seconds to compile, nanoseconds per evaluation, and the effect of rounding on accelerations; then the
    operations of other functions.
    """
    from kempe.commands import counts as command
    from kempe.commands.subject import subject

    found = subject(x, floating, outside)
    with Console(stderr=True).status("reading") as status:
        numbers = command.counts(found, not quick, status.update)
    if as_json:
        _print_json(numbers)
    else:
        command.show(found.mechanism.name, numbers, console)


@app.command()
def convert(
    x: Name,
    target: Annotated[Path, typer.Argument(metavar="Y", help="The file to write; its ending selects the format.")],
    floating: Floating = None,
    outside: Outside = False,
    as_json: Json = False,
) -> None:
    """Convert a mechanism to YAML, URDF or MJCF; list what is not used or cannot be expressed."""
    from kempe.commands import convert as command
    from kempe.commands.subject import subject

    done = command.convert(subject(x, floating, outside), target)
    if as_json:
        _print_json(command.as_json(done))
        return
    for note in done.not_used:
        _say(f"read       {note}")
    for note in done.not_said:
        _say(f"left out   {note}")
    _say(f"wrote      {target}")


@app.command()
def prepare() -> None:
    """Compile the integrators now, once per machine, so that no first run waits for them."""
    from kempe.commands.prepare import prepare as command

    with Console(stderr=True).status("compiling") as status:
        command(lambda what: status.update(f"compiling: {what}"))
    _say("prepared   the integrators are compiled and kept")


@app.command("cache")
def cache_(
    check: Annotated[bool, typer.Option("--check", help="Read every file, and remove damaged ones.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything; it is recompiled when needed.")] = False,
    as_json: Json = False,
) -> None:
    """Show the compiled code and programs on disk, check them, or clear them."""
    from dataclasses import asdict

    from kempe.commands import cache as command

    removed = command.clear() if clear else command.check() if check else 0
    found = command.kept()
    if as_json:
        _print_json(asdict(found) | {"folder": str(found.folder or ""), "removed": removed})
        return
    _say(f"folder     {found.folder or 'none'}")
    _say(f"kept       {found.files} files, {found.size / 1e6:.1f} MB of {found.limit / 1e6:.0f} MB at most")
    if found.unused:
        _say(f"not used   {found.unused}")
    if clear or check:
        _say(f"removed    {removed} {'files' if clear else 'files that were damaged or left over'}")


@app.command()
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Few mechanisms and repetitions; comparisons with other libraries only.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="SECTION", help="A section; can be repeated.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Output folder; default benchmarks/results.")] = None,
) -> None:
    """Compare Kempe with Pinocchio, MuJoCo, Drake and Exudyn on this machine: a table, JSON and plots.

    Creates a separate environment next to the sources, which include the measurements. The exit code is that of the
    measurements. Comparisons: agreement, forward, inverse, batches, rollouts, precision, building. Kempe alone:
    compiler, starting, trees, simulation, loops, closed, many, counts, accounting.
    """
    import kempe
    from kempe.commands import bench as command

    options = [*(["--quick"] if quick else []), *(part for name in only or () for part in ("--only", name))]
    options += ["--folder", str(folder.resolve())] if folder else []
    root = Path(kempe.__file__).parent.parent
    raise typer.Exit(command.bench(root, options, lambda text: _say(f"bench      {text}")))


@app.command()
def reproduce(
    papers: Annotated[
        list[int] | None, typer.Argument(metavar="[1|2|3|4|5]...", help="Papers to reproduce; default all.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Output folder; default reproduce, or reproduce-3 for paper 3.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Reproduce papers: figures, animations and tables on one page, with the papers' numbers next to ours, and data.

    The exit code is 1 if a study failed; the others are still on the page.
    """
    from kempe.commands import reproduce as command
    from kempe.papers.studies import chosen

    studies = chosen(papers or ())
    target = folder or Path("-".join(["reproduce", *map(str, sorted(studies))] if papers else ["reproduce"]))
    if as_json:
        done = command.reproduce(studies, target, command.Silence())
        _print_json(command.report_json(done))
    else:
        with command.shown(console) as heard:
            done = command.reproduce(studies, target, heard)
        _say(f"wrote      {len(done.document.files)} files into {target}")
        _say(f"look at    {done.document.page}")
    if not done.complete:
        raise typer.Exit(1)


def _say(text: str) -> None:
    """Prints text as it is: names are not markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1))


def main() -> None:
    """The entry point of the `kempe` command."""
    warnings.showwarning = _warned
    try:
        app()
    except KempeError as error:
        _complain(str(error), error)
    except OSError as error:
        _complain(f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}", error)


def _warned(message, *_) -> None:
    """Prints a warning as one sentence, without the line of code it comes from."""
    _tell(f"kempe: {message}", "yellow")


def _complain(text: str, error: Exception) -> None:
    """Prints the error on one line, however long, so that programs can read it."""
    _tell(f"kempe: {text}", "red")
    raise SystemExit(2) from error


def _tell(text: str, style: str) -> None:
    Console(stderr=True, soft_wrap=True, emoji=False).print(text, style=style, highlight=False, markup=False)
