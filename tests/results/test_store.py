"""Files and tables of runs: the same bits back, whatever happens while they are written, or one clear sentence."""

import csv
import io
import json
import signal
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kempe.errors import FileError, KempeError, MissingPackage
from kempe.mechanism.mechanism import Mechanism
from kempe.results.outcome import SINGULAR, Outcome
from kempe.results.trajectory import Trajectory
from tests.long import some
from tests.mechanisms import random_tree
from tests.results.runs import cart, cart_run, rows_of

SUFFIXES = (".npz", ".csv")
ODD = (
    'crane, "big"',
    "line\nbreak",
    "tab\there",
    "# hash",
    "$x_1$",
    "\u00e4\u4e2d\u2028\x85",
    " spaces ",
    "it's: {a} [b]",
    "\r\n",
    "\\",
)


def same(one: Trajectory, other: Trajectory) -> None:
    """Everything of two runs is the same, to the last bit."""
    for name in ("t", "q", "v", "a", "u", "z", "p"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes(), name
    for name in ("z_names", "outcome", "statistics", "occurrences"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("q_names", "v_names", "u_names", "p_names", "formulation"):
        assert getattr(one.model, name) == getattr(other.model, name)
    assert one.model.mechanism.name == other.model.mechanism.name
    assert one.model.mechanism.parameters == other.model.mechanism.parameters


def full_run(seed=3) -> Trajectory:
    """Quaternions, law states, parameters, events, an outcome."""
    m = random_tree(seed, 5, kinds=("free", "spherical", "revolute", "planar", "fixed"), passive=True, loads=True)
    model = m.compile(formulation="cholesky", parameters=["body1.mass", "gravity.x"])
    z = np.random.default_rng(seed).normal(size=(9, 2))
    outcome = Outcome(SINGULAR, 0.1, ("joint1", "joint2"), "they line up", "turn one of them")
    return rows_of(model, 9, seed, z=z, z_names=("pid.integral", 'a, "b"\n'), outcome=outcome)


@pytest.fixture(scope="module")
def run():
    return full_run()


@pytest.fixture(scope="module")
def small():
    return cart_run(rows=11, end=0.1)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_gives_the_run_back(run, tmp_path, suffix):
    path = run.save(tmp_path / f"run{suffix}")
    again = Trajectory.load(path)
    same(run, again)
    given = Trajectory.load(str(path), model=run.model)
    assert given.model is run.model
    same(run, given)
    # The mechanism that came back moves as it did.
    assert np.array_equal(again.model.forward_dynamics(run.q, run.v, run.u, p=run.p), run.a)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_numbers_that_are_hard_to_write(small, tmp_path, suffix):
    hard = np.array(
        [np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 1e22, 1e-7, np.nan, 123456789.0]
    )
    rng = np.random.default_rng(0)
    q = np.array([hard, rng.permutation(hard), rng.normal(size=11) * 10.0 ** rng.integers(-300, 300, 11)]).T
    odd = Trajectory(small.model, small.t, q, -q, np.tile(hard, (3, 1)).T, q[:, :2])
    same(odd, Trajectory.load(odd.save(tmp_path / f"odd{suffix}"), model=small.model))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ODD)
def test_odd_names(tmp_path, name, suffix):
    m = Mechanism(name, gravity=(0, -9.81, 0))
    rod = m.rod(f"rod {name}", length=1.0, mass=1.0)
    m.revolute(f"joint {name}", m.ground.at(0, 0), rod.start, actuated=True)
    run = rows_of(m.compile(), 3)
    same(run, Trajectory.load(run.save(tmp_path / f"odd{suffix}")))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_mechanism_of_one_row_or_without_freedoms(tmp_path, suffix):
    m = Mechanism("statue")
    m.fixed("base", m.ground.at(0, 0), m.box("stone", (1, 1, 1), 1.0).at(0, 0))
    nothing = np.zeros((2, 0))
    statue = Trajectory(m.compile(), [0.0, 1.0], nothing, nothing, nothing, nothing)
    same(statue, Trajectory.load(statue.save(tmp_path / f"statue{suffix}")))
    same(statue, Trajectory.from_pandas(statue.to_pandas()))


def test_other_readers_understand_the_csv(run, small, tmp_path):
    path = small.save(tmp_path / "run.csv")
    frame = pd.read_csv(path, comment="#", dtype=str).astype(float)
    assert list(frame.columns[:4]) == ["t [s]", "rail [m]", "shoulder [rad]", "elbow [rad]"]
    assert np.array_equal(frame["shoulder [rad]"], small["shoulder"])
    assert np.array_equal(frame["rail.rate [m/s]"], small.rate("rail"))
    assert np.array_equal(frame["elbow.acceleration [rad/s^2]"], small.acceleration("elbow"))
    assert np.array_equal(frame["rail.effort [N]"], small.torque("rail"))
    assert np.array_equal(frame["shoulder.effort [N m]"], small.torque("shoulder"))
    with open(run.save(tmp_path / "full.csv"), newline="") as file:
        lines = [line for line in file if not line.startswith("# ")]
    header, *rows = csv.reader(lines)
    assert len(rows) == len(run)
    assert 'a, "b"\n' in header
    assert {len(row) for row in rows} == {len(header)}


def test_other_readers_understand_the_npz(run, tmp_path):
    with np.load(run.save(tmp_path / "run.npz"), allow_pickle=False) as file:
        assert np.array_equal(file["q"], run.q)
        assert json.loads(file["about"].tobytes())["outcome"]["message"] == "they line up"


def test_tables(run):
    frame = run.to_pandas()
    assert frame.index.name == "t [s]"
    assert np.array_equal(frame.index, run.t)
    same(run, Trajectory.from_pandas(frame))
    assert np.array_equal(Trajectory.from_pandas(frame.iloc[2:7], run.model).q, run.q[2:7])
    mixed = frame[list(frame.columns[::-1])].assign(extra=1.0)
    same(run, Trajectory.from_pandas(mixed, run.model))
    with pytest.raises(FileError, match="the table: columns are missing"):
        Trajectory.from_pandas(frame.drop(columns=frame.columns[0]))
    with pytest.raises(FileError, match="the table has no attrs with the mechanism"):
        Trajectory.from_pandas(pd.DataFrame({"a": [1.0]}))


def test_tables_without_pandas(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage, match="pip install pandas"):
        run.to_pandas()


# ---- warnings --------------------------------------------------------------------------------------------


def test_warnings_that_were_heard_are_not_given_again(tmp_path):
    m = Mechanism("flat")  # gravity along its hinge
    rod = m.rod("rod", length=1.0, mass=1.0)
    m.revolute("hinge", m.ground.at(0, 0), rod.start)
    with pytest.warns(UserWarning, match="gravity"):
        model = m.compile()
    path = rows_of(model, 2).save(tmp_path / "flat.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(Trajectory.load(path), rows_of(model, 2))
    path = rows_of(model, 2).save(tmp_path / "flat.csv")
    text = edited(path)
    cut = "\n".join("# warnings: []" if line.startswith("# warnings") else line for line in text.split("\n"))
    path.write_text(cut)
    with pytest.warns(UserWarning, match="gravity"):
        Trajectory.load(path)


# ---- files that are not right ----------------------------------------------------------------------------


def edited(path) -> str:
    """The text of a table without its checksum, as somebody has it who changes it on purpose."""
    first, _, rest = path.read_text().partition("\n")
    assert first.startswith("# sha256")
    return rest


@pytest.mark.parametrize("name", ["run.txt", "run", "run.pickle"])
def test_unknown_endings(small, tmp_path, name):
    for act in (lambda: small.save(tmp_path / name), lambda: Trajectory.load(tmp_path / name)):
        with pytest.raises(FileError, match=rf"{name}: the ending of a run's file must be \.npz or \.csv"):
            act()


def test_places_that_are_not_there(small, tmp_path):
    with pytest.raises(FileError, match="nowhere"):
        small.save(tmp_path / "nowhere" / "run.npz")
    with pytest.raises(FileError, match=r"none\.npz: No such file"):
        Trajectory.load(tmp_path / "none.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_anywhere_is_told(small, tmp_path, suffix):
    content = small.save(tmp_path / f"run{suffix}").read_bytes()
    cut = tmp_path / f"cut{suffix}"
    for size in [0, 1, 2, *np.linspace(3, len(content) - 1, 60).astype(int)]:
        cut.write_bytes(content[:size])
        with pytest.raises(FileError, match=f"cut{suffix}"):
            Trajectory.load(cut, model=small.model)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_changed_byte_never_gives_another_kind_of_error(small, tmp_path, suffix):
    content = bytearray(small.save(tmp_path / f"run{suffix}").read_bytes())
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(content), 150):
        changed = content.copy()
        changed[at] ^= int(rng.integers(1, 256))
        (tmp_path / f"changed{suffix}").write_bytes(changed)
        complaint = complaint_about(tmp_path / f"changed{suffix}", small.model)
        assert complaint is None or f"changed{suffix}" in complaint


def complaint_about(path, model) -> str | None:
    try:
        Trajectory.load(path, model=model)
    except KempeError as error:
        return str(error)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"a,b\n1,2\n", b"# a: 1\n", b"# not json\n", b"PK\x03\x04", b"\xff\xfe"]
)
def test_foreign_files(tmp_path, suffix, content):
    path = tmp_path / f"foreign{suffix}"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"foreign{suffix}"):
        Trajectory.load(path)


