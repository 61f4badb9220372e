"""Implicit steps: published solutions of stiff problems, exact Jacobians, orders, and stiffness found by itself."""

import warnings
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import null_space

import kempe as kp
from kempe.gallery.benchmarks import n_four_bar, parallel_bars
from kempe.gallery.entries import ENTRIES
from kempe.integrate import collocation
from kempe.integrate.tables import METHODS
from kempe.model.model import Model
from kempe.simulate.drive import drive_of
from kempe.simulate.machine import Machine
from kempe.simulate.scales import scales
from kempe.simulate.stops import Stops
from kempe.simulate.system import Setting, system, variation
from tests.direct import prepare
from tests.integrate.test_integrators import reference
from tests.simulate.mechanisms import GRAVITY, double_pendulum, mixed_tree, pendulum
from tests.simulate.test_closed_runs import five_bar_start, run_of_motors

MU = 1e6


def van_der_pol(t, z):
    return [z[1], MU * ((1 - z[0] ** 2) * z[1] - z[0])]


def robertson(t, z):
    made, used = 1e4 * z[1] * z[2], 3e7 * z[1] ** 2
    return [-0.04 * z[0] + made, 0.04 * z[0] - made - used, used]


def alone(equations, **first) -> kp.Law:
    """Equations as the states of a law, beside a pendulum that hangs still."""
    return kp.Law(lambda t, q, v, z: ([0.0], equations(t, z)), states=first)


@cache
def still() -> Model:
    return pendulum(actuated=True).compile()


def sliding(stiffness: float, damping: float) -> kp.Mechanism:
    """A pendulum with a mass on a spring along it: 0.8 kg at its end."""
    m = kp.Mechanism("sliding", gravity=(0, -GRAVITY, 0))
    upper, lower = m.rod("upper", 0.5, 1.0), m.rod("lower", 0.4, 0.8)
    m.revolute("shoulder", m.ground.at(0, 0), upper.start)
    m.prismatic("slide", upper.end, lower.start, axis=(1, 0, 0), stiffness=stiffness, damping=damping)
    return m


def sprung_four_bar(damping: float) -> kp.Mechanism:
    """A four-bar with a weight on its coupler that a stiff spring holds."""
    m = kp.Mechanism("sprung four-bar", gravity=(0, -GRAVITY, 0))
    crank, coupler, rocker = (m.rod(*of) for of in (("crank", 0.3, 1.5), ("coupler", 1.0, 5.0), ("rocker", 0.6, 3.0)))
    weight = m.body("weight", 0.5, (0, 0, 0), (0.01, 0.01, 0.01))
    m.revolute("A", m.ground.at(0, 0), crank.start)
    m.revolute("B", crank.end, coupler.start)
    m.revolute("C", coupler.end, rocker.end)
    m.revolute("D", m.ground.at(1, 0), rocker.start)
    m.prismatic("guide", coupler.at(0.5, 0), weight.at(0, 0), axis=(0, 1, 0))
    m.spring("spring", coupler.at(0.5, -0.2), weight.at(0, 0), stiffness=1e6, damping=damping, length=0.2)
    return m


def sprung_start(model: Model) -> kp.State:
    return model.assemble({"A": 90 * kp.deg, "guide": 0.0}, near={"D": 70 * kp.deg})


# ---- the method ------------------------------------------------------------------------------------------


class TestConstants:
    def test_eigenvalues_and_vectors_are_those_of_the_inverse_weights(self):
        found = np.sort_complex(np.linalg.eigvals(collocation.INVERSE))
        wanted = np.sort_complex([collocation.REAL, collocation.COMPLEX, collocation.COMPLEX.conjugate()])
        np.testing.assert_allclose(found, wanted, atol=1e-13)
        ways = np.array([0.3, -1.2, 0.7])
        parts = collocation.LEFT_REAL @ ways, collocation.LEFT_COMPLEX @ ways
        back = collocation.RIGHT_REAL * parts[0] + np.real(collocation.RIGHT_COMPLEX * parts[1])
        np.testing.assert_allclose(back, ways, atol=1e-14)

    def test_the_estimate_is_that_of_the_book(self):
        """Hairer and Wanner, IV.8: e = (-13 - 7 sqrt 6, -13 + 7 sqrt 6, -1) / 3."""
        root = np.sqrt(6)
        np.testing.assert_allclose(collocation.ESTIMATE, np.array([-13 - 7 * root, -13 + 7 * root, -1]) / 3, atol=1e-13)

    def test_infinitely_stiff_motions_die_within_a_step(self):
        """R(z) = 1 + z b^T (1 - z A)^-1 1 is a Pade approximation of exp, and vanishes at infinity."""
        a = collocation.WEIGHTS

        def growth(z):
            return 1 + z * a[2] @ np.linalg.solve(np.eye(3) - z * a, np.ones(3))

        assert abs(growth(0.1j) - np.exp(0.1j)) < 1e-9
        assert abs(growth(-1e9)) < 1e-8
        assert all(abs(growth(1j * x)) <= 1 + 1e-14 for x in np.logspace(-2, 4, 50))


