"""Cuts held by springs: forces against the gradient of their energy, closure against equations, paper 5's four-bar."""

from functools import cache
from math import pi

import numpy as np
import pytest

from kempe.compiler.interpret import interpret
from kempe.errors import MechanismError, StateError
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.papers.paper5.runs import rigid_four_bar
from kempe.results.trajectory import Trajectory
from tests.direct import Direct

KINDS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed")


@cache
def held(stiffness: float, damping: float = 0.0) -> Model:
    return rigid_four_bar().compile("springs", stiffness=stiffness, damping=damping, cut=["B"])


@cache
def exact() -> Model:
    return rigid_four_bar().compile(cut=["B"])


def start(model: Model):
    """theta = pi/2, alpha = 0.353281, phi = 1.26486."""
    return model.assemble({"O": pi / 2}, near={"A": 0.353281 - pi / 2, "C": 1.26486})


def two_bodies(kind: str, damping: float = 0.0) -> Direct:
    """Two floating bodies, joined by a joint that is cut."""
    m = Mechanism("pair", gravity=(0.3, -0.2, -9.81))
    one, other = (m.box(name, (0.3, 0.2, 0.1), mass) for name, mass in (("one", 2.0), ("other", 1.3)))
    m.free("F", m.ground.at(0.1, 0, 0), one.at(0, 0.05, 0))
    m.free("G", m.ground.at(0.2, 0.1, 0), other.at(0.02, 0, 0))
    options = {"axis": (0.0, 0.6, 0.8)} if kind in ("revolute", "prismatic", "cylindrical") else {}
    getattr(m, kind)("J", one.at(0.1, 0.02, 0.03), other.at(-0.1, 0.01, 0.02), **options)
    return Direct(m.compile("springs", stiffness=40.0, damping=damping, cut=["J"]).equations, m)


