"""Columns: every number of a run has one name and the unit its formula gives."""

from kempe.mechanism.joints import KINDS
from kempe.mechanism.mechanism import Mechanism
from kempe.results.columns import all_labels, columns
from tests.mechanisms import random_tree
from tests.results.runs import rows_of

UNITS = {
    "revolute": ["rad"],
    "prismatic": ["m"],
    "helical": ["rad"],
    "cylindrical": ["rad", "m"],
    "universal": ["rad", "rad"],
    "spherical": ["", "", "", ""],
    "planar": ["m", "m", "rad"],
    "free": ["", "", "", "", "m", "m", "m"],
    "fixed": [],
}


def test_units_of_coordinates_of_every_kind():
    for kind in KINDS:
        model = random_tree(1, 1, kinds=(kind,)).compile()
        assert [label.unit for label in all_labels(model) if label.quantity == "coordinate"] == UNITS[kind]


def test_power_is_effort_times_rate_in_units_too():
    model = random_tree(2, 8).compile()
    efforts = [label.unit for label in all_labels(model) if label.quantity == "effort"]
    rates = [label.unit for label in all_labels(model) if label.quantity == "rate"]
    assert set(zip(efforts, rates, strict=True)) == {("N m", "rad/s"), ("N", "m/s")}


def test_headers_are_all_different_and_in_the_order_of_the_arrays():
    run = rows_of(random_tree(4, 8).compile(), 2, z=[[1.0], [2.0]], z_names=["pid.integral"])
    found = columns(run)
    assert len({column.header for column in found}) == len(found) == run.model.nq + 3 * run.model.nv + 1
    assert found[-1].header == "pid.integral"
    assert found[-1].values.tolist() == [1.0, 2.0]


def test_names_as_people_read_them():
    m = Mechanism("arm", gravity=(0, -9.81, 0))
    m.revolute("shoulder", m.ground.at(0, 0), m.rod("upper", length=1.0, mass=1.0).start, actuated=True)
    assert [label.header for label in all_labels(m.compile())] == [
        "shoulder [rad]",
        "shoulder.rate [rad/s]",
        "shoulder.acceleration [rad/s^2]",
        "shoulder.effort [N m]",
    ]
