"""Assembly: against circles that meet, on the branch asked for, with rates, by any joint's name; refusals in words."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed, StateError
from kempe.gallery.entries import ENTRIES
from kempe.gallery.linkages import stephenson
from tests.analyze.mechanisms import bricard, four_bar, sarrus, scissor_lift, stewart, three_rrr

LENGTHS = (0.3, 1.0, 0.6, 1.0)


def circles(center_a, radius_a, center_b, radius_b):
    """The two points where circles meet."""
    a, b = np.asarray(center_a, float), np.asarray(center_b, float)
    apart = np.linalg.norm(b - a)
    along = (radius_a**2 - radius_b**2 + apart**2) / (2 * apart)
    height = np.sqrt(radius_a**2 - along**2)
    unit = (b - a) / apart
    middle = a + along * unit
    side = np.array([-unit[1], unit[0]])
    return middle + height * side, middle - height * side


def angle(v):
    return np.arctan2(v[1], v[0])


def same(a, b):
    return abs((a - b + np.pi) % (2 * np.pi) - np.pi)


class TestFourBar:
    def exact(self, crank):
        """Angles of B, C and D for both ways to close."""
        l1, l2, l3, l4 = LENGTHS
        elbow = l1 * np.array([np.cos(crank), np.sin(crank)])
        for knee in circles(elbow, l2, (l4, 0), l3):
            coupler, rocker = angle(knee - elbow), angle(knee - np.array([l4, 0]))
            yield {"B": coupler - crank, "D": rocker, "C": rocker - coupler}

    @pytest.mark.parametrize("crank", np.linspace(-3, 3, 7))
    def test_both_assemblies_are_those_of_two_circles(self, crank):
        model = four_bar().compile()
        found = model.assemblies({"A": crank})
        exact = list(self.exact(crank))
        assert len(found) == 2
        for assembly in found:
            best = min(max(same(assembly.state[n], x) for n, x in angles.items()) for angles in exact)
            assert best < 1e-12
            assert np.abs(model.residual(assembly.state.q)).max() < 1e-13

    def test_near_and_branch_choose_between_them(self):
        model = four_bar().compile()
        exact = sorted(self.exact(1.0), key=lambda angles: angles["D"])
        low = model.assemble({"A": 1.0}, near={"D": exact[0]["D"] + 0.3, "B": exact[0]["B"]})
        high = model.assemble({"A": 1.0}, near={"D": exact[1]["D"] - 0.3, "B": exact[1]["B"]})
        assert same(low["D"], exact[0]["D"]) < 1e-12
        assert same(high["D"], exact[1]["D"]) < 1e-12
        for state in (low, high):
            sign = int(np.sign(np.sin(state["C"])))
            assert same(model.assemble({"A": 1.0}, branch={"C": sign})["D"], state["D"]) < 1e-12
        for assembly in model.assemblies({"A": 1.0}):
            assert same(model.assemble({"A": 1.0}, branch=assembly.label)["D"], assembly.state["D"]) < 1e-12

    def test_values_of_cut_joints_may_be_given(self):
        model = four_bar().compile()
        assert list(model.cut) == ["C"]
        state = model.assemble({"C": 0.9})
        assert state["C"] == pytest.approx(0.9, abs=1e-12)
        assert np.abs(model.residual(state.q)).max() < 1e-13

    def test_rates_of_any_joint(self):
        model = four_bar().compile()
        state = model.assemble({"A": 1.0}, near={"D": 1.4}, rates={"A": 2.0})
        assert np.abs(model.closure(state.q)[1] @ state.v).max() < 1e-12
        step = 1e-6
        ahead, behind = (model.assemble({"A": 1.0 + s * 2 * step}, near=state) for s in (1, -1))
        for name in "BCD":
            assert state.rate(name) == pytest.approx((ahead[name] - behind[name]) / (2 * step), abs=1e-8)
        by_cut = model.assemble({"A": 1.0}, near={"D": 1.4}, rates={"C": state.rate("C")})
        np.testing.assert_allclose(by_cut.v, state.v, atol=1e-10)

    def test_what_is_out_of_reach_is_said(self):
        model = four_bar().compile()
        with pytest.raises(NotClosed, match=r"stays open by .* m at C; close to what was given it closes with D = "):
            model.assemble({"D": 0.0})
        with pytest.raises(NotClosed, match="cannot go together"):
            model.assemble({"A": 1.0}, rates={"A": 1.0, "D": -5.0})
        with pytest.raises(NotClosed, match="there is no assembly 'up'"):
            model.assemble({"A": 1.0}, branch="up")
        with pytest.raises(StateError, match="1 freedoms are left"):
            model.assemblies()
        with pytest.raises(StateError, match="there is no joint 'X'"):
            model.assemble({"X": 1.0})

    def test_whichever_joint_is_cut_the_assembly_is_the_same(self):
        answers = []
        for cut in "BCD":
            model = four_bar().compile(cut=[cut])
            near = {"A": 1.0, "B": -0.65, "D": 1.4} if cut == "C" else {"A": 1.0, "B": -0.65, "C": 0.75, "D": 1.4}
            state = model.assemble({"A": 1.0}, near=near)
            answers.append([state[name] for name in "ABCD"])
        for other in answers[1:]:
            assert max(same(a, b) for a, b in zip(answers[0], other, strict=True)) < 1e-11


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "watt", "jansen", "excavator"])
def test_near_one_value_of_a_way_to_close_leads_to_a_state_that_has_it(name):
    """Whichever way, whichever joint, and with all others left to be found."""
    model = ENTRIES[name].build().compile()
    start = model.assemble()
    given = {n: float(start[n]) for n in model.u_names}
    ways = model.assemblies(given)
    assert len(ways) > 1
    for way in ways:
        for joint in (n for n in model.q_names if n not in given):
            value = float(way.state[joint])
            assert same(model.assemble(given, near={joint: value})[joint], value) < 0.05, joint


def test_near_a_cut_joint_the_named_ones_stay_and_the_others_follow():
    """All four ways to close Stephenson's linkage, each asked for without its hinge D; nothing is wound up."""
    model = stephenson().compile()
    assert "C" in model.cut
    found = model.assemblies({"crank": 1.5})
    assert len(found) == 4
    for one in found:
        near = {name: one.state[name] + 0.02 for name in ("A", "pivot", "C", "second pivot")}
        state = model.assemble({"crank": 1.5}, near=near)
        np.testing.assert_allclose(state.q, one.state.q, atol=1e-10)