def test_foreign_arrays_are_not_unpickled(tmp_path):
    for name, arrays in {"a.npz": {"x": np.zeros(3)}, "b.npz": {"about": np.array([{"a": 1}], dtype=object)}}.items():
        np.savez(tmp_path / name, **arrays)
        with pytest.raises(FileError, match=name):
            Trajectory.load(tmp_path / name)
    np.save(tmp_path / "c", np.zeros(3))
    (tmp_path / "c.npy").rename(tmp_path / "c.npz")
    with pytest.raises(FileError, match=r"c\.npz"):
        Trajectory.load(tmp_path / "c.npz")


def test_a_newer_format(small, tmp_path):
    path = small.save(tmp_path / "run.csv")
    path.write_text(edited(path).replace("# version: 1\n", "# version: 2\n"))
    with pytest.raises(FileError, match=r"run\.csv: written in format 2 by a newer Kempe"):
        Trajectory.load(path)
    frame = small.to_pandas()
    frame.attrs["kempe"]["version"] = 7
    with pytest.raises(FileError, match="format 7"):
        Trajectory.from_pandas(frame)


def test_missing_parts(small, tmp_path):
    path = small.save(tmp_path / "run.csv")
    path.write_text(edited(path).replace("elbow [rad]", "knee [rad]"))
    with pytest.raises(FileError, match=r"run\.csv: columns are missing: elbow \[rad\]"):
        Trajectory.load(path)
    path = small.save(tmp_path / "run.npz")
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "less.npz", "w") as less:
        for name in whole.namelist():
            if name != "v.npy":
                less.writestr(name, whole.read(name))
    with pytest.raises(FileError, match=r"less\.npz: v missing"):
        Trajectory.load(tmp_path / "less.npz")


