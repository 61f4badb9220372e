"""Recorder: turns a recursion, run step by step, into a program of few blocks, one for all steps of the same structure.

Two steps share a block if they have the same function, their subjects (a link, a cut, a small tree, or nothing) have
the same structure, and the same of their numbers and arguments are exactly 0, 1 or -1. Those values stay part of the
block and cost nothing; all other numbers are data of each call. Unused results are not computed.
"""

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from kempe.compiler.compose import Composer
from kempe.compiler.program import Program
from kempe.compiler.trace import trace
from kempe.dynamics.articulated import UPPER
from kempe.dynamics.held import Cut
from kempe.dynamics.tree import Link, Tree
from kempe.mechanism.joint import PER_FREEDOM
from kempe.mechanism.joints import Helical
from kempe.spatial.inertia import RigidInertia
from kempe.spatial.moves import Move, Moves, Rotation, Shift, Turn
from kempe.spatial.vectors import array, from_sx, to_sx

KEPT = (0.0, 1.0, -1.0)  # numbers that stay part of a block


Subject = Link | Cut | Tree | None
_Taking = tuple[Program, tuple[list[int], list[int]]]  # a program, and the arguments and numbers it takes


class Slot:
    """A number known when the program runs: it can only be passed to steps."""

    __slots__ = ()


