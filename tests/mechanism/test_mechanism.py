"""Bodies, markers, joints and loads as a user writes them; solids against numerical integration."""

import numpy as np
import pytest

from kempe.errors import MechanismError
from kempe.mechanism.bodies import Box, Cylinder, Hub, Lump, Plate, PointMass, Rod, Solid, Sphere
from kempe.mechanism.mechanism import Mechanism
from kempe.mechanism.solids import Ellipsoid

rng = np.random.default_rng(0)


def sampled(points: np.ndarray, mass: float):
    """Mass, first moment and tensor at the origin of equal masses at points."""
    tensor = sum(p @ p * np.eye(3) - np.outer(p, p) for p in points) * mass / len(points)
    return mass, mass * points.mean(axis=0), tensor


def grid(n, *ranges):
    axes = [low + (high - low) * (np.arange(n) + 0.5) / n for low, high in ranges]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(ranges))


cube = grid(40, (-1, 1), (-1, 1), (-1, 1))
disk = cube[np.hypot(cube[:, 0], cube[:, 1]) <= 1]
L_SHAPE = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3))
flat = grid(120, (0, 2), (0, 3))
CASES = {
    "thin rod": (Rod(2.0, 3.0), np.column_stack([grid(4000, (0, 2)), np.zeros((4000, 2))])),
    "thick rod": (Rod(2.0, 3.0, 0.4), (disk * [0.4, 0.4, 1])[:, [2, 0, 1]] + [1, 0, 0]),
    "box": (Box((0.4, 0.6, 1.0), 2.0), cube * [0.2, 0.3, 0.5]),
    "cylinder": (Cylinder(1.2, 0.3, 2.0), disk * [0.3, 0.3, 0.6]),
    "ball": (Sphere(0.5, 2.0), 0.5 * cube[np.linalg.norm(cube, axis=1) <= 1]),
    "ellipsoid": (Ellipsoid((0.4, 0.6, 1.0), 2.0), cube[np.linalg.norm(cube, axis=1) <= 1] * [0.2, 0.3, 0.5]),
    "plate": (
        Plate(L_SHAPE, 2.0),
        np.column_stack([flat[(flat[:, 0] < 1) | (flat[:, 1] < 1)], np.zeros(int(14400 * 4 / 6))]),
    ),
    "point": (PointMass(1.5), np.zeros((1, 3))),
}


@pytest.mark.parametrize("name", CASES)
def test_solids_are_the_sums_of_their_points(name):
    solid, points = CASES[name]
    inertia = solid.inertia(solid.parameters().__getitem__)
    mass, moment, tensor = sampled(points, solid.mass)
    assert inertia.mass == mass
    np.testing.assert_allclose(inertia.moment, moment, atol=3e-3)
    np.testing.assert_allclose(inertia.tensor, tensor, atol=1.2e-2)


def test_a_plate_may_go_round_either_way():
    there, back = (Plate(outline, 2.0, 0.1) for outline in (L_SHAPE, L_SHAPE[::-1]))
    a, b = (p.inertia(p.parameters().__getitem__) for p in (there, back))
    np.testing.assert_allclose(a.tensor, b.tensor, atol=1e-14)


def test_every_solid_says_its_inertia():
    with pytest.raises(TypeError, match="has no inertia"):
        Solid().inertia(lambda name: 0.0)


def test_hubs_have_inertia_about_their_axis_only():
    inertia = Hub(0.3, (0, 3, 4)).inertia({"moment": 0.3}.__getitem__)
    n = np.array([0, 0.6, 0.8])
    np.testing.assert_allclose(inertia.tensor, 0.3 * np.outer(n, n))
    assert inertia.mass == 0


def test_several_solids_and_point_masses_on_one_body():
    m = Mechanism("m")
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    body = m.box("body", (0.4, 0.6, 1.0), 2.0).add("arm", Rod(2.0, 3.0), at=(0.1, 0.2, 0.3), rotation=turn)
    body.point_mass("tip", 0.5, (1, 2, 3))
    assert {"body.mass", "body.arm.length", "body.tip.mass"} <= set(m.parameters)
    rod = CASES["thin rod"][1] @ turn.T + [0.1, 0.2, 0.3]
    parts = [sampled(CASES["box"][1], 2.0), sampled(rod, 3.0), sampled(np.array([[1.0, 2, 3]]), 0.5)]
    inertia = body.inertia(m.parameters.__getitem__)
    assert inertia.mass == 5.5
    np.testing.assert_allclose(inertia.moment, sum(p[1] for p in parts), atol=1e-6)
    np.testing.assert_allclose(inertia.tensor, sum(p[2] for p in parts), atol=1e-3)


