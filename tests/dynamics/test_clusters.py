"""Clusters of loops: how joints fall into them, and their recursion against partition, a dense solve and counts."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.counts import arm_of_four_bars
from kempe.compiler.count import count
from kempe.compiler.trace import trace
from kempe.dynamics.generalized import InCoordinates
from kempe.dynamics.multipliers import Sslm
from kempe.dynamics.partition import Partition
from kempe.gallery.benchmarks import n_four_bar
from kempe.gallery.entries import ENTRIES
from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model
from kempe.topology.clusters import clusters
from kempe.topology.tree import Topology
from tests.closed import Closed, mechanisms
from tests.direct import Direct, beside
from tests.dynamics.test_multipliers import apart, closed_motion, model_of
from tests.dynamics.test_random_closed import loaded, on_numbers
from tests.long import some

many = settings(max_examples=60, phases=[Phase.explicit, Phase.generate])


CLUSTERS = Partition(way="clusters")


def clustered(model: Model) -> Direct:
    return beside(model, CLUSTERS)


def named(topology: Topology) -> list[tuple[str, str, ...]]:
    """Clusters by the names of the link each hangs on, and of its joints."""
    links = {-1: "ground"} | {k: t.child.name for k, t in enumerate(topology.tree)}
    return [(links[x.root], *(topology.tree[k].joint.name for k in x.joints)) for x in clusters(topology)]


# ---- which joints -----------------------------------------------------------------------------------------


def test_loops_that_share_a_joint_are_one_cluster_and_others_hang_on_it():
    assert named(n_four_bar(2).topology()) == [("ground", "foot0", "foot1", "foot2", "left0", "left1")]
    assert named(arm_of_four_bars(2).topology()) == [
        ("ground", "shoulder0", "wrist0", "pivot0"), ("coupler0", "shoulder1", "wrist1", "pivot1")
    ]  # fmt: skip
    assert [part.root for part in clusters(ENTRIES["excavator"].build().topology())] == [-1, 0, 1]


def test_a_joint_in_no_loop_is_a_cluster_of_its_own():
    """A cart with a four-bar on it, and a weight on the four-bar's rocker."""
    m = Mechanism("cart", gravity=(0.0, -9.81, 0.0))
    cart = m.cylinder("cart", length=1.0, radius=0.1, mass=3.0)
    m.prismatic("rail", m.ground.at(), cart.origin, axis=(1, 0, 0))
    bars = [m.rod(name, length, 1.0) for name, length in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.6))]
    m.revolute("A", cart.at(0, 0), bars[0].start)
    m.revolute("B", bars[0].end, bars[1].start)
    m.revolute("D", cart.at(1, 0), bars[2].start)
    m.revolute("C", bars[1].end, bars[2].end)
    m.revolute("hook", bars[2].end, m.rod("weight", 0.4, 1.0).start)
    found = m.topology()
    assert named(found) == [("ground", "rail"), ("cart", "A", "B", "D"), ("rocker", "hook")]
    assert [part.closed for part in clusters(found)] == [False, True, False]


@many
@given(mechanisms())
def test_a_cluster_hangs_on_one_link_and_holds_its_loops(closed: Closed):
    found = closed.mechanism.topology()
    parts = clusters(found)
    assert sorted(k for part in parts for k in part.joints) == list(range(len(found.tree)))
    seen = {-1}
    for part in parts:
        assert part.root in seen
        assert all(found.parents[k] in (part.root, *part.joints) for k in part.joints)
        seen |= set(part.joints)
    names = [{found.tree[k].joint.name for k in part.joints} for part in parts]
    for loop in found.loops:
        around = set(loop.around) & set().union(*names)
        assert sum(bool(around & own) for own in names) == 1


# ---- how they move ----------------------------------------------------------------------------------------


@many
@given(mechanisms(passive=True), st.integers(0, 10**6))
def test_random_mechanisms_with_several_loops(closed: Closed, seed: int):
    """With springs, dampers, rotors and loads; clusters that hang on links of others, and joints in no loop."""
    model = on_numbers(loaded(closed, seed))
    q, v, tau = closed_motion(closed, model, seed)
    wanted, fitness = model.call("forward_dynamics", q, v, tau)
    found, same = clustered(model).call("forward_dynamics", q, v, tau)
    assert same == fitness
    assert apart(found, wanted) < 1e-11 / min(1.0, fitness) ** 2


def test_four_bars_one_on_the_other():
    """Three clusters in a row, with rotors; under Baumgarte's method too, where loops are about to open."""
    m = arm_of_four_bars(3)
    tip = m.rod("tip", 0.3, 1.0)
    m.revolute("tip joint", next(b for b in m.bodies if b.name == "coupler2").end, tip.start, armature=0.2)
    equations = m.compile().equations
    model = Direct(equations, m)
    rng = np.random.default_rng(0)
    q = model.assemble({f"shoulder{k}": 1.4 for k in range(3)}, near={f"pivot{k}": 1.3 for k in range(3)}).q
    v, tau = model.settle(q, rng.normal(size=model.nv))[1], rng.normal(size=model.nv)
    assert len(clusters(m.topology())) == 4
    wanted = model.call("forward_dynamics", q, v, tau)[0]
    assert apart(clustered(model).call("forward_dynamics", q, v, tau)[0], wanted) < 1e-11
    pulled = model.chosen.using(model.choice, pull=15.0)
    wanted = np.array([float(x) for x in pulled.forward(pulled.constant_tree, q, v + 0.1, tau).vdot])
    pulled = clustered(model).chosen.using(model.choice, pull=15.0)
    found = np.array([float(x) for x in pulled.forward(pulled.constant_tree, q, v + 0.1, tau).vdot])
    assert apart(found, wanted) < 1e-11


# ---- what they cost ---------------------------------------------------------------------------------------


def total(model: Model, formulation: InCoordinates) -> int:
    """Operations of forward dynamics, by another formulation or way."""
    equations = model.equations.by(formulation.using(model.choice))
    return count(trace(equations.casadi("forward_dynamics", equations.functions()["forward_dynamics"]))).total


@pytest.mark.parametrize("name", ["four-bar", "3-rrr", "carpet-scraper", "stewart"])
def test_one_cluster_is_the_program_of_partition(name):
    assert total(model_of(name), CLUSTERS) == total(model_of(name), Partition())


def test_operations_of_an_arm_grow_with_its_length_and_no_faster():
    sizes = some((3, 4, 5, 8), (4, 5, 6, 10))
    models = [arm_of_four_bars(n).compile() for n in sizes]
    clustered = [total(model, CLUSTERS) for model in models]
    partition, sslm = ([total(model, other) for model in models[:3]] for other in (Partition(way="composite"), Sslm()))
    # One more takes a few operations more or fewer by the joint, shoulder or wrist, that is its coordinate.
    each = np.diff(clustered) / np.diff(sizes)
    assert np.ptp(each) < 0.02 * each.min()
    assert np.diff(partition, 2)[0] > 20
    assert np.diff(sslm, 2)[0] > 20
    assert clustered[2] < partition[2] < sslm[2]
