"""The excavator of paper 2, Figure 1, by its graph: eleven links, fifteen joints, four loops, three freedoms.

The text names the joints of each loop (1: 1-2-15-6, 2: 7-14-13-12, 3: 3-4-5-8-7-15, 4: 9-10-11-2-1) and the links that
loops share with subsystems; together with 11 links and 3 freedoms that leaves one graph. Sizes are made up: all bodies
stand upright, and where a joint joins them at q = 0 is anywhere, so all loops are closed there.
"""

import numpy as np

from kempe.mechanism.mechanism import Mechanism

# joint: links it joins, 0 is the ground. Loop 3 passes from joint 5 over a link to joint 8: link 7.
JOINTS = {1: (0, 1), 2: (1, 2), 3: (2, 3), 4: (3, 4), 5: (4, 7), 6: (0, 6), 7: (6, 5), 8: (5, 7), 9: (0, 10),
          10: (10, 11), 11: (11, 2), 12: (5, 8), 13: (8, 9), 14: (9, 6), 15: (2, 6)}  # fmt: skip
CYLINDERS = (4, 10, 13)  # actuated; sliders
CUTS = ("J15", "J12", "J5", "J11")  # in the order of the paper's loops


def digger() -> Mechanism:
    """Joints and links are named by their numbers, J1 and #1."""
    rng = np.random.default_rng(3)
    m = Mechanism("digger", gravity=(0, -9.81, 0))
    links = [m.ground] + [m.body(f"#{k}", 2.0 + k, (0.1, 0.2, 0), (0.5, 0.5, 0.7)) for k in range(1, 12)]
    places = [np.zeros(2), *rng.uniform(-1, 1, (11, 2))]
    for number, (a, b) in JOINTS.items():
        point = (places[a] + places[b]) / 2 + rng.uniform(-0.5, 0.5, 2)
        ends = links[a].at(*(point - places[a])), links[b].at(*(point - places[b]))
        if number in CYLINDERS:
            angle = rng.uniform(0, 2 * np.pi)
            m.prismatic(f"J{number}", *ends, axis=(np.cos(angle), np.sin(angle), 0), actuated=True)
        else:
            m.revolute(f"J{number}", *ends)
    return m