class Recorder:
    """A `run` for recursions: takes and returns arrays of slots and floats, and records the steps."""

    def __init__(self, name: str):
        self.name = name
        self._inputs: list[tuple[str, np.ndarray]] = []
        self._outputs: list[tuple[str, np.ndarray]] = []
        self._steps: dict[tuple, _Step] = {}
        self._calls: list[tuple[_Step | _Whole, list, np.ndarray, list[Slot]]] = []  # arguments, data, results

    def input(self, name: str, shape: int | tuple[int, ...]) -> np.ndarray:
        """A named input."""
        slots = np.empty(shape, dtype=object)
        slots.flat[:] = [Slot() for _ in range(slots.size)]
        self._inputs.append((name, slots))
        return slots

    def output(self, name: str, values: np.ndarray) -> None:
        """Names an output of the program."""
        self._outputs.append((name, np.asarray(values)))

    def __call__(self, step: Callable, subject: Subject, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        """The results of a step, in their shapes."""
        numbers = numbers_of(subject)
        own = tuple(x if x in KEPT else None for x in numbers)
        entries = [np.ravel(x).tolist() for x in arguments]
        shapes = tuple(np.shape(x) for x in arguments)
        given = tuple(x if isinstance(x, float) and x in KEPT else None for row in entries for x in row)
        key = (step, structure(subject), own, shapes, given)
        if key not in self._steps:
            self._steps[key] = _Step(step, subject, own, shapes, given)
        free = [x for x, kept in zip((x for row in entries for x in row), given, strict=True) if kept is None]
        data = [x for x, kept in zip(numbers, own, strict=True) if kept is None]
        return self._call(self._steps[key], free, data)

    def _call(self, step: "_Step | _Whole", free: list, data: list[float]) -> tuple[np.ndarray, ...]:
        results = [Slot() for _ in range(step.count)]
        self._calls.append((step, free, np.array(data), results))
        known = [*free, *data]
        found = []
        for shape, entries in step.results:
            out = np.empty(shape, dtype=object)
            out.flat[:] = [
                x if isinstance(x, float) else known[x.place] if isinstance(x, _Given) else results[x] for x in entries
            ]
            found.append(out)
        return tuple(found)

    def call(self, program: Program, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        """A whole program as one step."""
        return self._call(_Whole(program), [x for row in arguments for x in np.ravel(row).tolist()], [])

    def program(self) -> Program:
        """The program of everything that leads to an output."""
        composer, constants = Composer(self.name), {}
        place: dict[Slot, np.integer] = {}

        def constant(values: np.ndarray) -> np.ndarray:
            key = values.tobytes()
            if key not in constants:
                constants[key] = composer.constant(values)
            return constants[key]

        def slots_of(values) -> np.ndarray:
            found = [place[x] if isinstance(x, Slot) else constant(np.array([x]))[0] for x in values]
            return np.array(found, dtype=np.int64)

        for name, slots in self._inputs:
            place.update(zip(slots.flat, composer.input(name, slots.shape).flat, strict=True))
        for (program, (taken, numbers)), free, data, results in self._live():
            arguments = slots_of([free[k] for k in taken]), constant(data[numbers])
            found = composer.call(program, *_split(program, np.concatenate(arguments)))
            place.update(zip(results, np.concatenate([x.ravel() for x in found]), strict=True))
        for name, values in self._outputs:
            composer.output(name, slots_of(values.ravel()).reshape(values.shape))
        return composer.program()

    def _live(self) -> list[tuple]:
        """The calls that lead to an output, each with a program for those of its results that are used."""
        wanted = {x for _, values in self._outputs for x in values.flat if isinstance(x, Slot)}
        found = []
        for step, free, data, results in reversed(self._calls):
            live = step.live(tuple(k for k, x in enumerate(results) if x in wanted))
            if live:
                program = step.program(live)
                wanted.update(free[k] for k in program[1][0] if isinstance(free[k], Slot))
                found.append((program, free, data, [results[k] for k in live]))
        return found[::-1]


def _split(program: Program, slots: np.ndarray) -> list[np.ndarray]:
    """Splits slots into the inputs of a program."""
    ends = np.cumsum([port.size for port in program.inputs])
    return np.split(slots, ends[:-1])


class _Given:
    """A result that is an argument, or a number of the subject, by its index among these."""

    def __init__(self, place: int):
        self.place = place


class _Step:
    """A step traced with symbols for everything that is not a kept number.

    results: for every array its shape, and for every entry a float, an input, or the index of one of `count` computed
    values.
    """

    def __init__(self, step: Callable, subject, own: tuple, shapes: tuple, given: tuple):
        self._name = step.__name__
        self._free = sum(kept is None for kept in given)
        self._symbols = from_sx(ca.SX.sym("x", self._free + sum(kept is None for kept in own)))
        x, data = iter(self._symbols[: self._free]), iter(self._symbols[self._free :])
        filled = with_numbers(subject, [next(data) if kept is None else kept for kept in own])
        entries = iter([next(x) if kept is None else kept for kept in given])
        arrays = [array(next(entries) for _ in range(int(np.prod(s)))).reshape(s) for s in shapes]
        self._place_of = {x.element_hash(): k for k, x in enumerate(self._symbols)}
        self._computed: list[ca.SX] = []
        self.results = []
        for result in map(np.asarray, step(filled, *arrays)):
            self.results.append((result.shape, [self._entry(x) for x in result.flat]))
        self.count = len(self._computed)
        self._programs: dict[tuple[int, ...], _Taking] = {}

    def live(self, asked: tuple[int, ...]) -> tuple[int, ...]:
        """The results that are computed when some are needed: only these."""
        return asked

    def _entry(self, x):
        if not isinstance(x, ca.SX) or x.is_constant():
            return float(x)
        if x.is_symbolic():
            return _Given(self._place_of[x.element_hash()])
        self._computed.append(x)
        return len(self._computed) - 1

    def program(self, live: tuple[int, ...]) -> "_Taking":
        """A program that computes these results, and the indices of the arguments and numbers it takes."""
        if live not in self._programs:
            wanted = ca.vertcat(*(self._computed[k] for k in live))
            used = sorted(self._place_of[x.element_hash()] for x in ca.symvar(wanted))
            taken = [k for k in used if k < self._free], [k for k in used if k >= self._free]
            inputs = [to_sx(self._symbols[places]) for places in taken]
            program = trace(ca.Function(self._name, inputs, [wanted], ["x", "data"], ["y"], {"cse": True}))
            self._programs[live] = program, (taken[0], [k - self._free for k in taken[1]])
        return self._programs[live]


class _Whole:
    """A finished program used as a step."""

    def __init__(self, program: Program):
        self._program = program
        self.count = sum(port.size for port in program.outputs)
        numbers = iter(range(self.count))
        self.results = [(port.shape, [next(numbers) for _ in range(port.size)]) for port in program.outputs]

    def live(self, asked: tuple[int, ...]) -> tuple[int, ...]:
        """The results that are computed when some are needed: all."""
        return tuple(range(self.count)) if asked else ()

    def program(self, live: tuple[int, ...]) -> "_Taking":
        """The whole program, which takes everything."""
        return self._program, (list(range(sum(port.size for port in self._program.inputs))), [])


# ---- the numbers of a subject ----------------------------------------------------------------------------


def structure(subject: Subject) -> tuple:
    """Everything in a subject except its numbers."""
    if isinstance(subject, Tree):
        kinds = tuple(loop.joint.type for loop in subject.topology.loops)
        return kinds, subject.parents, *(structure(link) for link in subject.links)
    if isinstance(subject, Cut):
        return subject.kind, subject.rows, subject.size, subject.pull, _kinds(subject.a), _kinds(subject.b)
    return () if subject is None else (type(subject.kind), subject.reversed, _kinds(subject.placement))


def _kinds(moves: Moves) -> tuple:
    return tuple((type(m), m.axis if isinstance(m, Turn) else None) for m in moves)


def numbers_of(subject: Subject) -> list[float]:
    """Every number of a subject, in a fixed order."""
    if isinstance(subject, Tree):
        return [x for link in subject.links for x in numbers_of(link)]
    if subject is None:
        return []
    if isinstance(subject, Cut):
        return [float(x) for move in (*subject.a, *subject.b) for x in _move_numbers(move)]
    found = [x for move in subject.placement for x in _move_numbers(move)]
    found.append(subject.offset)
    inertia = subject.inertia
    found += [inertia.mass, *inertia.moment, *(inertia.tensor[i, j] for i, j in UPPER)]
    for quantity in PER_FREEDOM:
        found += list(getattr(subject, quantity))
    if isinstance(subject.kind, Helical):
        found.append(subject.kind.pitch)
    return [float(x) for x in found]


def _move_numbers(move: Move) -> list:
    return [move.c, move.s] if isinstance(move, Turn) else list(move.r.ravel())


def with_numbers(subject, numbers: list):
    """The subject with its numbers replaced."""
    rest = iter(numbers)

    def take(count: int) -> np.ndarray:
        return array(next(rest) for _ in range(count))

    def moved(moves: Moves) -> Moves:
        return tuple(_with_numbers(move, take) for move in moves)

    if subject is None:
        return None
    if isinstance(subject, Tree):
        links = [with_numbers(link, [next(rest) for _ in numbers_of(link)]) for link in subject.links]
        return replace(subject, links=tuple(links))
    if isinstance(subject, Cut):
        return replace(subject, a=moved(subject.a), b=moved(subject.b))
    placement = moved(subject.placement)
    offset, mass, moment, upper = next(rest), next(rest), take(3), take(6)
    tensor = array(upper[UPPER.index((min(i, j), max(i, j)))] for i in range(3) for j in range(3)).reshape(3, 3)
    quantities = {quantity: take(subject.kind.nv) for quantity in PER_FREEDOM}
    kind = Helical(next(rest)) if isinstance(subject.kind, Helical) else subject.kind
    inertia = RigidInertia(mass, moment, tensor)
    return replace(subject, placement=placement, offset=offset, inertia=inertia, kind=kind, **quantities)


def _with_numbers(move: Move, take: Callable[[int], np.ndarray]) -> Move:
    if isinstance(move, Turn):
        return Turn(move.axis, *take(2))
    return Shift(take(3)) if isinstance(move, Shift) else Rotation(take(9).reshape(3, 3))
