"""The agreement matrix: every formulation on every mechanism of the gallery, at random states, against a dense solve.

`python -m tests.agreement` writes it into docs/agreement.md; `tests/dynamics/test_agreement.py` holds that page, and
the numbers of today, to what it promises.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import fill

import numpy as np

from kempe.dynamics import denoc
from kempe.dynamics.denoc import Denoc
from kempe.dynamics.formulation import Formulation
from kempe.dynamics.masked import Masked
from kempe.dynamics.multipliers import Augmented, Slm, Sslm
from kempe.dynamics.partition import WAYS, Partition
from kempe.dynamics.trees import Cholesky, Udu
from kempe.errors import MechanismError
from kempe.gallery.entries import ENTRIES
from kempe.loops.choosing import fitness
from kempe.model.model import Model
from kempe.topology.legs import legs

PAGE = Path(__file__).parent.parent / "docs" / "agreement.md"
BOUND = 1e-9  # largest difference, beside the largest acceleration or 1
STATES = 2  # random ones of each mechanism
FIT = 0.02  # of generalized coordinates, at least: states nearly singular tell about rounding alone
TREES: dict[str, Formulation] = {kind.name: kind() for kind in (Udu, Cholesky)}
CLOSED: dict[str, Formulation] = {
    **{f"partition, {way}": Partition(way=way) for way in (*WAYS, "clusters")},
    **{kind.name: kind() for kind in (Augmented, Slm, Sslm, Denoc, Masked)},
}
COLUMNS = (*TREES, *CLOSED)


INTRODUCTION = """# Agreement between formulations

This page compares the accelerations that each formulation gives on every mechanism of the gallery,
at random closed states with random velocities and efforts. Each entry is the largest difference
from a dense NumPy solve of `[M -J^T; J 0] [vdot; lam] = [tau - h; gamma]`, relative to the largest
acceleration where that is above 1 rad/s² or m/s², else absolute.

- Joints that can be [switched](switching.md) are as at the start.
- A cell is empty where a formulation does not apply: `udu` and `cholesky` are for trees, `denoc`
  for platforms on legs with as many actuators as degrees of freedom.
- [`springs`](springs.md) is not listed: it replaces the loop equations by springs, and agrees only
  in the limit.

`python -m tests.agreement` writes this page; the tests recompute every entry and require it to be
below 1e-9.
"""


@cache
def compiled(name: str) -> Model:
    """A mechanism of the gallery, with those joints on that are at the start."""
    return ENTRIES[name].build().compile()


def states(model: Model) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Closed and moving, with efforts along all freedoms."""
    count = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        if not model.topology.constrained:
            q, v = model.random_state(seed).q, rng.normal(size=model.nv)
        else:
            q = model.assemble(near=model.random_state(seed)).q
            v = model.settle(q, rng.normal(size=model.nv))[1]
            if fitness(model, model.choice, q) < FIT:
                continue
        yield q, v, rng.normal(size=model.nv)
        count += 1
        if count == STATES:
            return


def dense(model: Model, q, v, tau) -> np.ndarray:
    """[M -J^T; J 0] [vdot; lam] = [tau - h; gamma] by least squares, M in units of its largest entry."""
    rows, gamma = np.zeros((0, model.nv)), np.zeros(0)
    if model.topology.constrained:
        rows, gamma = model.closure(q)[1], model.loop_bias(q, v)
    inertia = model.mass_matrix(q)
    unit = np.abs(inertia).max()
    system = np.block([[inertia / unit, -rows.T], [rows, np.zeros((len(rows),) * 2)]])
    right = np.concatenate([(tau - model.bias(q, v)) / unit, gamma])
    return np.linalg.lstsq(system, right, rcond=1e-12)[0][: model.nv]


def by(model: Model, q, v, tau, formulation: Formulation) -> np.ndarray:
    """Accelerations by a formulation, its formulas worked out on numbers."""
    if isinstance(formulation, Masked):
        equations = model.structures.mask(model).equations
        values = {path: equations.topology.parameters[path] for path in equations.parameters}
        on = {f"{joint}.on": float(joint in model.topology.on) for joint in model.topology.switchable}
        tree = equations.tree([(values | on)[path] for path in equations.parameters])
    else:
        tree = model.equations.constant_tree
        if isinstance(formulation, Denoc):  # scales are for its fit alone
            pivots, _ = denoc.posture(tree, q, None, model.topology.legs).pivots
            formulation = formulation.using(model.choice, (1.0,) * len(pivots))
        elif model.topology.constrained:
            formulation = formulation.using(model.choice)
        equations = model.equations.by(formulation)
    return np.array([float(x) for x in equations.forward(tree, q, v, tau).vdot])


def applies(model: Model, column: str) -> bool:
    """Whether a formulation is one for this mechanism."""
    if (column in TREES) == model.topology.constrained:
        return False
    if column.endswith("clusters"):
        return not model.bending.any()
    if column == "denoc":
        try:
            return bool(legs(model.topology).legs) and model.nu == model.dof
        except MechanismError:
            return False
    return True


def row(name: str) -> dict[str, float]:
    """By formulation, the largest difference from the dense solve, beside the largest acceleration or 1."""
    model, found = compiled(name), {}
    for q, v, tau in states(model):
        wanted = dense(model, q, v, tau)
        for column, other in (CLOSED if model.topology.constrained else TREES).items():
            if applies(model, column):
                off = np.abs(by(model, q, v, tau, other) - wanted).max() / max(1.0, np.abs(wanted).max())
                found[column] = max(found.get(column, 0.0), float(off))
    return found


def page() -> str:
    """The matrix as Markdown."""
    lines = [
        INTRODUCTION,
        f"| mechanism | {' | '.join(COLUMNS)} |",
        "|---" * (1 + len(COLUMNS)) + "|",
    ]
    for name in ENTRIES:
        found = row(name)
        lines.append(f"| {name} | {' | '.join(f'{found[c]:.0e}' if c in found else '' for c in COLUMNS)} |")
    kinds = (Udu, Cholesky, Partition, Augmented, Slm, Sslm, Denoc, Masked)
    named = [fill(f"- `{kind.name}`: {kind.summary}", 100, subsequent_indent="  ") for kind in kinds]
    return "\n".join([*lines, "", *named, ""])


if __name__ == "__main__":
    PAGE.write_text(page())
