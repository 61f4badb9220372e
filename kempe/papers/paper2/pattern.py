"""Excavator of Figure 1 of paper 2: built joint by joint from the text, with the block pattern of its Jacobian (14)."""

import numpy as np

from kempe.mechanism.mechanism import Mechanism
from kempe.model.model import Model

GROUND = 0
# Joints by number: the links they connect, and their positions in metres (except cylinders). The links follow from the
# loops of section 2 and the subsystems of section 3. The text gives no sizes, so positions are ours.
PINS = {
    1: ((GROUND, 1), (0.0, 0.0)), 2: ((1, 2), (0.0, 1.0)), 15: ((2, 6), (2.0, 1.1)), 6: ((GROUND, 6), (2.2, -0.2)),
    7: ((6, 5), (2.5, 1.4)), 8: ((5, 7), (3.6, 1.7)), 3: ((2, 3), (1.2, 1.5)), 5: ((4, 7), (3.0, 2.3)),
    12: ((6, 8), (2.3, 0.5)), 14: ((9, 5), (3.2, 0.8)), 9: ((GROUND, 10), (-0.8, 0.2)), 11: ((11, 2), (0.9, 1.4)),
}  # fmt: skip
CYLINDERS = {4: ((3, 4), (3, 5)), 10: ((10, 11), (9, 11)), 13: ((8, 9), (12, 14))}  # links; pins at the ends
CUTS = "J15", "J14", "J5", "J11"  # close loops 1 to 4
PRINTED = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]], dtype=bool)  # (14)


def figure_1() -> Mechanism:
    """11 links and 15 joints; at zero coordinates the axes of all links are those of the ground."""
    m = Mechanism("excavator of Figure 1", gravity=(0.0, -9.81, 0.0))
    links = {GROUND: m.ground}
    for k in range(1, 12):
        pins = [place for pair, place in PINS.values() if k in pair]
        x, y = np.mean(pins, axis=0)
        links[k] = m.body(f"#{k}", 100.0, (x, y, 0.0), (10.0, 10.0, 10.0))
    for number, ((a, b), place) in PINS.items():
        m.revolute(f"J{number}", links[a].at(*place), links[b].at(*place))
    for number, ((a, b), ends) in CYLINDERS.items():
        first, last = (np.array(PINS[end][1]) for end in ends)
        along = (*(last - first), 0.0)
        m.prismatic(f"J{number}", links[a].at(*first), links[b].at(*first), axis=along, actuated=True)
    return m


def numbers(model: Model) -> tuple[int, ...]:
    """The paper's number of each loop of the model, from the joint that closes it."""
    return tuple(CUTS.index(loop.joint.name) + 1 for loop in model.topology.loops)


def moved(model: Model, count: int = 5) -> np.ndarray:
    """Closed states near zero coordinates (n, nq)."""
    rng = np.random.default_rng(0)
    near = [dict(zip(model.q_names, 0.02 * rng.normal(size=model.nq), strict=True)) for _ in range(count)]
    return np.array([model.assemble(near=each).q for each in near])


def written(blocks: np.ndarray, loops: tuple[int, ...]) -> list[list[str]]:
    """Rows of a table: J_i,j for a block, O for a zero block."""
    return [[f"loop {i}", *(f"J_{i},{j + 1}" if there else "O" for j, there in enumerate(row))]
            for i, row in zip(loops, blocks, strict=True)]  # fmt: skip
