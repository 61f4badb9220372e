"""Mutated files: what is read is a mechanism, or a run, or one sentence.

`python -m tests.faults.files --minutes 10`: files of every format that is read, changed at random, until time is up.
Each case is made again from its format and seed. Failures are printed as they are found, then counts by format.
"""

import argparse
import contextlib
import io
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh

import kempe as kp
from kempe.errors import FileError, KempeError
from kempe.formats.meshes import hull, read_mesh
from kempe.gallery.entries import ENTRIES
from kempe.gallery.loops import four_bar
from kempe.results.outcome import Occurrence, Outcome, Statistics
from kempe.results.store import about
from kempe.results.structures import Switched
from tests.faults.mutations import mutated_archive, mutated_table, mutated_text
from tests.formats.sdf_graphs import random_graph, written
from tests.formats.test_mjcf import CLOSURES, FEATURES, LOOP
from tests.formats.test_sdf import PARTS as SDF_PARTS
from tests.formats.test_sdf import axis, joint, link
from tests.formats.test_urdf import DIALECTS, SIDECAR, TREE
from tests.formats.test_urdf import PARTS as URDF_PARTS
from tests.mechanisms import random_tree

LONGEST, WAIT = 10, 60  # s of work for one file, and by the clock
SPACE = 2 << 30  # bytes of address space more than before
SENTENCE = 2000  # characters
SMALL = 40_000  # bytes of a file of the gallery that is taken
FORMATS = ("yaml", "urdf", "sidecar", "mjcf", "sdf", "mesh", "npz", "csv")
RUNS = ("npz", "csv")


