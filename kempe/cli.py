"""The `kempe` command: each answer is a result or one clear sentence, never a traceback."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kempe import __version__
from kempe.errors import KempeError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
console = Console()


@app.callback(invoke_without_command=True)
def kempe(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Kempe, a compiler for mechanisms with closed loops."""
    if version:
        console.print(f"kempe {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.Exit


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where pictures and the page go.")] = Path("demo"),
) -> None:
    """Compile a four-bar linkage, let it fall, and write pictures and a page to look at."""
    from kempe.demo.show import show

    show(folder, console)


def main() -> None:
    """What `kempe` on the command line runs."""
    try:
        app()
    except KempeError as error:
        Console(stderr=True).print(f"kempe: {error}", style="red", highlight=False, markup=False)
        raise SystemExit(2) from error
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        Console(stderr=True).print(f"kempe: {named}{error.strerror}", style="red", highlight=False, markup=False)
        raise SystemExit(2) from error
