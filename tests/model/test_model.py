"""Models: the same numbers by kernel, interpreter and CasADi; derivatives, parameters, states, long chains."""

import casadi as ca
import numpy as np
import pytest

from kempe.compiler.interpret import interpret
from kempe.dynamics import recursions
from kempe.dynamics.tree import build
from kempe.errors import MechanismError, StateError
from kempe.kernels import blocks, recorder
from kempe.mechanism.mechanism import Mechanism
from tests.mechanisms import arm, random_tree

FUNCTIONS = (
    "forward_dynamics",
    "generalized_forces",
    "mass_matrix",
    "bias",
    "rates",
    "energy",
    "energy_rate",
    "passive_power",
    "motion_rates",
    "momentum",
    "center_of_mass",
)


@pytest.fixture(scope="module")
def model():
    return random_tree(11, 4, passive=True, loads=True).compile()


def arguments(model, name, seed=0):
    state = model.random_state(seed)
    third = np.random.default_rng(seed).normal(size=model.nv)
    return {"q": state.q, "v": state.v, "tau": third, "a": third}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernel_interpreter_and_casadi_agree(model, name):
    function, kernel = model.casadi(name), model.kernel(name)
    given = [arguments(model, name)[n] for n in function.name_in()]
    theirs = function(*given)
    theirs = [np.array(x) for x in (theirs if isinstance(theirs, (tuple, list)) else [theirs])]
    ours = kernel(*given)
    ours = ours if isinstance(ours, tuple) else (ours,)
    for mine, meant, other in zip(ours, interpret(kernel.program, *given), theirs, strict=True):
        assert np.array_equal(mine, meant)
        np.testing.assert_allclose(mine, other.reshape(mine.shape), rtol=1e-9, atol=1e-9)


def test_the_uncompiled_recursions_agree(model):
    state = model.random_state(3)
    tree = build(model.topology)
    np.testing.assert_allclose(model.mass_matrix(state.q), recursions.crba(tree, state.q), rtol=1e-11, atol=1e-12)


def test_batches(model):
    states = [model.random_state(k) for k in range(13)]
    q, v = np.array([s.q for s in states]), np.array([s.v for s in states])
    tau = np.random.default_rng(0).normal(size=(13, model.nu))
    many = model.forward_dynamics(q, v, tau)
    assert many.shape == (13, model.nv)
    for k in range(13):
        assert np.array_equal(many[k], model.forward_dynamics(q[k], v[k], tau[k]))


class TestDerivatives:
    h = 1e-6

    def central(self, model, f, q, step):
        forth, back = (f(model.integrate(q, sign * self.h * step)) for sign in (1, -1))
        return (forth - back) / (2 * self.h)

    @pytest.mark.parametrize("seed", range(3))
    def test_against_differences(self, seed):
        model = random_tree(20 + seed, 3, passive=True, loads=True).compile()
        state = model.random_state(seed)
        q, v = state.q, state.v
        a = np.random.default_rng(seed).normal(size=model.nv)
        unit = np.eye(model.nv)
        for derivatives, f in (
            (model.forward_dynamics_derivatives(q, v, a), model.forward_dynamics),
            (model.generalized_forces_derivatives(q, v, a), model.generalized_forces),
        ):
            by_q = np.array([self.central(model, lambda x, f=f: f(x, v, a), q, e) for e in unit]).T
            by_v = np.array([(f(q, v + self.h * e, a) - f(q, v - self.h * e, a)) / (2 * self.h) for e in unit]).T
            by_a = np.array([(f(q, v, a + self.h * e) - f(q, v, a - self.h * e)) / (2 * self.h) for e in unit]).T
            for exact, approximate in zip(derivatives, (by_q, by_v, by_a), strict=True):
                scale = max(1.0, np.abs(exact).max())
                np.testing.assert_allclose(exact, approximate, atol=2e-6 * scale)

    def test_by_parameters(self):
        model = arm(3).compile(parameters=["link2.arm.mass", "link3.riser.length", "joint2.damping"])
        q, v, a = np.random.default_rng(0).normal(size=(3, 3))
        for derivatives, f in (
            (model.forward_dynamics_derivatives, model.forward_dynamics),
            (model.generalized_forces_derivatives, model.generalized_forces),
        ):
            exact = derivatives(q, v, a)[3]
            assert exact.shape == (3, 3)
            for k in range(3):
                step = 1e-6 * np.eye(3)[k]
                forth, back = (f(q, v, a, p=model.p + s * step) for s in (1, -1))
                scale = max(1.0, np.abs(exact).max())
                np.testing.assert_allclose(exact[:, k], (forth - back) / 2e-6, atol=1e-6 * scale)


