"""Coordinates chosen anew in a run: what was asked for in the background is taken, and nothing shows in the motion."""

import numpy as np
import pytest

import kempe as kp
from kempe.analyze.choosing import pivots_at, scales_of
from kempe.gallery.excavator import dig, excavator
from kempe.gallery.loops import five_bar, three_rrr
from kempe.simulate import rows
from kempe.simulate.choices import BETTER, WEAK, Choices, best_at
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


def test_coordinates_that_are_compiled_are_taken_where_others_fade(monkeypatch):
    """With nothing asked for in the background; the motion is the one of the run that had to compile them, and no
    row needs the careful way."""
    model = five_bar().compile()
    feet = {"left": -2 * np.pi / 3, "right": -np.pi / 3}
    start = model.assemble(feet, near={"left elbow": 1.2, "right elbow": 2.6})
    first = model.simulate(start, 5.0, output=0.01)
    monkeypatch.setattr(Choices, "_ask", lambda *_: pytest.fail("it is there already"))
    for careful in ("settle", "numeric"):
        monkeypatch.setattr(rows, careful, lambda *_: pytest.fail("a row was left to the careful way"))
    again = model.simulate(start, 5.0, output=0.01)
    assert first.statistics.changes >= 1
    assert again.statistics.changes >= 1
    np.testing.assert_allclose(again.q, first.q, atol=1e-6)
    assert again.closure.max() < 1e-13
    energy = again.energy.total
    assert np.ptp(energy) < 1e-6 * np.abs(energy).max()


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


def crank_and_rocker(coupler_length: float, rocker_length: float) -> kp.Mechanism:
    m = kp.Mechanism("crank and rocker", gravity=(0, -9.81, 0))
    lengths = {"a": 0.5, "b": coupler_length, "c": rocker_length}
    crank, coupler, rocker = (m.rod(name, length=length, mass=1.0) for name, length in lengths.items())
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1.2, 0), rocker.start)
    return m


def test_coordinates_are_chosen_for_the_parameters_of_a_run():
    """As they are for a mechanism that was built with these lengths."""
    lengths = {"b.length": 1.4, "c.length": 1.3}
    model, built = crank_and_rocker(1.0, 1.0).compile(parameters=lengths), crank_and_rocker(1.4, 1.3).compile()
    p = np.array([lengths[name] for name in model.p_names])
    size = float(built.equations.closure_size) / float(model.equations.closure_size)  # what gaps are divided by
    for crank in (0.4, 1.5, 4.0):
        q = built.assemble({"A": crank}, near={"D": 1.5}).q
        for choice in (model.choice, best_at(built, q)[0]):
            own = pivots_at(built, choice, q) * size
            np.testing.assert_allclose(pivots_at(model, choice, q, p), own, rtol=1e-13)
            assert np.abs(pivots_at(model, choice, q) - own).max() > 1e-3
        choice, fit = best_at(model, q, p)
        assert fit == pytest.approx(size * np.abs(pivots_at(built, choice, q)).min(), rel=1e-12)
        assert fit > WEAK
    start = built.assemble({"A": 1.5}, near={"D": 1.5})
    runs = built.simulate(start, 2.0), model.simulate(kp.State(model, start.q, start.v), 2.0, p=lengths)
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-6)
