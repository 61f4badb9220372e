"""Which formulation `auto` takes: the shortest that keeps its digits, found by counting; and what runs by it are."""

from pathlib import Path

import numpy as np
import pytest

import kempe as kp
from benchmarks.counts import arm_of_four_bars, operations, ring
from kempe.dynamics.choose import DIGITS, MARGIN, Candidate, Measured, best
from kempe.dynamics.formulations import BY_NAME
from kempe.dynamics.partition import Partition
from kempe.errors import Singular
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.entries import ENTRIES
from tests.model.test_recall import forbid_tracing

CASES = {
    "four-bar": ENTRIES["four-bar"].build,
    "excavator": ENTRIES["excavator"].build,
    "stewart": ENTRIES["stewart"].build,
    "two-arms": ENTRIES["two-arms"].build,
    "ring of 12": lambda: ring(12),
    "arm of 5 four-bars": lambda: arm_of_four_bars(5),
    "n-four-bar of 10": lambda: n_four_bar(10),
}
PAGE = Path(__file__).parents[2] / "docs/choosing.md"
IN_TABLE = {  # what they are called there
    **{name: f"`{name}`" for name in ("four-bar", "excavator", "two-arms", "stewart")},
    "ring of 12": "ring of 12 rods",
    "arm of 5 four-bars": "arm of 5 four-bars",
}
TAKEN = {"ring of 12": "sslm", "arm of 5 four-bars": "partition, clusters"}
LEFT_OUT = ("denoc", "springs")  # denoc ends where its coordinates do; springs have other equations


@pytest.mark.parametrize("name", CASES)
def test_no_formulation_is_much_shorter_than_the_one_that_is_taken(name):
    """And the table of the page says what is counted and taken."""
    model = CASES[name]().compile()
    taken = model.decision.taken.formulation
    told = f"partition, {taken.way}" if isinstance(taken, Partition) else taken.name
    assert told == TAKEN.get(name, "partition, composite")
    found = operations(CASES[name]())
    assert found[told] == model.counts.total
    assert model.counts.total <= min(x for n, x in found.items() if n not in LEFT_OUT) / MARGIN
    if name in IN_TABLE:
        ways = [found[way] for way in ("partition, composite", "partition, clusters", "sslm")]
        numbers = map(str, (model.dof, model.nv - model.dof, *ways))
        told = f"`{taken.name}`" + (f", {taken.way}" if isinstance(taken, Partition) else "")
        assert f"| {IN_TABLE[name]} | {' | '.join(numbers)} | {told} |" in PAGE.read_text().splitlines()


def test_the_sentence_says_what_others_take():
    model = ring(12).compile()
    assert model.formulation == "sslm"
    measured = {str(each.candidate): each.operations for each in model.decision.measured}
    assert f"{measured['sslm']} operations, where partition by composite bodies takes" in model.why
    assert str(measured["partition by composite bodies"]) in model.why
    assert "Koul" in model.cite()


def test_a_long_row_of_loops_is_compiled_as_repeated_blocks():
    model = n_four_bar(40).compile()
    assert model.formulation == "sslm"
    assert "as repeated blocks" in model.why


def test_what_was_asked_for_is_taken():
    for formulation in ("partition", "slm", "augmented"):
        model = ring(12).compile(formulation)
        assert model.formulation == formulation
        assert f"{formulation} was asked for" in model.why


def test_multipliers_are_not_taken_where_the_tree_alone_has_no_inertia():
    """A gear without mass turns against nothing unless it is tied to a wheel."""
    m = kp.Mechanism("train", gravity=(0, -9.81, 0))
    wheel, gear = m.rod("wheel", length=0.2, mass=1.0), m.solid("gear")
    m.revolute("A", m.ground.at(0, 0), wheel.start)
    m.revolute("B", m.ground.at(1, 0), gear.at(0, 0))
    m.couple("gears", {"A": 1.0, "B": 2.0})
    model = m.compile()
    assert model.formulation == "partition"
    assert len(model.decision.measured) < 2


