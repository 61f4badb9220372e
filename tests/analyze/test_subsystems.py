"""Blocks of J and of the GICM at states, and inverse dynamics subsystem by subsystem, against dense matrices."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from kempe.errors import Singular, StateError
from kempe.gallery.entries import ENTRIES
from kempe.gallery.loops import four_bar
from kempe.kinetics.closed import allowed
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from tests.closed import mechanisms, random_closed
from tests.dynamics.test_random_closed import on_numbers
from tests.mechanisms import random_rotation
from tests.topology.digger import CUTS, digger

CLOSED = [name for name, entry in ENTRIES.items() if entry.build().topology().loops]


@cache
def model_of(name: str, cut: tuple[str, ...] = ()) -> Model:
    return (digger() if name == "digger" else ENTRIES[name].build()).compile(cut=cut)


def check_blocks(model: Model, q: np.ndarray, whole: bool) -> None:
    """Blocks vanish where they should, to the last digit; `whole`: and nowhere else. The GICM is the sum of what each
    subsystem gives (eq. 25)."""
    parts, loops = model.topology.subsystems, model.topology.loops
    jacobian, inertia = model.loop_rows(q), model.mass_matrix(q)
    at = np.cumsum([0, *(6 - len(loop.joint.type.v_names) for loop in loops)])
    rows = [slice(a, b) for a, b in pairwise(at)]
    columns = [list(part.velocities) for part in parts]
    gicm = jacobian @ np.linalg.solve(inertia, jacobian.T)
    near = 1e-12 * np.abs(gicm).max(initial=0.0)
    for i, row in enumerate(rows):
        for j, own in enumerate(columns):
            there = jacobian[row][:, own].any()
            assert there == parts.jacobian_pattern[i][j] if whole else there <= parts.jacobian_pattern[i][j]
        for k, other in enumerate(rows):
            block = gicm[row, other]
            of = [columns[number - 1] for number in parts.shared(i, k)]
            terms = (jacobian[row][:, x] @ np.linalg.solve(inertia[np.ix_(x, x)], jacobian[other][:, x].T) for x in of)
            np.testing.assert_allclose(block, sum(terms, np.zeros(block.shape)), atol=near)
            if whole:
                assert (np.abs(block).max(initial=0.0) > near) == bool(of)


@pytest.mark.parametrize("name", [*CLOSED, "digger"])
def test_blocks_of_the_gallery(name):
    model = model_of(name, CUTS if name == "digger" else ())
    for q in model.prepared.samples.states:
        check_blocks(model, q, whole=True)


@settings(max_examples=5)
@given(mechanisms())
def test_blocks_of_any_mechanism(closed):
    model = closed.mechanism.compile(cut=closed.closing)
    check_blocks(model, closed.state(model).q, whole=False)


def check_inverse(model: Model, q, v, a):
    """Efforts and multipliers are those of the system as a whole."""
    found = model.inverse_by_subsystems(q, v, a)
    tau = model.inverse_dynamics(q, v, a)
    lam = model.multipliers(q, v, tau, a=a)
    scale = 1 + np.abs(model.generalized_forces(q, v, a)).max()
    np.testing.assert_allclose(found.tau, tau, atol=1e-9 * scale)
    assert found.multipliers.keys() == lam.keys()
    scale += max(np.abs(x).max(initial=0.0) for x in lam.values())
    for name, x in lam.items():
        np.testing.assert_allclose(found.multipliers[name], x, atol=1e-9 * scale)
    return found


def moving(model: Model, q: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and accelerations that keep loops closed."""
    w, _ = allowed(model, q)
    one, two = np.random.default_rng(seed).normal(size=(2, w.shape[1]))
    _, g = allowed(model, q, gamma=model.loop_bias(q, w @ one))
    return w @ one, w @ two + g


ONE_BY_ONE = {"carpet-scraper": (), "four-bar": ("B",), "3-rrr": ("B2", "B3"), "3-ruu": ("elbow1", "elbow2")}
TOGETHER = {
    "excavator": (),
    "four-bar": (),
    "3-rrr": (),
    "stewart": (),
    "bricard": (),
    "sarrus": (),
    "delta": (),
    "digger": CUTS,
}


