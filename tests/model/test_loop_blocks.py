"""Loops in repeated blocks: what the whole tree gives, traced in one piece."""

import numpy as np
import pytest

from kempe.compiler.interpret import interpret
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.entries import ENTRIES
from kempe.kernels import loop_blocks
from tests.mechanisms import random_tree

# Loops on the ground and on links, through balls, universal joints, sliders and bodies cut in two.
NAMES = ("excavator", "carpet-scraper", "scissor-lift", "delta", "3-ruu")


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_loops_are_those_of_the_whole_tree(name, monkeypatch):
    monkeypatch.setattr(loop_blocks, "repeats", lambda equations: True)
    model = ENTRIES[name].build().compile()
    state = model.random_state(3)
    places = loop_blocks.places(model.topology)
    whole = {"closure_entries": "closure", "row_entries": "loop_rows"}
    for function, described in loop_blocks.FUNCTIONS.items():
        program = loop_blocks.program(model.equations, function)
        given = [getattr(state, n) for n in described.inputs]
        found = interpret(program, *given)
        meant = model.casadi(whole.get(function, function)).call(given)
        for port, mine, other in zip(program.outputs, found, meant, strict=True):
            other = np.array(other)
            if port.name in ("J", "rows"):
                here, elsewhere = other[places], other.copy()
                elsewhere[places] = 0.0
                assert np.abs(elsewhere).max() < 1e-15
                other = here
            np.testing.assert_allclose(mine, other.ravel(), rtol=0, atol=2e-14, err_msg=function)


def test_loops_that_are_built_alike_share_their_code():
    blocks = [len(loop_blocks.program(n_four_bar(n).compile().equations, "closure_entries").blocks) for n in (20, 40)]
    assert blocks[0] == blocks[1] <= 3  # the first two differ: they stand at 0 and at 1, numbers that cost nothing


def test_short_trees_parameters_and_trees_without_loops_are_traced_in_one_piece():
    row = n_four_bar(12)
    assert loop_blocks.program(row.compile().equations, "residual") is not None
    assert loop_blocks.program(row.compile().equations, "energy") is None
    assert loop_blocks.program(row.compile(parameters=["coupler0.length"]).equations, "residual") is None
    assert loop_blocks.program(n_four_bar(2).compile().equations, "residual") is None
    assert loop_blocks.program(random_tree(1, 22).compile().equations, "residual") is None
