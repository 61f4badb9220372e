"""The code of a page: its blocks, what they print, and the pictures and players they write, shown where it says so.

A block of text right below a block of Python is what that prints. `<!-- show four-bar.png: words -->` stands for a file
that the blocks above it write: a picture, or a page that plays a run. GitHub shows nothing there.
"""

import os
import re
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^<!-- show (?P<file>\S+): (?P<words>.*?) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of Python, what the page says it prints (None: nothing is said), and the line it begins in."""

    code: str
    printed: str | None
    line: int


def blocks(text: str) -> list[Block]:
    """Those of a page, from top to bottom."""
    return [Block(found[1], found[2], text[: found.start()].count("\n") + 2) for found in BLOCK.finditer(text)]


def run(text: str, path: str) -> Iterator[tuple[Block, str]]:
    """Runs a page's blocks one after the other, in the folder there is; each with what it really printed."""
    names = {"__name__": "__main__"}
    for block in blocks(text):
        out = StringIO()
        with redirect_stdout(out):
            exec(compile("\n" * (block.line - 1) + block.code, path, "exec"), names)
        yield block, out.getvalue()


def on_page_markdown(markdown: str, page, config, files, **_) -> str:
    """The page with what its code writes; without it in a quick build."""
    wanted = [found["file"] for found in SHOWN.finditer(markdown)]
    if not wanted or config.extra["quick"]:
        return SHOWN.sub("", markdown)
    from mkdocs.structure.files import File
    from mkdocs.utils import get_relative_url

    os.environ["MPLBACKEND"] = "Agg"
    with TemporaryDirectory() as folder, chdir(folder):
        for _done in run(markdown, page.file.src_uri):
            pass
        written = {name: Path(name).read_bytes() for name in wanted}
    home = page.file.src_uri.removesuffix(".md")
    urls = {}
    for name, content in written.items():
        made = File.generated(config, f"{home}-shows/{name}", content=content)
        files.append(made)
        urls[name] = get_relative_url(made.url, page.url)

    def shown(found: re.Match) -> str:
        return figure(urls[found["file"]], found["words"])

    return SHOWN.sub(shown, markdown)


def figure(url: str, words: str) -> str:
    """A picture, or a player, with words below it."""
    if url.endswith(".html"):
        seen = f'<iframe class="player" src="{url}" title="{words}" loading="lazy"></iframe>'
    else:
        seen = f'<img src="{url}" alt="{words}" loading="lazy">'
    return f"<figure>{seen}<figcaption>{words}</figcaption></figure>"