def test_inertia_is_given_about_the_centre_of_mass():
    inertia = Lump(2.0, (1, 0, 0), (0.1, 0.2, 0.3, 0.01, 0.02, 0.03)).inertia(
        Lump(2.0, (1, 0, 0), (0.1, 0.2, 0.3, 0.01, 0.02, 0.03)).parameters().__getitem__
    )
    expected = [[0.1, 0.01, 0.02], [0.01, 2.2, 0.03], [0.02, 0.03, 2.3]]
    np.testing.assert_allclose(inertia.tensor, expected)


def test_markers():
    m = Mechanism("m")
    rod = m.rod("rod", 2.0, 1.0)
    value = m.parameters.__getitem__
    assert rod.end.origin(value).tolist() == [2, 0, 0]
    assert str(rod.end) == "rod.end"
    assert rod.at(1, 2).origin(value).tolist() == [1, 2, 0]
    hook = rod.at(0.5, 0, 0, name="hook")
    assert rod.hook is hook
    assert rod.at("rod.length", 0).origin({"rod.length": 5.0}.__getitem__).tolist() == [5, 0, 0]
    with pytest.raises(AttributeError, match=r"no marker 'tip' \(it has origin, start, end, hook\)"):
        rod.tip  # noqa: B018


class TestMistakesLeaveNothingBehind:
    def make(self):
        m = Mechanism("m")
        return m, m.rod("rod", 1.0, 1.0)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda m, r: m.revolute("A", m.ground.at(), r), "give a marker, such as crank.end"),
            (
                lambda m, r: m.revolute("A", m.ground.at(), r.start, axis=(0, 1)),
                "axis of joint 'A': give 3 numbers, not 2",
            ),
            (lambda m, r: m.revolute("A", m.ground.at(), r.start, limits=(1,)), "give \\(low, high\\)"),
            (
                lambda m, r: m.cylindrical("A", m.ground.at(), r.start, actuated=["spin"]),
                "no freedom 'spin' to actuate",
            ),
            (lambda m, r: m.cylindrical("A", m.ground.at(), r.start, damping=(1, 2, 3)), "give 2 numbers, not 3"),
            (
                lambda m, r: m.cylindrical("A", m.ground.at(), r.start, damping={"spin": 1}),
                "there is no freedom 'spin'",
            ),
            (lambda m, r: m.joint("hinge", "A", m.ground.at(), r.start), "no kind 'hinge'"),
            (lambda m, r: m.universal("A", m.ground.at(), r.start, axes=((1, 0, 0),)), "it takes 2 axes, not 1"),
            (lambda m, r: m.body("b", 1.0, inertia=(1, 2)), "three principal values or a 3 x 3 matrix"),
            (lambda m, r: m.body("b", 1.0, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
            (lambda m, r: m.plate("b", [(0, 0), (1, 0)], 1.0), "at least three corners"),
            (lambda m, r: m.box("b", (1, "x", 2), 1.0), "give 3 numbers"),
            (lambda m, r: m.wrench("w", r.start, force=(1, 2)), "give 3 numbers"),
        ],
    )
    def test_each(self, call, message):
        m, rod = self.make()
        with pytest.raises(MechanismError, match=message):
            call(m, rod)
        assert (len(m.bodies), len(m.joints), len(m.loads)) == (1, 0, 0)

    def test_markers(self):
        _, rod = self.make()
        with pytest.raises(ValueError, match="3 x 3 matrix"):
            rod.at(rotation=np.eye(2))
        assert set(rod.markers) == {"origin", "start", "end"}


