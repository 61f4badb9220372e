"""`kempe counts`: how many operations each function of a mechanism takes, and how long forward dynamics of loops."""

import warnings
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kempe.analyze.mobility import assembled_samples
from kempe.commands.subject import Subject
from kempe.compiler.clock import seconds
from kempe.compiler.count import count
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.equations import CLOSED as CLOSED_FORMULATIONS
from kempe.dynamics.equations import FORMULATIONS, Equations
from kempe.dynamics.multipliers import WAYS as MULTIPLIERS
from kempe.dynamics.partition import WAYS
from kempe.errors import MechanismError
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

CLOSED = ("generalized_efforts", "reduction", "residual", "closure", "loop_bias", "energy", "center_of_mass")
FUNCTIONS = ("generalized_forces", "mass_matrix", "energy", "center_of_mass")

MEASURED = (f"forward_dynamics, partition, {Equations.way}", "forward_dynamics, denoc")


def counts(subject: Subject) -> dict[str, dict[str, int]]:
    """Operations by function: forward dynamics by every formulation for the mechanism, or every way of it, and
    others. Of closed mechanisms forward dynamics, as it is used, is measured too, in nanoseconds."""
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
        if model.topology.loops and name in MEASURED:
            rest = np.zeros(model.nv)
            given = assembled_samples(model)[0], rest, rest, *([model.p] if model.p_names else [])
            found[name]["ns"] = round(1e9 * seconds(Kernel(program), *given))
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
    for way in MULTIPLIERS:
        equations = replace(model.chosen, formulation=way)
        function = equations.casadi("forward_dynamics", equations.functions()["forward_dynamics"])
        programs[f"forward_dynamics, {way}"] = trace(function)
    programs |= {name: model.program(name) for name in CLOSED}
    try:
        legged = model.mechanism.compile("denoc")
    except MechanismError:  # no platform on legs
        return programs
    return {
        **{name: program for name, program in programs.items() if name.startswith("forward_dynamics")},
        **{f"{name}, denoc": legged.program(name) for name in ("forward_dynamics", "inverse_dynamics")},
        **programs,
    }


def show(name: str, found: dict[str, dict[str, int]], console: Console) -> None:
    """A table."""
    columns = list(max(found.values(), key=len))
    table = Table("one evaluation of", *columns, title=escape(name), title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for function, numbers in found.items():
        table.add_row(function.replace("_", " "), *(str(numbers.get(c, "")) for c in columns))
    console.print(table)
