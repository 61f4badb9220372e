"""Every Python block of the README and the docs runs and prints what the page says; commands are such as there are."""

import re
import shlex
from functools import cache
from pathlib import Path

import matplotlib as mpl
import pytest
import typer

from benchmarks import accounting
from benchmarks.counts import arm_of_four_bars, operations
from docs.hooks import examples
from kempe.cli import app
from kempe.commands.counts import FORWARD, counts
from kempe.commands.subject import subject
from kempe.compiler.count import count
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.entries import ENTRIES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if examples.blocks(page.read_text())], ids=named)
def test_the_examples_of_a_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    for block, printed in examples.run(page.read_text(), str(page)):
        assert block.printed is None or printed == block.printed, f"{named(page)}, line {block.line}"


def test_every_block_of_python_is_one_that_is_run():
    for page in PAGES:
        text = page.read_text()
        assert len(examples.blocks(text)) == len(re.findall(r"^ *```python", text, flags=re.MULTILINE)), named(page)


def commands(text: str) -> set[str]:
    """Command lines on a page: in code, on lines of their own or within one, and in blocks of them."""
    quoted = re.findall(r"`(kempe [a-z][^`]*)`", text)
    return {*quoted, *(line.split("#")[0].strip() for line in re.findall(r"^\s*(kempe [a-z].*)$", text, re.MULTILINE))}


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page.read_text())], ids=named)
def test_commands_on_a_page_are_such_as_there_are(page):
    """Parsed, not run: a subcommand or an option that is not there, or a missing argument, raises."""
    command = typer.main.get_command(app)
    for line in commands(page.read_text()):
        _, name, *arguments = shlex.split(line)
        context = command.make_context("kempe", [name, *arguments])
        _, found, rest = command.resolve_command(context, [name, *arguments])
        if rest:  # else it is the command that is spoken of
            found.make_context(name, rest, parent=context)


def test_the_page_of_the_gallery_says_what_the_gallery_does():
    text, told = (ROOT / "docs/gallery.md").read_text(), {}
    for row in re.findall(r"^\| (`.*?) \|.*\| (.*?) \|$", text, flags=re.MULTILINE):
        told |= dict.fromkeys(re.findall(r"`(.*?)`", row[0]), re.sub(r"\[(.*?)\]\(.*?\)", r"\1", row[1]))
    assert told == {name: entry.checked for name, entry in ENTRIES.items()}


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


def test_counts_on_the_page_of_performance():
    """The table of kinds, and of what was done the row of today."""
    page, found = (ROOT / "docs/performance.md").read_text().splitlines(), {}
    for name, mechanism in accounting.mechanisms().items():
        program = mechanism.compile().program(FORWARD)
        total, kinds = count(program).total, accounting.kinds(program)
        found[name] = f"{total} ({sum(kinds.values())})"
        label = f"`{name}`" if name in ENTRIES else name
        assert f"| {label} | {total} | {' | '.join(map(str, kinds.values()))} |" in page
    columns = ("four-bar", "five-bar", "3-rrr", "andrews-squeezer", "stewart")
    head = page.index(f"| | {' | '.join(f'`{name}`' for name in columns)} |")
    row = f"| today | {' | '.join(found[name] for name in columns)} |"
    assert row in page[head : page.index("", head)]


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


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", ["carpet-scraper", "3-rrr", "n-four-bar", "excavator", "scissor-lift"])
def test_counts_on_the_page_of_subsystems(name):
    """Of Kempe's cuts, the paper's, and those for inverse dynamics; of all cuts would take too long."""
    mechanism = subject(name).mechanism

    def told(cut) -> str:
        model = mechanism.compile("sslm", cut=cut)
        return f"{model.counts.total} ({', '.join(str(len(part.velocities)) for part in model.topology.subsystems)})"

    own = told(())
    papers = told(("B2", "B3")) if name == "3-rrr" else "the same" if name == "carpet-scraper" else ""
    determinate = told(mechanism.topology().determinate_cuts)
    cells = (f"`{name}`", own, papers, "the same" if determinate == own else determinate)
    row = f"| {' | '.join(cells)} |".replace("|  |", "| |")
    assert any(line.startswith(row) for line in (ROOT / "docs/subsystems.md").read_text().splitlines()), row


@pytest.mark.parametrize("name", ["n-four-bar", "scissor-lift"])
def test_counts_by_small_cuts_on_the_page_of_subsystems(name):
    mechanism = subject(name).mechanism
    total = mechanism.compile("sslm", cut=mechanism.topology().small_cuts).counts.total
    text = " ".join((ROOT / "docs/subsystems.md").read_text().split())
    assert re.search(rf"`{name}` \({total}( operations)?\)", text)