def test_the_3_rrr_against_circles():
    """Each leg by itself: the tip of the platform's corner, and two bars that meet there."""
    model = three_rrr().compile()
    state = model.assemble({}, near={"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5})
    assert np.abs(model.residual(state.q)).max() < 1e-13
    for k in range(1, 4):
        pivot = model.pose(f"upper{k}", state.q)[1][:2]
        corner = model.pose(f"lower{k}.end", state.q)[1][:2]
        knees = circles(pivot, 0.4, corner, 0.6)
        own = model.pose(f"upper{k}.end", state.q)[1][:2]
        assert min(np.linalg.norm(own - knee) for knee in knees) < 1e-12


@pytest.mark.parametrize("build", [bricard, sarrus, scissor_lift, lambda: stewart("UPS"), lambda: stewart("SPS")])
def test_any_mechanism_closes_from_a_poor_start(build):
    model = build().compile()
    start = model.random_state(3)
    state = model.assemble(near=start)
    assert np.abs(model.residual(state.q)).max() < 1e-13
    assert (model.closure(state.q)[2] > 0).all()


def test_the_stewart_platform_at_given_leg_lengths():
    model = stewart("UPS").compile()
    home = model.assemble(near={f"P{k}": 0.3 for k in range(6)})
    lengths = {f"P{k}": home[f"P{k}"] + 0.01 * (-1) ** k for k in range(6)}
    state = model.assemble(lengths, near=home)
    for name, x in lengths.items():
        assert state[name] == pytest.approx(x, abs=1e-13)
    assert np.abs(model.residual(state.q)).max() < 1e-13


def test_states_show_joints_that_were_cut():
    model = four_bar().compile()
    state = model.assemble({"A": 1.0}, rates={"A": 1.0})
    assert f"<td>C</td><td>{state['C']:.6g}</td><td>{state.rate('C'):.6g}</td>" in state._repr_html_()


def test_rounded_numbers_close_as_far_as_they_can():
    """A pin that is out of the plane by 1e-8 m: hinges that say so three times over contradict each other."""
    m = kp.Mechanism("rounded", gravity=(0, -9.81, 0))
    a, b, c = m.rod("a", 0.3, 1.0), m.rod("b", 1.0, 5.0), m.rod("c", 0.6, 3.0)
    m.revolute("A", m.ground.at(0, 0), a.start)
    m.revolute("B", a.end, b.start)
    m.revolute("C", b.end, c.end)
    m.revolute("D", m.ground.at(1, 0, 1e-8), c.start)
    model = m.compile()
    with pytest.warns(UserWarning, match=r"'rounded' close to .*e-0[89] m only, as where numbers are rounded"):
        state = model.assemble({"A": 0.7}, rates={"A": 2.0})
    assert 1e-10 < np.abs(model.residual(state.q)).max() < 1.1e-8
    run = model.simulate(state, 0.5)
    assert run.outcome.finished
    assert run.closure.max() < 1.1e-8
    assert np.ptp(run.energy.total) < 1e-5


def test_what_is_drawn_beyond_limits_can_still_begin_there():
    """As files of robots have it: closed where all joints are at zero, with limits that leave zero out."""
    m = kp.Mechanism("drawn", gravity=(0, -9.81, 0))
    a, b, c = m.rod("a", 1.0, 1.0), m.rod("b", 1.0, 1.0), m.rod("c", 1.0, 1.0)
    m.revolute("A", m.ground.at(0, 0, rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]]), a.start, limits=(2.5, 2.6))
    m.revolute("B", a.end, b.at(0, 0, rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]]))
    m.revolute("C", b.end, c.end)
    m.revolute("D", m.ground.at(1, 0, rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]]), c.start, limits=(-0.1, 0.1))
    model = m.compile()
    with pytest.warns(UserWarning, match=r"'drawn' is drawn beyond limits, with A = 0 \(limits 2\.5 to 2\.6\)"):
        state = model.assemble()
    assert not state.q.any()
    with pytest.raises(NotClosed, match="the loops close only beyond limits"):
        model.assemble(near={"A": 0.2})
