"""What is packed: a wheel built from the source archive works in an environment of its own, with all of its files."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import kempe

ROOT = Path(__file__).parent.parent
PENDULUM = """
import kempe as kp, numpy as np
m = kp.Mechanism("pendulum", gravity=(0, -9.81, 0))
m.revolute("hinge", m.ground.origin, m.rod("rod", length=0.5, mass=2.0).start)
print(kp.__file__, kp.__version__, *m.compile().forward_dynamics([0.3], [0.0]))
"""


def packed(folder: Path) -> set[str]:
    """Files of a package, by their paths in it, without what Python writes."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in files}


def done(*command, **options) -> str:
    """The output of a command that is to succeed; Kempe's own folder is not on its path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    found = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment, **options)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive, and the wheel that is built from it alone. Nothing is fetched."""
    folder = tmp_path_factory.mktemp("dist")
    done(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    pip = sys.executable, "-m", "pip", "--disable-pip-version-check"
    done(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, archive)
    (wheel,) = folder.glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A bare environment with the wheel in it, which borrows nothing but what Kempe depends on."""
    folder = tmp_path_factory.mktemp("bare")
    done(sys.executable, "-m", "venv", "--without-pip", folder)
    python = next(path for path in (folder / "bin/python", folder / "Scripts/python.exe") if path.exists())
    options = "--no-deps", "--no-index", "--no-compile", "--quiet"
    done(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", *options, built[1])
    site = Path(done(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    # A path in a .pth file is only added: the .pth files in that folder, of an editable Kempe too, are not read.
    (site / "dependencies.pth").write_text("\n".join({sysconfig.get_path(kind) for kind in ("purelib", "platlib")}))
    return python, site


def test_the_source_archive_has_what_it_takes_to_test_and_document(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "mkdocs.yml"}
    assert {name.split("/")[0] for name in names} >= {"kempe", "tests", "docs", "examples", "benchmarks"}
    assert not [name for name in names if name.endswith(".pyc")]


def test_a_wheel_has_every_file_of_the_package_and_nothing_else(built, tmp_path):
    with zipfile.ZipFile(built[1]) as wheel:
        wheel.extractall(tmp_path)
    own = packed(ROOT / "kempe")
    assert {Path(name).suffix for name in own} >= {".py", ".html", ".js", ".css", ".typed"}
    assert packed(tmp_path / "kempe") == own
    for name in own:
        assert (tmp_path / "kempe" / name).read_bytes() == (ROOT / "kempe" / name).read_bytes(), name
    (rest,) = (folder.name for folder in tmp_path.iterdir() if folder.name != "kempe")
    assert rest == f"kempe-{kempe.__version__}.dist-info"
    assert (tmp_path / rest / "licenses/LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_runs_from_another_folder(installed, tmp_path):
    python, site = installed
    listed = done(python.parent / "kempe", "list", cwd=tmp_path)
    assert "four-bar" in listed
    file, version, acceleration = done(python, "-c", PENDULUM, cwd=tmp_path).split()
    assert Path(file).is_relative_to(site)
    assert version == kempe.__version__
    assert float(acceleration) == pytest.approx(-1.5 * 9.81 / 0.5 * np.cos(0.3), rel=1e-12)
