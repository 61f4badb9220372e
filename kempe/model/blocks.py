"""Long trees as repeated blocks: each step of a recursion is traced once for all links built alike.

Two links are built alike when their joints are of one kind, their placements made of the same moves, and the same of
their numbers are exact zeros and ones. Those stay part of the block, and cost nothing; all other numbers become data
that each call brings along.
"""

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from kempe.compiler.compose import Composer
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.equations import Equations
from kempe.dynamics.recursions import UPPER
from kempe.dynamics.tree import Link
from kempe.mechanism.joints import Helical
from kempe.mechanism.mechanism import PER_FREEDOM
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Rotation, Shift, Turn
from kempe.spatial.vectors import array, from_sx, to_sx

LONG = 20  # links; a shorter tree is one block, in which everything is shared
SYSTEM_OUTPUTS = ("qdot", "vdot", "zdot", "u", "stops", "health", "fit")


def program(equations: Equations, name: str) -> Program | None:
    """The repeated-block form of forward or inverse dynamics; None where the plain form serves better."""
    if not repeats(equations):
        return None
    tree = equations.constant_tree
    recorder = _Recorder(name)
    sizes = equations.sizes
    if name == "forward_dynamics":
        inputs = [recorder.composer.input(n, sizes[n]) for n in ("q", "v", "tau")]
        recorder.composer.output("vdot", equations.forward(tree, *inputs, run=recorder)[0])
    elif name == "generalized_forces":
        inputs = [recorder.composer.input(n, sizes[n]) for n in ("q", "v", "a")]
        recorder.composer.output("tau", equations.inverse(tree, *inputs, run=recorder))
    elif name == "pivots":
        rest = np.zeros(sizes["v"])
        _, pivots = equations.forward(tree, recorder.composer.input("q", sizes["q"]), rest, rest, run=recorder)
        recorder.composer.output("pivots", pivots)
    else:
        return None
    return recorder.composer.program()


def system(equations: Equations, efforts: Program, finish: Program) -> Program:
    """The right-hand side of a run in the same form.

    efforts: from everything a right-hand side is given to tau along all freedoms, dz/dt, u and stops; finish: from q,
    v, the pivots and c to dq/dt, health and fitness.
    """
    recorder = _Recorder("system")
    composer = recorder.composer
    inputs = {port.name: composer.input(port.name, port.shape) for port in efforts.inputs}
    tau, rates, applied, stops = composer.call(efforts, *inputs.values())
    q, v = inputs["q"], inputs["v"]
    vdot, pivots = equations.forward(equations.constant_tree, q, v, tau, run=recorder)
    qdot, health, fit = composer.call(finish, q, v, pivots, inputs["c"])
    for name, slots in zip(SYSTEM_OUTPUTS, (qdot, vdot, rates, applied, stops, health, fit), strict=True):
        composer.output(name, slots)
    return composer.program()


def repeats(equations: Equations) -> bool:
    """Whether a tree is long enough, and plain enough, for repeated blocks."""
    tree = equations.constant_tree
    return len(tree.links) >= LONG and not (tree.loads or equations.parameters) and equations.formulation == "udu"


class _Recorder:
    """A `run` for recursions: arrays of integers are slots, arrays of floats constants."""

    def __init__(self, name: str):
        self.composer = Composer(name)
        self._steps: dict[tuple, Program] = {}
        self._constants: dict[bytes, np.ndarray] = {}

    def __call__(self, step: Callable, link: Link, *arguments: np.ndarray):
        numbers = numbers_of(link)
        pattern = tuple(x if x in (0.0, 1.0, -1.0) else None for x in numbers)
        key = (step, _structure(link), pattern, *(np.shape(x) for x in arguments))
        if key not in self._steps:
            self._steps[key] = _traced(step, link, pattern, arguments)
        data = np.array([x for x, literal in zip(numbers, pattern, strict=True) if literal is None])
        slots = [x if x.dtype.kind == "i" else self._constant(x) for x in arguments]
        return self.composer.call(self._steps[key], *slots, self.composer.constant(data))

    def _constant(self, values: np.ndarray) -> np.ndarray:
        key = values.tobytes() + bytes(values.shape)
        if key not in self._constants:
            self._constants[key] = self.composer.constant(values)
        return self._constants[key]


def _traced(step: Callable, link: Link, pattern: tuple, arguments) -> Program:
    """The step as a program of its arguments and of the link's own numbers."""
    shapes = {f"x{k}": np.shape(x) for k, x in enumerate(arguments)}

    def function(*symbols: ca.SX):
        *given, data = symbols
        own = iter(from_sx(data))
        filled = with_numbers(link, [next(own) if literal is None else literal for literal in pattern])
        arrays = [from_sx(x).reshape(shape) for x, shape in zip(given, shapes.values(), strict=True)]
        return {f"y{k}": to_sx(np.asarray(y)) for k, y in enumerate(_outputs(step(filled, *arrays), found))}

    found: list[tuple[int, ...]] = []
    free = sum(literal is None for literal in pattern)
    traced = trace(function, {**shapes, "data": free}, name=step.__name__)
    ports = tuple(replace(port, shape=shape) for port, shape in zip(traced.outputs, found, strict=True))
    return replace(traced, outputs=ports)


def _outputs(values, found: list) -> list[np.ndarray]:
    """The arrays a step returned; their shapes are noted, since a column and a vector are one to CasADi."""
    arrays = [np.asarray(x) for x in values]
    found[:] = [x.shape for x in arrays]
    return arrays


def numbers_of(link: Link) -> list[float]:
    """Every number a link is made of, in a fixed order."""
    found: list = []
    for move in link.placement:
        found += [move.c, move.s] if isinstance(move, Turn) else list((move.r).ravel())
    found.append(link.offset)
    inertia = link.inertia
    found += [inertia.mass, *inertia.moment, *(inertia.tensor[i, j] for i, j in UPPER)]
    for quantity in PER_FREEDOM:
        found += list(getattr(link, quantity))
    if isinstance(link.kind, Helical):
        found.append(link.kind.pitch)
    return [float(x) for x in found]


def with_numbers(link: Link, numbers: list) -> Link:
    """The link with other numbers in the places of its own."""
    rest = iter(numbers)

    def take(count: int) -> np.ndarray:
        return array(next(rest) for _ in range(count))

    placement = []
    for move in link.placement:
        if isinstance(move, Turn):
            placement.append(Turn(move.axis, next(rest), next(rest)))
        elif isinstance(move, Shift):
            placement.append(Shift(take(3)))
        else:
            placement.append(Rotation(take(9).reshape(3, 3)))
    offset, mass, moment, upper = next(rest), next(rest), take(3), take(6)
    tensor = array(upper[UPPER.index((min(i, j), max(i, j)))] for i in range(3) for j in range(3)).reshape(3, 3)
    quantities = {quantity: take(link.kind.nv) for quantity in PER_FREEDOM}
    kind = Helical(next(rest)) if isinstance(link.kind, Helical) else link.kind
    inertia = RigidInertia(mass, moment, tensor)
    return replace(link, placement=tuple(placement), offset=offset, inertia=inertia, kind=kind, **quantities)


def _structure(link: Link) -> tuple:
    """All of a link that is not a number."""
    moves = tuple((type(m), m.axis if isinstance(m, Turn) else None) for m in link.placement)
    return type(link.kind), link.reversed, moves
