"""Files that nobody meant to be read: one sentence each, in little time and memory, and nothing outside is opened."""

import os
import resource
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import kempe as kp
from kempe.errors import FileError, KempeError
from kempe.gallery.loops import four_bar

BASE = """name: x
bodies:
  a: {rod: {length: 0.3, mass: 1.5}}
joints:
  A: {revolute: [ground, a.start]}
"""
SIXTY = ":".join(["1", *["59"] * 200_000])

YAML = {
    "a date": (BASE.replace("1.5", "!!timestamp xyz"), "unable to parse string"),
    "a flag": (BASE.replace("start]}", "start], actuated: !!bool maybe}"), "'maybe' is neither true nor false"),
    "bytes": (BASE.replace("1.5", '!!binary "%%%"'), "the tag 'binary' is not allowed"),
    "an object": (BASE.replace("1.5", '!!python/object/apply:os.system ["true"]'), "the tag 'python/object"),
    "a set": (BASE.replace("name: x", "name: !!set {a, b}"), "the tag 'set' is not allowed"),
    "another tag": (BASE.replace("1.5", "!foo 3"), "the tag '!foo' is not allowed"),
    "to the base of sixty": (f"name: {SIXTY}\n{BASE[8:]}", "a number of 600001 digits"),
    "a long mass": (BASE.replace("1.5", f"{SIXTY}.5"), "unable to parse string as a number"),
    "many keys": (BASE + "loads:\n" + "".join(f"  k{i}: 1\n" for i in range(500_000)), "more than 100000 entries"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "aliases": ("a: &a [1, 1]\nb: &b [*a, *a]\n" + "c: &c [*b, *b]\n", "not known here"),
    "a tensor": (BASE.replace("{rod: {length: 0.3, mass: 1.5}}", "{body: {mass: 1, tensor: [1, 1, 1, 0]}}"), "tensor"),
    "an inertia": (BASE.replace("{rod: {length: 0.3, mass: 1.5}}", "{body: {mass: 1, inertia: [1, 1]}}"), "three"),
    "a mesh": (
        BASE.replace("{rod: {length: 0.3, mass: 1.5}}", "{mesh: {file: ../a.stl}}"),
        r"outside=True\) allows it",
    ),
}


@pytest.mark.parametrize("name", YAML)
def test_yaml(name, tmp_path):
    text, said = YAML[name]
    (tmp_path / "m.yaml").write_text(text)
    begun = time.process_time()
    with pytest.raises(FileError, match=said) as told:
        kp.load(tmp_path / "m.yaml")
    assert time.process_time() - begun < 2.0
    assert len(str(told.value)) < 400


def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "m.xml").write_text('<mujoco><include file="pipe"/></mujoco>')
    (tmp_path / "m.sdf").write_text(
        '<sdf version="1.9"><model name="a"><include><uri>pipe</uri></include></model></sdf>'
    )
    for name in ("m.xml", "pipe"):
        with pytest.raises(FileError, match="a pipe or a device, not a file"):
            kp.load(tmp_path / name)
    with pytest.raises(FileError, match="there is no 'pipe'"):
        kp.load(tmp_path / "m.sdf")
    (tmp_path / "m.yaml").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="a pipe or a device, not a file"):
        kp.load(tmp_path / "m.yaml")
    (tmp_path / "run.npz").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="a pipe or a device, not a file"):
        kp.Trajectory.load(tmp_path / "run.npz")


def test_included_files_are_bounded_together(tmp_path):
    body = f"<mujoco><!-- {'x' * (9 * 2**20)} --></mujoco>"
    for k in range(9):
        (tmp_path / f"b{k}.xml").write_text(body)
    names = "".join(f'<include file="b{k}.xml"/>' for k in range(9))
    (tmp_path / "m.xml").write_text(f"<mujoco>{names}<worldbody/></mujoco>")
    with pytest.raises(FileError, match="with its includes, larger than 64 MiB"):
        kp.load(tmp_path / "m.xml")
    for k in range(12):
        inner = f'<include file="deep{k + 1}.xml"/>' if k < 11 else ""
        (tmp_path / f"deep{k}.xml").write_text(f"<mujoco>{'<body>' * 150}{inner}{'</body>' * 150}</mujoco>")
    with pytest.raises(FileError, match="elements nested deeper than 200"):
        kp.load(tmp_path / "deep0.xml")
    for k in range(1100):
        (tmp_path / f"f{k}.xml").write_text("<mujoco/>")
    names = "".join(f'<include file="f{k}.xml"/>' for k in range(1100))
    (tmp_path / "many.xml").write_text(f"<mujoco>{names}</mujoco>")
    with pytest.raises(FileError, match="more than 1000 files are included"):
        kp.load(tmp_path / "many.xml")


# ---- outside ---------------------------------------------------------------------------------------------

ARM = '<body name="arm"><joint type="hinge"/><geom type="sphere" size="0.1" mass="1"/></body>'
MESHED = '<body name="arm"><joint type="hinge"/><geom type="mesh" mesh="part"/></body>'
INERTIA = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
LINK = f'<link name="l"><inertial><mass>1</mass>{INERTIA}</inertial></link>'


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "robot").mkdir()
    (tmp_path / "secret").mkdir()
    return tmp_path / "robot", tmp_path / "secret"


@pytest.mark.parametrize("how", ["above", "absolute", "by a link"])
def test_what_lies_outside_is_included_only_if_asked(folders, how):
    robot, secret = folders
    (secret / "part.xml").write_text(f"<mujoco><worldbody>{ARM}</worldbody></mujoco>")
    name = {"above": "../secret/part.xml", "absolute": str(secret / "part.xml"), "by a link": "link.xml"}[how]
    if how == "by a link":
        (robot / "link.xml").symlink_to(secret / "part.xml")
    (robot / "m.xml").write_text(f'<mujoco><include file="{name}"/></mujoco>')
    with pytest.raises(FileError, match=r"is outside the folder .*; kp\.load\(\.\.\., outside=True\) allows it"):
        kp.load(robot / "m.xml")
    assert [body.name for body in kp.load(robot / "m.xml", outside=True).bodies] == ["arm"]


