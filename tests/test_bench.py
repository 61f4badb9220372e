"""The measurements: peers agree with Kempe before anything is timed; the command, its environment and its report."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kempe
from benchmarks import __main__ as measuring
from benchmarks import agreement, evaluations
from benchmarks.__main__ import KEMPE, chosen, sections
from benchmarks.mechanisms import CASES, QUICK
from benchmarks.peers import describe, peers_of
from benchmarks.peers.description import CannotBuild
from benchmarks.report import Header, Report, as_json, markdown, write
from benchmarks.rows import Row, Sample, at_least
from benchmarks.timing import Times, in_words
from kempe.cli import app
from kempe.commands import bench
from kempe.errors import FileError, MissingPackage
from kempe.gallery.entries import ENTRIES
from kempe.mechanics.state import State

PEERS = ("pin", "mujoco")
SOFT = 2e-3  # MuJoCo's equality constraints give way
# How near integrators come at their third finest step or tolerance; one of MuJoCo's is of first order.
ARRIVED = {
    "pin.constraintDynamics in SciPy's DOP853": 1e-11,
    "pin.lcaba in SciPy's DOP853": 1e-7,  # its accelerations are noisy
    "pin.aba in SciPy's DOP853": 2e-11,
    "mj_step, RK4": 1e-7,
    "mj_step, implicitfast": 1e-3,
}


@pytest.mark.parametrize("name", ["four-bar", "Stewart", "squeezer", "10 four-bars", "PUMA", "chain of 8"])
def test_peers_agree_with_kempe(name):
    case = CASES[name]
    q, v, tau = case.given
    ours = case.model.forward_dynamics(q, v, tau[case.model.driven])
    peers, sentences = peers_of(case.model, PEERS)
    assert [peer.package for peer in peers] == list(PEERS)
    assert not sentences
    for peer in peers:
        for _, found, why in agreement.forward(peer, q, v, tau):
            assert agreement.apart(found, ours) < (SOFT if why else agreement.NEAR)
        assert peer.residual(q) < 1e-12
        assert peer.settings.endswith(".")
        for way in peer.inverse:
            a = agreement.accelerations(case)
            efforts = case.model.generalized_forces(q, v, a)
            assert agreement.apart(way.result(q, v, a), efforts) < 1e-9


@pytest.mark.parametrize("name", ["four-bar", "Stewart", "PUMA"])
def test_what_is_timed_is_what_was_checked(name):
    """The bare calls leave the results that were compared, and the state they work at is the given one."""
    case = CASES[name]
    given = case.given
    for peer in peers_of(case.model, PEERS)[0]:
        for way in peer.forward:
            before = way.result(*given)
            call = way.prepare(*given)
            call()
            found = peer.order.v_back(call() if peer.package == "pin" else np.array(peer.data.qacc))
            np.testing.assert_allclose(found, before, rtol=0, atol=1e-6 * np.abs(before).max())
            way.idle()


@pytest.mark.parametrize("name", ["four-bar", "PUMA"])
def test_integrators_of_peers_arrive_where_kempe_does(name):
    case = CASES[name]
    q, v, tau = case.given
    model = case.model
    run = model.simulate(State(model, q, v), 0.05, torque=tau[model.driven], tolerance=1e-11)
    for peer in peers_of(model, PEERS)[0]:
        for integrator in peer.integrators:
            near = ARRIVED[integrator.name]
            end_q, end_v = integrator.run(q, v, tau, 0.05, integrator.finenesses[-3])
            np.testing.assert_allclose(end_q, run.q[-1], atol=near, rtol=0, err_msg=integrator.name)
            np.testing.assert_allclose(end_v, run.v[-1], atol=20 * near, rtol=0, err_msg=integrator.name)


def test_a_mechanism_that_peers_do_not_have_is_refused_in_a_sentence():
    with pytest.raises(CannotBuild, match="loops that close by more than a shared point"):
        describe(ENTRIES["bricard"].build().compile())
    peers, (sentence,) = peers_of(ENTRIES["bricard"].build().compile(), PEERS)
    assert not peers
    assert sentence.endswith(".")


def test_rows_of_one_mechanism(monkeypatch):
    """Ratios stand beside what was wanted; times are positive; all peers are there."""
    monkeypatch.setattr("benchmarks.peers.pinocchio.pinocchio_loop", lambda: "compiling it would take minutes")
    monkeypatch.setattr("benchmarks.peers.generated.tracer", lambda: "and so would this")
    rows = list(evaluations.forward([CASES["four-bar"]], 3))
    names = [row.what for row in rows]
    assert any(name.startswith("  pin.lcaba") for name in names)
    assert any(name.startswith("  mj_forward") for name in names)
    wished = [row for row in rows if row.met is not None]
    assert {row.wanted for row in wished} == {"at least 25 x", "at least 2 x"}
    samples = [sample for row in rows for sample in row.samples]
    assert {sample.quantity for sample in samples} == {"forward dynamics, compiled", "forward dynamics, from Python"}
    (ours,) = [x for x in samples if x.contender == "Kempe" and x.quantity.endswith("compiled")]
    assert 0 < ours.low <= ours.median <= ours.high


def test_times_in_words():
    assert in_words(4.56e-8) == "45.6 ns"
    assert in_words(2.0e-6) == "2.00 us"
    assert in_words(123.0) == "123 s"
    assert str(Times(np.array([1e-3, 2e-3, 3e-3]))) == "2.00 ms (1.50 ms to 2.50 ms)"
    np.testing.assert_allclose((Times(np.array([3.0, 5.0])) - Times(np.array([1.0, 1.0]))).rounds, [2.0, 4.0])


def test_sections_that_are_asked_for():
    assert set(chosen(False, [])) == set(sections(False))
    assert not set(chosen(True, [])) & set(KEMPE)
    assert list(chosen(True, ["counts", "forward"])) == ["forward", "counts"]
    assert set(QUICK) <= set(CASES)


# ---- the report ------------------------------------------------------------------------------------------


@pytest.fixture
def report():
    header = Header({"processor": "a made-up one", "settings of A": "none."})
    times = [(1, 1e-6), (10, 1e-5), (100, 1e-4)]
    samples = [
        Sample("forward dynamics", f"{n} four-bars", who, "s", x * k / 2, x * k, x * k * 2, n)
        for n, x in times
        for who, k in (("Kempe", 1), ("A", 20))
    ]
    rows = [
        Row("row: 1 | 2", "1 us", samples=tuple(samples)),
        at_least("  ratio", 20, "20 x", 12),
        at_least("  other", 2, "2 x", 12),
    ]
    return Report(header, {"forward": rows})


def test_the_report_as_markdown(report):
    text = markdown(report)
    assert "1 of 2 wishes met." in text
    assert "- settings of A: none." in text
    assert "| row: 1 \\| 2 | 1 us |  |" in text
    assert "| &nbsp;&nbsp;ratio | 20 x | at least 12 x met |" in text
    assert "| &nbsp;&nbsp;other | 2 x | at least 12 x missed |" in text


def test_the_report_as_json(report):
    found = json.loads(json.dumps(as_json(report)))
    assert found["header"]["processor"] == "a made-up one"
    assert [row["met"] for row in found["rows"]] == [None, True, False]
    assert found["rows"][0]["samples"][1]["median"] == pytest.approx(2e-5)
    assert {row["section"] for row in found["rows"]} == {"forward"}


def test_the_report_in_a_folder(report, tmp_path):
    paths = write(report, tmp_path / "results")
    assert {path.name for path in paths} == {
        "report.md", "report.json", "forward-dynamics.png", "forward-dynamics-growth.png"
    }  # fmt: skip
    for path in paths:
        assert path.stat().st_size > 100
        assert path.suffix != ".png" or path.read_bytes().startswith(b"\x89PNG")


def test_a_section_that_breaks_off_leaves_the_others_alone(monkeypatch, tmp_path, capsys):
    def breaks():
        yield Row("begun", "1 us")
        raise ValueError("no peer to be seen")

    parts = {"forward": breaks, "counts": lambda: [Row("counted", "7")]}
    monkeypatch.setattr(measuring, "chosen", lambda quick, only: parts)
    monkeypatch.setattr(measuring, "settings", dict)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit, match="broke off: forward"):
        measuring.main()
    text = (tmp_path / "report.md").read_text()
    assert "| begun | 1 us |  |" in text
    assert "| broke off | ValueError: no peer to be seen | to come to its end missed |" in text
    assert "| counted | 7 |  |" in text


# ---- the command -----------------------------------------------------------------------------------------


def test_options_reach_the_measurements(monkeypatch, tmp_path):
    seen = {}

    def measured(root, options, tell):
        seen.update(root=root, options=options)
        tell("begun")
        return 3

    monkeypatch.setattr(bench, "bench", measured)
    folder = tmp_path / "here"
    asked = ["bench", "--quick", "--only", "forward", "--only", "counts", "--folder", str(folder)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 3
    assert "bench      begun" in done.output
    assert seen["root"] == Path(kempe.__file__).parent.parent
    assert seen["options"] == ["--quick", "--only", "forward", "--only", "counts", "--folder", str(folder)]


def test_without_sources_there_is_a_sentence(tmp_path):
    with pytest.raises(FileError, match="come with the sources of Kempe, not with its wheel"):
        bench.bench(tmp_path, [], lambda _: None)


def test_an_environment_is_made_once_and_says_what_is_missing(monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]")
    made, installed, told = [], [], []

    def create(folder, **_):
        made.append(folder)
        folder.mkdir(exist_ok=True)

    def run(command, **_):
        installed.append(command[-1])
        return subprocess.CompletedProcess(command, int(command[-1] == "drake"), "", "no such thing\n")

    monkeypatch.setattr(bench.venv, "create", create)
    python = bench.environment(tmp_path, told.append, run)
    assert python.is_relative_to(tmp_path / ".bench")
    assert installed == [f"{tmp_path}[bench]", *bench.OPTIONAL]
    assert "drake does not install here: Drake is not measured" in told
    bench.environment(tmp_path, told.append, run)
    assert len(made) == 1
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'other'")
    bench.environment(tmp_path, told.append, run)
    assert len(made) == 2


def test_an_environment_that_cannot_be_made_is_told_in_a_sentence(monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]")
    monkeypatch.setattr(bench.venv, "create", lambda folder, **_: folder.mkdir())

    def run(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no network\n\n")

    with pytest.raises(MissingPackage, match="pip says: ERROR: no network"):
        bench.environment(tmp_path, lambda _: None, run)
