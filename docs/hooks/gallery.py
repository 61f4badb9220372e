"""A page for every mechanism of the gallery, made of what Kempe says of it; nothing of it is written by hand.

In a quick build facts and pictures are those of the mechanisms in QUICK; all others have their words only.
"""

import re
import warnings
from pathlib import Path
from tempfile import mkdtemp

from mkdocs.structure.files import File

from kempe.commands.info import info, lines
from kempe.commands.subject import subject
from kempe.gallery.entries import ENTRIES, Entry

QUICK = ("double-pendulum", "four-bar", "five-bar")
INDEX, CARDS = "gallery.md", re.compile(r"<!-- gallery(?:: (.*?))? -->")
LEFT_OUT = ("picture", "next", "warning")  # of what `kempe info` says: the page has it otherwise, or need not say it


def on_config(config, **_):
    """Puts the pages into the navigation."""
    (section,) = (each["Gallery"] for each in config.nav if "Gallery" in each)
    section += [_page(name) for name in ENTRIES]
    return config


def on_files(files, config, **_):
    """Makes the pages, and the pictures on them."""
    for entry in ENTRIES.values():
        full = entry.name in QUICK or not config.extra["quick"]
        made = drawn(entry, moving=not config.extra["quick"]) if full else {}
        facts = made.pop("facts", [])
        files.append(File.generated(config, _page(entry.name), content=page(entry, facts, sorted(made))))
        for name, content in made.items():
            files.append(File.generated(config, f"gallery/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page, files, **_) -> str:
    """Cards of mechanisms where a page asks for them, and links from the gallery's table."""

    def cards(found: re.Match) -> str:
        names = found[1].split(", ") if found[1] else list(ENTRIES)
        return _cards([name for name in names if files.get_file_from_path(f"gallery/{name}.png")], page)

    markdown = CARDS.sub(cards, markdown)
    if page.file.src_uri != INDEX:
        return markdown
    rows = (_linked(line) if line.startswith("| `") else line for line in markdown.splitlines())
    return "\n".join(rows)


def drawn(entry: Entry, moving: bool) -> dict:
    """What Kempe says of a mechanism, and its pictures by the names of their files."""
    folder, about = Path(mkdtemp()), subject(entry.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are what gallery mechanisms are there to show
        facts = info(about, folder)
        made = {f"{entry.name}.png": Path(facts.picture).read_bytes()}
        if moving:
            run = entry.run(about.mechanism.compile(), entry.duration)
            strip = run.strip(folder / "strip.png", points=entry.points)
            player = run.animate(folder / "run.html", points=entry.points)
            made |= {f"{entry.name}-strip.png": strip.read_bytes(), f"{entry.name}-run.html": player.read_bytes()}
    return {"facts": [line for line in lines(facts) if line[0] not in LEFT_OUT], **made}


def page(entry: Entry, facts: list[tuple[str, str]], pictures: list[str]) -> str:
    """The page of a mechanism, as Markdown."""
    name = entry.name
    text = [f"# {name}", "", f"{_sentence(entry.sentence)} Source: {entry.source}.", ""]
    if f"{name}.png" in pictures:
        text += [f"![{name}, as its run begins]({name}.png){{ .drawn }}", ""]
    checked = f"{entry.checked}; every formulation [beside the others](../agreement.md)"
    rows = [*facts, ("checked against", checked)]
    text += ["| | |", "|---|---|", *(f"| {key} | {_cell(words)} |" for key, words in rows), ""]
    text += ["## Its run", "", _sentence(entry.story), ""]
    if f"{name}-strip.png" in pictures:
        text += [f"![{name}, poses at even times]({name}-strip.png){{ .drawn }}", ""]
        text += [f'<iframe class="player" src="{name}-run.html" title="the run of {name}" loading="lazy"></iframe>', ""]
    text += ["```bash", f"kempe run {name}", f"kempe info {name}", f"kempe counts {name}", "```", ""]
    text += [f"In Python: `ENTRIES[{name!r}]` of [the gallery](../{INDEX}).", ""]
    return "\n".join(text)


def _page(name: str) -> str:
    return f"gallery/{name}.md"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


def _cards(names: list[str], home) -> str:
    """Pictures beside each other that lead to the pages."""
    up = "../" * home.file.src_uri.count("/")
    cards = []
    for name in names:
        seen = f'<img src="{up}gallery/{name}.png" alt="" loading="lazy"><span>{name}</span>'
        cards.append(f'<a href="{up}gallery/{name}.html">{seen}</a>')
    return f'<div class="mechanisms">{"".join(cards)}</div>'


def _linked(row: str) -> str:
    """A row of the gallery's table, the names in its first cell as links."""
    _, first, rest = row.split("|", 2)
    first = re.sub(r"`([^`]+)`", lambda found: f"[`{found[1]}`]({_page(found[1])})", first)
    return f"|{first}|{rest}"
