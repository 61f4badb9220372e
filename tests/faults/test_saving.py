"""Files that cannot be written: one sentence that names the file, the old content stays, and no drafts are left."""

import os
import resource
import time
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

import kempe as kp
from kempe.errors import FileError, KempeError
from kempe.gallery.loops import five_bar, four_bar
from kempe.whole import ABANDONED, write_whole


@cache
def made():
    model = four_bar().compile()
    state = model.assemble({"A": 1.5}, near={"D": 1.2})
    run = model.simulate(state, 0.1, output=[0.0, 0.05, 0.1])
    rollout = model.batch().rollout([state] * 2, dt=1e-3, steps=4)
    return model, state, run, rollout


WRITERS = {
    "m.save yaml": (".yaml", lambda path: made()[0].mechanism.save(path)),
    "m.save urdf": (".urdf", lambda path: made()[0].mechanism.save(path)),
    "m.save mjcf": (".xml", lambda path: made()[0].mechanism.save(path)),
    "run.save npz": (".npz", lambda path: made()[2].save(path)),
    "run.save csv": (".csv", lambda path: made()[2].save(path)),
    "run.plot": (".png", lambda path: made()[2].plot("positions", path)),
    "run.strip": (".png", lambda path: made()[2].strip(path)),
    "run.animate": (".html", lambda path: made()[2].animate(path)),
    "state.picture": (".svg", lambda path: made()[1].picture(path)),
    "topology.picture": (".png", lambda path: made()[0].topology.picture(path)),
    "rollout.plot": (".png", lambda path: made()[3].plot("A", path)),
}


@pytest.fixture(params=WRITERS)
def writer(request):
    return WRITERS[request.param]


@contextmanager
def full_disk():
    """No file can grow beyond ten bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_can_be_written_is(writer, tmp_path):
    ending, write = writer
    write(tmp_path / f"file{ending}")
    write(str(tmp_path / f"file{ending}"))
    assert [path.name for path in tmp_path.iterdir()] == [f"file{ending}"]


def test_a_full_disk_leaves_what_was_there(writer, tmp_path):
    ending, write = writer
    path = tmp_path / f"file{ending}"
    path.write_text("old")
    with full_disk(), pytest.raises(FileError, match=f"{path.name} cannot be written: File too large"):
        write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(writer, tmp_path):
    ending, write = writer
    with pytest.raises(FileError, match=r"there is no folder .*nowhere; create it first"):
        write(tmp_path / "nowhere" / f"file{ending}")


def test_a_folder_in_the_place_of_the_file(writer, tmp_path):
    ending, write = writer
    (tmp_path / f"file{ending}").mkdir()
    with pytest.raises(FileError, match="cannot be written: Is a directory"):
        write(tmp_path / f"file{ending}")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("path", [3, b"file.png", "", "a\0b.png", ["file.png"]], ids=repr)
def test_what_is_no_path(writer, path):
    with pytest.raises(
        KempeError, match=r"path is .*; give text or a path|give a path as text or pathlib.Path|is not a path of a file"
    ):
        writer[1](path)


@pytest.mark.parametrize("path", [None, 3, b"file.yaml", "", "a\0b.yaml", "a\0b.npz"], ids=repr)
def test_what_is_no_path_is_not_read_either(path):
    for read in (kp.load, kp.Trajectory.load):
        with pytest.raises(
            KempeError,
            match=r"path is .*; give text or a path|give a path as text or pathlib.Path|is not a path of a file",
        ):
            read(path)


def test_drafts_that_a_killed_process_left_are_removed(tmp_path):
    path = tmp_path / "run.npz"
    old, new, other = (tmp_path / name for name in (".run.npz-abcdefgh", ".run.npz-stuvwxyz", ".run.npz-mine"))
    for draft, age in ((old, 2 * ABANDONED), (new, 1.0), (other, 2 * ABANDONED)):
        draft.write_bytes(b"half")
        os.utime(draft, (time.time() - age,) * 2)
    write_whole(path, b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([path, new, other])


def test_workspaces_and_tunings_are_written_likewise(tmp_path):
    model = five_bar().compile()
    space = model.workspace(model.mechanism.bodies[1].end, step=0.3)
    for draw in (space.plot,):
        with pytest.raises(FileError, match="create it first"):
            draw(tmp_path / "nowhere" / "a.png")
        draw(tmp_path / "a.png")
    assert np.isfinite(space.area)
