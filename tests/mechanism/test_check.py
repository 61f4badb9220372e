"""Everything wrong with a mechanism, found at once."""

import math

import numpy as np
import pytest

from kempe.dynamics.equations import Equations
from kempe.dynamics.partition import Partition
from kempe.dynamics.trees import Udu
from kempe.errors import MechanismError
from kempe.mechanism.bodies import Hub, Lump, Part, PointMass
from kempe.mechanism.given import tensor_entries
from kempe.mechanism.mechanism import Mechanism
from kempe.topology.spanning import topology
from tests.direct import Direct
from tests.dynamics.test_counts import puma
from tests.mechanisms import random_tree


def pendulum(**options) -> Mechanism:
    m = Mechanism("pendulum", gravity=options.pop("gravity", (0, -9.81, 0)))
    rod = m.rod("rod", 1.0, 1.0)
    m.revolute("A", m.ground.at(), rod.start, **options)
    return m


def said(m, level="error"):
    return [str(f) for f in m.check().all if f.level == level]


def test_a_sound_mechanism():
    findings = pendulum().check()
    assert findings
    assert str(findings) == "pendulum: no errors or warnings"


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_are_sound(seed):
    assert not random_tree(seed, 8).check().all


def test_everything_at_once():
    m = pendulum(axis=(0, 0, 0), limits=(2, 1))
    m.rod("rod", 1.0, 1.0)
    m.body("bad", 1.0, inertia=(1, 1, 3))
    m.rod("", math.nan, 1.0)
    m.rod("loose", 1.0, 1.0)
    m.box("box", (1, -1, 1), 1.0).add("a.b", Hub(1.0, (0, 0, 0)), rotation=2 * np.eye(3), at=(math.nan, 0, 0))
    m.plate("flat", [(0, 0), (1, 1), (2, 2)], 1.0)
    m.rod("1e5", 1.0, 1.0)
    m.sphere("ball", 0.1, -1.0)
    words = "\n".join(said(m))
    for part in (
        "body 'rod': the name is used 2 times",
        "must not be empty or contain a dot",
        "length: is nan",
        "ball.mass: is -1",
        "joint 'A': its axis is zero",
        "its lower limit 2 is above its upper limit 1",
        "nothing connects rod, bad, , loose, box, flat, 1e5, ball to the ground",
        "box.size.y: is -1",
        "'a.b': a name must not contain a dot",
        "the axis of the hub is zero",
        "the axes of solid 'a.b' are not a rotation",
        "solid 'a.b' has a coordinate that is nan",
        "the outline of the plate encloses no area",
        "'1e5': the name looks like a number",
    ):
        assert part in words
    (warning,) = said(m, "warning")
    assert "'bad': its principal moments 1, 1, 3 kg m^2 break the triangle inequality by 1: no real body" in warning
    with pytest.raises(MechanismError, match=r"the name is used 2 times.*encloses no area"):
        m.compile()


def test_hub_inertias_may_break_the_triangle_inequality():
    m = pendulum()
    m.bodies[0].add("rotor", Hub(5.0))
    assert m.check()


def on_a_hinge(axis, inertia, **options) -> Mechanism:
    m = pendulum()
    m.revolute("B", m.bodies[0].end, m.body("b", 1.0, inertia=inertia).at(), axis=axis, **options)
    return m


NEGATIVE = [[1, 0, 0], [0, 1, 3], [0, 3, 1]]  # principal moments -2, 1, 4, the first about (0, 1, -1)


def test_moments_that_no_body_has_are_a_warning_where_the_inertia_matrix_is_sound():
    for inertia, words in (((1, 1, 3), "1, 1, 3 kg m^2 break"), (NEGATIVE, "-2, 1, 4 kg m^2 one is negative")):
        m = on_a_hinge((0, 0, 1), inertia)
        assert m.check()
        (warning,) = said(m, "warning")
        assert words in warning
        assert "body 'b'" in warning
        with pytest.warns(UserWarning, match="no real body has them"):
            m.compile()


def test_a_joint_that_meets_a_negative_inertia_is_named():
    m = on_a_hinge((0, 1, -1), NEGATIVE)
    assert "joint B moves against negative inertia" in said(m)[0]
    with pytest.raises(MechanismError, match=r"joint B moves against .*give the bodies their true inertia"):
        m.compile()
    assert on_a_hinge((0, 1, -1), NEGATIVE, armature=20.0).check()
    assert not on_a_hinge((0, 1, -1), (1.0, 1.0, 1.0), armature=-1.1).check()


