"""The gallery: every entry compiles, runs to its end, and tells the truth about what happens in it."""

import numpy as np
import pytest

from kempe.gallery.entries import ENTRIES


@pytest.fixture(scope="module")
def runs():
    found = {}
    for name, entry in ENTRIES.items():
        model = entry.build().compile()
        found[name] = entry.run(model, entry.duration)
    return found


@pytest.mark.parametrize("name", ENTRIES)
def test_it_runs_to_its_end_and_power_adds_up(runs, name):
    run = runs[name]
    assert run.outcome.finished
    assert run.end == ENTRIES[name].duration
    scale = max(np.abs(run.power.energy_rate).max(), 1e-3)
    assert np.abs(run.power.imbalance).max() < 1e-8 * scale


@pytest.mark.parametrize("name", ENTRIES)
def test_it_has_what_the_command_shows(name):
    entry = ENTRIES[name]
    assert entry.build().name == name
    assert entry.sentence
    assert entry.story
    assert entry.source


def test_the_double_pendulum_keeps_its_energy(runs):
    energy = runs["double-pendulum"].energy
    assert np.ptp(energy.total) < 1e-5 * energy.kinetic.max()


def test_the_brick_turns_over(runs):
    """The middle axis points along its first direction and against it, again and again."""
    run = runs["brick"]
    _, rotations = run.pose("block")
    along = rotations[:, 1, 1]
    flips = np.flatnonzero(np.diff(np.sign(along)))
    assert along.max() > 0.99
    assert along.min() < -0.99
    assert len(flips) >= 3


def test_the_crane_arrives_and_its_load_swings(runs):
    run = runs["crane"]
    assert run["slew"][-1] == pytest.approx(np.pi / 2, abs=0.02)
    assert run["luff"][-1] == pytest.approx(-0.7, abs=0.02)
    assert np.abs(run.rate("hook")).max() > 0.1
