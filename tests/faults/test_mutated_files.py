"""Mutated files: a short round over all formats, and what longer ones found."""

import io
import json
import zipfile

import numpy as np
import pytest

import kempe as kp
from kempe.errors import FileError, MechanismError
from kempe.formats.meshes import read_mesh
from kempe.results.store import ARRAYS, about
from tests.faults.files import FORMATS, Case, Corpus, bounded, unlike, unsaid, verdict
from tests.formats.test_urdf import TREE
from tests.mechanism.test_files import FOUR_BAR

SEEDS = dict.fromkeys(FORMATS, 100) | dict.fromkeys(("npz", "csv", "mesh"), 300)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return Corpus(tmp_path_factory.mktemp("corpus"))


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_read_is_whole_or_one_sentence(format, corpus):
    wrong = [found for seed in range(SEEDS[format]) if (found := verdict(corpus, Case(format, seed)))]
    assert not wrong, "\n".join(wrong)


# ---- what was found --------------------------------------------------------------------------------------


def refused(path, load=kp.load) -> str:
    """The one sentence on a file that is not read."""
    with pytest.raises(FileError) as told:
        load(path)
    assert unsaid(str(told.value), path.parent) is None
    return str(told.value)


@pytest.mark.parametrize("type", ["<f4", "<i4", "<f2"])
def test_arrays_whose_type_is_damaged_are_refused(type, corpus, tmp_path):
    """They are shorter then, and NumPy, which reads no further, does not compare the sum of what follows."""
    path, run = tmp_path / "run.npz", corpus.runs[2]
    content = corpus.samples["npz"][2].files["run2.npz"]
    places = [k for k in range(len(content)) if content.startswith(b"'<f8'", k)]
    assert len(places) == 7
    for at in places:
        path.write_bytes(content[:at] + f"'{type}'".encode() + content[at + 5 :])
        assert "(Bad CRC-32 for file" in refused(path, lambda path: kp.Trajectory.load(path, run.model))


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros(3)[:0], "is not an array of float64 of shape (1000000000,), as its header says"),
        (np.array([None] * 3), "is not an array of object of shape (3,), as its header says"),
    ],
)
def test_arrays_that_are_not_what_they_say(array, said, corpus, tmp_path):
    entries = {}
    with zipfile.ZipFile(corpus.folder / "run0.npz") as whole:
        entries = {name: whole.read(name) for name in whole.namelist()}
    made = io.BytesIO()
    np.save(made, array, allow_pickle=True)
    entries["t.npy"] = made.getvalue().replace(b"(0,), }" + b" " * 9, b"(1000000000,), }")
    with zipfile.ZipFile(tmp_path / "run.npz", "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    with bounded():
        assert said in refused(tmp_path / "run.npz", lambda path: kp.Trajectory.load(path, corpus.runs[0].model))


def test_a_short_run_takes_little_address_space(corpus, tmp_path):
    for ending, sample in (("npz", corpus.samples["npz"][0]), ("csv", corpus.samples["csv"][0])):
        path = tmp_path / f"run.{ending}"
        path.write_bytes(sample.files[sample.read])
        with bounded():
            assert unlike(corpus.runs[0], kp.Trajectory.load(path, corpus.runs[0].model)) is None


@pytest.mark.parametrize("kind", ["c16", "U9", "M8[s]"])
def test_arrays_of_other_things_than_numbers_are_refused(kind, corpus, tmp_path):
    path, run = corpus.folder / "run0.npz", corpus.runs[0]
    with np.load(path) as whole:
        arrays = dict(whole)
    np.savez(tmp_path / "run.npz", **arrays | {"q": np.zeros(arrays["q"].shape, kind)})
    assert "trajectory: q is" in refused(tmp_path / "run.npz", lambda path: kp.Trajectory.load(path, run.model))


def test_what_a_run_says_wrongly_is_said_of_its_file(corpus, tmp_path):
    content = corpus.samples["csv"][0].files["run0.csv"].partition(b"\n")[2]
    for old, new, said in (
        (b'# formulation: "auto"', b'# formulation: "\\u0000"', r"there is no formulation '\x00'"),
        (b"# cut: []", b'# cut: ["\\ud800"]', r"there is no joint '\ud800'"),
        (b",A [rad],", b",A\0 [rad],", "columns are missing: A [rad]"),
    ):
        assert old in content
        (tmp_path / "run.csv").write_bytes(content.replace(old, new))
        assert said in refused(tmp_path / "run.csv", kp.Trajectory.load)


def test_an_archive_of_other_names_is_told_in_short(corpus, tmp_path):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("about.npy", b"x" * 5000)
    content = made.getvalue()
    length = content.index(b"about.npy") - 4  # of the name, in the entry's own header
    (tmp_path / "run.npz").write_bytes(content[:length] + b"\xff\x0f" + content[length + 2 :])
    assert len(refused(tmp_path / "run.npz", kp.Trajectory.load)) < 500


def test_characters_that_cannot_be_printed(tmp_path):
    (tmp_path / "m.yaml").write_text(FOUR_BAR.replace("crank", "cr\0nk"))
    assert refused(tmp_path / "m.yaml").endswith("not YAML: control characters are not allowed")
    (tmp_path / "m.yaml").write_text(FOUR_BAR.replace("{ground: [1, 0]}", '{ground: ["a\\nb\\u202e", 0]}'))
    (error,) = kp.load(tmp_path / "m.yaml").check().errors
    assert unsaid(str(error)) is None
    assert str(error).startswith(r"joint 'D': marker ground.at(a b\u202e, 0, 0) refers to ")
    text = TREE.replace('<axis xyz="0 1 0"/>', '<axis name="\u202e" xyz="0 1 0"/>')
    (tmp_path / "m.urdf").write_text(f'<robot name="r">{text}</robot>', encoding="utf-8")
    noted = [note for note in kp.load(tmp_path / "m.urdf").notes if r'/axis "\u202e": name read, not used' in note]
    assert len(noted) == 3
    assert not any(map(unsaid, noted))


def test_long_names_of_parameters_are_told_in_short(tmp_path):
    (tmp_path / "m.yaml").write_text(FOUR_BAR.replace("{ground: [1, 0]}", f"{{ground: [{'x' * 3000}, 0]}}"))
    (error,) = kp.load(tmp_path / "m.yaml").check().errors
    assert unsaid(str(error)) is None


def test_meshes_of_points_in_a_plane_or_nowhere(tmp_path):
    path = tmp_path / "part.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1\nv 0 0 1\nf 1 2 3\nf 2 3 4\n")
    refused(path, read_mesh)


