"""A small program of many calls, for tests."""

import numpy as np

from kempe.compiler.compose import Composer
from kempe.compiler.program import Program
from kempe.compiler.trace import trace


def chain_of_squares(steps: int) -> Program:
    """x -> x^2 + c_k, over and over, on three numbers; the sum of all results comes out as well."""
    step = trace(lambda x, total, c: (x * x + c, total + x), {"x": 3, "total": 3, "c": ()})
    composer = Composer(f"squares {steps}")
    x, total = composer.input("x", 3), composer.constant(np.zeros(3))
    for c in composer.constant(np.linspace(-0.9, 0.1, steps)):
        x, total = composer.call(step, x, total, c)
    composer.output("result", np.array([x, total]))
    return composer.program()
