"""What users give that is no finite real number is refused, by the name of the joint."""

import warnings

import numpy as np
import pytest

import kempe as kp
from kempe.errors import ArgumentError, StateError
from kempe.model.model import Model


def built(kind: str) -> Model:
    """A tree with all joints driven, a tree with one, a loop, and one with a parameter that is an input."""
    m = kp.Mechanism(kind, gravity=(0, -9.81, 0))
    crank, coupler, rocker = (m.rod(name, length=x, mass=1.0) for name, x in (("a", 0.4), ("b", 1.0), ("c", 0.7)))
    m.revolute("A", m.ground.at(0, 0), crank.start, actuated=True, damping=0.1)
    m.revolute("B", crank.end, coupler.start, actuated=kind == "driven tree")
    m.revolute("C", coupler.end, rocker.end, actuated=kind == "driven tree")
    if "loop" in kind:
        m.revolute("D", m.ground.at(1, 0), rocker.start)
    return m.compile(parameters=["b.mass"] if kind == "loop with an input" else [])


KINDS = "driven tree", "tree", "loop", "loop with an input"
BAD = {
    "nan": (np.nan, "is nan"),
    "infinite": (-np.inf, "is -inf"),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request) -> Model:
    return built(request.param)


def regular(model: Model, count: int | None = None) -> dict[str, np.ndarray]:
    """Arguments of dynamics that are as they should be, of one state or of many."""
    state = model.assemble({"A": 1.0}, rates={"A": 0.7}) if model.topology.closed else model.random_state(1)
    given = {"q": state.q, "v": state.v, "tau": np.linspace(0.1, 0.3, model.nu)}
    return {n: x.copy() if count is None else np.tile(x, (count, 1)) for n, x in given.items()}


def calls(model: Model, many: bool):
    """Functions that take q, v and efforts, by name."""
    yield "forward_dynamics", lambda q, v, tau: model.forward_dynamics(q, v, tau)
    yield "forward_dynamics", lambda q, v, tau: model.forward_dynamics(q, v, tau, check=False)
    if many:
        yield "forward_dynamics", lambda q, v, tau: model.batch(2).forward_dynamics(q, v, tau)
    else:
        yield "forward_dynamics", lambda q, v, tau: model.forward_dynamics(q, v, tau, out=np.zeros(model.nv))


@pytest.mark.parametrize("many", [None, 5], ids=["one", "many"])
@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("argument", ["q", "v", "tau"])
def test_numbers_that_are_not_finite_are_named(model, argument, what, many):
    number, said = BAD[what]
    names = {"q": model.q_names, "v": model.v_names, "tau": model.u_names}[argument]
    for k, name in enumerate(names):
        for where, call in calls(model, bool(many)):
            given = regular(model, many)
            given[argument][(..., k) if many is None else (3, k)] = number
            state = "" if many is None else " in state 3"
            words = f"{where}: {argument} of {name} {said}{state};"
            with np.errstate(all="ignore"), pytest.raises(StateError, match=words):
                call(**given)


def test_numbers_of_other_functions_that_are_not_finite_are_named(model):
    given = regular(model)
    q, v, bad = given["q"], given["v"], np.full(model.nv, np.nan)
    for call, words in (
        (lambda: model.residual(bad), f"residual: q of {model.q_names[0]} is nan"),
        (lambda: model.generalized_forces(q, bad, v), f"generalized_forces: v of {model.v_names[0]} is nan"),
        (lambda: model.inverse_dynamics(q, v, bad, check=False), f"inverse_dynamics: a of {model.v_names[0]} is nan"),
        (lambda: model.inverse_dynamics(bad, v, v), f"inverse_dynamics: q of {model.q_names[0]} is nan"),
        (lambda: model.state({}, {"A": np.nan}), "state: rates of A is nan"),
        (lambda: model.simulate(None, 0.1, torque=np.full(model.nu, np.nan)), "simulate: torque of A is nan"),
        (lambda: model.stepper(None, 0.01).step(np.full(model.nu, np.inf)), "stepper: tau of A is inf"),
        (lambda: model.stepper(None, 0.01, batch=2).step(np.full((2, model.nu), np.nan)), "tau of A is nan in state 0"),
        (lambda: model.batch().rollout(None, 0.01, 4, np.full((1, 4, model.nu), np.nan)), "rollout: tau of A is nan"),
        (lambda: model.batch().rollout(None, 0.01, 4, np.full(model.nu, np.nan)), "rollout: tau of A is nan"),
    ):
        if "residual" in words and not model.topology.closed:
            continue
        with np.errstate(all="ignore"), pytest.raises(StateError, match=words):
            call()
    if model.p_names:
        with pytest.raises(StateError, match=r"p of b.mass is nan"):
            model.forward_dynamics(q, v, given["tau"], p=[np.nan])
        with pytest.raises(StateError, match=r"parameters: p of b.mass is inf"):
            model.simulate(None, 0.1, p={"b.mass": np.inf})