@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_the_gradient_of_the_energy(kind):
    """d(T + V)/dt = 0 far from closed, by differentiating energies along the motion; with dampers, their power."""
    for damping in (0.0, 0.7):
        model = two_bodies(kind, damping)
        state = model.random_state(3)
        a = model.call("forward_dynamics", state.q, state.v, np.zeros(model.nv))
        rate = float(model.casadi("energy_rate")(state.q, state.v, a))
        dampers, loads = model.call("passive_power", state.q, state.v)
        assert loads == 0.0
        assert (dampers < 0) if damping else (dampers == 0)
        assert rate == pytest.approx(dampers, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_reactions_of_cuts_are_what_their_springs_exert(kind):
    """Newton's and Euler's equations of one body, by momentum: all that acts on it are gravity and the cut."""
    model = two_bodies(kind, 0.4)
    state = model.random_state(5)
    a = model.call("forward_dynamics", state.q, state.v, np.zeros(model.nv))
    wrench = model.reactions(state.q, state.v, a=a)["J"]
    joint = next(joint for joint in model.mechanism.joints if joint.name == "J")
    rotation, position = model.call(model.marker_kernel("pose", joint.b), state.q)
    force, moment = rotation @ wrench[3:], rotation @ wrench[:3]
    body = model.mechanism.bodies[1]
    linear, angular = newton_euler(model, body, state, a)
    gravity = np.array([0.3, -0.2, -9.81])
    np.testing.assert_allclose(linear - 1.3 * gravity, force, atol=1e-9)
    centre = model.call(model.marker_kernel("pose", body.origin), state.q)[1]
    np.testing.assert_allclose(angular, moment + np.cross(position - centre, force), atol=1e-9)


def newton_euler(model: Model, body, state, a):
    """Rates of momentum of a body about its own centre, which is its origin: from its motion alone."""
    rotation, _ = model.call(model.marker_kernel("pose", body.origin), state.q)
    twist = model.call(model.marker_kernel("twist", body.origin), state.q, state.v)
    rate = model.call(model.marker_kernel("acceleration", body.origin), state.q, state.v, a)
    tensor = body.inertia(model.mechanism.parameters.__getitem__).tensor
    world = rotation @ np.array(tensor, dtype=float) @ rotation.T
    return 1.3 * rate[3:], world @ rate[:3] + np.cross(twist[:3], world @ twist[:3])


# ---- against loops closed by equations ---------------------------------------------------------------------


def test_the_start_is_that_of_the_paper():
    state = start(held(1e6))
    assert state["A"] + state["O"] == pytest.approx(0.353281, abs=1e-5)
    assert state["C"] == pytest.approx(1.26486, abs=1e-5)


@pytest.fixture(scope="module")
def gaps() -> dict[float, tuple[float, float]]:
    """By stiffness: the largest gap over half a second of the paper's run, and how far the crank is from the exact."""
    wanted = exact().simulate(start(exact()), 0.5, torque={"O": 6.0}, tolerance=1e-10, output=1e-3)
    found = {}
    for k in (1e3, 1e4, 1e5, 1e6, 1e7):
        run = held(k).simulate(start(held(k)), 0.5, torque={"O": 6.0}, tolerance=1e-11, output=1e-3, method="dop853")
        found[k] = run.closure.max() * held(k).equations.closure_size, np.abs(run["O"] - wanted["O"]).max()
    return found


def test_springs_close_loops_as_they_grow_stiff(gaps):
    """Undamped, a cut swings about its stretched length, to twice lambda / k; both errors fall like 1 / k."""
    model = exact()
    run = model.simulate(start(model), 0.5, torque={"O": 6.0}, tolerance=1e-10, output=1e-3)
    force = np.linalg.norm(run.reactions["B"][:, 3:], axis=1)
    for k, (gap, _) in gaps.items():
        if k >= 1e4:
            assert force[0] / k < gap < 2.6 * force.max() / k
    sizes = np.array(list(gaps.values()))
    orders = np.diff(np.log10(sizes), axis=0)
    assert (np.abs(orders[1:] + 1.0) < 0.25).all()


def test_a_gap_is_an_oscillator_driven_by_the_multiplier():
    """phi'' + k G phi = -G lam, with G = J M^-1 J^T and lam what the closed joint would transmit there."""
    model, closed, k = held(1e6), exact(), 1e6
    rng = np.random.default_rng(0)
    q, v, tau = start(model).q + 1e-4 * rng.normal(size=3), rng.normal(size=3), {"O": 6.0}
    size, plane = closed.equations.closure_size, slice(0, 2)
    phi, j, gamma = (size * x[plane] for x in (*closed.closure(q)[:2], closed.loop_bias(q, v)))
    inertia = closed.mass_matrix(q)
    alone = np.linalg.solve(inertia, closed.spread(tau) - closed.bias(q, v))
    g = j @ np.linalg.solve(inertia, j.T)
    lam = np.linalg.solve(g, gamma - j @ alone)
    moved = j @ model.forward_dynamics(q, v, tau) - gamma
    np.testing.assert_allclose(moved + k * g @ phi, -g @ lam, rtol=1e-9)


def test_energy_is_kept_with_that_of_the_springs():
    run = held(1e6).simulate(start(held(1e6)), 1.0, tolerance=1e-11, output=0.01, method="dop853")
    assert np.ptp(run.energy.total) < 1e-7 * np.ptp(run.energy.potential)


def test_forces_of_stiff_springs_are_reactions():
    """Damped, and after the swing has died down."""
    options = {"torque": {"O": 6.0}, "tolerance": 1e-10, "output": 0.05}
    model = rigid_four_bar().compile("springs", stiffness=1e6, damping_ratio=1.0, cut=["B"])
    run = model.simulate(start(model), 0.3, **options)
    wanted = exact().simulate(start(exact()), 0.3, **options).reactions["B"][-1, 3:5]
    np.testing.assert_allclose(run.reactions["B"][-1, 3:5], wanted, rtol=2e-3)


def test_inverse_dynamics_eliminates_the_forces_of_springs():
    """The corrected eq. 20 of the paper, with loops kept by the motion."""
    model = held(1e6)
    state = model.assemble({"O": 1.0}, near={"C": 1.2}, rates={"O": 2.0})
    tau = model.inverse_dynamics(state.q, state.v, {"O": 3.0})
    closed = exact()
    assert closed.forward_dynamics(state.q, state.v, tau)[0] == pytest.approx(3.0)
    theta, alpha, phi = state["O"], state["O"] + state["A"], state["C"]
    a = closed.forward_dynamics(state.q, state.v, tau)
    rates, accelerations = np.cumsum(state.v[:2]).tolist(), np.cumsum(a[:2]).tolist()
    assert tau[0] == pytest.approx(equation_20((theta, alpha, phi), rates, (*accelerations, a[2])))


def equation_20(angles, rates, accelerations) -> float:
    """tau of the paper's four-bar, with the signs and the missing term of the errata."""
    (theta, alpha, phi), (thetad, alphad), (thetadd, alphadd, phidd) = angles, rates, accelerations
    (l1, l2, l3), g = (1.0, 4.0, 2.5), 9.8
    (r1, r2, r3), (i1, i2, i3) = (x / 2 for x in (l1, l2, l3)), (x * x / 12 for x in (l1, l2, l3))
    cos, sin = np.cos, np.sin
    second = r2 * l1 * (cos(theta - alpha) * thetadd - sin(theta - alpha) * thetad**2)
    second += (i2 + r2**2) * alphadd + g * r2 * cos(alpha)
    third = (i3 + r3**2) * phidd + g * r3 * cos(phi)
    below = l2 * l3 * sin(alpha - phi)
    f_x = (l3 * cos(phi) * second + l2 * cos(alpha) * third) / below
    f_y = (l3 * sin(phi) * second + l2 * sin(alpha) * third) / below
    first = (i1 + r1**2 + l1**2) * thetadd + l1 * r2 * (cos(theta - alpha) * alphadd + sin(theta - alpha) * alphad**2)
    return first + g * (r1 + l1) * cos(theta) - l1 * sin(theta) * f_x + l1 * cos(theta) * f_y


# ---- a platform that floats --------------------------------------------------------------------------------


@cache
def floating() -> Model:
    mechanism = ENTRIES["stewart"].build()
    cut = [joint.name for joint in mechanism.joints if joint.type.name == "spherical"]
    return mechanism.compile("springs", stiffness=5e4, damping=50.0, cut=cut)


def test_all_joints_of_a_platform_can_be_cut():
    """Seven subsystems; the inertia matrix has no entry between two of them."""
    model = floating()
    assert (model.nv, len(model.topology.held)) == (24, 6)
    parts = model.topology.subsystems
    assert [part.bodies for part in parts][-1] == ("platform",)
    inertia = model.mass_matrix(model.assemble().q)
    owner = np.array([next(k for k, part in enumerate(parts) if n in part.velocities) for n in range(model.nv)])
    assert len(set(owner.tolist())) == 7
    assert (inertia[owner[:, None] != owner] == 0.0).all()
    assert "platform floats" in model.topology.explain()


def test_a_floating_platform_moves_as_one_that_is_held_by_equations():
    model, closed = floating(), ENTRIES["stewart"].build().compile()
    one = model.assemble()
    other = closed.assemble(
        {f"P{k}": one[f"P{k}"] for k in range(1, 7)}, near={f"U{k}": one[f"U{k}"] for k in range(1, 7)}
    )
    run = model.simulate(one, 0.3, tolerance=1e-9, output=0.05)
    wanted = closed.simulate(other, 0.3, tolerance=1e-9, output=0.05)
    np.testing.assert_allclose(run["P1"], wanted["P1"], atol=5e-4)
    # Inverse dynamics eliminates all 18 forces at the balls.
    legs = {f"P{k}": 0.3 * k - 1.0 for k in range(1, 7)}
    efforts = [x.inverse_dynamics(s.q, s.v, legs) for x, s in ((model, one), (closed, other))]
    assert model.u_names == closed.u_names
    np.testing.assert_allclose(*efforts, rtol=1e-7, atol=1e-7)


# ---- what is said ------------------------------------------------------------------------------------------


def arm() -> Mechanism:
    m = Mechanism("arm", gravity=(0.0, -9.81, 0.0))
    m.revolute("A", m.ground.at(0, 0), m.rod("rod", length=1.0, mass=1.0).start)
    return m


def test_what_is_asked_for_wrongly_is_refused():
    m = rigid_four_bar()
    with pytest.raises(MechanismError, match="stiffness: 'X' is not cut; cut are B"):
        m.compile("springs", stiffness={"X": 1.0}, cut=["B"])
    with pytest.raises(MechanismError, match="damping or damping_ratio, not both"):
        m.compile("springs", damping=1.0, damping_ratio=0.5)
    with pytest.raises(MechanismError, match="stiffness of 'B' is -1"):
        m.compile("springs", stiffness=-1.0, cut=["B"])
    with pytest.raises(MechanismError, match="only the formulation 'springs' takes it"):
        m.compile("sslm", stiffness=1e6)
    with pytest.raises(MechanismError, match="no closed loops"):
        arm().compile("springs")


def test_words_and_parameters():
    model = rigid_four_bar().compile("springs", ["B.spring.stiffness"], stiffness=1e5, damping_ratio=0.5, cut=["B"])
    assert model.p_names == ("B.spring.stiffness",)
    assert model.p[0] == 1e5
    assert "1 cut, 2 subsystems that move by themselves" in model.why
    assert "virtual spring" in model.cite()
    state = start(model)
    stretched = model.integrate(state.q, np.array([0.0, 0.0, 1e-3]))
    soft, hard = (model.forward_dynamics(stretched, state.v, p=np.array([k])) for k in (1e3, 1e5))
    rest = model.forward_dynamics(state.q, state.v, p=np.array([1e5]))
    assert np.abs(hard - rest)[2] == pytest.approx(100 * np.abs(soft - rest)[2], rel=0.05)


# ---- stiff enough ------------------------------------------------------------------------------------------


def test_the_least_stiffness_that_is_enough():
    model = held(1e4)
    found = model.tune_stiffness(1e-4, start(model), 0.2, {"O": 6.0})
    assert found.largest[found.stiffnesses == found.stiffness][0] <= 1e-4
    softer = found.stiffnesses < found.stiffness
    assert (found.largest[softer] > 1e-4).all()
    assert found.stiffnesses[softer].max() > found.stiffness / 1.03
    assert (found.rms < found.largest).all()
    again = rigid_four_bar().compile("springs", stiffness=found.stiffness, damping=0.0, cut=["B"])
    run = again.simulate(start(again), 0.2, torque={"O": 6.0}, tolerance=1e-9, output=2e-5, method="dop853")
    gaps = np.linalg.norm(again.residual(run.q), axis=1) * again.equations.closure_size
    assert gaps.max() == pytest.approx(1e-4, rel=0.05)
    axes = found.plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("stiffness [N/m]", "gap at the cuts [m]")
    assert "keep all gaps below 0.0001 m" in str(found)


def test_dampers_keep_their_ratio_while_springs_are_tuned():
    model = held(1e4, 20.0)
    found = model.tune_stiffness(1e-3, start(model), 0.1, {"O": 6.0})
    assert found.damping["B"] == pytest.approx(20.0 * np.sqrt(found.stiffness / 1e4))
    with pytest.raises(StateError, match="out of reach"):
        model.tune_stiffness(1e-16, start(model), 1e-3)
    with pytest.raises(StateError, match="formulation 'springs'"):
        exact().tune_stiffness(1e-3)


def test_subsystems_side_by_side():
    """Six legs and a platform: programs of their own that give what the whole gives."""
    model = floating()
    found = model.parallel_speedup()
    assert found.bodies[-1] == ("platform",)
    state = model.assemble()
    rng = np.random.default_rng(0)
    v, tau = rng.normal(size=(2, model.nv))
    wanted = model.call("forward_dynamics", state.q, v, tau)
    parts = np.concatenate([interpret(program, state.q, v, tau)[0] for program in found.programs])
    np.testing.assert_allclose(parts, wanted, rtol=1e-9, atol=1e-9)
    assert max(found.operations) < found.whole < sum(found.operations)
    assert found.longest < min(found.operations)
    assert found.speed_up(1) == 1.0
    assert 1.5 < found.speed_up(3) <= 3.0
    assert found.speed_up(8) == found.speed_up(7) == found.whole / max(found.operations)


def test_runs_are_read_again_with_their_cuts_and_springs(tmp_path):
    model = held(1e4, 20.0)
    run = model.simulate(start(model), 0.05, torque={"O": 6.0}, output=0.01)
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz")
    assert again.model.topology.springs == model.topology.springs
    np.testing.assert_allclose(again.energy.total, run.energy.total)
    np.testing.assert_allclose(again.reactions["B"], run.reactions["B"], atol=1e-9)


def test_a_run_without_a_start_begins_closed():
    model = held(1e6)
    run = model.simulate(None, 0.01, output=0.01)
    assert run.closure[0] < 1e-12
