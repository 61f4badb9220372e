"""Mobility of mechanisms whose freedom is known."""

import numpy as np
import pytest

from kempe.gallery.loops import five_bar, slider_crank
from kempe.mechanism.mechanism import Mechanism
from tests.analyze.mechanisms import bricard, four_bar, sarrus, scissor_lift, stewart, three_rrr
from tests.mechanisms import random_rotation
from tests.simulate.mechanisms import double_pendulum

KNOWN = {
    "four-bar": (four_bar, 1, -2),
    "3-RRR": (three_rrr, 3, -3),
    "Bricard": (bricard, 1, 0),
    "6-UPS": (lambda: stewart("UPS"), 6, 6),
    "6-SPS": (lambda: stewart("SPS"), 12, 12),
    "Sarrus": (sarrus, 1, 0),
    "scissor lift": (scissor_lift, 1, -5),
    "double pendulum": (double_pendulum, 2, 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_freedom_by_rank_and_by_counting(name):
    build, freedom, gruebler = KNOWN[name]
    found = build().mobility()
    assert (found.freedom, found.gruebler) == (freedom, gruebler)
    assert len(found.redundant) == freedom - gruebler


def test_the_four_bar_by_name():
    found = four_bar().mobility()
    assert found.redundant == ("C about x", "C about y", "C along z")
    assert set(found.undetermined) == {f"{j} {d}" for j in "ABCD" for d in ("about x", "about y", "along z")}
    assert found.unique == ()
    assert found.actuation == "exact: 1 actuated, 1 to control"
    assert "freedom 1 by rank, -2 by Gruebler's count" in str(found)


def test_reactions_of_a_tree_and_of_the_stewart_platform_are_unique():
    assert double_pendulum().mobility().unique == ("shoulder", "elbow")
    assert len(stewart("UPS").mobility().unique) == 18


def test_legs_between_balls_spin_by_themselves():
    """Barrel and rod of a leg turn together about it."""
    found = stewart("SPS").mobility()
    assert found.spins == tuple(f"barrel{k} with rod{k}" for k in range(6))
    assert stewart("UPS").mobility().spins == ()
    assert found.controlled == 6
    assert "too few: 6 actuated, 12 to control" in found.actuation
    assert stewart("UPS").mobility().actuation == "exact: 6 actuated, 6 to control"


def test_what_only_an_actuator_moves_or_one_pose_allows_does_not_move_by_itself():
    """A five-bar turns three bars while the fourth rests, by a motor; at its dead centre a piston rests."""
    assert five_bar().mobility().spins == ()
    assert slider_crank().mobility().spins == ()


def test_redundant_actuators():
    m = four_bar()
    object.__setattr__(m.joints[3], "actuated", (True,))
    assert m.mobility().actuation == "redundant: 2 actuated, 1 to control"


def test_a_parallelogram_is_special_where_it_lies_flat():
    from kempe.loops.constraints import constraints

    model = four_bar((0.5, 1.0, 0.5, 1.0)).compile()
    ranks = []
    for angle in (0.0, 1.0):
        state = model.assemble({"A": angle}, near={"A": angle, "B": -angle, "D": angle})
        sizes = np.linalg.svd(constraints(model, state.q)[0], compute_uv=False)
        ranks.append(int((sizes > 1e-8 * sizes[0]).sum()))
    assert ranks[0] == ranks[1] - 1


def test_a_loop_that_holds_nothing_has_rank_zero():
    """A second planar joint over the first: all it holds is held, and its Jacobian is nothing but rounding errors."""
    m = Mechanism("plate", gravity=(1.0, 0.0, 0.0))
    plate = m.box("plate", (0.4, 0.4, 0.02), 1.0)
    for name, x in (("one", 0.1), ("two", 0.3)):
        m.planar(name, m.ground.at(x, 0.2, 0.7), plate.at(x, 0.3, 0.7), normal=(0.3, 0.4, 1.2))
    found = m.mobility()
    assert (found.freedom, found.gruebler, len(found.redundant)) == (3, 0, 3)
    assert m.compile().dof == 3


def test_actuators_that_hold_what_is_held_control_nothing():
    """Two sliders across each other hold a plate, each driven: neither can move."""
    m = Mechanism("plate", gravity=(1.0, 0.0, 0.0))
    plate, swing = m.box("plate", (0.4, 0.4, 0.02), 1.0), m.rod("swing", 0.5, 1.0, radius=0.02)
    m.prismatic("one", m.ground.at(), plate.at(), axis=(0.6, 0.8, 0.7), actuated=True)
    m.prismatic("two", m.ground.at(), plate.at(), axis=(0.8, -0.6, 0.2))
    m.revolute("pin", plate.at(0.1, 0.2, 0), swing.start)
    found = m.mobility()
    assert (found.freedom, found.controlled) == (1, 0)


LEANING = {"A": 1.0, "B": 1.0, "C": 1.0, "A top": -1.0, "B top": -1.0, "C top": -1.0}


def three_bars() -> Mechanism:
    """A coupler on three parallel bars of one length: it moves although counting says no; crossed it does hold."""
    m = Mechanism("three bars", gravity=(0, -9.81, 0))
    coupler = m.box("coupler", (1.0, 0.1, 0.1), 2.0)
    for name, x, y in (("A", -0.4, 0.0), ("B", 0.1, 0.2), ("C", 0.4, -0.1)):
        bar = m.rod(f"bar {name}", 0.5, 1.0, radius=0.02)
        m.revolute(name, m.ground.at(x, y), bar.start)
        m.revolute(f"{name} top", bar.end, coupler.at(x, y))
    return m


def test_branches_of_different_freedom_are_told_apart():
    m = three_bars()
    parallel = m.mobility(near=LEANING)
    assert (parallel.freedom, len(parallel.redundant), parallel.notes) == (1, 7, ())
    lift = scissor_lift()
    assert lift.mobility().freedom == 1
    assert any("another branch" in note and "1 more freedom" in note for note in lift.mobility().notes)
    flat = lift.mobility(near=dict.fromkeys(("foot", "cross", "deck pin", "slide pin", "floor"), 0.0))
    assert flat.freedom == 2


def test_a_branch_with_more_freedom_is_not_singular_all_along():
    model = three_bars().compile()
    state = model.assemble(near=LEANING)
    assert not model.singularity(state.q).constraint.singular


@pytest.mark.parametrize("away", [0.0, 1e2, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_freedom_does_not_depend_on_where_bodies_have_their_origins(count, away):
    """A ring of cylindrical joints loses six freedoms, however far from the origins of bodies its joints are."""
    rng = np.random.default_rng(count)
    m = Mechanism("ring", gravity=(0, 0, -9.81))
    bodies = [m.body(f"b{k}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.2, 0.3)) for k in range(count - 1)]
    ring = [m.ground, *bodies, m.ground]
    for k in range(count):
        at = away * np.array([1.0, 0.7, -1.0]) + rng.uniform(-1, 1, 3)
        turn = random_rotation(rng)
        m.cylindrical(f"J{k}", ring[k].at(*at, rotation=turn), ring[k + 1].at(*at, rotation=turn))
    model, found = m.compile(), m.mobility()
    assert model.dof == found.freedom == max(2 * count - 6, 0)
    assert found.gruebler == 2 * count - 6