def test_the_decision_is_kept_and_nothing_is_traced_for_it_again(empty_cache, monkeypatch):
    first = ring(6).compile().decision
    forbid_tracing(monkeypatch)
    assert ring(6).compile().decision == first
    assert len(first.measured) > 1


def test_a_model_is_shown_without_deciding():
    model = ring(6).compile()
    assert "auto" in repr(model)
    assert model.formulation in repr(model)


def measured(name: str, operations: int, rounding: float) -> Measured:
    return Measured(Candidate(BY_NAME[name]()), operations, rounding)


def test_the_shortest_is_not_taken_where_it_loses_digits():
    good, bad = measured("partition", 100, 1e-15), measured("sslm", 10, 1e-6)
    decision = best((good, bad))
    assert decision.taken == good.candidate
    assert "sslm losing digits" in decision.sentence
    assert best((good, measured("sslm", 10, 0.5 * DIGITS))).taken.formulation.name == "sslm"


def test_one_that_is_hardly_shorter_is_not_taken():
    usual = measured("partition", 100, 1e-15)
    decision = best((usual, measured("sslm", 81, 1e-15)))
    assert decision.taken.formulation.name == "partition"
    assert decision.sentence == ", where sslm takes 81, too little to leave partition for"
    assert best((usual, measured("sslm", 79, 1e-15))).taken.formulation.name == "sslm"


def flat_ring() -> tuple[kp.Model, kp.Model, np.ndarray]:
    """Twelve rods of one length, all on one line; by `auto` and by `partition`."""
    m = ring(12, alike=True)
    auto, other = (m.compile(formulation) for formulation in ("auto", "partition"))
    assert auto.formulation == "sslm"
    return auto, other, auto.assemble(near={f"pin{k}": np.pi if k >= 2 else 0.0 for k in range(12)}).q


def test_at_singular_poses_multipliers_are_not_trusted():
    """Rows of J that vanish as a whole leave nothing that one row could be measured by beside the others."""
    auto, other, q = flat_ring()
    allowed = np.linalg.svd(auto.closure(q)[1])[2][1:]
    v = allowed.T @ (allowed @ np.random.default_rng(0).normal(size=12))
    for model in (auto, other):
        with pytest.raises(Singular, match="gains a freedom"):
            model.forward_dynamics(q, v)
        with pytest.raises(Singular, match="gains a freedom"):
            model.forward_dynamics(np.tile(q, (3, 1)), np.tile(v, (3, 1)))


def test_masses_that_are_inputs_may_be_nothing():
    model = ring(12).compile(parameters=["rod6.mass"])
    assert model.formulation == "partition"
    state = model.assemble(near={"pin0": 1.2, "pin1": -0.9})
    assert np.isfinite(model.forward_dynamics(state.q, state.v, p=[0.0])).all()


def test_states_at_which_coordinates_fail_say_nothing_of_rounding():
    """Most ways to close a row of parallelograms are flat."""
    for n in (3, 4, 5):
        model = n_four_bar(n).compile()
        assert model.formulation == "partition"
        assert "losing digits" not in model.why


def test_long_arms_are_taken_apart():
    model = arm_of_four_bars(20).compile()
    assert str(model.decision.taken) == "partition by clusters"


def test_runs_by_the_formulation_taken_are_those_of_partition():
    start, runs = {"pin0": 1.2, "pin1": -0.9}, []
    for formulation in ("auto", "partition"):
        model = ring(12).compile(formulation)
        runs.append(model.simulate(model.assemble(near=start), 1.0, tolerance=1e-11))
        assert runs[-1].closure.max() < 1e-13
    by_sslm, by_partition = runs
    assert by_sslm.model.formulation == "sslm"
    np.testing.assert_allclose(by_sslm.q, by_partition.q, atol=1e-7)
    energy = by_sslm.energy.total
    assert np.abs(energy - energy[0]).max() < 1e-9 * by_sslm.energy.kinetic.max()
