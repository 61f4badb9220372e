"""The command as people type it: screens, files, JSON, and mistakes told in one sentence with exit code 2."""

import io
import json
import os
import subprocess
import sys
import warnings
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from typer.testing import CliRunner

import kempe as kp
from kempe import cli
from kempe.cli import app
from kempe.commands.run import assignments
from kempe.errors import FileError, StateError


def run(*arguments, cwd: Path, rc: int = 0) -> subprocess.CompletedProcess:
    """What a process would say, from this one, which has imported everything."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with ExitStack() as stack:
        for each in (
            chdir(cwd),
            redirect_stdout(out),
            redirect_stderr(err),
            patch.dict(os.environ, COLUMNS="100"),
            patch.object(cli.console, "_width", 100),
            patch.object(sys, "argv", ["kempe", *arguments]),
            patch.object(sys, "excepthook", sys.excepthook),
            warnings.catch_warnings(),
        ):
            stack.enter_context(each)
        warnings.resetwarnings()
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    return answered(subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue()), rc)


def typed(*arguments, cwd: Path, rc: int = 0) -> subprocess.CompletedProcess:
    """What a process says."""
    root = Path(kp.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "100"}
    command = [sys.executable, "-m", "kempe", *arguments]
    return answered(subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment), rc)


def answered(done: subprocess.CompletedProcess, rc: int) -> subprocess.CompletedProcess:
    assert done.returncode == rc, done.stderr
    assert "Traceback" not in done.stderr
    return done


FOUR_BAR = """
name: four-bar
gravity: [0, -9.81, 0]
bodies:
  crank: {rod: {length: 0.3, mass: 1.5}}
  coupler: {rod: {length: 1.0, mass: 5.0}}
  rocker: {rod: {length: 0.6, mass: 3.0}}
ground: {right: [1, 0, 0]}
joints:
  A: {revolute: [ground.origin, crank.start], actuated: true}
  B: {revolute: [crank.end, coupler.start]}
  C: {revolute: [coupler.end, rocker.end]}
  D: {revolute: [ground.right, rocker.start]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("commands")


def test_list(folder):
    text = typed("list", cwd=folder).stdout
    assert "puma" in text
    assert "Mohan and Saha (2007)" in text
    names = [entry["name"] for entry in json.loads(run("list", "--json", cwd=folder).stdout)]
    assert names[0] == "puma"


def test_info_of_a_gallery_name(folder):
    text = run("info", "crane", cwd=folder).stdout
    assert "3 bodies, 3 joints, 0 loops" in text
    assert "by rank 5, by Gruebler 5" in text
    assert "too few: 2 actuated, 5 to control" in text
    assert "none, it is a tree" in text
    assert "slew, luff, hook.w, hook.x, hook.y, hook.z" in text
    assert "kempe run crane" in text
    assert (folder / "kempe-crane" / "mechanism.png").stat().st_size > 5000


def test_info_as_json_of_a_file_with_a_loop(folder):
    file = folder / "four bar.yaml"
    file.write_text(FOUR_BAR)
    found = json.loads(run("info", str(file), "--json", cwd=folder).stdout)
    assert (found["bodies"], found["joints"], found["loops"]) == (3, 4, 1)
    assert (found["freedom_by_rank"], found["freedom_by_gruebler"]) == (1, -2)
    assert found["redundant"] == ["C about x", "C about y", "C along z"]
    assert found["actuation"] == "exact: 1 actuated, 1 to control"
    assert list(found["cut"]) == ["C"]
    assert Path(folder, found["picture"]).exists()


def test_run_leaves_data_plots_and_a_page(folder):
    text = run("run", "double-pendulum", "--duration", "1", cwd=folder).stdout
    place = folder / "kempe-double-pendulum"
    assert {p.name for p in place.iterdir()} >= {
        "run.npz", "run.csv", "overview.png", "power.png", "strip.png", "index.html", "summary.txt",
    }  # fmt: skip
    assert "finished at t = 1 s" in text
    assert "kempe-double-pendulum/index.html" in text
    again = kp.Trajectory.load(place / "run.npz")
    assert again.end == 1.0
    np.testing.assert_array_equal(kp.Trajectory.load(place / "run.csv").q, again.q)
    assert (place / "index.html").stat().st_size < 150_000


def test_run_with_a_start_of_ones_own_and_a_folder(folder):
    given = (
        "--state",
        "shoulder=90deg",
        "--rate",
        "elbow=1.5",
        "--torque",
        "shoulder=2",
        "--method",
        "rk4",
        "--step",
        "0.01",
    )
    done = run("run", "double-pendulum", *given, "--duration", "0.5", "--folder", "mine", "--json", cwd=folder)
    found = json.loads(done.stdout)
    assert found["outcome"]["kind"] == "finished"
    assert found["steps"] == 50
    first = kp.Trajectory.load(folder / "mine" / "run.npz")
    assert first["shoulder"][0] == pytest.approx(np.pi / 2)
    assert first.rate("elbow")[0] == 1.5
    assert first.torque("shoulder")[-1] == 2.0


def test_files_and_gallery_names_work_alike(folder):
    from kempe.gallery.trees import double_pendulum

    double_pendulum().save(folder / "mine.yaml")
    found = json.loads(run("run", "mine.yaml", "--duration", "0.2", "--json", cwd=folder).stdout)
    assert found["folder"] == "kempe-mine"
    assert "udu" in run("counts", "mine.yaml", "--quick", cwd=folder).stdout


def test_counts(folder):
    found = json.loads(run("counts", "puma", "--json", cwd=folder).stdout)
    golden = json.loads((Path(__file__).parent / "dynamics" / "counts.json").read_text())
    m, a, _ = golden["forward_dynamics, puma"]
    counted = found["forward_dynamics, udu"]
    assert counted["mult"] + counted["div"] == m
    assert counted["add"] == a
    assert found["forward_dynamics, cholesky"]["total"] > counted["total"]


def test_counts_of_a_closed_mechanism_are_by_every_formulation_side_by_side(folder):
    found = json.loads(run("counts", "3-rrr", "--json", cwd=folder).stdout)
    forward = {key.removeprefix("forward_dynamics, "): x for key, x in found.items() if key.startswith("forward")}
    ways = [f"partition, {way}" for way in ("unit", "projected", "composite", "clusters")]
    assert list(forward) == [*ways, "augmented", "slm", "sslm", "denoc", "springs"]
    totals = [forward[way]["total"] for way in ways]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] == totals[-2]  # all its loops are one cluster
    assert found["generalized_efforts"]["total"] < totals[-1]
    assert [name for name, x in forward.items() if x["auto"]] == ["partition, composite"]
    for numbers in forward.values():
        assert 20 < numbers["ns"] < 100_000
        assert 0.001 < numbers["compile"] < 100
        assert 1e-17 < numbers["rounding"] < 1e-9
    assert found["inverse_dynamics, denoc"]["total"] < forward["denoc"]["total"]
    shown = run("info", "3-rrr", cwd=folder).stdout
    assert "kempe run 3-rrr" in shown
    assert f"{totals[-1]} operations" in shown


