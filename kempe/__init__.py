"""Kempe, a compiler for mechanisms: describe bodies and joints, get fast and exact dynamics, every loop closed.

Names load when they are first used, so that `import kempe` stays light.
"""

from math import pi
from time import time as _time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kempe.analyze.supports import Support
    from kempe.compiler.compose import Composer
    from kempe.compiler.count import Counts, count
    from kempe.compiler.interpret import interpret
    from kempe.compiler.kernel import Kernel
    from kempe.compiler.program import Program
    from kempe.compiler.trace import trace
    from kempe.control import motions
    from kempe.control.laws import Law, computed_torque, feedforward, pd
    from kempe.errors import FileError, KempeError, MechanismError, MotionError, NotClosed, Singular, StateError
    from kempe.formats.loading import load
    from kempe.mechanics.state import State
    from kempe.mechanism.bodies import Box, Cylinder, Hub, Lump, Plate, PointMass, Rod, Sphere
    from kempe.mechanism.mechanism import Mechanism
    from kempe.mechanism.solids import Ellipsoid, MeshFile
    from kempe.model.model import Model
    from kempe.results.outcome import Outcome
    from kempe.results.trajectory import Trajectory
    from kempe.simulate.drive import Command, Sampled, Table
    from kempe.simulate.events import Event
    from kempe.simulate.stops import Stops
    from kempe.simulate.switches import Switch

__version__ = "0.1.0"
_loaded = _time()  # of Kempe's text, this process may not have read what was written later

deg = pi / 180  # radians in a degree: 30 * kp.deg
mm = 1e-3  # metres in a millimetre

# Every public name that is loaded when it is first used, and the module or package it lives in.
_HOME = {
    "Command": "kempe.simulate.drive",
    "Composer": "kempe.compiler.compose",
    "Counts": "kempe.compiler.count",
    "Ellipsoid": "kempe.mechanism.solids",
    "Event": "kempe.simulate.events",
    "FileError": "kempe.errors",
    "KempeError": "kempe.errors",
    "Kernel": "kempe.compiler.kernel",
    "Law": "kempe.control.laws",
    "Mechanism": "kempe.mechanism.mechanism",
    "MechanismError": "kempe.errors",
    "MeshFile": "kempe.mechanism.solids",
    "Model": "kempe.model.model",
    "MotionError": "kempe.errors",
    "NotClosed": "kempe.errors",
    "Outcome": "kempe.results.outcome",
    "Program": "kempe.compiler.program",
    "Sampled": "kempe.simulate.drive",
    "Singular": "kempe.errors",
    "State": "kempe.mechanics.state",
    "StateError": "kempe.errors",
    "Stops": "kempe.simulate.stops",
    "Support": "kempe.analyze.supports",
    "Switch": "kempe.simulate.switches",
    "Table": "kempe.simulate.drive",
    "Trajectory": "kempe.results.trajectory",
    "computed_torque": "kempe.control.laws",
    "count": "kempe.compiler.count",
    "feedforward": "kempe.control.laws",
    "interpret": "kempe.compiler.interpret",
    "load": "kempe.formats.loading",
    "motions": "kempe.control",
    "pd": "kempe.control.laws",
    "trace": "kempe.compiler.trace",
} | dict.fromkeys(("Box", "Cylinder", "Hub", "Lump", "Plate", "PointMass", "Rod", "Sphere"), "kempe.mechanism.bodies")

__all__ = [
    "Box",
    "Command",
    "Composer",
    "Counts",
    "Cylinder",
    "Ellipsoid",
    "Event",
    "FileError",
    "Hub",
    "KempeError",
    "Kernel",
    "Law",
    "Lump",
    "Mechanism",
    "MechanismError",
    "MeshFile",
    "Model",
    "MotionError",
    "NotClosed",
    "Outcome",
    "Plate",
    "PointMass",
    "Program",
    "Rod",
    "Sampled",
    "Singular",
    "Sphere",
    "State",
    "StateError",
    "Stops",
    "Support",
    "Switch",
    "Table",
    "Trajectory",
    "__version__",
    "computed_torque",
    "count",
    "deg",
    "feedforward",
    "interpret",
    "load",
    "mm",
    "motions",
    "pd",
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
