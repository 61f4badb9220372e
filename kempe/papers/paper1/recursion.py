"""Paper 1's own recursion, `denoc`, beside the formulation of the other runs: the same numbers, and what they cost."""

import numpy as np

from kempe.papers.paper1 import runs
from kempe.papers.paper1.runs import Case
from kempe.papers.report import Report

FINE = 1e-10  # tolerance of the free runs that are compared
FREE = {"four-bar": 2.0, "five-bar": 1.3}  # s, of those; the five-bar's motors fail as coordinates at 1.333 s
STATES = 50  # rows between two states along the motion at which accelerations are compared


def compare(report: Report, cases: tuple[Case, Case]) -> None:
    """Torques, accelerations and free runs by both, operations, and where the recursion itself has to end."""
    own = runs.four_bar("denoc"), runs.five_bar("denoc")
    report.heading("By the paper's own recursion")
    header = ("mechanism", "torques [N m]", "accelerations [rad/s^2]", "free fall [rad]", "forward, operations",
              "inverse, operations")  # fmt: skip
    pairs = zip(cases, own, strict=True)
    rows = [(case.name, *differences(case, other), *_operations(case, other)) for case, other in pairs]
    report.table("recursion", f"denoc less {runs.FORMULATION}, at most; operations of both", header, rows)
    fall = runs.free_five_bar(own[1], 3.0, tolerance=FINE)
    report.say(
        "Torques along eq. 35, accelerations at states along it with torques half of those, and a free fall at "
        f"tolerance {FINE:g}, of {FREE['four-bar']:g} and {FREE['five-bar']:g} s. The recursion has the actuated "
        "angles for coordinates, as the paper's program had, so its free fall of the five-bar ends by itself, at "
        f"{fall.end:.6f} s: {fall.outcome}."
    )


def differences(case: Case, other: Case) -> tuple[float, float, float]:
    """Of torques, of accelerations at states of the motion under other torques, and of a free fall, at most."""
    torques = float(np.abs(case.need.u - other.need.u).max())
    q, v, u = (x[::STATES] for x in (case.need.q, case.need.v, case.need.u))
    found = [model.forward_dynamics(q, v, 0.5 * u) for model in (case.model, other.model)]
    free = runs.free_four_bar if case.name == "four-bar" else runs.free_five_bar
    falls = [free(x, FREE[case.name], tolerance=FINE) for x in (case, other)]
    return torques, float(np.abs(found[0] - found[1]).max()), float(np.abs(falls[0].q - falls[1].q).max())


def _operations(case: Case, other: Case) -> tuple[str, str]:
    shorter, longer = case.model, other.model
    forward = f"{longer.counts.total}, {shorter.counts.total}"
    efforts = longer.kernel("inverse_dynamics").counts.total, shorter.kernel("generalized_efforts").counts.total
    return forward, f"{efforts[0]}, {efforts[1]}"
