"""Plots: every kind for every sort of run; what lines, labels and axes say."""

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from kempe.errors import FileError, StateError
from kempe.mechanism.mechanism import Mechanism
from kempe.results.outcome import SINGULAR, Occurrence, Outcome
from kempe.results.plots import KINDS
from kempe.results.trajectory import Trajectory
from tests.mechanisms import random_tree
from tests.results.runs import cart, cart_run, rows_of, simulated, top_run


@pytest.fixture(scope="module")
def run():
    events = tuple(Occurrence(name, t, (), ()) for name, t in (("stop", 0.5), ("limit $x", 0.51), ("back", 1.5)))
    return cart_run(rows=51, occurrences=events)


@pytest.fixture(scope="module")
def runs(run):
    spinning = top_run(np.linspace(0, 0.2, 21))
    odd = Mechanism("$ % _{", gravity=(0, -9.81, 0))
    rod = odd.rod("rod", length=1.0, mass=1.0)
    odd.revolute("_hinge $^$\n2", odd.ground.at(0, 0), rod.start)
    z = np.zeros((3, 1))
    everything = rows_of(random_tree(5, 8, passive=True, loads=True).compile(), 3, z=z, z_names=("law.state",))
    statue = Mechanism("statue")
    statue.fixed("base", statue.ground.at(0, 0), statue.box("stone", (1, 1, 1), 1.0).at(0, 0))
    none = np.zeros((2, 0))
    return {
        "cart": run,
        "one row": run[:1],
        "no actuators": spinning,
        "odd names": rows_of(odd.compile(), 4),
        "all joints": everything,
        "no freedoms": Trajectory(statue.compile(), [0.0, 1.0], none, none, none, none),
    }


@pytest.mark.parametrize("degrees", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["cart", "one row", "no actuators", "odd names", "all joints", "no freedoms"])
def test_every_kind_of_every_run(runs, name, kind, degrees, tmp_path):
    run = runs[name]
    figure = run.plot(kind, tmp_path / "plot.png", degrees=degrees, point=run.model.mechanism.bodies[0])
    assert isinstance(figure, Figure)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["plot.png"]


def test_plots_leave_pyplot_alone():
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def labels(figure) -> list[str]:
    return [axes.get_ylabel() for axes in figure.axes]


def test_units_are_on_axes_of_their_own(run):
    assert labels(run.plot("positions")) == ["slide [m]", "angle [rad]"]
    assert labels(run.plot("positions", degrees=True)) == ["slide [m]", "angle [deg]"]
    assert labels(run.plot("rates")) == ["speed [m/s]", "angular rate [rad/s]"]
    assert labels(run.plot("accelerations")) == ["acceleration [m/s\u00b2]", "angular acceleration [rad/s\u00b2]"]
    assert labels(run.plot("torques")) == ["force [N]", "torque [N\u00b7m]"]
    assert labels(run.plot("energy")) == ["energy [J]", "change of total [J]"]
    assert labels(run.plot("power")) == ["power [W]", "imbalance [W]"]
    assert len(run.plot().axes) == 7
    assert labels(top_run([0.0, 0.1]).plot("positions")) == ["quaternion"]


def test_lines_are_the_numbers_of_the_run(run):
    slide, angle = run.plot("positions", degrees=True).axes
    assert np.array_equal(slide.get_lines()[0].get_ydata(), run["rail"])
    np.testing.assert_allclose(angle.get_lines()[1].get_ydata(), np.degrees(run["elbow"]))
    assert [text.get_text() for text in angle.get_legend().get_texts()] == ["shoulder", "elbow"]
    (phase,) = run.plot("phase", joint="elbow").axes
    assert np.array_equal(phase.get_lines()[0].get_xydata(), np.stack([run["elbow"], run.rate("elbow")], axis=1))


def test_chosen_joints(run):
    (axes,) = run.plot("rates", joints=["elbow"]).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["elbow"]
    with pytest.raises(StateError, match="no joint or coordinate 'elbwo'; there are elbow"):
        run.plot(joints=["elbwo"])


