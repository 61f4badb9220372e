"""Paper 2 reproduced: runs, multipliers as printed against a dense solve, counts by hand, the printed patterns."""

import numpy as np
import pytest

from kempe.papers.paper2 import costs as paper2_costs
from kempe.papers.paper2 import multipliers as multipliers
from kempe.papers.paper2 import pattern as patterns
from kempe.papers.paper2 import runs as runs
from kempe.papers.paper2 import study as paper2

PRINTED = {
    "carpet-scraper": [[1, 1, 0], [0, 1, 1], [0, 0, 1]],  # (26)
    "3-rrr": [[1, 1, 0], [1, 0, 1]],  # (37)
}
SIZES = {"carpet-scraper": [1, 2, 4], "3-rrr": [5, 1, 1]}  # (27), (38)


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in (runs.scraper(), runs.platform())}


@pytest.fixture(params=list(PRINTED))
def case(cases, request):
    return cases[request.param]


def posed(case):
    """At states along the desired motion, with half of its torques."""
    q, v, u = (x[::500] for x in (case.need.q, case.need.v, case.need.u))
    tau = np.zeros_like(v)
    tau[:, case.model.driven] = 0.5 * u
    return (q, v, tau), multipliers.problems(case.model, q, v, tau)


def test_table_1_is_the_gallerys_and_table_2_the_start(case):
    assert paper2.differing(case) == []
    assert case.model.residual(case.start.q) == pytest.approx(0, abs=1e-12)
    values = {"crank": 0.0} if case.name == "carpet-scraper" else runs.MOTORS
    assert [case.start[name] for name in values] == pytest.approx(list(values.values()), abs=1e-12)


def test_blocks_are_where_the_paper_prints_them(case):
    assert [len(columns) for columns in multipliers.columns_of(case.model)] == SIZES[case.name]
    (q, _, _), _ = posed(case)
    np.testing.assert_array_equal(multipliers.pattern(case.model, q), PRINTED[case.name])


def test_every_way_gives_the_same_multipliers(case):
    state, found = posed(case)
    whole = np.array([multipliers.whole(p) for p in found])
    size = np.abs(whole).max()
    for way in (multipliers.by_system, multipliers.by_subsystems, multipliers.by_blocks):
        assert np.abs([way(p) for p in found] - whole).max() < 1e-11 * size
    for way in runs.PAIR:
        compiled = case.models[way].kernel("row_multipliers")(*state)[:, multipliers.kept(case.model)]
        assert np.abs(compiled - whole).max() < 1e-10 * size


def test_counts_are_those_of_plain_loops():
    """A 3 x 3 elimination with 2 right-hand sides, and a product, operation by operation."""
    n, k, steps = 3, 2, 0
    for pivot in range(n):
        for _ in range(pivot + 1, n):
            steps += 1 + 2 * (n - pivot - 1) + 2 * k
    for row in range(n):
        steps += k * (1 + 2 * (n - row - 1))
    by = multipliers.Counted()
    by.solve(np.eye(n), np.ones((n, k)))
    assert by.operations == steps
    by.times(np.ones((2, 3)), np.ones((3, 4)))
    assert by.operations == steps + 2 * 4 * (3 + 2)


def test_subsystems_save_on_paper_and_not_once_traced(case):
    p = posed(case)[1][3]
    ways = multipliers.by_system, multipliers.by_subsystems
    dense, traced = ([counted(p, way) for way in ways] for counted in (multipliers.dense, multipliers.traced))
    assert dense[1] < 0.6 * dense[0]
    assert traced[1] == pytest.approx(traced[0], rel=0.05)
    assert max(traced) < dense[1]


def test_forced_runs_follow_at_first(case):
    for way in runs.PAIR:
        run = case.forced(way)
        assert run.outcome.finished
        assert np.abs(case.errors(run)[run.t <= 1]).max() < 1e-6
        assert run.closure.max() < 1e-9


def test_accelerations_agree_where_loops_are_closed(case):
    closed = paper2.accelerations(case)
    assert max(closed[:2]) < 1e-10
    assert closed[2] > 1e-7  # where they are open, they are continued in other ways


def test_eq_55_as_printed_is_not_it(cases):
    assert paper2_costs.printed_55(cases["3-rrr"]) > 1e-3


def test_the_excavator_has_the_pattern_of_14():
    model = patterns.figure_1().compile(cut=patterns.CUTS)
    q = patterns.moved(model)
    assert np.abs(model.residual(q)).max() < 1e-10
    assert model.dof == 3
    found = multipliers.pattern(model, q)[np.argsort(patterns.numbers(model))]
    np.testing.assert_array_equal(found, patterns.PRINTED)
