"""The demonstration and the command: what it tells, the pictures and pages on disk, mistakes in a sentence."""

import re
import subprocess
import sys

import pytest
from rich.console import Console

import kempe as kp
from kempe.demo.show import show

FILES = ("four-bar", "excavator")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder, console = tmp_path_factory.mktemp("demo") / "deep" / "demo", Console(record=True, width=100)
    show(folder, console)
    return folder, console.export_text()


def test_pictures_and_pages_are_written(shown):
    folder, text = shown
    written = {path.name for path in folder.iterdir()}
    assert written == {"index.html"} | {n + end for n in FILES for end in (".html", ".png", "-strip.png")}
    page = (folder / "index.html").read_text()
    assert set(re.findall(r'src="([^"]*)"', page)) == written - {"index.html"}
    assert not re.search("@[A-Z]", page)
    assert str(folder / "index.html") in text


def test_the_story_is_true(shown):
    _, text = shown
    assert "1 loop, freedom 1 by rank where counting gives -2: 3 constraints are redundant" in text
    assert "4 loops, freedom 3 by rank where counting gives -9: 12 constraints are redundant" in text
    assert text.count("so partition: generalized coordinates found by themselves") == 2
    closed = [float(x) for x in re.findall(r"closed to ([0-9e.+-]+)", text)]
    assert len(closed) == 2
    assert max(closed) < 1e-12
    assert float(re.search(r"energy to ([0-9e.+-]+) of", text)[1]) < 1e-9
    assert float(re.search(r"on the motion to ([0-9e.+-]+) mm", text)[1]) < 0.1


def run(*arguments):
    command = [sys.executable, "-c", "from kempe.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_version():
    assert run("--version").stdout == f"kempe {kp.__version__}\n"


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
