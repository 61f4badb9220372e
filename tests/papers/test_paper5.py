"""Paper 5 reproduced: its equations as printed or put right, the closed form, its closure levels, a coupler that bends,
subsystems side by side."""

import numpy as np
import pytest

from kempe.gallery.parallel import GOUGH_START
from kempe.papers.paper5 import bending as bending
from kempe.papers.paper5 import closed as closed_form
from kempe.papers.paper5 import costs as costs
from kempe.papers.paper5 import runs as runs
from kempe.spatial.quaternions import exponential, to_matrix

L1, L2, L3 = runs.LENGTHS
R1, R2, R3 = (x / 2 for x in runs.LENGTHS)
I1, I2, I3 = (x * x / 12 for x in runs.LENGTHS)
G, K = runs.GRAVITY, runs.STIFFNESS


@pytest.fixture(scope="module")
def held():
    return runs.four_bars(("augmented",))[runs.SPRINGS]


@pytest.fixture(scope="module")
def run(held):
    return runs.four_bar_run(held)


def random_state(model):
    """q and v of any angles, B far from closed, and the paper's own angles and rates of these."""
    theta, alpha, phi, *rates = np.random.default_rng(5).uniform(-1.0, 1.5, 6)
    state = model.state({"O": theta, "A": alpha - theta, "C": phi},
                        rates={"O": rates[0], "A": rates[1] - rates[0], "C": rates[2]})  # fmt: skip
    return state, (theta, alpha, phi), rates


# ---- section 2.1 -----------------------------------------------------------------------------------------


def test_energies_are_those_of_6_to_13(held):
    """With r_i and p_1 along x, where (3) and (4) have them along y, and m_3 in (8), which prints none before it."""
    state, (theta, alpha, phi), (thetad, alphad, phid) = random_state(held)
    cos, sin = np.cos, np.sin
    kinetic = (I1 + R1**2) * thetad**2 / 2 + L1**2 * thetad**2 / 2 + (I2 + R2**2) * alphad**2 / 2  # (6, 7)
    kinetic += L1 * R2 * cos(theta - alpha) * thetad * alphad + (I3 + R3**2) * phid**2 / 2  # (7, 8)
    potential = G * (R1 * sin(theta) + L1 * sin(theta) + R2 * sin(alpha) + R3 * sin(phi))  # (9-11)
    potential += K / 2 * runs.gap(np.array([[theta, alpha, phi]]))[0] ** 2  # (12)
    found = held.energy(state.q, state.v)
    assert found[0] == pytest.approx(kinetic, rel=1e-12)
    assert found[1] == pytest.approx(potential, rel=1e-12)


def test_accelerations_are_those_of_15_to_19(held):
    state, (theta, alpha, phi), (thetad, alphad, _) = random_state(held)
    cos, sin = np.cos, np.sin
    x = L1 * cos(theta) + L2 * cos(alpha) - L3 * cos(phi) - runs.APART
    y = L1 * sin(theta) + L2 * sin(alpha) - L3 * sin(phi)
    mixed = L1 * R2 * cos(theta - alpha)
    inertia = np.array([[I1 + R1**2 + L1**2, mixed, 0], [mixed, I2 + R2**2, 0], [0, 0, I3 + R3**2]])  # (17)
    turn = L1 * R2 * sin(theta - alpha)
    bias = [turn * alphad**2 + G * (R1 + L1) * cos(theta), -turn * thetad**2 + G * R2 * cos(alpha), G * R3 * cos(phi)]
    force = [
        6.0 + L1 * sin(theta) * K * x - L1 * cos(theta) * K * y,
        L2 * sin(alpha) * K * x - L2 * cos(alpha) * K * y,
        -L3 * sin(phi) * K * x + L3 * cos(phi) * K * y,
    ]  # (19)
    wanted = np.linalg.solve(inertia, np.array(force) - bias)
    found = held.forward_dynamics(state.q, state.v, np.array([6.0]))
    np.testing.assert_allclose([found[0], found[0] + found[1], found[2]], wanted, rtol=1e-11)


def test_the_start_as_printed_leaves_b_open_by_micrometres(held):
    printed, closed = runs.printed_start(held), runs.closed_start(held)
    assert runs.gap(np.array([runs.PRINTED]))[0] == pytest.approx(5.2e-6, rel=0.01)
    np.testing.assert_allclose(printed.q, closed.q, atol=5e-6)


# ---- section 3.1 -----------------------------------------------------------------------------------------


