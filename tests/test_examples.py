"""Every example runs, prints what its docstring says with units, and writes its files; numbers against formulas."""

import ast
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import kempe as kp

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
G = 9.81
PARTS = r"\nPrints: (?P<prints>.+?)\. Writes: (?P<writes>.+?)\.$"


def told(path: Path) -> re.Match:
    """The two lines of a docstring: what it is; what it prints and writes."""
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert text is not None
    assert len(text.splitlines()) == 2, path
    found = re.search(PARTS, text)
    assert found, f"{path.name}: the second line of its docstring says Prints: .. Writes: .."
    return found


def numbers(printed: str, begin: str) -> list[float]:
    """The numbers of the line that begins so."""
    (line,) = (line for line in printed.splitlines() if line.startswith(begin))
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", line.removeprefix(begin))]


# ---- a four-bar by hand: crank 0.3, coupler 1.0, rocker 0.6, ground 1.0 m; 1.5, 5 and 3 kg ----------------


def bars(theta):
    """Centres of mass (3, 2, ..) and angles (3, ..) of the bars, the coupler's end above the line to the rocker."""
    b = 0.3 * np.array([np.cos(theta), np.sin(theta)])
    d = np.array([np.ones_like(theta), np.zeros_like(theta)])
    span = np.sqrt(((d - b) ** 2).sum(axis=0))
    along = (1.0 - 0.36 + span**2) / (2 * span)  # from b, to below the coupler's end
    x, y = (d - b) / span
    c = b + along * np.array([x, y]) + np.sqrt(1.0 - along**2) * np.array([-y, x])
    angles = [theta, np.arctan2(*(c - b)[::-1]), np.arctan2(*(c - d)[::-1])]
    return np.array([b / 2, (b + c) / 2, (c + d) / 2]), np.array(angles)


MASSES, LENGTHS = np.array([1.5, 5.0, 3.0]), np.array([0.3, 1.0, 0.6])


def potential(theta):
    return G * MASSES @ bars(theta)[0][:, 1]


def inertia(theta, h=1e-6):
    """What the crank feels: twice the kinetic energy over the square of its rate."""
    (more, turned), (less, back) = bars(theta + h), bars(theta - h)
    speeds, turns = (more - less) / (2 * h), np.angle(np.exp(1j * (turned - back))) / (2 * h)
    return MASSES @ (speeds**2).sum(axis=1) + (MASSES * LENGTHS**2 / 12) @ turns**2


def slope(f, x, h=1e-4):
    return (f(x + h) - f(x - h)) / (2 * h)


# ---- what is checked, by example --------------------------------------------------------------------------


def four_bar(ran: dict, printed: str):
    """Speeds by energies of a linkage of two circles."""
    theta, rates = ran["run"]["A"], ran["run"].rate("A")
    wanted = 2 * (potential(theta[0]) - potential(theta)) / inertia(theta)
    np.testing.assert_allclose(rates**2, wanted, atol=1e-6 * wanted.max())
    most, angle = numbers(printed, "crank turns at ")
    assert most == pytest.approx(np.sqrt(wanted.max()), abs=1e-3)
    assert angle == 90.0
    assert max(numbers(printed, "energy is off by ")) < 1e-6


