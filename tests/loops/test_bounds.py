"""Efforts within bounds where actuators are more than freedoms, some of them without bounds."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import StateError


@pytest.fixture(scope="module")
def two():
    """A four-bar with motors at both feet."""
    m = kp.Mechanism("two motors", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (m.rod(f"bar{k}", length, length) for k, length in enumerate((0.3, 1.0, 0.6)))
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start, actuated=True)
    model = m.compile()
    return model, model.assemble({"A": 0.5}, near={"D": 1.2}, rates={"A": 2.0})


@pytest.mark.parametrize("bounds", [{"A": (-0.5, 0.5)}, {"A": 0.5}, {"A": (-np.inf, 0.5)}, {"A": 0.5, "D": 1e3}])
def test_the_one_with_bounds_keeps_to_them_and_the_other_does_the_rest(two, bounds):
    model, state = two
    least = model.inverse_dynamics(state.q, state.v, {"A": 1.0})
    assert least[0] > 0.5
    found = model.inverse_dynamics(state.q, state.v, {"A": 1.0}, bounds=bounds)
    assert found[0] == pytest.approx(0.5, abs=1e-9)
    accelerations = [model.forward_dynamics(state.q, state.v, tau) for tau in (least, found)]
    np.testing.assert_allclose(*accelerations, atol=1e-9)


def test_bounds_that_are_kept_already_change_nothing(two):
    model, state = two
    least = model.inverse_dynamics(state.q, state.v, {"A": 1.0})
    np.testing.assert_array_equal(model.inverse_dynamics(state.q, state.v, {"A": 1.0}, bounds={"A": 100.0}), least)


def test_bounds_that_cannot_be_kept_are_told(two):
    model, state = two
    with pytest.raises(StateError, match="no efforts of A, D within these bounds"):
        model.inverse_dynamics(state.q, state.v, {"A": 1.0}, bounds={"A": 0.01, "D": 0.01})
