"""`kempe counts`: compares forward dynamics by every formulation, and counts operations of other functions."""

import time
import warnings
from collections.abc import Callable

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kempe.commands.subject import Subject
from kempe.compiler.clock import compile_seconds, seconds
from kempe.compiler.count import count
from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.dynamics.equations import Equations
from kempe.dynamics.formulations import BY_NAME, OPEN, refusal
from kempe.dynamics.generalized import InCoordinates
from kempe.dynamics.multipliers import Augmented, Slm, Sslm
from kempe.dynamics.partition import WAYS, Partition
from kempe.errors import MechanismError
from kempe.kernels.kernels import function_program
from kempe.loops.decision import lost
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

FORWARD = "forward_dynamics"
CLOSED = ("generalized_efforts", "reduction", "residual", "closure", "loop_bias", "energy", "center_of_mass")
TREES = ("generalized_forces", "mass_matrix", "energy", "center_of_mass")
OPERATIONS = ("mult", "add", "div", "sincos", "other", "total")
MEASURED = {"compile": "compile [s]", "ns": "call [ns]", "rounding": "rounding"}
LEGEND = (
    "> is the choice of auto; total: including sines and all others. compile: from equations to native code. call: one "
    "evaluation, in a compiled loop. rounding: its effect on accelerations relative to the largest, median over "
    "sampled states."
)

Numbers = dict[str, dict[str, float]]


def counts(subject: Subject, measure: bool = True, tell: Callable[[str], None] = lambda _: None) -> Numbers:
    """Operations by function: forward dynamics by every applicable formulation and variant, and other functions.

    measure: for forward dynamics, adds seconds from equations to native code without the cache, nanoseconds per
    evaluation in a compiled loop, and the effect of rounding on accelerations. tell: reports progress.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `kempe info` shows them
        model = subject.mechanism.compile()
        taken, found = _same(model.chosen), {}
        for name, equations in formulations(subject.mechanism, model).items():
            tell(f"forward dynamics by {name}")
            begun = time.perf_counter()
            program = function_program(equations, FORWARD)
            found[f"{FORWARD}, {name}"] = _numbers(program)
            if measure:
                traced = time.perf_counter() - begun
                found[f"{FORWARD}, {name}"] |= _measured(model, program, traced)
            found[f"{FORWARD}, {name}"]["auto"] = _same(equations) == taken
        for name in CLOSED if model.topology.constrained else TREES:
            found[name] = _numbers(model.program(name))
        legged = on_legs(model.mechanism) if model.topology.constrained else None
        if legged is not None:
            found["inverse_dynamics, denoc"] = _numbers(legged.program("inverse_dynamics"))
    return found


def formulations(mechanism: Mechanism, model: Model) -> dict[str, Equations]:
    """The equations of a mechanism by every applicable formulation and variant."""
    if not model.topology.constrained:
        return {name: model.equations.by(BY_NAME[name]()) for name in OPEN}
    ways = (*WAYS, *(() if model.bending.any() else ("clusters",)))
    by: dict[str, InCoordinates] = {f"partition, {way}": Partition(way=way) for way in ways}
    by |= {kind.name: kind() for kind in (Augmented, Slm, Sslm) if refusal(kind, model.topology) is None}
    found = {name: model.chosen.by(other.using(model.choice)) for name, other in by.items()}
    others = {"denoc": on_legs(mechanism), "springs": _compiled(mechanism, "springs")}
    return found | {name: other.chosen for name, other in others.items() if other is not None}


def on_legs(mechanism: Mechanism) -> Model | None:
    """The model with `denoc`, if the mechanism is a platform on legs, else None."""
    return _compiled(mechanism, "denoc")


def _compiled(mechanism: Mechanism, formulation: str) -> Model | None:
    try:
        return mechanism.compile(formulation)
    except MechanismError:
        return None


def _same(equations: Equations) -> str:
    """A key for the formulation and its variant."""
    return str(equations.formulation)


def _numbers(program: Program) -> dict[str, float]:
    each = count(program)
    numbers = (each.multiplications, each.additions, each.divisions, each.sincos, each.other, each.total)
    return dict(zip(OPERATIONS, numbers, strict=True))


def _measured(model: Model, program: Program, traced: float) -> dict[str, float]:
    rest = np.zeros(model.nv)
    given = model.prepared.samples.states[0], rest, rest, *([model.p] if model.p_names else [])
    return {
        "compile": round(traced + compile_seconds(program), 3),
        "ns": round(1e9 * seconds(Kernel(program), *given)),
        "rounding": float(
            f"{lost(model, model.prepared.samples, model.choice if model.topology.constrained else None, program):.1e}"
        ),
    }


def show(name: str, found: Numbers, console: Console) -> None:
    """Prints two tables."""
    forward = {key.removeprefix(f"{FORWARD}, "): x for key, x in found.items() if key.startswith(FORWARD)}
    measured = {key: text for key, text in MEASURED.items() if key in next(iter(forward.values()))}
    few = ("mult", "add", "div", "total")
    table = _table(f"{name}: forward dynamics by", [*few, *measured.values()])
    for formulation, numbers in forward.items():
        mark = ">" if numbers["auto"] else " "
        table.add_row(f"{mark} {formulation}", *(str(numbers[key]) for key in (*few, *measured)))
    console.print(table)
    console.print(LEGEND if measured else LEGEND.partition(" compile")[0], style="dim", highlight=False)
    others = _table(f"{name}: other functions", list(OPERATIONS))
    for function, numbers in found.items():
        if not function.startswith(FORWARD):
            others.add_row(function.replace("_", " "), *(str(numbers[key]) for key in OPERATIONS))
    console.print(others)


def _table(title: str, columns: list[str]) -> Table:
    table = Table(
        "",
        *map(escape, columns),
        title=escape(f"\n{title}"),
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    return table
