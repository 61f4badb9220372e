"""Scenes: bodies where the model has them, something to see of every solid and joint, planes found."""

import numpy as np
import pytest

import kempe as kp
from kempe.errors import StateError, ViewError
from kempe.mechanism.joints import KINDS
from kempe.view.hulls import hull_of
from kempe.view.links import link_shapes
from kempe.view.poses import poses
from kempe.view.scene import scene
from kempe.view.shapes import equivalent_ellipsoid, nearest, triangles
from tests.mechanisms import arm, random_joint, random_tree
from tests.view.runs import WEDGE, double_pendulum, swinging, tumbling

SOLIDS = {
    "rod": kp.Rod(0.4, 1.0),
    "thick rod": kp.Rod(0.4, 1.0, 0.05),
    "box": kp.Box((0.1, 0.2, 0.3), 1.0),
    "cylinder": kp.Cylinder(0.4, 0.1, 1.0),
    "sphere": kp.Sphere(0.1, 1.0),
    "ellipsoid": kp.Ellipsoid((0.1, 0.2, 0.3), 1.0),
    "mesh": WEDGE,
    "plate": kp.Plate(((0, 0), (0.3, 0), (0, 0.2)), 1.0),
    "lump": kp.Lump(1.0, (0.1, 0.2, 0.3), (0.01, 0.02, 0.015, 0.0, 0.0, 0.001)),
    "lump without size": kp.Lump(1.0),
    "point": kp.PointMass(1.0),
    "hub": kp.Hub(0.1, (0, 1, 0)),
}


@pytest.mark.parametrize("seed", range(8))
def test_bodies_are_where_the_model_has_them(seed):
    model = random_tree(seed, 7).compile()
    q = np.array([model.random_state(k).q for k in range(4)])
    rotation, position = poses(model, q)
    for k, body in enumerate(model.mechanism.bodies, start=1):
        r, p = model.pose(body, q)
        np.testing.assert_allclose(rotation[:, k], r, atol=1e-12)
        np.testing.assert_allclose(position[:, k], p, atol=1e-12)


@pytest.mark.parametrize("name", SOLIDS)
def test_every_solid_is_seen_where_it_is(name):
    m = kp.Mechanism("one")
    body = m.solid("body")
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    body.add("part", SOLIDS[name], at=(0.3, 0.2, 0.1), rotation=turn)
    body.add("rest", kp.Sphere(0.02, 1.0))
    m.free("free", m.ground.origin, body.origin)
    model = m.compile()
    own = [s for s in scene(model, model.neutral()).shapes if s.name == "body" and s.role == "solid"][:-1]
    assert own
    corners = np.concatenate([shape.corners() for shape in own])
    com = np.array(body.parts[0].inertia("body", model.mechanism.parameters.__getitem__).moment)
    if name not in ("hub", "mesh"):  # the centre of mass is inside the drawing; these have none
        assert (corners.min(axis=0) - 1e-9 <= com).all()
        assert (com <= corners.max(axis=0) + 1e-9).all()


