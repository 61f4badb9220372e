"""`python -m benchmarks`: all measurements as one table, saved as Markdown, JSON and plots."""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from benchmarks import (
    accounting,
    agreement,
    batches,
    building,
    closed,
    compiler,
    counts,
    evaluations,
    loops,
    many,
    precision,
    rollouts,
    simulation,
    starting,
    trees,
)
from benchmarks.mechanisms import CASES, QUICK
from benchmarks.motions import MOTIONS
from benchmarks.peers import peers_of, versions
from benchmarks.report import Report, header, show, write
from benchmarks.rows import Row

ROUNDS, FEW = 51, 15  # repetitions that take turns
RUNS, FEW_RUNS = (11, 0.3), (5, 0.1)  # those of runs, and seconds that a setting may take for them
KEMPE = {  # by itself
    "compiler": compiler,
    "starting": starting,
    "trees": trees,
    "simulation": simulation,
    "loops": loops,
    "closed": closed,
    "many": many,
    "counts": counts,
    "accounting": accounting,
}


def sections(quick: bool) -> dict[str, Callable[[], Iterator[Row]]]:
    """What is measured, by name: beside peers first, then Kempe by itself, which a quick run leaves out."""
    cases = [case for case in CASES.values() if not quick or case.name in QUICK]
    motions = [motion for motion in MOTIONS.values() if not quick or motion.name in QUICK]
    rounds = FEW if quick else ROUNDS
    found = {
        "agreement": lambda: agreement.agreement(cases),
        "forward": lambda: evaluations.forward(cases, rounds),
        "inverse": lambda: evaluations.inverse(cases, rounds),
        "batches": lambda: batches.batches(cases, rounds),
        "rollouts": lambda: rollouts.rollouts(cases, rounds),
        "precision": lambda: precision.precision(motions, *(FEW_RUNS if quick else RUNS)),
        "building": lambda: building.building(cases),
    }
    return found | {name: lambda part=part: _by_itself(part) for name, part in KEMPE.items()}


def _by_itself(part) -> Iterator[Row]:
    for section in part.SECTIONS:
        yield from section()


def chosen(quick: bool, only: list[str]) -> dict[str, Callable[[], Iterator[Row]]]:
    """Those asked for, or all; of a quick run, those beside peers."""
    found = sections(quick)
    return {name: found[name] for name in found if (name in only if only else not (quick and name in KEMPE))}


def settings() -> dict[str, str]:
    """Of every peer, for a tree and for a closed mechanism."""
    told: dict[str, str] = {}
    for name in ("PUMA", "four-bar"):
        for peer in peers_of(CASES[name].model)[0]:
            told[f"{peer.name}, {'closed mechanisms' if peer.description.loops else 'trees'}"] = peer.settings
    return told


def main() -> None:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Kempe beside its peers, and by itself.")
    parser.add_argument("--quick", action="store_true", help="few mechanisms, few repetitions, beside peers only")
    parser.add_argument("--only", action="append", default=[], choices=list(sections(False)), help="a section; repeat")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "results", help="where results go")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of mechanisms; they are in `kempe info`
    console, progress = Console(), Console(stderr=True)
    report, broken = Report(header(versions(), settings())), []
    for name, section in chosen(asked.quick, asked.only).items():
        title = f"{name} (Kempe by itself)" if name in KEMPE else name
        rows = report.sections[title] = []
        with progress.status(name) as status:
            try:
                for row in section():
                    rows.append(row)
                    status.update(f"{name}: {row.what.strip()}")
            except Exception as error:  # the other sections are worth as much without it
                rows.append(Row("broke off", f"{type(error).__name__}: {error}", "to come to its end", False))
                broken.append(name)
        progress.print(f"{name}: {len(rows)} rows", highlight=False)
        paths = write(report, asked.folder)  # as far as it is
    show(report, console)
    for path in paths:
        console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)
    if broken:
        sys.exit(f"broke off: {', '.join(broken)}")


if __name__ == "__main__":
    main()