@pytest.mark.parametrize("seed", range(8))
def test_what_is_sound_has_an_inertia_matrix_that_is_positive(seed):
    """And what has none is not sound: by the eigenvalues of the matrix, at one of the states that are looked at."""
    rng = np.random.default_rng(seed)
    m = random_tree(seed, 5, passive=True)
    for body in m.bodies:
        if rng.random() < 0.5:
            entries = rng.normal(size=(3, 3)) * 0.5
            body.parts[0] = Part("", Lump(rng.uniform(0, 2), (0.1, 0.0, 0.2), tensor_entries(entries + entries.T, "")))
    model = Direct(Equations(topology(m), (), Udu()), m)
    least = np.linalg.eigvalsh(model.kernel("mass_matrix")(model.random_state(0).q))[0]
    assert least > 0 or not m.check()


def test_names_of_different_parts_must_differ():
    m = pendulum()
    m.spring("A", m.ground.at(1, 0), m.bodies[0].end, stiffness=1.0)
    assert said(m) == ["joint and load 'A': the name is used 2 times; give each part its own"]


def test_solids_of_one_body():
    m = pendulum()
    m.bodies[0].add("tip", PointMass(1.0)).add("tip", PointMass(2.0))
    assert said(m) == ["body 'rod': 2 of its solids are named 'tip'; give each its own name"]


def test_a_body_that_hangs_on_nothing():
    m = pendulum()
    m.rod("loose", 1.0, 1.0)
    assert "nothing connects loose to the ground" in said(m)[0]


def test_markers_of_another_mechanism():
    m, other = pendulum(), pendulum()
    m.revolute("B", m.bodies[0].end, other.bodies[0].start)
    assert "is on a body of another mechanism" in said(m)[0]


def test_markers_that_are_not_right():
    m = pendulum()
    rod = m.bodies[0]
    body = m.rod("more", 1.0, 1.0)
    m.revolute("B", rod.at("rod.lenght", 0), body.at(math.inf, 0, rotation=2 * np.eye(3)))
    words = "\n".join(said(m))
    assert "refers to 'rod.lenght', which is not a parameter" in words
    assert "has a coordinate that is inf" in words
    assert "are not a rotation" in words


def test_axes_of_a_universal_joint():
    m = pendulum()
    body = m.box("box", (1, 1, 1), 1.0)
    m.universal("U", m.bodies[0].end, body.at(), axes=((1, 0, 0), (1, 1, 0)))
    assert said(m) == ["joint 'U': its two axes are not perpendicular; a universal joint's are"]


def test_small_things_are_not_weightless():
    """Turning and sliding are not compared with each other."""
    m = Mechanism("speck")
    m.free("F", m.ground.at(), m.sphere("speck", 1e-5, 1e-9).origin)
    assert m.check()


def test_markers_nobody_uses_are_looked_at():
    m = pendulum()
    m.bodies[0].at("rod.lenght", 0, name="hook")
    assert "refers to 'rod.lenght'" in said(m)[0]


def test_limits_on_a_ball_joint():
    m = pendulum()
    m.spherical("S", m.bodies[0].end, m.box("box", (1, 1, 1), 1.0).origin, limits=[(0, 1)] * 3)
    assert "has no angle a limit could hold" in said(m)[0]


def test_masses_on_the_ground():
    m = pendulum()
    m.ground.point_mass("anvil", 100.0, (0, 0, 0))
    assert said(m, "warning") == ["body 'ground': it has solids, whose inertia has no effect"]


def test_a_long_mechanism_is_checked_quickly():
    """A thousand rods whose markers all refer to parameters."""
    m = Mechanism("long", gravity=(0, -9.81, 0))
    last = m.ground.at()
    for k in range(1000):
        rod = m.rod(f"rod{k}", 0.1, 0.1, radius=0.01)
        m.revolute(f"joint{k}", last, rod.start)
        last = rod.end
    assert m.check()


def test_a_spring_on_a_ball_joint():
    m = pendulum()
    body = m.box("box", (1, 1, 1), 1.0)
    m.spherical("S", m.bodies[0].end, body.at(), stiffness=3.0)
    assert "a spherical joint has no angle a spring could act on" in said(m)[0]


def test_springs():
    m = pendulum()
    m.spring("s", m.ground.at(1, 0), m.ground.at(2, 0), stiffness=-1.0)
    assert said(m) == ["spring 's': its stiffness is negative"]
    assert said(m, "warning") == ["spring 's': both of its ends are on one body: it does nothing"]