@pytest.mark.parametrize(("name", "cut"), ONE_BY_ONE.items())
def test_determinate_subsystems_are_solved_one_by_one(name, cut):
    model = model_of(name, cut)
    for seed, q in enumerate(model.prepared.samples.states[:3]):
        found = check_inverse(model, q, *moving(model, q, seed))
        assert found.one_by_one
        assert [len(step.subsystems) for step in found.steps] == [1] * len(model.topology.subsystems)
        # What counting says beforehand, where constraints are not redundant.
        assert found.steps == model.topology.subsystems.steps


@pytest.mark.parametrize("name", CLOSED)
def test_equations_by_rank_are_as_many_as_velocities_less_freedom(name):
    model = model_of(name)
    parts = model.subsystems
    assert parts.freedom == model.dof
    assert not parts.too_many
    assert all(a <= b for a, b in zip(parts.equations, model.topology.subsystems.equations, strict=True))


def test_overconstrained_loops_are_counted_by_rank():
    """Bricard's and Sarrus' six hinges: one equation of five is redundant."""
    for name, hinge, closing in (("bricard", "J1", "J4"), ("sarrus", "foot x", "head y")):
        text = model_of(name).subsystems.explain()
        assert "inverse dynamics, by rank:" in text
        assert f"subsystem 1: equations 3, unknowns 5 ({hinge}, 4 of {closing}): indeterminate" in text
        assert text.endswith("order: 1 with 2")
        assert [step.determinate for step in model_of(name).subsystems.steps] == [True]
        assert [step.determinate for step in model_of(name).topology.subsystems.steps] == [False]


@settings(max_examples=15)
@given(mechanisms())
def test_equations_by_rank_of_any_mechanism(closed):
    """The freedom is that of all its bodies, with all constraints of all joints."""
    model = on_numbers(closed)
    assert model.subsystems.freedom == closed.freedom
    assert model.topology.subsystems.freedom <= model.subsystems.freedom


def test_a_tree_has_its_subsystems():
    model = ENTRIES["puma"].build().compile()
    assert model.subsystems == model.topology.subsystems


def test_the_carpet_scraper_in_words():
    model = model_of("carpet-scraper")
    q = model.prepared.samples.states[0]
    assert str(model.inverse_by_subsystems(q, *moving(model, q))).splitlines() == [
        "subsystem 3 is determinate: 4 equations for 4 unknowns (2 multipliers of J9, 2 multipliers of J10)",
        "subsystem 2 is determinate: 2 equations for 2 unknowns (2 multipliers of crank pin)",
        "subsystem 1 is determinate: 1 equation for 1 unknown (crank)",
    ]


@pytest.mark.parametrize(("name", "cut"), TOGETHER.items())
def test_indeterminate_subsystems_are_solved_together(name, cut):
    model = model_of(name, cut)
    for seed, q in enumerate(model.prepared.samples.states[:2]):
        found = check_inverse(model, q, *moving(model, q, seed))
        assert not found.one_by_one
        assert found.steps == model.subsystems.steps
        assert "is determinate by itself; together" in str(found)


def test_accelerations_by_name():
    model = model_of("four-bar")
    state = model.assemble({"A": 1.0}, rates={"A": 2.0})
    found = model.inverse_by_subsystems(state.q, state.v, {"A": 3.0})
    np.testing.assert_allclose(found.tau, model.inverse_dynamics(state.q, state.v, {"A": 3.0}), rtol=1e-12)


@pytest.mark.parametrize(("planar", "loops", "seed"), [(True, 2, 11), (True, 4, 12), (False, 2, 11), (False, 3, 118)])
def test_random_mechanisms_with_any_actuators(planar, loops, seed):
    closed = random_closed(seed, loops, planar)
    model = closed.mechanism.compile(cut=closed.closing)
    state = closed.moving(model, seed)
    tau = np.random.default_rng(seed).normal(size=model.nu)
    a = model.forward_dynamics(state.q, state.v, tau)
    check_inverse(model, state.q, state.v, a)