def flywheel(ran: dict, printed: str):
    """The torque by virtual work, and how uneven it runs by the rule that flywheels are made by."""
    r, rod, speed = 0.04, 0.15, 20 * np.pi

    def piston(theta):
        return r * np.cos(theta) + np.sqrt(rod**2 - (r * np.sin(theta)) ** 2)

    def energy(theta):
        """At constant speed; what does not change is left out."""
        x = slope(piston, theta) * speed
        middle = np.array([(x - speed * r * np.sin(theta)) / 2, speed * r * np.cos(theta) / 2])
        turn = -speed * r * np.cos(theta) / np.sqrt(rod**2 - (r * np.sin(theta)) ** 2)
        kinetic = 0.25 * x**2 + 0.3 * (middle**2).sum(axis=0) + 0.6 * rod**2 / 24 * turn**2
        return kinetic + G * (0.8 + 0.6) * r / 2 * np.sin(theta) + 1000.0 * (piston(theta) - 0.11) ** 2

    theta = ran["path"]["motor"]
    wanted = slope(energy, theta) + 40.0 * speed * slope(piston, theta) ** 2
    np.testing.assert_allclose(ran["torque"], wanted, atol=1e-4)
    low, high, mean = numbers(printed, "torque at constant speed: ")
    np.testing.assert_allclose([low, high], [wanted.min(), wanted.max()], atol=0.006)
    assert mean == pytest.approx(wanted[:-1].mean(), abs=1e-3)
    for mass in (4, 12):
        uneven, estimate = numbers(printed, f"flywheel of {mass} kg: ")
        assert estimate == pytest.approx(uneven, rel=0.1)


