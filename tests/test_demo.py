"""The demonstration and the command: what it tells, the pictures and pages on disk, mistakes in a sentence."""

import re
import subprocess
import sys

import pytest
from rich.console import Console

import kempe as kp
from kempe.demo.show import show


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder, console = tmp_path_factory.mktemp("demo") / "deep" / "demo", Console(record=True, width=100)
    show(folder, console)
    return folder, console.export_text()


def test_pictures_and_pages_are_written(shown):
    folder, text = shown
    written = {path.name for path in folder.iterdir()}
    assert written == {"index.html", "excavator.html", "forces.png", "poses.png"}
    page = (folder / "index.html").read_text()
    assert set(re.findall(r'src="([^"]*)"', page)) == written - {"index.html"}
    assert not re.search("@[A-Z]", page)
    assert str(folder / "index.html") in text


def test_the_story_is_true(shown):
    _, text = shown
    text = " ".join(text.split())
    assert "4 loops, freedom 3 by rank where counting gives -9: 12 constraints are redundant; exact: 3 actuated" in text
    assert "so partition: generalized coordinates found by themselves" in text
    assert re.search(r"at most: boom cylinder \d+ kN, stick cylinder \d+ kN, bucket cylinder \d+ kN", text)
    result = text[text.index("loops closed to") :]
    closed, balanced, turned, faster, off = (float(x) for x in re.findall(r"-?[0-9.]+(?:e-?[0-9]+)?", result)[:5])
    assert closed < 1e-12
    assert balanced < 1e-7
    assert 100 < turned < 2000
    assert faster > 10
    assert off < 0.1


def run(*arguments):
    command = [sys.executable, "-c", "from kempe.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_version():
    assert run("--version").stdout == f"kempe {kp.__version__}\n"


def test_preparing_takes_every_integrator_a_step():
    done = run("prepare")
    assert done.returncode == 0
    assert "integrators are compiled and kept" in done.stdout


def test_a_folder_that_cannot_be_is_one_sentence_and_exit_code_2(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run("demo", "--folder", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "File exists" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_command_is_exit_code_2():
    done = run("fly")
    assert done.returncode == 2
    assert "No such command 'fly'" in done.stderr
