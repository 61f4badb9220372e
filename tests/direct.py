"""Models without compiled code: functions are worked out on numbers, by the same formulas that are traced.

Tests of the compiler hold compiled code to what a program means, bit for bit; here not even a program is made, so that
many mechanisms can be looked at in the time that compiling one takes.
"""

import casadi as ca
import numpy as np

from kempe.dynamics.choose import Candidate, Decision
from kempe.dynamics.equations import Equations, Function
from kempe.dynamics.formulation import Formulation
from kempe.dynamics.partition import Partition
from kempe.errors import NotClosed
from kempe.kinetics.kinetics import Kinetics
from kempe.loops.freedom import Samples
from kempe.model.model import Model
from kempe.spatial.vectors import from_sx

BRANCHING = ("loop_coordinates",)  # quaternions are chosen from, which takes symbols


class Direct(Model):
    """A model whose functions are evaluated one state after the other."""

    _native = (None, (), True)  # there is no native code to enter
    loops_repeat = False  # nor a program with repeated blocks

    def __init__(self, equations, source, structures=None):
        super().__init__(equations, source, structures)
        asked = equations.formulation
        taken = Partition(way="composite") if asked is None or asked.is_open else asked
        vars(self.prepared)["decision"] = Decision(Candidate(taken))  # nothing is measured

    def kernel(self, name):
        """A function on numbers."""
        described = self.equations.functions()[name]
        if name in BRANCHING:
            traced = self.casadi(name)
            return lambda *given: traced(*given).full().ravel()
        equations = self.chosen if described.chosen else self.equations
        return lambda *given: _evaluated(equations, described, [np.asarray(x, dtype=float) for x in given])


def prepare(model: Kinetics, samples=None, dof: int | None = None, choice=None, choices=None) -> None:
    """Says beforehand what would be found out by numbers, or why there are no samples."""
    parts = vars(model.prepared)
    if samples is not None:
        parts["samples"] = Samples((), samples) if isinstance(samples, NotClosed) else Samples(tuple(samples))
    if dof is not None:
        parts["dof"] = dof
    if choice is not None:
        vars(model.prepared.atlas)["first"] = choice
    if choices is not None:
        vars(model.prepared.atlas)["choices"] = choices


def beside(model: Model, formulation: Formulation | None = None) -> Direct:
    """A model on numbers, by another formulation if one is given; coordinates, freedom and sampled states are those of
    the one that is there."""
    equations = model.equations if formulation is None else model.equations.by(formulation)
    found = Direct(equations, model.mechanism)
    prepare(found, samples=model.prepared.samples.states, dof=model.dof, choice=model.choice)
    return found


def _evaluated(equations: Equations, described: Function, given: list[np.ndarray]):
    count = next((len(x) for x in given if x.ndim > 1), None)
    if count is not None:
        rows = [_evaluated(equations, described, [x[k] if x.ndim > 1 else x for x in given]) for k in range(count)]
        return tuple(map(np.array, zip(*rows, strict=True))) if len(described.outputs) > 1 else np.array(rows)
    named = dict(zip(described.inputs, (from_sx(ca.SX(x)) for x in given), strict=True))
    tree = equations.tree(named.pop("p", ()))
    work = zip(described.work(equations, tree, **named), described.kinds, strict=True)
    found = [_numbers(x, kind) for x, kind in work]
    return found[0] if len(found) == 1 else tuple(found)


def _numbers(x, kind: str) -> np.ndarray:
    """Of constants that symbols have become."""
    if isinstance(x, ca.SX):
        x = ca.evalf(x).full()
    else:
        x = np.asarray(x, dtype=object)
        x = np.array([float(entry) for entry in x.ravel()]).reshape(x.shape)
    return x if kind == "matrix" else x.reshape(() if kind == "scalar" else -1)
