"""Assembly: against circles that meet, on the branch asked for, with rates, by any joint's name; refusals in words."""

import warnings

import numpy as np
import pytest

import kempe as kp
from kempe.errors import NotClosed, StateError
from kempe.gallery.entries import ENTRIES
from kempe.gallery.linkages import stephenson
from kempe.loops.asked import task_of
from kempe.loops.descent import CLOSED, solve
from kempe.loops.starts import anywhere
from kempe.loops.turns import by_half_angles, turns_of
from tests.analyze.mechanisms import bricard, four_bar, sarrus, scissor_lift, stewart, three_rrr
from tests.closable import turned
from tests.closed import random_closed

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


# ---- which way to close ----------------------------------------------------------------------------------


def suspension() -> kp.Mechanism:
    """A double wishbone from hard points; the tie rod is drawn along x, a quarter of a turn from where it belongs."""
    m = kp.Mechanism("double wishbone")
    points = {"lower": ((0.15, 0.35, 0.2), (-0.15, 0.35, 0.2), (0.0, 0.7, 0.18)),
              "upper": ((0.12, 0.4, 0.45), (-0.12, 0.4, 0.45), (-0.01, 0.66, 0.47))}  # fmt: skip
    inner, outer, wheel = np.array([-0.12, 0.36, 0.25]), np.array([-0.13, 0.68, 0.24]), np.array([0.0, 0.75, 0.3])
    hub = m.body("upright", mass=25.0, com=(0, 0, 0), inertia=(0.4, 0.8, 0.4))
    for name, (front, rear, ball) in points.items():
        front, rear, ball = (np.array(x) for x in (front, rear, ball))
        middle = (front + rear) / 2
        arm = m.body(name, mass=4.0, com=tuple((ball - middle) / 2), inertia=(0.03, 0.03, 0.05))
        m.revolute(f"{name} pivot", m.ground.at(*middle), arm.origin, axis=tuple((front - rear).tolist()))
        m.spherical(f"{name} ball", arm.at(*(ball - middle)), hub.at(*(ball - wheel)))
    rack = m.box("rack", (0.05, 0.6, 0.05), 3.0)
    m.prismatic("steer", m.ground.at(-0.12, 0, 0.25), rack.origin, axis=(0, 1, 0), actuated=True)
    tie = m.rod("tie", length=float(np.linalg.norm(outer - inner)), mass=0.8, radius=0.01)
    m.universal("inner", rack.at(0, 0.36, 0), tie.start, axes=((1, 0, 0), (0, 0, 1)))
    m.spherical("outer", tie.end, hub.at(*(outer - wheel)))
    return m


@pytest.mark.parametrize("cut", [(), ("lower ball", "upper ball"), ("lower ball", "outer")])
def test_a_wheel_is_upright_as_it_is_drawn_whichever_joints_are_cut(cut):
    model = suspension().compile(cut=cut)
    state = model.assemble({"steer": 0.0, "upright.z": 0.3})
    for name in ("roll", "pitch", "yaw"):
        assert state[f"upright.{name}"] == pytest.approx(0.0, abs=1e-8)
    assert state["upright.y"] == pytest.approx(0.75, abs=1e-8)


def peaucellier() -> kp.Mechanism:
    """Seven bars, all drawn along x."""
    m = kp.Mechanism("peaucellier", gravity=(0, -9.81, 0))
    arms, sides = [m.rod(f"arm{k}", 1.0, 0.1) for k in (1, 2)], [m.rod(f"side{k}", 0.5, 0.1) for k in range(4)]
    crank = m.rod("crank", 0.3, 0.1)
    m.revolute("C", m.ground.at(0.3, 0), crank.start, actuated=True)
    for k in (0, 1):
        m.revolute(f"O{k}", m.ground.at(0, 0), arms[k].start)
        m.revolute(f"P{k}", crank.end, sides[k].start)
        m.revolute(f"T{k}", arms[k].end, sides[k].end)
        m.revolute(f"Q{k}", arms[k].end, sides[2 + k].start)
    m.revolute("X", sides[2].end, sides[3].end)
    return m


