"""Kernels: programs and native code of the functions of a set of equations, each built on first use."""

import casadi as ca

from kempe.compiler.kernel import Kernel
from kempe.compiler.program import Program
from kempe.compiler.recall import recalled
from kempe.compiler.trace import trace
from kempe.dynamics.equations import Equations
from kempe.dynamics.function import Function
from kempe.errors import StateError
from kempe.kernels import blocks, loop_blocks
from kempe.mechanism.bodies import Marker


class Kernels:
    """The kernels of one set of equations. Programs are cached on disk by everything they are traced from
    (`recalled`).
    """

    def __init__(self, equations: Equations):
        self.equations = equations
        self._kernels: dict[str, Kernel] = {}

    def described(self, name: str) -> Function:
        """The inputs and outputs of a function."""
        functions = self.equations.functions()
        if name not in functions:
            raise StateError(f"there is no function {name!r}; there are {', '.join(functions)}")
        return functions[name]

    def program(self, name: str) -> Program:
        """A function as a program."""
        if name not in loop_blocks.FUNCTIONS:
            self.described(name)
        return recalled_program(self.equations, name)

    def kernel(self, name: str) -> Kernel:
        """A function as native code."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(self.program(name))
        return self._kernels[name]

    def casadi(self, name: str, marker: Marker | None = None) -> ca.Function:
        """A function as a CasADi function, for optimization."""
        if marker is None:
            return self.equations.casadi(name, self.described(name))
        return self.equations.casadi(name, self._of_marker(marker, name))

    def marker_kernel(self, name: str, marker: Marker) -> Kernel:
        """Kinematics of a marker as native code, built now; the marker is on a body of the equations' own mechanism."""
        described = self._of_marker(marker, name)
        return Kernel(recalled(lambda: _traced(self.equations, name, described), self.equations, marker, name))

    def _of_marker(self, marker: Marker, name: str) -> Function:
        functions = self.equations.marker_functions(marker)
        if name not in functions:
            raise StateError(f"there is no function {name!r} of a marker; there are {', '.join(functions)}")
        return functions[name]


def recalled_program(equations: Equations, name: str) -> Program:
    """A function of these equations as a program, from the cache or traced now."""
    return recalled(lambda: function_program(equations, name), equations, name)


def function_program(equations: Equations, name: str) -> Program:
    """The same, traced now; in repeated blocks where they are better."""
    if name == "driven_dynamics" and blocks.repeats(equations):
        parts = ("fitness", "residual", "loop_slip")
        return blocks.driven(equations, *(recalled_program(equations, part) for part in parts))
    repeated = blocks.program(equations, name) or loop_blocks.program(equations, name)
    return repeated or _traced(equations, name, equations.functions()[name])


def _traced(equations: Equations, name: str, described: Function) -> Program:
    function, sizes = equations.casadi(name, described), zip(described.outputs, described.kinds, strict=True)
    shapes = {n: () if kind == "scalar" else function.size_out(n) for n, kind in sizes if kind != "vector"}
    return trace(function, outputs=shapes)
