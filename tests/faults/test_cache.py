"""Whatever is wrong with the cache costs a compilation and nothing else: no other answer, no error."""

import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from kempe.commands import cache as command
from kempe.compiler import cache
from kempe.compiler.packing import Unreadable, packed, unpacked
from kempe.compiler.program import Block, Call, Port, Program
from kempe.compiler.trace import trace
from kempe.integrate.integrators import advance
from kempe.integrate.native import Entry
from kempe.simulate.following import follow_rows
from kempe.simulate.stepping import _Parts
from tests.long import some
from tests.programs import said

OWN = Path(os.environ["KEMPE_CACHE_DIR"])  # of the tests
RUN = """
    import sys, warnings
    import numpy as np
    import kempe as kp
    from kempe.gallery.loops import four_bar
    warnings.simplefilter("ignore")
    {before}
    model = four_bar().compile()
    run = model.simulate(model.assemble({{"A": 1.5}}, near={{"D": 1.2}}), 0.5, output=[0.25, 0.5])
    many = model.batch().rollout([run[0]] * 3, dt=1e-3, steps=20)
    print(run.q.tobytes().hex(), many.q.tobytes().hex(), run.outcome.kind)
"""
FOLLOWED = """
    import kempe as kp
    from kempe.gallery.loops import four_bar
    model = four_bar().compile()
    wanted = kp.motions.cycloidal({{"A": (1.5, 1.6)}}, 0.1)
    run = model.inverse_dynamics(wanted, start=model.assemble({{"A": 1.5}}, near={{"D": 1.2}}))
    print(run.q.tobytes().hex())
"""
INTEGRATORS = {"advance": (advance, RUN), "follow_rows": (follow_rows, FOLLOWED)}


def answered(folder: Path, before: str = "", code: str = RUN) -> str:
    """What a new process says of a run, a rollout and all that they take, with this cache."""
    code = textwrap.dedent(code).format(before=before)
    environment = os.environ | {"KEMPE_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache that has all of it: objects, programs, decisions, integrators; and the answer."""
    folder = tmp_path_factory.mktemp("warm")
    kept(advance, folder)
    return folder, answered(folder)


def kept(integrator: Entry, folder: Path) -> Path:
    """Where it is in a cache. It takes long to compile, and is the one that the tests have in their own cache."""
    assert integrator.address  # compiled by now
    part, name = integrator._name[:2], integrator._name[2:]
    (folder / part).mkdir(mode=0o700)
    return shutil.copy2(OWN / part / name, folder / part / name)


@pytest.fixture
def filled(warm, tmp_path):
    folder = tmp_path / "cache"
    shutil.copytree(warm[0], folder)
    return folder


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("??/*"))


def is_record(path: Path) -> bool:
    return path.read_bytes()[len(cache.MAGIC) + 32 :].startswith(b"[")


def test_a_warm_cache_gives_the_same_bits(warm):
    folder, answer = warm
    before = {path: path.read_bytes() for path in files(folder)}
    assert answer.split()[-1] == "finished"
    assert sum(map(is_record, before)) > 5
    assert sum(not is_record(path) for path in before) > 5
    assert answered(folder) == answer
    assert {path: path.read_bytes() for path in files(folder)} == before


@pytest.mark.parametrize("how", ["cut", "flipped", "emptied", "pickled", "linked", "opened to all", "a pipe"])
def test_what_is_damaged_or_not_ours_is_made_again(warm, filled, how, tmp_path):
    """All files of every kind but the integrators, which take long; these have a test of their own."""
    integrator = max(files(filled), key=lambda path: path.stat().st_size)
    rng, canary = np.random.default_rng(0), tmp_path / "canary"
    for path in files(filled):
        if path == integrator:
            continue
        content = path.read_bytes()
        if how == "cut":
            path.write_bytes(content[: rng.integers(len(content))])
        elif how == "flipped":
            at, damaged = rng.integers(len(content)), bytearray(content)
            damaged[at] ^= 1 << int(rng.integers(8))
            path.write_bytes(bytes(damaged))
        elif how == "emptied":
            path.write_bytes(b"")
        elif how == "pickled" and is_record(path):  # with the right checksum, as by one who can write here
            image = pickle.dumps(Armed(str(canary)))
            path.write_bytes(cache.MAGIC + cache._checksum(path.parent.name + path.name, image) + image)
        elif how == "linked":
            path.rename(path.with_name("elsewhere"))
            path.symlink_to(path.with_name("elsewhere"))
        elif how == "opened to all":
            path.chmod(0o666)
        elif how == "a pipe":
            path.unlink()
            os.mkfifo(path)
    assert answered(filled) == warm[1]
    assert not canary.exists()