class TestPeaucellier:
    """By circles: the arms' ends are where those about the pivot and about the crank's end meet, the tracer is on a
    straight line or on the crank's end; or the arms lie one on the other, and the last two sides turn."""

    @pytest.mark.parametrize("crank", [0.0, 0.3, 0.7, -0.5])
    def test_ways_to_close_are_told_from_folded_branches(self, crank):
        model = peaucellier().compile()
        end = 0.3 * np.array([1 + np.cos(crank), np.sin(crank)])
        found = model.assemblies({"C": crank})
        knees = [angle(knee) for knee in circles((0, 0), 1.0, end, 0.5)]
        determined = [each for each in found if not each.freedom]
        folded = [each for each in found if each.freedom]
        assert len(determined) == 4
        assert len(folded) == 2
        for each in determined:
            arms = [each.state["O0"], each.state["O1"]]
            assert max(min(same(a, b) for b in knees) for a in arms) < 1e-11
            assert same(*arms) > 0.1
            assert "~" not in each.label
        for each in folded:
            assert each.freedom == 1
            assert same(each.state["O0"], each.state["O1"]) < 1e-11
            assert [name for name in each.label.split() if "~" in name] == ["Q0~", "Q1~"]
            again = model.assemble({"C": crank}, branch=each.label)
            np.testing.assert_array_equal(again.q, each.state.q)

    @pytest.mark.parametrize("crank", [0.0, 0.3, 0.5])
    def test_the_crank_determines_what_it_can(self, crank):
        """Folded up is nearer to the drawn pose, but moves by itself."""
        state = peaucellier().compile().assemble({"C": crank})
        assert same(state["O0"], state["O1"]) > 0.1
        line = (1.0 - 0.25) / 0.6  # where the tracer's line crosses the axis: products of distances are one
        tip = state.model.pose("side2.end", state.q)[1][0]
        end = 0.3 + 0.3 * np.cos(crank)
        assert min(abs(tip - line), abs(tip - end)) < 1e-11

    def test_too_few_values_are_told(self):
        with pytest.raises(StateError, match="with nothing given, 1 freedoms are left"):
            peaucellier().compile().assemblies()


def test_what_is_far_from_how_it_is_drawn_is_told_where_nobody_said_which_way_is_meant():
    """A crank that is drawn pointing away from the slider that its end belongs to: A at 180 - 26 degrees, or below."""
    m = kp.Mechanism("turned", gravity=(0, -9.81, 0))
    crank, slider = m.rod("crank", 1.0, 1.0), m.box("slider", (0.1, 0.1, 0.1), 1.0)
    m.revolute("A", m.ground.at(0, 0), crank.start)
    m.prismatic("B", m.ground.at(-0.9, 0), slider.origin, axis=(0, 1, 0), actuated=True)
    m.revolute("C", slider.origin, crank.end)
    model = m.compile()
    told = r"'turned' closes far from how it is drawn: A moves by 1[56]\d degrees.*say near= or branch="
    with pytest.warns(UserWarning, match=told):
        state = model.assemble()
    assert state["A"] > 0  # of two ways as near as each other
    for asked in ({"near": {"A": 2.5}}, {"near": state}, {"branch": {"A": 1}}):
        assert model.assemble(**asked)["A"] == pytest.approx(state["A"], abs=0.3)


