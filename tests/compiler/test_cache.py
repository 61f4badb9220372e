"""The cache on disk: shared, damaged, unwritable; every answer stays right."""

import os
import random
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kempe.compiler import cache, native
from kempe.compiler.gate import gate
from kempe.compiler.kernel import Kernel
from kempe.compiler.trace import trace


def polynomial(c: float):
    return trace(lambda x: c * x * x + x, {"x": 2}, name=f"polynomial {c}")


X = np.array([1.5, -2.0])


def answer(c: float) -> list[float]:
    return (c * X * X + X).tolist()


@pytest.fixture(scope="module", autouse=True)
def the_gate_is_there():
    """What all kernels of a process share is compiled with the first of them."""
    gate()


@pytest.fixture
def compilations(monkeypatch):
    """Counts how often machine code is really made."""
    made = []
    make = native.object_code
    monkeypatch.setattr(native, "object_code", lambda text: made.append(text) or make(text))
    return made


def entries(folder):
    return sorted(path for path in folder.glob("??/*") if not path.name.startswith("draft-"))


def test_the_second_time_nothing_is_compiled(empty_cache, compilations):
    for expected in (1, 1):
        assert Kernel(polynomial(3.0))(X).tolist() == answer(3.0)
        assert len(compilations) == expected
    assert len(entries(empty_cache)) == 1


def test_batch_and_scalar_code_are_kept_apart(empty_cache, compilations):
    for _ in range(2):
        assert Kernel(polynomial(4.0))(np.array([X, X])).tolist() == [answer(4.0)] * 2
    assert len(entries(empty_cache)) == len(compilations) == 2


def test_files_cut_anywhere_or_changed_are_made_again(empty_cache, compilations):
    Kernel(polynomial(5.0))
    (path,) = entries(empty_cache)
    whole = path.read_bytes()
    rng = random.Random(0)
    for trial in range(60):
        damaged = bytearray(whole[: rng.randrange(len(whole))] if trial % 2 else whole)
        if not trial % 2:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(damaged))
        assert Kernel(polynomial(5.0))(X).tolist() == answer(5.0)
        assert path.read_bytes() == whole
    assert len(compilations) == 61


@pytest.mark.parametrize("where", ["under a file", "another user's", "open to all", "off"])
def test_without_a_usable_directory_it_just_compiles(where, tmp_path, monkeypatch, compilations):
    folder = tmp_path / "cache"
    if where == "under a file":
        folder.write_text("not a directory")
    elif where == "another user's":
        folder.mkdir()
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    elif where == "open to all":
        name = cache.key(polynomial(6.0).digest, "kempe", str(native.host()))
        (folder / name[:2]).mkdir(parents=True)
        (folder / name[:2]).chmod(0o777)
    monkeypatch.setenv(
        "KEMPE_CACHE_DIR", "" if where == "off" else str(folder / "deeper" if where == "under a file" else folder)
    )
    for expected in (1, 2):
        assert Kernel(polynomial(6.0))(X).tolist() == answer(6.0)
        assert len(compilations) == expected


def test_directories_are_for_the_user_alone(empty_cache):
    Kernel(polynomial(7.0))
    (path,) = entries(empty_cache)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def run_python(code: str, folder, **options):
    environment = {**os.environ, "KEMPE_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def test_a_full_disk_costs_only_a_compilation(tmp_path):
    """No file may grow beyond 100 bytes: every write fails in the middle."""
    done = run_python(
        """
        import resource, numpy as np
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        from tests.compiler.test_cache import Kernel, polynomial, answer, X
        for _ in range(2):
            assert Kernel(polynomial(8.0))(X).tolist() == answer(8.0)
        print("right")
        """,
        tmp_path / "cache",
    )
    assert done.stdout == "right\n", done.stderr
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_thousand_compilations_in_eight_processes(tmp_path):
    """All against one cache, half of them of programs another process compiles at the same time."""
    code = """
        import random, sys
        from tests.compiler.test_cache import Kernel, polynomial, answer, X
        rng = random.Random({seed})
        for k in range(125):
            c = float(rng.randrange(30)) if k % 2 else 1000.0 * {seed} + rng.randrange(25)
            assert Kernel(polynomial(c))(X).tolist() == answer(c), c
        print("right")
        """
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda seed: run_python(code.format(seed=seed), tmp_path), range(8)))
    assert [(d.stdout, d.stderr) for d in done] == [("right\n", "")] * 8
    assert not list(tmp_path.rglob("draft-*"))
    for path in entries(tmp_path):
        content, name = path.read_bytes(), path.parent.name + path.name
        size = len(cache.MAGIC) + 32
        assert content[:size] == cache.MAGIC + cache.CHECKSUM(name.encode() + content[size:]).digest()


def test_an_entry_under_another_name_is_not_taken(empty_cache):
    Kernel(polynomial(30.0))
    (first,) = entries(empty_cache)
    Kernel(polynomial(31.0))
    (second,) = set(entries(empty_cache)) - {first}
    second.write_bytes(first.read_bytes())
    assert Kernel(polynomial(31.0))(X).tolist() == answer(31.0)


def test_the_least_used_go_first(empty_cache):
    for age, c in enumerate((20.0, 21.0, 22.0)):
        Kernel(polynomial(c))
        newest = max(entries(empty_cache), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (1000 + age, 1000 + age))
    sizes = [path.stat().st_size for path in entries(empty_cache)]
    cache.sweep(limit=max(sizes) * 2)
    left = [path.stat().st_mtime for path in entries(empty_cache)]
    assert sorted(left) == [1001, 1002]


def test_another_compiler_finds_nothing(empty_cache, compilations, monkeypatch):
    Kernel(polynomial(9.0))
    monkeypatch.setattr(cache, "fingerprint", lambda: "another")
    assert Kernel(polynomial(9.0))(X).tolist() == answer(9.0)
    assert len(compilations) == 2