class TestParameters:
    def mechanism(self, length, mass, damping, gravity):
        m = Mechanism("m", gravity=(0, gravity, 0))
        crank, rod = m.rod("crank", length, 1.0), m.rod("rod", 0.7, mass, radius=0.05)
        m.revolute("A", m.ground.at(), crank.start, actuated=True, damping=damping)
        m.spherical("B", crank.end, rod.start)
        m.spring("s", m.ground.at(1, 0), rod.end, stiffness=3.0, length=0.1)
        return m

    PATHS = ("crank.length", "rod.mass", "A.damping", "gravity.y")

    def test_inputs_do_what_constants_do(self):
        model = self.mechanism(0.3, 2.0, 0.1, -9.81).compile(parameters=self.PATHS)
        assert model.p_names == self.PATHS
        assert model.p.tolist() == [0.3, 2.0, 0.1, -9.81]
        state = model.random_state(1)
        for values in ((0.3, 2.0, 0.1, -9.81), (0.5, 1.0, 0.7, 3.0)):
            other = self.mechanism(*values).compile()
            for name in ("forward_dynamics", "bias"):
                one = getattr(model, name)(state.q, state.v, p=np.array(values))
                np.testing.assert_allclose(one, getattr(other, name)(state.q, state.v), rtol=1e-11)
            for one, two in zip(
                model.energy(state.q, state.v, p=np.array(values)), other.energy(state.q, state.v), strict=True
            ):
                np.testing.assert_allclose(one, two, rtol=1e-12)

    def test_markers_follow_the_lengths_they_depend_on(self):
        model = self.mechanism(0.3, 2.0, 0.1, -9.81).compile(parameters=self.PATHS)
        other = self.mechanism(0.5, 1.0, 0.7, 3.0).compile()
        state, values = model.random_state(2), np.array([0.5, 1.0, 0.7, 3.0])
        for k in range(2):
            ends = [x.mechanism.bodies[k].end for x in (model, other)]
            np.testing.assert_allclose(
                model.pose(ends[0], state.q, p=values)[1], other.pose(ends[1], state.q)[1], atol=1e-14
            )
            np.testing.assert_allclose(
                model.jacobian(ends[0], state.q, p=values), other.jacobian(ends[1], state.q), atol=1e-14
            )

    def test_left_out_they_are_the_mechanisms_own(self):
        model = self.mechanism(0.3, 2.0, 0.1, -9.81).compile(parameters=self.PATHS)
        state = model.random_state(1)
        np.testing.assert_array_equal(
            model.forward_dynamics(state.q, state.v), model.forward_dynamics(state.q, state.v, p=model.p)
        )

    def test_none_to_give(self):
        with pytest.raises(StateError, match="keeps no parameters as inputs"):
            arm(2).compile().forward_dynamics(np.zeros(2), np.zeros(2), p=[1.0])

    def test_unknown(self):
        with pytest.raises(MechanismError, match=r"no parameter 'rod\.weight'; it has gravity\.x"):
            self.mechanism(1, 1, 0, -1).compile(parameters=["rod.weight"])


