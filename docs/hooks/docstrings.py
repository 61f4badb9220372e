"""Docstrings as Markdown: where one explains parameters or fields, `name: meaning`, each becomes an item of a list."""

import re

import griffe


class Lists(griffe.Extension):
    """Rewrites docstrings once a package is loaded, when all names that they may explain are known."""

    def on_package(self, *, pkg: griffe.Module, **_) -> None:
        """All of the package."""
        rewrite(pkg)


def rewrite(found: griffe.Object) -> None:
    """Docstrings of an object and of all its members."""
    if found.docstring is not None:
        found.docstring.value = listed(found.docstring.value, names(found))
    for member in found.members.values():
        if not member.is_alias:
            rewrite(member)  # type: ignore[arg-type]


def names(found: griffe.Object) -> set[str]:
    """What a docstring may explain: parameters of a function, members and parameters of a class."""
    if isinstance(found, griffe.Function):
        return {parameter.name for parameter in found.parameters}
    if isinstance(found, griffe.Class):
        return set(found.members) | {parameter.name for parameter in found.parameters}
    return set()


def listed(text: str, known: set[str]) -> str:
    """The text, with its explanations as lists; other paragraphs on one line each, since summaries show the first."""
    name = "|".join(sorted(map(re.escape, known), key=len, reverse=True)) or "(?!)"
    one = rf"(?:{name})(?: \[[^\]]*\])?"
    label = re.compile(rf"(?:^|(?<=[.;] )|(?<=\n))(\s*)((?:{one})(?:(?:, | and )(?:{one}))*): ")
    paragraphs = []
    for paragraph in text.split("\n\n"):
        if not label.match(paragraph):
            paragraphs.append(" ".join(paragraph.split("\n")) if "\n " not in paragraph else paragraph)
            continue
        parts = label.split(paragraph)[1:]  # of every item: the space before it, its names, its meaning
        items = zip(parts[1::3], parts[2::3], strict=True)
        paragraphs.append("\n".join(f"- **{names}**: {' '.join(meaning.split())}" for names, meaning in items))
    return "\n\n".join(paragraphs)
