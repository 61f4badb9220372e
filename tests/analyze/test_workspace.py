"""Workspaces against circles, rings and rectangles; the surface of states against the topology of polygons."""

from itertools import combinations

import numpy as np
import pytest
from scipy.ndimage import label

from kempe.analyze.mesh import area
from kempe.errors import FileError, StateError
from kempe.gallery.loops import five_bar
from kempe.mechanism.mechanism import Mechanism
from tests.analyze.mechanisms import four_bar, three_rrr

DOWN = (0, -9.81, 0)
LEFT, RIGHT = (0.6, 1.1), (0.7, 0.8)
FEET = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0]])


def arm(first=0.5, second=0.3, **options) -> Mechanism:
    m = Mechanism("arm", gravity=DOWN)
    upper, lower = m.rod("upper", length=first, mass=1.0), m.rod("lower", length=second, mass=1.0)
    m.revolute("shoulder", m.ground.at(0, 0), upper.start, actuated=True, **options)
    m.revolute("elbow", upper.end, lower.start, actuated=True, **options)
    return m


def gantry(x=(-0.3, 0.5), y=(0.0, 0.2), axes=((1, 0, 0), (0, 1, 0))) -> Mechanism:
    m = Mechanism("gantry")
    one, two = m.box("one", (0.1, 0.1, 0.1), 1.0), m.box("two", (0.1, 0.1, 0.1), 1.0)
    m.prismatic("X", m.ground.at(0, 0), one.at(0, 0), axis=axes[0], actuated=True, limits=x)
    m.prismatic("Y", one.at(0, 0), two.at(0, 0), axis=axes[1], actuated=True, limits=y)
    return m


def pan_tilt() -> Mechanism:
    m = Mechanism("pan-tilt")
    column, beam = m.cylinder("column", 0.2, 0.05, 1.0), m.rod("beam", length=0.5, mass=1.0)
    m.revolute("pan", m.ground.at(0, 0), column.at(0, 0), actuated=True)
    m.revolute("tilt", column.at(0, 0), beam.start, axis=(0, 1, 0), actuated=True)
    return m


def table() -> Mechanism:
    """A plate on a universal joint, tilted by two struts."""
    m = Mechanism("table")
    plate = m.box("plate", (0.6, 0.6, 0.02), 3.0)
    plate.at(0, 0, 0.4, name="mast")
    m.universal("middle", m.ground.at(0, 0, 0.5), plate.at(0, 0))
    for k, side in enumerate(((1, 0, 0), (0, 1, 0))):
        barrel, rod = m.cylinder(f"barrel{k}", 0.3, 0.02, 1.0), m.cylinder(f"rod{k}", 0.3, 0.015, 0.5)
        m.universal(f"U{k}", m.ground.at(*0.4 * np.array(side)), barrel.at(0, 0, -0.15))
        m.prismatic(f"P{k}", barrel.at(0, 0, 0.1), rod.at(0, 0, -0.1), actuated=True, limits=(-0.1, 0.25))
        m.spherical(f"S{k}", rod.at(0, 0, 0.15), plate.at(*0.3 * np.array(side)))
    return m


def grid_area(inside, low, high, count=2000) -> float:
    """By counting the middles of squares."""
    x, y = (low + (np.arange(count) + 0.5) * (high - low) / count for _ in range(2))
    return float(np.mean(inside(*np.meshgrid(x, y)))) * (high - low) ** 2


def euler_number(lengths) -> int:
    """Of the states of a closed chain in the plane, one of whose bars rests, by counting sets of bars that are shorter
    than the others together (M. Farber and D. Schuetz, Homology of planar polygon spaces, 2007)."""
    n, longest = len(lengths), int(np.argmax(lengths))
    others = [x for k, x in enumerate(lengths) if k != longest]
    short = [sum(sum(c) + lengths[longest] < sum(lengths) / 2 for c in combinations(others, k)) for k in range(n)]
    return sum((-1) ** k * (short[k] + short[n - 3 - k]) for k in range(n - 2))


