"""The site builds with no warning, has every page and formula, and fetches nothing from anywhere else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mkdocs.exceptions import PluginError

import kempe as kp
from docs.hooks import docstrings, mathematics
from kempe.gallery.entries import ENTRIES

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built once, quickly: without the pictures that take simulations."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "KEMPE_QUICK_SITE": "true", "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there_and_none_fetches_anything_from_elsewhere(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    docs = ROOT / "docs"
    written = {path.relative_to(docs).with_suffix(".html").as_posix() for path in docs.rglob("*.md")}
    assert pages >= written | {f"gallery/{name}.html" for name in ENTRIES}
    fetched = re.compile(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\W?(?:https?:)?//")
    for page in pages:
        assert not fetched.search((site / page).read_text()), page
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()[^;)]*//", style.read_text()), style


def test_every_public_name_is_in_the_reference(site):
    text = "".join(path.read_text() for path in (site / "reference").glob("*.html"))
    for name in kp.__all__:
        assert f'id="kempe.{name}"' in text or f"<code>kp.{name}</code>" in text, name


def test_formulas_become_mathml_with_their_numbers():
    text = r"\ddot{y} = A^{-1} (\tau_G - b) \tag{24}"
    found = mathematics.block(text)
    assert found.count("<math") == 1
    assert '<span class="equation-number">(24)</span>' in found
    assert "tag" not in re.sub(r"<[^>]*>", "", found)
    assert "<mfrac>" in mathematics.inline(r"\frac{1}{2} m v^2")
    assert '<mo scriptlevel="0">\u02d9</mo>' in mathematics.inline(r"\dot q")


@pytest.mark.parametrize(
    "text", [r"\frac{1}{2", r"\nosuchcommand x", r"a \\ b", "a & b", r"\left( x", r"a \tag{1} b \tag{2}"]
)
def test_formulas_that_cannot_be_read_end_the_build(text):
    class Page:
        class file:
            src_uri = "theory.md"

    content = f'<div class="arithmatex">\\[{text}\\]</div>'
    with pytest.raises(PluginError, match=r"theory\.md: the formula .* cannot be read"):
        mathematics.on_page_content(content, page=Page)


def test_docstrings_that_explain_names_become_lists():
    text = "A state.\n\nnear: values, or a state:\n    to stay by. rates, q [rad]: of joints. Not one: so it stays."
    found = docstrings.listed(text, {"near", "rates", "q"})
    assert found.splitlines() == [
        "A state.",
        "",
        "- **near**: values, or a state: to stay by.",
        "- **rates, q [rad]**: of joints. Not one: so it stays.",
    ]
    assert docstrings.listed("Gives near: nothing else.", {"near"}) == "Gives near: nothing else."