def test_the_closed_form_closes_and_its_slopes_are_those_of_differences():
    theta, h = np.linspace(0.1, 6.2, 50), 1e-4
    alpha, phi = closed_form.others(theta)
    assert runs.gap(np.column_stack([theta, alpha, phi])).max() < 1e-14
    before, after = np.array(closed_form.others(theta - h)), np.array(closed_form.others(theta + h))
    first, second = closed_form.slopes(theta, alpha, phi)
    np.testing.assert_allclose(first, (after - before) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(second, (after - 2 * np.array([alpha, phi]) + before) / h**2, atol=1e-4)


def test_the_dae_is_the_closed_form_and_springs_are_near(run):
    """Figure 8; the difference falls as 1 / k."""
    exact = closed_form.solved(run.t)
    dae = runs.four_bar_run(runs.four_bars(("augmented",))["augmented"])
    assert np.abs(runs.angles(dae) - exact[0]).max() < 1e-9
    assert np.abs(runs.rates(dae) - exact[1]).max() < 1e-8
    early, off = run.t <= 1.0, np.abs(runs.angles(run) - exact[0])
    assert off[early].max() < 1e-5
    assert 1e-4 < off.max() < 3e-3
    stiffer = runs.four_bar_run(run.model, stiffness=10 * K)
    assert off.max() / np.abs(runs.angles(stiffer) - exact[0]).max() == pytest.approx(10.0, rel=0.1)


def test_the_gap_at_one_time_is_a_matter_of_phase(held):
    """Figure 6: at k = 1e6, 10^-4.8 m; within half a decade of k more than two orders of magnitude."""
    stiffnesses = np.append(np.logspace(5.75, 6.25, 25), K)
    found = runs.gaps(held, runs.closed_start(held), stiffnesses, 0.1, 2e-5)
    assert np.log10(found.end[-1]) == pytest.approx(-4.80, abs=0.01)
    assert found.end.min() < 10**-5.5 < found.end.max()
    assert found.end.max() > 100 * found.end.min()
    np.testing.assert_allclose(found.largest * stiffnesses, 2 * 8.068, rtol=0.02)  # 2 |lambda|
    assert np.ptp(np.log(found.rms * stiffnesses)) < 0.05


# ---- section 3.2.1 ---------------------------------------------------------------------------------------


def test_springs_hold_a_coupler_that_bends():
    """Figures 11 to 13: the mid-point swings at about the first frequency, by springs as by equations to about 2 %."""
    held, exact = (runs.four_bar_run(runs.flexible_four_bars()[way]) for way in (runs.SPRINGS, "augmented"))
    of_largest, _ = bending.percent(held["coupler.eta1"], exact["coupler.eta1"])
    assert 1.0 < of_largest < 2.5
    assert bending.first_frequency() == pytest.approx(np.pi / 32 * np.sqrt(2123.56 * 1.333417 / 0.25))
    early = exact.t <= 1.0
    swing = bending.dominant_frequency(exact.t[early], exact["coupler.eta1"][early])
    assert swing == pytest.approx(bending.first_frequency(), rel=0.05)
    rotations, _ = exact.pose("coupler")
    chord = np.unwrap(np.arctan2(rotations[:, 1, 0], rotations[:, 0, 0]))
    np.testing.assert_allclose(runs.angles(exact)[:, 1], chord, atol=1e-12)
    assert runs.gap(runs.angles(exact)).max() < 1e-12


# ---- section 3.2.3 ---------------------------------------------------------------------------------------


def test_the_printed_legs_are_those_of_two_poses():
    """rho_i of the stated pose, alpha_i and beta_i of a level platform elsewhere, both to the digits of the sizes."""
    np.testing.assert_allclose(runs.directions(*GOUGH_START)[:, 0], runs.LEGS_PRINTED, atol=4e-4)
    level = runs.directions(runs.LEVEL, 0.0)
    np.testing.assert_allclose(level[:, 1], runs.TURNS_PRINTED, atol=4e-4)
    np.testing.assert_allclose(level[:, 2], runs.LEANING_PRINTED, atol=4e-4)
    stated = runs.directions(*GOUGH_START)
    assert np.abs(stated[:, 1] - runs.TURNS_PRINTED).max() > 0.05


def test_eulers_angles_are_those_of_23():
    rng = np.random.default_rng(3)
    phi, theta, psi = rng.uniform(-1, 1, (3, 20))
    theta = np.abs(theta) + 0.1

    def about(axis: int, angle: float) -> np.ndarray:
        return to_matrix(exponential(angle * np.eye(3)[axis]))

    turns = np.array([about(2, a) @ about(1, b) @ about(2, c) for a, b, c in zip(phi, theta, psi, strict=True)])
    for k in range(20):  # one by one: nothing to continue
        np.testing.assert_allclose(runs.euler(turns[k : k + 1])[0], [phi[k], theta[k], psi[k]], atol=1e-12)


def test_the_platform_closes_as_well_as_the_papers():
    """Around 1e-4 m and 1e-3 m/s; and the same motion by equations, while it is not sensitive."""
    models, law = runs.platforms(("auto",)), runs.push()
    held, exact = (
        models[way].simulate(runs.platform_start(models[way]), 0.35, law, 1e-8, 0.005, runs.METHOD)
        for way in (runs.SPRINGS, "auto")
    )
    gap, speed = runs.openings(held)
    assert 3e-5 < np.median(gap) < 3e-4
    assert 1e-4 < np.median(speed) < 3e-3
    assert np.linalg.norm(held.point("platform") - exact.point("platform"), axis=1).max() < 5e-5
    ends = [held.point(models[runs.SPRINGS].mechanism.joints[k].a) for k in (2, 5)]  # balls 1 and 2, by their markers
    heads = [held.point(models[runs.SPRINGS].mechanism.joints[k].b) for k in (2, 5)]
    apart = np.linalg.norm(np.array(ends) - heads, axis=2)
    assert (apart.max(axis=0) <= gap + 1e-12).all()


def test_threads_have_nothing_to_gain_at_one_state(held):
    rows = costs.threads(held, runs.closed_start(held))
    found = {name: float(one) for name, one, _ in rows}
    assert found["the whole, in a compiled loop"] < found["the whole"] < found["parts, by 2 threads"]
    counted = held.parallel_speedup()
    assert max(counted.speed_up(n) for n in costs.PROCESSORS) < 2.0  # two subsystems