def test_negative_damping_is_a_warning():
    assert said(pendulum(damping=-1.0), "warning") == ["joint 'A': its damping is negative: it adds energy"]


def mimicking(mass: float, **coefficients) -> Mechanism:
    """A hand on an arm and two fingers without mass on the hand, which turn with it or with the arm."""
    m = pendulum()
    before = m.bodies[0].end
    for name, weight in (("hand", mass), ("thumb", 0.0), ("finger", 0.0)):
        body = m.body(f"{name} link", weight, inertia=(weight / 10,) * 3)
        m.revolute(name, before, body.at())
        before = m.bodies[1].at(0.1, 0.0)
    m.couple("one", {"thumb": 1.0, **coefficients})
    m.couple("two", {"finger": 1.0, "thumb": 1.0})
    m.couple("again", {"finger": 2.0, "thumb": 2.0})
    return m


class TestCouplings:
    def test_joints_without_inertia_may_follow_others_that_have_it(self):
        assert mimicking(1.0, hand=-1.0).check()
        assert mimicking(0.1, A=-0.5, hand=2.0).check()

    def test_but_not_each_other(self):
        (error,) = said(mimicking(0.0, hand=-1.0))
        assert "joint hand, thumb, finger can move without inertia" in error

    @pytest.mark.parametrize("seed", [0, 4, 5, 6, 15, 17, 19, 20])
    def test_what_is_sound_is_positive_wherever_couplings_let_it_move(self, seed):
        """By eigenvalues on the null space of the couplings' rows: some vanish, some are negative, some positive."""
        rng = np.random.default_rng(seed)
        m = random_tree(seed, 5, ("revolute", "prismatic"))
        for k in rng.permutation(5)[:3]:
            m.bodies[k].parts[0] = Part("", Lump(0.0, tensor=tuple(rng.normal(size=6) * rng.choice([0.0, 0.01]))))
        rows = np.zeros((2, 5))
        rows[0, [0, 3]], rows[1, [1, 3, 4]] = rng.normal(size=2), rng.normal(size=3)
        for k, row in enumerate(rows):
            m.couple(f"tie{k}", {f"joint{j}": row[j] for j in np.flatnonzero(row)})
        found = topology(m)
        order = [int(t.joint.name[5:]) for t in found.tree]
        model = Direct(Equations(found, (), Partition()), m)
        mass = model.kernel("mass_matrix")(model.random_state(0).q)
        allowed = np.linalg.svd(rows[:, order])[2][2:]
        assert bool(m.check()) == (np.linalg.eigvalsh(allowed @ mass @ allowed.T)[0] > 1e-9)


class TestFreeSpin:
    def test_a_thin_rod_on_a_ball_joint(self):
        m = Mechanism("m")
        rod = m.rod("rod", 1.0, 1.0)
        m.spherical("ball", m.ground.at(), rod.start)
        assert "joint ball can move without inertia" in said(m)[0]
        assert "the joint an armature, or fix it" in said(m)[0]

    def test_a_thick_rod_does_not(self):
        m = Mechanism("m")
        rod = m.rod("rod", 1.0, 1.0, radius=0.01)
        m.spherical("ball", m.ground.at(), rod.start)
        assert m.check()

    def test_a_massless_link_at_the_end(self):
        m = pendulum()
        link = m.body("link", 0.0)
        m.revolute("B", m.bodies[0].end, link.at())
        assert "joint B can move" in said(m)[0]
        assert "armature" in said(m)[0]

    def test_a_massless_link_in_the_middle_is_fine(self):
        m = pendulum()
        link, tip = m.body("link", 0.0), m.box("tip", (0.1, 0.1, 0.1), 1.0)
        m.revolute("B", m.bodies[0].end, link.at())
        m.revolute("C", link.at(1, 0), tip.at(0.3, 0))
        assert m.check()

    def test_a_massless_link_with_a_rotor(self):
        m = pendulum()
        link = m.body("link", 0.0)
        m.revolute("B", m.bodies[0].end, link.at(), armature=0.1)
        assert m.check()

    def test_the_puma_has_links_without_mass_and_is_fine(self):
        assert not puma().check().all


class TestGravity:
    def test_along_every_hinge(self):
        (warning,) = said(pendulum(gravity=(0, 0, -9.81)), "warning")
        assert "parallel to every hinge" in warning
        assert "gravity=(0, -9.81, 0)" in warning
        with pytest.warns(UserWarning, match="parallel to every hinge"):
            pendulum(gravity=(0, 0, -9.81)).compile()

    def test_none_is_fine(self):
        assert not pendulum(gravity=(0, 0, 0)).check().all
