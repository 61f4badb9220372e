"""Paper 1's recursion: `denoc` compared with the formulation of the other runs, in results and cost."""

import numpy as np

from kempe.papers.paper1 import runs
from kempe.papers.paper1.runs import Case
from kempe.papers.report import Report

FINE = 1e-10  # tolerance of the compared free runs
FREE = {"four-bar": 2.0, "five-bar": 1.3}  # durations [s]; at 1.333 s the five-bar's motor angles fail as coordinates
STATES = 50  # rows between states along the motion at which accelerations are compared


def compare(report: Report, cases: tuple[Case, Case]) -> None:
    """Torques, accelerations, free runs and operations of both, and the time at which the recursion ends."""
    own = runs.four_bar("denoc"), runs.five_bar("denoc")
    report.heading("By the paper's own recursion")
    header = ("mechanism", "torques [N m]", "accelerations [rad/s^2]", "free fall [rad]", "forward, operations",
              "inverse, operations")  # fmt: skip
    pairs = zip(cases, own, strict=True)
    rows = [(case.name, *differences(case, other), *_operations(case, other)) for case, other in pairs]
    report.table("recursion", f"denoc minus {runs.FORMULATION}, largest differences; operations of both", header, rows)
    fall = runs.free_five_bar(own[1], 3.0, tolerance=FINE)
    report.say(
        "Torques along eq. 35, accelerations at states along it with half of these torques, and a free fall at "
        f"tolerance {FINE:g}, of {FREE['four-bar']:g} and {FREE['five-bar']:g} s. The recursion uses the actuated "
        "angles as coordinates, like the paper's program, so its free fall of the five-bar ends at "
        f"{fall.end:.6f} s: {fall.outcome}."
    )


def differences(case: Case, other: Case) -> tuple[float, float, float]:
    """Largest differences of torques, of accelerations along the motion with other torques, and of a free fall."""
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