class TestLongChains:
    """Repeated blocks against one block, and against the uncompiled recursion."""

    @pytest.mark.parametrize("bodies", [25, 60])
    def test_serial(self, bodies):
        model = arm(bodies).compile()
        program = model.program("forward_dynamics")
        assert not program.is_single_block
        assert len(program.blocks) <= 12  # the first and the last link have some of their own
        q, v, x = np.random.default_rng(0).normal(size=(3, bodies))
        tau = model.generalized_forces(q, v, x)
        np.testing.assert_allclose(model.forward_dynamics(q, v, tau), x, atol=1e-6)
        tree = build(model.topology)
        np.testing.assert_allclose(tau, recursions.rnea(tree, q, v, x), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            model.forward_dynamics(q, v, x), recursions.udu(tree, q, v, x)[0], rtol=1e-6, atol=1e-8
        )

    def test_branches_of_every_kind(self):
        model = random_tree(3, 30, passive=True).compile()
        state = model.random_state(0)
        x = np.random.default_rng(1).normal(size=model.nv)
        assert not model.program("forward_dynamics").is_single_block
        tau = model.generalized_forces(state.q, state.v, x)
        tree = build(model.topology)
        np.testing.assert_allclose(tau, recursions.rnea(tree, state.q, state.v, x), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.forward_dynamics(state.q, state.v, tau), x, atol=1e-7)

    def test_a_link_is_made_of_its_numbers(self):
        for link in build(random_tree(4, 12, passive=True).topology()).links:
            again = recorder.with_numbers(link, recorder.numbers_of(link))
            assert recorder.numbers_of(again) == recorder.numbers_of(link)

    def test_short_or_loaded_trees_stay_whole(self):
        assert arm(6).compile().program("forward_dynamics").is_single_block
        loaded = random_tree(5, 25, kinds=("revolute",), loads=True).compile()
        assert blocks.program(loaded.equations, "forward_dynamics") is None


class TestNamesAndStates:
    def make(self):
        m = Mechanism("m")
        a, b = m.rod("a", 1.0, 1.0, radius=0.1), m.rod("b", 1.0, 1.0, radius=0.1)
        m.cylindrical("C", m.ground.at(), a.start, actuated=["slide"])
        m.spherical("S", a.end, b.start)
        return m.compile()

    def test_layout(self):
        model = self.make()
        assert model.q_names == ("C.angle", "C.slide", "S.w", "S.x", "S.y", "S.z")
        assert model.v_names == ("C.angle", "C.slide", "S.wx", "S.wy", "S.wz")
        assert model.u_names == ("C.slide",)
        assert (model.nq, model.nv, model.nu, model.dof) == (6, 5, 1, 5)

    def test_states_by_name(self):
        model = self.make()
        state = model.state({"C": (0.1, 0.2)}, rates={"S": (1, 2, 3)})
        assert state["C"].tolist() == [0.1, 0.2]
        assert state["S"].tolist() == [1, 0, 0, 0]
        assert state.rate("S").tolist() == [1, 2, 3]
        assert repr(state).startswith("State(C.angle = 0.1")
        assert model.state({"C.slide": 0.3}, rates={"S.wy": 2.0}).v.tolist() == [0, 0, 0, 2, 0]
        assert model.state({"C.slide": 0.3})["C"].tolist() == [0, 0.3]
        assert model.state({"S": (1, 1, 0, 0)})["S"].tolist() == pytest.approx([0.5**0.5, 0.5**0.5, 0, 0])
        with pytest.raises(StateError, match="joint 'S' has a zero quaternion"):
            model.state({"S": (0, 0, 0, 0)})
        with pytest.raises(StateError, match="no joint 'X'; there are"):
            model.state({"X": 1})
        with pytest.raises(StateError, match="'S' takes 4 numbers, not 2"):
            model.state({"S": (1, 2)})
        with pytest.raises(StateError, match="has no joint 'X'"):
            state["X"]

    def test_in_a_notebook(self):
        model = self.make()
        assert "<tr><td>C</td><td>0, 0</td><td>0, 0</td></tr>" in model.state()._repr_html_()
        assert "so udu" in model._repr_html_()
        assert "C (cylindrical) carries a on ground" in model.mechanism._repr_html_()
        broken = Mechanism("broken")
        broken.rod("loose", 1.0, 1.0)
        assert "nothing connects loose to the ground" in broken._repr_html_()

    def test_efforts(self):
        model = self.make()
        state = model.random_state(0)
        one = model.forward_dynamics(state.q, state.v, [2.0])
        assert np.array_equal(one, model.forward_dynamics(state.q, state.v, {"C": (0.0, 2.0)}))
        assert np.array_equal(one, model.forward_dynamics(state.q, state.v, {"C.slide": 2.0}))
        assert model.forward_dynamics(np.array([state.q] * 3), state.v, np.full((3, 1), 2.0)).shape == (3, 5)
        with pytest.raises(StateError, match=r"C\.angle is not actuated"):
            model.forward_dynamics(state.q, state.v, {"C": (1.0, 2.0)})
        with pytest.raises(StateError, match=r"it takes 1 entries \(C\.slide\)"):
            model.forward_dynamics(state.q, state.v, [1.0, 2.0])
        passive = Mechanism("passive", gravity=(0, -9.81, 0))
        passive.revolute("A", passive.ground.at(), passive.rod("rod", 1.0, 1.0).start)
        with pytest.raises(StateError, match="it takes none: no joint has actuated=True"):
            passive.compile().forward_dynamics([0.0], [0.0], [1.0])
        np.testing.assert_allclose(model.inverse_dynamics(state.q, state.v, one), [2.0], rtol=1e-9)
        many = model.forward_dynamics(np.array([state.q] * 3), state.v, np.array([[1.0], [2.0], [3.0]]))
        back = model.inverse_dynamics(np.array([state.q] * 3), state.v, many)
        np.testing.assert_allclose(back, [[1.0], [2.0], [3.0]], rtol=1e-9)
        with pytest.raises(
            StateError, match=r"would need an effort of .* along (C\.angle|S\.w.), which is not actuated"
        ):
            model.inverse_dynamics(state.q, state.v, np.zeros(5))
        by_name = model.generalized_forces(state.q, state.v, {"S": (1, 2, 3)})
        assert np.array_equal(by_name, model.generalized_forces(state.q, state.v, np.array([0.0, 0, 1, 2, 3])))

    def test_steps(self):
        model = self.make()
        start, end = model.random_state(0).q, model.random_state(1).q
        np.testing.assert_allclose(
            np.abs(model.integrate(start, model.difference(start, end))), np.abs(end), atol=1e-12
        )
        starts, steps = np.array([start, end]), np.array([[0.1] * 5, [0.2] * 5])
        many = model.integrate(starts, steps)
        assert np.array_equal(many[1], model.integrate(end, steps[1]))
        np.testing.assert_allclose(model.difference(starts, many), steps, atol=1e-12)
        assert np.linalg.norm(model.random_state(5).q[2:]) == pytest.approx(1)
        assert np.array_equal(model.random_state(5).q, model.random_state(5).q)

    def test_bodies_by_name(self):
        model = self.make()
        q = model.neutral()
        np.testing.assert_allclose(model.pose("b", q)[1], [1, 0, 0])
        np.testing.assert_allclose(model.pose(model.mechanism.bodies[1].end, q)[1], [2, 0, 0])
        assert np.array_equal(model.pose("ground", q)[0], np.eye(3))
        np.testing.assert_allclose(model.pose("b.end", q)[1], [2, 0, 0])
        with pytest.raises(StateError, match="on a body of another mechanism"):
            model.pose(self.make().mechanism.bodies[0].end, q)
        with pytest.raises(StateError, match="no body 'c'; there are ground, a, b"):
            model.pose("c", q)


