"""Platforms on legs, found in the graph; above each test a drawing of its graph, --- tree, === loop joint, *
actuated."""

import numpy as np
import pytest

from kempe.errors import MechanismError
from kempe.gallery.entries import ENTRIES
from kempe.gallery.loops import five_bar, four_bar, three_rrr
from kempe.mechanism.mechanism import Mechanism
from kempe.topology.legs import legs
from kempe.topology.spanning import topology


def found(m: Mechanism, cut=()):
    t = topology(m, cut)
    return t, legs(t)


def plane_platform(**options) -> Mechanism:
    """A platform on three legs of two bars, with options for all joints A, B or C."""
    m = Mechanism("plane", gravity=(0, -9.81, 0))
    around = np.array([(np.cos(a), np.sin(a)) for a in np.deg2rad([210.0, 330.0, 90.0])])
    platform = m.plate("platform", 0.23 * around, mass=8.0)
    for k in range(3):
        upper, lower = m.rod(f"upper{k}", 0.4, 3.0), m.rod(f"lower{k}", 0.6, 4.0)
        m.revolute(f"A{k}", m.ground.at(*(0.58 * around[k])), upper.start, actuated=True)
        m.revolute(f"B{k}", upper.end, lower.start, **options.get("B", {}))
        m.revolute(f"C{k}", lower.end, platform.at(*(0.23 * around[k])), **options.get("C", {}))
    return m


#  ground --A*-- crank --B-- coupler ==C== rocker --D-- ground
def test_a_four_bar_is_a_leg_that_ends_on_the_ground():
    t, seen = found(four_bar())
    (leg,) = seen.legs
    assert seen.platform == -1
    assert leg.joints == ("A", "B", "C", "D")
    assert [[t.tree[k].joint.name for k in part] for part in (leg.near, leg.far)] == [["A", "B"], ["D"]]
    assert t.loops[leg.closing].joint.name == "C"
    assert leg.to_platform
    assert t.tree[leg.near[0]].v.start == leg.driven


#  ground --left*-- . --elbow-- left lower ==tip== right lower --elbow-- . --right*-- ground
@pytest.mark.parametrize("cut", ["tip", "left elbow", "right elbow"])
def test_the_five_bars_platform_is_the_body_in_the_middle_wherever_it_is_cut(cut):
    t, seen = found(five_bar(), [cut])
    assert t.tree[seen.platform].child.name == "left lower"
    assert [leg.joints for leg in seen.legs] == [("left", "left elbow"), ("right", "right elbow", "tip")]
    whole = [leg.closing is None for leg in seen.legs]
    assert sum(whole) == 1
    assert whole[0] == (cut != "left elbow")


#  three times  ground --A*-- upper --B-- lower --C-- platform; the second leg is cut at B
def test_what_lies_behind_the_cut_hangs_on_the_platform():
    t, seen = found(three_rrr(), ["B2", "C3"])
    second, third = seen.legs[1:]
    assert [[t.tree[k].joint.name for k in part] for part in (second.near, second.far)] == [["A2"], ["C2"]]
    assert second.joints == ("A2", "B2", "C2")
    assert [[t.tree[k].joint.name for k in part] for part in (third.near, third.far)] == [["A3", "B3"], []]
    assert t.tree[seen.platform].child.name == "platform"


#  All joints of the second leg are actuated or damped: the platform is cut in two halves, welded by the closure
def test_a_platform_in_halves_is_one():
    damped = plane_platform(B={"damping": 0.3}, C={"damping": 0.1})
    t, seen = found(damped)
    assert len(t.loops) == 2
    assert all("weld" in loop.joint.name for loop in t.loops)
    assert [leg.joints[0] for leg in seen.legs] == ["A0", "A1", "A2"]
    model, other = damped.compile("denoc"), damped.compile("partition")
    state = model.assemble({}, near={"A0": 1.0, "A1": 2.5, "A2": 4.5, "B0": -1.5, "B1": -1.5, "B2": -1.5},
                           rates={"A0": 0.3, "A1": -0.2, "A2": 0.5})  # fmt: skip
    tau = [1.0, 2.0, 3.0]
    a, b = (x.forward_dynamics(state.q, state.v, tau) for x in (model, other))
    np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max())


