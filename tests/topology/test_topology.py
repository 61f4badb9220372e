"""The graph, the tree and the loops; above each test a drawing of its graph, --- tree, === loop joint."""

import pytest

from kempe.errors import TopologyError
from kempe.mechanism.joints import Fixed
from kempe.mechanism.mechanism import Mechanism
from kempe.topology.spanning import topology


def links(*names: str) -> tuple[Mechanism, list]:
    m = Mechanism("graph", gravity=(0, -9.81, 0))
    return m, [m.rod(name, 1.0, 1.0, radius=0.1) for name in names]


def four_bar(**options) -> Mechanism:
    m, (crank, coupler, rocker) = links("crank", "coupler", "rocker")
    m.revolute("A", m.ground.at(0, 0), crank.start, **options.get("A", {}))
    m.revolute("B", crank.end, coupler.start, **options.get("B", {}))
    m.revolute("C", coupler.end, rocker.end, **options.get("C", {}))
    m.revolute("D", m.ground.at(1, 0), rocker.start, **options.get("D", {}))
    return m


#  ground --A-- crank --B-- coupler ==C== rocker --D-- ground
def test_a_loop_is_cut_far_from_the_ground():
    t = four_bar().topology()
    assert [x.joint.name for x in t.tree] == ["A", "B", "D"]
    (loop,) = t.loops
    assert loop.joint.name == "C"
    assert sorted(loop.around) == ["A", "B", "C", "D"]
    assert [part.bodies for part in t.subsystems] == [("crank", "coupler"), ("rocker",)]
    assert (t.nq, t.nv) == (3, 3)


#  ground ==A== crank --B-- coupler --C-- rocker --D-- ground
@pytest.mark.parametrize(
    "keep", [{"actuated": True}, {"armature": 0.1}, {"stiffness": 2.0}, {"damping": 0.1}, {"limits": (-1, 1)}]
)
def test_joints_that_carry_something_stay(keep):
    t = four_bar(B=keep, C=keep, D=keep).topology()
    assert [loop.joint.name for loop in t.loops] == ["A"]
    reversed_ones = {x.joint.name: x.reversed for x in t.tree}
    assert reversed_ones == {"D": False, "C": True, "B": True}


def test_where_all_must_stay_a_body_is_cut():
    found = four_bar(**{name: {"actuated": True} for name in "ABCD"}).topology()
    (loop,) = found.loops
    assert loop.joint.type is Fixed
    assert "so coupler is cut in two halves" in loop.reason
    assert [t.share for t in found.tree if t.child.name.startswith("coupler")] == [0.5, 0.5]
    assert found.nv == 4


def test_a_cut_may_be_asked_for():
    m = four_bar()
    assert [loop.joint.name for loop in topology(m, cut=["B"]).loops] == ["B"]
    assert topology(m, cut="B").loops[0].reason == "it was asked to"
    with pytest.raises(TopologyError, match="there is no joint 'X'"):
        topology(m, cut=["X"])
    with pytest.raises(TopologyError, match="'A' is actuated, so it must stay"):
        topology(four_bar(A={"actuated": True}), cut=["A"])
    with pytest.raises(TopologyError, match="cannot be cut"):
        topology(m, cut=["A", "B"])


#  ground --P-- slider,  ground --A-- arm ==S== slider
def test_joints_of_many_freedoms_are_cut_first():
    m, (arm, slider) = links("arm", "slider")
    m.prismatic("P", m.ground.at(), slider.start)
    m.spherical("S", arm.end, slider.end)
    m.revolute("A", m.ground.at(0, 1), arm.start)
    t = m.topology()
    assert [loop.joint.name for loop in t.loops] == ["S"]
    assert "3 closure equations" in t.loops[0].reason


#  trunk on ground; left and right on trunk; leaf on right
def test_branches_come_in_the_order_they_were_written():
    m, (leaf, right, trunk, left) = links("leaf", "right", "trunk", "left")
    m.revolute("1", right.end, leaf.start)
    m.revolute("2", trunk.end, right.start)
    m.revolute("3", left.start, trunk.end)
    m.revolute("4", m.ground.at(), trunk.start)
    t = m.topology()
    assert [x.joint.name for x in t.tree] == ["4", "2", "1", "3"]
    assert t.parents == (-1, 0, 1, 0)
    assert [x.reversed for x in t.tree] == [False, False, False, True]
    assert [x.q for x in t.tree] == [slice(k, k + 1) for k in range(4)]


#  ground ==1== a ==2== a second joint between the same bodies
def test_two_joints_between_the_same_bodies_make_a_loop():
    m, (a,) = links("a")
    m.revolute("1", m.ground.at(), a.start)
    m.revolute("2", m.ground.at(1, 0), a.end)
    t = m.topology()
    assert (len(t.tree), len(t.loops)) == (1, 1)
    assert sorted(t.loops[0].around) == ["1", "2"]


def test_coordinates_of_several_freedoms():
    m, (a, b) = links("a", "b")
    m.free("float", m.ground.at(), a.start)
    m.spherical("ball", a.end, b.start)
    t = m.topology()
    assert (t.nq, t.nv) == (11, 9)
    assert (t.tree[1].q, t.tree[1].v) == (slice(7, 11), slice(6, 9))


def test_a_body_that_hangs_on_nothing():
    m, (a, _) = links("a", "b")
    m.revolute("1", m.ground.at(), a.start)
    with pytest.raises(TopologyError, match=r"nothing connects b to the ground; add a joint, or m\.free"):
        m.topology()


def test_a_joint_from_a_body_to_itself():
    m, (a,) = links("a")
    m.revolute("1", a.start, a.end)
    with pytest.raises(TopologyError, match="joins 'a' to itself"):
        m.topology()


def test_nothing_at_all():
    t = Mechanism("empty").topology()
    assert (t.nq, t.nv, t.tree, t.loops, t.subsystems.all) == (0, 0, (), (), ())


def test_explained_in_words():
    text = four_bar().topology().explain()
    assert text.splitlines()[0] == "graph: 3 bodies, 4 joints, 1 loop"
    assert "    B (revolute) carries coupler on crank" in text
    assert "C (revolute) closes the loop" in text
    assert "  1 (serial): crank, coupler\n  2 (serial): rocker" in text


def test_drawn(tmp_path):
    path = four_bar(A={"actuated": True}).topology().picture(tmp_path / "graph.png")
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert path.stat().st_size > 5000


def test_a_long_chain_is_quick():
    m = Mechanism("long")
    last = m.ground.at()
    for k in range(1500):
        rod = m.rod(f"rod{k}", 1.0, 1.0, radius=0.1)
        m.revolute(f"joint{k}", last, rod.start)
        last = rod.end
    assert m.topology().nv == 1500