class TestDenavitHartenberg:
    """Paper 4's links: eq. 17a integrated numerically, eqs. 9 and 11c."""

    def test_bent_rods(self):
        a, b, mass = 0.4, 0.3, 2.1
        arm = Mechanism.from_dh("arm", a=[a], b=[b], alpha=[0.5], mass=[mass], hub=[0.7], payload=[0.2])
        inertia = arm.bodies[0].inertia(arm.parameters.__getitem__)
        n = 4000
        along_z = np.column_stack([np.zeros((n, 2)), grid(n, (0, b))])
        along_x = np.column_stack([grid(n, (0, a)), np.zeros(n), np.full(n, b)])
        parts = [
            sampled(along_z, mass * b / (a + b)),
            sampled(along_x, mass * a / (a + b)),
            sampled(np.array([[a, 0, b]]), 0.2),
        ]
        assert inertia.mass == pytest.approx(mass + 0.2)
        np.testing.assert_allclose(inertia.moment, sum(p[1] for p in parts), atol=1e-9)
        np.testing.assert_allclose(inertia.tensor, sum(p[2] for p in parts) + np.diag([0, 0, 0.7]), atol=1e-7)

    def test_the_misprint_in_c5(self):
        """The mixed term of the tensor is rho a^2 b / 2, not rho a^2 b as printed."""
        a, b, rho = 0.4, 0.3, 3.0
        arm = Mechanism.from_dh("arm", a=[a], b=[b], alpha=[0], mass=[rho * (a + b)])
        tensor = arm.bodies[0].inertia(arm.parameters.__getitem__).tensor
        assert tensor[0, 2] == pytest.approx(-rho * a**2 * b / 2)

    def test_kinematics_are_products_of_dh_matrices(self):
        rows = 3
        a, b, alpha, theta = rng.uniform(0.2, 1, (4, rows))
        arm = Mechanism.from_dh(
            "arm", a=a, b=b, alpha=alpha, mass=[1] * rows, kind=["revolute", "prismatic", "revolute"], theta=theta
        )
        model = arm.compile()
        q = rng.normal(size=rows)
        total = np.eye(4)
        for k in range(rows):
            turn, slide = (theta[k], b[k] + q[k]) if k == 1 else (theta[k] + q[k], b[k])
            c, s, ca, sa = np.cos(turn), np.sin(turn), np.cos(alpha[k]), np.sin(alpha[k])
            total = total @ [
                [c, -s * ca, s * sa, a[k] * c],
                [s, c * ca, -c * sa, a[k] * s],
                [0, sa, ca, slide],
                [0, 0, 0, 1],
            ]
        rotation, position = model.pose(arm.bodies[-1].end, q)
        np.testing.assert_allclose(rotation, total[:3, :3], atol=1e-12)
        np.testing.assert_allclose(position, total[:3, 3], atol=1e-12)

    def test_a_sliding_link_moves_as_one(self):
        """Eq. 11a of the paper lets the riser stand still; a link that slides as one has energy m v^2 / 2."""
        arm = Mechanism.from_dh("slide", a=[0.4], b=[0.3], alpha=[0.2], mass=[2.0], payload=[0.5], kind=["prismatic"])
        assert arm.compile().energy([0.7], [3.0])[0] == pytest.approx(2.5 * 9 / 2)

    def test_one_number_for_all_links_and_letters_for_kinds(self):
        one = Mechanism.from_dh("arm", a=[1, 1], b=0.1, alpha=0.2, mass=2.0, kind="RP")
        two = Mechanism.from_dh(
            "arm", a=[1, 1], b=[0.1] * 2, alpha=[0.2] * 2, mass=[2.0] * 2, kind=["revolute", "prismatic"]
        )
        assert one.parameters == two.parameters
        assert [j.type for j in one.joints] == [j.type for j in two.joints]

    def test_all_joints_are_actuated_and_named(self):
        table = {"a": [1, 1], "b": [0, 0], "alpha": [0, 0], "mass": [1, 1]}
        model = Mechanism.from_dh("arm", **table, gravity=(0, -9.81, 0)).compile()
        assert model.u_names == ("joint1", "joint2")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"b": [1]}, "b has 1 entries, a has 2"),
            ({"kind": ["revolute", "ball"]}, "joint 2 is 'ball'"),
            ({"mass": [1, "x"]}, "link 2 has a non-numeric entry"),
        ],
    )
    def test_mistakes(self, change, message):
        table = {"a": [1, 1], "b": [0, 0], "alpha": [0, 0], "mass": [1, 1]} | change
        with pytest.raises(MechanismError, match=message):
            Mechanism.from_dh("arm", **table)


def test_shown_in_words():
    m = Mechanism("m")
    rod = m.rod("rod", 1.0, 1.0)
    joint = m.revolute("A", m.ground.at(1, 2), rod.start)
    assert repr(m) == "Mechanism('m': 1 bodies, 1 joints, 0 loads)"
    assert str(joint) == "revolute A (ground.at(1, 2, 0) - rod.start)"
    assert repr(rod) == "Body('rod')"
