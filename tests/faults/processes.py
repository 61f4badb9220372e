"""Processes that are killed, interrupted and forked, and disks that fail them: the answers are the same bits.

    python -m tests.faults.processes --minutes 10 --seed 1      # round through all kinds, with new seeds

Whatever is wrong with the disk costs a compilation and nothing else. A process killed at any time leaves no cache and
no file that gives another answer, an error, or a crash.
"""

import argparse
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kempe.commands import cache as command
from kempe.compiler import cache
from kempe.whole import ABANDONED, write_whole
from tests.faults import work

ROOT = Path(__file__).parents[2]
LONGEST = 600  # s for a process
SOON = 5.0  # s of its own in which a process ends that was interrupted; others may keep the cores busy
SOMEONE = 54321  # a user who is nobody
LARGE = 100_000  # bytes: integrators, which take long to compile


@dataclass(frozen=True)
class Case:
    """A kind of fault, as it can be made again."""

    kind: str
    seed: int


@dataclass(frozen=True)
class Ended:
    """What a process said; code: None where it had to be killed."""

    code: int | None
    said: str
    errors: str

    def __str__(self) -> str:
        how = "did not end" if self.code is None else f"ended with {self.code}"
        return f"{how}: {self.errors[:1500]} .. {self.errors[1500:][-1500:]}"


def started(code: str, folder: str | Path, **environment: str) -> subprocess.Popen:
    """A process of Python with a cache; `work` is at hand in it."""
    given = os.environ | {"KEMPE_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)} | environment
    text = f"import os, signal\nfrom tests.faults import work\n{code}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-X", "faulthandler", "-c", text]
    return subprocess.Popen(command, env=given, cwd=ROOT, start_new_session=True, text=True, **pipes)  # type: ignore[call-overload]


def ended(process: subprocess.Popen, within: float = LONGEST) -> Ended:
    """When it has ended; it is killed, and all that it has forked, where it does not."""
    try:
        said, errors = process.communicate(timeout=within)
        return Ended(process.returncode, said, errors)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGABRT)  # says where it is
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=2.0)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        said, errors = process.communicate()
        return Ended(None, said, errors)


class World:
    """A folder to work in, a cache that has all of it, and the answers that come from an empty one."""

    def __init__(self, folder: Path):
        self.folder = folder
        begun, own = time.time() - 1.0, Path(os.environ.get("KEMPE_CACHE_DIR") or folder / "first")
        found = ended(started("work.tell()", own))  # integrators may be there
        assert found.code == 0, found
        self.full, self.bare = folder / "full", folder / "bare"
        for each in own.glob("??/*"):
            status = each.stat()
            if status.st_mtime >= begun:
                for target in (self.full, self.bare) if status.st_size > LARGE else (self.full,):
                    (target / each.parent.name).mkdir(mode=0o700, parents=True, exist_ok=True)
                    shutil.copy(each, target / each.parent.name / each.name)
        for target in (self.full, self.bare):
            target.chmod(0o700)
        found = ended(started("work.tell()", self.copy(self.bare)))
        assert found.code == 0, found
        self.answers = json.loads(found.said)

    def copy(self, source: Path) -> Path:
        """A cache of one's own."""
        place = Path(tempfile.mkdtemp(dir=self.folder)) / "cache"
        shutil.copytree(source, place)
        return place

    def wrong(self, found: Ended) -> str | None:
        """What is wrong with what a process has answered."""
        if found.code != 0:
            return f"the process {found}"
        told = json.loads(found.said.splitlines()[-1])
        others = [name for name, x in told.items() if x != self.answers[name]]
        return f"other bits: {others}" if others else None


# ---- killed ----------------------------------------------------------------------------------------------


def killed_filling(world: World, rng: random.Random) -> str | None:
    """Several in a row on one cache; the next one gives the same answers, and what stays is removed."""
    folder = world.copy(world.bare)
    for _ in range(rng.randint(2, 4)):
        process = started("work.tell()", folder)
        time.sleep(rng.uniform(0.2, 2.5))
        process.kill()
        ended(process)
    if bad := damaged(folder):
        return f"damaged: {bad}"
    found = world.wrong(ended(started("work.tell()", folder)))
    return found or drafts_stay(folder)


