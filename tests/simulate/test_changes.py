"""Coordinates chosen anew in a run: nothing shows in the motion, and a run is the same whatever was run before."""

import numpy as np
import pytest

import kempe as kp
from kempe.gallery.excavator import dig, excavator
from kempe.gallery.loops import five_bar, three_rrr
from kempe.loops.atlas import MOST, NARROW
from kempe.loops.choosing import fitness, pivots_at
from kempe.simulate import rows
from kempe.simulate.choices import Choices
from kempe.simulate.system import Setting


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


def five_bar_run(model: kp.Model, duration: float = 5.0, **options) -> kp.Trajectory:
    feet = {"left": -2 * np.pi / 3, "right": -np.pi / 3}
    start = model.assemble(feet, near={"left elbow": 1.2, "right elbow": 2.6})
    return model.simulate(start, duration, output=0.01, **options)


def test_the_same_run_has_the_same_bits(monkeypatch):
    """Repeated, after other runs, and of another model of the same mechanism; no row needs the careful way."""
    model = five_bar().compile()
    first = five_bar_run(model)
    assert first.statistics.changes >= 1
    for careful in ("settle", "numeric"):
        monkeypatch.setattr(rows, careful, lambda *_: pytest.fail("a row was left to the careful way"))
    again = five_bar_run(model)
    monkeypatch.undo()
    for q in model.prepared.atlas.chooser.scales.samples:
        model.simulate(kp.State(model, q, np.zeros(model.nv)), 0.3)
    other = five_bar().compile()
    other.batch().rollout(other.assemble(), dt=1e-3, steps=50, batch=3)
    for run in (again, five_bar_run(model), five_bar_run(other)):
        for name in ("t", "q", "v", "a", "u"):
            assert np.array_equal(getattr(run, name), getattr(first, name))
    assert again.closure.max() < 1e-13
    energy = again.energy.total
    assert np.ptp(energy) < 1e-6 * np.abs(energy).max()


@pytest.mark.parametrize("build", [five_bar, three_rrr, excavator])
def test_the_rule_takes_the_first_choice_that_is_nearly_as_fit_as_the_fittest(build):
    model = build().compile()
    choices, least = model.prepared.atlas.choices, model.prepared.atlas.enough
    assert 1 <= len(choices) <= MOST
    assert len(set(choices)) == len(choices)
    assert choices[0] == model.choice
    for q in model.prepared.atlas.chooser.scales.samples:
        fits = [fitness(model, choice, q) for choice in choices]
        taken = model.prepared.atlas.at(q)
        if max(fits) < least:
            assert taken is None
        else:
            good = max(least, 0.5 * max(fits))
            assert taken == next(choice for choice, fit in zip(choices, fits, strict=True) if fit >= good)
        assert model.prepared.atlas.chooser.best(q)[1] < NARROW or taken is not None


@pytest.mark.parametrize("build", [five_bar, three_rrr])
def test_runs_begin_with_coordinates_that_fit(build):
    """Whatever states runs began in before: the signs of pivots are those of the state, and none is near zero."""
    model = build().compile()
    setting = Setting(None, model.nu, None)
    signs = set()
    for q in [*model.prepared.atlas.chooser.scales.samples, *model.prepared.atlas.chooser.scales.samples[::-1]]:
        found, c = Choices(model, setting, crossing=False).first(q, model.parameters(None))
        if found.choice is None:
            assert model.prepared.atlas.chooser.best(q)[1] < 2 * model.prepared.atlas.enough
            continue
        pivots = pivots_at(model, found.choice, q)
        np.testing.assert_allclose(np.abs(c[: len(pivots)]), found.choice.scales, rtol=1e-15)
        assert (c[: len(pivots)] * pivots).min() > 0
        assert np.abs(pivots).min() >= model.prepared.atlas.enough
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
        for choice in (model.choice, built.prepared.atlas.chooser.best(q)[0]):
            own = pivots_at(built, choice, q) * size
            np.testing.assert_allclose(pivots_at(model, choice, q, p), own, rtol=1e-13)
            assert np.abs(pivots_at(model, choice, q) - own).max() > 1e-3
        choice, fit = model.prepared.atlas.chooser.best(q, p)
        assert fit == pytest.approx(size * np.abs(pivots_at(built, choice, q)).min(), rel=1e-12)
        assert fit > 0.02
    start = built.assemble({"A": 1.5}, near={"D": 1.5})
    runs = built.simulate(start, 2.0), model.simulate(kp.State(model, start.q, start.v), 2.0, p=lengths)
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-6)
