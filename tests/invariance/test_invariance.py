"""Physics does not depend on who describes a mechanism, from where, in what units, nor on how it is compiled.

Every feature tells the same of a mechanism at random and of the same one turned and shifted in space, with other
frames on its bodies and joints, a and b exchanged, other names and another order, other units, read from a file,
with some numbers as inputs, other joints cut, and by another formulation: all of it at once, and one after the other
where that fails. `make fuzz` runs the same with new numbers for as long as it is told.
"""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.invariance.changes import CHANGES, changed
from tests.invariance.checking import FEATURES, Case, applicable, failures, quick, report
from tests.invariance.dense import dense
from tests.invariance.description import posed
from tests.invariance.kept import KEPT
from tests.invariance.random_subjects import SORTS, subject
from tests.long import LONG

SEEDS = 3  # so few that compiled models are met again
few = settings(max_examples=2, phases=(Phase.explicit, Phase.generate))


def check(case: Case) -> None:
    found = failures(case)
    assert not found, report(case, found)


@pytest.mark.parametrize(("at", "feature"), list(enumerate(FEATURES)), ids=FEATURES)
def test_nothing_depends_on_the_description(at, feature):
    """Of one subject; the next feature takes another sort, and those that take the same share what is compiled. The
    first begin with the last sort, so that what takes many programs falls to small mechanisms."""
    case = applicable(quick(feature, at - 1, 1))
    if case is not None:
        check(case)


if LONG:

    @pytest.mark.parametrize("feature", FEATURES)
    @few
    @given(number=st.integers(0, 10_000))
    def test_nothing_depends_on_the_description_of_others(feature, number):
        case = applicable(quick(feature, number, SEEDS))
        if case is not None:
            check(case)


@pytest.mark.parametrize("case", KEPT, ids=str)
def test_what_failed_once(case):
    check(case)


# ---- the changes themselves --------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", SORTS)
@settings(max_examples=2)
@given(seed=st.integers(0, 1000))
def test_changes_change_nothing_that_dense_numbers_see(sort, seed):
    """Coordinates lead to the same poses, velocities keep to the joints, and energy and freedom are the same."""
    one = subject(sort, seed)
    other = changed(one, CHANGES, seed)
    first, second = dense(one), dense(other)
    size, unit = other.world.length, other.world.mass * other.world.length**2
    for label, (turn, place) in posed(other.description, other.motion.values).items():
        there = other.motion.poses[label]
        assert abs(turn - there[0]).max() < 1e-13
        assert abs(place - there[1]).max() < 1e-12 * size
    for each in (first, second):
        assert each.rank == len(each.inertia) - first.free.shape[1]
    energies = [d.energy(d.all(x.motion)) for d, x in ((first, one), (second, other))]
    assert energies[1] / unit == pytest.approx(energies[0], rel=1e-11)
    twists = second.all(other.motion)
    assert abs(second.rows @ twists).max(initial=0.0) < 1e-11 * abs(second.rows).max(initial=1.0) * abs(twists).max()
