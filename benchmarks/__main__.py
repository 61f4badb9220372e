"""`python -m benchmarks`: all measurements as one table, saved as JSON beside it."""

import json
import platform
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import closed, compiler, counts, loops, many, simulation, starting, trees
from kempe.compiler.native import host

console = Console()
rows = []
PARTS = (compiler, starting, trees, simulation, loops, closed, many, counts)
for section in (section for part in PARTS for section in part.SECTIONS):
    with console.status(section.__name__.replace("_", " ")):
        rows += section()
table = Table(
    "measured", "result", "wanted", title=f"{host().cpu}, Python {platform.python_version()}, {host().versions}"
)
for row in rows:
    mark = "" if row.met is None else "[green]met[/]" if row.met else "[red]missed[/]"
    table.add_row(row.what, row.measured, f"{row.wanted} {mark}")
console.print(table)
results = Path(__file__).parent / "results"
results.mkdir(exist_ok=True)
(results / "latest.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
