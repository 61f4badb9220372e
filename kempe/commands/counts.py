"""`kempe counts`: how many operations each function of a mechanism takes, and how long forward dynamics of loops."""

import warnings
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kempe.analyze.freedom import assembled_samples
from kempe.commands.subject import Subject
from kempe.compiler.clock import seconds
from kempe.compiler.count import count
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.choose import way
from kempe.dynamics.equations import OPEN
from kempe.dynamics.multipliers import WAYS as MULTIPLIERS
from kempe.dynamics.partition import WAYS
from kempe.errors import MechanismError
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

CLOSED = ("generalized_efforts", "reduction", "residual", "closure", "loop_bias", "energy", "center_of_mass")
FUNCTIONS = ("generalized_forces", "mass_matrix", "energy", "center_of_mass")


def counts(subject: Subject) -> dict[str, dict[str, int]]:
    """Operations by function: forward dynamics by every formulation for the mechanism, or every way of it, and
    others. Of closed mechanisms forward dynamics, as it is used, is measured too, in nanoseconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are in `kempe info`
        model = subject.mechanism.compile()
        programs = _closed(model) if model.topology.constrained else _tree(subject.mechanism)
    found, own = {}, way(model.topology)
    measured = {
        "forward_dynamics, denoc",
        f"forward_dynamics, {'clusters' if own == 'clusters' else f'partition, {own}'}",
    }
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
        if model.topology.constrained and name in measured:
            rest = np.zeros(model.nv)
            given = assembled_samples(model)[0], rest, rest, *([model.p] if model.p_names else [])
            found[name]["ns"] = round(1e9 * seconds(Kernel(program), *given))
    return found


def _tree(mechanism: Mechanism) -> dict[str, Program]:
    models = {name: mechanism.compile(name) for name in OPEN}
    programs = {f"forward_dynamics, {name}": model.program("forward_dynamics") for name, model in models.items()}
    return programs | {name: models["udu"].program(name) for name in FUNCTIONS}


def _closed(model: Model) -> dict[str, Program]:
    legged = on_legs(model.mechanism)
    programs = forward_programs(model, legged)
    if legged is not None:
        programs["inverse_dynamics, denoc"] = legged.program("inverse_dynamics")
    return programs | {name: model.program(name) for name in CLOSED}


def on_legs(mechanism: Mechanism) -> Model | None:
    """The mechanism by `denoc`, where it is a platform on legs."""
    try:
        return mechanism.compile("denoc")
    except MechanismError:
        return None


def forward_programs(model: Model, legged: Model | None) -> dict[str, Program]:
    """Forward dynamics of a mechanism with loops by every formulation and way there is, and by clusters of rigid
    links."""
    others: dict[str, dict] = {f"{model.formulation}, {way}": {"way": way} for way in WAYS}
    others |= {way: {"formulation": way} for way in MULTIPLIERS}
    others |= {} if model.bending.any() else {"clusters": {"way": "clusters"}}
    programs = {}
    for name, other in others.items():
        equations = replace(model.chosen, **other)
        function = equations.casadi("forward_dynamics", equations.functions()["forward_dynamics"])
        programs[f"forward_dynamics, {name}"] = trace(function)
    if legged is not None:
        programs["forward_dynamics, denoc"] = legged.program("forward_dynamics")
    return programs


def show(name: str, found: dict[str, dict[str, int]], console: Console) -> None:
    """A table."""
    columns = list(max(found.values(), key=len))
    table = Table("one evaluation of", *columns, title=escape(name), title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for function, numbers in found.items():
        table.add_row(function.replace("_", " "), *(str(numbers.get(c, "")) for c in columns))
    console.print(table)
