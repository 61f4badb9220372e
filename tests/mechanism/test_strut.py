"""Struts: lengths against the law of cosines in a plane, and against distances in space."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import MechanismError, NotClosed


def boom(**options) -> kp.Mechanism:
    """A boom on a hinge, raised by a cylinder."""
    m = kp.Mechanism("boom", gravity=(0, -9.81, 0))
    arm = m.rod("arm", length=2.0, mass=50.0)
    m.revolute("hinge", m.ground.at(0, 0), arm.start)
    m.strut(
        "lift", m.ground.at(0.5, -0.6), arm.at(1.0, 0), stroke=(0.5, 1.2), mass=(8.0, 4.0), axis=(0, 0, 1), **options
    )
    return m


def by_cosines(hinge):
    return np.linalg.norm(np.array([np.cos(hinge), np.sin(hinge)]) - np.array([0.5, -0.6]))


@pytest.mark.parametrize("hinge", [-0.2, 0.0, 0.4])
def test_its_coordinate_is_its_length(hinge):
    model = boom().compile()
    assert model.u_names == ("lift",)
    assert model.dof == 1
    state = model.assemble({"hinge": hinge})
    assert state["lift"] == pytest.approx(by_cosines(hinge), abs=1e-12)
    again = model.assemble({"lift": state["lift"]}, near=state)
    assert again["hinge"] == pytest.approx(hinge, abs=1e-10)


def test_in_space_it_hangs_between_two_points():
    m = kp.Mechanism("platform")
    plate = m.box("plate", (1, 1, 0.1), 10.0)
    m.spherical("ball", m.ground.at(0, 0, 1), plate.at(0, 0, 0))
    ends = ((0.4, 0.3), (-0.4, 0.3), (0.0, -0.5))
    for k, (x, y) in enumerate(ends):
        m.strut(f"leg{k}", m.ground.at(1.5 * x, 1.5 * y, 0), plate.at(x, y, 0), stroke=(0.6, 1.6))
    found = m.mobility()
    assert found.freedom == 3
    assert found.actuation == "exact: 3 actuated, 3 to control"
    model = m.compile()
    state = model.assemble({"ball": [1, 0.05, -0.1, 0.02]})
    for k, (x, y) in enumerate(ends):
        rotation, position = model.pose("plate", state.q)
        head = position + rotation @ [x, y, 0]
        assert state[f"leg{k}"] == pytest.approx(np.linalg.norm(head - [1.5 * x, 1.5 * y, 0]), abs=1e-12)


def test_beyond_its_stroke_nothing_closes():
    with pytest.raises(NotClosed, match="beyond limits, as with lift"):
        boom().compile().assemble({"hinge": 1.5})


def test_weights_and_options():
    m = boom(actuated=False, damping=100.0)
    slider = next(joint for joint in m.joints if joint.name == "lift")
    assert slider.damping == (100.0,)
    assert not any(slider.actuated)
    masses = [b.inertia(m.parameters.__getitem__).mass for b in m.bodies[1:]]
    assert masses == [8.0, 4.0]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"stroke": (1.2, 0.5)}, "must be positive and increasing"),
        ({"stroke": 1.0}, "stroke is 1.0; give a list of numbers"),
        ({"stroke": (1.0,)}, "stroke, its shortest and longest length: give 2 numbers, not 1"),
        ({"stroke": (0.5, 1.0), "mass": -1.0}, "mass takes"),
        ({"stroke": (0.5, 1.0), "axis": (0, 0, 0)}, "axis takes a direction"),
    ],
)
def test_mistakes(given, what):
    m = kp.Mechanism("x")
    body = m.box("box", (1, 1, 1), 1.0)
    with pytest.raises(MechanismError, match=what):
        m.strut("s", m.ground.at(0, 0), body.at(0, 0), **given)


def test_without_mass_it_is_a_pure_force():
    """F dl/dtheta holds the arm's weight, and a fall keeps the arm's energy."""
    m = kp.Mechanism("boom", gravity=(0, -9.81, 0))
    arm = m.rod("arm", length=2.0, mass=50.0)
    m.revolute("hinge", m.ground.at(0, 0), arm.start)
    m.strut("lift", m.ground.at(0.5, -0.6), arm.at(1.0, 0), stroke=(0.5, 1.2), mass=0, axis=(0, 0, 1))
    model = m.compile()
    state = model.assemble({"hinge": 0.2})
    (force,) = model.inverse_dynamics(state.q, state.v, np.zeros(model.nv))
    lever = (by_cosines(0.2 + 1e-6) - by_cosines(0.2 - 1e-6)) / 2e-6
    assert force == pytest.approx(50 * 9.81 * np.cos(0.2) / lever, rel=1e-8)
    run = model.simulate(state, 0.3, tolerance=1e-10, limits="ignore")
    assert run.outcome.finished
    assert np.ptp(run.energy.total) < 1e-9 * run.energy.kinetic.max()
    # A free arm has 3 g cos(hinge) / (2 l) at its hinge: a strut without mass or force changes nothing.
    np.testing.assert_allclose(run.acceleration("hinge"), -1.5 * 9.81 / 2.0 * np.cos(run["hinge"]), rtol=1e-9)