def test_matrices_of_one_row_or_column_stay_matrices():
    one = Mechanism.from_dh("arm", a=[0.5], b=[0.1], alpha=[0], mass=[1], gravity=(0, -9.81, 0))
    model = one.compile(parameters=["link1.arm.mass"])
    q, v, a = np.random.default_rng(0).normal(size=(3, 1))
    assert model.mass_matrix(q).shape == (1, 1)
    assert model.jacobian("link1.end", q).shape == (6, 1)
    np.testing.assert_allclose(model.jacobian("link1.end", q) @ v, model.twist("link1.end", q, v))
    assert [x.shape for x in model.forward_dynamics_derivatives(q, v, a)] == [(1, 1)] * 4
    assert model.mass_matrix(np.zeros((5, 1))).shape == (5, 1, 1)


def test_a_model_is_of_the_mechanism_as_it_was():
    m = arm(2)
    model, q = m.compile(parameters="link1.arm.mass"), np.zeros(2)
    before = model.mass_matrix(q)
    m.bodies[1].point_mass("late", 5.0, (1, 0, 0))
    assert model.energy(q, np.ones(2))[0] == pytest.approx(before.sum() / 2)
    later = m.rod("later", 1.0, 1.0)
    with pytest.raises(StateError, match="'later' was added after the mechanism was compiled"):
        model.pose(later.end, q)
    np.testing.assert_allclose(model.pose(m.bodies[1].end, q)[1], arm(2).compile().pose("link2.end", q)[1])


