"""The house in order: who may import whom, how long a module is, how light the import, how the code is laid out."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kempe

ROOT = Path(kempe.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# Data flows one way: a part of the house may import the parts named here, and itself.
MAY_IMPORT = {
    "errors": set(),
    "kinds": set(),
    "whole": {"errors"},
    "bounded": {"errors"},
    "compiler": {"errors", "kinds"},
    "arithmetic": {"compiler"},
    "spatial": {"arithmetic", "errors", "kinds"},
    "mechanism": {"arithmetic", "bounded", "spatial", "errors", "kinds", "whole"},
    "formats": {"arithmetic", "bounded", "mechanism", "spatial", "errors", "kinds", "whole"},
    "topology": {"arithmetic", "mechanism", "spatial", "errors", "kinds", "whole"},
    "dynamics": {"arithmetic", "topology", "mechanism", "spatial", "errors", "kinds"},
    "check": {"arithmetic", "dynamics", "topology", "mechanism", "spatial", "errors", "kinds"},
    "model": {"arithmetic", "check", "compiler", "dynamics", "topology", "mechanism", "spatial", "errors", "kinds"},
    "analyze": {"arithmetic", "model", "compiler", "dynamics", "topology", "mechanism", "spatial", "errors", "kinds"},
    "control": {"model", "dynamics", "topology", "mechanism", "spatial", "errors", "kinds"},
    "results": {"analyze", "bounded", "model", "mechanism", "errors", "kinds", "whole"},
    "simulate": {
        "arithmetic",
        "analyze",
        "results",
        "control",
        "model",
        "compiler",
        "dynamics",
        "topology",
        "mechanism",
        "spatial",
        "errors",
        "kinds",
        "whole",
    },
    "view": {"model", "formats", "mechanism", "topology", "spatial", "errors", "kinds", "whole"},
    "gallery": {
        "arithmetic",
        "results",
        "control",
        "model",
        "compiler",
        "dynamics",
        "mechanism",
        "spatial",
        "errors",
        "kinds",
        "whole",
    },
    "commands": {
        "analyze",
        "check",
        "control",
        "formats",
        "gallery",
        "results",
        "simulate",
        "model",
        "compiler",
        "dynamics",
        "topology",
        "mechanism",
        "errors",
        "kinds",
        "whole",
    },
    "demo": {"gallery", "whole"},
    "cli": {"commands", "demo", "gallery", "errors", "kinds"},
    "__main__": {"cli"},
}
# Methods that hand an object on to later stages; they import when they are called.
DOORS = {
    "analyze/workspace.py": {"results"},
    "mechanism/mechanism.py": {"analyze", "check", "formats", "model", "topology"},
    "model/model.py": {"simulate", "results", "control"},
    "model/dynamics.py": {"analyze", "simulate", "results", "control"},
    "model/loops.py": {"analyze", "simulate", "results", "control"},
    "model/state.py": {"view"},
    "results/trajectory.py": {"view"},
}
HEAVY = ("casadi", "llvmlite", "numba", "scipy", "matplotlib", "typer", "rich", "numpy")


def part(path: Path) -> str:
    """The part of the house a module belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """The parts of Kempe that a module imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{path}: relative import in line {node.lineno}; write it from the top")
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" if node.module == "kempe" else node.module for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("kempe.")}
    return found


@pytest.mark.parametrize("path", [p for p in MODULES if p.parent != ROOT or p.name != "__init__.py"], ids=str)
def test_imports_go_one_way(path):
    own = part(path)
    assert own in MAY_IMPORT, f"say in MAY_IMPORT what {own!r} may import"
    public = {name for name in imported_parts(path) if name in kempe.__all__}
    doors = DOORS.get(path.relative_to(ROOT).as_posix(), set())
    assert imported_parts(path) - public <= MAY_IMPORT[own] | {own} | doors


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_is_one_sentence_and_at_most_400_lines(path):
    text = path.read_text()
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "what is it?"
    assert docstring.splitlines()[0].rstrip().endswith((".", ":", ","))
    assert len(text.splitlines()) <= 400


def test_no_module_is_a_drawer():
    assert not {p.stem for p in MODULES} & {"utils", "helpers", "common", "misc", "core"}


def test_importing_kempe_loads_nothing_heavy():
    code = "import sys, kempe; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & set(HEAVY)


def test_public_names_are_there_and_told_to_type_checkers():
    for name in kempe.__all__:
        assert getattr(kempe, name) is not None
    assert dir(kempe) == kempe.__all__
    assert set(kempe._HOME) <= set(kempe.__all__)
    tree = ast.parse((ROOT / "__init__.py").read_text())
    (checking,) = [node for node in tree.body if isinstance(node, ast.If)]
    shown = {alias.name: node.module for node in checking.body for alias in node.names}
    assert shown == kempe._HOME
    with pytest.raises(AttributeError, match="kempe has no 'Mechanims'"):
        kempe.Mechanims  # noqa: B018


def test_the_code_is_formatted_and_clean():
    for arguments in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *arguments, str(ROOT.parent)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
