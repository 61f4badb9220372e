"""Benchmarks: closed mechanisms with published results: Andrews' squeezer and a row of four-bars."""

from math import pi

import numpy as np

from kempe.mechanics.state import State
from kempe.mechanism.bodies import Body, Hub
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory

# ---- Andrews' squeezer -----------------------------------------------------------------------------------

# The published initial state, at rest. Each angle is the coordinate of the hinge of that name.
SQUEEZER_START = {
    "beta": -0.0617138900142764496,
    "Theta": 0.0,
    "gamma": 0.455279819163070380,
    "Phi": 0.222668390165885885,
    "delta": 0.487364979543842550,
    "Omega": -0.222668390165885885,
    "epsilon": 1.23054744454982119,
}
SQUEEZER_TORQUE = 0.033  # N m, on beta, in the published run


def andrews_squeezer() -> Mechanism:
    """The seven-body mechanism of the Test Set for Initial Value Problems: bodies K1 to K7, no gravity.

    All but K1, K5 and K7 meet in point F. The frame of a body is turned by beta (K1), beta + Theta (K2), gamma (K3),
    Phi + delta (K4), delta (K5), Omega + epsilon (K6), epsilon (K7); K2 points backwards in its frame.
    """
    m = Mechanism("andrews-squeezer", gravity=(0.0, 0.0, 0.0))

    def body(number: int, mass: float, com: tuple[float, float], inertia: float) -> Body:
        # Only the moment about z is published, and only this one matters.
        return m.body(f"K{number}", mass, (*com, 0.0)).add("spin", Hub(inertia), at=(*com, 0.0))

    one = body(1, 0.04325, (0.00092, 0.0), 2.194e-6)
    two = body(2, 0.00365, (-0.0115, 0.0), 4.410e-7)
    three = body(3, 0.02373, (0.01043, -0.01874), 5.255e-6)
    four = body(4, 0.00706, (0.0, -(0.02 - 0.01421)), 5.667e-7)
    five = body(5, 0.07050, (0.02308, 0.00916), 1.169e-5)
    six = body(6, 0.00706, (0.02 - 0.01421, 0.0), 5.667e-7)
    seven = body(7, 0.05498, (-0.00449, -0.01228), 1.912e-5)
    a, b = (-0.06934, -0.00227), (-0.03635, 0.03273)
    m.revolute("beta", m.ground.at(0, 0), one.at(0, 0), actuated=True)
    m.revolute("Theta", one.at(0.007, 0), two.at(0, 0))
    m.revolute("gamma", m.ground.at(*b), three.at(0, 0))
    m.revolute("delta", m.ground.at(*a), five.at(0, 0))
    m.revolute("Phi", five.at(0.04, 0), four.at(0, 0))
    m.revolute("epsilon", m.ground.at(*a), seven.at(0, 0))
    m.revolute("Omega", seven.at(0, -0.04), six.at(0, 0))
    f = two.at(-0.028, 0, name="F")
    m.revolute("F3", f, three.at(0, -0.035))
    m.revolute("F4", f, four.at(0, -0.02))
    m.revolute("F6", f, six.at(0.02, 0))
    m.spring("spring", m.ground.at(0.014, 0.072), three.at(0.02, -0.018), stiffness=4530.0, length=0.07785)
    return m


def squeezer_state(model: Model, angles, rates=(0.0,) * 7) -> State:
    """The closed state nearest to the seven published angles and rates, in their order (beta to epsilon)."""
    names = tuple(SQUEEZER_START)
    near = dict(zip(names, map(float, angles), strict=True))
    return model.assemble({"beta": near["beta"]}, near=near, rates={"beta": float(rates[0])})


def squeezer_angles(state: State) -> tuple[np.ndarray, np.ndarray]:
    """The seven angles in their published order, beta to epsilon, and their rates."""
    names = tuple(SQUEEZER_START)
    return np.array([state[name] for name in names]), np.array([state.rate(name) for name in names])


def squeezer_start(model: Model) -> State:
    """The published initial state."""
    return squeezer_state(model, SQUEEZER_START.values())


def squeeze(model: Model, duration: float, **options) -> Trajectory:
    """The published run: from rest under a constant torque, with an accelerating drive."""
    options = {"tolerance": 1e-10, "output": 1e-4, **options}
    return model.simulate(squeezer_start(model), duration, torque={"beta": SQUEEZER_TORQUE}, **options)


# ---- a row of four-bars ----------------------------------------------------------------------------------


def n_four_bar(count: int = 2) -> Mechanism:
    """Four-bars in a row: count + 1 uprights and count couplers, all thin rods of 1 m and 1 kg.

    One freedom, but count + 1 at instants when all bars are in line.
    """
    m = Mechanism("n-four-bar", gravity=(0.0, -9.81, 0.0))
    uprights = [m.rod(f"upright{k}", length=1.0, mass=1.0) for k in range(count + 1)]
    for k, upright in enumerate(uprights):
        m.revolute(f"foot{k}", m.ground.at(k, 0), upright.start, actuated=k == 0)
    for k in range(count):
        coupler = m.rod(f"coupler{k}", length=1.0, mass=1.0)
        m.revolute(f"left{k}", uprights[k].end, coupler.start)
        m.revolute(f"right{k}", coupler.end, uprights[k + 1].end)
    return m


def parallel_bars(model: Model, angle: float, rate: float = 0.0) -> State:
    """All uprights at the same angle, as parallelograms."""
    names = [joint.name for joint in model.mechanism.joints]
    near = {name: -angle if name.startswith("left") else angle for name in names}
    return model.assemble({"foot0": angle}, near=near, rates={"foot0": rate})


def upright_bars(model: Model) -> State:
    """The published initial state: vertical uprights, their tops at 1 m/s."""
    return parallel_bars(model, pi / 2, rate=1.0)


def tumble(model: Model, duration: float, **options) -> Trajectory:
    """Tumbles freely; twice per turn all bars are in line, and the run continues through this pose."""
    return model.simulate(upright_bars(model), duration, **{"singular": "cross", **options})