def test_a_driven_mechanism_of_the_gallery_shows_its_torques(folder):
    text = run("run", "slider-crank", "--duration", "1", cwd=folder).stdout
    assert "inverse dynamics of 1 s of motion" in text
    assert "power.png" in text
    again = kp.Trajectory.load(folder / "kempe-slider-crank" / "run.npz")
    assert np.abs(again.torque("A")).max() > 0.1


def test_a_file_with_a_loop_falls_freely_from_an_assembled_state(folder):
    (folder / "four bar.yaml").write_text(FOUR_BAR)
    text = run("run", "four bar.yaml", "--duration", "1", cwd=folder).stdout
    assert "finished at t = 1 s" in text
    assert "assembled closest to all joints at zero" in text
    given = "--state", "A=90deg", "--near", "D=70deg", "--rate", "C=1", "--torque", "A=2", "--duration", "0.5"
    run("run", "four bar.yaml", *given, "--folder", "driven", cwd=folder)
    start = kp.Trajectory.load(folder / "driven" / "run.npz")
    assert start["A"][0] == pytest.approx(np.pi / 2)
    assert 0 < start["D"][0] < np.pi  # the other branch is below the ground line
    assert start.rate("C")[0] == pytest.approx(1.0)
    assert start.torque("A")[-1] == 2.0


def test_closed_gallery_mechanisms_start_where_their_own_runs_do(folder):
    run("run", "n-four-bar", "--torque", "foot0=1", "--duration", "0.2", "--folder", "row", cwd=folder)
    start = kp.Trajectory.load(folder / "row" / "run.npz")
    assert (start["foot0"][0], start.rate("foot0")[0]) == pytest.approx((np.pi / 2, 1.0))


