"""Identity: whatever is changed anywhere in what a program is traced from, its digest is another one."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass, replace
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import kempe as kp
from kempe.compiler.identity import identity
from kempe.dynamics.denoc import Denoc
from kempe.dynamics.equations import Equations
from kempe.dynamics.generalized import Choice
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.joints import Fixed, Revolute
from kempe.mechanism.mechanism import Mechanism
from kempe.topology.spanning import topology
from tests.mechanisms import random_rotation, random_tree


def everything() -> Equations:
    """A mechanism with a part of every kind, a loop, something that bends, and something that can be switched."""
    m = Mechanism("everything", gravity=(0.0, -9.81, 0.5))
    turned = random_rotation(np.random.default_rng(0))
    crank, bar = m.rod("crank", length=0.3, mass=1.5, radius=0.01), m.rod("bar", length=1.0, mass=5.0)
    rocker = m.body("rocker", 3.0, (0.3, 0.0, 0.1), (0.2, 0.3, 0.4)).point_mass("end", 0.5, ("crank.length", 0.1, 0.0))
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True, limits=(-2.0, 2.5), damping=0.1, armature=0.02)
    m.revolute("B", crank.end, bar.start, stiffness=2.0, rest=0.3)
    m.revolute("C", bar.end, rocker.at(0.6, 0.0, name="tip"))
    m.revolute("D", m.ground.at(1, 0), rocker.origin)
    plate = m.plate("plate", ((0.0, 0.0), (0.2, 0.0), (0.0, 0.3)), mass=0.7, thickness=0.01)
    m.universal("U", rocker.at(0.1, 0.2, 0.3, rotation=turned), plate.at(0.01, 0.02), axes=((1, 0, 0), (0, 1, 0)))
    m.helical("H", plate.at(0.1, 0.1), m.sphere("ball", 0.1, 1.0).add("hub", kp.Hub(0.1), rotation=turned).origin, 0.02)
    m.couple("gears", {"D": 1.0, "H": -2.5}, offset=0.1)
    beam = m.beam("beam", 1.0, 2e11, 1e-8, 7800.0, 1e-4, modes=2)
    m.revolute("E", m.ground.at(3, 0), beam.start)
    m.fixed("hold", m.ground.at(4, 0), beam.end, switchable="open")
    m.spring("spring", m.ground.at(1, 2, 3), beam.at(0.5, 0.1), stiffness=7.0, damping=0.5, length=0.4)
    m.wrench("push", plate.at(0.2, 0.1), force=(1, -2, 0.5), moment=(0.1, 0.4, -0.2))
    choice = Choice((0, 1), (1, 2), (0, 3), (0.5, 0.25))
    return Equations(topology(m), ("crank.mass", "B.rest"), Denoc(choice, pull=0.5, scales=(1.0, 2.0)))


def test_whatever_is_changed_changes_the_digest():
    equations = everything()
    first, count = identity(equations), 0
    assert first is not None
    for path in changes(equations, lambda _: None, {}, "equations"):
        assert identity(equations) != first, path
        count += 1
    assert count > 900  # numbers, words, flags, kinds, and the lengths of lists
    assert identity(equations) == first  # all was put back


def changes(x, put: Callable, seen: dict, path: str) -> Iterator[str]:
    """Changes everything below x, one thing at a time; `put` puts something else in its place."""
    others = {
        bool: lambda: [not x],
        float: lambda: [np.nextafter(x, np.inf).item(), -x],
        int: lambda: [x + 1, float(x)],
        str: lambda: [x + "'"],
        type(None): lambda: [0.0, "None"],
    }
    if type(x) in others:
        for other in others[type(x)]():
            put(other)
            yield path
    elif isinstance(x, type):
        put(Fixed if x is Revolute else Revolute)
        yield path
    elif isinstance(x, (tuple, list)):
        for k, entry in enumerate(x):
            yield from changes(entry, lambda y, k=k: put(type(x)([*x[:k], y, *x[k + 1 :]])), seen, f"{path}[{k}]")
        put(type(x)([*x, *x[-1:]] if x else [None]))
        yield f"{path} longer"
    elif isinstance(x, dict):
        for key, entry in x.items():
            yield from changes(entry, lambda y, key=key: put({**x, key: y}), seen, f"{path}[{key}]")
            put({f"{k}'" if k == key else k: value for k, value in x.items()})
            yield f"{path}: {key}"
    elif isinstance(x, np.ndarray):
        for k in range(x.size):
            other = x.copy()
            other.flat[k] = np.nextafter(x.flat[k], np.inf)
            put(other)
            yield f"{path} at {k}"
    elif isinstance(x, slice):
        for other in (slice(x.start, x.stop + 1), slice(x.start + 1, x.stop)):
            put(other)
            yield path
    elif id(x) not in seen:
        seen[id(x)] = x
        for name in [field.name for field in fields(x)] if is_dataclass(x) else list(vars(x)):
            own = vars(x)[name]
            yield from changes(own, lambda y, name=name: object.__setattr__(x, name, y), seen, f"{path}.{name}")
            object.__setattr__(x, name, own)
    put(x)


def test_what_was_worked_out_before_does_not_matter_and_what_is_shared_does():
    equations, again = everything(), everything()
    assert identity(equations) == identity(again) is not None
    for worked_out in (equations.constant_tree, equations.topology.subsystems, equations.closure_size):
        assert worked_out
    assert identity(equations) == identity(again)
    for copied in (deepcopy(equations), pickle.loads(pickle.dumps(equations))):  # with all that was worked out
        assert identity(copied) == identity(again)
    one, other = (equations.topology.mechanism.ground.at(1, 2) for _ in range(2))
    assert identity(one) == identity(other)
    assert identity(one, one) != identity(one, other)
    assert len({identity(x) for x in (0, 0.0, -0.0, False, None, "0", (), [], (0,), ((0,),), np.zeros(1))}) == 11


def told(seed: int) -> list[str | None]:
    """Of trees, loops, loops in which bodies are cut, and what floats."""
    built = [ENTRIES[name].build() for name in ("four-bar", "excavator", "stewart", "swing")]
    return [identity(Equations(topology(m), (), "partition")) for m in (*built, random_tree(seed, 12, loads=True))]


def test_other_processes_find_the_same_digests():
    code = "from tests.compiler.test_identity import told; print(*told(3))"
    seeds = {"PYTHONHASHSEED": "0" if os.environ.get("PYTHONHASHSEED") == "7" else "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | seeds
    )
    assert done.stdout.split() == told(3)


class Elsewhere:
    """A class that is none of Kempe's."""


@dataclass(frozen=True)
class Kind(Revolute):
    """A joint of one's own, of which Kempe's text says nothing."""


def test_what_cannot_be_told_is_refused():
    local = replace(everything().topology.tree[0].joint, type=Kind)
    strangers = (lambda x: x, Elsewhere(), Elsewhere, test_what_cannot_be_told_is_refused, {1.0}, ca.SX.sym("x"), local)
    for stranger in (*strangers, SimpleNamespace(x=1.0), np.array([ca.SX.sym("x")]), object(), Kind(), max):
        assert identity(stranger) is None, stranger
        assert identity([{"a": (1.0, stranger)}]) is None
    equations = everything()
    equations.topology.mechanism.law = lambda t: t  # type: ignore[attr-defined]
    assert identity(equations) is None


@pytest.mark.parametrize("kind", [Revolute, Mechanism, topology])
def test_classes_and_functions_of_kempe_go_by_their_names(kind):
    assert identity(kind) is not None
    assert identity(kind) != identity(kind.__qualname__)
