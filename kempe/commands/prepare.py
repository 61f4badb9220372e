"""`kempe prepare`: compiles the integrators now, once per machine, so that no run waits for them."""

from collections.abc import Callable

from kempe.control import motions
from kempe.gallery.loops import four_bar


def prepare(tell: Callable[[str], None]) -> None:
    """Runs each of them briefly on a four-bar; the compiled integrators serve every mechanism."""
    model = four_bar().compile()
    start = model.assemble({"A": 1.5}, near={"D": 1.2})
    tell("explicit steps, events, rows")
    model.simulate(start, 0.01, method="dop853")
    tell("implicit steps")
    model.simulate(start, 0.01, method="radau")
    tell("inverse dynamics along motions")
    model.inverse_dynamics(motions.cycloidal({"A": (1.5, 1.6)}, duration=0.1), start=start)
