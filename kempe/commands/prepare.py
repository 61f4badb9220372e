"""`kempe prepare`: the integrators, which are compiled once on a machine, are compiled now, so that no run waits."""

from collections.abc import Callable

from kempe.control import motions
from kempe.gallery.loops import four_bar


def prepare(tell: Callable[[str], None]) -> None:
    """Takes each of them a little way along a four-bar; they serve every mechanism."""
    model = four_bar().compile()
    start = model.assemble({"A": 1.5}, near={"D": 1.2})
    tell("explicit steps, events, rows")
    model.simulate(start, 0.01, method="dop853")
    tell("implicit steps")
    model.simulate(start, 0.01, method="radau")
    tell("inverse dynamics along motions")
    model.inverse_dynamics(motions.cycloidal({"A": (1.5, 1.6)}, duration=0.1), start=start)