class TooLong(BaseException):
    """A file that is read without end."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Files of a folder by their names; `read` is the one that is given to the reader, `changed` those that mutate."""

    files: dict[str, bytes]
    read: str
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A mutated file, as it can be made again."""

    format: str
    seed: int

    def __str__(self) -> str:
        return f"{self.format} {self.seed}"


class Corpus:
    """Whole files of every format, made in a folder, in which mutated ones are put too."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.runs = _runs()
        self.samples: dict[str, list[Sample]] = {name: [] for name in FORMATS}
        self._of_mechanisms()
        self._of_texts()
        self._of_meshes()
        for ending in RUNS:
            for k, run in enumerate(self.runs[: 3 if ending == "npz" else 2]):
                path = Path(run.save(folder / f"run{k}.{ending}"))
                self._add(ending, {path.name: path.read_bytes()})

    def _add(self, format: str, files: dict[str, bytes | str], read: str | None = None) -> None:
        found = {name: x.encode() if isinstance(x, str) else x for name, x in files.items()}
        first = next(iter(found))
        self.samples[format].append(Sample(found, read or first, tuple(found)))

    def _of_mechanisms(self) -> None:
        """Those of the gallery, and some with everything a mechanism can have, in every format they can be saved to."""
        found = [entry.build() for entry in ENTRIES.values()]
        found += [everything(), *(random_tree(seed, 4, passive=True, loads=True) for seed in range(3))]
        for format, ending in (("yaml", "yaml"), ("urdf", "urdf"), ("mjcf", "xml")):
            for mechanism in found:
                path = self.folder / f"m.{ending}"
                with contextlib.suppress(KempeError):  # of what a format cannot say
                    mechanism.save(path)
                    if path.stat().st_size < SMALL:
                        self._add(format, {path.name: path.read_bytes()})

    def _of_texts(self) -> None:
        for text in (*(text for _, text in DIALECTS.values()), '<joint name="x" type="floating"/>'):
            self._add("urdf", {"m.urdf": f'<robot name="r">{TREE}{text}</robot>'})
        self._add("urdf", {"m.urdf": f"<robot>{URDF_PARTS}</robot>"})
        robot = f'<robot name="r">{TREE}</robot>'
        more = "independent: [A]\ndependent: [B, D]\n"
        self._add("sidecar", {"loop_closures.yaml": SIDECAR + more, "m.urdf": robot}, "m.urdf")
        by_point = "closures:\n  - {link_a: coupler, link_b: rocker, point: [1, 0, 0], type: spherical}\n"
        self._add("sidecar", {"m.loop_closures.yaml": by_point, "m.urdf": robot}, "m.urdf")
        for text in FEATURES.values():
            self._add("mjcf", {"m.xml": text})
        for text, _ in CLOSURES.values():
            self._add("mjcf", {"m.xml": LOOP % text})
        inner = "<mujoco><worldbody>{}</worldbody></mujoco>"
        arm = '<body name="{0}"><joint name="J{0}"/><geom size=".1"/></body>'
        include = '<mujoco><include file="a.xml"/><worldbody><include file="b.xml"/></worldbody></mujoco>'
        self._add("mjcf", {"m.xml": include, "a.xml": inner.format(arm.format("a")), "b.xml": arm.format("b").join(
            ("<mujoco>", "</mujoco>"))})  # fmt: skip
        for seed, way in enumerate(("plain", "relative", "nested", "included", "merged")):
            rng = np.random.default_rng(seed)
            path, _ = written(random_graph(rng), rng, way, self.folder)
            files = {path.name: path.read_bytes()}
            if way in ("included", "merged"):
                files["part/model.sdf"] = (self.folder / "part" / "model.sdf").read_bytes()
                files["part/model.config"] = b'<model><sdf version="1.10">model.sdf</sdf></model>'
            self._add("sdf", files)
        base = SDF_PARTS.replace("base", "c").replace('joint name="c"', 'joint name="cc"')
        gear = joint("g", "a", "arm", "<gearbox_reference_body>a</gearbox_reference_body>", "gearbox")
        both = joint("u", "a", "s::b", axis() + axis(tag="axis2", xyz="0 1 0"), "universal")
        screw = joint("x", "a", "arm", axis('<mimic joint="j"/>'), "screw")
        inside = f'{link("a")}{joint("j", "world", "a", axis())}{base}<model name="s" placement_frame="b">{link("b")}'
        inside += f'<frame name="f"/></model>{both}{gear}{screw}'
        world = f'<world name="w"><gravity>0 0 -9</gravity><model name="m">{inside}</model></world>'
        self._add("sdf", {"m.sdf": f'<sdf version="1.10">{world}</sdf>'})

    def _of_meshes(self) -> None:
        box = trimesh.creation.box((0.1, 0.2, 0.3))
        for ending, kind in (("stl", "stl"), ("stl", "stl_ascii"), ("obj", "obj"), ("ply", "ply"), ("off", "off")):
            found = box.export(file_type=kind)
            self._add("mesh", {f"part.{ending}": found})
        corners, triangles = np.array(box.vertices, "<f4"), np.array(box.faces, "<i4")
        counts = np.array([len(corners), 0, 0, len(triangles)], "<i4")
        self._add("mesh", {"part.msh": counts.tobytes() + corners.tobytes() + triangles.tobytes()})
        part: dict[str, bytes | str] = {"part.stl": box.export(file_type="stl")}
        drawn = '<visual><geometry><mesh filename="part.stl" scale="1 2 3"/></geometry></visual>'
        self._add("urdf", {"m.urdf": f'<robot name="r"><link name="a">{drawn}</link></robot>'} | part)
        weighed = '<body name="a"><freejoint/><geom type="mesh" mesh="part"/></body>'
        asset = '<compiler meshdir="."/><asset><mesh file="part.stl" scale="1 2 3"/></asset>'
        self._add("mjcf", {"m.xml": f"<mujoco>{asset}<worldbody>{weighed}</worldbody></mujoco>"} | part)
        yaml = "bodies: {arm: {mesh: {file: part.stl, scale: [1, 2, 3]}}}\njoints: {A: {revolute: [ground, arm]}}\n"
        self._add("yaml", {"m.yaml": yaml} | part)


def everything() -> kp.Mechanism:
    """A body of every solid, joints of many kinds with all their options, a coupling, a spring, a wrench, a beam."""
    m = kp.Mechanism("everything", gravity=(0.1, 0.2, -9.7))
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    rod, beam = m.rod("rod", 0.3, 1.5, radius=0.01), m.beam("beam", 1.0, E=1e9, I=1e-8, rho=1e3, A=1e-4)
    box = (
        m.box("box", (1, 2, 3), 4.0)
        .add("rotor", kp.Hub(0.5, (0, 1, 0)), at=(1, 0, 0))
        .point_mass("tip", 0.1, (0, 1, 2))
    )
    box.add("arm", kp.Rod(0.2, 0.3), rotation=turned).add("egg", kp.Ellipsoid((0.1, 0.2, 0.3), 2.0))
    plate, ball = m.plate("plate", [(0, 0), (1, 0), (0, 1)], 2.0, thickness=0.01), m.sphere("ball", 0.2, 3.0)
    body, cylinder = m.body("body", 2.0, (0.1, 0, 0), (1, 1, 1)), m.cylinder("cylinder", 1.0, 0.2, 3.0)
    m.ground.at(1, 0, 2, name="pivot")
    m.ground.at(0, 0, 0, rotation=turned, name="turned")
    box.at(1, 2, 3, rotation=turned, name="hook")
    m.revolute("A", m.ground.pivot, rod.start, axis=(0, 1, 0), limits=(-1, 1), damping=0.1, armature=0.2, actuated=True)
    m.cylindrical("B", rod.end, box.hook, actuated=["slide"], limits=[None, (-1, 2)], stiffness=(1, 2), rest=(1, 0))
    m.helical("C", box.at(0, 0, 1), cylinder.origin, pitch=0.01)
    m.planar("D", m.ground.turned, plate.origin, normal=(1, 0, 0))
    m.universal("E", plate.at(1, 2), ball.origin, ((1, 0, 0), (0, 0, 1)))
    m.spherical("F", ball.at(0, 1), body.at(1, 2, 3))
    m.revolute("G", rod.end, beam.start, drawn=0.3)
    m.revolute("H", beam.end, m.ground.at(2, 1), switchable="open")
    m.couple("gears", {"A": 30.0, "G": 18.0}, 0.1)
    m.spring("spring", rod.at("rod.length", 0.1), box.hook, stiffness=10, damping=1, length=0.2)
    m.wrench("push", box.hook, force=(1, 2, 3), follows=True)
    return m