def stewart(ran: dict, printed: str):
    """Lengths by Pythagoras; forces at rest by the work of lifting everything by a little."""
    run, turn = ran["run"], np.deg2rad([15, 10])
    (cp, cy), (sp, sy) = np.cos(turn), np.sin(turn)
    tilted = np.array([[cy * cp, -sy, cy * sp], [sy * cp, cy, sy * sp], [-sp, 0, cp]])
    rows = [numbers(line, line[:4]) for line in printed.splitlines() if line.startswith("leg") and line[3].isdigit()]
    for k in range(6):
        side = -1 if k % 2 else 1
        low, high = (np.deg2rad(120 * (k // 2) + side * spread) for spread in (12.0, 48.0))
        foot, head = (
            0.6 * np.array([np.cos(low), np.sin(low), 0]),
            np.array([0.3 * np.cos(high), 0.3 * np.sin(high), -0.025]),
        )
        first, last = head + np.array([0, 0, 0.8]) - foot, tilted @ head + [0.15, 0, 0.9] - foot
        length = np.linalg.norm(first)
        assert rows[k][0] == pytest.approx(1e3 * length, abs=0.006)
        assert run.at(1.0)[f"leg{k + 1}"] == pytest.approx(np.linalg.norm(last), abs=1e-9)
        level = np.hypot(*first[:2])

        def lifted(z, level=level):
            """Energy of a leg whose head is at a height: a tube of 0.585 m below, a rod of 0.6475 m above."""
            length = np.hypot(level, z)
            return G * z / length * (3.0 * 0.585 / 2 + 1.5 * (length - 0.6475 / 2))

        force = (slope(lifted, first[2]) + 20 * G / 6) * length / first[2]
        assert rows[k][3] == pytest.approx(force, abs=0.006)


def workspace(ran: dict, printed: str):
    """Two rings, as wide as limits of the elbows let them be."""
    x, y = np.meshgrid(np.linspace(-1, 1, 1500), np.linspace(-1, 1, 1500))
    inner, outer = (np.sqrt(0.16 + 0.36 + 0.48 * np.cos(a * kp.deg)) for a in (175, 5))
    apart = [np.hypot(x - foot, y) for foot in (-0.2, 0.2)]
    area = 4 * np.mean([(inner < r) & (r < outer) for r in apart], axis=0)
    whole, usable = numbers(printed, "the tip reaches ")[0:3:2]
    assert whole == pytest.approx(4 * np.mean(area == 4), rel=0.005)
    assert 0.9 * whole < usable < whole


def excavator(ran: dict, printed: str):
    """Where the tooth begins, by three turns; the work by forces along ways, and what becomes of it."""
    tooth, turn = np.zeros(2), 0.0
    for angle, (x, y) in zip((5, -60, -20), ((5.6, 0), (2.9, 0), (1.3, -0.05)), strict=True):
        turn += angle * kp.deg
        tooth += (x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn))
    np.testing.assert_allclose(ran["tooth"][0, :2], tooth, atol=1e-9)
    run = ran["run"]
    work = sum(np.trapezoid(run.torque(name), run[name]) for name in ran["CYLINDERS"])
    given, taken = numbers(printed, "cylinders do ")
    assert given == pytest.approx(work / 1e3, abs=0.02)
    assert given - taken == pytest.approx((run.energy[-1] - run.energy[0]) / 1e3, abs=0.02)
    most, last = numbers(printed, "the tooth is off by ")
    assert last < most < 50


def mjcf_loop(ran: dict, printed: str):
    """A seat that stays level on two ropes is a pendulum; swings of 10 degrees take longer by their square over 16."""
    small = 2 * np.pi * np.sqrt((2 * 0.3 / 3 + 4.0) / ((0.3 + 4.0) * G))
    (period,) = numbers(printed, "it swings with a period of ")[:1]
    assert period == pytest.approx(small * (1 + (10 * kp.deg) ** 2 / 16), rel=1e-3)
    assert "freedom 1 by rank" in printed
    assert kp.load("swing.yaml").parameters == kp.load("swing.xml").parameters


def rollouts(ran: dict, printed: str):
    """Energies by circles; they fall all the time, to the lowest place there is; turns are counted from there."""
    run, around = ran["run"], np.linspace(0, 2 * np.pi, 10001)
    theta, rate = run["A"].ravel(), run.rate("A").ravel()
    wanted = potential(theta) + inertia(theta) * rate**2 / 2
    np.testing.assert_allclose(run.energy.ravel(), wanted, atol=1e-6)
    assert (np.diff(run.energy, axis=1) < 1e-9).all()
    lowest = around[potential(around).argmin()]
    left, first = numbers(printed, "energy left above the lowest: ")
    assert left < 0.005 * first
    assert abs(np.angle(np.exp(1j * (run["A"][:, -1] - lowest)))).max() < 0.3
    np.testing.assert_allclose(
        numbers(printed, "turns: ")[:2], ran["turns"][[ran["speeds"].argmin(), ran["speeds"].argmax()]], atol=0.2
    )


def design_sweep(ran: dict, printed: str):
    """At constant speed a weight on the crank is felt by gravity alone; the rest by energies of two circles."""
    theta, masses = ran["run"]["A"], ran["masses"]
    bare = slope(potential, theta) + 0.5 * (2 * np.pi) ** 2 * slope(lambda x: inertia(x, 1e-4), theta)
    wanted = bare - np.outer(masses, G * 0.2 * np.cos(theta))
    np.testing.assert_allclose(ran["torque"], wanted, atol=1e-3)
    peaks = abs(wanted).max(axis=1)
    assert numbers(printed, "peak torque without a counterweight: ")[0] == pytest.approx(peaks[0], abs=0.006)
    least, mass, _ = numbers(printed, "least peak torque: ")
    assert least == pytest.approx(peaks.min(), abs=0.006)
    assert mass == pytest.approx(masses[peaks.argmin()])


CHECKS = (four_bar, flywheel, stewart, workspace, excavator, mjcf_loop, rollouts, design_sweep)


def test_every_example_is_checked_and_short():
    assert {path.stem for path in EXAMPLES} == {check.__name__ for check in CHECKS}
    assert all(len(path.read_text().splitlines()) < 60 for path in EXAMPLES)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_an_example(check, tmp_path, monkeypatch, capsys):
    path = FOLDER / f"{check.__name__}.py"
    says = told(path)
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    ran = runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    printed = capsys.readouterr().out
    for unit in re.findall(r"\[(.+?)\]", says["prints"]):
        assert re.search(rf"[\d\[] ?{re.escape(unit)}(?!\w)", printed), f"nothing printed in {unit}"
    assert {file.name for file in tmp_path.iterdir()} == set(says["writes"].split(", "))
    for picture in tmp_path.glob("*.png"):
        assert plt.imread(picture)[..., :3].std() > 0.02, f"{picture.name} is empty"
    check(ran, printed)