def test_singular_poses_end_a_run_or_are_crossed(folder):
    text = run("run", "n-four-bar", "--singular", "stop", "--duration", "1", "--folder", "row", cwd=folder, rc=1).stdout
    assert "a singular pose was met" in text
    run("run", "n-four-bar", "--duration", "1", "--folder", "row", cwd=folder)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("info", "pumma"), "'pumma' is neither in the gallery nor a file; did you mean puma?"),
        (("run", "nowhere.yaml"), "'nowhere.yaml' is neither in the gallery nor a file"),
        (("run", "puma", "--method", "ode45"), "there is no method 'ode45'"),
        (("run", "puma", "--method", "rk4"), "rk4 takes fixed steps"),
        (("run", "puma", "--state", "joint7=1"), "there is no joint 'joint7'"),
        (("run", "puma", "--state", "joint1"), "write name=value"),
        (("run", "puma", "--duration", "-1"), "duration is -1.0 s"),
        (("run", "puma", "--duration", "0"), "duration is 0.0 s"),
        (("run", "puma", "--output", "1e-9"), "rows; at most"),
        (("run", "puma", "--torque", "joint1=nan"), "'nan' is not finite"),
        (("info", "PUMA"), "did you mean puma?"),
        (("info", "empty.yaml"), "there are none"),
        (("counts", "empty.yaml"), "there are none"),
        (("run", "four bar.yaml", "--state", "A=0", "--state", "D=0"), "stays open"),
        (("run", "four bar.yaml", "--torque", "C=1"), "tau: C is not actuated"),
        (("run", "four bar.yaml", "--state", "C=10mm"), "wrong unit; it takes deg or rad"),
        (("run", "four-bar", "--method", "rk4"), "follows a motion, and nothing is integrated"),
        (("run", "puma", "--near", "joint1=1"), "--near selects how loops close"),
        (("run", "n-four-bar", "--singular", "jump"), "it takes 'stop' or 'cross'"),
        (("run", "broken.yaml"), "broken.yaml, line 2"),
        (("reproduce", "7"), "paper 7 cannot be reproduced yet; there are: 1, 2, 3, 4, 5"),
        (("counts", "."), "."),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(folder, arguments, sentence):
    (folder / "four bar.yaml").write_text(FOUR_BAR)
    (folder / "empty.yaml").write_text("")
    (folder / "broken.yaml").write_text("name: x\nbodies: {a: {rod: {lenght: 1}}}\n")
    done = (typed if arguments == ("info", "pumma") else run)(*arguments, cwd=folder, rc=2)
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_start_of_ones_own_is_said_not_to_be_the_gallerys(folder):
    text = run("run", "puma", "--state", "joint1=30deg", "--duration", "0.1", cwd=folder).stdout
    assert "not as in the gallery" in text


def test_a_run_that_breaks_off_has_exit_code_1(folder):
    """Two bars without mass and a mass at their end: stretched, nothing resists it along them."""
    m = kp.Mechanism("two bars", gravity=(0, 0, 0))
    first, second = m.solid("first"), m.solid("second")
    second.point_mass("mass", 1.0, at=(1, 0, 0))
    m.revolute("shoulder", m.ground.at(0, 0), first.at(0, 0))
    m.revolute("elbow", first.at(1, 0), second.at(0, 0))
    m.save(folder / "bars.yaml")
    done = typed("run", "bars.yaml", cwd=folder, rc=1)
    assert "inertia matrix turned singular at t = 0 s" in done.stdout


def test_names_are_no_markup(folder):
    (folder / "odd.yaml").write_text(FOUR_BAR.replace("four-bar", "'[red]bad[/red] :x: name'"))
    text = run("info", "odd.yaml", cwd=folder).stdout
    assert "[red]bad[/red] :x: name" in text


def test_numbers_with_units():
    measured = {"A": "rad", "B": "m", "C": "m"}
    found = assignments(["A=30deg", "B=-2.5mm", "C=1e-3m", "hook=1,0,0,0"], "--state", measured)
    assert found["A"] == pytest.approx(np.pi / 6)
    assert found["B"] == pytest.approx(-0.0025)
    assert found["C"] == pytest.approx(0.001)
    assert found["hook"] == [1, 0, 0, 0]
    for word, what in (
        ("A=fast", "'fast' is not a number"),
        ("A=5mm", "wrong unit; it takes deg or rad"),
        ("B=5deg", "wrong unit; it takes mm or m"),
        ("hook=1deg", "wrong unit; it takes no unit"),
        ("A=nan", "not finite"),
    ):
        with pytest.raises(StateError, match=what):
            assignments([word], "--rate", measured)
    with pytest.raises(StateError, match="given twice"):
        assignments(["A=1", "A=2"], "--rate", measured)