@pytest.mark.parametrize("seed", range(6))
def test_the_nearest_way_to_close_does_not_depend_on_which_joints_are_cut(seed):
    """One loop, nothing given: every joint ends where it ends with other joints cut."""
    closed = random_closed(seed, 1, planar=seed % 2 == 1)
    cuts = dict.fromkeys([closed.closing, *closed.other_cuts(2, seed), ()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may be far from drawn
        first, *others = [closed.mechanism.compile(cut=cut).assemble() for cut in cuts]
    assert others
    for joint in (joint for joint in closed.mechanism.joints if joint.type.v_names):
        for state in others:
            off = turned(state[joint.name], first[joint.name], joint.type.units)
            assert np.abs(off).max() < 0.01, joint.name


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_at_least_as_near_to_drawn_as_what_other_starts_lead_to(seed):
    """Over all hinges of a four-bar, the sum of squares of the shorter ways round, on a grid of crank angles."""
    closed = random_closed(seed, 1, planar=True, chains=(("revolute",) * 4,))
    model, names = closed.mechanism.compile(), [joint.name for joint in closed.mechanism.joints]

    def far(state):
        return sum(same(state[name], 0.0) ** 2 for name in names)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = far(model.assemble())
        for crank in np.linspace(-3.1, 3.1, 12):
            try:
                ways = model.assemblies({names[0]: crank})
            except NotClosed:
                continue
            assert all(own <= far(way.state) + 1e-9 for way in ways)


# ---- welds and axes that half a turn would close ---------------------------------------------------------


@pytest.mark.parametrize("kind", ["fixed", "prismatic", "revolute", "cylindrical", "planar"])
def test_half_a_turn_attracts_nothing(kind):
    """Spatial loops closed by a joint that holds an axis, or all turning: most descents from anywhere close them."""
    closes = 0
    for seed in range(3):
        closed = random_closed(seed, 1, closing=kind, redundant=False)
        model = closed.mechanism.compile(cut=closed.closing)
        task = task_of(model, {}, None)
        rng = np.random.default_rng(seed)
        closes += sum(solve(model, task, anywhere(model, task, rng))[1] <= CLOSED for _ in range(10))
    assert closes >= 24


@pytest.mark.parametrize("seed", range(6))
def test_turns_by_half_angles_have_the_jacobian_that_differences_have(seed):
    """And their length is 2 sin(t / 2) of the turn t, from no turn to half a turn."""
    closed = random_closed(seed, 2, closing=("fixed", "revolute", "prismatic")[seed % 3])
    model = closed.mechanism.compile(cut=closed.closing)
    turns, rng = turns_of(model), np.random.default_rng(seed)

    def by_turns(q):
        phi, jacobian, upright = model.closure(q)
        return *by_half_angles(turns, phi, jacobian, upright), upright

    checked = 0
    for _ in range(8):
        q = anywhere(model, task_of(model, {}, None), rng)
        error, jacobian, upright = by_turns(q)
        cosines = np.array([0.5 * (upright[t.loop] - 1) if t.locked else upright[t.loop] for t in turns])
        for turn, cosine in zip(turns, cosines, strict=True):
            assert (error[turn.rows] ** 2).sum() == pytest.approx(2 - 2 * cosine, abs=1e-12)
        if np.abs(cosines).min() < 0.06 or cosines.min() < -0.99:
            continue
        checked += 1
        ahead, behind = (
            np.array([by_turns(model.integrate(q, sign * 1e-6 * unit))[0] for unit in np.eye(model.nv)]).T
            for sign in (1, -1)
        )
        np.testing.assert_allclose(jacobian, (ahead - behind) / 2e-6, atol=1e-7 * (1 + np.abs(jacobian).max()))
    assert checked >= 2


# ---- limits ----------------------------------------------------------------------------------------------


def test_limits_bound_every_step_and_counted_turns_stay():
    """A four-bar whose crank may only be where three turns have brought it, with a gear behind."""
    m = four_bar()
    joints = {joint.name: joint for joint in m.joints}
    low, high = 6 * np.pi + 0.4, 6 * np.pi + 0.9
    object.__setattr__(joints["A"], "limits", ((low, high),))
    wheel = m.cylinder("wheel", 0.1, 0.1, 1.0)
    m.revolute("gear", m.ground.at(0, 2), wheel.origin)
    m.couple("train", {"A": 50.0, "gear": -1.0})
    state = m.compile().assemble(near={"A": low})
    assert low <= state["A"] <= high
    assert state["gear"] == pytest.approx(50 * state["A"], rel=1e-13)
