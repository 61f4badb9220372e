"""Trees: open mechanisms for first examples: a double pendulum, a crane with a swinging load, a brick in space."""

from math import pi

from kempe.control import motions
from kempe.control.laws import pd
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.results.trajectory import Trajectory


def double_pendulum() -> Mechanism:
    """Two rods in series: chaos from two hinges."""
    m = Mechanism("double-pendulum", gravity=(0, -9.81, 0))
    upper, lower = m.rod("upper", length=0.5, mass=1.0), m.rod("lower", length=0.4, mass=0.8)
    m.revolute("shoulder", m.ground.at(0, 0), upper.start, actuated=True)
    m.revolute("elbow", upper.end, lower.start)
    return m


def fall(model: Model, duration: float, **options) -> Trajectory:
    """Falls from stretched out to the side, at rest."""
    return model.simulate(model.state(), duration, **options)


def crane() -> Mechanism:
    """A slewing and luffing boom with a guy spring, a load on a ball joint, and limits on luffing."""
    m = Mechanism("crane")
    post = m.cylinder("post", length=2.0, radius=0.1, mass=50.0)
    boom = m.rod("boom", length=3.0, mass=20.0, radius=0.05)
    boom.point_mass("pulley", 2.0, at=(2.9, 0, 0))
    load = m.box("load", size=(0.4, 0.4, 0.4), mass=30.0)
    m.revolute("slew", m.ground.at(0, 0, 0), post.at(0, 0, -1), actuated=True, damping=5.0)
    m.revolute("luff", post.at(0, 0, 1), boom.start, axis=(0, 1, 0), actuated=True, limits=(-1.2, 0.1), damping=20.0)
    m.spherical("hook", boom.end, load.at(0, 0, 1.0), damping=0.5)
    m.spring("guy", post.at(0.5, 0, 1), boom.at(1.0, 0, 0), stiffness=2000.0, damping=10.0, length=0.5)
    return m


def swing(model: Model, duration: float, **options) -> Trajectory:
    """Slews a quarter turn while luffing, by PD control with gravity compensation; the load swings behind."""
    motion = motions.quintic({"slew": (0.0, pi / 2), "luff": (-0.2, -0.7)}, duration=4.0)
    torque = pd(motion, stiffness=4000.0, damping=1500.0, gravity=True)
    return model.simulate(model.state({"luff": -0.2}), duration, torque=torque, **options)


def brick() -> Mechanism:
    """A free brick: spun about its middle axis, it turns over again and again."""
    m = Mechanism("brick", gravity=(0, 0, 0))
    block = m.box("block", (0.3, 0.2, 0.08), 2.0)
    m.free("flight", m.ground.at(0, 0), block.at(0, 0, 0))
    return m


def spin(model: Model, duration: float, **options) -> Trajectory:
    """Spins about the axis of the middle moment of inertia, slightly perturbed."""
    state = model.state(rates={"flight": [0.01, 5.0, 0.01, 0.0, 0.0, 0.0]})
    return model.simulate(state, duration, **{"tolerance": 1e-11, **options})
