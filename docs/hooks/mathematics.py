"""Formulas as MathML, worked out while the site is built: readers need no script, and what cannot be read ends it.

Brackets grow with what they hold only in a font made for that, which not every machine has. The site brings the
characters that it needs of STIX Two Math (SIL Open Font License 1.1), as the package ziamath has it.
"""

import html
import re
from importlib.resources import files as resources
from io import BytesIO
from xml.etree import ElementTree

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
TAG = re.compile(r"\\tag\{([^{}]*)\}")
ITALIC = {*range(0x1D434, 0x1D468), *range(0x1D6FC, 0x1D71C), 0x210E}  # what letters become that stand by themselves
MATHML = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATHML)
# Signs that stand over a letter, of \dot, \ddot, \bar, \hat and \tilde, and how the font has them.
ACCENTS = {"\u02d9": "\u02d9", "\u00a8": "\u00a8", "\u00af": "\u00af", "^": "\u02c6", "~": "\u02dc"}
PASSED_OVER = {
    r"\\[A-Za-z]+": "latex2mathml does not know this command",
    r"<mi>&</mi>": "columns need an environment, such as aligned or bmatrix",
    r'linebreak="newline"': "lines need an environment, such as aligned",
}


def on_page_content(content: str, page, **_) -> str:
    """The page with its formulas put in."""

    def shown(found: re.Match) -> str:
        text = html.unescape(found[2]).strip()
        try:
            return block(text) if found[1] == "div" else inline(text)
        except Exception as error:
            raise PluginError(f"{page.file.src_uri}: the formula {text!r} cannot be read: {error}") from error

    return FORMULA.sub(shown, content)


def on_env(env, config, files, **_):
    """Adds the font, when all formulas are known."""
    pages = "".join(file.page.content for file in files.documentation_pages())
    used = html.unescape("".join(re.findall(r"<math.*?</math>", pages, re.DOTALL)))
    files.append(File.generated(config, "theme/mathematics.woff", content=font({*map(ord, used)} | ITALIC)))
    return env


def font(characters: set[int]) -> bytes:
    """The characters, and what they are stretched to, as a font for browsers."""
    whole = TTFont(str(resources("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"))
    subsetter = Subsetter(Options(layout_features=["ssty"], notdef_outline=True))
    subsetter.populate(unicodes=characters)
    subsetter.subset(whole)
    whole.flavor, out = "woff", BytesIO()
    whole.save(out)
    return out.getvalue()


def inline(text: str) -> str:
    """A formula within a line."""
    return mathml(text)


def block(text: str) -> str:
    """A formula on a line of its own, with the number of its \\tag, if it has one, at the right."""
    tags = TAG.findall(text)
    if len(tags) > 1:
        raise ValueError("it has several \\tag; give every numbered equation $$ .. $$ of its own")
    number = f'<span class="equation-number">({html.escape(tags[0])})</span>' if tags else ""
    return f'<div class="equation">{mathml(TAG.sub("", text), display="block")}{number}</div>'


def mathml(text: str, **options: str) -> str:
    """MathML of what latex2mathml understands; what it would pass over, or print as it stands, raises."""
    bare = text.replace(r"\{", "").replace(r"\}", "")
    if bare.count("{") != bare.count("}"):
        raise ValueError("braces do not match")
    found = convert(text.replace("{aligned}", "{split}"), **options)  # the same, under the one name that it knows
    for sign, why in PASSED_OVER.items():
        seen = re.search(sign, found)
        if seen:
            raise ValueError(f"{seen[0]}: {why}")
    return drawn_well(found)


def drawn_well(mathml: str) -> str:
    """The same, put right where browsers would draw it badly.

    What stands over a letter is as large as there: else it is as small as an exponent, or, as an accent of this font,
    which has it low already, goes through the letter. Bars grow only where \\left and \\right say so.
    """
    root = ElementTree.fromstring(mathml)
    for bar in root.iter(f"{{{MATHML}}}mo"):
        if bar.text in ("|", "\u2016") and "stretchy" not in bar.attrib:
            bar.set("stretchy", "false")
    for over in root.iter(f"{{{MATHML}}}mover"):
        above = over[-1]
        if above.text in ACCENTS:
            above.text = ACCENTS[above.text]
            above.set("scriptlevel", "0")
            over.attrib.pop("accent", None)
    return ElementTree.tostring(root, encoding="unicode")
