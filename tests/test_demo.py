"""The demonstration and the command: the motion against SciPy, the pictures on disk, mistakes in a sentence."""

import re
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import solve_ivp

import kempe as kp
from kempe.demo.four_bar import FourBar
from kempe.demo.show import DURATION, START, show, simulate

linkage = FourBar()


def reference_acceleration(theta, rate):
    """The four-bar's acceleration from three rods, two constraint equations and their multipliers."""
    lengths = np.array([linkage.crank, linkage.coupler, linkage.rocker])
    masses = np.array(linkage.masses)
    points = kp.Kernel(linkage.look())(np.array([theta, rate]))[0]
    rods = [(points[0], points[1]), (points[1], points[2]), (points[3], points[2])]
    angles = np.array([np.arctan2(*(end - start)[::-1]) for start, end in rods])
    # Unknown rates and accelerations of the angles: B + coupler = D + rocker, in x and in y.
    s, c = np.sin(angles) * lengths, np.cos(angles) * lengths
    jacobian = np.array([[-s[0], -s[1], s[2]], [c[0], c[1], -c[2]]])
    rates = np.concatenate([[rate], -np.linalg.solve(jacobian[:, 1:], jacobian[:, 0] * rate)])
    # Centres of mass: r = crank/2; crank + coupler/2; D + rocker/2. Coefficients of each angle in each centre.
    part = np.array([[0.5, 0, 0], [1, 0.5, 0], [0, 0, 0.5]])
    jx, jy = -part * s, part * c
    mass_matrix = jx.T @ np.diag(masses) @ jx + jy.T @ np.diag(masses) @ jy + np.diag(masses * lengths**2 / 12)
    bias_x, bias_y = -(part * c) @ rates**2, -(part * s) @ rates**2
    force = -jx.T @ (masses * bias_x) - jy.T @ (masses * (bias_y + linkage.gravity))
    squares = rates**2 * [1, 1, -1]
    gamma = np.array([c @ squares, s @ squares])
    kkt = np.block([[mass_matrix, jacobian.T], [jacobian, np.zeros((2, 2))]])
    return np.linalg.solve(kkt, np.concatenate([force, gamma]))[0]


def test_the_acceleration_is_that_of_the_constrained_rods():
    kernel = kp.Kernel(linkage.dynamics())
    for theta, rate in np.random.default_rng(0).uniform(-7, 7, (50, 2)):
        assert kernel(theta, rate) == pytest.approx(reference_acceleration(theta, rate), rel=1e-10, abs=1e-10)


def test_the_run_is_that_of_scipy():
    motion = simulate(kp.Kernel(linkage.step()), kp.Kernel(linkage.look()), START)
    kernel = kp.Kernel(linkage.dynamics())
    scipy = solve_ivp(
        lambda t, x: [x[1], float(kernel(x[0], x[1]))], (0, DURATION), START, method="DOP853", rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(motion.x[-1], scipy.y[:, -1], rtol=1e-6)
    assert motion.energy_drift < 1e-9
    assert np.abs(motion.gap).max() < 1e-14


def test_pictures_and_page_are_written(tmp_path):
    console = Console(record=True, width=100)
    show(tmp_path / "deep" / "demo", console)
    written = sorted(path.name for path in (tmp_path / "deep" / "demo").iterdir())
    assert written == ["index.html", "linkage.png", "motion.png", "phase.png"]
    page = (tmp_path / "deep" / "demo" / "index.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert "@" not in re.sub(r'base64,[^"]*', "", page).replace("@media", "")
    assert "loop closed to" in console.export_text()


def run(*arguments):
    command = [sys.executable, "-c", "from kempe.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_version():
    assert run("--version").stdout == f"kempe {kp.__version__}\n"


def test_a_folder_that_cannot_be_is_one_sentence_and_exit_code_2(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run("demo", "--folder", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "File exists" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_command_is_exit_code_2():
    done = run("fly")
    assert done.returncode == 2
    assert "No such command 'fly'" in done.stderr
