"""Subsystems, loops and blocks against paper 2's own, and cuts against all cuts there are."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from kempe.errors import TopologyError
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.mechanism import Mechanism
from kempe.topology.cuts import stays, together, work
from kempe.topology.determinacy import steps
from kempe.topology.plane import in_plane
from kempe.topology.spanning import topology
from kempe.topology.tree import Topology
from tests.analyze.test_paper2 import scraper
from tests.topology.digger import CUTS, digger

CLOSED = [name for name, entry in ENTRIES.items() if entry.build().topology().loops]


@cache
def built(name: str) -> Topology:
    return ENTRIES[name].build().topology()


def sizes(found: Topology) -> list[int]:
    return [len(part.velocities) for part in found.subsystems]


def solved(found: Topology) -> list[tuple[int, ...]]:
    return [tuple(j + 1 for j in step.subsystems) for step in found.subsystems.steps]


def test_the_excavator_of_figure_1():
    found = topology(digger(), CUTS)
    parts = found.subsystems
    assert [part.bodies for part in parts] == [
        ("#1", "#2", "#3", "#4"), ("#6", "#5", "#7", "#9", "#8"), ("#10", "#11")
    ]  # fmt: skip
    assert [part.kind for part in parts] == ["serial", "tree", "serial"]
    assert [part.drives for part in parts] == [("J4",), ("J13",), ("J10",)]
    through = dict(zip(parts.loops, parts.through, strict=True))
    assert [through[name] for name in CUTS] == [(1, 2), (2,), (1, 2), (1, 3)]  # eq. 14, row by row
    assert parts.equations == (2, 2, 2, 2)
    assert sum(parts.equations) + 3 == found.nv
    assert solved(found) == [(1, 2, 3)]


def test_the_carpet_scraper_and_its_order():
    found = scraper().topology()  # Kempe's own cuts are the paper's
    parts = found.subsystems
    assert parts.loops == ("eight", "nine", "ten")
    assert [part.bodies for part in parts] == [("link1",), ("link2", "link3"), ("link4", "link5", "link6", "link7")]
    assert parts.jacobian_pattern == ((True, True, False), (False, True, True), (False, False, True))  # eq. 26
    assert parts.gicm_pattern == (
        ((1, 2), (2,), ()),
        ((2,), (2, 3), (3,)),
        ((), (3,), (3,)),
    )  # eqs. 31, 32
    assert [parts.unknowns(part.number) for part in parts] == [3, 4, 4]
    assert solved(found) == [(3,), (2,), (1,)]
    (arm,) = (t for t in found.tree if t.joint.name == "four")
    assert arm.v.start in parts[2].velocities  # it carries both sides of loop ten, and is no part of it


def test_the_3_rrr_cut_as_in_the_paper_is_determinate():
    mechanism = ENTRIES["3-rrr"].build()
    found = topology(mechanism, ["B2", "B3"])
    parts = found.subsystems
    assert sizes(found) == [5, 1, 1]
    assert parts.jacobian_pattern == ((True, True, False), (True, False, True))  # eq. 37
    assert parts.gicm_pattern == (((1, 2), (1,)), ((1,), (1, 3)))  # eqs. 42, 43
    assert solved(found) == [(1,), (2,), (3,)]
    assert sizes(built("3-rrr")) == [3, 2, 2]
    assert solved(built("3-rrr")) == [(1, 2, 3)]
    assert sorted(sizes(topology(mechanism, built("3-rrr").determinate_cuts))) == [1, 1, 5]


@pytest.mark.parametrize("name", [*CLOSED, "digger"])
def test_cuts_are_the_best_of_all_there_are(name):
    found = digger().topology() if name == "digger" else built(name)
    m = found.mechanism
    freedoms = sorted(len(loop.joint.type.v_names) for loop in found.loops)
    best: dict = {work: work(found), together: together(found)}
    for cut in combinations([joint for joint in m.joints if stays(joint) is None], len(found.loops)):
        if sorted(len(joint.type.v_names) for joint in cut) == freedoms:
            try:
                other = topology(m, [joint.name for joint in cut])
            except TopologyError:
                continue
            best = {measure: min(value, measure(other)) for measure, value in best.items()}
    assert work(topology(m, found.small_cuts)) == best[work]
    assert together(topology(m, found.determinate_cuts)) == best[together]


def test_rows_of_four_bars_become_determinate_one_by_one():
    row = n_four_bar(12).topology()
    assert solved(row) == [tuple(range(1, 14))]
    better = topology(row.mechanism, row.determinate_cuts)
    assert solved(better) == [(k,) for k in range(13, 0, -1)]
    assert row.subsystems.gicm_pattern[5][7] == ()
    text = row.explain()
    assert "loop right5: 6 + 7; 6 with right4; 7 with right6" in text


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (([2], [2], [], []), [((0,), True)]),  # a driven tree
        (([2], [1], [], []), [((0,), True)]),  # a tree that is not driven enough: its motion cannot be chosen
        (([2, 1], [1, 1], [2], [(0, 1)]), [((0, 1), False)]),  # one motor too many
        (([1, 2, 2], [1, 0, 0], [2, 2], [(0, 1), (1, 2)]), [((2,), True), ((1,), True), ((0,), True)]),
        (([3, 1, 1], [0, 1, 1], [2, 1], [(0, 1), (0, 2)]), [((0,), True), ((1,), True), ((2,), True)]),
        (([2, 2, 1], [2, 2, 0], [1, 1], [(0, 1), (1, 2)]), [((2,), True), ((0, 1), False)]),
    ],
)
def test_orders_known_by_hand(given, order):
    assert [(step.subsystems, step.determinate) for step in steps(*given)] == order


def test_mechanisms_in_a_plane():
    flat = {name for name in CLOSED if in_plane(built(name).mechanism)}
    assert set(CLOSED) - flat == {"stewart", "gough-stewart", "delta", "3-ruu", "bricard", "sarrus", "swing"}
    m = Mechanism("sliders only")
    m.prismatic("x", m.ground.at(), m.rod("rod", 1.0, 1.0).start)
    assert not in_plane(m)
    # Two hinges whose axes agree in one body's axes and not in the other's.
    m, turned = Mechanism("skew"), [(1, 0, 0), (0, 0, -1), (0, 1, 0)]
    one, two = m.rod("one", 1.0, 1.0), m.rod("two", 1.0, 1.0)
    m.revolute("A", m.ground.at(), one.start)
    m.revolute("B", one.at(1, rotation=turned), two.at(0, rotation=turned), axis=(0, 1, 0))
    assert in_plane(m)
    m.revolute("C", two.end, m.ground.at(2, 0, 0), axis=(0, 1, 0))
    assert not in_plane(m)


def test_a_loop_of_welds_passes_through_nothing():
    m = Mechanism("welds")
    rod = m.rod("rod", 1.0, 1.0, radius=0.1)
    m.fixed("one", m.ground.at(), rod.start)
    m.fixed("two", m.ground.at(1), rod.end)
    parts = m.topology().subsystems
    assert parts.through == ((),)
    assert parts.gicm_pattern == (((),),)


def test_explained_in_words():
    text = scraper().topology().explain()
    lines = [line.split() for line in text.splitlines()]
    assert ["loop", "nine", ".", "J2,2", "J2,3"] in lines
    assert ["loop", "nine", "2", "2", "+", "3"] in lines
    assert ["loop", "ten", ".", "3", "3"] in lines
    assert "subsystem 3: equations 4, unknowns 4 (2 of nine, 2 of ten): determinate" in text
    assert "subsystem 1: equations 1, unknowns 3 (one, 2 of eight): indeterminate" in text
    assert "order: 3, then 2, then 1" in text


def test_where_the_graph_gives_too_many_equations_it_says_so():
    """Overconstrained loops of six hinges, and a motor too many: counting cannot tell the one from the other."""
    for name in CLOSED:
        assert built(name).subsystems.too_many == (name in ("bricard", "sarrus")), name
    text = built("sarrus").explain()
    assert "subsystem 1: equations 3, unknowns at most 6 (foot x, 5 of head y): not told" in text
    assert "freedom left 0, actuated 1: equations of loops are redundant, or actuators" in text
    assert "order:" not in text
    m = Mechanism("two motors")
    bars = [m.rod(name, 1.0, 1.0) for name in "abc"]
    m.revolute("A", m.ground.at(0, 0), bars[0].start, actuated=True)
    m.revolute("B", bars[0].end, bars[1].start)
    m.revolute("C", bars[1].end, bars[2].end)
    m.revolute("D", m.ground.at(1, 0), bars[2].start, actuated=True)
    assert "freedom left 1, actuated 2: equations of loops are redundant, or actuators" in m.topology().explain()


def test_blocks_drawn(tmp_path):
    from matplotlib.image import imread

    for mechanism in (scraper(), n_four_bar(30)):
        path = mechanism.topology().picture_of_blocks(tmp_path / "blocks.png")
        picture = imread(path)[..., :3]
        coloured = np.ptp(picture, axis=-1) > 0.1
        assert 0.01 < coloured.mean() < 0.6
