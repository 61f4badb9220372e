"""Kempe, a compiler for mechanisms: describe bodies and joints, get fast and exact dynamics, every loop closed.

Names load when they are first used, so that `import kempe` stays light.
"""

from importlib import import_module
from math import pi

__version__ = "0.1.0"

deg = pi / 180  # radians in a degree: 30 * kp.deg
mm = 1e-3  # metres in a millimetre

# Every public name and the module it lives in.
_HOME = {
    "Composer": "kempe.compiler.compose",
    "Counts": "kempe.compiler.count",
    "Kernel": "kempe.compiler.kernel",
    "Program": "kempe.compiler.program",
    "count": "kempe.compiler.count",
    "interpret": "kempe.compiler.interpret",
    "trace": "kempe.compiler.trace",
    "KempeError": "kempe.errors",
}

__all__ = ["__version__", "deg", "mm", *_HOME]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"kempe has no {name!r}; it has {', '.join(sorted(__all__))}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