def test_a_model_of_something_else(run, small, tmp_path):
    for suffix in SUFFIXES:
        path = small.save(tmp_path / f"run{suffix}")
        with pytest.raises(FileError, match=f"run{suffix}"):
            Trajectory.load(path, model=run.model)
        with pytest.raises(FileError, match=f"run{suffix}"):
            Trajectory.load(path, model=random_tree(1, 3, kinds=("spherical",)).compile())
        other = cart()
        other.joints.pop()
        other.bodies.pop()
        with pytest.raises(FileError, match=f"run{suffix}"):
            Trajectory.load(path, model=other.compile())


# ---- whole or not at all ---------------------------------------------------------------------------------

SAVER = """
import sys
from kempe.results.trajectory import Trajectory
run, out = Trajectory.load(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
while True:
    run.save(out)
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_process_killed_while_saving_leaves_a_whole_file(small, tmp_path, suffix):
    source, out = small.save(tmp_path / "source.npz"), tmp_path / "out" / f"run{suffix}"
    out.parent.mkdir()
    rng = np.random.default_rng(1)
    for _ in range(some(4, 10)):
        command = [sys.executable, "-c", SAVER, str(source), str(out)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(float(rng.uniform(0.0, 0.1)))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if out.exists():
            same(small, Trajectory.load(out, model=small.model))
    assert out.exists()
    small.save(out)  # whatever drafts were left do not stand in the way
    same(small, Trajectory.load(out))


def test_reading_needs_no_file_of_ours(small):
    """A table that went through text and back, its attrs beside it, is still the run."""
    frame = small.to_pandas()
    text = frame.to_csv(float_format=lambda x: repr(float(x)))
    again = pd.read_csv(io.StringIO(text), dtype=str).astype(float).set_index("t [s]")
    again.attrs = json.loads(json.dumps(frame.attrs))
    same(small, Trajectory.from_pandas(again))
