"""Cases that failed once, with as few changes as that took: they are checked forever."""

from tests.invariance.checking import Case

KEPT: tuple[Case, ...] = (
    # Which rows of a closure repeat others changes along the motion.
    Case("locks", "planar floating loop", 576089124, ("turned",)),
    # A coupling beside loops, in the memory of a masked run.
    Case("locks", "planar of two loops", 601119634, ("turned",)),
    # Least squares in metres and radians at once.
    Case("synthesis", "floating", 824372773, ("units",)),
    # A branch with more freedoms than most states have.
    Case("rollouts", "planar of two loops", 230600483, ("turned",)),
    Case("steppers", "planar of two loops", 230600483, ("turned",)),
    # Loops that hold nothing in their plane, and no lock is on: all rows of a masked run are rounding.
    Case("locks", "planar", 3250822, ("turned",)),
    # Joints of six freedoms that are cut: no coordinates are lost, but steps in others are less exact.
    Case("steppers", "spatial of two loops", 159877362, ("cut",)),
)