@pytest.fixture(scope="module")
def bar():
    return five_bar().compile()


@pytest.fixture(scope="module")
def start(bar):
    return bar.assemble({"left": 0.5, "right": 0.5})


@pytest.fixture(scope="module")
def space(bar, start):
    return bar.workspace("left lower.end", start)


def reaches(points) -> np.ndarray:
    """Distances from both feet (n, 2)."""
    return np.linalg.norm(points[:, None, :] - FEET, axis=2)


def cross(model, q) -> np.ndarray:
    """Of the two distal links, over their lengths."""
    one, two = (model.pose(name, q)[0][:, :, 0] for name in ("left lower", "right lower"))
    return one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]


# ---- five-bar --------------------------------------------------------------------------------------------


def test_the_tip_of_a_five_bar_fills_where_two_rings_meet(bar, space):
    near, far = np.array([0.5, 0.1]), np.array([1.7, 1.5])
    r = reaches(space.points)
    assert (r > near - 1e-9).all()
    assert (r < far + 1e-9).all()
    assert np.abs(bar.residual(space.q)).max() < 1e-13

    def inside(x, y):
        a, b = np.hypot(x, y), np.hypot(x - 1.2, y)
        return (a > 0.5) & (a < 1.7) & (b > 0.1) & (b < 1.5)

    assert space.area == pytest.approx(grid_area(inside, -2.0, 2.0), rel=2e-3)


def test_serial_curves_are_circles_of_stretched_and_folded_legs(space):
    """Left stretched, left folded, right stretched above and below, right folded with the left elbow up or down."""
    circles = np.array([[0.5, 1.7], [0.1, 1.5]])
    for curve in space.serial_curves:
        off = np.abs(reaches(curve.points)[:, :, None] - circles).reshape(-1, 4)
        assert off.min(axis=1).max() < 1e-9
        assert curve.closed
    assert len(space.serial_curves) == 6


def test_parallel_curves_have_the_distal_links_in_line(bar, space):
    """Stretched or folded they are couplers of four-bars of 1.9 or 0.3 m, of one branch each by Grashof's rule."""
    for curve in space.parallel_curves:
        assert np.abs(cross(bar, curve.q)).max() < 1e-9
        assert curve.closed
        assert bar.singularity(curve.q[5]).parallel.singular
    assert len(space.parallel_curves) == 2


