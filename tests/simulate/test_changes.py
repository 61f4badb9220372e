"""Coordinates chosen anew in a run: what was asked for in the background is taken, and nothing shows in the motion."""

import numpy as np
import pytest

import kempe as kp
from kempe.analyze.choosing import pivots_at, scales_of
from kempe.gallery.excavator import dig, excavator
from kempe.gallery.loops import five_bar, three_rrr
from kempe.simulate.choices import BETTER, WEAK, Choices
from kempe.simulate.system import Setting, ready


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


@pytest.mark.parametrize("build", [five_bar, three_rrr])
def test_runs_begin_with_coordinates_that_fit(build):
    """Whatever states runs began in before: the signs of pivots are those of the state, and none is near zero."""
    model = build().compile()
    setting = Setting(None, model.nu, None)
    signs = set()
    for q in [*scales_of(model).samples, *scales_of(model).samples[::-1]]:
        found, c = Choices(model, setting, crossing=False).first(q, model.parameters(None))
        assert found.choice is not None
        pivots = pivots_at(model, found.choice, q)
        np.testing.assert_allclose(np.abs(c[: len(pivots)]), found.choice.scales, rtol=1e-15)
        assert (c[: len(pivots)] * pivots).min() > 0
        assert np.abs(pivots).min() > BETTER * WEAK
        signs.add((found.choice, tuple(np.sign(pivots))))
    assert len(signs) > len({choice for choice, _ in signs})  # one choice, both with pivots below and above zero