def test_the_ellipsoid_of_a_lump_has_its_inertia():
    lump = SOLIDS["lump"]
    axes, diameters = equivalent_ellipsoid(lump)
    a, b, c = (diameters / 2) ** 2
    tensor = axes @ np.diag([b + c, a + c, a + b]) @ axes.T * lump.mass / 5
    xx, yy, zz, xy, xz, yz = lump.tensor
    np.testing.assert_allclose(tensor, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_is_seen_and_driven_ones_stand_out(kind):
    rng = np.random.default_rng(0)
    m = kp.Mechanism("pair")
    body = m.body("body", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    random_joint(m, rng, "joint", kind, m.ground.at(0, 0, 0.2), body.at(0.3, 0, 0), passive=False)
    anchor = m.body("anchor", 1.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("other", m.ground.origin, anchor.origin)
    model = m.compile()
    seen = scene(model, model.random_state(1).q)
    own = {shape.color for shape in seen.shapes if shape.name == "joint"}
    other = {shape.color for shape in seen.shapes if shape.name == "other"}
    assert bool(own) == (kind != "free")
    assert not own & other or kind == "fixed" or own - other
    assert len([a for a in seen.arrows if a.column is not None]) == model.nu


def jack(**options):
    m = kp.Mechanism("jack", gravity=(0, -9.81, 0))
    arm = m.rod("arm", length=2.0, mass=10.0)
    m.revolute("hinge", m.ground.at(0, 0), arm.start)
    made = m.strut("jack", m.ground.at(1.0, -1.0), arm.at(1.2), stroke=(0.8, 1.5), axis=(0, 0, 1), **options)
    return made, m.compile()


def test_a_strut_is_no_longer_than_it_is():
    """Nothing of its slider is outside of barrel and rod along it, at any length of a run."""
    made, model = jack()
    lengths = (1.45, 0.9)
    q = np.array([model.assemble({"jack": length}).q for length in lengths])
    seen = scene(model, q)
    shapes = [shape for shape in seen.shapes if shape.name == "jack"]
    assert shapes
    bodies = {body.name: k for k, body in enumerate((model.mechanism.ground, *model.mechanism.bodies))}
    barrel = bodies[made.barrel.name]
    for k, length in enumerate(lengths):
        for shape in shapes:
            world = shape.corners() @ seen.rotation[k, shape.body].T + seen.position[k, shape.body]
            along = (world - seen.position[k, barrel]) @ seen.rotation[k, barrel, :, 2]
            assert along.min() > 0
            assert along.max() < length


@pytest.mark.parametrize("order", [1, -1])
def test_a_rod_that_leaves_its_barrel_slides_on_a_rail(order):
    """While a part of it is inside, a collar at the barrel's mouth stands for the slider; else there is a rail."""
    m = kp.Mechanism("m")
    barrel, rod = m.cylinder("barrel", 1.0, 0.1, 1.0), m.cylinder("rod", 1.0, 0.05, 1.0)
    m.revolute("hinge", m.ground.origin, barrel.origin, axis=(1, 0, 0))
    m.prismatic("slide", *(barrel.origin, rod.origin)[::order])
    model = m.compile()
    inside, outside = (
        [s for s in scene(model, np.array([[0, 0], [0, order * x]])).shapes if s.name == "slide"] for x in (0.9, 1.1)
    )
    (collar,) = inside
    assert model.mechanism.bodies[collar.body - 1].name == "barrel"
    np.testing.assert_allclose(collar.position, [0, 0, 0.5], atol=1e-12)
    assert 0.1 < collar.scale[0] / 2 < 0.15
    assert len(outside) == 2


def test_a_rail_is_as_long_as_a_slider_goes_also_in_a_joint_that_closes_a_loop():
    for chord in (None, "slide"):
        m = kp.Mechanism("slider-crank")
        crank, rod, piston = m.rod("crank", 0.3, 1.0), m.rod("rod", 0.6, 1.0), m.box("piston", (0.1, 0.1, 0.1), 1.0)
        m.revolute("hinge", m.ground.origin, crank.start)
        m.revolute("big end", crank.end, rod.start)
        m.revolute("small end", rod.end, piston.origin)
        m.prismatic("slide", m.ground.origin, piston.origin, axis=(1, 0, 0))
        model = m.compile(cut=[chord] if chord else [])
        rows = [model.assemble({"hinge": angle}, near={"slide": 0.8}).q for angle in (0.0, 1.5)]
        low, high = (0.3 * np.cos(a) + np.sqrt(0.36 - 0.09 * np.sin(a) ** 2) for a in (1.5, 0.0))
        (rail,) = (s for s in scene(model, np.array(rows)).shapes if s.name == "slide" and s.mesh == "cylinder")
        ends = rail.corners()[:, 0]
        assert ends.min() < low
        assert high < ends.max() < high + 0.2


def test_effort_arrows_do_the_work_of_the_effort():
    """The rate of a body along its arrow, or about it, is the rate of the joint, where one joint alone moves."""
    for seed in range(6):
        model = random_tree(seed, 1, reverse=False).compile()
        q = model.random_state(seed).q
        seen = scene(model, q)
        for arrow in seen.arrows:
            v = np.zeros(model.nv)
            v[arrow.column] = 1.0
            body = model.mechanism.bodies[0]
            twist = model.twist(body.at(*arrow.point.at), q, v)
            direction = seen.rotation[0, arrow.carrier] @ arrow.vector
            part = twist[:3] if arrow.unit == "N·m" else twist[3:]
            assert direction @ part == pytest.approx(1.0)


X, Y, Z = np.eye(3)
PLANES = {  # hinge axis, gravity -> right, up on the screen
    "x-y": (Z, -Y, X, Y),
    "x-z": (Y, -Z, X, Z),
    "y-z": (X, -Z, Y, Z),
    "upside down": (Z, Y, X, -Y),
    "level, from above": (Z, -Z, X, Y),
    "level, gravity up": (Z, Z, X, -Y),
    "no gravity": (Z, 0 * Z, X, Y),
}


@pytest.mark.filterwarnings("ignore:gravity")  # along all hinges it does nothing, and compile says so
@pytest.mark.parametrize("name", PLANES)
def test_planes_are_found_and_gravity_points_down_the_screen(name):
    axis, gravity, right, up = PLANES[name]
    m = kp.Mechanism("m", gravity=9.81 * gravity)
    a, b = (m.body(n, 1.0, com=0.1 * np.cross(axis, [0.6, 0.5, 0.7]), inertia=(0.01,) * 3) for n in "ab")
    m.revolute("A", m.ground.origin, a.origin, axis=axis)
    m.revolute("B", a.at(*np.cross(axis, [0.6, 0.5, 0.7])), b.origin, axis=-axis)
    model = m.compile()
    look = scene(model, model.state({"A": 0.5}).q).look
    assert look.flat
    np.testing.assert_allclose(look.right, right, atol=1e-12)
    np.testing.assert_allclose(look.up, up, atol=1e-12)
    np.testing.assert_allclose(np.cross(look.right, look.up), look.front, atol=1e-12)


def test_planes_turn_with_markers_and_sliders_lie_in_them():
    m = kp.Mechanism("m")
    cart, pole = m.box("cart", (0.2, 0.1, 0.1), 1.0), m.rod("pole", 0.5, 1.0)
    m.prismatic("track", m.ground.origin, cart.origin, axis=(1, 0, 0))
    tilted = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # its z along y
    m.revolute("pivot", cart.at(0, 0, 0, rotation=tilted), pole.start)
    model = m.compile()
    assert scene(model, model.neutral()).look.flat
    np.testing.assert_allclose(np.abs(scene(model, model.neutral()).planar), [0, 1, 0], atol=1e-12)


def test_what_moves_in_space_is_not_flat():
    for m in (arm(3), tumbling().model.mechanism, random_tree(1, 5)):
        model = m.compile()
        look = scene(model, model.random_state(0).q).look
        assert not look.flat
        np.testing.assert_allclose(look.up, -np.array(m.gravity) / np.linalg.norm(m.gravity))
    shaft = kp.Mechanism("shaft", gravity=(0, -9.81, 0))
    rotor = shaft.cylinder("rotor", 2.0, 0.1, 5.0)
    shaft.revolute("bearing", shaft.ground.origin, rotor.origin)
    model = shaft.compile()
    assert not scene(model, model.neutral()).look.flat


def test_links_join_a_lump_to_its_joints():
    m = kp.Mechanism("m")
    body = m.body("body", 1.0, com=(0.5, 0.2, 0), inertia=(0.001,) * 3)
    ends = [np.array([0.0, 0, 0]), np.array([1.0, 0, 0])]
    shapes = link_shapes(body, 1, ends, m.parameters.__getitem__, 0.01, "#000000")
    bars = [shape for shape in shapes if shape.mesh == "cylinder"]
    assert len(bars) == 2
    rod = m.rod("rod", 1.0, 1.0)
    assert not link_shapes(rod, 1, ends, m.parameters.__getitem__, 0.01, "#000000")


def test_the_nearest_point_of_a_solid_is_in_it_and_is_itself_for_points_inside():
    rng = np.random.default_rng(1)
    for solid in SOLIDS.values():
        for point in rng.normal(size=(20, 3)) * 0.3:
            foot = nearest(solid, point)
            np.testing.assert_allclose(nearest(solid, foot), foot, atol=1e-12)


def test_a_mesh_is_drawn_as_a_hull_of_few_corners(tmp_path):
    """Of a ball of many corners: 64 at most, all of them corners of the mesh, and nearly its volume."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(3000, 3))
    points *= [0.5, 0.1, 0.2] / np.linalg.norm(points, axis=1, keepdims=True)
    lines = [f"v {x} {y} {z}" for x, y, z in points.tolist()] + [f"f {k} {k + 1} {k + 2}" for k in range(1, 2998)]
    (tmp_path / "ball.obj").write_text("\n".join(lines))
    found = hull_of(kp.MeshFile(str(tmp_path / "ball.obj"), (2.0, 1.0, -1.0)))
    assert len(found.corners) <= 64
    assert np.linalg.norm(found.corners[:, None] - points * [2, 1, -1], axis=2).min(axis=1).max() < 1e-12
    volume, centre, _ = found.contents()
    assert 0.85 < volume / (4 / 3 * np.pi * 1.0 * 0.1 * 0.2) < 1
    assert np.abs(centre).max() < 0.02
    for point in rng.normal(size=(50, 3)):  # the nearest point of the hull sees all corners behind it
        foot = nearest(kp.MeshFile(str(tmp_path / "ball.obj"), (2.0, 1.0, -1.0)), point)
        assert ((found.corners - foot) @ (point - foot)).max() < 0.05


def test_a_mesh_that_cannot_be_read_is_told_and_its_body_seen_all_the_same(tmp_path):
    m = kp.Mechanism("m")
    bodies = [m.body(name, 1.0, inertia=(0.01, 0.01, 0.01)) for name in ("lost", "found")]
    bodies[0].add("look", kp.MeshFile(str(tmp_path / "lost.stl")))
    bodies[1].add("look", WEDGE)
    for body in bodies:
        m.free(f"{body.name} floats", m.ground.origin, body.origin)
    model = m.compile()
    with pytest.warns(UserWarning, match=r"lost\.stl: no such file; this mesh is not drawn"):
        shapes = [s for s in scene(model, model.neutral()).shapes if s.role == "solid"]
    assert [(s.name, s.mesh) for s in shapes] == [("lost", "sphere"), ("found", "hull")]


def test_triangles_cover_an_outline_that_is_not_convex():
    outline = np.array([(0, 0), (0.6, 0), (0.6, 0.2), (0.3, 0.2), (0.3, 0.5), (0, 0.5)])
    for way in (outline, outline[::-1]):
        areas = []
        for a, b, c in triangles(way):
            (x, y), (u, v) = way[b] - way[a], way[c] - way[a]
            areas.append((x * v - y * u) / 2)
        assert min(areas) > 0
        assert sum(areas) == pytest.approx(0.21)


def test_traces_go_by_marker_body_or_name():
    run = swinging()
    lower = run.model.mechanism.bodies[1]
    seen = scene(run.model, run.q, (lower.end, lower, "lower.end", "upper"))
    expected = run.model.pose(lower.end, run.q)[1]
    for k in (0, 2):
        np.testing.assert_allclose(seen.traces[k].along(seen.rotation, seen.position), expected, atol=1e-12)
    with pytest.raises(ViewError, match=r"no point 'lower\.tip'"):
        scene(run.model, run.q, ("lower.tip",))


def test_wrong_coordinates_are_told():
    model = double_pendulum().compile()
    with pytest.raises(StateError, match="rows of 2 finite coordinates"):
        scene(model, np.zeros(3))
    with pytest.raises(StateError, match="finite"):
        scene(model, np.array([np.nan, 0]))
