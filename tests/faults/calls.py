"""Every public function called with odd arguments, one or two at a time; what should come back is a sentence.

`World` holds one object of every public kind and what its functions take where nothing is odd.
`python -m tests.faults.calls --minutes 60` goes on with new arguments until time is up.
"""

import argparse
import atexit
import inspect
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import kempe as kp
from kempe.control.motion import Motion
from kempe.errors import KempeError
from tests.faults.oddities import bent, odds

LONGEST = 30  # s for one call
SENTENCE = 4000  # characters, and not the whole of what was given
INSIDE = ("symbolic", "signals")  # what motions are to laws, over CasADi's symbols; no user calls it


class TooLong(Exception):
    """A call that does not end."""


def linkage() -> kp.Mechanism:
    """A four-bar with a part of each kind that functions can be asked about."""
    m = kp.Mechanism("linkage", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (
        m.rod(n, length=x, mass=x) for n, x in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6))
    )
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True, limits=(-9, 9), damping=0.1)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start)
    m.spring("s", crank.end, rocker.end, stiffness=3.0, length=0.5)
    return m


def arm() -> kp.Mechanism:
    """A tree with a ball, a parameter of each sort, and all joints driven."""
    m = kp.Mechanism("arm")
    upper, lower = m.rod("upper", 0.5, 1.0), m.rod("lower", 0.4, 0.5)
    m.revolute("shoulder", m.ground.at(0, 0, 0), upper.start, axis=(0, 1, 0), actuated=True)
    m.revolute("elbow", upper.end, lower.start, axis=(0, 1, 0), actuated=True, limits=(-2.5, 2.5))
    return m


