"""Pictures and strips: files of every kind, colors of every body, the right axes."""

import itertools

import matplotlib.image
import numpy as np
import pytest

import kempe as kp
from kempe.errors import ViewError
from kempe.view.hulls import hull_of
from kempe.view.paper import Sheet, faces, hull
from kempe.view.picture import TRACES, picture, strip
from kempe.view.raster import Raster
from kempe.view.scene import scene
from kempe.view.shapes import PALETTE, SPRING, make
from tests.mechanisms import random_tree
from tests.view.runs import WEDGE, arm, double_pendulum, given, swinging, tumbling


def near(image: np.ndarray, color: str) -> int:
    """How many pixels have about a color."""
    own = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return int((np.abs(image[..., :3] - own).max(axis=-1) < 0.03).sum())


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_state_is_drawn_by_its_door(tmp_path, suffix):
    path = double_pendulum().compile().state({"shoulder": -1.0}).picture(tmp_path / f"state.{suffix}")
    head = path.read_bytes()[:400]
    assert {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}[suffix] in head


def test_a_flat_picture_has_every_body_in_its_color(tmp_path):
    state = double_pendulum().compile().state({"shoulder": -1.0, "elbow": 1.0})
    image = matplotlib.image.imread(picture(state, tmp_path / "state.png"))
    assert near(image, PALETTE[0]) > 500
    assert near(image, PALETTE[1]) > 500


def test_axes_are_labelled_in_metres(tmp_path):
    text = picture(double_pendulum().compile().state(), tmp_path / "a.svg").read_text()
    assert "x [m]" in text
    assert "y [m]" in text


@pytest.mark.parametrize("run", [swinging, lambda: arm(1.0), tumbling], ids=["flat", "arm", "tumbling"])
def test_strips_are_drawn(tmp_path, run):
    image = matplotlib.image.imread(strip(run(), tmp_path / "strip.png", count=4))
    assert image[..., :3].std() > 0.05


@pytest.mark.parametrize("seed", range(3))
def test_any_tree_is_drawn_from_any_side(tmp_path, seed):
    state = random_tree(seed, 6, loads=True).compile().random_state(seed)
    for view in (None, "face", "3d", (2.0, -0.5)):
        assert picture(state, tmp_path / "tree.png", view=view).stat().st_size > 3000


def test_what_cannot_be_drawn_is_told(tmp_path):
    state = double_pendulum().compile().state()
    with pytest.raises(ViewError, match=r"\.png, \.svg, \.pdf"):
        picture(state, tmp_path / "state.gif")
    with pytest.raises(ViewError, match="no view 'top'"):
        picture(state, tmp_path / "state.png", view="top")
    with pytest.raises(ViewError, match="at least one pose"):
        strip(swinging(), tmp_path / "strip.png", count=0)


def test_dollars_in_names_are_dollars(tmp_path):
    m = kp.Mechanism("a $x and $y_")
    body = m.rod("rod", 1.0, 1.0)
    m.revolute("A", m.ground.origin, body.start, axis=(0, 1, 0))
    assert picture(m.compile().state(), tmp_path / "a.png", points=[body.end]).exists()


@pytest.mark.parametrize("mesh", ["box", "cylinder", "sphere", "cone", "plate", "hull"])
def test_faces_are_closed_and_turned_outward(mesh):
    """The area vectors of a closed surface add up to nothing; its volume is positive."""
    outline = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0)) if mesh == "plate" else ()
    wedge = hull_of(WEDGE) if mesh == "hull" else None
    shape = make(mesh, 0, (0.3, 0.2, 0.1), (0.4, 0.4, 2.0), "#000000", outline=outline, hull=wedge)
    total, volume = np.zeros(3), 0.0
    for stack in faces(shape):
        for face in stack:
            for a, b in itertools.pairwise(face[1:]):
                area = np.cross(a - face[0], b - face[0]) / 2
                total += area
                volume += area @ face[0] / 3
    np.testing.assert_allclose(total, 0, atol=1e-12)
    round_ = {"box": 1.0, "cylinder": np.pi / 4, "sphere": np.pi / 6, "cone": np.pi / 12, "plate": 0.5, "hull": 0.0015}
    assert volume == pytest.approx(round_[mesh] * 0.4 * 0.4 * 2, rel=0.03)


