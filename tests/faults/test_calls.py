"""Odd arguments: whatever is given, a value or a sentence comes back."""

import os

import numpy as np
import pytest

import kempe as kp
from kempe.errors import KempeError, MechanismError, StateError
from tests.faults.calls import Call, linkage, targets, verdict, world
from tests.long import some

SEEDS = some(1, 2)  # calls of each function; `python -m tests.faults.calls` goes on


@pytest.fixture(scope="module")
def here():
    before = os.getcwd()
    yield world()
    os.chdir(before)


def test_every_function_answers_with_a_value_or_a_sentence(here):
    known = list(targets(here))
    assert len(known) > 300
    found = [verdict(here, Call(target, seed)) for seed in range(SEEDS) for target in known]
    assert not [words for words in found if words]


SAID = {
    "a name": (lambda m: m.rod(3, 1.0, 1.0), "rod: name is 3; give text"),
    "a number": (lambda m: m.rod("new", "0.3", 1.0), "rod 'new': length is '0.3'; give a number"),
    "a huge one": (lambda m: m.rod("new", 0.3, 10**400), r"rod 'new': mass is 1000.*\.\.\..*; give a number"),
    "a marker": (lambda m: m.revolute("J", m.ground, m.bodies[0].end), "revolute 'J': a is .*; give a marker"),
    "an option": (lambda m: m.revolute("J", *ends(m), damping="much"), "joint 'J': damping is 'much'; give a number"),
    "a row": (lambda m: m.box("new", 1.0, 1.0), "box 'new': size is 1.0; give a list of numbers"),
    "names": (lambda m: m.compile(parameters=[1]), r"compile: parameters is \[1\]; give text or a list of names"),
    "a dict": (lambda m: m.couple("c", {1: 2.0}), "couple 'c': coefficients is {1: 2.0}; give a dict by name"),
    "a function": (lambda m: kp.Event("e", "q[0]"), r"Event 'e': expression is 'q\[0\]'; give a function"),
    "a path": (lambda m: kp.load(3), "load: path is 3; give text or a path"),
    "a flag": (lambda m: m.wrench("w", m.bodies[0].end, follows="no"), "wrench 'w': follows is 'no'; give True or"),
    "a long text": (lambda m: m.rod("new", "x" * 10**6, 1.0), "rod 'new': length is 'x.*x'; give a number"),
    "an array": (lambda m: m.rod("new", np.zeros((2, 3)), 1.0), r"length is an array of float64 of shape \(2, 3\)"),
}


def ends(m):
    return m.ground.at(), m.bodies[0].end


@pytest.mark.parametrize("what", SAID)
def test_a_sentence_says_what_was_given_and_what_is_taken(what):
    make, said = SAID[what]
    with pytest.raises(KempeError, match=said) as told:
        make(linkage())
    assert len(str(told.value)) < 200


def test_a_refused_call_changes_nothing():
    m = linkage()
    before = len(m.bodies), len(m.joints), m.parameters
    for make, _ in SAID.values():
        with pytest.raises(KempeError):
            make(m)
    assert (len(m.bodies), len(m.joints), m.parameters) == before


def test_defaults_and_what_numpy_gives_are_taken():
    m = kp.Mechanism("m", gravity=np.array([0, 0, -9.81]))
    rod = m.rod(np.str_("rod"), np.float32(0.5), np.int64(2), radius=np.array(0.01))
    hinge = m.revolute("A", m.ground.at(), rod.start, axis=[0, 1, 0], limits=(None, 2), damping=np.float64(0.1))
    assert hinge.damping == (0.1,)
    run = m.compile(parameters="rod.mass").simulate(None, np.float64(0.01), p=None, torque=None)
    assert run.outcome.finished
    with pytest.raises(StateError, match="simulate: duration is True; give a number"):
        m.compile().simulate(None, True)
    with pytest.raises(MechanismError, match="there is no option dampin"):
        m.revolute("B", m.ground.at(), rod.end, dampin=0.1)
