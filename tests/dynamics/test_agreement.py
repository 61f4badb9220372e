"""Every formulation on every mechanism of the gallery, and the page that says so."""

import pytest

from kempe.gallery.entries import ENTRIES
from tests import agreement
from tests.agreement import BOUND, CLOSED, COLUMNS, PAGE, TREES, compiled, row, states

WRITTEN = {
    name.strip(): [cell.strip() for cell in cells]
    for name, *cells in (line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| "))
}


@pytest.mark.parametrize("name", ENTRIES)
def test_formulations_agree(name):
    """With a dense solve, and so with each other; the page has an entry where there is one, within the same bound."""
    found = row(name)
    assert len(list(states(compiled(name)))) == 2
    everywhere = [c for c in CLOSED if c != "denoc"] if compiled(name).topology.constrained else TREES
    assert set(found) - {"denoc"} == set(everywhere)
    assert max(found.values()) < BOUND, found
    written = dict(zip(COLUMNS, WRITTEN[name], strict=True))
    assert {column for column, cell in written.items() if cell} == set(found)
    assert all(float(cell) < BOUND for cell in written.values() if cell)


def test_the_page_has_every_mechanism():
    assert set(WRITTEN) == {"mechanism", *ENTRIES}
    assert WRITTEN["mechanism"] == list(COLUMNS)


def test_writing_the_page_again_changes_its_entries_alone(monkeypatch):
    numbers = {
        name: {column: float(cell) for column, cell in zip(COLUMNS, WRITTEN[name], strict=True) if cell}
        for name in ENTRIES
    }
    monkeypatch.setattr(agreement, "row", numbers.__getitem__)
    assert agreement.page() == PAGE.read_text()