def with_pendulums(count: int) -> Mechanism:
    """A four-bar with motors at both pivots, and a chain of rods that hangs on its rocker."""
    m = Mechanism("two motors", gravity=(0, -9.81, 0))
    bars = [m.rod(name, length, 1.0) for name, length in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6))]
    m.revolute("A", m.ground.at(0, 0), bars[0].start, actuated=True)
    m.revolute("B", bars[0].end, bars[1].start)
    m.revolute("C", bars[1].end, bars[2].end)
    m.revolute("D", m.ground.at(1, 0), bars[2].start, actuated=True)
    last = bars[2].end
    for k in range(count):
        rod = m.rod(f"rod{k}", 0.2, 0.5)
        m.revolute(f"hook{k}", last, rod.start)
        last = rod.end
    return m


def test_too_many_actuators_share_the_work():
    model = with_pendulums(0).compile()
    q = model.prepared.samples.states[1]
    found = check_inverse(model, q, *moving(model, q))
    assert "4 unknowns" in str(found)
    assert "the least are taken" in str(found)


def test_actuators_that_do_the_same_are_found_by_rank_not_by_counting():
    model = with_pendulums(2).compile()
    q = model.prepared.samples.states[1]
    v = allowed(model, q)[0] @ [0.3, 0.2, 0.1]
    a = model.forward_dynamics(q, v, [1.0, 2.0])
    found = check_inverse(model, q, v, a)
    assert "some of the actuators do the same as others" in str(found)
    single = with_pendulums(1).compile()
    q = single.prepared.samples.states[1]
    with pytest.raises(Singular, match=r"the actuators \(A, D\) do not control all 2 freedoms"):
        single.inverse_by_subsystems(q, *moving(single, q))


def test_what_cannot_be():
    model = model_of("four-bar")
    q = model.prepared.samples.states[0]
    v, a = moving(model, q)
    with pytest.raises(StateError, match="give one state; inverse_dynamics takes many"):
        model.inverse_by_subsystems(q[None], v[None], a[None])
    m = four_bar()
    weight = m.rod("weight", 0.2, 1.0)
    m.revolute("hook", next(b for b in m.bodies if b.name == "rocker").end, weight.start)
    hung = m.compile()
    q = hung.prepared.samples.states[0]
    with pytest.raises(StateError, match="would be needed along hook besides what A can do"):
        hung.inverse_by_subsystems(q, *moving(hung, q))


@pytest.mark.parametrize("driven", [("pivot", "corner"), ("corner",)], ids=" and ".join)
@pytest.mark.parametrize("tilt", range(3))
def test_actuators_of_joints_that_cannot_move_get_nothing(driven, tilt):
    """A triangle of three bars is rigid: an actuator at one of its corners only stresses it."""
    turn = random_rotation(np.random.default_rng(tilt))
    m = Mechanism("triangle", gravity=turn @ (0, -9.81, 0))
    sizes = {"hanger": 0.5, "arm": 0.9, "left": 0.7, "right": 0.8}
    hanger, arm, left, right = (m.rod(name, length=x, mass=x) for name, x in sizes.items())
    m.revolute("pivot", m.ground.at(0, 0, rotation=turn), hanger.start, actuated="pivot" in driven)
    m.revolute("elbow", hanger.end, arm.start, actuated="pivot" in driven)
    m.revolute("corner", arm.start, left.start, actuated=True)
    m.revolute("top", left.end, right.end)
    m.revolute("other", arm.end, right.start)
    model = m.compile()
    state = model.assemble({"pivot": 0.7, "elbow": -0.4}, rates={"pivot": 1.3, "elbow": 0.2})
    efforts = {"pivot": 2.5, "elbow": -1.5, "corner": 3.7} if "pivot" in driven else {"corner": 3.7}
    a = model.forward_dynamics(state.q, state.v, efforts)
    wanted = [2.5, -1.5, 0.0] if "pivot" in driven else [0.0]
    np.testing.assert_allclose(model.inverse_by_subsystems(state.q, state.v, a).tau, wanted, atol=1e-12)
    np.testing.assert_allclose(model.inverse_dynamics(state.q, state.v, a), wanted, atol=1e-12)