#  ground --A*-- crank --weld-- tool --B-- coupler ==C== rocker --D-- ground, and a ballast welded to the rocker
def test_welded_bodies_are_one():
    m = Mechanism("welded", gravity=(0, -9.81, 0))
    sizes = {"crank": 0.2, "tool": 0.1, "coupler": 1.0, "rocker": 0.6}
    crank, tool, coupler, rocker = (m.rod(name, length, 1.0) for name, length in sizes.items())
    ballast = m.box("ballast", (0.1, 0.1, 0.1), 2.0)
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True)
    m.fixed("weld", crank.end, tool.start)
    m.revolute("B", tool.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start)
    m.fixed("glue", rocker.at(0.3, 0), ballast.at(0, 0.2))
    model, other = m.compile("denoc"), m.compile("partition")
    state = model.assemble({"A": 1.0}, near={"D": 1.2}, rates={"A": 2.0})
    a, b = (x.forward_dynamics(state.q, state.v, [1.0]) for x in (model, other))
    np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max())
    matrices, gim = model.denoc(state.q), model.call("actuated_inertia", state.q)
    np.testing.assert_allclose(matrices.gim, gim, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("delta", "more than one body of 'delta' carries three joints or more .*arm1.* loops inside a leg"),
        ("excavator", "several platforms; give formulation='partition'"),
        ("puma", "formulation 'denoc' is for closed loops, and 'puma' has no closed loops; give auto or udu"),
        ("stephenson", "leg pivot - B of 'stephenson' has no actuated freedom, and denoc takes one in each leg"),
    ],
)
def test_mechanisms_of_the_gallery_that_are_built_otherwise(name, words):
    with pytest.raises(MechanismError, match=words):
        ENTRIES[name].build().compile("denoc")


def refused(m: Mechanism) -> str:
    with pytest.raises(MechanismError) as error:
        m.compile("denoc")
    assert "give formulation='partition'" in str(error.value)
    return str(error.value)


#  The four-bar with a pendulum on its rocker
def test_a_body_that_hangs_beside_the_loop():
    m = four_bar()
    weight = m.rod("weight", 0.2, 1.0)
    m.revolute("hook", next(b for b in m.bodies if b.name == "rocker").end, weight.start)
    assert "weight hangs on 'hook' alone, beside the loops" in refused(m)


#  Two four-bars on one ground
def test_loops_that_share_the_ground_only():
    m = four_bar()
    sizes = {"second crank": 0.3, "second coupler": 1.0, "second rocker": 0.6}
    crank, coupler, rocker = (m.rod(name, length, 1.0) for name, length in sizes.items())
    m.revolute("A2", m.ground.at(3, 0), crank.start, actuated=True)
    m.revolute("B2", crank.end, coupler.start)
    m.revolute("C2", coupler.end, rocker.end)
    m.revolute("D2", m.ground.at(4, 0), rocker.start)
    assert "several loops that share the ground only" in refused(m)


#  The 3-RRR with a four-bar beside it
def test_a_loop_of_its_own_beside_the_legs():
    m = three_rrr()
    one, two = m.rod("one", 1.0, 1.0), m.rod("two", 1.0, 1.0)
    m.revolute("E", m.ground.at(3, 0), one.start, actuated=True)
    m.revolute("F", one.end, two.end)
    m.prismatic("G", m.ground.at(4, 0), two.start, axis=(1, 0, 0))
    assert "one, two of '3-rrr' lie on a loop of their own" in refused(m)


@pytest.mark.parametrize(("driven", "words"), [("", "no actuated freedom"), ("ABD", "3 actuated freedoms")])
def test_a_single_loop_with_none_or_three(driven, words):
    m = Mechanism("loop", gravity=(0, -9.81, 0))
    bars = [m.rod(name, length, 1.0) for name, length in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6))]
    m.revolute("A", m.ground.at(0, 0), bars[0].start, actuated="A" in driven)
    m.revolute("B", bars[0].end, bars[1].start, actuated="B" in driven)
    m.revolute("C", bars[1].end, bars[2].end)
    m.revolute("D", m.ground.at(1, 0), bars[2].start, actuated="D" in driven)
    assert f"the loop A - B - C - D has {words}" in refused(m)


def test_a_leg_with_two_motors():
    assert "leg A0 - B0 - C0 of 'plane' has 2 actuated freedoms" in refused(plane_platform(B={"actuated": True}))
