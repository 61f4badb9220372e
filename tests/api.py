"""The public names as text: `python -m tests.api` writes the page that `tests/test_api.py` holds them to."""

import inspect
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import kempe as kp

PAGE = Path(__file__).with_name("api.txt")
RETURNED = (  # classes of which users get objects without naming them
    "analyze.equilibrium.Equilibrium", "analyze.linearize.Linearization", "analyze.linearize.Mode",
    "analyze.mobility.Mobility", "analyze.parallel.Parallel", "analyze.singularity.Singularity",
    "analyze.subsystems.Inverse", "analyze.workspace.Workspace", "check.Findings", "control.motion.Motion",
    "kernels.kernels.Kernels", "kinetics.reactions.Reactions", "loops.branches.Assembly", "loops.closing.Closer",
    "loops.prepared.Prepared", "mechanism.bodies.Body", "mechanism.bodies.Marker", "mechanism.joint.Joint",
    "mechanism.strut.Strut", "results.rollout.Rollout", "results.synthesis.Synthesis", "simulate.batch.Batch",
    "simulate.stepper.Stepper", "simulate.tuning.Tuning", "topology.subsystems.Subsystems", "topology.tree.Topology",
)  # fmt: skip


def lines() -> list[str]:
    """Every public name of Kempe, with what it takes; of classes, their public methods and properties; then the same of
    classes that calls return."""
    found = []
    for name in sorted(kp.__all__):
        value = getattr(kp, name)
        if inspect.isclass(value):
            found += [f"{name}{_signature(value)}", *(f"    {line}" for line in _members(value))]
        elif inspect.ismodule(value):
            found += [name, *(f"    {n}{_signature(getattr(value, n))}" for n in sorted(value.__all__))]
        else:
            found.append(f"{name}{_signature(value)}" if callable(value) else name)
    for path in RETURNED:
        module, _, name = path.rpartition(".")
        found += [path, *(f"    {line}" for line in _members(getattr(import_module(f"kempe.{module}"), name)))]
    return found


def _members(kind: type) -> list[str]:
    found = []
    for name in sorted(n for n in dir(kind) if not n.startswith("_")):
        owner = next(base for base in kind.__mro__ if name in vars(base))
        if owner.__module__.partition(".")[0] == "kempe":
            value = getattr(kind, name)
            found.append(f"{name}{_signature(value)}" if callable(value) else name)
    return found


def _signature(value) -> str:
    """Names and defaults, of typed options their names; types are for the reader of the code."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = []
    for p in (p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values() if p.name != "self"):
        typed = _options(value) if p.kind is p.VAR_KEYWORD else ()
        plain += [inspect.Parameter(name, p.KEYWORD_ONLY, default=...) for name in typed] or [p]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _options(value) -> tuple[str, ...]:
    """Names of the options that a TypedDict says a function takes."""
    inside = getattr(value, "__wrapped__", value)
    hint = inside.__annotations__.get("options") if hasattr(inside, "__annotations__") else None
    return tuple(get_type_hints(hint.__args__[0])) if hasattr(hint, "__args__") else ()


if __name__ == "__main__":
    PAGE.write_text("\n".join(lines()) + "\n")
