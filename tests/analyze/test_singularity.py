"""Singular poses of four-bars, known from their triangles."""

import numpy as np
import pytest

from kempe.errors import Singular, StateError
from tests.analyze.mechanisms import four_bar, stewart, three_rrr


def crank_angle(third: float, lengths) -> float:
    """The crank's angle in the triangle of crank, ground, and a third side."""
    crank, _, _, ground = lengths
    return np.arccos((crank**2 + ground**2 - third**2) / (2 * crank * ground))


def test_driven_by_the_rocker_it_is_stuck_where_coupler_and_crank_are_in_line():
    """Type I for the crank as actuator and the rocker as output: the rocker is at its end, the crank still turns."""
    lengths = (0.3, 1.0, 0.6, 1.0)
    model = four_bar(lengths).compile()
    crank, coupler, rocker, ground = lengths
    reach = crank + coupler
    angle = np.arccos((reach**2 + ground**2 - rocker**2) / (2 * reach * ground))
    state = model.assemble({"A": angle}, near={"B": 0.0, "D": np.pi / 2})
    found = model.singularity(state.q, output="D")
    assert found.serial.value < 1e-8
    assert found.serial.singular
    assert not found.parallel.singular
    assert not found.constraint.singular
    assert "the output has lost a direction" in str(found)


def test_a_crank_cannot_hold_a_rocker_in_line_with_the_coupler():
    """Type II: with a long crank, coupler and rocker can stretch out."""
    lengths = (0.8, 0.5, 0.6, 0.5)
    model = four_bar(lengths).compile()
    angle = crank_angle(1.1, lengths)
    state = model.assemble({"A": angle - 1e-9}, near={"C": 0.0, "A": angle})
    found = model.singularity(state.q, output="D")
    assert found.parallel.value < 1e-3
    away = model.singularity(model.assemble({"A": angle - 0.4}).q)
    assert away.parallel.value > 0.02
    assert away.serial is None


def test_a_parallelogram_laid_flat_gains_a_freedom():
    model = four_bar((0.5, 1.0, 0.5, 1.0)).compile()
    flat = model.assemble({"A": 0.0}, near={"A": 0.0, "B": 0.0, "D": 0.0})
    found = model.singularity(flat.q)
    assert found.constraint.singular
    assert "gains a freedom" in str(found)
    with pytest.raises(Singular, match=r"at this pose .* gains a freedom"):
        model.forward_dynamics(flat.q, flat.v)
    tilted = model.assemble({"A": 1.0}, near={"A": 1.0, "B": -1.0, "D": 1.0})
    assert not model.singularity(tilted.q).constraint.singular


LEGS = {"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5}


@pytest.mark.parametrize(
    ("build", "near"), [(three_rrr, LEGS), (lambda: stewart("UPS"), {f"P{k}": 0.3 for k in range(6)})]
)
def test_platforms_in_general_poses_are_not_singular(build, near):
    model = build().compile()
    found = model.singularity(model.assemble(near=near).q, output="platform")
    for measure in (found.constraint, found.parallel, found.serial):
        assert measure.value > 1e-4
        assert measure.condition == pytest.approx(1 / measure.value)


def test_an_output_that_is_nothing():
    model = four_bar().compile()
    state = model.assemble({"A": 1.0})
    with pytest.raises(StateError, match="output 'X' is no joint, body or marker"):
        model.singularity(state.q, output="X")