def test_a_joint_has_one_colour(run):
    figure = run.plot()
    colours = {}
    for axes in figure.axes:
        if axes.get_legend():
            names = [text.get_text() for text in axes.get_legend().get_texts()]
            for name, line in zip(names, axes.get_lines(), strict=False):
                assert colours.setdefault(name, line.get_color()) == line.get_color()
    assert len(set(colours.values())) == len(colours) == 6


def test_events_and_outcome_are_shown(run):
    ended = Trajectory(
        run.model, run.t, run.q, run.v, run.a, run.u,
        occurrences=run.occurrences, outcome=Outcome(SINGULAR, 2.0, ("elbow",), "elbow is stretched"),
    )  # fmt: skip
    figure = ended.plot("energy")
    assert "singular at t = 2 s: elbow is stretched" in figure.get_suptitle()
    assert run.plot("energy").get_suptitle() == "double pendulum on a cart"
    top, bottom = figure.axes
    assert [text.get_text() for text in top.texts] == [r"stop, limit \$x", "back"]
    assert {0.5, 0.51, 1.5} <= {line.get_xdata()[0] for line in bottom.get_lines()}


def test_a_path_lies_in_the_plane_it_moves_in(run):
    (axes,) = run.plot("path", point=["lower.end", "upper.end"]).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "y [m]")
    assert axes.get_aspect() == 1.0
    assert np.array_equal(axes.get_lines()[0].get_xydata(), run.point("lower.end")[:, :2])
    m = Mechanism("pendulum", gravity=(0, 0, -9.81))
    rod = m.rod("rod", length=1.0, mass=1.0)
    m.revolute("hinge", m.ground.at(0, 0), rod.start, axis=(0, 1, 0))
    model = m.compile()
    (axes,) = simulated(model, model.state(), np.linspace(0, 1, 9)).plot("path", point=rod.end).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")
    (axes,) = top_run(np.linspace(0, 1, 9)).plot("path", point="disc").axes
    assert axes.name == "3d"


def test_fifty_joints_stay_readable(tmp_path):
    arm = Mechanism.from_dh("arm", a=np.full(50, 0.1), b=np.zeros(50), alpha=np.full(50, 0.3), mass=np.ones(50))
    x = np.random.default_rng(0).normal(size=(5, 50))
    run = Trajectory(arm.compile(), np.arange(5.0), x, x, x, x)
    figure = run.plot("positions", tmp_path / "many.png")
    (axes,) = figure.axes
    assert len({line.get_color() for line in axes.get_lines()}) == 50
    paper = figure.bbox
    legend = axes.get_legend().get_window_extent()
    assert paper.x1 >= legend.x1, "the legend stays on the paper"
    assert legend.y0 >= paper.y0
    assert axes.get_window_extent().width > 0.4 * paper.width, "and leaves room for the lines"


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda run, folder: run.plot("enrgy"), StateError, "no plot 'enrgy'; there are energy"),
        (lambda run, folder: run.plot("path"), StateError, "a path needs a point"),
        (lambda run, folder: run.plot("path", point="lower.edn"), StateError, "no marker of 'lower' 'edn'"),
        (
            lambda run, folder: run.plot("energy", folder / "a.xyz"),
            FileError,
            "a.xyz: the ending of a picture file must be one of .*png",
        ),
        (
            lambda run, folder: run.plot("energy", folder / "no" / "a.png"),
            FileError,
            "a.png cannot be written: there is no folder",
        ),
    ],
)
def test_complaints(run, tmp_path, ask, error, said):
    with pytest.raises(error, match=said):
        ask(run, tmp_path)


def test_markers_without_a_name_are_called_by_their_place():
    m = cart()
    model = m.compile()
    run = simulated(model, model.state(), [0.0, 0.1])
    (axes,) = run.plot("path", point=m.bodies[1].at(0.1, 0.2)).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["upper at (0.1, 0.2, 0)"]
