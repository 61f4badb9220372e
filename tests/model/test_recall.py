"""Mechanisms seen before: nothing is traced, and every answer is the one that tracing gives, to the last bit."""

import casadi as ca
import numpy as np
import pytest

import kempe as kp
from kempe.compiler import recall
from kempe.compiler.recall import recalled
from kempe.compiler.trace import trace
from kempe.dynamics.formulations import CLOSED, OPEN
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.mechanism import Mechanism
from tests.mechanisms import random_tree

BUILT = {"tree": lambda: random_tree(5, 3, passive=True), "long tree": lambda: random_tree(6, 20, ("revolute",))}
BUILT |= {"five-bar": ENTRIES["five-bar"].build}
CASES = [*(("tree", way) for way in OPEN), ("long tree", "udu"), *(("five-bar", way) for way in (*CLOSED, "springs"))]


def forbid_tracing(monkeypatch):
    """Everything that is traced passes through a CasADi Function."""

    class Traced:
        def __init__(self, *_):
            raise AssertionError("something was traced")

    monkeypatch.setattr(ca, "Function", Traced)


def answers(name: str, way: str) -> list[np.ndarray]:
    """What users ask for, by a model that was made for it; wherever it is not closed, the answer is a number too."""
    m = BUILT[name]()
    model = m.compile(way, stiffness=1e5, damping=10.0) if way == "springs" else m.compile(way)
    s = model.random_state(1)
    efforts = np.ones(model.nu)
    found = [model.forward_dynamics(s.q, s.v, efforts, check=False), *model.pose(model.mechanism.bodies[-1], s.q)]
    found.append(model.generalized_forces(s.q, s.v, np.ones(model.nv)))
    return [*found, *vars(model.counts).values()]


@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_mechanism_seen_before_is_not_traced_again(name, way, empty_cache, monkeypatch):
    first = answers(name, way)
    forbid_tracing(monkeypatch)
    for one, again in zip(first, answers(name, way), strict=True):
        np.testing.assert_array_equal(one, again)


def test_runs_and_closing_are_recalled_too(monkeypatch):
    def found() -> list[np.ndarray]:
        model = ENTRIES["four-bar"].build().compile()
        state = model.assemble({"A": 1.2})
        run = model.simulate(state, 0.1, torque={"A": 1.0})
        return [run.q, run.v, run.u, *model.close({"A": 1.25}, near=state)]

    first = found()
    forbid_tracing(monkeypatch)
    for one, again in zip(first, found(), strict=True):
        np.testing.assert_array_equal(one, again)


def pendulum(**options) -> Mechanism:
    m = kp.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.revolute("A", m.ground.at(0, 0), m.rod("rod", length=0.5, mass=2.0).start, actuated=True, **options)
    return m


def test_laws_of_ones_own_are_traced_every_time():
    """Two that look alike from outside: nothing but what they refer to tells one from the other."""
    model = pendulum().compile()
    for gain in (1.0, 2.0):
        run = model.simulate(model.state({"A": 0.5}), 0.01, torque=kp.Law(lambda t, q, v, gain=gain: [gain * q[0]]))
        np.testing.assert_allclose(run.torque("A"), gain * run["A"])


def test_another_number_another_program(empty_cache):
    one, other = (pendulum(damping=x).compile().program("forward_dynamics") for x in (0.1, 0.2))
    assert one.digest != other.digest
    assert pendulum(damping=0.1).compile().program("forward_dynamics").digest == one.digest


def test_entries_that_are_damaged_are_traced_again(empty_cache):
    times = []

    def make():
        times.append(1)
        return trace(lambda x: 3.0 * x, {"x": 2})

    program = recalled(make, "three times")
    assert recalled(make, "three times") == program
    (path,) = empty_cache.glob("??/*")
    path.write_bytes(path.read_bytes()[:-1])
    assert recalled(make, "three times") == program
    assert recalled(make, lambda: None) == recalled(make, lambda: None) == program  # nobody can tell what that is
    assert len(times) == 4


def test_where_the_text_changed_under_a_process_nothing_is_kept(empty_cache, monkeypatch):
    monkeypatch.setattr(kp, "_loaded", 0.0)
    recalled(lambda: trace(lambda x: 4.0 * x, {"x": 2}), "four times")
    assert not list(empty_cache.glob("??/*"))
    recall._text.cache_clear()
    assert recall._text() is None
    monkeypatch.undo()
    recall._text.cache_clear()
    assert recall._text() is not None