@dataclass
class World:
    """One object of every public kind, made once; mechanisms are made anew, since calls change them."""

    folder: Path
    models: list[kp.Model] = field(default_factory=list)

    def __post_init__(self):
        self.models = [linkage().compile(), arm().compile(parameters=["upper.mass"])]
        self.model, self.tree = self.models
        self.state = self.model.assemble({"A": 1.0})
        self.run = self.model.simulate(self.state, 0.2)
        self.motion = kp.motions.cycloidal({"A": (1.0, 2.0)}, duration=1.0)
        self.program = self.model.program("energy")
        self.batch = self.model.batch(threads=1)
        self.rollout = self.batch.rollout(self.state, 1e-3, 8)
        kept = [
            *(self.model, self.state, self.run, self.program, self.batch, self.rollout, self.run.outcome),
            *(kp.Cylinder(1, 1, 1), kp.Ellipsoid((1, 1, 1), 1), kp.Hub(1.0), kp.Lump(1.0), kp.PointMass(1.0)),
            *(kp.Plate(((0, 0), (1, 0), (0, 1)), 1.0), kp.Rod(1, 1), kp.Sphere(1, 1), kp.Box((1, 1, 1), 1.0)),
            *(
                kp.Table([0, 1], [[0.0], [1.0]]),
                kp.Event("e", lambda t, q, v: q[0]),
                kp.Stops(),
                kp.Switch("C", on=1.0),
            ),
            *(kp.Support("crank"), kp.Law(lambda t, q, v: [-v[0]]), kp.Kernel(self.program), kp.count(self.program)),
            *(kp.Command(None, {}), kp.Sampled(lambda t, q, v: [0.0], 0.01)),
        ]
        self.kept = {type(x).__name__: x for x in kept} | {"Motion": self.motion}

    def objects(self) -> dict[str, Any]:
        """By the name of their class; new ones of what calls change."""
        m = linkage()
        changed = (m, m.bodies[0], self.model.stepper(self.state, 1e-3), kp.Composer("f"))
        return self.kept | {type(x).__name__: x for x in changed}

    def good(self, owner: str, name: str) -> dict[str, Any]:
        """What a function takes, by the names of its arguments; those that matter, or that have no default."""
        m, x = linkage(), self.state
        a, b = m.ground.at(0, 1), m.bodies[0].end
        known = {
            **dict.fromkeys(
                ("mass", "length", "radius", "thickness", "E", "rho", "A", "pitch", "moment", "error"), 1.0
            ),
            "I": 1e-4,
            "size": (1.0, 1.0, 1.0),
            "outline": ((0, 0), (1, 0), (0, 1)),
            "tensor": (1.0,) * 6,
            "name": "new",
            "a": a,
            "b": b,
            "axis": (0, 0, 1),
            "axes": ((1, 0, 0), (0, 1, 0)),
            "normal": (0, 0, 1),
            "stroke": (0.5, 2.0),
            "marker": "crank.end",
            "coefficients": {"A": 1.0, "D": -1.0},
            "kind": "revolute",
            "q": x.q,
            "v": x.v,
            "tau": np.zeros(1),
            "p": None,
            "near": x,
            "values": {"A": 1.0},
            "joints": {},
            "state": x,
            "start": x,
            "duration": 0.05,
            "dt": 1e-3,
            "steps": 4,
            "names": ["A"],
            "which": "q",
            "motion": self.motion,
            "point": "coupler.end",
            "model": self.model,
            "seed": 1,
            "body": "crank",
            "path": self.folder / "out.png",
            "t": 0.1,
            "times": [0.0, 0.1, 0.2],
            "springs": {},
            "on": 1.0,
            "file": self.folder / "part.stl",
            "points": ["crank.end"],
            "what": "overview",
            "joint": "C",
            "program": self.program,
            "function": lambda x: x * 2,
            "expression": lambda t, q, v: q[0],
            "controller": lambda t, q, v: [0.0],
            "period": 0.01,
            "efforts": None,
            "step": self.program,
            "equations": self.model.equations,
            "source": self.model._source,
            "kernel": "energy",
            "message": "m",
            "frequency": 1.0,
            "stiffness": 1.0,
            "damping": 1.0,
            "rate": 5.0,
            "p_names": (),
            "shape": (2,),
            "gravity": (0, 0, -9.81),
            "com": (0, 0, 0),
            "inertia": (1, 1, 1),
            "formulation": "auto",
            "end": x.q,
            "solid": kp.Rod(1, 1),
            "at": (0, 0, 0),
            "x": 0.0,
            "y": 0.0,
            "z": 0.0,
            "value": lambda path: 1.0,
            "switch": {},
            "key": "A",
            "sin": np.sin,
            "by": 0.5,
            "number": 0,
            "w": None,
            "limit": 5,
        }
        special: dict[str, dict[str, Any]] = {
            "Model.acceleration": {"a": x.v}, "Model.inverse_dynamics": {"a": {"A": 1.0}},
            "Model.integrate": {"step": x.v}, "Model.difference": {"start": x.q},
            "Model.exact_p": {"p": None}, "Model.casadi": {"name": "forward_dynamics"},
            "Model.kernel": {"name": "energy"},
            "Model.program": {"name": "energy"}, "Model.joint": {"name": "A"},
            "Model.marker_kernel": {"name": "pose"},
            "Model.closer": {"near": x}, "Model.workspace": {"point": "coupler.end", "step": 0.2, "most": 40},
            "Model.efforts": {"values": {"A": 1.0}},
            "Model.poses": {"names": ["A"]}, "Model.synthesize": {"output": 0.2}, "Model.motion": {"output": 0.2},
            "Trajectory.to_pandas": {}, "Trajectory.from_pandas": {"frame": self.run.to_pandas(),
            "model": self.model},
            "Trajectory.load": {"path": self.saved(), "model": self.model},
            "Trajectory.save": {"path": self.folder / "a.npz"},
            "Trajectory.animate": {"path": self.folder / "a.html"}, "Trajectory": {"q": self.run.q,
            "v": self.run.v, "a": self.run.a,
            "t": self.run.t, "u": self.run.u}, "State": {"q": x.q, "v": x.v}, "load": {"path": self.file()},
            "Mechanism.save": {"path": self.folder / "m.yaml"}, "Mechanism.mobility": {"near": {"A": 1.0}},
            "Mechanism.joint": {"axes": ((0, 0, 1),), "pitch": None},
            "motions.trapezoidal": {"values": {"A": (1.0, 2.0)}, "duration": 1.0, "speed": None,
            "acceleration": None},
            "motions.cycloidal": {"values": {"A": (1.0, 2.0)}}, "motions.quintic": {"values": {"A": (1.0, 2.0)}},
            "motions.sinusoidal": {"values": {"A": (1.0, 2.0)}}, "motions.spline": {"values": {"A": (1.0, 2.0, 3.0)}},
            "motions.recorded": {"values": {"A": (1.0, 2.0, 3.0)}, "names": None}, "Table": {"times": [0, 1],
            "values": [[0.0], [1.0]]},
            "computed_torque": {"stiffness": None, "damping": None}, "Outcome": {"kind": "finished"},
            "Program": {n: getattr(self.program, n) for n in ("name", "inputs", "outputs", "constants", "blocks",
            "calls", "sources")},
            "Counts": dict.fromkeys(inspect.signature(kp.Counts).parameters, 1), "trace": {"inputs": {"x": 2}},
            "Composer.constant": {"values": [1.0]}, "Composer.output": {"name": "y", "slots": np.array([0])},
            "Batch.inverse_dynamics": {"a": x.v[None]}, "Batch.forward_dynamics": {"q": x.q[None], "v": x.v[None],
            "tau": None},
            "Batch.generalized_forces": {"q": x.q[None], "v": x.v[None], "a": x.v[None]},
            "Batch.rollout": {"batch": 2},
            "Law.efforts": {}, "Support.acts": {"t": np.zeros(3)}, "Model.mobility": {}, "Stepper.reset": {},
            "Model.reactions": {"a": x.v}, "Model.multipliers": {"a": x.v}, "Model.generalized_forces": {"a": x.v},
            "Model.energy_rate": {"a": x.v}, "Model.motion_rates": {"a": x.v},
            "Model.inverse_dynamics_derivatives": {"a": {"A": 1.0}},
            "Model.generalized_forces_derivatives": {"a": x.v}, "Model.inverse_by_subsystems": {"a": {"A": 1.0}},
            "Model.state": {"rates": {"A": 1.0}}, "Model.simulate": {"state": x}, "Body.at": {"name": "here"},
            "Body.add": {"solid": kp.Rod(1, 1)}, "Model.linearize": {"tau": None}, "Model.modes": {"tau": None},
        }  # fmt: skip
        found = special.get(f"{owner}.{name}" if owner else name, {})
        return known | found

    def saved(self) -> Path:
        """A run in a file."""
        path = self.folder / "run.npz"
        return path if path.exists() else self.run.save(path)

    def file(self) -> Path:
        """A mechanism in a file."""
        path = self.folder / "linkage.yaml"
        path.exists() or linkage().save(path)
        return path

    def odd(self, rng: random.Random, good: Any) -> Any:
        """Something that is not meant, or what is meant in an odd form."""
        return rng.choice(odds(self.strangers()) if rng.random() < 0.6 else bent(good))

    def strangers(self) -> list:
        """Things of Kempe's that most functions do not take."""
        other, model = arm(), self.model
        return [
            *(model, self.state, self.run, self.program, self.rollout, self.run.outcome, other, other.joints[0]),
            *(other.bodies[0], other.bodies[0].end, kp.State(model, np.zeros(1), np.zeros(7))),
            kp.State(self.tree, np.zeros(2), np.zeros(2)),
        ]