@pytest.mark.parametrize(
    ("legs", "foot"),
    [((LEFT, RIGHT), 1.2), (((1.0, 1.0), (1.0, 1.0)), 1.0), (((0.3, 1.0), (0.5, 1.1)), 0.4)],
    ids=["gallery", "equal", "short"],
)
def test_the_states_of_a_five_bar_are_a_surface_of_the_right_genus(legs, foot):
    m = Mechanism("pentagon", gravity=DOWN)
    tips = []
    for name, at, (upper, lower) in (("left", 0.0, legs[0]), ("right", foot, legs[1])):
        first, second = m.rod(f"{name} upper", length=upper, mass=1.0), m.rod(f"{name} lower", length=lower, mass=1.0)
        m.revolute(name, m.ground.at(at, 0), first.start, actuated=True)
        m.revolute(f"{name} elbow", first.end, second.start)
        tips.append(second.end)
    m.revolute("tip", *tips)
    space = m.compile().workspace(tips[0], step=0.2)
    pairs = np.sort(space.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    edges, count = np.unique(pairs, axis=0, return_counts=True)
    assert (count == 2).all()  # no border, no hole
    assert len(space.q) - len(edges) + len(space.triangles) == euler_number((*legs[0], *legs[1][::-1], foot))


def test_measures_are_those_of_single_states(bar, space):
    for k in range(0, len(space.q), 4000):
        found = bar.singularity(space.q[k])
        assert space.parallel[k] == pytest.approx(found.parallel.value, abs=1e-12)
        assert space.constraint[k] == pytest.approx(found.constraint.value, abs=1e-12)


def test_without_losing_control_the_distal_links_never_come_in_line(bar, start, space):
    part = bar.workspace("left lower.end", start, mode="start")
    side = np.sign(cross(bar, start.q[None]))[0]
    assert (side * cross(bar, part.q) > -1e-9).all()
    assert part.area < space.area
    assert area(part.rest) == pytest.approx(part.area, rel=3e-3)  # the other side is the mirror image
    assert "without a parallel singular pose" in str(part)


def test_limits_of_a_passive_joint_bound_a_five_bar():
    m = Mechanism("five-bar", gravity=DOWN)
    tips = []
    for name, at, (upper, lower) in (("left", 0.0, LEFT), ("right", 1.2, RIGHT)):
        first, second = m.rod(f"{name} upper", length=upper, mass=1.0), m.rod(f"{name} lower", length=lower, mass=1.0)
        m.revolute(name, m.ground.at(at, 0), first.start, actuated=True)
        m.revolute(f"{name} elbow", first.end, second.start, limits=(0.5, 2.0) if name == "left" else None)
        tips.append(second.end)
    m.revolute("tip", *tips)
    model = m.compile()
    space = model.workspace(tips[0], {"left elbow": 1.0})
    elbow = space.q[:, model.slices("q")["left elbow"]][:, 0]
    assert elbow.min() == 0.5
    assert elbow.max() == 2.0
    far, near = (np.sqrt(0.6**2 + 1.1**2 + 2 * 0.6 * 1.1 * np.cos(x)) for x in (0.5, 2.0))

    def inside(x, y):
        a, b = np.hypot(x, y), np.hypot(x - 1.2, y)
        return (a > near) & (a < far) & (b > 0.1) & (b < 1.5)

    assert space.area == pytest.approx(grid_area(inside, -2.0, 2.0), rel=3e-3)
    assert {curve.kind for curve in space.curves} == {"parallel", "serial", "limit"}


# ---- open chains -----------------------------------------------------------------------------------------


def test_an_arm_fills_a_ring_between_two_circles():
    space = arm().compile().workspace("lower.end")
    assert space.area == pytest.approx(np.pi * (0.8**2 - 0.2**2), rel=2e-3)
    radii = sorted(np.linalg.norm(curve.points, axis=1).mean() for curve in space.serial_curves)
    assert radii == pytest.approx([0.2, 0.8], abs=1e-9)
    assert all(curve.closed for curve in space.serial_curves)
    assert not space.parallel_curves
    assert "every joint is actuated" in str(space)
    assert (space.parallel == 1).all()


def test_limits_of_both_joints_cut_a_sector():
    """With the elbow kept on one side, every place is reached once: the area is an integral over the joints."""
    space = arm(limits=(0.3, 1.4)).compile().workspace("lower.end")
    assert space.area == pytest.approx(1.1 * 0.5 * 0.3 * (np.cos(0.3) - np.cos(1.4)), rel=2e-3)
    assert not space.serial_curves


@pytest.mark.parametrize(("x", "y"), [((-0.3, 0.5), (0.0, 0.2)), ((0.0, 0.5), (-0.001, 0.001)), ((-2.0, 1.0), (0, 1))])
def test_two_slides_fill_a_rectangle_exactly(x, y):
    space = gantry(x, y).compile().workspace("two")
    assert space.area == pytest.approx((x[1] - x[0]) * (y[1] - y[0]), rel=1e-12)
    assert not space.serial_curves
    assert space.plane.min(axis=0) == pytest.approx([x[0], y[0]], abs=1e-15)
    assert space.plane.max(axis=0) == pytest.approx([x[1], y[1]], abs=1e-15)
    assert "nothing beyond" not in str(space)


def test_a_plane_may_stand_anywhere():
    upright = gantry(axes=((1, 0, 0), (0, 0, 1))).compile().workspace("two")
    assert upright.names == ("x", "z")
    tilted = gantry(axes=((1, 1, 0), (0, 0, 1))).compile().workspace("two")
    assert tilted.flat
    assert tilted.area == pytest.approx(0.8 * 0.2, rel=1e-12)
    skew = gantry(axes=((1, 2, 3), (-2, 1, 0))).compile().workspace("two")
    assert skew.area == pytest.approx(0.8 * 0.2, rel=1e-5)  # lines across are not along its sides
    with pytest.raises(StateError, match="two of x, y and z"):
        gantry().compile().workspace("two", plane="xw")


# ---- in space, and with something held -------------------------------------------------------------------


def test_a_beam_that_pans_and_tilts_is_seen_as_a_disc():
    model = pan_tilt().compile()
    space = model.workspace("beam.end")
    assert not space.flat
    assert np.linalg.norm(space.points, axis=1) == pytest.approx(0.5, abs=1e-12)
    assert space.area == pytest.approx(np.pi * 0.25, rel=2e-3)
    assert "leaves every plane" in str(space)
    above = model.workspace("beam.end", plane="xy")
    outline = [curve for curve in above.curves if curve.kind == "outline"]
    assert np.linalg.norm(outline[0].plane, axis=1).max() == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("cut", [None, ["middle", "U0"]], ids=["angles", "quaternions"])
def test_a_table_on_two_struts_loses_control_where_their_moments_fail(cut):
    """Struts push along their own lines: control is lost where their moments do not span the axes of the joint."""
    model = table().compile() if cut is None else table().compile(cut=cut)
    start = model.assemble({"P0": 0.07, "P1": 0.07})
    space = model.workspace("plate.mast", start, plane="xy")
    lengths, moments = struts(model.pose("plate", space.q)[0])
    assert lengths.min() == pytest.approx(0.4, abs=1e-12)
    assert lengths.max() == pytest.approx(0.75, abs=1e-12)
    failing = [struts(model.pose("plate", curve.q)[0])[1] for curve in space.parallel_curves]
    assert failing
    assert np.abs(np.concatenate(failing)).max() < 1e-9
    sides = np.sign(np.where(np.abs(moments) < 1e-9, 0, moments))[space.triangles]
    assert (sides.min(axis=1) * sides.max(axis=1) >= 0).all()  # no triangle lies on both sides
    # As much as the two angles of the joint have room.
    turned = tilts(model.pose("plate", space.q)[0])[space.triangles]
    one, two = ((turned[:, k] - turned[:, 0] + np.pi) % (2 * np.pi) - np.pi for k in (1, 2))
    room = 0.5 * np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]).sum()
    grid = np.linspace(-np.pi, np.pi, 1500, endpoint=False)
    first, second = (x.ravel() for x in np.meshgrid(grid, grid, indexing="ij"))
    open_ = ((np.abs(struts(plate(first, second))[0] - 0.575) < 0.175).all(axis=1)).reshape(1500, 1500)
    parts, _ = label(np.pad(open_, 1500, mode="wrap"))  # angles come back after a turn
    at = 1500 + np.round((tilts(model.pose("plate", start.q[None])[0])[0] + np.pi) / (grid[1] - grid[0])).astype(int)
    assert room == pytest.approx((parts == parts[tuple(at)]).sum() * (grid[1] - grid[0]) ** 2, rel=5e-3)


