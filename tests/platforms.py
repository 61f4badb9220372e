"""Platforms on legs made at random, assembled from the start: planar and spatial, of two to six legs, all different."""

from dataclasses import dataclass

import numpy as np

from kempe.mechanism.joints import KINDS
from tests.closed import Closed, Workshop, cuttable

FREEDOMS = {name: len(kind.v_names) for name, kind in KINDS.items()}
SLIDES = {"prismatic": 1, "cylindrical": 1, "planar": 2}
# Of each leg, so many that the platform has as many freedoms as there are legs.
SPATIAL = {2: (4, 4), 3: (5, 5, 5), 4: (6, 5, 6, 5), 5: (6, 6, 5, 6, 6), 6: (6,) * 6}
PLANAR = {2: (3, 2), 3: (3, 3, 3)}


@dataclass(eq=False)
class Legged(Workshop):
    """A workshop whose next joint is driven or not, as it is told; springs, dampers and armature at random."""

    driving: bool = False

    def _options(self, kind: str) -> dict:
        return super()._options(kind) | {"actuated": self.driving}

    def leg(self, platform, freedoms: int, whole: bool) -> None:
        """From the ground to the platform, closed by one of its joints unless it is whole in the tree."""
        kinds, driven = self.kinds(freedoms)
        chain = [self.m.ground, *(self.body() for _ in kinds[1:]), platform]
        free = [k for k, kind in enumerate(kinds) if k != driven and kind != "helical"]
        cut = -1 if whole else int(self.rng.choice(free))
        for k, kind in enumerate(kinds):
            self.driving = k == driven
            self.join(kind, chain[k], chain[k + 1], closing=k == cut)

    def kinds(self, freedoms: int) -> tuple[list[str], int]:
        """Joints with so many freedoms together, and which of them is driven: one ball and two slides at most."""
        rng = self.rng
        pool = ["revolute", "prismatic"]
        if not self.planar:
            pool += ["helical", "universal", "cylindrical", "spherical", "planar"]
        kinds = [("revolute", "prismatic")[rng.integers(2)]]
        while sum(FREEDOMS[kind] for kind in kinds) < freedoms:
            kind = pool[rng.integers(len(pool))]
            more = [*kinds, kind]
            fits = sum(FREEDOMS[x] for x in more) <= freedoms and more.count("spherical") < 2
            if fits and sum(SLIDES.get(x, 0) for x in more) <= (1 if self.planar else 2):
                kinds = more
        order = rng.permutation(len(kinds))
        return [kinds[k] for k in order], int(np.flatnonzero(order == 0)[0])


def random_platform(seed: int, legs: int, planar: bool = False, passive: bool = True) -> Closed:
    """A platform on so many legs; the same for the same numbers. Each leg has one driven joint, anywhere in it."""
    work = Legged(np.random.default_rng(seed), planar, passive, f"platform {seed} on {legs} legs")
    platform = work.body()
    for k, freedoms in enumerate((PLANAR if planar else SPATIAL)[legs]):
        work.leg(platform, freedoms, whole=k == 0)
    found = work.finished()
    assert all(cuttable(found.joint(name)) for name in found.closing)
    assert found.freedom == legs
    return found