@dataclass(frozen=True)
class Target:
    """A public function, or property: of which class or module, and its name."""

    owner: str
    name: str
    take: Callable[[dict[str, Any]], Callable]  # from objects by the names of their classes

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


def targets(world: World) -> Iterator[Target]:
    """All there are: functions and classes of `kempe`, methods of their objects, and of those that these give."""
    objects = world.objects()
    for name in kp.__all__:
        value = getattr(kp, name)
        if inspect.ismodule(value):
            found = {n: getattr(value, n) for n in value.__all__ if n != "Motion"}
            yield from (Target(name, n, lambda _, f=f: f) for n, f in found.items())
        elif callable(value) and value is not KempeError:
            yield Target("", name, lambda _, f=value: f)
    for owner, thing in objects.items():
        kind = Motion if isinstance(thing, Motion) else type(thing)
        for name in (n for n in dir(kind) if (not n.startswith("_") or n == "__getitem__") and n not in INSIDE):
            if next(b for b in kind.__mro__ if name in vars(b)).__module__.startswith("kempe"):
                yield Target(owner, name, lambda made, owner=owner, name=name: _called(made[owner], name))


def _called(thing: Any, name: str) -> Callable:
    """A method, or a property as a function of nothing."""
    if isinstance(inspect.getattr_static(type(thing), name), property) or not callable(
        getattr(type(thing), name, None)
    ):
        return lambda: getattr(thing, name)
    return getattr(thing, name)