def damaged(folder: Path) -> list[str]:
    with pointed_at(folder):
        return [str(each.path.relative_to(folder)) for each in cache.damaged()]


def drafts_stay(folder: Path) -> str | None:
    """Drafts that are there an hour later, after a sweep."""
    for draft in folder.glob(f"??/{cache.DRAFT}*"):
        os.utime(draft, (time.time() - 2 * cache.ABANDONED,) * 2)
    with pointed_at(folder):
        command.check()
    left = [str(each) for each in folder.rglob(f"{cache.DRAFT}*")]
    return f"drafts stay: {left}" if left else None


@contextmanager
def pointed_at(folder: Path) -> Iterator[None]:
    """This process's own cache, for a while."""
    before = os.environ.get("KEMPE_CACHE_DIR")
    os.environ["KEMPE_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["KEMPE_CACHE_DIR"]
        if before is not None:
            os.environ["KEMPE_CACHE_DIR"] = before


def killed_saving(world: World, rng: random.Random) -> str | None:
    """Every file is whole, with the one content or the other; drafts go away at the next writing."""
    folder = Path(tempfile.mkdtemp(dir=world.folder))
    process = started(f"work.save_on({str(folder)!r}, {rng.randrange(100)})", world.full)
    if process.stdout.readline() != "ready\n":
        return f"the process {ended(process)}"
    time.sleep(rng.uniform(0.0, 0.5))
    process.kill()
    ended(process)
    for name in [each.name for each in (folder / "0").iterdir()]:
        path = folder / name
        if path.read_bytes() not in [(folder / k / name).read_bytes() for k in "01"]:
            return f"{name} is half-written"
        for draft in folder.glob(f".{name}-*"):
            os.utime(draft, (time.time() - 2 * ABANDONED,) * 2)
        write_whole(path, b"next")
    left = [each.name for each in folder.iterdir() if each.name.startswith(".")]
    return f"drafts stay: {left}" if left else None


# ---- interrupted -----------------------------------------------------------------------------------------


def pressed(process: subprocess.Popen) -> Ended:
    """Ctrl-C until it ends. Python loses one that comes while it collects garbage, and CasADi while it looks at what it
    is given; a person presses again."""
    begun, until, pressed = used(process), time.monotonic() + LONGEST / 10, 0
    while process.poll() is None and used(process) - begun < SOON and time.monotonic() < until:
        if used(process) - begun >= 0.5 * pressed:
            process.send_signal(signal.SIGINT)
            pressed += 1
        time.sleep(0.02)
    return ended(process, 0.0 if process.poll() is None else LONGEST)


def used(process: subprocess.Popen) -> float:
    """Seconds that a process has worked, where the system tells; else those that went by."""
    try:
        user, kernel = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except OSError:
        return time.monotonic()
    return (int(user) + int(kernel)) / os.sysconf("SC_CLK_TCK")


def interrupted(world: World, rng: random.Random, what: str) -> str | None:
    """It ends soon, by KeyboardInterrupt, and its cache is whole."""
    folder = world.copy(rng.choice((world.full, world.bare)))
    process = started(f"signal.signal(signal.SIGINT, signal.default_int_handler)\nwork.go_on({what!r})", folder)
    if process.stdout.readline() != "ready\n":
        return f"the process {ended(process)}"
    time.sleep(rng.uniform(0.0, 1.0))
    found = pressed(process)
    broken_off = found.code == 1 and "run.Interrupted" in found.errors  # a KeyboardInterrupt that has the run so far
    if found.code not in (-signal.SIGINT, 128 + signal.SIGINT) and not broken_off:
        return f"the process {found}"
    if bad := damaged(folder):
        return f"damaged: {bad}"
    return world.wrong(ended(started("work.tell()", folder))) if rng.random() < 0.3 else None


# ---- several processes, several threads ------------------------------------------------------------------


def forked(world: World, rng: random.Random, what: str) -> str | None:
    folder = world.copy(rng.choice((world.full, world.bare)))
    return quiet(started(f"work.fork({rng.randrange(10**6)}, {what!r})", folder))


def pooled(world: World, rng: random.Random) -> str | None:
    """Spawned, forked, or by a server of forks."""
    way = rng.choice(("fork", "spawn", "forkserver"))
    return quiet(started(f"work.pool({way!r})", world.copy(rng.choice((world.full, world.bare)))))


def threaded(world: World, rng: random.Random) -> str | None:
    """With a cache, without, or with an empty one."""
    folder = world.copy(rng.choice((world.full, world.bare)))
    off = rng.random() < 0.3
    before = "work.load_integrators()\nos.environ['KEMPE_CACHE_DIR'] = ''\n" if off else ""
    return quiet(started(f"{before}work.threads({rng.randrange(10**6)}, {world.answers!r})", folder))


def quiet(process: subprocess.Popen) -> str | None:
    found = ended(process)
    return None if found.code == 0 else f"the process {found}"


def together(world: World, rng: random.Random) -> str | None:
    """Three that fill one cache, while it is cleared, checked and swept all the time."""
    folder, done = world.copy(rng.choice((world.full, world.bare))), threading.Event()
    ready = f"work.load_integrators()\nos.environ['KEMPE_CACHE_DIR'] = {str(folder)!r}\n"

    def clear() -> None:
        own = random.Random(rng.random())
        while not done.wait(own.uniform(0.0, 0.1)):
            how = own.randrange(3)
            with suppress(FileNotFoundError):
                for each in list(folder.glob("??/*")) if how == 0 else ():
                    each.unlink()
            if how == 1:
                shutil.rmtree(folder, ignore_errors=True)
            elif how == 2:
                for each in folder.glob("??"):
                    shutil.rmtree(each, ignore_errors=True)

    clearing = threading.Thread(target=clear)
    clearing.start()
    processes = [started(f"{ready}work.tell()\nwork.kept_well()", world.bare) for _ in range(3)]
    found = [ended(each) for each in processes]
    done.set()
    clearing.join()
    return next((bad for each in found if (bad := world.wrong(each))), None)


# ---- what is kept, damaged -------------------------------------------------------------------------------


def damaged_files(world: World, rng: random.Random) -> str | None:
    """Any of them in any way; the next process gives the same answers, and so does the one after."""
    folder = world.copy(world.full)
    large = rng.random() < 0.1  # integrators too, which are compiled again then
    share = rng.random()
    for path in sorted(folder.glob("??/*")):
        if rng.random() < share and (large or path.stat().st_size < LARGE):
            damage(path, rng)
    ready = f"work.load_integrators()\nos.environ['KEMPE_CACHE_DIR'] = {str(folder)!r}\n"
    for _ in range(rng.randint(1, 2)):
        code, first = ("work.tell()\n", folder) if large else (f"{ready}work.tell()\n", world.bare)
        if bad := world.wrong(ended(started(f"{code}work.kept_well()", first))):
            return bad
    if bad := [name for name in damaged(folder) if not (folder / name).is_dir()]:
        return f"still damaged: {bad}"
    return drafts_stay(folder)


def damage(path: Path, rng: random.Random) -> None:
    """One file, in one of many ways."""
    content = path.read_bytes()
    n = len(content)
    at = rng.randrange(n)
    other = rng.choice(sorted(path.parent.parent.glob("??/*")))

    def written(data: bytes) -> None:
        path.write_bytes(data)

    def instead(make: Callable[[], object]) -> None:
        path.unlink()
        make()

    def sparse() -> None:
        os.truncate(path, 1 << rng.randint(31, 43))

    def device() -> None:
        number = rng.choice((os.makedev(1, 3), os.makedev(1, 5), os.makedev(1, 7), os.makedev(5, 0)))
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, number)
        except PermissionError:  # one needs to be root
            os.mkfifo(path)

    def folder() -> None:
        path.mkdir()
        (path / "inside").write_bytes(content)

    flipped = bytes([content[at] ^ 1 << rng.randrange(8)])
    ways: list[Callable[[], object]] = [
        lambda: written(content[:at]),
        lambda: written(content[:at] + flipped + content[at + 1 :]),
        lambda: written(content[:at] + rng.randbytes(rng.randint(1, 64)) + content[at:]),
        lambda: written(content[:at] + bytes(n - at)),  # as after a loss of power
        lambda: written(bytes(n)),
        lambda: written(rng.randbytes(n)),
        lambda: written(content + b"\0"),
        lambda: written(other.read_bytes() if other.is_file() and not other.is_symlink() else b""),
        sparse,
        lambda: instead(folder),
        lambda: instead(lambda: path.symlink_to(path)),
        lambda: instead(lambda: path.symlink_to(other)),
        lambda: instead(lambda: path.symlink_to(path.with_name("nowhere"))),
        lambda: instead(lambda: os.mkfifo(path)),
        lambda: instead(device),
        lambda: instead(lambda: os.link(other, path) if other.is_file() and other != path else None),
        lambda: path.chmod(rng.choice((0, 0o200, 0o444, 0o777))),
        lambda: os.utime(path, (rng.choice((0, 2**31, 2**33, time.time() + 1e6)),) * 2),
    ]  # fmt: skip
    rng.choice(ways)()


