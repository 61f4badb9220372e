"""A look-out for arithmetic that differs between processors: what of Kempe calls a BLAS, LAPACK or a C library.

`watch()` is called in a process of its own, before Kempe is imported. From then on every product of matrices of floats
by `@` in Kempe's text, and every call of the functions named here from there, is noted with its place in `FOUND`.
"""

import ast
import importlib.abc
import importlib.machinery
import math
import sys
from pathlib import Path

import numpy as np

FOUND: dict[str, int] = {}
HERE = Path(__file__).parents[1] / "kempe"
OF_NUMPY = """dot vdot inner tensordot einsum convolve sin cos tan arcsin arccos arctan arctan2 exp log exp2 log2 log10
              sinh cosh tanh hypot power cbrt sinc""".split()  # noqa: SIM905
OF_LINALG = [name for name in np.linalg.__all__ if name.islower()]
OF_MATH = "sin cos tan asin acos atan atan2 exp log hypot pow sinh cosh tanh dist".split()  # noqa: SIM905


def note(depth: int = 2) -> None:
    """The caller's caller, where that is in Kempe."""
    frame = sys._getframe(depth)
    if frame.f_globals.get("__name__", "").startswith("kempe"):
        where = f"{Path(frame.f_code.co_filename).relative_to(HERE)}:{frame.f_lineno}"
        FOUND[where] = FOUND.get(where, 0) + 1


def product(a, b):
    """a @ b, noted where both are arrays of floats."""
    if all(isinstance(x, np.ndarray) and x.dtype != object for x in (a, b)):
        note()
    return a @ b


class _Products(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        call = ast.Call(ast.Name("_fixed_order_product", ast.Load()), [node.left, node.right], [])
        return ast.copy_location(call, node)


class _Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        tree = ast.fix_missing_locations(_Products().visit(ast.parse(data)))
        return compile(tree, path, "exec", dont_inherit=True)

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module):
        module._fixed_order_product = product
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] != "kempe":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def _noted(function):
    def called(*given, **named):
        note()
        return function(*given, **named)

    return called


def watch() -> None:
    """Begins to look."""
    assert "kempe" not in sys.modules
    sys.meta_path.insert(0, _Finder())
    for module, names in ((np, OF_NUMPY), (np.linalg, OF_LINALG), (math, OF_MATH)):
        for name in names:
            if hasattr(module, name):
                setattr(module, name, _noted(getattr(module, name)))