def test_the_hull_holds_all_points():
    points = np.random.default_rng(0).normal(size=(60, 2))
    corners = hull(points)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side = (b - a)[0] * (points - a)[:, 1] - (b - a)[1] * (points - a)[:, 0]
        assert side.min() > -1e-12


def test_face_on_places_are_coordinates():
    model = double_pendulum().compile()
    seen = scene(model, model.neutral())
    at, _ = Sheet(seen.look, 0.0, 0.0).put(np.array([[0.3, -0.2, 0.7]]))
    np.testing.assert_allclose(at, [[0.3, -0.2]], atol=1e-12)


def test_of_faces_that_cut_one_another_the_nearer_is_seen_at_each_sample():
    """Two squares through each other: left of the cut one is seen, right of it the other; a third is behind both."""
    square = np.array([[[-1.0, -1], [1, -1], [1, 1], [-1, 1]]])
    raster = Raster(np.full(2, -1.5), np.full(2, 1.5), 0.01)
    faces_, depths = np.tile(square, (3, 1, 1)), np.stack([-square[0, :, 0], square[0, :, 0], np.full(4, -1.5)])
    raster.fill(faces_, depths, np.eye(3))
    seen = raster.image[..., :3] > 0
    x = raster.low[0] + raster.pitch * (np.arange(seen.shape[1]) + 0.5)
    np.testing.assert_allclose(seen.sum(axis=(0, 1)) * raster.pitch**2, [2, 2, 0], atol=0.02)
    assert x[seen[..., 0].any(axis=0)].max() < 0.01
    assert x[seen[..., 1].any(axis=0)].min() > -0.01
    deep = raster.over(np.array([[0.5, 0.2], [-0.25, 0], [1.2, 0], [9, 9]]))
    np.testing.assert_allclose(deep, [0.5, 0.25, -np.inf, -np.inf], atol=0.01)


def orange(image: np.ndarray) -> int:
    """How many pixels are of the second body's color, in any light."""
    return int((image[..., 0] > image[..., 2] + 0.1).sum())


def barrel_and_rod(length: float):
    m = kp.Mechanism("nested")
    barrel, rod = m.cylinder("barrel", 1.0, 0.06, 1.0), m.cylinder("rod", 0.9, 0.04, 1.0)
    m.universal("foot", m.ground.origin, barrel.at(0, 0, -0.5))
    m.prismatic("slide", barrel.origin, rod.origin)
    return m.compile().state({"foot.first": 0.8, "foot.second": 0.4, "slide": length})


def test_a_rod_is_seen_where_it_is_out_of_its_barrel_and_nowhere_else(tmp_path):
    inside, out = (
        matplotlib.image.imread(picture(barrel_and_rod(x), tmp_path / f"{x}.png", view="3d")) for x in (0.0, 0.45)
    )
    assert orange(inside) == 0
    assert orange(out) > 1000


@pytest.mark.parametrize("view", ["3d", "face"])
def test_a_path_is_seen_where_the_last_pose_does_not_hide_it(tmp_path, view):
    m = kp.Mechanism("disc")
    disc = m.cylinder("disc", length=0.1, radius=1.0, mass=1.0)
    m.prismatic("slide", m.ground.origin, disc.origin, axis=(1, 0, 0))
    m.revolute("spin", disc.origin, m.sphere("ball", 0.05, 0.1).origin)
    run = given(m.compile(), lambda t: [0.2 * t, t])
    ahead, behind = (strip(run, tmp_path / f"{z}.png", 2, view=view, points=[disc.at(0, -0.3, z)]) for z in (0.2, -0.2))
    ahead, behind = (near(matplotlib.image.imread(path), TRACES[0]) for path in (ahead, behind))
    assert ahead > behind + 50


def test_a_spring_is_seen_where_no_body_hides_it(tmp_path):
    found = []
    for side in (-1, 1):
        m = kp.Mechanism("disc")
        disc = m.cylinder("disc", length=0.1, radius=1.0, mass=1.0)
        m.universal("foot", m.ground.origin, disc.origin)
        m.spring("tie", m.ground.at(-0.3, 0, 0.2 * side), disc.at(0.3, 0, 0.2 * side), stiffness=1.0)
        image = matplotlib.image.imread(picture(m.compile().state(), tmp_path / "a.png", view=(0.0, 1.0)))
        found.append(near(image, SPRING))
    assert found[0] == 0
    assert found[1] > 50