# ---- the folder of the cache -----------------------------------------------------------------------------

Folder = Callable[[Path, random.Random, ExitStack], str]


def precious(folder: Path) -> Path:
    """A folder beside a cache, with files that are no concern of the cache's."""
    place = folder.with_name("precious")
    place.mkdir(mode=0o700, exist_ok=True)
    for name in ("0", "a" * 62, f"{cache.DRAFT}letter"):
        (place / name).write_text("precious")
    return place


def mounted(folder: Path, undo: ExitStack, *options: str) -> bool:
    """Whether this process may mount something there, and has."""
    try:
        subprocess.run(["mount", *options, str(folder)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    undo.callback(subprocess.run, ["umount", "-l", str(folder)], check=False, capture_output=True)
    return True


def read_only(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    if not (mounted(folder, undo, "--bind", str(folder)) and mounted(folder, undo, "-o", "remount,bind,ro")):
        for each in (*folder.glob("??"), folder):
            each.chmod(0o500)
    return ""


def foreign(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    every = [folder, *folder.rglob("*")]
    if os.getuid():
        return "os.environ['KEMPE_CACHE_DIR'] = '/usr/kempe'\n"
    for each in every if rng.random() < 0.5 else rng.sample(every, len(every) // 2):
        os.chown(each, SOMEONE, SOMEONE)
    return ""


def someone_else(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    if os.getuid():
        return foreign(folder, rng, undo)
    return f"os.setgroups([])\nos.setgid({SOMEONE})\nos.setuid({SOMEONE})\n"


def open_to_others(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    for each in [folder] if rng.random() < 0.5 else folder.glob("??"):
        each.chmod(rng.choice((0o777, 0o1777, 0o770, 0o702)))
    return ""


def a_link(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(rng.choice((elsewhere, folder, folder / "at" / "all", folder.with_name("precious") / "0")))
    return ""


def no_folder(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    shutil.rmtree(folder)
    make = (folder.touch, partial(os.mkfifo, folder), lambda: None)
    rng.choice(make)()
    return ""


def parts_are_none(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    """What should be folders in it are files, pipes, links, or closed to their owner."""
    every = [f"{k:02x}" for k in range(256)]
    for name in rng.sample(every, 128):
        part = folder / name
        shutil.rmtree(part, ignore_errors=True)
        to = partial(part.symlink_to, folder.with_name("precious"))
        make = (part.touch, partial(os.mkfifo, part), to, partial(part.mkdir, mode=0))
        rng.choice(make)()
    return ""


def full_disk(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    limit = rng.choice(("size=4k", f"size={rng.randint(8, 400)}k", f"nr_inodes={rng.randint(2, 40)}"))
    if mounted(folder, undo, "-t", "tmpfs", "-o", f"{limit},mode=700", "tmpfs"):
        return ""
    for each in folder.glob("??/*"):
        each.unlink()
    bound = rng.choice((0, 10, 1000, 20_000))
    return f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({bound}, {bound}))\n"


HOMELESS = """
import pwd
def nobody(*names):
    raise KeyError(names)
pwd.getpwuid = pwd.getpwnam = nobody
for name in ("HOME", "XDG_CACHE_HOME", "KEMPE_CACHE_DIR"):
    os.environ.pop(name, None)
"""


def no_home(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    file = folder.with_name("precious") / "0"
    odd = rng.choice(("", f"os.environ['HOME'] = {str(file)!r}\n", f"os.environ['HOME'] = {str(folder / 'home')!r}\n",
                      "os.environ['KEMPE_CACHE_DIR'] = '~nobody-at-all/cache'\n",
                      "os.environ['XDG_CACHE_HOME'] = '/proc/self/cache'\n"))  # fmt: skip
    return HOMELESS + odd


def odd_name(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    inside = repr(str(folder))
    return rng.choice((
        f"os.environ['KEMPE_CACHE_DIR'] = {inside} + '/' + 300 * 'x'\n",
        f"os.environ['KEMPE_CACHE_DIR'] = {inside} + 3000 * '/x'\n",
        f"os.environ['KEMPE_CACHE_DIR'] = {inside} + '/a\\nb [*?] \\U0001f600'\n",
        f"os.environb[b'KEMPE_CACHE_DIR'] = {inside}.encode() + b'/\\xff\\xfe'\n",
        f"os.chdir({inside})\nos.environ['KEMPE_CACHE_DIR'] = '.'\n",
        f"os.mkdir({inside} + '/gone')\nos.chdir({inside} + '/gone')\nos.rmdir({inside} + '/gone')\n"
        "os.environ['KEMPE_CACHE_DIR'] = 'cache'\n",
    ))  # fmt: skip


def odd_clock(folder: Path, rng: random.Random, undo: ExitStack) -> str:
    (folder / "ab").mkdir(exist_ok=True, mode=0o700)
    (folder / "ab" / f"{cache.DRAFT}of-some-day").touch(mode=0o600)
    for each in (*folder.rglob("*"), folder):
        os.utime(each, (rng.choice((0.0, time.time() + 1e5, 2**31, 2**33)),) * 2)
    return ""


FOLDERS: dict[str, Folder] = {
    "read-only": read_only,
    "foreign": foreign,
    "someone else": someone_else,
    "open to others": open_to_others,
    "a link": a_link,
    "no folder": no_folder,
    "parts are none": parts_are_none,
    "full disk": full_disk,
    "no home": no_home,
    "odd name": odd_name,
    "odd clock": odd_clock,
}


def odd_folder(world: World, rng: random.Random, how: str) -> str | None:
    """All that is asked for is answered; and what `kempe cache` does with such a folder is no error."""
    folder = world.copy(world.full)
    kept = {each: each.read_text() for each in precious(folder).iterdir()}
    with ExitStack() as undo:
        before = FOLDERS[how](folder, rng, undo)
        code = f"work.load_integrators()\nos.environ['KEMPE_CACHE_DIR'] = {str(folder)!r}\n{before}"
        found = ended(started(f"{code}work.tell()\nwork.kept_well()", world.bare))
        if bad := world.wrong(found):
            return bad
        if kept != {each: each.read_text() for each in folder.with_name("precious").iterdir()}:
            return "files of others were changed"
        left = [str(each) for each in folder.rglob(f"{cache.DRAFT}*")] if folder.is_dir() else []
        return f"drafts stay: {left}" if left and how not in ("foreign", "read-only") else None


def umask(world: World, rng: random.Random) -> str | None:
    """A cache that one process has made is there for the next, whatever files are made readable for."""
    folder = Path(tempfile.mkdtemp(dir=world.folder)) / "some" / "cache"
    code = f"work.load_integrators()\nos.environ['KEMPE_CACHE_DIR'] = {str(folder)!r}\n"
    code += f"os.umask({rng.choice((0, 0o002, 0o022, 0o077))})\nwork.tell()\n"
    for _ in range(2):
        if bad := world.wrong(ended(started(code, world.bare))):
            return bad
    if bad := damaged(folder):
        return f"not to be used: {len(bad)} files"
    with pointed_at(folder):
        kept = command.kept()
    return None if kept.files > 10 and not kept.unused else f"not kept: {kept}"


def full_disk_saving(world: World, rng: random.Random) -> str | None:
    """What was there stays, or is replaced as a whole; the error is a sentence."""
    folder = Path(tempfile.mkdtemp(dir=world.folder)) / "disk"
    folder.mkdir()
    with ExitStack() as undo:
        code = "from kempe.whole import write_whole\nfrom kempe.errors import FileError\n"
        if not mounted(folder, undo, "-t", "tmpfs", "-o", f"size={rng.randint(3, 30) * 4}k", "tmpfs"):
            code += f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({rng.randint(1, 99999)},) * 2)\n"
        path, sizes = folder / "file.bin", [rng.randint(1, 100_000) for _ in range(6)]
        code += f"for k, n in enumerate({sizes}):\n    try:\n        write_whole({str(path)!r}, bytes([k]) * n)\n"
        code += "    except FileError as error:\n        assert 'cannot be written' in str(error)\n"
        if bad := quiet(started(code, world.bare)):
            return bad
        content = path.read_bytes() if path.exists() else b"\0" * sizes[0]
        if content != content[:1] * sizes[content[0]]:
            return f"half a file: {len(content)} bytes of {sizes}"
        left = [each.name for each in folder.iterdir() if each != path]
        return f"drafts stay: {left}" if left else None


# ---- all kinds -------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[World, random.Random], str | None]] = {
    "killed while it fills a cache": killed_filling,
    "killed while it saves": killed_saving,
    **{f"interrupted: {what}": partial(interrupted, what=what) for what in work.ENDLESS},
    **{f"forked: {what}": partial(forked, what=what) for what in ("after", "rolling out", "compiling")},
    "a pool of processes": pooled,
    "eight threads": threaded,
    "three processes, cleared meanwhile": together,
    "damaged files": damaged_files,
    **{f"folder: {how}": partial(odd_folder, how=how) for how in FOLDERS},
    "umask": umask,
    "full disk, saving": full_disk_saving,
}


def verdict(world: World, case: Case) -> str | None:
    """What is wrong, if anything is."""
    rng = random.Random(f"{case.kind} {case.seed}")
    before = set(world.folder.iterdir())
    try:
        found = KINDS[case.kind](world, rng)
    finally:
        for each in set(world.folder.iterdir()) - before:
            shutil.rmtree(each, ignore_errors=True)
    return None if found is None else f"{case}\n    {found}"


def main() -> int:
    """Failures, as the exit status says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; anywhere, unless given")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), help="or how their names begin")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    kinds = [kind for kind in KINDS if kind.startswith(tuple(given.kinds))]
    print(f"begins with --seed {seed}", flush=True)
    done, failed = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="kempe-processes-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # someone else looks for the cache in it
        world, end = World(Path(folder)), time.monotonic() + 60 * given.minutes
        while time.monotonic() < end:
            for kind in kinds:
                if time.monotonic() < end:
                    found = verdict(world, Case(kind, seed))
                    done[kind] += 1
                    failed[kind] += found is not None
                    if found:
                        print(found, flush=True)
            seed += 1
    print(*(f"{name}: {failed[name]} of {count} failed" for name, count in done.items()), sep="\n")
    return int(bool(failed.total()))


if __name__ == "__main__":
    sys.exit(main())