class Armed:
    """Runs code where it is unpickled."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return exec, (f"open({self.path!r}, 'w').close()",)


@pytest.mark.parametrize("name", some(["follow_rows"], INTEGRATORS))  # the other takes four times as long
def test_damaged_integrators_are_compiled_again(name, tmp_path):
    integrator, code = INTEGRATORS[name]
    path = kept(integrator, tmp_path)
    answer, content = answered(tmp_path, code=code), path.read_bytes()
    path.write_bytes(content[:-100])
    assert answered(tmp_path, code=code) == answer
    assert path.read_bytes() != content[:-100]


def test_nothing_of_a_folder_that_others_can_write_to_is_read(warm, filled, monkeypatch):
    monkeypatch.setenv("KEMPE_CACHE_DIR", str(filled))
    names = [path.parent.name + path.name for path in files(filled)]
    assert all(cache.found(name) is not None for name in names)
    filled.chmod(0o777)
    assert all(cache.found(name) is None for name in names)
    assert "others can write to it" in command.kept().unused
    filled.chmod(0o700)
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert all(cache.found(name) is None for name in names)


@pytest.mark.parametrize("bound", [0, 100, 20_000])
def test_a_full_disk_costs_compilations_alone(warm, filled, bound):
    """No file may grow beyond so many bytes, and half of the cache is not there; integrators are, which take long."""
    for path in files(filled)[::2]:
        if path.stat().st_size < 50_000:
            path.unlink()
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({bound}, {bound}))"
    assert answered(filled, limit) == warm[1]
    assert not list(filled.glob("??/draft-*"))


def test_drafts_of_writers_that_were_killed_are_removed(empty_cache):
    (empty_cache / "ab").mkdir(parents=True)
    old, new = empty_cache / "ab" / "draft-old", empty_cache / "ab" / "draft-new"
    for path, age in ((old, 2 * cache.ABANDONED), (new, 0.0)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    (empty_cache / "integrators-0123").mkdir()  # as earlier versions kept them, pickled
    cache.sweep()
    assert not old.exists()
    assert new.exists()
    assert not (empty_cache / "integrators-0123").exists()


def test_the_command_tells_checks_and_clears(filled, monkeypatch):
    monkeypatch.setenv("KEMPE_CACHE_DIR", str(filled))
    every = files(filled)
    found = command.kept()
    assert (found.folder, found.files, found.unused) == (filled, len(every), "")
    assert found.size == sum(path.stat().st_size for path in every)
    every[0].write_bytes(b"damaged")
    every[1].chmod(0o666)
    assert command.check() == 2
    assert files(filled) == every[2:]
    assert command.check() == 0
    assert command.clear() == len(every) - 2
    assert command.kept().files == 0
    monkeypatch.setenv("KEMPE_CACHE_DIR", "")
    assert command.kept().folder is None
    assert command.clear() == 0


# ---- what is packed --------------------------------------------------------------------------------------

TYPES = {each.__name__: each for each in (Program, Block, Call, Port, _Parts)}


def program() -> Program:
    return trace(lambda x, y: {"z": x * y[0] + 1.5, "w": y}, {"x": (), "y": 2}, name="some")


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.1, float("inf"), "näme", (), (1, (2.0, "x")), program(), (program(), None)],
    ids=lambda x: type(x).__name__,
)
def test_what_is_packed_comes_back(value):
    again = unpacked(packed(value), TYPES)
    assert type(again) is type(value)
    assert again == value


def test_arrays_come_back_to_the_last_bit():
    for x in (np.random.default_rng(0).normal(size=(2, 3)), np.zeros((0, 4), np.int32), np.array([np.nan, -0.0])):
        again = unpacked(packed(x), {})
        assert (again.dtype, again.shape, again.tobytes()) == (x.dtype, x.shape, x.tobytes())


def test_what_is_no_record_is_not_packed():
    for value in ([1], {"a": 1}, object(), np.array(["x"]), np.array([object()]), Program):
        with pytest.raises(Unreadable, match="cannot be packed"):
            packed(value)


def test_only_types_that_are_named_are_made():
    content = packed(program())
    assert unpacked(content, TYPES) == program()
    with pytest.raises(Unreadable):
        unpacked(content, {})


def test_random_bytes_are_told_and_nothing_else():
    """Every byte of a record changed, and cut anywhere: a program that is as it should be, or `Unreadable`."""
    content, rng = packed(program()), np.random.default_rng(1)
    for at in range(len(content)):
        for damaged in (content[:at], content[:at] + bytes([rng.integers(256)]) + content[at + 1 :]):
            try:
                found = unpacked(damaged, TYPES)
            except Unreadable:
                continue
            assert damaged == content or found is None or isinstance(found, Program | bool | int | float | str | tuple)


def test_recalled_programs_are_those_that_were_traced(empty_cache):
    first = said("slider-crank")
    assert any(map(is_record, files(empty_cache)))
    assert said("slider-crank") == first
