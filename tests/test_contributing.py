"""What contributors are told: links and anchors lead somewhere, commands are such as there are, hooks run."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import kempe

ROOT = Path(__file__).parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#([^)]*))?\)", (ROOT / page).read_text())
    assert targets
    for file, anchor in targets:
        assert (ROOT / file).exists(), file
        assert not anchor or anchor in anchors(ROOT / file), f"{file}#{anchor}"


def test_files_modules_and_goals_that_are_named_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for path in re.findall(r"(?:tests|docs|examples)/[\w./]*\w", text):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"-m (tests[\w.]*)", text):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
    goals = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= goals


def test_the_changelog_knows_this_version():
    versions = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert versions[0] == "Unreleased"
    assert kempe.__version__ in versions


def test_hooks_are_local_and_pass():
    (source,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert source["repo"] == "local"
    for hook in source["hooks"]:
        program, *rest = shlex.split(hook["entry"])
        assert (program, hook["language"]) == ("python", "system")
        done = subprocess.run([sys.executable, *rest, "tests", "examples"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_hooks_and_pages_call_is_installed_with_dev():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {re.split(r"[\[<>=]", line)[0] for part in ("docs", "test", "dev") for line in extras[part]}
    assert named >= {"ruff", "pyright", "pytest", "pytest-xdist", "pytest-cov", "pre-commit", "hatchling"}


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_templates_of_issues_are_forms(name):
    form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text())
    assert set(form) >= {"name", "description", "body"}
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(part["attributes"]["label"] for part in form["body"])
    assert {part["type"] for part in form["body"]} <= {"textarea", "input", "checkboxes", "dropdown", "markdown"}