def switching() -> kp.Mechanism:
    """A pendulum that a switchable joint can hold, with limits and a parameter."""
    m = kp.Mechanism("pendulum")
    rod = m.rod("rod", 0.3, 1.5)
    m.revolute("A", m.ground.at(0, 0), rod.start, axis=(0, 1, 0), limits=(-1, 1), actuated=True)
    m.fixed("hold", m.ground.at(0.3, 0), rod.end, switchable="open")
    return m


def _runs() -> list[kp.Trajectory]:
    bar, rod = four_bar().compile(), switching().compile(parameters=["rod.mass"])
    return [_noted(bar, 3), _noted(rod, 4), _noted(rod, 700)]  # of which arrays are longer than what is read ahead


def _noted(model: kp.Model, rows: int) -> kp.Trajectory:
    """Numbers without sense, with everything a run can have."""
    rng = np.random.default_rng(rows)
    q, v, a, u = (rng.normal(size=(rows, width)) for width in (model.nq, model.nv, model.nv, model.nu))
    names = model.topology.switchable
    on = np.arange(rows)[:, None] > rows // 2 if names else None
    switches = [Switched(0.1, dict.fromkeys(names, True), tuple(names), impulses={n: np.ones(6) for n in names})]
    return kp.Trajectory(
        model, np.arange(rows) / 7, q, v, a, u, z=rng.normal(size=(rows, 1)), z_names=("law",), on=on,
        occurrences=(Occurrence('a stop, "hit"\n#', 0.1, tuple(q[0].tolist()), tuple(v[0].tolist())),),
        switches=tuple(switches if names else ()), outcome=Outcome("event", 0.5, ("e",), "stopped", "go on"),
        statistics=Statistics("dop853", 1000, 90, 3, 0.25), p=model.p * 1.1 if model.p_names else None,
    )  # fmt: skip


# ---- cases -----------------------------------------------------------------------------------------------


def mutated(corpus: Corpus, case: Case) -> tuple[Sample, dict[str, bytes], bool]:
    """The sample of a case, its files with one of them changed, and whether that is damage: nobody meant it."""
    rng = random.Random(str(case))
    samples = corpus.samples[case.format]
    sample = rng.choice(samples)
    changed = rng.choice((sample.changed[0], *sample.changed))
    content, other = sample.files[changed], next(iter(rng.choice(samples).files.values()))
    if case.format in RUNS:
        make = mutated_archive if case.format == "npz" else mutated_table
        new, damage = make(rng, content, other)
    else:
        kind = changed.rpartition(".")[2]
        new, damage = mutated_text(rng, content, other, kind), True
    return sample, sample.files | {changed: new}, damage


def verdict(corpus: Corpus, case: Case) -> str | None:
    """What is wrong with how the files of a case are read; None where a mechanism or run came back, or a sentence."""
    sample, files, damage = mutated(corpus, case)
    folder = corpus.folder / "case"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "loop").symlink_to("loop")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    try:
        with bounded(), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            wrong = _wrong(corpus, case, sample, folder, damage)
    except TooLong:
        wrong = f"takes longer than {LONGEST} s"
    except Exception as error:
        wrong = f"{_where(error)}: {type(error).__name__}: {error!s:.300}"
    return None if wrong is None else f"{case}: {wrong}"