ARM = """<robot name="arm"><link name="base"/>
<link name="bar"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.2" izz="0.2"/></inertial></link>
<joint name="A" type="continuous"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>
<limit effort="3" velocity="2"/><calibration rising="0.1"/></joint></robot>
"""


def test_a_robot_is_converted_and_looked_at(folder):
    (folder / "arm.urdf").write_text(ARM)
    text = run("convert", "arm.urdf", "arm.yaml", cwd=folder).stdout
    assert 'read       arm.urdf, line 5, joint "A"/calibration: read, not used' in text
    assert "wrote      arm.yaml" in text
    seen = json.loads(run("info", "arm.urdf", "--json", cwd=folder).stdout)
    assert (seen["bodies"], seen["u"]) == (2, ["A"])
    assert len(seen["notes"]) == 3
    done = json.loads(run("convert", "four-bar", "four-bar.urdf", "--json", cwd=folder).stdout)
    assert [note.split()[0] for note in done["not written"]] == ["gravity", "markers"]
    assert {joint.name for joint in kp.load(folder / "four-bar.urdf").joints} == {"A", "B", "C", "D"}


HELD = """
bodies: {a: {rod: {length: 1, mass: 1}}}
joints: {A: {revolute: [ground, a], axis: [0, 1, 0]}}
couplings: {brake: {of: {A: 2}, offset: 1}}
"""


def test_a_joint_that_a_coupling_holds(folder):
    (folder / "held.yaml").write_text(HELD)
    seen = json.loads(run("info", "held.yaml", "--json", cwd=folder).stdout)
    assert (seen["couplings"], seen["freedom_by_rank"], seen["independent"]) == ({"brake": "2 A = 1"}, 0, [])
    assert "1 joint, 0 loops, 1 coupling" in run("info", "held.yaml", cwd=folder).stdout
    run("counts", "held.yaml", cwd=folder)
    refused = run("convert", "held.yaml", "no/held.urdf", cwd=folder, rc=2).stderr
    assert refused == "kempe: no/held.urdf cannot be written: there is no folder no; create it first\n"


def test_a_robot_that_floats(folder):
    base = ARM.split("\n", 1)[1].split("<joint")[0].replace('"bar"', '"base"')
    (folder / "loose.urdf").write_text(ARM.replace('<link name="base"/>', base))
    run("convert", "loose.urdf", "loose.yaml", "--floating", cwd=folder)
    assert [joint.type.name for joint in kp.load(folder / "loose.yaml").joints] == ["free", "revolute"]
    for command in (["info", "puma"], ["run", "puma"], ["counts", "puma"], ["convert", "puma", "puma.yaml"]):
        refused = CliRunner().invoke(app, [*command, "--floating"]).exception
        assert isinstance(refused, FileError)
        assert "'puma' is a gallery name; --floating and --welded are for" in str(refused)


def test_hostile_robots_are_one_sentence(folder):
    (folder / "bomb.urdf").write_text('<!DOCTYPE r [<!ENTITY a "aa">]><robot>&a;</robot>')
    text = run("info", "bomb.urdf", cwd=folder, rc=2).stderr
    assert text.startswith("kempe: bomb.urdf, line 1: a document type")
    assert text.count("\n") == 1


def test_warnings_are_sentences_without_lines_of_code(tmp_path):
    """A linkage that is closed as drawn, with a limit that leaves that out."""
    turned = "rotation: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]"
    (tmp_path / "drawn.yaml").write_text(f"""
gravity: [0, -9.81, 0]
bodies:
  a: {{rod: {{length: 1, mass: 1}}}}
  b: {{rod: {{length: 1, mass: 1}}}}
  c: {{rod: {{length: 1, mass: 1}}}}
joints:
  A: {{revolute: [{{body: ground, {turned}}}, a.start], limits: [2.5, 2.6]}}
  B: {{revolute: [a.end, {{body: b, {turned}}}]}}
  C: {{revolute: [b.end, c.end]}}
  D: {{revolute: [{{body: ground, at: [1, 0], {turned}}}, c.start], limits: [-0.1, 0.1]}}
""")
    said = run("info", "drawn.yaml", cwd=tmp_path).stderr
    assert "kempe: 'drawn' is drawn beyond limits, with A = 0 (limits 2.5 to 2.6)" in said
    assert ".py" not in said
