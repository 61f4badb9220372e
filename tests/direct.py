"""Models without compiled code: functions are worked out on numbers, by the same formulas that are traced.

Tests of the compiler hold compiled code to what a program means, bit for bit; here not even a program is made, so that
many mechanisms can be looked at in the time that compiling one takes.
"""

from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np

from kempe.analyze.freedom import assembled_samples
from kempe.dynamics.choose import Candidate, Decision
from kempe.dynamics.equations import Equations, Function
from kempe.model.model import Model
from kempe.spatial.vectors import from_sx

BRANCHING = ("loop_coordinates",)  # quaternions are chosen from, which takes symbols


class Direct(Model):
    """A model whose functions are evaluated one state after the other."""

    _prepared = (None, (), True)  # there is no native code to enter
    loops_repeat = False  # nor a program with repeated blocks

    @cached_property
    def decision(self) -> Decision:
        """What the equations say, and nothing is measured; where they leave it open, the whole inertia matrix."""
        asked, way = self.equations.formulation, self.equations.way
        return Decision(
            Candidate("partition", way or "composite") if asked in ("auto", "partition") else Candidate(asked)
        )

    def kernel(self, name):
        """A function on numbers."""
        described = self.equations.functions()[name]
        if name in BRANCHING:
            traced = self.casadi(name)
            return lambda *given: traced(*given).full().ravel()
        equations = self.chosen if described.chosen else self.equations
        return lambda *given: _evaluated(equations, described, [np.asarray(x, dtype=float) for x in given])


def beside(model: Model, **other) -> Direct:
    """A model on numbers, by other equations; coordinates, freedom and sampled states are those of the one that is
    there."""
    found = Direct(replace(model.equations, **other), model.mechanism)
    found.__dict__ |= {"choice": model.choice, "dof": model.dof}
    found.compiled["assembled samples"] = assembled_samples(model)
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