@dataclass(frozen=True)
class Call:
    """A call with odd arguments, as it can be made again: a function, and a seed."""

    target: Target
    seed: int


def arguments(world: World, call: Call, function: Callable) -> dict[str, Any]:
    """Good ones for all that have no default, and for some that have; one or two of them made odd."""
    rng = random.Random(f"{call.target} {call.seed}")
    known = world.good(call.target.owner, call.target.name)
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    given, named = {}, [p for p in taken if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for p in named:
        if p.default is p.empty or rng.random() < 0.3:
            given[p.name] = known[p.name] if p.default is p.empty else known.get(p.name, p.default)
    for p in rng.sample(named, min(len(named), rng.choice((1, 1, 1, 2, 3)))):
        given[p.name] = world.odd(rng, given.get(p.name, known.get(p.name)))
    return given


def _stop(signum, frame):
    raise TooLong


def verdict(world: World, call: Call) -> str | None:
    """What is wrong with the answer to a call, with what was given; None where a value came back, or a sentence."""
    try:
        function = call.target.take(world.objects())
        given = arguments(world, call, function)
    except KeyError as error:
        return f"{call.target}: nothing is known to give for {error}"
    before = signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LONGEST)
    try:
        _made(function, given)
        return None
    except KempeError as error:
        long = len(str(error)) > SENTENCE
        return (
            f"{_shown(call, given)}\n    a sentence of {len(str(error))} characters: {error!s:.200}" if long else None
        )
    except TooLong:
        return f"{_shown(call, given)}\n    takes longer than {LONGEST} s"
    except Exception as error:
        if call.target.name == "inertia" and callable(given["value"]):  # its own fault
            return None
        if isinstance(error, TypeError) and call.target.name == "from_dh" and "missing" in str(error):
            return None
        return f"{_shown(call, given)}\n    {_where(error)}: {type(error).__name__}: {error!s:.200}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _made(function: Callable, given: dict[str, Any]) -> None:
    signature = inspect.signature(function)
    bound = signature.bind_partial()
    bound.arguments.update({n: given[n] for n in signature.parameters if n in given})
    function(*bound.args, **bound.kwargs)


def _where(error: BaseException) -> str:
    """The innermost line of Kempe's own."""
    found, trace = "outside", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "kempe" in file and "tests" not in file.split("kempe")[-1]:
            found = f"{file.rpartition('kempe/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _shown(call: Call, given: dict[str, Any]) -> str:
    words = ", ".join(f"{n}={_short(x)}" for n, x in given.items())
    return f"{call.target}({words}), seed {call.seed}"


def _short(value: Any) -> str:
    try:
        words = repr(value)
    except Exception as error:
        words = f"<{type(error).__name__}>"
    return (words if len(words) < 60 else f"{words[:57]}...").replace("\n", " ")


def world() -> World:
    """In a folder of its own, which calls may write to."""
    matplotlib.use("Agg")
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="kempe-calls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chdir(folder)
    return World(folder)


def main() -> int:
    """Failures, as the exit status says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; anywhere, unless given")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"begins with --seed {seed}", flush=True)
    here = world()
    end, known, done, failed = time.monotonic() + 60 * given.minutes, list(targets(here)), 0, 0
    while time.monotonic() < end:
        for target in known:
            found, done = verdict(here, Call(target, seed)), done + 1
            failed += bool(found)
            if found:
                print(found, flush=True)
        seed += 1
    print(f"calls: {failed} of {done} failed, of {len(known)} functions")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
