"""Every Python block of the README and the docs runs, from the top of its page to the bottom."""

import re
from functools import cache
from pathlib import Path

import matplotlib as mpl
import pytest

from benchmarks.counts import arm_of_four_bars, operations, ring
from kempe.commands.counts import counts
from kempe.commands.subject import subject
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.entries import ENTRIES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), names)


@cache
def counted(name: str) -> dict:
    return counts(subject(name), measure=False)


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "excavator", "stewart"])
def test_counts_on_the_page_of_partition_are_those_of_the_command(name):
    found = counted(name)
    ways = [found[f"forward_dynamics, partition, {way}"]["total"] for way in ("unit", "projected", "composite")]
    row = f"| `{name}` | {' | '.join(map(str, ways))} |"
    assert row in (ROOT / "docs/partition.md").read_text().splitlines()


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "stewart"])
def test_counts_on_the_page_of_denoc_are_those_of_the_command(name):
    found = counted(name)
    functions = "forward_dynamics, partition, composite", "forward_dynamics, denoc"
    functions += "generalized_efforts", "inverse_dynamics, denoc"
    row = f"| `{name}` | {' | '.join(str(found[function]['total']) for function in functions)} |"
    assert any(line.startswith(row) for line in (ROOT / "docs/denoc.md").read_text().splitlines())


def test_the_table_of_choices_is_what_is_counted_and_taken():
    named = {f"`{name}`": ENTRIES[name].build() for name in ("four-bar", "excavator", "two-arms")}
    named |= {"ring of 12 rods": ring(12), "arm of 5 four-bars": arm_of_four_bars(5)}
    page = (ROOT / "docs/choosing.md").read_text().splitlines()
    for label, mechanism in named.items():
        model, found = mechanism.compile(), operations(mechanism)
        ways = [found[way] for way in ("partition, composite", "partition, clusters", "sslm")]
        taken = model.decision.taken
        told = f"`{taken.formulation}`" + (f", {taken.way}" if taken.way else "")
        numbers = map(str, (model.dof, model.nv - model.dof, *ways))
        assert f"| {label} | {' | '.join(numbers)} | {told} |" in page


def in_table(label: str, found: dict[str, int]) -> bool:
    ways = ("partition, composite", "augmented", "slm", "sslm", "partition, clusters", "denoc")
    row = f"| {label} | {' | '.join(str(found.get(way, '')) for way in ways)} |".replace("|  |", "| |")
    return row in (ROOT / "docs/multipliers.md").read_text().splitlines()


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "excavator", "stewart"])
def test_counts_on_the_page_of_multipliers_are_those_of_the_command(name):
    found = {key.removeprefix("forward_dynamics, "): x["total"] for key, x in counted(name).items()}
    assert in_table(f"`{name}`", found)


def test_counts_of_four_bars_on_the_page_of_multipliers():
    assert in_table("`n-four-bar` of 2", operations(n_four_bar(2)))
    assert in_table("arm of 2 four-bars", operations(arm_of_four_bars(2)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    ("name", "cut", "told"), [("3-rrr", ("B2", "B3"), "757 (5, 1, 1)"), ("n-four-bar", (), "343 (2, 2, 1)")]
)
def test_counts_on_the_page_of_subsystems(name, cut, told):
    model = subject(name).mechanism.compile("sslm", cut=cut)
    sizes = ", ".join(str(len(part.velocities)) for part in model.topology.subsystems)
    assert f"{model.counts.total} ({sizes})" == told
    (row,) = (line for line in (ROOT / "docs/subsystems.md").read_text().splitlines() if line.startswith(f"| `{name}`"))
    assert told in row