def machine_at(model: Model, state: kp.State, torque=None, dense=False) -> Machine:
    drive = drive_of(model, torque)
    setting = Setting(drive.law, len(drive.held), Stops())
    choice = model.choice if model.topology.loops and not dense else None
    own = list(drive.law.states.values()) if drive.law is not None else []
    sizes = scales(model, model.p, choice, state.q if choice is not None else None)
    first = np.concatenate([state.q, state.v, own])
    kernels = system(model, setting, choice), None, (), drive, METHODS["radau"]
    machine = Machine(model, *kernels, first, model.p, sizes, np.zeros(0), variation(model, setting))
    machine.begin(0.0, 1e-3, 1e-8, np.inf, False)
    return machine


def jacobians(machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """The exact one, and differences of slopes."""
    exact, y, h = machine.jacobian(), machine.y.copy(), 1e-6

    def slope(at):
        machine.y[:] = at
        machine.changed()
        machine.prepare()
        return machine.slopes[0].copy()

    columns = [(slope(y + h * e) - slope(y - h * e)) / (2 * h) for e in np.eye(len(y))]
    machine.y[:] = y
    return exact, np.array(columns).T


def on_manifold(model: Model, y: np.ndarray) -> np.ndarray:
    """Directions along which quaternions keep their length and loops stay closed, (n, ..)."""
    nq = model.nq

    def constraints(y):
        q, v = y[:nq], y[nq : nq + model.nv]
        lengths = [q[t.q.start : t.q.start + 4] @ q[t.q.start : t.q.start + 4] for t in model.topology.tree
                   if len(t.joint.type.q_names) != len(t.joint.type.v_names)]  # fmt: skip
        loops = [model.residual(q), model.loop_slip(q, v)] if model.topology.loops else []
        return np.concatenate([lengths, *loops])

    h = 1e-6
    rows = np.array([(constraints(y + h * e) - constraints(y - h * e)) / (2 * h) for e in np.eye(len(y))]).T
    return null_space(rows, rcond=1e-7) if rows.size else np.eye(len(y))


class TestJacobian:
    """Of slopes by the state, against their differences."""

    def test_of_a_tree_with_a_law_that_has_states(self):
        model = mixed_tree().compile()

        def law(t, q, v, z):
            pull = -30 * q[5] - v[3] * z[0] ** 2
            return {"slide": pull, "hinge": z[0]}, [q[4] ** 2 - 3 * z[0] + v[0]]

        machine = machine_at(model, model.random_state(3), kp.Law(law, states={"x": 0.7}))
        exact, differences = jacobians(machine)
        along = on_manifold(model, machine.y)
        assert along.shape[1] == len(machine.y) - 1
        np.testing.assert_allclose(exact @ along, differences @ along, atol=1e-7 * np.abs(differences).max())

    def test_at_a_stop(self):
        model = double_pendulum(limits=(-0.5, 0.5)).compile()
        state = model.state({"shoulder": 0.5004, "elbow": 1.0}, rates={"shoulder": 0.3, "elbow": -2.0})
        exact, differences = jacobians(machine_at(model, state))
        np.testing.assert_allclose(exact, differences, atol=1e-6 * np.abs(differences).max())

    @pytest.mark.parametrize("dense", [False, True], ids=["by a choice", "by the dense way"])
    @pytest.mark.parametrize("name", ["sprung four-bar", "stewart"])
    def test_of_closed_mechanisms(self, name, dense):
        model = closed_model(name)
        q = sprung_start(model).q if name != "stewart" else model.assemble({f"P{k}": 0.1 for k in range(1, 7)}).q
        free = null_space(model.loop_rows(q), rcond=1e-9)
        state = kp.State(model, q, free @ np.random.default_rng(1).normal(size=free.shape[1]))
        machine = machine_at(model, state, dense=dense)
        exact, differences = jacobians(machine)
        along = on_manifold(model, machine.y)
        assert along.shape[1] == 2 * model.dof
        np.testing.assert_allclose(exact @ along, differences @ along, atol=1e-6 * np.abs(differences).max())


@cache
def closed_model(name: str) -> Model:
    return sprung_four_bar(3e4).compile() if name == "sprung four-bar" else ENTRIES[name].build().compile()


class TestOrder:
    """Error against steps, as the tolerance falls: the step is of order 5, what lies between steps of order 4."""

    def test_of_steps_and_of_dense_output(self):
        model = mixed_tree().compile()
        state = model.random_state(3)
        times = np.linspace(0, 0.5, 41)
        exact = reference(model, state, times)
        steps, ends, rows = [], [], []
        for tolerance in (1e-5, 1e-6, 1e-7, 1e-8):
            run = model.simulate(state, 0.5, method="radau", tolerance=tolerance, output=times)
            errors = np.abs(np.hstack([run.q, run.v]) - exact)
            steps.append(run.statistics.steps)
            ends.append(errors[-1].max())
            rows.append(errors.max())
        assert -np.polyfit(np.log(steps), np.log(ends), 1)[0] == pytest.approx(5, abs=0.6)
        assert -np.polyfit(np.log(steps), np.log(rows), 1)[0] == pytest.approx(4, abs=0.6)


# ---- published problems ----------------------------------------------------------------------------------


class TestPublishedProblems:
    def test_van_der_pol(self):
        """mu = 1e6 (Hairer and Wanner, IV.10; at 2 s, Test Set for Initial Value Problems)."""
        law, first = alone(van_der_pol, x=2.0, y=0.0), [2.0, 0.0]
        published = [(-0.1863646254808130e1, 0.7535430865435460), (0.1706167732170483e1, -0.8928097010247975)]
        run = still().simulate(None, 2.0, torque=law, method="radau", tolerance=1e-9, output=[0.0, 1.0, 2.0])
        np.testing.assert_allclose(run.z[1:], published, atol=5e-9)
        run = still().simulate(None, 2.0, torque=law, method="radau", tolerance=1e-7, output=[0.0, 2.0])
        theirs = solve_ivp(van_der_pol, (0, 2), first, "Radau", rtol=1e-7, atol=1e-7)
        assert run.statistics.evaluations <= theirs.nfev
        np.testing.assert_allclose(run.z[-1], published[1], atol=1e-7)

    def test_robertson(self):
        """At 40 s against SciPy, at 1e11 s as in the Test Set for Initial Value Problems."""
        law = alone(robertson, a=1.0, b=0.0, c=0.0)
        run = still().simulate(None, 1e11, torque=law, method="radau", tolerance=1e-10, output=[0.0, 40.0, 1e11])
        theirs = solve_ivp(robertson, (0, 40), [1.0, 0.0, 0.0], "Radau", rtol=1e-11, atol=1e-16)
        np.testing.assert_allclose(run.z[1], theirs.y[:, -1], rtol=1e-8)
        last = 0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050
        np.testing.assert_allclose(run.z[2], last, rtol=1e-6)
        assert abs(run.z[2].sum() - 1) < 1e-11
        assert run.statistics.steps < 2000


# ---- beside explicit steps -------------------------------------------------------------------------------


def agree(one, other, atol: float) -> None:
    assert one.outcome.kind == other.outcome.kind
    np.testing.assert_allclose(one.q, other.q, atol=atol)
    np.testing.assert_allclose(one.v, other.v, atol=10 * atol)
    assert [o.name for o in one.occurrences] == [o.name for o in other.occurrences]
    np.testing.assert_allclose([o.t for o in one.occurrences], [o.t for o in other.occurrences], atol=atol)


def bounce(moment):
    moment.v[0] *= -0.5


@cache
def limited() -> Model:
    return double_pendulum(limits=(-0.5, 1.2)).compile()


TIMES, EFFORTS = [0, 0.25, 0.6, 1.0], [1.0, -2.0, 3.0, 0.0]


class TestBesideExplicitSteps:
    """Whatever a run can do, it does by implicit steps as well."""

    @pytest.mark.parametrize(
        "options",
        [
            {"events": [kp.Event("turn", lambda t, q, v: v[0], action="record")], "torque": 1.0},
            {"events": [kp.Event("wall", lambda t, q, v: q[0] + 0.3, direction=-1, action=bounce)]},
            {"limits": "events"},
            {"torque": kp.Table(TIMES, {"shoulder": EFFORTS}, between="hold"), "limits": "ignore"},
            {"torque": kp.Table(TIMES, {"shoulder": EFFORTS}, between="cubic"), "limits": "ignore"},
            {"torque": kp.Sampled(lambda t, q, v: {"shoulder": -5 * v[0]}, period=0.02)},
            {"torque": lambda t, q, v: [np.sin(5 * t) - 3 * v[0]]},
        ],
        ids=["event", "bounce", "limits", "held table", "smooth table", "sampled", "Python"],
    )
    def test_of_a_tree(self, options):
        state = limited().state({"shoulder": 1.0}, rates={"shoulder": 2.0})
        runs = [limited().simulate(state, 1.0, tolerance=1e-10, method=x, **options) for x in ("radau", "dop853")]
        agree(*runs, atol=1e-8)

    @pytest.mark.parametrize("formulation", ["partition", "denoc", "augmented", "slm", "sslm"])
    def test_of_every_formulation(self, formulation):
        model = ENTRIES["four-bar"].build().compile(formulation)
        start = model.assemble({"A": 1.2}, near={"D": 70 * kp.deg})
        runs = [model.simulate(start, 0.5, tolerance=1e-10, method=x) for x in ("radau", "dop853")]
        agree(*runs, atol=1e-9)
        assert runs[0].closure.max() < 1e-14

    def test_where_coordinates_fail(self):
        model = ENTRIES["five-bar"].build().compile()
        start = five_bar_start(model)
        prepare(model, choice=run_of_motors(model, start.q))
        options = {"tolerance": 1e-9, "limits": "ignore"}
        runs = [model.simulate(start, 3.0, method=x, **options) for x in ("radau", "dop853")]
        agree(*runs, atol=1e-7)
        assert runs[0].closure.max() < 1e-14

    def test_through_a_singular_pose(self):
        model = n_four_bar(1).compile()
        start = parallel_bars(model, np.pi / 2, -1.0)
        runs = [model.simulate(start, 2.0, tolerance=1e-9, method=x, singular="cross") for x in ("radau", "dop853")]
        agree(*runs, atol=1e-7)

    def test_what_a_controller_raises(self):
        def fails(t, q, v):
            if t > 0.5:
                raise ValueError("no more")
            return [0.0]

        with pytest.raises(ValueError, match="no more") as caught:
            limited().simulate(None, 1.0, torque=fails, method="radau")
        assert 0.3 < caught.value.run.end <= 0.5  # type: ignore[attr-defined]


# ---- stiffness found by itself ---------------------------------------------------------------------------


class TestFoundByItself:
    def test_a_stiff_damped_tree_goes_on_by_implicit_steps(self):
        model = sliding(1e8, 3.6e4).compile()
        state = model.state({"shoulder": -0.3})
        explicit, run = (model.simulate(state, 3.0, method=x) for x in ("dop853", "auto"))
        assert run.statistics.method.startswith("dop853, radau from t = ")
        assert "that of slide at" in run.statistics.note
        assert run.statistics.note in run.summary()
        assert run.statistics.evaluations < 0.2 * explicit.statistics.evaluations
        np.testing.assert_allclose(run.q, explicit.q, atol=5e-8)
        # Far stiffer than that, explicit steps would take minutes: the mass sits where gravity and rotation hold it.
        stiffer = sliding(1e12, 3.6e6).compile().simulate({"shoulder": -0.3}, 3.0)
        assert stiffer.statistics.steps < 5000
        np.testing.assert_allclose(stiffer["shoulder"], run["shoulder"], atol=2e-6)

    def test_a_stiff_damped_closed_mechanism_goes_on_by_implicit_steps(self):
        model = closed_model("sprung four-bar")
        start = sprung_start(model)
        explicit = model.simulate(start, 2.0, method="dop853", tolerance=1e-9)
        for method in ("auto", "radau"):
            run = model.simulate(start, 2.0, tolerance=1e-9, method=method)
            assert "radau" in run.statistics.method
            assert run.closure.max() < 1e-14
            np.testing.assert_allclose(run.q, explicit.q, atol=1e-7)
            assert run.statistics.evaluations < 0.2 * explicit.statistics.evaluations

    def test_van_der_pol_by_auto(self):
        run = still().simulate(None, 2.0, torque=alone(van_der_pol, x=2.0, y=0.0), tolerance=1e-7)
        assert "radau" in run.statistics.method
        assert "that of y" in run.statistics.note
        assert run["x"][-1] == pytest.approx(0.1706167732170483e1, abs=1e-7)

    def test_an_oscillation_that_nothing_damps_is_followed_with_advice(self):
        """It hangs at rest but for the mass, which slides up and down by itself."""
        model = sliding(1e6, 0.0).compile()
        state = model.state({"shoulder": -np.pi / 2, "slide": 1e-4})
        with pytest.warns(UserWarning, match=r"oscillation of slide at 178 Hz, hardly damped .*give it damping"):
            run = model.simulate(state, 3.0)
        assert np.sqrt(1e6 / 0.8) / (2 * np.pi) == pytest.approx(178, abs=0.5)
        assert run.statistics.method == "dop853"
        explicit = model.simulate(state, 3.0, method="dop853")
        assert np.array_equal(run.q, explicit.q)
        assert explicit.statistics.note == ""

    def test_ordinary_motions_raise_no_alarm(self):
        """Long runs, with rows far apart."""
        model = double_pendulum().compile()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = model.simulate(model.state({"shoulder": 1.0}), 400.0, output=10.0)
        assert run.statistics.steps > 3000
        assert run.statistics.note == ""
        assert run.statistics.jacobians == 0
