"""Everything wrong with a mechanism, found at once."""

import math

import numpy as np
import pytest

from kempe.errors import MechanismError
from kempe.mechanism.bodies import Hub, PointMass
from kempe.mechanism.mechanism import Mechanism
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
    assert str(findings) == "pendulum: nothing to find fault with"


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
        "'bad': its principal moments 1, 1, 3 kg m^2 break the triangle inequality",
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
    with pytest.raises(MechanismError, match=r"the name is used 2 times.*break the triangle inequality"):
        m.compile()


def test_hub_inertias_may_break_the_triangle_inequality():
    m = pendulum()
    m.bodies[0].add("rotor", Hub(5.0))
    assert m.check()


def test_negative_principal_moment():
    m = pendulum()
    b = m.body("b", 1.0, inertia=[[1, 0, 0], [0, 1, 3], [0, 3, 1]])
    m.revolute("B", m.ground.at(), b.at())
    assert any("negative principal moment" in s for s in said(m))


def test_names_of_different_parts_must_differ():
    m = pendulum()
    m.spring("A", m.ground.at(1, 0), m.bodies[0].end, stiffness=1.0)
    assert said(m) == ["joint and load 'A': the name is used 2 times; give each part its own"]


def test_solids_of_one_body():
    m = pendulum()
    m.bodies[0].add("tip", PointMass(1.0)).add("tip", PointMass(2.0))
    assert said(m) == ["body 'rod': 2 of its solids are called 'tip'; name each differently"]


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
    assert "refers to 'rod.lenght', which is no parameter" in words
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


class TestFreeSpin:
    def test_a_thin_rod_on_a_ball_joint(self):
        m = Mechanism("m")
        rod = m.rod("rod", 1.0, 1.0)
        m.spherical("ball", m.ground.at(), rod.start)
        assert "joint ball can move against no inertia at all" in said(m)[0]

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