@pytest.mark.parametrize("ending", ["urdf", "xml"])
def test_places_at_parameters_that_are_not_there_are_not_written(ending, tmp_path):
    (tmp_path / "m.yaml").write_text(FOUR_BAR.replace("{ground: [1, 0]}", "{ground: [nobody.length, 0]}"))
    with pytest.raises(
        MechanismError, match=r"a position refers to 'nobody\.length', which is not one of its parameters"
    ):
        kp.load(tmp_path / "m.yaml").save(tmp_path / f"m.{ending}")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("on_names", "on_names must begin with the switchable joints: hold"),
        ("impulses", "the impulse of 'hold' has shape \\(2,\\)"),
        ("statistics", "Statistics: steps is 'many'; give a whole number"),
        ("occurrences", "Occurrence 'e': t is 'x'; give a number"),
        ("switches", "Switched: gap is None; give a number"),
    ],
)
def test_what_a_run_knows_is_looked_at(key, said, corpus, tmp_path):
    run = corpus.runs[1]
    found = about(run)
    changed = {
        "on_names": {"on_names": []},
        "impulses": {"switches": [{**found["switches"][0], "impulses": {"hold": [1, 2]}}]},
        "statistics": {"statistics": {**found["statistics"], "steps": "many"}},
        "occurrences": {"occurrences": [{"name": "e", "t": "x", "q": [], "v": []}]},
        "switches": {"switches": [{**found["switches"][0], "gap": None}]},
    }[key]
    text = np.frombuffer(json.dumps(found | changed).encode(), np.uint8)
    np.savez(tmp_path / "run.npz", about=text, **{name: getattr(run, name) for name in ARRAYS})
    with pytest.raises(FileError, match=f"run.npz: .*{said}"):
        kp.Trajectory.load(tmp_path / "run.npz", run.model)


MESHED = "bodies: {{arm: {{mesh: {{file: {}}}}}}}\njoints: {{A: {{revolute: [ground, arm]}}}}\n"
ASSET = """<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><body><geom type="mesh" mesh="m"/></body>
</worldbody></mujoco>"""
LINK = '<link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link>'


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("name", ["loop", "x" * 3000, "x/" * 3000, "../loop"])
def test_names_that_no_file_can_have(name, outside, tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "loop").symlink_to("loop")
    for ending, text in (
        ("yaml", MESHED),
        ("xml", ASSET),
        ("xml", '<mujoco><include file="{}"/></mujoco>'),
        ("urdf", f'<robot name="r">{LINK}</robot>'),
        ("sdf", '<sdf version="1.9"><model name="a"><include><uri>{}</uri></include></model></sdf>'),
        ("sdf", '<sdf version="1.9"><model name="a"><include><uri>model://{}</uri></include></model></sdf>'),
    ):
        (folder / f"m.{ending}").write_text(text.format(name))
        try:
            said = kp.load(folder / f"m.{ending}", outside=outside).notes
        except FileError as error:
            said = [str(error)]
        assert not any(map(unsaid, said))
    for load in (kp.load, kp.Trajectory.load):
        for ending in (".yaml", ".npz", ""):
            with pytest.raises(FileError):
                load(folder / f"{name}{ending}")


def test_a_mesh_at_a_name_with_a_zero(tmp_path):
    (tmp_path / "m.yaml").write_text(MESHED.format('"../a\\0"'))
    assert kp.load(tmp_path / "m.yaml").bodies[0].name == "arm"  # what is drawn is read when it is


def test_a_robot_of_a_long_name_has_nothing_beside_it(tmp_path):
    path = tmp_path / f"{'x' * 245}.urdf"
    path.write_text('<robot name="r"><link name="a"/></robot>')
    assert len(kp.load(path).bodies) == 1


def test_a_flat_mesh_of_a_file_has_no_hull(tmp_path):
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "m.xml").write_text(ASSET.format("flat.obj").replace("<mesh ", '<mesh inertia="convex" '))
    assert "lie in a plane" in refused(tmp_path / "m.xml")


def test_archives_and_counts_are_no_meshes(tmp_path):
    """A reader of scenes would make room for what a file claims to hold, one of archives would unpack it."""
    claims = '{"accessors": [{"componentType": 5126, "type": "VEC3", "count": 9999999999}]}'
    for ending in ("glb", "gltf", "zip", "3mf", ""):
        (tmp_path / f"part.{ending}").write_text(claims)
        assert "the ending of a mesh file must be one of .stl" in refused(tmp_path / f"part.{ending}", read_mesh)
