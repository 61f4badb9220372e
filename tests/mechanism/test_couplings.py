"""Couplings as they are written down: in Python, in YAML, and what is refused."""

from pathlib import Path

import pytest

import kempe as kp
from kempe.errors import FileError, MechanismError
from kempe.mechanism.files import parse
from kempe.mechanism.writing import text


def two(kind: str = "revolute", **options) -> kp.Mechanism:
    m = kp.Mechanism("two")
    for name in ("A", "B"):
        m.joint(
            kind, name, m.ground.at(0, 0, 0), m.sphere(f"body {name}", 0.1, 1.0).at(0, 0, 0.2), [(0, 0, 1)], **options
        )
    return m


def test_a_coupling_says_what_it_is_and_has_its_numbers_as_parameters():
    m = two("cylindrical")
    found = m.couple("thread", {"A.angle": 0.5, "A.slide": -20.0, "B.angle": 1.0}, offset=0.25)
    assert found.coefficients == {"A.angle": 0.5, "A.slide": -20.0, "B.angle": 1.0}
    assert (found.size, found.unit) == (20.0, "m")
    assert str(found) == "0.5 A.angle - 20 A.slide + 1 B.angle = 0.25"
    assert m.parameters["thread.A.slide"] == -20.0
    assert m.parameters["thread.offset"] == 0.25
    assert "thread couples joints: 0.5 A.angle" in m.topology().explain()


def test_names_that_other_numbers_have():
    m = kp.Mechanism("offset")
    for name in ("offset", "B"):
        m.revolute(name, m.ground.at(), m.sphere(f"body {name}", 0.1, 1.0).at(0, 0, 0.2))
    assert m.couple("belt", {"offset": 1.0, "B": -2.0}, offset=0.3).parameters == {
        "belt.offset.coefficient": 1.0,
        "belt.B": -2.0,
        "belt.offset": 0.3,
    }
    with pytest.raises(MechanismError, match=r"gravity\.x is already a parameter of gravity"):
        m.couple("gravity", {"B": 1.0})


def test_yaml_there_and_back():
    m = two()
    m.couple("belt", {"A": 1.0, "B": -1.0 / 3.0}, offset=1e-3)
    m.couple("stop", {"B": 2.0})
    written = text(m)
    again = parse(written, Path("two.yaml"))
    assert [(x.name, x.coefficients, x.offset) for x in again.couplings] == [
        ("belt", {"A": 1.0, "B": -1.0 / 3.0}, 1e-3),
        ("stop", {"B": 2.0}, 0.0),
    ]
    assert text(again) == written


@pytest.mark.parametrize(
    ("coefficients", "offset", "what"),
    [
        ({"A": 1.0, "C": 2.0}, 0.0, "there is no joint 'C'; there are A, B"),
        ({"A": 0.0, "B": 1.0}, 0.0, "the coefficient of 'A' must be a nonzero number"),
        ({"A": float("nan")}, 0.0, "the coefficient of 'A' must be a nonzero number, not nan"),
        ({"A": True}, 0.0, "not True"),
        ({}, 0.0, "give coefficients by joint"),
        (["A", "B"], 0.0, "coefficients is .*; give a dict by name"),
        ({"A": 1.0}, float("inf"), "offset is inf; give a finite number"),
        ({"A.angle": 1.0}, 0.0, "there is no joint 'A.angle'"),
    ],
)
def test_what_is_refused(coefficients, offset, what):
    with pytest.raises(MechanismError, match=what):
        two().couple("belt", coefficients, offset)


def test_joints_that_cannot_be_coupled():
    with pytest.raises(MechanismError, match=r"joint 'A' has several freedoms: name one of A\.angle, A\.slide"):
        two("cylindrical").couple("belt", {"A": 1.0})
    m = kp.Mechanism("ball")
    m.spherical("S", m.ground.at(0, 0, 0), m.sphere("ball", 0.1, 1.0).at(0, 0, 0.2))
    m.fixed("W", m.ground.at(0, 0, 1), m.sphere("knob", 0.1, 1.0).at(0, 0, 0.2))
    with pytest.raises(MechanismError, match="a spherical joint such as 'S' has a quaternion"):
        m.couple("belt", {"S.wx": 1.0})
    with pytest.raises(MechanismError, match="joint 'W' has no freedom"):
        m.couple("belt", {"W": 1.0})
    with pytest.raises(MechanismError, match="'A' can be switched off"):
        two(switchable=True).couple("belt", {"A": 1.0})


def test_a_name_is_used_once():
    m = two()
    m.couple("A", {"A": 1.0, "B": 1.0})
    assert "joint 'A': the name is used 2 times" in str(m.check())


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("couplings:\n  belt: {of: {A: 1, Z: 2}}", r"line 7, couplings\.belt\.of: .*there is no joint 'Z'"),
        ("couplings:\n  belt: {of: {A: one}}", "must be a nonzero number, not 'one'"),
        ("couplings:\n  belt: {A: 1}", r"line 7, couplings\.belt\.A: not known here; known are of, offset"),
        ("couplings: [1]", "should hold named entries"),
    ],
)
def test_files_that_couple_wrongly(lines, what):
    start = "bodies:\n  rod: {rod: {length: 1, mass: 1}}\njoints:\n  A: {revolute: [ground, rod]}\n\n"
    with pytest.raises(FileError, match=what):
        parse(start + lines, Path("two.yaml"))


def test_the_leg_recursion_says_that_it_does_not_know_couplings():
    m = kp.Mechanism("crank", gravity=(0, -9.81, 0))
    for name in ("A", "B"):
        m.revolute(name, m.ground.at(0, 0), m.rod(f"rod {name}", 1.0, 1.0).start, actuated=name == "A")
    m.couple("belt", {"A": 1.0, "B": -1.0})
    with pytest.raises(MechanismError, match=r"has couplings \(belt\), and denoc is for legs"):
        m.compile("denoc")
    with pytest.raises(MechanismError, match="formulation 'udu' is for trees, and 'crank' has couplings"):
        m.compile("udu")
