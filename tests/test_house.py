"""The house in order: who may import whom, how long a module is, how light the import, how the code is laid out."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import kempe

ROOT = Path(kempe.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# Data flows one way: a part of the house may import the parts named here, and itself, when it runs; what only
# annotations need is imported for type checkers alone, and does not count.
LOW = {"errors", "kinds"}
DESCRIBED = LOW | {"arithmetic", "mechanism", "spatial"}
COMPUTED = DESCRIBED | {"compiler", "dynamics", "kernels", "topology"}
MAY_IMPORT = {
    "errors": set(),
    "kinds": set(),
    "whole": {"errors"},
    "bounded": {"errors"},
    "compiler": LOW,
    "arithmetic": {"compiler"},
    "spatial": {"arithmetic"},
    "mechanism": LOW | {"arithmetic", "bounded", "spatial"},
    "formats": LOW | {"bounded", "mechanism", "spatial", "whole"},
    "topology": LOW | {"arithmetic", "mechanism", "whole"},
    "dynamics": DESCRIBED | {"topology"},
    "check": DESCRIBED | {"dynamics", "topology"},
    "kernels": COMPUTED - {"kernels"},
    "view": LOW | {"formats", "mechanism", "spatial", "whole"},
    "mechanics": COMPUTED | {"view"},
    "loops": COMPUTED | {"mechanics"},
    "kinetics": COMPUTED | {"mechanics", "loops"},
    "control": LOW | {"dynamics", "mechanics", "spatial"},
    "integrate": {"compiler", "errors"},
    "analyze": COMPUTED | {"mechanics", "loops", "kinetics"},
    "results": LOW | {"analyze", "bounded", "kinetics", "mechanics", "mechanism", "view", "whole"},
    "simulate": COMPUTED | {"mechanics", "loops", "kinetics", "control", "integrate", "analyze", "results", "whole"},
    "model": COMPUTED | {"mechanics", "loops", "kinetics", "analyze", "simulate", "check"},
    "gallery": LOW | {"arithmetic", "control", "mechanics", "mechanism", "model", "results", "spatial"},
    "papers": COMPUTED | {"mechanics", "control", "gallery", "model", "results", "whole"},
    "commands": COMPUTED
    | {"mechanics", "loops", "model", "analyze", "check", "control", "formats", "gallery", "papers"}
    | {"results", "simulate", "whole"},
    "demo": {"gallery", "whole"},
    "cli": LOW | {"commands", "demo", "gallery", "papers"},
    "__main__": {"cli"},
}
# Methods that hand an object on to later stages; they import when they are called.
DOORS = {
    "analyze/workspace.py": {"results"},
    "mechanism/mechanism.py": {"check", "formats", "topology"},
}
BY_NAME = {"mechanism/mechanism.py": "kempe.model.compiling"}  # the one later stage that is imported by its name
CYCLE = 3  # modules that may import each other, lazily or not
HEAVY = ("casadi", "llvmlite", "numba", "scipy", "matplotlib", "typer", "rich", "numpy")


def part(path: Path) -> str:
    """The part of the house a module belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The modules of Kempe, or names in them, that a module imports when it runs, anywhere in its text."""
    tree, found, typed = ast.parse(path.read_text()), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            typed |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in typed:
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{path}: relative import in line {node.lineno}; write it from the top")
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("kempe.")}


def imported_parts(path: Path) -> set[str]:
    """The parts of Kempe that these are in."""
    return {name.split(".")[1] for name in imported(path)}


@pytest.mark.parametrize("path", [p for p in MODULES if p.parent != ROOT or p.name != "__init__.py"], ids=str)
def test_imports_go_one_way(path):
    own = part(path)
    assert own in MAY_IMPORT, f"say in MAY_IMPORT what {own!r} may import"
    public = {name for name in imported_parts(path) if name in kempe.__all__}
    doors = DOORS.get(path.relative_to(ROOT).as_posix(), set())
    assert imported_parts(path) - public <= MAY_IMPORT[own] | {own} | doors


def test_no_more_than_three_modules_import_each_other():
    names = {".".join(p.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): p for p in MODULES}
    graph = nx.DiGraph()
    for name, path in names.items():
        if name != "kempe":  # it loads everything, by name
            each = {x if x in names else x.rpartition(".")[0] for x in imported(path)}
            graph.add_edges_from((name, other) for other in each if other in names and other not in (name, "kempe"))
    cycles = [sorted(cycle) for cycle in nx.strongly_connected_components(graph)]
    assert max(map(len, cycles)) <= CYCLE, max(cycles, key=len)


def test_later_stages_are_imported_by_name_in_one_place_only():
    found = {}
    for path in MODULES:
        for name in re.findall(r"import_module\(([^)]*)\)", path.read_text()):
            found[path.relative_to(ROOT).as_posix()] = name.strip('"')
    assert found == BY_NAME


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