def _wrong(corpus: Corpus, case: Case, sample: Sample, folder: Path, damage: bool) -> str | None:
    rng, path = random.Random(f"read {case}"), folder / sample.read
    try:
        if case.format in RUNS:
            whole = corpus.runs[corpus.samples[case.format].index(sample)]
            run = kp.Trajectory.load(path, None if rng.random() < 0.02 else whole.model)
            return unlike(whole, run) if damage else used(run)
        if case.format == "mesh":
            _look_at_mesh(path, rng)
            return None
        m = kp.load(path, *(rng.choice(((None,), (True,), (False,))) if case.format in ("urdf", "sdf") else ()))
    except KempeError as error:
        if isinstance(error.__cause__, MemoryError):
            return f"asks for more than {SPACE >> 20} MiB: {error!s:.300}"
        return unsaid(str(error), folder)
    try:
        said = [*m.notes, *map(str, m.check().all)]
        if rng.random() < 0.2:
            m.topology()
        if rng.random() < 0.003:
            m.compile()
        if rng.random() < 0.1:
            said += m.save(folder / f"again.{rng.choice(('yaml', 'urdf', 'xml'))}")
    except KempeError as error:
        said = [str(error)]
    return next(filter(None, map(unsaid, said)), None)


def _look_at_mesh(path: Path, rng: random.Random) -> None:
    """By itself, and as a part of a mechanism, where a mesh that cannot be read is a note."""
    if rng.random() < 0.3:
        place = path.with_name("m.xml")
        asset = f'<asset><mesh name="m" file="{path.name}"/></asset>'
        place.write_text(f'<mujoco>{asset}<worldbody><body><geom type="mesh" mesh="m"/></body></worldbody></mujoco>')
        kp.load(place).check()
    mesh = read_mesh(path)
    mesh.contents(absolute=rng.random() < 0.5)
    with contextlib.suppress(FileError):  # the file is named by those who ask for the hull
        hull(mesh.corners)


def unsaid(message: str, folder: Path | None = None) -> str | None:
    """What is wrong with a sentence."""
    if len(message) > SENTENCE:
        return f"a sentence of {len(message)} characters: {message:.200}"
    if not message.isprintable():
        return f"a sentence that cannot be printed as one line: {message!r:.300}"
    if folder is not None and str(folder) not in message:
        return f"the file is not named: {message:.300}"
    return None


def unlike(whole: kp.Trajectory, run: kp.Trajectory) -> str | None:
    """In what a run differs from another."""
    for name in ("t", "q", "v", "a", "u", "stops", "z", "p", "on"):
        one, other = getattr(whole, name), getattr(run, name)
        if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
            return f"damaged, and read with another {name}"
    one, other = about(whole), about(run)
    return next((f"damaged, and read with another {name}" for name in one if one[name] != other[name]), None)


def used(run: kp.Trajectory) -> str | None:
    """What goes wrong when a run is looked at, and written."""
    str(run.outcome), str(run.structure), list(map(str, run.switches)), run[0], run.end
    about(run)
    return None


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """In so much time and address space, as far as Python itself is asked for it."""
    before = [(each, signal.signal(each, _stop)) for each in (signal.SIGALRM, signal.SIGPROF)]
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + SPACE, hard))
    signal.alarm(WAIT)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for each, was in before:
            signal.signal(each, was)


def _stop(signum, frame):
    raise TooLong


def _where(error: BaseException) -> str:
    """The innermost line of Kempe's own."""
    root = str(Path(kp.__file__).parent)
    found = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(root)]
    return f"{found[-1].filename.removeprefix(root + '/')}:{found[-1].lineno}" if found else "outside"


# ---- rounds ----------------------------------------------------------------------------------------------


def rounds(minutes: float, seed: int, formats: tuple[str, ...] = FORMATS) -> Counter[str]:
    """Cases until time is up; failures of each format. The same sentence from the same place is printed once."""
    done, failed, seen = Counter(), Counter(), Counter()
    end, rng = time.monotonic() + 60 * minutes, random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(Path(folder))
        while time.monotonic() < end:
            case = Case(rng.choice(formats), rng.randrange(10**9))
            wrong = verdict(corpus, case)
            done[case.format] += 1
            if wrong:
                failed[case.format] += 1
                kind = zlib.crc32(wrong.partition(": ")[2].replace(folder, "")[:60].encode(errors="replace"))
                seen[kind] += 1
                if seen[kind] <= 2:
                    print(wrong.encode(errors="backslashreplace").decode(), flush=True)
    print(*(f"{name}: {failed[name]} of {done[name]} failed" for name in formats), sep="\n", flush=True)
    return failed


def main() -> int:
    """Failures, as the exit status says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; anywhere, unless given")
    parser.add_argument("--formats", nargs="*", default=list(FORMATS), choices=FORMATS)
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"begins with --seed {seed}", flush=True)
    return int(bool(rounds(given.minutes, seed, tuple(given.formats))))


if __name__ == "__main__":
    sys.exit(main())
