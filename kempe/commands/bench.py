"""`kempe bench`: compares Kempe with other libraries, in a separate environment next to the sources."""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

from kempe.errors import FileError, MissingPackage

ENVIRONMENT = ".bench"
# Optional: two libraries, and the headers that Pinocchio's C++ needs to be compiled.
OPTIONAL = {
    "exudyn": "Exudyn is not measured",
    "drake": "Drake is not measured",
    "cmeel-eigen": "Pinocchio's C++ is not measured in a compiled loop of its own",
}


def bench(root: Path, options: Sequence[str], tell: Callable[[str], None]) -> int:
    """Measures with the options of `python -m benchmarks`, and returns its exit code; tell: reports progress."""
    python = environment(sources(root), tell)
    tell("measuring; it takes from minutes to an hour")
    # Code compiled for the measurements is kept with the environment.
    kept = {**os.environ, "KEMPE_BENCH_DIR": str(root / ENVIRONMENT / "compiled"), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([str(python), "-m", "benchmarks", *options], cwd=root, env=kept).returncode


def sources(root: Path) -> Path:
    """The folder of the sources, which has the measurements; raises if Kempe was installed without."""
    if not ((root / "benchmarks" / "__main__.py").exists() and (root / "pyproject.toml").exists()):
        raise FileError(
            "the measurements come with the sources of Kempe, not with its wheel: get the sources, install them with "
            "`pip install -e .`, and run `kempe bench` again"
        )
    return root


def environment(root: Path, tell: Callable[[str], None], run: Callable = subprocess.run) -> Path:
    """The Python of the environment, which is created again if `pyproject.toml` or Python changed."""
    folder = root / ENVIRONMENT
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, wanted = folder / "installed", _digest(root)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    tell(f"making an environment in {folder}")
    venv.create(folder, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    tell("installing Kempe, Pinocchio and MuJoCo")
    done = run([*install, "-e", f"{root}[bench]"], capture_output=True, text=True)
    if done.returncode:
        raise MissingPackage(f"the environment for measurements could not be created; pip says: {_last(done.stderr)}")
    for package, otherwise in OPTIONAL.items():
        tell(f"installing {package}")
        if run([*install, package], capture_output=True, text=True).returncode:
            tell(f"{package} does not install here: {otherwise}")
    stamp.write_text(wanted)
    return python


def _digest(root: Path) -> str:
    text = (root / "pyproject.toml").read_bytes() + sys.version.encode() + repr(OPTIONAL).encode()
    return hashlib.sha256(text).hexdigest()


def _last(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing").strip()