def plate(first, second) -> np.ndarray:
    """Rotations (n, 3, 3) about x, then about the new y."""
    zero, one = np.zeros_like(first), np.ones_like(first)
    about_x = np.array([[one, zero, zero], [zero, np.cos(first), -np.sin(first)], [zero, np.sin(first), np.cos(first)]])
    about_y = np.array(
        [[np.cos(second), zero, np.sin(second)], [zero, one, zero], [-np.sin(second), zero, np.cos(second)]]
    )
    return np.moveaxis(about_x, 2, 0) @ np.moveaxis(about_y, 2, 0)


def tilts(rotation) -> np.ndarray:
    """The angles (n, 2) of such rotations."""
    return np.stack(
        [np.arctan2(rotation[:, 2, 1], rotation[:, 1, 1]), np.arctan2(rotation[:, 0, 2], rotation[:, 0, 0])], axis=1
    )


def struts(rotation) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the two struts (n, 2), and the determinant of their moments about the two axes of the joint."""
    arms = 0.3 * rotation[:, :, :2].transpose(0, 2, 1)
    along = np.array([0, 0, 0.5]) + arms - 0.4 * np.eye(3)[:2]
    lengths = np.linalg.norm(along, axis=2)
    moments = np.cross(arms, along / lengths[..., None])
    axes = np.stack([np.broadcast_to([1.0, 0, 0], (len(rotation), 3)), rotation[:, :, 1]], axis=2)
    return lengths, np.linalg.det(moments @ axes)


LEGS = {"A1": 1.0, "A2": 2.5, "A3": 4.5, "B1": -1.5, "B2": -1.5, "B3": -1.5}


def test_a_platform_that_does_not_turn_fills_where_three_rings_meet():
    """3-RRR: each leg is a ring, moved by its corner of the platform; legs stretched or folded are its circles.

    Each inner circle lies within all rings, and is met with the other two elbows up or down: 12 curves. Each outer one
    is an arc, at whose ends the two other legs change over: one curve of its four ways, so 3 more.
    """
    model = three_rrr().compile()
    angle = 0.2
    space = model.workspace("platform", model.assemble(near=LEGS), hold={"platform": angle}, step=0.2)
    around = np.deg2rad([210.0, 330.0, 90.0])
    pivots = np.stack([np.cos(around), np.sin(around)], axis=1) / np.sqrt(3)
    corners = 0.4 / np.sqrt(3) * np.stack([np.cos(around + angle), np.sin(around + angle)], axis=1)
    centers = pivots - corners

    def inside(x, y):
        r = [np.hypot(x - a, y - b) for a, b in centers]
        return np.all([(each > 0.2) & (each < 1.0) for each in r], axis=0)

    assert space.area == pytest.approx(grid_area(inside, -1.0, 1.0), rel=5e-3)
    assert len(space.serial_curves) == 15
    for curve in space.serial_curves:
        r = np.linalg.norm(curve.plane[:, None] - centers, axis=2)
        assert np.abs(r[:, :, None] - [0.2, 1.0]).min(axis=(1, 2)).max() < 1e-9
    for curve in space.parallel_curves:
        assert lines_meet(model, curve.q) < 1e-8


def lines_meet(model, q) -> float:
    """How far the three lower legs are from meeting in a point (or being parallel): the determinant of their lines."""
    rows = []
    for k in (1, 2, 3):
        rotation, place = model.pose(f"lower{k}", q)
        u, p = rotation[:, :2, 0], place[:, :2]
        rows.append(np.stack([u[:, 0], u[:, 1], p[:, 0] * u[:, 1] - p[:, 1] * u[:, 0]], axis=1))
    return float(np.abs(np.linalg.det(np.stack(rows, axis=1))).max())


def test_a_joint_that_is_held_leaves_two_freedoms():
    """3-RRR with one motor locked: that elbow rests, and its corner of the platform stays on a circle around it."""
    model = three_rrr().compile()
    start = model.assemble(near=LEGS)
    space = model.workspace("platform", start, hold={"A3": None}, step=0.3)
    corner = 0.4 / np.sqrt(3) * np.array([0, 1.0, 0])
    elbow = model.pose("lower3", start.q)[1]
    rotation, place = model.pose("platform", space.q)
    assert np.linalg.norm(place + rotation @ corner - elbow, axis=1) == pytest.approx(0.6, abs=1e-12)
    assert model.pose("lower3", space.q)[1] == pytest.approx(np.broadcast_to(elbow, (len(space.q), 3)), abs=1e-12)
    for curve in space.parallel_curves:
        assert lines_meet(model, curve.q) < 1e-8


# ---- words -----------------------------------------------------------------------------------------------


def test_what_it_says_of_itself(space):
    text = str(space)
    assert f"{len(space.q)} states" in repr(space)
    assert "x -0.233 to 1.7 m" in text.replace("0.2333", "0.233")
    assert "m^2" in text
    assert "2 parallel singular (type II), 6 serial singular (type I)" in text
    with pytest.raises(ValueError, match="read-only"):
        space.q[0] = 0


def test_a_pose_that_gains_a_freedom_is_told():
    m = Mechanism("flat", gravity=DOWN)
    tips = []
    for name, at in (("left", 0.0), ("right", 2.0)):
        first, second = m.rod(f"{name} upper", length=1.0, mass=1.0), m.rod(f"{name} lower", length=1.0, mass=1.0)
        m.revolute(name, m.ground.at(at, 0), first.start, actuated=True)
        m.revolute(f"{name} elbow", first.end, second.start)
        tips.append(second.end)
    m.revolute("tip", *tips)
    model = m.compile()
    start = model.assemble({"left": 1.5, "right": 1.5}, near={"tip": np.pi})
    space = model.workspace(tips[0], start, step=0.2)
    assert "it gains a freedom" in str(space)
    assert space.area == pytest.approx(8 * np.arccos(0.5) - np.sqrt(12), rel=0.01)
    stretched = model.state({"left": 0.0, "left elbow": 0.0, "right": 0.0, "right elbow": np.pi})
    with pytest.raises(StateError, match="3 freedoms at this start, one more than elsewhere"):
        model.workspace(tips[0], stretched)


def test_gaps_are_told(bar, start):
    """A step as long as the links are is too long to follow how they bend."""
    assert "triangles have nothing beyond" in str(bar.workspace("left lower.end", start, step=0.8))


def test_too_few_actuators_are_told():
    m = five_bar()
    object.__setattr__(next(j for j in m.joints if j.name == "right"), "actuated", (False,))
    space = m.compile().workspace("left lower.end", {"left": 0.5, "right": 0.5}, step=0.3)
    assert space.parallel is None
    assert not space.parallel_curves
    assert "2 freedoms to control, actuated: left" in str(space)


@pytest.mark.parametrize(
    ("build", "point", "options", "words"),
    [
        (four_bar, "coupler", {}, "has 1 freedom here"),
        (three_rrr, "platform", {}, "hold=.'A3': None. keeps them"),
        (five_bar, "left upper.end", {}, "moves along a line only"),
        (five_bar, "nothing", {}, "there is no body 'nothing'"),
        (five_bar, "left lower", {"step": -1.0}, "step is -1"),
        (five_bar, "left lower", {"mode": "some"}, "mode is 'all' or 'start'"),
        (five_bar, "left lower", {"hold": {"knee": 1.0}}, "'knee' is no joint, body or place"),
        (five_bar, "left lower", {"hold": ["left"]}, "hold is .*; give a dict"),
        (five_bar, "left lower", {"most": 100}, "more than 100 states"),
        (lambda: gantry(x=None), "two", {"most": 2000}, "X may slide without end"),
        (lambda: gantry(), "two", {"start": {"X": 0.7}}, "beyond limits: X = 0.7"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(build, point, options, words):
    with pytest.raises(StateError, match=words):
        build().compile().workspace(point, **options)


# ---- the picture -----------------------------------------------------------------------------------------


def test_the_picture_has_units_equal_scales_and_a_legend_of_curves(space, tmp_path):
    figure = space.plot(tmp_path / "space.png")
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "y [m]")
    assert axes.get_aspect() == 1
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["type II: control is lost", "type I: a direction is lost", "start"]
    assert len(axes.get_lines()) == len(space.curves) + 1
    assert (tmp_path / "space.png").stat().st_size > 10_000
    with pytest.raises(FileError, match="the ending of a picture file must be one of"):
        space.plot(tmp_path / "space.doc")


def test_what_is_out_of_control_is_drawn_pale(bar, start):
    figure = bar.workspace("left lower.end", start, mode="start", step=0.3).plot()
    assert "beyond a type II curve" in [text.get_text() for text in figure.legends[0].get_texts()]
