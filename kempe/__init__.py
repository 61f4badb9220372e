"""Kempe, a compiler for mechanisms: describe bodies and joints, get fast and exact dynamics, every loop closed.

Names load when they are first used, so that `import kempe` stays light.
"""

from math import pi
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kempe.compiler.compose import Composer
    from kempe.compiler.count import Counts, count
    from kempe.compiler.interpret import interpret
    from kempe.compiler.kernel import Kernel
    from kempe.compiler.program import Program
    from kempe.compiler.trace import trace
    from kempe.control import motions
    from kempe.errors import KempeError
    from kempe.mechanism.bodies import Box, Cylinder, Hub, Lump, Plate, PointMass, Rod, Sphere
    from kempe.mechanism.files import load
    from kempe.mechanism.mechanism import Mechanism
    from kempe.model.model import Model
    from kempe.model.state import State

__version__ = "0.1.0"

deg = pi / 180  # radians in a degree: 30 * kp.deg
mm = 1e-3  # metres in a millimetre

# Every public name that is loaded when it is first used, and the module or package it lives in.
_HOME = {
    "Composer": "kempe.compiler.compose",
    "Counts": "kempe.compiler.count",
    "KempeError": "kempe.errors",
    "Kernel": "kempe.compiler.kernel",
    "Mechanism": "kempe.mechanism.mechanism",
    "Model": "kempe.model.model",
    "Program": "kempe.compiler.program",
    "State": "kempe.model.state",
    "count": "kempe.compiler.count",
    "interpret": "kempe.compiler.interpret",
    "load": "kempe.mechanism.files",
    "motions": "kempe.control",
    "trace": "kempe.compiler.trace",
} | dict.fromkeys(("Box", "Cylinder", "Hub", "Lump", "Plate", "PointMass", "Rod", "Sphere"), "kempe.mechanism.bodies")

__all__ = [
    "Box",
    "Composer",
    "Counts",
    "Cylinder",
    "Hub",
    "KempeError",
    "Kernel",
    "Lump",
    "Mechanism",
    "Model",
    "Plate",
    "PointMass",
    "Program",
    "Rod",
    "Sphere",
    "State",
    "__version__",
    "count",
    "deg",
    "interpret",
    "load",
    "mm",
    "motions",
    "trace",
]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"kempe has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(__import__(_HOME[name], fromlist=[name]), name)  # as `from .. import name` does, modules included
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
