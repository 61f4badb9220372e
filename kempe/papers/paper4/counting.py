"""Operation counts: of forward dynamics, in the way of paper 4, with its Table 1."""

from dataclasses import dataclass

import numpy as np

from kempe.compiler.count import count
from kempe.compiler.trace import trace
from kempe.dynamics.recursions import udu_solve
from kempe.dynamics.tree import build
from kempe.mechanism.mechanism import Mechanism
from kempe.spatial.vectors import from_sx, to_sx

# Multiplications and additions as polynomials of n, highest power first.
TABLE_1 = {
    "Mohan & Saha (proposed)": ((0, 0, 173, -128), (0, 0, 150, -133)),
    "Saha [17]": ((0, 0, 191, -284), (0, 0, 187, -325)),
    "Featherstone [13]": ((0, 0, 199, -198), (0, 0, 174, -173)),
    "Valasek [15]": ((0, 0, 226, -343), (0, 0, 206, -345)),
    "Brandle et al. [15]": ((0, 0, 250, -222), (0, 0, 220, -198)),
    "Walker & Orin, by Featherstone": ((1 / 6, 23 / 2, 115 / 3, -47), (1 / 6, 7, 233 / 6, -46)),
}
CUBIC = "Walker & Orin, by Featherstone"
CROSSINGS = {  # n* and n+ as printed
    "Mohan & Saha (proposed)": (10, 12),
    "Saha [17]": (10, 14),
    "Featherstone [13]": (12, 14),
    "Valasek [15]": (13, 15),
    "Brandle et al. [15]": (14, 16),
}


def general_arm(joints: int) -> Mechanism:
    """Bent slender rods with no special angles or lengths, so that no terms vanish by chance."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.2, 0.5, (2, joints))
    alpha, mass = rng.uniform(0.3, 1.2, joints), rng.uniform(1, 2, joints)
    return Mechanism.from_dh(f"general arm of {joints}", a=a, b=b, alpha=alpha, mass=mass)


def given_phi(mechanism: Mechanism) -> tuple[int, int]:
    """Multiplications (including divisions) and additions from phi to joint accelerations, as the paper counts."""
    tree = build(mechanism.topology())
    n = tree.topology.nv
    found = count(trace(lambda q, phi: to_sx(udu_solve(tree, from_sx(q), from_sx(phi))), {"q": n, "phi": n}))
    return found.multiplications + found.divisions, found.additions


@dataclass(frozen=True)
class Comparison:
    """Kempe's counts for chains of n, and the n from which O(n) beats O(n^3): in multiplications (n*), in both (n+)."""

    counts: dict[int, tuple[int, int]]

    def crossings(self) -> tuple[int, int]:
        """n* and n+."""
        cubic = TABLE_1[CUBIC]
        wins = {n: [found[k] <= np.polyval(cubic[k], n) for k in (0, 1)] for n, found in self.counts.items()}
        star = min(n for n in wins if all(wins[k][0] for k in wins if k >= n))
        plus = min(n for n in wins if all(all(wins[k]) for k in wins if k >= n))
        return star, plus

    def within_the_papers(self) -> bool:
        """Whether no count exceeds the paper's formula."""
        (m_formula, a_formula) = TABLE_1["Mohan & Saha (proposed)"]
        return all(m <= np.polyval(m_formula, n) and a <= np.polyval(a_formula, n) for n, (m, a) in self.counts.items())


def compare(sizes=range(2, 21)) -> Comparison:
    """Counts general arms of these sizes."""
    return Comparison({n: given_phi(general_arm(n)) for n in sizes})