@pytest.mark.parametrize("many", [None, 4], ids=["one", "many"])
@pytest.mark.parametrize("argument", ["q", "v", "tau"])
def test_complex_numbers_and_masks_are_refused(model, argument, many):
    """With no warning of NumPy's that something was cast away, and wherever they are given."""
    for change, words in (
        (lambda x: x + 0j, "is complex; give real numbers"),
        (
            lambda x: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == 0),
            "has masked entries, and the mask would be lost",
        ),
    ):
        for _, call in calls(model, bool(many)):
            given = regular(model, many)
            given[argument] = change(given[argument])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(StateError, match=f"{argument} {words}"):
                    call(**given)


def test_complex_numbers_and_masks_are_refused_elsewhere(model):
    given = regular(model)
    q, v, tau = given["q"], given["v"], given["tau"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (
            lambda: model.inverse_dynamics(q, v, v + 0j),
            lambda: model.generalized_forces(q + 0j, v, v),
            lambda: model.residual(np.ma.array(q, mask=True)),
            lambda: model.state({"A": 1j}),
            lambda: model.state({"A": np.array([1j])}),
            lambda: model.forward_dynamics(q, v, {"A": np.array([1 + 1j])}),
            lambda: model.simulate(None, 0.1, torque=tau + 0j),
            lambda: model.simulate(None, 0.1, torque=np.ma.array(tau, mask=True)),
            lambda: model.simulate(None, 0.1, torque=kp.Table([0.0, 1.0], np.zeros((2, model.nu)) + 0j)),
            lambda: model.stepper(None, 0.01).step(tau + 1j),
            lambda: model.stepper(None, 0.01, batch=2).step(np.ma.array(np.zeros((2, model.nu)), mask=True)),
            lambda: model.batch().rollout(None, 0.01, 4, tau + 1j),
            lambda: model.batch().rollout(None, 0.01, 4, np.ma.array(np.zeros((1, 4, model.nu)), mask=True)),
            lambda: model.integrate(q, v + 1j),
        ):
            with pytest.raises(StateError, match=r"is complex|has masked entries"):
                call()
        with pytest.raises(ArgumentError, match="masked entries"):
            model.kernel("energy")(np.ma.array(q, mask=True), v, *([model.p] if model.p_names else []))


FUNCTIONS = {  # how many of q, v and a they take
    "mass_matrix": 1, "pivots": 1, "energy": 2, "energy_rate": 3, "passive_power": 2, "momentum": 2,
    "center_of_mass": 1, "rates": 2, "motion_rates": 3, "bias": 2, "generalized_forces": 3, "body_poses": 1,
    "generalized_forces_derivatives": 3, "forward_dynamics_derivatives": 2,
}  # fmt: skip
OF_LOOPS = {
    "residual": 1, "loop_slip": 2, "loop_bias": 2, "loop_coordinates": 1, "loop_velocities": 2,
    "loop_velocity_bias": 2, "loop_matrix": 1, "reactions": 2, "multipliers": 2, "singularity": 1,
}  # fmt: skip
OF_MARKERS = {
    "pose": 1, "place": 1, "place_bias": 2, "twist": 2, "acceleration": 3, "jacobian": 1, "jacobian_rate": 2,
}  # fmt: skip


def test_every_function_of_a_state_refuses_what_is_no_number(model):
    """The last argument is not finite, complex, or masked in part."""
    given = regular(model)
    regular_ones = [given["q"], given["v"], given["v"]]
    names = FUNCTIONS | OF_MARKERS | (OF_LOOPS if model.topology.closed else {})
    for name, count in names.items():
        first = ["b"] if name in OF_MARKERS else []
        *others, last = regular_ones[:count]
        masked, bad = np.ma.array(last, mask=[True] + [False] * (len(last) - 1)), np.array([np.nan, *last[1:]])
        for wrong, words in ((bad, "is nan"), (last + 0j, "is complex"), (masked, "has masked entries")):
            with pytest.raises(StateError, match=words):  # and no warning of NumPy's before, which would be an error
                getattr(model, name)(*first, *others, wrong)


def test_efforts_that_are_too_large_for_numbers_are_told(model):
    given = regular(model)
    given["v"] *= 1e200
    with np.errstate(all="ignore"), pytest.raises(StateError, match=r"numbers are too large|opens at"):
        model.forward_dynamics(given["q"], given["v"], given["tau"], check=False)
