"""A short round of `tests.faults.processes`, with seeds that stay; and what it has found, one by one."""

import os
import signal
import time

import pytest

from kempe.commands import cache as command
from kempe.compiler import cache
from kempe.gallery.loops import four_bar
from kempe.whole import write_whole
from tests.faults.processes import KINDS, Case, World, precious, verdict

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and forks are those of Unix")

MANY = ("interrupted: ", "forked: ", "folder: ", "umask")  # kinds of which some are enough
SOME = ("long controlled run", "long rollout", "compile", "compiling", "someone else", "full disk", "parts are none")
SHORT = [kind for kind in KINDS if not kind.startswith(MANY) or kind.endswith(SOME)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    for each in (folder, folder.parent, folder.parent.parent):
        each.chmod(0o755)  # someone else looks for a cache in it
    return World(folder)


@pytest.mark.parametrize("kind", SHORT)
def test_the_answers_are_the_same_bits(world, kind):
    assert verdict(world, Case(kind, 0)) is None


class Stopped(BaseException):
    """What a signal raises."""


def test_what_signals_raise_as_a_controller_is_called_is_not_lost():
    """Compiled code calls it, so that it is what Python begins with after a signal, nearly always."""
    model = four_bar().compile()
    start = model.assemble({"A": 1.5}, near={"D": 1.2})
    model.simulate(start, 0.1, lambda t, q, v: [0.0])  # so that all is compiled and imported

    def stop(number, frame):
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for k in range(10):
            signal.setitimer(signal.ITIMER_REAL, 0.02 + 0.003 * k)
            with pytest.raises(Stopped):
                model.simulate(start, 1e4, lambda t, q, v: [0.0], output=1e3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_files_of_others_are_never_removed(tmp_path, monkeypatch):
    """Neither what links lead to, nor what lies in the folder of the cache by another name."""
    home = precious(tmp_path / "cache")
    folder = tmp_path / "cache"
    (folder / "my").mkdir(parents=True)
    (folder / "my" / "letter").write_text("mine")
    (folder / "ab").symlink_to(home)
    (folder / "integrators-of-mine").mkdir()
    monkeypatch.setenv("KEMPE_CACHE_DIR", str(folder))
    for each in home.iterdir():
        os.utime(each, (0, 0))
    cache.keep("ab" + 62 * "0", b"image")
    assert cache.found("ab" + 62 * "0") is None
    assert command.kept().files == command.check() == command.clear() == 0
    cache.sweep(limit=0)
    assert len(list(home.iterdir())) == 3
    assert (folder / "my" / "letter").read_text() == "mine"
    assert (folder / "integrators-of-mine").is_dir()


@pytest.mark.parametrize("mask", [0, 0o002, 0o022])
def test_a_cache_is_used_whatever_the_umask(tmp_path, monkeypatch, mask):
    """Debian's users have 002, which made the folder one that others can write to."""
    monkeypatch.setenv("KEMPE_CACHE_DIR", str(tmp_path / "some" / "cache"))
    before = os.umask(mask)
    try:
        cache.keep(64 * "0", b"image")
    finally:
        os.umask(before)
    assert cache.found(64 * "0") == b"image"
    assert not command.kept().unused


def test_files_follow_the_umask_and_leave_it_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", None)  # it is one for all threads
    write_whole(tmp_path / "a", b"new")
    monkeypatch.undo()
    before = os.umask(0o027)
    try:
        assert write_whole(tmp_path / "b", b"new").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


@pytest.mark.parametrize("what", ["folder", "sparse"])
def test_what_is_in_the_place_of_an_entry_is_not_read(empty_cache, what):
    name, path = 64 * "a", empty_cache / "aa" / (62 * "a")
    cache.keep(name, b"image")
    path.unlink()
    if what == "folder":
        path.mkdir()
    else:
        path.touch(mode=0o600)
        os.truncate(path, 1 << 40)
    handle = os.dup(0)
    os.close(handle)
    for _ in range(3):
        assert cache.found(name) is None
    again = os.dup(0)
    os.close(again)
    assert again == handle  # nothing was left open


def test_drafts_of_a_time_when_the_clock_was_wrong_are_removed(empty_cache):
    (empty_cache / "ab").mkdir(parents=True)
    draft, entry = empty_cache / "ab" / "draft-late", empty_cache / "ab" / (62 * "0")
    for path in (draft, entry):
        path.write_bytes(b"half")
        os.utime(path, (time.time() + 1e6,) * 2)
    cache.sweep()
    assert not draft.exists()
    cache.keep("cd" + 62 * "0", b"image")
    cache.sweep(limit=60)
    assert entry.exists()
    cache.sweep(limit=55)
    assert not entry.exists()  # before what was used last
    assert cache.found("cd" + 62 * "0") == b"image"


def test_no_home_is_told(monkeypatch):
    monkeypatch.setenv("KEMPE_CACHE_DIR", "~nobody-at-all/cache")
    found = command.kept()
    assert found.folder is None
    assert "home directory is not known" in found.unused
    assert command.check() == command.clear() == 0