def test_models_outside_are_included_only_by_the_name_of_their_folder(folders, monkeypatch):
    robot, secret = folders
    (secret / "model.sdf").write_text(f'<sdf version="1.9"><model name="a">{LINK}</model></sdf>')
    given = '<sdf version="1.9"><world name="w"><include><uri>{}</uri></include></world></sdf>'
    for address in ("../secret/model.sdf", "../secret", f"file://{secret}/model.sdf", "model://../secret"):
        (robot / "w.sdf").write_text(given.format(address))
        with pytest.raises(FileError, match=r"is outside the folder|there are no links"):
            kp.load(robot / "w.sdf")
    (robot / "w.sdf").write_text(given.format("../secret"))
    assert len(kp.load(robot / "w.sdf", outside=True).bodies) == 1
    monkeypatch.setenv("SDF_PATH", str(secret.parent))
    (robot / "w.sdf").write_text(given.format("model://secret"))
    assert len(kp.load(robot / "w.sdf").bodies) == 1
    (robot / "w.sdf").write_text(given.format("model://robot/../secret"))
    with pytest.raises(FileError, match="is outside the folder"):
        kp.load(robot / "w.sdf")


def test_meshes_outside_weigh_and_are_drawn_only_if_asked(folders):
    import trimesh

    robot, secret = folders
    trimesh.creation.box((0.1, 0.2, 0.3)).export(secret / "part.stl")
    asset = '<asset><mesh name="part" file="../secret/part.stl"/></asset>'
    (robot / "m.xml").write_text(f"<mujoco>{asset}<worldbody>{MESHED}</worldbody></mujoco>")
    with pytest.raises(FileError, match=r"mesh.*is outside the folder"):
        kp.load(robot / "m.xml")
    (arm,) = kp.load(robot / "m.xml", outside=True).bodies
    assert arm.name == "arm"
    urdf = (
        '<robot name="r"><link name="base"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>'
    )
    for name in ("../secret/part.stl", f"file://{secret}/part.stl", "package://secret/../../x.stl"):
        (robot / "r.urdf").write_text(urdf.format(name))
        assert any("not drawn" in note for note in kp.load(robot / "r.urdf").notes), name
    (robot / "r.urdf").write_text(urdf.format("package://secret/part.stl"))
    assert not any("not drawn" in note for note in kp.load(robot / "r.urdf").notes)
    (robot / "r.urdf").write_text(urdf.format("../secret/part.stl"))
    assert not any("not drawn" in note for note in kp.load(robot / "r.urdf", outside=True).notes)


# ---- runs ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run():
    model = four_bar().compile()
    return model.simulate(model.assemble({"A": 1.5}, near={"D": 1.2}), 0.1, output=[0.0, 0.05, 0.1])


def test_arrays_that_expand_without_end_are_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, about=np.zeros(2**28, np.uint8))
    assert path.stat().st_size < 2**20
    with pytest.raises(FileError, match="would take 256 MiB"):
        kp.Trajectory.load(path)


def test_every_digit_of_a_table_counts(run, tmp_path):
    path = Path(run.save(tmp_path / "run.csv"))
    content, rng = path.read_bytes(), np.random.default_rng(0)
    begun = content.index(b"\nt [s]")
    digits = [k for k, x in enumerate(content) if k > begun and chr(x).isdigit()]
    for at in rng.choice(digits, 40, replace=False):
        changed = bytes([48 + (content[at] - 47) % 10])
        path.write_bytes(content[:at] + changed + content[at + 1 :])
        with pytest.raises(FileError, match="was changed since it was written"):
            kp.Trajectory.load(path)
    path.write_bytes(content)
    assert np.array_equal(kp.Trajectory.load(path).q, run.q)
    lines = content.splitlines(keepends=True)
    assert lines[0].startswith(b"# sha256")
    path.write_bytes(b"".join(line for line in lines if not line.startswith(b"# sha256")))
    assert np.array_equal(kp.Trajectory.load(path).q, run.q)  # as files of older versions, or edited ones


def test_memory_is_bounded(tmp_path):
    """Files that are as large as they may be, in a process that may not take more than two gigabytes."""
    code = """
        import resource, sys, kempe as kp
        from kempe.errors import FileError
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        for path in sys.argv[1:]:
            try:
                kp.load(path)
            except FileError as error:
                print(error)
        """
    (tmp_path / "a.yaml").write_text("a: [" + "1, " * 2_700_000 + "1]")
    (tmp_path / "b.xml").write_text("<mujoco>" + "<body/>" * 9_000_000 + "</mujoco>")
    (tmp_path / "c.xml").write_text('<mujoco x="' + "1" * (63 << 20) + '"/>')
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "more than 100000 entries" in done.stdout
    assert "more than 200000 elements" in done.stdout
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 2 << 30


@pytest.mark.parametrize("length", ["1e200", "1e308", "1e-308", "-1e200", ".inf", ".nan"])
def test_lengths_without_sense_are_told_sooner_or_later(length, tmp_path):
    (tmp_path / "m.yaml").write_text(BASE.replace("0.3", length))
    with pytest.raises(KempeError):  # by the reader, or by the first who works with it
        worked_with(tmp_path / "m.yaml")


def worked_with(path: Path) -> None:
    model = kp.load(path).compile()
    state = model.state({"A": 0.3})
    model.forward_dynamics(state.q, state.v)
