"""`kempe counts`: how many operations each function of a mechanism takes."""

import warnings
from dataclasses import replace

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kempe.commands.subject import Subject
from kempe.compiler.count import count
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.equations import FORMULATIONS
from kempe.dynamics.partition import WAYS
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import CLOSED as CLOSED_FORMULATIONS
from kempe.model.model import Model

CLOSED = ("generalized_efforts", "reduction", "residual", "closure", "loop_bias", "energy", "center_of_mass")
FUNCTIONS = ("generalized_forces", "mass_matrix", "energy", "center_of_mass")


def counts(subject: Subject) -> dict[str, dict[str, int]]:
    """Operations by function: forward dynamics by every formulation for the mechanism, or every way of it, and
    others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in `kempe info`
        model = subject.mechanism.compile()
        programs = _closed(model) if model.topology.loops else _tree(subject.mechanism)
    found = {}
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


def _tree(mechanism: Mechanism) -> dict[str, Program]:
    models = {name: mechanism.compile(name) for name in FORMULATIONS if name not in CLOSED_FORMULATIONS}
    programs = {f"forward_dynamics, {name}": model.program("forward_dynamics") for name, model in models.items()}
    return programs | {name: models["udu"].program(name) for name in FUNCTIONS}


def _closed(model: Model) -> dict[str, Program]:
    programs = {}
    for way in WAYS:
        equations = replace(model.chosen, way=way)
        function = equations.casadi("forward_dynamics", equations.functions()["forward_dynamics"])
        programs[f"forward_dynamics, {model.formulation}, {way}"] = trace(function)
    return programs | {name: model.program(name) for name in CLOSED}


def show(name: str, found: dict[str, dict[str, int]], console: Console) -> None:
    """A table."""
    columns = list(next(iter(found.values())))
    table = Table("one evaluation of", *columns, title=escape(name), title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for function, numbers in found.items():
        table.add_row(function.replace("_", " "), *(str(numbers[c]) for c in columns))
    console.print(table)
