"""`kempe counts`: how many operations each function of a mechanism takes."""

import warnings

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kempe.commands.subject import Subject
from kempe.compiler.count import count
from kempe.dynamics.equations import FORMULATIONS

CLOSED = ("residual", "closure", "loop_bias", "energy", "center_of_mass")
FUNCTIONS = ("generalized_forces", "mass_matrix", "energy", "center_of_mass")


def counts(subject: Subject) -> dict[str, dict[str, int]]:
    """Operations by function: forward dynamics by every formulation and others, or closures where there are loops."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in `kempe info`
        models = {name: subject.mechanism.compile(name) for name in FORMULATIONS}
    if models["udu"].topology.loops:  # equations of motion for them are still to come, and the tree's are not theirs
        programs = {name: models["udu"].program(name) for name in CLOSED}
    else:
        programs = {f"forward_dynamics, {name}": model.program("forward_dynamics") for name, model in models.items()}
        programs |= {name: models["udu"].program(name) for name in FUNCTIONS}
    for name, program in programs.items():
        each = count(program)
        found[name] = {
            "mult": each.multiplications,
            "add": each.additions,
            "div": each.divisions,
            "sincos": each.sincos,
            "other": each.other,
            "total": each.total,
        }
    return found


def show(name: str, found: dict[str, dict[str, int]], console: Console) -> None:
    """A table."""
    columns = list(next(iter(found.values())))
    table = Table("one evaluation of", *columns, title=escape(name), title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for function, numbers in found.items():
        table.add_row(function.replace("_", " "), *(str(numbers[c]) for c in columns))
    console.print(table)
