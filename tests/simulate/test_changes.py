"""Coordinates chosen anew in a run: what was asked for in the background is taken, and nothing shows in the motion."""

import numpy as np
import pytest

import kempe as kp
from kempe.gallery.excavator import dig, excavator
from kempe.simulate.choices import Choices
from kempe.simulate.system import ready


@pytest.fixture(scope="module")
def dug():
    model = excavator().compile()
    need = dig(model, 8.0, output=0.002)
    forces = kp.Table(need.t, need.u, between="cubic")
    return need, [model.simulate(need.at(0.0), 8.0, torque=forces, tolerance=1e-10) for _ in range(2)]


def test_runs_go_on_by_other_coordinates(dug):
    """Both the run that had to compile them and the one that found them compiled."""
    need, runs = dug
    for run in runs:
        assert run.outcome.finished
        assert run.statistics.changes >= 1
        assert run.closure.max() < 1e-13
        np.testing.assert_allclose(run.q, need.resample(run.t).q, atol=1e-4)


def test_it_is_known_what_has_been_compiled(dug):
    model = dug[0].model
    (setting, choice), *_ = model.compiled["systems"]
    assert ready(model, setting, choice)
    assert not Choices(model, setting, crossing=False).waiting
