"""Assembly of random mechanisms that are known to close: within limits, with values given, from elsewhere, in time.

`make test-long` asks a thousand of them.
"""

import time
import warnings

import pytest

from tests.closable import question
from tests.long import some

COUNT = some(18, 1000)
AT_ONCE = 6
HARD = [13, 35, 37, 41, 52, 279, 329]  # not closed once, or slowly
LONGEST = 1.0  # s of a processor for one answer, after what it takes is compiled


def answered(seed: int) -> tuple[float, float]:
    """How far the answer is from what was asked, and how long it took."""
    asked = question(seed)
    model = asked.closed.mechanism.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may be far from how it is drawn
        found = [model.assemble(asked.values, near=asked.near(model))]
        begun = time.process_time()
        found += [model.assemble(asked.values, near=asked.near(model))]
    took = time.process_time() - begun
    assert (found[0].q == found[1].q).all()  # whatever ran before
    return asked.keeps(model, found[1]), took


@pytest.mark.parametrize("seed", HARD)
def test_what_was_hard_once_is_closed(seed):
    off, took = answered(seed)
    assert off < 1e-12
    assert took < LONGEST


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_what_can_be_closed_is_closed(first):
    """Every one of them: of a thousand, 999."""
    open_or_slow = []
    for seed in range(first, min(first + AT_ONCE, COUNT)):
        off, took = answered(seed)
        if off > 1e-12 or took > LONGEST:
            open_or_slow.append((seed, off, took))
    assert not open_or_slow