def test_kinematics_for_casadi():
    model = arm(2).compile()
    f = model.casadi("jacobian", "link2.end")
    np.testing.assert_allclose(np.array(f([0.1, 0.2])), model.jacobian("link2.end", np.array([0.1, 0.2])), atol=1e-12)


def test_a_spring_whose_ends_meet():
    m = Mechanism("m", gravity=(0, -9.81, 0))
    rod = m.rod("rod", 1.0, 1.0)
    m.revolute("A", m.ground.at(), rod.start)
    m.spring("s", m.ground.at(1, 0), rod.end, stiffness=10.0, damping=1.0, length=0.2)
    model = m.compile()
    free = Mechanism("m", gravity=(0, -9.81, 0))
    free.revolute("A", free.ground.at(), free.rod("rod", 1.0, 1.0).start)
    assert model.forward_dynamics([0.0], [1.0]) == free.compile().forward_dynamics([0.0], [1.0])
    assert np.isfinite(model.forward_dynamics([1e-9], [1.0])).all()


def test_lengths_of_dh_links_as_parameters():
    """The inertia and the next joint both follow."""
    table = {"b": [0.1, 0.2], "alpha": [0.3, 0.4], "mass": [1, 2], "payload": [0, 0.3]}
    model = Mechanism.from_dh("arm", a=[0.5, 0.6], **table).compile(parameters=["link1.arm.length", "link2.arm.length"])
    q = np.array([0.3, 0.4])
    # Longer rods of the same masses: the table spreads the mass over the whole length, so masses are put in by hand.
    other = Mechanism.from_dh("arm", a=[0.9, 0.8], **table)
    masses = {"link1.riser.mass": 1 / 6, "link1.arm.mass": 5 / 6, "link2.riser.mass": 0.5, "link2.arm.mass": 1.5}
    reference = other.compile(parameters=list(masses))
    np.testing.assert_allclose(
        model.mass_matrix(q, p=[0.9, 0.8]), reference.mass_matrix(q, p=list(masses.values())), rtol=1e-12
    )
    np.testing.assert_allclose(
        model.pose("link2.end", q, p=[0.9, 0.8])[1], reference.pose("link2.end", q)[1], atol=1e-14
    )


def test_what_a_model_says_of_itself():
    model = arm(2).compile()
    assert model.why.startswith("arm is a tree of 2 joints, so udu: the O(n) UDU^T recursion")
    assert str(model.counts.total) in model.why
    assert "Mohan" in model.cite()
    assert repr(model) == "Model('arm': nq=2, nv=2, nu=2, udu)"
    assert "as repeated blocks" in arm(30).compile().why


def test_formulations_agree():
    q, v, tau = np.random.default_rng(0).normal(size=(3, 5))
    udu, cholesky = (arm(5).compile(formulation=name) for name in ("udu", "cholesky"))
    np.testing.assert_allclose(udu.forward_dynamics(q, v, tau), cholesky.forward_dynamics(q, v, tau), rtol=1e-8)
    with pytest.raises(MechanismError, match="no formulation 'magic'; there are auto, udu, cholesky"):
        arm(2).compile(formulation="magic")
    with pytest.raises(MechanismError, match=r"no formulation 'masked'; .* A run takes masked programs by itself"):
        arm(2).compile(formulation="masked")


def test_functions_are_asked_for_by_name():
    with pytest.raises(StateError, match="no function 'fly'; there are forward_dynamics"):
        arm(2).compile().casadi("fly")
    assert isinstance(arm(2).compile().casadi("mass_matrix"), ca.Function)


def test_a_mechanism_without_freedom():
    m = Mechanism("welded")
    body = m.box("box", (1, 1, 1), 1.0)
    m.fixed("weld", m.ground.at(), body.at())
    model = m.compile()
    assert model.forward_dynamics(np.zeros(0), np.zeros(0)).shape == (0,)
    assert model.energy(np.zeros(0), np.zeros(0))[0] == 0


@pytest.mark.parametrize("seed", range(3))
def test_poses_of_all_bodies_are_those_of_each(seed):
    m = random_tree(seed, 6)
    model = m.compile()
    q = model.random_state(seed).q
    for body, numbers in zip(m.bodies, model.body_poses(q), strict=True):
        rotation, position = model.pose(body, q)
        np.testing.assert_allclose(numbers, [*rotation.ravel(), *position], atol=1e-13)
